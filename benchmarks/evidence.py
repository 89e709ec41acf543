"""Sections of RESULTS.md that other scripts print: they are run as they are, and what they print is kept.

    python -m benchmarks.evidence [power learned mixed selection certificates engine] [--quick]

Each script says by itself what its figures mean; a section shows the command that made it. Times are of
the processor, one thread, so two scripts run at once where there are two cores, but for the one about time.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from benchmarks import sections


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
    alone : bool
        Whether nothing else may run meanwhile.
    """

    title: str
    module: str
    full: tuple[str, ...]
    quick: tuple[str, ...]
    shortened: str = ""
    alone: bool = False


SECTIONS = {
    "power": Printed(
        "Power of the default test beside others",
        "benchmarks.power",
        ("table", "--sets", "100", "--first", "440"),
        ("table", "--sets", "1", "--cell", "spread", "--permutations", "19"),
    ),
    "learned": Printed(
        "Power where no direction shows the difference, beside a learner",
        "benchmarks.power",
        ("learned", "--sets", "100", "--first", "440"),
        ("learned", "--sets", "1", "--cell", "blobs", "--permutations", "19"),
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
        ("--seeds", "10"),
        ("--seeds", "1", "--seconds", "0.5", "--only", "wine"),
        "10 seeds instead of 20",
    ),
    "engine": Printed(
        "Engine: ratio to its floor, and the work people do",
        "benchmarks.engine",
        (),
        ("--quick", "--only", "small_table"),
        alone=True,
    ),
}


def run(name: str, options: argparse.Namespace) -> None:
    """Run one script and write its section."""
    printed = SECTIONS[name]
    arguments = printed.quick if options.quick else printed.full
    section = sections.Section(name, printed.title, options)
    page, seconds = _printed_by([sys.executable, "-m", printed.module, *arguments])
    section.say(f"`python -m {' '.join((printed.module, *arguments))}`:")
    section.show(_as_part(page))
    shortened = printed.shortened and not options.quick
    mode = f"shortened run: {printed.shortened}" if shortened else None
    section.write(section.stamp(mode, processor=seconds))


def _printed_by(command: list[str]) -> tuple[str, float]:
    """What a command prints, and its processor time, whatever else runs meanwhile."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        page = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return page, usage.ru_utime + usage.ru_stime


def _as_part(page: str) -> str:
    """A page as part of a section: headings become bold lines, and tables begin after an empty line."""
    page = re.sub(r"^#+ (.*)$", r"**\1**", page.strip("\n"), flags=re.MULTILINE)
    return re.sub(r"^([^|\n].*)\n\|", r"\1\n\n|", page, flags=re.MULTILINE)


def main(argv: Sequence[str] | None = None) -> None:
    def add(parser: argparse.ArgumentParser) -> None:
        parser.add_argument("sections", nargs="*", default=list(SECTIONS), help=", ".join(SECTIONS))

    options = sections.parse(__doc__, argv, seeds=1, quick_seeds=1, add=add)
    together = [name for name in options.sections if not SECTIONS[name].alone]
    with ThreadPoolExecutor(min(2, os.cpu_count() or 1)) as pool:
        for done in [pool.submit(run, name, options) for name in together]:
            done.result()
    for name in options.sections:
        if SECTIONS[name].alone:
            run(name, options)


if __name__ == "__main__":
    main()
