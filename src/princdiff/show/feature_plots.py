"""Pictures of single features and of pairs: histograms, proportions, sizes of differences, correlations."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from matplotlib.ticker import FuncFormatter, MaxNLocator
from numpy.typing import ArrayLike, NDArray

from princdiff.data.shared_docs import with_shared_docs
from princdiff.findings import ChangePart
from princdiff.show.figures import MOST_BARS
from princdiff.show.plot_style import (
    COLOURS,
    LEGEND_ROWS,
    LONGEST_GROUP,
    add_legend,
    fill_opacity,
    group_style,
    new_axes,
    percent,
    set_title,
    shortened,
)
from princdiff.show.screen import clipped
from princdiff.words.readable_figures import percentages

_LONGEST_CHANGE = 48


@with_shared_docs
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
    {ax}

    Returns
    -------
    Axes

    Examples
    --------
    >>> ax = histograms([0, 1, 2], {"a": [0.5, 0.5], "b": [0.1, 0.9]}, "age")
    >>> ax.get_xlabel()
    'age'
    """
    ax = new_axes(ax, (6.4, 3.0))
    few = np.asarray(values, dtype=float)
    for index, (group, share) in enumerate(shares.items()):
        look, heights = group_style(index), np.asarray(share)
        label = shortened(str(group), LONGEST_GROUP)
        if len(few) and len(shares) > MOST_BARS:
            ax.plot(np.arange(len(few)), heights, "o", markersize=4, **look, label=label)
        elif len(few):
            width = 0.8 / len(shares)
            places = np.arange(len(few)) + width * (index - (len(shares) - 1) / 2)
            ax.bar(places, heights, width, color=look["color"], label=label)
        else:
            alpha = fill_opacity(len(shares))
            ax.stairs(heights, np.asarray(edges), fill=True, color=look["color"], alpha=alpha)
            ax.stairs(heights, np.asarray(edges), **look, linewidth=1.5, label=label)
    if len(few):
        ax.set_xticks(np.arange(len(few)), [f"{value:.4g}" for value in few])
    ax.set_xlabel(shortened(name))
    ax.set_ylabel("share of rows")
    ax.yaxis.set_major_formatter(FuncFormatter(percent))
    ax.spines[["top", "right"]].set_visible(False)
    add_legend(ax, len(shares))
    return ax


@with_shared_docs
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
    {ax}

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
    many = len(groups) > MOST_BARS
    ax = new_axes(ax, (6.4, 1.0 + (0.35 if many else 0.1 + 0.2 * len(groups)) * max(len(levels), 2)))
    if many:
        ax.hlines(places, values.min(axis=0), values.max(axis=0), color="0.8", linewidth=3, zorder=0)
    texts = [percentages(column) for column in values.T]
    for index, group in enumerate(groups):
        look, label = group_style(index), shortened(str(group), LONGEST_GROUP)
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
    ax.xaxis.set_major_formatter(FuncFormatter(percent))
    ax.set_xlabel("share of rows")
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.tick_params(axis="y", length=0)
    set_title(ax, shortened(name))
    add_legend(ax, len(groups) if len(groups) <= 2 else LEGEND_ROWS + 1)
    return ax


@with_shared_docs
def sizes(
    names: Sequence[str],
    effects: ArrayLike,
    selected: ArrayLike,
    *,
    changes: Sequence[Sequence[ChangePart]] | None = None,
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
    changes : list of lists of ChangePart, optional
        What changed in each, part by part.
    {ax}

    Returns
    -------
    Axes

    Examples
    --------
    >>> change = [ChangePart("mean 30 → 38", "+27 %")]
    >>> ax = sizes(["age", "sex"], [0.8, 0.1], [True, False], changes=[change, []])
    >>> ax.get_xlabel()
    'size of the difference in standard deviations'
    """
    lengths, chosen = np.asarray(effects, dtype=float), np.asarray(selected, dtype=bool)
    rows = np.arange(len(lengths))
    ax = new_axes(ax, (7.4, 1.0 + 0.32 * max(len(rows), 2)))
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
        longest = 0.07 * min(max(map(len, names)), LONGEST_GROUP)
        size = (0.9 + longest + side * (len(groups) + 1), side + 0.7 * longest + 0.4)
        axes = plt.subplots(1, len(groups) + 1, figsize=size, layout="constrained")[1]
    panels = np.asarray(axes, dtype=object).ravel()
    two = len(groups) == 2
    apart = stacked[1] - stacked[0] if two else stacked.max(axis=0) - stacked.min(axis=0)
    titles = [shortened(group, LONGEST_GROUP) for group in groups]
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
    labels = [shortened(str(name), LONGEST_GROUP) for name in names]
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
        colour = str(group_style(index)["color"])
        ax.pcolormesh(edges[0], edges[1], share.T, cmap=_shades(colour), vmin=0, vmax=tallest)
        ax.set_title(shortened(str(name), LONGEST_GROUP), loc="left", fontsize="medium")
        ax.set_xlabel(shortened(str(names[0])))
    axes[0].set_ylabel(shortened(str(names[1])))
    return np.asarray(axes, dtype=object)


def _shades(colour: str) -> Any:
    """From nothing to one colour."""
    from matplotlib.colors import LinearSegmentedColormap, to_rgba

    return LinearSegmentedColormap.from_list("shades", [to_rgba(colour, 0.0), to_rgba(colour, 1.0)])


@with_shared_docs
def differences_before_and_after(
    names: Sequence[str], before: ArrayLike, after: ArrayLike, *, ax: Axes | None = None
) -> Axes:
    """Draw sizes of differences before and after an adjustment, a line for each name (a love plot).

    Parameters
    ----------
    names : list of str
        What differs.
    before, after : arrays of shape (n_names,)
        Standardised differences, without their sign.
    {ax}

    Returns
    -------
    Axes

    Examples
    --------
    >>> ax = differences_before_and_after(["age", "sex"], [0.8, 0.1], [0.0, 0.02])
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['age', 'sex']
    """
    ax = new_axes(ax, (6.4, 1.2 + 0.3 * len(names)))
    places = np.arange(len(names))
    for index, (label, sizes) in enumerate((("as it is", before), ("adjusted", after))):
        ax.plot(np.asarray(sizes), places, "o", label=label, color=group_style(index)["color"])
    ax.axvline(0.1, color="0.6", linestyle=":", linewidth=1)
    ax.set_yticks(places, [shortened(str(name)) for name in names])
    ax.invert_yaxis()
    ax.set_xlim(left=-0.02)
    ax.set_xlabel("standardised difference of the groups")
    ax.spines[["top", "right"]].set_visible(False)
    add_legend(ax, 2)
    return ax
