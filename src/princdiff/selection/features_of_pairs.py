"""Which features to name for pairs that go together differently.

Both features of a pair, if they have many values. What happens to a flag, a count or a level of a category,
however, shows in its correlation with everything that goes with it: if one in eight customers loses the mark
"no internet", the mark goes less with six other columns that say the same, and these have not changed. There
a feature is enough that explains the pairs: one that differs on its own, or one that many of the pairs share.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class FeatureFacts:
    """What is known about every feature, arrays of shape (n_features,).

    Attributes
    ----------
    unit : int array
        Column of the user's table.
    few_values : bool array
        Whether many rows share a value.
    may_differ : bool array
        Whether its own distribution may differ.
    named : bool array
        Whether it is named already.
    """

    unit: NDArray[np.intp]
    few_values: NDArray[np.bool_]
    may_differ: NDArray[np.bool_]
    named: NDArray[np.bool_]


def features_that_explain(pairs: NDArray[np.intp], facts: FeatureFacts) -> dict[int, list[int]]:
    """Features to name, and the partners they are named for.

    Parameters
    ----------
    pairs : int array of shape (n_pairs, 2)
        Pairs that go together differently, the clearest first.
    facts : FeatureFacts
        About all features.

    Returns
    -------
    dict of int to list of int
        Features, the clearest first, that are not named yet; partners in the same order.

    Examples
    --------
    >>> few = np.array([True, True, True, False, False])
    >>> facts = FeatureFacts(np.arange(5), few, np.zeros(5, dtype=bool), np.zeros(5, dtype=bool))
    >>> features_that_explain(np.array([[0, 1], [1, 2], [3, 4]]), facts)
    {3: [4], 4: [3], 1: [0, 2]}
    """
    found: dict[int, list[int]] = {}
    few = facts.few_values[pairs].any(axis=1)
    for first, second in pairs[~few].tolist():
        _note(found, first, second)
        _note(found, second, first)
    left = pairs[few].tolist()
    doubtful = facts.few_values & facts.may_differ
    for first, second in left:
        if doubtful[first]:
            _note(found, first, second)
        if doubtful[second]:
            _note(found, second, first)
    explaining = set(facts.unit[facts.named].tolist()) | {int(facts.unit[feature]) for feature in found}
    left = _unexplained(left, facts.unit, explaining)
    while left:
        hub, partners = _hub(left, facts.unit)
        for pair in left:
            units = [int(facts.unit[feature]) for feature in pair]
            if hub not in units:
                continue
            own, other = pair if units[0] == hub else pair[::-1]
            _note(found, own, other)
            if len(partners) == 1:
                # One pair of columns, and nothing that tells which of the two it is.
                _note(found, other, own)
        explaining |= {hub}
        left = _unexplained(left, facts.unit, explaining)
    return {feature: partners for feature, partners in found.items() if not facts.named[feature]}


def _note(found: dict[int, list[int]], feature: int, partner: int) -> None:
    partners = found.setdefault(feature, [])
    if partner not in partners:
        partners.append(partner)


def _unexplained(pairs: list[list[int]], unit: NDArray[np.intp], explaining: set[int]) -> list[list[int]]:
    return [pair for pair in pairs if not explaining & {int(unit[feature]) for feature in pair}]


def _hub(pairs: list[list[int]], unit: NDArray[np.intp]) -> tuple[int, set[int]]:
    """The column that goes differently with most others, and these; the clearest of several."""
    partners: dict[int, set[int]] = {}
    for pair in pairs:
        first, second = (int(unit[feature]) for feature in pair)
        partners.setdefault(first, set()).add(second)
        partners.setdefault(second, set()).add(first)
    hub = max(partners, key=lambda column: len(partners[column]))
    return hub, partners[hub]
