"""Which pairs of features go together differently in the groups.

What each feature does on its own is taken out first: values become normal scores of their ranks within
their group, so that shifts, spreads and other monotone changes of single features leave no trace. Then labels
are permuted, and the correlations of the groups compared, pair by pair, with scores that are comparable and
the step-down maximum over pairs, as for single features. Of many pairs most are of features that have
nothing to do with each other: half of the error is for those that depend on each other, labels ignored.

Ranks cannot take out everything from features with few values: a flag that becomes rare, or counts that
become small, correlate less with everything. What that means for the names is decided in
`features_of_pairs`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import chdtri, expit

from princdiff.data.column_ranks import normal_quantiles
from princdiff.labellings.schemes import Scheme, SomeRows
from princdiff.statistics.contrasts import Relabellings
from princdiff.statistics.group_correlations import GroupCorrelations
from princdiff.statistics.scores import gamma_scores

# Features among which all pairs are looked at: half a matrix product of this width squared per labelling.
MOST_FEATURES = 500
# Rows on which these are chosen, and features at a time: 20 000 features take some seconds.
_SCREENED_ROWS = 500
_SCREENED_AT_ONCE = 500
# Statistics held at a time, over all labellings (single precision).
_BLOCK_STATISTICS = 50_000_000
# Pairs of a block whose scores are kept; of the others only the maximum over them is.
_KEPT = 1000
# A statistic is scored if it is so far above the mean, in standard deviations, that this many pairs are
# expected to be by chance: the largest of all, which alone counts, is beyond in every labelling.
_LEAST_ABOVE, _MOST_ABOVE, _EXPECTED_ABOVE = 1.5, 4.0, 50.0
# Products of two features that all labellings together may take (rows x pairs x labellings), beyond which
# rows are sampled; but no fewer and no more rows than these: normal scores of the sample are kept in memory.
_PAIR_WORK, _FEWEST_ROWS, _MOST_ROWS = 1e11, 4000, 500_000
# The same where only some products are wanted, which are many for few features.
_THREES_WORK = 1e10
# A feature has few values if this share of the rows have the same one (zeros), or of pairs of rows (counts).
_TIED_SHARE, _TIED_PAIRS = 0.2, 0.1


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
        All pairs tested.
    features : int array
        Features among which pairs were tested.
    n_rows : int
        Rows that were looked at: all, or a sample.
    correlations : array of shape (n_groups, n_kept)
        Correlation of normal scores in each group.
    """

    pairs: NDArray[np.intp]
    scores: NDArray[np.float32]
    rest: NDArray[np.float32]
    n_pairs: int
    features: NDArray[np.intp]
    n_rows: int
    correlations: NDArray[np.float64]


