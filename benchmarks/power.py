"""Power and size of the adaptive test, beside others.

Sections: ``table`` (sixteen kinds of difference, beside other tests), ``learned`` (those that no direction
shows, beside a learner), ``type1`` (null data sets of five kinds),
``covariates`` (size with many covariates, and what is left of the power), ``planning`` (predicted against
simulated power) and ``seconds`` (processor time by shape of the table).

MMDAgg, MMD-FUSE (which needs jax), dcor (energy) and Ball take part where they can be imported, and are left
out otherwise. Run from the top folder of the repository:

    python -m benchmarks.power table --sets 100 --keep power.json

Weights of the cells were chosen on data sets 0 to 39 of each kind: the table begins with set 40.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import time
import warnings
from functools import partial
from pathlib import Path

import numpy as np
from scipy.stats import binom
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier

from benchmarks.inference import difference
from benchmarks.two_sample import mmd, pvalue
from princdiff import permutation_test
from princdiff.datasets import make_block_gaussians
from princdiff.statistics.planning import expected_power

LEVEL = 0.05


# Kinds of difference, 100 + 100 rows unless said.


def scale_mixture(seed: int):
    """Normal rows against t rows of the same variance: the same along every direction but for its tails."""
    rng = np.random.default_rng([12, seed])
    X = rng.standard_normal((200, 30))
    X[100:] *= np.sqrt(7 / rng.chisquare(9, size=100))[:, None]
    return X, np.repeat([0, 1], 100)


def blobs(seed: int):
    """A lattice of nine clusters, round in one group and slanted in the other; 250 + 250 rows."""
    rng = np.random.default_rng([13, seed])
    X = 10.0 * rng.integers(0, 3, size=(500, 2))
    noise = rng.standard_normal((500, 2))
    noise[250:, 1] = 0.85 * noise[250:, 0] + np.sqrt(1 - 0.85**2) * noise[250:, 1]
    return X + noise, np.repeat([0, 1], 250)


def heavy_shift(seed: int):
    """Two of 30 columns with heavy tails are shifted."""
    rng = np.random.default_rng([19, seed])
    X = rng.standard_t(2, (200, 30))
    X[100:, :2] += 0.75
    return X, np.repeat([0, 1], 100)


def skewed_spread(seed: int):
    """Two of 30 lognormal columns have the same mean and more spread."""
    rng = np.random.default_rng([20, seed])
    X = rng.lognormal(-0.5, 1, (200, 30))
    X[100:, :2] = rng.lognormal(-0.98, 1.4, (100, 2))
    return X, np.repeat([0, 1], 100)


def sine(seed: int):
    """One of four columns follows a sine curve of another, a quarter of a wave later in the second group."""
    rng = np.random.default_rng([14, seed])
    X = rng.standard_normal((200, 4))
    X[:, 0] = rng.uniform(0, 2 * np.pi, 200)
    X[:, 1] = np.sin(2 * X[:, 0] + np.repeat([0, np.pi / 2], 100)) + 0.5 * X[:, 1]
    return X, np.repeat([0, 1], 100)


def ring(seed: int):
    """Two of four columns lie on a ring in one group; the same columns by themselves in the other.

    With noise of .5 in place of .25, as it was first, this test found .04 of 100.
    """
    rng = np.random.default_rng([15, seed])
    X = rng.standard_normal((200, 4))
    angle = rng.uniform(0, 2 * np.pi, 200)
    other = np.where(np.arange(200) < 100, angle, rng.uniform(0, 2 * np.pi, 200))
    X[:, :2] = np.column_stack([np.cos(angle), np.sin(other)]) + 0.25 * X[:, :2]
    return X, np.repeat([0, 1], 100)


def parabola(seed: int):
    """One of four columns is the square of another and noise in one group, of neither in the other."""
    rng = np.random.default_rng([16, seed])
    X = rng.standard_normal((200, 4))
    base = np.where(np.arange(200) < 100, X[:, 0], rng.standard_normal(200))
    X[:, 1] = 0.5 * base**2 + X[:, 1]
    return X, np.repeat([0, 1], 100)


def checkerboard(seed: int):
    """Uniform on a square of four by four fields, or on the black ones only."""
    rng = np.random.default_rng([17, seed])
    field = rng.integers(0, 4, (200, 2))
    X = field + rng.random((200, 2))
    white = (field.sum(axis=1) % 2 == 1) & (np.arange(200) >= 100)
    X[white, 0] = (X[white, 0] + 1) % 4
    return X, np.repeat([0, 1], 100)


def digits(seed: int):
    """15 pictures of any digits, and 15 of odd ones: 64 columns."""
    rng = np.random.default_rng([18, seed])
    pictures, digit = load_digits(return_X_y=True)
    every = rng.choice(len(digit), 15, replace=False)
    odd = rng.choice(np.flatnonzero(digit % 2 == 1), 15, replace=False)
    return pictures[np.concatenate([every, odd])], np.repeat([0, 1], 15)


KINDS = {
    "Fig. 1c blocks, d = 60": lambda seed: make_block_gaussians(60, 100, random_state=1000 + seed),
    "shift of one of 60": lambda seed: difference("shift of one", seed),
    "shift of all of 60": lambda seed: difference("shift of all", seed),
    "spread of one of 60": lambda seed: difference("spread of one", seed),
    "dependence of two of 60": lambda seed: difference("dependence of two", seed),
    "correlated, shift of one": lambda seed: difference("correlated, shift of one", seed),
    "correlated, dependence of ten": lambda seed: difference("correlated, dependence of ten", seed),
    "scale mixture, d = 30": scale_mixture,
    "blobs, d = 2": blobs,
    "t2, shift of two of 30": heavy_shift,
    "lognormal, spread of two of 30": skewed_spread,
    "sine, phase, d = 4": sine,
    "ring, d = 4": ring,
    "parabola, d = 4": parabola,
    "checkerboard, d = 2": checkerboard,
    "15 + 15 digits": digits,
}


# Other tests. Each gives a p-value.


def forest_witness(X, y, seed, n_permutations):
    """A forest learns on one half; its score of the rows of the other half is compared by ranks."""
    rng = np.random.default_rng(seed)
    half = np.zeros(len(y), dtype=bool)
    for group in (0, 1):
        members = rng.permutation(np.flatnonzero(y == group))
        half[members[: len(members) // 2]] = True
    forest = RandomForestClassifier(200, random_state=seed).fit(X[half], y[half])
    scores = forest.predict_proba(X[~half])[:, 1]
    labellings = np.array([y[~half], *(rng.permutation(y[~half]) for _ in range(n_permutations))])
    ones = labellings == 1
    difference = (scores * ones).sum(axis=1) / ones.sum(axis=1) - (scores * ~ones).sum(axis=1) / (~ones).sum(
        axis=1
    )
    return pvalue(difference)


def median_mmd(X, y, seed, n_permutations):
    """What hyppo's MMD computes, for all relabellings at once."""
    rng = np.random.default_rng(seed)
    labellings = np.array([y, *(rng.permutation(y) for _ in range(n_permutations))])
    return pvalue(mmd(X, labellings))


