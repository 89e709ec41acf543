"""The checklists name files that meet their items: these exist."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "contributing" / "checklists.md").read_text()


def test_the_files_named_exist():
    named = set(re.findall(r"`([\w./-]+/[\w./-]*|[\w-]+\.(?:md|toml|cff))`", TEXT))
    assert len(named) > 20
    missing = sorted(name for name in named if not (ROOT / name).exists())
    assert not missing


def test_the_targets_named_exist():
    makefile = (ROOT / "Makefile").read_text()
    for target in re.findall(r"`make ([\w-]+)`", TEXT):
        assert re.search(rf"^{target}:", makefile, flags=re.MULTILINE), target


def test_every_item_says_what_meets_it():
    rows = [line for line in TEXT.splitlines() if re.match(r"\| (?!asked for)", line)]
    assert len(rows) > 40
    for row in rows:
        assert row.strip("| ").split(" | ")[1].strip(), row
