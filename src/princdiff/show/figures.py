"""What pictures show, decided once: curves, bins, what is too far out; matplotlib and Vega only draw."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:
    from princdiff.result.parts import GroupReference

MOST_BARS = 4
"""With more groups, points stand in for bars: bars side by side would be hairlines."""
_GRID_POINTS = 161
# Beyond so many rows their quantiles say as much.
_MOST_POINTS = 1000
_FEWEST_BINS, _MOST_BINS = 8, 24
# Beyond the permutations by this many times their range, the observed statistic is pointed to, not drawn.
_FAR = 1.5
# A bar of what may be chance ends here, beside the largest of them.
_CHANCE_ROOM = 1.5


def curves(
    points: Sequence[NDArray[np.float64]], rows: Sequence[int]
) -> tuple[NDArray[np.float64], list[NDArray[np.float64]]]:
    """The groups' densities on a common grid.

    Parameters
    ----------
    points : list of arrays
        Values of each group, or their quantiles at evenly spaced levels.
    rows : list of int
        Rows in each group: few rows are smoothed more.

    Returns
    -------
    grid : array of shape (n_points,)
        What is drawn, without outliers that would flatten the rest.
    densities : list of arrays of shape (n_points,)

    Examples
    --------
    >>> grid, (density,) = curves([np.arange(100.0)], [100])
    >>> bool(abs(np.trapezoid(density, grid) - 1) < 0.01)
    True
    """
    points = [_thinned(np.sort(own)) for own in points]
    grid = np.linspace(*visible_range(points, rows), _GRID_POINTS)
    return grid, [_density(own, count, grid) for own, count in zip(points, rows, strict=True)]


def _thinned(points: NDArray[np.float64]) -> NDArray[np.float64]:
    if len(points) <= _MOST_POINTS:
        return points
    return np.quantile(points, (np.arange(_MOST_POINTS) + 0.5) / _MOST_POINTS)


def visible_range(points: Sequence[NDArray[np.float64]], rows: Sequence[int]) -> tuple[float, float]:
    """Everything, unless far outliers would flatten the rest."""
    together = np.concatenate(points)
    low, high = float(together.min()), float(together.max())
    inner = [np.quantile(own, [0.01, 0.99]) for own in points]
    near_low, near_high = min(float(pair[0]) for pair in inner), max(float(pair[1]) for pair in inner)
    if high - low > 2.5 * (near_high - near_low) > 0:
        low, high = max(low, near_low), min(high, near_high)
    # Smooth curves reach beyond the outermost rows, and must not end in mid-air.
    beyond = max(_width(own, count) for own, count in zip(points, rows, strict=True))
    margin = max(0.06 * (high - low), min(3 * beyond, 0.3 * (high - low))) or 0.5
    return low - margin, high + margin


def _width(points: NDArray[np.float64], rows: int) -> float:
    """Width of the smoothing kernel, by Silverman's rule.

    Quantiles carry no sampling noise of their own, so it follows the rows behind them.
    """
    spread = float(points.std())
    middle = float(np.subtract(*np.quantile(points, [0.75, 0.25]))) / 1.34
    # Where most rows have one value it is zero, and the peak as narrow as the picture allows.
    spread = min(spread, middle)
    return float(0.9 * spread * min(max(rows, 2), 2000) ** -0.2)


def _density(points: NDArray[np.float64], rows: int, grid: NDArray[np.float64]) -> NDArray[np.float64]:
    """Gaussian kernel density; a group without spread is a narrow peak."""
    width = max(_width(points, rows), float(np.ptp(grid)) / 80)
    offsets = (grid[:, None] - points) / width
    return np.exp(-0.5 * offsets**2).mean(axis=1) / (width * np.sqrt(2 * np.pi))


def null_edges(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Bounds of the bins in which the statistics of the permutations are counted."""
    low, high = float(values.min()), float(values.max())
    if high - low <= 1e-9 * max(1.0, abs(high)):
        low, high = low - 0.5, high + 0.5
    return np.linspace(low, high, int(np.clip(np.sqrt(len(values)) * 1.5, _FEWEST_BINS, _MOST_BINS)) + 1)


def bar_end(effects: ArrayLike, selected: ArrayLike) -> float:
    """Size at which a bar is full: the largest that was shown; what may be chance never fills its bar.

    Examples
    --------
    >>> bar_end([0.8, 0.2], [True, False]), round(bar_end([0.2, 0.1], [False, False]), 2)
    (0.8, 0.3)
    """
    sizes, shown = np.nan_to_num(np.asarray(effects, dtype=float)), np.asarray(selected, dtype=bool)
    largest, chance = sizes[shown].max(initial=0.0), sizes[~shown].max(initial=0.0)
    return float(max(largest, _CHANCE_ROOM * chance)) or 1.0


def centred(groups: Sequence[GroupReference]) -> list[NDArray[np.float64]]:
    """Quantiles of the scores of each group, less the mean score of all rows."""
    rows = [float(group.rows) for group in groups]
    middle = np.average([group.quantiles.mean() for group in groups], weights=rows)
    return [group.quantiles - middle for group in groups]


def upper_group(component: dict[str, GroupReference]) -> int | None:
    """Of two groups the one with the higher scores; with more, weights belong to none."""
    medians = [float(np.median(group.quantiles)) for group in component.values()]
    return int(np.argmax(medians)) if len(medians) == 2 else None


def is_far(values: NDArray[np.float64], observed: float) -> bool:
    """Whether the observed statistic lies too far beyond the permutations to be drawn to scale."""
    spread = float(np.ptp(values))
    return bool(spread > 0 and observed > values.max() + _FAR * spread)
