"""Statistics are promises: type-I error, power and selection, by simulation.

Sections: ``type1`` (the four main cells), ``schemes`` (every other combination of statistic, metric,
scaling and scheme), ``power`` (Fig. 1c data), ``kinds`` (several kinds of difference, metric by metric),
``split`` (split test against full test), ``madelon`` and ``correlated`` (feature selection).
"""

from __future__ import annotations

import argparse
import itertools
import time
import warnings

import numpy as np
from scipy.stats import binom

from princdiff import SPARDA, permutation_test, select_features
from princdiff.datasets import load_madelon, make_block_gaussians
from princdiff.statistics.split import split_test

LEVEL = 0.05


def band(n: int, n_cells: int, rate: float = LEVEL, coverage: float = 0.99) -> tuple[float, float]:
    """Simultaneous binomial band of a rejection rate (Bonferroni over the cells)."""
    tail = (1 - coverage) / n_cells / 2
    return binom.ppf(tail, n, rate) / n, binom.ppf(1 - tail, n, rate) / n


def null_gaussian(rng):
    return rng.standard_normal((80, 60)), np.repeat([0, 1], 40), {}


def null_poisson(rng):
    return rng.poisson(2.0, size=(80, 12)).astype(float), np.repeat([0, 1], [20, 60]), {}


def null_heavy(rng):
    return rng.standard_t(2, size=(80, 20)), np.repeat([0, 1], 40), {}


def null_donors(rng):
    """Six donors a group, of two sizes, each with its own level in every feature."""
    sizes = rng.permutation([6, 10] * 6)
    donors = np.repeat(np.arange(12), sizes)
    X = rng.standard_normal((len(donors), 8)) + 0.7 * rng.standard_normal((12, 8))[donors]
    return X, (donors >= 6).astype(int), {"blocks": donors, "permute": "whole"}


MAIN_CELLS = {
    "Gaussian d=60 n=m=40": null_gaussian,
    "Poisson d=12, 20 and 60 rows": null_poisson,
    "heavy tails (t2) d=20 n=m=40": null_heavy,
    "6 + 6 donors, whole": null_donors,
}


def rejection_rate(make, n_sets: int, n_permutations: int, n_jobs: int, **options) -> tuple[float, float]:
    """Share of null data sets with p <= 5 %, and seconds per test."""
    rejected, begin = 0, time.perf_counter()
    for seed in range(n_sets):
        X, y, design = make(np.random.default_rng([7, seed]))
        result = permutation_test(
            X, y, n_permutations=n_permutations, random_state=seed, n_jobs=n_jobs, **design, **options
        )
        rejected += result.pvalue <= LEVEL
    return rejected / n_sets, (time.perf_counter() - begin) / n_sets


def type1(arguments) -> None:
    n = arguments.sets or 1000
    low, high = band(n, len(MAIN_CELLS))
    print(f"type-I error of the default test at 5 %, {n} null data sets each, 19 permutations;")
    print(f"simultaneous 99 % band [{low:.3f}, {high:.3f}]")
    for name, make in MAIN_CELLS.items():
        if arguments.cell and arguments.cell not in name:
            continue
        rate, seconds = rejection_rate(make, n, 19, arguments.jobs)
        verdict = "inside" if low <= rate <= high else "OUTSIDE"
        print(f"  {name:32s} {rate:.3f}  {verdict}  ({seconds:.2f} s a test)", flush=True)


def small_null(scheme: str):
    def make(rng):
        X = rng.standard_normal((32, 5)) @ rng.standard_normal((5, 5))
        y = np.repeat([0, 1], 16)
        if scheme == "within blocks":
            blocks = np.tile(np.arange(8), 4)
            return X + rng.standard_normal((8, 5))[blocks], y, {"blocks": blocks, "permute": "within"}
        if scheme == "whole blocks":
            blocks = np.repeat(np.arange(16), 2)
            return X + rng.standard_normal((16, 5))[blocks], y, {"blocks": blocks, "permute": "whole"}
        if scheme == "covariates":
            covariate = rng.standard_normal(32) + 0.5 * y
            return X + covariate[:, None], y, {"covariates": covariate}
        return X, y, {}

    return make


