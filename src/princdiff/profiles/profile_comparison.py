"""Comparing profiles: the steps of a comparison, with tests from sums and the rest from sampled rows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import stdtrit

from princdiff.comparison_steps import Clock, Comparison, Options
from princdiff.data.run import Run
from princdiff.findings import Fault
from princdiff.profiles.chunk_sums import ChunkLabellings, Chunks
from princdiff.profiles.chunk_tests import ChunkTests
from princdiff.profiles.profiling import FEWEST_UNITS, Profile
from princdiff.profiles.rows_made_up import rows_made_up
from princdiff.result import DifferenceResult
from princdiff.result.effects import Effect
from princdiff.result.feature_tables import SingleFeatures
from princdiff.result.shift_spread_shape import Kind
from princdiff.selection.explanation import Explanation
from princdiff.selection.selected import SelectionResult
from princdiff.selection.steps import SelectionOptions
from princdiff.statistics.directions import SparseDirections
from princdiff.statistics.permutation_result import PermutationResult
from princdiff.statistics.planning import detectable_effect
from princdiff.tables import Prepared, encode, prepare

# Rows of which there is a label each while figures are rounded: at 10^8 they took 1.6 GB, and from 10^7 on
# figures have all digits that anybody reads.
_MOST_IN_WORDS = 10_000_000


class ProfileComparison(Comparison):
    """The steps of a comparison of profiles.

    Parameters
    ----------
    profile : Profile
        All groups.
    prepared : Prepared
        The rows of its sample.
    options, run, clock
        As those of `Comparison`.
    keys : array, optional
        Of the rows.
    """

    def __init__(
        self,
        profile: Profile,
        prepared: Prepared,
        options: Options,
        run: Run,
        clock: Clock,
        keys: NDArray[np.uint64] | None = None,
    ) -> None:
        super().__init__(prepared, options, run, clock, keys)
        names = tuple(prepared.groups)
        self.chunks = Chunks(profile.ruler, names, tuple(profile.groups[name] for name in names))
        _refuse_few_chunks(self.chunks)
        count = max(options.n_permutations, 1)
        self.tests = ChunkTests(self.chunks, ChunkLabellings.drawn(self.chunks, count, run.rng("chunks")))

    def run(self) -> DifferenceResult:
        """All steps; see `Comparison.run`."""
        found = super().run()
        rows = self.chunks.totals.astype(int).tolist()
        detectable = detectable_effect(rows, self.problem.n_features) if len(rows) == 2 else np.nan
        groups = {name: sums.seen for name, sums in zip(self.chunks.names, self.chunks.groups, strict=True)}
        return replace(found, groups=groups, test=replace(found.test, detectable=detectable))

    def _fitted(self, fit: SparseDirections) -> SparseDirections:
        """A direction of the columns that differ: where they do a little, a sample would find chance."""
        with self._named_alone():
            return super()._fitted(fit)

    def _effect(
        self, fit: SparseDirections, projection: NDArray[np.float64], pvalue: float, clearest: float
    ) -> tuple[Effect, float]:
        with self._named_alone():
            return super()._effect(fit, projection, pvalue, clearest)

    @contextmanager
    def _named_alone(self) -> Iterator[None]:
        """Directions of no other columns than those that are named, if any are."""
        named = self.tests.selected(SelectionOptions(global_pvalue=self.tests.tested().pvalue)).selected
        whole = self.described
        if named.any():
            self.described = whole.without(~named)
        try:
            yield
        finally:
            self.described = whole

    def _tested(self) -> PermutationResult | None:
        return self.tests.tested()

    def _selected_in_time(self, options: SelectionOptions) -> SelectionResult | None:
        return self.tests.selected(options)

    def _explanation(self) -> Explanation:
        found = self.explaining
        if not found.columns or not found.rest:
            return found
        return replace(found, rest_pvalue=self.tests.pvalue_of(found.rest))

    def _faults(self, explanation: Explanation) -> list[Fault]:
        # Of a sample, or of rows that were made up, one cannot say what all values look like.
        return []

    def _stability(self, fit: Any) -> NDArray[np.float64]:
        # Half of a sample of the rows says nothing about a test of all of them.
        return np.full(len(fit.support_), np.nan)

    def _single_features(
        self, deviations: NDArray[np.float64] | None, rng: np.random.Generator
    ) -> SingleFeatures:
        """Each feature on its own: means and spreads of all rows, shapes of the sample."""
        single = super()._single_features(deviations, rng)
        facts, table = self.tests.columns, single.table.copy()
        for place, group in enumerate(self.chunks.names):
            table[f"mean {group}"], table[f"sd {group}"] = facts.means[place], facts.deviations[place]
        pooled = np.sqrt(
            np.maximum((facts.rows * facts.deviations**2).sum(axis=0), 0) / facts.rows.sum(axis=0)
        )
        inner = np.where(pooled > 0, pooled, 1.0)
        flags = np.array([kind != "number" for kind in self.data.kinds])
        location = _apart(facts.means, facts.rows) / inner**2
        scale = np.where(flags, 0.0, _apart(facts.deviations, facts.rows) / inner**2)
        shape = np.where(flags, 0.0, single.beyond.shape)
        chance = 2 * (1 / facts.rows).mean(axis=0)
        beyond = Kind(np.maximum(location - chance, 0.0), np.maximum(scale - chance / 2, 0.0), shape)
        unit = (
            inner**2 if deviations is None else inner**2 / np.where(deviations > 0, deviations, np.inf) ** 2
        )
        table["location"], table["scale"] = location * unit, scale * unit
        return SingleFeatures(table, beyond, flags, single.lowest)

    def _measured(self) -> pd.DataFrame:
        """None: sums of chunks have no quartiles."""
        return pd.DataFrame()

    def _in_words(self) -> Prepared:
        """Words on columns speak of all rows, whose numbers decide how precisely."""
        totals = self.chunks.totals
        counts = np.ceil(totals * min(1.0, _MOST_IN_WORDS / totals.sum())).astype(int)
        codes = np.repeat(np.arange(len(counts), dtype=np.uint8), counts)
        return replace(self.data, codes=codes, weights=None)

    def _differences(self, table: pd.DataFrame, facts: Any) -> pd.DataFrame:
        """Differences of means, deviations and shares of features that are named alone, from all rows."""
        alone = table[table["selected"] & (table["differs"] == "alone")]
        records = {}
        if len(self.chunks.names) == 2:
            level = 1 - 0.05 * len(alone) / max(1, len(table))
            for name, kind in zip(alone["feature"], alone["kind"], strict=True):
                records[name] = self._difference(self.data.features.index(name), kind, level)
        names = ["measure", "difference", "low", "high"]
        return pd.DataFrame.from_dict(records, orient="index", columns=names)

    def _difference(self, feature: int, kind: str, level: float) -> tuple[str, float, float, float]:
        facts = self.tests.columns
        units = len(self.chunks.codes) - len(self.chunks.names)
        wide = float(stdtrit(units, 0.5 + level / 2))
        if kind == "spread":
            measure, values, errors = "sd", facts.deviations, facts.deviation_errors
        else:
            measure = "mean" if self.data.kinds[feature] == "number" else "proportion"
            values, errors = facts.means, facts.mean_errors
        change = float(values[1, feature] - values[0, feature])
        reach = wide * float(np.sqrt((errors[:, feature] ** 2).sum()))
        return measure, change, change - reach, change + reach


def _apart(values: NDArray[np.float64], rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Squared differences of groups, shape (n_features,): the mean over pairs, weighted by their rows."""
    share = rows.sum(axis=1) / rows.sum()
    total: NDArray[np.float64] = share @ (values - share @ values) ** 2
    return total / ((1 - (share**2).sum()) / 2)


