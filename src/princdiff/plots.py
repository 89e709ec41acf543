"""Pictures: each function takes and returns matplotlib Axes."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike, NDArray

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""One colour a group, distinguishable by colour-blind readers (Okabe and Ito)."""

_GRID_POINTS = 400
_LONGEST_NAME = 32


def _axes(ax: Axes | None, size: tuple[float, float]) -> Axes:
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=size, layout="constrained")[1]


def projection(
    values: ArrayLike, groups: ArrayLike, *, ax: Axes | None = None, xlabel: str = "projection"
) -> Axes:
    """Draw the projected distributions of the groups as smooth densities over the rows themselves.

    Parameters
    ----------
    values : array of shape (n_rows,)
        Projected rows, as `PDA.transform` gives them.
    groups : array of shape (n_rows,)
        Group of each row.
    ax : Axes, optional
        Where to draw.
    xlabel : str
        What the axis shows.

    Returns
    -------
    Axes

    Examples
    --------
    >>> ax = projection(np.arange(10.0), np.repeat(["a", "b"], 5))
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['a (5 rows)', 'b (5 rows)']
    """
    ax = _axes(ax, (6.4, 3.6))
    values, groups = np.asarray(values, dtype=float).ravel(), np.asarray(groups)
    names = np.unique(groups)
    margin = 0.08 * (np.ptp(values) or 1.0)
    grid = np.linspace(values.min() - margin, values.max() + margin, _GRID_POINTS)
    tallest = 0.0
    for index, name in enumerate(names):
        members = values[groups == name]
        density = _density(members, grid)
        tallest = max(tallest, float(density.max()))
        colour = COLOURS[index % len(COLOURS)]
        ax.fill_between(grid, density, color=colour, alpha=0.25, linewidth=0)
        ax.plot(grid, density, color=colour, label=f"{name} ({len(members)} rows)")
    for index, name in enumerate(names):
        level = -tallest * 0.045 * (index + 1)
        members = values[groups == name]
        colour = COLOURS[index % len(COLOURS)]
        ax.plot(members, np.full(len(members), level), "|", color=colour, alpha=0.5, markersize=5)
    ax.set_ylim(-tallest * 0.045 * (len(names) + 1), tallest * 1.08)
    ax.set_xlabel(xlabel)
    ax.set_yticks([])
    ax.spines[["left", "top", "right"]].set_visible(False)
    ax.legend(frameon=False)
    return ax


def _density(members: NDArray[np.float64], grid: NDArray[np.float64]) -> NDArray[np.float64]:
    """Gaussian kernel density on a grid; a group without spread is drawn as a narrow peak."""
    from scipy.stats import gaussian_kde

    if len(members) > 1 and np.ptp(members) > 1e-9 * np.ptp(grid):
        return gaussian_kde(members)(grid)
    width = np.ptp(grid) / 100
    return np.exp(-0.5 * ((grid - members.mean()) / width) ** 2) / (width * np.sqrt(2 * np.pi))


def weights(
    direction: ArrayLike,
    names: ArrayLike | None = None,
    *,
    shares: ArrayLike | None = None,
    top: int = 15,
    ax: Axes | None = None,
) -> Axes:
    """Draw the largest weights of a direction, with sign, and each feature's share of the difference.

    Parameters
    ----------
    direction : array of shape (n_features,)
        Weights, as a row of ``components_``.
    names : array of shape (n_features,), optional
        Feature names.
    shares : array of shape (n_features,), optional
        Share of each feature, written beside its bar.
    top : int
        How many features.
    ax : Axes, optional
        Where to draw.

    Returns
    -------
    Axes

    Examples
    --------
    >>> ax = weights([0.6, 0.0, -0.8], ["a", "b", "c"])
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['c', 'a']
    """
    direction = np.asarray(direction, dtype=float)
    labels: Any = [f"x{j}" for j in range(len(direction))] if names is None else names
    order = np.argsort(-np.abs(direction), kind="stable")[:top]
    order = order[direction[order] != 0]
    ax = _axes(ax, (6.4, 0.8 + 0.28 * max(len(order), 3)))
    rows = np.arange(len(order))
    colours = [COLOURS[0] if direction[j] > 0 else COLOURS[1] for j in order]
    ax.barh(rows, direction[order], color=colours, height=0.7)
    if shares is not None:
        _write_shares(ax, rows, direction[order], np.asarray(shares)[order])
    ax.set_yticks(rows, [_shortened(str(labels[j])) for j in order])
    ax.invert_yaxis()
    ax.axvline(0, color="0.3", linewidth=0.8)
    ax.set_xlabel("weight" if shares is None else "weight (and share of the difference)")
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.tick_params(axis="y", length=0)
    return ax


def _write_shares(ax: Axes, rows: NDArray, bars: NDArray, shares: NDArray) -> None:
    longest = np.abs(bars).max(initial=0.0) or 1.0
    for row, bar, share in zip(rows, bars, shares, strict=True):
        ax.annotate(
            f"{100 * share:.0f} %",
            (bar, row),
            xytext=(4 if bar >= 0 else -4, 0),
            textcoords="offset points",
            va="center",
            ha="left" if bar >= 0 else "right",
            fontsize="small",
        )
    # Room for the figures beyond the longest bars.
    low, high = min(bars.min(initial=0.0), 0.0), max(bars.max(initial=0.0), 0.0)
    ax.set_xlim(low - 0.22 * longest * (low < 0), high + 0.22 * longest * (high > 0))


def _shortened(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME - 1] + "…"