def peers() -> dict:
    """Tests of other packages that can be imported here, and a forest's."""
    found = {"forest witness": forest_witness, "MMD, median bandwidth": median_mmd}
    with contextlib.suppress(ImportError):
        from mmdagg.np import mmdagg

        # A decision at the level, not a p-value.
        found["MMDAgg"] = lambda X, y, seed, _: 1.0 - mmdagg(X[y == 0], X[y == 1], alpha=LEVEL, seed=seed)
    with contextlib.suppress(ImportError):
        import jax
        from mmdfuse import mmdfuse

        found["MMD-FUSE"] = lambda X, y, seed, _: (
            1.0 - float(mmdfuse(X[y == 0], X[y == 1], jax.random.PRNGKey(seed), alpha=LEVEL))
        )
    with contextlib.suppress(ImportError):
        import dcor

        found["energy (dcor)"] = lambda X, y, seed, count: (
            dcor.homogeneity.energy_test(
                X[y == 0], X[y == 1], num_resamples=count, random_state=np.random.RandomState(seed)
            ).pvalue
        )
    with contextlib.suppress(ImportError):
        import Ball

        found["Ball"] = lambda X, y, _, count: (
            Ball.bd_test(X[y == 0], X[y == 1], num_permutations=count).pvalue
        )
    return found


def ours(X, y, seed, n_permutations):
    return permutation_test(X, y, n_permutations=n_permutations, random_state=seed).pvalue


