"""What a column is: numbers, categories, dates, or something that cannot be compared.

A table from a person's disk has row numbers, names, dates and remarks among its measurements. Taken as
numbers they would be found to differ (ids always do), so they are recognised here, by few and stated rules,
and left out with a reason. A column that is only *nearly* numeric is a fault to report, not one to guess at.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from princdiff.options import option
from princdiff.tables.column_values import Part, is_code, level_name, numbers_in, parsed
from princdiff.tables.dates import DateError, are_dates, not_compared, read_dates, varying_parts
from princdiff.tables.frames import listed
from princdiff.tables.identifiers import (
    ROW_NAMES,
    distinct_pairs,
    is_numbering,
    names_code,
    names_identifier,
    recurring_units,
)
from princdiff.tables.levels import MAX_LEVELS, Levels
from princdiff.tables.precision import Precision, to_common_precision
from princdiff.tables.spelling import joined_in_words, seen_alike, spelled_alike, truth_values, zeros_restored
from princdiff.tables.units import names_individuals

_IDENTIFIER = "looks like an identifier: every value occurs once"
_UNITS = "names persons or other units"
_NESTED, _CROSSED = "all in one group", "some in several groups"
_MAYBE_CODES = (
    "compared as numbers, as post codes and the like hardly should be; as text or a category it is compared "
    "level by level"
)
# Of ten different values, eight numbers: then the other two are slips, not categories.
_DIRTY_LEVELS, _DIRTY_SHARE = 10, 0.8
# An entry that this many rows share, in a column of so few values, is a category and no slip.
_SHARED_ROWS, _SHARED_PART, _FEW_VALUES = 5, 0.05, 30
# Written in numbers, but not read as part of them: currencies, percent, separated thousands, a long minus,
# and the ways of bookkeepers to write a loss.
_COMMA = str.maketrans(",", ".")
_DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+")
_LOSS = re.compile(r"^(?:\(([\d.]+)\)|([\d.]+)-)$")
_SPACES = "\N{NO-BREAK SPACE}\N{NARROW NO-BREAK SPACE}\N{THIN SPACE}"
_SIGNS = str.maketrans(",\N{MINUS SIGN}", ".-", "%‰°$€£¥₹' " + _SPACES)
# Fewer rows than this can hold two different numbers by accident.
_TWO_VALUED_ROWS = 20
_DECLARED = ("category", "boolean", "empty")
_ROWS_PER_DECLARED_LEVEL, _ROWS_PER_LEVEL = 5, 20


@dataclass(frozen=True, eq=False)
class Column:
    """A column over all rows: numbers, categories or dates, or a reason why it is none of them.

    Attributes
    ----------
    name : str
        Column name.
    numbers : array of shape (n_rows,) or None
        Values of a numeric column, missing ones NaN.
    levels : Levels or None
        Levels of a column of categories.
    dates : array of shape (n_rows,) or None
        Dates, missing ones NaT.
    reason : str
        Why the column is left out; empty where it is used.
    missing : array or None
        Rows without a value, where the column is left out.
    fault : str
        What is wrong in the column and has to be corrected by the user.
    remark : str
        What was converted.
    precision : Precision or None
        To which numbers were rounded.
    """

    name: str
    numbers: NDArray | None = None
    levels: Levels | None = None
    dates: NDArray[np.datetime64] | None = None
    reason: str = ""
    missing: NDArray[np.intp] | None = None
    fault: str = ""
    remark: str = ""
    precision: Precision | None = None

    @property
    def usable(self) -> bool:
        """Whether the column can be compared."""
        return not (self.reason or self.fault)


@dataclass(frozen=True)
class Rules:
    """What the user said about columns.

    Attributes
    ----------
    asked : bool
        Whether columns were asked for by name: whole numbers are then never taken for an identifier, nor text
        of many levels for free text.
    dates : bool
        Whether dates are compared, by their parts.
    """

    asked: bool = False
    dates: bool = False


def classify(
    name: str,
    parts: Sequence[Part],
    labels: Sequence[str],
    groups: NDArray,
    where: Callable[[int], str],
    rules: Rules,
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
    rules : Rules
        What the user said about columns.

    Returns
    -------
    Column

    Examples
    --------
    >>> import pandas as pd
    >>> from princdiff.tables.column_values import read_column
    >>> parts = [read_column(pd.Series([3.5, 4.5])), read_column(pd.Series(["tall"]))]
    >>> classify("height", parts, ["a.csv", "b.csv"], np.array([0, 0, 1]), str, Rules()).fault
    "column 'height' holds numbers in a.csv but text in b.csv ('tall')"
    """
    column = _classify(name, parts, labels, groups, where, rules)
    if column.reason:
        missing = np.flatnonzero(np.concatenate([part.is_missing() for part in parts]))
        return replace(column, missing=missing)
    return column


