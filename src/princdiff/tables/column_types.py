"""What a column is: numbers, categories, or something that cannot be compared.

A table from a person's disk has row numbers, names, dates and remarks among its measurements. Taken as
numbers they would be found to differ (ids always do), so they are recognised here, by few and stated rules,
and left out with a reason. A column that is only *nearly* numeric is a fault to tell, not one to guess at.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from princdiff.tables.column_values import Part, numbers_in, parsed
from princdiff.tables.frames import listed

MAX_LEVELS = 64
"""Text with more levels is taken for free text, unless it is asked for by name."""

_DATE = re.compile(
    r"\d{4}([-/])\d{1,2}\1\d{1,2}([T ].*)?"
    r"|\d{1,2}([-/.])\d{1,2}\3\d{4}( .*)?"
    r"|\d{1,2}/\d{1,2}/\d{2}( .*)?"
    r"|\d{1,2}[- ][A-Za-z]{3,9}[- ,]+\d{2,4}.*"
    r"|[A-Za-z]{3,9} \d{1,2},? \d{4}.*"
    r"|\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?"
)
_IDENTIFIER = re.compile(
    r"(?i:index|row[ _.]?(names?|numbers?|ids?|nr)|(.*[^a-z])?(id|ids|uuid|guid)|.*[^a-z]key)|.*[a-z](Id|ID)"
)
_ROW_NAMES = "Unnamed: 0"
_DATES = "dates and times are not compared"
_ONCE = "looks like an identifier: every value occurs once"
# Of ten different values, eight numbers: then the other two are slips, not categories.
_DIRTY_LEVELS, _DIRTY_SHARE = 10, 0.8
_MANY_ROWS = 1000


@dataclass(frozen=True, eq=False)
class Column:
    """A column over all rows, judged: numbers, or categories, or a reason why it is neither.

    Attributes
    ----------
    name : str
        Column name.
    numbers : array of shape (n_rows,) or None
        Values of a numeric column, missing ones NaN.
    codes : array of shape (n_rows,) or None
        Positions in `levels` of a column of categories, missing values -1.
    levels : tuple of str
        The categories.
    reason : str
        Why the column is left out; empty where it is used.
    fault : str
        What is wrong in the column and must be mended by the user.
    remark : str
        What was converted.
    """

    name: str
    numbers: NDArray | None = None
    codes: NDArray | None = None
    levels: tuple[str, ...] = ()
    reason: str = ""
    fault: str = ""
    remark: str = ""

    @property
    def usable(self) -> bool:
        """Whether the column can be compared."""
        return not (self.reason or self.fault)


def names_identifier(name: str) -> bool:
    """Whether a column is called as identifiers and row names are.

    Examples
    --------
    >>> names_identifier("patient_id"), names_identifier("acid")
    (True, False)
    """
    return name == _ROW_NAMES or _IDENTIFIER.fullmatch(name) is not None


def judge(
    name: str,
    parts: Sequence[Part],
    labels: Sequence[str],
    groups: NDArray,
    where: Callable[[int], str],
    *,
    asked: bool = False,
) -> Column:
    """Decide what a column is, from its parts in all tables.

    Parameters
    ----------
    name : str
        Column name.
    parts : list of Part
        The column in each table.
    labels : list of str
        What the tables are called.
    groups : array of shape (n_rows,)
        Group of each row, tables one below the other. An identifier may repeat between groups, not within.
    where : callable
        Words for a row: ``where(3)`` is "row 3 of a.csv".
    asked : bool
        Whether the user asked for the column by name: whole numbers are then never taken for an identifier,
        nor text of many levels for free text.

    Returns
    -------
    Column

    Examples
    --------
    >>> import pandas as pd
    >>> from princdiff.tables.column_values import look
    >>> parts = [look(pd.Series([3.5, 4.5])), look(pd.Series(["tall"]))]
    >>> judge("height", parts, ["a.csv", "b.csv"], np.array([0, 0, 1]), str).fault
    "column 'height' holds numbers in a.csv but text in b.csv ('tall')"
    """
    kinds = {part.kind for part in parts} - {"empty"}
    if not kinds:
        return Column(name, reason="has no values")
    if "date" in kinds:
        return Column(name, reason=_DATES)
    if "other" in kinds:
        return Column(name, reason=next(part.remark for part in parts if part.kind == "other"))
    if kinds <= {"number", "boolean"} and "number" in kinds:
        return _judge_numbers(name, parts, groups, asked)
    if any(part.kind == "number" and part.codes is None for part in parts):
        return Column(name, fault=_disagreement(name, parts, labels))
    return _judge_levels(name, parts, groups, where, asked)


def _remark(parts: Iterable[Part]) -> str:
    return "; ".join(dict.fromkeys(part.remark for part in parts if part.remark))


def _disagreement(name: str, parts: Sequence[Part], labels: Sequence[str]) -> str:
    numeric = next(label for part, label in zip(parts, labels, strict=True) if part.numbers is not None)
    textual, label = next(
        (part, label) for part, label in zip(parts, labels, strict=True) if part.kind in ("text", "category")
    )
    words = "categories" if textual.kind == "category" else "text"
    strange = np.isnan(parsed(textual.levels))
    odd = [level for level, is_odd in zip(textual.levels, strange, strict=True) if is_odd] or textual.levels
    return f"column {name!r} holds numbers in {numeric} but {words} in {label} ({listed(odd, 3)})"


def _judge_numbers(name: str, parts: Sequence[Part], groups: NDArray, asked: bool) -> Column:
    numbers = np.concatenate([part.as_numbers() for part in parts])
    whole = all(part.whole for part in parts if part.kind == "number")
    # An identifier with gaps is kept as floats.
    whole = whole or (
        names_identifier(name) and bool((numbers == np.floor(numbers))[~np.isnan(numbers)].all())
    )
    if not asked and (name == _ROW_NAMES or (whole and _is_numbering(name, numbers, groups))):
        return Column(name, reason=_ONCE)
    return Column(name, numbers=numbers, remark=_remark(parts))


def _distinct_pairs(values: NDArray, groups: NDArray) -> int:
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


def _is_numbering(name: str, numbers: NDArray, groups: NDArray) -> bool:
    """Whole numbers that all differ, and not by accident.

    Measurements can all differ too: a hundred incomes in whole euros mostly do. So one more sign is wanted:
    the name, the order of the rows, so many rows that some should agree by chance, or values so dense that
    numbers drawn at random from their range would almost surely repeat (birthday problem: no repetition
    among p pairs has probability about exp(-p / range)).
    """
    present = np.isfinite(numbers)
    values, groups = numbers[present], groups[present]
    pairs = _distinct_pairs(values, groups)
    if not pairs:
        return False
    if names_identifier(name) or len(values) >= _MANY_ROWS:
        return True
    return pairs > 3 * (values.max() - values.min() + 1) or _increases(values, groups)


def _increases(values: NDArray, groups: NDArray) -> bool:
    order = np.argsort(groups, kind="stable")
    steps = np.diff(values[order])[np.diff(groups[order].astype(np.intp)) == 0]
    return len(steps) >= 10 and bool((steps > 0).all())


def _judge_levels(
    name: str, parts: Sequence[Part], groups: NDArray, where: Callable[[int], str], asked: bool
) -> Column:
    codes, levels = _pooled_levels(parts)
    declared = all(part.kind in ("category", "boolean", "empty") for part in parts)
    if not declared:
        if all(_DATE.fullmatch(level.strip()) for level in levels):
            return Column(name, reason=_DATES)
        fault = _dirt(name, codes, levels, where)
        if fault:
            return Column(name, fault=fault)
    present = codes >= 0
    if not declared and len(levels) > 2 and _distinct_pairs(codes[present], groups[present]) >= 3:
        wordy = np.mean([len(level.split()) for level in levels]) > 3
        return Column(name, reason="free text" if wordy else _ONCE)
    rows = int(present.sum())
    most = rows if asked and declared else rows // 2 if asked else min(MAX_LEVELS, max(10, rows // 2))
    if len(levels) > most:
        return Column(name, reason=f"free text or too many categories ({len(levels)} different values)")
    return Column(
        name, codes=codes, levels=levels, remark=_remark(part for part in parts if part.kind != "number")
    )


def _pooled_levels(parts: Sequence[Part]) -> tuple[NDArray, tuple[str, ...]]:
    """Levels of all tables together: declared categories keep their order, text is sorted."""
    names = list(dict.fromkeys(level for part in parts for level in part.levels))
    if not all(part.kind in ("category", "boolean", "empty") for part in parts):
        names.sort()
    place = {level: position for position, level in enumerate(names)}
    pieces = []
    for part in parts:
        # The last entry answers for code -1, and for a table without any value.
        renumbered = np.array([*(place[level] for level in part.levels), -1], dtype=np.intp)
        codes = np.full(part.size, -1, dtype=np.intp) if part.codes is None else part.codes
        pieces.append(renumbered[codes])
    return compact(np.concatenate(pieces), tuple(names))


def compact(codes: NDArray, levels: tuple[str, ...]) -> tuple[NDArray, tuple[str, ...]]:
    """Only the levels that occur."""
    used = np.bincount(codes[codes >= 0], minlength=len(levels)) > 0
    if used.all():
        return codes, levels
    renumbered = np.append(np.where(used, np.cumsum(used) - 1, -1), -1)
    return renumbered[codes], tuple(level for level, occurs in zip(levels, used, strict=True) if occurs)


def _dirt(name: str, codes: NDArray, levels: tuple[str, ...], where: Callable[[int], str]) -> str:
    """The fault of a column of numbers that was not read as numbers because of a few entries."""
    if len(levels) < _DIRTY_LEVELS:
        return ""
    numbers = numbers_in(levels)
    odd = np.flatnonzero(np.isnan(numbers))
    if 0 < len(odd) <= (1 - _DIRTY_SHARE) * len(levels):
        first = int(np.flatnonzero(codes == odd[0])[0])
        entries = listed((levels[position] for position in odd), 3)
        return f"column {name!r} holds numbers but for {entries} (the first in {where(first)})"
    pointed = numbers_in([level.replace(",", ".") for level in levels])
    if len(odd) and np.isfinite(pointed).mean() >= _DIRTY_SHARE:
        comma = next(level for level in levels if "," in level)
        return f"column {name!r} holds numbers with a comma ({comma!r}), which were not read as numbers"
    return ""
