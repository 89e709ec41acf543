"""Which columns of a table differ on their own, with control of the family-wise error.

A unit is a column as its owner sees it: a number, a 0/1 flag, a category with all its levels, a number
with its "(missing)" mark. Every unit gets one score per labelling, comparable between units of any kind,
and the step-down maximum over units gives adjusted p-values (Westfall and Young).

A unit's scores depend on its own columns only. So whatever differs elsewhere, the scores of the units that
do not differ have the distribution that the relabellings show, and the error is controlled strongly. A
unit that merely goes with one that differs does not differ on its own, and is not named.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from princdiff.data.problem import Problem
from princdiff.labellings.pvalues import (
    adjusted_pvalues,
    counted_pvalue,
    step_down_pvalues,
)
from princdiff.labellings.schemes import Labelled
from princdiff.parallel import in_threads
from princdiff.statistics.column_batches import column_batches, each_column, numbers_of_values
from princdiff.statistics.contrasts import Contrasts, Relabellings
from princdiff.statistics.feature_columns import (
    MOST_VALUES,
    N_COLUMNS,
    STATISTICS,
    RankFunctions,
    expected_skewness,
    feature_lines,
    statistics_of,
)
from princdiff.statistics.scores import gamma_scores
from princdiff.statistics.sparse_columns import SparseContrasts

ERRORS = ("fwer", "fdr")
# Relabellings at least by which columns are named: with fewer, chance decides about names too often.
FEWEST_NAMING = 499
# Skewness of scores added up as inverse p-values, and of the largest of several scores, if nothing differs:
# measured as 1.9 to 2.1 for features of many kinds, and 1.2 to 1.5 for 3 to 10 independent scores.
_SUM_SKEWNESS, _MAXIMUM_SKEWNESS = 2.0, 1.4


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
    observed_units : array of shape (n_units,)
        -log of an approximate p-value of each unit, from its clearest statistic and their number. Scores that
        are added up and scored again rank a clear difference first, and no longer say how clear it is.
    observed_features : array of shape (n_features,)
        The same of the features.
    observed_statistics : array of shape (n_features, n_statistics)
        The same of each of `feature_columns.STATISTICS`, not adjusted for their number; zero for flags.
    """

    units: NDArray[np.float32]
    features: NDArray[np.float32]
    unit_of: NDArray[np.intp]
    observed_units: NDArray[np.float64]
    observed_features: NDArray[np.float64]
    observed_statistics: NDArray[np.float64]

    def first(self, n_labellings: int) -> AloneScores:
        """The scores of the first labellings only."""
        return replace(self, units=self.units[:n_labellings], features=self.features[:n_labellings])

    def of(self, features: NDArray[np.intp]) -> AloneScores:
        """The scores of some units, by all of their features."""
        units, unit_of = np.unique(self.unit_of[features], return_inverse=True)
        return AloneScores(
            self.units[:, units],
            self.features[:, features],
            unit_of,
            self.observed_units[units],
            self.observed_features[features],
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
    rows = rows.tocsc() if sp.issparse(rows) else rows
    contrasts = Contrasts(labellings)
    sparse = SparseContrasts.of(rows, labellings)
    n_values = numbers_of_values(rows)
    binary, few = n_values <= 2, (n_values > 2) & (n_values <= MOST_VALUES)
    features = np.zeros((labellings.n_labellings, n_features), dtype=np.float32)
    observed = np.zeros(n_features)
    by_statistic = np.zeros((n_features, len(STATISTICS)))
    pearson = _PearsonSums(unit_of, binary, labellings.n_labellings)
    ranks = RankFunctions(labellings.n_rows, labellings.weights)

    def flags(batch: NDArray[np.intp]) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
        shares = _SharesSeen(labellings.weights)
        lines = (shares.noted(column) for column in each_column(rows, batch))
        return contrasts.between_lines(lines, len(batch)), np.array(shares.found)

    def numbers(batch: NDArray[np.intp], own_few: bool) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
        width = N_COLUMNS + (MOST_VALUES if own_few else 0)
        levels = _SharesSeen(labellings.weights)
        lines = (
            line if place < N_COLUMNS else levels.noted(line)
            for column in each_column(rows, batch)
            for place, line in enumerate(feature_lines(column, ranks, own_few))
        )
        between = contrasts.between_lines(lines, len(batch) * width)
        between = between.reshape(labellings.n_labellings, len(batch), width)
        return between, np.array(levels.found).reshape(len(batch), -1)

    def run(batch: NDArray[np.intp]) -> tuple[NDArray[np.float32], NDArray, NDArray[np.float32] | None]:
        if binary[batch[0]]:
            between, shares = flags(batch) if sparse is None else sparse.flags(batch)
            scores = gamma_scores(between, prior=np.sqrt(8 / (labellings.n_groups - 1)))
            return scores, scores[0], pearson.part(batch, between, shares)
        own_few = bool(few[batch[0]])
        between, shares = numbers(batch, own_few) if sparse is None else sparse.features(batch, own_few)
        prior = expected_skewness(labellings.n_groups, n_values[batch] if own_few else None)
        single = statistic_scores(statistics_of(between, shares if own_few else None), prior)
        seen = single[0]
        if own_few:
            one_value, clearest_value = _clearest_value(between, labellings.n_groups, n_values[batch])
            single = np.concatenate([single, one_value], axis=2)
            seen = np.column_stack([seen, clearest_value])
        by_statistic[batch, : seen.shape[1]] = seen
        return added_scores(single), best_of_several(seen.max(axis=1), seen.shape[1]), None

    batches = [
        *column_batches(np.flatnonzero(binary), 1, labellings),
        *column_batches(np.flatnonzero(few), N_COLUMNS + MOST_VALUES, labellings),
        *column_batches(np.flatnonzero(~binary & ~few), N_COLUMNS, labellings),
    ]
    for batch, (found, own, sums) in zip(batches, in_threads(run, batches, n_jobs), strict=True):
        features[:, batch] = found
        observed[batch] = own
        pearson.add(sums)
    unit_scores, clearest = _unit_scores(features, observed, unit_of, pearson, labellings.n_groups)
    return AloneScores(unit_scores, features, unit_of, clearest, observed, by_statistic)


def _clearest_value(
    between: NDArray[np.float32], n_groups: int, n_values: NDArray[np.intp]
) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
    """Scores of the value of a feature with few values whose share differs most, as of a level of a category.

    Parameters
    ----------
    between : array of shape (n_labellings, n_features, N_COLUMNS + MOST_VALUES)
        Sums of squares; see `statistics_of`.
    n_groups : int
        Number of groups.
    n_values : int array of shape (n_features,)
        Values of each feature.

    Returns
    -------
    scores : array of shape (n_labellings, n_features, 1), float32
    observed : array of shape (n_features,)
        -log of an approximate p-value: of the clearest value, after Bonferroni.
    """
    shares = between[:, :, N_COLUMNS:]
    scores = gamma_scores(shares.reshape(len(shares), -1), prior=np.sqrt(8 / (n_groups - 1)))
    largest = scores.reshape(shares.shape).max(axis=2)
    observed = best_of_several(largest[0], n_values)
    return gamma_scores(largest, prior=_MAXIMUM_SKEWNESS)[:, :, None], observed


def statistic_scores(
    statistics: NDArray[np.float32], prior: NDArray[np.float64] | None = None
) -> NDArray[np.float32]:
    """Comparable scores of several statistics of the same thing.

    Parameters
    ----------
    statistics : array of shape (n_labellings, n_columns, n_statistics)
        Large values speak against the null hypothesis.
    prior : array of shape (n_statistics,) or (n_columns, n_statistics), optional
        Their skewness if nothing differs, roughly.

    Returns
    -------
    array of shape (n_labellings, n_columns, n_statistics), float32
    """
    n_labellings, n_columns, n_statistics = statistics.shape
    if prior is not None:
        prior = np.broadcast_to(prior, (n_columns, n_statistics)).ravel()
    return gamma_scores(statistics.reshape(n_labellings, -1), prior=prior).reshape(statistics.shape)


def added_scores(scores: NDArray[np.float32]) -> NDArray[np.float32]:
    """One comparable score of several, shape (n_labellings, n_columns, n_statistics), of the same thing.

    They are added as inverse p-values: the largest rules, and others that agree with it help.
    """
    return gamma_scores(np.logaddexp.reduce(scores, axis=2), prior=_SUM_SKEWNESS)


def combined_scores(
    statistics: NDArray[np.float32], prior: NDArray[np.float64] | None = None
) -> NDArray[np.float32]:
    """`statistic_scores`, added up: one comparable score from several statistics of the same thing."""
    return added_scores(statistic_scores(statistics, prior))


def best_of_several(score: NDArray, count: NDArray | int) -> NDArray[np.float64]:
    """-log of a p-value from the largest of several, after Bonferroni.

    Examples
    --------
    >>> best_of_several(np.array([5.0, 0.3]), 3).round(1)
    array([3.9, 0. ])
    """
    return np.maximum(np.asarray(score, dtype=np.float64) - np.log(count), 0.0)


class _SharesSeen:
    """The share of the rows in which a column is not at its smallest value, for columns as they pass."""

    def __init__(self, weights: NDArray[np.float64] | None) -> None:
        self._weights = weights
        self.found: list[float] = []

    def noted(self, column: NDArray) -> NDArray:
        """The column itself; its share is kept."""
        self.found.append(float(np.average(column != column.min(), weights=self._weights)))
        return column


class _PearsonSums:
    """Pearson's chi-squared statistic of every unit with several 0/1 features, added up batch by batch."""

    def __init__(self, unit_of: NDArray[np.intp], binary: NDArray[np.bool_], n_labellings: int) -> None:
        counts = np.bincount(unit_of[binary], minlength=int(unit_of.max()) + 1)
        self.units = np.flatnonzero(counts >= 2)
        self._place = np.full(len(counts), -1)
        self._place[self.units] = np.arange(len(self.units))
        self._unit_of = unit_of
        self.counts = counts[self.units]
        self.values = np.zeros((n_labellings, len(self.units)), dtype=np.float32)

    def part(
        self, batch: NDArray[np.intp], between: NDArray[np.float32], share: NDArray[np.float64]
    ) -> NDArray[np.float32]:
        """What some features contribute, shape (n_labellings, n_units_with_several)."""
        places = self._place[self._unit_of[batch]]
        inside = np.flatnonzero(places >= 0)
        # Sums of squares are over p (1 - p); Pearson's are over p.
        entries = ((1 - share[inside]).astype(np.float32), (inside, places[inside]))
        return between @ sp.csr_matrix(entries, shape=(len(batch), len(self.units)))

    def add(self, part: NDArray[np.float32] | None) -> None:
        if part is not None:
            self.values += part


def _unit_scores(
    features: NDArray[np.float32],
    observed: NDArray[np.float64],
    unit_of: NDArray[np.intp],
    pearson: _PearsonSums,
    n_groups: int,
) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
    """Scores of the units from those of their features, (n_labellings, n_units), and the observed ones."""
    n_units = int(unit_of.max()) + 1
    sizes = np.bincount(unit_of, minlength=n_units)
    order = np.argsort(unit_of, kind="stable")
    members = np.split(order, np.cumsum(sizes)[:-1])
    clearest = best_of_several(np.array([observed[own].max(initial=0.0) for own in members]), sizes)
    if (sizes == 1).all():
        return features[:, order], clearest
    units = np.zeros((len(features), n_units), dtype=np.float32)
    single = np.flatnonzero(sizes == 1)
    units[:, single] = features[:, [members[unit][0] for unit in single]]
    several = np.flatnonzero(sizes > 1)
    # The feature that stands out most has to be the best of several: scored anew, it competes as one.
    units[:, several] = gamma_scores(
        np.stack([features[:, members[unit]].max(axis=1) for unit in several], axis=1),
        prior=_MAXIMUM_SKEWNESS,
    )
    if len(pearson.units):
        # Levels that are all the others together leave one degree of freedom less.
        degrees = (pearson.counts - 1) * (n_groups - 1)
        overall = gamma_scores(pearson.values, prior=np.sqrt(8 / degrees))
        both = np.logaddexp(units[:, pearson.units], overall)
        units[:, pearson.units] = gamma_scores(both, prior=_SUM_SKEWNESS)
        clearest[pearson.units] = best_of_several(np.maximum(clearest[pearson.units], overall[0]), 2)
    return units, clearest


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
