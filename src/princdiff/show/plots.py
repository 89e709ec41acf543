"""Pictures: each function takes and returns matplotlib Axes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike, NDArray

from princdiff.data.shared_docs import with_shared_docs
from princdiff.show import figures
from princdiff.show.plot_style import (
    COLOURS,
    LONGEST_GROUP,
    add_legend,
    fill_opacity,
    group_style,
    new_axes,
    set_title,
    shortened,
)

# Positive and negative weights where there are more than two groups to which they could belong.
_UNSIDED = ("0.35", "0.7")


@with_shared_docs
def projection(
    values: ArrayLike,
    groups: ArrayLike,
    *,
    order: ArrayLike | None = None,
    ax: Axes | None = None,
    xlabel: str = "projection",
) -> Axes:
    """Draw the projected distributions of the groups as smooth densities over the rows themselves.

    Parameters
    ----------
    values : array of shape (n_rows,)
        Projected rows, as `PDA.transform` gives them.
    groups : array of shape (n_rows,)
        Group of each row.
    order : array of shape (n_groups,), optional
        The groups in the order of their colours; default sorted.
    {ax}
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
    ax = new_axes(ax, (6.4, 3.6))
    values, groups = np.asarray(values, dtype=float).ravel(), np.asarray(groups)
    names = np.unique(groups) if order is None else np.asarray(order)
    members_of = [values[groups == name] for name in names]
    labels = [
        f"{shortened(str(name), LONGEST_GROUP)} ({len(members)} rows)"
        for name, members in zip(names, members_of, strict=True)
    ]
    tallest = _draw_curves(ax, members_of, [len(members) for members in members_of], labels)
    for index, members in enumerate(members_of):
        level = -tallest * 0.045 * (index + 1)
        colour = COLOURS[index % len(COLOURS)]
        ax.plot(members, np.full(len(members), level), "|", color=colour, alpha=0.5, markersize=5)
    ax.set_ylim(-tallest * 0.045 * (len(names) + 1), 1.08 * tallest)
    ax.set_xlabel(xlabel)
    ax.set_yticks([])
    ax.spines[["left", "top", "right"]].set_visible(False)
    add_legend(ax)
    return ax


