"""Columns that say when a row is from are left out, and others are not."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from princdiff.batches.calendar_columns import calendar_columns, marks_of_periods

DATES = pd.date_range("2024-01-01", periods=24 * 100, freq="h")


@pytest.mark.parametrize("part", ["year", "quarter", "month", "day", "dayofyear"])
@pytest.mark.parametrize("first", [0, 1])
def test_parts_of_the_date(part, first):
    dates = pd.date_range("2023-12-01", periods=100)
    frame = pd.DataFrame({"part": getattr(dates, part) - 1 + first, "size": np.arange(100) % 9})
    assert calendar_columns(frame, dates, "month") == ["part"]


@pytest.mark.parametrize(
    ("every", "left_out"), [("month", []), ("day", ["weekday"]), ("hour", ["hour", "weekday"])]
)
def test_weekday_and_hour_are_news_unless_batches_are_shorter(every, left_out):
    frame = pd.DataFrame({"hour": DATES.hour, "weekday": DATES.dayofweek})
    assert calendar_columns(frame, DATES, every) == left_out


def test_clocks_of_two_zones():
    local = DATES - pd.Timedelta(hours=5)
    frame = pd.DataFrame({"month": local.month, "day": local.day, "hour": local.hour})
    assert calendar_columns(frame, DATES, "month") == ["month", "day"]
    assert calendar_columns(frame, DATES, "hour") == ["month", "day", "hour"]


def test_what_is_no_calendar():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "constant": np.ones(len(DATES)),
            "empty": np.full(len(DATES), np.nan),
            "count": rng.integers(1, 13, len(DATES)),
            "text": DATES.month.astype(str),
        }
    )
    assert calendar_columns(frame, DATES, "month") == []


def test_marks_of_periods():
    periods = np.repeat(["a", "b", "c"], 20)
    frame = pd.DataFrame(
        {
            "file": np.repeat(["x.csv", "y.csv", "z.csv"], 20),
            # A version that came with the last period is a change.
            "version": np.repeat([1, 1, 2], 20),
            "number": np.arange(60),
            "lists": [[1]] * 60,
        }
    )
    assert marks_of_periods(frame, periods) == ["file"]
    # Of two periods nobody knows whether it is a mark or a change.
    assert marks_of_periods(frame.iloc[:40], periods[:40]) == []
