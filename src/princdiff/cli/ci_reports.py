"""What continuous integration shows: JUnit XML, and annotations of GitHub."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING
from xml.etree import ElementTree

if TYPE_CHECKING:
    from princdiff.batches import BatchesResult


def junit(result: BatchesResult, failing: Collection[str]) -> str:
    """Each batch as a test case.

    Parameters
    ----------
    result : BatchesResult
        What was found.
    failing : list of str
        Batches that fail by the rule given.

    Returns
    -------
    str
        XML.
    """
    from princdiff.show.html import visible

    suite = ElementTree.Element(
        "testsuite",
        name=visible(f"princdiff watch against {result.reference}"),
        tests=str(len(result.frame)),
        failures=str(len(failing)),
    )
    for row in result.frame.to_dict("records"):
        case = ElementTree.SubElement(suite, "testcase", classname="princdiff", name=visible(row["batch"]))
        if row["batch"] in failing:
            said = ElementTree.SubElement(case, "failure", message=visible(_said(row)))
            said.text = visible(result.headline)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{ElementTree.tostring(suite, encoding="unicode")}\n'


def github_lines(result: BatchesResult, failing: Collection[str]) -> list[str]:
    """A line of each batch that fails, which GitHub shows beside the change.

    Parameters
    ----------
    result : BatchesResult
        What was found.
    failing : list of str
        Batches that fail by the rule given.

    Returns
    -------
    list of str
    """
    rows = [row for row in result.frame.to_dict("records") if row["batch"] in failing]
    return [f"::error title={_escaped(row['batch'], ':,')}::{_escaped(_said(row))}" for row in rows]


def _said(row: dict) -> str:
    what = f" in {row['changes']}" if row["changes"] else ""
    return f"differs{what} (adjusted p = {row['adjusted']:.2g})"


def _escaped(text: object, more: str = "") -> str:
    """As commands of a workflow write what would end them."""
    return "".join(f"%{ord(sign):02X}" if sign in f"%\r\n{more}" else sign for sign in str(text))
