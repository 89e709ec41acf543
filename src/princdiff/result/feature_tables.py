"""The tables of a result: each feature on its own, and the columns of the user's table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import scipy.sparse as sp
from numpy.typing import NDArray

from princdiff.findings import ChangePart, Why
from princdiff.labellings.schemes import Scheme
from princdiff.result import shift_spread_shape
from princdiff.result.clearest_change import Change, clearest_change
from princdiff.result.columns import ColumnFacts, column_table, feature_kinds
from princdiff.result.effects import beyond_chance
from princdiff.result.shift_spread_shape import Kind
from princdiff.statistics.alone import alone_scores, best_of_several
from princdiff.statistics.column_batches import column_of
from princdiff.statistics.contrasts import Relabellings
from princdiff.tables import Prepared

# P-values up to this many times the smallest one are not told apart when columns are ranked.
_ALIKE = 5.0
_BLOCK_ELEMENTS = 20_000_000
# exp(20) counts are more than anybody has.
_LARGEST_LOGARITHM = 20


def feature_blocks(rows: Any) -> Iterator[tuple[slice, NDArray[np.float64]]]:
    """Features a few at a time, as (n_features, n_rows) in double precision.

    Examples
    --------
    >>> [(part, block.shape) for part, block in feature_blocks(np.ones((4, 3)))]
    [(slice(0, 3, None), (3, 4))]
    """
    by_column = rows.tocsc() if sp.issparse(rows) else rows
    step = max(1, _BLOCK_ELEMENTS // rows.shape[0])
    for start in range(0, rows.shape[1], step):
        part = slice(start, min(start + step, rows.shape[1]))
        block = by_column[:, part]
        block = block.toarray() if sp.issparse(block) else np.asarray(block)
        yield part, np.ascontiguousarray(block.T, dtype=np.float64)


class SingleFeatures(NamedTuple):
    """Each feature on its own.

    Attributes
    ----------
    table : DataFrame
        Columns feature, divergence, location, scale, shape, then mean and sd of each group.
    beyond : Kind
        What is beyond chance, in squared standard deviations within the groups.
    flags : bool array of shape (n_features,)
        Features that take the values 0 and 1 only.
    lowest : array of shape (n_features,)
        Their smallest values; NaN for numbers that look like logarithms, which are no sizes.
    """

    table: pd.DataFrame
    beyond: Kind
    flags: NDArray[np.bool_]
    lowest: NDArray[np.float64]


def single_features(
    prepared: Prepared, deviations: NDArray[np.float64] | None, rng: np.random.Generator
) -> SingleFeatures:
    """Each feature on its own.

    Parameters
    ----------
    prepared : Prepared
        Rows and groups.
    deviations : array of shape (n_features,) or None
        What features are divided by before their divergences are computed; means and standard deviations
        are given as measured.
    rng : Generator
        For the part of a difference that chance explains.

    Returns
    -------
    SingleFeatures

    Notes
    -----
    Values that were filled are no measurements: they do not count.
    """
    tables, kinds, flags, lowest = [], [], [], []
    for part, block in feature_blocks(prepared.rows):
        own = shift_spread_shape.feature_table(
            block, prepared.features[part], prepared.codes, prepared.groups, prepared.weights
        )
        tables.append(own)
        found = Kind(*(own[name].to_numpy() for name in Kind._fields))
        kinds.append(beyond_chance(block, prepared.codes, prepared.weights, rng, found))
        flags.append(((block == 0) | (block == 1)).all(axis=1))
        lowest.append(np.where(_like_logarithms(block), np.nan, block.min(axis=1)))
    table = pd.concat(tables, ignore_index=True)
    beyond = Kind(*(np.concatenate(parts) for parts in zip(*kinds, strict=True)))
    for place, feature in enumerate(prepared.features):
        if feature in prepared.filled:
            own, parts = _observed_only(prepared, place, rng)
            table.loc[place, list(own)] = list(own.values())
            for array, value in zip(beyond, parts, strict=True):
                array[place] = value
    if deviations is not None:
        square = np.where(deviations > 0, deviations, np.inf) ** 2
        for name in ("divergence", "location", "scale", "shape"):
            table[name] = table[name].to_numpy() / square
    return SingleFeatures(table, beyond, np.concatenate(flags), np.concatenate(lowest))


def _like_logarithms(columns: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Whether numbers may be log(1 + count), as expression of genes is: zeros, fractions, none large.

    Examples
    --------
    >>> _like_logarithms(np.array([[0.0, 0.69, 1.1], [0.0, 1.0, 3.0], [0.0, 12.5, 99.5]]))
    array([ True, False, False])
    """
    whole = (columns == np.rint(columns)).all(axis=1)
    return (columns.min(axis=1) == 0) & (columns.max(axis=1) < _LARGEST_LOGARITHM) & ~whole


