"""Large tables: a comparison of parquet files, or of the same rows in memory, its time and its peak.

    python -m benchmarks.big_tables make FOLDER --rows 10000000      write the table, a file per million rows
    python -m benchmarks.big_tables run FOLDER                       compare the files, and say what that took
    python -m benchmarks.big_tables run FOLDER --in-memory           read them with pandas first
    python -m benchmarks.big_tables growth FOLDER                    time and memory against rows and features

The table has 20 columns beside the month, the group: ten numbers, of which one has gaps, two whole numbers,
two flags and six categories, of which one has many rare levels. Four columns differ between the months.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.scale import peak_memory

ROWS_PER_FILE = 1_000_000
DIFFERENT = ("amount", "delay", "channel", "late")
# Of the growth: rows of the mixed table, features of a table of numbers, and its rows.
GROWING_ROWS, NUMBER_ROWS = (10**4, 10**5, 10**6, 10**7), 500
GROWING_FEATURES = (10, 100, 1000, 10_000, 20_000)


def table(n_rows: int, seed: int) -> pd.DataFrame:
    """Rows of two months."""
    rng = np.random.default_rng(seed)
    later = rng.random(n_rows) < 0.5
    common = rng.normal(size=n_rows)
    columns: dict[str, Any] = {"month": np.where(later, "2026-02", "2026-01")}
    columns["amount"] = np.exp(rng.normal(size=n_rows) + 0.02 * later)
    columns["delay"] = rng.gamma(2.0, 3.0, size=n_rows) * (1 + 0.02 * later)
    for number in range(1, 7):
        columns[f"measure {number}"] = rng.normal(size=n_rows) + 0.3 * common
    columns["temperature"] = (15 + 8 * rng.normal(size=n_rows)).astype(np.float32)
    columns["rating"] = np.where(rng.random(n_rows) < 0.05, np.nan, rng.beta(2, 3, size=n_rows))
    columns["items"] = rng.poisson(4, size=n_rows)
    columns["visits"] = rng.geometric(0.2, size=n_rows)
    columns["late"] = rng.random(n_rows) < 0.1 + 0.002 * later
    columns["member"] = rng.random(n_rows) < 0.4
    shares = np.array([[0.5, 0.3, 0.2], [0.495, 0.305, 0.2]])
    drawn = rng.random(n_rows)
    place = (drawn[:, None] > np.cumsum(shares, axis=1)[later.astype(int)][:, :2]).sum(axis=1)
    columns["channel"] = np.array(["shop", "web", "phone"])[place]
    for name, count in (("region", 6), ("product", 8), ("colour", 5), ("carrier", 4)):
        levels = np.array([f"{name} {level}" for level in range(count)])
        columns[name] = levels[rng.integers(count, size=n_rows)]
    rare = np.minimum(rng.geometric(0.25, size=n_rows), 30)
    columns["supplier"] = np.array([f"supplier {level:02}" for level in range(31)])[rare]
    return pd.DataFrame(columns)


def make(folder: Path, n_rows: int, seed: int = 0) -> None:
    """Write the table; tables of other seeds have other rows."""
    folder.mkdir(parents=True, exist_ok=True)
    for part in range(-(-n_rows // ROWS_PER_FILE)):
        size = min(ROWS_PER_FILE, n_rows - part * ROWS_PER_FILE)
        frame = table(size, 1000 * seed + part)
        texts = [name for name, dtype in frame.dtypes.items() if dtype.kind == "O"]
        frame.to_parquet(
            folder / f"part-{part:03}.parquet",
            index=False,
            row_group_size=200_000,
            use_dictionary=texts,
            compression=None,
        )


def answer(folder: Path, in_memory: bool, n_permutations: int) -> dict[str, Any]:
    """Compare the months; what was found, and what it took beyond reading with pandas."""
    from princdiff import compare

    files = sorted(folder.glob("*.parquet"))
    source: Any = [str(file) for file in files]
    if in_memory:
        source = pd.concat(map(pd.read_parquet, files), ignore_index=True)
    before, begin, processor = peak_memory(), time.perf_counter(), time.process_time()
    result = compare(source, groups="month", missing="impute", n_permutations=n_permutations)
    return {
        "pvalue": result.pvalue,
        "selected": result.selected,
        "effect": result.effect,
        "direction": result.directions.iloc[:, 0].tolist(),
        "adjusted": result.table.sort_values("feature")["pvalue"].tolist(),
        "clock": time.perf_counter() - begin,
        "processor": time.process_time() - processor,
        "steps": result.parameters["seconds"],
        "peak": peak_memory(),
        "beyond": peak_memory() - before,
    }


def answer_numbers(n_features: int, n_permutations: int) -> dict[str, Any]:
    """Compare two groups of normal numbers, of which the first feature differs; what it took."""
    from princdiff import compare

    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(NUMBER_ROWS, n_features)), np.arange(NUMBER_ROWS) % 2
    X[y == 1, 0] += 0.5
    before, processor = peak_memory(), time.process_time()
    result = compare(X, groups=y, n_permutations=n_permutations)
    return {
        "pvalue": result.pvalue,
        "processor": time.process_time() - processor,
        "peak": peak_memory(),
        "beyond": peak_memory() - before,
    }


def growth(folder: Path, n_permutations: int, most_rows: int) -> None:
    """Print what a whole comparison takes, and exponents between neighbouring sizes and over all."""
    growing_rows = [n_rows for n_rows in GROWING_ROWS if n_rows <= most_rows]
    for n_rows in growing_rows:
        if not (folder / str(n_rows)).exists():
            make(folder / str(n_rows), n_rows)
    mixed = "rows of the mixed table"
    cases: dict[str, list[tuple[int, dict[str, Any]]]] = {
        mixed: [(n_rows, apart(folder / str(n_rows), False, n_permutations)) for n_rows in growing_rows],
        f"features of {NUMBER_ROWS} rows of numbers": [
            (count, apart(Path(str(count)), False, n_permutations, "numbers")) for count in GROWING_FEATURES
        ],
    }
    for n_rows, own in cases[mixed]:
        show(f"{n_rows} rows", own)
    for name, found in cases.items():
        print(f"\n{name}; {n_permutations} relabellings\n")
        print("| size | seconds of processor | peak GB | MB beyond the libraries | exponents: time, memory |")
        print("|---:|---:|---:|---:|---:|")
        for place, (size, own) in enumerate(found):
            told = _exponents(found[place - 1 : place + 1]) if place else ""
            memory_used = f"{own['peak'] / 1e9:.2f} | {own['beyond'] / 1e6:.0f}"
            print(f"| {size} | {own['processor']:.1f} | {memory_used} | {told} |")
        print(f"\nover all: {_exponents(found)}\n", flush=True)


def _exponents(found: list[tuple[int, dict[str, Any]]]) -> str:
    sizes = np.log([size for size, _ in found])
    slopes = [
        np.polyfit(sizes, np.log([own[key] for _, own in found]), 1)[0] for key in ("processor", "beyond")
    ]
    return ", ".join(f"{slope:.2f}" for slope in slopes)


def apart(folder: Path, in_memory: bool, n_permutations: int, what: str = "answer") -> dict[str, Any]:
    """`answer` in a process of its own, whose peak of memory is that of the comparison."""
    words = [sys.executable, "-m", "benchmarks.big_tables", what, str(folder)]
    words += ["--n-permutations", str(n_permutations), *(["--in-memory"] if in_memory else [])]
    return json.loads(subprocess.run(words, check=True, stdout=subprocess.PIPE).stdout.splitlines()[-1])


def show(name: str, found: dict[str, Any]) -> None:
    """Print one answer."""
    print(f"{name}: p = {found['pvalue']:g}, selected {', '.join(found['selected'])}")
    print(f"  {found['clock']:.0f} s by the clock, {found['processor']:.0f} s of processor, peak memory")
    print(f"  {found['peak'] / 1e9:.2f} GB, {found['beyond'] / 1e9:.2f} GB more than before the comparison;")
    print(f"  effect {found['effect']:.4f}; steps {found['steps']}")


def main() -> None:
    """Read the arguments."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("what", choices=("make", "run", "growth", "answer", "numbers"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rows", type=int, default=10**7)
    parser.add_argument("--seed", type=int, default=0, help="of the rows that are written")
    parser.add_argument("--in-memory", action="store_true")
    parser.add_argument("--n-permutations", type=int, default=999)
    options = parser.parse_args()
    if options.what == "make":
        make(options.folder, options.rows, options.seed)
    elif options.what == "answer":
        print(json.dumps(answer(options.folder, options.in_memory, options.n_permutations)))
    elif options.what == "numbers":
        print(json.dumps(answer_numbers(int(options.folder.name), options.n_permutations)))
    elif options.what == "growth":
        growth(options.folder, options.n_permutations, options.rows)
    else:
        found = apart(options.folder, options.in_memory, options.n_permutations)
        show("in memory" if options.in_memory else "files", found)


if __name__ == "__main__":
    main()
