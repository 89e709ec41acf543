"""Means and standard deviations of features, of all rows at once or block by block."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

_BLOCK_BYTES = 4_000_000


def sparse_bounds(rows: sp.csr_matrix) -> tuple[NDArray, NDArray]:
    """Smallest and largest value of each feature, zeros that are not stored included."""
    from sklearn.utils.sparsefuncs import min_max_axis

    return min_max_axis(rows, axis=0)


@dataclass(frozen=True)
class Moments:
    """Moments (ddof 0) and range of every feature over some rows.

    Attributes
    ----------
    mean, deviation, low, high : arrays of shape (n_features,)
        A constant's mean is its value and its deviation 0, both exactly.
    mass : float
        Total weight of the rows.

    Examples
    --------
    >>> rows = np.array([[1.0, 5.0], [3.0, 5.0], [8.0, 5.0]])
    >>> both = moments(rows[:1]).merged(moments(rows[1:]))
    >>> both.mean, both.deviation.round(6), rows[:, 0].std().round(6)
    (array([4., 5.]), array([2.94392, 0.     ]), np.float64(2.94392))
    """

    mean: NDArray[np.float64]
    deviation: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    mass: float

    def merged(self, other: Moments) -> Moments:
        """Moments of these rows and others together (Chan, Golub and LeVeque)."""
        if not self.mass or not other.mass:
            return self if self.mass else other
        mass = self.mass + other.mass
        own, others = self.mass / mass, other.mass / mass
        mean = own * self.mean + others * other.mean
        # By hypotenuses: squares of huge or tiny deviations would not fit.
        inside = np.hypot(np.sqrt(own) * self.deviation, np.sqrt(others) * other.deviation)
        deviation = np.hypot(inside, np.sqrt(own * others) * (self.mean - other.mean))
        low, high = np.minimum(self.low, other.low), np.maximum(self.high, other.high)
        constant = low == high
        mean[constant], deviation[constant] = low[constant], 0.0
        return Moments(mean, deviation, low, high, mass)


def moments(rows: Any, weights: NDArray[np.float64] | None = None) -> Moments:
    """Moments of rows in memory.

    Parameters
    ----------
    rows : array or scipy.sparse CSR matrix of shape (n_rows, n_features)
        Finite numbers.
    weights : array of shape (n_rows,), optional
        Row weights.

    Returns
    -------
    Moments
    """
    total = float(rows.shape[0] if weights is None else weights.sum())
    sparse = sp.issparse(rows)
    bounds = sparse_bounds(rows) if sparse else (rows.min(axis=0), rows.max(axis=0))
    low, high = (np.asarray(bound, dtype=np.float64) for bound in bounds)
    # The middle of the range as a first centre keeps sums of huge or far-off values exact enough.
    middle = low / 2 + high / 2
    spread = np.where(low < high, np.maximum(high / 2 - low / 2, np.finfo(np.float64).tiny), 1.0)
    mass = np.full(rows.shape[0], 1.0 / rows.shape[0]) if weights is None else weights / weights.sum()
    if sparse:
        mean, deviation = _sparse_moments(rows.tocsr(), mass, middle, spread)
    else:
        mean, deviation = np.zeros(rows.shape[1]), np.zeros(rows.shape[1])
        for block in row_blocks(rows):
            mean += mass[block] @ ((rows[block] - middle) / spread)
        for block in row_blocks(rows):
            deviation += mass[block] @ ((rows[block] - middle) / spread - mean) ** 2
    mean, deviation = middle + spread * mean, spread * np.sqrt(deviation)
    constant = low == high
    mean[constant], deviation[constant] = low[constant], 0.0
    return Moments(mean, deviation, low, high, total)


def _sparse_moments(
    rows: sp.csr_matrix, mass: NDArray[np.float64], middle: NDArray[np.float64], spread: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean and variance of (values - middle) / spread, zeros included, for shares ``mass`` of the rows."""
    n_features = rows.shape[1]
    shares = np.repeat(mass, np.diff(rows.indptr))

    def summed(terms: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.bincount(rows.indices, terms, minlength=n_features).astype(np.float64, copy=False)

    zeros = np.maximum(1.0 - summed(shares), 0.0)
    # A feature without zeros has exactly none.
    zeros[np.bincount(rows.indices, minlength=n_features) == rows.shape[0]] = 0.0
    values = (rows.data.astype(np.float64) - middle[rows.indices]) / spread[rows.indices]
    # Of a feature without zeros it would not matter, and might overflow.
    zero = np.where(zeros > 0, -middle, 0.0) / spread
    mean = summed(shares * values) + zeros * zero
    variance = summed(shares * (values - mean[rows.indices]) ** 2) + zeros * (zero - mean) ** 2
    return mean, variance


def row_blocks(rows: NDArray) -> Iterator[slice]:
    """Slices of rows whose blocks, in double precision, stay in the cache."""
    step = max(1, _BLOCK_BYTES // (8 * max(1, rows.shape[1])))
    for start in range(0, rows.shape[0], step):
        yield slice(start, min(start + step, rows.shape[0]))


def inverse_or_zero(deviation: NDArray[np.float64]) -> NDArray[np.float64]:
    """One over each deviation, and 0 for a constant, which then counts for nothing.

    Examples
    --------
    >>> inverse_or_zero(np.array([2.0, 0.0]))
    array([0.5, 0. ])
    """
    return np.divide(1.0, deviation, out=np.zeros_like(deviation), where=deviation > 0)
