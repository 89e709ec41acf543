"""Columns one after the other and in batches, and how many values each has."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from princdiff.statistics.contrasts import MANY_ROWS, Relabellings
from princdiff.statistics.feature_columns import MOST_VALUES
from princdiff.statistics.sparse_columns import SparseColumn, are_sparse

# Rows that are looked at before all are, to see that a feature has many values.
_HEAD = 100
# Values of prepared columns held at a time (double precision, a few copies).
_BATCH_ELEMENTS = 16_000_000
# Columns of many rows that are summed up together.
_TOGETHER = 12
# Values of sums of squares held at a time, over all labellings.
_BATCH_STATISTICS = 6_000_000


def numbers_of_values(rows: Any) -> NDArray[np.intp]:
    """How many values each feature has, counted up to one more than ``MOST_VALUES``."""
    n_features = rows.shape[1]
    found = np.zeros(n_features, dtype=np.intp)
    if are_sparse(rows):
        counts = [len(SparseColumn.of(rows, feature).values) for feature in range(n_features)]
        return np.minimum(counts, MOST_VALUES + 1)
    for feature, column in enumerate(each_column(rows, np.arange(n_features))):
        few = len(np.unique(column[:_HEAD])) <= MOST_VALUES
        found[feature] = _count_of_values(column) if few else MOST_VALUES + 1
    return found


def _count_of_values(column: NDArray) -> int:
    low, high = column.min(), column.max()
    if ((column == low) | (column == high)).all():
        # Most of the columns with few values, and no need to sort them.
        return 1 + int(low < high)
    return len(np.unique(column))


def each_column(rows: Any, features: NDArray[np.intp]) -> Iterator[NDArray]:
    """Columns of dense or sparse rows one after the other, each of shape (n_rows,)."""
    step = 256 if rows.shape[0] < MANY_ROWS else 1
    for start in range(0, len(features), step):
        part = rows[:, features[start : start + step]]
        part = part.toarray() if sp.issparse(part) else np.asarray(part)
        yield from part.T


def column_of(rows: Any, feature: int) -> NDArray[np.float64]:
    """One column of dense or sparse rows in double precision, shape (n_rows,)."""
    return np.asarray(next(each_column(rows, np.array([feature]))), dtype=np.float64)


def column_batches(
    features: NDArray[np.intp], n_columns: int, labellings: Relabellings
) -> Sequence[NDArray[np.intp]]:
    """Features in batches that bound memory and depend on nothing but the shape of the problem."""
    if len(features) == 0:
        return []
    # Columns of many rows are made one by one, and may be as many as are summed up together.
    elements = max(_BATCH_ELEMENTS // labellings.n_rows, _TOGETHER if labellings.n_rows >= MANY_ROWS else 0)
    size = max(1, min(elements, _BATCH_STATISTICS // labellings.n_labellings) // n_columns)
    return np.split(features, np.arange(size, len(features), size))
