"""Which pairs of features go together differently in the groups.

What each feature does by itself is taken out first: values become normal scores of their ranks within
their group, so that shifts, spreads and other monotone changes of single features leave no trace. Then labels
are permuted, and the correlations of the groups compared, pair by pair, with scores that are comparable and
the step-down maximum over pairs, as for single features.

Ranks cannot take out everything from features with few values: a flag that becomes rare, or counts that become
small, correlate less with everything. Pairs with such a feature are not judged if it differs by itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

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
# Statistics held at a time, over all labellings (single precision).
_BLOCK_STATISTICS = 30_000_000
# Pairs of a block whose scores are kept; of the others only the maximum over them is.
_KEPT = 1000
# Standard deviations above the mean from which a statistic is scored; the largest of a hundred pairs is
# beyond in nearly every labelling.
_ABOVE = 1.5
# Labellings given to a thread at a time.
_CHUNK = 16
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
    With more than ``MOST_FEATURES`` features those are taken that depend most on others over all rows,
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
    n_features = rows.shape[1]
    units = np.arange(n_features) if units is None else units
    features = _features_looked_at(rows)
    values = _normal_scores_within(rows, features, labellings)
    sums = _GroupSums(values, labellings)
    kept = []
    rest = np.zeros(labellings.n_labellings, dtype=np.float32)
    n_pairs = 0
    for start, stop in _pair_blocks(len(features), labellings.n_labellings):
        # A rectangle of pairs; below its diagonal they would be counted twice.
        first, second = np.divmod(np.arange((stop - start) * (len(features) - start)), len(features) - start)
        first, second = first + start, second + start
        valid = (first < second) & (units[features[first]] != units[features[second]])
        if not valid.any():
            continue
        n_pairs += int(valid.sum())
        statistics = sums.changes(start, stop, n_jobs)
        statistics[:, ~valid] = 0.0
        scores = gamma_scores(statistics, above=_ABOVE)
        leading = np.argsort(np.where(valid, -scores[0], 1.0), kind="stable")[: min(_KEPT, int(valid.sum()))]
        kept.append((first[leading], second[leading], scores[:, leading]))
        scores[:, leading] = 0.0
        np.maximum(rest, scores.max(axis=1), out=rest)
    if not kept:
        empty = np.zeros((labellings.n_labellings, 0), dtype=np.float32)
        none = np.zeros((0, 2), dtype=np.intp)
        return RelationScores(none, empty, rest, 0, features, np.zeros((labellings.n_groups, 0)))
    first, second = (np.concatenate([part[i] for part in kept]) for i in range(2))
    return RelationScores(
        pairs=np.column_stack([features[first], features[second]]),
        scores=np.concatenate([part[2] for part in kept], axis=1),
        rest=rest,
        n_pairs=n_pairs,
        features=features,
        correlations=sums.correlations(0, first, second),
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
    n_features = rows.shape[1]
    by_column = rows.tocsc() if sp.issparse(rows) else rows
    if n_features <= MOST_FEATURES:
        return np.arange(n_features)
    values = np.empty((rows.shape[0], n_features), dtype=np.float32)
    for feature in range(n_features):
        values[:, feature] = _normal_scores(_column(by_column, feature))
    # The mean square correlation with all features is that with a few random mixtures of them.
    mixtures = np.random.default_rng(0).standard_normal((n_features, 256)).astype(np.float32)
    dependence = ((values.T @ (values @ mixtures)) ** 2).sum(axis=1)
    return np.sort(np.argsort(-dependence, kind="stable")[:MOST_FEATURES])


def _normal_scores(column: NDArray, weights: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
    """Normal quantiles of the ranks of a column, with mean zero and variance one; zeros for a constant."""
    found = ndtri((rankdata(column) - 0.5) / len(column))
    found = found - np.average(found, weights=weights)
    spread = np.sqrt(np.average(found**2, weights=weights))
    return found / spread if spread > 1e-9 else np.zeros(len(column))


def _normal_scores_within(
    rows: Any, features: NDArray[np.intp], labellings: Relabellings
) -> NDArray[np.float32]:
    """Normal scores of the ranks within the observed groups, shape (n_rows, n_features)."""
    codes = labellings.scheme.codes(np.arange(1))[0]
    members = [np.flatnonzero(codes == group) for group in range(labellings.n_groups)]
    by_column = rows.tocsc() if sp.issparse(rows) else rows
    values = np.empty((len(codes), len(features)), dtype=np.float32)
    for place, feature in enumerate(features):
        column = _column(by_column, feature)
        for own in members:
            weights = None if labellings.weights is None else labellings.weights[own]
            values[own, place] = _normal_scores(column[own], weights)
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
    """Correlations of all groups under any labelling, from sums over the rows of all but the largest group."""

    def __init__(self, values: NDArray[np.float32], labellings: Relabellings) -> None:
        self._values = values
        self._weights = None if labellings.weights is None else labellings.weights.astype(np.float32)
        self._weighted = values if self._weights is None else values * self._weights[:, None]
        self._labellings = labellings
        self._total = self._weighted.sum(axis=0, dtype=np.float64)
        self._squares = np.einsum("ij,ij->j", self._weighted, values, dtype=np.float64)
        self._mass = float(len(values)) if self._weights is None else float(self._weights.sum(dtype=np.float64))

    def changes(self, start: int, stop: int, n_jobs: int | None) -> NDArray[np.float32]:
        """How much correlations of features ``start:stop`` with ``start:`` differ between groups.

        Returns
        -------
        array of shape (n_labellings, (stop - start) * (n_features - start))
        """
        cross = self._weighted[:, start:stop].T @ self._values[:, start:]
        n_labellings = self._labellings.n_labellings
        found = np.empty((n_labellings, *cross.shape), dtype=np.float32)
        chunks = np.split(np.arange(n_labellings), np.arange(_CHUNK, n_labellings, _CHUNK))

        def run(chunk: NDArray[np.intp]) -> None:
            for index, codes in zip(chunk, self._labellings.scheme.codes(chunk), strict=True):
                found[index] = self._change(codes, start, stop, cross)

        in_threads(run, chunks, n_jobs)
        return found.reshape(n_labellings, -1)

    def correlations(
        self, index: int, first: NDArray[np.intp], second: NDArray[np.intp]
    ) -> NDArray[np.float64]:
        """Correlations of some pairs in each group of one labelling, shape (n_groups, n_pairs)."""
        codes = self._labellings.scheme.codes(np.array([index]))[0]
        cross = self._weighted.T @ self._values
        parts = self._parts(codes, 0, self._values.shape[1], cross)
        return np.array([correlation[first, second] for _, correlation in parts], dtype=np.float64)

    def _change(self, codes: NDArray[np.uint8], start: int, stop: int, cross: NDArray) -> NDArray[np.float32]:
        """Weighted sum of squares of the groups' correlations about their mean."""
        mass: Any = 0.0
        mean: Any = 0.0
        squares: Any = 0.0
        # By the recurrence for weighted variances, which does not subtract large numbers.
        for own, correlation in self._parts(codes, start, stop, cross):
            mass += own
            away = correlation - mean
            mean = mean + (own / mass) * away
            away *= away
            away *= own * (mass - own) / mass
            squares = squares + away
        return squares

    def _parts(
        self, codes: NDArray[np.uint8], start: int, stop: int, cross: NDArray[np.float32]
    ) -> Iterator[tuple[np.float32, NDArray[np.float32]]]:
        """Weight and correlations of each group; the last one is what the others leave of everything."""
        n_groups = self._labellings.n_groups
        largest = int(np.bincount(codes, minlength=n_groups).argmax())
        mass, sums, squares, products = self._mass, self._total[start:], self._squares[start:], cross
        for group in [g for g in range(n_groups) if g != largest]:
            own = np.flatnonzero(codes == group)
            part = self._values[own, start:]
            weighted = part if self._weights is None else self._weighted[own, start:]
            own_mass = float(len(own)) if self._weights is None else float(self._weights[own].sum())
            own_sums = np.ones(len(own), dtype=np.float32) @ weighted
            own_squares = np.einsum("ij,ij->j", weighted, part)
            own_products = weighted[:, : stop - start].T @ part
            yield np.float32(own_mass), _correlation(own_mass, own_sums, own_squares, own_products)
            mass, sums, squares = mass - own_mass, sums - own_sums, squares - own_squares
            products = products - own_products
        yield np.float32(mass), _correlation(mass, sums, squares, products)


def _correlation(mass: float, sums: NDArray, squares: NDArray, products: NDArray) -> NDArray[np.float32]:
    """Correlations of the first features with all, from sums over rows."""
    means = sums / mass
    spreads = np.sqrt(np.maximum(squares / mass - means**2, 0.0))
    # A flag that no row of a group has goes with nothing there.
    inverse = np.where(spreads > 1e-4, 1 / np.maximum(spreads, 1e-4), 0.0)
    count = len(products)
    found = products * (inverse[:count] / mass).astype(np.float32)[:, None]
    found *= inverse.astype(np.float32)
    shift = (means * inverse).astype(np.float32)
    found -= shift[:count, None] * shift
    return found