class Store:
    """P-values and seconds of (test, kind of difference), in a file if one is named: each runs once."""

    def __init__(self, place: Path | None) -> None:
        self.place = place
        self.found: dict[str, list[list[float]]] = (
            json.loads(place.read_text()) if place is not None and place.exists() else {}
        )

    def get(self, name: str, kind: str, run, seeds: range) -> np.ndarray:
        """Of data sets in a row, shape (n_sets, 2); ``run(seed)`` gives the p-value of one."""
        done = self.found.setdefault(f"{name} / {kind} / from {seeds.start}", [])
        for seed in seeds[len(done) :]:
            begin = time.process_time()
            p = run(seed)
            done.append([float(p), time.process_time() - begin])
            if self.place is not None:
                self.place.write_text(json.dumps(self.found))
        return np.array(done[: len(seeds)])


def table(arguments) -> None:
    n = arguments.sets or 100
    tests = {"princdiff": ours}
    tests |= peers()
    tests = {name: test for name, test in tests.items() if not arguments.test or arguments.test in name}
    _print_power(arguments, n, arguments.permutations or 199, KINDS, tests)


# What the default test sees by kernels alone, and a forest by itself in the second.
LOCAL = ("scale mixture, d = 30", "blobs, d = 2")


def learned(arguments) -> None:
    kinds = {kind: KINDS[kind] for kind in LOCAL}
    tests = {"princdiff": ours, "forest witness": forest_witness}
    _print_power(arguments, arguments.sets or 100, arguments.permutations or 99, kinds, tests)


def _print_power(arguments, n: int, permutations: int, kinds: dict, tests: dict) -> None:
    stored = Store(arguments.keep)
    seeds = range(arguments.first, arguments.first + n)
    print(
        f"power at 5 %, data sets {seeds.start} to {seeds.stop - 1} of each kind, {permutations} relabellings"
    )
    print("| difference | " + " | ".join(tests) + " |\n|" + "---|" * (len(tests) + 1))
    spent: dict[str, list] = {name: [] for name in tests}
    for kind, make in kinds.items():
        if arguments.cell and arguments.cell not in kind:
            continue
        rates = []
        for name, test in tests.items():
            run = partial(_one, make, test, permutations)
            pvalues, seconds = stored.get(name, kind, run, seeds).T
            spent[name].append(np.median(seconds))
            rates.append(np.mean(pvalues <= LEVEL))
        best = max(rates)
        cells = [f"**{rate:.2f}**" if rate == best else f"{rate:.2f}" for rate in rates]
        print(f"| {kind} | " + " | ".join(cells) + " |", flush=True)
    print("| seconds a test | " + " | ".join(f"{np.mean(spent[name]):.2f}" for name in tests) + " |")


def _one(make, test, permutations, seed):
    return test(*make(seed), seed, permutations)


# Size.


def band(n: int, n_cells: int, coverage: float = 0.99) -> tuple[float, float]:
    """Simultaneous binomial band of a rejection rate (Bonferroni over the cells)."""
    tail = (1 - coverage) / n_cells / 2
    return binom.ppf(tail, n, LEVEL) / n, binom.ppf(1 - tail, n, LEVEL) / n


def null_gaussian(rng):
    return rng.standard_normal((80, 60)), np.repeat([0, 1], 40), {}


def null_poisson(rng):
    return (
        rng.poisson(2.0, size=(80, 12)).astype(float),
        np.repeat([0, 1], [20, 60]),
        {"divergence": "energy"},
    )


def null_heavy(rng):
    return rng.standard_t(2, size=(80, 20)), np.repeat([0, 1], 40), {}


def null_mixed(rng):
    """Numbers, rare and common flags, the levels of a category."""
    n = 120
    flags = rng.random((n, 6)) < [0.02, 0.05, 0.1, 0.3, 0.5, 0.9]
    levels = rng.choice(5, size=n, p=[0.5, 0.3, 0.1, 0.07, 0.03])[:, None] == np.arange(5)
    X = np.column_stack([rng.lognormal(size=(n, 4)), flags, levels]).astype(float)
    X = X[:, X.std(axis=0) > 0]
    return X, np.repeat([0, 1], [40, 80]), {"divergence": "energy"}


def null_donors(rng):
    """Six donors a group, of two sizes, each with its own level in every feature."""
    sizes = rng.permutation([6, 10] * 6)
    donors = np.repeat(np.arange(12), sizes)
    X = rng.standard_normal((len(donors), 8)) + 0.7 * rng.standard_normal((12, 8))[donors]
    return X, (donors >= 6).astype(int), {"blocks": donors, "permute": "whole"}


