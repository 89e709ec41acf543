"""Words on pairs of columns that go together differently in the groups."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from princdiff.words.readable_figures import cut, from_to

if TYPE_CHECKING:
    import pandas as pd

    from princdiff.result import DifferenceResult

# Correlation, or change of one, that two ovals side by side show.
SEEN_CHANGE = 0.1


def pairs_sentence(result: DifferenceResult) -> list[str]:
    """Pairs that go together differently beside columns that differ; a column in most of them is named.

    With many rows a change of a correlation can be certain and too small to matter: then the table is enough.
    """
    seen = named_pairs(result)
    seen = seen[seen["change"] >= SEEN_CHANGE]
    if seen.empty:
        return []
    row = seen.iloc[0]
    hub, others = _hub(result)
    if others > 1 and hub in (row["first column"], row["second column"]):
        other = row["second"] if row["first column"] == hub else row["first"]
        return [
            f"{cut(hub, 40)} is also related differently to {others} other columns, "
            f"most clearly {cut(str(other), 40)} ({pair_change(result, row)})."
        ]
    more = len(named_pairs(result)) - 1
    others_too = "" if not more else ", as does one more pair" if more == 1 else f", as do {more} more pairs"
    return [f"The {_relation(result, row)} also changes{others_too}."]


def pairs_clause(result: DifferenceResult) -> str:
    """Pairs that go together differently where no column differs on its own, as the end of a sentence."""
    pairs = named_pairs(result)
    if pairs.empty:
        return ""
    row = pairs.iloc[0]
    pair = f"{cut(str(row['first']), 40)} and {cut(str(row['second']), 40)} ({pair_change(result, row)})"
    if len(pairs) == 1:
        return f" in how two columns go together: {pair}"
    return f" in how columns go together: {len(pairs)} pairs changed, most clearly {pair}"


def _relation(result: DifferenceResult, row: Mapping[Any, Any] | pd.Series) -> str:
    """The correlation of a pair, with what it is in the groups."""
    first, second = (cut(str(row[side]), 40) for side in ("first", "second"))
    return f"correlation of {first} and {second} ({_from_to(result, row)})"


def pair_change(result: DifferenceResult, row: Mapping[Any, Any] | pd.Series) -> str:
    """How a pair goes together in the groups."""
    return f"correlation {_from_to(result, row)}"


def _from_to(result: DifferenceResult, row: Mapping[Any, Any] | pd.Series) -> str:
    values = dependence(result, row)
    return from_to(values, correlations(values), list(result.groups), list(result.groups.values()))


def dependence(result: DifferenceResult, row: Mapping[Any, Any] | pd.Series) -> list[float]:
    """The correlation of a pair in each group."""
    return [float(row[f"dependence {group}"]) for group in result.groups]


def correlation_texts(result: DifferenceResult, row: Mapping[Any, Any] | pd.Series) -> list[str]:
    """The correlation of a pair in each group, as it is shown."""
    return correlations(dependence(result, row))


def named_pairs(result: DifferenceResult) -> pd.DataFrame:
    """Pairs that go together differently in the order in which they are mentioned: those of a hub first.

    Those that hardly go together in any group are not mentioned, unless there are no others.
    """
    pairs = selected_relations(result)
    if pairs.empty:
        return pairs
    sizes = pairs[[f"dependence {group}" for group in result.groups]].abs().max(axis=1)
    if (sizes >= SEEN_CHANGE).any():
        pairs = pairs[sizes >= SEEN_CHANGE]
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
