"""What is promised of an answer: changes that change nothing, intervals that cover, persons, covariates.

    python -m benchmarks.promises [changes effect steady persons covariates] [--seeds 200] [--quick]

Each part writes a section of its own.
"""

from __future__ import annotations

import argparse
import itertools
import tempfile
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import binom

from benchmarks.sections import Section, parse
from princdiff import Config, compare, permutation_test

LEVEL = 0.05
Change = Callable[[pd.DataFrame], pd.DataFrame]


# Changes that change nothing.


def people(seed: int) -> pd.DataFrame:
    """Numbers, a count, a flag and two categories of 60 + 80 rows; what differs depends on the seed."""
    rng = np.random.default_rng([41, seed])
    n, second = 140, np.repeat([False, True], [60, 80])
    frame = pd.DataFrame(
        {
            "weight": rng.normal(70, 10, n).round(1),
            "income": rng.lognormal(3, 1, n),
            "visits": rng.poisson(3, n),
            "smoker": rng.random(n) < np.where(second & (seed % 3 == 1), 0.6, 0.3),
            "city": rng.choice(["Bern", "Chur", "Basel"], n),
            "plan": rng.choice(["basic", "plus"], n, p=[0.7, 0.3]),
            "group": np.where(second, "b", "a"),
        }
    )
    if seed % 3 == 0:
        frame.loc[second, "weight"] += 6.5
    return frame


def through(suffix: str) -> Change:
    """The table as it is read from a file of this kind."""

    def change(frame: pd.DataFrame) -> pd.DataFrame:
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder, f"table{suffix}")
            if suffix == ".parquet":
                frame.to_parquet(place)
                return pd.read_parquet(place)
            frame.to_csv(place, index=False)
            return pd.read_csv(place)

    return change


def single_in_one_group(frame: pd.DataFrame) -> pd.DataFrame:
    """Weights of the second group that went through single precision."""
    single = frame["weight"].astype(np.float32).astype(float)
    return frame.assign(weight=single.where(frame["group"] == "b", frame["weight"]))


CHANGES: dict[str, Change] = {
    "rows shuffled": lambda frame: frame.sample(frac=1, random_state=2),
    "rows reversed": lambda frame: frame[::-1],
    "rows numbered anew": lambda frame: frame.set_axis(np.arange(500, 500 + len(frame))),
    "columns reversed": lambda frame: frame[frame.columns[::-1]],
    "columns shuffled": lambda frame: frame.sample(frac=1, axis=1, random_state=1),
    "groups exchange names": lambda frame: frame.assign(group=frame["group"].map({"a": "z", "b": "y"})),
    "groups as numbers": lambda frame: frame.assign(group=frame["group"].map({"a": 1, "b": 0})),
    "another unit": lambda frame: frame.assign(weight=1000 * frame["weight"]),
    "another zero": lambda frame: frame.assign(weight=frame["weight"] + 273.15),
    "other units everywhere": lambda frame: frame.assign(
        weight=frame["weight"] / 2.2, income=frame["income"] * 0.9
    ),
    "floats for integers": lambda frame: frame.assign(visits=frame["visits"].astype(float)),
    "small integers": lambda frame: frame.assign(visits=frame["visits"].astype(np.int8)),
    "integers for flags": lambda frame: frame.assign(smoker=frame["smoker"].astype(int)),
    "texts for numbers": lambda frame: frame.assign(visits=frame["visits"].astype(str)),
    "categories for texts": lambda frame: frame.astype({"city": "category", "plan": "category"}),
    "types that know gaps": lambda frame: frame.convert_dtypes(),
    "single precision in one group": single_in_one_group,
    "csv and back": through(".csv"),
    "parquet and back": through(".parquet"),
    "weights of one": lambda frame: frame.assign(unit=2.5),
}


