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

import matplotlib.pyplot as plt

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))
from tests.docs import code_blocks  # noqa: E402
from tests.docs.shown_output import OutputChecker, matches  # noqa: E402


class Refreshed(doctest.DocTestRunner):
    """Collects the outputs that differ."""

    def __init__(self) -> None:
        super().__init__(checker=OutputChecker(), verbose=False)
        self.changes: list[tuple[str, str]] = []

    def report_failure(self, out, test, example, got):  # type: ignore[no-untyped-def]
        """An example whose output is another."""
        if example.want and "..." not in example.want:
            self.changes.append((example.want.rstrip("\n"), got.rstrip("\n")))

    def report_unexpected_exception(self, out, test, example, exc_info):  # type: ignore[no-untyped-def]
        """An example that fails."""
        print(f"{test.name}: {exc_info[1]!r}")


def changes_of(page: Path) -> list[tuple[str, str]]:
    """Texts of a page and what they should be."""
    found: list[tuple[str, str]] = []
    namespace: dict[str, object] = {"__name__": "__main__"}
    for block in code_blocks.read_blocks(page.read_text(encoding="utf-8")):
        if block.not_run is not None:
            continue
        if block.language == "console":
            for command, shown in code_blocks._COMMAND.findall(block.text):
                alone = code_blocks.Block("console", f"$ {command}\n{shown}", 0)
                for problem in code_blocks._run_console(alone, ""):
                    found.append((shown.rstrip("\n"), problem.split("\nbut gives\n")[-1].rstrip("\n")))
        elif block.language == "python" and ">>> " in block.text:
            parser = doctest.DocTestParser()
            test = parser.get_doctest(block.text, namespace, page.name, page.name, block.line)
            runner = Refreshed()
            runner.run(test, out=lambda text: None, clear_globs=False)
            namespace.update(test.globs)
            found += runner.changes
        elif block.language == "python":
            got = io.StringIO()
            with contextlib.redirect_stdout(got):
                exec(compile(block.text, page.name, "exec"), namespace)
            if block.shown is not None and not matches(block.shown, got.getvalue()):
                found.append((block.shown, got.getvalue().rstrip("\n")))
    return [(old, new) for old, new in found if old and "..." not in old]


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
    text = page.read_text(encoding="utf-8")
    for old, new in changes:
        if old not in text:
            print(f"{page.name}: not found as one piece:\n{old}\nshould be\n{new}")
        text = text.replace(old, new, 1)
    page.write_text(text, encoding="utf-8")
    print(f"{page.name}: {len(changes)} changed")


if __name__ == "__main__":
    os.environ.update(COLUMNS="100", NO_COLOR="1")
    for name in sys.argv[1:]:
        refresh(Path(name).resolve())
