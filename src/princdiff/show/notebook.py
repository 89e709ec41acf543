"""A result inside a notebook: the answer, the leading columns and the direction, not the whole page."""

from __future__ import annotations

import hashlib
import io
import re
from html import escape
from typing import TYPE_CHECKING, Any

from princdiff.show.figures import bar_end
from princdiff.show.html import CELL, NUMBER, SOFT, meter, piece, table
from princdiff.words import on_directions, wording

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.figure import Figure

    from princdiff.result import DifferenceResult

_SHOWN = 10
_PICTURE = (6.2, 2.3)
# Stands for "the colour of the text around", which matplotlib does not know.
_INK = "#010203"


def result_html(result: DifferenceResult, more: bool = True) -> str:
    """A comparison as a piece of HTML.

    Parameters
    ----------
    result : DifferenceResult
        The result to show.
    more : bool, default=True
        Whether to say how to get at the whole page.

    Returns
    -------
    str
        HTML that needs no style sheet, script or file.
    """
    opening = f"<b>{escape(wording.headline(result))}</b> {escape(wording.details(result))}"
    return piece(opening, f"{_columns(result)}{_shown(result)}", _last(result, more))


def _columns(result: DifferenceResult) -> str:
    frame = result.columns
    chosen = frame[frame["selected"].astype(bool)]
    shown = chosen if len(chosen) else frame.sort_values("effect", ascending=False, kind="stable")
    shown = shown.head(_SHOWN)
    if shown.empty:
        return ""
    tested, named = bool(shown["pvalue"].notna().any()), len(chosen) > 0
    heads = [("column", CELL), ("kind", f"{CELL};white-space:nowrap"), ("what changed", CELL)]
    heads += [("size", f"{CELL};white-space:nowrap")]
    heads += [("adjusted p", NUMBER)] * tested + [("differs", CELL)] * named
    longest = bar_end(result.columns["effect"], result.columns["selected"])
    rows = [
        [
            *(escape(str(row[name])) for name in ("column", "kind", "change")),
            meter(float(row["effect"]), longest, bool(row["selected"])),
            *([_pvalue(row["pvalue"])] if tested else []),
            *([row["differs"]] if named else []),
        ]
        for row in shown.to_dict("records")
    ]
    further = wording.further_columns(result, shown)
    more = f'<p style="margin:0.2em 0;{SOFT}">… and {further}</p>' if further else ""
    if not named:
        more = f'<p style="margin:0.2em 0;{SOFT}">The largest differences, which may well be chance.</p>'
    return table(heads, rows) + more


def _pvalue(value: float) -> str:
    return f"{value:.2g}" if value == value else "–"


def _last(result: DifferenceResult, more: bool) -> str:
    """How it was found, and where there is more."""
    notes = len(result.notes)
    counted = f" {notes} note{'s' if notes != 1 else ''} in result.notes." if notes else ""
    page = ' The whole page: result.to_html("report.html").' if more else ""
    return f"{wording.test_sentence(result)}{counted}{page}"


def _shown(result: DifferenceResult) -> str:
    """What led: the sharpest contrast and what it is made of, rows in two dimensions, or the direction."""
    sentences = [on_directions.contrast_sentence(result, part) for part in result.contrasts[:2]]
    sentences = sentences if len(sentences) > 1 else []
    sentences += on_directions.witness_sentences(result)
    text = "".join(f'<p style="margin:0.4em 0 0">{escape(line)}</p>' for line in sentences)
    if result.witness is not None and result.witness.axes:
        label = f"Where the rows of each group lie: {' and '.join(result.witness.axes)}"
        size = (2.4 * len(result.groups), 2.5)
        return text + _drawn(result, size, label, lambda figure: _draw_witness(result, figure))
    if not result.directions.iloc[:, 0].to_numpy().any():
        return text
    label = f"Densities of the groups along the direction shown; {wording.format_pvalue(result)}"
    return text + _drawn(result, _PICTURE, label, lambda figure: _draw_direction(result, figure))


def _draw_witness(result: DifferenceResult, figure: Figure) -> None:
    axes = figure.subplots(1, len(result.groups), sharex=True, sharey=True, squeeze=False)[0]
    result.plot_witness(axes=axes)


def _draw_direction(result: DifferenceResult, figure: Figure) -> None:
    ax = figure.subplots()
    if len(result.contrasts) > 1:
        result.plot_contrast(result.contrasts[0].name, ax=ax)
        ax.set_xlabel(f"score along the {result.contrasts[0].name}")
    else:
        result.plot_projection(ax=ax)
        ax.set_xlabel("score along the direction found")
    ax.set_title("", loc="left")


def _drawn(
    result: DifferenceResult, size: tuple[float, float], label: str, draw: Callable[[Figure], None]
) -> str:
    """A picture as SVG inside the page."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    # Names inside the picture must be the same in every run, and differ between pictures of a notebook.
    stored = [group.quantiles.tobytes() for group in result.reference.components[0].values()]
    salt = hashlib.sha256(b"".join(stored)).hexdigest()[:12]
    colours = dict.fromkeys(
        ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color", "axes.titlecolor"),
        _INK,
    )
    options: dict[Any, Any] = {**colours, "svg.fonttype": "none", "svg.hashsalt": salt, "font.size": 9}
    with rc_context(options):
        figure = Figure(figsize=size, layout="constrained")
        draw(figure)
        drawn = io.StringIO()
        figure.savefig(drawn, format="svg", transparent=True, metadata={"Date": None})
    text = drawn.getvalue()
    text = text[text.index("<svg") :]
    # What would reach beyond the picture: rules for every element of the notebook, and names of groups.
    text = re.sub(r"<metadata>.*?</metadata>|<style.*?</style>", "", text, flags=re.DOTALL)
    text = re.sub(r'<g id="[^"]*"', "<g", text)
    text = re.sub(r"\n\s*", " ", text).replace(_INK, "currentColor")
    # A tenth of a point is enough for the eye, and keeps notebooks small.
    text = re.sub(r' d="[^"]*"', lambda path: re.sub(r"(\.\d)\d+", r"\1", path[0]), text)
    style = "display:block;max-width:100%;height:auto;margin-top:0.6em"
    return text.replace("<svg ", f'<svg role="img" aria-label="{escape(label)}" style="{style}" ', 1)
