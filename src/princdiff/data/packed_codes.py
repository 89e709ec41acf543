"""Labellings of two groups for very many rows: a bit a row, made bytes where they are looked at."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray


class PackedCodes:
    """What looks like codes of shape (n_labellings, n_rows), and takes an eighth of their memory.

    Parameters
    ----------
    bits : array of shape (n_labellings, n_bytes), dtype uint8
        Rows of the second group, eight to a byte, the first one highest.
    n_rows : int
        Rows.

    Examples
    --------
    >>> codes = PackedCodes(np.packbits(np.array([[0, 1, 1, 0, 0, 0, 0, 0, 1, 1], [1] * 10]), axis=1), 10)
    >>> codes[:, 7:9]
    array([[0, 1],
           [1, 1]], dtype=uint8)
    >>> codes[0], len(codes[np.array([1])])
    (array([0, 1, 1, 0, 0, 0, 0, 0, 1, 1], dtype=uint8), 1)
    """

    def __init__(self, bits: NDArray[np.uint8], n_rows: int) -> None:
        self._bits = bits
        self.shape = (len(bits), n_rows)

    def __len__(self) -> int:
        return self.shape[0]

    def __iter__(self) -> Iterator[NDArray[np.uint8]]:
        return (self[line] for line in range(len(self)))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray:
        return self[:, :].astype(dtype or np.uint8, copy=False)

    def __getitem__(self, key: Any) -> Any:
        """One labelling or some rows of all as bytes; some labellings, packed."""
        if isinstance(key, tuple):
            start, stop, _ = key[1].indices(self.shape[1])
            first = start // 8
            part = np.unpackbits(self._bits[:, first : -(-stop // 8)], axis=1, count=stop - 8 * first)
            return part[:, start - 8 * first :]
        if isinstance(key, int | np.integer):
            return np.unpackbits(self._bits[key], count=self.shape[1])
        return PackedCodes(self._bits[key], self.shape[1])
