"""Orders and ranks of columns of numbers.

NumPy's quickest sort uses the vector instructions of the processor, but leaves equal values in any order. It
takes a quarter of the time of a stable one; what is equal is put in order afterwards, so that nothing
depends on the processor.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

# Numbers up to which a stable sort takes no longer.
_FEW = 1000
# Numbers up to which quantiles are kept for the next column.
_KEPT = 10**6


def stable_order(values: NDArray) -> NDArray[np.intp]:
    """As ``np.argsort(values, axis=-1, kind="stable")``, in less time; without NaN.

    Parameters
    ----------
    values : array of shape (n,) or (n_lines, n)
        Numbers.

    Returns
    -------
    array of the same shape
        Every line's order; equal values by their place.

    Examples
    --------
    >>> stable_order(np.array([2.0, 0.0, 2.0, -1.0]))
    array([3, 1, 0, 2])
    """
    if values.shape[-1] <= _FEW:
        return np.argsort(values, axis=-1, kind="stable")
    order = np.argsort(values, axis=-1)
    for line, own in zip(np.atleast_2d(values), np.atleast_2d(order), strict=True):
        ranked = line[own]
        equal = ranked[1:] == ranked[:-1]
        if equal.any():
            tied = np.zeros(len(own), dtype=bool)
            tied[1:] = equal
            tied[:-1] |= equal
            runs = np.cumsum(~equal[np.flatnonzero(tied)[1:] - 1])
            # Number of the run above, place below: to sort these is to sort every run by places.
            keys = own[tied]
            keys[1:] |= runs << 32
            keys.sort()
            own[tied] = keys & 0xFFFFFFFF
    return order


def normal_quantiles(column: NDArray) -> NDArray[np.float64]:
    """Ranks of a column put on the normal distribution: quantiles of (rank - 1/2) / n; equal values share.

    Parameters
    ----------
    column : array of shape (n,)
        Finite numbers.

    Returns
    -------
    array of shape (n,)

    Examples
    --------
    >>> normal_quantiles(np.array([3.0, 1.0, 1.0])).round(2)
    array([ 0.97, -0.43, -0.43])
    """
    n_rows = len(column)
    order = np.argsort(column)
    ranked = column[order]
    fresh = np.empty(n_rows, dtype=bool)
    fresh[:1] = True
    np.not_equal(ranked[1:], ranked[:-1], out=fresh[1:])
    starts = np.flatnonzero(fresh)
    result = np.empty(n_rows)
    if len(starts) == n_rows:
        result[order] = (_kept if n_rows <= _KEPT else _evenly_spaced)(n_rows)
        return result
    lengths = np.diff(starts, append=n_rows)
    # The mean rank of a run, counted from one, is half of the sum of its first and last.
    middles = 0.5 * (2 * starts + lengths + 1)
    result[order] = np.repeat(ndtri((middles - 0.5) / n_rows), lengths)
    return result


def _evenly_spaced(count: int) -> NDArray[np.float64]:
    """Normal quantiles of ranks without ties."""
    return ndtri((np.arange(1, count + 1) - 0.5) / count)


_kept = lru_cache(maxsize=4)(_evenly_spaced)
