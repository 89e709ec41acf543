"""Make RESULTS.md from the sections that the scripts of ``paper/`` and ``peers/`` wrote.

    python -m benchmarks.collect [--results benchmarks/results]

The order is that of the index below; a section that is not there is named with the command that makes it.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from benchmarks.sections import RESULTS

# name of the section, what it shows, module that writes it
INDEX = {
    "The paper": [
        ("fig1a", "Fig. 1a: a problem with a poor local optimum", "benchmarks.paper.fig1a"),
        ("fig1b", "Fig. 1b: MADELON, relevant features found", "benchmarks.paper.fig1b"),
        ("fig1c", "Fig. 1c: power as irrelevant features are added", "benchmarks.paper.fig1c"),
        ("brain", "Tables S1, S2 and Figs S1, S2: cells of two brain regions", "benchmarks.paper.brain"),
        ("theorems", "The theorems, as simulations", "benchmarks.paper.theorems"),
    ],
    "Peers": [
        ("harness", "Libraries on differences whose truth is known", "benchmarks.harness"),
        ("peers-directions", "The best direction (POT)", "benchmarks.peers.directions"),
        ("peers-features", "Features found (scikit-learn)", "benchmarks.peers.features"),
        ("peers-tables", "Large tables (scanpy, evidently, alibi-detect)", "benchmarks.peers.tables"),
        ("watching", "Streams of batches (river, evidently)", "benchmarks.watching"),
        ("donors", "Genes of donors (pydeseq2, scanpy)", "benchmarks.donors"),
        ("power", "Power of the default test beside others", "benchmarks.evidence power"),
        ("learned", "Power beside a learner", "benchmarks.evidence learned"),
        ("mixed", "Mixed tables beside a test per column", "benchmarks.evidence mixed"),
        ("selection", "Which features, beside univariate tests", "benchmarks.evidence selection"),
        ("certificates", "Certificates: how tight after ten seconds", "benchmarks.evidence certificates"),
        ("engine", "Engine: ratio to its floor, and everyday work", "benchmarks.evidence engine"),
    ],
}
INTRODUCTION = """# Results

Every figure and table of the paper, and every peer beside us. This file is generated: `make paper` and
`make peers` run the scripts and write it; each section ends with the commit, the seeds, the date and the
size of the machine of its run. Times are of processors, one thread, unless said otherwise. A peer that
cannot do a thing has a dash; a peer that beats us is shown as beating us.
"""


def collect(results: Path) -> str:
    """Text of RESULTS.md: an index, then the sections."""
    parts, sections = [INTRODUCTION], []
    for heading, entries in INDEX.items():
        lines = [f"**{heading}**", ""]
        for name, title, module in entries:
            place = results / f"{name}.md"
            if place.exists():
                text = place.read_text(encoding="utf-8").strip()
                sections.append(f'<a id="{name}"></a>\n\n{text}\n')
                lines.append(f"- [{title}](#{name})")
            else:
                lines.append(f"- {title}: not run here; `python -m {module}`")
        parts.append("\n".join(lines) + "\n")
    return "\n".join([*parts, *sections])


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )  # fmt: skip
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder of the sections")
    options = parser.parse_args(argv)
    # Pictures are named relative to the folder above the sections.
    place = options.results.parent / "RESULTS.md"
    place.write_text(collect(options.results), encoding="utf-8")
    print(f"wrote {place}")


if __name__ == "__main__":
    main()
