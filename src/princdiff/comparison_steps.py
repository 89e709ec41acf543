"""The steps of a comparison: fit, test, select, look for stability, explain."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from tqdm import tqdm

from princdiff import __version__, auto_choices
from princdiff.caught_warnings import caught_warnings, warn_user
from princdiff.comparison_checkpoint import ComparisonCheckpoint
from princdiff.data.labels import HELD_OUT
from princdiff.data.problem import Problem, Run
from princdiff.data.row_chunks import RowChunks
from princdiff.data.samples import Samples, Scale
from princdiff.deadline import OutOfTime, until
from princdiff.findings import Fault, Reason, Why
from princdiff.progress import progress_bar
from princdiff.result import feature_tables, held_out, kept_parts, projected_groups, shift_spread_shape
from princdiff.result.adjustment import adjusting_weights, balance_of
from princdiff.result.columns import ColumnFacts
from princdiff.result.difference import DifferenceResult
from princdiff.result.effects import Effect
from princdiff.result.faults import faults, repeated_rows, unlike_depth
from princdiff.result.kept_parts import distributions
from princdiff.result.parts import (
    ReferencePart,
    RowsPart,
    SelectionPart,
)
from princdiff.result.rows import rows_to_show
from princdiff.result.shown import Shown
from princdiff.result.table_one import measured_columns
from princdiff.result.telling_columns import telling_columns
from princdiff.resume import fingerprint_of
from princdiff.selection.explanation import Explanation, with_rest
from princdiff.selection.intervals import selected_effects
from princdiff.selection.select import select, single_columns
from princdiff.selection.selected import SelectionResult, only_explaining
from princdiff.selection.stability import run_half_samples
from princdiff.selection.steps import SelectionOptions
from princdiff.solvers.path import PathOptions, solve_path
from princdiff.statistics.alone import FEWEST_NAMING
from princdiff.statistics.directions import SparseDirections
from princdiff.statistics.identity import identity_of, rows_identity
from princdiff.statistics.permutation_result import PermutationOptions, PermutationResult
from princdiff.statistics.permutation_runs import run_permutations
from princdiff.tables import Prepared
from princdiff.time_budget import Announcement, Budget, BudgetedTest
from princdiff.words import on_design
from princdiff.words.first_look import first_look
from princdiff.words.wording import LEVEL

# P-value of all other columns together above which they count as unmoved where faults of whole columns are
# looked for: at .05 one column in twenty that was exchanged, or measured in another unit, was not said to be.
_REST_MOVED = 0.01
# Rows on which an effect is measured where time is short.
_EFFECT_ROWS = 40_000
# Rows on which effects and kinds of difference are measured at most: more take memory, and tell nothing more.
_MOST_EFFECT_ROWS = 2_000_000
# Options on which the steps that a checkpoint keeps depend, beside the data and the divergence.
_KEPT_OPTIONS = (
    "n_features",
    "n_components",
    "scale",
    "n_permutations",
    "quick",
    "certify",
    "error",
)


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
        # What was left out or shortened as time ran out.
        self.cut: list[str] = []
        # What is reported of every column has to be computed, whatever else is left out.
        self.budget = Budget.of(run, prepared.rows.shape)
        self.telling: list[str] = []
        self.explaining = Explanation()
        # How clearly each statistic of a number spoke, where columns were named.
        self.seen: NDArray[np.float64] | None = None
        kinds = prepared.kinds
        self.divergence, self.why_divergence = auto_choices.choose_divergence(
            options.divergence, prepared.rows, kinds
        )
        self.problem = Problem.from_prepared(
            prepared,
            divergence=self.divergence,
            scale=options.scale,
            permute=options.permute,
            keys=keys,
        )
        # What is said and drawn is said of groups that weights have made alike in the covariates.
        self.described, self.balance = self.problem, pd.DataFrame()
        if self.problem.covariates is not None:
            weights = adjusting_weights(self.problem)
            self.balance = balance_of(self.problem, weights)
            about = on_design.how_groups_were_adjusted(self.problem, weights, self.balance)
            self.notes.append(about)
            self.described = replace(self.problem, weights=weights)
            self.data = replace(prepared, weights=weights)
        self.kept = None
        if options.checkpoint is not None:
            self.kept = ComparisonCheckpoint(options.checkpoint, self._depends_on())

    def _depends_on(self) -> dict[str, str]:
        """What the steps depend on, for a checkpoint."""
        problem, options = self.problem, self.options
        parts = {
            "the rows": rows_identity(problem.rows),
            "the groups": (problem.codes, problem.classes),
            "the columns": (problem.names, problem.units, problem.kinds),
            "sample_weight": problem.weights,
            "blocks or permute": (problem.blocks, problem.permute),
            "covariates": problem.covariates,
            "divergence": identity_of(self.divergence),
            "random_state": self.how.seed,
            "the version of princdiff": __version__,
            **{name: getattr(options, name) for name in _KEPT_OPTIONS},
        }
        return fingerprint_of(parts)

    def _step(self, name: str, work: Callable[[], Any]) -> Any:
        """A step that a checkpoint keeps, with what was said on the way."""
        if self.kept is None:
            return work()

        def noted() -> tuple[Any, list[str], list[str]]:
            before = len(self.notes)
            with caught_warnings() as caught:
                found = work()
            notes, self.notes = self.notes[before:], self.notes[:before]
            users = [str(one.message) for one in caught if issubclass(one.category, UserWarning)]
            return found, notes, users

        found, notes, messages = self.kept.step(name, noted)
        self.notes += notes
        for message in messages:
            warn_user(message)
        return found

    @contextmanager
    def first_look(self) -> Iterator[None]:
        """What single columns say, for people who look on, while the rest is worked out."""
        options, looks = self.options, self.how.progress and not self.budget.limited
        tests = options.n_permutations and options.scale != "within"
        if not (looks and tests) or options.quick or isinstance(self.problem.rows, RowChunks):
            yield
            return
        with self._stage(self._said_first()):
            yield

    def _said_first(self) -> str:
        # What there is to warn of, the steps that count say.
        with caught_warnings():
            found = single_columns(self.problem, self.how, auto_choices.HASTY_SELECTION_PERMUTATIONS)
        return first_look(found, auto_choices.HASTY_SELECTION_PERMUTATIONS)

    def run(self) -> DifferenceResult:
        """All steps; notes and parameters are entered by who asked."""
        fit = self._fit()
        tested = self._step("test", self._tested) if self.options.n_permutations else None
        self.clock.done("testing")
        pvalue, statistic, test = kept_parts.kept_test(tested, self.problem, self.options.n_permutations)
        chosen, selection, relations = self._select(pvalue)
        explanation = self._explanation()
        stability = self._stability(fit)
        tables = self._tables(fit, chosen, stability)
        self.clock.done("explaining")
        projections = projected_groups.projected(self.data, fit)
        effect, auc = self._effect(fit, projections[0], pvalue, _clearest(tables.columns))
        self.clock.done("measuring the effect")
        components = self._components(fit, projections, pvalue, effect)
        shown = Shown(self.data, self.described, None if self.options.quick else tested, self.how)
        with until(self.budget.due("effect"), strict=False):
            contrasts = shown.contrasts(fit.components_[0], projections[0], effect, auc)
        self.clock.done("looking for contrasts")
        reference = projected_groups.reference(
            self.data, projections, *projected_groups.scaling(fit, self.data.groups)
        )
        return DifferenceResult(
            pvalue=pvalue,
            statistic=statistic,
            effect=effect.size,
            effect_interval=(effect.low, effect.high),
            groups={name: int((self.data.codes == code).sum()) for code, name in enumerate(self.data.groups)},
            columns=tables.columns,
            changes=tables.changes,
            table=tables.table,
            relations=relations,
            divergences=fit.divergences_,
            upper_bounds=fit.upper_bounds_,
            kind={name: float(components[name].iloc[0]) for name in ("location", "scale", "shape")},
            directions=pd.DataFrame(
                fit.components_.T, index=list(self.data.features), columns=components["component"].tolist()
            ),
            components=components,
            separation=[projected_groups.separation(own, self.data, self.divergence) for own in projections],
            test=test,
            selection=selection,
            explanation=explanation,
            faults=self._faults(explanation),
            certificate=kept_parts.kept_certificate(fit, self.divergence),
            path=kept_parts.kept_path(fit),
            reference=reference,
            rows=self._rows(projections[0], reference),
            distributions=distributions(self.data, self._worth_drawing(tables.table)),
            codings=list(self.data.codings),
            contrasts=contrasts,
            balance=self.balance,
            measured=self._measured(),
            # Beside columns and pairs that are named it would say less, and less surely.
            witness=None if chosen["selected"].any() else shown.witness(),
            notes=[],
            parameters={},
        )

    # The direction.

    def _fit(self) -> SparseDirections:
        options = self.options
        fit = self._direction(options.n_features, certify=options.certify, n_components=options.n_components)
        # What a fit has found are attributes that end in an underscore.
        found = self._step(
            "fit", lambda: {k: value for k, value in vars(self._fitted(fit)).items() if k.endswith("_")}
        )
        vars(fit).update(found)
        # A weight above zero means more of it in the last group, wherever means differ at all.
        along = projected_groups.projected(self.data, fit)
        last = self.data.codes == len(self.data.groups) - 1
        first, weights = self.data.codes == 0, self.data.weights
        upper, lower = (
            np.average(along[:, own], axis=1, weights=None if weights is None else weights[own])
            for own in (last, first)
        )
        falls = upper < lower
        fit.components_ = np.where(falls[:, None], -fit.components_ + 0.0, fit.components_)
        self.clock.done("fitting")
        return fit

    def _fitted(self, fit: SparseDirections) -> SparseDirections:
        with self._stage("fitting"), until(self.budget.due("fitting"), strict=False) as deadline:
            fit.fit_problem(self.described, self.how)
        if deadline.passed:
            self.cut.append(
                "time budget: the search for the direction was cut short (this depends on the machine)"
            )
        return fit

    def _direction(self, n_features: int | str, **options: Any) -> SparseDirections:
        return SparseDirections(
            n_features=n_features,
            divergence=self.divergence,
            scale=self.problem.scale,
            subsample=auto_choices.searched_rows(self.problem.rows.shape),
            **{
                "effort": "fast" if self.options.quick else auto_choices.effort(self.problem.rows.shape),
                **options,
            },
        )

    def _stage(self, name: str) -> tqdm:
        """What is being done, where it has no bar of its own."""
        return progress_bar(name, total=0, shown=self.how.progress, bar_format="{desc} ...")

    def _components(
        self, fit: SparseDirections, projections: NDArray, pvalue: float, effect: Effect
    ) -> pd.DataFrame:
        """One row per direction; p-value and effect of the first are those of the result."""
        codes, weights = self.data.codes, self.data.weights
        if len(codes) > _MOST_EFFECT_ROWS:
            index = np.sort(self.how.rng("kinds").permutation(len(codes))[:_MOST_EFFECT_ROWS])
            projections, codes = projections[:, index], codes[index]
            weights = None if weights is None else weights[index]
        kind = shift_spread_shape.split_difference(projections, codes, weights)
        total = np.where(kind.total > 0, kind.total, 1.0)
        pvalues = np.full(len(projections), np.nan)
        plain = self.data.blocks is None and self.data.covariates is None
        if len(projections) > 1 and self.options.n_permutations and plain:
            pvalues = self._further_pvalues(fit)
            self.clock.done("components")
        pvalues[0] = pvalue
        further = [
            shift_spread_shape.effect_size(projection, codes, weights) for projection in projections[1:]
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

    def _further_pvalues(self, fit: SparseDirections) -> NDArray[np.float64]:
        try:
            with self._stage("testing further directions"), until(self.budget.due("effect"), strict=True):
                return fit.problem_pvalues(self.problem, self.how)
        except OutOfTime:
            self.cut.append("time budget: further directions were not tested")
            return np.full(len(fit.components_), np.nan)

    # How large.

    def _effect(
        self, fit: SparseDirections, projection: NDArray[np.float64], pvalue: float, clearest: float
    ) -> tuple[Effect, float]:
        """Effect on rows that the direction was not fitted on, and how well it tells two groups apart.

        Parameters
        ----------
        fit : SparseDirections
            The direction.
        projection : array of shape (n_rows,)
            Rows along it.
        pvalue : float
            Of the test.
        clearest : float
            Largest effect of a column that was named on its own: groups are at least as far apart.
        """
        problem = self.described
        most = _EFFECT_ROWS if self.budget.limited else _MOST_EFFECT_ROWS
        if problem.n_rows > most:
            index = np.sort(self.how.rng("effect").permutation(problem.n_rows)[:most])
            problem, projection = problem.take_rows(index), projection[index]
        judge = held_out.HeldOut(problem, projection)
        level = int(np.count_nonzero(fit.components_[0]))
        splits = None
        if level and problem.scale != "within":
            splits = held_out.halves(problem, self.how.seed_for("halves"))
        if splits is None:
            found, area = judge.of_fit(), np.nan
        else:
            with until(self.budget.due("effect"), strict=False):
                directions = self._directions_of_halves(problem, splits, level)
            found, area = judge.measured(splits, directions)
        found = found.at_least(clearest)
        # Where no difference could be shown, none at all is among those that the data allow.
        return (found._replace(low=0.0) if pvalue > LEVEL and found.low > 0 else found), area

    def _directions_of_halves(
        self, problem: Problem, splits: NDArray[np.bool_], level: int
    ) -> NDArray[np.float64]:
        """What the unscaled features are multiplied by, for each split without and with its half."""
        index = held_out.rows_to_fit(problem, self.how.seed)
        if len(index) < problem.n_rows:
            problem, splits = problem.take_rows(index), splits[:, index]
        left_out = np.stack([splits, ~splits], axis=1).reshape(-1, problem.n_rows)
        labels = problem.labellings(np.where(left_out, HELD_OUT, problem.codes).astype(np.uint8))
        rng = self.how.rng("effect")
        found = solve_path(
            problem.samples,
            labels,
            problem.divergence,
            np.array([level]),
            rng,
            PathOptions(n_jobs=self.how.n_jobs),
        )
        factor = np.asarray(problem.samples.factor, dtype=np.float64)
        return (found.directions[:, 0] * factor).reshape(len(splits), 2, -1)

    # The test.

    def _tested(self) -> PermutationResult | None:
        count = self.options.n_permutations
        if self.options.quick:
            count = min(count, auto_choices.HASTY_SELECTION_PERMUTATIONS)
            self.notes.append(on_design.what_a_quick_look_leaves_out(count))
        if not self.budget.limited:
            watch = Announcement(self.how.n_jobs)
            return run_permutations(self.problem, self.how, PermutationOptions(n_permutations=count), watch)
        test = BudgetedTest(self.problem, self.how, count, self.budget)
        found = test.made()
        self.cut += test.cut
        return found

    # Features.

    def _select(self, pvalue: float) -> tuple[pd.DataFrame, SelectionPart, pd.DataFrame]:
        """Features that differ, with error control, and pairs that go together differently."""
        if np.isnan(pvalue):
            return self._untested("no test was made")
        options = SelectionOptions(
            n_permutations=max(self.options.n_permutations, FEWEST_NAMING),
            error=self.options.error,
            global_pvalue=pvalue,
        )
        if self.options.quick:
            few = auto_choices.HASTY_SELECTION_PERMUTATIONS
            options = replace(options, n_permutations=few, relations=False)
        with self._stage("naming columns"):
            found = self._step("selection", lambda: self._selected_in_time(options))
        self.clock.done("selecting")
        if found is None:
            self.cut.append("time budget: the columns were not tested")
            return self._untested("the time budget was used up")
        self.explaining = found.explanation
        found = only_explaining(found)
        chosen = found.table.set_axis(list(self.data.features))
        # Scores of rows that were standardised or freed of covariates say nothing about the rows as they are.
        as_they_are = self.problem.scale != "within" and self.problem.covariates is None
        if found.statistics is not None and as_they_are:
            self.seen = found.statistics.to_numpy(float)
        # A pair that is not named must not lend its p-value to a column that did not change on its own.
        alone = chosen["column"].map(found.columns.set_index("column")["pvalue_adj"])
        own = chosen["pvalue_adj"].where(chosen["selected"], np.maximum(chosen["pvalue_adj"], alone))
        # A category may be named as a whole, where no level of it could be.
        whole = np.where([why.reason is Reason.ALONE for why in found.why], np.minimum(own, alone), own)
        chosen = chosen[["selected"]].assign(why=found.why, pvalue=own, whole=whole)
        part = SelectionPart(
            True,
            options.alpha,
            options.error,
            found.control.rstrip(".") + ".",
            found.n_labellings - 1,
        )
        return chosen, part, kept_parts.kept_relations(found.relations, self.data)

    def _explanation(self) -> Explanation:
        """The fewest columns that explain the difference, and the test of all others."""
        if self.options.quick:
            return self.explaining
        count = self.options.n_permutations
        try:
            with self._stage("testing the other columns"), until(self.budget.due("rest"), strict=True):
                found = self._step("rest", lambda: with_rest(self.explaining, self.problem, self.how, count))
        except OutOfTime:
            self.cut.append("time budget: the columns that explain nothing were not tested together")
            found = self.explaining
        self.clock.done("testing the other columns")
        return found

    def _faults(self, explanation: Explanation) -> list[Fault]:
        """What the columns that explain the difference look like; of repeated rows a note tells."""
        named = [name for name in self.data.column_info if name in explanation.named]
        whole_rows = repeated_rows(self.data, self.problem.row_keys)
        whole_rows += unlike_depth(self.data)
        others = len(self.data.column_info) - len(named)
        # Two columns may be all that a table has, and exchanged.
        unmoved = len(named) <= max(others, 2) and not explanation.rest_pvalue <= _REST_MOVED
        return [*faults(self.data, named, self.how.rng("faults"), unmoved), *whole_rows]

    def _untested(self, why: str) -> tuple[pd.DataFrame, SelectionPart, pd.DataFrame]:
        """What stands in the place of a selection that was not made."""
        nothing = {"selected": False, "pvalue": np.nan, "whole": np.nan, "why": Why()}
        control = f"The columns were not tested: {why}."
        empty = kept_parts.no_relations(self.data.groups)
        return pd.DataFrame(nothing, index=list(self.data.features)), SelectionPart(control=control), empty

    def _selected_in_time(self, options: SelectionOptions) -> SelectionResult | None:
        """Columns and pairs; columns alone where time is short, with fewer relabellings; or nothing."""
        fewest = replace(options, relations=False, n_permutations=auto_choices.HASTY_SELECTION_PERMUTATIONS)
        for share, tried in ((0.6, options), (1.0, fewest)):
            now = time.monotonic()
            try:
                with until(now + share * (self.budget.due("selecting") - now), strict=True):
                    found = select(self.problem, self.how, tried)
            except OutOfTime:
                continue
            if tried is fewest:
                self.cut.append("time budget: pairs of columns were not tested")
            return found
        return None

    def _stability(self, fit: SparseDirections) -> NDArray[np.float64]:
        unknown = np.full(len(fit.support_), np.nan)
        smallest = int(np.bincount(self.data.codes).min())
        if self.options.quick or not auto_choices.worth_stability(self.data.rows.shape, smallest):
            return unknown
        level = max(1, int(np.count_nonzero(fit.components_[0])))
        try:
            with self._stage("looking for stability"), until(self.budget.due("stability"), strict=True):
                found = run_half_samples(self.described, self.how, level, n_pairs=25)
        except OutOfTime:
            self.cut.append("time budget: the stability of features was not assessed")
            return unknown
        self.clock.done("stability")
        return found.frequencies

    def _tables(
        self, fit: SparseDirections, chosen: pd.DataFrame, stability: NDArray[np.float64]
    ) -> feature_tables.ResultTables:
        deviations = None
        if self.problem.scale == "pooled":
            deviations = self.described.samples.deviation
        rng = self.how.rng("explanation")
        single = self._single_features(deviations, rng)
        head = pd.DataFrame(
            {
                "feature": list(self.data.features),
                "column": list(self.data.origin),
                "weight": fit.components_[0],
                "share": fit.shares_[0],
                "selected": chosen["selected"].to_numpy(bool),
                "pvalue": chosen["pvalue"].to_numpy(float),
                "differs": [str(why.reason) for why in chosen["why"]],
                "reason": list(map(str, chosen["why"])),
                "stability": stability,
            }
        )
        features = pd.concat([head, single.table.drop(columns="feature")], axis=1)
        for number in range(1, len(fit.components_)):
            features[f"weight {number + 1}"] = fit.components_[number]
            features[f"share {number + 1}"] = fit.shares_[number]
        found = feature_tables.result_tables(
            self._in_words(), features, single, chosen["why"].tolist(), self.seen
        )
        self.telling = telling_columns(self.data, found.facts)
        for name in self.telling:
            several = self.data.origin.count(name) > len(self.data.groups)
            self.notes.append(on_design.what_determines_the_groups(name, several))
        differences = self._differences(found.table, found.facts)
        table, columns = feature_tables.with_differences(found.table, found.columns, differences)
        whole = chosen["whole"].groupby(list(self.data.origin)).min()
        columns = columns.assign(pvalue=columns["column"].map(whole).to_numpy(float))
        return found._replace(table=table, columns=columns)

    def _single_features(
        self, deviations: NDArray[np.float64] | None, rng: np.random.Generator
    ) -> feature_tables.SingleFeatures:
        """Each feature on its own."""
        return feature_tables.single_features(self.data, deviations, rng)

    def _measured(self) -> pd.DataFrame:
        """Figures of the columns by group: of the rows as they are, whatever the test is adjusted for."""
        return measured_columns(replace(self.data, weights=self.problem.weights))

    def _in_words(self) -> Prepared:
        """The rows that words on columns speak of."""
        return self.data

    def _differences(self, table: pd.DataFrame, facts: ColumnFacts) -> pd.DataFrame:
        """Differences in the columns' own units, of features that differ on their own."""
        alone = table[table["differs"] == Reason.ALONE]
        if len(self.data.groups) > 2 or self.problem.scale == "within":
            alone = alone.head(0)
        kinds = dict(zip(alone["feature"], alone["kind"], strict=True))
        changes = {self.data.features[place]: change for place, change in facts.changes.items()}
        kinds |= {name: changes[name].measure for name in kinds if name in changes and changes[name].measure}
        values = {name: change.value for name, change in changes.items() if change.value is not None}
        return selected_effects(self.described, kinds, values=values, filled=self.data.filled)

    # What is kept for pictures and for new rows.

    def _rows(self, projection: NDArray[np.float64], reference: ReferencePart) -> RowsPart:
        """Rows to look at, if the user wants data in the result."""
        if not self.options.show_rows:
            return RowsPart()
        factor = np.asarray(Samples(self.data.rows, "pooled", dtype=np.float64).factor, dtype=np.float64)
        return rows_to_show(self.data, projection, reference.components[0], factor, self.options.show_rows)

    def _worth_drawing(self, table: pd.DataFrame) -> list[str]:
        """Features whose distributions are kept: those that differ first."""
        order = np.lexsort((-table["effect"], ~table["selected"]))
        return table["feature"].iloc[order].head(auto_choices.MOST_DISTRIBUTIONS).tolist()


def _clearest(columns: pd.DataFrame) -> float:
    """Largest effect of a column that differs on its own."""
    alone = columns["selected"].astype(bool) & (columns["differs"] == "alone")
    return float(columns["effect"][alone].max()) if alone.any() else 0.0


# What `compare` was asked for, and how long each of its steps took.


@dataclass(frozen=True)
class Options:
    """How to compare; see `compare` for the words."""

    n_features: int | str = "auto"
    n_components: int | str = 1
    divergence: Any = "auto"
    scale: Scale = "pooled"
    n_permutations: int = 999
    quick: bool = False
    permute: str = "auto"
    certify: bool | str = "auto"
    error: str = "fwer"
    show_rows: int = 0
    checkpoint: str | Path | None = None

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Options:
        """Those of all options that were settled."""
        return cls(**{field.name: given[field.name] for field in fields(cls) if field.name in given})

    def to_dict(self) -> dict[str, Any]:
        """The options as plain data; which divergence was chosen is a separate parameter of the result."""
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
