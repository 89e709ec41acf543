"""Words on pairs of columns that go together differently in the groups."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from princdiff.words.readable_figures import cut, from_to

if TYPE_CHECKING:
    import pandas as pd

    from princdiff.result import DifferenceResult

# Change of a correlation that two ovals side by side show.
SEEN_CHANGE = 0.1


def pairs_sentence(result: DifferenceResult, also: bool) -> list[str]:
    """Pairs that go together differently; where one column is in most of them, it is named as such.

    With many rows a change of a correlation can be certain and too small to matter: beside columns that
    differ on their own the table is enough for these.
    """
    pairs = named_pairs(result)
    seen = pairs[pairs["change"] >= SEEN_CHANGE] if also else pairs
    if seen.empty:
        return []
    opening = "Also, " if also else "No column differs on its own, but "
    row = seen.iloc[0]
    hub, others = _hub(result)
    if others > 1 and hub in (row["first column"], row["second column"]):
        other = row["second"] if row["first column"] == hub else row["first"]
        return [
            f"{opening}{cut(hub, 40)} is related differently to {others} other columns, "
            f"most clearly {cut(str(other), 40)} ({pair_change(result, row)})."
        ]
    first = f"{cut(str(row['first']), 40)} and {cut(str(row['second']), 40)} are related differently"
    more = ""
    if len(pairs) > 1:
        more = "; so is one more pair" if len(pairs) == 2 else f"; so are {len(pairs) - 1} more pairs"
    return [f"{opening}{first} ({pair_change(result, row)}){more}."]


def pair_change(result: DifferenceResult, row: Mapping[Any, Any] | pd.Series) -> str:
    """How a pair goes together in the groups."""
    values = dependence(result, row)
    rows = list(result.groups.values())
    return f"correlation {from_to(values, correlations(values), list(result.groups), rows)}"


def dependence(result: DifferenceResult, row: Mapping[Any, Any] | pd.Series) -> list[float]:
    """The correlation of a pair in each group."""
    return [float(row[f"dependence {group}"]) for group in result.groups]


def correlation_texts(result: DifferenceResult, row: Mapping[Any, Any] | pd.Series) -> list[str]:
    """The correlation of a pair in each group, as it is shown."""
    return correlations(dependence(result, row))


def named_pairs(result: DifferenceResult) -> pd.DataFrame:
    """Pairs that go together differently in the order in which they are mentioned: those of a hub first."""
    pairs = selected_relations(result)
    if pairs.empty:
        return pairs
    hub, _ = _hub(result)
    outside = (pairs["first column"] != hub) & (pairs["second column"] != hub)
    return pairs.iloc[np.argsort(outside.to_numpy(), kind="stable")]


def _hub(result: DifferenceResult) -> tuple[str, int]:
    """The column that explains most pairs, and with how many others it is related differently."""
    partners = result.explanation.partners
    hub = max(partners, key=lambda name: len(partners[name]), default="")
    return hub, len(partners.get(hub, ()))


def correlations(values: list[float]) -> list[str]:
    """Correlations with as many digits as tell them apart.

    Examples
    --------
    >>> correlations([0.8, -0.3]), correlations([0.9957, 0.9973])
    (['0.80', '-0.30'], ['0.996', '0.997'])
    """
    known = [value for value in values if not np.isnan(value)]
    for digits in (2, 3, 4):
        texts = [f"{value:.{digits}f}" for value in values]
        if not known or len({round(value, digits) for value in (min(known), max(known))}) > 1:
            break
    return [text.replace("-0.00", "0.00") if float(text) == 0 else text for text in texts]


def selected_relations(result: DifferenceResult) -> pd.DataFrame:
    """Pairs that go together differently, with control of the error."""
    return result.relations[result.relations["selected"].astype(bool)]
