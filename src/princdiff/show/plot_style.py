"""How pictures look: colours and lines of groups, legends, names that matplotlib can draw."""

from __future__ import annotations

import math
from typing import Any

from matplotlib.axes import Axes

from princdiff.show.screen import shorten

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""One colour a group, distinguishable by colour-blind readers (Okabe and Ito)."""
_DASHES = ("-", "--", ":")
_LONGEST_NAME = 32
LONGEST_GROUP = 24
LEGEND_ROWS = 4
# Height of a line of the legend, beside that of what is drawn.
_LEGEND_ROOM = 0.12


def new_axes(ax: Axes | None, size: tuple[float, float]) -> Axes:
    """The given axes, or those of a new figure of a size in inches."""
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


def group_style(index: int) -> dict[str, Any]:
    """Colour and line of a group; beyond the palette's end its colours come again, dashed."""
    return {
        "color": COLOURS[index % len(COLOURS)],
        "linestyle": _DASHES[min(index // len(COLOURS), len(_DASHES) - 1)],
    }


def add_legend(ax: Axes, *, beside: bool = False) -> None:
    """A legend above what is drawn, where room is made for it, or beside the picture: never over the data."""
    _, labels = ax.get_legend_handles_labels()
    if beside or len(labels) > LEGEND_ROWS:
        columns = 1 + len(labels) // 16
        ax.legend(
            frameon=False, loc="upper left", bbox_to_anchor=(1.01, 1.0), fontsize="small", ncols=columns
        )
        return
    across = 1 if len(labels) == 1 or max(map(len, labels)) > LONGEST_GROUP + 12 else 2
    low, high = ax.get_ylim()
    ax.set_ylim(low, high + _LEGEND_ROOM * math.ceil(len(labels) / across) * (high - low))
    ax.legend(frameon=False, loc="upper left", fontsize="small", ncols=across)


def set_title(ax: Axes, title: str) -> None:
    """A title at the left, above the axes."""
    if title:
        ax.set_title(title, loc="left", fontsize="medium")


def percent(share: float, _: object = None) -> str:
    """A share as a tick label."""
    return f"{100 * share:.3g} %"


def fill_opacity(count: int) -> float:
    """How solid areas are: many over each other would hide all."""
    return 0.25 if count <= 3 else 0.08
