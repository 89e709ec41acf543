"""Tables as people have them, with a known truth: what does the first sentence say, and is it right?

python -m benchmarks.tables.everyday census      two survey years, 140 000 rows, 16 columns, small differences
python -m benchmarks.tables.everyday drift       a month of customers against the next, 5000 and 50 000 rows
python -m benchmarks.tables.everyday halves      random halves of the bank's calls (PRINCDIFF_DATA), 100 draws
python -m benchmarks.tables.everyday trial       arms of a trial (lifelines' ACTG175), relabelled 100 times
python -m benchmarks.tables.everyday cut         unequal groups, 185 against 15 992 rows
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from importlib import resources
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats

from benchmarks.tables.answers import quick_answer
from benchmarks.tables.planted import univariate
from princdiff import DifferenceResult, compare


def timed(*tables: pd.DataFrame, **options) -> tuple[DifferenceResult, float]:
    begin = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = compare(*tables, **options)
    return result, time.process_time() - begin


def census_years(seed: int, n_rows: int = 70_000) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Two years of a survey: 15 categories of 2 to 25 levels; three of them and age differ a little."""
    rng = np.random.default_rng(seed)
    years = []
    layouts = []
    for column in range(15):
        n_levels = int(np.linspace(2, 25, 15)[column])
        weights = rng.dirichlet(np.full(n_levels, 0.7))
        layouts.append(np.maximum(weights, 0.0005) / np.maximum(weights, 0.0005).sum())
    # Three columns move by 1, 0.6 and 0.8 percentage points between their two largest levels.
    moved = {3: 0.010, 7: 0.006, 10: 0.008}
    for year in range(2):
        table = {}
        for column, layout in enumerate(layouts):
            shares = layout.copy()
            if year and column in moved:
                first, second = np.argsort(-shares)[:2]
                shares[first] -= moved[column]
                shares[second] += moved[column]
            codes = rng.choice(len(shares), n_rows, p=shares)
            table[f"question {column}"] = np.array([f"answer {code}" for code in range(len(shares))])[codes]
        table["age"] = rng.normal(45, 15, n_rows).clip(16, 95) + (0.02 * 15 if year else 0.0)
        table["hours"] = rng.normal(38, 10, n_rows).round()
        years.append(pd.DataFrame(table))
    return years[0], years[1]


def census(arguments: argparse.Namespace) -> None:
    truth = {"question 3", "question 7", "question 10", "age"}
    print("| seed | p | named | false | missed | missed by Holm | false by Holm | processor seconds |")
    print("|---|---|---|---|---|---|---|---|")
    for seed in range(arguments.draws or 5):
        years = census_years(seed)
        result, seconds = timed(*years)
        named, by_hand = set(result.selected_columns), univariate(*years)
        print(
            f"| {seed} | {result.pvalue:.3g} | {len(named & truth)} of 4 | {sorted(named - truth)} "
            f"| {sorted(truth - named)} | {sorted(truth - by_hand)} | {sorted(by_hand - truth)} "
            f"| {seconds:.1f} |",
            flush=True,
        )
        print(f"  seconds by the clock: {result.parameters['seconds']}", flush=True)
    print(f"\n{result.summary().splitlines()[0]}")


def customers(n_rows: int, rng: np.random.Generator, later: bool) -> pd.DataFrame:
    plans = ["basic", "plus", "pro", "student"] if later else ["basic", "plus", "pro"]
    plan = rng.choice(plans, n_rows, p=[0.594, 0.297, 0.099, 0.01] if later else [0.6, 0.3, 0.1])
    names = ["US", "DE", "FR", "GB", "IT", "ES", "PL", "NL"]
    shares = np.array([0.26, 0.14, 0.15, 0.15, 0.1, 0.1, 0.05, 0.05])
    if not later:
        shares[:2] = 0.30, 0.10
    income = np.exp(rng.normal(10.5, 0.5, n_rows)) * (1.05 if later else 1.0)
    age = np.where(rng.random(n_rows) < (0.05 if later else 0.03), np.nan, rng.normal(41, 12, n_rows).round())
    start = pd.Timestamp("2025-04-01" if later else "2025-03-01")
    return pd.DataFrame(
        {
            "customer_id": rng.choice(10**8, n_rows, replace=False),
            "signed_up": start + pd.to_timedelta(rng.integers(0, 30 * 24 * 60, n_rows), unit="min"),
            "plan": plan,
            "country": rng.choice(names, n_rows, p=shares),
            "income": income.round(2),
            "age": age,
            "visits": rng.poisson(3, n_rows),
            "newsletter": rng.random(n_rows) < 0.4,
            "comment": [f"note {number}" for number in rng.integers(0, 10**9, n_rows)],
        }
    )


