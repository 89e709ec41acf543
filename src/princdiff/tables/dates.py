"""Dates and times as features a person would look at: year, month, weekday, hour, days since the first.

Off by default: dates of two batches always differ, and that is rarely news. A date written as text is only
read where it has one meaning: 3/4/2024 alone could be in March or in April.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from princdiff.options import option
from princdiff.tables.column_values import Part

_DATE = re.compile(
    r"\d{4}([-/])\d{1,2}\1\d{1,2}([T ].*)?"
    r"|\d{1,2}([-/.])\d{1,2}\3\d{4}( .*)?"
    r"|\d{1,2}/\d{1,2}/\d{2}( .*)?"
    r"|\d{1,2}[- ][A-Za-z]{3,9}[- ,]+\d{2,4}.*"
    r"|[A-Za-z]{3,9} \d{1,2},? \d{4}.*"
    r"|\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?"
)
_DAY_AND_MONTH = re.compile(r"(\d{1,2})([-/.])(\d{1,2})\2\d{2,4}\b")
_TIME = re.compile(r"\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?")

PARTS = ("year", "month", "weekday", "hour", "days")
"""What dates become; weekdays count from Monday, 0, and days from the first date in the table."""

"""Why dates are left out by default."""


def not_compared() -> str:
    """Why dates are left out where nobody asked for them."""
    return f"dates and times are not compared unless {option('dates', 'parts')}"


class DateError(ValueError):
    """Dates that cannot be read, with the reason for leaving the column out."""


def are_dates(levels: Sequence[str]) -> bool:
    """Whether all texts look like dates or times of day.

    Examples
    --------
    >>> are_dates(["2024-05-17", "2024-05-18 12:30"]), are_dates(["2024", "May"])
    (True, False)
    """
    return all(_DATE.fullmatch(level.strip()) for level in levels)


def read_dates(parts: Sequence[Part]) -> NDArray[np.datetime64]:
    """The dates of a column in all tables.

    Parameters
    ----------
    parts : list of Part
        Dates, or text for which `are_dates` holds, in each table.

    Returns
    -------
    array of shape (n_rows,), dtype datetime64[ns]
        Missing values NaT. Times of day are on the first of January 1970. Dates with a time
        zone keep their own clock, unless the zones differ: then all are in UTC.

    Raises
    ------
    DateError
        If text cannot be read as dates, or has two readings.
    """
    day_first = _day_first([level for part in parts for level in part.levels])
    pieces = [_series(part, day_first) for part in parts]
    zones = {str(piece.dt.tz) for piece in pieces if piece.notna().any()}
    if len(zones) > 1:
        pieces = [piece if piece.dt.tz is None else piece.dt.tz_convert("UTC") for piece in pieces]
    return np.concatenate([piece.dt.tz_localize(None).to_numpy("datetime64[ns]") for piece in pieces])


def _series(part: Part, day_first: bool) -> pd.Series:
    if part.kind == "empty":
        return pd.Series(np.full(part.size, np.datetime64("NaT", "ns")))
    if part.dates is None:
        assert part.codes is not None
        levels = pd.concat(
            [_from_text([level.strip() for level in part.levels], day_first), pd.Series([pd.NaT])],
            ignore_index=True,
        )
        return levels.iloc[part.codes].reset_index(drop=True)
    return _from_objects(part.dates)


def _from_objects(series: pd.Series) -> pd.Series:
    if isinstance(series.dtype, pd.PeriodDtype) or pd.api.types.infer_dtype(series) == "period":
        return pd.Series(pd.PeriodIndex(series).to_timestamp())
    try:
        if pd.api.types.infer_dtype(series, skipna=True) == "time":
            return _from_text([str(value) if pd.notna(value) else None for value in series], False)
        if isinstance(series.dtype, pd.ArrowDtype):
            series = series.astype(object)
        if series.dtype != object:
            return series
        dates = pd.to_datetime(series)
        return pd.to_datetime(series, utc=True) if dates.dtype == object else dates
    except (ValueError, TypeError, OverflowError) as error:
        raise DateError(f"dates that cannot be read: {str(error).splitlines()[0]}") from error


def _from_text(texts: Sequence[str | None], day_first: bool) -> pd.Series:
    values = pd.Series(texts, dtype=object)
    if all(text is None or _TIME.fullmatch(text) for text in texts):
        values = "1970-01-01 " + values
    for options in ({"format": "ISO8601"}, {"format": "mixed", "dayfirst": day_first}):
        try:
            return pd.Series(pd.to_datetime(values, utc=True, **options)).dt.tz_localize(None)
        except (ValueError, OverflowError) as error:
            reason = str(error).splitlines()[0]
    raise DateError(f"dates that cannot be read: {reason}")


def _day_first(levels: Sequence[str]) -> bool:
    """Whether the day stands before the month, by what the numbers allow."""
    first, second = 0, 0
    slashed = False
    for level in levels:
        found = _DAY_AND_MONTH.match(level.strip())
        if found is None:
            continue
        if found[2] == ".":
            # Dots are used where the day comes first.
            return True
        slashed = True
        first, second = max(first, int(found[1])), max(second, int(found[3]))
    if first > 12 and second > 12:
        raise DateError("dates with the day sometimes before and sometimes behind the month")
    if slashed and first <= 12 and second <= 12:
        raise DateError("dates that can be read as day/month or as month/day; write them as YYYY-MM-DD")
    return first > 12


def varying_parts(values: NDArray[np.datetime64]) -> tuple[str, ...]:
    """Parts of the dates that differ between rows.

    Parameters
    ----------
    values : array of shape (n_rows,), dtype datetime64[ns]
        Dates; NaT is skipped.

    Returns
    -------
    tuple of str
        Some of `PARTS`; none if all dates agree.

    Examples
    --------
    >>> varying_parts(np.array(["2024-01-01T10", "2024-01-31T10"], dtype="datetime64[ns]"))
    ('weekday', 'days')
    """
    present = values[~np.isnat(values)]
    if not len(present):
        return ()
    matrix = date_parts(present, PARTS, present.min())
    # On one day the days since the first are hours in other units.
    matrix[:, -1] = np.floor(matrix[:, -1])
    return tuple(part for part, column in zip(PARTS, matrix.T, strict=True) if (column != column[0]).any())


def date_parts(
    values: NDArray[np.datetime64], parts: Sequence[str], start: np.datetime64
) -> NDArray[np.float64]:
    """Dates as numbers.

    Parameters
    ----------
    values : array of shape (n_rows,), dtype datetime64[ns]
        Dates; NaT gives NaN.
    parts : list of str
        Which parts.
    start : datetime64
        Where days count from.

    Returns
    -------
    array of shape (n_rows, n_parts)

    Examples
    --------
    >>> dates = np.array(["2024-05-17T18:00"], dtype="datetime64[ns]")
    >>> date_parts(dates, PARTS, np.datetime64("2024-05-15"))
    array([[2024. ,    5. ,    4. ,   18. ,    2.75]])
    """
    index = pd.DatetimeIndex(values)
    matrix = np.empty((len(index), len(parts)))
    for place, part in enumerate(parts):
        if part == "days":
            matrix[:, place] = (index - pd.Timestamp(start)) / pd.Timedelta(days=1)
        else:
            matrix[:, place] = index.day_of_week if part == "weekday" else getattr(index, part)
    return matrix
