"""A divergence over the variance along the direction, from the values and slopes of its base.

The same in NumPy is in `princdiff.divergences.relative`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from princdiff.kernels.engine_choice import Kernel

if TYPE_CHECKING:
    from princdiff.data.labels import Labels

_RELATIVE = Kernel("pd_over_variance", "f32* i64 i64 u8* i64* i64 i64 f64* f64* f64* f32*")


class Denominator(NamedTuple):
    """``((1 - shrinkage) * variance + shrinkage * typical) ** (degree / 2)``."""

    shrinkage: float
    typical: float
    degree: float


def takes(projections: NDArray, labels: Labels) -> bool:
    """Whether the kernel can be used: compiled, single precision, labels for every column."""
    return (
        projections.dtype == np.float32
        and projections.size > 0
        and labels.n_columns == len(projections)
        and _RELATIVE.available
    )


def divide(
    projections: NDArray[np.float32],
    labels: Labels,
    denominator: Denominator,
    values: NDArray[np.float64],
    slopes: NDArray[np.float32] | None = None,
) -> None:
    """Make the quotient of values, shape (n_columns,), and slopes, shape (n_columns, n_rows), in place."""
    _RELATIVE(
        np.ascontiguousarray(projections),
        *projections.shape,
        np.ascontiguousarray(labels.codes),
        np.ascontiguousarray(labels.columns, dtype=np.int64),
        int(labels.group_sizes.sum()),
        labels.n_groups,
        None if labels.weights is None else np.ascontiguousarray(labels.weights, dtype=np.float64),
        np.array(denominator, dtype=np.float64),
        values,
        slopes,
    )
