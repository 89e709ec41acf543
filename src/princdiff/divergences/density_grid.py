"""Kernel density estimates of many columns at once, on a grid.

Rows are spread over the three nearest grid points by a quadratic spline, and the grid is smoothed by a
Fourier transform, which also divides the spline out: what remains is the Gaussian kernel up to aliasing
(relative errors of 1e-5 to 1e-4). The estimate is a smooth function of every row's position, and its
derivative is read back from the grid exactly. The cost is in proportion to rows + grid points.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy.fft import next_fast_len

from princdiff.data.labels import Labels
from princdiff.divergences.sorting import Workspace

REACH = 6.0
"""Standardised values beyond this are moved to it: the grid must end somewhere."""

_MARGIN = 4.0
_LARGEST = 1 << 15


class DensityGrid(NamedTuple):
    """Equally spaced points for standardised values, and a Gaussian smoother on them.

    Attributes
    ----------
    size : int
        Number of points; point ``j`` is at ``(j - size // 2) * step``.
    step : float
        Distance between points.
    multiplier : array of shape (size // 2 + 1,)
        Fourier transform of the kernel over that of the binning spline.
    """

    size: int
    step: float
    multiplier: NDArray[np.float64]

    @property
    def points(self) -> NDArray[np.float64]:
        """Where the grid points are, shape (size,)."""
        return self.step * np.arange(-(self.size // 2), self.size - self.size // 2, dtype=np.float64)

    def smooth(self, masses: NDArray[np.float64], workspace: Workspace) -> NDArray[np.float64]:
        """Convolve the last axis with the kernel, in place; sums are kept."""
        shape = (*masses.shape[:-1], len(self.multiplier))
        transformed = workspace.array("transformed", shape, np.complex128)
        np.fft.rfft(masses, axis=-1, out=transformed)
        transformed *= self.multiplier
        return np.fft.irfft(transformed, n=self.size, axis=-1, out=masses)


@lru_cache(maxsize=64)
def make_grid(bandwidth: float, density: float = 5.0) -> DensityGrid:
    """Grid for a bandwidth in standard deviations, with room for the kernel at both ends.

    Parameters
    ----------
    bandwidth : float
        Standard deviation of the kernel.
    density : float
        Grid points per bandwidth, at least.

    Returns
    -------
    DensityGrid

    Examples
    --------
    >>> grid = make_grid(0.25)
    >>> grid.size, round(0.25 / grid.step, 1)
    (288, 5.1)
    """
    width = 2 * (REACH + _MARGIN * bandwidth)
    wanted = int(np.ceil(width * density / bandwidth))
    if wanted > _LARGEST:
        raise ValueError(
            f"bandwidth {bandwidth:g} is too small for a grid: it is in standard deviations of the "
            f"projections and must be at least {width * density / _LARGEST:.1g}"
        )
    size = int(next_fast_len(wanted, real=True))
    size += size % 2
    step = width / size
    frequency = np.fft.rfftfreq(size)
    kernel = np.exp(-0.5 * (2 * np.pi * frequency * bandwidth / step) ** 2)
    return DensityGrid(size, step, kernel / np.sinc(frequency) ** 3)


class Binned:
    """Rows of every column on a grid, group by group.

    Parameters
    ----------
    values : array of shape (n_columns, n_rows)
        Standardised projections.
    labels : Labels
        Their groups and weights.
    grid : DensityGrid
        Where to put them.
    workspace : Workspace
        Buffers to reuse; the masses are in one of them.

    Attributes
    ----------
    masses : array of shape (n_columns, n_groups, grid.size)
        Histograms of the groups, each with sum 1.

    Examples
    --------
    >>> binned = Binned(np.array([[-2.0, 0.0, 1.0]]), Labels([[0, 1, 1]], 2), make_grid(0.5), Workspace())
    >>> binned.masses @ binned.grid.points  # means are kept
    array([[-2. ,  0.5]])
    """

    def __init__(self, values: NDArray, labels: Labels, grid: DensityGrid, workspace: Workspace) -> None:
        self.grid, self._workspace = grid, workspace
        self._outside = _outside(values)
        self._weights = labels.weights
        self._totals = _group_totals(labels)
        # Held-out rows get a histogram of their own, which nobody reads.
        n_slots = labels.n_groups + bool(labels.group_sizes.sum() < labels.n_rows)
        self._shape = (len(values), n_slots, grid.size)
        self._offset = self._buffer("offset", values.shape, values.dtype)
        self._index = self._buffer("index", values.shape, np.intp)
        self._locate(values)
        codes = labels.codes if labels.shared else labels.codes[labels.columns]
        slots = self._buffer("slots", codes.shape, np.intp)
        np.multiply(np.minimum(codes, labels.n_groups), np.intp(grid.size), out=slots, dtype=np.intp)
        self._index += slots
        self._index += (np.arange(len(values)) * (n_slots * grid.size))[:, None]
        self.masses = self._histograms(labels.n_groups)

    def _buffer(self, name: str, shape: tuple[int, ...], dtype: DTypeLike) -> NDArray:
        return self._workspace.array(f"binned {name}", shape, dtype)

    def _locate(self, values: NDArray) -> None:
        """Nearest grid point of each row, and how far beyond it the row is, in steps."""
        position, nearest = self._offset, self._buffer("nearest", values.shape, values.dtype)
        np.multiply(values, values.dtype.type(1.0 / self.grid.step), out=position)
        if self._outside is not None:
            np.clip(position, -REACH / self.grid.step, REACH / self.grid.step, out=position)
        np.rint(position, out=nearest)
        position -= nearest
        np.copyto(self._index, nearest, casting="unsafe")
        self._index += self.grid.size // 2

    def _count(self, values: NDArray | None) -> NDArray:
        """Sums over the rows nearest to each grid point, of 1 or of some values, times the rows' weights."""
        if self._weights is not None:
            factors = np.broadcast_to(self._weights, self._index.shape)
            values = factors if values is None else values * factors
        weights = None if values is None else values.reshape(-1)
        counts = np.bincount(self._index.reshape(-1), weights, minlength=math.prod(self._shape))
        return counts.reshape(self._shape)

    def _histograms(self, n_groups: int) -> NDArray[np.float64]:
        """Spread by the quadratic spline: its weights are polynomials, so sums of powers suffice."""
        power = self._buffer("power", self._offset.shape, np.float64)
        np.multiply(self._offset, 0.5, out=power)
        first = self._count(power)[:, :n_groups]
        power *= self._offset
        second, count = self._count(power)[:, :n_groups], self._count(None)[:, :n_groups]
        # A row at distance f beyond its nearest point gives 1/8 + f**2 / 2 +- f / 2 to the two beside it.
        outer, result = (self._buffer(name, count.shape, np.float64) for name in ("outer", "masses"))
        np.multiply(count, 0.125, out=outer)
        outer += second
        np.subtract(count, outer, out=result)
        result -= outer
        # The ends of the grid are empty: nothing is lost by leaving the outermost points alone.
        result[..., 1:] += outer[..., :-1]
        result[..., :-1] += outer[..., 1:]
        result[..., 1:] += first[..., :-1]
        result[..., :-1] -= first[..., 1:]
        result /= self._totals
        return result

    def slopes(self, derivative: NDArray[np.float64]) -> NDArray:
        """Derivative by the standardised rows from that by the masses.

        Parameters
        ----------
        derivative : array of shape (n_columns, n_groups, grid.size)
            Derivative of a function of ``masses``; used up.

        Returns
        -------
        array of shape (n_columns, n_rows)
        """
        dtype = self._offset.dtype
        n_groups = derivative.shape[1]
        scaled = np.divide(derivative, self._totals * (2.0 * self.grid.step), out=derivative)
        rise = np.subtract(scaled[..., 1:], scaled[..., :-1])
        # Derivative of the spline: linear between the points, so two numbers per point suffice.
        level, change = (self._buffer(name, self._shape, dtype) for name in ("level", "change"))
        for target, combine in ((level, np.add), (change, np.subtract)):
            combine(rise[..., 1:], rise[..., :-1], out=target[:, :n_groups, 1:-1], casting="same_kind")
            target[..., 0] = target[..., -1] = 0
            target[:, n_groups:] = 0
        change *= 2
        result, part = (self._buffer(name, self._index.shape, dtype) for name in ("slopes", "part"))
        np.take(change.reshape(-1), self._index, out=result, mode="clip")
        result *= self._offset
        np.take(level.reshape(-1), self._index, out=part, mode="clip")
        result += part
        if self._weights is not None:
            result *= self._weights.astype(dtype)
        if self._outside is not None:
            result[self._outside] = 0
        return result


def _outside(values: NDArray) -> NDArray[np.bool_] | None:
    """Rows beyond the reach of the grid, None if there are none."""
    if values.size == 0 or max(values.max(), -values.min()) <= REACH:
        return None
    return np.abs(values) > REACH


def _group_totals(labels: Labels) -> NDArray[np.float64]:
    """Total weight of each group, broadcastable to (n_columns, n_groups, 1)."""
    if labels.weights is None:
        return labels.group_sizes[None, :, None].astype(np.float64)
    totals = [(labels.codes == group) @ labels.weights for group in range(labels.n_groups)]
    return np.stack(totals, axis=1)[labels.columns][:, :, None]
