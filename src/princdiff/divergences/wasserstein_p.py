"""p-Wasserstein distances: the mean p-th power of the difference of quantile functions.

With p = 1 every row counts by how far it must move, with larger p the rows that must move furthest count
most. The sorted plan is optimal for every p >= 1, so the machinery is that of the squared distance.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from princdiff.divergences.ties import TieScale
from princdiff.divergences.wasserstein import QuantileDivergence
from princdiff.kernels.column_divergences import DivergenceKernel

_FIRST_POWER = DivergenceKernel("pd_wasserstein1")


class WassersteinP(QuantileDivergence):
    """p-Wasserstein distance to the power p between the groups' projections.

    Parameters
    ----------
    p : float, default=1.0
        Power of the distances that are averaged, at least 1. `Wasserstein2` is faster for 2.

    Attributes
    ----------
    name : str
        ``"wasserstein1"`` for p = 1.
    degree : float
        p: the value is a p-th power, as the squared distance is for p = 2.

    Examples
    --------
    >>> import numpy as np
    >>> from princdiff.data.labels import Labels
    >>> from princdiff.divergences import WassersteinP
    >>> labels = Labels([[0, 0, 1, 1]], 2)
    >>> WassersteinP(1).value(np.array([[0.0, 1.0, 3.0, 2.0]]), labels)
    array([2.])
    >>> WassersteinP(3)
    WassersteinP(p=3)
    """

    def __init__(self, p: float = 1.0) -> None:
        if not (np.isfinite(p) and p >= 1):
            raise ValueError(f"p must be at least 1 (below that, sorting gives no optimal plan): got {p!r}")
        self.p = float(p)
        self.name = f"wasserstein{self.p:g}"
        self.degree = self.p
        self._kernel = _FIRST_POWER if self.p == 1.0 else None

    def __repr__(self) -> str:
        return f"WassersteinP(p={self.p:g})"

    def compare(
        self, cells: list[NDArray], widths: NDArray | float, proportions: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], list[NDArray]]:
        """Mean powers of the differences of quantile functions, pair by pair, and their derivatives."""
        # What rounding splits is not apart; a sign would make much of it.
        ties = TieScale.of_groups(cells) if self.p == 1.0 else None
        if len(cells) == 2:
            values, slope = self._pair(cells[0], cells[1], widths, ties)
            return values, [slope, -slope]
        mass = 0.5 * (1.0 - (proportions**2).sum(axis=1))
        values = np.zeros(len(cells[0]))
        slopes = [np.zeros_like(cell) for cell in cells]
        for g, h in combinations(range(len(cells)), 2):
            share = proportions[:, g] * proportions[:, h] / mass
            value, slope = self._pair(cells[g], cells[h], widths, ties)
            values += share * value
            slope *= share.astype(slope.dtype)[:, None]
            slopes[g] += slope
            slopes[h] -= slope
        return values, slopes

    def _pair(
        self, first: NDArray, second: NDArray, widths: NDArray | float, ties: TieScale | None
    ) -> tuple[NDArray[np.float64], NDArray]:
        """Mean power of a difference over the cells, and its derivative by the difference."""
        difference = first - second
        if ties is not None:
            slope = np.sign(difference) * (np.abs(difference) > ties.width(first, second))
        else:
            slope = np.sign(difference) * np.abs(difference) ** difference.dtype.type(self.p - 1.0)
        values = _mean_product(slope, difference, widths)
        if self.p != 1.0:
            slope *= slope.dtype.type(self.p)
        return values, slope


def _mean_product(first: NDArray, second: NDArray, widths: NDArray | float) -> NDArray[np.float64]:
    if isinstance(widths, float):
        return np.einsum("ij,ij->i", first, second).astype(np.float64) * widths
    subscripts = "ij,ij,j->i" if widths.ndim == 1 else "ij,ij,ij->i"
    return np.einsum(subscripts, first, second, widths, optimize=False).astype(np.float64)
