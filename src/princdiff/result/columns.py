"""One line for each column of the user's table: does it differ, how, by how much, from what to what.

A category is one thing, with its levels below it; so is a number with the mark of its missing values. The
sentences here are what people quote, so they speak of means, proportions and levels, never of features.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from princdiff.findings import ChangePart, Reason, Why, in_full
from princdiff.result.clearest_change import Change
from princdiff.result.effects import level_effects, rows_that_count
from princdiff.result.shift_spread_shape import Kind
from princdiff.tables import Coding
from princdiff.words.readable_figures import clearest_groups, from_to, number, numbers, percentages

KINDS = {"location": "shift", "scale": "spread", "shape": "shape"}
_SHOWN_LEVELS = 3
# What moves is called a shift also where it spreads more than it moves: prices and counts do both.
_SHIFT_SHARE = 0.3
# A number whose smallest value is below this part of its mean may be a size, of which one tells per cent.
_SIZED = 0.8
# Logarithms by what they are called; of log(1 + count) the smallest value is zero like that of a size.
_LOGARITHM = re.compile(r"(?<![A-Za-z])(?:[Ll]og|LOG|[Ll]n|LN|[Ll]g|LG)(?:1p|2|10|e)?(?![a-z])")


@dataclass(frozen=True)
class ColumnFacts:
    """What is known about the features of a comparison before it is put together column by column.

    Attributes
    ----------
    features : DataFrame with one row per feature, in the order of the rows of numbers
        Columns feature, column, share, selected, pvalue, mean and sd of each group.
    codings : list of Coding
        How columns became features.
    flags : bool array of shape (n_features,)
        Features that hold nothing but two values.
    beyond : Kind
        Parts of each feature's difference that chance does not explain, in squared standard deviations.
    codes : array of shape (n_rows,)
        Group of each row.
    weights : array of shape (n_rows,) or None
        Row weights.
    groups : list of str
        Names of the groups.
    lowest : array of shape (n_features,)
        Smallest value of each feature.
    why : list of Why
        Why each feature is named.
    changes : dict of int to Change
        What is shown of a feature, where it is not its mean or standard deviation.
    alike_where_measured : frozenset of int
        Numbers that differ only in how often they are missing.
    """

    features: pd.DataFrame
    codings: Sequence[Coding]
    flags: NDArray[np.bool_]
    beyond: Kind
    codes: NDArray[np.uint8]
    weights: NDArray[np.float64] | None
    groups: Sequence[str]
    lowest: NDArray[np.float64]
    why: Sequence[Why]
    changes: Mapping[int, Change] = field(default_factory=dict)
    alike_where_measured: frozenset[int] = frozenset()

    def means(self, feature: int) -> list[float]:
        """Mean of a feature in each group; for a flag, its proportion."""
        return [float(self._arrays[f"mean {group}"][feature]) for group in self.groups]

    def deviations(self, feature: int) -> list[float]:
        """Standard deviation of a feature in each group."""
        return [float(self._arrays[f"sd {group}"][feature]) for group in self.groups]

    @cached_property
    def alone(self) -> NDArray[np.bool_]:
        """Features that differ on their own."""
        return np.array([why.reason is Reason.ALONE for why in self.why], dtype=bool)

    @cached_property
    def rows(self) -> list[float]:
        """Rows of each group that count."""
        return rows_that_count(self.codes, self.weights, len(self.groups)).tolist()

    def figures(self, feature: int, values: Sequence[float], share: bool = False) -> str:
        """Figures of the groups, from what to what; digits that tell them apart only where they differ."""
        differs = bool(self._selected[feature])
        texts = (percentages if share else numbers)(values, differs)
        return from_to(values, texts, self.groups, self.rows)

    @cached_property
    def _selected(self) -> NDArray[np.bool_]:
        return self.features["selected"].to_numpy(bool)

    @cached_property
    def _arrays(self) -> dict[str, NDArray[np.float64]]:
        return {
            f"{name} {group}": self.features[f"{name} {group}"].to_numpy(float)
            for name in ("mean", "sd")
            for group in self.groups
        }


def feature_kinds(facts: ColumnFacts) -> tuple[list[str], NDArray[np.float64]]:
    """Kind of each feature's difference, and its size in standard deviations.

    Returns
    -------
    kinds : list of str
        "proportion" for flags and levels, "missing" for marks of missing values, else "shift", "spread",
        "shape", "value" (the share of one value), or "-" where nothing is beyond chance.
    effects : array of shape (n_features,)
    """
    kinds, effects = [], np.sqrt(facts.beyond.total)
    declared = [kind for coding in facts.codings for kind in coding.kinds]
    for feature, change in facts.changes.items():
        if change.effect is not None:
            effects[feature] = change.effect
    for feature, flag in enumerate(facts.flags):
        parts = {name: float(part[feature]) for name, part in facts.beyond._asdict().items()}
        if feature in facts.changes:
            kinds.append(facts.changes[feature].kind)
        elif declared[feature] == "missing":
            kinds.append("missing")
        elif flag or declared[feature] in ("flag", "level"):
            kinds.append("proportion")
        elif sum(parts.values()) <= 0:
            kinds.append("-")
        elif parts["location"] >= _SHIFT_SHARE * sum(parts.values()):
            kinds.append("shift")
        else:
            kinds.append(KINDS[max(parts, key=lambda name: parts[name])])
    return kinds, effects


def column_table(facts: ColumnFacts) -> tuple[pd.DataFrame, dict[str, list[ChangePart]]]:
    """One row per column of the user's table, in the order of the table.

    Parameters
    ----------
    facts : ColumnFacts
        What is known.

    Returns
    -------
    DataFrame
        Columns column, type, selected, pvalue (adjusted), differs (alone or together), reason (in words),
        kind, effect (standard deviations), change (in words), share.
    changes : dict
        What changed in each column, part by part.
    """
    kinds, effects = feature_kinds(facts)
    # Arrays: a part of a data frame costs a millisecond, and there may be twenty thousand columns.
    all_selected = facts.features["selected"].to_numpy(bool)
    all_pvalues = facts.features["pvalue"].to_numpy(float)
    all_shares = facts.features["share"].to_numpy(float)
    changes: dict[str, list[ChangePart]] = {}
    records, start = [], 0
    for coding in facts.codings:
        members = range(start, start + len(coding.features))
        start = members.stop
        own = slice(members.start, members.stop)
        description = _described(coding, members, facts, kinds, effects)
        selected, pvalues, share = all_selected[own], all_pvalues[own], all_shares[own]
        named = [why for why, yes in zip(facts.why[own], selected, strict=True) if yes]
        # To differ on its own says more than to differ together with others.
        why = min(named, key=lambda why: why.reason is not Reason.ALONE, default=Why())
        together = why.reason is Reason.TOGETHER
        changes[coding.column] = [ChangePart(why.company)] if together else description.change
        records.append(
            {
                "column": coding.column,
                "type": description.type,
                "selected": bool(selected.any()),
                "pvalue": float(np.nanmin(pvalues)) if not np.isnan(pvalues).all() else math.nan,
                "differs": str(why.reason),
                "reason": str(why),
                "kind": "together" if together else description.kind,
                "effect": description.effect,
                "change": in_full(changes[coding.column]),
                "share": float(np.nansum(share)) if not np.isnan(share).all() else math.nan,
            }
        )
    return pd.DataFrame(records), changes


@dataclass(frozen=True)
class _Description:
    type: str
    kind: str
    effect: float
    change: list[ChangePart]


def _described(
    coding: Coding,
    members: range,
    facts: ColumnFacts,
    kinds: list[str],
    effects: NDArray[np.float64],
) -> _Description:
    if coding.one_hot:
        return _category(coding, members, facts)
    missing = members[-1] if coding.indicator else None
    values = [feature for feature in members if feature != missing]
    # Of a date's parts the one that moved most speaks for the column.
    value = max(values, key=lambda feature: effects[feature])
    part = coding.feature_levels[value - members.start]
    if facts.flags[value]:
        # Of zeros and ones, the ones.
        shares = facts.figures(value, facts.means(value), share=True)
        moved = ChangePart(shares if part else f"1: {shares}")
    elif value in facts.changes and facts.changes[value].measure:
        moved = ChangePart(_clearest(facts, value, coding))
    else:
        sized = coding.type != "ordered" and not _LOGARITHM.search(coding.column)
        moved = _moved(facts, value, kinds[value], sized)
    if part:
        moved = replace(moved, text=f"{part}: {moved.text}")
    found = _Description(coding.type, kinds[value], float(effects[value]), [moved])
    # Of a column that differs show only what does so clearly.
    clear = facts.features["selected"].to_numpy(bool)[members.start : members.stop]
    if missing is None or effects[missing] <= 0 or (clear.any() and not clear[-1]):
        return found
    gaps = _missing(facts, missing)
    described = any(
        clear[feature - members.start] for feature in values if feature not in facts.alike_where_measured
    )
    if clear[-1] and not described:
        return _Description(coding.type, "missing", float(effects[missing]), [gaps])
    if effects[missing] > found.effect:
        # What was measured may differ as well, which the gaps must not hide.
        both = [gaps, moved] if described and found.effect > 0 else [gaps]
        return _Description(coding.type, "missing", float(effects[missing]), both)
    return _Description(coding.type, found.kind, found.effect, [moved, gaps] if found.effect else [gaps])


def _category(coding: Coding, members: range, facts: ColumnFacts) -> _Description:
    """A category: the levels that changed most, from what to what."""
    names = list(coding.feature_levels)
    shares = np.array([facts.means(feature) for feature in members]).T
    if len(names) == 1:
        # Two levels have one feature, a constant has one level.
        rest = np.maximum(1 - shares, 0.0)
        whole = level_effects(np.column_stack([rest, shares]), facts.codes, facts.weights)[1]
        change = f"{unmistakable(names[0])}: {facts.figures(members[0], shares[:, 0].tolist(), share=True)}"
        return _Description(coding.type, "proportion", whole, [ChangePart(change)])
    single, whole = level_effects(shares, facts.codes, facts.weights)
    moved = np.array([level_clarity(level, facts.rows) for level in shares.T])
    # In points and not beside its chance error, by which the rarest level would be shown first.
    order = np.lexsort((-single, -moved))
    named = facts.alone[members.start : members.stop]
    # Levels that differ clearly; where none does, the one that moved most.
    shown = [level for level in order if named[level]][:_SHOWN_LEVELS] or [int(order[0])]
    texts = [facts.figures(members[level], shares[:, level].tolist(), share=True) for level in shown]
    parts = [
        ChangePart(f"{before_figure(unmistakable(names[level]))} {text}", apart=", ")
        for level, text in zip(shown, texts, strict=True)
    ]
    return _Description(coding.type, "proportion", whole, parts)


def _missing(facts: ColumnFacts, feature: int) -> ChangePart:
    return ChangePart(f"missing {facts.figures(feature, facts.means(feature), share=True)}")


def level_clarity(shares: NDArray[np.float64], rows: Sequence[float]) -> float:
    """How clearly the share of a level moved, in points beside the chance error of the two groups."""
    apart = clearest_groups(shares.tolist(), rows)
    return 0.0 if apart is None else apart.clarity


def _clearest(facts: ColumnFacts, feature: int, coding: Coding) -> str:
    """What changed most clearly in a number."""
    change = facts.changes[feature]
    if change.value is not None:
        ordered = coding.type == "ordered" and coding.levels is not None
        name = coding.levels[int(change.value)] if ordered and coding.levels else number(change.value)
        return f"{unmistakable(name)}: {facts.figures(feature, change.figures, share=True)}"
    return f"{change.measure} {facts.figures(feature, change.figures)}"


def _moved(facts: ColumnFacts, feature: int, kind: str, sized: bool) -> ChangePart:
    """A number: its means, in per cent too if it may be a size, or its deviations if the spread changed."""
    if kind == "spread":
        deviations = facts.deviations(feature)
        return ChangePart(f"sd {facts.figures(feature, deviations)}")
    means = facts.means(feature)
    text, percent = f"mean {facts.figures(feature, means)}", ""
    # Of a year, a temperature or a logarithm zero is no size, and a part of it means nothing.
    sized = sized and 0 <= facts.lowest[feature] <= _SIZED * min(means) and min(means) > 0
    if kind == "shift" and len(means) == 2 and sized:
        change = 100 * (means[1] / means[0] - 1)
        if 0.05 <= abs(change) < 1000:
            percent = f"{change:+.0f} %" if abs(change) >= 10 else f"{change:+.2g} %"
    return ChangePart(text, percent)


def unmistakable(level: str) -> str:
    """A level as it stands in a list: in quotes where it has signs that part the list.

    Examples
    --------
    >>> unmistakable("auto(l4)"), unmistakable("Retriever, Labrador")
    ('auto(l4)', '"Retriever, Labrador"')
    """
    return f'"{level}"' if any(sign in level for sign in (", ", "; ", ": ", '"')) else level


def before_figure(level: str) -> str:
    """A level as it stands before a figure: with a colon where it could be taken for one.

    Examples
    --------
    >>> before_figure("gold"), before_figure("5"), before_figure("<1"), before_figure("ward 7")
    ('gold', '5:', '<1:', 'ward 7:')
    """
    return f"{level}:" if not level[:1].isalpha() or level[-1:].isdigit() else level
