"""Labellings of two groups, a bit a row.

A labelling is drawn once, when it is first asked for, and used often: by every direction, by every batch of
columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from princdiff.data.labels import PackedCodes

# Rows of a part: a multiple of what is summed in single precision in `kernels.labelled_sums`, so that sums
# over parts are those over all rows.
PART = 1 << 16
# Bytes that labellings may take; more of them are drawn again whenever they are asked for.
MOST_BYTES = 10**9


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
        self._draw, self._drawn = draw, np.zeros(n_labellings, dtype=bool)
        self._bits = np.empty((n_labellings, -(-n_rows // 8)), dtype=np.uint8)

    def _of(self, indices: NDArray[np.intp]) -> NDArray[np.uint8]:
        """Draw what was not drawn yet; two threads that draw the same one draw the same bits."""
        for index in indices[~self._drawn[indices]]:
            self._bits[index] = np.packbits(self._draw(int(index)))
            self._drawn[index] = True
        return self._bits[indices]

    def codes(self, indices: NDArray[np.intp]) -> NDArray[np.uint8]:
        """Groups under some labellings, shape (len(indices), n_rows)."""
        return np.unpackbits(self._of(np.asarray(indices)), axis=1, count=self.n_rows)

    def packed(self, indices: NDArray[np.intp]) -> PackedCodes:
        """The same, a bit a row."""
        return PackedCodes(self._of(np.asarray(indices)), self.n_rows)

    def parts(self, n_labellings: int) -> Iterator[tuple[slice, NDArray[np.uint8]]]:
        """Rows, and the bits of the first labellings for them, shape (n_labellings, n_bytes)."""
        self._of(np.flatnonzero(~self._drawn[:n_labellings]))
        for start in range(0, self.n_rows, PART):
            stop = min(start + PART, self.n_rows)
            own = self._bits[:n_labellings, start // 8 : -(-stop // 8)]
            yield slice(start, stop), np.ascontiguousarray(own)
