"""What single columns and lengths of rows show, summed up in one number per labelling.

Every labelling of a test gets, from matrix products alone: the score of the column that stands out most, how
many columns stand out a little, the score of the best column given all others, and of the lengths of the rows
(a change of overall spread). Pairs of columns are scored as the selection scores them: `relations`.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from princdiff.statistics.alone import combined_scores
from princdiff.statistics.column_batches import are_sparse, column_batches, each_column
from princdiff.statistics.contrasts import Contrasts
from princdiff.statistics.feature_columns import RankFunctions, feature_columns, statistics_of
from princdiff.statistics.feature_scores import line_scores, moments_of_entries
from princdiff.statistics.value_tables import Entries

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
    n_features, parts = rows.shape[1], []
    if contrasts.labellings.free and (are_sparse(rows) or not contrasts.one_by_one):
        for batch in column_batches(np.arange(n_features), 2, contrasts.labellings):
            parts.append(moments_of_entries(Entries.of(rows[:, batch]), contrasts))
        found = np.concatenate(parts, axis=1)
        return found[:, :, 0], found[:, :, 1]
    columns = partial(each_column, rows, np.arange(n_features))
    own = (_in_range(column) for column in columns())
    distances = (_spread(_in_range(column)) for column in columns())
    return line_scores(own, n_features, contrasts), line_scores(distances, n_features, contrasts)


def total_scores(total: NDArray, contrasts: Contrasts) -> NDArray[np.float32]:
    """Scores of the difference in the mean of one number per row, shape (n_labellings,)."""
    return line_scores([np.asarray(total, dtype=np.float64)], 1, contrasts)[:, 0]


def _in_range(columns: NDArray) -> NDArray[np.float64]:
    """A column whose squares neither overflow nor vanish: over a power of two where it is extreme."""
    values = np.asarray(columns, dtype=np.float64)
    exponent = np.frexp(max(values.max(), -values.min()))[1]
    return np.ldexp(values, -exponent) if abs(exponent) > _SAFE_EXPONENT else values


def _spread(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.abs(values - np.median(values))


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
