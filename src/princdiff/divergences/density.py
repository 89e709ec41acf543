"""f-divergences between Gaussian kernel density estimates of the projections.

The density ratio does not depend on the scale of measurement, so neither do these: the bandwidth is a
multiple of the standard deviation of all projected rows, and the value compares shapes. One grid serves
all columns of a batch (see `grid`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from princdiff.data.labels import Labels
from princdiff.data.shared_docs import with_shared_docs
from princdiff.divergences.density_grid import Binned, make_grid
from princdiff.divergences.sorting import Workspace, scratch
from princdiff.divergences.standardise import group_pairs, standardise

_BLOCK_ELEMENTS = 1 << 17
# Fourier rounding leaves densities near 1e-16 where they are 0; logarithms and roots begin above that.
_ROUNDING = 1e-13
_EVEN_SHARE = 1e-3

Floats = NDArray[np.float64]
PairResult = tuple[Floats, Floats, Floats]


class GridDivergence:
    """A functional of density estimates; what is specific is in `compare`.

    Parameters
    ----------
    bandwidth : float, optional
        Standard deviation of the Gaussian kernel, in standard deviations of all projected rows, the same
        for all groups. Default: Scott's rule for the smallest group, ``n ** exponent``.
    """

    name = ""
    degree = 0.0
    _exponent = -1 / 5
    _grid_density = 5.0

    def __init__(self, bandwidth: float | None = None) -> None:
        if bandwidth is not None and not (np.isfinite(bandwidth) and bandwidth > 0):
            raise ValueError(
                "bandwidth must be a positive number, in standard deviations of the projected rows, "
                f"or None for a rule: got {bandwidth!r}"
            )
        self.bandwidth = None if bandwidth is None else float(bandwidth)

    def __repr__(self) -> str:
        given = "" if self.bandwidth is None else f"bandwidth={self.bandwidth:g}"
        return f"{type(self).__name__}({given})"

    def compare(self, first: Floats, second: Floats, share: Floats, step: float) -> PairResult:
        """Compare two groups' densities on a grid.

        Parameters
        ----------
        first, second : arrays of shape (n_columns, size)
            Densities; each sums to 1 / step. May be slightly negative by rounding.
        share : array of shape (n_columns or 1, 1)
            Proportion of the first group in the two.
        step : float
            Distance between grid points.

        Returns
        -------
        value : array of shape (n_columns,)
        by_first, by_second : arrays of shape (n_columns, size)
            Functional derivatives: a change of the first density changes the value by the integral of the
            product of both.
        """
        raise NotImplementedError

    def bandwidth_for(self, labels: Labels) -> float:
        """Bandwidth used, in standard deviations of the projected rows."""
        if self.bandwidth is not None:
            return self.bandwidth
        smallest = float(labels.group_sizes.min())
        if labels.weights is not None:
            # Kish's effective number of rows, as in scipy.stats.gaussian_kde.
            effective = labels.weights.sum() ** 2 / (labels.weights**2).sum()
            smallest = max(1.0, smallest * effective / labels.n_rows)
        return smallest**self._exponent

    def value(self, projections: NDArray, labels: Labels) -> NDArray[np.float64]:
        """Values only, shape (n_columns,)."""
        return self._evaluate(projections, labels, scratch(), None)

    def value_and_slope(
        self, projections: NDArray, labels: Labels, workspace: Workspace
    ) -> tuple[NDArray[np.float64], NDArray]:
        """Values, shape (n_columns,), and slopes, shape (n_columns, n_rows)."""
        slopes = workspace.array("slopes", projections.shape, projections.dtype)
        return self._evaluate(projections, labels, workspace, slopes), slopes

    def _evaluate(
        self, projections: NDArray, labels: Labels, workspace: Workspace, slopes: NDArray | None
    ) -> NDArray[np.float64]:
        """Values, and slopes where there is room for them, in blocks of columns that fit the cache."""
        grid = make_grid(self.bandwidth_for(labels), self._grid_density)
        block = max(1, _BLOCK_ELEMENTS // max(labels.n_rows, labels.n_groups * grid.size))
        values = np.empty(len(projections))
        for start in range(0, len(projections), block):
            own = slice(start, min(start + block, len(projections)))
            few = labels.take(np.arange(own.start, own.stop))
            standardised = standardise(projections[own], few, workspace)
            binned = Binned(standardised.values, few, grid, workspace)
            values[own], derivative = self._between_groups(binned, few, workspace, slopes is not None)
            if slopes is not None:
                # Smoothing is its own adjoint.
                part = binned.slopes(grid.smooth(derivative, workspace))
                slopes[own] = standardised.pull_back(part)
        return values

    def _between_groups(
        self, binned: Binned, labels: Labels, workspace: Workspace, slopes: bool
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Average over pairs, and its derivative by the groups' smoothed masses where wanted."""
        grid = binned.grid
        densities = grid.smooth(binned.masses, workspace)
        densities /= grid.step
        values = np.zeros(len(densities))
        derivative = workspace.array("derivative", densities.shape, np.float64)
        shares = labels.proportions
        if labels.n_groups == 2:
            compared = self.compare(densities[:, 0], densities[:, 1], shares[:, :1], grid.step)
            if slopes:
                derivative[:, 0], derivative[:, 1] = compared[1:]
            return compared[0], derivative
        derivative.fill(0.0)
        for g, h, weight in group_pairs(labels):
            share = (shares[:, g] / (shares[:, g] + shares[:, h]))[:, None]
            value, by_first, by_second = self.compare(densities[:, g], densities[:, h], share, grid.step)
            values += weight * value
            if slopes:
                derivative[:, g] += weight[:, None] * by_first
                derivative[:, h] += weight[:, None] * by_second
        return values, derivative


