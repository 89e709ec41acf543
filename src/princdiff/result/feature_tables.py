"""From a fit and its tests to what a result keeps: tables, histograms, quantiles for new rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import scipy.sparse as sp
from numpy.typing import NDArray

from princdiff.data.labels import Labels
from princdiff.data.stored_columns import StoredColumns
from princdiff.divergences import Divergence, report
from princdiff.result import shift_spread_shape
from princdiff.result.clearest_change import Change, clearest_change
from princdiff.result.columns import ColumnFacts, column_table, feature_kinds
from princdiff.result.effects import beyond_chance
from princdiff.result.measured_values import differs_clearly, measured_scores
from princdiff.result.parts import Distribution, GroupReference, ReferencePart
from princdiff.result.shift_spread_shape import Kind
from princdiff.tables import Prepared

REFERENCE_LEVELS = (np.arange(500) + 0.5) / 500
_BINS = 24
_FEW_VALUES = 12
_WHOLE_NUMBERS = 0.9
# P-values up to this many times the smallest one are not told apart when columns are ranked.
_ALIKE = 5.0
_BLOCK_ELEMENTS = 20_000_000


def feature_blocks(rows: Any) -> Iterator[tuple[slice, NDArray[np.float64]]]:
    """Features a few at a time, as (n_features, n_rows) in double precision.

    Examples
    --------
    >>> [(part, block.shape) for part, block in feature_blocks(np.ones((4, 3)))]
    [(slice(0, 3, None), (3, 4))]
    """
    by_column = rows.tocsc() if sp.issparse(rows) else rows
    step = 1 if isinstance(rows, StoredColumns) else max(1, _BLOCK_ELEMENTS // rows.shape[0])
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
        Their smallest values.
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
        lowest.append(block.min(axis=1))
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


def column_of(rows: Any, place: int) -> NDArray[np.float64]:
    """One feature in double precision, shape (n_rows,)."""
    column = rows[:, [place]]
    values = column.toarray() if sp.issparse(column) else np.asarray(column)
    return np.asarray(values.ravel(), dtype=np.float64)


def result_tables(
    prepared: Prepared,
    features: pd.DataFrame,
    single: SingleFeatures,
    scores: NDArray[np.float64] | None = None,
) -> tuple[pd.DataFrame, pd.DataFrame, ColumnFacts]:
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
    scores : array of shape (n_features, n_statistics), optional
        How clearly each statistic of a number spoke where columns were named; see `clearest_change`.

    Returns
    -------
    table, columns : DataFrames
    facts : ColumnFacts
        What both were made from.
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
    columns = column_table(facts)
    # Near their floor p-values are a matter of chance; the larger effect is then the clearer difference.
    pvalues = columns["pvalue"].fillna(1.0).to_numpy()
    alike = np.where(pvalues <= _ALIKE * pvalues.min(initial=1.0), 0.0, pvalues)
    ranked = np.lexsort((-columns["effect"], alike, ~columns["selected"]))
    table = features.iloc[order].reset_index(drop=True)
    return table, columns.iloc[ranked].reset_index(drop=True), facts


def _clearest_changes(
    prepared: Prepared, facts: ColumnFacts, scores: NDArray[np.float64]
) -> tuple[dict[int, Change], frozenset[int]]:
    """What changed in the numbers that are named on their own, where means and spreads do not tell it.

    Also the numbers of which nothing changed but how often they are missing: with its gaps filled a number
    differs, since the value that fills them became more or less frequent.
    """
    kinds, _ = feature_kinds(facts)
    rows = prepared.rows.tocsc() if sp.issparse(prepared.rows) else prepared.rows
    named = facts.features["selected"].to_numpy(bool) & (facts.features["reason"] == "alone").to_numpy()
    found, alike = {}, []
    for place in np.flatnonzero(named & (scores.max(axis=1) > 0)).tolist():
        if prepared.kinds[place] != "number" or facts.flags[place]:
            continue
        own, values, codes, weights = scores[place], column_of(rows, place), prepared.codes, prepared.weights
        if prepared.features[place] in prepared.filled:
            values, codes, weights, present = observed(prepared, place)
            if len(present) < len(prepared.groups):
                continue
            own = measured_scores(values, codes, weights)
            if not differs_clearly(own):
                alike.append(place)
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


def reference(
    prepared: Prepared,
    projections: NDArray[np.float64],
    factors: dict[str, NDArray[np.float64]],
    offsets: dict[str, NDArray[np.float64]],
) -> ReferencePart:
    """Quantiles of the projected groups.

    Parameters
    ----------
    prepared : Prepared
        Rows and groups.
    projections : array of shape (n_components, n_rows)
        Rows on the directions.
    factors, offsets : dicts from group to arrays of shape (n_features,)
        How a row is scaled before it is compared with a group.
    """
    components = []
    for projection in projections:
        component = {}
        for code, name in enumerate(prepared.groups):
            members = prepared.codes == code
            inner = None if prepared.weights is None else prepared.weights[members]
            own = projection[members]
            mean = np.average(own, weights=inner)
            component[name] = GroupReference(
                quantiles=weighted_quantiles(own, inner),
                sd=float(np.sqrt(np.average((own - mean) ** 2, weights=inner))),
                rows=len(own),
            )
        components.append(component)
    return ReferencePart(REFERENCE_LEVELS, factors, offsets, components)


def weighted_quantiles(
    values: NDArray[np.float64], weights: NDArray[np.float64] | None
) -> NDArray[np.float64]:
    """Quantiles at `REFERENCE_LEVELS`; rows without weight do not count.

    Examples
    --------
    >>> plain = weighted_quantiles(np.array([0.0, 1.0, 9.0]), np.array([1.0, 1.0, 0.0]))
    >>> bool(plain.max() <= 1.0)
    True
    """
    if weights is None:
        return np.quantile(values, REFERENCE_LEVELS)
    values, weights = values[weights > 0], weights[weights > 0]
    if (weights == weights[0]).all():
        # As if there were no weights, to the last digit: a group's own rows are at no distance from it.
        return np.quantile(values, REFERENCE_LEVELS)
    return np.quantile(values, REFERENCE_LEVELS, weights=weights, method="inverted_cdf")


def separation(
    projection: NDArray[np.float64], prepared: Prepared, divergence: Divergence
) -> list[list[float]]:
    """Divergence between every two groups along a direction, (n_groups, n_groups)."""
    n_groups = len(prepared.groups)
    matrix = np.zeros((n_groups, n_groups))
    for g, h in combinations(range(n_groups), 2):
        inside = (prepared.codes == g) | (prepared.codes == h)
        weights = None if prepared.weights is None else prepared.weights[inside]
        own = projection[inside]
        # Some divergences have a direction; the reverse is the other entry.
        for first, second in ((g, h), (h, g)):
            labels = Labels((prepared.codes[inside] == second).astype(np.uint8), 2, weights=weights)
            matrix[first, second] = report(divergence, (own - own.mean())[None], labels)[0]
    return matrix.tolist()


def distributions(prepared: Prepared, leading: list[str]) -> dict[str, Distribution]:
    """Histograms of some features."""
    place = {name: position for position, name in enumerate(prepared.features)}
    if sp.issparse(prepared.rows):
        prepared = replace(prepared, rows=prepared.rows.tocsc())
    return {name: _histogram(prepared, place[name]) for name in leading}


def _histogram(prepared: Prepared, place: int) -> Distribution:
    """Shares of each group in common bins; a long tail is gathered in the outermost ones."""
    values, codes, weights, _ = observed(prepared, place)
    if len(values) == 0:
        return Distribution(np.array([-0.5, 0.5]), {name: np.zeros(1) for name in prepared.groups}, values)
    distinct = np.unique(values)
    few = np.empty(0)
    if len(distinct) <= _FEW_VALUES and len(distinct) > 1:
        # One bin per value: a change of a rare value must be seen.
        few = distinct
        middles = (distinct[1:] + distinct[:-1]) / 2
        edges = np.concatenate([[2 * distinct[0] - middles[0]], middles, [2 * distinct[-1] - middles[-1]]])
    else:
        low, high = np.quantile(values, [0.005, 0.995])
        if low == high:
            low, high = float(values.min()), float(values.max())
        if low == high:
            low, high = low - 0.5, high + 0.5
        edges = np.linspace(low, high, _BINS + 1)
        if np.mean(values == np.round(values)) > _WHOLE_NUMBERS and high - low >= 1:
            # Bins narrower than the steps between whole numbers would be empty, and look like gaps.
            step = np.ceil((high - low + 1) / _BINS)
            edges = np.arange(np.ceil(low) - 0.5, np.floor(high) + 0.5 + step, step)
    inside = np.clip(values, edges[0], edges[-1])
    shares = {}
    for code, name in enumerate(prepared.groups):
        members = codes == code
        inner = None if weights is None else weights[members]
        counts = np.histogram(inside[members], edges, weights=inner)[0].astype(np.float64)
        shares[name] = counts / max(counts.sum(), np.finfo(float).tiny)
    return Distribution(edges, shares, few)
