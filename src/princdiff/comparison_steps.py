"""The steps of a comparison: fit, test, select, look for stability, explain."""

from __future__ import annotations

import logging
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from tqdm import tqdm

from princdiff import policy
from princdiff.data.moments import inverse_or_zero
from princdiff.data.problem import Problem, Run
from princdiff.data.samples import Samples, Scale
from princdiff.deadline import OutOfTime, until
from princdiff.divergences import Wasserstein2
from princdiff.estimators import SPARDA
from princdiff.inference.intervals import selected_effects
from princdiff.inference.permutation import PermutationOptions, PermutationResult, run_permutations
from princdiff.inference.planning import detectable_effect
from princdiff.inference.selection import SelectionOptions, SelectionResult, select
from princdiff.inference.stability import StabilityOptions, run_half_samples
from princdiff.progress import progress_bar
from princdiff.result import explain, feature_tables, held_out
from princdiff.result.effects import Effect, direction_effect
from princdiff.result.parts import (
    CertificatePart,
    PathPart,
    ReferencePart,
    RowsPart,
    SelectionPart,
    TestPart,
)
from princdiff.result.rows import rows_to_show
from princdiff.result.shown import Shown, leading_sentence
from princdiff.tables import Prepared

_LOG = logging.getLogger("princdiff")
_PILOT = 19
# Part of the time for a test that its pilot may take, and part of the rest that is planned to be used.
_PILOT_SHARE, _USED = 0.4, 0.8
# A test is at most so much larger than the one before, by which its time was foreseen.
_GROWTH = 20.0
# Part of the budget that a test has at least.
_LEAST_TEST = 0.2
# Numbers times relabellings up to which a test is quick, and relabellings to see how long another takes.
_QUICK, _MINI = 3 * 10**8, (9, 39)
# Of every group, where a test is made on a part of the rows; and relabellings that are worth more than rows.
_FEWEST_ROWS, _WANTED = 50, 99
# Seconds about that a test takes for one number and labelling, and that the tables take for one number and
# for one feature; the part of a budget that is left for the rest at least.
_TEST_NUMBER, _TELLING_NUMBER, _TELLING_FEATURE, _LEAST_SHARE = 8e-7, 4e-7, 1e-4, 0.4
# Rows on which an effect is measured where time is short.
_EFFECT_ROWS = 40_000


@dataclass(frozen=True)
class Options:
    """How to compare; see `compare` for the words."""

    n_features: int | str = "auto"
    n_components: int | str = 1
    divergence: Any = "auto"
    scale: Scale = "pooled"
    n_permutations: int = 999
    permute: str = "auto"
    certify: bool | str = "auto"
    select: bool = True
    error: str = "fwer"
    show_rows: int = 0

    def to_dict(self) -> dict[str, Any]:
        """The options as plain data; which divergence was chosen is a parameter of the result by itself."""
        names = ("n_features", "n_components", "scale", "n_permutations", "error")
        return {name: getattr(self, name) for name in names}


