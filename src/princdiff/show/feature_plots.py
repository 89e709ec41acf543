"""Pictures of single features and of pairs: histograms, proportions, sizes of differences, correlations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, MaxNLocator
from numpy.typing import ArrayLike, NDArray

from princdiff.data.shared_docs import with_shared_docs
from princdiff.findings import ChangePart
from princdiff.show.figures import MOST_BARS
from princdiff.show.plot_style import (
    COLOURS,
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
_PAIRED_NAME = 20


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
    add_legend(ax)
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
    add_legend(ax, beside=True)
    return ax


@with_shared_docs
def sizes(
    names: Sequence[str],
    effects: ArrayLike,
    selected: ArrayLike,
    *,
    changes: Sequence[Sequence[ChangePart]] | None = None,
    intervals: Sequence[str] = (),
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
    intervals : list of str, optional
        The difference of each in its unit, with its interval, or "".
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
    lines = 2 if any(intervals) else 1
    ax = new_axes(ax, (7.0, 1.0 + 0.16 * (1 + lines) * max(len(rows), 2)))
    ax.barh(rows, lengths, height=0.65, color=np.where(chosen, COLOURS[0], "0.75"))
    longest = lengths.max(initial=0.0) or 1.0
    for row, length in zip(rows, lengths, strict=True):
        text = clipped(changes[int(row)], _LONGEST_CHANGE) if changes is not None else ""
        text = "\n".join(
            filter(None, [shortened(text, _LONGEST_CHANGE), *intervals[int(row) : int(row) + 1]])
        )
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


@with_shared_docs
def correlations(
    pairs: Sequence[tuple[str, str]],
    values: Mapping[str, ArrayLike],
    *,
    selected: ArrayLike = True,
    ax: Axes | None = None,
) -> Axes:
    """Draw the correlation of each pair in each group, a line for each pair.

    Parameters
    ----------
    pairs : list of pairs of str
        Names; the first pair is drawn at the top.
    values : dict from group to array of shape (n_pairs,)
        Correlations; NaN where not known.
    selected : bool array of shape (n_pairs,)
        Pairs that were shown to differ; the dots of the others are hollow.
    {ax}

    Returns
    -------
    Axes

    Examples
    --------
    >>> ax = correlations([("height", "weight")], {"a": [0.8], "b": [-0.2]})
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['height, weight']
    """
    ax = new_axes(ax, (7.0, 1.2 + 0.32 * max(len(pairs), 2)))
    places = np.arange(len(pairs))
    known = np.array([np.asarray(own, dtype=float) for own in values.values()])
    chosen = np.broadcast_to(np.asarray(selected, dtype=bool), len(pairs))
    ax.axvline(0, color="0.8", linewidth=0.8, zorder=0)
    ax.hlines(places, np.nanmin(known, axis=0), np.nanmax(known, axis=0), color="0.8", linewidth=3, zorder=1)
    for index, (group, own) in enumerate(zip(values, known, strict=True)):
        colour = group_style(index)["color"]
        faces = [colour if yes else "white" for yes in chosen]
        ax.scatter(own, places, s=45, c=faces, edgecolor=colour, linewidth=1.5, zorder=2)
        ax.scatter([], [], s=45, color=colour, label=shortened(group, LONGEST_GROUP))
    ax.set_yticks(places, [", ".join(shortened(name, _PAIRED_NAME) for name in pair) for pair in pairs])
    ax.set_xlim(-1.03, 1.03)
    ax.invert_yaxis()
    ax.set_xlabel("correlation" if chosen.all() else "correlation (hollow: no difference shown)")
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.tick_params(axis="y", length=0)
    add_legend(ax, beside=True)
    return ax


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
    add_legend(ax, beside=True)
    return ax
