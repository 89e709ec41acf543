"""Which columns were corrupted: the explanation of `princdiff.compare` beside other ways to find them.

    python -m benchmarks.explanation [--tables telco digits ...] [--kinds ...] [--seeds 5]
                                     [--methods ...] [--public FOLDER] [--datafix FOLDER]

Two random halves of a table do not differ; then a tenth of the columns of the second (at least one) are
corrupted in one of ten ways, so the truth is known on data that nobody made up. ``permuted``: the column
shuffled (of columns with a rank correlation of .3 or more with another, without which nothing would change).
``shifted``: by .4 standard deviations. ``noise``: normal, of .5 standard deviations. ``sentinel``: -999 in
6 % of the rows. ``clipped``: what is above the 85 % quantile. ``unit``: times 2.54. ``swapped``: two columns
exchanged. ``rounded``: to half a standard deviation. ``missing``: 10 % of the values. ``rescaled``: 1.4
times as wide. ``none``: nothing.

Shown are the F1 score of the columns named (mean over runs), false columns a run, how often the lower bound
is no more than what was corrupted, and seconds of processor. An alternative ("either of height and weight")
counts as missed unless it is the one in `columns`. ``--methods``: Kolmogorov-Smirnov and chi-squared tests
with the corrections of Holm and of Benjamini and Hochberg, boosted trees with permutation importance, and
DF-Locate out of a checkout of AI-sandbox/DataFix, the folder ``--datafix`` (needs kneed). ``--public``: the
pairs of AI-sandbox/FSL-Net, whose ``data`` folder it names: gas and covid with one corrupted column each, of
which the references serve as further tables.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn import datasets
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.inspection import permutation_importance
from sklearn.model_selection import train_test_split

from benchmarks.tables.answers import quick_answer
from benchmarks.tables.planted import LEFT_OUT, is_number, pvalues_by_column
from princdiff.labellings.pvalues import adjusted_pvalues

LEVEL = 0.05
TAKES_PART = 0.3
BUNDLED = ("breast_cancer", "wine", "diabetes", "digits")
STATSMODELS = ("anes96", "fair", "randhie", "star98", "macrodata", "modechoice")
VEGA = ("cars", "seattle-weather", "airports")
FILES = ("telco", "bank", "diamonds", "taxis", "penguins", "titanic")
PUBLIC = ("gas", "covid")


# ---------------------------------------------------------------- tables


@cache
def table_of(name: str, public: str | None) -> pd.DataFrame:
    """A table without constants, whose gaps are a level of their own in texts and left out in numbers."""
    if name in FILES:
        table = pd.read_csv(Path(os.environ["PRINCDIFF_DATA"]) / "tables" / f"{name}.csv.gz")
        table = table.drop(columns=LEFT_OUT.get(name, []))
    elif name in BUNDLED:
        table = getattr(datasets, f"load_{name}")(as_frame=True).frame.drop(columns="target")
    elif name in PUBLIC:
        rows = np.load(Path(public or "") / "references" / f"{name}_0.1_E1_ref.npy")
        table = pd.DataFrame(rows, columns=[f"{name}{place}" for place in range(rows.shape[1])])
    elif name in STATSMODELS:
        from statsmodels import datasets as more

        table = getattr(more, name).load_pandas().data
    else:
        from vega_datasets import local_data

        table = getattr(local_data, name.replace("-", "_"))()
        texts = [column for column in table if table[column].nunique() > 60 and table[column].dtype == object]
        dates = list(table.select_dtypes("datetime"))
        table = table.drop(columns=[*texts, *dates])
    table = table.loc[:, table.nunique() > 1]
    numbers = list(table.select_dtypes("number"))
    texts = table.columns.difference(numbers)
    return table.fillna(dict.fromkeys(texts, "none")).dropna(subset=numbers).reset_index(drop=True)


def halves(table: pd.DataFrame, n_rows: int, rng: np.random.Generator) -> list[pd.DataFrame]:
    order = rng.permutation(len(table))[: 2 * n_rows]
    return [table.iloc[part].reset_index(drop=True) for part in np.array_split(order, 2)]


# ---------------------------------------------------------------- corruptions


def _clipped(values: pd.Series, rng: np.random.Generator) -> pd.Series:
    return values.clip(upper=values.quantile(0.85))


def _rounded(values: pd.Series, rng: np.random.Generator) -> pd.Series:
    step = values.std() / 2
    return (values / step).round() * step


OF_ONE: dict[str, Callable[[pd.Series, np.random.Generator], pd.Series | np.ndarray]] = {
    "permuted": lambda values, rng: rng.permutation(values.to_numpy()),
    "shifted": lambda values, rng: values + 0.4 * values.std(),
    "noise": lambda values, rng: values + 0.5 * values.std() * rng.normal(size=len(values)),
    "sentinel": lambda values, rng: values.mask(rng.random(len(values)) < 0.06, -999.0),
    "clipped": _clipped,
    "unit": lambda values, rng: 2.54 * values,
    "rounded": _rounded,
    "missing": lambda values, rng: values.mask(rng.random(len(values)) < 0.1),
    "rescaled": lambda values, rng: values.mean() + 1.4 * (values - values.mean()),
}
KINDS = ("none", *OF_ONE, "swapped")


def corrupt(table: pd.DataFrame, kind: str, rng: np.random.Generator) -> list[str]:
    """Corrupt a tenth of the columns in place; which ones."""
    numbers = [name for name in table if is_number(table[name])]
    if kind == "permuted":
        together = table[numbers].corr("spearman").abs().to_numpy() - np.eye(len(numbers))
        numbers = [
            name for name, most in zip(numbers, together.max(axis=1), strict=True) if most >= TAKES_PART
        ]
    count = max(1, round(0.1 * table.shape[1]))
    if kind == "swapped":
        count = max(2, 2 * (count // 2))
    if kind == "none" or count > len(numbers):
        return []
    chosen = [str(name) for name in rng.choice(numbers, count, replace=False)]
    if kind == "swapped":
        first, second = chosen[::2], chosen[1::2]
        table[[*first, *second]] = table[[*second, *first]].to_numpy()
        return chosen
    for name in chosen:
        table[name] = OF_ONE[kind](table[name].astype(float), rng)
    return chosen


# ---------------------------------------------------------------- ways to find them


def explanation(first: pd.DataFrame, second: pd.DataFrame, seed: int) -> tuple[set[str], int]:
    """Columns of the explanation, and its lower bound."""
    gaps = "impute" if first.isna().any(axis=None) or second.isna().any(axis=None) else "error"
    found = quick_answer(first, second, n_permutations=99, random_state=seed, missing=gaps).explanation
    return set(found.columns), found.lower_bound


def corrected(
    first: pd.DataFrame, second: pd.DataFrame, seed: int, *, correct: Callable
) -> tuple[set[str], int]:
    """Columns that differ by a test each."""
    found = pvalues_by_column(first, second)
    adjusted = correct(np.nan_to_num(list(found.values()), nan=1.0))
    return {name for name, pvalue in zip(found, adjusted, strict=True) if pvalue <= LEVEL}, 0


def as_numbers(first: pd.DataFrame, second: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Both halves as numbers without gaps: texts by their place in the list, gaps as the median."""
    both = pd.concat([first, second], ignore_index=True)
    for name in both:
        if both[name].dtype.kind not in "iufb":
            both[name] = both[name].astype("category").cat.codes
    rows = both.astype(float).fillna(both.median()).to_numpy(np.float64)
    return rows, np.repeat([0, 1], [len(first), len(second)])


