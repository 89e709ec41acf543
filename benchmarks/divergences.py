"""What the divergences cost beside the squared Wasserstein distance, and what they find.

Cost: the processor time of one evaluation-and-step of a whole batch (projection, value, slopes, gradient,
projected step) over that with the squared Wasserstein distance, one thread. All divergences take turns in one
run; the best of several counts.

Recovery: two groups of 500 rows and 60 features that differ in three of them, in one of four ways; a
direction with three features is sought. The table counts the seeds in which it has exactly the planted ones.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.core import make_labels, make_rows
from princdiff import divergences
from princdiff.data.labels import Labels
from princdiff.data.samples import Samples
from princdiff.divergences import Divergence, Margin
from princdiff.solvers.ascent import Evaluator, chunks, propose
from princdiff.solvers.effort import SearchSettings
from princdiff.solvers.solve import solve
from princdiff.solvers.sparsity import Sparsity

SHAPE = (2000, 500, 100)
ITERATIONS = 3
# Ratios that must not be passed; the others have none.
LIMITS = {"energy": 1.5, "wasserstein1": 1.5, "kolmogorov_smirnov": 1.5} | dict.fromkeys(
    ["kullback_leibler", "reverse_kullback_leibler", "jensen_shannon", "hellinger", "total_variation"], 4.0
)
N_FEATURES, N_ROWS, N_PLANTED = 60, 500, 3


def stepper(samples: Samples, labels: Labels, divergence: Divergence, rng: np.random.Generator) -> Callable:
    """One evaluation-and-step of all columns, chunk by chunk."""
    sparsity = Sparsity(np.full(labels.n_columns, samples.n_features))
    shape = (labels.n_columns, samples.n_features)
    directions = sparsity.project(rng.standard_normal(shape, dtype=np.float32))
    work = []
    for columns in chunks(labels):
        evaluate = Evaluator(samples, labels.take(columns), divergence)
        current = directions[columns]
        work.append((evaluate, current, evaluate(current)[1], np.ones(len(columns)), sparsity.take(columns)))

    def step():
        for evaluate, current, gradient, steps, own in work:
            for _ in range(ITERATIONS):
                evaluate(propose(current, gradient, steps, own))

    return step


def costs(names: list[str], kind: str, repeats: int) -> dict[str, float]:
    """Seconds per step of each divergence, the best of several; they take turns."""
    n_rows, n_features, n_columns = SHAPE
    rng = np.random.default_rng(0)
    samples = Samples(make_rows(n_rows, n_features, False, rng))
    labels = make_labels(n_rows, n_columns, kind, rng)
    steps = {name: stepper(samples, labels, divergences.get(name), rng) for name in names}
    best = dict.fromkeys(names, np.inf)
    with threadpool_limits(1):
        for _ in range(repeats):
            for name, step in steps.items():
                begin = time.process_time()
                step()
                best[name] = min(best[name], (time.process_time() - begin) / ITERATIONS)
    return best


def planted(kind: str, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Rows and groups that differ in the first three features, in the way that ``kind`` says."""
    X = rng.normal(size=(2 * N_ROWS, N_FEATURES))
    diagonal = np.full(N_PLANTED, N_PLANTED**-0.5)
    block = X[:, :N_PLANTED]
    along = block @ diagonal
    first, second = slice(None, N_ROWS), slice(N_ROWS, None)
    wanted = along.copy()
    if kind == "shift":
        wanted[second] += 0.5 * np.sqrt(N_PLANTED)
    elif kind == "spread":
        wanted[second] *= 2.0
    elif kind == "two modes":
        # One mode or two, with mean 0 and standard deviation 2.
        wanted[first] *= 2.0
        wanted[second] = 1.9 * rng.choice([-1.0, 1.0], size=N_ROWS) + np.sqrt(4 - 1.9**2) * along[second]
    elif kind == "dependence":
        # Standard normal margins in both groups; correlations of -0.45 in one of them.
        block[second] *= np.sqrt(1.45)
        wanted[second] *= np.sqrt(0.1)
        along = block @ diagonal
    block += np.outer(wanted - along, diagonal)
    return X, np.repeat([0, 1], N_ROWS)


KINDS = ["shift", "spread", "two modes", "dependence"]


def recovery(divergence: Divergence, kind: str, n_seeds: int) -> tuple[int, float]:
    """Seeds in which exactly the planted features were found, and the average number of them found."""
    exact, found = 0, []
    for seed in range(n_seeds):
        X, y = planted(kind, np.random.default_rng(seed))
        rng = np.random.default_rng(seed)
        solution = solve(Samples(X), Labels(y, 2), divergence, SearchSettings(N_PLANTED), rng=rng)
        found.append(int(np.count_nonzero(solution.direction[:N_PLANTED])))
        exact += found[-1] == N_PLANTED
    return exact, float(np.mean(found))


def print_costs(names: list[str], repeats: int) -> None:
    print(f"\none step at {SHAPE}, one thread: milliseconds, and over wasserstein2\n")
    kinds = ["permuted", "shared", "permuted unequal"]
    print(f"{'':26}" + "".join(f"{kind:>20}" for kind in kinds) + f"{'limit':>8}")
    tables = [costs(names, kind, repeats) for kind in kinds]
    for name in names:
        print(f"{name:26}", end="")
        for best in tables:
            print(f"{1e3 * best[name]:>11.2f} {best[name] / best['wasserstein2']:>7.2f}x", end="")
        print(f"{LIMITS.get(name, ''):>8}")


def print_recovery(names: list[str], n_seeds: int) -> None:
    print(f"\nexactly the {N_PLANTED} planted of {N_FEATURES} features found, of {n_seeds} seeds ", end="")
    print(f"(average number found); {N_ROWS} rows per group\n")
    print(f"{'':26}" + "".join(f"{kind:>14}" for kind in KINDS) + f"{'s per fit':>12}")
    contestants = {name: divergences.get(name) for name in names}
    if "margin" in names:
        contestants["margin, fraction 0.5"] = Margin(0.5)
    for name, divergence in contestants.items():
        print(f"{name:26}", end="", flush=True)
        begin = time.process_time()
        for kind in KINDS:
            exact, average = recovery(divergence, kind, n_seeds)
            print(f"{exact:>8} ({average:.1f})", end="", flush=True)
        print(f"{(time.process_time() - begin) / (len(KINDS) * n_seeds):>12.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--divergences", nargs="*", default=divergences.available())
    parser.add_argument("--only", choices=["costs", "recovery"])
    arguments = parser.parse_args()
    names = list(dict.fromkeys(["wasserstein2", *arguments.divergences]))
    if arguments.only != "recovery":
        print_costs(names, arguments.repeats)
    if arguments.only != "costs":
        print_recovery(names, arguments.seeds)


if __name__ == "__main__":
    main()
