"""Which features: error, power and cost of the selection.

Sections: ``error`` (family-wise error by kind of table), ``kinds`` (power for one feature of twenty by kind
of difference, beside univariate tests with Bonferroni's correction), ``power`` (mixed tables, pairs, modes,
parity, the README's example, beside univariate tests and, if hidimstat is there, knockoffs), ``madelon``,
``cells`` (brain cells), ``tables`` (planted differences in real tables), ``time``.

    python benchmarks/selection.py error --sets 200
"""

from __future__ import annotations

import argparse
import importlib.util
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from scipy import stats

from princdiff import select_features
from princdiff.data.problem import Problem, Run
from princdiff.datasets import load_madelon, load_zeisel
from princdiff.labellings.pvalues import permutation_pvalue, step_down_pvalues
from princdiff.labellings.schemes import Scheme
from princdiff.selection.select import select
from princdiff.selection.steps import SelectionOptions
from princdiff.statistics.alone import alone_scores, extrapolated
from princdiff.statistics.contrasts import Relabellings
from princdiff.tables import prepare

LEVEL = 0.05
Table = tuple[np.ndarray, np.ndarray, set[int], dict[str, Any]]


def alone(rows: Any, labellings: Relabellings) -> tuple[np.ndarray, np.ndarray]:
    """Adjusted and extrapolated p-values of single features."""
    scores = alone_scores(rows, labellings)
    pvalues = permutation_pvalue(scores.units)
    return step_down_pvalues(scores.units), extrapolated(pvalues, scores.observed_units, len(scores.units))


def band(n_sets: int, rate: float = LEVEL, coverage: float = 0.99) -> tuple[float, float]:
    """Where the rate of errors lies if the true one is ``rate``."""
    low, high = stats.binom.interval(coverage, n_sets, rate)
    return low / n_sets, high / n_sets


def halves(n: int) -> np.ndarray:
    return np.repeat([0, 1], n)


# ---------------------------------------------------------------- tables: rows, groups, what differs, options


def equicorrelated(rng: np.random.Generator, share: float, shift: float = 0.8) -> Table:
    """Thirty features with one factor, the first five shifted."""
    X = np.sqrt(1 - share) * rng.normal(size=(300, 30)) + np.sqrt(share) * rng.normal(size=(300, 1))
    X[150:, :5] += shift
    return X, halves(150), set(range(5)), {}


def rare_flags(rng: np.random.Generator) -> Table:
    """Forty flags of prevalence .001 to .5, five numbers that are shifted."""
    X = (rng.random((1000, 45)) < np.geomspace(0.001, 0.5, 45)).astype(float)
    X[:, :5] = rng.normal(size=(1000, 5))
    X[500:, :5] += 0.5
    return X, halves(500), set(range(5)), {}


def counts(rng: np.random.Generator) -> Table:
    X = rng.poisson(np.geomspace(0.05, 20, 30), size=(300, 30)).astype(float)
    X[150:, 25:] += rng.poisson(4, size=(150, 5))
    return X, halves(150), set(range(25, 30)), {}


def heavy_tails(rng: np.random.Generator) -> Table:
    X = rng.standard_t(2, size=(300, 30))
    X[150:, :5] += 1.5
    return X, halves(150), set(range(5)), {}


def nothing(rng: np.random.Generator) -> Table:
    X = rng.normal(size=(200, 20)) + 0.7 * rng.normal(size=(200, 1))
    return X, halves(100), set(), {}


def donors(rng: np.random.Generator) -> Table:
    """Six donors a group, with effects of their own."""
    blocks = np.repeat(np.arange(12), rng.permutation([20, 30] * 6))
    y = (blocks >= 6).astype(int)
    X = rng.normal(size=(len(blocks), 15)) + rng.normal(size=(12, 15))[blocks]
    return X, y, set(), {"blocks": blocks}


def correlates(rng: np.random.Generator) -> Table:
    """Ten features that correlate .9 with one that is shifted, and are not shifted themselves."""
    X = rng.normal(size=(400, 20))
    X[:, 1:11] = 0.9 * X[:, :1] + np.sqrt(1 - 0.81) * X[:, 1:11]
    X[200:, 0] += 0.6
    return X, halves(200), {0}, {}


