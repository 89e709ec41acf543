"""What is said about a table: errors with the column, the row and the way out, and notes on what was done."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from princdiff.options import option
from princdiff.tables.column_info import ColumnInfo
from princdiff.tables.column_types import Column
from princdiff.tables.encoding import Coding
from princdiff.tables.frames import listed, plural
from princdiff.tables.levels import OTHER
from princdiff.tables.pooled_columns import LARGEST, Pool, bad_cells
from princdiff.tables.roles import Layout, Roles

_MOST_LISTED = 10
# Rows below which one of several groups is said to be too small.
_SMALL_GROUP = 5


def by_group(rows: NDArray, roles: Roles) -> tuple[int, ...]:
    """How many of these rows each group has."""
    return tuple(np.bincount(roles.codes[rows], minlength=len(roles.groups)).tolist())


def rows_without(holes: Mapping[str, NDArray], n_rows: int) -> NDArray[np.intp]:
    """Numbers of the rows that have no hole."""
    whole = np.ones(n_rows, dtype=bool)
    for rows in holes.values():
        whole[rows] = False
    return np.flatnonzero(whole)


def _joined(words: Sequence[str], shown: int = _MOST_LISTED) -> str:
    more = f" and {len(words) - shown} more" if len(words) > shown else ""
    return ", ".join(words[:shown]) + more


def _counted(cells: Mapping[str, NDArray], layout: Layout) -> str:
    columns = [
        f"{name!r} ({len(rows)}, the first in {layout.where(int(rows[0]))})" for name, rows in cells.items()
    ]
    return f"{_joined(columns, 5)} (rows count from 0)"


class LeftOutError(ValueError):
    """Columns that cannot be compared, where all should be.

    Attributes
    ----------
    columns : tuple of str
        Their names.

    Examples
    --------
    >>> LeftOutError("a date", ["day"]).columns
    ('day',)
    """

    def __init__(self, message: str, columns: Iterable[str]) -> None:
        super().__init__(message)
        self.columns = tuple(columns)


class MissingValuesError(ValueError):
    """Missing values, and nobody said what to do with them.

    Examples
    --------
    >>> import pandas as pd
    >>> import princdiff
    >>> from princdiff.tables import MissingValuesError
    >>> before, after = pd.DataFrame({"age": [30.0, None]}), pd.DataFrame({"age": [31.0, 40.0]})
    >>> try:
    ...     princdiff.compare(before, after)
    ... except MissingValuesError as error:
    ...     print(str(error)[:26])
    missing values in 1 column
    """


# Errors -----------------------------------------------------------------------------------------------------


def refuse_faults(columns: Sequence[Column]) -> None:
    """Columns that are nearly numbers: only the user knows what the rest means."""
    faults = [column.fault for column in columns if column.fault]
    if faults:
        raise ValueError(
            f"{'; '.join(faults[:5])}{f'; and {len(faults) - 5} more columns' if len(faults) > 5 else ''}: "
            "replace such entries by numbers or leave them empty, or leave the column out with "
            f"{option('exclude')}; if they are categories, make the column one (pandas: astype('category'))"
        )


def refuse_infinite(pool: Pool, layout: Layout) -> None:
    """Infinity is no measurement, and no median or distance survives it."""
    infinite = bad_cells(pool, infinite=True)
    if infinite:
        raise ValueError(
            f"infinite values, or some beyond {LARGEST:g}, in {plural(len(infinite), 'column')}: "
            f"{_counted(infinite, layout)}; replace them by numbers of at most {LARGEST:g}, "
            f"or leave the columns out with {option('exclude')}"
        )


def refuse_few_rows(roles: Roles, least: int) -> None:
    """A table cut short: nothing could be shown, which would look like nothing to be shown."""
    sizes = np.bincount(roles.codes, minlength=len(roles.groups)).tolist()
    few = [
        f"group {name!r} has {plural(size, 'row')}"
        for name, size in zip(roles.groups, sizes, strict=True)
        if size < least
    ]
    if few:
        raise ValueError(f"{_joined(few, 5)}, fewer than {option('min_rows', least)}")


def refuse_missing(holes: Mapping[str, NDArray], layout: Layout, roles: Roles) -> None:
    """Missing values nobody said what to do with: how many each group has, and the three ways out."""
    if not holes:
        return
    sizes = np.bincount(roles.codes, minlength=len(roles.groups)).tolist()
    columns = [
        f"{name!r} ({_rates(by_group(rows, roles), sizes, roles.groups)}; the first in "
        f"{layout.where(int(rows[0]))})"
        for name, rows in holes.items()
    ]
    affected = layout.n_rows - len(rows_without(holes, layout.n_rows))
    raise MissingValuesError(
        f"missing values in {plural(len(holes), 'column')} ({affected} of {layout.n_rows} rows): use "
        f"{option('missing', 'impute')} to fill and mark them, so that a changed rate of missing "
        "values is compared too, "
        f"{option('missing', 'drop')} to leave these rows out, or {option('exclude')} to leave the "
        "columns out. They are in "
        f"{_joined(columns, 5)} (rows count from 0)"
    )


def refuse_new_missing(holes: Mapping[str, NDArray], layout: Layout) -> None:
    """Missing values in later rows where there were none before: there is no median to fill them with."""
    if holes:
        columns = plural(len(holes), "column")
        raise ValueError(
            f"missing values in {columns} that had none before: {_counted(holes, layout)}; leave "
            f"these rows out with {option('missing', 'drop')}, or fill them"
        )


def _rates(counts: Sequence[int], sizes: Sequence[int], groups: Sequence[str]) -> str:
    """Counts by group, each with the size of the group; of many groups those that have any."""
    found = zip(groups, counts, sizes, strict=True)
    return _joined(
        [f"{count} of {size} in {name!r}" for name, count, size in found if count or len(groups) == 2], 5
    )


def refuse_gaps(gaps: Mapping[str, NDArray], layout: Layout) -> None:
    """Weights, blocks and covariates are never made up."""
    if gaps:
        raise ValueError(
            f"missing values in {_counted(gaps, layout)}: these are not filled; supply them, "
            f"or leave the rows out with {option('missing', 'drop')}"
        )


# Notes ------------------------------------------------------------------------------------------------------


def note_small_groups(roles: Roles, notes: list[str]) -> None:
    """Which of several groups are too small to show anything, beside others that are not."""
    sizes = np.bincount(roles.codes, minlength=len(roles.groups))
    small = np.flatnonzero(sizes < _SMALL_GROUP)
    if len(small) and len(sizes) - len(small) >= 2 and np.delete(sizes, small).min() >= 2 * _SMALL_GROUP:
        named = _joined([f"{roles.groups[place]!r} ({plural(int(sizes[place]), 'row')})" for place in small])
        notes.append(
            f"Groups of few rows: {named}. They can show next to nothing and blur what the others show; "
            "compare without them unless they matter."
        )


def note_left_out(left_out: Mapping[str, str], used: Sequence[str], notes: list[str], *, error: bool) -> None:
    """Columns that are not compared, each with its reason, as a warning or an error."""
    columns = _joined([f"{name!r} ({reason})" for name, reason in left_out.items()])
    if not used:
        raise ValueError(f"no column can be compared: {columns or 'none is left'}")
    if not left_out:
        return
    if error:
        raise LeftOutError(
            f"{plural(len(left_out), 'column')} cannot be compared: {columns}; leave out such columns or "
            "turn them into numbers or categories",
            left_out,
        )
    sentence = f"{plural(len(left_out), 'column')} left out: {columns}."
    notes.append(sentence)
    warnings.warn(
        f"{sentence[:-1]}; name columns in {option('features')} to choose yourself", UserWarning, stacklevel=3
    )


def note_remarks(columns: Sequence[Column], notes: list[str]) -> None:
    """What was converted while reading: one note for each kind of conversion."""
    by_remark: dict[str, list[str]] = {}
    for column in columns:
        if column.usable:
            by_remark.setdefault(column.remark, []).append(column.name)
    for remark, names in by_remark.items():
        noun = "Column" if len(names) == 1 else "Columns"
        notes.append(f"{noun} {listed(names, _MOST_LISTED)}: {remark.rstrip('.')}.")


def note_dropped(kept: NDArray, holes: Mapping[str, NDArray], roles: Roles, notes: list[str]) -> None:
    """How many rows of which group went, and for which columns; no group may go altogether."""
    before = np.bincount(roles.codes, minlength=len(roles.groups))
    after = np.bincount(roles.codes[kept], minlength=len(roles.groups))
    columns = _joined([f"{name!r} ({len(rows)})" for name, rows in holes.items()])
    for name, rest in zip(roles.groups, after, strict=True):
        if not rest:
            raise ValueError(
                f"{option('missing', 'drop')} leaves no row of group {name!r}: missing values in {columns}; "
                f"leave such columns out with {option('exclude')}, or use {option('missing', 'impute')}"
            )
    lost = ", ".join(
        f"{gone} of {size} in {name!r}"
        for name, size, gone in zip(roles.groups, before, before - after, strict=True)
    )
    notes.append(
        f"{before.sum() - len(kept)} of {before.sum()} rows dropped for missing values ({lost}): {columns}."
    )


def note_codings(codings: Sequence[Coding], pool: Pool, roles: Roles, notes: list[str]) -> None:
    """Which columns became several features, and levels that only one group has."""
    coded = [coding for coding in codings if coding.one_hot]
    if coded:
        count = sum(len(coding.kinds) for coding in coded)
        notes.append(
            f"{plural(len(coded), 'column')} of categories encoded as {plural(count, '0/1 feature')}."
        )
    ordered = [f"{c.column!r} ({listed(c.levels or (), 10)})" for c in codings if c.type == "ordered"]
    if ordered:
        notes.append(f"Ordered categories taken as the numbers 0, 1, 2 ...: {_joined(ordered)}.")
    dates = [f"{c.column!r} ({', '.join(c.parts)})" for c in codings if c.type == "date"]
    if dates:
        notes.append(f"Dates compared by their parts: {_joined(dates)}.")
    alone = _levels_of_one_group(coded, pool, roles)
    if alone:
        notes.append(f"Levels seen in one group only: {_joined(alone)}.")


def note_pooled(columns: Iterable[ColumnInfo], roles: Roles, notes: list[str]) -> None:
    """Which columns had rare levels pooled: how many levels, and how many rows."""
    sizes = np.bincount(roles.codes, minlength=len(roles.groups))
    pooled = [
        f"{column.name!r} ({column.pooled_levels} levels: "
        f"{_rates(column.pooled_rows, sizes.tolist(), roles.groups)})"
        for column in columns
        if column.pooled
    ]
    if pooled:
        notes.append(f"Rare levels pooled into {OTHER!r}: {_joined(pooled)}.")


def note_filled(
    codings: Sequence[Coding], filled: Mapping[str, Sequence[int]], roles: Roles, notes: list[str]
) -> None:
    """Which missing values were filled, and with what."""
    if filled:
        columns = _joined([_filled_in_words(c, filled, roles) for c in codings if c.column in filled])
        total = sum(map(sum, filled.values()))
        notes.append(
            f"{plural(total, 'missing value')} filled and marked in columns of their own: {columns}."
        )


def _filled_in_words(coding: Coding, filled: Mapping[str, Sequence[int]], roles: Roles) -> str:
    how = "as a level"
    if coding.type == "date":
        how = "with the median date"
    elif coding.type == "ordered" and coding.levels is not None:
        how = f"with the median {coding.levels[int(coding.fill or 0)]!r}"
    elif coding.fill is not None:
        how = f"with the median {coding.fill:g}"
    counts = ", ".join(
        f"{count} in {name!r}" for name, count in zip(roles.groups, filled[coding.column], strict=True)
    )
    return f"{coding.column!r} {how} ({counts})"


def _levels_of_one_group(coded: Sequence[Coding], pool: Pool, roles: Roles) -> list[str]:
    alone = []
    for coding in coded:
        column = pool.levels[coding.column]
        named = (column.codes >= 0) & (column.codes < len(column.names))
        pairs = column.codes[named].astype(np.intp) * len(roles.groups) + roles.codes[named]
        counts = np.bincount(pairs, minlength=len(column.names) * len(roles.groups))
        there = counts.reshape(len(column.names), len(roles.groups)) > 0
        for level, groups in zip(column.names, there, strict=True):
            if groups.sum() == 1:
                alone.append(f"{level!r} of {coding.column!r} (in {roles.groups[int(groups.argmax())]!r})")
    return alone
