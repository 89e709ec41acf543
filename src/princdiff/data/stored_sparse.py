"""Columns in a file of which only the entries are stored, for tables that are mostly zero.

An entry takes six or ten bytes: the number of its row within a piece of the column, and its value. All rows
of such a table are read piece by piece as sparse blocks, one column as its entries or as an array.
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

# Rows of a piece at most: their numbers take two bytes each.
PIECE = 1 << 16


@dataclass(frozen=True)
class StoredSparseColumn:
    """Where the entries of one column lie.

    Attributes
    ----------
    file : ScratchFile
        The file.
    starts : int array of shape (n_pieces + 1,)
        First row of each piece, and the number of rows.
    places, counts : int arrays of shape (n_pieces,)
        First byte of each piece, and its entries: their rows come first, then their values.
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
    counts: NDArray[np.int64]
    dtype: np.dtype

    @classmethod
    def of(cls, file: ScratchFile, values: NDArray, piece_rows: int = PIECE) -> StoredSparseColumn:
        """Store what is not zero at the end of a file, in pieces as long as what is read at a time."""
        step = min(piece_rows, PIECE)
        pieces = [values[start : start + step] for start in range(0, len(values), step)]
        rows = [np.flatnonzero(piece) for piece in pieces]
        places = [
            stored_piece(file, own, piece[own], values.dtype) for own, piece in zip(rows, pieces, strict=True)
        ]
        starts = np.append(np.arange(0, len(values), step), len(values))
        return cls(
            file, starts, np.array(places, np.int64), np.array([*map(len, rows)], np.int64), values.dtype
        )

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
            raw = self.file.read(
                int(self.places[piece]), np.empty(count * (2 + self.dtype.itemsize), np.uint8)
            )
            own = raw[: 2 * count].view(np.uint16).astype(np.int32)
            own += np.int32(self.starts[piece] - start)
            # A copy: what is between the rows and the values need not be aligned.
            some = np.frombuffer(raw[2 * count :].tobytes(), self.dtype)
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


def stored_piece(file: ScratchFile, rows: NDArray, values: NDArray, dtype: np.dtype) -> int:
    """Write the entries of a piece at the end of a file; return their place."""
    raw = [rows.astype(np.uint16).view(np.uint8), np.ascontiguousarray(values, dtype).view(np.uint8)]
    return file.append(np.concatenate(raw))


def stored_columns_of(blocks: Any, n_rows: int, n_columns: int, dtype: np.dtype) -> list[StoredSparseColumn]:
    """Columns of sparse rows that come in blocks, in one pass.

    Parameters
    ----------
    blocks : iterable of (slice, CSR matrix)
        Rows in their order.
    n_rows, n_columns : int
        Shape of the table.
    dtype : dtype
        Of the values.
    """
    file = ScratchFile()
    starts: list[int] = []
    places: list[list[int]] = []
    counts: list[NDArray[np.int64]] = []
    for rows, block in blocks:
        for start in range(0, block.shape[0], PIECE):
            piece = block[start : start + PIECE].tocsc()
            piece.sum_duplicates()
            ends = piece.indptr
            starts.append(rows.start + start)
            counts.append(np.diff(ends).astype(np.int64))
            places.append(
                [
                    stored_piece(file, piece.indices[begin:end], piece.data[begin:end], dtype)
                    for begin, end in pairwise(ends)
                ]
            )
    bounds, by_piece, sizes = np.array([*starts, n_rows]), np.array(places, np.int64), np.array(counts)
    return [
        StoredSparseColumn(file, bounds, by_piece[:, column].copy(), sizes[:, column].copy(), dtype)
        for column in range(n_columns)
    ]


def sparse_block(columns: Sequence[StoredSparseColumn], start: int, stop: int) -> sp.csr_matrix:
    """Consecutive rows of some columns as a sparse matrix."""
    parts = [column.entries(start, stop) for column in columns]
    ends = np.concatenate([[0], np.cumsum([len(rows) for rows, _ in parts])]).astype(np.int32)
    rows = np.concatenate([rows for rows, _ in parts])
    values = np.concatenate([values for _, values in parts])
    return sp.csr_matrix(sp.csc_matrix((values, rows, ends), shape=(stop - start, len(columns))))


def sparse_rows(columns: Sequence[StoredSparseColumn], index: NDArray[np.intp], step: int) -> sp.csr_matrix:
    """Some rows in any order as a sparse matrix; ``step`` rows are looked at in a time."""
    distinct, place = np.unique(index, return_inverse=True)
    parts = []
    for start in range(0, columns[0].n_rows, step):
        own = distinct[slice(*np.searchsorted(distinct, [start, start + step]))]
        if len(own):
            block = sparse_block(columns, start, min(start + step, columns[0].n_rows))
            parts.append(block[own - start])
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