def _observed_only(
    prepared: Prepared, place: int, rng: np.random.Generator
) -> tuple[dict[str, float], tuple[float, float, float]]:
    """A feature without its filled values: its line of the table, and what is beyond chance."""
    values, codes, weights, present = observed(prepared, place)
    names = [f"{what} {group}" for group in prepared.groups for what in ("mean", "sd")]
    line = dict.fromkeys(("divergence", *Kind._fields), 0.0) | dict.fromkeys(names, np.nan)
    if len(present) < 2:
        for code in present:
            mean = np.average(values, weights=weights)
            square = np.average((values - mean) ** 2, weights=weights)
            group = prepared.groups[code]
            line |= {f"mean {group}": float(mean), f"sd {group}": float(np.sqrt(square))}
        return line, (0.0, 0.0, 0.0)
    groups = [prepared.groups[code] for code in present]
    # A group without values has no mean, and is left out of the difference.
    codes = np.searchsorted(present, codes).astype(np.uint8)
    table = shift_spread_shape.feature_table(
        values[None], [prepared.features[place]], codes, groups, weights
    ).drop(columns="feature")
    line |= {str(name): float(value) for name, value in table.iloc[0].items()}
    beyond = beyond_chance(values[None], codes, weights, rng)
    return line, (float(beyond.location[0]), float(beyond.scale[0]), float(beyond.shape[0]))


def observed(
    prepared: Prepared, place: int
) -> tuple[NDArray[np.float64], NDArray[np.uint8], NDArray[np.float64] | None, NDArray[np.uint8]]:
    """Values of a feature that were not filled, their groups and weights, and the groups that have any."""
    values = column_of(prepared.rows, place)
    codes, weights = prepared.codes, prepared.weights
    filled = prepared.filled.get(prepared.features[place])
    if filled is not None:
        kept = np.ones(len(values), dtype=bool)
        kept[filled] = False
        values, codes = values[kept], codes[kept]
        weights = None if weights is None else weights[kept]
    counted = codes if weights is None else codes[weights > 0]
    return values, codes, weights, np.unique(counted)


class ResultTables(NamedTuple):
    """The table of features, that of columns, what changed in each column, and the facts behind them."""

    table: pd.DataFrame
    columns: pd.DataFrame
    changes: dict[str, list[ChangePart]]
    facts: ColumnFacts


def result_tables(
    prepared: Prepared,
    features: pd.DataFrame,
    single: SingleFeatures,
    why: Sequence[Why],
    scores: NDArray[np.float64] | None = None,
) -> ResultTables:
    """The table of features and the table of columns, both in the order in which people read them.

    Parameters
    ----------
    prepared : Prepared
        Rows and groups.
    features : DataFrame
        One row per feature in the order of the rows of numbers, with weight, share, selected, pvalue, reason
        ...
    single : SingleFeatures
        Each of them on its own.
    why : list of Why
        Why each is named.
    scores : array of shape (n_features, n_statistics), optional
        How clearly each statistic of a number spoke where columns were named; see `clearest_change`.

    Returns
    -------
    ResultTables
    """
    facts = ColumnFacts(
        features,
        prepared.codings,
        single.flags,
        single.beyond,
        prepared.codes,
        prepared.weights,
        prepared.groups,
        single.lowest,
        why,
    )
    if scores is not None:
        changes, unchanged = _clearest_changes(prepared, facts, scores)
        facts = replace(facts, changes=changes, alike_where_measured=unchanged)
    kinds, effects = feature_kinds(facts)
    place = features.columns.get_loc("reason") + 1
    features = features.copy()
    features.insert(place, "kind", kinds)
    features.insert(place + 1, "effect", effects)
    # Divergences that do not depend on scale have no shares; squared weights say as much.
    leading = features["share"].fillna(features["weight"] ** 2).to_numpy()
    order = np.lexsort((-features["divergence"], ~features["selected"], -leading))
    columns, parts_of_changes = column_table(facts)
    # Near their floor p-values are a matter of chance; the larger effect is then the clearer difference.
    pvalues = columns["pvalue"].fillna(1.0).to_numpy()
    alike = np.where(pvalues <= _ALIKE * pvalues.min(initial=1.0), 0.0, pvalues)
    ranked = np.lexsort((-columns["effect"], alike, ~columns["selected"]))
    table = features.iloc[order].reset_index(drop=True)
    return ResultTables(table, columns.iloc[ranked].reset_index(drop=True), parts_of_changes, facts)


