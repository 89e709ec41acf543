"""Dates and times: left out and named by default, compared by their parts when asked for."""

from __future__ import annotations

import datetime

import numpy as np
import pandas as pd
import pytest

from princdiff.tables import encode, prepare
from princdiff.tables.dates import PARTS, date_parts

DAYS = pd.Series(
    pd.to_datetime(["2023-12-30 08:15", "2024-01-01 09:00", "2024-02-29 23:59", "2025-07-04 00:00"])
)
SIZE = [1.5, 2.5, 0.5, 1.5]


def table_of(column, other=None, **options):
    options = {"dates": "parts", **options}
    X = pd.DataFrame({"size": np.resize(SIZE, len(column)), "when": column})
    Y = X if other is None else pd.DataFrame({"size": np.resize(SIZE, len(other)), "when": other})
    return prepare(X, Y, **options)


def parts_by_hand(dates) -> np.ndarray:
    """The standard library's answer."""
    first = min(dates)
    return np.array(
        [
            (d.year, d.month, d.weekday(), d.hour, (d - first) / datetime.timedelta(days=1))
            for d in (stamp.to_pydatetime() for stamp in dates)
        ],
        dtype=float,
    )


def test_parts_against_the_standard_library():
    table = table_of(DAYS)
    assert table.features == ("size", *(f"when ({part})" for part in PARTS))
    assert table.origin == ("size", *["when"] * 5) and set(table.kinds) == {"number"}
    assert table.feature_levels == ("", *PARTS)
    np.testing.assert_allclose(table.rows[:4, 1:], parts_by_hand(DAYS), rtol=1e-15)
    info = table.column_info["when"]
    assert info.type == "date" and info.parts == PARTS and info.features == (1, 2, 3, 4, 5)
    assert "Dates compared by their parts: 'when' (year, month, weekday, hour, days)." in table.notes


@pytest.mark.parametrize(
    ("column", "parts"),
    [
        (pd.date_range("2024-03-01", periods=10), ("weekday", "days")),
        (pd.date_range("2024-03-01", periods=10, freq="h"), ("hour",)),
        (pd.date_range("2020-06-01", periods=5, freq="YS-JUN"), ("year", "weekday", "days")),
        ([datetime.time(9, 30), datetime.time(17, 0), None, datetime.time(9, 45)], ("hour",)),
        (["09:30", "17:00", "8:15:30", "9:45"], ("hour",)),
        (pd.period_range("2024-01", periods=4, freq="M"), ("month", "weekday", "days")),
        ([datetime.date(2024, 5, 17), datetime.date(2024, 5, 18)] * 2, ("weekday", "days")),
    ],
)
def test_only_parts_that_vary(column, parts):
    assert table_of(column, missing="drop").column_info["when"].parts == parts


@pytest.mark.parametrize(
    "column",
    [
        ["2023-12-30 08:15", "2024-01-01 09:00", "2024-02-29 23:59", "2025-07-04"],
        ["2023-12-30T08:15:00Z", "2024-01-01T10:00:00+01:00", "2024-02-29T23:59Z", "2025-07-04T00:00Z"],
        ["30.12.2023 08:15", "1.1.2024 09:00", "29.2.2024 23:59", "4.7.2025 00:00"],
        ["30/12/2023 08:15", "1/1/2024 09:00", "29/2/2024 23:59", "4/7/2025 00:00"],
        ["12/30/2023 08:15", "1/1/2024 09:00", "2/29/2024 23:59", "7/4/2025 00:00"],
        ["30 Dec 2023 08:15", "1 Jan 2024 09:00", "29 Feb 2024 23:59", "4 Jul 2025 00:00"],
        DAYS.dt.tz_localize("Europe/Oslo"),
        DAYS.astype(object),
        DAYS.astype("category"),
        DAYS.astype("datetime64[s]"),
        DAYS.dt.tz_localize("UTC").astype("timestamp[us, tz=UTC][pyarrow]"),
    ],
    ids=lambda column: str(getattr(column, "dtype", column[0])),
)
def test_dates_however_they_are_written(column):
    np.testing.assert_allclose(table_of(column).rows[:4, 1:], parts_by_hand(DAYS), rtol=1e-12)


def test_text_here_and_dates_there():
    table = table_of(DAYS, DAYS.dt.strftime("%Y-%m-%d %H:%M"))
    np.testing.assert_array_equal(table.rows[:4], table.rows[4:])


def test_zones_that_differ_are_compared_in_utc():
    table = table_of(DAYS.dt.tz_localize("UTC"), DAYS.dt.tz_localize("UTC").dt.tz_convert("Asia/Tokyo"))
    np.testing.assert_array_equal(table.rows[:4], table.rows[4:])


@pytest.mark.parametrize(
    ("column", "reason"),
    [
        (["3/4/2024", "5/6/2024"] * 2, "day/month or as month/day; write them as YYYY-MM-DD"),
        (["13/4/2024", "5/16/2024"] * 2, "sometimes before and sometimes behind the month"),
        (["2024-02-30", "2024-02-28"] * 2, "cannot be read"),
    ],
)
def test_dates_with_no_single_reading_are_left_out(column, reason):
    with pytest.warns(UserWarning, match=reason):
        assert table_of(column).features == ("size",)
    with pytest.raises(ValueError, match=reason):
        table_of(column, features=["size", "when"])


def test_one_date_only_is_left_out():
    with pytest.warns(UserWarning, match="'when' \\(holds one date only\\)"):
        assert table_of(["2024-01-01"] * 4).features == ("size",)


def test_dates_are_left_out_and_named_by_default():
    with pytest.warns(UserWarning, match=r"'when' \(dates and times are not compared.*dates='parts'"):
        table = table_of(DAYS, dates="skip")
    assert table.features == ("size",)
    with pytest.raises(ValueError, match="dates must be one of 'skip', 'parts'"):
        table_of(DAYS, dates="all")


def test_missing_dates_are_filled_with_one_date():
    column = DAYS.copy()
    column[1] = pd.NaT
    table = table_of(column, DAYS, missing="impute")
    assert table.features[-1] == "when (missing)" and table.kinds[-1] == "missing"
    assert table.column_info["when"].missing == (1, 0)
    assert table.rows[1, -1] == 1 and table.rows[:, -1].sum() == 1
    # The median of the dates present, all its parts.
    np.testing.assert_array_equal(table.rows[1, 1:-1], table.rows[2, 1:-1])
    assert sorted(table.filled) == sorted(f"when ({part})" for part in PARTS)


def test_later_dates_count_from_the_first_of_the_fit():
    table = table_of(DAYS)
    later = pd.DataFrame({"size": [1.0], "when": ["2026-01-01 00:15"]})
    got = encode(later, table.codings).rows[0, 1:]
    np.testing.assert_allclose(
        got, [2026, 1, 3, 0, (pd.Timestamp("2026-01-01 00:15") - DAYS[0]).total_seconds() / 86400]
    )
    with pytest.raises(ValueError, match="'when' held dates, but now holds text"):
        encode(pd.DataFrame({"size": [1.0], "when": ["tomorrow"]}), table.codings)


def test_days_have_fractions_of_any_start():
    dates = np.array(["2024-05-17T18:00", "NaT"], dtype="datetime64[ns]")
    parts = date_parts(dates, ("days", "hour"), np.datetime64("2024-05-16T12:00"))
    np.testing.assert_array_equal(parts, [[1.25, 18], [np.nan, np.nan]])
