"""Kolmogorov-Smirnov and Cramer-von Mises: divergences of ranks.

They depend on the order of the rows alone, so they are piecewise constant in a direction, and have no
slope. What is ascended is the same functional of slightly smoothed distribution functions; `report` gives
the exact value. The two must not be mixed: values that are compared during a search are all smoothed ones.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from princdiff.data.labels import Labels
from princdiff.divergences.density import Floats, GridDivergence, PairResult
from princdiff.divergences.sorting import Workspace, order_pooled
from princdiff.divergences.standardise import group_pairs, row_masses


class RankDivergence(GridDivergence):
    """A functional of distribution functions, smoothed for the search and exact in `report`."""

    # Distribution functions bear less smoothing than densities: their optimal bandwidth is n ** (-1 / 3).
    _exponent = -1 / 3
    _grid_density = 3.0

    def report(self, projections: NDArray, labels: Labels) -> NDArray[np.float64]:
        """Exact values by sorting, shape (n_columns,); what is reported.

        Parameters
        ----------
        projections : array of shape (n_columns, n_rows)
            Projected rows.
        labels : Labels
            Labels of the columns.

        Returns
        -------
        array of shape (n_columns,)
        """
        projections = np.ascontiguousarray(projections)
        pooled = order_pooled(projections, labels, Workspace())
        masses = np.broadcast_to(row_masses(labels), projections.shape).reshape(-1)[pooled.order]
        ends = _tie_ends(pooled.fresh)
        own = [masses * (pooled.codes == group) for group in range(labels.n_groups)]
        reached = [np.take_along_axis(np.cumsum(part, axis=1), ends, axis=1) for part in own]
        values = np.zeros(len(projections))
        for g, h, weight in group_pairs(labels):
            shares = labels.proportions[:, g, None], labels.proportions[:, h, None]
            difference = reached[g] / shares[0] - reached[h] / shares[1]
            values += weight * self._exact(difference, (own[g] + own[h]) / (shares[0] + shares[1]))
        return values

    def _exact(self, difference: NDArray[np.float64], masses: NDArray[np.float64]) -> NDArray[np.float64]:
        """Value from the difference of two distribution functions at the ordered rows, and the rows' mass."""
        raise NotImplementedError


class KolmogorovSmirnov(RankDivergence):
    """Kolmogorov-Smirnov distance: the largest difference of the distribution functions.

    Parameters
    ----------
    bandwidth : float, optional
        Standard deviation of the Gaussian kernel that smooths the distribution functions in the search, in
        standard deviations of all projected rows. Default: ``n ** (-1 / 3)`` for the smallest group.

    Examples
    --------
    >>> import numpy as np
    >>> from princdiff.data.labels import Labels
    >>> from princdiff.divergences import KolmogorovSmirnov
    >>> labels = Labels([[0, 0, 0, 1, 1, 1]], 2)
    >>> rows = np.array([[0.0, 1.0, 4.0, 2.0, 3.0, 5.0]])
    >>> KolmogorovSmirnov().report(rows, labels)
    array([0.66666667])
    >>> KolmogorovSmirnov(0.1).value(rows, labels)
    array([0.665])
    """

    name = "kolmogorov_smirnov"

    def compare(self, first: Floats, second: Floats, share: Floats, step: float) -> PairResult:
        """Largest absolute difference of the distribution functions at the grid points.

        A maximum of smooth functions: its kinks are valleys, so an ascent does not get stuck in them.
        """
        difference = _integrated(first - second, step)
        columns = np.arange(len(difference))
        where = np.abs(difference).argmax(axis=1)
        top = difference[columns, where]
        by_first = (np.arange(first.shape[1]) < where[:, None]) * np.sign(top)[:, None]
        by_first[columns, where] = 0.5 * np.sign(top)
        return np.abs(top), by_first, -by_first

    def _exact(self, difference: NDArray[np.float64], masses: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.abs(difference).max(axis=1)


class CramerVonMises(RankDivergence):
    """Cramer-von Mises criterion: the mean squared difference of the distribution functions over the rows.

    Anderson's two-sample statistic is n m / (n + m) times this. `Energy` is the same difference squared and
    integrated over the line.

    Parameters
    ----------
    bandwidth : float, optional
        As in `KolmogorovSmirnov`.

    Examples
    --------
    >>> import numpy as np
    >>> from princdiff.data.labels import Labels
    >>> from princdiff.divergences import CramerVonMises
    >>> labels = Labels([[0, 0, 1, 1]], 2)
    >>> CramerVonMises().report(np.array([[0.0, 1.0, 2.0, 3.0]]), labels)
    array([0.375])
    """

    name = "cramer_von_mises"

    def compare(self, first: Floats, second: Floats, share: Floats, step: float) -> PairResult:
        """Integral of (F - G) ** 2 against the density of both groups together."""
        difference = _integrated(first - second, step)
        pooled = share * first + (1.0 - share) * second
        squares = difference**2
        value = step * np.einsum("cg,cg->c", squares, pooled)
        # A mass at t raises F everywhere beyond t.
        beyond = _integrated((2.0 * difference * pooled)[:, ::-1], step)[:, ::-1]
        return value, beyond + share * squares, (1.0 - share) * squares - beyond

    def _exact(self, difference: NDArray[np.float64], masses: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.einsum("cn,cn->c", difference**2, masses)


def _integrated(density: NDArray[np.float64], step: float) -> NDArray[np.float64]:
    """Integral up to each grid point, by the trapezoidal rule."""
    return step * (np.cumsum(density, axis=1) - 0.5 * density)


def _tie_ends(fresh: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Last position of the equal values that each position belongs to."""
    size = fresh.shape[1]
    last = np.ones(fresh.shape, dtype=bool)
    last[:, :-1] = fresh[:, 1:]
    positions = np.where(last, np.arange(size), size - 1)
    return np.minimum.accumulate(positions[:, ::-1], axis=1)[:, ::-1]
