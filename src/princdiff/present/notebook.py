"""A result inside a notebook: the answer and the leading columns, not the whole page."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from princdiff.result import wording

if TYPE_CHECKING:
    from princdiff.result import DifferenceResult

_SHOWN = 10


def result_html(result: DifferenceResult) -> str:
    """A comparison as a piece of HTML."""
    shown = result.columns.head(_SHOWN)[["column", "kind", "change", "effect", "pvalue", "selected"]]
    return f"<p><b>{escape(wording.headline(result))}</b></p>" + shown.to_html(
        index=False, float_format="%.3g"
    )