@with_shared_docs
def weights(
    direction: ArrayLike,
    names: ArrayLike | None = None,
    *,
    shares: ArrayLike | None = None,
    top: int = 15,
    upper: int | None = 1,
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
    upper : {{0, 1}} or None, default=1
        Which of two groups has the higher scores: positive weights have its colour. None: more than two.
    {ax}

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
    ax = new_axes(ax, (6.4, 0.8 + 0.28 * max(len(order), 3)))
    rows = np.arange(len(order))
    pair = _UNSIDED if upper is None else (COLOURS[upper], COLOURS[1 - upper])
    colours = [pair[0] if direction[j] > 0 else pair[1] for j in order]
    ax.barh(rows, direction[order], color=colours, height=0.7)
    if shares is not None:
        _write_shares(ax, rows, direction[order], np.asarray(shares)[order])
    ax.set_yticks(rows, [shortened(str(labels[j])) for j in order])
    ax.invert_yaxis()
    ax.axvline(0, color="0.3", linewidth=0.8)
    ax.set_xlabel("weight" if shares is None else "weight (and share of the difference)")
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.tick_params(axis="y", length=0)
    return ax


def _write_shares(ax: Axes, rows: NDArray, bars: NDArray, shares: NDArray) -> None:
    longest = np.abs(bars).max(initial=0.0) or 1.0
    # Of hundreds of features each has little.
    decimals = 0 if np.abs(shares).max(initial=0.0) >= 0.05 else 1
    for row, bar, share in zip(rows, bars, shares, strict=True):
        ax.annotate(
            f"{100 * share:.{decimals}f} %",
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


@with_shared_docs
def quantile_densities(
    quantiles: Mapping[str, NDArray[np.float64]],
    levels: NDArray[np.float64],
    *,
    rows: Mapping[str, int] | None = None,
    title: str = "",
    ax: Axes | None = None,
) -> Axes:
    """Draw densities made from the groups' quantile functions, their quantile differences shaded below.

    Parameters
    ----------
    quantiles : dict of arrays of shape (n_levels,)
        Quantiles of each group's projection.
    levels : array of shape (n_levels,)
        Probabilities at which they were taken.
    rows : dict of int, optional
        Rows of each group: few rows are smoothed more.
    title : str
        What the picture shows.
    {ax}

    Returns
    -------
    Axes

    Examples
    --------
    >>> levels = np.linspace(0.05, 0.95, 19)
    >>> ax = quantile_densities({"a": levels, "b": levels + 1}, levels)
    >>> len(ax.lines) >= 2
    True
    """
    ax = new_axes(ax, (6.4, 3.6))
    labels = [shortened(str(name), LONGEST_GROUP) for name in quantiles]
    counts = [len(levels) if rows is None else rows[name] for name in quantiles]
    tallest = _draw_curves(ax, list(quantiles.values()), counts, labels)
    ax.set_xlabel("projection on the direction found")
    if len(quantiles) == 2:
        _draw_transport(ax, list(quantiles.values()), levels, tallest)
        ax.set_xlabel("projection (grey: differences of quantiles)")
    ax.set_yticks([])
    ax.spines[["left", "top", "right"]].set_visible(False)
    add_legend(ax)
    set_title(ax, title)
    return ax


def _draw_curves(ax: Axes, points: list[NDArray], rows: list[int], labels: list[str]) -> float:
    """Draw the groups' densities; how high the highest is."""
    grid, densities = figures.curves(points, rows)
    for index, (density, label) in enumerate(zip(densities, labels, strict=True)):
        look = group_style(index)
        ax.fill_between(grid, density, color=look["color"], alpha=fill_opacity(len(labels)), linewidth=0)
        ax.plot(grid, density, **look, label=label)
    return max(float(density.max()) for density in densities)


def _draw_transport(ax: Axes, pair: list[NDArray], levels: NDArray[np.float64], tallest: float) -> None:
    """Below the densities, the way each quantile of one group moves to become the other's."""
    depth = -0.28 * tallest
    rows = depth * (0.25 + 0.75 * levels)
    ax.fill_betweenx(rows, pair[0], pair[1], color="0.5", alpha=0.3, linewidth=0)
    for index, values in enumerate(pair):
        ax.plot(values, rows, color=COLOURS[index], linewidth=1.2)
    ax.set_ylim(1.15 * depth, 1.08 * tallest)


@with_shared_docs
def null_distribution(null: ArrayLike, observed: float, pvalue: float, *, ax: Axes | None = None) -> Axes:
    """Draw a histogram of the permutations' statistics, and the observed one.

    Parameters
    ----------
    null : array of shape (n_permutations,)
        Statistics of the permutations.
    observed : float
        Observed statistic.
    pvalue : float
        Its p-value.
    {ax}

    Returns
    -------
    Axes

    Examples
    --------
    >>> ax = null_distribution(np.arange(10.0), 12.0, 1 / 11)
    >>> ax.get_xlabel()
    'statistic'
    """
    ax = new_axes(ax, (6.4, 3.0))
    null = np.asarray(null, dtype=float)
    edges = figures.null_edges(null).tolist()
    ax.hist(null, bins=edges, color="0.7", edgecolor="white", label=f"{len(null)} permutations")
    label = f"observed: {observed:.3g} (p = {pvalue:.2g})"
    spread = float(np.ptp(null)) or 1.0
    if figures.is_far(null, observed):
        # Drawn to scale the permutations would be a thin line: point to where the observed value is.
        edge = null.max() + 0.5 * spread
        ax.set_xlim(null.min() - 0.1 * spread, edge)
        height = 0.5 * ax.get_ylim()[1]
        ax.annotate(
            "off this scale",
            (edge, height),
            xytext=(edge - 0.28 * spread, height),
            arrowprops={"arrowstyle": "-|>", "color": COLOURS[1], "linewidth": 2},
            color=COLOURS[1],
            ha="center",
            va="center",
        )
        ax.plot([], [], color=COLOURS[1], linewidth=2, label=label)
    else:
        ax.axvline(observed, color=COLOURS[1], linewidth=2, label=label)
    ax.set_xlabel("statistic")
    ax.set_ylabel("permutations")
    ax.spines[["top", "right"]].set_visible(False)
    add_legend(ax)
    return ax


@with_shared_docs
def sparsity_path(
    grid: ArrayLike, fitted: ArrayLike, held_out: ArrayLike, chosen: float, *, ax: Axes | None = None
) -> Axes:
    """Draw fitted and held-out divergence against the number of features, and the choice.

    Parameters
    ----------
    grid : array of shape (n_levels,)
        Numbers of features.
    fitted, held_out : arrays of shape (n_levels,)
        Divergence on the rows of the fit, and on the rows left out.
    chosen : float
        The number chosen.
    {ax}

    Returns
    -------
    Axes

    Examples
    --------
    >>> ax = sparsity_path([1, 2, 4], [1.0, 2.0, 3.0], [0.9, 1.5, 1.4], 2)
    >>> ax.get_xscale()
    'log'
    """
    ax = new_axes(ax, (6.4, 3.2))
    ax.plot(grid, fitted, "o-", color="0.6", markersize=4, label="on the rows of the fit")
    ax.plot(grid, held_out, "o-", color=COLOURS[0], markersize=4, label="on rows left out")
    ax.axvline(chosen, color=COLOURS[1], linestyle="--", label=f"chosen: {chosen:g}")
    ax.set_xscale("log")
    ticks = [tick for tick in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 5000) if tick <= np.max(grid)]
    ax.set_xticks(ticks, [str(tick) for tick in ticks])
    ax.minorticks_off()
    ax.set_ylim(bottom=0)
    ax.set_xlabel("number of features")
    ax.set_ylabel("divergence")
    ax.spines[["top", "right"]].set_visible(False)
    add_legend(ax)
    return ax


@with_shared_docs
def scatter(projected: ArrayLike, groups: ArrayLike, *, ax: Axes | None = None) -> Axes:
    """Draw rows on two components, coloured by group.

    Parameters
    ----------
    projected : array of shape (n_rows, 2)
        Rows on two directions.
    groups : array of shape (n_rows,)
        Group of each row.
    {ax}

    Returns
    -------
    Axes

    Examples
    --------
    >>> ax = scatter(np.zeros((4, 2)), ["a", "a", "b", "b"])
    >>> len(ax.collections)
    2
    """
    ax = new_axes(ax, (5.2, 4.6))
    projected, groups = np.asarray(projected), np.asarray(groups)
    size = float(np.clip(4000 / len(projected), 3, 30))
    for index, name in enumerate(np.unique(groups)):
        rows = projected[groups == name]
        colour = COLOURS[index % len(COLOURS)]
        label = shortened(str(name), LONGEST_GROUP)
        ax.scatter(rows[:, 0], rows[:, 1], s=size, alpha=0.6, linewidth=0, color=colour, label=label)
    ax.set_xlabel("component 1")
    ax.set_ylabel("component 2")
    ax.spines[["top", "right"]].set_visible(False)
    add_legend(ax, beside=True)
    return ax
