"""What constants are worth: the same work with a constant halved and doubled.

For each constant: the quality of what is found (an objective, a bound or a mean p-value) and the processor
time, both relative to the value in the code. Quality above 1 is better. Every constant is changed alone.

    python -m benchmarks.constants search
    python -m benchmarks.constants growing test
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from typing import Any

import numpy as np

import princdiff
from princdiff.datasets import make_block_gaussians

Work = Callable[[], float]


def shifted(rows: int, features: int, seed: int, size: float = 0.4) -> tuple[np.ndarray, np.ndarray]:
    """Skewed features of which three differ, one in its mean, one in its spread and one in its shape."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(rows, features)), np.arange(rows) % 2
    X[:, features // 2 :] = np.exp(0.5 * X[:, features // 2 :])
    X[y == 1, 0] += size
    X[y == 1, 1] *= 1 + size
    X[y == 1, -1] **= 1 + size
    return X, y


def search() -> float:
    """Sum of the divergences of sparse and dense directions over some problems."""
    total = 0.0
    for seed in range(2):
        X, y = make_block_gaussians(30, n_samples=80, random_state=seed)
        total += princdiff.SPARDA(n_features=3, random_state=0, certify=False).fit(X, y).divergences_[0]
        X, y = shifted(150, 20, seed)
        total += princdiff.PDA(random_state=0, certify=False, scale="pooled").fit(X, y).divergences_[0]
        total += princdiff.SPARDA(penalty=0.05, random_state=0, certify=False).fit(X, y).divergences_[0]
    return total


def growing() -> float:
    """Divergences of directions of many rows."""
    X, y = shifted(60_000, 8, 0, size=0.05)
    dense = princdiff.PDA(random_state=0, certify=False, scale="pooled").fit(X, y).divergences_[0]
    sparse = princdiff.SPARDA(2, random_state=0, certify=False, scale="pooled").fit(X, y).divergences_[0]
    return dense + sparse


def test() -> float:
    """Mean of -log10 p over differences that are seldom certain."""
    logs = []
    for seed in range(8):
        X, y = shifted(100, 15, seed, size=0.22)
        logs.append(-np.log10(princdiff.permutation_test(X, y, n_permutations=199, random_state=0).pvalue))
    return float(np.mean(logs))


HALF_DOUBLE = (0.5, 2)
CONSTANTS: dict[str, tuple[Work, dict[str, tuple[float, ...]]]] = {
    "search": (
        search,
        {
            "solvers.ascent._RIDGE_STEP": HALF_DOUBLE,
            "solvers.ascent._RIDGE_MEMORY": (0.5, 1.2),
            "solvers.bundle._IDLE_PLANS": HALF_DOUBLE,
            "solvers.bundle._WORTHWHILE": HALF_DOUBLE,
            "solvers.path._KEPT": HALF_DOUBLE,
            "solvers.solve._SHORTEST_CLIMB": HALF_DOUBLE,
            "solvers.solve._CONTENDER": HALF_DOUBLE,
        },
    ),
    "growing": (
        growing,
        {
            "solvers.growing_samples.GROWTH": HALF_DOUBLE,
            "solvers.growing_samples._ROWS_PER_FEATURE": HALF_DOUBLE,
            "solvers.growing_samples._SMALLEST": HALF_DOUBLE,
            "solvers.growing_samples._FEWEST_OF_A_GROUP": HALF_DOUBLE,
            "solvers.growing_samples._ON_SAMPLES": HALF_DOUBLE,
            "solvers.growing_samples._ON_ALL_ROWS": HALF_DOUBLE,
            "solvers.growing_samples._CONTENDER": HALF_DOUBLE,
            "solvers.growing_samples._SMOOTH": (0.1, 10),
        },
    ),
    "test": (
        test,
        {
            "statistics.direction_cells._POLISH": HALF_DOUBLE,
            "statistics.direction_cells._FINALISTS": HALF_DOUBLE,
            "statistics.direction_cells._RANDOM_STARTS": HALF_DOUBLE,
            "statistics.direction_cells.MOST_FEATURES": (0.1,),
            "statistics.feature_columns.MOST_VALUES": HALF_DOUBLE,
            "statistics.changed_correlations._KEPT": (0.02, 2),
        },
    ),
}


def changed(value: Any, factor: float) -> Any:
    """A number times a factor; of a tolerance the iterations."""
    if hasattr(value, "max_iter"):
        return replace(value, max_iter=max(1, round(value.max_iter * factor)))
    return max(1, round(value * factor)) if isinstance(value, int) else value * factor


def measured(work: Work) -> tuple[float, float]:
    """Quality, and the least processor time of two runs."""
    seconds = []
    for _ in range(2):
        start = time.process_time()
        quality = work()
        seconds.append(time.process_time() - start)
    return quality, min(seconds)


def main() -> None:
    """Print a table for each kind of work."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("kinds", nargs="*", default=[], choices=[*CONSTANTS, []])
    for kind in parser.parse_args().kinds or CONSTANTS:
        work, constants = CONSTANTS[kind]
        work()
        usual, seconds = measured(work)
        print(f"\n{kind}: {work.__doc__} As it is: {usual:.6g}, {seconds:.2f} s\n")
        print("| constant | value | tried | quality | time |\n|---|---|---|---|---|")
        for name, factors in constants.items():
            module, _, constant = f"princdiff.{name}".rpartition(".")
            home = import_module(module)
            value = getattr(home, constant)
            for factor in factors:
                other = changed(value, factor)
                setattr(home, constant, other)
                quality, spent = measured(work)
                setattr(home, constant, value)
                if hasattr(value, "max_iter"):
                    value_shown, other = f"max_iter={value.max_iter}", f"max_iter={other.max_iter}"
                else:
                    value_shown = value
                print(
                    f"| `{name}` | {value_shown} | {other} | {quality / usual:.5f} | {spent / seconds:.2f} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
