"""What single columns and lengths of rows show, summed up in one number per labelling.

Every labelling of a test gets, from matrix products alone: the score of the column that stands out most, how
many columns stand out a little, the score of the best column given all others, and of the lengths of the rows
(a change of overall spread). Pairs of columns are scored as the selection scores them: `relations`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from princdiff.statistics.alone import combined_scores
from princdiff.statistics.column_batches import each_column
from princdiff.statistics.contrasts import MANY_ROWS, Contrasts
from princdiff.statistics.feature_columns import (
    RankFunctions,
    feature_columns,
    lines_of_values,
    statistics_of,
)
from princdiff.statistics.scores import gamma_scores, survival_score
from princdiff.statistics.sparse_columns import SparseContrasts

# Values of columns held at a time.
_MEAN_ELEMENTS = 16_000_000
# Excess kurtosis over rows up to which a mean is taken as normal: its own excess is no more than this.
_NEARLY_NORMAL = 0.02
# Powers of two whose squares can be added up.
_SAFE_EXPONENT = 300


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
    sparse = SparseContrasts.of(rows, contrasts.labellings)
    if sparse is not None:
        return _sparse_moment_scores(sparse, rows.shape[1], contrasts.labellings.n_groups - 1)
    if rows.shape[0] >= MANY_ROWS:
        columns = partial(each_column, rows, np.arange(rows.shape[1]))
        own = (_in_range(column) for column in columns())
        distances = (_spread(_in_range(column)) for column in columns())
        return (
            _chi_squared_of_lines(own, rows.shape[1], contrasts),
            _chi_squared_of_lines(distances, rows.shape[1], contrasts),
        )
    step = max(1, _MEAN_ELEMENTS // max(rows.shape[0], contrasts.labellings.n_labellings))
    means, spreads = [], []
    for start in range(0, rows.shape[1], step):
        block = rows[:, start : start + step]
        block = _in_range(block.toarray() if sp.issparse(block) else block)
        means.append(_chi_squared_scores(block, contrasts))
        spreads.append(_chi_squared_scores(np.abs(block - np.median(block, axis=0)), contrasts))
    return np.concatenate(means, axis=1), np.concatenate(spreads, axis=1)


def _sparse_moment_scores(
    sparse: SparseContrasts, n_features: int, freedom: int
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """The same of many sparse rows, from the values that each column has."""
    parts, plain = [], np.empty((2, n_features), dtype=bool)
    for feature in range(n_features):
        column = sparse.column(feature)
        # The first two are the values, scaled, and their distances from the median.
        table = lines_of_values(column.values, column.counts)[:, :2]
        parts.append(sparse.between(column, table))
        n_rows = column.counts.sum()
        centred = table - column.counts @ table / n_rows
        second, fourth = (column.counts @ centred**power / n_rows for power in (2, 4))
        plain[:, feature] = fourth / np.where(second > 0, second**2, np.inf) - 3 < _NEARLY_NORMAL * n_rows
    between = np.stack(parts, axis=1)
    means, spreads = (_nearly_normal_scores(between[:, :, k], plain[k], freedom) for k in range(2))
    return means, spreads


def total_scores(total: NDArray, contrasts: Contrasts) -> NDArray[np.float32]:
    """Scores of the difference in the mean of one number per row, shape (n_labellings,)."""
    return _chi_squared_scores(np.asarray(total, dtype=np.float64)[:, None], contrasts)[:, 0]


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


def _in_range(columns: NDArray) -> NDArray[np.float64]:
    """Columns whose squares neither overflow nor vanish: over a power of two where they are extreme."""
    values = np.asarray(columns, dtype=np.float64)
    exponent = np.frexp(np.maximum(values.max(axis=0), -values.min(axis=0)))[1]
    extreme = np.abs(exponent) > _SAFE_EXPONENT
    return np.ldexp(values, np.where(extreme, -exponent, 0)) if extreme.any() else values


def _spread(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.abs(values - np.median(values))


def _nearly_normal_scores(
    statistics: NDArray[np.float32], plain: NDArray[np.bool_], freedom: int
) -> NDArray[np.float32]:
    between = statistics.astype(np.float64)
    scores = gamma_scores(between)
    own = between[:, plain]
    others = (own.sum(axis=0) - own) / max(1, len(own) - 1)
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
