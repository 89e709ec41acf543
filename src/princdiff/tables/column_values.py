"""The values of one column of one table, whatever type holds them.

pandas has four ways to keep text, four to keep a whole number with gaps, and objects that can be anything.
Here each becomes numbers, codes of levels, or dates, so that the rest of the package sees three kinds of
columns.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api import types

from princdiff.tables.frames import BIG_NUMBERS, as_float, has_big_numbers
from princdiff.tables.spelling import visible

_CODE = re.compile(r"[+-]?0\d")
_LONG = re.compile(r"[+-]?\d{16,}")
# Characters up to which names of levels are kept whole, and kept of longer ones.
_LONGEST, _KEPT = 400, 80

Kind = Literal["number", "boolean", "text", "category", "date", "other", "empty"]


@dataclass(frozen=True, eq=False)
class Part:
    """One table's share of a column, read but not yet classified.

    Attributes
    ----------
    kind : str
        What the values are.
    size : int
        Number of rows.
    numbers : array of shape (size,) or None
        The values as numbers, missing ones NaN.
    codes : array of shape (size,) or None
        Positions in `levels`, missing values -1.
    levels : list of str
        The different values as text.
    ordered : bool
        Whether `levels` have an order: all declared ones then stay, used or not.
    dates : Series of shape (size,) or None
        Dates or times of day as they were found.
    whole : bool
        Whether the values are whole numbers by their type.
    remark : str
        What was done to read it, or why it cannot be used.
    """

    kind: Kind
    size: int
    numbers: NDArray | None = None
    codes: NDArray | None = None
    levels: Sequence[str] = ()
    ordered: bool = False
    dates: pd.Series | None = None
    whole: bool = False
    remark: str = ""

    def as_numbers(self) -> NDArray:
        """Numbers or booleans as floats, missing values NaN."""
        if self.numbers is not None:
            return self.numbers
        if self.codes is None:
            # float32, so that a column of float32 in the other table stays one.
            return np.full(self.size, np.nan, dtype=np.float32)
        return np.where(self.codes < 0, np.nan, self.codes)

    def as_codes(self) -> Part:
        """Whole numbers as the digits they are written with."""
        values, codes = np.unique(self.as_numbers(), return_inverse=True)
        gaps = np.isnan(values)
        levels = [level_name(value) for value in values[~gaps]]
        return replace(self, kind="text", numbers=None, codes=np.where(gaps[codes], -1, codes), levels=levels)

    def with_levels_named(self, names: Mapping[str, str]) -> Part:
        """Some levels under other names, those that get the same one joined."""
        if self.codes is None or not any(level in names for level in self.levels):
            return self
        renamed = [names.get(level, level) for level in self.levels]
        if self.ordered:
            # All declared levels stay, whether used or not; of two that are one there is no order.
            return replace(self, levels=renamed) if len(set(renamed)) == len(renamed) else self
        merged = _merged(self.codes, renamed, self.kind)
        return replace(self, codes=merged.codes, levels=merged.levels)

    def is_missing(self) -> NDArray[np.bool_]:
        """Whether each row has no value."""
        if self.dates is not None:
            return self.dates.isna().to_numpy()
        if self.codes is not None:
            return self.codes < 0
        if self.numbers is not None:
            return np.isnan(self.numbers)
        return np.full(self.size, self.kind == "empty")


def level_name(value: Any) -> str:
    """A category as text: a whole number has no decimal point, whatever its type; a book is cut short."""
    if isinstance(value, (float, np.floating)) and float(value).is_integer():
        return str(int(value))
    text = str(value)
    if len(text) <= _LONGEST:
        return text
    # What it begins with, and what tells it from others that begin alike.
    return f"{text[:_KEPT]}... ({len(text)} characters, {zlib.crc32(text.encode(errors='replace')):08x})"


def read_column(series: pd.Series) -> Part:
    """Read one column of one table.

    Parameters
    ----------
    series : Series of shape (n_rows,)
        Any pandas type.

    Returns
    -------
    Part

    Examples
    --------
    >>> read_column(pd.Series(["a", None, "b"])).codes
    array([ 0, -1,  1])
    >>> read_column(pd.Series(["1.5", "2"], dtype=object)).numbers
    array([1.5, 2. ])
    """
    dtype = series.dtype
    if isinstance(dtype, pd.SparseDtype):
        return read_column(series.sparse.to_dense())
    if isinstance(dtype, pd.CategoricalDtype):
        return _categories(series)
    if types.is_object_dtype(dtype):
        return _objects(series)
    if types.is_bool_dtype(dtype):
        return _booleans(series)
    if types.is_complex_dtype(dtype):
        return Part("other", len(series), remark="holds complex numbers")
    if types.is_numeric_dtype(dtype):
        return _numbers(series)
    if types.is_datetime64_any_dtype(dtype):
        return _dates(series)
    if types.is_timedelta64_dtype(dtype):
        return _durations(series)
    return _text(series) if types.is_string_dtype(dtype) else _objects(series.astype(object))


def _dates(series: pd.Series) -> Part:
    return Part("empty" if series.isna().all() else "date", len(series), dates=series)


def _durations(series: pd.Series) -> Part:
    """Lengths of time are numbers; in days, whatever unit they are kept in."""
    days = pd.to_timedelta(series) / pd.Timedelta(days=1)
    return replace(_numbers(days.astype(np.float64)), remark="durations, in days")


def _numbers(series: pd.Series) -> Part:
    whole = types.is_integer_dtype(series.dtype)
    if isinstance(series.dtype, np.dtype):
        raw = series.to_numpy()
        big = has_big_numbers(raw)
        values = as_float(raw)
    else:
        values = series.to_numpy(dtype=np.float64, na_value=np.nan)
        big = whole and bool((np.abs(values) > 2**53).any())
    if np.isnan(values).all():
        return Part("empty", len(series))
    return Part("number", len(series), numbers=values, whole=whole, remark=BIG_NUMBERS if big else "")


def _booleans(series: pd.Series) -> Part:
    missing = series.isna().to_numpy()
    if missing.all():
        return Part("empty", len(series))
    codes = series.astype("boolean").fillna(False).to_numpy(dtype=bool).astype(np.intp)
    codes[missing] = -1
    return Part("boolean", len(series), codes=codes, levels=("False", "True"))


def _categories(series: pd.Series) -> Part:
    categories = series.cat.categories
    if len(categories) and read_column(pd.Series(categories)).kind == "date":
        return _dates(series.astype(categories.dtype))
    names = [level_name(value) for value in categories]
    codes = series.cat.codes.to_numpy()
    if series.cat.ordered and all(map(visible, names)) and len(set(names)) == len(names):
        kind: Kind = "category" if (codes >= 0).any() else "empty"
        return Part(kind, len(codes), codes=codes.astype(np.intp), levels=names, ordered=True)
    return _merged(codes, names, "category")


def _merged(codes: NDArray, names: list[str], kind: Kind) -> Part:
    """Levels that occur and are not blank, each once; the others are missing values."""
    names = [name if len(name) <= _LONGEST else level_name(name) for name in names]
    used = np.bincount(codes[codes >= 0], minlength=len(names)) > 0
    if used.all() and all(map(visible, names)) and len(set(names)) == len(names) > 0:
        return Part(kind, len(codes), codes=codes.astype(np.intp, copy=False), levels=names)
    position: dict[str, int] = {}
    # The last entry answers for code -1.
    renumbered = np.full(len(names) + 1, -1, dtype=np.intp)
    for old in np.flatnonzero(used):
        if visible(names[old]):
            renumbered[old] = position.setdefault(names[old], len(position))
    if not position:
        return Part("empty", len(codes))
    return Part(kind, len(codes), codes=renumbered[codes], levels=list(position))


def _text(series: pd.Series) -> Part:
    codes, levels = pd.factorize(series)
    part = _merged(codes, np.asarray(levels, dtype=object).tolist(), "text")
    numbers = numbers_in(part.levels)
    if part.codes is None or np.isnan(numbers).any():
        return part
    if any(_LONG.fullmatch(level.strip()) for level in part.levels):
        # Digits that a float would round are a code: as numbers, different ones could become the same.
        return part
    whole = bool(np.isfinite(numbers).all() and np.all(numbers == np.floor(numbers)))
    values = np.append(numbers, np.nan)[part.codes]
    # Codes and levels stay: the other table may have words in this column.
    return replace(part, kind="number", numbers=values, whole=whole, remark="numbers written as text")


def numbers_in(levels: Sequence[str]) -> NDArray[np.float64]:
    """Levels as numbers, NaN where they are none, or where none seems to be."""
    # Names and remarks by the hundred thousand are not parsed only to find that they are none.
    if np.isnan(parsed(levels[:: max(1, len(levels) // 20)])).all():
        return np.full(len(levels), np.nan)
    return parsed(levels)


def is_code(level: str) -> bool:
    """Whether digits are a code, not a number: those with leading zeros are.

    Examples
    --------
    >>> is_code("007"), is_code("0.7"), is_code("70")
    (True, False, False)
    """
    return _CODE.match(level.strip()) is not None


def parsed(levels: Sequence[str]) -> NDArray[np.float64]:
    """Each level as a number, NaN where it is none."""
    numbers = np.array(pd.to_numeric(pd.Series(levels, dtype=object), errors="coerce"), dtype=np.float64)
    numbers[[is_code(level) for level in levels]] = np.nan
    # pandas knows what is a number, but misreads the last digit of one in three.
    found = np.flatnonzero(np.isfinite(numbers)).tolist()
    numbers[found] = [float(levels[place]) for place in found]
    return numbers


def _objects(series: pd.Series) -> Part:
    """Python objects: by what they are, not by the type of the array that holds them."""
    kind = types.infer_dtype(series, skipna=True)
    if kind == "empty":
        return Part("empty", len(series))
    if kind == "string":
        return _text(series)
    if kind == "boolean":
        return _booleans(series)
    if kind in ("integer", "floating", "mixed-integer-float", "decimal"):
        return _python_numbers(series, whole=kind == "integer")
    if kind in ("datetime", "datetime64", "date", "time", "period"):
        return _dates(series)
    if kind in ("timedelta", "timedelta64"):
        return _durations(series)
    return _mixed(series)


def _python_numbers(series: pd.Series, *, whole: bool) -> Part:
    values = np.full(len(series), np.nan)
    present = series.notna().to_numpy()
    try:
        values[present] = [float(value) for value in series[present]]
    except OverflowError:
        return Part("other", len(series), remark="holds numbers too large for floating point")
    big = whole and bool((np.abs(values[present]) > 2**53).any())
    remark = BIG_NUMBERS if big else "Python objects read as numbers"
    return replace(_numbers(pd.Series(values)), whole=whole, remark=remark)


def _mixed(series: pd.Series) -> Part:
    """Numbers and text in one column are taken as text; anything else cannot be used."""
    present = series.notna().to_numpy()
    values = [value for value, there in zip(series, present, strict=True) if there]
    found = " and ".join(sorted({type(value).__name__ for value in values})[:3])
    if not all(isinstance(value, (str, bool, int, float, np.number, np.bool_)) for value in values):
        return Part("other", len(series), remark=f"holds objects of type {found}")
    texts = np.full(len(series), None, dtype=object)
    texts[present] = [level_name(value) for value in values]
    part = _text(pd.Series(texts, dtype=object))
    return part if part.kind == "number" else replace(part, remark=f"{found} mixed, taken as categories")
