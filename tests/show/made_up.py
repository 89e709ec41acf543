"""Results made without a comparison, with everything that pages, pictures and the terminal show."""

import numpy as np
import pandas as pd

from princdiff.findings import ChangePart
from princdiff.result import DifferenceResult
from princdiff.result.parts import (
    CertificatePart,
    Distribution,
    GroupReference,
    PathPart,
    ReferencePart,
    SelectionPart,
    TestPart,
)
from princdiff.tables import Coding
from princdiff.tables.encoding import feature_names

NASTY = "<script>alert(1)</script>"
NAMES = [
    NASTY,
    "</script><img src=x onerror=alert(2)>",
    "<!--<script>",
    "a & b \"quoted\" 'single'",
    "long " + "name " * 60,
    "Größe 数字 \U0001f9ec",
    "line\u2028separator\u2029and\u202eoverride",
    "__proto__",
    "constructor",
    "a.b[0]\\'",
    "{{ 7 * 7 }}{% raw %}",
    "",
]


def made_up(
    n_features: int = 12, groups: tuple[str, ...] = ("before", "after"), names: list[str] | None = None
) -> DifferenceResult:
    """A comparison of columns of numbers, the first five of which differ."""
    rng = np.random.default_rng(0)
    names = names or [f"measurement number {j}" for j in range(n_features)]
    share = np.sort(rng.dirichlet(np.full(len(names), 0.5)))[::-1]
    table = _feature_table([Coding(name) for name in names], groups, share, rng)
    table["selected"] = np.arange(len(names)) < 5
    table["differs"] = table["reason"] = np.where(table["selected"], "alone", "")
    columns = table[["column", "selected", "pvalue", "differs", "reason", "kind", "effect", "share"]].copy()
    columns.insert(1, "type", "number")
    columns.insert(7, "change", "mean 1 → 2 (+100 %)")
    return _result(table, columns, [Coding(name) for name in names], groups, rng)


def mixed(groups: tuple[str, ...] = ("before", "after"), n_components: int = 2) -> DifferenceResult:
    """A comparison of numbers, flags, a category with five levels and a number that went missing."""
    rng = np.random.default_rng(1)
    codings = [
        Coding("plan", levels=("basic", "free", "gold", "pro", "team")),
        Coding("income"),
        Coding("active", levels=("no", "yes")),
        Coding("age", fill=40.0, indicator=True),
        Coding("visits"),
        Coding("height"),
        Coding("weight"),
    ]
    width = sum(len(coding.features) for coding in codings)
    share = np.sort(rng.dirichlet(np.full(width, 0.5)))[::-1]
    table = _feature_table(codings, groups, share, rng)
    flags = ~table["feature"].isin(["income", "age", "visits", "height", "weight"])
    ends = np.linspace(0, 1, len(groups))
    for group, t in zip(groups, ends, strict=True):
        levels = (1 - t) * np.array([0.3, 0.4, 0.02, 0.18, 0.1]) + t * np.array([0.28, 0.2, 0.1, 0.3, 0.12])
        table.loc[flags, f"mean {group}"] = [*levels, 0.5 + 0.2 * t, 0.03 + 0.22 * t]
        table.loc[flags, f"sd {group}"] = 0.3
    table.loc[flags, "kind"] = "proportion"
    table.loc[table["feature"] == "age (missing)", "kind"] = "missing"
    table["selected"] = ~table["column"].isin(["visits"])
    together = table["column"].isin(["height", "weight"])
    table["differs"] = np.where(together, "together", np.where(table["selected"], "alone", ""))
    table["reason"] = np.where(together, "together with others", table["differs"])
    arrow = " → "
    columns = pd.DataFrame(
        {
            "column": [coding.column for coding in codings],
            "type": ["category", "number", "flag", "number", "number", "number", "number"],
            "selected": [True, True, True, True, False, True, True],
            "pvalue": [0.01, 0.01, 0.01, 0.02, 0.6, 0.03, 0.03],
            "differs": ["alone"] * 4 + [""] + ["together"] * 2,
            "reason": ["alone"] * 4 + [""] + ["together with weight", "together with height"],
            "kind": ["proportion", "shift", "proportion", "missing", "-", "-", "-"],
            "effect": [0.9, 0.6, 0.4, 0.5, 0.0, 0.0, 0.0],
            "change": [
                f"free {arrow.join(f'{40 - 20 * t:.0f} %' for t in ends)}, "
                f"gold {arrow.join(f'{2 + 8 * t:.0f} %' for t in ends)}",
                f"mean {arrow.join(str(int(100 + 50 * t)) for t in ends)}",
                f"yes: {arrow.join(f'{50 + 20 * t:.0f} %' for t in ends)}",
                f"missing {arrow.join(f'{3 + 22 * t:.0f} %' for t in ends)}",
                "mean 3" + arrow + "3",
                "mean 170" + arrow + "170",
                "mean 70" + arrow + "70",
            ],
            "share": table.groupby("column", sort=False)["share"].sum().to_numpy(),
        }
    )
    result = _result(table, columns, codings, groups, rng, n_components)
    object.__setattr__(result, "relations", _relations(groups))
    free, gold = str(columns["change"][0]).split(", ")
    result.changes["plan"] = [ChangePart(free, apart=", "), ChangePart(gold, apart=", ")]
    for feature in ("visits",):
        result.distributions[feature] = Distribution(
            np.array([-0.5, 0.5, 1.5, 2.5, 4.5, 7.5]),
            {group: rng.dirichlet(np.ones(5)) for group in groups},
            np.array([0.0, 1.0, 2.0, 3.0, 6.0]),
        )
    return result


