"""Rules that every page must keep for people who use a keyboard or a screen reader, or see little contrast.

They follow the web content accessibility guidelines (level AA) as far as a script can check them: names of
controls and pictures, the order of headings, tables with headers and captions, contrast of every text that is
seen, sizes of what is clicked, and a focus that can be seen.
"""

from pathlib import Path
from typing import Any

_CHECKS = Path(__file__).with_name("page_rules.js").read_text(encoding="utf-8")


def structural_faults(page: Any) -> list[str]:
    """What breaks a rule of names and structure in the page as it is."""
    return page.execute_script(_CHECKS, "structure")


def contrast_faults(page: Any) -> list[str]:
    """Texts that are seen and stand out too little from their ground."""
    found = page.execute_script(_CHECKS, "contrast")
    assert found["checked"] > 50
    return found["faults"]


def focus(page: Any) -> dict[str, Any] | None:
    """What has the focus, and whether that can be seen."""
    return page.execute_script(_CHECKS, "focus")
