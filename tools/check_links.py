"""Follow every internal link of a built site: pages, anchors, pictures, scripts.

    python tools/check_links.py build/docs/html

Links that leave the site are not followed, so it needs no network.
"""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class _Page(HTMLParser):
    """Anchors of a page and what it links to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        for name, value in attributes:
            if value is None:
                continue
            if name == "id" or (tag == "a" and name == "name"):
                self.anchors.add(value)
            elif name in ("href", "src") and tag not in ("base",):
                self.links.append(value)


def broken_links(site: Path) -> list[str]:
    """One line for each internal link that leads nowhere."""
    written = (path for path in site.rglob("*.html") if "_static" not in path.parts)
    pages = {path.resolve(): _Page(path.read_text(encoding="utf-8")) for path in written}
    if not pages:
        return [f"{site} has no pages"]
    found = []
    for path, page in pages.items():
        for link in sorted(set(page.links)):
            reason = _reason(path, link, pages)
            if reason:
                found.append(f"{path.relative_to(site.resolve())}: {link}: {reason}")
    return found


def _reason(path: Path, link: str, pages: dict[Path, _Page]) -> str | None:
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return None
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if target.is_dir():
        target /= "index.html"
    if not target.exists():
        return "no such file"
    # Pages of the search and of the index make some anchors as they run.
    anchor = unquote(parts.fragment)
    if anchor and target in pages and anchor not in pages[target].anchors and target.name != "search.html":
        return "no such anchor"
    return None


if __name__ == "__main__":
    lines = broken_links(Path(sys.argv[1]))
    print("\n".join(lines) or "no broken links")
    sys.exit(1 if lines else 0)
