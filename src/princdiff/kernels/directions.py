"""Steps of directions in one pass: along the gradient, shrunk, cut to the largest weights, of unit length.

The same in NumPy is in `princdiff.solvers.sparsity` and `princdiff.solvers.ascent`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from princdiff.kernels.engine_choice import Kernel

_STEP = Kernel("pd_step", "f32* f32* f64* i64 i64 i64* f64* u8* f32*", returns="i32")


def takes(directions: NDArray) -> bool:
    """Whether the kernel can be used: compiled, single precision.

    Examples
    --------
    >>> takes(np.ones((1, 2)))
    False
    """
    return directions.dtype == np.float32 and directions.size > 0 and _STEP.available


def feasible(
    directions: NDArray[np.float32],
    levels: NDArray[np.intp],
    support: NDArray[np.bool_] | None = None,
    penalties: NDArray[np.float64] | None = None,
    step: tuple[NDArray[np.float32], NDArray[np.float64]] | None = None,
) -> NDArray[np.float32]:
    """Feasible unit directions near the given ones, or near a step from them.

    Parameters
    ----------
    directions : array of shape (n_columns, n_features)
        Where to begin.
    levels : int array of shape (n_columns,)
        At most this many weights.
    support : bool array of shape (n_columns, n_features), optional
        Features that may be used.
    penalties : array of shape (n_columns,), optional
        Weight of the squared l1 norm, by which a step is shrunk.
    step : pair of arrays, optional
        Gradients, shape (n_columns, n_features), and how far to go along them, shape (n_columns,).

    Returns
    -------
    array of shape (n_columns, n_features)
    """
    gradient, lengths = (None, None) if step is None else step
    result = np.empty(directions.shape, dtype=np.float32)
    failed = _STEP(
        np.ascontiguousarray(directions),
        None if gradient is None else np.ascontiguousarray(gradient),
        None if lengths is None else np.ascontiguousarray(lengths, dtype=np.float64),
        *directions.shape,
        np.ascontiguousarray(levels, dtype=np.int64),
        None if penalties is None else np.ascontiguousarray(penalties, dtype=np.float64),
        None if support is None else np.ascontiguousarray(support).view(np.uint8),
        result,
    )
    if failed:
        raise MemoryError(f"no memory for {directions.shape[1]} features")
    return result