NULLS = {
    "Gaussian, d = 60, 40 + 40": null_gaussian,
    "Poisson, d = 12, 20 + 60": null_poisson,
    "t2, d = 20, 40 + 40": null_heavy,
    "mixed table, 40 + 80": null_mixed,
    "6 + 6 donors, whole": null_donors,
}


def type1(arguments) -> None:
    n = arguments.sets or 1000
    low, high = band(n, len(NULLS))
    print(f"\nrejected at 5 % of {n} null data sets, 19 relabellings; 99 % band [{low:.3f}, {high:.3f}]")
    for name, make in NULLS.items():
        if arguments.cell and arguments.cell not in name:
            continue
        begin, rejected = time.process_time(), 0
        for seed in range(n):
            X, y, options = make(np.random.default_rng([7, seed]))
            test = permutation_test(X, y, n_permutations=19, random_state=seed, **options)
            rejected += test.pvalue <= LEVEL
        seconds = (time.process_time() - begin) / n
        inside = "inside" if low <= rejected / n <= high else "OUTSIDE"
        print(f"  {name:28s} {rejected / n:.3f}  {inside}  ({seconds:.2f} s a test)", flush=True)


# Covariates.

CELLS = ((40, 10), (12, 4), (20, 4), (40, 15), (100, 30), (40, 4))


def with_covariates(seed: int, n_rows: int, n_covariates: int, shift: float = 0.0, noise: str = "normal"):
    """Covariates that move the features, and one of them the groups as well."""
    rng = np.random.default_rng([31, seed, n_rows, n_covariates])
    y = np.arange(n_rows) % 2
    table = rng.standard_normal((n_rows, n_covariates))
    table[:, 0] += y
    errors = rng.standard_normal((n_rows, 4)) if noise == "normal" else rng.exponential(size=(n_rows, 4))
    X = errors + table @ rng.standard_normal((n_covariates, 4))
    X[:, 1] += shift * y
    return X, y, table


