"""Print the section of the changelog that tells a release, as its notes.

python tools/release_notes.py v0.1.0
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

CHANGELOG = Path(__file__).parents[1] / "CHANGELOG.md"


def notes(version: str, changelog: str) -> str:
    """What a changelog says of a version, without its heading."""
    number = re.escape(version.removeprefix("v"))
    section = re.search(rf"^## \[{number}\][^\n]*\n(.*?)(?=^## |\Z)", changelog, re.MULTILINE | re.DOTALL)
    if section is None or not section[1].strip():
        raise SystemExit(f"CHANGELOG.md has no section for {version}: see docs/contributing/releasing.md")
    return section[1].strip() + "\n"


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit("name the version, as in: python tools/release_notes.py v0.1.0")
    print(notes(sys.argv[1], CHANGELOG.read_text(encoding="utf-8")), end="")