@with_shared_docs
class KullbackLeibler(GridDivergence):
    """Kullback-Leibler divergence of the second group's density from the first's: the mean log ratio.

    A thousandth of each density is spread evenly over the grid, since an estimate from some hundred rows
    cannot tell a density of 1e-4 from 1e-40; this bounds the log ratio, and a stray row with it.

    Parameters
    ----------
    {bandwidth}

    Examples
    --------
    >>> import numpy as np
    >>> from princdiff.data.labels import Labels
    >>> from princdiff.divergences import KullbackLeibler
    >>> rng = np.random.default_rng(0)
    >>> rows = np.concatenate([rng.normal(size=4000), rng.normal(size=4000) + 1.0])
    >>> value = KullbackLeibler(0.1).value(rows[None], Labels(np.repeat([0, 1], 4000), 2))
    >>> bool(abs(value[0] - 0.5) < 0.05)  # of two normal distributions one standard deviation apart
    True
    """

    name = "kullback_leibler"

    def compare(self, first: Floats, second: Floats, share: Floats, step: float) -> PairResult:
        """Integral of p log(p / q)."""
        keep = 1.0 - _EVEN_SHARE
        even = _EVEN_SHARE / (step * first.shape[1])
        p, q = keep * first + even, keep * second + even
        ratio = p / q
        logarithm = np.log(ratio)
        value = step * np.einsum("cg,cg->c", p, logarithm)
        return value, keep * logarithm, -keep * ratio


@with_shared_docs
class ReverseKullbackLeibler(KullbackLeibler):
    """Kullback-Leibler divergence of the first group's density from the second's; else as the other.

    Parameters
    ----------
    {bandwidth}

    Examples
    --------
    >>> import numpy as np
    >>> from princdiff.data.labels import Labels
    >>> from princdiff.divergences import KullbackLeibler, ReverseKullbackLeibler
    >>> rows = np.array([[0.0, 1.0, 2.0, 2.0, 2.1, 2.2]])
    >>> first, second = Labels([[0, 0, 0, 1, 1, 1]], 2), Labels([[1, 1, 1, 0, 0, 0]], 2)
    >>> value = ReverseKullbackLeibler().value(rows, first)
    >>> bool(np.allclose(value, KullbackLeibler().value(rows, second)))
    True
    """

    name = "reverse_kullback_leibler"

    def compare(self, first: Floats, second: Floats, share: Floats, step: float) -> PairResult:
        """Integral of q log(q / p)."""
        value, by_second, by_first = super().compare(second, first, share, step)
        return value, by_first, by_second


