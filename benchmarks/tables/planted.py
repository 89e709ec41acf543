"""Known differences in real tables: are they seen, and are the right columns named?

    python -m benchmarks.tables.planted [--draws 20] [--rows 1000] [--tables telco bank ...] [--plants ...]

A random half of a table is compared with the other half, after one thing was changed in it, so the truth is
known on data that nobody made up. Tables are those of ``PRINCDIFF_DATA/tables``, and one that is generated
here and needs no data. What a careful analyst would do in five lines stands beside: Kolmogorov-Smirnov and
chi-squared tests of every column, with Holm's correction.

``none``: nothing changed. ``rate``: an eighth of the rows get a category's most frequent level. ``rare``:
three percent get the rarest. ``shift``, ``spread``: a number by 0.3 standard deviations, or 1.35 times as
wide. ``broken``: a number is shuffled, so that only what it goes with changes. ``gaps``: eight percent of a
number go missing (compared with ``missing="impute"``). ``two``: a rate and a shift at once.

With ``--quick`` the steps of `princdiff.compare` that change neither p-value nor names (direction, stability,
effect) are left out, which takes a fifth of the time.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats

from benchmarks.tables.answers import Answer, full_answer, quick_answer
from princdiff.labellings.pvalues import adjusted_pvalues

PLANTS = ("none", "rate", "rare", "shift", "spread", "broken", "gaps", "two")
# Identifiers, times, places with hundreds of names, and a column that another one determines.
LEFT_OUT = {
    "telco": ["customerID", "TotalCharges"],
    "taxis": ["pickup", "dropoff", "pickup_zone", "dropoff_zone"],
}
FEW_VALUES = 12


def read(name: str) -> pd.DataFrame:
    """A table whose gaps are a level of their own, so that every cell holds something."""
    if name == "made":
        return made(4000, np.random.default_rng(0))
    table = pd.read_csv(Path(os.environ["PRINCDIFF_DATA"]) / "tables" / f"{name}.csv.gz")
    table = table.drop(columns=LEFT_OUT.get(name, []))
    for column in table:
        if not pd.api.types.is_numeric_dtype(table[column]) or table[column].isna().any():
            table[column] = table[column].astype(str)
    return table


def made(n_rows: int, rng: np.random.Generator) -> pd.DataFrame:
    """Customers: columns that hang together, rare levels, counts, heavy tails and ties."""
    age = rng.normal(45, 14, n_rows).clip(18, 90).round()
    income = np.exp(rng.normal(10 + 0.01 * age, 0.6, n_rows))
    country = rng.choice(
        ["US", "DE", "FR", "IT", "PT", "MT"], n_rows, p=[0.45, 0.3, 0.15, 0.07, 0.025, 0.005]
    )
    plan = np.where(income > np.quantile(income, 0.7), "plus", "basic").astype(object)
    plan[rng.random(n_rows) < 0.02] = "trial"
    visits = rng.poisson(np.exp(0.5 + 0.3 * (plan == "plus")), n_rows)
    flags = {f"flag {share}": rng.random(n_rows) < share for share in (0.003, 0.03, 0.3)}
    spent = np.where(rng.random(n_rows) < 0.4, 0.0, income * rng.beta(2, 30, n_rows))
    return pd.DataFrame(
        {
            "age": age,
            "income": income,
            "country": country,
            "plan": plan,
            "visits": visits,
            "spent": spent,
            **flags,
        }
    )


def is_number(column: pd.Series) -> bool:
    return column.dtype.kind in "iuf" and column.nunique() > FEW_VALUES


def plant(kind: str, half: pd.DataFrame, rng: np.random.Generator) -> list[str]:
    """Change one thing in place; the columns changed."""
    numbers = [name for name in half if is_number(half[name])]
    others = [name for name in half if not is_number(half[name])]
    if kind == "none":
        return []
    if kind == "two":
        return plant("rate", half, rng) + plant("shift", half, rng)
    if kind in ("rate", "rare"):
        column = str(rng.choice(others))
        by_size = half[column].value_counts().index
        share, level = (0.125, by_size[0]) if kind == "rate" else (0.03, by_size[-1])
        half[column] = half[column].mask(rng.random(len(half)) < share, level)
        return [column]
    column = str(rng.choice(numbers))
    values = half[column].astype(float)
    changed = {
        "shift": lambda: values + 0.3 * values.std(),
        "spread": lambda: values.mean() + 1.35 * (values - values.mean()),
        "broken": lambda: rng.permutation(values.to_numpy()),
        "gaps": lambda: values.mask(rng.random(len(half)) < 0.08),
    }
    half[column] = changed[kind]()
    return [column]


def pvalues_by_column(first: pd.DataFrame, second: pd.DataFrame) -> dict[str, float]:
    """A test of each column: Kolmogorov-Smirnov of numbers, chi-squared of all others and of gaps."""
    pvalues = {}
    for name in first:
        a, b = first[name], second[name]
        if is_number(a):
            pvalues[name] = stats.ks_2samp(a.dropna(), b.dropna()).pvalue
            if a.isna().any() or b.isna().any():
                a, b = a.isna(), b.isna()
                pvalues[name] = min(1.0, 2 * min(pvalues[name], _chi_squared(a, b)))
        else:
            pvalues[name] = _chi_squared(a, b)
    return pvalues


def univariate(first: pd.DataFrame, second: pd.DataFrame) -> set[str]:
    """Columns that differ by a test each, with Holm's correction at 5 %."""
    pvalues = pvalues_by_column(first, second)
    adjusted = adjusted_pvalues(list(pvalues.values()))
    return {name for name, pvalue in zip(pvalues, adjusted, strict=True) if pvalue <= 0.05}


