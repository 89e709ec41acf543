"""What the scripts of ``paper/`` and ``peers/`` share: options, the stamp of a run, and where results go.

A script writes one section, ``<out>/<name>.md``, and its pictures, ``<out>/figures/<name>*.png``;
``collect.py`` makes RESULTS.md from the sections. Run a script from the top folder of the repository:

    python -m benchmarks.paper.fig1a --quick
"""

from __future__ import annotations

import argparse
import datetime
import os
import platform
import resource
import subprocess
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

import numpy as np
import scipy
from matplotlib.figure import Figure

import princdiff
from princdiff.datasets.downloads import DATA_VARIABLE

HERE = Path(__file__).parent
RESULTS = HERE / "results"
# A quick run must not replace the figures of a full one.
QUICK_RESULTS = HERE.parent / "build" / "benchmarks-quick"
INK = "#222222"
# One colour a family of methods, as in the paper where it names one.
COLOURS = {
    "SPARDA": "#c0392b",
    "PDA": "#8e44ad",
    "Wasserstein": "#111111",
    "MMD": "#27ae60",
    "energy": "#16a085",
    "DiProPerm": "#2471a3",
    "other": "#8a8a8a",
}


def parse(
    doc: str | None,
    argv: Sequence[str] | None,
    *,
    seeds: int,
    quick_seeds: int,
    redraw: bool = False,
    needs: str | None = None,
    add: Callable[[argparse.ArgumentParser], None] | None = None,
) -> argparse.Namespace:
    """The options every script has, and its own; ``seeds`` becomes the list of seeds to use.

    ``needs`` names a data file without which the script cannot do.
    """
    parser = argparse.ArgumentParser(
        description=doc, formatter_class=argparse.RawDescriptionHelpFormatter
    )  # fmt: skip
    if add is not None:
        add(parser)
    if redraw:
        parser.add_argument("--redraw", action="store_true", help="tables and pictures from stored numbers")
        parser.add_argument("--resume", action="store_true", help="keep stored numbers, find missing ones")
    parser.add_argument("--quick", action="store_true", help="a small run, under a minute")
    parser.add_argument("--data", help=f"folder of the data files (or set {DATA_VARIABLE})")
    parser.add_argument("--seeds", type=int, help=f"repetitions (default {seeds}, quick {quick_seeds})")
    parser.add_argument("--first-seed", type=int, default=0, help="seed of the first repetition")
    parser.add_argument("--jobs", type=int, default=1, help="threads of our own methods")
    parser.add_argument("--out", type=Path, help="folder of the results")
    options = parser.parse_args(argv)
    place = Path(options.data or os.environ.get(DATA_VARIABLE, ""))
    if needs is not None and not (place / needs).exists() and place.name != needs:
        parser.error(f"{needs} is needed: name its folder with --data, or set {DATA_VARIABLE}")
    count = options.seeds or (quick_seeds if options.quick else seeds)
    # What a stamp says of the run: fewer repetitions than a full one must be seen.
    options.mode = "quick run" if options.quick else "full run" if count >= seeds else "shortened run"
    options.seeds = list(range(options.first_seed, options.first_seed + count))
    options.out = options.out or (QUICK_RESULTS if options.quick else RESULTS)
    return options


