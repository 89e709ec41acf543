"""Pooled rows as a linear operator: project rows on directions, bring slopes back to features.

The solver needs nothing else of the data, so dense and sparse rows, scaling and centring are all settled
here. Rows are centred before they are cast to float32 (an offset of 1e6 would leave few distinct values),
a sparse matrix only implicitly, and divided by one global ``unit`` so that squares neither over- nor
underflow. A divergence that ignores a common shift is not changed by the centring.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from functools import cached_property
from typing import Any, Literal, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike, NDArray

from princdiff.data.labels import Labels
from princdiff.data.moments import Moments, inverse_or_zero, moments
from princdiff.data.products import DenseBlock, Products, Scaling, StreamedProducts, products_in_memory
from princdiff.data.row_chunks import RowChunks
from princdiff.data.row_keys import row_keys
from princdiff.data.row_operators import Deflated, Mixed, StandardisedWithin

Scale = Literal["pooled", "within"] | None

_BLOCK_BYTES = 4_000_000
# Its inverse, times a value of a few hundred of it, can still be represented.
_SMALLEST_DEVIATION = 1e-305


class Operator(Protocol):
    """What an ascent sees of the data: two products, for the columns of its batch."""

    def project(self, directions: NDArray, out: NDArray | None = None) -> NDArray:
        """Every row on every direction: (n_columns, n_features) to (n_columns, n_rows)."""
        ...

    def backproject(self, slopes: NDArray, out: NDArray | None = None) -> NDArray:
        """Slopes to gradients of directions: (n_columns, n_rows) to (n_columns, n_features)."""
        ...

    def take(self, columns: NDArray) -> Operator:
        """The operator for some of the columns."""
        ...

    def feature_columns(self, features: NDArray[np.intp]) -> NDArray:
        """Scaled values of some features under the first column's labels, (len(features), n_rows)."""
        ...


