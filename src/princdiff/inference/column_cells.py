"""What single columns, pairs of columns and lengths of rows show, summed up in one number per labelling.

Every labelling of a test gets, from matrix products alone: the score of the column that stands out most, how
many columns stand out a little, the score of the best pair of columns (a changed dependence), of the best
column given all others, and of the lengths of the rows (a change of overall spread).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import ndtri
from scipy.stats import rankdata

from princdiff.data.stored_columns import StoredColumns
from princdiff.inference.alone import combined_scores, each_column
from princdiff.inference.contrasts import MANY_ROWS, Contrasts
from princdiff.inference.feature_columns import RankFunctions, feature_columns, statistics_of
from princdiff.inference.scores import gamma_scores, left_out_moments, survival_score

# Pairs that are scored exactly in each labelling: those that stand out most by a plain z-score.
_SCORED_PAIRS = 3
# Values of columns held at a time.
_MEAN_ELEMENTS = 16_000_000
# Excess kurtosis over rows up to which a mean is taken as normal: its own excess is no more than this.
_NEARLY_NORMAL = 0.02
# Products of columns made at a time.
_PAIR_BLOCK = 256


def many_small(scores: NDArray[np.float32]) -> NDArray[np.float64]:
    """Evidence that is spread over many columns, from the columns' scores, shape (n_labellings, 2).

    The sum of the scores, and the higher criticism: how far the share of small p-values is above what it
    should be, at the worst place.

    Examples
    --------
    >>> many_small(np.log([[2.0, 4.0, 8.0, 16.0]]).astype(np.float32)).round(2)
    array([[6.93, 1.15]])
    """
    total = scores.sum(axis=1, dtype=np.float64)
    pvalues = np.sort(np.exp(-scores.astype(np.float64)), axis=1)
    count = pvalues.shape[1]
    share = np.arange(1, count + 1) / count
    # The smallest p-values are the business of the maximum, and their ratio has no variance.
    inner = slice(0, max(1, count // 2))
    part = np.clip(pvalues[:, inner], 1 / count if count > 1 else 1e-12, 1 - 1e-12)
    excess = np.sqrt(count) * (share[inner] - part) / np.sqrt(part * (1 - part))
    return np.column_stack([total, excess.max(axis=1)])


def moment_scores(rows: Any, contrasts: Contrasts) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Scores of the differences of means, and of mean distances from the median, of every column.

    The scores of single columns look at more than that; a shift or a change of spread shows best where
    nothing else competes.

    Parameters
    ----------
    rows : array or sparse matrix of shape (n_rows, n_features)
        Numbers.
    contrasts : Contrasts
        Labellings.

    Returns
    -------
    means, spreads : arrays of shape (n_labellings, n_features)
    """
    if rows.shape[0] >= MANY_ROWS or isinstance(rows, StoredColumns):
        columns = partial(each_column, rows, np.arange(rows.shape[1]))
        return (
            _chi_squared_of_lines(columns(), rows.shape[1], contrasts),
            _chi_squared_of_lines((_spread(column) for column in columns()), rows.shape[1], contrasts),
        )
    step = max(1, _MEAN_ELEMENTS // max(rows.shape[0], contrasts.labellings.n_labellings))
    means, spreads = [], []
    for start in range(0, rows.shape[1], step):
        block = rows[:, start : start + step]
        block = np.asarray(block.toarray() if sp.issparse(block) else block, dtype=np.float64)
        means.append(_chi_squared_scores(block, contrasts))
        spreads.append(_chi_squared_scores(np.abs(block - np.median(block, axis=0)), contrasts))
    return np.concatenate(means, axis=1), np.concatenate(spreads, axis=1)


def _chi_squared_scores(columns: NDArray[np.float64], contrasts: Contrasts) -> NDArray[np.float32]:
    """Scores of differences of means.

    Where a mean is about normal (no column of rare values or heavy tails), the statistic is chi-squared,
    and only its mean is taken from the relabellings: three moments of few relabellings would add more noise
    than they mend.
    """
    plain = _excess_kurtosis(columns) < _NEARLY_NORMAL * len(columns)
    return _nearly_normal_scores(contrasts.between(columns), plain, contrasts.labellings.n_groups - 1)


def _chi_squared_of_lines(lines: Iterable[NDArray], count: int, contrasts: Contrasts) -> NDArray[np.float32]:
    """The same of columns that are made one after the other."""
    plain: list[bool] = []

    def noted() -> Iterator[NDArray[np.float64]]:
        for line in lines:
            column = np.asarray(line, dtype=np.float64)
            plain.append(bool(_excess_kurtosis(column[:, None])[0] < _NEARLY_NORMAL * len(column)))
            yield column

    between = contrasts.between_lines(noted(), count)
    return _nearly_normal_scores(between, np.array(plain), contrasts.labellings.n_groups - 1)


def _spread(column: NDArray) -> NDArray[np.float64]:
    values = np.asarray(column, dtype=np.float64)
    return np.abs(values - np.median(values))


def _nearly_normal_scores(
    statistics: NDArray[np.float32], plain: NDArray[np.bool_], freedom: int
) -> NDArray[np.float32]:
    between = statistics.astype(np.float64)
    scores = gamma_scores(between)
    own = between[:, plain]
    others = (own.sum(axis=0) - own) / (len(own) - 1)
    ratio = own / np.where(others > 0, others, np.inf)
    scores[:, plain] = survival_score((ratio - 1) * np.sqrt(freedom / 2), np.sqrt(8 / freedom))
    return scores


def _excess_kurtosis(columns: NDArray) -> NDArray[np.float64]:
    """Fourth moment over the squared variance, less three, shape (n_columns,)."""
    centred = columns - columns.mean(axis=0, dtype=np.float64)
    largest = np.abs(centred).max(axis=0)
    centred /= np.where(largest > 0, largest, 1.0)
    square = centred * centred
    variance = square.mean(axis=0)
    return (square * square).mean(axis=0) / np.where(variance > 0, variance**2, np.inf) - 3


def length_scores(rows: NDArray[np.float32], contrasts: Contrasts) -> NDArray[np.float32]:
    """Scores of the distribution of the rows' distances from their mean, shape (n_labellings,)."""
    design = contrasts.labellings
    # Sparse rows come as they are stored, dense ones with their mean taken out.
    rows = rows - np.average(rows, axis=0, weights=design.weights).astype(rows.dtype)
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float64))
    # Of whole numbers many are equally far from the mean, which rounding in single precision must not undo.
    mantissa, exponent = np.frexp(lengths)
    lengths = np.ldexp(np.rint(mantissa * 2.0**16), exponent)
    columns = feature_columns(lengths, RankFunctions(len(rows), design.weights))
    between = contrasts.between(columns)[:, None]
    return combined_scores(statistics_of(between))[:, 0]


