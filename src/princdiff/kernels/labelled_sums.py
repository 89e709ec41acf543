"""Sums of columns over the rows of a group, for many labellings."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from princdiff.kernels.engine_choice import Kernel

_SUMS = Kernel("pd_labelled_sums", "u8* i64 i64 f32* i64 i64 f64*", returns="i32")
# Rows whose memberships are made numbers at a time, without the kernel.
_PART = 8192


def packed(inside: NDArray[np.bool_]) -> NDArray[np.uint8]:
    """Memberships of rows, shape (n_labellings, n_rows), as bits, shape (n_labellings, n_rows / 8).

    Examples
    --------
    >>> packed(np.array([[True, False, False, False, False, False, False, True, True]]))
    array([[129, 128]], dtype=uint8)
    """
    return np.packbits(inside, axis=1)


def labelled_sums(bits: NDArray[np.uint8], columns: NDArray[np.float32]) -> NDArray[np.float64]:
    """Sums of columns over the rows that are inside, under every labelling.

    Parameters
    ----------
    bits : array of shape (n_labellings, n_bytes)
        Which rows are inside, of `packed`.
    columns : array of shape (n_rows, n_columns), float32
        Numbers.

    Returns
    -------
    array of shape (n_labellings, n_columns)

    Examples
    --------
    >>> columns = np.array([[1.0, 10.0], [2.0, 20.0], [4.0, 40.0]], dtype=np.float32)
    >>> labelled_sums(packed(np.array([[True, False, True], [False, True, False]])), columns)
    array([[ 5., 50.],
           [ 2., 20.]])
    """
    n_rows, n_columns = columns.shape
    if bits.shape[1] != -(-n_rows // 8):
        raise ValueError(f"{bits.shape[1]} bytes of memberships do not suit {n_rows} rows")
    sums = np.zeros((len(bits), n_columns))
    if not _SUMS.available:
        for start in range(0, n_rows, _PART):
            part = columns[start : start + _PART]
            inside = np.unpackbits(bits[:, start // 8 : (start + _PART) // 8], axis=1, count=len(part))
            # In double precision: what a single one leaves of rounding depends on the order of rows.
            sums += inside.astype(np.float64) @ part.astype(np.float64)
        return sums
    failed = _SUMS(
        np.ascontiguousarray(bits),
        len(bits),
        bits.shape[1],
        np.ascontiguousarray(columns),
        n_rows,
        n_columns,
        sums,
    )
    if failed:
        raise MemoryError("no memory for sums of labelled rows")
    return sums