def drift(arguments: argparse.Namespace) -> None:
    truth = {"plan", "country", "income", "age"}
    for n_rows in (5000, 50_000):
        rng = np.random.default_rng(1)
        march, april = customers(n_rows, rng, False), customers(n_rows, rng, True)
        result, seconds = timed(march, april, missing="impute")
        named = result.selected_columns
        missed = truth - set(named)
        print(f"{n_rows} + {n_rows} rows, {seconds:.1f} s of processor: named {named}, missed {missed}\n")
        print(result.summary(), "\n")


def halves(arguments: argparse.Namespace) -> None:
    table = pd.read_csv(Path(os.environ["PRINCDIFF_DATA"]) / "tables" / "bank.csv.gz").fillna("none")
    rejected = selected = 0
    n_draws = arguments.draws or 100
    total = 0.0
    for draw in range(n_draws):
        order = np.random.default_rng(draw).permutation(len(table))
        first, second = (table.iloc[part].reset_index(drop=True) for part in np.array_split(order, 2))
        found = quick_answer(first, second, n_permutations=99, random_state=draw)
        rejected += found.pvalue <= 0.05
        selected += bool(found.columns)
        total += found.seconds
    low, high = stats.binom.ppf([0.005, 0.995], n_draws, 0.05)
    print(f"random halves of {len(table)} calls, {n_draws} draws: p <= .05 in {rejected} of them")
    print(f"(99 % band {low:.0f} to {high:.0f}), a column named in {selected}, {total / n_draws:.1f} s each")


def trial(arguments: argparse.Namespace) -> None:
    file = resources.files("lifelines.datasets") / "ACTG175.csv"
    table = pd.read_csv(str(file)).drop(columns=["pidnum", "days", "cens", "treat"])
    arms = table.pop("arms")
    rejected = selected = 0
    n_draws = arguments.draws or 100
    for draw in range(n_draws):
        groups = np.random.default_rng(draw).permutation(arms.to_numpy() > 0)
        names = np.where(groups, "treated", "control")
        found = quick_answer(table, groups=names, n_permutations=99, missing="impute", random_state=draw)
        rejected += found.pvalue <= 0.05
        selected += bool(found.columns)
    print(f"relabelled arms, {len(table)} x {table.shape[1]}, {n_draws} draws:")
    low, high = stats.binom.ppf([0.005, 0.995], n_draws, 0.05)
    print(f"p <= .05 in {rejected} (99 % band {low:.0f} to {high:.0f}), some column named in {selected}")


def cut(arguments: argparse.Namespace) -> None:
    rng = np.random.default_rng(0)
    sizes = {"programme": 185, "survey": 15_992}
    tables = []
    for name, size in sizes.items():
        own = name == "programme"
        tables.append(
            pd.DataFrame(
                {
                    "age": rng.normal(26 if own else 33, 7 if own else 11, size).clip(16, 55).round(),
                    "education": rng.integers(4, 18, size),
                    "black": rng.random(size) < (0.84 if own else 0.07),
                    "hispanic": rng.random(size) < 0.07,
                    "married": rng.random(size) < (0.19 if own else 0.71),
                    "nodegree": rng.random(size) < (0.71 if own else 0.30),
                    "earned before": np.where(
                        rng.random(size) < (0.7 if own else 0.12), 0.0, rng.gamma(2, 4000, size)
                    ),
                    "earned then": np.where(
                        rng.random(size) < (0.6 if own else 0.11), 0.0, rng.gamma(2, 4000, size)
                    ),
                    "earned after": rng.gamma(2, 3500 if own else 7000, size),
                }
            )
        )
    result, seconds = timed(*tables)
    print(result.summary())
    print(f"{seconds:.1f} s of processor; {result.parameters['seconds']}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = {function.__name__: function for function in (census, drift, halves, trial, cut)}
    parser.add_argument("what", choices=list(commands))
    parser.add_argument("--draws", type=int)
    arguments = parser.parse_args()
    commands[arguments.what](arguments)


if __name__ == "__main__":
    main()
