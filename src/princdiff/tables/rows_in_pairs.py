"""Rows that are matched: the same persons, machines or days in every group, which calls for another test."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from princdiff.options import option
from princdiff.tables.frames import Table
from princdiff.tables.units import names_individuals

# Values that every group has once, at least so many and such a part of the rows of the largest group.
_FEWEST_MATCHED, _MATCHED_SHARE = 5, 0.9


def matched_rows(labels: pd.Series, codes: NDArray[np.uint8]) -> int:
    """How many values occur exactly once in every group, where nearly all do; else 0.

    Parameters
    ----------
    labels : Series of shape (n_rows,)
        What names the rows.
    codes : array of shape (n_rows,)
        Group of each row.

    Returns
    -------
    int

    Examples
    --------
    >>> persons = pd.Series(["Ada", "Bo", "Cy", "Di", "Ed"] * 2)
    >>> matched_rows(persons, np.repeat([0, 1], 5).astype(np.uint8))
    5
    """
    found, values = pd.factorize(labels)
    n_groups = int(codes.max()) + 1
    present = found >= 0
    places = found[present] * n_groups + codes[present]
    counts = np.bincount(places, minlength=len(values) * n_groups).reshape(-1, n_groups)
    matched = int((counts == 1).all(axis=1).sum())
    largest = int(np.bincount(codes).max())
    enough = matched >= max(_FEWEST_MATCHED, _MATCHED_SHARE * largest) and (counts <= 1).all()
    return matched if enough else 0


def note_matched(
    tables: Sequence[Table], names: Iterable[str], codes: NDArray[np.uint8], notes: list[str]
) -> None:
    """Say which column matches the rows of the groups, and how they are compared in pairs.

    Parameters
    ----------
    tables : list of Table
        One table, or two.
    names : list of str
        Columns that name rows: identifiers and dates.
    codes : array of shape (n_rows,)
        Group of each row.
    notes : list of str
        To which the note is added.
    """
    for name in names:
        labels = pd.concat([table.column(name) for table in tables], ignore_index=True)
        count = 0 if _is_count(name, labels, codes) else matched_rows(labels, codes)
        if count:
            notes.append(
                f"Column {name!r}: {count} values occur once in every group. If these are the same persons, "
                f"things or days, {option('blocks', name)} compares each with itself (the paired test)."
            )
            return


def _is_count(name: str, labels: pd.Series, codes: NDArray[np.uint8]) -> bool:
    """Whether a column counts the rows of every group from 0 or 1 on, which matches nothing."""
    if names_individuals(name) or not pd.api.types.is_numeric_dtype(labels):
        return False
    for code in range(int(codes.max()) + 1):
        own = labels[codes == code].to_numpy(dtype=float, na_value=np.nan)
        if not (own - own[0] == np.arange(len(own))).all() or own[0] not in (0.0, 1.0):
            return False
    return True