def covariates(arguments) -> None:
    n = arguments.sets or 1000
    statistic = {"statistic": "divergence", "n_features": 1} if not arguments.full else {}
    name = "adaptive" if arguments.full else "best single feature"
    low, high = band(n, 2 * len(CELLS))
    print(
        f"\nrejected at 5 % with covariates, {n} null sets, statistic: {name}; band [{low:.3f}, {high:.3f}]"
    )
    print(f"  {'rows, covariates':20s} {'normal':>8s} {'exponential':>12s} {'refused':>8s} {'power':>7s}")
    for n_rows, n_covariates in CELLS:
        rates, refused = [], 0
        for noise, shift in (("normal", 0.0), ("exponential", 0.0), ("normal", 1.5)):
            rejected = made = 0
            for seed in range(n if shift == 0 else n // 5):
                X, y, columns = with_covariates(seed, n_rows, n_covariates, shift, noise)
                try:
                    test = permutation_test(
                        X, y, covariates=columns, n_permutations=19, random_state=seed, **statistic
                    )
                except ValueError:
                    refused += 1
                    continue
                made += 1
                rejected += test.pvalue <= LEVEL
            rates.append(rejected / made)
        print(
            f"  {f'{n_rows}, {n_covariates}':20s} {rates[0]:8.3f} {rates[1]:12.3f} {refused:8d}",
            f"{rates[2]:7.2f}",
            flush=True,
        )


# Planning.

SETTINGS = (
    # rows of each group, features, features that share the shift, shift along the best direction
    ((50, 50), 5, 1, 0.7),
    ((50, 50), 5, 5, 0.8),
    ((100, 100), 20, 1, 0.5),
    ((100, 100), 20, 3, 0.6),
    ((100, 100), 60, 1, 0.6),
    ((100, 100), 60, 5, 0.8),
    ((100, 100), 60, 60, 0.9),
    ((40, 160), 20, 1, 0.7),
    ((30, 300), 20, 2, 0.8),
    ((250, 250), 100, 1, 0.4),
    ((250, 250), 10, 2, 0.3),
    ((60, 60), 60, 2, 1.0),
)


def planning(arguments) -> None:
    n = arguments.sets or 100
    seeds = range(arguments.first, arguments.first + n)
    print(
        f"\npower at 5 %: predicted, and simulated with data sets {seeds[0]} to {seeds[-1]}, 199 relabellings"
    )
    print(
        f"  {'rows':>12s} {'features':>9s} {'sharing':>8s} {'shift':>6s}",
        f"{'predicted':>10s} {'simulated':>10s}",
    )
    for sizes, d, k, effect in SETTINGS:
        hits = 0
        for seed in seeds:
            rng = np.random.default_rng([41, seed])
            y = np.repeat([0, 1], sizes)
            X = rng.standard_normal((len(y), d))
            # Up or down, as it happens: all upwards would be the easiest case, which the sum of columns sees.
            X[y == 1, :k] += effect / np.sqrt(k) * rng.choice([-1.0, 1.0], k)
            hits += permutation_test(X, y, n_permutations=199, random_state=seed).pvalue <= LEVEL
        predicted = expected_power(effect, sizes, d, n_relevant=k)
        print(f"  {sizes!s:>12s} {d:9d} {k:8d} {effect:6.2f} {predicted:10.2f} {hits / n:10.2f}", flush=True)


# Time.


def many_columns(n: int, n_numbers: int, n_flags: int, rng):
    numbers = rng.standard_normal((n, n_numbers))
    flags = rng.random((n, n_flags)) < rng.uniform(0.01, 0.5, size=n_flags)
    return np.column_stack([numbers, flags]).astype(float)


SHAPES = {
    "100 + 100 x 60": lambda rng: (rng.standard_normal((200, 60)), np.repeat([0, 1], 100)),
    "357 + 212 x 30": lambda rng: (rng.standard_normal((569, 30)), np.repeat([0, 1], [357, 212])),
    "1500 + 1500 x 30": lambda rng: (rng.standard_normal((3000, 30)), np.repeat([0, 1], 1500)),
    "185 + 15 992 x 9": lambda rng: (many_columns(16_177, 4, 5, rng), np.repeat([1, 0], [185, 15_992])),
    "50 000 x 100, 90 flags": lambda rng: (many_columns(50_000, 10, 90, rng), rng.integers(0, 2, 50_000)),
    "250 000 x 20": lambda rng: (many_columns(250_000, 13, 7, rng), rng.integers(0, 2, 250_000)),
}


def seconds(arguments) -> None:
    print("\nprocessor seconds of the adaptive test, best of 2, 99 and 999 relabellings")
    for name, make in SHAPES.items():
        if arguments.cell and arguments.cell not in name:
            continue
        X, y = make(np.random.default_rng(0))
        divergence = "wasserstein2" if np.unique(X[:, -1]).size > 2 else "energy"
        spent = []
        for count in (99, 999):
            best = np.inf
            for _ in range(2):
                begin = time.process_time()
                permutation_test(X, y, n_permutations=count, divergence=divergence, random_state=0)
                best = min(best, time.process_time() - begin)
            spent.append(best)
        print(f"  {name:26s} {spent[0]:7.2f} {spent[1]:7.2f}", flush=True)
    try:
        from hyppo.ksample import MMD
    except ImportError:
        return
    X, y = SHAPES["100 + 100 x 60"](np.random.default_rng(0))
    begin = time.process_time()
    MMD().test(X[y == 0], X[y == 1], reps=99, workers=1, auto=False)
    print(f"  {'hyppo MMD, 100 + 100 x 60':26s} {time.process_time() - begin:7.2f}")


SECTIONS = {
    "table": table,
    "learned": learned,
    "type1": type1,
    "covariates": covariates,
    "planning": planning,
    "seconds": seconds,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sections", nargs="*", default=list(SECTIONS), help=", ".join(SECTIONS))
    parser.add_argument("--sets", type=int, help="data sets a cell (default: as the section says)")
    parser.add_argument("--cell", help="only the cells whose name contains this")
    parser.add_argument("--permutations", type=int, help="relabellings of sections table and learned")
    parser.add_argument("--test", help="only the tests whose name contains this, in section table")
    parser.add_argument(
        "--first", type=int, default=40, help="first data set of sections table, learned and planning"
    )
    parser.add_argument(
        "--keep", type=Path, help="file that keeps what was computed, in sections table and learned"
    )
    parser.add_argument("--full", action="store_true", help="the adaptive statistic in section covariates")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", UserWarning)
    for section in arguments.sections:
        SECTIONS[section](arguments)


if __name__ == "__main__":
    main()
