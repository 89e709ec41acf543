"""Build the site with warnings as errors, then follow every internal link of what was built.

python tools/build_docs.py                    everything, into build/docs/html
python tools/build_docs.py --quick            without running the tutorials
python tools/build_docs.py --output FOLDER
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from pathlib import Path

from check_links import broken_links

ROOT = Path(__file__).parents[1]


def build(output: Path, *, quick: bool) -> int:
    """Run Sphinx; its own code is returned."""
    if not quick:
        # Pages of names that are no longer public would stay.
        shutil.rmtree(ROOT / "docs" / "reference" / "api", ignore_errors=True)
        return _run_sphinx(ROOT / "docs", output, [])
    # From a copy: tutorials that ran, and their pictures, must not be replaced by ones that did not.
    with tempfile.TemporaryDirectory() as folder:
        for path in ROOT.iterdir():
            if path.name != "docs":
                (Path(folder) / path.name).symlink_to(path)
        docs = Path(folder) / "docs"
        shutil.copytree(ROOT / "docs", docs, ignore=shutil.ignore_patterns("auto_tutorials", "api"))
        return _run_sphinx(docs, output, ["-D", "plot_gallery=0"])


def _run_sphinx(docs: Path, output: Path, options: list[str]) -> int:
    from sphinx.cmd.build import build_main

    doctrees = output.parent / f"{output.name}-doctrees"
    return build_main(
        ["-b", "html", "-W", "--keep-going", "-q", "-d", str(doctrees), *options, str(docs), str(output)]
    )


def main(arguments: list[str]) -> int:
    """Build and check; 1 if either fails."""
    parser = argparse.ArgumentParser(description="Build the site and check its links.")
    parser.add_argument("--output", type=Path, default=ROOT / "build" / "docs" / "html")
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args(arguments)
    began, clock = time.process_time(), time.perf_counter()
    code = build(options.output, quick=options.quick)
    if code:
        return code
    broken = broken_links(options.output)
    for line in broken:
        print(line, file=sys.stderr)
    n_pages = sum(1 for _ in options.output.rglob("*.html"))
    print(
        f"{n_pages} pages in {options.output}, {len(broken)} broken links; "
        f"{time.process_time() - began:.0f} s of processor, {time.perf_counter() - clock:.0f} s by the clock"
    )
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
