"""Gap and time of the relaxation, in units of one exact transport solve of the same size.

    python benchmarks/relax.py [--data DIR] [--repeats 5] [--only NAME ...] [--certificates]

A unit is one call of ``ot.emd`` between the rows of the two groups (squared Euclidean cost), timed just
before and after each run of ``princdiff.relax``; the second ratio takes the cost at the B that was found
instead. Times are processor time, summed over threads: set OPENBLAS_NUM_THREADS=1 for a fair unit, since
``ot.emd`` has one.
MADELON is read from --data or the environment variable PRINCDIFF_DATA, and is left out without it.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path

import numpy as np
import ot

from princdiff.datasets import make_block_gaussians, make_gaussian_pair
from princdiff.relaxation.relax import relax
from princdiff.relaxation.transport import line_divergences
from princdiff.relaxation.upper_bound import upper_bound

LIMITS = {
    "Fig. 1a, 1000 + 1000": 8,
    "blocks d = 60, 100 + 100": 90,
    "blocks d = 60, 500 + 500": 5,
    "blocks d = 60, 300 + 700": 6,
    "MADELON pooled-scaled": 16,
    "d = 10, 2000 + 2000": 10,
}


def ten_columns(seed):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(10, 10)) / 3
    B = A + 0.1 * rng.normal(size=(10, 10))
    X = np.vstack([rng.normal(size=(2000, 10)) @ A, rng.normal(size=(2000, 10)) @ B])
    return X, np.repeat([0, 1], 2000)


def madelon(data):
    place = data or os.environ.get("PRINCDIFF_DATA")
    if not place:
        return None
    file = Path(place) / "madelon.npz" if Path(place).is_dir() else Path(place)
    with np.load(file) as archive:
        X, y = archive["X_train"].astype(float), archive["y_train"]
    return (X - X.mean(axis=0)) / X.std(axis=0), y


def problems(data, seed):
    yield "Fig. 1a, 1000 + 1000", make_gaussian_pair(1000, random_state=seed)
    yield "blocks d = 60, 100 + 100", make_block_gaussians(60, 100, random_state=seed)
    yield "blocks d = 60, 500 + 500", make_block_gaussians(60, 500, random_state=seed)
    rows = make_block_gaussians(60, 300, n_samples_second=700, random_state=seed)
    yield "blocks d = 60, 300 + 700", rows
    found = madelon(data)
    if found is not None:
        yield "MADELON pooled-scaled", found
    yield "d = 10, 2000 + 2000", ten_columns(seed)


def seconds(function):
    start = time.process_time()
    result = function()
    return time.process_time() - start, result


def emd_seconds(x, y):
    a, b = np.full(len(x), 1 / len(x)), np.full(len(y), 1 / len(y))
    cost = ot.dist(x, y)
    repeats = max(1, 100_000 // cost.size)
    return seconds(lambda: [ot.emd(a, b, cost, numItermax=10**7) for _ in range(repeats)])[0] / repeats


def top_divergence(x, y, directions):
    a, b = np.full(len(x), 1 / len(x)), np.full(len(y), 1 / len(y))
    return line_divergences(x @ directions, y @ directions, a, b).max()


def relaxation_table(options):
    print("| problem | units (rows) | units (B) | limit | lower | upper | gap | spectrum | seconds |")
    print("|---|---|---|---|---|---|---|---|---|")
    for name, (X, y) in problems(options.data, options.seed):
        if options.only and not any(part in name for part in options.only):
            continue
        groups = np.unique(y)
        x, z = X[y == groups[0]], X[y == groups[1]]
        ratios, at_b, times, gaps, result = [], [], [], [], None
        relax(X[::20], y[::20], random_state=0)  # first calls load libraries
        for repeat in range(options.repeats):
            before = emd_seconds(x, z)
            spent, result = seconds(lambda r=repeat: relax(X, y, random_state=r))  # noqa: B023
            after = emd_seconds(x, z)
            ratios.append(2 * spent / (before + after))
            at_b.append(spent / emd_seconds(x @ result.factor, z @ result.factor))
            times.append(spent)
            gaps.append(result.gap)
        spectrum = " ".join(f"{s:.2f}" for s in result.spectrum[:3])
        print(
            f"| {name} | {np.median(ratios):.1f} | {np.median(at_b):.1f} | {LIMITS[name]} "
            f"| {result.lower_bound:.4f} | {result.upper_bound:.4f} | {100 * max(gaps):.2f} % "
            f"| {spectrum} | {np.median(times):.3f} |",
            flush=True,
        )


def paper_table(options):
    print("\n| method on Fig. 1a | transport cost at B | J of the top eigenvector | seconds |")
    print("|---|---|---|---|")
    X, y = make_gaussian_pair(1000, random_state=options.seed)
    x, z = X[y == 0], X[y == 1]
    runs = {
        "fast, to 1e-4": {"tol": 1e-4, "random_state": 0},
        "paper": {"method": "paper"},
        "paper, incremental": {"method": "paper", "incremental": True, "random_state": 0},
    }
    for name, settings in runs.items():
        spent, found = seconds(lambda s=settings: relax(X, y, **s))
        J = top_divergence(x, z, found.directions[:, :1])
        print(f"| {name} | {found.lower_bound:.5f} | {J:.5f} | {spent:.1f} |", flush=True)


def certificate_table(options):
    print("\n| problem | k | upper bound | seconds | how |")
    print("|---|---|---|---|---|")
    sets = {
        "Fig. 1a": (make_gaussian_pair(1000, random_state=options.seed), (1, 2, 3)),
        "blocks d = 60, 100 + 100": (
            make_block_gaussians(60, 100, random_state=options.seed),
            (1, 2, 3, 5, 60),
        ),
    }
    for name, ((X, y), levels) in sets.items():
        for k in levels:
            spent, found = seconds(lambda k=k, X=X, y=y: upper_bound(X, y, k))
            print(f"| {name} | {k} | {found.upper_bound:.4f} | {spent:.2f} | {found.how} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--paper", action="store_true")
    parser.add_argument("--certificates", action="store_true")
    options = parser.parse_args()
    relaxation_table(options)
    if options.paper:
        paper_table(options)
    if options.certificates:
        certificate_table(options)


if __name__ == "__main__":
    main()