class Clock:
    """Seconds of each step."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._last = time.perf_counter()

    def done(self, step: str) -> None:
        """Note how long a step took."""
        now = time.perf_counter()
        self.seconds[step] = round(now - self._last, 3)
        self._last = now


class Comparison:
    """The steps of a comparison, in the order of their importance."""

    def __init__(
        self,
        prepared: Prepared,
        options: Options,
        run: Run,
        clock: Clock,
        keys: NDArray[np.uint64] | None = None,
    ) -> None:
        self.data, self.options, self.clock, self.how = prepared, options, clock, run
        self.notes: list[str] = []
        n_rows, n_features = prepared.rows.shape
        # What is told of every column has to be paid for, whatever else is left out.
        telling = _TELLING_NUMBER * n_rows * n_features + _TELLING_FEATURE * n_features
        self._begin = time.monotonic()
        self._allowed = max(run.time_left - telling, _LEAST_SHARE * run.time_left)
        self._test_due = np.inf
        self.telling: list[str] = []
        kinds = prepared.kinds
        self.divergence, self.why_divergence = policy.choose_divergence(
            options.divergence, prepared.rows, kinds
        )
        self.problem = Problem.from_prepared(
            prepared,
            divergence=self.divergence,
            scale=options.scale,
            permute=options.permute,
            keys=keys,
        )

    def run(self) -> dict[str, Any]:
        """All steps; what `DifferenceResult` holds, notes and parameters aside."""
        fit = self._fit()
        tested = self._test()
        pvalue, statistic, test = self._test_part(tested)
        chosen, selection, relations = self._select(pvalue)
        stability = self._stability(fit)
        table, columns = self._tables(fit, chosen, stability)
        self.clock.done("explaining")
        projections = self._projections(fit)
        effect, auc = self._effect(fit, projections[0])
        self.clock.done("measuring the effect")
        components = self._components(fit, projections, pvalue, effect)
        shown = Shown(self.data, self.problem, tested, self.how)
        with until(self._due("effect"), strict=False):
            contrasts = shown.contrasts(fit.components_[0], projections[0], effect, auc)
        self.clock.done("looking for contrasts")
        reference = feature_tables.reference(self.data, projections, *self._scaling(fit))
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
            "separation": [feature_tables.separation(own, self.data, self.divergence) for own in projections],
            "test": test,
            "selection": selection,
            "certificate": self._certificate(fit),
            "path": _path(fit),
            "reference": reference,
            "rows": self._rows(projections[0], reference),
            "distributions": feature_tables.distributions(self.data, self._worth_drawing(table)),
            "codings": list(self.data.codings),
            "contrasts": contrasts,
            "witness": shown.witness(),
        }

    def _due(self, step: str) -> float:
        """Moment at which a step has to be done; infinite without a time budget."""
        return self._begin + policy.TIME_SHARES[step] * self._allowed

    # The direction.

    def _fit(self) -> SPARDA:
        with self._stage("fitting"), until(self._due("fitting"), strict=False) as deadline:
            fit = self._direction(self.options.n_features, certify=self.options.certify)
            fit.set_params(n_components=self.options.n_components).fit_problem(self.problem, self.how)
        if deadline.passed:
            self.notes.append(
                "time budget: the search for the direction was cut short (this depends on the machine)"
            )
        self.clock.done("fitting")
        return fit

    def _direction(self, n_features: int | str, **options: Any) -> SPARDA:
        return SPARDA(
            n_features=n_features,
            divergence=self.divergence,
            scale=self.problem.scale,
            subsample=policy.searched_rows(self.problem.rows.shape),
            **options,
        )

    def _stage(self, name: str) -> tqdm:
        """What is being done, where it has no bar of its own."""
        return progress_bar(name, total=0, shown=self.how.progress, bar_format="{desc} ...")

    def _certificate(self, fit: SPARDA) -> CertificatePart:
        found = fit.certificates_[0]
        if found is not None:
            return CertificatePart(found.kind, found.how, found.n_features)
        if not isinstance(self.divergence, Wasserstein2):
            why = "A bound on the best possible direction exists for the squared Wasserstein distance only."
        else:
            why = "No bound worth telling was found in short time; certify=True takes longer."
        return CertificatePart("", why)

    def _components(self, fit: SPARDA, projections: NDArray, pvalue: float, effect: Effect) -> pd.DataFrame:
        """One row per direction; p-value and effect of the first are those of the result."""
        kind = explain.split_difference(projections, self.data.codes, self.data.weights)
        total = np.where(kind.total > 0, kind.total, 1.0)
        pvalues = np.full(len(projections), np.nan)
        plain = self.data.blocks is None and self.data.covariates is None
        if len(projections) > 1 and self.options.n_permutations and plain:
            pvalues = self._further_pvalues(fit)
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

    def _further_pvalues(self, fit: SPARDA) -> NDArray[np.float64]:
        try:
            with self._stage("testing further directions"), until(self._due("effect"), strict=True):
                return fit.problem_pvalues(self.problem, self.how)
        except OutOfTime:
            self.notes.append("time budget: further directions were not tested")
            return np.full(len(fit.components_), np.nan)

    # How large.

    def _effect(self, fit: SPARDA, projection: NDArray[np.float64]) -> tuple[Effect, float]:
        """Effect on rows that the direction was not fitted on, and how well it tells two groups apart."""
        rng = self.how.rng("effect")
        problem = self.problem
        if np.isfinite(self._allowed) and problem.n_rows > _EFFECT_ROWS:
            index = np.sort(rng.permutation(problem.n_rows)[:_EFFECT_ROWS])
            problem, projection = problem.take_rows(index), projection[index]
        halves = held_out.halves(problem, self.how.seed, rng)
        level = int(np.count_nonzero(fit.components_[0]))
        if halves is None or level == 0 or problem.scale == "within":
            return direction_effect(projection, problem.codes, problem.weights, rng), np.nan
        now = time.monotonic()
        due = iter([now + (self._due("effect") - now) / 2, self._due("effect")])

        def direction(half: Problem) -> NDArray[np.float64]:
            with until(next(due), strict=False):
                fitted = self._direction(level, effort="fast", certify=False).fit_problem(half, self.how)
            return fitted.components_[0] * inverse_or_zero(fitted.scale_)

        crossed = held_out.crossed(problem, halves, direction)
        return held_out.effect(problem, halves, crossed, rng), held_out.auc(problem, halves, crossed)

    # The test.

    def _test(self) -> PermutationResult | None:
        if self.options.n_permutations == 0:
            return None
        found = self._tested()
        self.clock.done("testing")
        return found

    def _test_part(self, found: PermutationResult | None) -> tuple[float, float, TestPart]:
        """P-value, statistic and what the result keeps of the test."""
        if found is None:
            return float("nan"), float("nan"), TestPart(asked=self.options.n_permutations)
        low, high = (np.nan, np.nan) if found.monte_carlo is None else found.monte_carlo
        part = TestPart(
            name="permutation",
            null=found.null,
            n_permutations=found.n_permutations,
            asked=self.options.n_permutations,
            exact=found.exact,
            smallest_attainable_pvalue=found.smallest_attainable_pvalue,
            monte_carlo_error=(high - low) / 2,
            cells=[cell.sentence for cell in found.cells],
            cell_pvalues=found.level_pvalues,
            leading=leading_sentence(found),
            leading_cell=found.leading,
            detectable=self._detectable(),
        )
        return float(found.pvalue), float(found.statistic), part

    def _detectable(self) -> float:
        """The shift of one feature that such a test mostly finds; NaN where rows are not simply rows."""
        problem = self.problem
        plain = problem.blocks is None and problem.covariates is None and problem.weights is None
        if not plain or problem.n_groups != 2:
            return float("nan")
        return detectable_effect(problem.sizes.tolist(), problem.n_features)

    def _tested(self) -> PermutationResult | None:
        """The test with as many relabellings as asked for, or as the time allows; None if it allows none."""
        asked = self.options.n_permutations
        if not np.isfinite(self._allowed):
            self._say_how_long()
            return _permuted(self.problem, self.how, asked)
        # Whatever the steps before took, some time is for the test.
        self._test_due = max(self._due("testing"), time.monotonic() + _LEAST_TEST * self._allowed)
        pilot = self._pilot()
        if pilot is None:
            self.notes.append(
                "time budget: no test was made, since the time does not suffice for "
                f"{_PILOT} relabellings; allow more time, or compare fewer rows or columns"
            )
            return None
        found, problem, seconds = pilot
        # Larger and larger tests, since much of a small one's time does not grow with it. Each is a test by
        # itself, and the last one that was done in time counts.
        while (larger := self._larger_test(problem, found, seconds)) is not None:
            begin = time.monotonic()
            try:
                with until(self._test_due, strict=True):
                    found = _permuted(*larger)
            except OutOfTime:
                break
            problem, seconds = larger[0], time.monotonic() - begin
        if found.n_permutations < asked and not found.exact:
            self.notes.append(
                f"time budget: {found.n_permutations} instead of {asked} permutations were made "
                "(this depends on the machine)"
            )
        if problem.n_rows < self.problem.n_rows:
            self.notes.append(
                f"time budget: the test was made on {problem.n_rows} of {self.problem.n_rows} rows, "
                "drawn at random from every group"
            )
        return found

    def _larger_test(
        self, problem: Problem, found: PermutationResult, seconds: float
    ) -> tuple[Problem, Run, int] | None:
        """Rows and relabellings of a test that fits into the time left; None if it would hardly be larger."""
        asked, n_rows, count = self.options.n_permutations, self.problem.n_rows, found.n_permutations
        if (count >= asked or found.exact) and problem.n_rows == n_rows:
            return None
        work = problem.n_rows * (count + 1)
        growth = _USED * (self._test_due - time.monotonic()) / seconds
        affordable = min(growth, _GROWTH) * work
        share = max(problem.n_rows / n_rows, affordable / (n_rows * (min(asked, _WANTED) + 1)))
        larger = _part_of_rows(self.problem, min(1.0, share), self.how)
        more = min(asked, max(count, round(affordable / larger.n_rows) - 1))
        if larger.n_rows * (more + 1) < min(1.5 * work, n_rows * (asked + 1)):
            return None
        if larger.n_rows * (more + 1) > 1.1 * growth * work:
            return None
        return larger, self.how, more

    def _pilot(self) -> tuple[PermutationResult, Problem, float] | None:
        """A test with few relabellings, on fewer rows until it fits into the time, and its seconds."""
        count = min(_PILOT, self.options.n_permutations)
        left = _PILOT_SHARE * (self._test_due - time.monotonic())
        numbers = self.problem.n_rows * self.problem.n_features * (count + 1)
        # Machines and divergences differ: the first try is a modest one.
        share = min(1.0, left / (4 * _TEST_NUMBER * numbers))
        while True:
            problem = _part_of_rows(self.problem, share, self.how)
            share /= policy.FEWER_ROWS
            last = _part_of_rows(self.problem, share, self.how).n_rows > problem.n_rows / 2
            begin = time.monotonic()
            due = begin + (1.0 if last else _PILOT_SHARE) * (self._test_due - begin)
            try:
                with until(due, strict=True):
                    return _permuted(problem, self.how, count), problem, time.monotonic() - begin
            except OutOfTime:
                if last:
                    return None

    def _say_how_long(self) -> None:
        """Tell the expected time of a long test before it begins."""
        asked = self.options.n_permutations
        if self.data.rows.shape[0] * self.data.rows.shape[1] * asked < _QUICK:
            return
        expected = self._expected_seconds(asked)
        if expected > policy.LONG:
            # Warnings are collected and shown at the end, which would be late.
            _LOG.warning(
                "princdiff: the test takes at most about %s (%d relabellings); n_permutations= or "
                "time_budget= make it shorter",
                _duration(expected),
                asked,
            )

    def _expected_seconds(self, count: int) -> float:
        """Time of a test, judged by two small ones on a part of the rows.

        An upper bound: where rows are very many, some steps look at a sample that does not grow with them.
        """
        part = _part_of_rows(self.problem, 1 / policy.FEWER_ROWS, self.how)
        seconds = []
        for small in _MINI:
            begin = time.monotonic()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                _permuted(part, self.how, small)
            seconds.append(time.monotonic() - begin)
        each = max(seconds[1] - seconds[0], 0.0) / (_MINI[1] - _MINI[0])
        once = max(seconds[0] - each * (_MINI[0] + 1), 0.0)
        return (once + each * (count + 1)) * self.problem.n_rows / part.n_rows

    # Features.

    def _select(self, pvalue: float) -> tuple[pd.DataFrame, SelectionPart, pd.DataFrame]:
        """Features that differ, with error control, and pairs that go together differently."""
        names = list(self.data.features)
        if not self.options.select or np.isnan(pvalue):
            nothing = pd.DataFrame({"selected": False, "pvalue": np.nan, "reason": ""}, index=names)
            why = "not asked for" if not self.options.select else "no test was made"
            control = f"Columns that differ were not looked for: {why}."
            return nothing, SelectionPart(control=control), _no_relations(self.data.groups)
        options = SelectionOptions(
            n_permutations=max(self.options.n_permutations, policy.FEWEST_SELECTION_PERMUTATIONS),
            error=self.options.error,
            global_pvalue=pvalue,
        )
        with self._stage("naming columns"):
            found = self._selected_in_time(options)
        self.clock.done("selecting")
        if found is None:
            nothing = pd.DataFrame({"selected": False, "pvalue": np.nan, "reason": ""}, index=names)
            control = "Columns that differ were not looked for: the time budget was used up."
            self.notes.append("time budget: columns that differ were not looked for")
            return nothing, SelectionPart(control=control), _no_relations(self.data.groups)
        chosen = found.table.set_axis(names)
        chosen = chosen[["selected", "reason"]].assign(pvalue=chosen["pvalue_adj"])
        part = SelectionPart(
            True,
            options.alpha,
            options.error,
            found.control.rstrip(".") + ".",
            found.n_labellings - 1,
        )
        return chosen, part, self._related(found.relations)

    def _selected_in_time(self, options: SelectionOptions) -> SelectionResult | None:
        """Columns and pairs; columns alone where time is short, with fewer relabellings; or nothing."""
        fewest = replace(options, relations=False, n_permutations=policy.FEWEST_SELECTION_PERMUTATIONS)
        for share, tried in ((0.6, options), (1.0, fewest)):
            now = time.monotonic()
            try:
                with until(now + share * (self._due("selecting") - now), strict=True):
                    found = select(self.problem, self.how, tried)
            except OutOfTime:
                continue
            if tried is fewest:
                self.notes.append("time budget: pairs of columns were not looked at")
            return found
        return None

    def _related(self, pairs: pd.DataFrame) -> pd.DataFrame:
        """Pairs with the columns of the user's table that they belong to."""
        origin = dict(zip(self.data.features, self.data.origin, strict=True))
        shown = pairs.rename(
            columns={f"correlation in {name}": f"dependence {name}" for name in self.data.groups}
        )
        shown = shown.rename(columns={"pvalue_adj": "pvalue"})
        shown.insert(2, "first column", [origin[name] for name in shown["first"]])
        shown.insert(3, "second column", [origin[name] for name in shown["second"]])
        return shown.reset_index(drop=True)

    def _stability(self, fit: SPARDA) -> NDArray[np.float64]:
        unknown = np.full(len(fit.support_), np.nan)
        smallest = int(np.bincount(self.data.codes).min())
        if not policy.worth_stability(self.data.rows.shape, smallest):
            return unknown
        level = max(1, int(np.count_nonzero(fit.components_[0])))
        try:
            with self._stage("looking for stability"), until(self._due("stability"), strict=True):
                found = run_half_samples(self.problem, self.how, StabilityOptions(level, n_pairs=25))
        except OutOfTime:
            self.notes.append("time budget: the stability of features was not looked at")
            return unknown
        self.clock.done("stability")
        return found.frequencies

    def _tables(
        self, fit: SPARDA, chosen: pd.DataFrame, stability: NDArray[np.float64]
    ) -> tuple[pd.DataFrame, pd.DataFrame]:
        deviations = None
        if self.problem.scale == "pooled":
            deviations = self.problem.samples.deviation
        rng = self.how.rng("explanation")
        alone, beyond, flags = feature_tables.single_features(self.data, deviations, rng)
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
        table, columns, telling = feature_tables.result_tables(self.data, features, beyond, flags)
        self.telling = telling
        for name in telling:
            self.notes.append(
                f"column {name!r} tells the groups without fail; if it is the grouping under another name, "
                f"leave it out with exclude=[{name!r}]"
            )
        return feature_tables.with_differences(table, columns, self._differences(table))

    def _differences(self, table: pd.DataFrame) -> pd.DataFrame:
        """Differences in the columns' own units, of features that differ by themselves."""
        alone = table[table["selected"] & (table["reason"] == "alone")]
        if len(self.data.groups) > 2 or self.problem.scale == "within":
            alone = alone.head(0)
        kinds = dict(zip(alone["feature"], alone["kind"], strict=True))
        return selected_effects(self.problem, kinds)

    # What is kept for pictures and for new rows.

    def _projections(self, fit: SPARDA) -> NDArray[np.float64]:
        """Rows on the directions, each group scaled as it is for new rows, (n_components, n_rows)."""
        factors, offsets = self._scaling(fit)
        result = np.empty((len(fit.components_), len(self.data.codes)))
        for code, name in enumerate(self.data.groups):
            members = self.data.codes == code
            weights = (fit.components_ * factors[name]).T
            projected = np.asarray(self.data.rows[members] @ weights, dtype=np.float64)
            result[:, members] = (projected - offsets[name] @ weights).T
        return result

    def _scaling(self, fit: SPARDA) -> tuple[dict[str, NDArray], dict[str, NDArray]]:
        """How rows are scaled before they are compared with each group."""
        width = len(fit.support_)
        if self.problem.scale == "within":
            factors = {
                name: inverse_or_zero(fit.group_deviations_[code])
                for code, name in enumerate(self.data.groups)
            }
            return factors, {name: fit.group_means_[code] for code, name in enumerate(self.data.groups)}
        common = inverse_or_zero(fit.scale_) if self.problem.scale == "pooled" else np.ones(width)
        return dict.fromkeys(self.data.groups, common), dict.fromkeys(self.data.groups, np.zeros(width))

    def _rows(self, projection: NDArray[np.float64], reference: ReferencePart) -> RowsPart:
        """Rows to look at, if the user wants data in the result."""
        if not self.options.show_rows:
            return RowsPart()
        factor = np.asarray(Samples(self.data.rows, "pooled", dtype=np.float64).factor, dtype=np.float64)
        return rows_to_show(self.data, projection, reference.components[0], factor, self.options.show_rows)

    def _worth_drawing(self, table: pd.DataFrame) -> list[str]:
        """Features whose distributions are kept: those that differ first."""
        order = np.lexsort((-table["effect"], ~table["selected"]))
        return table["feature"].iloc[order].head(policy.MOST_DISTRIBUTIONS).tolist()


