"""A table that is kept in a file, column by column, and looks like an array of its features.

After preparation a column of categories is a small whole number a row, however many 0/1 features it stands
for. Kept so, ten million rows of twenty columns are half a gigabyte, and one column is always small enough to
be in memory. Features are made from columns where they are needed: a few of them for all rows, or all of them
for some rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from princdiff.data.moments import Moments
from princdiff.data.products import Scaling
from princdiff.data.scratch import ScratchFile
from princdiff.data.stored_products import StoredProducts, StoredSparseProducts
from princdiff.data.stored_sparse import (
    StoredSparseColumn,
    block_bounds,
    merged_moments,
    side_by_side,
    sparse_block,
    sparse_rows,
    sparse_step,
)

# Part of a budget that an array made of stored columns may take; a larger one stays stored.
_ARRAY_SHARE = 8
# Bytes of a block of scaled features, and rows of it at most; of very many columns rows enough that each is
# read in pieces of some length, where that takes no more than this part of the budget.
_BLOCK_BYTES = 4_000_000
_MOST_BLOCK_ROWS, _FEWEST_BLOCK_ROWS = 1 << 16, 4096
_BLOCK_SHARE = 10
# Bytes that a row of one column of a batch needs at the peak of a sort and what follows it, and the part
# of the budget for it.
_BYTES_PER_PROJECTION, _BATCH_SHARE = 96, 2
# Times that a sample of sparse rows is copied where it is searched.
_SPARSE_COPIES = 3


@dataclass(frozen=True)
class StoredColumn:
    """Where the values of one column lie.

    Attributes
    ----------
    file : ScratchFile
        The file.
    place : int
        First byte.
    dtype : dtype
        Of the values as they are stored.
    n_rows : int
        Number of values.
    """

    file: ScratchFile
    place: int
    dtype: np.dtype
    n_rows: int

    @classmethod
    def of(cls, file: ScratchFile, values: NDArray) -> StoredColumn:
        """Store values at the end of a file."""
        return cls(file, file.append(values), values.dtype, len(values))

    def read(self, start: int = 0, stop: int | None = None) -> NDArray:
        """Values of some rows."""
        stop = self.n_rows if stop is None else min(stop, self.n_rows)
        out = np.empty(max(0, stop - start), self.dtype)
        return self.file.read(self.place + start * self.dtype.itemsize, out)


@dataclass(frozen=True)
class Feature:
    """A feature: the numbers of a column, or 1 where the column has some code.

    Attributes
    ----------
    column : StoredColumn or StoredSparseColumn
        The column.
    code : int or None
        The code; None: the numbers as they are.
    """

    column: StoredColumn | StoredSparseColumn
    code: int | None = None

    def of(self, values: NDArray, dtype: np.dtype) -> NDArray:
        """The feature from the values of its column."""
        return (values if self.code is None else values == self.code).astype(dtype, copy=False)


class StoredColumns:
    """Rows by features, in a file.

    Parameters
    ----------
    features : sequence of Feature
        The features; several may share a column.
    memory : int
        Budget of the process, in bytes: arrays up to a part of it are made in memory.
    dtype : {float32, float64}
        Of the numbers.
    n_rows : int
        Rows, where there are no features.

    Examples
    --------
    >>> file = ScratchFile()
    >>> size = StoredColumn.of(file, np.array([1.5, 2.5, 3.5]))
    >>> city = StoredColumn.of(file, np.array([0, 1, 0], dtype=np.int8))
    >>> rows = StoredColumns([Feature(size), Feature(city, 0), Feature(city, 1)], 10**6)
    >>> rows.shape, rows[1:]
    ((3, 3), array([[2.5, 0. , 1. ],
           [3.5, 1. , 0. ]]))
    >>> rows @ np.array([2.0, 1.0, 0.0])
    array([4., 5., 8.])
    """

    ndim = 2

    def __init__(
        self, features: Sequence[Feature], memory: int, dtype: Any = np.float64, n_rows: int = 0
    ) -> None:
        self.features, self.memory, self.dtype = tuple(features), int(memory), np.dtype(dtype)
        n_rows = self.features[0].column.n_rows if self.features else n_rows
        self.shape = (n_rows, len(self.features))

    def __len__(self) -> int:
        return self.shape[0]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray:
        raise TypeError("a stored table is worked on in parts; this step needs all of it in memory")

    # Parts of the table.

    def __getitem__(self, key: Any) -> Any:
        """Some rows, or features as ``[:, features]``: an array, or stored where that is too large."""
        if isinstance(key, tuple):
            if len(key) != 2 or not (isinstance(key[0], slice) and key[0] == slice(None)):
                raise TypeError("of a stored table rows are taken as [rows], features as [:, features]")
            return self._some_features(key[1])
        if isinstance(key, slice):
            start, stop, step = key.indices(self.shape[0])
            return self.block(start, stop) if step == 1 else self.take(np.arange(start, stop, step))
        index = np.asarray(key)
        return self.take(np.flatnonzero(index) if index.dtype == bool else index)

    def _some_features(self, which: Any) -> Any:
        if isinstance(which, int | np.integer):
            feature = self.features[int(which)]
            return feature.of(feature.column.read(), self.dtype)
        other = self.stored_features(np.arange(self.shape[1])[which])
        return other.block(0, len(self)) if self._is_small(*other.shape) else other

    def stored_features(self, chosen: Sequence[int] | NDArray[np.intp]) -> StoredColumns:
        """Some features, which stay where they are."""
        return self._with([self.features[place] for place in chosen], len(self))

    def _is_small(self, n_rows: int, n_features: int) -> bool:
        return n_rows * n_features * self.dtype.itemsize * _ARRAY_SHARE <= self.memory

    @property
    def largest_sample(self) -> int:
        """Rows of a sample that is made in memory."""
        if self.sparse:
            return int(self.memory / (_ARRAY_SHARE * _SPARSE_COPIES * self._sparse_row_bytes))
        return self.memory // (_ARRAY_SHARE * self.dtype.itemsize * max(1, self.shape[1]))

    def block(self, start: int, stop: int) -> NDArray:
        """Consecutive rows, in memory."""
        stop = min(stop, self.shape[0])
        return self._filled(stop - start, lambda column: column.read(start, stop))

    def take(self, index: NDArray[np.intp]) -> Any:
        """Some rows in any order: in memory where that fits, otherwise in a file of their own."""
        if self.sparse and len(index) <= self.largest_sample:
            columns = self._sparse_columns
            return sparse_rows(columns, index, block_bounds(columns[0].starts, self._sparse_step))
        small = not self.sparse and self._is_small(len(index), self.shape[1])
        return self.at(index) if small else self.stored_rows(index)

    def stored_rows(self, index: NDArray[np.intp]) -> StoredColumns:
        """Some rows in any order, in a file of their own."""
        file = ScratchFile()
        if self.sparse:
            step = self._sparse_step
            columns = [StoredSparseColumn.of(file, own.read()[index], step) for own in self._sparse_columns]
            return self._with([Feature(column) for column in side_by_side(columns)], len(index))
        moved = {id(column): StoredColumn.of(file, column.read()[index]) for column in self._columns()}
        features = [Feature(moved[id(feature.column)], feature.code) for feature in self.features]
        return self._with(features, len(index))

    def _with(self, features: Sequence[Feature], n_rows: int) -> StoredColumns:
        return StoredColumns(features, self.memory, self.dtype, n_rows)

    def at(self, index: NDArray[np.intp]) -> NDArray:
        """Some rows in any order, in memory."""
        return self._filled(len(index), lambda column: column.read()[index])

    @cached_property
    def sparse(self) -> bool:
        """Whether only entries are stored, and blocks and samples are sparse."""
        return bool(self.features) and all(
            feature.code is None and isinstance(feature.column, StoredSparseColumn)
            for feature in self.features
        )

    @property
    def _sparse_columns(self) -> list[Any]:
        return [feature.column for feature in self.features]

    @cached_property
    def _sparse_row_bytes(self) -> float:
        n_entries = sum(column.n_entries for column in self._sparse_columns)
        return max(1.0, n_entries * (4 + self.dtype.itemsize) / max(1, self.shape[0]))

    @property
    def _sparse_step(self) -> int:
        """Rows of a sparse block: of one piece, or as many as the memory is for."""
        return sparse_step(self.memory, self._sparse_row_bytes)

    def _columns(self) -> list[StoredColumn | StoredSparseColumn]:
        """The columns behind the features, each once."""
        return list({id(feature.column): feature.column for feature in self.features}.values())

    def _filled(self, n_rows: int, read: Any) -> NDArray:
        out = np.empty((n_rows, self.shape[1]), self.dtype)
        for column, places in self._by_column(range(self.shape[1])):
            values = read(column)
            for place in places:
                out[:, place] = self.features[place].of(values, self.dtype)
        return out

    def _by_column(
        self, places: Sequence[int]
    ) -> Iterator[tuple[StoredColumn | StoredSparseColumn, list[int]]]:
        """Columns with the places of their features."""
        found: dict[int, list[int]] = {}
        for place in places:
            found.setdefault(id(self.features[place].column), []).append(place)
        for own in found.values():
            yield self.features[own[0]].column, own

    # What a fit asks of rows.

    def moments(self, weights: NDArray[np.float64] | None = None) -> Moments:
        """Moments of sparse columns, block by block."""
        return merged_moments(self, weights)

    def blocks(self) -> Iterator[tuple[slice, Any]]:
        """Row slices and their values, which are sparse where the columns are."""
        if self.sparse:
            for rows, block in self.blocks_by_features():
                yield rows, block.tocsr()
            return
        for rows in self.row_slices():
            yield rows, self.block(rows.start, rows.stop)

    def blocks_by_features(self) -> Iterator[tuple[slice, sp.csc_matrix]]:
        """Row slices and their values, of sparse columns: whole pieces, which are quickest to read."""
        columns = self._sparse_columns
        for start, stop in pairwise(block_bounds(columns[0].starts, self._sparse_step)):
            yield slice(start, stop), sparse_block(columns, start, stop)

    def row_slices(self) -> Iterator[slice]:
        """Rows that are worked on at a time."""
        row_bytes = 8 * max(1, self.shape[1])
        fewest = min(_FEWEST_BLOCK_ROWS, self.memory // (_BLOCK_SHARE * row_bytes))
        step = int(np.clip(_BLOCK_BYTES // row_bytes, max(8, fewest), _MOST_BLOCK_ROWS)) // 8 * 8
        for start in range(0, self.shape[0], step):
            yield slice(start, min(start + step, self.shape[0]))

    def min(self, axis: int = 0) -> NDArray:
        """Smallest value of each feature."""
        return self._extremes(np.min)

    def max(self, axis: int = 0) -> NDArray:
        """Largest value of each feature."""
        return self._extremes(np.max)

    def _extremes(self, extreme: Any) -> NDArray:
        found = np.empty(self.shape[1], self.dtype)
        for column, places in self._by_column(range(self.shape[1])):
            values = column.read()
            for place in places:
                found[place] = extreme(self.features[place].of(values, self.dtype))
        return found

    def __matmul__(self, weights: NDArray) -> NDArray:
        shape = (self.shape[0], *weights.shape[1:])
        product = np.empty(shape, np.result_type(self.dtype, weights.dtype))
        for rows, block in self.blocks():
            product[rows] = block @ weights
        return product

    @property
    def columns_per_pass(self) -> int:
        """Columns of a batch that are worked on together."""
        return max(1, self.memory // (_BATCH_SHARE * _BYTES_PER_PROJECTION * max(1, self.shape[0])))

    def products(self, scaling: Scaling) -> StoredProducts:
        """Products with the scaled rows."""
        return (StoredSparseProducts if self.sparse else StoredProducts)(self, scaling)

    def scaled(self, rows: slice, scaling: Scaling, places: Iterable[int]) -> NDArray:
        """Scaled values of some features in consecutive rows, shape (len(places), n_rows)."""
        line = {int(place): number for number, place in enumerate(places)}
        out = np.empty((len(line), rows.stop - rows.start), scaling.dtype)
        for column, own in self._by_column(list(line)):
            values = column.read(rows.start, rows.stop)
            for place in own:
                feature = self.features[place]
                centre, factor = scaling.centre[place], scaling.factor[place]
                if feature.code is None:
                    out[line[place]] = (values.astype(self.dtype, copy=False) - centre) * factor
                else:
                    two = ((np.arange(2) - centre) * factor).astype(scaling.dtype)
                    _fill_flags(out[line[place]], values == feature.code, two)
        return out


def _fill_flags(out: NDArray, flags: NDArray[np.bool_], two: NDArray) -> None:
    """The second of two numbers where a flag is up, otherwise the first; as bits: quicker than `where`."""
    bits = out.view(np.uint32 if out.itemsize == 4 else np.uint64)
    off, on = two.view(bits.dtype)
    np.multiply(flags, off ^ on, out=bits)
    np.bitwise_xor(bits, off, out=bits)
