"""Feasible directions: unit length, few features.

A hard level keeps the k largest weights. The penalised form maximises J(b) - penalty * ||b||_1 ** 2 over
unit vectors, which is what tr(W B) - penalty * ||B||_1 is at rank one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from princdiff.data.samples import Samples
from princdiff.kernels import directions as directions_kernel


@dataclass(frozen=True)
class Sparsity:
    """Sparsity of each column of a batch.

    Attributes
    ----------
    levels : int array of shape (n_columns,)
        At most this many non-zero weights.
    penalties : float array of shape (n_columns,), optional
        Weight of the squared l1 norm, in the units of the divergence of the projections.
    support : bool array of shape (n_columns, n_features), optional
        Features that may be used at all.

    Examples
    --------
    >>> directions = np.array([[3.0, 4.0, 0.1]])
    >>> Sparsity(np.array([2])).project(directions)
    array([[0.6, 0.8, 0. ]])
    """

    levels: NDArray[np.intp]
    penalties: NDArray[np.float64] | None = None
    support: NDArray[np.bool_] | None = None

    def take(self, columns: NDArray) -> Sparsity:
        """Sparsity of some columns."""
        return replace(
            self,
            levels=self.levels[columns],
            penalties=None if self.penalties is None else self.penalties[columns],
            support=None if self.support is None else self.support[columns],
        )

    def cost(self, directions: NDArray) -> NDArray[np.float64] | float:
        """What the penalty takes off the divergence, shape (n_columns,) or 0."""
        if self.penalties is None:
            return 0.0
        return self.penalties * np.abs(directions).sum(axis=1, dtype=np.float64) ** 2

    def project(self, directions: NDArray, thresholds: NDArray | None = None) -> NDArray:
        """Nearest feasible directions: restrict, soft-threshold, keep the largest, normalise.

        A column that vanishes stays zero; the caller sees a value of 0.
        """
        if thresholds is None and directions_kernel.takes(directions):
            return directions_kernel.feasible(directions, self.levels, self.support)
        result = directions if self.support is None else directions * self.support
        if thresholds is not None:
            shrunk = np.sign(result) * np.maximum(np.abs(result) - thresholds[:, None], 0)
            # However strong the penalty, a unit vector has at least one weight: the largest.
            vanished = ~shrunk.any(axis=1)
            shrunk[vanished] = keep_largest(result[vanished], np.ones(vanished.sum(), dtype=np.intp))
            result = shrunk
        result = keep_largest(result, self.levels)
        return normalised(result)


def normalised(directions: NDArray) -> NDArray:
    """Rows divided by their Euclidean length; zero rows stay zero."""
    lengths = np.sqrt(np.einsum("cd,cd->c", directions, directions, dtype=np.float64))
    lengths[lengths == 0] = 1.0
    return directions / lengths.astype(directions.dtype)[:, None]


def keep_largest(directions: NDArray, levels: NDArray[np.intp]) -> NDArray:
    """Zero all but each row's ``levels`` largest entries in magnitude, ties going to earlier features.

    Examples
    --------
    >>> keep_largest(np.array([[1.0, -2.0, 2.0]]), np.array([1]))
    array([[ 0., -2.,  0.]])
    """
    n_columns, n_features = directions.shape
    if n_columns == 0 or (levels >= n_features).all():
        return directions
    # Magnitude and (reversed) position in one integer: distinct, so that exactly k pass the threshold.
    keys = np.abs(directions).astype(np.float32).view(np.uint32).astype(np.uint64) << np.uint64(32)
    keys |= np.arange(n_features, 0, -1, dtype=np.uint64)
    levels = np.clip(levels, 1, n_features)
    if (levels == levels[0]).all():
        kth = np.partition(keys, n_features - levels[0], axis=1)[:, n_features - levels[0]]
    else:
        ranked = np.sort(keys, axis=1)
        kth = ranked[np.arange(n_columns), n_features - levels]
    return np.where(keys >= kth[:, None], directions, directions.dtype.type(0))


def oriented(direction: NDArray) -> NDArray:
    """Sign fixed so that the first non-zero weight is positive (b and -b are one direction).

    Examples
    --------
    >>> oriented(np.array([0.0, -0.6, 0.8]))
    array([ 0. ,  0.6, -0.8])
    """
    nonzero = np.flatnonzero(direction)
    if len(nonzero) and direction[nonzero[0]] < 0:
        return -direction + 0.0
    return direction


# Features that follow from those of a sparse direction: what it left out because it had no need of it.


# Of the length of a feature: what is left of one that follows from others is rounding.
_ROUNDING = 1e-7


def partners_of(
    rows: Any, chosen: NDArray[np.intp], count: int, least: float = 0.0
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Features that the chosen ones explain, and those before them.

    Parameters
    ----------
    rows : array or sparse matrix of shape (n_rows, n_features)
        Finite numbers.
    chosen : int array
        Where to begin.
    count : int
        How many to find at most.
    least : float
        Share of the variance that must be explained.

    Returns
    -------
    features : int array of shape (n_found,)
        In the order in which they were found.
    explained : array of shape (n_found,)
        Share of the variance of each that those before it explain.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> rows = rng.normal(size=(100, 5))
    >>> rows[:, 4] = rows[:, 0] + 0.1 * rows[:, 4]
    >>> features, explained = partners_of(rows, np.array([0]), 3, least=0.5)
    >>> features, explained.round(2)
    (array([4]), array([0.99]))
    """
    samples = Samples(rows, "pooled", dtype=np.float64)
    explained = _Explained(samples)
    for feature in chosen:
        explained.add(int(feature))
    features: list[int] = []
    shares: list[float] = []
    while len(features) < count:
        # A constant is explained by anything, and says nothing.
        share = np.where(samples.varying, explained.shares, -1.0)
        share[[*chosen, *features]] = -1.0
        best = int(share.argmax())
        if share[best] < least - _ROUNDING or share[best] < 0:
            break
        features.append(best)
        shares.append(float(share[best]))
        explained.add(best)
    return np.array(features, dtype=np.intp), np.array(shares)


class _Explained:
    """How much of the variance of every feature those that were added explain.

    Attributes
    ----------
    shares : array of shape (n_features,)
        Of the variance.
    """

    def __init__(self, samples: Samples) -> None:
        self._samples = samples
        self._basis: list[NDArray[np.float64]] = []
        self.shares = np.zeros(samples.n_features)

    def add(self, feature: int) -> None:
        """One more feature that explains."""
        rest = self._samples.feature_columns(np.array([feature]))[0]
        before = np.linalg.norm(rest)
        # Twice: what the first pass leaves by rounding the second takes away.
        for _ in range(2):
            rest = rest - rest.mean()
            for line in self._basis:
                rest -= (line @ rest) * line
        length = np.linalg.norm(rest)
        if length <= _ROUNDING * before:
            return
        rest /= length
        self._basis.append(rest)
        products = self._samples.backproject(rest[None])[0]
        self.shares = np.minimum(self.shares + products**2 / self._samples.n_rows, 1.0)
