"""Columns that determine the group of every row: often the groups under another name."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from princdiff.result.columns import ColumnFacts
from princdiff.result.feature_tables import observed
from princdiff.tables import Prepared

# Rows a value must have on average for a number to be one of codes.
_ROWS_OF_A_CODE = 5


def telling_columns(prepared: Prepared, facts: ColumnFacts) -> list[str]:
    """Names of the columns that determine the group of every row, in the order of the table.

    Parameters
    ----------
    prepared : Prepared
        Rows and groups.
    facts : ColumnFacts
        What is known of their features.

    Returns
    -------
    list of str
    """
    found, start = [], 0
    selected = facts.features["selected"].to_numpy(bool)
    for coding in facts.codings:
        members = range(start, start + len(coding.features))
        start = members.stop
        if coding.one_hot or (facts.flags[members.start] and not coding.indicator):
            shares = np.array([facts.means(feature) for feature in members]).T
            if len(members) == 1:
                shares = np.column_stack([1 - shares, shares])
            # Every level occurs in one group only.
            telling = bool(((shares > 0).sum(axis=0) <= 1).all())
        else:
            # A number that tells the groups apart differs, so others need not be looked at.
            telling = bool(selected[members.start]) and _number_tells(prepared, members.start)
            if telling and coding.indicator:
                # Gaps of two groups tell nothing of their rows.
                telling = sum(share > 0 for share in facts.means(members[-1])) <= 1
        if telling:
            found.append(coding.column)
    return found


def _number_tells(prepared: Prepared, place: int) -> bool:
    values, codes, _, present = observed(prepared, place)
    return len(present) == len(prepared.groups) and number_tells(values, codes)


def number_tells(values: NDArray[np.float64], codes: NDArray[np.uint8]) -> bool:
    """Whether a number determines the group: ranges that do not overlap, or codes of one group each.

    Examples
    --------
    >>> groups = np.repeat([0, 1, 0], 10).astype(np.uint8)
    >>> number_tells(np.repeat([1.0, 2.0, 3.0], 10), groups), number_tells(np.arange(30.0), groups)
    (True, False)
    """
    order = np.argsort(values, kind="stable")
    ordered, groups = values[order], codes[order]
    changes = groups[1:] != groups[:-1]
    if (ordered[1:] == ordered[:-1])[changes].any():
        return False
    ranges = int(changes.sum()) + 1 == len(np.unique(codes))
    return ranges or bool(len(values) >= _ROWS_OF_A_CODE * len(np.unique(ordered)))
