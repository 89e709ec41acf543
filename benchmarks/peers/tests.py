"""Tests: our permutation test beside hyppo's MMD, energy and DISCO, as a user calls them.

Fig. 1c data and a mean shift in one feature, 100 rows a group; the same number of permutations; seconds of
processor time for one test, one thread, and power at 5 %. In `paper/fig1c.py` all share one set of
permutations; here each runs its own.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence

import numpy as np
from hyppo.ksample import DISCO, MMD, Energy
from threadpoolctl import threadpool_limits

from benchmarks import sections
from benchmarks.inference import difference
from princdiff import permutation_test
from princdiff.datasets import make_block_gaussians

SETTINGS = {
    "full": {"permutations": 99, "problems": None},
    "quick": {"permutations": 19, "problems": ["blocks, d = 15"]},
}
LEVEL = 0.05
PROBLEMS: dict[str, Callable] = {
    "blocks, d = 15": lambda seed: make_block_gaussians(15, 100, random_state=9000 + seed),
    "blocks, d = 60": lambda seed: make_block_gaussians(60, 100, random_state=9000 + seed),
    "shift of one of 60": lambda seed: difference("shift of one", 9000 + seed),
    "shift of all of 60": lambda seed: difference("shift of all", 9000 + seed),
    "equal groups, d = 60": lambda seed: make_block_gaussians(60, 100, null=True, random_state=9500 + seed),
}


def _hyppo(test: Callable) -> Callable:
    def run(X: np.ndarray, y: np.ndarray, seed: int, permutations: int) -> float:
        # auto=False: a permutation test, not the chi-squared approximation.
        result = test().test(
            X[y == 0], X[y == 1], reps=permutations, workers=1, auto=False, random_state=seed
        )
        return float(result[1])

    return run


def _hyppo_fast(test: Callable) -> Callable:
    """hyppo's own default at this size: no permutations, a chi-squared approximation."""

    def run(X: np.ndarray, y: np.ndarray, seed: int, permutations: int) -> float:
        return float(test().test(X[y == 0], X[y == 1], auto=True)[1])

    return run


def _ours(X: np.ndarray, y: np.ndarray, seed: int, permutations: int) -> float:
    return permutation_test(X, y, n_permutations=permutations, random_state=seed, n_jobs=1).pvalue


METHODS = {
    "princdiff, adaptive": _ours,
    "hyppo MMD": _hyppo(MMD),
    "hyppo MMD, chi-squared": _hyppo_fast(MMD),
    "hyppo energy": _hyppo(Energy),
    # With two groups its permutation test is that of energy.
    "hyppo DISCO, chi-squared": _hyppo_fast(DISCO),
}


def main(argv: Sequence[str] | None = None) -> None:
    options = sections.parse(__doc__, argv, seeds=8, quick_seeds=2)
    settings = SETTINGS["quick" if options.quick else "full"]
    warnings.simplefilter("ignore")
    section = sections.Section("peers-tests", "Peers: two-sample tests (hyppo)", options)
    names = settings["problems"] or list(PROBLEMS)
    found: dict = {}
    with threadpool_limits(1):
        # The first call compiles.
        X, y = PROBLEMS[names[0]](0)
        for run in METHODS.values():
            run(X, y, 0, 2 if run is not _ours else 19)
        for seed in options.seeds:
            for problem in names:
                X, y = PROBLEMS[problem](seed)
                for name, run in METHODS.items():
                    begin = time.process_time()
                    p = run(X, y, seed, settings["permutations"])
                    found.setdefault((problem, name), []).append((p, time.process_time() - begin))
    count = len(options.seeds)
    section.say(
        f"Power at 5 % over {count} data sets (for equal groups: the share of false alarms), mean p, and "
        f"median seconds a test with {settings['permutations']} permutations:"
    )
    rows = []
    for name in METHODS:
        cells = []
        for problem in names:
            p, seconds = np.array(found[problem, name]).T
            cells.append(f"{np.mean(p <= LEVEL):.2f}, p {p.mean():.2f}, {np.median(seconds):.3f} s")
        rows.append([name, *cells])
    section.table(["test", *names], rows)
    ours = np.median([seconds for (_, name), pairs in found.items() if name == next(iter(METHODS))
                      for _, seconds in pairs])  # fmt: skip
    ratios = {
        name: ours / np.median([s for (_, own), pairs in found.items() if own == name for _, s in pairs])
        for name in list(METHODS)[1:]
    }
    section.say(
        "**hyppo is faster**: our test takes "
        + ", ".join(f"{ratio:.1f} times as long as {name}" for name, ratio in ratios.items())
        + ". It searches a direction at several sparsities for every permutation, and names the features."
        if min(ratios.values()) > 1
        else "Time of our test over that of "
        + ", ".join(f"{name}: {ratio:.2f}" for name, ratio in ratios.items())
        + "."
    )
    beaten = []
    for problem in names:
        power = {name: np.mean(np.array(found[problem, name])[:, 0] <= LEVEL) for name in METHODS}
        better = [name for name in list(METHODS)[1:] if power[name] > power["princdiff, adaptive"]]
        if better and not problem.startswith("equal"):
            beaten.append(f"{problem}: {', '.join(better)}")
    section.say(
        f"**More power than ours**: {'; '.join(beaten)}." if beaten else "None has more power than ours here."
    )
    section.say("hyppo names no features and no direction: a dash for both.")
    section.write()


if __name__ == "__main__":
    main()
