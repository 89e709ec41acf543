"""The paper has the sections and the length that the journal asks for, and cites what it lists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

FOLDER = Path(__file__).parents[2] / "paper"
_, HEADER, TEXT = (FOLDER / "paper.md").read_text().split("---\n", 2)
BIBLIOGRAPHY = (FOLDER / "paper.bib").read_text()
SECTIONS = [
    "Summary",
    "Statement of need",
    "State of the field",
    "Software design",
    "Research impact statement",
    "AI usage disclosure",
    "Acknowledgements",
    "References",
]


def test_the_sections_are_those_that_are_required():
    assert re.findall(r"^# (.+)$", TEXT, flags=re.MULTILINE) == SECTIONS
    header = yaml.safe_load(HEADER)
    assert {"title", "tags", "authors", "affiliations", "date", "bibliography"} <= set(header)


def test_the_length_is_what_is_allowed():
    assert 750 <= len(TEXT.split()) <= 1750


def test_what_is_cited_is_in_the_bibliography_and_the_other_way_round():
    entries = re.findall(r"^@\w+\{(\w+),", BIBLIOGRAPHY, flags=re.MULTILINE)
    assert len(entries) == len(set(entries))
    assert set(re.findall(r"@(\w+)", TEXT)) == set(entries)


@pytest.mark.parametrize("entry", BIBLIOGRAPHY.strip().split("\n\n"), ids=lambda entry: entry.split("\n")[0])
def test_an_entry_says_who_what_when_and_where(entry):
    assert entry.count("{") == entry.count("}")
    fields = set(re.findall(r"^  (\w+)\s*=", entry, flags=re.MULTILINE))
    assert {"title", "author", "year"} <= fields
    assert fields & {"journal", "booktitle", "publisher"}