def _clearest_changes(
    prepared: Prepared, facts: ColumnFacts, scores: NDArray[np.float64]
) -> tuple[dict[int, Change], frozenset[int]]:
    """What changed in the numbers that are named on their own, where means and spreads do not tell it.

    Also the numbers of which nothing changed but how often they are missing: with its gaps filled a number
    differs, since the value that fills them became more or less frequent.
    """
    kinds, _ = feature_kinds(facts)
    rows = prepared.rows.tocsc() if sp.issparse(prepared.rows) else prepared.rows
    found, alike = {}, []
    for place in np.flatnonzero(facts.alone & (scores.max(axis=1) > 0)).tolist():
        if prepared.kinds[place] != "number" or facts.flags[place]:
            continue
        own, values, codes, weights = scores[place], column_of(rows, place), prepared.codes, prepared.weights
        if prepared.features[place] in prepared.filled:
            values, codes, weights, present = observed(prepared, place)
            if len(present) < 2:
                continue
            own = measured_scores(values, np.searchsorted(present, codes).astype(np.uint8), weights)
            if not differs_clearly(own):
                alike.append(place)
            if len(present) < len(prepared.groups):
                continue
        change = clearest_change(values, codes, weights, kinds[place], own)
        if change is not None:
            found[place] = change
    return found, frozenset(alike)


def with_differences(
    table: pd.DataFrame, columns: pd.DataFrame, differences: pd.DataFrame
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Both tables with the differences of selected features and their intervals.

    Parameters
    ----------
    table, columns : DataFrames
        From `result_tables`.
    differences : DataFrame indexed by feature
        ``measure``, ``difference``, ``low``, ``high``; features without are not known.

    Returns
    -------
    table, columns : DataFrames
        With columns measure, difference, difference_low, difference_high after effect. A column of several
        features is described by the one with the largest effect; its measure names it.
    """
    names = {"low": "difference_low", "high": "difference_high"}
    own = differences.rename(columns=names).reindex(table["feature"])
    own["measure"] = own["measure"].fillna("").astype(object)
    table = _inserted(table, own)
    known = table[table["difference"].notna()].sort_values("effect", ascending=False, kind="stable")
    leading = known.drop_duplicates("column").set_index("column")
    several = leading.index.to_numpy() != leading["feature"].to_numpy()
    several &= ~leading["measure"].str.contains(" = ", regex=False).to_numpy(bool)
    words = leading["measure"].where(~several, leading["measure"] + " of " + leading["feature"].astype(str))
    shown = leading[["measure", "difference", "difference_low", "difference_high"]].assign(measure=words)
    shown = shown.reindex(columns["column"])
    shown["measure"] = shown["measure"].fillna("").astype(object)
    return table, _inserted(columns, shown)


def _inserted(table: pd.DataFrame, further: pd.DataFrame) -> pd.DataFrame:
    table = table.copy()
    place = int(table.columns.get_loc("effect")) + 1  # type: ignore[arg-type]
    for offset, name in enumerate(("measure", "difference", "difference_low", "difference_high")):
        table.insert(place + offset, name, further[name].to_numpy())
    return table


# Whether the values of a number that were measured differ, where others are missing.


# Permutations of the rows that have a value, by which the statistics become comparable scores.
_N_RELABELLINGS = 199
# Rows on which they are judged at most.
_MOST_ROWS = 20_000
# Level at which the measured values are said to differ.
_LEVEL = 0.05


def measured_scores(
    values: NDArray[np.float64], codes: NDArray[np.uint8], weights: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """-log of an approximate p-value of each of `STATISTICS`, from measured values alone.

    Parameters
    ----------
    values : array of shape (n_rows,)
        Values that were measured.
    codes : array of shape (n_rows,)
        Group of each row; every group has rows.
    weights : array of shape (n_rows,), optional
        Row weights.

    Returns
    -------
    array of shape (n_statistics,)

    Notes
    -----
    Rows are relabelled one by one, also where the test relabelled by blocks: only words depend on it. Of many
    rows a sample is judged.

    Examples
    --------
    >>> values = np.random.default_rng(0).normal(size=400)
    >>> values[200:] += 1.0
    >>> measured_scores(values, np.repeat([0, 1], 200).astype(np.uint8)).round().astype(int)[:2]
    array([40,  1])
    """
    if len(values) > _MOST_ROWS:
        kept = np.sort(np.random.default_rng(0).permutation(len(values))[:_MOST_ROWS])
        # A group without a row in the sample has too few to say anything of.
        if len(np.unique(codes[kept])) == len(np.unique(codes)):
            values, codes = values[kept], codes[kept]
            weights = None if weights is None else weights[kept]
    labellings = Relabellings(Scheme(codes, _N_RELABELLINGS, seed=0), int(codes.max()) + 1, weights)
    return alone_scores(values[:, None], labellings).observed_statistics[0]


def differs_clearly(scores: NDArray[np.float64]) -> bool:
    """Whether the clearest of several statistics is significant, after Bonferroni.

    Examples
    --------
    >>> differs_clearly(np.array([0.5, 3.2, 0.0])), differs_clearly(np.array([0.5, 9.0, 0.0]))
    (False, True)
    """
    looked_at = max(int((scores > 0).sum()), 1)
    return bool(best_of_several(scores.max(), looked_at) >= -np.log(_LEVEL))