def _permuted(problem: Problem, run: Run, count: int) -> PermutationResult:
    return run_permutations(problem, run, PermutationOptions(n_permutations=count))


def _part_of_rows(problem: Problem, share: float, run: Run) -> Problem:
    """A random part of the rows of every group; all where groups are small, or rows belong to blocks.

    Which rows are taken does not depend on how groups would be relabelled, so the test stays valid.
    """
    if share >= 1 or problem.blocks is not None or problem.sizes.max() <= _FEWEST_ROWS:
        return problem
    taken = np.zeros(problem.n_rows, dtype=bool)
    for code, size in enumerate(problem.sizes):
        members = np.flatnonzero(problem.codes == code)
        wanted = min(int(size), max(_FEWEST_ROWS, int(share * size)))
        taken[run.rng(f"rows {code}").permutation(members)[:wanted]] = True
    return problem.take_rows(taken)


def _duration(seconds: float) -> str:
    """A duration in words.

    Examples
    --------
    >>> _duration(80), _duration(600), _duration(9000)
    ('80 seconds', '10 minutes', '2.5 hours')
    """
    if seconds < 100:
        return f"{seconds:.0f} seconds"
    return f"{seconds / 60:.0f} minutes" if seconds < 6000 else f"{seconds / 3600:.1f} hours"


def _no_relations(groups: Sequence[str]) -> pd.DataFrame:
    names = ["first", "second", "first column", "second column"]
    numbers = [*(f"dependence {group}" for group in groups), "change", "pvalue"]
    empty = pd.DataFrame({name: pd.Series(dtype=object) for name in names})
    return empty.assign(**{name: pd.Series(dtype=float) for name in numbers}, selected=pd.Series(dtype=bool))


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
