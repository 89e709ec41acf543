"""Features that follow from those of a sparse direction: what it left out because it had no need of it.

Of several features that carry the same, a sparse direction takes one. The others are those that the ones
taken explain best by a linear rule, labels ignored. They are found one after the other, each by the share of
its variance that all before it explain.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from princdiff.data.samples import Samples

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
