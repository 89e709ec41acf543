"""Several directions, several groups, pairs: what the general framework finds and costs.

Sections: ``plane`` (two directions of three groups), ``joint`` (directions one after another against one
search over pairs of directions), ``pairs`` (type-I error and power of the test within pairs), ``sorts``
(ways to sort projections that change little from step to step) and ``l0`` (a penalty on the number of
features against the path of levels).
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from scipy.stats import binom

from princdiff import PDA, SPARDA, paired_test, permutation_test
from princdiff.data.labels import Labels
from princdiff.divergences import Wasserstein2, Workspace


def three_groups(seed: int, n: int, d: int, size: float):
    rng = np.random.default_rng([21, seed])
    X, y = rng.standard_normal((3 * n, d)), np.repeat([0, 1, 2], n)
    X[y == 1, 0] += size
    X[y == 2, 1] += size
    return X, y


def plane(arguments) -> None:
    print("three Gaussian groups whose means span a plane: largest angle of two directions to it, degrees")
    for n, d, size in ((500, 5, 3.0), (1000, 10, 3.0), (1000, 10, 2.0), (2000, 30, 3.0)):
        angles = []
        for seed in range(arguments.seeds or 10):
            fit = PDA(2, random_state=seed, certify=False).fit(*three_groups(seed, n, d, size))
            found = np.linalg.qr(fit.components_.T)[0]
            cosine = np.linalg.svd(found[:2], compute_uv=False).min()
            angles.append(np.degrees(np.arccos(min(1.0, cosine))))
        below = np.count_nonzero(np.array(angles) < 5)
        print(
            f"  n={n} d={d} shift {size:g}: mean {np.mean(angles):.1f}, largest {max(angles):.1f}, ", end=""
        )
        print(f"below 5 degrees in {below} of {len(angles)}", flush=True)


def joint_value(X, y, start: np.ndarray, n_iter: int = 400) -> float:
    """Sum of the divergences along two orthonormal directions, ascended over both at once."""
    labels = Labels(y, int(y.max()) + 1).repeat(2)
    centred = X - X.mean(axis=0)

    def evaluate(pair):
        values, slopes = Wasserstein2().value_and_slope(pair @ centred.T, labels, Workspace())
        return values.sum(), slopes @ centred

    current, step = np.linalg.qr(start.T)[0].T, 1.0
    best, gradient = evaluate(current)
    for _ in range(n_iter):
        candidate = np.linalg.qr((current + step * gradient / np.linalg.norm(gradient)).T)[0].T
        value, new = evaluate(candidate)
        if value > best:
            current, best, gradient, step = candidate, value, new, step * 1.5
        else:
            step *= 0.5
    return float(best)


def joint(arguments) -> None:
    print("\ntwo directions: one after another, and both at once (sum of divergences; best of 30 starts)")
    problems = {
        "three groups, d=10": lambda seed: three_groups(seed, 200, 10, 2.0),
        "two groups, two planted axes, d=10": planted_axes,
        "two groups, no difference, d=10": lambda seed: planted_axes(seed, size=0.0),
    }
    for name, make in problems.items():
        ratios = []
        for seed in range(arguments.seeds or 5):
            X, y = make(seed)
            greedy = PDA(2, random_state=seed, certify=False).fit(X, y)
            rng = np.random.default_rng(seed)
            starts = [greedy.components_, *(rng.standard_normal((30, 2, X.shape[1])))]
            ratios.append(greedy.divergences_.sum() / max(joint_value(X, y, start) for start in starts))
        print(f"  {name:36s} successive / joint: mean {np.mean(ratios):.4f}, smallest {min(ratios):.4f}")


def planted_axes(seed: int, size: float = 1.0):
    rng = np.random.default_rng([22, seed])
    X, y = rng.standard_normal((300, 10)), np.repeat([0, 1], 150)
    X[y == 1, 0] += size
    X[y == 1, 1] *= 1 + size
    return X, y


def correlated_pairs(seed: int, n: int, d: int, shift: float):
    rng = np.random.default_rng([23, seed])
    before = rng.standard_normal((n, d))
    after = 0.9 * before + np.sqrt(1 - 0.81) * rng.standard_normal((n, d))
    after[:, 0] += shift
    return before, after


def pairs(arguments) -> None:
    n = arguments.seeds or 400
    low, high = binom.ppf([0.005, 0.995], n, 0.05) / n
    rate = np.mean(
        [
            paired_test(*correlated_pairs(s, 20, 5, 0.0), n_permutations=19, random_state=s).pvalue <= 0.05
            for s in range(n)
        ]
    )
    print(
        f"\npairs (correlation .9): type-I error at 5 %, {n} sets: {rate:.3f}, band [{low:.3f}, {high:.3f}]"
    )
    count = max(10, n // 10)
    for shift in (0.1, 0.2, 0.3):
        hits = {"within pairs": 0, "unpaired": 0}
        for seed in range(count):
            before, after = correlated_pairs(seed, 40, 5, shift)
            options = {"n_permutations": 99, "random_state": seed}
            hits["within pairs"] += paired_test(before, after, **options).pvalue <= 0.05
            rows, y = np.concatenate([before, after]), np.repeat([0, 1], 40)
            hits["unpaired"] += permutation_test(rows, y, **options).pvalue <= 0.05
        told = ", ".join(f"{name} {number / count:.2f}" for name, number in hits.items())
        print(f"  power, 40 pairs, d=5, shift {shift:g}: {told}", flush=True)


def sorts(arguments) -> None:
    print("\nsorting 100 x 2000 projections again after a small step (share of rows out of place), ms")
    rng = np.random.default_rng(0)
    values = np.sort(rng.standard_normal((100, 2000)).astype(np.float32), axis=1)
    for size in (0.0, 1e-3, 1e-2, 1e-1):
        moved = values + size * rng.standard_normal(values.shape).astype(np.float32)
        displaced = np.mean(np.argsort(moved, axis=1) != np.arange(2000))
        seconds = {}
        for kind in ("quicksort", "stable"):
            seconds[kind] = min(_timed(lambda moved=moved, kind=kind: np.sort(moved, axis=1, kind=kind)))
        seconds["insertion"] = min(_timed(lambda moved=moved: insertion_passes(moved), 2))
        told = ", ".join(f"{kind} {1e3 * second:.2f}" for kind, second in seconds.items())
        print(f"  {displaced:4.0%}: {told}", flush=True)


def insertion_passes(values: np.ndarray) -> np.ndarray:
    """Exchange of neighbours, all columns at once, until nothing moves: insertion sort in numpy."""
    values = values.copy()
    while True:
        moved = False
        for start in (0, 1):
            left, right = values[:, start:-1:2], values[:, start + 1 :: 2]
            width = min(left.shape[1], right.shape[1])
            left, right = left[:, :width], right[:, :width]
            wrong = left > right
            if wrong.any():
                moved = True
                small, large = np.minimum(left, right), np.maximum(left, right)
                left[...], right[...] = small, large
        if not moved:
            return values


def _timed(work, repeats: int = 7) -> list[float]:
    seconds = []
    for _ in range(repeats):
        begin = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - begin)
    return seconds


def l0(arguments) -> None:
    print(
        "\npenalty on the number of features: best of the path of levels, and ascents with a hard threshold"
    )
    for seed in range(arguments.seeds or 5):
        rng = np.random.default_rng([24, seed])
        X, y = rng.standard_normal((200, 12)), np.repeat([0, 1], 100)
        X[y == 1, :4] += [1.0, 0.7, 0.5, 0.3]
        path = np.array(
            [SPARDA(k, random_state=seed, certify=False).fit(X, y).divergences_[0] for k in range(1, 13)]
        )
        penalty = 0.1
        from_path = (path - penalty * np.arange(1, 13)).max()
        thresholded = max(hard_threshold_ascent(X, y, penalty, rng) for _ in range(20))
        print(f"  seed {seed}: {from_path:.4f} and {thresholded:.4f}", flush=True)


def hard_threshold_ascent(X, y, penalty: float, rng, n_iter: int = 200) -> float:
    """Maximise divergence - penalty * (number of weights) by steps that drop weights not worth it."""
    labels, centred = Labels(y, 2), X - X.mean(axis=0)
    direction = rng.standard_normal(X.shape[1])
    direction /= np.linalg.norm(direction)
    best = -np.inf
    for _ in range(n_iter):
        value, slopes = Wasserstein2().value_and_slope((centred @ direction)[None], labels, Workspace())
        best = max(best, value[0] - penalty * np.count_nonzero(direction))
        moved = direction + 0.5 * (slopes @ centred)[0]
        kept = moved**2 > penalty
        kept[np.abs(moved).argmax()] = True
        direction = np.where(kept, moved, 0.0)
        direction /= np.linalg.norm(direction)
    return float(best)


SECTIONS = {"plane": plane, "joint": joint, "pairs": pairs, "sorts": sorts, "l0": l0}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sections", nargs="*", default=list(SECTIONS), help=", ".join(SECTIONS))
    parser.add_argument("--seeds", type=int, help="data sets (default: as the section says)")
    arguments = parser.parse_args()
    for section in arguments.sections or list(SECTIONS):
        SECTIONS[section](arguments)


if __name__ == "__main__":
    main()
