"""Columns of many sparse rows, without making their zeros numbers.

What is looked at in a feature (`feature_columns`) depends on a row through its value only, and most rows have
the same one. So every function is tabulated over the distinct values, and a sum over the rows of a group is
one over the entries that are stored, and what the zeros add.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from princdiff.deadline import give_up_if_late
from princdiff.statistics.contrasts import Relabellings
from princdiff.statistics.feature_columns import MOST_VALUES, lines_of_values

# Rows from which columns of sparse rows stay sparse.
SPARSE_ROWS = 1000
# Entries whose sums are made in single precision; those of all are in double.
_TOGETHER = 4096


def are_sparse(rows: Any) -> bool:
    """Whether columns of these rows stay sparse."""
    return sp.issparse(rows) and rows.shape[0] >= SPARSE_ROWS


@dataclass(frozen=True)
class SparseColumn:
    """Distinct values of a column, and which of them every stored entry has.

    Attributes
    ----------
    rows : int array of shape (n_entries,)
        Rows of the entries.
    place : int array of shape (n_entries,)
        Their value's place among ``values``.
    values, counts : arrays of shape (n_values,)
        Distinct values, zero among them where an entry is missing, and how many rows have each.
    zero : int
        Place of what rows without an entry have.
    """

    rows: NDArray[np.int32]
    place: NDArray[np.intp]
    values: NDArray[np.float64]
    counts: NDArray[np.intp]
    zero: int

    @classmethod
    def of(cls, columns: sp.csc_matrix, feature: int) -> SparseColumn:
        """One column of a matrix.

        Examples
        --------
        >>> column = SparseColumn.of(sp.csc_matrix(np.array([[0.0], [3.0], [0.0], [-1.0], [3.0]])), 0)
        >>> column.values, column.counts, column.place
        (array([-1.,  0.,  3.]), array([1, 2, 2]), array([2, 0, 2]))
        """
        stored = slice(columns.indptr[feature], columns.indptr[feature + 1])
        rows, entries = columns.indices[stored], columns.data[stored]
        values, place, counts = np.unique(np.append(entries, 0), return_inverse=True, return_counts=True)
        zero = int(place[-1])
        counts[zero] += columns.shape[0] - len(rows) - 1
        if counts[zero] == 0:
            # No row is zero: the entry that was added stands for nothing.
            values, counts = np.delete(values, zero), np.delete(counts, zero)
            place, zero = place - (place > zero), 0
        return cls(rows, place[:-1], values.astype(np.float64), counts, zero)


class SparseContrasts:
    """Between-group sums of squares of functions of sparse columns, for all labellings of two groups.

    Parameters
    ----------
    columns : CSC matrix of shape (n_rows, n_features)
        Numbers.
    labellings : Relabellings
        Labellings that `of` accepts.
    """

    def __init__(self, columns: sp.csc_matrix, labellings: Relabellings) -> None:
        self._columns, self._n_labellings = columns, labellings.n_labellings
        bits: Any = labellings.scheme.bits
        # Labellings of a row side by side: a column needs those of few rows.
        parts = []
        for rows, members in bits.parts(self._n_labellings):
            codes = np.unpackbits(members, axis=1, count=rows.stop - rows.start)
            parts.append(np.ascontiguousarray(np.packbits(codes, axis=0).T))
        self._by_row = np.concatenate(parts)
        self._inside = np.zeros(self._n_labellings)
        for part in parts:
            self._inside += np.unpackbits(part, axis=1, count=self._n_labellings).sum(axis=0)

    @classmethod
    def of(cls, rows: Any, labellings: Relabellings) -> SparseContrasts | None:
        """Of many sparse rows; None where rows are others, or more than their group travels with them."""
        if not are_sparse(rows) or labellings.n_groups != 2:
            return None
        if not labellings.free or labellings.scheme.bits is None:
            return None
        return cls(sp.csc_matrix(rows), labellings)

    def column(self, feature: int) -> SparseColumn:
        """Values of one column."""
        give_up_if_late()
        return SparseColumn.of(self._columns, feature)

    def features(self, batch: NDArray[np.intp], few: bool) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
        """Sums of squares of the columns of `feature_columns`, and shares of the values of features with few.

        Returns
        -------
        between : array of shape (n_labellings, len(batch), N_COLUMNS or N_COLUMNS + MOST_VALUES)
        shares : array of shape (len(batch), MOST_VALUES)
        """
        between, shares = [], np.zeros((len(batch), MOST_VALUES))
        for line, feature in enumerate(batch):
            column = self.column(int(feature))
            between.append(self.between(column, lines_of_values(column.values, column.counts, few)))
            if few:
                shares[line, : len(column.counts)] = column.counts / column.counts.sum()
        return np.stack(between, axis=1), shares

    def flags(self, batch: NDArray[np.intp]) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
        """Sums of squares of features with two values, and their share of rows with the larger one."""
        columns = [self.column(int(feature)) for feature in batch]
        between = [self.between(column, column.values[:, None])[:, 0] for column in columns]
        return np.stack(between, axis=1), np.array(
            [1 - column.counts[0] / column.counts.sum() for column in columns]
        )

    def between(self, column: SparseColumn, table: NDArray[np.float64]) -> NDArray[np.float32]:
        """Sums of squares of functions that are tabulated over the values of a column.

        Parameters
        ----------
        column : SparseColumn
            The column.
        table : array of shape (n_values, n_functions)
            Functions of its values.

        Returns
        -------
        array of shape (n_labellings, n_functions)
        """
        n_rows = column.counts.sum()
        largest = np.abs(table).max(axis=0)
        centred = table - column.counts @ table / n_rows
        spread = np.sqrt(column.counts @ centred**2 / (n_rows - 1))
        centred *= 1 / np.where(spread > 1e-7 * largest, spread, np.inf)
        base = centred[column.zero]
        beyond = (centred - base).astype(np.float32)[column.place]
        sums = self._inside[:, None] * base
        for start in range(0, len(column.rows), _TOGETHER):
            some = slice(start, start + _TOGETHER)
            labels = np.unpackbits(self._by_row[column.rows[some]], axis=1, count=self._n_labellings)
            sums += labels.astype(np.float32).T @ beyond[some]
        return (sums**2 * (1 / self._inside + 1 / (n_rows - self._inside))[:, None]).astype(np.float32)
