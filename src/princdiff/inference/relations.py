"""Which pairs of features go together differently in the groups.

What each feature does by itself is taken out first: values become normal scores of their ranks within
their group, so that shifts, spreads and other monotone changes of single features leave no trace. Then labels
are permuted, and the correlations of the groups compared, pair by pair, with scores that are comparable and
the step-down maximum over pairs, as for single features.

Ranks cannot take out everything from features with few values: a flag that becomes rare, or counts that
become small, correlate less with everything. What that means for the names is decided in `attribution`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import ndtri
from scipy.stats import rankdata

from princdiff.inference.contrasts import Relabellings
from princdiff.inference.scores import gamma_scores
from princdiff.parallel import in_threads

# Features among which all pairs are looked at: half a matrix product of this width squared per labelling.
MOST_FEATURES = 500
# Rows on which these are chosen, and features at a time: 20 000 features take some seconds.
_SCREENED_ROWS = 500
_SCREENED_AT_ONCE = 500
# Named features whose products are related to the others.
MOST_FACTORS = 19
# Statistics held at a time, over all labellings (single precision).
_BLOCK_STATISTICS = 30_000_000
# Pairs of a block whose scores are kept; of the others only the maximum over them is.
_KEPT = 1000
# Standard deviations above the mean from which a statistic is scored; the largest of a hundred pairs is
# beyond in nearly every labelling.
_ABOVE = 1.5
# Labellings given to a thread at a time.
_CHUNK = 16
# Correlations closer than this are equal: sums in single precision are good to a tenth of it.
_ROUNDING = 3e-5
# A feature has few values if this share of the rows have the same one.
_TIED_SHARE = 0.05


@dataclass(frozen=True)
class RelationScores:
    """Comparable scores of pairs, of all labellings, the observed one first.

    Attributes
    ----------
    pairs : int array of shape (n_kept, 2)
        Features of the pairs with the largest observed scores.
    scores : array of shape (n_labellings, n_kept), float32
        Their scores.
    rest : array of shape (n_labellings,), float32
        The largest score among all other pairs.
    n_pairs : int
        All pairs looked at.
    features : int array
        Features among which pairs were looked at.
    correlations : array of shape (n_groups, n_kept)
        Correlation of normal scores in each group.
    """

    pairs: NDArray[np.intp]
    scores: NDArray[np.float32]
    rest: NDArray[np.float32]
    n_pairs: int
    features: NDArray[np.intp]
    correlations: NDArray[np.float64]


def relation_scores(
    rows: Any,
    labellings: Relabellings,
    units: NDArray[np.intp] | None = None,
    n_jobs: int | None = None,
) -> RelationScores:
    """Scores of the change of dependence for pairs of features.

    Parameters
    ----------
    rows : array or sparse matrix of shape (n_rows, n_features)
        Finite numbers; with covariates, what they leave unexplained.
    labellings : Relabellings
        Labellings; the first is the observed one.
    units : int array of shape (n_features,), optional
        Unit of each feature; features of one unit (levels of one category) are never a pair.
    n_jobs : int, optional
        Threads; they do not change the result.

    Returns
    -------
    RelationScores

    Notes
    -----
    With more than ``MOST_FEATURES`` features those are taken that correlate most with some other one,
    labels ignored: a dependence that comes or goes in one group is there in the pool, only weaker.

    Examples
    --------
    >>> from princdiff.inference.relabelling import Scheme
    >>> rng = np.random.default_rng(0)
    >>> rows = rng.normal(size=(200, 5))
    >>> rows[100:, 3] = 0.9 * rows[100:, 1] + 0.4 * rows[100:, 3]
    >>> codes = np.repeat([0, 1], 100).astype(np.uint8)
    >>> found = relation_scores(rows, Relabellings(Scheme(codes, 199, seed=0), 2))
    >>> found.pairs[found.scores[0].argmax()]
    array([1, 3])
    """
    units = np.arange(rows.shape[1]) if units is None else units
    features = _features_looked_at(rows)
    values = _normal_scores_within(rows, features, labellings)
    table = _Leaders(labellings)
    for start, stop in _pair_blocks(len(features), labellings.n_labellings):
        # A rectangle of pairs; below its diagonal they would be counted twice.
        sums = _GroupSums(values[:, start:stop], values[:, start:], labellings)
        first, second = np.meshgrid(features[start:stop], features[start:], indexing="ij")
        wanted = (first < second) & (units[first] != units[second])
        table.add(sums, np.column_stack([first.ravel(), second.ravel()]), wanted.ravel(), n_jobs)
    return table.finished(features)


def product_relation_scores(
    rows: Any,
    labellings: Relabellings,
    named: NDArray[np.intp],
    others: NDArray[np.intp],
    n_jobs: int | None = None,
) -> RelationScores:
    """Scores of the change of dependence between features and the products of two named ones.

    Parameters
    ----------
    rows, labellings, n_jobs
        As in `relation_scores`.
    named : int array
        Features known to differ, the clearest first; at most ``MOST_FACTORS`` of them are used.
    others : int array
        Features that may go with them.

    Returns
    -------
    RelationScores
        Its pairs have three columns: the two factors and the other feature. Equal factors mean the feature
        itself (with a factor of -1) or its square.
    """
    named = named[:MOST_FACTORS]
    factors = _normal_scores_within(rows, named, labellings)
    values = _normal_scores_within(rows, others, labellings)
    codes = labellings.scheme.codes(np.arange(1))[0]
    columns: list[NDArray] = [factors[:, i] for i in range(len(named))]
    labels = [(named[i], -1) for i in range(len(named))]
    for i in range(len(named)):
        for j in range(i, len(named)):
            columns.append(_within(factors[:, i] * factors[:, j], codes, labellings))
            labels.append((named[i], named[j]))
    left = np.column_stack(columns).astype(np.float32)
    table = _Leaders(labellings)
    width = max(1, _BLOCK_STATISTICS // (labellings.n_labellings * len(labels)))
    for start in range(0, len(others), width):
        part = others[start : start + width]
        sums = _GroupSums(left, values[:, start : start + width], labellings)
        triples = [(*pair, other) for pair in labels for other in part]
        table.add(sums, np.array(triples, dtype=np.intp), np.ones(len(triples), dtype=bool), n_jobs)
    return table.finished(others)


# A correlation beyond this in every group means that one feature follows from the other.
_DETERMINED = 0.999


class _Leaders:
    """The pairs with the largest observed scores, and the maximum over all others."""

    def __init__(self, labellings: Relabellings) -> None:
        self._labellings = labellings
        self._pairs: list[NDArray] = []
        self._scores: list[NDArray] = []
        self._correlations: list[NDArray] = []
        self._rest = np.zeros(labellings.n_labellings, dtype=np.float32)
        self._n_pairs = 0

    def add(
        self, sums: _GroupSums, pairs: NDArray[np.intp], wanted: NDArray[np.bool_], n_jobs: int | None
    ) -> None:
        """Score a block of pairs, those that are wanted."""
        if not wanted.any():
            return
        self._n_pairs += int(wanted.sum())
        statistics = sums.changes(n_jobs)
        # Features that determine each other do so under every labelling: what differs is rounding.
        observed = sums.observed_correlations()
        wanted = wanted & (np.abs(observed).min(axis=0) < _DETERMINED)
        statistics[:, ~wanted] = 0.0
        # Copies of each other, whose correlation is one in every group but for rounding.
        statistics[statistics < sums.rounding] = 0.0
        scores = gamma_scores(statistics, above=_ABOVE)
        leading = np.argsort(np.where(wanted, -scores[0], 1.0), kind="stable")
        leading = leading[: min(_KEPT, max(1, int(wanted.sum())))]
        self._pairs.append(pairs[leading])
        self._scores.append(scores[:, leading])
        self._correlations.append(observed[:, leading])
        scores[:, leading] = 0.0
        np.maximum(self._rest, scores.max(axis=1), out=self._rest)

    def finished(self, features: NDArray[np.intp]) -> RelationScores:
        if not self._pairs:
            n_labellings, n_groups = self._labellings.n_labellings, self._labellings.n_groups
            none = np.zeros((0, 2), dtype=np.intp)
            empty = np.zeros((n_labellings, 0), dtype=np.float32)
            return RelationScores(none, empty, self._rest, 0, features, np.zeros((n_groups, 0)))
        return RelationScores(
            pairs=np.concatenate(self._pairs),
            scores=np.concatenate(self._scores, axis=1),
            rest=self._rest,
            n_pairs=self._n_pairs,
            features=features,
            correlations=np.concatenate(self._correlations, axis=1),
        )


def has_few_values(rows: Any, features: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Whether many rows share a value, shape (len(features),)."""
    found = np.zeros(len(features), dtype=bool)
    by_column = rows.tocsc() if sp.issparse(rows) else rows
    for place, feature in enumerate(features):
        ranked = np.sort(_column(by_column, feature))
        step = max(1, int(_TIED_SHARE * len(ranked)))
        found[place] = bool((ranked[step:] == ranked[:-step]).any())
    return found


