"""Dates and times as features a person would look at: year, month, weekday, hour, days since the first.

Off by default: dates of two batches always differ, and that is rarely news. A date written as text is only
read where it has one meaning: 3/4/2024 alone could be in March or in April.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

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
_DAY_AND_MONTH = re.compile(r"(\d{1,2})([-/.])(\d{1,2})\2(\d{4}|\d{2})\b")
# An offset stands behind a time of day, or it would be the end of a date.
_ZONE = re.compile(r"(?<=\d)\s*(Z|UTC|GMT|[+-]\d{2}:?\d{2}|(?<=:\d{2})[+-]\d{2})$")
_TIME = re.compile(r"\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?")

PARTS = ("year", "month", "weekday", "hour", "days")
"""What dates become; weekdays count from Monday, 0, and days from the first date in the table."""

"""Why dates are left out by default."""


def not_compared() -> str:
    """Why dates are left out where nobody asked for them."""
    return f"dates and times are not compared unless {option('dates', 'parts')}"


class DateError(ValueError):
    """Dates that cannot be read, with the reason for leaving the column out."""


class AmbiguousDateError(DateError):
    """Dates whose day and month cannot be told apart."""


def are_dates(levels: Sequence[str]) -> bool:
    """Whether all texts look like dates or times of day.

    Examples
    --------
    >>> are_dates(["2024-05-17", "2024-05-18 12:30"]), are_dates(["2024", "May"])
    (True, False)
    """
    return bool(levels) and all(_DATE.fullmatch(level.strip()) for level in levels)


def read_dates(parts: Sequence[Part]) -> tuple[NDArray[np.datetime64], str]:
    """The dates of a column in all tables.

    Parameters
    ----------
    parts : list of Part
        Dates, or text for which `are_dates` holds, in each table.

    Returns
    -------
    dates : array of shape (n_rows,), dtype datetime64[ns]
        Missing values NaT. Times of day are on the first of January 1970. Dates with a time
        zone keep their own clock, unless the zones differ: then all are in UTC.
    remark : str
        What was settled for all tables.

    Raises
    ------
    DateError
        If text cannot be read as dates, or has two readings.
    """
    pieces = [_series(part, _orders(parts, part)) for part in parts]
    zoned = [isinstance(piece.dtype, pd.DatetimeTZDtype) for piece in pieces if piece.notna().any()]
    zones = {str(piece.dt.tz) for piece in pieces if piece.notna().any()}
    remark = ""
    if any(zoned) and not all(zoned):
        remark = "time zones are given in one table only, so all times are taken as the clock showed them"
        pieces = [_on_the_clock(part, piece) for part, piece in zip(parts, pieces, strict=True)]
    elif len(zones) > 1:
        pieces = [piece.dt.tz_convert("UTC") for piece in pieces]
    return np.concatenate([piece.dt.tz_localize(None).to_numpy("datetime64[ns]") for piece in pieces]), remark


def _series(part: Part, day_first: Mapping[str, bool]) -> pd.Series:
    if part.kind == "empty":
        return pd.Series(np.full(part.size, np.datetime64("NaT", "ns")))
    if part.dates is None:
        assert part.codes is not None
        levels = _from_text([_year_first(level.strip(), day_first) for level in part.levels])
        # The last entry answers for code -1.
        return (
            pd.concat([levels, pd.Series([pd.NaT], dtype=levels.dtype)])
            .iloc[part.codes]
            .reset_index(drop=True)
        )
    return _from_objects(part.dates)


def _on_the_clock(part: Part, piece: pd.Series) -> pd.Series:
    """Dates without the zones in which they were written."""
    if part.dates is None and isinstance(piece.dtype, pd.DatetimeTZDtype):
        texts = [_ZONE.sub("", level) for level in part.levels]
        return _series(replace(part, levels=texts), _day_first(texts))
    return piece.dt.tz_localize(None)


def _from_objects(series: pd.Series) -> pd.Series:
    if isinstance(series.dtype, pd.PeriodDtype) or pd.api.types.infer_dtype(series) == "period":
        return pd.Series(pd.PeriodIndex(series).to_timestamp())
    try:
        if pd.api.types.infer_dtype(series, skipna=True) == "time":
            return _from_text([str(value) if pd.notna(value) else None for value in series])
        if isinstance(series.dtype, pd.ArrowDtype):
            series = series.astype(object)
        if series.dtype != object:
            return series
        dates = pd.to_datetime(series)
        return pd.to_datetime(series, utc=True) if dates.dtype == object else dates
    except (ValueError, TypeError, OverflowError) as error:
        raise DateError(f"dates that cannot be read: {str(error).splitlines()[0]}") from error


def _from_text(texts: Sequence[str | None]) -> pd.Series:
    """Texts as dates; those that have zones in the one zone of all of them, or in UTC."""
    values = pd.Series(texts, dtype=object)
    if all(text is None or _TIME.fullmatch(text) for text in texts):
        values = "1970-01-01 " + values
    zones = {found[1] if (found := _ZONE.search(text)) else "" for text in texts if text is not None}
    # Of texts some of which have no zone all are read as if they had none.
    if "" in zones:
        values = values.map(lambda text: _ZONE.sub("", text) if isinstance(text, str) else None)
    several = {"utc": True} if len(zones) > 1 and "" not in zones else {}
    for form in ("ISO8601", "mixed"):
        try:
            return pd.Series(pd.to_datetime(values, format=form, **several))
        except (ValueError, OverflowError) as error:
            reason = str(error).splitlines()[0]
    raise DateError(f"dates that cannot be read: {reason}")


def _year_first(text: str, day_first: Mapping[str, bool]) -> str:
    """A date of three numbers with the year before the month and the day, others as they are."""
    found = _DAY_AND_MONTH.match(text)
    if found is None:
        return text
    first, mark, second, year = found.groups()
    day, month = (first, second) if day_first[mark] else (second, first)
    if len(year) == 2:
        # As in C and SQL: 68 is to come and 69 was.
        year = f"{'20' if int(year) < 69 else '19'}{year}"
    return f"{year}-{int(month):02}-{int(day):02}{text[found.end() :]}"


def _orders(parts: Sequence[Part], part: Part) -> dict[str, bool]:
    """Whether the day stands before the month, by the mark between them: in this table, or else in all."""
    try:
        return _day_first(part.levels)
    except AmbiguousDateError:
        return _day_first([level for one in parts for level in one.levels])


def _day_first(levels: Sequence[str]) -> dict[str, bool]:
    """Whether the day stands before the month, by the mark between them, as far as the numbers tell."""
    largest: dict[str, tuple[int, int]] = {}
    for level in levels:
        if found := _DAY_AND_MONTH.match(level.strip()):
            first, second = largest.get(found[2], (0, 0))
            largest[found[2]] = max(first, int(found[1])), max(second, int(found[3]))
    for mark, (first, second) in largest.items():
        if first > 12 and second > 12:
            raise DateError("dates with the day sometimes before and sometimes behind the month")
        # Dots are used where the day comes first.
        if first <= 12 and second <= 12 and mark != ".":
            raise AmbiguousDateError(
                "dates that can be read as day/month or as month/day; write them as YYYY-MM-DD"
            )
    return {mark: second <= 12 for mark, (_, second) in largest.items()}


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
