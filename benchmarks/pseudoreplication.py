"""How often a test finds a difference where there is none, when cells come in donors.

Eight donors, four in each group; donors differ from each other, groups do not. Permuting single cells takes
the donors for a difference between groups; permuting whole donors does not.

    python benchmarks/pseudoreplication.py [--simulations 200] [--jobs 2]
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
from scipy.stats import binom

from princdiff import permutation_test

N_DONORS, LEVEL = 8, 0.05


def simulate(
    rng: np.random.Generator, n_genes: int, cells: tuple[int, int], effect: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Log counts of cells, their group and their donor; donors have their own expression of every gene."""
    sizes = rng.integers(*cells, size=N_DONORS)
    donor = np.repeat(np.arange(N_DONORS), sizes)
    rates = np.exp(rng.normal(0.5, 0.7, size=n_genes) + effect * rng.normal(size=(N_DONORS, n_genes)))
    counts = rng.poisson(rates[donor])
    return np.log1p(counts), (donor >= N_DONORS // 2).astype(int), donor


def attainable_level(n_labellings: int, mirrored: int) -> float:
    """The largest p-value not above the level: p-values are multiples of mirrored / n_labellings."""
    return np.floor(LEVEL * n_labellings / mirrored + 1e-9) * mirrored / n_labellings


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--simulations", type=int, default=200)
    parser.add_argument("--genes", type=int, default=30)
    parser.add_argument(
        "--effect", type=float, default=0.3, help="standard deviation of the donors' log rates"
    )
    parser.add_argument("--statistic", default="divergence", choices=["divergence", "adaptive"])
    parser.add_argument("--jobs", type=int, default=None)
    arguments = parser.parse_args()
    pvalues: dict[str, list[float]] = {"cells": [], "donors": []}
    for simulation in range(arguments.simulations):
        X, y, donor = simulate(
            np.random.default_rng([7, simulation]), arguments.genes, (15, 35), arguments.effect
        )
        options = {
            "statistic": arguments.statistic,
            "scale": None,
            "random_state": simulation,
            "n_jobs": arguments.jobs,
        }
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            pvalues["cells"].append(permutation_test(X, y, n_permutations=99, **options).pvalue)
            whole = permutation_test(X, y, blocks=donor, permute="whole", n_permutations=99, **options)
        pvalues["donors"].append(whole.pvalue)
    print(
        f"{arguments.simulations} simulations without a difference between groups: {N_DONORS} donors, "
        f"{arguments.genes} genes, statistic {arguments.statistic}"
    )
    levels = {
        "cells": LEVEL,
        "donors": attainable_level(whole.n_permutations + 1, 2),
    }
    for unit, found in pvalues.items():
        attainable = levels[unit]
        low, high = binom.ppf([0.005, 0.995], arguments.simulations, attainable) / arguments.simulations
        rate = np.mean(np.array(found) <= LEVEL + 1e-9)
        inside = "inside" if low <= rate <= high else "OUTSIDE"
        print(
            f"permuting {unit:<6}: rejects {rate:6.1%} at 5 %; attainable {attainable:.2%}, 99 % band "
            f"{low:.1%} to {high:.1%}: {inside}"
        )


if __name__ == "__main__":
    main()
