"""Columns in a file of which only the entries are stored, for tables that are mostly zero.

An entry takes six or ten bytes: the number of its row within a piece of the column, and its value. The
columns of a table lie side by side in each piece, so that a piece of all of them is read at once, as a sparse
block; one column is read as its entries or as an array.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from princdiff.data.moments import Moments, moments
from princdiff.data.scratch import ScratchFile

# Rows of a piece at most, since their numbers take two bytes each, and the part of a budget that it may take.
PIECE = 1 << 16
_BLOCK_SHARE = 32
# Entries that are read in one go with those of some columns, of theirs, before these are read one by one.
_MOST_READ = 20


@dataclass(frozen=True)
class StoredSparseColumn:
    """Where the entries of one column lie.

    Attributes
    ----------
    file : ScratchFile
        The file.
    starts : int array of shape (n_pieces + 1,)
        First row of each piece, and the number of rows.
    places, value_places, counts : int arrays of shape (n_pieces,)
        First bytes of the rows and of the values of each piece, and the number of its entries.
    dtype : dtype
        Of the values.

    Examples
    --------
    >>> column = StoredSparseColumn.of(ScratchFile(), np.array([0.0, 1.5, 0.0, 2.5]))
    >>> column.read(1), column.entries()
    (array([1.5, 0. , 2.5]), (array([1, 3], dtype=int32), array([1.5, 2.5])))
    """

    file: ScratchFile
    starts: NDArray[np.int64]
    places: NDArray[np.int64]
    value_places: NDArray[np.int64]
    counts: NDArray[np.int64]
    dtype: np.dtype

    @classmethod
    def of(cls, file: ScratchFile, values: NDArray, piece_rows: int = PIECE) -> StoredSparseColumn:
        """Store what is not zero at the end of a file, in pieces as long as what is read at a time."""
        step = min(piece_rows, PIECE)
        pieces = [values[start : start + step] for start in range(0, len(values), step)]
        rows = [np.flatnonzero(piece) for piece in pieces]
        places = np.array(
            [
                stored_piece(file, own, piece[own], values.dtype)
                for own, piece in zip(rows, pieces, strict=True)
            ],
            np.int64,
        ).reshape(-1, 2)
        starts = np.append(np.arange(0, len(values), step), len(values))
        counts = np.array([*map(len, rows)], np.int64)
        return cls(file, starts, places[:, 0], places[:, 1], counts, values.dtype)

    @property
    def n_rows(self) -> int:
        """Number of values."""
        return int(self.starts[-1])

    @property
    def n_entries(self) -> int:
        """Number of values that are stored."""
        return int(self.counts.sum())

    def entries(self, start: int = 0, stop: int | None = None) -> tuple[NDArray[np.int32], NDArray]:
        """Rows with an entry, counted from ``start``, and their values."""
        stop = self.n_rows if stop is None else min(stop, self.n_rows)
        first, last = (
            int(np.searchsorted(self.starts, start, "right")) - 1,
            np.searchsorted(self.starts, stop),
        )
        rows, values = [np.empty(0, np.int32)], [np.empty(0, self.dtype)]
        for piece in range(first, int(last)):
            count = int(self.counts[piece])
            if not count:
                continue
            own, some = _entries(
                self.file, int(self.places[piece]), int(self.value_places[piece]), count, self.dtype
            )
            own += np.int32(self.starts[piece] - start)
            if self.starts[piece] < start or self.starts[piece + 1] > stop:
                inside = slice(*np.searchsorted(own, [0, stop - start]))
                own, some = own[inside], some[inside]
            rows.append(own)
            values.append(some)
        return np.concatenate(rows), np.concatenate(values)

    def read(self, start: int = 0, stop: int | None = None) -> NDArray:
        """Values of some rows, zeros among them."""
        stop = self.n_rows if stop is None else min(stop, self.n_rows)
        out = np.zeros(max(0, stop - start), self.dtype)
        rows, values = self.entries(start, stop)
        out[rows] = values
        return out


def stored_piece(file: ScratchFile, rows: NDArray, values: NDArray, dtype: np.dtype) -> tuple[int, int]:
    """Write the entries of a piece at the end of a file; return the places of rows and of values."""
    return file.append(rows.astype(np.uint16)), file.append(np.ascontiguousarray(values, dtype))


def _entries(
    file: ScratchFile, place: int, value_place: int, count: int, dtype: np.dtype
) -> tuple[NDArray[np.int32], NDArray]:
    rows = file.read(place, np.empty(count, np.uint16)).astype(np.int32)
    return rows, file.read(value_place, np.empty(count, dtype))


def sparse_step(memory: int, row_bytes: float) -> int:
    """Rows of a sparse block: of one piece, or as many as the memory is for.

    Examples
    --------
    >>> sparse_step(2 * 10**9, 1000), sparse_step(2 * 10**9, 10)
    (62500, 65536)
    """
    return int(np.clip(memory / (_BLOCK_SHARE * max(1.0, row_bytes)), 1, PIECE))


def stored_columns_of(
    blocks: Any, n_rows: int, n_columns: int, dtype: np.dtype, piece_rows: int = PIECE
) -> list[StoredSparseColumn]:
    """Columns of sparse rows that come in blocks, in one pass.

    Parameters
    ----------
    blocks : iterable of (slice, CSR matrix)
        Rows in their order.
    n_rows, n_columns : int
        Shape of the table.
    dtype : dtype
        Of the values.
    piece_rows : int
        Rows that will be read at a time.
    """
    file = ScratchFile()
    most = min(piece_rows, PIECE)
    starts: list[int] = []
    places: list[NDArray[np.int64]] = []
    value_places: list[NDArray[np.int64]] = []
    counts: list[NDArray[np.int64]] = []
    for rows, block in blocks:
        # pieces of about the same size, rather than a last one of a few rows
        n_pieces = max(1, round(block.shape[0] / most), -(-block.shape[0] // PIECE))
        step = max(1, -(-block.shape[0] // n_pieces))
        for start in range(0, block.shape[0], step):
            piece = (block if step >= block.shape[0] else block[start : start + step]).tocsc()
            piece.sum_duplicates()
            begin = piece.indptr[:-1].astype(np.int64)
            place, value_place = stored_piece(file, piece.indices, piece.data, dtype)
            starts.append(rows.start + start)
            counts.append(np.diff(piece.indptr).astype(np.int64))
            places.append(place + 2 * begin)
            value_places.append(value_place + dtype.itemsize * begin)
    bounds = np.array([*starts, n_rows])
    found = np.array([places, value_places, counts], np.int64).reshape(3, len(starts), n_columns)
    by_column = found.transpose(2, 0, 1).copy()
    return [StoredSparseColumn(file, bounds, own[0], own[1], own[2], dtype) for own in by_column]


def side_by_side(columns: Sequence[StoredSparseColumn]) -> list[StoredSparseColumn]:
    """Columns that were stored one after the other, in a new file in which their pieces lie side by side."""
    first = columns[0]
    blocks = (
        (slice(start, stop), sparse_block(columns, start, stop))
        for start, stop in pairwise(first.starts.tolist())
    )
    return stored_columns_of(blocks, first.n_rows, len(columns), first.dtype)


def sparse_block(columns: Sequence[StoredSparseColumn], start: int, stop: int) -> sp.csc_matrix:
    """Consecutive rows of some columns as a sparse matrix, sorted by columns."""
    rows, values, counts = _whole_piece(columns, start, stop) or _column_by_column(columns, start, stop)
    ends = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    return sp.csc_matrix((values, rows, ends), shape=(stop - start, len(columns)))


def _column_by_column(
    columns: Sequence[StoredSparseColumn], start: int, stop: int
) -> tuple[NDArray[np.int32], NDArray, list[int]]:
    rows, values = zip(*(column.entries(start, stop) for column in columns), strict=True)
    return np.concatenate(rows), np.concatenate(values), [*map(len, rows)]


def _whole_piece(
    columns: Sequence[StoredSparseColumn], start: int, stop: int
) -> tuple[NDArray[np.int32], NDArray, NDArray[np.int64]] | None:
    """Entries of columns that lie near each other, in a piece that is asked for as a whole; else None."""
    first = columns[0]
    piece = int(np.searchsorted(first.starts, start))
    if piece >= len(first.counts) or (first.starts[piece], first.starts[piece + 1]) != (start, stop):
        return None
    for column in columns:
        if column.file is not first.file or not _same_pieces(column, first):
            return None
    places, value_places, counts = (
        np.array([getattr(column, name)[piece] for column in columns])
        for name in ("places", "value_places", "counts")
    )
    offsets = (places - places[0]) // 2
    wanted, read = int(counts.sum()), int(offsets[-1] + counts[-1])
    # In the order of the file, rows like values, and not much between them that is not wanted.
    in_order = bool((np.diff(offsets) >= counts[:-1]).all()) and read <= _MOST_READ * wanted
    if not in_order or (value_places != value_places[0] + first.dtype.itemsize * offsets).any():
        return None
    rows, values = _entries(first.file, int(places[0]), int(value_places[0]), read, first.dtype)
    if read > wanted:
        apart = np.flatnonzero(offsets[1:] > offsets[:-1] + counts[:-1])
        begins = offsets[np.append(0, apart + 1)].tolist()
        ends = (offsets + counts)[np.append(apart, len(counts) - 1)].tolist()
        runs = [slice(begin, end) for begin, end in zip(begins, ends, strict=True)]
        rows, values = (np.concatenate([found[run] for run in runs]) for found in (rows, values))
    return rows, values, counts


def _same_pieces(first: StoredSparseColumn, second: StoredSparseColumn) -> bool:
    return first.starts is second.starts or np.array_equal(first.starts, second.starts)


def block_bounds(starts: NDArray[np.int64], step: int) -> list[int]:
    """First rows of the blocks that a table is read in, and the number of rows: its pieces, or parts of them.

    Pieces are the quickest to read, so those of up to twice as many rows as intended stay whole.

    Examples
    --------
    >>> block_bounds(np.array([0, 15, 20, 60]), 10)
    [0, 15, 20, 30, 40, 50, 60]
    """
    bounds = [0]
    for start, stop in pairwise(starts.tolist()):
        length = stop - start if stop - start <= 2 * step else step
        bounds += [min(end, stop) for end in range(start + length, stop + length, max(1, length))]
    return bounds


def sparse_rows(
    columns: Sequence[StoredSparseColumn], index: NDArray[np.intp], bounds: Sequence[int]
) -> sp.csr_matrix:
    """Some rows in any order as a sparse matrix; blocks of rows with these bounds are looked at in turn."""
    distinct, place = np.unique(index, return_inverse=True)
    parts = []
    for start, stop in pairwise(bounds):
        own = distinct[slice(*np.searchsorted(distinct, [start, stop]))]
        if len(own):
            block = sparse_block(columns, start, stop)
            parts.append(block.tocsr()[own - start])
    taken = sp.csr_matrix(sp.vstack(parts, format="csr")) if parts else sp.csr_matrix((0, len(columns)))
    ordered = len(distinct) == len(index) and bool((distinct == index).all())
    return taken if ordered else sp.csr_matrix(taken[place.reshape(-1)])


def merged_moments(rows: Any, weights: NDArray[np.float64] | None) -> Moments:
    """Moments of rows that come in sparse blocks."""
    total: Moments | None = None
    for place, block in rows.blocks():
        own = None if weights is None else weights[place]
        if own is None or own.any():
            part = moments(block, own)
            total = part if total is None else total.merged(part)
    assert total is not None
    return total