def boosted(first: pd.DataFrame, second: pd.DataFrame, seed: int) -> tuple[set[str], int]:
    """Columns without which boosted trees tell the groups apart less well, on rows not fitted on."""
    rows, groups = as_numbers(first, second)
    fitted, held, y, labels = train_test_split(rows, groups, stratify=groups, random_state=seed)
    trees = HistGradientBoostingClassifier(max_iter=50, random_state=seed).fit(fitted, y)
    lost = permutation_importance(trees, held, labels, scoring="roc_auc", n_repeats=10, random_state=seed)
    clear = lost.importances_mean > np.maximum(3 * lost.importances_std, 0.01)
    return set(first.columns[clear]), 0


def df_locate(first: pd.DataFrame, second: pd.DataFrame, seed: int) -> tuple[set[str], int]:
    """DF-Locate with 60 trees."""
    from datafix.locate.datafix_locate import DFLocate

    rows, groups = as_numbers(first, second)
    forest = RandomForestClassifier(n_estimators=60, random_state=seed)
    found = DFLocate(estimator=forest, test_size=None, n_jobs=1, random_state=seed)
    found.shift_location(rows[groups == 0], rows[groups == 1])
    return set(first.columns[np.asarray(found.mask_, dtype=bool)]), 0


METHODS: dict[str, Callable] = {
    "explanation": explanation,
    "KS + Holm": partial(corrected, correct=adjusted_pvalues),
    "KS + BH": partial(corrected, correct=partial(adjusted_pvalues, adjustment="benjamini-hochberg")),
    "boosted trees": boosted,
    "DF-Locate": df_locate,
}


