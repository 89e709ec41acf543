"""Libraries beside each other on differences whose truth is known: whether, in what, how sure, how long.

Shares are of the same data sets for all methods, at 5 %, with 199 permutations where a method permutes.
Times are of the processor, one thread, as each library is called by its users.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks import sections
from benchmarks.harness.differences import FIRST, differences
from benchmarks.harness.methods import available
from benchmarks.harness.runs import Runs, Said

AHEAD = 0.05
# What a run of seconds looks at.
QUICK = ("spread of one of 60", "made table, shift", "none, 60 numbers")

Cells = dict[tuple[str, str], list[Said]]


def main(argv: Sequence[str] | None = None) -> None:
    here, missing = available()

    def add(parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--methods", nargs="*", help=f"only these of {', '.join([*here, *missing])}")
        parser.add_argument("--differences", nargs="*", help="only those whose names contain one of these")
        parser.add_argument("--keep", type=Path, help="file of what was said, from which a run goes on")

    options = sections.parse(__doc__, argv, seeds=100, quick_seeds=1, add=add)
    methods = {name: here[name] for name in here if not options.methods or name in options.methods}
    wanted = options.differences or (QUICK if options.quick else [""])
    made = {name: make for name, make in differences().items() if any(word in name for word in wanted)}
    seeds = [FIRST + seed for seed in options.seeds]
    section = sections.Section("harness", "Libraries on differences whose truth is known", options)
    runs = Runs(options.keep)
    with threadpool_limits(1):
        runs.run(methods, made, seeds)
    cells = {(name, kind): runs.of(name, kind, seeds) for name in methods for kind in made}
    write(section, cells, methods, len(seeds))
    for name, why in missing.items():
        section.say(f"Not installed here, and left out: {name} ({why}).")
    if spared := [here[name].NAME for name in here if name not in methods]:
        section.say(f"Left out of this run: {', '.join(spared)}.")
    # A run that goes on from a file counts what it took to fill the file.
    section.write(section.stamp(processor=sum(one.seconds for said in cells.values() for one in said)))


def write(section: sections.Section, cells: Cells, methods: dict[str, ModuleType], n_sets: int) -> None:
    """The tables of a section."""
    names = {name: module.NAME for name, module in methods.items()}
    kinds = list(dict.fromkeys(kind for _, kind in cells))
    section.say(
        f"**Whether.** Share of {n_sets} data sets a row (from number {FIRST} on) that a method says "
        "differ, at 5 %; where nothing differs (none), the share of false alarms. Bold: the largest. "
        f"One data set is {1 / n_sets:.2f}."
    )
    section.table(["difference", *names.values()], [whether(cells, kind, list(names)) for kind in kinds])
    naming = [name for name in names if any(s.false is not None for kind in kinds for s in cells[name, kind])]
    known = [kind for kind in kinds if any(s.false is not None for name in naming for s in cells[name, kind])]
    section.say(
        "**What.** Share of the changed columns that are named, and in brackets the share of data sets in "
        "which another is named. Where a column is shuffled (broken), its partners have changed as much as "
        "itself, and naming one of them counts as false."
    )
    rows = [[kind, *(what(cells[name, kind]) for name in naming)] for kind in known]
    section.table(["difference", *(names[name] for name in naming)], rows)
    section.say("**How sure, and how long.** False alarms and false names where nothing differs.")
    header = ["method", "gives", "false alarms", "false names", "seconds", "errors"]
    section.table(header, [sure(cells, kinds, name, label) for name, label in names.items()])
    section.bullets(behind(cells, kinds, names))


def share(said: list[Said]) -> float:
    return float(np.mean([one.differs for one in said]))


def whether(cells: Cells, kind: str, methods: list[str]) -> list[str]:
    """A row of the first table."""
    shares = [share(cells[name, kind]) for name in methods]
    best = max(shares) if not kind.startswith("none") else None
    # A method that failed on all of them has said nothing, which is not that nothing differs.
    failed = [all(one.error for one in cells[name, kind]) for name in methods]
    shown = (f"**{one:.2f}**" if one == best else f"{one:.2f}" for one in shares)
    return [kind, *("-" if none else one for none, one in zip(failed, shown, strict=True))]


def what(said: list[Said]) -> str | None:
    """A cell of the second table."""
    judged = [one for one in said if one.false is not None]
    if not judged:
        return None
    false = f"({np.mean([one.false for one in judged]):.2f})"
    found = [one.found for one in judged if one.found is not None]
    return f"{np.mean(found):.2f} {false}" if found else f"- {false}"


def sure(cells: Cells, kinds: list[str], name: str, label: str) -> list[str | None]:
    """A row of the third table."""
    every = [one for kind in kinds for one in cells[name, kind]]
    equal = [one for kind in kinds if kind.startswith("none") for one in cells[name, kind]]
    false = [one.false for one in equal if one.false is not None]
    return [
        label,
        "a p-value" if any(one.pvalue is not None for one in every) else "a decision",
        f"{share(equal):.2f}" if equal else None,
        f"{np.mean(false):.2f}" if false else None,
        f"{np.mean([np.median([one.seconds for one in cells[name, kind]]) for kind in kinds]):.2f}",
        str(sum(bool(one.error) for one in every)),
    ]


def behind(cells: Cells, kinds: list[str], names: dict[str, str]) -> list[str]:
    """Where another method sees more than ours does, by more than chance would have it matter."""
    if "princdiff" not in names:
        return []
    lines = []
    for kind in kinds:
        ours = share(cells["princdiff", kind])
        ahead = {
            names[name]: share(cells[name, kind])
            for name in names
            if share(cells[name, kind]) > ours + AHEAD and not kind.startswith("none")
        }
        if ahead:
            others = ", ".join(f"{label} {rate:.2f}" for label, rate in ahead.items())
            lines.append(f"**Ahead of princdiff** ({ours:.2f}) in {kind}: {others}.")
    return lines or [f"No method sees more than princdiff by more than {AHEAD} in any row."]


if __name__ == "__main__":
    main()
