"""Columns one after the other and in batches, and how many values each has."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from princdiff.statistics.contrasts import MANY_ROWS, Relabellings
from princdiff.statistics.feature_columns import MOST_VALUES

# Rows from which columns of sparse rows stay sparse.
SPARSE_ROWS = 1000
# Rows that are looked at before all are, to see that a feature has many values.
_HEAD = 100
# Values of prepared columns held at a time (double precision, a few copies).
_BATCH_ELEMENTS = 16_000_000
# Columns of many rows that are summed up together.
_TOGETHER = 12
# Values of sums of squares held at a time, over all labellings.
_BATCH_STATISTICS = 6_000_000


def are_sparse(rows: Any) -> bool:
    """Whether columns of these rows stay sparse."""
    return sp.issparse(rows) and rows.shape[0] >= SPARSE_ROWS


def numbers_of_values(rows: Any, features: NDArray[np.intp]) -> NDArray[np.intp]:
    """How many values some features have, counted up to one more than ``MOST_VALUES``."""
    found = np.zeros(len(features), dtype=np.intp)
    for place, column in enumerate(each_column(rows, features)):
        few = len(np.unique(column[:_HEAD])) <= MOST_VALUES
        found[place] = _count_of_values(column) if few else MOST_VALUES + 1
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