def given_others(
    rows: NDArray[np.float32], precision: NDArray[np.float64], contrasts: Contrasts
) -> NDArray[np.float32]:
    """Score of the best column with all others held fixed, shape (n_labellings,).

    Column j of ``rows @ precision`` is, up to a factor, column j less its best prediction from all others.
    """
    predicted = rows @ precision.astype(np.float32)
    columns = predicted - np.median(predicted, axis=0)
    between = contrasts.between(np.concatenate([columns, np.abs(columns)], axis=1))
    n_columns = columns.shape[1]
    paired = np.stack([between[:, :n_columns], between[:, n_columns:]], axis=2)
    return combined_scores(paired).max(axis=1)


def pair_scores(rows: NDArray, contrasts: Contrasts) -> tuple[NDArray[np.float64], tuple[int, int]]:
    """Score of the pair of columns whose dependence differs most between the groups.

    Parameters
    ----------
    rows : array of shape (n_rows, n_features)
        Numbers; only their order within a column matters.
    contrasts : Contrasts
        Labellings.

    Returns
    -------
    scores : array of shape (n_labellings,)
        Of the best pair of each labelling.
    pair : (int, int)
        The observed labelling's.
    """
    standard = normal_scores(rows)
    first, second = np.triu_indices(rows.shape[1], 1)
    best = np.full(contrasts.labellings.n_labellings, -np.inf)
    leading = (0, 0)
    for start in range(0, len(first), _PAIR_BLOCK):
        one, other = first[start : start + _PAIR_BLOCK], second[start : start + _PAIR_BLOCK]
        between = contrasts.between(standard[:, one] * standard[:, other]).astype(np.float64)
        scores, places = _best_scores(between)
        if scores[0] > best[0]:
            leading = (int(one[places[0]]), int(other[places[0]]))
        best = np.maximum(best, scores)
    return best, leading


def _best_scores(between: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """The best gamma score of each labelling and its column, scoring the few largest z-scores only."""
    usable = np.ptp(between, axis=0) > 0
    if not usable.any():
        return np.zeros(len(between)), np.zeros(len(between), dtype=np.intp)
    moments = left_out_moments(between[:, usable])
    z = (between[:, usable] - moments.mean) / np.where(moments.spread > 0, moments.spread, np.inf)
    count = min(_SCORED_PAIRS, z.shape[1])
    top = np.argpartition(-z, count - 1, axis=1)[:, :count]
    scores = survival_score(
        np.take_along_axis(z, top, axis=1), np.take_along_axis(moments.skewness, top, axis=1)
    )
    best = scores.argmax(axis=1)
    row = np.arange(len(z))
    return scores[row, best], np.flatnonzero(usable)[top[row, best]]


def normal_scores(rows: NDArray) -> NDArray[np.float32]:
    """Columns with their ranks put on the normal distribution, mean zero and unit spread; ties share.

    Examples
    --------
    >>> normal_scores(np.array([[1.0], [5.0], [100.0]])).ravel().round(2)
    array([-1.22,  0.  ,  1.22], dtype=float32)
    """
    ranks = rankdata(rows, axis=0)
    values = ndtri((ranks - 0.5) / len(rows))
    values -= values.mean(axis=0)
    spread = values.std(axis=0)
    return (values / np.where(spread > 0, spread, np.inf)).astype(np.float32)


def rescored(values: NDArray) -> NDArray[np.float32]:
    """Comparable scores of one statistic of all labellings, shape (n_labellings,)."""
    return gamma_scores(np.asarray(values, dtype=np.float64)[:, None])[:, 0]
