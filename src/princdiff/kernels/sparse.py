"""Sparse rows times a few dense columns, both ways."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from princdiff.kernels.engine_choice import Kernel

_GATHER, _SCATTER = (
    {
        np.dtype(dtype): Kernel(f"pd_sparse_{name}_{kind}", signature.replace("real", kind), returns="i32")
        for kind, dtype in {"f32": np.float32, "f64": np.float64}.items()
    }
    for name, signature in {
        "gather": "real* i32* i32* i64 i64 real* i64 real*",
        "scatter": "real* i32* i32* i64 i64 i64* i64 real* i64 real*",
    }.items()
)
# Features in use, of all features, up to which only their entries are visited.
_FEW = 0.3


class SparseProducts:
    """Products of a sparse matrix X, shape (n_rows, n_features), with a few columns at a time.

    Parameters
    ----------
    matrix : csr_matrix or csc_matrix of shape (n_rows, n_features)
        The matrix; its arrays are not copied. The kernels take single or double precision and 32-bit indices,
        scipy does the rest.
    transpose : bool, default=False
        Whether a copy of rows sorted by features may be kept, made at the first need. It is faster to bring
        slopes back with, and to project directions of few features; not worth it for one product.

    Examples
    --------
    >>> products = SparseProducts(sp.csr_matrix(np.array([[1.0, 0.0], [2.0, 3.0]], dtype=np.float32)))
    >>> products.project(np.array([[1.0, 1.0]], dtype=np.float32))
    array([[1., 5.]], dtype=float32)
    >>> products.backproject(np.array([[1.0, 1.0]], dtype=np.float32))
    array([[3., 3.]], dtype=float32)
    """

    def __init__(self, matrix: sp.csr_matrix | sp.csc_matrix, *, transpose: bool = False) -> None:
        self.matrix, self.transpose = matrix, transpose
        self.compiled = (
            matrix.dtype in _GATHER
            and _GATHER[matrix.dtype].available
            and matrix.indices.dtype == np.int32
            and matrix.indptr.dtype == np.int32
            and min(matrix.shape) > 0
        )

    @cached_property
    def by_features(self) -> sp.csc_matrix:
        """The same sorted by features; of rows a copy, made at the first need."""
        return self.matrix.tocsc()

    def project(self, directions: NDArray) -> NDArray:
        """Directions of shape (n_columns, n_features) times the transposed matrix: (n_columns, n_rows)."""
        if not self.compiled or directions.dtype != self.matrix.dtype:
            return (self.matrix @ np.ascontiguousarray(directions.T)).T
        directions = np.ascontiguousarray(directions)
        by_features = self.matrix.format == "csc"
        if by_features or self.transpose:
            used = np.flatnonzero(directions.any(axis=0))
            if by_features or len(used) <= _FEW * self.matrix.shape[1]:
                return _scattered(self.by_features, directions, used)
        return _gathered(self.matrix, directions)

    def backproject(self, slopes: NDArray) -> NDArray:
        """Slopes of shape (n_columns, n_rows) times the matrix: (n_columns, n_features)."""
        if not self.compiled or slopes.dtype != self.matrix.dtype:
            return (self.matrix.T @ np.ascontiguousarray(slopes.T)).T
        slopes = np.ascontiguousarray(slopes)
        if self.transpose or self.matrix.format == "csc":
            return _gathered(self.by_features, slopes)
        return _scattered(self.matrix, slopes, np.flatnonzero(slopes.any(axis=0)))


def _gathered(matrix: sp.csr_matrix | sp.csc_matrix, columns: NDArray) -> NDArray:
    """Every major line with what its entries point to, (n_columns, n_major)."""
    n_major, n_minor = _major_and_minor(matrix)
    result = np.empty((len(columns), n_major), dtype=matrix.dtype)
    failed = _GATHER[matrix.dtype](*_arrays(matrix), n_major, n_minor, columns, len(columns), result)
    return _unless(failed, result)


def _scattered(matrix: sp.csr_matrix | sp.csc_matrix, columns: NDArray, lines: NDArray[np.intp]) -> NDArray:
    """Some major lines added to what their entries point to, (n_columns, n_minor)."""
    n_major, n_minor = _major_and_minor(matrix)
    result = np.empty((len(columns), n_minor), dtype=matrix.dtype)
    chosen = lines.astype(np.int64, copy=False)
    failed = _SCATTER[matrix.dtype](
        *_arrays(matrix), n_major, n_minor, chosen, len(chosen), columns, len(columns), result
    )
    return _unless(failed, result)


def _arrays(matrix: sp.csr_matrix | sp.csc_matrix) -> tuple[NDArray, NDArray, NDArray]:
    return matrix.data, matrix.indices, matrix.indptr


def _major_and_minor(matrix: sp.csr_matrix | sp.csc_matrix) -> tuple[int, int]:
    return matrix.shape if matrix.format == "csr" else matrix.shape[::-1]


def _unless(failed: int, result: NDArray) -> NDArray:
    if failed:
        raise MemoryError("no memory for a product with sparse rows")
    return result
