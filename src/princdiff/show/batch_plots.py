"""Batches over time as figures: the effect of each, and single columns."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from princdiff.show.plot_style import COLOURS, add_legend, new_axes, percent, shortened

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from princdiff.batches import BatchesResult


def effects_over_batches(result: BatchesResult, ax: Axes | None = None) -> Axes:
    """Draw the effect of each batch with its interval, and the band of the reference.

    Parameters
    ----------
    result : BatchesResult
        What was found.
    ax : Axes, optional
        Where to draw; default a new figure.

    Returns
    -------
    Axes
    """
    ax = new_axes(ax, (max(5.0, 1.5 + 0.45 * len(result.frame)), 3.6))
    places = np.arange(len(result.frame))
    effect, low, high = (result.frame[name].to_numpy(float) for name in ("effect", "low", "high"))
    if not math.isnan(result.band[1]):
        label = "parts of the reference"
        ax.axhspan(0.0, max(result.band[1], 0.0), color="0.88", zorder=0, label=label)
    ax.plot(places, effect, color=COLOURS[0], linewidth=1.2, zorder=2)
    known = ~np.isnan(low)
    ax.vlines(places[known], low[known], high[known], color=COLOURS[0], alpha=0.5, zorder=2)
    differs = result.frame["differs"].to_numpy(bool)
    small = result.too_small.to_numpy(bool)
    if result.min_effect is not None:
        ax.axhline(
            result.min_effect, color="0.4", linestyle="--", linewidth=1, zorder=1, label="smallest asked for"
        )
    for chosen, colour, label in (
        (differs, COLOURS[1], "differs"),
        (small, "0.7", "p-value small, effect too small"),
        (~differs & ~small, "white", "no difference shown"),
    ):
        if chosen.any():
            ax.scatter(
                places[chosen],
                effect[chosen],
                s=36,
                color=colour,
                edgecolor=COLOURS[0],
                zorder=3,
                label=label,
            )
    _name_batches(ax, result.frame["batch"])
    ax.set_ylim(bottom=0)
    ax.set_ylabel("effect (standard deviations)")
    ax.set_title(f"Batches against {result.reference}".replace("$", r"\$"), loc="left")
    add_legend(ax)
    return ax


def column_over_batches(result: BatchesResult, values: pd.DataFrame, column: str, ax: Axes | None) -> Axes:
    """Draw the values of a column, and where they usually lie if nothing changed.

    Parameters
    ----------
    result : BatchesResult
        What was found.
    values : DataFrame
        Values of the column; see `BatchesResult.over_time`.
    column : str
        Its name.
    ax : Axes, optional
        Where to draw; default a new figure.

    Returns
    -------
    Axes
    """
    ax = new_axes(ax, (max(5.0, 1.5 + 0.45 * len(values)), 3.2))
    one = next(one for one in result.history if one.column == column)
    places = np.arange(len(values))
    edges = np.arange(len(values) + 1) - 0.5
    low, high = (values[name].to_numpy(float) for name in ("low", "high"))
    ax.stairs(high, edges, baseline=low, fill=True, color="0.88", label="usual for its rows", zorder=0)
    ax.axhline(one.reference, color="0.4", linestyle="--", linewidth=1, label=shortened(result.reference, 24))
    value = values["value"].to_numpy(float)
    ax.plot(places, value, color=COLOURS[0], linewidth=1.2, zorder=2)
    differs = values["differs"].to_numpy(bool)
    short = (values["short"] != "").to_numpy()
    for chosen, colour, line, label in (
        (differs & ~short, COLOURS[1], "-", "differs"),
        (~differs & ~short, "white", "-", "no difference shown"),
        (short, "white", ":", "short batch"),
    ):
        if chosen.any():
            ax.scatter(
                places[chosen],
                value[chosen],
                s=36,
                color=colour,
                edgecolor=COLOURS[0],
                linestyle=line,
                zorder=3,
                label=label,
            )
    _name_batches(ax, values["batch"])
    ax.set_ylabel(one.measure if not one.is_share else f"share of {shortened(one.measure, 20)}")
    if one.is_share:
        ax.yaxis.set_major_formatter(percent)
    ax.set_title(shortened(column, 60), loc="left")
    add_legend(ax)
    return ax


def _name_batches(ax: Axes, batches: Iterable[object]) -> None:
    # Dollar signs in names are no formulas.
    names = [shortened(str(name), 24) for name in batches]
    many = len(names) > 6
    ax.set_xticks(range(len(names)), names, rotation=45 if many else 0, ha="right" if many else "center")
