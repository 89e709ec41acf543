"""Columns that number or name the rows, such as patient_id: they always differ and measure nothing. Codes."""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from princdiff.tables.units import names_individuals

_IDENTIFIER = re.compile(
    r"(?i:index|row[ _.]?(names?|numbers?|ids?|nr)|(.*[^a-z])?(id|ids|uuid|guid)|.*[^a-z]key)|.*[a-z](Id|ID)"
)
_CODE = re.compile(r"(?i:(.*[^a-z])?(zip|plz|fips|zipcode|postcode|code))|.*[a-z]Code")
ROW_NAMES = "Unnamed: 0"
# So many whole numbers that all differ are no measurements: some would agree by chance.
_MANY_ROWS = 1000
# Part of the range below or above the median.
_LONG_TAIL = 0.1
_ROWS_PER_UNIT, _FEWEST_UNITS, _FEWEST_INDIVIDUALS = 1.5, 10, 3
# Rows of a value up to which an identifier of nobody in particular names units that have several groups.
_MOST_ROWS_PER_UNIT = 10


def names_identifier(name: str) -> bool:
    """Whether a column is called as identifiers and row names are.

    Examples
    --------
    >>> names_identifier("patient_id"), names_identifier("acid")
    (True, False)
    """
    return name == ROW_NAMES or _IDENTIFIER.fullmatch(name) is not None


def names_code(name: str) -> bool:
    """Whether a column is called as post codes and other numbers are of which no mean can be taken.

    Examples
    --------
    >>> names_code("Postal Code"), names_code("zip"), names_code("barcode reader"), names_code("unzip")
    (True, True, False, False)
    """
    return _CODE.fullmatch(name) is not None


def distinct_pairs(values: NDArray, groups: NDArray) -> int:
    """How many pairs of rows could have agreed and do not; none where some rows do agree.

    Pairs within groups count, and pairs between groups too if there as well all values differ.
    """
    head = values[groups == groups[0]][:1000] if len(values) else values
    if len(values) < 3 or len(np.unique(head)) < len(head):
        return 0
    if len(np.unique(values)) == len(values):
        return len(values) * (len(values) - 1) // 2
    order = np.lexsort((values, groups))
    repeated = (np.diff(values[order]) == 0) & (np.diff(groups[order].astype(np.intp)) == 0)
    sizes = np.bincount(groups).astype(object)
    return 0 if repeated.any() else int((sizes * (sizes - 1) // 2).sum())


def is_numbering(name: str, numbers: NDArray, groups: NDArray) -> bool:
    """Whole numbers that all differ, and not by accident.

    Measurements can all differ too: a hundred incomes in whole euros usually do. So one more sign is wanted:
    the name, the order of the rows, so many rows that some should agree by chance, or values so dense that
    numbers drawn at random from their range would almost surely repeat (birthday problem: no repetition
    among p pairs has probability about exp(-p / range)).
    """
    present = np.isfinite(numbers)
    values, groups = numbers[present], groups[present]
    pairs = distinct_pairs(values, groups)
    if not pairs:
        return False
    if names_identifier(name) or (len(values) >= _MANY_ROWS and _fill_their_range(values)):
        return True
    return pairs > 3 * (values.max() - values.min() + 1) or _increases(values, groups)


def _fill_their_range(values: NDArray) -> bool:
    """Whether numbers have no long tail, as the populations of countries do, which all differ."""
    low, middle, high = np.quantile(values, (0.0, 0.5, 1.0))
    return _LONG_TAIL < (middle - low) / (high - low) < 1 - _LONG_TAIL


def recurring_units(name: str, numbers: NDArray, groups: NDArray, any_name: bool = False) -> str:
    """Whether a column, called as identifiers or individuals are, names units that have several rows.

    Parameters
    ----------
    name : str
        Of the column.
    numbers : array of shape (n_rows,)
        Values, or numbers of levels; NaN where missing.
    groups : array of shape (n_rows,)
        Group of each row.
    any_name : bool, default=False
        Whether a column of another name does so too, where each of its values lies in one group.

    Returns
    -------
    {"", "nested", "crossed"}
        Not at all, each value in one group only, or some in several groups.

    Examples
    --------
    >>> persons = np.arange(20).repeat(3)
    >>> recurring_units("id", persons.astype(float), persons // 10)
    'nested'
    >>> recurring_units("patient", persons.astype(float), np.arange(60) % 2)
    'crossed'
    """
    individuals = names_individuals(name)
    named_so = individuals or names_identifier(name)
    if not (named_so or any_name):
        return ""
    present = ~np.isnan(numbers)
    values, inverse, counts = np.unique(numbers[present], return_inverse=True, return_counts=True)
    own = groups[present].astype(np.intp)
    rows_per_unit = len(own) / max(1, len(values))
    if len(values) == 0 or (rows_per_unit < _ROWS_PER_UNIT and not individuals) or counts.max() < 2:
        return ""
    lowest, highest = np.full(len(values), own.max()), np.zeros(len(values), dtype=np.intp)
    np.minimum.at(lowest, inverse, own)
    np.maximum.at(highest, inverse, own)
    # Few codes in each group are categories that changed, such as products that were given new keys; but of
    # donors and animals there are few.
    fewest = _FEWEST_INDIVIDUALS if individuals else _FEWEST_UNITS
    if (lowest == highest).all():
        # In as many groups as are compared at least; a third may have few.
        return "nested" if np.sort(np.bincount(lowest))[-2] >= fewest else ""
    if not named_so:
        return ""
    # Few values that recur in several groups are kinds of customers, or the products of a shop.
    named = individuals and re.search("(?i)(id|ident|key|nr|number)$", name) is not None
    enough = len(values) >= (_FEWEST_INDIVIDUALS if named else _FEWEST_UNITS)
    return "crossed" if enough and (individuals or rows_per_unit <= _MOST_ROWS_PER_UNIT) else ""


def _increases(values: NDArray, groups: NDArray) -> bool:
    order = np.argsort(groups, kind="stable")
    steps = np.diff(values[order])[np.diff(groups[order].astype(np.intp)) == 0]
    return len(steps) >= 10 and bool((steps > 0).all())
