"""Means and standard deviations of features, of all rows at once or block by block."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.sparsefuncs import mean_variance_axis, min_max_axis

_BLOCK_BYTES = 4_000_000


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


def moments(rows: NDArray | sp.csr_matrix, weights: NDArray[np.float64] | None = None) -> Moments:
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
    if sp.issparse(rows):
        # In the precision of its input, and refusing weights of another.
        exact = rows.astype(np.float64, copy=False)
        mean, variance = mean_variance_axis(exact, axis=0, weights=weights)
        low, high = (np.asarray(bound, dtype=np.float64) for bound in min_max_axis(rows, axis=0))
        deviation = np.sqrt(variance)
    else:
        low, high = rows.min(axis=0).astype(np.float64), rows.max(axis=0).astype(np.float64)
        mass = np.full(len(rows), 1.0 / len(rows)) if weights is None else weights / weights.sum()
        mean, deviation = np.zeros(rows.shape[1]), np.zeros(rows.shape[1])
        # The middle of the range as a first centre keeps sums of huge or far-off values exact enough.
        middle = low / 2 + high / 2
        spread = np.maximum(high / 2 - low / 2, np.finfo(np.float64).tiny)
        for block in row_blocks(rows):
            mean += mass[block] @ ((rows[block] - middle) / spread)
        for block in row_blocks(rows):
            deviation += mass[block] @ ((rows[block] - middle) / spread - mean) ** 2
        mean, deviation = middle + spread * mean, spread * np.sqrt(deviation)
    constant = low == high
    mean[constant], deviation[constant] = low[constant], 0.0
    return Moments(mean, deviation, low, high, total)


def row_blocks(rows: NDArray) -> Iterator[slice]:
    """Slices of rows whose blocks, in double precision, stay in the cache."""
    step = max(1, _BLOCK_BYTES // (8 * max(1, rows.shape[1])))
    for start in range(0, rows.shape[0], step):
        yield slice(start, min(start + step, rows.shape[0]))
