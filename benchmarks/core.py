"""What one iteration of the ascent costs beyond its two matrix products.

For each shape: the time of one evaluation-and-step of the whole batch (projection, sort, slopes,
gradient, projected step) over the time of the two products alone, same precision, same threads. All
timings alternate in one run; the best of several counts.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

from princdiff.data.labels import Labels
from princdiff.data.samples import Samples
from princdiff.divergences import Wasserstein2
from princdiff.parallel import in_threads
from princdiff.solvers.ascent import Evaluator, chunks, propose
from princdiff.solvers.sparsity import Sparsity

SHAPES = [(2000, 500, 100), (200, 60, 3000), (3005, 4172, 20), (100_000, 50, 8)]
ITERATIONS = 5
SPARSE_SHAPE = (100_000, 2000, 8)
# Ratios that a trial in plain NumPy reached with one thread; the sparse one is a goal.
TRIAL = {SHAPES[0]: 1.67, SHAPES[1]: 6.7, SHAPES[2]: 1.05, SHAPES[3]: 4.6, SPARSE_SHAPE: 1.5}


def make_rows(n_rows: int, n_features: int, sparse: bool, rng: np.random.Generator):
    if not sparse:
        return rng.standard_normal((n_rows, n_features), dtype=np.float32)
    return sp.random(n_rows, n_features, 0.07, format="csr", dtype=np.float32, random_state=rng)


def make_labels(n_rows: int, n_columns: int, kind: str, rng: np.random.Generator) -> Labels:
    """A labelling per column ("permuted") or one for all ("shared"); halves, or 1 to 2 ("unequal")."""
    first = n_rows // 3 if "unequal" in kind else n_rows // 2
    base = (np.arange(n_rows) >= first).astype(np.uint8)
    if "shared" in kind:
        return Labels(base, 2).repeat(n_columns)
    return Labels(np.array([rng.permutation(base) for _ in range(n_columns)]), 2)


def contestants(
    samples: Samples, labels: Labels, level: int, n_jobs: int, rng: np.random.Generator
) -> tuple[Callable, Callable]:
    """The two products alone, and a whole evaluation-and-step, over the same chunks of columns."""
    n_columns = labels.n_columns
    directions = rng.standard_normal((n_columns, samples.n_features), dtype=np.float32)
    sparsity = Sparsity(np.full(n_columns, level))
    directions = sparsity.project(directions)
    pieces = chunks(labels)
    work = []
    for columns in pieces:
        own = labels.take(columns)
        evaluate = Evaluator(samples, own, Wasserstein2())
        current = directions[columns]
        gradient = evaluate(current)[1]
        slopes = rng.standard_normal((len(columns), samples.n_rows), dtype=np.float32)
        out = (np.empty_like(slopes), np.empty_like(current))
        work.append((evaluate, current, gradient, np.ones(len(columns)), sparsity.take(columns), slopes, out))

    # An ascent stays in its thread for many iterations, so several are timed per start of the threads.
    def products(item):
        for _ in range(ITERATIONS):
            samples.project(item[1], out=item[6][0])
            samples.backproject(item[5], out=item[6][1])

    def step(item):
        evaluate, current, gradient, steps, own_sparsity, _, _ = item
        for _ in range(ITERATIONS):
            evaluate(propose(current, gradient, steps, own_sparsity))

    return (
        lambda: in_threads(products, work, n_jobs),
        lambda: in_threads(step, work, n_jobs),
    )


def best_times(functions: tuple[Callable, ...], repeats: int) -> list[float]:
    times = [[] for _ in functions]
    for _ in range(repeats):
        for function, record in zip(functions, times, strict=True):
            begin = time.perf_counter()
            function()
            record.append(time.perf_counter() - begin)
    return [min(record) / ITERATIONS for record in times]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--jobs", type=int, nargs="*", default=[1, 2])
    arguments = parser.parse_args()
    rng = np.random.default_rng(0)
    print("time of one step over the time of its two products (best of several, one run)\n")
    print(f"{'rows x features x columns':>28} {'labels':>17} {'level':>6} {'threads':>7}", end="")
    print(f" {'products':>10} {'step':>10} {'ratio':>6} {'trial':>6}")
    for shape in [*SHAPES, SPARSE_SHAPE]:
        sparse = shape == SPARSE_SHAPE
        n_rows, n_features, n_columns = shape
        samples = Samples(make_rows(n_rows, n_features, sparse, rng))
        for kind, level in [("permuted", n_features), ("permuted", 10), ("permuted unequal", n_features)]:
            labels = make_labels(n_rows, n_columns, kind, rng)
            for n_jobs in arguments.jobs:
                pair = contestants(samples, labels, level, n_jobs, rng)
                products, step = best_times(pair, arguments.repeats)
                name = " x ".join(map(str, shape)) + (" CSR" if sparse else "")
                print(f"{name:>28} {kind:>17} {level:>6} {n_jobs:>7}", end="")
                times = f" {1e3 * products:>8.2f}ms {1e3 * step:>8.2f}ms"
                print(f"{times} {step / products:>6.2f} {TRIAL[shape]:>6}")


if __name__ == "__main__":
    main()
