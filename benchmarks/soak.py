"""Load: many comparisons in one process, and many at once.

    python -m benchmarks.soak --comparisons 500 --threads 20

Memory of the process after a tenth of the comparisons and after all of them, files that are open and
temporary files before and after; and whether comparisons in parallel threads give what they give one after
the other.
"""

from __future__ import annotations

import argparse
import gc
import os
import tempfile
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd

from princdiff import compare


def table(seed: int, n_rows: int = 200) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Two small tables of three numbers and a category."""
    rng = np.random.default_rng(seed)
    both = []
    for shift in (0.0, 0.5):
        frame = pd.DataFrame(rng.normal(size=(n_rows // 2, 3)), columns=["age", "height", "weight"])
        frame["age"] += shift
        both.append(frame.assign(city=rng.choice(["Oslo", "Rome", "Bern"], size=n_rows // 2)))
    return both[0], both[1]


def answer(seed: int, n_permutations: int = 39) -> tuple[float, list[str], bytes]:
    """What one comparison finds, to the last digit of the direction."""
    result = compare(*table(seed), n_permutations=n_permutations)
    return result.pvalue, result.selected, result.directions.to_numpy().tobytes()


def resident() -> int:
    """Bytes of memory of this process now, by the operating system."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def open_files() -> int:
    """Files that this process has open."""
    return len(os.listdir("/proc/self/fd"))


def temporary_files() -> int:
    """Files of ours among the temporary ones."""
    return len([name for name in os.listdir(tempfile.gettempdir()) if "princdiff" in name])


def main() -> None:
    """Run both, and print what was seen."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--comparisons", type=int, default=500)
    parser.add_argument("--threads", type=int, default=20)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    answer(0)
    gc.collect()
    files, temporary, begin = open_files(), temporary_files(), time.process_time()
    memory = {}
    for number in range(1, options.comparisons + 1):
        answer(number)
        if number in (options.comparisons // 10, options.comparisons // 2, options.comparisons):
            gc.collect()
            memory[number] = resident()
    seconds = time.process_time() - begin
    print(f"{options.comparisons} comparisons of 200 x 4, one after the other: {seconds:.0f} s of processor")
    for number, size in memory.items():
        print(f"  memory after {number}: {size / 1e6:.1f} MB")
    print(f"  open files: {files} before, {open_files()} after")
    print(f"  temporary files: {temporary} before, {temporary_files()} after")
    expected = [answer(seed) for seed in range(options.threads)]
    with ThreadPoolExecutor(options.threads) as pool:
        found = list(pool.map(answer, range(options.threads)))
    print(f"{options.threads} comparisons in parallel threads: equal {found == expected}")


if __name__ == "__main__":
    main()