def _chi_squared(a: pd.Series, b: pd.Series) -> float:
    counts = pd.concat([a.value_counts(), b.value_counts()], axis=1).fillna(0).to_numpy()
    return float(stats.chi2_contingency(counts).pvalue) if len(counts) > 1 else 1.0


def one_run(
    table: pd.DataFrame, kind: str, draw: int, n_rows: int, answer: Callable[..., Answer]
) -> list[float]:
    rng = np.random.default_rng([PLANTS.index(kind), draw])
    order = rng.permutation(len(table))[: 2 * n_rows]
    first, second = (table.iloc[part].reset_index(drop=True) for part in np.array_split(order, 2))
    truth = set(plant(kind, second, rng))
    result = answer(first, second, random_state=draw, missing="impute" if kind == "gaps" else "error")
    named = set(result.columns)
    by_hand = univariate(first, second)
    size = max(1, len(truth))
    return [
        result.pvalue <= 0.05,
        len(named & truth) / size,
        len(named - truth),
        bool(named - truth),
        len(by_hand & truth) / size,
        bool(by_hand - truth),
        result.seconds,
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    data = os.environ.get("PRINCDIFF_DATA")
    real = ["telco", "bank", "diamonds", "taxis"] if data else []
    parser.add_argument("--tables", nargs="*", default=[*real, "made"])
    parser.add_argument("--plants", nargs="*", default=list(PLANTS), choices=PLANTS)
    parser.add_argument("--rows", type=int, default=1000, help="rows of each half")
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--permutations", type=int, default=99)
    parser.add_argument("--quick", action="store_true", help="leave out what changes neither p nor names")
    arguments = parser.parse_args()
    chosen = quick_answer if arguments.quick else full_answer
    answer = partial(chosen, n_permutations=arguments.permutations)
    print(
        "| table | plant | p <= .05 | found | false a run | runs with false "
        "| Holm: found | Holm: with false | s |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    for name in arguments.tables:
        table = read(name)
        for kind in arguments.plants:
            runs = np.array(
                [one_run(table, kind, draw, arguments.rows, answer) for draw in range(arguments.draws)],
                dtype=float,
            )
            cells = [f"{value:.2f}" for value in runs.mean(axis=0)]
            if kind == "none":
                cells[1] = cells[4] = "-"
            if kind == "broken":
                # What went with the shuffled column goes with it no longer: that is no false name.
                cells[2] = cells[3] = "-"
            print(f"| {name} | {kind} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
