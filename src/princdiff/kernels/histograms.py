"""Divergences of two groups from histograms of many rows.

The same in NumPy is in `princdiff.statistics.searched_rows`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from princdiff.kernels.engine_choice import Kernel

_DISTANCE = Kernel("pd_histogram_distance", "f32* i64 i64 u8* i64* f64* i64 f64 i64 f64*", returns="i32")


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