# ---------------------------------------------------------------- runs


def score(named: set[str], truth: set[str]) -> float:
    """F1; of nothing named where nothing was corrupted 1."""
    if not named and not truth:
        return 1.0
    return 2 * len(named & truth) / (len(named) + len(truth))


def runs_of(name: str, options: argparse.Namespace, ways: dict[str, Callable]) -> Iterator[dict[str, object]]:
    table = table_of(name, options.public)
    for kind in options.kinds:
        for seed in range(options.seeds):
            rng = np.random.default_rng([KINDS.index(kind), seed])
            first, second = halves(table, options.rows, rng)
            truth = set(corrupt(second, kind, rng))
            if kind == "none" or truth:
                about = {"table": name, "kind": kind, "seed": seed}
                yield from outcomes(about, (first, second), truth, ways)


def outcomes(
    about: dict[str, object],
    pair: tuple[pd.DataFrame, pd.DataFrame],
    truth: set[str],
    ways: dict[str, Callable],
) -> Iterator[dict[str, object]]:
    """What each way says of one pair of tables."""
    for way, find in ways.items():
        begin = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            named, bound = find(*pair, int(str(about["seed"])))
        yield {
            **about,
            "method": way,
            "F1": score(named, truth),
            "found": len(named & truth) / max(1, len(truth)),
            "false columns": len(named - truth),
            "any named": bool(named),
            "bound holds": bound <= len(truth),
            "seconds": time.process_time() - begin,
            "named": sorted(named),
            "truth": sorted(truth),
        }


def public_pairs(folder: str, ways: dict[str, Callable]) -> Iterator[dict[str, object]]:
    for name in PUBLIC:
        parts = [
            np.load(Path(folder) / place / f"{name}_0.1_E1_{end}.npy")
            for place, end in (("references", "ref"), ("queries", "que"), ("C_positions", "C_positions"))
        ]
        names = [f"{name}{place}" for place in range(parts[0].shape[1])]
        first, second = (pd.DataFrame(rows, columns=names) for rows in parts[:2])
        truth = {names[int(place)] for place in parts[2]}
        about = {"table": name, "kind": "public pair", "seed": 0}
        yield from outcomes(about, (first, second), truth, ways)


def show(found: pd.DataFrame, by: str) -> None:
    """One table of means, a row for each method and value of a column."""
    kept = ["F1", "found", "false columns", "bound holds", "any named", "seconds"]
    means = found.groupby(["method", by], sort=False)[kept].mean()
    means.insert(0, "runs", found.groupby(["method", by], sort=False).size())
    print(f"\n| method | {by} | runs | {' | '.join(kept)} |\n|{'---|' * (3 + len(kept))}")
    for place, row in means.iterrows():
        cells = [f"{value:.2f}" for value in row[kept]]
        print(f"| {' | '.join(map(str, place))} | {int(row['runs'])} | {' | '.join(cells)} |")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )  # fmt: skip
    parser.add_argument("--tables", nargs="*")
    parser.add_argument("--kinds", nargs="*", default=list(KINDS), choices=KINDS)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--rows", type=int, default=1000, help="rows of each half at most")
    parser.add_argument("--methods", nargs="*", default=list(METHODS)[:3], choices=list(METHODS))
    parser.add_argument("--public", help="data folder of AI-sandbox/FSL-Net")
    parser.add_argument("--datafix", help="folder of AI-sandbox/DataFix")
    parser.add_argument("--out", type=Path, help="a CSV file of all runs")
    options = parser.parse_args()
    files = FILES if os.environ.get("PRINCDIFF_DATA") else ()
    options.tables = options.tables or [*BUNDLED, *files, *(PUBLIC if options.public else ())]
    ways = {name: METHODS[name] for name in options.methods}
    if options.datafix:
        sys.path.append(options.datafix)
    if options.public:
        show(pd.DataFrame(list(public_pairs(options.public, ways))), "table")
    found = pd.DataFrame()
    for name in options.tables:
        found = pd.concat([found, pd.DataFrame(list(runs_of(name, options, ways)))], ignore_index=True)
        if options.out:
            # What is done stays, should a later table fail.
            found.to_csv(options.out, index=False)
    for by in ("table", "kind"):
        show(found, by)
    show(found.assign(all=np.where(found["kind"] == "none", "none", "corrupted")), "all")


if __name__ == "__main__":
    main()