def _relations(groups: tuple[str, ...]) -> pd.DataFrame:
    frame = pd.DataFrame(
        {
            "first": ["height", "income"],
            "second": ["weight", "plan = gold"],
            "first column": ["height", "income"],
            "second column": ["weight", "plan"],
        }
    )
    for group, t in zip(groups, np.linspace(0, 1, len(groups)), strict=True):
        frame[f"dependence {group}"] = [0.8 - 1.1 * t, 0.1 + 0.1 * t]
    frame["change"] = [1.1, 0.1]
    frame["pvalue"] = [0.01, 0.4]
    frame["selected"] = [True, False]
    return frame


def _feature_table(codings, groups, share, rng) -> pd.DataFrame:
    names, origin = feature_names(codings)
    count = len(names)
    table = pd.DataFrame(
        {
            "feature": names,
            "column": origin,
            "weight": np.sqrt(share) * rng.choice([-1, 1], count),
            "share": share,
            "selected": False,
            "pvalue": rng.uniform(size=count),
            "differs": "",
            "reason": "",
            "kind": "shift",
            "effect": rng.exponential(size=count),
            "stability": rng.uniform(size=count),
            "divergence": rng.exponential(size=count),
        }
    )
    for part in ("location", "scale", "shape"):
        table[part] = table["divergence"] / 3
    for group in groups:
        table[f"mean {group}"] = float(groups.index(group))
        table[f"sd {group}"] = 1.0
    return table


def _result(table, columns, codings, groups, rng, n_components=1) -> DifferenceResult:
    names = table["feature"].tolist()
    components = [
        {
            group: GroupReference(np.sort(rng.normal(shift / (number + 1), 1, 500)), 1.0, 60)
            for shift, group in enumerate(groups)
        }
        for number in range(n_components)
    ]
    for number in range(1, n_components):
        table[f"weight {number + 1}"] = rng.normal(size=len(names)) / np.sqrt(len(names))
        table[f"share {number + 1}"] = table[f"weight {number + 1}"] ** 2
    middles = np.linspace(-4, 5, 24)
    bells = {group: np.exp(-0.5 * (middles - place) ** 2) for place, group in enumerate(groups)}
    histogram = Distribution(
        np.linspace(-4.2, 5.2, 25), {group: bell / bell.sum() for group, bell in bells.items()}
    )
    weights = [table["weight" if number == 0 else f"weight {number + 1}"] for number in range(n_components)]
    return DifferenceResult(
        pvalue=0.01,
        statistic=4.0,
        effect=1.4,
        effect_interval=(1.1, 1.7),
        groups=dict.fromkeys(groups, 60),
        columns=columns,
        table=table,
        relations=pd.DataFrame({"first": [], "second": [], "change": [], "pvalue": [], "selected": []}),
        divergences=np.full(n_components, 2.0),
        upper_bounds=np.full(n_components, 2.1),
        kind={"location": 0.9, "scale": 0.06, "shape": 0.04},
        directions=pd.DataFrame(
            {f"component {number + 1}": weight.to_numpy() for number, weight in enumerate(weights)},
            index=names,
        ),
        components=pd.DataFrame(
            {
                "component": [f"component {number + 1}" for number in range(n_components)],
                "divergence": 2.0,
                "upper bound": 2.1,
                "pvalue": 0.01,
                "effect": 1.4,
                "location": 0.9,
                "scale": 0.06,
                "shape": 0.04,
            }
        ),
        separation=[(1.0 - np.eye(len(groups))).tolist()] * n_components,
        test=TestPart(
            name="permutation",
            null=rng.normal(size=99),
            n_permutations=99,
            asked=99,
            smallest_attainable_pvalue=0.01,
            monte_carlo_error=0.01,
            cells=["single features, W2", "up to 5 features"],
            cell_pvalues=np.array([0.01, 0.02]),
            leading_cell="single features, W2",
        ),
        selection=SelectionPart(True, 0.05, "fwer", "family-wise error at most 0.05", 99),
        certificate=CertificatePart("certificate", "Eigenvalue of a plan."),
        path=PathPart(np.array([1.0, 2.0, 5.0]), np.array([1.0, 1.5, 2.0]), np.array([0.8, 1.2, 1.1]), 2.0),
        reference=ReferencePart(
            (np.arange(500) + 0.5) / 500,
            {group: np.ones(len(names)) for group in groups},
            {group: np.zeros(len(names)) for group in groups},
            components,
        ),
        distributions=dict.fromkeys(names[:300], histogram),
        codings=list(codings),
        notes=["a note about <b>this</b> comparison"],
        parameters={
            "scale": "pooled",
            "n_features": "auto",
            "n_permutations": 99,
            "missing": "error",
            "features": None,
            "random_state": 0,
            "covariates": [],
            "time_budget": None,
            "permute": None,
            "left_out": {"id <i>": "all values differ"},
            "versions": {"princdiff": "0.1.0"},
            "python": "3.11",
            "seconds": {"fitting": 1.5, "testing": 2.25},
        },
    )
