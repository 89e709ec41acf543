"""Rows seen through something else: standardised within groups, without some directions, mixed."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from princdiff.data.labels import Labels
from princdiff.data.moments import inverse_or_zero
from princdiff.data.products import Products

if TYPE_CHECKING:
    from princdiff.data.samples import Samples


class StandardisedWithin:
    """Rows with mean zero and unit variance in each group, for every column's own labels.

    A column's direction b acts as b / sd_g with its own offset on each group g: one product per group
    instead of one. Features that are constant in some group of a labelling have weight 0 there.
    """

    def __init__(self, samples: Samples, labels: Labels) -> None:
        self._samples = samples
        self._labels = labels
        self._means, self._factors = _group_moments(samples, labels)

    @property
    def n_features(self) -> int:
        """Number of features."""
        return self._samples.n_features

    @property
    def usable(self) -> NDArray[np.bool_]:
        """Features that vary in every group of the first column's labels, shape (n_features,)."""
        return self._factors[0][self._labels.columns[0]] > 0

    def take(self, columns: NDArray) -> StandardisedWithin:
        """The operator for some of the columns."""
        other = copy(self)
        other._labels = self._labels.take(columns)
        return other

    def project(self, directions: NDArray, out: NDArray | None = None) -> NDArray:
        """Standardised rows on directions; held-out rows get 0."""
        dtype = self._samples.dtype
        result = np.zeros((len(directions), self._samples.n_rows), dtype) if out is None else out
        result.fill(0)
        which = self._labels.columns
        codes = self._labels.codes[which]
        for group in range(self._labels.n_groups):
            scaled = directions * self._factors[group][which]
            offset = np.einsum("cd,cd->c", scaled, self._means[group][which])
            part = self._samples.project(scaled.astype(dtype))
            part -= offset.astype(dtype)[:, None]
            np.copyto(result, part, where=codes == group)
        return result

    def backproject(self, slopes: NDArray, out: NDArray | None = None) -> NDArray:
        """Slopes to gradients through each group's own scaling."""
        which = self._labels.columns
        codes = self._labels.codes[which]
        total = np.zeros((len(slopes), self._samples.n_features), slopes.dtype) if out is None else out
        total.fill(0)
        for group in range(self._labels.n_groups):
            part = slopes * (codes == group)
            gradient = self._samples.backproject(part)
            gradient -= part.sum(axis=1)[:, None] * self._means[group][which].astype(part.dtype)
            total += gradient * self._factors[group][which].astype(part.dtype)
        return total

    def feature_columns(self, features: NDArray[np.intp]) -> NDArray:
        """Standardised values of some features under the first column's labels."""
        which = self._labels.columns[0]
        values = self._samples.feature_columns(features)
        result = np.zeros_like(values)
        for group in range(self._labels.n_groups):
            inside = self._labels.codes[which] == group
            mean = self._means[group][which][features].astype(values.dtype)
            factor = self._factors[group][which][features].astype(values.dtype)
            result[:, inside] = (values[:, inside] - mean[:, None]) * factor[:, None]
        return result


def _group_moments(samples: Samples, labels: Labels) -> tuple[list[NDArray], list[NDArray]]:
    """Per group, mean and inverse standard deviation of the scaled features, (n_labellings, n_features)."""
    exact = samples.astype(np.float64)
    weights = np.ones(samples.n_rows) if samples.weights is None else samples.weights
    means, deviations = [], []
    for group in range(labels.n_groups):
        mass = (labels.codes == group) * weights
        mass /= mass.sum(axis=1, keepdims=True)
        mean = exact.backproject(mass)
        square = exact._products.backproject_squares(mass)
        variance = np.maximum(square - mean**2, 0.0)
        # Rounding leaves a constant with a variance near the square of machine precision, not 0.
        variance[variance < 1e-14 * np.maximum(square, mean**2)] = 0.0
        means.append(mean)
        deviations.append(np.sqrt(variance))
    usable = np.logical_and.reduce([deviation > 0 for deviation in deviations])
    return means, [inverse_or_zero(deviation) * usable for deviation in deviations]


class Deflated:
    """Rows without what they have along an orthonormal basis: project(b) sees b less its part in it.

    Parameters
    ----------
    inner : Operator or products
        The rows.
    basis : array of shape (n_directions, n_features)
        Orthonormal directions.
    """

    def __init__(self, inner: Any, basis: NDArray) -> None:
        self.dtype = basis.dtype
        self._inner, self._basis = inner, basis

    def take(self, columns: NDArray) -> Deflated:
        """The operator for some of the columns."""
        return Deflated(self._inner.take(columns), self._basis)

    def project(self, directions: NDArray, out: NDArray | None = None) -> NDArray:
        """Rows on the remaining part of directions."""
        return self._inner.project(self._remaining(directions), out)

    def backproject(self, slopes: NDArray, out: NDArray | None = None) -> NDArray:
        """Slopes to gradients orthogonal to the basis."""
        return self._remaining(self._inner.backproject(slopes, None), out)

    def backproject_squares(self, slopes: NDArray) -> NDArray:
        """Not needed: groups are standardised before anything is taken out."""
        raise NotImplementedError("deflated rows are not scaled within groups")

    def feature_columns(self, features: NDArray[np.intp]) -> NDArray:
        """Values of single features without their part along the basis."""
        inner = self._inner
        # An operator for several labellings shows the features under those of its first column.
        first = np.zeros(len(self._basis), dtype=np.intp)
        along = (inner.take(first) if hasattr(inner, "take") else inner).project(self._basis, None)
        return inner.feature_columns(features) - self._basis[:, features].T @ along

    def _remaining(self, directions: NDArray, out: NDArray | None = None) -> NDArray:
        return np.subtract(directions, (directions @ self._basis.T) @ self._basis, out=out)


class Mixed:
    """Products in coordinates that mix the features: x -> mixing @ x."""

    def __init__(self, products: Products, mixing: NDArray[np.float64]) -> None:
        self.dtype = products.dtype
        self._products, self._mixing = products, mixing.astype(products.dtype)

    def project(self, directions: NDArray, out: NDArray | None) -> NDArray:
        """Rows on directions of the mixed features."""
        return self._products.project(directions @ self._mixing, out)

    def backproject(self, slopes: NDArray, out: NDArray | None) -> NDArray:
        """Slopes to gradients."""
        return np.matmul(self._products.backproject(slopes, None), self._mixing.T, out=out)

    def backproject_squares(self, slopes: NDArray) -> NDArray:
        """Not needed."""
        raise NotImplementedError("whitened rows are not scaled within groups")

    def feature_columns(self, features: NDArray[np.intp]) -> NDArray:
        """Values of mixed features."""
        return self._products.project(self._mixing[features], None)
