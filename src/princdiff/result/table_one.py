"""Table 1 of a paper: what every column looks like in each group, and how far the groups are apart in it."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd
import scipy.sparse as sp
from numpy.typing import NDArray

from princdiff.statistics.column_batches import column_of
from princdiff.tables import Prepared
from princdiff.words.readable_figures import group_names

if TYPE_CHECKING:
    from princdiff.result.difference import DifferenceResult

Form = Literal["frame", "markdown", "latex", "html"]
# A table of more features than this is read by nobody, and of many genes it would be slow.
MOST_FEATURES = 500
_FIGURES = ("mean", "sd", "q1", "median", "q3")
_WHOLE = ["column", "level", "group"]


def measured_columns(prepared: Prepared) -> pd.DataFrame:
    """Counts, means, standard deviations and quartiles of all columns, by group and over all rows.

    Parameters
    ----------
    prepared : Prepared
        Rows and groups.

    Returns
    -------
    DataFrame
        One row per column (of a category: per level) and group, ``""`` for all rows: column, level, group, n
        (rows with a value), missing (of the rows compared), mean (of a level: its share), sd (ddof 1), q1,
        median and q3. Empty for more than `MOST_FEATURES` features, and for weighted rows.

    Examples
    --------
    >>> from princdiff.tables import prepare
    >>> frame = pd.DataFrame({"age": [31.5, 40.5, 28.5, 55.5]})
    >>> found = measured_columns(prepare(frame, groups=["a", "a", "b", "b"]))
    >>> found[["column", "group", "n", "mean"]].values.tolist()
    [['age', 'a', 2, 36.0], ['age', 'b', 2, 42.0], ['age', '', 4, 39.0]]
    """
    names = [*_WHOLE, "n", "missing", *_FIGURES]
    if len(prepared.features) > MOST_FEATURES or prepared.weights is not None:
        return pd.DataFrame(columns=names)
    rows = prepared.rows.tocsc() if sp.issparse(prepared.rows) else prepared.rows
    gaps = {
        column: column_of(rows, place).astype(bool)
        for place, column in enumerate(prepared.origin)
        if prepared.kinds[place] == "missing"
    }
    none = np.zeros(len(prepared.codes), dtype=bool)
    members = [prepared.codes == code for code in range(len(prepared.groups))]
    members.append(np.ones(len(prepared.codes), dtype=bool))
    records = [
        (column, prepared.feature_levels[place], group, *_figures(values[own], gaps.get(column, none)[own]))
        for place, column in enumerate(prepared.origin)
        if prepared.kinds[place] != "missing"
        for values in [_observed(prepared, column_of(rows, place), place)]
        for group, own in zip([*prepared.groups, ""], members, strict=True)
    ]
    return pd.DataFrame(records, columns=names)


def _observed(prepared: Prepared, values: NDArray[np.float64], place: int) -> NDArray[np.float64]:
    """The values of a feature, NaN where they were filled."""
    filled = prepared.filled.get(prepared.features[place])
    if filled is None or not len(filled):
        return values
    values = values.copy()
    values[filled] = np.nan
    return values


def _figures(values: NDArray[np.float64], gaps: NDArray[np.bool_]) -> tuple[float, ...]:
    values, missing = values[~np.isnan(values)], int(gaps.sum())
    count = len(values)
    if not count:
        return (0, missing, *[np.nan] * len(_FIGURES))
    deviation = values.std(ddof=1) if count > 1 else np.nan
    quartiles = np.quantile(values, [0.25, 0.5, 0.75])
    return (count, missing, float(values.mean()), float(deviation), *map(float, quartiles))


def table_one(result: DifferenceResult, median: bool | Collection[str], overall: bool) -> pd.DataFrame:
    """Lines as they are pasted; see `DifferenceResult.table1`."""
    measured = result.measured
    if measured.empty:
        raise ValueError(
            "this result has no figures for a table: rows with weights, profiles, tables of more than "
            f"{MOST_FEATURES} features and files of older versions have none"
        )
    unknown = sorted(set() if isinstance(median, bool) else set(median) - set(measured["column"]))
    if unknown:
        raise ValueError(f"median: there is no column {unknown[0]!r}")
    groups = list(result.groups)
    names = group_names(result)
    heads = {
        group: f"{name} (n = {rows})"
        for name, (group, rows) in zip(names, result.groups.items(), strict=True)
    }
    heads |= {"": f"overall (n = {sum(result.groups.values())})"} if overall else {}
    pvalues = result.columns.set_index("column")["pvalue"]
    types = result.columns.set_index("column")["type"]
    lines: list[dict[str, Any]] = []
    by_column = dict(iter(measured.groupby("column", sort=False)))
    for name in [coding.column for coding in result.codings if coding.column in by_column]:
        own = by_column[name]
        first = own["level"].iloc[0]
        counts = types.get(name) in ("flag", "category")
        by_median = median if isinstance(median, bool) else name in median
        distance = _standardised_difference(own[own["group"] != ""], groups, counts)
        for level, part in own.groupby("level", sort=False):
            by_group = part.set_index("group")
            form = "n (%)" if counts else "median [IQR]" if by_median else "mean (SD)"
            cells = {heads[group]: _cell(by_group.loc[group], form) for group in heads}
            gaps = "" if level != first else str(int(by_group.at["", "missing"]))
            known = level == first
            lines.append(
                {
                    "column": name,
                    # Of a flag the ones are counted.
                    "level": "1" if counts and not level else level,
                    "figures": form,
                    **cells,
                    "missing": gaps,
                    "SMD": _smd(distance) if known else "",
                    "adjusted p": _pvalue(pvalues.get(name, np.nan)) if known else "",
                }
            )
    return pd.DataFrame(lines).set_index(["column", "level"])


def _cell(row: pd.Series, form: str) -> str:
    if not row["n"]:
        return "-"
    if form == "n (%)":
        return f"{round(row['mean'] * row['n'])} ({100 * row['mean']:.1f})"
    if form == "median [IQR]":
        return f"{_short(row['median'])} [{_short(row['q1'])}, {_short(row['q3'])}]"
    return f"{_short(row['mean'])} ({_short(row['sd'])})"


def _short(value: float) -> str:
    """Three digits, and all of those before the point."""
    if not np.isfinite(value):
        return "-"
    if abs(value) >= 100:
        return f"{value:.0f}"
    return f"{value:#.3g}".rstrip(".")


def _smd(value: float) -> str:
    # Groups without a value in common are infinitely far apart.
    return "" if np.isnan(value) else "\N{INFINITY}" if np.isinf(value) else f"{value:.2f}"


def _pvalue(value: float) -> str:
    if np.isnan(value):
        return ""
    return "< 0.001" if value < 0.001 else f"{value:.2g}"


def _standardised_difference(own: pd.DataFrame, groups: list[str], counts: bool) -> float:
    """Difference of means in standard deviations of the two groups; of several groups the largest.

    Of a category the distance of its shares, as wide as they vary together (Yang and Dalton 2012).
    """
    means = own.pivot(index="group", columns="level", values="mean").loc[groups].to_numpy()
    spreads = own.pivot(index="group", columns="level", values="sd").loc[groups].to_numpy()
    found = [
        _distance_of_shares(means[g], means[h]) if counts else _distance(means[[g, h]], spreads[[g, h]])
        for g, h in combinations(range(len(groups)), 2)
    ]
    return float(np.max(found))


def _distance(means: NDArray[np.float64], spreads: NDArray[np.float64]) -> float:
    variance = float(np.mean(spreads[:, 0] ** 2))
    difference = abs(float(means[1, 0] - means[0, 0]))
    return difference / variance**0.5 if variance > 0 else 0.0 if difference == 0 else np.inf


def _distance_of_shares(first: NDArray[np.float64], second: NDArray[np.float64]) -> float:
    # The shares of all levels sum to one: one of them says nothing that the others do not.
    if len(first) > 1:
        first, second = first[1:], second[1:]
    common = (_covariance_of_shares(first) + _covariance_of_shares(second)) / 2
    difference = second - first
    if not difference.any():
        return 0.0
    weights = np.linalg.pinv(common) @ difference
    if not np.allclose(common @ weights, difference):
        # They differ where no group varies.
        return np.inf
    square = float(difference @ weights)
    return max(0.0, square) ** 0.5


def _covariance_of_shares(shares: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.diag(shares) - np.outer(shares, shares)


def in_form(table: pd.DataFrame, form: Form) -> Any:
    """A table as text of a kind, or as it is."""
    if form == "frame":
        return table
    if form == "latex":
        return table.to_latex(escape=True)
    if form == "html":
        return table.to_html()
    return "\n".join(_markdown(table.reset_index()))


def _markdown(table: pd.DataFrame) -> Iterator[str]:
    yield _markdown_line(table.columns)
    yield _markdown_line(["---"] * table.shape[1])
    before = None
    for row in table.itertuples(index=False):
        # The name of a column is written once.
        first = "" if row[0] == before else row[0]
        yield _markdown_line([first, *row[1:]])
        before = row[0]


def _markdown_line(cells: Any) -> str:
    return f"| {' | '.join(str(cell).replace('|', chr(92) + '|') for cell in cells)} |"
