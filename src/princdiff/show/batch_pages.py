"""Batches over time as a page and for notebooks: what is new, each column over time, each batch.

The page needs no script: every comparison is there, folded, with a name that links lead to.
"""

from __future__ import annotations

import math
from html import escape
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from princdiff.show import notebook
from princdiff.show.figures import bar_end
from princdiff.show.html import CELL, named, page, piece, table, unbroken, visible
from princdiff.show.plot_style import COLOURS
from princdiff.words.readable_figures import some

if TYPE_CHECKING:
    from collections.abc import Sequence

    from princdiff.batches import BatchesResult
    from princdiff.batches.over_time import ColumnOverTime

_SHOWN_COLUMNS = 40
# Pixels of a chart, and those left free above and below its points.
_HEIGHT, _FREE = 104, 8
_DOT = 3.5


def batches_page(result: BatchesResult) -> str:
    """All batches on one page.

    Parameters
    ----------
    result : BatchesResult
        What was found.

    Returns
    -------
    str
        HTML that needs no script and no network.
    """
    batches = _batches(result)
    shown = result.history[:_SHOWN_COLUMNS]
    return page(
        "batches.html.jinja",
        title=f"{len(batches)} batch{'es' if len(batches) != 1 else ''} against {named(result.reference)}",
        headline=unbroken(result.headline),
        decision=unbroken(result.decision),
        news=_news(result),
        columns=[_column(result, one, number) for number, one in enumerate(shown, start=1)],
        more=len(result.history) - len(shown),
        batches=batches,
        any_short=any(result.frame["short"]),
        reference=named(result.reference),
        explained=_explained(result),
        notes=[visible(note) for note in result.notes],
    )


def _news(result: BatchesResult) -> dict[str, Any]:
    """What the last whole batch says that those before it did not: a short one shows too little."""
    whole = [place for place, why in enumerate(result.frame["short"]) if not why]
    last_place = whole[-1] if whole else len(result.frame) - 1
    kinds: dict[str, list[dict[str, str]]] = {"New": [], "Again": [], "Still": [], "No longer": []}
    for number, one in enumerate(result.history[:_SHOWN_COLUMNS], start=1):
        before = one.named[:last_place]
        if one.named[last_place]:
            kind = "New" if not any(before) else "Still" if before[-1] else "Again"
        elif before and before[-1]:
            kind = "No longer"
        else:
            continue
        kinds[kind].append({"name": named(one.column), "anchor": f"column-{number}"})
    last = result.frame.iloc[last_place]
    nothing = "It differs, but in no single column that could be named." if last["differs"] else ""
    return {
        "batch": named(last["batch"]),
        "short": visible(last["short"]),
        "items": [{"label": label, "columns": columns} for label, columns in kinds.items() if columns],
        "nothing": nothing or f"No column could be shown to differ from {named(result.reference)}.",
    }


def _column(result: BatchesResult, one: ColumnOverTime, number: int) -> dict[str, Any]:
    frame = result.frame
    names, short = [named(name) for name in frame["batch"]], list(frame["short"])
    top, bottom = _ends(one, short)
    texts = one.texts(top, bottom, one.reference, *one.values.tolist())
    largest = max((abs(value - one.reference) for value in one.values if value == value), default=0.0) or 1.0
    cells, titles = [], []
    for place, name in enumerate(names):
        differs, value = one.named[place], float(one.values[place])
        title = (
            f"{name} ({frame['rows'].iloc[place]} rows): {texts[3 + place]}{', differs' if differs else ''}"
        )
        titles.append(f"{title}, short" if short[place] else title)
        cells.append(
            {
                "classes": " ".join(
                    filter(None, ["differs" if differs else "", "short" if short[place] else ""])
                ),
                "shade": 0 if math.isnan(value) else round(100 * abs(value - one.reference) / largest),
                "title": titles[-1],
                "mark": "●" if differs else "",
            }
        )
    sentence = visible(one.sentence(list(frame["batch"]), short))
    return {
        "name": named(one.column),
        "anchor": f"column-{number}",
        "measure": _measure(one),
        # The name stands above it.
        "sentence": unbroken(sentence.removeprefix(f"{visible(one.column)}: ")),
        "cells": cells,
        "state": "still differs" if one.lasts else "",
        "top": unbroken(texts[0]),
        "bottom": unbroken(texts[1]),
        "chart": _chart(one, short, titles, (top, bottom), f"{named(one.column)}: {_measure(one)} by batch"),
    }


def _measure(one: ColumnOverTime) -> str:
    if not one.is_share:
        return "standard deviation" if one.measure == "sd" else "mean"
    return "share missing" if one.measure == "missing" else f"share of {named(one.measure)}"


