"""Which rows belong to which batch, and which are the reference."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from princdiff.batches.calendar_columns import calendar_columns, marks_of_periods, told_of
from princdiff.profiles import Profile, load_profile
from princdiff.profiles.given_profiles import is_profiled
from princdiff.tables.column_values import read_column
from princdiff.tables.dates import DateError, are_dates, read_dates
from princdiff.tables.frames import Table, listed, plural, suggestion
from princdiff.tables.readers import read, stem

# Part of a period that has to be missing at its end for the last one to be called cut.
_CUT = 0.1
Period = Literal["hour", "day", "week", "month", "quarter", "year"]
PERIODS = {"hour": "h", "day": "D", "week": "W", "month": "M", "quarter": "Q", "year": "Y"}


@dataclass(frozen=True, eq=False)
class BatchPlan:
    """The reference, its own batches if it has some, and the batches to compare with it.

    ``cut`` says of batches that end before their period does where they end.
    """

    reference: Table | Profile
    name: str
    parts: list[NDArray[np.intp]]
    batches: dict[str, Any]
    notes: list[str]
    cut: dict[str, str] = field(default_factory=dict)


def plan_of_list(batches: Any, reference: Any) -> BatchPlan:
    """Batches that are tables of their own.

    Parameters
    ----------
    batches : list or dict of tables
        In their order.
    reference : table, or name of a batch, or None
        None: the first batch.

    Returns
    -------
    BatchPlan
    """
    if isinstance(batches, Mapping):
        named = {str(name): table for name, table in batches.items()}
    elif isinstance(batches, (str, Path)) or not isinstance(batches, Iterable) or hasattr(batches, "shape"):
        raise ValueError(
            "one table alone has no batches: name its column of dates with time=, or give a list"
        )
    else:
        tables = list(batches)
        named = dict(zip(batch_names(tables), tables, strict=True))
    if isinstance(reference, int) or (isinstance(reference, str) and reference in named):
        key = reference if isinstance(reference, str) else next(iter(named))
        if isinstance(reference, int) and reference != 1:
            raise ValueError(
                f"reference={reference}: with a list of batches, give a table or 1 for the first"
            )
        reference = named.pop(key)
        name = key
    elif reference is None:
        name = next(iter(named), "")
        reference = named.pop(name, None)
    else:
        name = stem(Path(reference)) if isinstance(reference, (str, Path)) else "the reference"
    if not named:
        raise ValueError("there is no batch to compare with the reference")
    if is_profiled(reference):
        given = reference if isinstance(reference, Profile) else load_profile(reference)
        return BatchPlan(given, name, [], named, [])
    return BatchPlan(read(reference, "the reference"), name, [], named, [])


def batch_names(tables: Sequence[Any]) -> list[str]:
    """Files are called by their names, or by their paths where names repeat; other tables by their number."""
    names = [
        stem(Path(table)) if isinstance(table, (str, Path)) else f"batch {number}"
        for number, table in enumerate(tables, start=1)
    ]
    if len(set(names)) < len(names):
        names = [
            str(table) if isinstance(table, (str, Path)) else name
            for table, name in zip(tables, names, strict=True)
        ]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"batches: {twice!r} is given twice")
    return names


def plan_in_time(table: Any, reference: Any, time: str, every: str) -> BatchPlan:
    """Batches that are periods of one table.

    Parameters
    ----------
    table : path or DataFrame
        Rows with dates.
    reference : table, int, str, list of str or None
        Another table, how many of the first periods, or names of periods.
    time : str
        Column of dates.
    every : str
        Length of a period.

    Returns
    -------
    BatchPlan
    """
    if isinstance(table, (list, tuple)) or (
        isinstance(table, Mapping) and any(np.ndim(batch) == 2 for batch in table.values())
    ):
        raise ValueError(
            f"time={time!r} assigns the rows of one table to batches, and {plural(len(table), 'table')} were "
            "given: leave it out, or give one table"
        )
    source = read(table, "the table")
    dates, missing = _dates_of(source, time)
    periods = np.full(len(dates), "", dtype=object)
    index = pd.DatetimeIndex(dates[~missing])
    periods[~missing] = _period_names(index, every)
    notes = [f"{missing.sum()} rows without a date in {time!r} belong to no batch."] if missing.any() else []
    frame = _without(source, time)
    dated = frame[~missing]
    say_when = [*calendar_columns(dated, index, every), *marks_of_periods(dated, periods[~missing])]
    if say_when:
        say_when = [str(name) for name in frame if str(name) in say_when]
        frame = frame.drop(columns=say_when)
        notes.append(told_of(say_when))
    order = sorted(set(periods) - {""})
    rows = {period: np.flatnonzero(periods == period) for period in order}
    if (isinstance(reference, (int, np.integer)) and not isinstance(reference, bool)) or reference is None:
        count = 1 if reference is None else int(reference)
        if not 0 < count < len(order):
            raise ValueError(f"reference={count}: there are {len(order)} periods, {listed(order)}")
        chosen = order[:count]
    elif isinstance(reference, (str, list, tuple)) and not _is_file(reference):
        chosen = [reference] if isinstance(reference, str) else [str(period) for period in reference]
        strange = [period for period in chosen if period not in rows]
        if strange:
            hint = suggestion(strange[0], order) or f"; there are {listed(order)}"
            raise ValueError(f"reference: there is no {every} {strange[0]!r}{hint}")
    else:
        other = read(reference, "the reference")
        unwanted = [name for name in (time, *say_when) if name in other.columns]
        if unwanted:
            other = _from_rows(other.frame().drop(columns=unwanted), other.label)
        batches = {period: frame.iloc[rows[period]] for period in order}
        return BatchPlan(other, other.label, [], batches, notes, _cut_at_its_end(index, every))
    inside = np.concatenate([rows[period] for period in chosen])
    starts = np.cumsum([0, *(len(rows[period]) for period in chosen)])
    parts = [np.arange(start, stop) for start, stop in pairwise(starts)]
    name = chosen[0] if len(chosen) == 1 else f"{chosen[0]} to {chosen[-1]}"
    return BatchPlan(
        _from_rows(frame.iloc[inside], name),
        name,
        parts if len(parts) > 2 else [],
        {period: frame.iloc[rows[period]] for period in order if period not in chosen},
        notes,
        _cut_at_its_end(index, every),
    )


def _is_file(reference: Any) -> bool:
    return isinstance(reference, str) and Path(reference).expanduser().is_file()


def _from_rows(frame: pd.DataFrame, label: str) -> Table:
    """Rows of a data frame as a table."""
    return read(frame.reset_index(drop=True), label)


def _without(source: Table, time: str) -> pd.DataFrame:
    frame = source.frame()
    return frame.drop(columns=[time]) if time in frame.columns else frame


def _dates_of(source: Table, time: str) -> tuple[NDArray[np.datetime64], NDArray[np.bool_]]:
    """The date of each row, and whether it is missing."""
    known = source.describing()
    if time not in known:
        raise ValueError(f"time: there is no column {time!r} in {source.label}{suggestion(time, known)}")
    part = read_column(source.column(time))
    if part.kind != "date" and not (part.codes is not None and are_dates(part.levels)):
        raise ValueError(f"time: column {time!r} holds no dates ({part.remark or part.kind})")
    try:
        dates, _ = read_dates([part])
    except DateError as error:
        raise ValueError(f"time: column {time!r}: {error}") from error
    return dates, np.isnat(dates)


def _cut_at_its_end(index: pd.DatetimeIndex, every: str) -> dict[str, str]:
    """The last period, where its rows end much earlier in it than those of the others do, and their end."""
    if index.empty:
        return {}
    latest = pd.Series(index).groupby(index.to_period(PERIODS[every])).max()
    begin, end = latest.index.start_time, latest.index.end_time
    reached = np.asarray((latest.to_numpy() - begin) / (end - begin), dtype=np.float64)
    if len(reached) < 2 or reached[-1] >= np.median(reached[:-1]) - _CUT:
        return {}
    last = latest.iloc[-1]
    text = f"{last:%H:%M}" if every in ("hour", "day") else f"{last:%Y-%m-%d}"
    return {_period_names(index[[int(index.argmax())]], every)[0]: f"ends at {text}"}


def _period_names(index: pd.DatetimeIndex, every: str) -> list[str]:
    if every == "week":
        # The Monday it begins with: "2024-01-01/2024-01-07" is too long for an axis.
        return [f"{day:%Y-%m-%d}" for day in index.to_period("W").start_time]
    if every == "hour":
        return [f"{day:%Y-%m-%d %H}h" for day in index]
    return [str(period) for period in index.to_period(PERIODS[every])]
