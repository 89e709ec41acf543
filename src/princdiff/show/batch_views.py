"""Batches over time, as a figure and as lines for a terminal."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from princdiff.printable import printable
from princdiff.show.screen import Screen, TextColumn, bar, drawn_table, shorten

if TYPE_CHECKING:
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
    if ax is None:
        import matplotlib.pyplot as plt

        ax = plt.figure(
            figsize=(max(5.0, 1.5 + 0.45 * len(result.frame)), 3.6), layout="constrained"
        ).subplots()
    places = np.arange(len(result.frame))
    effect, low, high = (result.frame[name].to_numpy(float) for name in ("effect", "low", "high"))
    if not math.isnan(result.band[1]):
        label = "parts of the reference"
        ax.axhspan(0.0, max(result.band[1], 0.0), color="0.88", zorder=0, label=label)
    ax.plot(places, effect, color="C0", linewidth=1.2, zorder=2)
    known = ~np.isnan(low)
    ax.vlines(places[known], low[known], high[known], color="C0", alpha=0.5, zorder=2)
    differs = result.frame["differs"].to_numpy(bool)
    small = result.too_small.to_numpy(bool)
    if result.min_effect is not None:
        ax.axhline(
            result.min_effect, color="0.4", linestyle="--", linewidth=1, zorder=1, label="smallest asked for"
        )
    for chosen, colour, label in (
        (differs, "C3", "differs"),
        (small, "0.7", "p-value small, effect too small"),
        (~differs & ~small, "white", "no difference shown"),
    ):
        # Without a rule for the effect nobody should read of one.
        if chosen is not small or small.any():
            ax.scatter(
                places[chosen], effect[chosen], s=36, color=colour, edgecolor="C0", zorder=3, label=label
            )
    # Dollar signs in names are no formulas.
    names = [str(name).replace("$", r"\$") for name in result.frame["batch"]]
    ax.set_xticks(
        places, names, rotation=45 if len(names) > 6 else 0, ha="right" if len(names) > 6 else "center"
    )
    ax.set_ylim(bottom=0)
    ax.set_ylabel("effect (standard deviations)")
    ax.set_title(f"Batches against {result.reference}".replace("$", r"\$"), loc="left")
    ax.legend(frameon=False, fontsize="small")
    return ax


def batches_lines(result: BatchesResult, screen: Screen, notes: Sequence[str] | None = None) -> list[str]:
    """The answer in lines for a terminal.

    Parameters
    ----------
    result : BatchesResult
        What was found.
    screen : Screen
        Where it goes.
    notes : list of str, optional
        Default those of the result.

    Returns
    -------
    list of str
    """
    lines = [screen.bold(line) for line in screen.prose(result.headline())]
    frame = result.frame
    largest = max([*frame["effect"].dropna(), *[edge for edge in result.band if edge == edge], 1e-12])
    width = max(8, min(30, screen.width // 4))
    marks = [
        "differs" if differs else "too small" if small else ""
        for differs, small in zip(frame["differs"], result.too_small, strict=True)
    ]
    names = [shorten(printable(name), 30) for name in frame["batch"]]
    room = max(10, screen.width - max(map(len, names)) - width - 45)
    columns = [
        TextColumn("batch", names),
        TextColumn("rows", [str(rows) for rows in frame["rows"]], right=True),
        TextColumn("effect", [f"{effect:.2f}" for effect in frame["effect"]], right=True),
        TextColumn("", [bar(effect / largest, width, screen.drawn) for effect in frame["effect"]]),
        TextColumn("adjusted p", [f"{pvalue:.2g}" for pvalue in frame["adjusted"]], right=True),
        TextColumn("", marks),
        TextColumn("columns", [shorten(printable(", ".join(names)), room) for names in frame["columns"]]),
    ]
    lines += ["", *drawn_table(columns, screen)]
    if result.band[1] == result.band[1]:
        lines += screen.prose(
            f"Effects are in standard deviations; parts of {result.reference} differ from the rest by up "
            f"to {result.band[1]:.2f}."
        )
    if result.too_small.any():
        lines += screen.prose(
            f"Too small: the adjusted p-value is small, but the effect is below {result.min_effect:.2g}."
        )
    found = result.to_frame(by="column")
    if len(found):
        lines.append("")
        for row in found.head(10).itertuples():
            count = f"{row.batches} batch{'es' if row.batches != 1 else ''}"
            lines += screen.prose(f"{row.column}: since {row.first}, in {count}; {row.change}.", indent="  ")
        if len(found) > 10:
            lines.append(f"and {len(found) - 10} more columns")
    for note in result.notes if notes is None else notes:
        lines += screen.prose(f"Note: {note}", indent=" " * 6)
    return lines
