"""Which columns of a table differ on their own, with control of the family-wise error.

A unit is a column as its owner sees it: a number, a 0/1 flag, a category with all its levels, a number
with its "(missing)" mark. Every unit gets one score per labelling, comparable between units of any kind,
and the step-down maximum over units gives adjusted p-values (Westfall and Young).

A unit's scores depend on its own columns only. So whatever differs elsewhere, the scores of the units that
do not differ have the distribution that the relabellings show, and the error is controlled strongly. A
unit that merely goes with one that differs does not differ on its own, and is not named.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from princdiff.data.problem import Problem
from princdiff.deadline import give_up_if_late
from princdiff.labellings.pvalues import (
    adjusted_pvalues,
    counted_pvalue,
    step_down_pvalues,
)
from princdiff.labellings.schemes import Labelled
from princdiff.parallel import in_threads
from princdiff.statistics.column_batches import (
    are_sparse,
    column_batches,
    each_column,
    numbers_of_values,
)
from princdiff.statistics.contrasts import Contrasts, Relabellings
from princdiff.statistics.feature_columns import (
    MOST_VALUES,
    N_COLUMNS,
    STATISTICS,
)
from princdiff.statistics.feature_scores import (
    FeatureScores,
    dense_sums,
    flags_of_entries,
    level_scores,
    line_scores,
    number_scores,
    tabulated_sums,
)
from princdiff.statistics.laws import harmonic
from princdiff.statistics.scores import gamma_scores
from princdiff.statistics.value_tables import Entries, ValueTables, feature_lines

ERRORS = ("fwer", "fdr")
# Relabellings at least by which columns are named: with fewer, chance decides about names too often.
FEWEST_NAMING = 499
# Skewness of scores added up as inverse p-values, if nothing differs: 1.9 to 2.1 in features of many kinds.
_SUM_SKEWNESS = 2.0


@dataclass(frozen=True)
class AloneScores:
    """Comparable scores of all labellings, the observed one first.

    Attributes
    ----------
    units : array of shape (n_labellings, n_units), float32
        Scores of the units.
    features : array of shape (n_labellings, n_features), float32
        Scores of the features inside them.
    unit_of : int array of shape (n_features,)
        Unit of each feature.
    observed_statistics : array of shape (n_features, n_statistics)
        Observed scores of each of `feature_columns.STATISTICS`; zero for flags.
    """

    units: NDArray[np.float32]
    features: NDArray[np.float32]
    unit_of: NDArray[np.intp]
    observed_statistics: NDArray[np.float64]

    @property
    def observed_units(self) -> NDArray[np.float64]:
        """-log of an approximate p-value of each unit."""
        return self.units[0].astype(np.float64)

    @property
    def observed_features(self) -> NDArray[np.float64]:
        """The same of the features."""
        return self.features[0].astype(np.float64)

    def of(self, features: NDArray[np.intp]) -> AloneScores:
        """The scores of some units, by all of their features."""
        units, unit_of = np.unique(self.unit_of[features], return_inverse=True)
        return AloneScores(
            self.units[:, units],
            self.features[:, features],
            unit_of,
            self.observed_statistics[features],
        )


def alone_scores_of(problem: Problem, scheme: Labelled, n_jobs: int | None = None) -> AloneScores:
    """`alone_scores` of a problem, worked out once: the test and the selection need them.

    Units are numbered as in `numbered`.
    """
    key = ("alone", scheme)
    if key not in problem.memory:
        design, units = Relabellings.of(problem, scheme), numbered(problem.units)[1]
        problem.memory[key] = alone_scores(problem.rows, design, units, n_jobs)
    found: AloneScores = problem.memory[key]
    return found


def numbered(units: Sequence[str]) -> tuple[tuple[str, ...], NDArray[np.intp]]:
    """Columns in the order of their first feature, and the column of each feature.

    Examples
    --------
    >>> numbered(["plan", "plan", "age"])
    (('plan', 'age'), array([0, 0, 1]))
    """
    places = {name: place for place, name in enumerate(dict.fromkeys(units))}
    return tuple(places), np.array([places[name] for name in units], dtype=np.intp)


def alone_scores(
    rows: Any, labellings: Relabellings, units: NDArray[np.intp] | None = None, n_jobs: int | None = None
) -> AloneScores:
    """Scores of all units and features under all labellings.

    Parameters
    ----------
    rows : array or sparse matrix of shape (n_rows, n_features)
        Finite numbers; with covariates, what they leave unexplained.
    labellings : Relabellings
        Labellings.
    units : int array of shape (n_features,), optional
        Unit of each feature, 0, 1, ...; default: every feature is one.
    n_jobs : int, optional
        Threads; they do not change the result.

    Returns
    -------
    AloneScores

    Examples
    --------
    >>> from princdiff.labellings.schemes import Scheme
    >>> rng = np.random.default_rng(0)
    >>> rows = rng.normal(size=(100, 6))
    >>> rows[50:, 2] *= 2.5
    >>> codes = np.repeat([0, 1], 50).astype(np.uint8)
    >>> found = alone_scores(rows, Relabellings(Scheme(codes, 199, seed=0), 2))
    >>> np.flatnonzero(step_down_pvalues(found.units) <= 0.05)
    array([2])
    """
    n_features = rows.shape[1]
    unit_of = np.arange(n_features) if units is None else np.asarray(units, dtype=np.intp)
    scorer = _Scorer(rows, Contrasts(labellings))
    features = np.zeros((labellings.n_labellings, n_features), dtype=np.float32)
    by_statistic = np.zeros((n_features, len(STATISTICS)))
    binary = np.zeros(n_features, dtype=bool)
    batches = column_batches(np.arange(n_features), N_COLUMNS + MOST_VALUES, labellings)
    for parts in in_threads(scorer.scores, batches, n_jobs):
        for part, found in parts:
            features[:, part] = found.scores
            by_statistic[part, : found.by_statistic.shape[1]] = found.by_statistic
            binary[part] = found.by_statistic.shape[1] == 0
    return AloneScores(_unit_scores(features, unit_of, binary, scorer), features, unit_of, by_statistic)


class _Scorer:
    """Scores of batches of features, of rows of any kind."""

    def __init__(self, rows: Any, contrasts: Contrasts) -> None:
        self.rows = rows.tocsc() if sp.issparse(rows) else rows
        self.contrasts = contrasts

    def scores(self, batch: NDArray[np.intp]) -> list[tuple[NDArray[np.intp], FeatureScores]]:
        """Scores of some features, by kinds: with one or two values, with few, with many."""
        give_up_if_late()
        entries, found = None, []
        if self.contrasts.labellings.free and (are_sparse(self.rows) or not self.contrasts.one_by_one):
            entries = Entries.of(self.rows[:, batch])
            n_values = entries.tables.sizes
        else:
            n_values = numbers_of_values(self.rows, batch)
        for kind in (n_values <= 2, (n_values > 2) & (n_values <= MOST_VALUES), n_values > MOST_VALUES):
            own = np.flatnonzero(kind)
            if len(own) == 0:
                continue
            if n_values[own[0]] <= 2:
                found.append((batch[own], FeatureScores.of_flags(self._flags(batch[own], entries, own))))
            elif entries is not None:
                found.append((batch[own], self._tabulated(entries.take(own))))
            else:
                found.append((batch[own], self._numbers(batch[own], n_values[own])))
        return found

    def _flags(
        self, batch: NDArray[np.intp], entries: Entries | None, own: NDArray[np.intp]
    ) -> NDArray[np.float32]:
        if entries is not None:
            return flags_of_entries(entries.take(own), self.contrasts)
        return line_scores(each_column(self.rows, batch), len(batch), self.contrasts, flags=True)

    def _tabulated(self, entries: Entries) -> FeatureScores:
        """Of features whose values are tabulated, where single rows are drawn."""
        tables, n_values = entries.tables, entries.tables.sizes
        few = bool(n_values[0] <= MOST_VALUES)
        table, scales = tables.standardised(tables.lines(few))
        sums = self.contrasts.sums_of_table(entries, table, scales)
        return number_scores(tabulated_sums(sums, tables, few, True), n_values, self.contrasts)

    def _numbers(self, batch: NDArray[np.intp], n_values: NDArray[np.intp]) -> FeatureScores:
        few = bool(n_values[0] <= MOST_VALUES)
        shares, weights = np.zeros((len(batch), MOST_VALUES * few)), self.contrasts.labellings.weights

        def lines() -> Iterator[NDArray]:
            for feature, column in enumerate(each_column(self.rows, batch)):
                for place, line in enumerate(feature_lines(column, weights, few)):
                    if place >= N_COLUMNS:
                        share = np.average(line, weights=weights)
                        shares[feature, place - N_COLUMNS] = share
                    yield line

        found = self.contrasts.sums_of_lines(lines(), len(batch) * (N_COLUMNS + MOST_VALUES * few))
        if found.prepared is not None:
            return number_scores(dense_sums(found, shares, self.contrasts.drawing), n_values, self.contrasts)
        # Rows so many that columns are made one by one: laws are those of single rows, from tables of values.
        tables = ValueTables.of(each_column(self.rows, batch))
        sums = tabulated_sums(found, tables, few, self.contrasts.labellings.free)
        return number_scores(sums, n_values, self.contrasts)

    def levels(self, members: NDArray[np.intp]) -> NDArray[np.float32] | None:
        """Score of all levels of a category at once, shape (n_labellings,); None where it has no law."""
        labellings = self.contrasts.labellings
        shares: list[float] = []

        def noted() -> Iterator[NDArray]:
            for column in each_column(self.rows, members):
                shares.append(float(np.average(column != column.min(), weights=labellings.weights)))
                yield column

        return level_scores(
            self.contrasts.sums_of_lines(noted(), len(members)), np.array(shares), self.contrasts
        )


def _unit_scores(
    features: NDArray[np.float32], unit_of: NDArray[np.intp], binary: NDArray[np.bool_], scorer: _Scorer
) -> NDArray[np.float32]:
    """Scores of the units from those of their features, (n_labellings, n_units)."""
    sizes = np.bincount(unit_of)
    order = np.argsort(unit_of, kind="stable")
    members = np.split(order, np.cumsum(sizes)[:-1])
    units = np.empty((len(features), len(sizes)), dtype=np.float32)
    single = np.flatnonzero(sizes == 1)
    units[:, single] = features[:, order[np.cumsum(sizes)[single] - 1]]
    for unit in np.flatnonzero(sizes > 1):
        own = members[unit]
        units[:, unit] = harmonic(features[:, own].T)
        levels = own[binary[own]]
        overall = scorer.levels(levels) if len(levels) > 1 else None
        if overall is not None:
            units[:, unit] = harmonic([units[:, unit], overall])
    return units


def added_scores(scores: NDArray[np.float32]) -> NDArray[np.float32]:
    """One comparable score of several, shape (n_labellings, n_columns, n_statistics), of the same thing.

    They are added as inverse p-values: the largest rules, and others that agree with it help.
    """
    return gamma_scores(np.logaddexp.reduce(scores, axis=2), prior=_SUM_SKEWNESS)


def combined_scores(statistics: NDArray[np.float32]) -> NDArray[np.float32]:
    """One comparable score of several statistics, shape (n_labellings, n_columns, n_statistics)."""
    scores = gamma_scores(statistics.reshape(len(statistics), -1))
    return added_scores(scores.reshape(statistics.shape))


def best_of_several(score: NDArray, count: NDArray | int) -> NDArray[np.float64]:
    """-log of a p-value from the largest of several, after Bonferroni.

    Examples
    --------
    >>> best_of_several(np.array([5.0, 0.3]), 3).round(1)
    array([3.9, 0. ])
    """
    return np.maximum(np.asarray(score, dtype=np.float64) - np.log(count), 0.0)


def levels_adjusted(scores: AloneScores, adjusted: NDArray[np.float64]) -> NDArray[np.float64]:
    """P-values of features, adjusted inside their unit and not below that of the unit.

    Parameters
    ----------
    scores : AloneScores
        Of all labellings.
    adjusted : array of shape (n_units,)
        Adjusted p-values of the units.

    Returns
    -------
    array of shape (n_features,)
    """
    levels = np.zeros(len(scores.unit_of))
    sizes = np.bincount(scores.unit_of)
    for unit in np.flatnonzero(sizes > 1):
        members = np.flatnonzero(scores.unit_of == unit)
        levels[members] = step_down_pvalues(scores.features[:, members])
    return np.maximum(levels, adjusted[scores.unit_of])


def extrapolated(
    pvalue: NDArray[np.float64], score: NDArray[np.float64], n_labellings: int
) -> NDArray[np.float64]:
    """P-values below 1 / (B + 1) by the gamma law behind the scores: approximate.

    Examples
    --------
    >>> extrapolated(np.array([0.01, 0.5]), np.array([9.0, 9.0]), 100).round(5)
    array([1.2e-04, 5.0e-01])
    """
    never = pvalue <= 1 / n_labellings
    return np.where(never, np.minimum(pvalue, np.exp(-score)), pvalue)


def pooled_discovery_rates(scores: NDArray[np.float32]) -> NDArray[np.float64]:
    """Benjamini and Hochberg's adjustment of p-values counted over the relabellings of all hypotheses.

    Scores are comparable, so the relabellings of one hypothesis serve all of them, and p-values are fine
    enough for thousands of hypotheses.

    Parameters
    ----------
    scores : array of shape (n_labellings, n_hypotheses)

    Returns
    -------
    array of shape (n_hypotheses,)
    """
    pool = np.sort(scores[1:], axis=None)
    tolerance = 1e-4
    below = np.searchsorted(pool, scores[0] - tolerance, side="left")
    return adjusted_pvalues(counted_pvalue(len(pool) - below, len(pool)), "benjamini-hochberg")