def _classify(
    name: str,
    parts: Sequence[Part],
    labels: Sequence[str],
    groups: NDArray,
    where: Callable[[int], str],
    rules: Rules,
) -> Column:
    kinds = {part.kind for part in parts} - {"empty"}
    if not kinds:
        return Column(name, reason="has no values")
    if "date" in kinds:
        return _classify_dates(name, parts, rules)
    if "other" in kinds:
        return Column(name, reason=next(part.remark for part in parts if part.kind == "other"))
    if kinds <= {"number", "boolean"} and "number" in kinds:
        return _classify_numbers(name, parts, groups, rules.asked)
    if any(part.kind == "number" and part.codes is None for part in parts):
        if not _are_codes(parts):
            return Column(name, fault=_disagreement(name, parts, labels))
        # One table has the code 007 as text or the category 7, the other numbers.
        parts = [part.as_codes() if part.kind == "number" else part for part in parts]
    return _classify_levels(name, parts, groups, where, rules)


def _classify_dates(name: str, parts: Sequence[Part], rules: Rules) -> Column:
    if not rules.dates:
        return Column(name, reason=not_compared())
    if not all(part.kind in ("date", "empty") or are_dates(part.levels) for part in parts):
        return Column(name, reason="dates in one table, something else in the other")
    try:
        dates, remark = read_dates(parts)
    except DateError as error:
        return Column(name, reason=str(error))
    if not varying_parts(dates):
        return Column(name, reason="holds one date only")
    return Column(name, dates=dates, remark=remark)


def _are_codes(parts: Sequence[Part]) -> bool:
    """Whether numbers of one table are codes with leading zeros, or declared categories, in the other."""
    levels = [part for part in parts if part.kind not in ("number", "empty")]
    if all(part.kind == "category" and not np.isnan(parsed(part.levels)).any() for part in levels):
        return True
    texts = [level for part in parts if part.kind == "text" for level in part.levels]
    numbers = np.concatenate([part.as_numbers() for part in parts if part.kind == "number"])
    numbers = numbers[~np.isnan(numbers)]
    return (
        any(map(is_code, texts))
        and all(level.strip().isdigit() for level in texts)
        and bool(((numbers == np.floor(numbers)) & (numbers >= 0)).all())
    )


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


def _classify_numbers(name: str, parts: Sequence[Part], groups: NDArray, asked: bool) -> Column:
    numbers = np.concatenate([part.as_numbers() for part in parts])
    whole = all(part.whole for part in parts if part.kind == "number")
    # An identifier with gaps is kept as floats.
    whole = whole or (
        (names_identifier(name) or names_individuals(name))
        and bool((numbers == np.floor(numbers))[~np.isnan(numbers)].all())
    )
    if not asked and (name == ROW_NAMES or (whole and is_numbering(name, numbers, groups))):
        return Column(name, reason=_once(numbers))
    units = recurring_units(name, numbers, groups) if whole and not asked else ""
    if units:
        return Column(name, reason=_units_reason(name, units))
    numbers, grid, rounded = to_common_precision(numbers, groups)
    two = two_valued(numbers, grid)
    remark = "; ".join(filter(None, (_remark(parts), rounded)))
    if not two and whole and names_code(name) and not remark:
        remark = _MAYBE_CODES
    return Column(name, numbers=None if two else numbers, levels=two, remark=remark, precision=grid)


def _once(values: NDArray) -> str:
    """Why a column that numbers or names rows is left out; a value may recur in another group."""
    known = values[~np.isnan(values)] if values.dtype.kind == "f" else values
    return _IDENTIFIER if len(np.unique(known)) == len(known) else f"{_IDENTIFIER} in a group"


