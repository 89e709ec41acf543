"""Run pages of the documentation and write what their code gives where they show something else.

    python tools/refresh_pages.py README.md docs/howto/drift.md

A block that shows "..." is left as it is: what matters in it must be chosen by hand. Look at the difference
before it is committed; the tests compare pages with what their code gives.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import os
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import matplotlib.pyplot as plt

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))
from tests.docs import code_blocks  # noqa: E402
from tests.docs.shown_output import OutputChecker, matches  # noqa: E402


class Change(NamedTuple):
    """Lines of a page that should be others."""

    first: int
    old: list[str]
    new: list[str]


class Refreshed(doctest.DocTestRunner):
    """Collects the outputs that differ."""

    def __init__(self) -> None:
        super().__init__(checker=OutputChecker(), verbose=False)
        self.changes: list[Change] = []

    def report_failure(self, out, test, example, got):  # type: ignore[no-untyped-def]
        """An example whose output is another."""
        if example.want and "..." not in example.want:
            first = test.lineno + example.lineno + example.source.count("\n")
            self.changes.append(Change(first, example.want.splitlines(), got.splitlines()))

    def report_unexpected_exception(self, out, test, example, exc_info):  # type: ignore[no-untyped-def]
        """An example that fails."""
        print(f"{test.name}: {exc_info[1]!r}")


def changes_of(page: Path) -> list[Change]:
    """Lines of a page and what they should be; a block that follows code is looked for below it."""
    text = page.read_text(encoding="utf-8")
    lines = text.splitlines()
    found: list[Change] = []
    namespace: dict[str, object] = {"__name__": "__main__"}

    def below(line: int, old: str, new: str) -> None:
        shown = old.rstrip("\n").splitlines()
        if not shown or "..." in old:
            return
        places = range(line, len(lines) - len(shown) + 1)
        first = next((place for place in places if lines[place : place + len(shown)] == shown), None)
        if first is None:
            print(f"{page.name}, line {line}: not found as lines:\n{old}\nshould be\n{new}")
        else:
            found.append(Change(first, shown, new.rstrip("\n").splitlines()))

    for block in code_blocks.read_blocks(text):
        if block.not_run is not None:
            continue
        if block.language == "console":
            for problem in code_blocks._run_console(block, ""):
                shown, got = problem.split("\nshows\n", 1)[1].split("\nbut gives\n", 1)
                below(block.line, shown, got)
        elif block.language == "python" and ">>> " in block.text:
            parser, runner = doctest.DocTestParser(), Refreshed()
            test = parser.get_doctest(block.text, namespace, page.name, page.name, block.line)
            runner.run(test, out=lambda text: None, clear_globs=False)
            namespace.update(test.globs)
            found += runner.changes
        elif block.language == "python":
            got = io.StringIO()
            with contextlib.redirect_stdout(got):
                exec(compile(block.text, page.name, "exec"), namespace)
            if block.shown is not None and not matches(block.shown, got.getvalue()):
                below(block.line, block.shown, got.getvalue())
    return found


def refresh(page: Path) -> None:
    """Rewrite one page."""
    here = Path.cwd()
    with tempfile.TemporaryDirectory() as folder, plt.rc_context({"backend": "agg"}):
        os.chdir(folder)
        try:
            changes = changes_of(page)
        finally:
            os.chdir(here)
    plt.close("all")
    lines = page.read_text(encoding="utf-8").splitlines()
    for change in sorted(changes, reverse=True):
        if lines[change.first : change.first + len(change.old)] != change.old:
            print(f"{page.name}, line {change.first + 1}: is not {change.old}")
            continue
        lines[change.first : change.first + len(change.old)] = change.new
    page.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"{page.name}: {len(changes)} changed")


if __name__ == "__main__":
    os.environ.update(COLUMNS="100", NO_COLOR="1")
    for name in sys.argv[1:]:
        refresh(Path(name).resolve())
