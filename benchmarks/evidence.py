"""Sections of RESULTS.md that other scripts print: they are run as they are, and what they print is kept.

    python -m benchmarks.evidence [power mixed selection certificates engine] [--quick]

Each script says by itself what its figures mean; a section shows the command that made it.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks import harness


@dataclass(frozen=True)
class Printed:
    """A script that prints Markdown, and what it is run with.

    Attributes
    ----------
    title : str
        Title of the section.
    module : str
        The script, as ``python -m`` takes it.
    full, quick : tuple of str
        Its arguments for a run that counts and for a small one.
    shortened : str
        What a run that counts leaves out, if it does.
    """

    title: str
    module: str
    full: tuple[str, ...]
    quick: tuple[str, ...]
    shortened: str = ""


SECTIONS = {
    "power": Printed(
        "Power of the default test beside others",
        "benchmarks.power",
        ("table", "--sets", "100", "--first", "340"),
        ("table", "--sets", "1", "--cell", "spread", "--permutations", "19"),
    ),
    "mixed": Printed(
        "Mixed tables: planted differences beside a test per column",
        "benchmarks.tables.planted",
        ("--quick", "--draws", "6", "--plants", "none", "rate", "rare", "shift", "spread", "broken"),
        ("--quick", "--draws", "1", "--tables", "made", "--plants", "shift", "--rows", "200"),
        "6 draws instead of 20, six of eight plants, without the steps that change neither p nor names",
    ),
    "selection": Printed(
        "Which features: found and false beside univariate tests",
        "benchmarks.selection",
        ("power", "--sets", "20"),
        ("power", "--sets", "1", "--only", "mixed"),
    ),
    "certificates": Printed(
        "Certificates: how tight after ten seconds",
        "benchmarks.certificates",
        ("--seeds", "20"),
        ("--seeds", "1", "--seconds", "0.5", "--only", "wine"),
    ),
    "engine": Printed(
        "Engine: ratio to its floor, and the work people do",
        "benchmarks.engine",
        (),
        ("--quick", "--only", "small_table"),
    ),
}


def run(name: str, options: argparse.Namespace) -> None:
    """Run one script and write its section."""
    printed = SECTIONS[name]
    arguments = printed.quick if options.quick else printed.full
    section = harness.Section(name, printed.title, options)
    done = subprocess.run(
        [sys.executable, "-m", printed.module, *arguments],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    section.say(f"`python -m {' '.join((printed.module, *arguments))}`:")
    section.show(_as_part(done.stdout))
    shortened = printed.shortened and not options.quick
    section.write(section.stamp(f"shortened run: {printed.shortened}") if shortened else None)


def _as_part(page: str) -> str:
    """A page as part of a section: headings become bold lines, and tables begin after an empty line."""
    page = re.sub(r"^#+ (.*)$", r"**\1**", page.strip("\n"), flags=re.MULTILINE)
    return re.sub(r"^([^|\n].*)\n\|", r"\1\n\n|", page, flags=re.MULTILINE)


def main(argv: Sequence[str] | None = None) -> None:
    def add(parser: argparse.ArgumentParser) -> None:
        parser.add_argument("sections", nargs="*", default=list(SECTIONS), help=", ".join(SECTIONS))

    options = harness.parse(__doc__, argv, seeds=1, quick_seeds=1, add=add)
    for name in options.sections:
        run(name, options)


if __name__ == "__main__":
    main()