def is_about_rows(reason: str) -> bool:
    """Whether a column was left out because it names or dates rows."""
    return reason.startswith(_IDENTIFIER) or reason == not_compared()


def units_recur(name: str, reason: str) -> str:
    """How units recur that a column was left out for naming, in words; "" where it names none."""
    if reason == f"{_IDENTIFIER} in a group" and names_individuals(name):
        return _CROSSED
    if not reason.startswith(_UNITS):
        return ""
    return _CROSSED if _CROSSED in reason else _NESTED


def _units_reason(name: str, units: str) -> str:
    where = _NESTED if units == "nested" else _CROSSED
    return (
        f"{_UNITS} that have several rows each, {where}: if these rows belong "
        f"together, say so with {option('blocks', name)}"
    )


def two_valued(numbers: NDArray, precision: Precision | None = None) -> Levels | None:
    """A column that only ever holds 1 or 2 tells two kinds of rows apart; one of 0 and 1 does so already."""
    values = numbers[~np.isnan(numbers)]
    if len(values) < _TWO_VALUED_ROWS:
        return None
    low, high = values.min(), values.max()
    if low == high or (low, high) == (0, 1) or not np.isfinite([low, high]).all():
        return None
    if not ((values == low) | (values == high)).all():
        return None
    codes = np.where(np.isnan(numbers), -1, numbers == high).astype(np.intp)
    if precision is not None and precision.kind == "single":
        # As float32 the value .1 has the name 0.1.
        low, high = np.float32(low), np.float32(high)
    return Levels(codes, (level_name(low), level_name(high)))