def _ends(one: ColumnOverTime, short: Sequence[str]) -> tuple[float, float]:
    """The largest and the smallest value that a chart shows."""
    band = [float(v) for k, why in enumerate(short) if not why for v in (one.low[k], one.high[k]) if v == v]
    low, high = one.ends(short)
    top, bottom = max([high, *band]), min([low, *band])
    return (min(top, 1.0), max(bottom, 0.0)) if one.is_share else (top, bottom)


def _chart(
    one: ColumnOverTime, short: Sequence[str], titles: Sequence[str], ends: tuple[float, float], label: str
) -> Markup:
    """Values over the batches; places are per cent across and pixels down, so that dots stay round."""
    count, (top, bottom) = len(one.values), ends
    wide = top - bottom or 1.0

    def down(value: float) -> float:
        inside = min(max(value, bottom), top)
        return round(_FREE + (_HEIGHT - 2 * _FREE) * (top - inside) / wide, 1)

    def across(place: float) -> str:
        return f"{100 * place / count:.2f}%"

    parts = []
    for place, (low, high) in enumerate(zip(one.low.tolist(), one.high.tolist(), strict=True)):
        if low == low and high == high:
            tall = max(down(low) - down(high), 1.0)
            where = f'x="{across(place)}" width="{across(1)}" y="{down(high)}" height="{tall:.1f}"'
            parts.append(f'<rect class="band" {where}/>')
    y = down(one.reference)
    parts.append(f'<line class="level" x1="0" x2="100%" y1="{y}" y2="{y}"/>')
    known = [place for place in range(count) if one.values[place] == one.values[place]]
    for first, second in pairwise(known):
        ends_of_line = f'x1="{across(first + 0.5)}" x2="{across(second + 0.5)}"'
        heights = f'y1="{down(one.values[first])}" y2="{down(one.values[second])}"'
        parts.append(f'<line class="path" {ends_of_line} {heights}/>')
    for place in known:
        classes = f"dot{' differs' if one.named[place] else ''}{' short' if short[place] else ''}"
        where = f'cx="{across(place + 0.5)}" cy="{down(one.values[place])}" r="{_DOT}"'
        parts.append(f'<circle class="{classes}" {where}><title>{escape(titles[place])}</title></circle>')
    return Markup(f'<svg role="img" aria-label="{escape(label)}">{"".join(parts)}</svg>')


def _batches(result: BatchesResult) -> list[dict[str, Any]]:
    frame = result.frame
    longest = bar_end(frame["effect"], frame["differs"])
    rows = []
    for number, row in enumerate(frame.to_dict("records"), start=1):
        own = result.results.get(str(row["batch"]))
        marks = ["differs" if row["differs"] else "", f"short: {row['short']}" if row["short"] else ""]
        effect = float(row["effect"])
        rows.append(
            {
                "name": named(row["batch"]),
                "anchor": f"batch-{number}",
                "rows": f"{row['rows']:,}",
                "effect": f"{effect:.2f}\u00a0sd" if effect == effect else "–",
                "meter": round(100 * max(0.0, effect) / longest) if effect == effect else 0,
                "adjusted": f"{row['adjusted']:.2g}" if row["adjusted"] == row["adjusted"] else "–",
                "differs": bool(row["differs"]),
                "mark": visible("; ".join(filter(None, marks))),
                "columns": some([named(name) for name in row["columns"]], 8) if row["columns"] else "–",
                "body": Markup(notebook.result_html(own, more=False)) if own is not None else "",
            }
        )
    return rows


def _explained(result: BatchesResult) -> str:
    """What the figures of the table are."""
    effect = (
        "Effect: how far apart batch and reference are along the direction found, in standard deviations, on "
        "held-out rows."
        if result.results
        else "Effect: how far apart batch and reference are in the column that moved most, in sd."
    )
    usual = result.band[1]
    band = (
        f" Parts of the reference differ from the rest of it by up to {usual:.2f}." if usual == usual else ""
    )
    return visible(
        f"{effect}{band} Bold: adjusted p at most {result.alpha:.3g}, adjusted for the number of batches."
    )


def batches_html(result: BatchesResult) -> str:
    """The answer and the columns over time, for a notebook."""
    batches, short = list(result.frame["batch"]), list(result.frame["short"])
    rows = [
        (
            f'<span style="color:{COLOURS[0]};white-space:pre">{one.sparkline(short=short)}</span>',
            escape(unbroken(one.sentence(batches, short))),
        )
        for one in result.history[:10]
    ]
    last = 'One batch: result.results[batch]. All on one page: result.to_html("batches.html").'
    body = table([("", CELL), ("", CELL)], rows) if rows else ""
    return piece(f"<b>{escape(unbroken(result.headline))}</b>", body, last)