@with_shared_docs
class JensenShannon(GridDivergence):
    """Jensen-Shannon divergence: mean Kullback-Leibler divergence from the average of the two densities.

    Between 0 and log 2; the square of `scipy.spatial.distance.jensenshannon`.

    Parameters
    ----------
    {bandwidth}

    Examples
    --------
    >>> import numpy as np
    >>> from princdiff.data.labels import Labels
    >>> from princdiff.divergences import JensenShannon
    >>> apart = np.array([[0.0, 0.1, 0.2, 9.0, 9.1, 9.2]])
    >>> JensenShannon(0.1).value(apart, Labels([[0, 0, 0, 1, 1, 1]], 2))
    array([0.6931])
    """

    name = "jensen_shannon"

    def compare(self, first: Floats, second: Floats, share: Floats, step: float) -> PairResult:
        """Half the integrals of p log(p / m) and q log(q / m), m being the average."""
        p, q = np.maximum(first, _ROUNDING), np.maximum(second, _ROUNDING)
        middle = 0.5 * (p + q)
        by_first, by_second = 0.5 * np.log(p / middle), 0.5 * np.log(q / middle)
        value = step * (np.einsum("cg,cg->c", p, by_first) + np.einsum("cg,cg->c", q, by_second))
        return np.maximum(value, 0.0), by_first, by_second


@with_shared_docs
class Hellinger(GridDivergence):
    """Squared Hellinger distance: half the integrated squared difference of the roots of the densities.

    Between 0 and 1.

    Parameters
    ----------
    {bandwidth}

    Examples
    --------
    >>> import numpy as np
    >>> from princdiff.data.labels import Labels
    >>> from princdiff.divergences import Hellinger
    >>> apart = np.array([[0.0, 0.1, 0.2, 9.0, 9.1, 9.2]])
    >>> Hellinger(0.1).value(apart, Labels([[0, 0, 0, 1, 1, 1]], 2))
    array([1.])
    """

    name = "hellinger"

    def compare(self, first: Floats, second: Floats, share: Floats, step: float) -> PairResult:
        """Half the integral of (sqrt(p) - sqrt(q)) ** 2."""
        p, q = np.sqrt(np.maximum(first, _ROUNDING)), np.sqrt(np.maximum(second, _ROUNDING))
        difference = p - q
        value = 0.5 * step * np.einsum("cg,cg->c", difference, difference)
        return value, 0.5 * difference / p, -0.5 * difference / q


@with_shared_docs
class TotalVariation(GridDivergence):
    """Total variation distance: half the integrated absolute difference of the densities.

    Between 0 and 1: the largest difference in probability that the groups give to any set.

    Parameters
    ----------
    {bandwidth}

    Examples
    --------
    >>> import numpy as np
    >>> from princdiff.data.labels import Labels
    >>> from princdiff.divergences import TotalVariation
    >>> apart = np.array([[0.0, 0.1, 0.2, 9.0, 9.1, 9.2]])
    >>> TotalVariation(0.1).value(apart, Labels([[0, 0, 0, 1, 1, 1]], 2))
    array([1.])
    """

    name = "total_variation"

    def compare(self, first: Floats, second: Floats, share: Floats, step: float) -> PairResult:
        """Half the integral of abs(p - q), exact for the straight line between grid points.

        Between points of opposite sign the line crosses zero, and a sum of absolute values is too large.
        """
        difference = first - second
        left, right = difference[:, :-1], difference[:, 1:]
        sign = np.sign(difference)
        # Per cell: the mean absolute value, and what the crossing takes off it, |ab| / (|a| + |b|).
        crossing = np.minimum(left * right, 0.0)
        total = np.abs(difference)
        width = total[:, :-1] + total[:, 1:]
        inverse = np.divide(1.0, width, out=np.zeros_like(width), where=crossing < 0)
        excess = crossing * inverse
        value = 0.5 * step * (total.sum(axis=1) + excess.sum(axis=1))
        by_first = 0.5 * sign
        # Derivative of ab / (|a| + |b|) by a, where the signs differ: -sign(a) * (b / (|a| + |b|)) ** 2.
        by_first[:, :-1] -= 0.5 * sign[:, :-1] * (right * inverse) ** 2
        by_first[:, 1:] -= 0.5 * sign[:, 1:] * (left * inverse) ** 2
        return value, by_first, -by_first