def sorted_rows(rng: np.random.Generator) -> Table:
    """Flags beside a column by which the rows are sorted, labels at random."""
    X = np.column_stack([np.sort(rng.normal(size=300)), rng.random((300, 7)) < 0.3]).astype(float)
    return X, rng.permutation(halves(150)), set(), {}


def flags_only(rng: np.random.Generator) -> Table:
    X = (rng.random((400, 12)) < np.linspace(0.02, 0.5, 12)).astype(float)
    return X, rng.permutation(halves(200)), set(), {}


def unequal(rng: np.random.Generator) -> Table:
    """Fifty rows against four hundred, other shapes and spreads in one of the groups for five features."""
    X, y = rng.normal(size=(450, 20)) + rng.normal(size=(450, 1)), np.repeat([0, 1], [50, 400])
    X[y == 1, :3] = np.exp(X[y == 1, :3])
    X[y == 1, 3:5] *= 3
    return X, y, set(range(5)), {}


def permuted_madelon(path: str) -> Callable[[np.random.Generator], Table]:
    data = load_madelon(path, subset="valid")
    return lambda rng: (data.data, rng.permutation(data.target), set(), {})


NULLS: dict[str, Callable[[np.random.Generator], Table]] = {
    "no difference, one factor": nothing,
    "independent, 5 of 30 shifted": lambda rng: equicorrelated(rng, 0.0),
    "correlation .5, 5 of 30 shifted": lambda rng: equicorrelated(rng, 0.5),
    "correlation .9, 5 of 30 shifted": lambda rng: equicorrelated(rng, 0.9),
    "flags of .001 to .5, 5 numbers shifted": rare_flags,
    "Poisson counts, 5 of 30 larger": counts,
    "t2, 5 of 30 shifted": heavy_tails,
    "50 against 400, 5 of other shapes": unequal,
    "6 + 6 donors": donors,
    "10 correlate .9 with one shifted": correlates,
    "rows sorted by a column": sorted_rows,
    "flags only": flags_only,
}


def error(arguments: argparse.Namespace) -> None:
    n = arguments.sets or 200
    low, high = band(n)
    print(f"family-wise error at 5 %, {n} tables each, {arguments.permutations} relabellings; ", end="")
    print(f"99 % band of 5 %: [{low:.3f}, {high:.3f}]")
    print(f"  {'table':42s} any false   alone  together   found   seconds")
    tables = dict(NULLS)
    if arguments.data is not None:
        tables["permuted MADELON (validation rows)"] = permuted_madelon(arguments.data)
    for name, make in tables.items():
        if arguments.only and arguments.only not in name:
            continue
        false = np.zeros((n, 3), dtype=bool)
        found, size, begin = 0, 0, time.process_time()
        for seed in range(n):
            X, y, truth, options = make(np.random.default_rng([17, seed]))
            options = {"n_permutations": arguments.permutations, **options}
            table = select_features(X, y, random_state=seed, **options).table
            wrong = table[table["selected"] & ~np.isin(np.arange(len(table)), list(truth))]
            alone = wrong["reason"] == "alone"
            false[seed] = [len(wrong) > 0, alone.any(), (~alone).any()]
            found += int(table["selected"].iloc[sorted(truth)].sum())
            size += len(truth)
        rates = false.mean(axis=0)
        share = f"{found / size:.2f}" if size else "-"
        mark = "" if rates[0] <= high else "  OUTSIDE"
        seconds = (time.process_time() - begin) / n
        print(
            f"  {name:42s} {rates[0]:9.3f} {rates[1]:7.3f} {rates[2]:9.3f} {share:>7s} {seconds:9.2f}{mark}",
            flush=True,
        )


# ---------------------------------------------------------------- power for one feature


