"""The steps of a comparison: fit, test, select, look for stability, explain."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from tqdm.auto import tqdm

from princdiff import policy
from princdiff.data.problem import Problem
from princdiff.data.samples import Samples, Scale
from princdiff.divergences import Divergence, Wasserstein2, get
from princdiff.estimators import SPARDA
from princdiff.inference.alone import AloneResult, alone_test
from princdiff.inference.contrasts import Design
from princdiff.inference.permutation import permutation_test
from princdiff.inference.relabelling import scheme_of
from princdiff.inference.stability import stability_selection
from princdiff.result import build, explain
from princdiff.result.effects import Effect, direction_effect
from princdiff.result.parts import CertificatePart, PathPart, SelectionPart, TestPart
from princdiff.tables import Prepared

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
        if isinstance(count, bool) or not isinstance(count, int | np.integer) or count < 0:
            raise ValueError(f"n_permutations must be a whole number, 0 or more, got {count!r}")
        object.__setattr__(self, "n_permutations", int(count))
        object.__setattr__(self, "divergence", get(self.divergence))

    def to_dict(self) -> dict[str, Any]:
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

    def run(self) -> dict[str, Any]:
        """All steps; what `DifferenceResult` holds, notes and parameters aside."""
        fit = self._fit()
        pvalue, statistic, test = self._test()
        chosen, selection, relations = self._select(pvalue)
        stability = self._stability(fit)
        table, columns = self._tables(fit, chosen, stability)
        self.clock.done("explaining")
        projections = self._projections(fit)
        effect = self._effect(fit, projections[0])
        self.clock.done("measuring the effect")
        components = self._components(fit, projections, pvalue, effect)
        return {
            "pvalue": pvalue,
            "statistic": statistic,
            "effect": effect.size,
            "effect_interval": (effect.low, effect.high),
            "groups": {
                name: int((self.data.codes == code).sum()) for code, name in enumerate(self.data.groups)
            },
            "columns": columns,
            "table": table,
            "relations": relations,
            "divergences": fit.divergences_,
            "upper_bounds": fit.upper_bounds_,
            "kind": {name: float(components[name].iloc[0]) for name in ("location", "scale", "shape")},
            "directions": pd.DataFrame(
                fit.components_.T, index=list(self.data.features), columns=components["component"].tolist()
            ),
            "components": components,
            "separation": [build.separation(own, self.data, self.divergence) for own in projections],
            "test": test,
            "selection": selection,
            "certificate": self._certificate(fit),
            "path": _path(fit),
            "reference": build.reference(self.data, projections, *self._scaling(fit)),
            "distributions": build.distributions(self.data, self._worth_drawing(table)),
            "codings": list(self.data.codings),
        }

    # The direction.

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

    def _certificate(self, fit: SPARDA) -> CertificatePart:
        found = fit.certificates_[0]
        if found is not None:
            return CertificatePart(found.kind, found.how)
        if not isinstance(self.divergence, Wasserstein2):
            why = "A bound on the best possible direction exists for the squared Wasserstein distance only."
        elif len(self.data.groups) > 2:
            why = "No bound on the best possible direction exists for more than two groups."
        else:
            why = "No bound on the best possible direction was computed; ask for it with certify=True."
        return CertificatePart("", why)

    def _components(self, fit: SPARDA, projections: NDArray, pvalue: float, effect: Effect) -> pd.DataFrame:
        """One row per direction; p-value and effect of the first are those of the result."""
        kind = explain.split_difference(projections, self.data.codes, self.data.weights)
        total = np.where(kind.total > 0, kind.total, 1.0)
        pvalues = np.full(len(projections), np.nan)
        plain = self.data.blocks is None and self.data.covariates is None
        if len(projections) > 1 and self.n_permutations and plain:
            with self._stage("testing further directions"):
                pvalues = fit.component_pvalues(self.data.rows, self.data.codes, self.data.weights)
            self.clock.done("components")
        pvalues[0] = pvalue
        further = [
            explain.effect_size(projection, self.data.codes, self.data.weights)
            for projection in projections[1:]
        ]
        return pd.DataFrame(
            {
                "component": [f"component {number}" for number in range(1, len(projections) + 1)],
                "divergence": fit.divergences_,
                "upper bound": fit.upper_bounds_,
                "pvalue": pvalues,
                "effect": [effect.size, *further],
                **{name: part / total for name, part in kind._asdict().items()},
            }
        )

    # How large.

    def _effect(self, fit: SPARDA, projection: NDArray[np.float64]) -> Effect:
        """Effect on rows that the direction was not fitted on: each half judged by the other's direction."""
        rng = np.random.default_rng([self.seed, 2])
        halves = self._halves(rng)
        level = int(np.count_nonzero(fit.components_[0]))
        if halves is None or level == 0 or self.scale == "within":
            return direction_effect(projection, self.data.codes, self.data.weights, rng)
        crossed = np.empty(len(projection))
        for part in (False, True):
            fitted, judged = halves == part, halves != part
            half = SPARDA(
                n_features=level,
                divergence=self.divergence,
                scale=self.scale,
                effort="fast",
                certify=False,
                random_state=self.seed,
                n_jobs=self.n_jobs,
            )
            weights = None if self.data.weights is None else self.data.weights[fitted]
            half.fit(self.data.rows[fitted], self.data.codes[fitted], sample_weight=weights)
            values = np.asarray(half.transform(self.data.rows[judged]), dtype=np.float64)[:, 0]
            crossed[judged] = _standard(values, self.data.codes[judged])
        squares = []
        for part in (False, True):
            own = halves == part
            inner = None if self.data.weights is None else self.data.weights[own]
            squares.append(direction_effect(crossed[own], self.data.codes[own], inner, rng))
        size, low, high = (
            float(np.sqrt(np.mean(np.square(values)))) for values in zip(*squares, strict=True)
        )
        # Half of the rows widen an interval by the root of two; both halves together have all of them.
        shrink = 1 / np.sqrt(2)
        return Effect(size, max(0.0, size - (size - low) * shrink), size + (high - size) * shrink)

    def _halves(self, rng: np.random.Generator) -> NDArray[np.bool_] | None:
        """Half of every group, whatever the order of rows and groups; None where groups are too small."""
        key = np.asarray(self.data.rows @ rng.normal(size=self.data.rows.shape[1])).ravel()
        halves = np.zeros(len(key), dtype=bool)
        for code in range(len(self.data.groups)):
            members = np.flatnonzero(self.data.codes == code)
            if len(members) < 8:
                return None
            ordered = members[np.argsort(key[members], kind="stable")]
            drawn = np.random.default_rng([self.seed, len(members)]).permutation(len(members))
            halves[ordered[drawn[: len(members) // 2]]] = True
        return halves

    # The test.

    def _test(self) -> tuple[float, float, TestPart]:
        if self.n_permutations == 0:
            return float("nan"), float("nan"), TestPart()
        count = self._permutations_in_time()
        found = self._permuted(count)
        self.clock.done("testing")
        part = TestPart(
            name="permutation",
            null=found.null,
            n_permutations=found.n_permutations,
            asked=self.n_permutations,
            exact=found.exact,
            smallest_attainable_pvalue=found.smallest_attainable_pvalue,
            monte_carlo_error=float(np.sqrt(found.pvalue * (1 - found.pvalue) / found.n_permutations)),
            cells=[f"{metric}, {size} features" for metric, size in found.levels],
            cell_pvalues=found.level_pvalues,
            leading_cell=" ".join(map(str, found.best_level)),
        )
        return float(found.pvalue), float(found.statistic), part

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

    # Features.

    def _select(self, pvalue: float) -> tuple[pd.DataFrame, SelectionPart, pd.DataFrame]:
        """Features that differ, with error control: selected, pvalue and reason of each feature."""
        names = list(self.data.features)
        nothing = pd.DataFrame({"selected": False, "pvalue": np.nan, "reason": ""}, index=names)
        relations = pd.DataFrame({"first": [], "second": [], "change": [], "pvalue": [], "selected": []})
        if not self.options.select:
            return nothing, SelectionPart(control="Features were not selected: not asked for."), relations
        found = self._alone()
        self.clock.done("selecting")
        reject = bool(pvalue <= 0.05)
        shown = pd.DataFrame(
            {
                "selected": reject & (found.feature_adjusted <= 0.05),
                "pvalue": found.feature_adjusted,
                "reason": np.where(reject & (found.feature_adjusted <= 0.05), "alone", ""),
            },
            index=names,
        )
        control = "Columns are said to differ with a family-wise error of at most 0.05."
        return shown, SelectionPart(True, 0.05, "fwer", control, self.n_permutations), relations

    def _alone(self) -> AloneResult:
        problem = Problem.from_prepared(self.data, divergence=self.divergence, scale=self.scale)
        names = list(dict.fromkeys(problem.units))
        units = np.array([names.index(unit) for unit in problem.units])
        design = Design(scheme_of(problem, self.n_permutations, self.seed), problem.n_groups, problem.weights)
        return alone_test(problem.rows, design, units, n_jobs=self.n_jobs)

    def _stability(self, fit: SPARDA) -> NDArray[np.float64]:
        unknown = np.full(len(fit.support_), np.nan)
        smallest = int(np.bincount(self.data.codes).min())
        if not policy.worth_stability(self.data.rows.shape, smallest) or self.clock.left < 0:
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

    def _tables(
        self, fit: SPARDA, chosen: pd.DataFrame, stability: NDArray[np.float64]
    ) -> tuple[pd.DataFrame, pd.DataFrame]:
        deviations = None
        if self.scale == "pooled":
            deviations = Samples(self.data.rows, "pooled", weights=self.data.weights).deviation
        rng = np.random.default_rng([self.seed, 3])
        alone, beyond, flags = build.single_features(self.data, deviations, rng)
        head = pd.DataFrame(
            {
                "feature": list(self.data.features),
                "column": list(self.data.origin),
                "weight": fit.components_[0],
                "share": fit.shares_[0],
                "selected": chosen["selected"].to_numpy(bool),
                "pvalue": chosen["pvalue"].to_numpy(float),
                "reason": chosen["reason"].to_numpy(object),
                "stability": stability,
            }
        )
        features = pd.concat([head, alone.drop(columns="feature")], axis=1)
        for number in range(1, len(fit.components_)):
            features[f"weight {number + 1}"] = fit.components_[number]
            features[f"share {number + 1}"] = fit.shares_[number]
        return build.result_tables(self.data, features, beyond, flags)

    # What is kept for pictures and for new rows.

    def _projections(self, fit: SPARDA) -> NDArray[np.float64]:
        labels = self.data.codes if self.scale == "within" else None
        projected = np.asarray(fit.transform(self.data.rows, labels), dtype=np.float64)
        return np.ascontiguousarray(projected.T)

    def _scaling(self, fit: SPARDA) -> tuple[dict[str, NDArray], dict[str, NDArray]]:
        """How rows are scaled before they are compared with each group."""
        width = len(fit.support_)
        if self.scale == "within":
            factors = {
                name: _inverse(fit.group_deviations_[code]) for code, name in enumerate(self.data.groups)
            }
            return factors, {name: fit.group_means_[code] for code, name in enumerate(self.data.groups)}
        common = _inverse(fit.scale_) if self.scale == "pooled" else np.ones(width)
        return dict.fromkeys(self.data.groups, common), dict.fromkeys(self.data.groups, np.zeros(width))

    def _worth_drawing(self, table: pd.DataFrame) -> list[str]:
        """Features whose distributions are kept: those that differ first."""
        order = np.lexsort((-table["effect"], ~table["selected"]))
        return table["feature"].iloc[order].head(policy.MOST_DISTRIBUTIONS).tolist()


def _standard(values: NDArray[np.float64], codes: NDArray[np.uint8]) -> NDArray[np.float64]:
    """Values in units of their standard deviation within the groups."""
    total = sum(((values[codes == g] - values[codes == g].mean()) ** 2).sum() for g in np.unique(codes))
    spread = float(np.sqrt(total / len(values)))
    return values / spread if spread > 0 else values


def _inverse(deviation: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.divide(1.0, deviation, out=np.zeros_like(deviation), where=deviation > 0)


def _path(fit: SPARDA) -> PathPart:
    if not hasattr(fit, "path_"):
        return PathPart()
    path = fit.path_
    return PathPart(
        np.asarray(path.grid, dtype=float),
        path.fitted.mean(axis=0),
        path.held_out.mean(axis=0),
        float(path.chosen),
    )
