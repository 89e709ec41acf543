"""Which features have two values, and so are compared by a proportion."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from princdiff.data.row_chunks import RowChunks

# Rows that are looked at before a whole column is read to find out whether it has two values only.
_HEAD = 256


def with_flags(rows: Any, kinds: tuple[str, ...]) -> tuple[str, ...]:
    """Kinds with "flag" for numbers that take two values, whichever: 1 and 2 are as good as 0 and 1.

    Examples
    --------
    >>> with_flags(np.array([[1.0, 0.0], [2.0, 1.0], [1.0, 2.0]]), ("number", "number"))
    ('flag', 'number')
    """
    if isinstance(rows, RowChunks) or "number" not in kinds:
        return kinds
    head = rows[:_HEAD]
    head = head.toarray() if sp.issparse(head) else np.asarray(head)
    low, high = head.min(axis=0), head.max(axis=0)
    likely = np.flatnonzero(((head == low) | (head == high)).all(axis=0) & (np.array(kinds) == "number"))
    if not len(likely):
        return kinds
    found = list(kinds)
    by_column = rows.tocsc() if sp.issparse(rows) else rows
    for j in likely.tolist():
        if _has_two_values(by_column, j):
            found[j] = "flag"
    return tuple(found)


def _has_two_values(rows: Any, feature: int) -> bool:
    if not sp.issparse(rows):
        column = rows[:, feature]
        low, high = column.min(), column.max()
        return bool(low < high and ((column == low) | (column == high)).all())
    stored = rows[:, [feature]].data
    values = set(np.unique(stored).tolist())
    return len(values if len(stored) == rows.shape[0] else values | {0.0}) == 2