def schemes(arguments) -> None:
    n = arguments.sets or 200
    combinations = [
        (statistic, metric, scale, scheme)
        for statistic, metric, scale, scheme in itertools.product(
            ["adaptive", "divergence", "paper"],
            ["mixed", "euclidean", "whitened"],
            ["pooled", None, "within"],
            ["free", "within blocks", "whole blocks", "covariates"],
        )
        # "mixed" is the grid of the adaptive statistic; the paper's statistic has one metric.
        if not (statistic != "adaptive" and metric == "mixed")
        and not (statistic == "paper" and metric == "whitened")
        and not (metric != "euclidean" and scale == "within")
    ]
    low, high = band(n, len(combinations))
    print(
        f"\ntype-I error at 5 %, {n} null data sets (d=5, n=m=16), 19 permutations; {len(combinations)} cells"
    )
    print(f"simultaneous 99 % band [{low:.3f}, {high:.3f}]")
    outside = 0
    for statistic, metric, scale, scheme in combinations:
        rate, _ = rejection_rate(
            small_null(scheme), n, 19, arguments.jobs, statistic=statistic, metric=metric, scale=scale
        )
        inside = low <= rate <= high
        outside += not inside
        mark = "" if inside else "  OUTSIDE"
        print(f"  {statistic:10s} {metric:9s} {scale!s:7s} {scheme:13s} {rate:.3f}{mark}", flush=True)
    print(f"{outside} of {len(combinations)} cells outside the band")


def power(arguments) -> None:
    n = arguments.sets or 20
    print(f"\nFig. 1c data, {n} fresh seeds, 100 permutations: mean p / power at 5 % (seconds a test)")
    rows = [
        ("adaptive", "mixed"),
        ("adaptive", "euclidean"),
        ("adaptive", "whitened"),
        ("divergence", "euclidean"),
    ]
    rows += [("divergence", "whitened"), ("paper", "euclidean")]
    for d in (15, 30, 60):
        for statistic, metric in rows:
            pvalues, begin = [], time.perf_counter()
            for seed in range(1000, 1000 + n):
                X, y = make_block_gaussians(d, 100, random_state=seed)
                test = permutation_test(
                    X,
                    y,
                    n_permutations=100,
                    statistic=statistic,
                    metric=metric,
                    random_state=seed,
                    n_jobs=arguments.jobs,
                )
                pvalues.append(test.pvalue)
            seconds = (time.perf_counter() - begin) / n
            mean, hits = np.mean(pvalues), np.mean(np.array(pvalues) <= LEVEL)
            print(
                f"  d={d:2d} {statistic:10s} {metric:9s} {mean:.3f} / {hits:.2f}  ({seconds:.2f} s)",
                flush=True,
            )


def difference(kind: str, seed: int, d: int = 60, n: int = 100, spread: float = 2.0):
    """Some of the features differ; independent features or, "correlated", three factors in all of them."""
    rng = np.random.default_rng([11, seed])
    X, y = rng.standard_normal((2 * n, d)), np.repeat([0, 1], n)
    if kind.startswith("correlated"):
        X = X + rng.standard_normal((2 * n, 3)) @ rng.standard_normal((3, d))
    if kind.endswith("shift of one"):
        X[n:, 0] += 0.7
    elif kind.endswith("shift of all"):
        X[n:] += 0.12 * rng.choice([-1, 1], size=d)
    elif kind.endswith("spread of one"):
        X[n:, 0] *= spread
    elif kind.endswith("dependence of two"):
        X[n:, 1] = 0.9 * X[n:, 0] + np.sqrt(1 - 0.81) * X[n:, 1]
    elif kind.endswith("dependence of ten"):
        X[n:, :10] = np.sqrt(0.6) * X[n:, :10] + np.sqrt(0.4) * rng.standard_normal((n, 1))
    return X, y


def kinds(arguments) -> None:
    n = arguments.sets or 40
    print(f"\npower at 5 % by kind of difference, d=60, n=m=100, {n} data sets, 99 permutations")
    print(f"  {'':34s} {'mixed':>7s} {'euclid.':>7s} {'whit.':>7s}")
    changes = ["shift of one", "shift of all", "spread of one", "dependence of two", "dependence of ten"]
    for kind in [f"{base}{change}" for base in ("", "correlated, ") for change in changes]:
        rates = []
        for metric in ("mixed", "euclidean", "whitened"):
            rejected = 0
            for seed in range(n):
                X, y = difference(kind, seed)
                test = permutation_test(
                    X, y, n_permutations=99, metric=metric, random_state=seed, n_jobs=arguments.jobs
                )
                rejected += test.pvalue <= LEVEL
            rates.append(rejected / n)
        print(f"  {kind:34s} " + " ".join(f"{rate:7.2f}" for rate in rates), flush=True)