class Section:
    """One section of RESULTS.md: text, tables and pictures, printed as they come and written at the end."""

    def __init__(self, name: str, title: str, options: argparse.Namespace) -> None:
        self.name, self.options = name, options
        self._parts = [f"## {title}"]
        self._begin = (time.perf_counter(), _processor_seconds())
        print(f"\n{title}\n", flush=True)

    def say(self, text: str) -> None:
        """Add a paragraph."""
        self._add(" ".join(text.split()))

    def show(self, text: str) -> None:
        """Add text as it stands."""
        self._add(text)

    def table(self, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        """Add a table; cells that are not text are formatted by `cell`."""
        lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
        lines += ["| " + " | ".join(cell(value) for value in row) + " |" for row in rows]
        self._add("\n".join(lines))

    def bullets(self, lines: Iterable[str]) -> None:
        """Add a list."""
        self._add("\n".join(f"- {' '.join(line.split())}" for line in lines))

    def figure(self, figure: Figure, caption: str, suffix: str = "", dpi: int = 110) -> Path:
        """Save a picture and show it in the section."""
        name = f"{self.name}{suffix}.png"
        place = self.options.out / "figures" / name
        place.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(place, dpi=dpi, bbox_inches="tight", facecolor="white")
        # Relative to RESULTS.md, which stands one folder above the sections.
        self._add(f"![{caption}]({self.options.out.name}/figures/{name})\n\n*{caption}*")
        return place

    def write(self, stamp: str | None = None) -> Path:
        """Write the section with its stamp, or with that of the run whose numbers it shows."""
        self._add(f"<sub>{stamp or self.stamp()}</sub>")
        self.options.out.mkdir(parents=True, exist_ok=True)
        place = self.options.out / f"{self.name}.md"
        place.write_text("\n\n".join(self._parts) + "\n", encoding="utf-8")
        return place

    def _add(self, text: str) -> None:
        self._parts.append(text)
        print(text, end="\n\n", flush=True)

    def stamp(self, mode: str | None = None, processor: float | None = None) -> str:
        """How much was run, version, seeds, date, machine size and cost (processor seconds, if known)."""
        wall = time.perf_counter() - self._begin[0]
        processor = _processor_seconds() - self._begin[1] if processor is None else processor
        seeds = self.options.seeds
        named = f"seed {seeds[0]}" if len(seeds) == 1 else f"seeds {seeds[0]} to {seeds[-1]}"
        return (
            f"{mode or self.options.mode}; princdiff {princdiff.__version__}, {commit()}; {named}; "
            f"{datetime.datetime.now(datetime.UTC):%Y-%m-%d}; {machine()}; "
            f"{processor / 60:.1f} minutes of processor time, {wall / 60:.1f} of the clock"
        )


def _processor_seconds() -> float:
    """Processor time of this process and of those it has started and waited for."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def commit() -> str:
    """The commit of the code that ran, and whether files were changed since."""
    folder = Path(__file__).parent

    def git(*words: str) -> str:
        done = subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    try:
        changed = git(
            "status", "--porcelain", "--untracked-files=no", "--", "../src", ".", ":!results", ":!*.md"
        )
        return f"commit {git('rev-parse', '--short', 'HEAD')}{' with changes' if changed else ''}"
    except (OSError, subprocess.CalledProcessError):
        return "commit unknown"


def machine() -> str:
    """Size of the machine and the versions that matter, without naming it."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return (
        f"{os.cpu_count()} cores ({platform.machine()}), {memory:.0f} GB; Python "
        f"{platform.python_version()}, NumPy {np.__version__}, SciPy {scipy.__version__}"
    )


def cell(value: Any) -> str:
    """Text of a table's cell; None (cannot be done) is a dash."""
    if value is None:
        return "-"
    if isinstance(value, str):
        return value
    if isinstance(value, (bool, np.bool_)):
        return "yes" if value else "no"
    if isinstance(value, (int, np.integer)):
        return str(value)
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"


def mean_interval(values: Sequence[float]) -> tuple[float, float, float]:
    """Mean and its 95 % interval by Student's t, over repetitions."""
    values = np.asarray(values, dtype=float)
    mean = float(values.mean())
    spread = values.std(ddof=1) if len(values) > 1 else 0.0
    if spread == 0:
        return mean, mean, mean
    half = float(scipy.stats.t.ppf(0.975, len(values) - 1) * spread / np.sqrt(len(values)))
    return mean, mean - half, mean + half


def seconds_of(function: Any, *arguments: Any, **keywords: Any) -> tuple[Any, float]:
    """Result of a call and its seconds by the clock."""
    begin = time.perf_counter()
    result = function(*arguments, **keywords)
    return result, time.perf_counter() - begin
