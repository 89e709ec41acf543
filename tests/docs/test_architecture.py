"""The map of the package names modules and tests that exist, and every room."""

from __future__ import annotations

import re
from pathlib import Path

import princdiff

ROOT = Path(__file__).parents[2]
SOURCE = Path(princdiff.__file__).parent
TEXT = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")


def test_the_files_named_exist():
    named = {
        *re.findall(r"`([\w./]+\.(?:py|md|c|h))`", TEXT),
        *re.findall(r"\]\(([\w./]+\.md)\)", TEXT),
    }
    assert len(named) > 20
    places = (ROOT, SOURCE, ROOT / "docs")
    assert [name for name in sorted(named) if not any((place / name).exists() for place in places)] == []


def test_every_room_is_on_the_map():
    rooms = {path.parent.name for path in SOURCE.glob("*/__init__.py")}
    assert [room for room in sorted(rooms) if f"`{room}/`" not in TEXT] == []
    files = {path.name for path in SOURCE.glob("*.py")} - {"__init__.py", "__main__.py"}
    assert [name for name in sorted(files) if not re.search(rf"`{name}`|`{name[:-3]}`", TEXT)] == []
