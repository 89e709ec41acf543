"""What takes how long: one comparison at many sizes, and the parts of it.

    python -m benchmarks.cost [--quick]

Processor time of one thread, the better of two runs for what takes less than ten seconds.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.sparse

from benchmarks.sections import Section, parse
from princdiff import (
    PDA,
    SPARDA,
    compare,
    permutation_test,
    relax,
    select_features,
    split_test,
    stability_selection,
)

_SIZES = [(200, 10), (1000, 10), (1000, 50), (1000, 200), (5000, 50), (20_000, 20), (100_000, 20)]
_QUICK_SIZES = [(200, 10), (400, 20)]
_REPEAT_BELOW = 10.0


def rows_and_groups(n_rows: int, n_columns: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Two groups; two columns depend on each other in one of them, one shifts by a fifth of its spread."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_columns))
    y = np.repeat([0, 1], [n_rows // 2, n_rows - n_rows // 2])
    X[y == 1, 1] = 0.7 * X[y == 1, 0] + np.sqrt(1 - 0.49) * X[y == 1, 1]
    X[y == 1, 2] += 0.2
    return X, y


def seconds(work: Callable[[], Any]) -> float:
    """Processor time of one run; of the better of two where that is short."""
    times = []
    while len(times) < 2 and sum(times) < _REPEAT_BELOW:
        begin = time.process_time()
        work()
        times.append(time.process_time() - begin)
    return min(times)


def main(argv: Sequence[str] | None = None) -> None:
    options = parse(__doc__, argv, seeds=1, quick_seeds=1)
    sizes = _QUICK_SIZES if options.quick else _SIZES
    section = Section("cost", "What takes how long", options)
    section.say("A whole `compare` with its defaults (999 relabellings), and without a test, in seconds:")
    lines = []
    for n_rows, n_columns in sizes:
        X, y = rows_and_groups(n_rows, n_columns)
        total = seconds(lambda X=X, y=y: compare(X, groups=y))
        alone = seconds(lambda X=X, y=y: compare(X, groups=y, n_permutations=0))
        lines.append([f"{n_rows}", f"{n_columns}", f"{total:.2f}", f"{alone:.2f}"])
        print(lines[-1], flush=True)
    section.table(["rows", "columns", "all of it", "the direction and its description only"], lines)
    n_rows, n_columns = (400, 20) if options.quick else (2000, 50)
    X, y = rows_and_groups(n_rows, n_columns)
    sparse = scipy.sparse.random(3000, 2000, density=0.07, format="csr", random_state=0)
    group = np.repeat([0, 1], 1500)
    small = rows_and_groups(300, 10)
    parts: list[tuple[str, Callable[[], Any]]] = [
        ("`PDA().fit`", lambda: PDA(random_state=0).fit(X, y)),
        ('`PDA(effort="fast").fit`', lambda: PDA(effort="fast", random_state=0).fit(X, y)),
        ("`SPARDA(n_features=5).fit`", lambda: SPARDA(n_features=5, random_state=0).fit(X, y)),
        ("`SPARDA().fit` (sparsity chosen)", lambda: SPARDA(random_state=0).fit(X, y)),
        ("`permutation_test`, 999", lambda: permutation_test(X, y, random_state=0)),
        ("`permutation_test`, 99", lambda: permutation_test(X, y, n_permutations=99, random_state=0)),
        ("`split_test`", lambda: split_test(X, y, random_state=0)),
        ("`select_features`", lambda: select_features(X, y, random_state=0)),
        ("`stability_selection`", lambda: stability_selection(X, y, random_state=0)),
        ("`relax`, 300 rows, 10 columns", lambda: relax(*small, random_state=0)),
        (
            '`SPARDA(20, effort="fast").fit`, 3000 sparse rows, 2000 columns',
            lambda: SPARDA(20, effort="fast", scale=None, random_state=0).fit(sparse, group),
        ),
    ]
    section.say(f"Parts, on {n_rows} rows and {n_columns} columns unless said otherwise:")
    section.table(["what", "seconds"], [[name, f"{seconds(work):.2f}"] for name, work in parts])
    section.write()


if __name__ == "__main__":
    main()
