"""Several groups, two at a time: a piece for notebooks, a page, and pictures.

The page needs no script: every comparison is there in the form that notebooks show, folded, with a name that
links lead to; so it opens and prints anywhere.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
from markupsafe import Markup

from princdiff.result.groups import LEVEL, REST
from princdiff.show import notebook
from princdiff.show.figures import bar_end
from princdiff.show.html import CELL, NUMBER, meter, named, page, piece, table, unbroken, visible
from princdiff.show.plot_style import new_axes, shortened
from princdiff.words import wording

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from princdiff.result import DifferenceResult, GroupsResult

_SHOWN_COLUMNS = 40
_LEADING = 5
_NAMES = {"effect": "effect, standard deviations", "adjusted": "adjusted p", "pvalue": "p"}


# Pictures.


def matrix_picture(result: GroupsResult, column: str, ax: Axes | None) -> Axes:
    """Groups x groups as shades with their numbers."""
    matrix = result.matrix(column)
    chance = column in ("pvalue", "adjusted")
    stars = (result.matrix("adjusted") <= LEVEL).to_numpy()
    values = matrix.to_numpy(float)
    size = (2.2 + 0.75 * values.shape[1], 1.4 + 0.55 * values.shape[0])
    ax = new_axes(ax, size)
    shades = "Blues_r" if chance else "Blues"
    limits = (0.0, 1.0) if chance else (0.0, _largest(values))
    _shaded(ax, values, limits, shades, stars)
    ax.set_yticks(range(len(matrix.index)), [shortened(name, 24) for name in matrix.index])
    names = [shortened(str(name), 24) for name in matrix.columns]
    ax.set_xticks(range(len(names)), names, rotation=30 if max(map(len, names)) > 8 else 0)
    ax.set_title(f"{_NAMES.get(column, column)} (*: adjusted p ≤ {LEVEL:g})", loc="left", fontsize="medium")
    return ax


def columns_picture(result: GroupsResult, top: int, ax: Axes | None) -> Axes:
    """Columns x comparisons as shades of their effects; a star where the column was selected."""
    effects = result.columns_frame("effect").head(top)
    stars = result.columns_frame("selected").head(top).fillna(False).to_numpy(bool)
    values = effects.to_numpy(float)
    ax = new_axes(ax, (3.4 + 0.8 * values.shape[1], 1.4 + 0.34 * values.shape[0]))
    _shaded(ax, values, (0.0, _largest(values)), "Blues", stars)
    ax.set_yticks(range(len(effects)), [shortened(str(name)) for name in effects.index])
    names = [shortened(str(name), 28) for name in effects.columns]
    ax.set_xticks(range(len(names)), names, rotation=30, ha="right")
    ax.set_title("size in standard deviations (*: differs)", loc="left", fontsize="medium")
    return ax


def _largest(values: NDArray[np.float64]) -> float:
    known = values[np.isfinite(values)]
    return float(known.max(initial=0.0)) or 1.0


def _shaded(
    ax: Axes,
    values: NDArray[np.float64],
    limits: tuple[float, float],
    shades: str,
    stars: NDArray[np.bool_],
) -> None:
    """Cells with their numbers, dark on light or light on dark."""
    ax.imshow(values, cmap=shades, vmin=limits[0], vmax=limits[1], aspect="auto")
    for (i, j), value in np.ndenumerate(values):
        if np.isnan(value):
            continue
        place = (value - limits[0]) / (limits[1] - limits[0])
        dark = place > 0.6 if shades == "Blues" else place < 0.4
        text = f"{value:.2g}{'*' if stars[i, j] else ''}"
        ax.text(j, i, text, ha="center", va="center", size="small", color="white" if dark else "black")
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0)


# Notebook and page.


def groups_html(result: GroupsResult) -> str:
    """The answer and the table of comparisons, for a notebook."""
    heads = [("groups", CELL), ("effect", f"{CELL};white-space:nowrap"), ("adjusted p", NUMBER)]
    longest = bar_end(result.table["effect"], result.table["adjusted"] <= LEVEL)
    rows = [
        (
            escape(row["title"]),
            meter(row["effect"], longest, row["differs"]),
            escape(row["adjusted"]),
            escape(row["columns"]),
        )
        for row in _comparisons(result)
    ]
    last = 'One comparison: result.results[group, other]. All on one page: result.to_html("groups.html").'
    body = table([*heads, ("columns that differ", CELL)], rows)
    return piece(f"<b>{escape(result.headline)}</b>", body, last)


def groups_page(result: GroupsResult) -> str:
    """All comparisons on one page.

    Parameters
    ----------
    result : GroupsResult
        What `princdiff.compare_groups` found.

    Returns
    -------
    str
        HTML that needs no script and no network.
    """
    comparisons = _comparisons(result)
    effects = result.columns_frame("effect")
    chosen = result.columns_frame("selected").fillna(False)
    return page(
        "groups.html.jinja",
        title=f"{len(result.groups)} groups, two at a time"
        if not result.against_rest
        else f"{len(result.groups)} groups, each against the rest",
        headline=unbroken(result.headline),
        comparisons=comparisons,
        longest=bar_end(result.table["effect"], result.table["adjusted"] <= LEVEL),
        matrix=_page_matrix(result, comparisons),
        names=[named(name) for name in effects.columns],
        anchors=[row["anchor"] for row in comparisons],
        columns=[
            {
                "name": named(name),
                "cells": [
                    {"text": _sd(value), "shade": _shade(value, effects), "chosen": bool(picked)}
                    for value, picked in zip(effects.loc[name], chosen.loc[name], strict=True)
                ],
            }
            for name in effects.index[:_SHOWN_COLUMNS]
        ],
        more=max(0, len(effects) - _SHOWN_COLUMNS),
    )


def _page_matrix(result: GroupsResult, comparisons: list[dict[str, Any]]) -> dict[str, Any] | None:
    """Effects of groups x groups, each a link to its comparison."""
    if result.against_rest:
        return None
    place = {frozenset(row["pair"]): row for row in comparisons}
    matrix = result.matrix("effect")
    rows = []
    for name in matrix.index:
        cells = []
        for other in matrix.columns:
            row = place.get(frozenset((name, other)))
            cells.append(row and {**row, "shade": _shade(row["effect"], matrix), "text": _sd(row["effect"])})
        rows.append({"name": named(name), "cells": cells})
    return {"names": [named(name) for name in matrix.columns], "rows": rows}


def _comparisons(result: GroupsResult) -> list[dict[str, Any]]:
    rows = []
    for number, row in enumerate(result.table.to_dict("records"), start=1):
        pair = (str(row["group"]), str(row["other"]))
        own = result.results[pair]
        rows.append(
            {
                "pair": pair,
                "anchor": f"comparison-{number}",
                "title": f"{named(pair[0])} against {'the rest' if pair[1] == REST else named(pair[1])}",
                "effect": float(row["effect"]),
                "adjusted": _chance(row["adjusted"]),
                "pvalue": _chance(row["pvalue"]),
                "differs": bool(row["adjusted"] <= LEVEL),
                "columns": _leading(own) if row["adjusted"] <= LEVEL else "–",
                "rows": [f"{count:,} {named(name)}" for name, count in own.groups.items()],
                "body": Markup(notebook.result_html(own, more=False)),
                "sentence": visible(wording.headline(own)),
            }
        )
    return rows


def _leading(result: DifferenceResult) -> str:
    names = [named(name) for name in result.selected_columns]
    more = f" and {len(names) - _LEADING} more" if len(names) > _LEADING else ""
    return ", ".join(names[:_LEADING]) + more if names else "–"


def _chance(value: float) -> str:
    return f"{value:.2g}" if value == value else "not tested"


def _sd(value: float) -> str:
    return f"{value:.2f}" if value == value else "–"


def _shade(value: float, frame: Any) -> int:
    """Per cent of the largest."""
    return 0 if value != value else round(100 * max(0.0, value) / _largest(frame.to_numpy(float)))