def _refuse_few_chunks(chunks: Chunks) -> None:
    counts = np.bincount(chunks.codes, minlength=len(chunks.names))
    for name, count in zip(chunks.names, counts.tolist(), strict=True):
        if count < FEWEST_UNITS:
            raise ValueError(
                f"group {name} has {count} chunks with rows, and {FEWEST_UNITS} are needed: it is too "
                "small for a profile; compare the rows themselves"
            )


def prepared_sample(profile: Profile, run: Run) -> Prepared:
    """The sample of a profile as rows of numbers, coded as they were counted.

    Parameters
    ----------
    profile : Profile
        All groups.
    run : Run
        Seed of the rows that are made up where the profile holds none.

    Returns
    -------
    Prepared
    """
    codings = [column.coding for column in profile.ruler.columns]
    names = list(profile.groups)
    held = all(name in profile.sample.rows for name in names)
    if held:
        frames = [profile.sample.frame(name)[profile.columns] for name in names]
    else:
        frames = rows_made_up(profile, run.rng("rows made up"))
    codes = np.repeat(np.arange(len(names)), [len(frame) for frame in frames]).astype(np.uint8)
    rows = pd.concat(frames, ignore_index=True)
    about = prepare(rows, groups=codes, features=profile.columns, missing="impute")
    encoded = encode(rows, codings, missing="drop")
    features, origin = profile.ruler.features
    return replace(
        about,
        rows=encoded.rows,
        groups=tuple(names),
        codes=codes[encoded.kept],
        features=features,
        origin=origin,
        kinds=tuple(kind for coding in codings for kind in coding.kinds),
        feature_levels=tuple(level for coding in codings for level in coding.feature_levels),
        codings=tuple(codings),
        kept=encoded.kept,
        left_out=profile.ruler.left_out,
        missing={},
        filled={},
        notes=tuple(notes_on(profile, held)),
    )


def notes_on(profile: Profile, held: bool) -> list[str]:
    """What a reader must know about figures that come from sums."""
    chunks = " + ".join(str(group.n_chunks) for group in profile.groups.values())
    sampled = sum(table.num_rows for table in profile.sample.rows.values())
    shown = (
        f"directions and pictures from a random sample of {sampled} rows"
        if held
        else "directions and pictures from rows made up from the sums, since the profile holds no rows"
    )
    notes = [
        f"Computed from sums over chunks of rows ({chunks} chunks of {profile.n_rows} rows): p-values, "
        f"columns and pairs from all rows but a few that bins were chosen from, {shown}."
    ]
    for name, kept in profile.about.get("kept", {}).items():
        notes.append(
            f"Of group {name}, which is much larger than another, {kept:.2g} of the rows were drawn at "
            "random: more would bring nothing."
        )
    gaps = {
        column.name: sum(int(group.counts[number][:, -1].sum()) for group in profile.groups.values())
        for number, column in enumerate(profile.ruler.columns)
    }
    missing = [f"{name} ({count})" for name, count in gaps.items() if count]
    if missing:
        notes.append(f"Missing values count as such and are left out of means: {', '.join(missing[:8])}.")
    return notes + list(profile.ruler.notes)
