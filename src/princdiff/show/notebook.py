"""A result inside a notebook: the answer, the leading columns and the direction, not the whole page.

Notebooks bring style sheets of their own, light and dark, and some drop ``<style>`` elements: so every rule
stands in a ``style`` attribute, text and lines have the colour of the text around, and there are no grounds.
"""

from __future__ import annotations

import hashlib
import io
import re
from html import escape
from typing import TYPE_CHECKING, Any

from princdiff.show.plot_style import COLOURS
from princdiff.words import on_directions, wording

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.figure import Figure

    from princdiff.result import DifferenceResult

_SHOWN = 10
_PICTURE = (6.2, 2.3)
# Stands for "the colour of the text around", which matplotlib does not know.
_INK = "#010203"
_CELL = "text-align:left;vertical-align:top;padding:0.2em 0.9em 0.2em 0;white-space:normal"
_NUMBER = "text-align:right;vertical-align:top;padding:0.2em 0.9em 0.2em 0;white-space:nowrap"
_SOFT = "opacity:0.75;font-size:0.9em"


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
    parts = [
        f'<p style="margin:0 0 0.6em"><b>{escape(wording.headline(result))}</b> '
        f"{escape(wording.details(result))}</p>",
        _columns(result),
        _shown(result),
        f'<p style="margin:0.4em 0 0;{_SOFT}">{escape(_last(result, more))}</p>',
    ]
    return f'<div style="max-width:62em;text-align:left">{"".join(parts)}</div>'


def _columns(result: DifferenceResult) -> str:
    frame = result.columns
    chosen = frame[frame["selected"].astype(bool)]
    shown = chosen if len(chosen) else frame.sort_values("effect", ascending=False, kind="stable")
    shown = shown.head(_SHOWN)
    if shown.empty:
        return ""
    heads = [("column", _CELL), ("kind", _CELL), ("what changed", _CELL), ("size", _CELL)]
    tested = bool(shown["pvalue"].notna().any())
    heads += [("adjusted p", _NUMBER)] if tested else []
    heads += [("differs", _CELL)] if len(chosen) else []
    head = "".join(f'<th scope="col" style="{style};font-weight:600">{name}</th>' for name, style in heads)
    longest = max(float(shown["effect"].max()), 1e-9)
    rows = "".join(
        f"<tr>{_row(row, longest, tested, len(chosen) > 0)}</tr>" for row in shown.to_dict("records")
    )
    further = wording.further_columns(result, shown)
    more = f'<p style="margin:0.2em 0;{_SOFT}">… and {further}</p>' if further else ""
    if not len(chosen):
        more = f'<p style="margin:0.2em 0;{_SOFT}">The largest differences, which may well be chance.</p>'
    table = "border-collapse:collapse;margin:0;font-size:0.95em"
    return f'<table style="{table}"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>{more}'


def _row(row: dict[Any, Any], longest: float, tested: bool, named: bool) -> str:
    length = 4.0 * max(0.0, float(row["effect"])) / longest
    colour = COLOURS[0] if row["selected"] else "#8d99a5"
    bar = f"display:inline-block;width:{length:.2f}em;height:0.65em;background:{colour}"
    room = "display:inline-block;width:4em;margin-right:0.5em"
    bar = f'<span style="{room}"><span style="{bar}"></span></span>'
    cells = [
        f'<td style="{_CELL}">{escape(str(row["column"]))}</td>',
        f'<td style="{_CELL};white-space:nowrap">{escape(str(row["kind"]))}</td>',
        f'<td style="{_CELL}">{escape(str(row["change"]))}</td>',
        f'<td style="{_CELL};white-space:nowrap">{bar}{float(row["effect"]):.2f} sd</td>',
    ]
    if tested:
        cells.append(f'<td style="{_NUMBER}">{_pvalue(row["pvalue"])}</td>')
    if named:
        cells.append(f'<td style="{_CELL}">{row["differs"]}</td>')
    return "".join(cells)


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
