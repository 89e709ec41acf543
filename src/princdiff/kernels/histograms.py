"""Divergences of two groups from histograms of many rows.

The same in NumPy is in `princdiff.statistics.searched_rows`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from princdiff.kernels.engine_choice import Kernel

_DISTANCE = Kernel("pd_histogram_distance", "f32* i64 i64 u8* i64* f64* i64 f64 i64 f64*", returns="i32")

_ADD = Kernel("pd_histogram_add", "f32* i64 i64 u8* i64* f64* f32* f32* i64 f64*", returns="i32")


class Histogram(NamedTuple):
    """Cells of a histogram, how many standard deviations it reaches to both sides, and what is computed.

    ``squared`` is the squared 2-Wasserstein distance, otherwise the energy distance.
    """

    n_cells: int
    reach: float
    squared: bool


def takes(projections: NDArray) -> bool:
    """Whether the kernel can be used: compiled, single precision.

    Examples
    --------
    >>> takes(np.ones((1, 2)))
    False
    """
    return projections.dtype == np.float32 and projections.size > 0 and _DISTANCE.available


def distances(
    projections: NDArray[np.float32],
    codes: NDArray[np.uint8],
    labelling: NDArray[np.intp],
    weights: NDArray[np.float64] | None,
    histogram: Histogram,
) -> NDArray[np.float64]:
    """Distances of groups 0 and 1 along every column.

    Parameters
    ----------
    projections : array of shape (n_columns, n_rows)
        Projected rows.
    codes : array of shape (n_labellings, n_rows)
        Groups, 0 or 1.
    labelling : int array of shape (n_columns,)
        Labelling of each column.
    weights : array of shape (n_rows,), optional
        Row weights.
    histogram : Histogram
        The grid.

    Returns
    -------
    array of shape (n_columns,)
    """
    values = np.empty(len(projections))
    failed = _DISTANCE(
        np.ascontiguousarray(projections),
        *projections.shape,
        np.ascontiguousarray(codes),
        np.ascontiguousarray(labelling, dtype=np.int64),
        None if weights is None else np.ascontiguousarray(weights, dtype=np.float64),
        histogram.n_cells,
        histogram.reach,
        int(histogram.squared),
        values,
    )
    if failed:
        raise MemoryError(f"no memory for a histogram of {histogram.n_cells} cells")
    return values


class Grids(NamedTuple):
    """Where the cells of every column's histogram lie.

    Attributes
    ----------
    lowest : array of shape (n_columns,), float32
        Beginning of the first cell.
    rate : array of shape (n_columns,), float32
        Cells a unit.
    """

    lowest: NDArray[np.float32]
    rate: NDArray[np.float32]


def add_counts(
    projections: NDArray[np.float32],
    codes: NDArray[np.uint8],
    labelling: NDArray[np.intp],
    weights: NDArray[np.float64] | None,
    grids: Grids,
    masses: NDArray[np.float64],
) -> None:
    """Add rows to the histograms of every column, group 1 in the second half and all others in the first.

    Parameters
    ----------
    projections, codes, labelling, weights
        As in `distances`, of some of the rows.
    grids : Grids
        The cells.
    masses : array of shape (n_columns, 2, n_cells)
        Histograms so far; rows beyond the ends of the grid count in the outermost cells.

    Examples
    --------
    >>> masses = np.zeros((1, 2, 4))
    >>> grids = Grids(np.array([0.0], dtype=np.float32), np.array([1.0], dtype=np.float32))
    >>> values = np.array([[0.5, 2.5, 9.0]], dtype=np.float32)
    >>> add_counts(values, np.array([[0, 1, 1]], dtype=np.uint8), np.zeros(1, np.intp), None, grids, masses)
    >>> masses[0]
    array([[1., 0., 0., 0.],
           [0., 0., 1., 1.]])
    """
    n_cells = masses.shape[2]
    if not _ADD.available or projections.dtype != np.float32:
        for place, projection in enumerate(projections):
            cells = (projection - grids.lowest[place]) * grids.rate[place]
            cells = np.clip(cells, 0, n_cells - 1).astype(np.intp)
            cells += (codes[labelling[place]] == 1) * n_cells
            masses[place] += np.bincount(cells, weights, 2 * n_cells).reshape(2, n_cells)
        return
    failed = _ADD(
        np.ascontiguousarray(projections),
        *projections.shape,
        np.ascontiguousarray(codes),
        np.ascontiguousarray(labelling, dtype=np.int64),
        None if weights is None else np.ascontiguousarray(weights, dtype=np.float64),
        np.ascontiguousarray(grids.lowest, dtype=np.float32),
        np.ascontiguousarray(grids.rate, dtype=np.float32),
        n_cells,
        masses,
    )
    if failed:
        raise MemoryError(f"no memory for a histogram of {n_cells} cells")
