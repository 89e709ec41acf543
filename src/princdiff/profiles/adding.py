"""Adding rows to the sums of their chunks, wherever the columns of the rows come from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from princdiff.kernels.binned_columns import ColumnTotals, add_binned
from princdiff.profiles.group_sums import GroupSums
from princdiff.profiles.ruler import Ruler

# Rows counted at a time: a few thousand for each chunk, so that their products cost what they must.
ROWS_AT_A_TIME = 262_144
# Products of so many rows are exact in single precision: scores are whole numbers up to a hundred.
_EXACT_ROWS = 1536


class CountedRows(Protocol):
    """Some rows, column by column: of an Arrow table, or of rows that were read and encoded.

    Attributes
    ----------
    ruler : Ruler
        The columns.
    label : str
        What messages call the rows.
    """

    ruler: Ruler
    label: str

    def values(self, number: int) -> NDArray:
        """A column's numbers, NaN where missing, or the places of its levels; shape (n_rows,)."""
        ...


def add_rows(found: CountedRows, unit: NDArray[np.int32], groups: Sequence[GroupSums]) -> None:
    """Add rows to the sums of groups.

    Parameters
    ----------
    found : CountedRows
        The rows.
    unit : int32 array of shape (n_rows,)
        The chunk of each, counted through the groups.
    groups : list of GroupSums
        Changed in place.
    """
    starts = np.cumsum([0, *(group.n_chunks for group in groups)])
    n_units = int(starts[-1])
    rows = np.bincount(unit, minlength=n_units)
    # The rows of a unit side by side, for their products.
    order = np.argsort(unit.astype(np.uint16) if n_units < 2**16 else unit, kind="stable")
    place = np.empty(len(unit), dtype=np.int64)
    place[order] = np.arange(len(unit))
    worth = _Worth(found.ruler, len(unit))
    for number, column in enumerate(found.ruler.columns):
        counts = np.zeros((n_units, column.n_bins), dtype=np.int64)
        sums = np.zeros((n_units, 2))
        values = found.values(number)
        if column.is_number:
            totals = ColumnTotals(counts, sums, worth.line(number, 0))
            if not add_binned(values, column.bins, unit, place, totals):
                raise ValueError(f"column {column.name!r} has infinite values in {found.label}: remove them")
            if not np.isfinite(sums).all():
                raise ValueError(
                    f"column {column.name!r} has values too large to be squared in {found.label}"
                )
        else:
            cell = unit * np.int64(column.n_bins) + values
            counts += np.bincount(cell, minlength=counts.size).reshape(counts.shape)
            worth.set_levels(number, values[order])
        for group, start, end in zip(groups, starts, starts[1:], strict=False):
            group.counts[number] += counts[start:end]
            group.sums[number] += sums[start:end]
    ends = np.concatenate([[0], np.cumsum(rows)])
    for group, start, end in zip(groups, starts, starts[1:], strict=False):
        group.rows += rows[start:end]
        for chunk in range(end - start):
            group.products[chunk] += worth.products(ends[start + chunk], ends[start + chunk + 1])


class _Worth:
    """What rows are worth in products: a line for each feature that is looked at in pairs."""

    def __init__(self, ruler: Ruler, n_rows: int) -> None:
        self._lines = np.zeros((len(ruler.in_pairs), n_rows), dtype=np.float32)
        self._unused = np.empty(n_rows, dtype=np.float32)
        self._at: dict[tuple[int, int], int] = {}
        line_of = {feature: line for line, feature in enumerate(ruler.in_pairs.tolist())}
        self._levels: dict[int, NDArray[np.int64]] = {}
        feature = 0
        for number, column in enumerate(ruler.columns):
            lines = np.full(column.n_bins, -1, dtype=np.int64)
            for own, bins in enumerate(column.feature_bins):
                if feature in line_of:
                    self._at[number, own] = line_of[feature]
                    lines[bins] = line_of[feature]
                feature += 1
            self._levels[number] = lines

    def line(self, column: int, feature: int) -> NDArray[np.float32]:
        """Where a feature of a column is written."""
        at = self._at.get((column, feature))
        return self._unused if at is None else self._lines[at]

    def set_levels(self, column: int, code: NDArray[np.int64]) -> None:
        """Mark the level of each row, in the order of their places: written one after the other."""
        line = self._levels[column][code]
        known = np.flatnonzero(line >= 0)
        self._lines[line[known], known] = 1.0

    def products(self, start: int, end: int) -> NDArray[np.int64]:
        """Of every two lines, summed over some rows; exact, since all are whole numbers."""
        total = np.zeros((len(self._lines), len(self._lines)), dtype=np.int64)
        for first in range(start, end, _EXACT_ROWS):
            some = self._lines[:, first : min(first + _EXACT_ROWS, end)]
            total += (some @ some.T).astype(np.int64)
        return total
