"""How tight the certificates of sparse fits are, and that none is ever below the truth.

    python benchmarks/certificates.py [--data DIR] [--seeds 3] [--seconds 10] [--only NAME ...]
    python benchmarks/certificates.py --soundness 2000

A gap is 1 - value / upper bound, the value being that of the default search. "single plan" is the least of
the bounds that use one plan for all directions, or an envelope over few sets of features; "cones" adds branch
and bound. Times are processor time. Rows are scaled to unit variance over all rows, except where a name says
raw.
MADELON and the brain cells are read from --data or the environment variable PRINCDIFF_DATA, and are left out
without it.
"""

from __future__ import annotations

import argparse
import os
import time
from functools import partial
from itertools import combinations

import numpy as np
from sklearn.datasets import load_breast_cancer, load_wine

from princdiff import PDA, SPARDA
from princdiff.data.labels import Labels
from princdiff.datasets import load_madelon, load_zeisel, make_block_gaussians
from princdiff.divergences import get
from princdiff.relaxation.branch_and_bound import BranchAndBound
from princdiff.relaxation.group_rows import GroupRows
from princdiff.relaxation.upper_bound import ProofEffort, upper_bound


def flags(seed):
    """Twenty 0/1 columns, four of which are more often 1 in the second group."""
    rng = np.random.default_rng(seed)
    share = rng.uniform(0.1, 0.5, 20)
    y = np.repeat([0, 1], 200)
    X = rng.random((400, 20)) < share + 0.25 * (np.arange(20) < 4) * y[:, None]
    return X.astype(float), y


def madelon(place):
    found = load_madelon(place)
    return found.data, found.target


def cells(place):
    found = load_zeisel(place)
    return found.data.toarray(), found.target


def problems(options):
    """Names, makers of rows and labels by seed, levels, and the number of seeds that make a difference."""
    for n in (100, 500):
        yield (
            f"blocks {n} + {n}",
            lambda seed, n=n: make_block_gaussians(60, n, random_state=seed),
            (2, 3, 5, 8),
            None,
        )
    yield "blocks 100 + 100, raw", lambda seed: make_block_gaussians(60, 100, random_state=seed), (2, 3), None
    place = options.data or os.environ.get("PRINCDIFF_DATA")
    if place:
        yield "MADELON", lambda _: madelon(place), (5, 10, 14), 1
    yield "breast cancer", lambda _: load_breast_cancer(return_X_y=True), (3, 5, 10), 1
    yield "wine, 3 groups", lambda _: load_wine(return_X_y=True), (3, 5, 10), 1
    yield "0/1 columns", flags, (3, 5), None
    if place:
        yield "brain cells, all genes", lambda _: cells(place), (None,), 1


def scaled(X):
    return (X - X.mean(axis=0)) / X.std(axis=0)


def seconds(function):
    start = time.process_time()
    result = function()
    return time.process_time() - start, result


def bounded(X, y, k, direction, limit, work):
    end = time.process_time() + limit
    effort = ProofEffort(work=work, stop=lambda: time.process_time() > end)
    return seconds(lambda: upper_bound(X, y, k, directions=direction, effort=effort))


def tightness(options):
    print("| problem | k | seeds | gap, single plan | s | gap, with cones | s | within 1 % | how |")
    print("|---|---|---|---|---|---|---|---|---|")
    for name, make, levels, most in problems(options):
        if options.only and not any(part in name for part in options.only):
            continue
        for k in levels:
            gaps, times, how = [], [], ""
            for seed in range(min(options.seeds, most or options.seeds)):
                X, y = make(seed)
                X = X if "raw" in name else scaled(X)
                estimator = PDA if k is None else partial(SPARDA, n_features=k)
                fit = estimator(certify=False, random_state=0).fit(X, y)
                value, direction = fit.divergences_[0], fit.components_[0]
                before = bounded(X, y, k, direction, options.seconds, 0.0)
                after = bounded(X, y, k, direction, options.seconds, 2e8 * options.seconds)
                gaps.append([before[1].gap(value), after[1].gap(value)])
                times.append([before[0], after[0]])
                how = after[1].how
            gap, spent = np.median(gaps, axis=0), np.median(times, axis=0)
            closed = (np.array(gaps)[:, 1] <= 0.0101).mean()
            print(
                f"| {name} | {k or 'all'} | {len(gaps)} | {100 * gap[0]:.1f} % | {spent[0]:.1f} "
                f"| {100 * gap[1]:.1f} % | {spent[1]:.1f} | {100 * closed:.0f} % | {how} |",
                flush=True,
            )


# Soundness.


def small_problem(seed):
    """Up to eight features, few rows: ties, copies, weights, unequal groups and scales, 2 groups or 3."""
    rng = np.random.default_rng(seed)
    d = int(rng.integers(1, 9))
    n_groups = 2 if seed % 4 else 3
    y = np.repeat(np.arange(n_groups), rng.integers(1, 10, n_groups))
    X = rng.normal(size=(len(y), d))
    match seed % 7:
        case 0:
            X = np.round(X)
        case 1:
            X[y == 0] += 3 * rng.normal(size=d)
        case 2:
            X = X * 10.0 ** rng.integers(-2, 3, d) + 50
        case 3:
            X[:, -1] = X[:, 0]
        case 4:
            X = (X > 0).astype(float)
        case 5:
            X = X @ rng.normal(size=(d, d))
    weight = rng.integers(1, 4, len(y)).astype(float) if seed % 3 == 0 else None
    return X, y, weight, int(rng.integers(1, d + 1)), rng


def best_of_many(X, y, weight, k, rng):
    """Random directions on every support, the best of them climbed by ever smaller random steps."""
    labels = Labels(y[None], int(y.max()) + 1, weights=weight)
    divergence = get("wasserstein2")
    best, where = 0.0, np.zeros(X.shape[1])
    for support in combinations(range(X.shape[1]), k):
        core, radius = rng.normal(size=(120 if k > 1 else 1, k)), 0.3
        for _ in range(5):
            V = np.zeros((len(core), X.shape[1]))
            V[:, support] = core / np.linalg.norm(core, axis=1, keepdims=True)
            values = divergence.value(V @ X.T, labels.repeat(len(V)))
            top = values.argmax()
            if values[top] > best:
                best, where = values[top], V[top]
            core, radius = V[top, support] + radius * rng.normal(size=(30, k)), radius / 4
    return best, where


def soundness(count):
    below = proved = better = 0
    for seed in range(count):
        X, y, weight, k, rng = small_problem(seed)
        best, where = best_of_many(X, y, weight, k, rng)
        rows = GroupRows.from_rows(X, y, weight)
        search = BranchAndBound(
            rows, k, where if seed % 2 else np.zeros(X.shape[1]), (0.01, 0.001, 0.1)[seed % 3]
        )
        if seed % 5 == 0 and rows.n_features:
            search.add_plan(rows.product_plan)
        progress = search.run((1e6, 1e7, 3e7)[seed % 3])
        below += progress.upper * rows.unit**2 * (1 + 1e-9) < best
        better += progress.value * rows.unit**2 > best * (1 + 1e-6)
        proved += progress.proved
    print(
        f"{count} small problems: {below} bounds below the best of many directions, {proved} proved to their "
        f"tolerance, in {better} branch and bound met a better direction"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--soundness", type=int, metavar="COUNT")
    options = parser.parse_args()
    if options.soundness:
        soundness(options.soundness)
    else:
        tightness(options)


if __name__ == "__main__":
    main()
