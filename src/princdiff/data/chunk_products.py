"""Products with scaled rows, one block at a time: the two things that an ascent asks of the data.

The functions on one block stand alone, so that a cluster's workers can run them where the block lies.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray


class Scaling:
    """What is done to every row: (row - centre) * factor, in some precision.

    Examples
    --------
    >>> scaling = Scaling(np.array([1.0, 0.0]), np.array([1.0, 2.0]), np.dtype(np.float64))
    >>> block = np.array([[1.0, 3.0]])
    >>> scaling.project(block, np.eye(2)), scaling.project(sp.csr_matrix(block), np.eye(2))
    (array([[0.],
            [6.]]), array([[0.],
            [6.]]))
    """

    def __init__(self, centre: NDArray, factor: NDArray, dtype: np.dtype) -> None:
        self.centre, self.factor, self.dtype = centre, factor, dtype
        self._shift = centre * factor

    def _dense(self, block: NDArray) -> NDArray:
        # Centred before it is cast: an offset of 1e6 would leave few distinct values in single precision.
        scaled = np.subtract(block, self.centre)
        scaled *= self.factor
        return scaled.astype(self.dtype, copy=False)

    def _split(self, block: sp.csr_matrix) -> tuple[sp.csr_matrix, NDArray]:
        """Non-zeros in the wanted precision and a factor that is still to be applied.

        A block of that precision is used as it is; in another one it is scaled before it is cast, since
        values beyond the range of single precision must not overflow.
        """
        if block.data.dtype == self.dtype:
            return block, self.factor
        data = (block.data * self.factor[block.indices]).astype(self.dtype)
        # Made without a check of the indices, which has been done.
        scaled = sp.csr_matrix(block.shape, dtype=self.dtype)
        scaled.data, scaled.indices, scaled.indptr = data, block.indices, block.indptr
        return scaled, np.ones_like(self.factor)

    def project(self, block: Any, directions: NDArray) -> NDArray:
        """Rows of a block on directions: (n_columns, n_features) to (n_columns, n_block_rows)."""
        if not sp.issparse(block):
            return directions @ self._dense(block).T
        rows, factor = self._split(block)
        product = rows @ np.ascontiguousarray((directions * factor).astype(self.dtype).T)
        offset = directions.astype(np.float64) @ self._shift
        return product.T - offset.astype(self.dtype)[:, None]

    def backproject(self, block: Any, slopes: NDArray) -> NDArray:
        """Slopes of a block's rows to gradients: (n_columns, n_block_rows) to (n_columns, n_features)."""
        slopes = slopes.astype(self.dtype, copy=False)
        if not sp.issparse(block):
            return slopes @ self._dense(block)
        rows, factor = self._split(block)
        product = (rows.T @ np.ascontiguousarray(slopes.T)).T * factor
        return (product - np.outer(slopes.sum(axis=1, dtype=np.float64), self._shift)).astype(self.dtype)

    def backproject_squares(self, block: Any, slopes: NDArray) -> NDArray:
        """As `backproject`, with the squares of the scaled rows."""
        if not sp.issparse(block):
            return slopes @ self._dense(block) ** 2
        rows, factor = self._split(block)
        first = (rows.T @ slopes.T).T * factor
        second = (rows.T.power(2) @ slopes.T).T * factor**2
        return second - 2 * first * self._shift + np.outer(slopes.sum(axis=1), self._shift**2)

    def columns(self, block: Any, features: NDArray[np.intp]) -> NDArray:
        """Scaled values of some features, shape (len(features), n_block_rows)."""
        values = block[:, features]
        values = values.toarray() if sp.issparse(values) else values
        return ((values - self.centre[features]) * self.factor[features]).astype(self.dtype).T


class Blocks(Protocol):
    """Rows that come in blocks."""

    shape: tuple[int, int]

    def blocks(self) -> Iterator[tuple[slice, Any]]:
        """Row slices and their values."""
        ...


class StreamedProducts:
    """Products over blocks that are read anew in every pass.

    Parameters
    ----------
    rows : RowChunks
        The rows.
    centre, factor : arrays of shape (n_features,)
        Their scaling.
    dtype : dtype
        Precision.
    """

    def __init__(self, rows: Blocks, centre: NDArray, factor: NDArray, dtype: np.dtype) -> None:
        self.dtype = dtype
        self._rows = rows
        self._scaling = Scaling(centre, factor, dtype)

    def project(self, directions: NDArray, out: NDArray | None) -> NDArray:
        """One pass: every row on every direction."""
        if out is None:
            out = np.empty((len(directions), self._rows.shape[0]), self.dtype)
        for rows, block in self._rows.blocks():
            out[:, rows] = self._scaling.project(block, directions)
        return out

    def backproject(self, slopes: NDArray, out: NDArray | None) -> NDArray:
        """One pass: the blocks' gradients, summed in their order."""
        total = np.zeros((len(slopes), self._rows.shape[1]))
        for rows, block in self._rows.blocks():
            total += self._scaling.backproject(block, slopes[:, rows])
        return _delivered(total, self.dtype, out)

    def backproject_squares(self, slopes: NDArray) -> NDArray:
        """One pass, with squared rows."""
        total = np.zeros((len(slopes), self._rows.shape[1]))
        for rows, block in self._rows.blocks():
            total += self._scaling.backproject_squares(block, slopes[:, rows])
        return total

    def feature_columns(self, features: NDArray[np.intp]) -> NDArray:
        """One pass: the scaled values of some features."""
        values = np.empty((len(features), self._rows.shape[0]), self.dtype)
        for rows, block in self._rows.blocks():
            values[:, rows] = self._scaling.columns(block, features)
        return values


def _delivered(total: NDArray, dtype: np.dtype, out: NDArray | None) -> NDArray:
    if out is None:
        return total.astype(dtype)
    out[...] = total
    return out
