"""Every block of code on a page runs, and gives what the page shows; each page is run alone."""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import pytest

from tests.docs.code_blocks import read_blocks, run_page

pytestmark = pytest.mark.whole

ROOT = Path(__file__).parents[2]
# Made from something else when the site is built, or written for people who work on princdiff itself.
NOT_PAGES = ("auto_tutorials", "contributing", "decisions", "api")
PAGES = [
    ROOT / "README.md",
    *sorted(
        path
        for path in (ROOT / "docs").rglob("*.md")
        if not set(path.relative_to(ROOT / "docs").parts) & set(NOT_PAGES)
    ),
]


def _has_code(page):
    return any(block.language in ("python", "console", "sh") for block in read_blocks(page.read_text()))


@pytest.mark.parametrize(
    "page", [*filter(_has_code, PAGES)], ids=lambda page: page.relative_to(ROOT).as_posix()
)
def test_the_code_of_a_page_gives_what_it_shows(page, tmp_path, monkeypatch):
    pytest.importorskip("anndata", reason="some pages show AnnData objects")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("NO_COLOR", "1")
    with plt.rc_context({"backend": "agg"}):
        problems = list(run_page(page))
    plt.close("all")
    assert not problems, "\n\n".join(problems)


def test_few_blocks_are_left_out_and_each_says_why():
    left_out = [block for page in PAGES for block in read_blocks(page.read_text()) if block.not_run]
    run = [b for page in PAGES for b in read_blocks(page.read_text()) if b.language in ("python", "console")]
    assert len(left_out) <= len(run) / 10
