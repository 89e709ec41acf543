"""A column of numbers in one pass: bins counted by unit, sums, and what the bin of each row is worth."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from princdiff.kernels.engine_choice import Kernel

# Bounds that the kernel searches at most: its steps are those of 64, the last of which is infinite.
MOST_BOUNDS = 63
_BINNED = Kernel("pd_binned_column", "f64* i64 f64* i64 f32* i32* i64* f64 f64 i64* f64* f32*", returns="i32")


class Bins(NamedTuple):
    """The bins of a column.

    Attributes
    ----------
    bounds : array of shape (n_bounds,)
        Ascending; a value is in the bin after the last bound that it reaches.
    scores : array of shape (n_bounds + 2,), float32
        What each bin is worth, and last a gap.
    centre, scale : float
        What is taken off values, and what they are divided by, before they are added up.
    """

    bounds: NDArray[np.float64]
    scores: NDArray[np.float32]
    centre: float
    scale: float


class ColumnTotals(NamedTuple):
    """What is counted and added up of one column, changed in place.

    Attributes
    ----------
    counts : int64 array of shape (n_units, n_bounds + 2)
        Rows in each bin, gaps last.
    sums : array of shape (n_units, 2)
        Of scaled values, and of their squares.
    worth : float32 array of shape (n_rows,)
        What the bin of each row is worth, at the place of the row.
    """

    counts: NDArray[np.int64]
    sums: NDArray[np.float64]
    worth: NDArray[np.float32]


def add_binned(
    values: NDArray[np.float64],
    bins: Bins,
    unit: NDArray[np.int32],
    place: NDArray[np.int64],
    into: ColumnTotals,
) -> bool:
    """Count and add up a column; whether all values are finite or missing.

    Parameters
    ----------
    values : array of shape (n_rows,)
        NaN where missing.
    bins : Bins
    unit : int32 array of shape (n_rows,)
        Unit of each row.
    place : array of shape (n_rows,)
        Where each row stands in ``into.worth``.
    into : ColumnTotals
        Changed in place.

    Returns
    -------
    bool

    Examples
    --------
    >>> into = ColumnTotals(np.zeros((1, 3), np.int64), np.zeros((1, 2)), np.zeros(3, np.float32))
    >>> bins = Bins(np.array([1.5]), np.array([-1, 1, 0], np.float32), 0.0, 1.0)
    >>> add_binned(np.array([1.0, 2.0, np.nan]), bins, np.zeros(3, np.int32), np.arange(3), into)
    True
    >>> into.counts, into.sums
    (array([[1, 1, 1]]), array([[3., 5.]]))
    """
    if not _BINNED.available:
        return _add_in_numpy(values, bins, unit, place, into)
    bounds = np.full(MOST_BOUNDS + 1, np.inf)
    bounds[: len(bins.bounds)] = bins.bounds
    return not _BINNED(
        np.ascontiguousarray(values, dtype=np.float64),
        len(values),
        bounds,
        len(bins.bounds) + 1,
        bins.scores,
        unit,
        place,
        bins.centre,
        bins.scale,
        *into,
    )


def _add_in_numpy(
    values: NDArray[np.float64],
    bins: Bins,
    unit: NDArray[np.int32],
    place: NDArray[np.int64],
    into: ColumnTotals,
) -> bool:
    n_units, n_bins = into.counts.shape
    gap = np.isnan(values)
    bin_of = np.where(gap, n_bins - 1, np.searchsorted(bins.bounds, values, side="right"))
    found = np.bincount(unit * np.int64(n_bins) + bin_of, minlength=n_units * n_bins)
    np.add(into.counts, found.reshape(n_units, n_bins), out=into.counts)
    scaled = np.where(gap, 0.0, (values - bins.centre) / bins.scale)
    for power in (1, 2):
        into.sums[:, power - 1] += np.bincount(unit, scaled**power, minlength=n_units)
    into.worth[place] = bins.scores[bin_of]
    return not bool(np.isinf(values).any())
