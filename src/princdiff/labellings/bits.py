"""Labellings of many rows, a bit a row: in memory where they are few, in a temporary file otherwise.

A labelling is drawn once, when it is first asked for, and used often: by every direction, by every batch of
columns. Bits are kept part by part of the rows, so that those of all labellings for some rows are read at
once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from princdiff.data.labels import PackedCodes
from princdiff.data.scratch import ScratchFile

# Rows of a part: a multiple of what is summed in single precision in `kernels.labelled_sums`, so that sums
# over parts are those over all rows.
PART = 1 << 16
# Bytes that are kept in memory; labellings that take more go to a file, up to as many bytes.
_IN_MEMORY, _IN_FILE = 200_000_000, 8 * 10**9


class LabellingBits:
    """Which rows of each labelling are in the second of two groups.

    Parameters
    ----------
    draw : callable
        From the number of a labelling to its groups, shape (n_rows,), 0 or 1.
    n_labellings : int
        How many there are.
    n_rows : int
        Rows.

    Examples
    --------
    >>> bits = LabellingBits(lambda index: np.arange(10) % (index + 2) == 0, 2, 10)
    >>> bits.codes(np.array([1]))
    array([[1, 0, 0, 1, 0, 0, 1, 0, 0, 1]], dtype=uint8)
    >>> [(rows, part.tolist()) for rows, part in bits.parts(2)]
    [(slice(0, 10, None), [[170, 128], [146, 64]])]
    """

    def __init__(self, draw: Callable[[int], NDArray], n_labellings: int, n_rows: int) -> None:
        self.n_labellings, self.n_rows = n_labellings, n_rows
        self._widths = [-(-(min(PART, n_rows - start)) // 8) for start in range(0, n_rows, PART)]
        self._offsets = np.concatenate([[0], np.cumsum(self._widths)]) * n_labellings
        self._file: ScratchFile | None = None
        self._array: NDArray[np.uint8] | None = None
        if self._offsets[-1] > _IN_MEMORY:
            self._file = ScratchFile()
            self._file.reserve(int(self._offsets[-1]))
        else:
            self._array = np.empty(int(self._offsets[-1]), dtype=np.uint8)
        self._draw, self._drawn = draw, np.zeros(n_labellings, dtype=bool)

    def _have(self, indices: NDArray[np.intp]) -> None:
        """Draw what was not drawn yet; two threads that draw the same one draw the same bits."""
        for index in indices[~self._drawn[indices]]:
            self._store(int(index), self._draw(int(index)))
            self._drawn[index] = True

    @staticmethod
    def affordable(n_labellings: int, n_rows: int) -> bool:
        """Whether this many are worth keeping."""
        return n_labellings * n_rows / 8 <= _IN_FILE

    def _store(self, index: int, codes: NDArray) -> None:
        for part, width in enumerate(self._widths):
            own = np.packbits(codes[part * PART : (part + 1) * PART])
            place = int(self._offsets[part]) + index * width
            if self._file is not None:
                self._file.write(place, own)
            elif self._array is not None:
                self._array[place : place + width] = own

    def _read(self, place: int, count: int) -> NDArray[np.uint8]:
        if self._file is not None:
            return self._file.read(place, np.empty(count, dtype=np.uint8))
        assert self._array is not None
        return self._array[place : place + count]

    def codes(self, indices: NDArray[np.intp]) -> NDArray[np.uint8]:
        """Groups under some labellings, shape (len(indices), n_rows)."""
        self._have(np.asarray(indices))
        if self._array is not None and len(self._widths) == 1:
            # The usual case, without a loop.
            lines = self._array.reshape(self.n_labellings, self._widths[0])[indices]
            return np.unpackbits(lines, axis=1, count=self.n_rows)
        result = np.empty((len(indices), self.n_rows), dtype=np.uint8)
        for line, index in enumerate(indices):
            for part, width in enumerate(self._widths):
                own = self._read(int(self._offsets[part]) + int(index) * width, width)
                rows = slice(part * PART, min((part + 1) * PART, self.n_rows))
                result[line, rows] = np.unpackbits(own, count=rows.stop - rows.start)
        return result

    def packed(self, indices: NDArray[np.intp]) -> PackedCodes:
        """The same, a bit a row."""
        self._have(np.asarray(indices))
        bits = np.empty((len(indices), sum(self._widths)), dtype=np.uint8)
        for part, width in enumerate(self._widths):
            place = part * PART // 8
            for line, index in enumerate(indices):
                own = self._read(int(self._offsets[part]) + int(index) * width, width)
                bits[line, place : place + width] = own
        return PackedCodes(bits, self.n_rows)

    def parts(self, n_labellings: int) -> Iterator[tuple[slice, NDArray[np.uint8]]]:
        """Rows, and the bits of the first labellings for them, shape (n_labellings, n_bytes)."""
        self._have(np.arange(n_labellings))
        for part, width in enumerate(self._widths):
            own = self._read(int(self._offsets[part]), n_labellings * width).reshape(n_labellings, width)
            yield slice(part * PART, min((part + 1) * PART, self.n_rows)), own
