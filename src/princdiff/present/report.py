"""The report: one HTML page that shows a result to people who did not run the comparison.

The page is a template around plain data, and opens from a file, without a network, for years: so the
charting library travels inside it (`docs/decisions/0002-report-charts.md` tells which and why).
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from princdiff.result import DifferenceResult

__all__ = ["render_report", "write_report"]


def write_report(result: DifferenceResult, path: str | Path, beside: DifferenceResult | None = None) -> Path:
    """Write the report of a comparison.

    Parameters
    ----------
    result : DifferenceResult
        What `princdiff.compare` found.
    path : str or Path
        The file. An existing one is replaced at once or, if anything fails, not at all.
    beside : DifferenceResult, optional
        Another comparison whose report should have the same scales.

    Returns
    -------
    Path
        The file written.
    """
    from princdiff.files import write_text

    write_text(path, render_report(result, beside))
    return Path(path)


def render_report(result: DifferenceResult, beside: DifferenceResult | None = None) -> str:
    """The report as text of an HTML page.

    Parameters
    ----------
    result : DifferenceResult
        What `princdiff.compare` found.
    beside : DifferenceResult, optional
        Another comparison whose report should have the same scales.

    Returns
    -------
    str
    """
    from princdiff.present.page import render

    return render(result, beside)
