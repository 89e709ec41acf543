"""Columns that say when a row is from: every period differs from every other in them, which is no news."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

# Of the rows, how many have to agree: summer time moves a few over midnight.
_AGREE = 0.95
# Hours by which the clock of a column may differ from that of the date; rows that are looked at.
_CLOCKS = (0, *range(-12, 0), *range(1, 15))
_LOOKED_AT = 5_000
# Of two periods a mark would look like a change.
_FEWEST_PERIODS = 3


def calendar_columns(frame: pd.DataFrame, dates: pd.DatetimeIndex, every: str) -> list[str]:
    """Columns that follow from the date: year, month and the like, and what is one value in each period.

    Parameters
    ----------
    frame : DataFrame of shape (n_rows, n_columns)
        Rows with a date.
    dates : DatetimeIndex of shape (n_rows,)
        Their dates.
    every : str
        Length of a period; the weekday is a part of the calendar where periods are days, and no news then.

    Returns
    -------
    list of str

    Examples
    --------
    >>> dates = pd.date_range("2024-01-01", periods=90)
    >>> frame = pd.DataFrame({"month": dates.month, "size": np.arange(90) % 7})
    >>> calendar_columns(frame, dates, "week")
    ['month']
    """
    numbers = [name for name in frame if pd.api.types.is_numeric_dtype(frame[name])]
    if not numbers or not len(dates):
        return []
    rows = np.unique(np.linspace(0, len(dates) - 1, _LOOKED_AT).astype(int))
    values = {
        str(name): frame[name].iloc[rows].to_numpy(dtype=np.float64, na_value=np.nan) for name in numbers
    }
    found: set[str] = set()
    for hours in _CLOCKS:
        parts = _parts(dates[rows] + pd.Timedelta(hours=hours), every)
        found |= {name for name, own in values.items() if name not in found and _is_part(own, parts)}
    return [name for name in values if name in found]


def _parts(dates: pd.DatetimeIndex, every: str) -> list[NDArray[np.float64]]:
    """What a calendar says of dates."""
    parts = [
        dates.year,
        dates.quarter,
        dates.month,
        dates.isocalendar()["week"],
        dates.dayofyear,
        dates.day,
    ]
    if every in ("day", "hour"):
        # Weeks begin on Monday or on Sunday.
        parts += [dates.dayofweek, (dates.dayofweek + 1) % 7]
    if every == "hour":
        parts.append(dates.hour)
    return [np.asarray(values, dtype=np.float64) for values in parts]


def _is_part(numbers: NDArray[np.float64], parts: Sequence[NDArray[np.float64]]) -> bool:
    known = numbers[np.isfinite(numbers)]
    # A constant is like the year of a table of one year, but says nothing of when, and is left out as such.
    if not len(known) or known.min() == known.max():
        return False
    # Days and months are counted from 1, or from 0.
    return any(max(np.mean(numbers == part), np.mean(numbers == part - 1)) >= _AGREE for part in parts)


def marks_of_periods(frame: pd.DataFrame, periods: NDArray) -> list[str]:
    """Columns that have one value in each period, and another in every other.

    Parameters
    ----------
    frame : DataFrame of shape (n_rows, n_columns)
        Rows.
    periods : array of shape (n_rows,)
        Their periods; with fewer than three of them a mark looks like a change.

    Returns
    -------
    list of str

    Examples
    --------
    >>> frame = pd.DataFrame({"file": list("aabbcc"), "size": range(6)})
    >>> marks_of_periods(frame, np.repeat([1, 2, 3], 2))
    ['file']
    """
    counts = pd.Series(periods).value_counts()
    if len(counts) < _FEWEST_PERIODS or counts.max() < 2:
        return []
    return [str(name) for name in frame if _marks(frame[name].reset_index(drop=True), periods, len(counts))]


def _marks(values: pd.Series, periods: NDArray, count: int) -> bool:
    try:
        codes = pd.factorize(values, use_na_sentinel=False)[0]
    except TypeError:
        # Lists and the like: they are no marks.
        return False
    if codes.max() + 1 != count:
        return False
    return len(set(zip(codes.tolist(), periods.tolist(), strict=True))) == count


def told_of(names: Sequence[str]) -> str:
    """What is said of columns left out."""
    listed = ", ".join(names)
    return f"Not compared, since they say which batch a row is in: {listed}."