def _classify_levels(
    name: str, parts: Sequence[Part], groups: NDArray, where: Callable[[int], str], rules: Rules
) -> Column:
    parts, joined = _joined_spellings(parts)
    levels, remark = _pooled_levels(parts)
    levels, padded = _with_zeros(levels, groups)
    declared = all(part.kind in _DECLARED for part in parts)
    if not declared:
        if are_dates(levels.names):
            return _classify_dates(name, parts, rules)
        fault = _nearly_numbers(name, levels, where)
        if fault:
            return Column(name, fault=fault)
    if len(levels.names) <= 2:
        levels = replace(levels, ordered=False)
    present = levels.codes >= 0
    count, rows = len(levels.names), int(present.sum())
    if not declared and count > 2 and distinct_pairs(levels.codes[present], groups[present]) >= 3:
        wordy = np.mean([len(level.split()) for level in levels.names]) > 3
        return Column(name, reason="free text" if wordy else _once(levels.codes[present]))
    numbers = np.where(present, levels.codes, np.nan)
    units = "" if rules.asked else recurring_units(name, numbers, groups)
    if units:
        return Column(name, reason=_units_reason(name, units))
    most = min(MAX_LEVELS, max(10, rows // 2))
    if rules.asked or levels.ordered:
        most = rows if declared else rows // 2
    else:
        # Whoever declares categories means them, unless they are as many as identifiers; text that
        # recurs ever again is no free text, and what is beyond `MAX_LEVELS` is pooled.
        most = max(most, rows // (_ROWS_PER_DECLARED_LEVEL if declared else _ROWS_PER_LEVEL))
    if count > most:
        units = recurring_units(name, numbers, groups, any_name=True)
        if units:
            return Column(name, reason=_units_reason(name, units))
        return Column(name, reason=f"free text or too many categories ({count} different values)")
    alike = spelled_alike(levels.names)
    if alike:
        remark = f"{alike[0]!r} and {alike[1]!r} differ in capitals only, and are two categories"
    remarks = (_remark(part for part in parts if part.kind != "number"), joined, padded, remark)
    return Column(name, levels=levels, remark="; ".join(filter(None, remarks)))


def _joined_spellings(parts: Sequence[Part]) -> tuple[Sequence[Part], str]:
    """Levels that look the same, or mean the same where the other table has booleans, under one name."""
    if any(part.kind == "boolean" for part in parts):
        words = truth_values([level for part in parts if part.kind == "text" for level in part.levels])
        renamed = {word: value for word, value in words.items() if word != value}
        if renamed:
            shown = listed(renamed)
            return [part.with_levels_named(renamed) for part in parts], f"{shown} taken for true and false"
    names = seen_alike(dict.fromkeys(level for part in parts for level in part.levels))
    if not names:
        return parts, ""
    return [part.with_levels_named(names) for part in parts], joined_in_words(names)


def _with_zeros(levels: Levels, groups: NDArray) -> tuple[Levels, str]:
    """Codes of which some groups lost the leading zeros."""
    if not any(map(is_code, levels.names)):
        return levels, ""
    present = np.zeros((len(levels.names), int(groups.max()) + 1), dtype=bool)
    there = levels.codes >= 0
    present[levels.codes[there], groups[there]] = True
    restored = zeros_restored(levels.names, present)
    if not restored:
        return levels, ""
    names = [restored.get(name, name) for name in levels.names]
    order = sorted(set(names))
    places = np.array([*(order.index(name) for name in names), -1])
    before, after = next(iter(restored.items()))
    return (
        replace(levels, codes=places[levels.codes], names=tuple(order)),
        f"codes without leading zeros in one group got them back, as {before!r} is {after!r} in another",
    )


def _pooled_levels(parts: Sequence[Part]) -> tuple[Levels, str]:
    """Levels of all tables together: declared categories keep their order, text is sorted."""
    names = list(dict.fromkeys(level for part in parts for level in part.levels))
    remark = ""
    order = None
    if not all(part.kind in _DECLARED for part in parts):
        names.sort()
    elif any(part.ordered for part in parts):
        order = _common_order([part for part in parts if part.codes is not None])
        names = names if order is None else order
        remark = "" if order else "the tables order the categories differently, so their order was not used"
    place = {level: position for position, level in enumerate(names)}
    pieces = []
    for part in parts:
        # The last entry answers for code -1, and for a table without any value.
        renumbered = np.array([*(place[level] for level in part.levels), -1], dtype=np.intp)
        codes = np.full(part.size, -1, dtype=np.intp) if part.codes is None else part.codes
        pieces.append(renumbered[codes])
    return Levels(np.concatenate(pieces), tuple(names), ordered=order is not None).compacted(), remark


def _common_order(parts: Sequence[Part]) -> list[str] | None:
    """The longest list of ordered levels, if all others follow its order."""
    longest = max((list(part.levels) for part in parts), key=len)
    place = {level: position for position, level in enumerate(longest)}
    for part in parts:
        positions = [place.get(level, -1) for level in part.levels]
        if not part.ordered or -1 in positions or positions != sorted(positions):
            return None
    return longest


def _nearly_numbers(name: str, column: Levels, where: Callable[[int], str]) -> str:
    """The fault of a column of numbers that was not read as numbers because of a few entries."""
    levels = column.names
    if any(map(is_code, levels)):
        return ""
    if len(levels) < _DIRTY_LEVELS:
        commas = [level for level in levels if _DECIMAL_COMMA.fullmatch(level.strip())]
        read = parsed([level.translate(_COMMA) for level in levels])
        few = len(commas) > 1 and len(levels) > 2 and bool(np.isfinite(read).all())
        return _unread(name, "a comma", commas[0]) if few else ""
    numbers = numbers_in(levels)
    odd = np.flatnonzero(np.isnan(numbers))
    if len(odd) and len(levels) <= _FEW_VALUES:
        most = np.bincount(column.codes[column.codes >= 0], minlength=len(levels))[odd].max()
        if most >= max(_SHARED_ROWS, _SHARED_PART * len(column.codes)):
            return ""
    if 0 < len(odd) <= (1 - _DIRTY_SHARE) * len(levels):
        first = int(np.flatnonzero(column.codes == odd[0])[0])
        entries = listed((levels[position] for position in odd), 3)
        return f"column {name!r} holds numbers but for {entries} (the first in {where(first)})"
    plain = [_LOSS.sub(r"-\1\2", level.translate(_SIGNS)) for level in levels]
    # Several separators of thousands: 1,234,567.
    plain = [text.replace(".", "", text.count(".") - 1) if text.count(".") > 1 else text for text in plain]
    for texts, what in (([text.translate(_COMMA) for text in levels], "a comma"), (plain, "signs or units")):
        if len(odd) and np.isfinite(numbers_in(texts)).mean() >= _DIRTY_SHARE:
            return _unread(name, what, levels[odd[0]])
    return ""


def _unread(name: str, what: str, example: str) -> str:
    return f"column {name!r} holds numbers with {what} ({example!r}), which were not read as numbers"