def split(arguments) -> None:
    n = arguments.sets or 20
    print(f"\nsplit test against full test: power at 5 % and seconds, {n} data sets")
    problems = {
        "Fig. 1c, d=30, n=m=100": lambda seed: make_block_gaussians(30, 100, random_state=seed),
        "Fig. 1c, d=30, n=m=500": lambda seed: make_block_gaussians(30, 500, random_state=seed),
        "shift of one, d=60, n=m=100": lambda seed: difference("shift of one", seed),
    }
    for name, make in problems.items():
        results = {"full": [], "split": []}
        seconds = dict.fromkeys(results, 0.0)
        for seed in range(2000, 2000 + n):
            X, y = make(seed)
            begin = time.perf_counter()
            results["full"].append(
                permutation_test(X, y, n_permutations=999, random_state=seed, n_jobs=arguments.jobs).pvalue
            )
            middle = time.perf_counter()
            results["split"].append(split_test(X, y, random_state=seed, n_jobs=arguments.jobs).pvalue)
            seconds["full"] += middle - begin
            seconds["split"] += time.perf_counter() - middle
        line = "  ".join(
            f"{key} {np.mean(np.array(values) <= LEVEL):.2f} ({seconds[key] / n:.2f} s)"
            for key, values in results.items()
        )
        print(f"  {name:30s} {line}", flush=True)


def count(selected, relevant) -> str:
    hits = int(selected[relevant].sum())
    return f"found {hits} of {len(relevant)}, false {int(selected.sum()) - hits}"


def madelon(arguments) -> None:
    from sklearn.datasets import make_classification

    print("\nMADELON, goal='all'")
    for subset in ("train", "valid"):
        data = load_madelon(arguments.data, subset=subset)
        for seed in range(arguments.sets or 5):
            begin = time.perf_counter()
            result = select_features(data.data, data.target, random_state=seed, n_jobs=arguments.jobs)
            print(f"  {subset} seed {seed}: {count(result.selected, data.relevant)}", end="")
            print(f"  ({time.perf_counter() - begin:.0f} s)", flush=True)
    data = load_madelon(arguments.data, subset="valid")
    empty = 0
    for seed in range(20):
        y = np.random.default_rng(seed).permutation(data.target)
        empty += not select_features(data.data, y, random_state=seed, n_jobs=arguments.jobs).selected.any()
    print(f"  permuted labels (validation rows): nothing selected in {empty} of 20 runs", flush=True)
    for seed in range(8):
        X, y = make_classification(
            2000, 500, n_informative=5, n_redundant=15, n_clusters_per_class=16, flip_y=0.01,
            class_sep=2.0, shuffle=False, random_state=seed,
        )  # fmt: skip
        result = select_features(X, y, random_state=seed, n_jobs=arguments.jobs)
        print(f"  make_classification seed {seed}: {count(result.selected, np.arange(20))}", flush=True)
    data = load_madelon(arguments.data, subset="train")
    for scale in (None, "pooled"):
        fit = SPARDA(n_features="auto", scale=scale, random_state=0, n_jobs=arguments.jobs).fit(
            data.data, data.target
        )
        held_out = fit.path_.held_out.mean(axis=0).max()
        print(f"  n_features='auto', scale={scale}: {int(fit.support_.sum())} selected, ", end="")
        print(f"{count(fit.support_, data.relevant)}, held-out divergence {held_out:.4g}", flush=True)


def correlated(arguments) -> None:
    n = arguments.sets or 50
    print(f"\nblock-Gaussian with correlated noise, d=60, n=m=400, {n} seeds, goal='all'")
    found, false = [], []
    for seed in range(n):
        X, y = make_block_gaussians(60, 400, random_state=3000 + seed)
        selected = select_features(X, y, random_state=seed, n_jobs=arguments.jobs).selected
        found.append(selected[:3].sum())
        false.append(selected[3:].sum())
    print(f"  found {np.mean(found):.2f} of 3; false positives {np.mean(false):.3f} a run,", end="")
    print(f" in {np.count_nonzero(false)} of {n} runs", flush=True)


SECTIONS = {
    "type1": type1,
    "schemes": schemes,
    "power": power,
    "kinds": kinds,
    "split": split,
    "madelon": madelon,
    "correlated": correlated,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sections", nargs="*", default=list(SECTIONS), help=", ".join(SECTIONS))
    parser.add_argument("--sets", type=int, help="data sets a cell (default: as the section says)")
    parser.add_argument("--cell", help="only the main cells whose name contains this (section type1)")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--data", help="folder of the MADELON file (or set PRINCDIFF_DATA)")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", UserWarning)
    for section in arguments.sections:
        SECTIONS[section](arguments)


if __name__ == "__main__":
    main()
