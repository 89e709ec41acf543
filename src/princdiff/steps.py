"""The steps of a comparison: fit, test, select, look for stability, explain."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from tqdm import tqdm

from princdiff.data.labels import Labels
from princdiff.data.samples import Samples, Scale
from princdiff.divergences import Divergence, Wasserstein2, get, report
from princdiff.estimators import SPARDA
from princdiff.inference.permutation import permutation_test
from princdiff.inference.selection import select_features
from princdiff.inference.split import split_test
from princdiff.inference.stability import stability_selection
from princdiff.result import explain
from princdiff.tables import Prepared

# Numbers (rows x features x labellings) up to which every relabelling is fitted.
AFFORDABLE_PERMUTATIONS = 3 * 10**9
# Numbers (rows x features) up to which all features that take part are looked for on all rows.
AFFORDABLE_SELECTION = 12 * 10**5
# Numbers and rows of the sample on which they are looked for beyond that.
_SELECTION_SAMPLE = 25 * 10**4
_FEWEST_SELECTION_ROWS = 1000
# Fewer relabellings cannot show that a pair of many differs.
_FEWEST_SELECTION_PERMUTATIONS = 199
_REFERENCE_LEVELS = (np.arange(500) + 0.5) / 500
_MOST_DISTRIBUTIONS = 300
_BINS = 24
_PILOT = 19


@dataclass(frozen=True)
class Options:
    """How to compare; see `compare` for the words."""

    n_features: int | str = "auto"
    n_components: int | str = 1
    divergence: str | Divergence | Callable = "wasserstein2"
    scale: Scale = "pooled"
    n_permutations: int = 999
    permute: str = "within"
    certify: bool | str = "auto"
    select: bool = True
    time_budget: float | None = None
    random_state: Any = 0
    n_jobs: int | None = None
    progress: bool = False

    def __post_init__(self) -> None:
        count = self.n_permutations
        if isinstance(count, bool) or not isinstance(count, int) or count < 0:
            raise ValueError(f"n_permutations must be a whole number, 0 or more, got {count!r}")
        object.__setattr__(self, "divergence", get(self.divergence))

    def told(self) -> dict[str, Any]:
        """The options as plain data."""
        state = self.random_state
        return {
            **{
                name: getattr(self, name)
                for name in ("n_features", "n_components", "scale", "n_permutations")
            },
            "divergence": self.divergence.name,  # type: ignore[union-attr]
            "random_state": state if isinstance(state, int | None) else str(state),
            "time_budget": self.time_budget,
        }


class Clock:
    """Seconds of each step, and what is left of the budget."""

    def __init__(self, budget: float | None) -> None:
        if budget is not None and not budget > 0:
            raise ValueError(f"time_budget must be a positive number of seconds, got {budget!r}")
        self.budget = budget
        self.seconds: dict[str, float] = {}
        self._begin = self._last = time.perf_counter()

    def done(self, step: str) -> None:
        """Note how long a step took."""
        now = time.perf_counter()
        self.seconds[step] = round(now - self._last, 3)
        self._last = now

    @property
    def left(self) -> float:
        """Seconds left; infinite without a budget."""
        return np.inf if self.budget is None else self.budget - (time.perf_counter() - self._begin)


class Comparison:
    """The steps of a comparison, in the order of their importance."""

    def __init__(self, prepared: Prepared, options: Options, clock: Clock, seed: int) -> None:
        self.data, self.options, self.clock, self.seed = prepared, options, clock, seed
        self.scale, self.n_permutations, self.n_jobs = options.scale, options.n_permutations, options.n_jobs
        self.divergence = get(options.divergence)
        self.notes: list[str] = []
        self.y = np.asarray(prepared.groups, dtype=object)[prepared.codes]
        self.size = prepared.rows.shape[0] * prepared.rows.shape[1]

    def run(self) -> dict[str, Any]:
        """All steps; what `DifferenceResult` holds, notes and parameters aside."""
        fit = self._fit()
        test = self._test()
        selected, selection, adjusted = self._select(fit)
        stability = self._stability(fit)
        table = self._table(fit, selected, adjusted, stability)
        self.clock.done("explaining")
        projections = self._projections(fit)
        components = self._components(fit, projections, float(test["pvalue"]))
        certificate = fit.certificates_[0]
        return {
            "pvalue": float(test.pop("pvalue")),
            "statistic": float(test.pop("statistic")),
            "divergences": fit.divergences_,
            "upper_bounds": fit.upper_bounds_,
            "effect": float(components["effect"].iloc[0]),
            "kind": {name: float(components[name].iloc[0]) for name in ("location", "scale", "shape")},
            "directions": pd.DataFrame(
                fit.components_.T, index=list(self.data.features), columns=components["component"].tolist()
            ),
            "components": components,
            "separation": [self._separation(projection) for projection in projections],
            "groups": {
                name: int((self.data.codes == code).sum()) for code, name in enumerate(self.data.groups)
            },
            "table": table,
            "test": test,
            "selection": selection,
            "certificate": (
                {"how": self._why_no_bound()}
                if certificate is None
                else {"kind": certificate.kind, "how": certificate.how}
            ),
            "path": _path(fit),
            "reference": self._reference(fit, projections),
            "distributions": self._distributions(table),
            "codings": [vars(coding) for coding in self.data.codings],
        }

    def _fit(self) -> SPARDA:
        fit = SPARDA(
            n_features=self.options.n_features,
            n_components=self.options.n_components,
            divergence=self.divergence,
            scale=self.scale,
            certify=self.options.certify,
            random_state=self.seed,
            n_jobs=self.n_jobs,
        )
        with self._stage("fitting"):
            fit.fit(self.data.rows, self.data.codes, sample_weight=self.data.weights)
        self.clock.done("fitting")
        return fit

    def _stage(self, name: str) -> tqdm:
        """What is being done, where it has no bar of its own."""
        hidden = None if self.options.progress else True
        return tqdm(total=0, desc=name, bar_format="{desc} ...", disable=hidden, leave=False)

    def _components(self, fit: SPARDA, projections: NDArray, pvalue: float) -> pd.DataFrame:
        """One row per direction; the p-value of the first is that of the test."""
        kind = explain.split_difference(projections, self.data.codes, self.data.weights)
        total = np.where(kind.total > 0, kind.total, 1.0)
        pvalues = np.full(len(projections), np.nan)
        if (
            len(projections) > 1
            and self.n_permutations
            and self.data.blocks is None
            and self.data.covariates is None
        ):
            with self._stage("testing further directions"):
                pvalues = fit.component_pvalues(self.data.rows, self.data.codes, self.data.weights)
            self.clock.done("components")
        pvalues[0] = pvalue
        return pd.DataFrame(
            {
                "component": [f"component {number}" for number in range(1, len(projections) + 1)],
                "divergence": fit.divergences_,
                "upper bound": fit.upper_bounds_,
                "pvalue": pvalues,
                "effect": [
                    explain.effect_size(projection, self.data.codes, self.data.weights)
                    for projection in projections
                ],
                **{name: part / total for name, part in kind._asdict().items()},
            }
        )

    def _separation(self, projection: NDArray[np.float64]) -> list[list[float]]:
        """Divergence between every two groups along a direction, (n_groups, n_groups)."""
        n_groups = len(self.data.groups)
        matrix = np.zeros((n_groups, n_groups))
        for g, h in combinations(range(n_groups), 2):
            inside = (self.data.codes == g) | (self.data.codes == h)
            weights = None if self.data.weights is None else self.data.weights[inside]
            labels = Labels((self.data.codes[inside] == h).astype(np.uint8), 2, weights=weights)
            own = projection[inside]
            matrix[g, h] = report(self.divergence, (own - own.mean())[None], labels)[0]
            # Some divergences have a direction; the reverse is the other entry.
            labels = Labels((self.data.codes[inside] == g).astype(np.uint8), 2, weights=weights)
            matrix[h, g] = report(self.divergence, (own - own.mean())[None], labels)[0]
        return matrix.tolist()

    def _why_no_bound(self) -> str:
        if not isinstance(self.divergence, Wasserstein2):
            return "A bound on the best possible direction exists for the squared Wasserstein distance only."
        if len(self.data.groups) > 2:
            return "No bound on the best possible direction exists for more than two groups."
        return "No bound on the best possible direction was computed; ask for it with certify=True."

    # The test.

    def _test(self) -> dict[str, Any]:
        if self.n_permutations == 0:
            return {"name": "none", "pvalue": np.nan, "statistic": np.nan}
        special = self.data.blocks is not None or self.data.covariates is not None
        special = special or self.data.weights is not None or self.scale == "within"
        affordable = self.size * (self.n_permutations + 1) <= AFFORDABLE_PERMUTATIONS
        outcome = self._permutation_test() if affordable or special else self._split_test()
        self.clock.done("testing")
        return outcome

    def _permutation_test(self) -> dict[str, Any]:
        count = self._permutations_in_time()
        test = self._permuted(count)
        return {
            "name": "permutation",
            "pvalue": test.pvalue,
            "statistic": test.statistic,
            "null": test.null,
            "n_permutations": test.n_permutations,
            "exact": test.exact,
            "smallest_attainable_pvalue": test.smallest_attainable_pvalue,
            "levels": [list(level) for level in test.levels],
            "level_pvalues": test.level_pvalues,
            "best_level": list(test.best_level),
        }

    def _permuted(self, count: int) -> Any:
        return permutation_test(
            self.data.rows,
            self.data.codes,
            n_permutations=count,
            divergence=self.divergence,
            scale=self.scale,
            blocks=self.data.blocks,
            permute=self.options.permute,
            covariates=self.data.covariates,
            sample_weight=self.data.weights,
            random_state=self.seed,
            n_jobs=self.n_jobs,
            progress=self.options.progress,
        )

    def _permutations_in_time(self) -> int:
        """As many relabellings as asked for, or as half of the time left allows."""
        if not np.isfinite(self.clock.left):
            return self.n_permutations
        begin = time.perf_counter()
        self._permuted(min(_PILOT, self.n_permutations))
        each = (time.perf_counter() - begin) / (_PILOT + 1)
        count = int(np.clip(0.5 * self.clock.left / each, _PILOT, self.n_permutations))
        if count < self.n_permutations:
            self.notes.append(
                f"time budget: {count} instead of {self.n_permutations} permutations were made "
                "(this depends on the machine)"
            )
        return count

    def _split_test(self) -> dict[str, Any]:
        self.notes.append(
            "the table is too large to refit every permutation; a split test was used, which is valid too "
            "but has less power"
        )
        test = split_test(
            self.data.rows,
            self.data.codes,
            n_permutations=self.n_permutations,
            n_features=self.options.n_features,
            divergence=self.divergence,
            scale=self.scale,
            effort="fast",
            random_state=self.seed,
            n_jobs=self.n_jobs,
            progress=self.options.progress,
        )
        return {
            "name": "split",
            "pvalue": test.pvalue,
            "statistic": float(np.median(test.statistics)),
            "pvalues": test.pvalues,
            "rule": test.rule,
            "n_permutations": self.n_permutations,
        }

    # Features.

    def _select(self, fit: SPARDA) -> tuple[NDArray[np.bool_], dict[str, Any], NDArray[np.float64]]:
        """Features that take part, with error control where that is possible and affordable."""
        unknown = np.full(len(fit.support_), np.nan)
        reason = self._no_selection()
        if reason is None:
            chosen = self._selection_rows()
            found = select_features(
                self.data.rows if chosen is None else self.data.rows[chosen],
                self.data.codes if chosen is None else self.data.codes[chosen],
                columns=self.data.origin,
                n_permutations=max(self.n_permutations, _FEWEST_SELECTION_PERMUTATIONS),
                random_state=self.seed,
                n_jobs=self.n_jobs,
                progress=self.options.progress,
            )
            self.clock.done("selecting")
            selection = {
                "goal": "all",
                "control": found.control,
            }
            return found.selected, selection, found.table["pvalue_adj"].to_numpy(float)
        if self.options.select:
            self.notes.append(f"features selected are those with a weight, without error control: {reason}")
        control = "the features with a weight, without control of the error"
        return fit.support_, {"goal": "support", "control": control}, unknown

    def _no_selection(self) -> str | None:
        if not self.options.select:
            return "not asked for"
        if self.data.blocks is not None or self.data.covariates is not None or self.data.weights is not None:
            return "blocks, covariates or weights were given"
        if self.scale == "within":
            return "features were standardised within the groups"
        if self.size > AFFORDABLE_SELECTION and self._sample_size() < _FEWEST_SELECTION_ROWS:
            return f"the table is large ({self.data.rows.shape[0]} x {self.data.rows.shape[1]})"
        if self.clock.left < 0:
            return "the time budget was used up (this depends on the machine)"
        return None

    def _sample_size(self) -> int:
        return min(self.data.rows.shape[0], _SELECTION_SAMPLE // self.data.rows.shape[1])

    def _selection_rows(self) -> NDArray[np.intp] | None:
        """A random sample of each group, in proportion, where all rows would take too long."""
        if self.size <= AFFORDABLE_SELECTION:
            return None
        count, n_rows = self._sample_size(), self.data.rows.shape[0]
        self.notes.append(f"features were selected on a random sample of about {count} of {n_rows} rows")
        rng = np.random.default_rng(self.seed)
        parts = []
        for group in range(len(self.data.groups)):
            members = rng.permutation(np.flatnonzero(self.data.codes == group))
            # Of a small group as many rows as there are, up to its equal share.
            wanted = max(
                round(count * len(members) / n_rows), min(len(members), count // (4 * len(self.data.groups)))
            )
            parts.append(members[:wanted])
        return np.sort(np.concatenate(parts))

    def _stability(self, fit: SPARDA) -> NDArray[np.float64]:
        unknown = np.full(len(fit.support_), np.nan)
        smallest = np.bincount(self.data.codes).min()
        if self.size > AFFORDABLE_SELECTION or self.clock.left < 0 or smallest < 4:
            return unknown
        level = max(1, int(np.count_nonzero(fit.components_[0])))
        with self._stage("looking for stability"):
            found = stability_selection(
                self.data.rows,
                self.data.codes,
                n_features=level,
                n_pairs=25,
                divergence=self.divergence,
                scale=self.scale,
                random_state=self.seed,
                n_jobs=self.n_jobs,
            )
        self.clock.done("stability")
        return found.frequencies

    def _table(
        self,
        fit: SPARDA,
        selected: NDArray[np.bool_],
        adjusted: NDArray[np.float64],
        stability: NDArray[np.float64],
    ) -> pd.DataFrame:
        alone = self._single_features()
        head = pd.DataFrame(
            {
                "feature": list(self.data.features),
                "column": list(self.data.origin),
                "weight": fit.components_[0],
                "share": fit.shares_[0],
                "selected": selected,
                "pvalue": adjusted,
                "stability": stability,
            }
        )
        table = pd.concat([head, alone.drop(columns="feature")], axis=1)
        for number in range(1, len(fit.components_)):
            table[f"weight {number + 1}"] = fit.components_[number]
            table[f"share {number + 1}"] = fit.shares_[number]
        # Divergences that do not depend on scale have no shares; squared weights say as much.
        leading = table["share"].fillna(table["weight"] ** 2)
        order = np.lexsort((-table["divergence"], ~table["selected"], -leading))
        return table.iloc[order].reset_index(drop=True)

    def _single_features(self) -> pd.DataFrame:
        """Each feature by itself; divergences are of the scaled feature, means as measured."""
        rows = self.data.rows
        names, groups = self.data.features, self.data.groups
        if sp.issparse(rows):
            rows = rows.tocsc()
        step = max(1, 20_000_000 // rows.shape[0])
        blocks = []
        for start in range(0, rows.shape[1], step):
            block = rows[:, start : start + step]
            block = block.toarray() if sp.issparse(block) else np.asarray(block)
            blocks.append(
                explain.feature_table(
                    np.ascontiguousarray(block.T, dtype=np.float64),
                    names[start : start + step],
                    self.data.codes,
                    groups,
                    self.data.weights,
                )
            )
        table = pd.concat(blocks, ignore_index=True)
        if self.scale == "pooled":
            deviation = Samples(self.data.rows, "pooled", weights=self.data.weights).deviation
            square = np.where(deviation > 0, deviation, np.inf) ** 2
            for name in ("divergence", "location", "scale", "shape"):
                table[name] = table[name].to_numpy() / square
        return table

    # What is kept for pictures and for new rows.

    def _projections(self, fit: SPARDA) -> NDArray[np.float64]:
        labels = self.data.codes if self.scale == "within" else None
        projected = np.asarray(fit.transform(self.data.rows, labels), dtype=np.float64)
        return np.ascontiguousarray(projected.T)

    def _reference(self, fit: SPARDA, projections: NDArray[np.float64]) -> dict[str, Any]:
        components = []
        for projection in projections:
            component = {}
            for code, name in enumerate(self.data.groups):
                own = projection[self.data.codes == code]
                component[name] = {
                    "quantiles": np.quantile(own, _REFERENCE_LEVELS),
                    "sd": float(own.std()),
                    "rows": len(own),
                }
            components.append(component)
        factors = np.ones(len(fit.support_))
        if self.scale == "pooled":
            factors = np.divide(1.0, fit.scale_, out=np.zeros_like(fit.scale_), where=fit.scale_ > 0)
        return {"levels": _REFERENCE_LEVELS, "factors": factors, "components": components}

    def _distributions(self, table: pd.DataFrame) -> dict[str, Any]:
        """Histograms of the leading features, by share and then by their own divergence."""
        place = {name: position for position, name in enumerate(self.data.features)}
        result = {}
        for name in table["feature"].head(_MOST_DISTRIBUTIONS):
            column = self.data.rows[:, [place[name]]]
            values = (
                (column.toarray() if sp.issparse(column) else np.asarray(column)).ravel().astype(np.float64)
            )
            result[name] = _histogram(values, self.data.codes, self.data.groups)
        return result


def _histogram(values: NDArray[np.float64], codes: NDArray[np.uint8], groups: ArrayLike) -> dict[str, Any]:
    """Shares of each group in common bins; a long tail is gathered in the outermost ones."""
    low, high = np.quantile(values, [0.005, 0.995])
    if low == high:
        low, high = float(values.min()), float(values.max())
    if low == high:
        low, high = low - 0.5, high + 0.5
    edges = np.linspace(low, high, _BINS + 1)
    inside = np.clip(values, low, high)
    shares = {}
    for code, name in enumerate(np.asarray(groups)):
        counts = np.histogram(inside[codes == code], edges)[0]
        shares[str(name)] = counts / max(1, counts.sum())
    return {"edges": edges, "shares": shares}


def _path(fit: SPARDA) -> dict[str, Any]:
    if not hasattr(fit, "path_"):
        return {}
    path = fit.path_
    return {
        "grid": path.grid,
        "fitted": path.fitted.mean(axis=0),
        "held_out": path.held_out.mean(axis=0),
        "chosen": float(path.chosen),
    }