def pair_of_samples(kind: str, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    a, b = rng.normal(size=n), rng.normal(size=n)
    uniform = rng.random((2, n))
    if kind == "shift":
        b += 0.32
    elif kind == "spread":
        b *= 1.3
    elif kind == "two modes":
        b = 0.9 * rng.choice([-1, 1], n) + np.sqrt(0.19) * b
    elif kind == "skewness":
        b = (rng.gamma(4, size=n) - 4) / 2
    elif kind == "heavy tails, shift":
        a, b = rng.standard_t(2, n), rng.standard_t(2, n) + 0.43
    elif kind == "heavy tails, spread":
        a, b = rng.standard_t(2, n), 1.4 * rng.standard_t(2, n)
    elif kind == "lognormal":
        a, b = np.exp(1.5 * a), np.exp(0.5 + 1.5 * b)
    elif kind == "counts":
        a, b = rng.poisson(2, n), rng.poisson(2.6, n)
    elif kind == "small counts":
        a, b = rng.poisson(0.2, n), rng.poisson(0.38, n)
    elif kind == "overdispersed counts":
        a, b = rng.negative_binomial(1, 0.3, n), rng.negative_binomial(1, 0.22, n)
    elif kind == "zeros":
        a, b = rng.lognormal(size=n) * (uniform[0] < 0.5), rng.lognormal(size=n) * (uniform[1] < 0.68)
    elif kind == "flag":
        a, b = uniform[0] < 0.3, uniform[1] < 0.45
    elif kind == "rare flag":
        a, b = uniform[0] < 0.01, uniform[1] < 0.06
    elif kind == "outliers":
        b[uniform[1] < 0.05] += 5
    return a.astype(float), b.astype(float)


def univariate(a: np.ndarray, b: np.ndarray) -> dict[str, float]:
    """P-values of tests that an analyst would use."""
    values = np.unique(np.concatenate([a, b]))
    found = {"KS": stats.ks_2samp(a, b).pvalue, "Welch": stats.ttest_ind(a, b, equal_var=False).pvalue}
    found["Mann-W."] = stats.mannwhitneyu(a, b).pvalue
    found["Levene"] = stats.levene(a, b).pvalue
    found["chi2"] = np.nan
    if 1 < len(values) <= 20:
        table = [[np.sum(part == value) for value in values] for part in (a, b)]
        found["chi2"] = stats.chi2_contingency(table).pvalue
    return found


def kinds(arguments: argparse.Namespace) -> None:
    n = arguments.sets or 100
    every = ("none", "shift", "spread", "two modes", "skewness", "heavy tails, shift", "heavy tails, spread")
    every += (
        "lognormal",
        "counts",
        "small counts",
        "overdispersed counts",
        "zeros",
        "flag",
        "rare flag",
        "outliers",
    )
    print(f"power for one feature as one of twenty (5 % / 20), 250 + 250 rows, {n} tables, 499 relabellings")
    names = ("KS", "Welch", "Mann-W.", "Levene", "chi2")
    print(f"  {'':22s}" + "".join(f"{name:>9s}" for name in (*names, "ours")))
    for number, kind in enumerate(every):
        rows = 120 if kind == "two modes" else 250
        hits = dict.fromkeys((*names, "ours"), 0.0)
        for seed in range(n):
            a, b = pair_of_samples(kind, rows, np.random.default_rng([3, number, seed]))
            for name, pvalue in univariate(a, b).items():
                hits[name] += pvalue <= LEVEL / 20 if pvalue == pvalue else np.nan
            labellings = Relabellings(Scheme(halves(rows).astype(np.uint8), 499, seed), 2)
            hits["ours"] += alone(np.concatenate([a, b])[:, None], labellings)[1][0] <= LEVEL / 20
        print(f"  {kind:22s}" + "".join(f"{hits[name] / n:9.2f}" for name in (*names, "ours")), flush=True)


# ---------------------------------------------------------------- power of the selection


def mixed_table(rng: np.random.Generator) -> Table:
    """15 numbers and 35 flags of prevalence .002 to .5, 1500 rows, five clear differences."""
    y = rng.permutation(halves(750))
    X = np.column_stack([rng.normal(size=(1500, 15)), rng.random((1500, 35)) < np.geomspace(0.002, 0.5, 35)])
    X = X.astype(float)
    X[y == 1, 0] += 0.45
    X[y == 1, 1] *= 1.5
    X[:, 48] = rng.random(1500) < np.where(y, 0.62, 0.42)
    X[:, 40] = rng.random(1500) < np.where(y, 0.22, 0.09)
    X[:, 30] = rng.random(1500) < np.where(y, 0.10, 0.02)
    return X, y, {0, 1, 48, 40, 30}, {}


def weak_shifts(rng: np.random.Generator) -> Table:
    """Twelve of sixty features with a common factor, shifted a little."""
    X = np.sqrt(0.7) * rng.normal(size=(400, 60)) + np.sqrt(0.3) * rng.normal(size=(400, 1))
    X[200:, :12] += 0.4
    return X, halves(200), set(range(12)), {}


def dependence_of_two(rng: np.random.Generator) -> Table:
    """Among 60 features, 20 of which share a factor and 10 are rare flags: correlation 0 against .6."""
    X = rng.normal(size=(400, 60))
    X[:, 20:40] += rng.normal(size=(400, 1))
    X[:, 50:] = rng.random((400, 10)) < 0.05
    X[200:, 1] = 0.6 * X[200:, 0] + 0.8 * X[200:, 1]
    return X, halves(200), {0, 1}, {}


def parity(rng: np.random.Generator) -> Table:
    """The sign of one feature is that of the product of two others, in one group."""
    X = rng.normal(size=(1000, 20))
    X[500:, 2] = np.abs(X[500:, 2]) * np.sign(X[500:, 0] * X[500:, 1])
    return X, halves(500), {0, 1, 2}, {}


def modes(rng: np.random.Generator) -> Table:
    """Three features with two modes in one group, with equal mean and variance."""
    X = rng.normal(size=(1000, 30))
    X[500:, :3] = 0.85 * rng.choice([-1, 1], (500, 3)) + np.sqrt(1 - 0.85**2) * X[500:, :3]
    return X, halves(500), {0, 1, 2}, {}


def readme(rng: np.random.Generator) -> Table:
    X = rng.normal(size=(400, 20))
    X[200:, 7] = 0.9 * X[200:, 3] + 0.45 * X[200:, 7]
    return X, halves(200), {3, 7}, {"n_permutations": 199}


POWER: dict[str, Callable[[np.random.Generator], Table]] = {
    "mixed table": mixed_table,
    "12 of 60 shifted by .4": weak_shifts,
    "pair, correlation 0 against .6": dependence_of_two,
    "three with two modes": modes,
    "parity of three": parity,
    "README": readme,
}


def power(arguments: argparse.Namespace) -> None:
    n = arguments.sets or 50
    print("found on average; share of tables where all are found, and where any named is false; false ones")
    print("among those named; processor seconds a table. Knockoffs and directions: a fifth of the tables.\n")
    print("| table | method | tables | found | all | any false | false share | seconds |")
    print("|---|---|---|---|---|---|---|---|")
    for name, make in POWER.items():
        if arguments.only and arguments.only not in name:
            continue
        methods = {"princdiff": ours, "Holm": holm, "Benjamini-Hochberg": discoveries, **knockoffs()}
        if name == "parity of three":
            methods["princdiff, directions"] = along_directions
        for method, find in methods.items():
            slow = find not in (ours, holm, discoveries)
            rows, spent = [], 0.0
            for seed in range(max(1, n // 5) if slow else n):
                X, y, truth, options = make(np.random.default_rng([19, seed]))
                begin = time.process_time()
                found = find(X, y, {"random_state": seed, **options})
                spent += time.process_time() - begin
                false = len(found - truth)
                rows.append([len(found & truth), found >= truth, false > 0, false / max(1, len(found))])
            mean = np.mean(rows, axis=0)
            print(
                f"| {name} | {method} | {len(rows)} | {mean[0]:.2f} of {len(truth)} | {mean[1]:.2f} | "
                f"{mean[2]:.2f} | {mean[3]:.2f} | {spent / len(rows):.2f} |",
                flush=True,
            )
    if not arguments.only or arguments.only in "README":
        X, y, truth, options = readme(np.random.default_rng(0))
        hits = [ours(X, y, {"random_state": seed, **options}) >= truth for seed in range(n)]
        print(f"\nREADME's table, {n} seeds: f3 and f7 named in {np.mean(hits):.2f} of them")


def ours(X: np.ndarray, y: np.ndarray, options: dict[str, Any]) -> set[int]:
    return set(np.flatnonzero(select_features(X, y, **options).selected).tolist())


def along_directions(X: np.ndarray, y: np.ndarray, options: dict[str, Any]) -> set[int]:
    return ours(X, y, {"goal": "directions", **options})


def knockoffs() -> dict[str, Callable[..., set[int]]]:
    """Model-X knockoffs with a lasso on the labels, if they are there.

    At a false discovery rate of 20 %: the smallest at which five features can be named at all.
    """
    if importlib.util.find_spec("hidimstat") is None:
        return {}

    def find(X: np.ndarray, y: np.ndarray, options: dict[str, Any]) -> set[int]:
        from hidimstat import model_x_knockoff_importance

        seed = int(options["random_state"])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            chosen = model_x_knockoff_importance(X, y.astype(float), random_state=seed, fdr=0.2)[0]
        return set(np.flatnonzero(np.ravel(chosen)).tolist())

    return {"knockoffs, lasso": find}


def holm(X: np.ndarray, y: np.ndarray, options: dict[str, Any]) -> set[int]:
    pvalues = each_column(X, y)
    order = np.argsort(pvalues)
    adjusted = np.maximum.accumulate(pvalues[order] * (len(order) - np.arange(len(order))))
    return set(order[adjusted <= LEVEL].tolist())


def discoveries(X: np.ndarray, y: np.ndarray, options: dict[str, Any]) -> set[int]:
    return set(np.flatnonzero(stats.false_discovery_control(each_column(X, y)) <= LEVEL).tolist())


def each_column(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Kolmogorov-Smirnov for numbers, chi-squared for flags."""
    pvalues = []
    for column in X.T:
        a, b = column[y == 0], column[y == 1]
        if len(np.unique(column)) > 2:
            pvalues.append(stats.ks_2samp(a, b).pvalue)
        else:
            table = np.array([[np.sum(part == value) for value in np.unique(column)] for part in (a, b)])
            pvalues.append(stats.chi2_contingency(table).pvalue if table.shape[1] > 1 else 1.0)
    return np.array(pvalues)


# ---------------------------------------------------------------- real data


def madelon(arguments: argparse.Namespace) -> None:
    print("MADELON: found of 20, false, seconds of processor")
    for goal in ("all", "directions"):
        for subset in ("train", "valid"):
            if arguments.only and arguments.only not in f"{goal} {subset}":
                continue
            data = load_madelon(arguments.data, subset=subset)
            for seed in range(arguments.sets or 5):
                begin = time.process_time()
                found = select_features(data.data, data.target, goal=goal, random_state=seed).selected
                hits = int(found[data.relevant].sum())
                seconds = time.process_time() - begin
                print(
                    f"  {goal:10s} {subset} seed {seed}: {hits} {int(found.sum()) - hits} {seconds:.1f}",
                    flush=True,
                )


def cells(arguments: argparse.Namespace) -> None:
    n = arguments.sets or 20
    data = load_zeisel(arguments.data)
    values, genes = data.data.toarray(), list(data.feature_names)
    codes = np.unique(data.target, return_inverse=True)[1].astype(np.uint8)
    begin = time.process_time()
    labellings = Relabellings(Scheme(codes, 999, 0), 2)
    adjusted, tail = alone(values, labellings)
    print(f"brain cells, {values.shape}: {int((adjusted <= LEVEL).sum())} genes differ alone; ", end="")
    print(f"{time.process_time() - begin:.1f} s of processor")
    for gene in ("Omg", "Gstp1", "Nfasc", "Snca"):
        if gene in genes:
            place = genes.index(gene)
            print(f"  {gene:8s} adjusted p {adjusted[place]:.4f}, tail {tail[place]:.1e}")
    own = values[codes == 0]
    named = 0
    for seed in range(n):
        rng = np.random.default_rng(seed)
        codes = rng.permutation(np.arange(len(own)) % 2).astype(np.uint8)
        named += (alone(own, Relabellings(Scheme(codes, 199, seed), 2))[0] <= LEVEL).any()
    print(f"  cells of one tissue split at random: some gene named in {named} of {n} splits")


def planted(kind: str, half: pd.DataFrame, rng: np.random.Generator) -> set[str]:
    """Change one column of a table in place; its name."""
    numbers = [name for name in half if half[name].dtype.kind in "if" and half[name].nunique() > 12]
    words = [name for name in half if name not in numbers]
    if kind == "none":
        return set()
    if kind in ("rate", "rare"):
        column = str(rng.choice(words))
        counts = half[column].value_counts()
        level, share = (counts.index[0], 0.12) if kind == "rate" else (counts.index[-1], 0.03)
        half[column] = half[column].where(rng.random(len(half)) >= share, level)
        return {column}
    column = str(rng.choice(numbers))
    values = half[column].astype(float)
    if kind == "shift":
        half[column] = values + 0.3 * values.std()
    else:
        half[column] = values.mean() + 1.35 * (values - values.mean())
    return {column}


def real_tables(arguments: argparse.Namespace) -> None:
    """Halves of real tables, with one column changed; columns by themselves and pairs, all in one."""
    n = arguments.sets or 20
    print(f"real tables, 1000 + 1000 rows, {n} draws: columns found, share of draws with any false one")
    for path in sorted(Path(arguments.data, "tables").glob("*.csv.gz")):
        table = pd.read_csv(path)
        keys = [name for name in table if table[name].dtype == object and table[name].nunique() > 100]
        table = table.drop(columns=[*keys, *(["TotalCharges"] if "TotalCharges" in table else [])])
        for name in table:
            if table[name].dtype.kind not in "if" or table[name].isna().any():
                table[name] = table[name].astype(str)
        if len(table) < 2000 or (arguments.only and arguments.only not in path.name):
            continue
        for number, kind in enumerate(("none", "rate", "rare", "shift", "spread")):
            rows, begin = [], time.process_time()
            for draw in range(n):
                rng = np.random.default_rng([23, number, draw])
                drawn = table.iloc[rng.permutation(len(table))[:2000]].reset_index(drop=True)
                half = drawn.iloc[1000:].copy()
                truth = planted(kind, half, rng)
                prepared = prepare(drawn.iloc[:1000], half)
                problem = Problem.from_prepared(prepared)
                options = SelectionOptions(n_permutations=arguments.permutations)
                found = select(problem, Run(draw), options).table
                named = set(found.loc[found["selected"], "column"])
                rows.append([len(named & truth), len(named - truth) > 0])
            mean = np.mean(rows, axis=0)
            seconds = (time.process_time() - begin) / n
            hits = "   -" if kind == "none" else f"{mean[0]:.2f}"
            print(f"  {path.name:16s} {kind:8s} {hits}  false {mean[1]:.2f} {seconds:6.2f} s", flush=True)


def many_columns(rows: int, numbers: int, flags: int) -> np.ndarray:
    rng = np.random.default_rng(0)
    return np.column_stack([rng.normal(size=(rows, numbers)), rng.random((rows, flags)) < 0.1])


def counts_of_genes(rows: int, genes: int) -> sp.csr_matrix:
    """Counts, four of five of them zero."""
    rng = np.random.default_rng(0)
    return sp.csr_matrix(rng.poisson(rng.gamma(0.3, size=genes), size=(rows, genes)).astype(float))


SHAPES: dict[str, Callable[[], Any]] = {
    "48 842 x 108": lambda: many_columns(48_842, 8, 100),
    "250 000 x 20": lambda: many_columns(250_000, 20, 0),
    "3005 x 4172": lambda: many_columns(3005, 4172, 0),
    "2000 x 500": lambda: many_columns(2000, 500, 0),
    "1108 x 20 125, sparse": lambda: counts_of_genes(1108, 20_125),
}


def cost(arguments: argparse.Namespace) -> None:
    print("seconds of processor, all rows, 999 relabellings, one thread\n")
    print("| rows x features | columns alone | whole selection |\n|---|---|---|")
    for name, make in SHAPES.items():
        if arguments.only and arguments.only not in name:
            continue
        X = make()
        codes = (np.arange(X.shape[0]) % 2).astype(np.uint8)
        begin = time.process_time()
        alone(X, Relabellings(Scheme(codes, 999, 0), 2))
        middle = time.process_time()
        select_features(X, codes, random_state=0)
        end = time.process_time()
        print(f"| {name} | {middle - begin:.1f} | {end - middle:.1f} |", flush=True)


SECTIONS = {"error": error, "kinds": kinds, "power": power, "madelon": madelon, "cells": cells}
SECTIONS |= {"tables": real_tables, "time": cost}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sections", nargs="*", choices=[*SECTIONS, []], help="default: all of them")
    parser.add_argument("--sets", type=int, help="tables or seeds of each kind")
    parser.add_argument("--only", help="tables whose name has this text")
    parser.add_argument("--permutations", type=int, default=199, help="relabellings of the section error")
    parser.add_argument("--data", help="folder of MADELON and of the brain cells")
    arguments = parser.parse_args()
    for name in arguments.sections or SECTIONS:
        SECTIONS[name](arguments)


if __name__ == "__main__":
    main()