def what_is_promised(frame: pd.DataFrame, n_permutations: int = 99) -> tuple[float, np.ndarray, np.ndarray]:
    """p, the effect with its interval, and the adjusted p-values of the columns in an order of their own."""
    weight = {"sample_weight": "unit"} if "unit" in frame else {}
    found = compare(
        frame, groups="group", n_permutations=n_permutations, config=Config(certify=False), **weight
    )
    columns = found.columns.set_index("column")["pvalue"].sort_index()
    return found.pvalue, np.array([found.effect, *found.effect_interval]), columns.to_numpy(float)


def changes(options: argparse.Namespace) -> None:
    section = Section("promises-changes", "Changes of a table that change nothing", options)
    tables = options.seeds[:20]
    kept: dict[str, list[tuple[float, float, float]]] = {name: [] for name in CHANGES}
    for seed in tables:
        p, effect, columns = what_is_promised(people(seed))
        for name, change in CHANGES.items():
            other = what_is_promised(change(people(seed)))
            apart = (abs(other[0] - p), np.abs(other[2] - columns).max(), np.abs(other[1] - effect).max())
            kept[name].append(apart)
    section.say(
        f"{len(tables)} tables of 60 + 80 rows, 99 relabellings: the largest difference of the answers for "
        "a table and for the table changed."
    )
    section.table(
        ["change", "p", "adjusted p of a column", "effect or a bound of it"],
        [[name, *np.nanmax(found, axis=0)] for name, found in kept.items()],
    )
    section.write()


# The effect.

KINDS = {"nothing differs": (0.0, 0.0), "one column shifted": (0.4, 0.0), "the same, correlated": (0.4, 0.6)}


def covered(kind: str, n: int, seed: int) -> tuple[bool, float]:
    """Whether the interval covers the distance of the populations along the direction found; the effect."""
    shift, correlation = KINDS[kind]
    rng = np.random.default_rng([42, n, seed])
    X = np.sqrt(1 - correlation) * rng.normal(size=(2 * n, 6)) + np.sqrt(correlation) * rng.normal(
        size=(2 * n, 1)
    )
    X[n:, 2] += shift
    found = compare(X[:n], X[n:], n_permutations=99, random_state=seed, config=Config(certify=False))
    w = np.ravel(found.directions.iloc[:, 0])
    spread = np.sqrt((1 - correlation) * (w @ w) + correlation * w.sum() ** 2)
    low, high = found.effect_interval
    return low - 1e-9 <= shift * abs(w[2]) / spread <= high + 1e-9, found.effect


def effect(options: argparse.Namespace) -> None:
    section = Section("promises-effect", "The interval of the effect", options)
    section.say(
        f"{len(options.seeds)} tables of six normal columns each: how often the 95 % interval covers the "
        "distance of the populations along the direction found, and the effect on average."
    )
    rows = []
    for kind, n in itertools.product(KINDS, (40, 100) if options.quick else (40, 100, 400, 1000)):
        hits, sizes = np.array([covered(kind, n, seed) for seed in options.seeds]).T
        rows.append([kind, f"{n} + {n}", hits.mean(), sizes.mean(), sizes.std()])
        print(*rows[-1], flush=True)
    section.table(["what differs", "rows", "covered", "effect", "its standard deviation"], rows)
    section.write()


def steady(options: argparse.Namespace) -> None:
    """The effect of one table for other seeds and orders of columns."""
    section = Section("promises-steady", "The effect for other seeds and orders of the columns", options)
    rows = []
    tries = range(4 if options.quick else 20)
    for kind, (shift, correlation) in KINDS.items():
        rng = np.random.default_rng([43, *map(ord, kind)])
        X = np.sqrt(1 - correlation) * rng.normal(size=(200, 6)) + np.sqrt(correlation) * rng.normal(
            size=(200, 1)
        )
        X[100:, 2] += shift
        frame = pd.DataFrame(X, columns=list("abcdef")).assign(group=np.repeat([0, 1], 100))
        seeds = [_effect(frame, seed) for seed in tries]
        orders = [_effect(frame.sample(frac=1, axis=1, random_state=seed), 0) for seed in tries]
        rows.append([kind, seeds[0], np.std(seeds), np.std(orders)])
    section.table(
        ["what differs, 100 + 100 rows", "effect", f"sd over {len(tries)} seeds", "over orders"], rows
    )
    section.write()


