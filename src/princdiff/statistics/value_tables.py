"""Distinct values of many columns at once, what is looked at in a column as functions of them, and its sums.

What is looked at in a feature (`feature_columns`) depends on a row through its value only. So functions are
tabulated over the distinct values, column after column in one long table, and rows look them up; the zeros of
sparse columns are one value with many rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from princdiff.statistics.feature_columns import ATOM_SHARE, MOST_VALUES, rank_functions
from princdiff.statistics.laws import bins_of

_first_places = lru_cache(maxsize=4096)(bins_of)


@dataclass(frozen=True, eq=False)
class ValueTables:
    """Distinct values of columns, ascending, and how many rows have each, one column after the other.

    Attributes
    ----------
    values, counts : arrays of shape (n_values,)
        Values of all columns.
    starts : int array of shape (n_columns,)
        First value of each column.
    """

    values: NDArray[np.float64]
    counts: NDArray[np.intp]
    starts: NDArray[np.intp]

    @classmethod
    def of(cls, columns: Iterable[NDArray]) -> ValueTables:
        """Of columns that come one after the other."""
        found = [np.unique(column, return_counts=True) for column in columns]
        first = np.zeros(1, dtype=np.intp)
        return cls.side_by_side([cls(values.astype(np.float64), counts, first) for values, counts in found])

    @classmethod
    def side_by_side(cls, tables: Sequence[ValueTables]) -> ValueTables:
        """Tables of columns, as one."""
        sizes = np.concatenate([table.sizes for table in tables])
        values, counts = (
            np.concatenate([one.values for one in tables]),
            np.concatenate([one.counts for one in tables]),
        )
        return cls(values, counts, np.cumsum(sizes) - sizes)

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return len(self.starts)

    @property
    def sizes(self) -> NDArray[np.intp]:
        """Number of values of each column."""
        return np.diff(np.append(self.starts, len(self.values)))

    @property
    def owner(self) -> NDArray[np.intp]:
        """Column of each value."""
        return np.repeat(np.arange(self.n_columns), self.sizes)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.counts[: self.sizes[0]].sum())

    def added(self, terms: NDArray) -> NDArray[np.float64]:
        """Sums over the values of each column."""
        return np.add.reduceat(terms, self.starts, axis=0)

    def joined(self) -> ValueTables:
        """The same with values that are close to each other joined, where a column has many."""
        sizes = self.sizes
        places = [_first_places(size) for size in sizes.tolist()]
        lengths = np.array([len(own) for own in places])
        if (lengths == sizes).all():
            return self
        begins = np.concatenate(places) + np.repeat(self.starts, lengths)
        counts = np.add.reduceat(self.counts, begins)
        # Shares of what is joined: sums of very large numbers would overflow.
        widths = np.diff(np.append(begins, len(self.values)))
        values = np.add.reduceat(self.counts / np.repeat(counts, widths) * self.values, begins)
        return ValueTables(values, counts, np.cumsum(lengths) - lengths)

    def frequent(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Place of the most frequent value of each column, and its count; 0 where few rows have it."""
        most = np.maximum.reduceat(self.counts, self.starts)
        first = np.where(self.counts == most[self.owner], np.arange(len(self.counts)), len(self.counts))
        enough = most >= max(2, ATOM_SHARE * self.n_rows)
        return np.minimum.reduceat(first, self.starts), np.where(enough, most, 0)

    def middle(self) -> NDArray[np.intp]:
        """Places of the values of the two rows in the middle of each column, shape (2, n_columns)."""
        first = np.arange(self.n_columns) * self.n_rows
        halves = np.array([[(self.n_rows - 1) // 2], [self.n_rows // 2]])
        return np.searchsorted(np.cumsum(self.counts), first + halves, side="right")

    def one_sided(self) -> NDArray[np.bool_]:
        """Whether the median of each column is its first or its last value."""
        middle, last = self.middle(), self.starts + self.sizes - 1
        return (middle[1] == self.starts) | (middle[0] == last)

    def flags(self) -> NDArray[np.float64]:
        """1 for the larger of two values, shape (n_values, 1)."""
        return (np.arange(len(self.values)) > self.starts[self.owner]).astype(np.float64)[:, None]

    def moments(self) -> NDArray[np.float64]:
        """Values over the largest of their column, and distances from the median, shape (n_values, 2)."""
        largest = np.maximum.reduceat(np.abs(self.values), self.starts)
        scaled = self.values / np.maximum(largest, 1e-300)[self.owner]
        median = scaled[self.middle()].mean(axis=0)
        return np.column_stack([scaled, np.abs(scaled - median[self.owner])])

    def lines(self, few: bool) -> NDArray[np.float64]:
        """What is looked at in columns, shape (n_values, n_functions)."""
        return np.column_stack(list(self.each_line(few)))

    def each_line(self, few: bool, mass: NDArray | None = None) -> Iterator[NDArray[np.float64]]:
        """What is looked at in columns as functions of their values, each of shape (n_values,).

        Parameters
        ----------
        few : bool
            Whether columns have at most ``MOST_VALUES`` values; then each of these is looked at as well.
        mass : array of shape (n_values,), optional
            Weight of the rows that have each value, of a single column; default: their number.
        """
        yield from self.moments().T
        place, count = self.frequent()
        frequent = np.zeros(len(self.values))
        frequent[place[count > 0]] = 1.0
        yield frequent
        if mass is None:
            ends = (np.cumsum(self.counts) - self.owner * self.n_rows) / self.n_rows
        else:
            ends = np.cumsum(mass)
            ends /= ends[-1]
        yield from rank_functions(ends, self.starts)
        if few:
            yield from np.eye(MOST_VALUES)[np.arange(len(self.values)) - self.starts[self.owner]].T

    def centred(self, functions: NDArray[np.float64]) -> NDArray[np.float64]:
        """Functions less their mean over the rows, shape (n_values, n_functions)."""
        means = self.added(self.counts[:, None] * functions) / self.n_rows
        return np.asarray(functions - means[self.owner])

    def padded(self, terms: NDArray) -> NDArray[np.float64]:
        """What belongs to values, column beside column: shape (most_values, n_columns, ...)."""
        place = np.arange(len(self.values)) - self.starts[self.owner]
        found = np.zeros((int(self.sizes.max()), self.n_columns, *terms.shape[1:]))
        found[place, self.owner] = terms
        return found

    def standardised(self, lines: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Functions with mean zero and unit spread over the rows, and what they were multiplied by.

        Of shapes (n_values, n_functions) and (n_columns, n_functions).
        """
        owner, counts = self.owner, self.counts[:, None]
        largest = np.maximum.reduceat(np.abs(lines), self.starts)
        centred = self.centred(lines)
        spread = np.sqrt(self.added(counts * centred**2) / (self.n_rows - 1))
        scales = 1 / np.where(spread > 1e-7 * largest, spread, np.inf)
        return centred * scales[owner], scales


def feature_lines(
    values: NDArray, weights: NDArray[np.float64] | None = None, few: bool = False
) -> Iterator[NDArray[np.float64]]:
    """What is looked at in one feature, one column after the other.

    Parameters
    ----------
    values : array of shape (n_rows,)
        The feature.
    weights : array of shape (n_rows,), optional
        Row weights.
    few : bool
        Whether the feature has at most ``MOST_VALUES`` values; then each has a column of its own.

    Yields
    ------
    array of shape (n_rows,)
        ``N_COLUMNS`` of them, or ``N_COLUMNS + MOST_VALUES``; those that are not needed are zero.
    """
    distinct, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    table = ValueTables(distinct.astype(np.float64), counts, np.zeros(1, dtype=np.intp))
    mass = None if weights is None else np.bincount(place, weights)
    for line in table.each_line(few, mass):
        yield line[place]


@dataclass(frozen=True, eq=False)
class Entries:
    """Columns as entries of their tables.

    Attributes
    ----------
    tables : ValueTables
        Distinct values.
    place : int array of shape (n_entries,)
        Place of the value of each entry.
    rows, columns : int arrays of shape (n_entries,)
        Where it is.
    base : int array of shape (n_columns,)
        Place of the value of all rows without an entry; -1 where there are none.
    """

    tables: ValueTables
    place: NDArray[np.intp]
    rows: NDArray[np.intp]
    columns: NDArray[np.intp]
    base: NDArray[np.intp]

    @classmethod
    def of(cls, columns: Any) -> Entries:
        """Of some columns, dense or sparse, shape (n_rows, n_columns).

        Examples
        --------
        >>> entries = Entries.of(np.array([[3.0], [1.0], [3.0]]))
        >>> entries.tables.values, entries.tables.counts, entries.place
        (array([1., 3.]), array([1, 2]), array([1, 0, 1]))
        """
        n_rows, n_columns = columns.shape
        if sp.issparse(columns):
            stored = columns.tocsc()
            values, rows = stored.data, stored.indices
            owner = np.repeat(np.arange(n_columns), np.diff(stored.indptr))
        else:
            values, rows = np.asarray(columns).T.ravel(), np.tile(np.arange(n_rows), n_columns)
            owner = np.repeat(np.arange(n_columns), n_rows)
        missing = n_rows - np.bincount(owner, minlength=n_columns)
        empty = np.flatnonzero(missing)
        owners = np.concatenate([owner, empty])
        every = np.concatenate([values, np.zeros(len(empty), dtype=values.dtype)])
        often = np.concatenate([np.ones(len(values), dtype=np.intp), missing[empty]])
        order = np.lexsort((every, owners))
        sorted_values, sorted_owners = every[order], owners[order]
        news = np.append(True, (np.diff(sorted_owners) != 0) | (sorted_values[1:] != sorted_values[:-1]))
        begins = np.flatnonzero(news)
        place = np.empty(len(order), dtype=np.intp)
        place[order] = np.cumsum(news) - 1
        base = np.full(n_columns, -1)
        base[empty] = place[len(values) :]
        tables = ValueTables(
            sorted_values[begins].astype(np.float64),
            np.add.reduceat(often[order], begins),
            np.searchsorted(sorted_owners[begins], np.arange(n_columns)),
        )
        return cls(tables, place[: len(values)], rows, owner, base)

    def take(self, columns: NDArray[np.intp]) -> Entries:
        """Some of the columns, in ascending order."""
        number = np.full(self.tables.n_columns, -1)
        number[columns] = np.arange(len(columns))
        kept = number[self.tables.owner] >= 0
        moved = np.cumsum(kept) - 1
        sizes = self.tables.sizes[columns]
        tables = ValueTables(self.tables.values[kept], self.tables.counts[kept], np.cumsum(sizes) - sizes)
        own = number[self.columns] >= 0
        base = self.base[columns]
        return Entries(
            tables,
            moved[self.place[own]],
            self.rows[own],
            number[self.columns[own]],
            np.where(base >= 0, moved[base], -1),
        )

    def spread_out(self, table: NDArray[np.float64]) -> NDArray[np.float32]:
        """What is tabulated over the values, for every row: (n_rows, n_columns, n_functions)."""
        table = table.astype(np.float32)
        found = np.empty((self.tables.n_rows, self.tables.n_columns, table.shape[1]), dtype=np.float32)
        found[:] = table[self.base]
        found[self.rows, self.columns] = table[self.place]
        return found