def relation_scores(
    rows: Any,
    labellings: Relabellings,
    units: NDArray[np.intp] | None = None,
    n_jobs: int | None = None,
    *,
    within: bool = True,
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
    within : bool, default=True
        Whether ranks are those within the observed groups, so that no change of a single feature leaves a
        trace. Over all rows no labelling is treated unlike the others, and the maximum is an exact test.

    Returns
    -------
    RelationScores

    Notes
    -----
    With more than ``MOST_FEATURES`` features those are taken that correlate most with some other one,
    labels ignored: a dependence that comes or goes in one group is there in the pool, only weaker. Of very
    many rows a sample is looked at, the same for every labelling.

    Examples
    --------
    >>> from princdiff.labellings.schemes import Scheme
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
    n_pairs = len(features) * (len(features) - 1) // 2
    rows, labellings = _rows_looked_at(rows, labellings, n_pairs, _PAIR_WORK)
    values = _normal_scores_within(rows, features, labellings if within else replace(labellings, n_groups=1))
    own = units[features]
    # Below the diagonal pairs would be counted twice.
    wanted = np.triu(own[:, None] != own, 1)
    advantages = _advantages(values, values, wanted, labellings.weights)
    table = _Leaders(labellings, int(wanted.sum()))
    # Given covariates the correlations of all groups are held.
    held = labellings.n_labellings * (labellings.n_groups if labellings.scheme.conditional else 1)
    for start, stop in _pair_blocks(len(features), held):
        sums = GroupCorrelations(values[:, start:], slice(0, stop - start), slice(0, None), labellings)
        first, second = np.meshgrid(features[start:stop], features[start:], indexing="ij")
        part = np.s_[start:stop, start:]
        block = _Block(
            np.column_stack([first.ravel(), second.ravel()]), wanted[part].ravel(), advantages[part].ravel()
        )
        table.add(sums, block, n_jobs)
    return table.finished(features)


def product_relation_scores(
    rows: Any,
    labellings: Relabellings,
    factors: NDArray[np.intp],
    others: NDArray[np.intp],
    n_jobs: int | None = None,
    wanted: NDArray[np.bool_] | None = None,
) -> RelationScores:
    """Scores of the change of dependence between features and products of two others.

    Parameters
    ----------
    rows, labellings, n_jobs
        As in `relation_scores`.
    factors : int array of shape (n_products, 2)
        Two features each; the same feature twice is its square, -1 in the second place the feature itself.
    others : int array
        Features that may go with the products.
    wanted : bool array of shape (n_products, n_others), optional
        Which of them are looked at; default: all.

    Returns
    -------
    RelationScores
        Its pairs have three columns: the two factors and the other feature.
    """
    work = _PAIR_WORK if wanted is None else _THREES_WORK
    wanted = np.ones((len(factors), len(others)), dtype=bool) if wanted is None else wanted
    rows, labellings = _rows_looked_at(rows, labellings, int(wanted.sum()), work)
    codes = labellings.scheme.codes(np.arange(1))[0]
    single = np.unique(factors[factors >= 0])
    scores = _normal_scores_within(rows, single, labellings)
    columns: list[NDArray] = []
    for first, second in np.searchsorted(single, np.maximum(factors, single[0])):
        # Scores lie symmetric about zero, so squares tie: rounding must not decide their order.
        columns.append(np.round(scores[:, first].astype(np.float64) * scores[:, second], 4))
    left = np.column_stack([_within(column, codes, labellings) for column in columns]).astype(np.float32)
    plain = factors[:, 1] < 0
    left[:, plain] = scores[:, np.searchsorted(single, factors[plain, 0])]
    values = _normal_scores_within(rows, others, labellings)
    advantages = _advantages(left, values, wanted, labellings.weights)
    table = _Leaders(labellings, int(wanted.sum()))
    held = labellings.n_labellings * (labellings.n_groups if labellings.scheme.conditional else 1)
    width = max(1, _BLOCK_STATISTICS // (held * len(factors)))
    for start in range(0, len(others), width):
        part = others[start : start + width]
        both = np.concatenate([left, values[:, start : start + width]], axis=1)
        sums = GroupCorrelations(both, slice(0, len(factors)), slice(len(factors), None), labellings)
        triples = np.column_stack([np.repeat(factors, len(part), axis=0), np.tile(part, len(factors))])
        place = np.s_[:, start : start + width]
        table.add(sums, _Block(triples, wanted[place].ravel(), advantages[place].ravel()), n_jobs)
    return table.finished(others)


# Rows that are taken to double precision at a time.
_ADVANTAGE_ROWS = 4096
# Share of the error of all pairs that is for those which depend on each other over all rows, labels ignored.
_FAVOURED = 0.5

# A correlation beyond this in every group means that one feature follows from the other.
_DETERMINED = 0.999


def _advantages(
    left: NDArray[np.float32],
    right: NDArray[np.float32],
    wanted: NDArray[np.bool_],
    weights: NDArray[np.float64] | None,
) -> NDArray[np.float32]:
    """What is added to the scores of pairs, log(n_pairs x share of the error), shape (n_left, n_right).

    Half of the error is shared equally. The other half goes to pairs that depend on each other over all
    rows, by the odds that they do: where a dependence changes it is usually there in the pool, only weaker.
    Labels play no part, so it is the same for every labelling. Of independent features no pair is favoured
    much.
    """
    weights = np.ones(len(left)) if weights is None else weights
    share = weights / weights.sum()
    correlation = np.zeros(wanted.shape)
    # In double precision: evidence grows with the number of rows, and so does what rounding would add to it.
    for start in range(0, len(left), _ADVANTAGE_ROWS):
        part = slice(start, start + _ADVANTAGE_ROWS)
        correlation += (left[part] * share[part, None]).T @ right[part].astype(np.float64)
    seen = wanted & (np.abs(correlation) < _DETERMINED)
    n_pairs = max(1, int(seen.sum()))
    effective = float(weights.sum() ** 2 / (weights**2).sum())
    # A likelihood ratio against odds of one in n_pairs: ratio / (ratio + n_pairs).
    evidence = 0.5 * effective * correlation**2
    belief = np.where(seen, expit(evidence - np.log(n_pairs)), 0.0)
    favoured = _FAVOURED * n_pairs * belief / max(belief.sum(), 1e-300)
    return np.log(1 - _FAVOURED + favoured).astype(np.float32)


class _Block(NamedTuple):
    """Pairs that are scored together: their features, whether they are wanted, and their advantages."""

    pairs: NDArray[np.intp]
    wanted: NDArray[np.bool_]
    advantages: NDArray[np.float32]


class _Leaders:
    """The pairs with the largest observed scores, and the maximum over all others."""

    def __init__(self, labellings: Relabellings, n_pairs: int) -> None:
        self._labellings = labellings
        tail = chdtri(1, min(0.5, _EXPECTED_ABOVE / max(n_pairs, 1)))
        self._above = float(np.clip((tail - 1) / np.sqrt(2), _LEAST_ABOVE, _MOST_ABOVE))
        self._pairs: list[NDArray] = []
        self._scores: list[NDArray] = []
        self._correlations: list[NDArray] = []
        self._rest = np.zeros(labellings.n_labellings, dtype=np.float32)
        self._n_pairs = 0

    def add(self, sums: GroupCorrelations, block: _Block, n_jobs: int | None) -> None:
        """Score a block of pairs, those that are wanted."""
        pairs, wanted, advantages = block
        if not wanted.any():
            return
        self._n_pairs += int(wanted.sum())
        statistics = sums.changes(wanted, n_jobs)
        # Features that determine each other do so under every labelling: what differs is rounding.
        observed = sums.observed_correlations()
        wanted = wanted & (np.abs(observed).min(axis=0) < _DETERMINED)
        # Copies of each other, whose correlation is one in every group but for rounding.
        least = np.where(wanted, np.float32(sums.rounding), np.float32(np.inf))
        for row in statistics:
            row *= row >= least
        prior = np.sqrt(8 / (self._labellings.n_groups - 1))
        mean = sums.expected_changes()
        scores = gamma_scores(statistics, above=self._above, prior=prior, mean=mean, overwrite=True)
        for row in scores:
            # A score of zero is one that was not worth computing.
            np.add(row, advantages, out=row, where=row > 0)
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
            n_rows = self._labellings.n_rows
            return RelationScores(none, empty, self._rest, 0, features, n_rows, np.zeros((n_groups, 0)))
        return RelationScores(
            pairs=np.concatenate(self._pairs),
            scores=np.concatenate(self._scores, axis=1),
            rest=self._rest,
            n_pairs=self._n_pairs,
            features=features,
            n_rows=self._labellings.n_rows,
            correlations=np.concatenate(self._correlations, axis=1),
        )


def has_few_values(rows: Any, features: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Whether many rows share a value, or two rows drawn at random often do; shape (len(features),)."""
    found = np.zeros(len(features), dtype=bool)
    by_column = rows.tocsc() if sp.issparse(rows) else rows
    for place, feature in enumerate(features):
        shares = np.unique(_column(by_column, feature), return_counts=True)[1] / rows.shape[0]
        found[place] = shares.max() >= _TIED_SHARE or (shares**2).sum() >= _TIED_PAIRS
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


def _rows_looked_at(
    rows: Any, labellings: Relabellings, n_pairs: int, work: float
) -> tuple[Any, Relabellings]:
    """Rows on which pairs are compared, the same for every labelling: all, or a sample where that is long."""
    affordable = int(work / max(n_pairs * labellings.n_labellings, 1))
    n_rows = min(max(_FEWEST_ROWS, affordable), _MOST_ROWS)
    if rows.shape[0] <= n_rows or not isinstance(labellings.scheme, Scheme):
        return rows, labellings
    taken = np.sort(np.random.default_rng(0).permutation(rows.shape[0])[:n_rows])
    seen = replace(
        labellings,
        scheme=SomeRows(labellings.scheme, taken),
        weights=None if labellings.weights is None else labellings.weights[taken],
        basis=None if labellings.basis is None else labellings.basis[taken],
    )
    return rows[taken], seen


def _normal_scores(column: NDArray, weights: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
    """Normal quantiles of the ranks of a column, with mean zero and variance one; zeros for a constant."""
    found = normal_quantiles(column)
    found = found - np.average(found, weights=weights)
    spread = np.sqrt(np.average(found**2, weights=weights))
    return found / spread if spread > 1e-9 else np.zeros(len(column))


def _normal_scores_within(
    rows: Any, features: NDArray[np.intp], labellings: Relabellings
) -> NDArray[np.float32]:
    """Normal scores of the ranks within the observed groups, or of a single one that all rows are."""
    codes = labellings.scheme.codes(np.arange(1))[0] * (labellings.n_groups > 1)
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
