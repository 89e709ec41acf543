"""Comparable scores of columns, features and pairs over all labellings of chunks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from princdiff.profiles.chunk_sums import ChunkLabellings, Chunks
from princdiff.profiles.ruler import SCORE_STEP
from princdiff.statistics.alone import added_scores
from princdiff.statistics.scores import gamma_scores

# Skewness of the largest of several scores, if nothing differs; see `statistics.alone`.
_MAXIMUM_SKEWNESS = 1.4
# Bins are joined to at most so many where Pearson's statistic is computed.
_PEARSON_BINS = 16
# The skewness of the statistic of Cramér and von Mises in large samples, about.
_CRAMER_SKEWNESS = 2.5


@dataclass(frozen=True, eq=False)
class ColumnScores:
    """Scores of columns and of their features, the observed labelling first.

    Attributes
    ----------
    units : array of shape (n_labellings, n_columns), float32
    features : array of shape (n_labellings, n_features), float32
    unit_of : array of shape (n_features,)
    means : array of shape (n_groups, n_features)
        Means of numbers, in their own units; shares of 0/1 features.
    deviations : array of shape (n_groups, n_features)
    rows : array of shape (n_groups, n_features)
        Rows behind them.
    mean_errors, deviation_errors : array of shape (n_groups, n_features)
        Standard errors of means and deviations, by how much chunks differ.
    """

    units: NDArray[np.float32]
    features: NDArray[np.float32]
    unit_of: NDArray[np.intp]
    means: NDArray[np.float64]
    deviations: NDArray[np.float64]
    rows: NDArray[np.float64]
    mean_errors: NDArray[np.float64]
    deviation_errors: NDArray[np.float64]


def column_scores(chunks: Chunks, labellings: ChunkLabellings) -> ColumnScores:
    """Scores of all columns: mean, spread and shape of numbers, shares of levels and of missing values."""
    scores, units, unit_of, facts = [], [], [], []
    for number, column in enumerate(chunks.ruler.columns):
        counts = chunks.counts(number)
        parts = []
        for own, bins in enumerate(column.feature_bins):
            if column.is_number and own == 0:
                parts.append(_number_scores(chunks, labellings, number))
                facts.append(_number_facts(chunks, number))
            else:
                inside = counts[:, bins].sum(axis=1, keepdims=True)
                between = labellings.between(chunks.centred(inside))
                parts.append(gamma_scores(between, prior=np.sqrt(8 / (labellings.n_groups - 1)))[:, 0])
                facts.append(_share_facts(chunks, inside[:, 0]))
            unit_of.append(number)
        scores += parts
        units.append(_unit_score(parts, None if column.is_number else _pearson(chunks, labellings, counts)))
    described = [np.array(part).T for part in zip(*facts, strict=True)]
    return ColumnScores(np.stack(units, axis=1), np.stack(scores, axis=1), np.array(unit_of), *described)


def _unit_score(parts: list[NDArray[np.float32]], pearson: NDArray[np.float32] | None) -> NDArray[np.float32]:
    """One score of a column from those of its features, and of all its levels at once."""
    if len(parts) == 1:
        return parts[0]
    largest = gamma_scores(np.max(parts, axis=0)[:, None], prior=_MAXIMUM_SKEWNESS)
    if pearson is None:
        return largest[:, 0]
    return added_scores(np.stack([largest, pearson], axis=2))[:, 0]


def _pearson(chunks: Chunks, labellings: ChunkLabellings, counts: NDArray[np.float64]) -> NDArray[np.float32]:
    """Scores of Pearson's chi-squared statistic of all bins, shape (n_labellings, 1)."""
    share = counts.sum(axis=0) / counts.sum()
    some = share > 0
    between = labellings.between(chunks.centred(counts[:, some]))
    # Each sum of squares is in units of its variance, p (1 - p); Pearson's are over p.
    value = between @ (1 - share[some]).astype(np.float32)
    freedom = max(1, (labellings.n_groups - 1) * (int(some.sum()) - 1))
    return gamma_scores(value[:, None], prior=np.sqrt(8 / freedom))


def _number_scores(chunks: Chunks, labellings: ChunkLabellings, number: int) -> NDArray[np.float32]:
    """One score of a number, shape (n_labellings,): the clearest of mean, spread and shape rules."""
    column = chunks.ruler.columns[number]
    counts = chunks.counts(number)[:, :-1]
    present = counts.sum(axis=1)
    normal = np.array(column.scores[:-1]) * SCORE_STEP
    moments = np.column_stack([counts @ normal, counts @ (normal**2 - 1), chunks.sums(number)])
    linear = labellings.between(chunks.centred(moments, present))
    one = np.sqrt(8 / (labellings.n_groups - 1))
    single = gamma_scores(linear, prior=one)
    joined = np.add.reduceat(counts, _starts(counts.sum(axis=0)), axis=1)
    shape = labellings.means(chunks.centred(np.cumsum(counts, axis=1)[:, :-1], present))
    value = np.square(shape).sum(axis=0) @ _cramer_weights(counts)
    cramer = gamma_scores(value[:, None].astype(np.float32), prior=_CRAMER_SKEWNESS * one / np.sqrt(8))
    bins = gamma_scores(labellings.between(chunks.centred(counts, present)), prior=one)
    largest = gamma_scores(bins.max(axis=1, keepdims=True), prior=_MAXIMUM_SKEWNESS)
    parts = [single, cramer, _pearson(chunks, labellings, joined), largest]
    return added_scores(np.concatenate(parts, axis=1)[:, None, :])[:, 0]


