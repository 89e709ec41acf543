"""Columns that say when a row is from: every period differs from every other in them, which is no news."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

# Of the rows, how many have to agree: clocks of two zones disagree in a few hours of the last day.
_AGREE = 0.95
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
    parts = {
        "year": dates.year,
        "quarter": dates.quarter,
        "month": dates.month,
        "week": dates.isocalendar()["week"],
        "day of the year": dates.dayofyear,
        "day": dates.day,
    }
    if every in ("day", "hour"):
        parts |= {"weekday": dates.dayofweek, "weekday from Sunday": (dates.dayofweek + 1) % 7}
    if every == "hour":
        parts["hour"] = dates.hour
    known = [np.asarray(values, dtype=np.float64) for values in parts.values()]
    return [str(name) for name in frame if _is_part(frame[name], known)]


def _is_part(values: pd.Series, parts: Sequence[NDArray[np.float64]]) -> bool:
    if not len(values) or not pd.api.types.is_numeric_dtype(values):
        return False
    numbers = pd.to_numeric(values).to_numpy(dtype=np.float64, na_value=np.nan)
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
