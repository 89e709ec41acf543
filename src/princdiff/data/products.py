"""Products with scaled rows: the two things that an ascent asks of the data.

What is done to every row, ``(row - centre) * factor``, is one `Scaling`. Applied to a block of rows, dense or
sparse, it gives a block that knows the products. Rows in memory are one such block that is kept; rows that
are out of core, or would need a second copy, are scaled block by block as they pass. The blocks stand
alone, so that a cluster's workers can work on them where they lie.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from princdiff.data.moments import row_blocks
from princdiff.kernels.sparse import SparseProducts

# A sparse feature is centred in its products, not in its values. From this many standard deviations between
# zero and the mean on, single precision would leave less than four digits of it.
_FAR = 300.0
# Numbers of a scaled copy in double precision that is worth its memory (32 MB).
_KEPT = 4_000_000


class Products(Protocol):
    """Products with scaled rows."""

    dtype: np.dtype

    def project(self, directions: NDArray, out: NDArray | None) -> NDArray:
        """Every row on every direction: (n_columns, n_features) to (n_columns, n_rows)."""
        ...

    def backproject(self, slopes: NDArray, out: NDArray | None) -> NDArray:
        """Slopes to gradients: (n_columns, n_rows) to (n_columns, n_features)."""
        ...

    def backproject_squares(self, slopes: NDArray) -> NDArray:
        """As `backproject`, with the squares of the scaled rows."""
        ...

    def feature_columns(self, features: NDArray[np.intp]) -> NDArray:
        """Scaled values of some features, shape (len(features), n_rows)."""
        ...


class Scaling:
    """What is done to every row: (row - centre) * factor, in some precision.

    Parameters
    ----------
    centre, factor : arrays of shape (n_features,)
        The scaling.
    dtype : dtype
        Precision of the products.
    deviation : array of shape (n_features,), optional
        Standard deviations, which say what sparse features lie too far from zero to be centred implicitly.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> scaling = Scaling(np.array([1.0, 0.0]), np.array([1.0, 2.0]), np.dtype(np.float64))
    >>> block = np.array([[1.0, 3.0]])
    >>> scaling.apply(block).project(np.eye(2)), scaling.apply(sp.csr_matrix(block)).project(np.eye(2))
    (array([[0.],
            [6.]]), array([[0.],
            [6.]]))
    """

    def __init__(
        self, centre: NDArray, factor: NDArray, dtype: np.dtype, deviation: NDArray | None = None
    ) -> None:
        self.centre, self.factor, self.dtype = centre, factor, dtype
        self.far = np.zeros(len(centre), dtype=bool)
        if deviation is not None:
            self.far = (np.abs(centre) / _FAR > deviation) & (deviation > 0)

    def apply(self, block: Any, *, kept: bool = False) -> DenseBlock | SparseBlock:
        """The scaled block; one that is kept for many products may be prepared for them."""
        if sp.issparse(block):
            return SparseBlock(block if block.format == "csc" else block.tocsr(), self, kept=kept)
        return DenseBlock(self.dense(block))

    def dense(self, block: NDArray) -> NDArray:
        """Scaled values of a dense block."""
        # Centred before it is cast: an offset of 1e6 would leave few distinct values in single precision.
        return ((block - self.centre) * self.factor).astype(self.dtype, copy=False)

    def near(self, block: Any) -> tuple[Any, NDArray]:
        """A sparse block with far features centred in their values, and what is left to be centred."""
        if not self.far.any():
            return block, self.centre
        return _without_offsets(block.tocsr(), np.where(self.far, self.centre, 0.0)), np.where(
            self.far, 0.0, self.centre
        )

    def columns(self, block: Any, features: NDArray[np.intp]) -> NDArray:
        """Scaled values of some features, shape (len(features), n_block_rows)."""
        values = block[:, features]
        values = values.toarray() if sp.issparse(values) else values
        scaled = (values - self.centre[features]) * self.factor[features]
        return np.ascontiguousarray(scaled.astype(self.dtype, copy=False).T)


def _without_offsets(block: sp.csr_matrix, offsets: NDArray[np.float64]) -> sp.csr_matrix:
    """A sparse block with numbers taken off some of its features, whose zeros are then stored as well."""
    shifted = sp.csr_matrix(
        (block.data.astype(np.float64) - offsets[block.indices], block.indices, block.indptr), block.shape
    )
    stored = np.bincount(block.indices, minlength=block.shape[1])
    rows, columns = [], []
    by_feature = block.tocsc() if (stored[offsets != 0] < block.shape[0]).any() else None
    for feature in np.flatnonzero((offsets != 0) & (stored < block.shape[0])):
        assert by_feature is not None
        present = by_feature.indices[by_feature.indptr[feature] : by_feature.indptr[feature + 1]]
        absent = np.setdiff1d(np.arange(block.shape[0]), present)
        rows.append(absent)
        columns.append(np.full(len(absent), feature))
    if not rows:
        return shifted
    places = np.concatenate(rows), np.concatenate(columns)
    return sp.csr_matrix(shifted + sp.csr_matrix((-offsets[places[1]], places), block.shape))


class DenseBlock:
    """A scaled copy of rows: one matrix product each way."""

    def __init__(self, scaled: NDArray) -> None:
        self.dtype, self.scaled = scaled.dtype, scaled

    def project(self, directions: NDArray, out: NDArray | None = None) -> NDArray:
        """Rows on directions."""
        return np.matmul(directions, self.scaled.T, out=out)

    def backproject(self, slopes: NDArray, out: NDArray | None = None) -> NDArray:
        """Slopes to gradients."""
        return np.matmul(slopes, self.scaled, out=out)

    def backproject_squares(self, slopes: NDArray) -> NDArray:
        """As `backproject`, with squared rows."""
        return slopes @ self.scaled**2

    def feature_columns(self, features: NDArray[np.intp]) -> NDArray:
        """Values of some features."""
        return np.ascontiguousarray(self.scaled[:, features].T)


class SparseBlock:
    """Scaled non-zeros in the sparsity pattern of the rows; the centre is taken off the products.

    A block that comes sorted by features (CSC) is worked on as it is.
    """

    def __init__(self, block: sp.csr_matrix | sp.csc_matrix, scaling: Scaling, *, kept: bool = False) -> None:
        self.dtype = scaling.dtype
        near, centre = scaling.near(block)
        # Scaled before they are cast: values beyond the range of single precision must not overflow.
        by_features = near.format == "csc"
        factors = (
            np.repeat(scaling.factor, np.diff(near.indptr)) if by_features else scaling.factor[near.indices]
        )
        scaled = (near.data * factors).astype(self.dtype, copy=False)
        rows = type(near)((scaled, near.indices, near.indptr), shape=near.shape)
        # Double precision is for a few last digits, which are not worth the memory of a second copy.
        self._rows = SparseProducts(rows, transpose=kept and self.dtype == np.float32)
        self._shift = centre * scaling.factor

    def project(self, directions: NDArray, out: NDArray | None = None) -> NDArray:
        """Rows on directions."""
        product = self._rows.project(directions)
        offset = (directions.astype(np.float64) @ self._shift).astype(self.dtype)
        return np.subtract(product, offset[:, None], out=product if out is None else out)

    def backproject(self, slopes: NDArray, out: NDArray | None = None) -> NDArray:
        """Slopes to gradients."""
        product = self._rows.backproject(slopes)
        shift = np.outer(slopes.sum(axis=1), self._shift).astype(slopes.dtype)
        return np.subtract(product, shift, out=product if out is None else out)

    def backproject_squares(self, slopes: NDArray) -> NDArray:
        """As `backproject`, with squared rows."""
        first = self._rows.backproject(slopes)
        second = SparseProducts(self._rows.matrix.power(2)).backproject(slopes)
        return second - 2 * first * self._shift + np.outer(slopes.sum(axis=1), self._shift**2)

    def feature_columns(self, features: NDArray[np.intp]) -> NDArray:
        """Values of some features."""
        matrix = self._rows.by_features if self._rows.transpose else self._rows.matrix
        values = matrix[:, features].toarray().T.astype(self.dtype, copy=False)
        return np.ascontiguousarray(values - self._shift[features].astype(self.dtype)[:, None])


class Blocks(Protocol):
    """Rows that come in blocks."""

    shape: tuple[int, int]

    def blocks(self) -> Iterator[tuple[slice, Any]]:
        """Row slices and their values."""
        ...


class ArrayBlocks:
    """An array in memory as a sequence of blocks that stay in the cache."""

    def __init__(self, rows: NDArray) -> None:
        self.shape = (rows.shape[0], rows.shape[1])
        self._rows = rows

    def blocks(self) -> Iterator[tuple[slice, NDArray]]:
        """Row slices and their values."""
        for block in row_blocks(self._rows):
            yield block, self._rows[block]


class StreamedProducts:
    """Products over blocks that are scaled anew in every pass.

    Parameters
    ----------
    rows : RowChunks or ArrayBlocks
        The rows.
    scaling : Scaling
        What is done to them.
    """

    def __init__(self, rows: Blocks, scaling: Scaling) -> None:
        self.dtype = scaling.dtype
        self._rows, self._scaling = rows, scaling

    def project(self, directions: NDArray, out: NDArray | None = None) -> NDArray:
        """One pass: every row on every direction."""
        if out is None:
            out = np.empty((len(directions), self._rows.shape[0]), self.dtype)
        for rows, block in self._rows.blocks():
            out[:, rows] = self._scaling.apply(block).project(directions)
        return out

    def backproject(self, slopes: NDArray, out: NDArray | None = None) -> NDArray:
        """One pass: the blocks' gradients, summed in their order."""
        total = self.summed(slopes)
        if out is None:
            return total.astype(self.dtype, copy=False)
        out[...] = total
        return out

    def summed(self, slopes: NDArray) -> NDArray[np.float64]:
        """The same in double precision."""
        total = np.zeros((len(slopes), self._rows.shape[1]))
        slopes = slopes.astype(self.dtype, copy=False)
        for rows, block in self._rows.blocks():
            total += self._scaling.apply(block).backproject(slopes[:, rows])
        return total

    def backproject_squares(self, slopes: NDArray) -> NDArray:
        """One pass, with squared rows."""
        total = np.zeros((len(slopes), self._rows.shape[1]))
        for rows, block in self._rows.blocks():
            total += self._scaling.apply(block).backproject_squares(slopes[:, rows])
        return total

    def second_moments(self, share: NDArray[np.float64]) -> NDArray[np.float64]:
        """One pass: mean products of all pairs of features, rows counting by their share."""
        total = np.zeros((self._rows.shape[1], self._rows.shape[1]))
        root = np.sqrt(share)[:, None]
        for rows, block in self._rows.blocks():
            part = self._scaling.dense(block) * root[rows]
            total += part.T @ part
        return total

    def feature_columns(self, features: NDArray[np.intp]) -> NDArray:
        """One pass: the scaled values of some features."""
        values = np.empty((len(features), self._rows.shape[0]), self.dtype)
        for rows, block in self._rows.blocks():
            values[:, rows] = self._scaling.columns(block, features)
        return values


def products_in_memory(rows: NDArray | sp.csr_matrix, scaling: Scaling) -> Products:
    """A scaled copy of the rows; in double precision many dense ones are scaled as they pass instead."""
    if sp.issparse(rows):
        return scaling.apply(rows, kept=True)
    if scaling.dtype == np.float64 and rows.size > _KEPT:
        return StreamedProducts(ArrayBlocks(rows), scaling)
    scaled = np.empty(rows.shape, scaling.dtype)
    for block in row_blocks(rows):
        scaled[block] = scaling.dense(rows[block])
    return DenseBlock(scaled)
