"""Features that follow from those of a sparse direction: what it left out because it had no need of it.

Of several features that carry the same, a sparse direction takes one. The others are those that the ones
taken explain best by a linear rule, labels ignored. They are found one after the other, each by the share of
its variance that all before it explain.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

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
    rows = rows.tocsc() if sp.issparse(rows) else rows
    explained = _Explained(rows)
    for feature in chosen:
        explained.add(int(feature))
    features: list[int] = []
    shares: list[float] = []
    while len(features) < count:
        share = explained.shares
        share[[*chosen, *features]] = -1.0
        best = int(share.argmax())
        if share[best] < max(least, 0.0):
            break
        features.append(best)
        shares.append(float(share[best]))
        explained.add(best)
    return np.array(features, dtype=np.intp), np.array(shares)


class _Explained:
    """How much of the variance of every feature those that were added explain."""

    def __init__(self, rows: Any) -> None:
        self._rows = rows
        # In units of their largest entry, whose squares can be represented.
        self._unit = 1 / np.maximum(_largest(rows), 1e-300)
        self._basis: list[NDArray[np.float64]] = []
        n_features = rows.shape[1]
        self._sums = np.zeros(n_features)
        self._lengths = np.array([np.linalg.norm(self._centred(j)) for j in range(n_features)])

    def add(self, feature: int) -> None:
        """One more feature that explains."""
        rest = self._centred(feature)
        # Twice: what the first pass leaves by rounding the second takes away.
        for _ in range(2):
            for line in self._basis:
                rest -= (line @ rest) * line
        length = np.linalg.norm(rest)
        if length <= _ROUNDING * max(self._lengths[feature], 1e-300):
            return
        rest /= length
        self._basis.append(rest)
        # It sums to zero, so that the means of the features play no part.
        self._sums += (np.asarray(self._rows.T @ rest).ravel() * self._unit) ** 2

    @property
    def shares(self) -> NDArray[np.float64]:
        """Of every feature; 0 of a constant."""
        varying = self._lengths > _ROUNDING * np.sqrt(self._rows.shape[0])
        return np.where(
            varying, np.minimum(self._sums / np.where(varying, self._lengths, 1.0) ** 2, 1.0), 0.0
        )

    def _centred(self, feature: int) -> NDArray[np.float64]:
        column = self._rows[:, [feature]]
        dense = column.toarray() if sp.issparse(column) else column
        values = np.asarray(dense, dtype=np.float64)[:, 0] * self._unit[feature]
        return values - values.mean()


def _largest(rows: Any) -> NDArray[np.float64]:
    """Largest absolute entry of each feature."""
    low, high = rows.min(axis=0), rows.max(axis=0)
    if sp.issparse(low):
        low, high = low.toarray().ravel(), high.toarray().ravel()
    return np.maximum(high.astype(np.float64), -low.astype(np.float64))