def _cramer_weights(counts: NDArray[np.float64]) -> NDArray[np.float32]:
    """What each cumulated share counts, as in the statistic of Cramér and von Mises: its variance."""
    share = counts.sum(axis=0) / counts.sum()
    below = np.cumsum(share)[:-1]
    return (share[:-1] * below * (1 - below)).astype(np.float32)


def _starts(counts: NDArray[np.float64]) -> NDArray[np.intp]:
    """Where bins begin that are joined to a few of about equal size."""
    if len(counts) <= _PEARSON_BINS:
        return np.arange(len(counts))
    below = (np.cumsum(counts) - counts) / max(counts.sum(), 1.0)
    return np.flatnonzero(np.diff(np.floor(below * _PEARSON_BINS), prepend=-1) > 0)


def _share_facts(chunks: Chunks, inside: NDArray[np.float64]) -> tuple[NDArray[np.float64], ...]:
    """Share of a 0/1 feature in each group, its standard deviation, rows, and errors of the first two."""
    rows = chunks.rows.astype(np.float64)
    share = chunks.group_means(inside[:, None], rows)[:, 0]
    spread = np.sqrt(share * (1 - share))
    error = chunks.group_errors(inside - rows * share[chunks.codes], rows)
    slope = np.divide(np.abs(1 - 2 * share), 2 * spread, out=np.zeros_like(share), where=spread > 0)
    return share, spread, chunks.totals, error, slope * error


def _number_facts(chunks: Chunks, number: int) -> tuple[NDArray[np.float64], ...]:
    """Mean, standard deviation and rows of a number in each group, and errors of the first two."""
    column, sums = chunks.ruler.columns[number], chunks.sums(number)
    present = chunks.counts(number)[:, :-1].sum(axis=1)
    mean, square = chunks.group_means(sums, present).T
    spread = np.sqrt(np.maximum(square - mean**2, 0.0))
    own = mean[chunks.codes]
    off = sums[:, 0] - present * own
    squares = sums[:, 1] - 2 * own * sums[:, 0] + present * (own**2 - spread[chunks.codes] ** 2)
    error = chunks.group_errors(off, present)
    of_spread = chunks.group_errors(squares, present) / np.where(spread > 0, 2 * spread, np.inf)
    rows = np.bincount(chunks.codes, present, minlength=len(chunks.groups)).astype(np.float64)
    scale = column.scale
    return column.centre + scale * mean, scale * spread, rows, scale * error, scale * of_spread


@dataclass(frozen=True, eq=False)
class PairScores:
    """Pairs of features of different columns.

    Attributes
    ----------
    pairs : array of shape (n_pairs, 2)
        Features.
    scores : array of shape (n_labellings, n_pairs), float32
    correlations : array of shape (n_groups, n_pairs)
        Of normal scores, and of 0/1 features, in each group.
    """

    pairs: NDArray[np.intp]
    scores: NDArray[np.float32]
    correlations: NDArray[np.float64]


def pair_scores(chunks: Chunks, labellings: ChunkLabellings) -> PairScores:
    """Scores of changed correlations, whatever means and spreads of the two do.

    Features are brought to mean zero and variance one in each group. Of each chunk is kept what its rows add
    to the correlation of their group less that of all groups, which is a sum over rows.
    """
    features = chunks.ruler.in_pairs
    unit_of = np.array([k for k, column in enumerate(chunks.ruler.columns) for _ in column.feature_bins])
    sums = chunks.in_pairs
    n_groups, rows = len(chunks.groups), chunks.rows.astype(np.float64)
    products = np.empty_like(chunks.products)
    correlations = np.zeros((n_groups, len(features), len(features)))
    varies = np.ones(len(features), dtype=bool)
    for group in range(n_groups):
        own = chunks.codes == group
        mean = sums[own].sum(axis=0) / rows[own].sum()
        cross = sums[own][:, :, None] * mean
        part = chunks.products[own] - cross - cross.transpose(0, 2, 1)
        part += rows[own][:, None, None] * np.outer(mean, mean)
        variance = np.einsum("cjj->j", part) / rows[own].sum()
        varies &= variance > 0
        spread = np.sqrt(np.where(variance > 0, variance, 1.0))
        products[own] = part / (spread[:, None] * spread)
        correlations[group] = products[own].sum(axis=0) / rows[own].sum()
    first, second = np.triu_indices(len(features), 1)
    kept = (unit_of[features[first]] != unit_of[features[second]]) & varies[first] & varies[second]
    first, second = first[kept], second[kept]
    middle = (chunks.totals @ correlations.reshape(n_groups, -1) / chunks.totals.sum()).reshape(
        len(features), len(features)
    )
    squares = np.einsum("cjj->cj", products)
    added = products[:, first, second] - middle[first, second] * (squares[:, first] + squares[:, second]) / 2
    # Of a pair without any change the sums are centred already, but for rounding.
    between = labellings.between(added / np.sqrt(chunks.sizes)[:, None])
    scores = gamma_scores(between, prior=np.sqrt(8 / (n_groups - 1)))
    pairs = np.column_stack([features[first], features[second]])
    return PairScores(pairs, scores, correlations[:, first, second])
