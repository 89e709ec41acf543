"""Divergences of a batch of projected columns by compiled kernels.

The same in NumPy is in `princdiff.divergences`, which asks `DivergenceKernel.takes` and does the work itself
where the answer is no.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from princdiff.kernels.engine_choice import Kernel

if TYPE_CHECKING:
    from princdiff.data.labels import Labels

_SIGNATURE = "f32* i64 i64 u8* i64* i64* i64 f64* f64* f32 f64* f32*"
# Members are 32-bit numbers.
_MOST_ROWS = 2**31 - 1


class DivergenceKernel:
    """Values, or values and slopes, of every column.

    Parameters
    ----------
    name : str
        Of the C function.

    Examples
    --------
    >>> from princdiff.data.labels import Labels
    >>> labels = Labels([[0, 0, 1, 1]], 2)
    >>> rows = np.array([[0.0, 1.0, 3.0, 2.0]], dtype=np.float32)
    >>> kernel = DivergenceKernel("pd_wasserstein2")
    >>> kernel.takes(rows.astype(np.float64), labels)
    False
    """

    def __init__(self, name: str) -> None:
        self._kernel = Kernel(name, _SIGNATURE, returns="i32")

    def takes(self, projections: NDArray, labels: Labels) -> bool:
        """Whether the kernel can be used: compiled, single precision, every group with a row."""
        return (
            projections.dtype == np.float32
            and self._kernel.available
            and 0 < projections.shape[1] <= _MOST_ROWS
            and len(projections) > 0
            and bool((labels.group_sizes > 0).all())
        )

    def value(self, projections: NDArray, labels: Labels, tie_share: float) -> NDArray[np.float64]:
        """Values, shape (n_columns,)."""
        return self._call(projections, labels, tie_share, None)

    def value_and_slope(
        self, projections: NDArray, labels: Labels, tie_share: float, slopes: NDArray[np.float32]
    ) -> NDArray[np.float64]:
        """Values, shape (n_columns,); ``slopes``, shape (n_columns, n_rows), are overwritten."""
        return self._call(projections, labels, tie_share, slopes)

    def _call(
        self, projections: NDArray, labels: Labels, tie_share: float, slopes: NDArray[np.float32] | None
    ) -> NDArray[np.float64]:
        n_columns, n_rows = projections.shape
        labelling = labels.columns if labels.n_columns == n_columns else np.zeros(n_columns, dtype=np.int64)
        if labels.n_columns != n_columns and not labels.shared:
            raise ValueError(f"labels for {labels.n_columns} columns cannot serve {n_columns}")
        values = np.empty(n_columns)
        arguments: list[Any] = [
            np.ascontiguousarray(projections),
            n_columns,
            n_rows,
            np.ascontiguousarray(labels.codes),
            np.ascontiguousarray(labelling, dtype=np.int64),
            labels.group_sizes.astype(np.int64),
            labels.n_groups,
            None if labels.weights is None else np.ascontiguousarray(labels.weights, dtype=np.float64),
            np.ascontiguousarray(labels.proportions),
            tie_share,
            values,
            slopes,
        ]
        if self._kernel(*arguments):
            raise MemoryError(f"no memory to sort {n_rows} rows")
        return values