def _effect(frame: pd.DataFrame, seed: int) -> float:
    return compare(
        frame, groups="group", n_permutations=99, random_state=seed, config=Config(certify=False)
    ).effect


# Repeated persons.


def visits(kind: str, seed: int) -> pd.DataFrame:
    """40 persons with five rows each and a level of their own: in one group, in both, or some of each."""
    rng = np.random.default_rng([44, seed])
    person = np.repeat(np.arange(40), 5)
    X = rng.normal(size=(40, 3))[person] + 0.5 * rng.normal(size=(200, 3))
    nested, crossed = rng.permutation(40) % 2, np.tile([0, 1, 0, 1, 0], 40)
    both = {"nested": 0, "crossed": 40, "mixed": 15}[kind]
    group = np.where(person < both, crossed, nested[person])
    return pd.DataFrame(X, columns=list("abc")).assign(group=group, patient=1000 + 7 * person)


def persons(options: argparse.Namespace) -> None:
    section = Section("promises-persons", "Persons with several rows", options)
    n, rows = len(options.seeds), []
    low, high = (float(binom.ppf(tail, n, LEVEL)) / n for tail in (0.005, 0.995))
    section.say(
        f"{n} tables a design in which the groups do not differ, 99 relabellings: how often they do by "
        f"`compare(blocks='patient')` (99 % band {low:.3f} to {high:.3f}), by `compare` without, and how "
        "often the first paragraph of the latter says that rows of a patient recur."
    )
    for kind in ("nested", "crossed", "mixed"):
        counts = np.zeros(3)
        for seed in options.seeds:
            frame = visits(kind, seed)
            common = {
                "groups": "group",
                "n_permutations": 99,
                "random_state": seed,
                "config": Config(certify=False),
            }
            plain = compare(frame, **common)
            said = "Rows of the same patient recur" in " ".join(plain.summary().split())
            blocks = compare(frame, blocks="patient", **common)
            counts += blocks.pvalue <= LEVEL, plain.pvalue <= LEVEL, said
        rows.append([kind, *(counts / n)])
    section.table(["persons", "with blocks", "without", "said"], rows)
    section.write()


# Covariates.


def covariates(options: argparse.Namespace) -> None:
    """Power beside residuals of a regression on data for which these are right."""
    section = Section("promises-covariates", "Power given a covariate, beside residuals", options)
    found = np.zeros(2)
    for seed in options.seeds:
        rng = np.random.default_rng([45, seed])
        y = np.repeat([0, 1], 100)
        c = rng.normal(size=200) + 0.5 * y
        X = rng.normal(size=(200, 5)) + c[:, None]
        X[:, 0] += 0.5 * y
        common = {"n_permutations": 99, "random_state": seed}
        found[0] += permutation_test(X, y, covariates=c[:, None], **common).pvalue <= LEVEL
        design = np.column_stack([np.ones(200), c])
        residuals = X - design @ np.linalg.lstsq(design, X, rcond=None)[0]
        found[1] += permutation_test(residuals, y, **common).pvalue <= LEVEL
    section.say(
        f"{len(options.seeds)} tables of 100 + 100 rows: five columns follow a covariate that is half a "
        "standard deviation larger in the second group, and one of them is shifted by half a residual "
        "standard deviation."
    )
    shares = found / len(options.seeds)
    section.table(["method", "rejected at 5 %"], [["given it", shares[0]], ["residuals", shares[1]]])
    section.write()


PARTS = {part.__name__: part for part in (changes, effect, steady, persons, covariates)}


def main(argv: Sequence[str] | None = None) -> None:
    """The parts asked for; all by default."""
    warnings.simplefilter("ignore")
    options = parse(
        __doc__,
        argv,
        seeds=200,
        quick_seeds=3,
        add=lambda parser: parser.add_argument("parts", nargs="*", default=list(PARTS), choices=list(PARTS)),
    )
    for name in options.parts:
        PARTS[name](options)


if __name__ == "__main__":
    main()
