"""Pictures: each function takes and returns matplotlib Axes."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from matplotlib.ticker import FuncFormatter, MaxNLocator
from numpy.typing import ArrayLike, NDArray

from princdiff.present.terminal import clipped, shorten
from princdiff.result.columns import percentages

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""One colour a group, distinguishable by colour-blind readers (Okabe and Ito)."""

_DASHES = ("-", "--", ":")
_GRID_POINTS = 400
_LONGEST_NAME = 32
_LONGEST_GROUP = 24
_LEGEND_ROWS = 6
_LONGEST_CHANGE = 48
# With more groups bars side by side are hairlines: points on a line stand in.
_MOST_BARS = 4


def _axes(ax: Axes | None, size: tuple[float, float]) -> Axes:
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=size, layout="constrained")[1]


def shortened(name: str, longest: int = _LONGEST_NAME) -> str:
    r"""A name as matplotlib can draw it: not too long, on one line, and never read as mathematics.

    Examples
    --------
    >>> print(shortened("$\\frac$ of all"))
    \$\frac\$ of all
    """
    name = " ".join(str(name).split())
    return shorten(name, longest).replace("$", r"\$")


def _look(index: int) -> dict[str, Any]:
    """Colour and line of a group; beyond the palette's end its colours come again, dashed."""
    return {
        "color": COLOURS[index % len(COLOURS)],
        "linestyle": _DASHES[min(index // len(COLOURS), len(_DASHES) - 1)],
    }


def _legend(ax: Axes, count: int) -> None:
    """A legend in the picture, or beside it where many groups would cover the picture."""
    if count <= _LEGEND_ROWS:
        ax.legend(frameon=False)
        return
    ax.legend(
        frameon=False, loc="upper left", bbox_to_anchor=(1.01, 1.0), fontsize="small", ncols=1 + count // 16
    )


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
    names = np.unique(groups) if order is None else np.asarray(order)
    margin = 0.08 * (np.ptp(values) or 1.0)
    grid = np.linspace(values.min() - margin, values.max() + margin, _GRID_POINTS)
    tallest = 0.0
    for index, name in enumerate(names):
        members = values[groups == name]
        density = _density(members, grid)
        tallest = max(tallest, float(density.max()))
        look = _look(index)
        ax.fill_between(grid, density, color=look["color"], alpha=_fill(len(names)), linewidth=0)
        ax.plot(grid, density, **look, label=f"{shortened(str(name), _LONGEST_GROUP)} ({len(members)} rows)")
    for index, name in enumerate(names):
        level = -tallest * 0.045 * (index + 1)
        members = values[groups == name]
        colour = COLOURS[index % len(COLOURS)]
        ax.plot(members, np.full(len(members), level), "|", color=colour, alpha=0.5, markersize=5)
    ax.set_ylim(-tallest * 0.045 * (len(names) + 1), tallest * 1.08)
    ax.set_xlabel(xlabel)
    ax.set_yticks([])
    ax.spines[["left", "top", "right"]].set_visible(False)
    _legend(ax, len(names))
    return ax


def _fill(count: int) -> float:
    """How solid areas are: many over each other would hide all."""
    return 0.25 if count <= 3 else 0.08


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


def quantile_densities(
    quantiles: Mapping[str, NDArray[np.float64]],
    levels: NDArray[np.float64],
    *,
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
    title : str
        What the picture shows.
    ax : Axes, optional
        Where to draw.

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
    ax = _axes(ax, (6.4, 3.6))
    everything = np.concatenate(list(quantiles.values()))
    margin = 0.08 * (np.ptp(everything) or 1.0)
    grid = np.linspace(everything.min() - margin, everything.max() + margin, _GRID_POINTS)
    tallest = 0.0
    for index, (name, values) in enumerate(quantiles.items()):
        density = _density(values, grid)
        tallest = max(tallest, float(density.max()))
        look = _look(index)
        ax.fill_between(grid, density, color=look["color"], alpha=_fill(len(quantiles)), linewidth=0)
        ax.plot(grid, density, **look, label=shortened(str(name), _LONGEST_GROUP))
    ax.set_xlabel("projection on the direction found")
    if len(quantiles) == 2:
        _draw_transport(ax, list(quantiles.values()), levels, tallest)
        ax.set_xlabel("projection (grey: differences of quantiles)")
    ax.set_yticks([])
    ax.spines[["left", "top", "right"]].set_visible(False)
    _legend(ax, len(quantiles))
    _title(ax, title)
    return ax


def _title(ax: Axes, title: str) -> None:
    if title:
        ax.set_title(title, loc="left", fontsize="medium")


def _draw_transport(ax: Axes, pair: list[NDArray], levels: NDArray[np.float64], tallest: float) -> None:
    """Below the densities, the way each quantile of one group moves to become the other's."""
    depth = -0.28 * tallest
    rows = depth * (0.25 + 0.75 * levels)
    ax.fill_betweenx(rows, pair[0], pair[1], color="0.5", alpha=0.3, linewidth=0)
    for index, values in enumerate(pair):
        ax.plot(values, rows, color=COLOURS[index], linewidth=1.2)
    ax.set_ylim(1.15 * depth, 1.08 * tallest)


def null_distribution(null: ArrayLike, observed: float, pvalue: float, *, ax: Axes | None = None) -> Axes:
    """Draw a histogram of the relabellings' statistics, and the observed one.

    Parameters
    ----------
    null : array of shape (n_permutations,)
        Statistics of the relabellings.
    observed : float
        Observed statistic.
    pvalue : float
        Its p-value.
    ax : Axes, optional
        Where to draw.

    Returns
    -------
    Axes

    Examples
    --------
    >>> ax = null_distribution(np.arange(10.0), 12.0, 1 / 11)
    >>> ax.get_xlabel()
    'statistic'
    """
    ax = _axes(ax, (6.4, 3.0))
    null = np.asarray(null, dtype=float)
    bins = int(np.clip(np.sqrt(len(null)), 8, 40))
    ax.hist(null, bins=bins, color="0.7", edgecolor="white", label=f"{len(null)} relabellings")
    label = f"observed: {observed:.3g} (p = {pvalue:.2g})"
    spread = float(np.ptp(null)) or 1.0
    if observed > null.max() + 3 * spread:
        # Drawn to scale the relabellings would be a thin line: point to where the observed value is.
        edge = null.max() + 0.5 * spread
        ax.set_xlim(null.min() - 0.1 * spread, edge)
        height = 0.5 * ax.get_ylim()[1]
        ax.annotate(
            "far out there",
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
    ax.set_ylabel("relabellings")
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False)
    return ax


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
    ax : Axes, optional
        Where to draw.

    Returns
    -------
    Axes

    Examples
    --------
    >>> ax = sparsity_path([1, 2, 4], [1.0, 2.0, 3.0], [0.9, 1.5, 1.4], 2)
    >>> ax.get_xscale()
    'log'
    """
    ax = _axes(ax, (6.4, 3.2))
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
    ax.legend(frameon=False)
    return ax


def histograms(
    edges: ArrayLike,
    shares: Mapping[str, ArrayLike],
    name: str,
    *,
    values: ArrayLike = (),
    ax: Axes | None = None,
) -> Axes:
    """Draw one feature's distribution in each group as stepped outlines over common bins.

    Parameters
    ----------
    edges : array of shape (n_bins + 1,)
        Bin edges.
    shares : dict of arrays of shape (n_bins,)
        Share of each group's rows in the bins.
    name : str
        Name of the feature.
    values : array of shape (n_bins,), optional
        The values of a feature that takes few: bars at these are drawn instead.
    ax : Axes, optional
        Where to draw.

    Returns
    -------
    Axes

    Examples
    --------
    >>> ax = histograms([0, 1, 2], {"a": [0.5, 0.5], "b": [0.1, 0.9]}, "age")
    >>> ax.get_xlabel()
    'age'
    """
    ax = _axes(ax, (6.4, 3.0))
    few = np.asarray(values, dtype=float)
    for index, (group, share) in enumerate(shares.items()):
        look, heights = _look(index), np.asarray(share)
        label = shortened(str(group), _LONGEST_GROUP)
        if len(few) and len(shares) > _MOST_BARS:
            ax.plot(np.arange(len(few)), heights, "o", markersize=4, **look, label=label)
        elif len(few):
            width = 0.8 / len(shares)
            places = np.arange(len(few)) + width * (index - (len(shares) - 1) / 2)
            ax.bar(places, heights, width, color=look["color"], label=label)
        else:
            alpha = _fill(len(shares))
            ax.stairs(heights, np.asarray(edges), fill=True, color=look["color"], alpha=alpha)
            ax.stairs(heights, np.asarray(edges), **look, linewidth=1.5, label=label)
    if len(few):
        ax.set_xticks(np.arange(len(few)), [f"{value:.4g}" for value in few])
    ax.set_xlabel(shortened(name))
    ax.set_ylabel("share of rows")
    ax.yaxis.set_major_formatter(FuncFormatter(_percent))
    ax.spines[["top", "right"]].set_visible(False)
    _legend(ax, len(shares))
    return ax


def _percent(share: float, _: object = None) -> str:
    return f"{100 * share:.3g} %"


def bars(
    levels: Sequence[str], shares: Mapping[str, ArrayLike], name: str, *, ax: Axes | None = None
) -> Axes:
    """Draw proportions as bars side by side, one below the other: levels, a flag, missing values.

    Parameters
    ----------
    levels : list of str
        What is counted; the first is drawn at the top.
    shares : dict of arrays of shape (n_levels,)
        Share of each group's rows.
    name : str
        Name of the column.
    ax : Axes, optional
        Where to draw.

    Returns
    -------
    Axes

    Examples
    --------
    >>> ax = bars(["yes"], {"before": [0.15], "after": [0.61]}, "smokes")
    >>> [text.get_text() for text in ax.texts]
    ['15 %', '61 %']
    """
    groups = list(shares)
    values = np.array([np.asarray(shares[group], dtype=float) for group in groups])
    places = np.arange(len(levels), dtype=float)
    many = len(groups) > _MOST_BARS
    ax = _axes(ax, (6.4, 1.0 + (0.35 if many else 0.1 + 0.2 * len(groups)) * max(len(levels), 2)))
    if many:
        ax.hlines(places, values.min(axis=0), values.max(axis=0), color="0.8", linewidth=3, zorder=0)
    texts = [percentages(column) for column in values.T]
    for index, group in enumerate(groups):
        look, label = _look(index), shortened(str(group), _LONGEST_GROUP)
        if many:
            ax.plot(values[index], places, "o", color=look["color"], label=label)
            continue
        height = 0.8 / len(groups)
        rows = places + height * (index - (len(groups) - 1) / 2)
        ax.barh(rows, values[index], height, color=look["color"], label=label)
        for row, value, text in zip(rows, values[index], texts, strict=True):
            ax.annotate(
                text[index],
                (value, row),
                xytext=(4, 0),
                textcoords="offset points",
                va="center",
                size="small",
            )
    ax.set_xlim(0, 1.12 * max(values.max(initial=0.0), np.finfo(float).tiny) if values.any() else 1.0)
    ax.set_yticks(places, [shortened(level) for level in levels])
    ax.invert_yaxis()
    ax.xaxis.set_major_locator(MaxNLocator(6))
    ax.xaxis.set_major_formatter(FuncFormatter(_percent))
    ax.set_xlabel("share of rows")
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.tick_params(axis="y", length=0)
    _title(ax, shortened(name))
    _legend(ax, len(groups) if len(groups) <= 2 else _LEGEND_ROWS + 1)
    return ax


def sizes(
    names: Sequence[str],
    effects: ArrayLike,
    selected: ArrayLike,
    *,
    changes: Sequence[str] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw how much columns differ, in standard deviations, with what changed beside each bar.

    Parameters
    ----------
    names : list of str
        Columns; the first is drawn at the top.
    effects : array of shape (n_columns,)
        Sizes.
    selected : bool array of shape (n_columns,)
        Columns that differ; the others are grey.
    changes : list of str, optional
        What changed.
    ax : Axes, optional
        Where to draw.

    Returns
    -------
    Axes

    Examples
    --------
    >>> ax = sizes(["age", "sex"], [0.8, 0.1], [True, False], changes=["mean 30 → 38", "52 % → 53 %"])
    >>> ax.get_xlabel()
    'size of the difference in standard deviations'
    """
    lengths, chosen = np.asarray(effects, dtype=float), np.asarray(selected, dtype=bool)
    rows = np.arange(len(lengths))
    ax = _axes(ax, (7.4, 1.0 + 0.32 * max(len(rows), 2)))
    ax.barh(rows, lengths, height=0.65, color=np.where(chosen, COLOURS[0], "0.75"))
    longest = lengths.max(initial=0.0) or 1.0
    for row, length in zip(rows, lengths, strict=True):
        text = clipped(changes[int(row)], _LONGEST_CHANGE) if changes is not None else ""
        text = shortened(text, _LONGEST_CHANGE)
        ax.annotate(text, (length, row), xytext=(5, 0), textcoords="offset points", va="center", size="small")
    # Room for what changed beyond the longest bar.
    ax.set_xlim(0, longest * (2.0 if changes is not None else 1.05))
    ax.set_yticks(rows, [shortened(str(name)) for name in names])
    ax.set_xticks([tick for tick in ax.get_xticks() if tick <= 1.05 * longest])
    ax.invert_yaxis()
    ax.set_xlabel("size of the difference in standard deviations")
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.tick_params(axis="y", length=0)
    return ax


def correlations(
    names: Sequence[str],
    matrices: Mapping[str, NDArray[np.float64]],
    *,
    marked: Collection[tuple[int, int]] = (),
    axes: Sequence[Axes] | None = None,
) -> NDArray:
    """Draw a triangle of correlations for each group and one of how far they lie apart.

    Parameters
    ----------
    names : list of str
        Features.
    matrices : dict from group to array of shape (n_features, n_features)
        Correlations; NaN where not known.
    marked : collection of (int, int)
        Pairs that differ: outlined in the last triangle.
    axes : sequence of Axes, optional
        Where to draw: one more than there are groups.

    Returns
    -------
    array of Axes of shape (n_groups + 1,)

    Examples
    --------
    >>> one, other = np.array([[1, 0.8], [0.8, 1]]), np.array([[1, -0.2], [-0.2, 1]])
    >>> axes = correlations(["height", "weight"], {"a": one, "b": other}, marked=[(0, 1)])
    >>> [ax.get_title() for ax in axes]
    ['a', 'b', 'b minus a']
    """
    groups = list(matrices)
    stacked = np.array([matrices[group] for group in groups], dtype=float)
    if axes is None:
        import matplotlib.pyplot as plt

        side = 1.0 + 0.42 * len(names)
        longest = 0.07 * min(max(map(len, names)), _LONGEST_GROUP)
        size = (0.9 + longest + side * (len(groups) + 1), side + 0.7 * longest + 0.4)
        axes = plt.subplots(1, len(groups) + 1, figsize=size, layout="constrained")[1]
    panels = np.asarray(axes, dtype=object).ravel()
    two = len(groups) == 2
    apart = stacked[1] - stacked[0] if two else stacked.max(axis=0) - stacked.min(axis=0)
    titles = [shortened(group, _LONGEST_GROUP) for group in groups]
    titles.append(f"{titles[1]} minus {titles[0]}" if two else "largest difference")
    drawn = None
    for number, (ax, matrix) in enumerate(zip(panels, [*stacked, apart], strict=True)):
        drawn = _triangle(ax, matrix, names, labelled=number == 0)
        ax.set_title(titles[number], fontsize="medium")
    for first, second in marked:
        low, high = sorted((first, second))
        panels[-1].add_patch(
            Rectangle((low - 0.48, high - 1.48), 0.96, 0.96, fill=False, linewidth=2, edgecolor="0.1")
        )
    panels[-1].figure.colorbar(drawn, ax=list(panels), shrink=0.7, label="correlation")
    return panels


def _triangle(ax: Axes, matrix: NDArray[np.float64], names: Sequence[str], labelled: bool) -> Any:
    """Correlations below the diagonal: columns are all features but the last, rows all but the first."""
    below = np.where(np.tri(len(names), k=-1) > 0, matrix, np.nan)[1:, :-1]
    unknown = np.where(np.tri(len(names) - 1) > 0, 0.04, np.nan)
    ax.imshow(unknown, cmap="Greys", vmin=0, vmax=1)
    drawn = ax.imshow(below, cmap="RdBu_r", vmin=-1, vmax=1)
    for row, column in np.argwhere(np.isfinite(below)):
        value = below[row, column]
        shade = "white" if abs(value) > 0.6 else "0.1"
        ax.text(column, row, f"{value:.2f}", ha="center", va="center", color=shade, fontsize="x-small")
    labels = [shortened(str(name), _LONGEST_GROUP) for name in names]
    ax.set_xticks(range(len(names) - 1), labels[:-1], rotation=45, ha="right", rotation_mode="anchor")
    ax.set_yticks(range(len(names) - 1), labels[1:] if labelled else [""] * (len(names) - 1))
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    return drawn


def densities_by_group(
    edges: Sequence[NDArray[np.float64]],
    shares: Mapping[str, NDArray[np.float64]],
    names: Sequence[str],
    *,
    axes: Sequence[Axes] | None = None,
) -> NDArray[np.object_]:
    """Draw where the rows of each group lie in two coordinates, one picture a group.

    Parameters
    ----------
    edges : two arrays of shape (n_bins + 1,)
        Bounds of the bins along each coordinate.
    shares : dict of arrays of shape (n_bins, n_bins)
        Part of each group's rows in each bin.
    names : two str
        Of the coordinates.
    axes : sequence of Axes, optional
        Where to draw: one for each group.

    Returns
    -------
    array of Axes of shape (n_groups,)

    Examples
    --------
    >>> edges = [np.arange(3.0), np.arange(3.0)]
    >>> axes = densities_by_group(edges, {"a": np.eye(2) / 2, "b": np.full((2, 2), 0.25)}, ["x", "y"])
    >>> [ax.get_title(loc="left") for ax in axes]
    ['a', 'b']
    """
    if axes is None:
        from matplotlib import pyplot as plt

        _, made = plt.subplots(
            1, len(shares), figsize=(3.2 * len(shares), 3.2), sharex=True, sharey=True, layout="constrained"
        )
        axes = list(np.atleast_1d(made))
    assert axes is not None
    if len(axes) != len(shares):
        raise ValueError(f"axes must be one for each of {len(shares)} groups, got {len(axes)}")
    tallest = max(float(share.max()) for share in shares.values())
    for index, (ax, (name, share)) in enumerate(zip(axes, shares.items(), strict=True)):
        colour = str(_look(index)["color"])
        ax.pcolormesh(edges[0], edges[1], share.T, cmap=_shades(colour), vmin=0, vmax=tallest)
        ax.set_title(shortened(str(name), _LONGEST_GROUP), loc="left", fontsize="medium")
        ax.set_xlabel(shortened(str(names[0])))
    axes[0].set_ylabel(shortened(str(names[1])))
    return np.asarray(axes, dtype=object)


def _shades(colour: str) -> Any:
    """From nothing to one colour."""
    from matplotlib.colors import LinearSegmentedColormap, to_rgba

    return LinearSegmentedColormap.from_list("shades", [to_rgba(colour, 0.0), to_rgba(colour, 1.0)])


def scatter(projected: ArrayLike, groups: ArrayLike, *, ax: Axes | None = None) -> Axes:
    """Draw rows on two components, coloured by group.

    Parameters
    ----------
    projected : array of shape (n_rows, 2)
        Rows on two directions.
    groups : array of shape (n_rows,)
        Group of each row.
    ax : Axes, optional
        Where to draw.

    Returns
    -------
    Axes

    Examples
    --------
    >>> ax = scatter(np.zeros((4, 2)), ["a", "a", "b", "b"])
    >>> len(ax.collections)
    2
    """
    ax = _axes(ax, (5.2, 4.6))
    projected, groups = np.asarray(projected), np.asarray(groups)
    size = float(np.clip(4000 / len(projected), 3, 30))
    for index, name in enumerate(np.unique(groups)):
        rows = projected[groups == name]
        colour = COLOURS[index % len(COLOURS)]
        label = shortened(str(name), _LONGEST_GROUP)
        ax.scatter(rows[:, 0], rows[:, 1], s=size, alpha=0.6, linewidth=0, color=colour, label=label)
    ax.set_xlabel("component 1")
    ax.set_ylabel("component 2")
    ax.spines[["top", "right"]].set_visible(False)
    _legend(ax, len(np.unique(groups)))
    return ax


def objective_on_sphere(
    first: ArrayLike,
    second: ArrayLike,
    *,
    points: dict[str, ArrayLike] | None = None,
    ax: Axes | None = None,
    resolution: int = 161,
) -> Axes:
    """Draw the divergence over all directions of three features, as in the paper's figure 1a.

    Parameters
    ----------
    first, second : arrays of shape (n_rows, 3)
        The two groups.
    points : dict of arrays of shape (3,), optional
        Directions to mark, by name.
    ax : Axes, optional
        Where to draw.
    resolution : int
        Grid points along each axis.

    Returns
    -------
    Axes
        Weights of the second and third feature; the first one makes the length one.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> ax = objective_on_sphere(rng.normal(size=(20, 3)), rng.normal(size=(20, 3)), resolution=9)
    >>> ax.get_xlabel()
    'weight of feature 2'
    """
    from princdiff.data.labels import Labels
    from princdiff.divergences import Wasserstein2

    ax = _axes(ax, (5.6, 4.6))
    pooled = np.concatenate([np.asarray(first), np.asarray(second)])
    labels = Labels((np.arange(len(pooled)) >= len(np.asarray(first))).astype(np.uint8), 2)
    axis = np.linspace(-1, 1, resolution)
    b, c = np.meshgrid(axis, axis)
    inside = b**2 + c**2 <= 1
    directions = np.stack([np.sqrt(np.maximum(1 - b**2 - c**2, 0))[inside], b[inside], c[inside]], axis=1)
    surface = np.full(b.shape, np.nan)
    projections = np.ascontiguousarray(directions @ (pooled - pooled.mean(axis=0)).T)
    surface[inside] = Wasserstein2().value(projections, labels.repeat(len(directions)))
    drawn = ax.contourf(b, c, surface, levels=24, cmap="viridis")
    ax.figure.colorbar(drawn, ax=ax, label="squared Wasserstein distance")
    for index, (name, point) in enumerate((points or {}).items()):
        weight = np.asarray(point, dtype=float)
        weight = -weight if weight[0] < 0 else weight
        colour = COLOURS[(index + 1) % len(COLOURS)]
        ax.plot(weight[1], weight[2], "o", color=colour, markeredgecolor="white", markersize=9, label=name)
    if points:
        ax.legend(loc="upper right", fontsize="small")
    ax.set_xlabel("weight of feature 2")
    ax.set_ylabel("weight of feature 3")
    ax.set_aspect("equal")
    return ax