class Samples:
    """Pooled rows, centred and scaled, as a linear operator.

    Parameters
    ----------
    rows : array, scipy.sparse matrix or RowChunks of shape (n_rows, n_features)
        Finite numbers. A sparse matrix is never made dense, rows out of core are never in memory as a whole.
    scale : {None, "pooled", "within"}
        None: as measured. "pooled": features divided by their standard deviation over all rows, labels
        ignored. "within": mean zero and unit variance inside each group, see `for_labels`.
    weights : array of shape (n_rows,), optional
        Row weights for means and standard deviations.
    dtype : {float32, float64}
        Precision of the products. float32 keeps a scaled copy of dense rows; float64 scales on the fly.
    names : sequence of str, optional
        What messages call the features.

    Attributes
    ----------
    centre, deviation : arrays of shape (n_features,)
        Mean and standard deviation of each feature as measured; the deviation of a constant is exactly 0.
    factor : array of shape (n_features,)
        What a centred feature is multiplied by in the scaled space (``unit`` aside): 1, or 1 / deviation,
        or 0 for a constant feature.
    unit : float
        Size of the largest scaled feature; projections are in multiples of it.

    Examples
    --------
    >>> samples = Samples(np.array([[0.0, 10.0], [2.0, 10.0]]), scale="pooled")
    >>> samples.project(np.array([[1.0, 0.0]], dtype=np.float32))
    array([[-1.,  1.]], dtype=float32)
    """

    def __init__(
        self,
        rows: NDArray | sp.csr_matrix | RowChunks,
        scale: Scale = None,
        *,
        weights: NDArray[np.float64] | None = None,
        dtype: DTypeLike = np.float32,
        names: Sequence[str] | None = None,
    ) -> None:
        self.rows = rows
        self.scale = scale
        self.weights = weights
        found = rows.moments(weights) if isinstance(rows, RowChunks) else moments(rows, weights)
        self.centre, self.deviation = found.mean, found.deviation
        _refuse_wide(found, names)
        if scale is not None:
            _refuse_tiny(self.deviation, names)
        # Groups are rescaled one by one later; "within" only begins with features of like size.
        self.factor = (self.deviation > 0) * 1.0 if scale is None else inverse_or_zero(self.deviation)
        self.unit = (float(self.deviation.max(initial=0.0)) or 1.0) if scale is None else 1.0
        self.mixing: NDArray[np.float64] | None = None
        self.basis: NDArray[np.float64] | None = None
        self._products = self._make_products(np.dtype(dtype))

    def _make_products(self, dtype: np.dtype) -> Products:
        scaling = Scaling(self.centre, self.factor / self.unit, dtype, self.deviation)
        rows = self.rows
        products: Any
        if isinstance(rows, RowChunks):
            products = rows.products(scaling)
        else:
            products = products_in_memory(rows, scaling)
        if self.basis is not None and self.scale != "within":
            products = Deflated(products, self.basis.astype(dtype))
        return products if self.mixing is None else Mixed(products, self.mixing)

    def _changed(self, **attributes: object) -> Samples:
        """A copy with other attributes, its products made anew."""
        other = copy(self)
        vars(other).update(attributes)
        if "rows" in attributes:
            other.__dict__.pop("row_keys", None)
        return other.astype(self.dtype)

    @cached_property
    def row_keys(self) -> NDArray[np.uint64]:
        """A number for each row that depends on its values and its weight only, see `data.row_keys`."""
        return row_keys(self.rows, self.weights)

    def astype(self, dtype: DTypeLike) -> Samples:
        """The same rows in another precision."""
        other = copy(self)
        other._products = other._make_products(np.dtype(dtype))
        return other

    def restrict(self, features: NDArray[np.intp]) -> Samples:
        """The same rows with some of the features only, scaled as before."""
        if self.basis is not None:
            raise ValueError("deflated rows need all features: restrict first, then deflate")
        return self._changed(
            rows=self.rows[:, features],
            centre=self.centre[features],
            deviation=self.deviation[features],
            factor=self.factor[features],
        )

    def without(self, features: NDArray[np.bool_]) -> Samples:
        """The same rows with some features made constant, so that no direction uses them."""
        return self._changed(factor=self.factor * ~features)

    def deflated(self, directions: NDArray[np.float64]) -> Samples:
        """The same rows without what they have along some directions, shape (n_directions, n_features).

        A direction b of the result acts as b less its parts along the given ones, so that a best direction
        is orthogonal to them.
        """
        basis = orthonormal_basis(directions)
        return self._changed(basis=basis) if len(basis) else self

    def take_rows(self, index: NDArray[np.intp]) -> Samples:
        """Some rows in memory (ascending numbers), centred and scaled as all of them."""
        return self._changed(
            rows=self.rows.take(index) if isinstance(self.rows, RowChunks) else self.rows[index],
            weights=None if self.weights is None else self.weights[index],
        )

    @property
    def columns_per_pass(self) -> int | None:
        """Columns that share a pass over rows out of core; None in memory, where columns share a cache."""
        return self.rows.columns_per_pass if isinstance(self.rows, RowChunks) else None

    @property
    def largest_sample(self) -> int | None:
        """Rows of a sample that fits into the memory beside everything else; None: of any number."""
        return self.rows.largest_sample if isinstance(self.rows, RowChunks) else None

    @property
    def streamed(self) -> bool:
        """Whether a pass over the rows is what costs, since they are read from where they lie each time."""
        return isinstance(self.rows, RowChunks)

    def scaled_rows_by_rows(self) -> Any:
        """Scaled rows in single precision, shape (n_rows, n_features): slices or numbers pick some."""
        if isinstance(self._products, DenseBlock):
            return self._products.scaled.astype(np.float32, copy=False)
        return np.ascontiguousarray(self.feature_columns(np.arange(self.n_features)).T, dtype=np.float32)

    def usable(self, labels: Labels) -> Samples:
        """The same rows, with features that the first column's groups cannot standardise made constant."""
        if self.scale != "within":
            return self
        usable = StandardisedWithin(self, labels).usable
        return self if usable[self.varying].all() else self.without(~usable)

    def refuse_overflow(self, degree: float) -> None:
        """Say that divergences of such data cannot be represented, if that is so."""
        with np.errstate(over="ignore", under="ignore"):
            power = np.float64(self.unit) ** degree
            representable = power > 0.0 and np.isfinite(power * self.n_rows)
        if not representable:
            raise ValueError(
                f"the largest standard deviation of a feature is {self.unit:.3g}: to the power of {degree:g} "
                'it cannot be represented; rescale the data or use scale="pooled"'
            )

    @property
    def dtype(self) -> np.dtype:
        """Precision of the products."""
        return self._products.dtype

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.rows.shape[0]

    @property
    def n_features(self) -> int:
        """Number of features."""
        return self.rows.shape[1]

    @property
    def varying(self) -> NDArray[np.bool_]:
        """Features that are not constant, shape (n_features,)."""
        return self.factor > 0

    def project(self, directions: NDArray, out: NDArray | None = None) -> NDArray:
        """Rows on directions: (n_columns, n_features) to (n_columns, n_rows), in multiples of ``unit``."""
        return self._products.project(directions.astype(self.dtype, copy=False), out)

    def backproject(self, slopes: NDArray, out: NDArray | None = None) -> NDArray:
        """Slopes to gradients: (n_columns, n_rows) to (n_columns, n_features)."""
        return self._products.backproject(slopes, out)

    def feature_columns(self, features: NDArray[np.intp]) -> NDArray:
        """Scaled values of some features, contiguous per feature: shape (len(features), n_rows)."""
        return self._products.feature_columns(features)

    def take(self, columns: NDArray) -> Samples:
        """Itself: without label-dependent scaling all columns see the same rows."""
        return self

    def for_labels(self, labels: Labels) -> Operator:
        """The operator for a batch: itself, or what depends on the columns' labels."""
        if self.scale != "within":
            return self
        operator = StandardisedWithin(self, labels)
        return operator if self.basis is None else Deflated(operator, self.basis.astype(self.dtype))

    def whitened(self, shrinkage: float) -> Samples:
        """Rows in coordinates whose pooled covariance is the identity, labels ignored.

        The covariance of the scaled features is shrunk towards a multiple of the identity. Directions
        ``c`` of the result are directions ``c @ mixing`` of the scaled features.
        """
        covariance = self.astype(np.float64).covariance()
        typical = float(np.diag(covariance)[self.varying].mean()) if self.varying.any() else 1.0
        shrunk = (1 - shrinkage) * covariance + shrinkage * typical * np.diag(self.varying * 1.0)
        values, vectors = np.linalg.eigh(shrunk)
        usable = values > 1e-12 * values[-1]
        roots = np.divide(1.0, np.sqrt(np.abs(values)), out=np.zeros_like(values), where=usable)
        return self._changed(mixing=(vectors * roots) @ vectors.T)

    def scaled_rows(self, labels: Labels) -> NDArray[np.float64] | sp.csr_matrix:
        """Rows in the scaled space, in data units, shape (n_rows, n_features).

        Dense rows are centred; sparse rows stay sparse, with only those features centred that are far from
        zero and so have no zeros to speak of.
        """
        if self.scale == "within":
            values = self.astype(np.float64).for_labels(labels).feature_columns(np.arange(self.n_features))
            return values.T
        if isinstance(self.rows, RowChunks):
            raise ValueError(f"{self.rows.label} is out of core, and this needs all rows in memory")
        scaling = Scaling(self.centre, self.factor, np.dtype(np.float64), self.deviation)
        rows: Any = self.rows
        if sp.issparse(rows):
            near, _ = scaling.near(rows.tocsr())
            scaled = sp.csr_matrix(near.astype(np.float64) @ sp.diags(self.factor))
        else:
            scaled = scaling.dense(rows)
        if self.basis is None:
            return scaled
        return (scaled.toarray() if sp.issparse(scaled) else scaled) - (scaled @ self.basis.T) @ self.basis

    def covariance(self) -> NDArray[np.float64]:
        """Covariance of the scaled features over all rows, shape (n_features, n_features)."""
        weights = np.ones(self.n_rows) if self.weights is None else self.weights
        share = weights / weights.sum()
        if isinstance(self._products, StreamedProducts) and isinstance(self.rows, np.ndarray):
            # One pass over the rows, where features a few at a time would take many.
            return self._products.second_moments(share)
        step = self.columns_per_pass or max(1, _BLOCK_BYTES // (8 * self.n_rows))
        columns = []
        for start in range(0, self.n_features, step):
            features = np.arange(start, min(start + step, self.n_features))
            columns.append(self.backproject(self.feature_columns(features) * share))
        return np.concatenate(columns)


def _refuse_wide(found: Moments, names: Sequence[str] | None) -> None:
    """Values have to be centred, and differences beyond the largest number would be infinite."""
    wide = np.flatnonzero(found.high / 2 - found.low / 2 > np.finfo(np.float64).max / 2)
    if len(wide):
        name = f"x{wide[0]}" if names is None else names[wide[0]]
        raise ValueError(
            f"feature {name!r} goes from {found.low[wide[0]]:.3g} to {found.high[wide[0]]:.3g}, farther than "
            "can be represented; divide it by a power of ten, or leave it out"
        )


def _refuse_tiny(deviation: NDArray[np.float64], names: Sequence[str] | None) -> None:
    tiny = np.flatnonzero((deviation > 0) & (deviation < _SMALLEST_DEVIATION))
    if len(tiny):
        name = f"x{tiny[0]}" if names is None else names[tiny[0]]
        raise ValueError(
            f"feature {name!r} has a standard deviation of {deviation[tiny[0]]:.3g}, too small to divide by; "
            "multiply it by a power of ten, or leave it out"
        )


def orthonormal_basis(directions: NDArray[np.float64]) -> NDArray[np.float64]:
    """Orthonormal rows that span the given ones, shape (rank, n_features).

    Examples
    --------
    >>> orthonormal_basis(np.array([[0.0, 2.0], [0.0, 1.0]])).shape
    (1, 2)
    """
    _, sizes, rows = np.linalg.svd(directions, full_matrices=False)
    return rows[sizes > 1e-10 * max(sizes.max(initial=0.0), np.finfo(np.float64).tiny)]