def _column(rows: Any, feature: int) -> NDArray:
    return rows[:, [feature]].toarray()[:, 0] if sp.issparse(rows) else rows[:, feature]


def _features_looked_at(rows: Any) -> NDArray[np.intp]:
    """Features among which pairs are compared; label-blind, so every labelling has the same."""
    n_rows, n_features = rows.shape
    if n_features <= MOST_FEATURES:
        return np.arange(n_features)
    sample = np.random.default_rng(0).permutation(n_rows)[:_SCREENED_ROWS]
    by_column = rows[sample].tocsc() if sp.issparse(rows) else rows[sample]
    values = np.empty((len(sample), n_features), dtype=np.float32)
    for feature in range(n_features):
        values[:, feature] = _normal_scores(_column(by_column, feature))
    strongest = np.zeros(n_features)
    for start in range(0, n_features, _SCREENED_AT_ONCE):
        part = slice(start, start + _SCREENED_AT_ONCE)
        correlation = np.abs(values[:, part].T @ values)
        own = np.arange(correlation.shape[0])
        correlation[own, start + own] = 0.0
        strongest[part] = correlation.max(axis=1)
    return np.sort(np.argsort(-strongest, kind="stable")[:MOST_FEATURES])


def _normal_scores(column: NDArray, weights: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
    """Normal quantiles of the ranks of a column, with mean zero and variance one; zeros for a constant."""
    found = ndtri((rankdata(column) - 0.5) / len(column))
    found = found - np.average(found, weights=weights)
    spread = np.sqrt(np.average(found**2, weights=weights))
    return found / spread if spread > 1e-9 else np.zeros(len(column))


def _normal_scores_within(
    rows: Any, features: NDArray[np.intp], labellings: Relabellings
) -> NDArray[np.float32]:
    """Normal scores of the ranks within the observed groups, shape (n_rows, len(features))."""
    codes = labellings.scheme.codes(np.arange(1))[0]
    by_column = rows.tocsc() if sp.issparse(rows) else rows
    values = np.empty((len(codes), len(features)), dtype=np.float32)
    for place, feature in enumerate(features):
        values[:, place] = _within(_column(by_column, feature), codes, labellings)
    return values


def _within(column: NDArray, codes: NDArray[np.uint8], labellings: Relabellings) -> NDArray[np.float64]:
    """Normal scores of the ranks within each group, shape (n_rows,)."""
    values = np.empty(len(codes))
    for group in range(labellings.n_groups):
        own = codes == group
        weights = None if labellings.weights is None else labellings.weights[own]
        values[own] = _normal_scores(column[own], weights)
    return values


def _pair_blocks(n_features: int, n_labellings: int) -> Iterator[tuple[int, int]]:
    """First features of the pairs that are looked at together: from, up to."""
    most = max(1, _BLOCK_STATISTICS // n_labellings)
    start = 0
    while start < n_features - 1:
        stop = min(n_features - 1, start + max(1, most // (n_features - start)))
        yield start, stop
        start = stop


class _GroupSums:
    """Correlations of left with right columns in all groups, under any labelling.

    From sums over the rows of all groups but the largest, which has what is left of everything.
    """

    def __init__(
        self, left: NDArray[np.float32], right: NDArray[np.float32], labellings: Relabellings
    ) -> None:
        self._left, self._right, self._labellings = left, right, labellings
        self._weights = None if labellings.weights is None else labellings.weights.astype(np.float32)
        self._everything = self._sums(np.arange(len(left)))
        self.rounding = _ROUNDING**2 * self._everything.mass

    def changes(self, n_jobs: int | None) -> NDArray[np.float32]:
        """How much correlations differ between groups, shape (n_labellings, n_left * n_right)."""
        n_labellings = self._labellings.n_labellings
        found = np.empty((n_labellings, self._left.shape[1], self._right.shape[1]), dtype=np.float32)
        chunks = np.split(np.arange(n_labellings), np.arange(_CHUNK, n_labellings, _CHUNK))

        def run(chunk: NDArray[np.intp]) -> None:
            for index, codes in zip(chunk, self._labellings.scheme.codes(chunk), strict=True):
                found[index] = self._change(codes)

        in_threads(run, chunks, n_jobs)
        return found.reshape(n_labellings, -1)

    def observed_correlations(self) -> NDArray[np.float64]:
        """Correlations in the observed groups, shape (n_groups, n_left * n_right)."""
        codes = self._labellings.scheme.codes(np.arange(1))[0]
        found = np.empty((self._labellings.n_groups, self._left.shape[1] * self._right.shape[1]))
        for group, sums in self._parts(codes):
            found[group] = sums.correlation().ravel()
        return found

    def _change(self, codes: NDArray[np.uint8]) -> NDArray[np.float32]:
        """Weighted sum of squares of the groups' correlations about their mean."""
        mass: Any = np.float32(0.0)
        mean: Any = np.float32(0.0)
        squares: Any = np.float32(0.0)
        # By the recurrence for weighted variances, which does not subtract large numbers.
        for _, sums in self._parts(codes):
            own = np.float32(sums.mass)
            mass += own
            away = sums.correlation() - mean
            mean = mean + (own / mass) * away
            away *= away
            away *= own * (mass - own) / mass
            squares = squares + away
        return squares

    def _parts(self, codes: NDArray[np.uint8]) -> Iterator[tuple[int, _Sums]]:
        n_groups = self._labellings.n_groups
        largest = int(np.bincount(codes, minlength=n_groups).argmax())
        left = self._everything
        for group in [g for g in range(n_groups) if g != largest]:
            sums = self._sums(np.flatnonzero(codes == group))
            yield group, sums
            left = left.minus(sums)
        yield largest, left

    def _sums(self, rows: NDArray[np.intp]) -> _Sums:
        left, right = self._left[rows], self._right[rows]
        weights = np.ones(len(rows), dtype=np.float32) if self._weights is None else self._weights[rows]
        weighted = left if self._weights is None else left * weights[:, None]
        squares = right * right
        return _Sums(
            mass=float(weights.sum(dtype=np.float64)),
            left=(weights @ left).astype(np.float64),
            right=(weights @ right).astype(np.float64),
            left_squares=np.einsum("ij,ij->j", weighted, left).astype(np.float64),
            right_squares=(weights @ squares).astype(np.float64),
            products=weighted.T @ right,
        )


class _Sums(NamedTuple):
    """Sums over some rows: weights, columns, their squares, and products of left with right columns."""

    mass: float
    left: NDArray[np.float64]
    right: NDArray[np.float64]
    left_squares: NDArray[np.float64]
    right_squares: NDArray[np.float64]
    products: NDArray

    def minus(self, other: _Sums) -> _Sums:
        """Sums over the other rows."""
        return _Sums(
            self.mass - other.mass,
            self.left - other.left,
            self.right - other.right,
            self.left_squares - other.left_squares,
            self.right_squares - other.right_squares,
            self.products - other.products,
        )

    def correlation(self) -> NDArray[np.float32]:
        """Correlations of left with right columns; zero where one of them does not vary."""
        scales = []
        for sums, squares in ((self.left, self.left_squares), (self.right, self.right_squares)):
            mean = sums / self.mass
            spread = np.sqrt(np.maximum(squares / self.mass - mean**2, 0.0))
            # A flag that no row of a group has goes with nothing there.
            inverse = np.where(spread > 1e-3, 1 / np.maximum(spread, 1e-3), 0.0)
            scales.append((inverse.astype(np.float32), (mean * inverse).astype(np.float32)))
        (left, left_shift), (right, right_shift) = scales
        found = self.products * (left / np.float32(self.mass))[:, None]
        found *= right
        found -= left_shift[:, None] * right_shift
        return found
