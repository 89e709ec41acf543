"""What is told about a table: errors with the column, the row and the way out, and notes on what was done."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from princdiff.tables.column_types import Column
from princdiff.tables.encoding import Coding
from princdiff.tables.frames import listed, plural
from princdiff.tables.pooled_columns import Pool, bad_cells
from princdiff.tables.roles import Layout, Roles

_TOLD = 10


def by_group(rows: NDArray, roles: Roles) -> tuple[int, ...]:
    """How many of these rows each group has."""
    return tuple(np.bincount(roles.codes[rows], minlength=len(roles.groups)).tolist())


def rows_without(holes: Mapping[str, NDArray], n_rows: int) -> NDArray[np.intp]:
    """Numbers of the rows that have no hole."""
    whole = np.ones(n_rows, dtype=bool)
    for rows in holes.values():
        whole[rows] = False
    return np.flatnonzero(whole)


def _joined(words: Sequence[str], shown: int = _TOLD) -> str:
    more = f" and {len(words) - shown} more" if len(words) > shown else ""
    return ", ".join(words[:shown]) + more


def _counted(cells: Mapping[str, NDArray], layout: Layout) -> str:
    told = [
        f"{name!r} ({len(rows)}, the first in {layout.where(int(rows[0]))})" for name, rows in cells.items()
    ]
    return f"{_joined(told, 5)} (rows count from 0)"


# Errors -----------------------------------------------------------------------------------------------------


def refuse_faults(columns: Sequence[Column]) -> None:
    """Columns that are nearly numbers: only the user knows what the rest means."""
    faults = [column.fault for column in columns if column.fault]
    if faults:
        raise ValueError(
            f"{'; '.join(faults[:5])}{f'; and {len(faults) - 5} more columns' if len(faults) > 5 else ''}: "
            "replace such entries by numbers or leave them empty, or leave the column out with features="
        )


def refuse_infinite(pool: Pool, layout: Layout) -> None:
    """Infinity is no measurement, and no median or distance survives it."""
    infinite = bad_cells(pool, infinite=True)
    if infinite:
        raise ValueError(
            f"infinite values in {plural(len(infinite), 'column')}: {_counted(infinite, layout)}; "
            "replace them by numbers, or leave the columns out with features="
        )


def refuse_missing(holes: Mapping[str, NDArray], layout: Layout) -> None:
    """Missing values nobody said what to do with."""
    if holes:
        affected = layout.n_rows - len(rows_without(holes, layout.n_rows))
        raise ValueError(
            f"missing values in {plural(len(holes), 'column')}: {_counted(holes, layout)}; {affected} of "
            f"{layout.n_rows} rows have some; fill and mark them with missing='impute', leave these rows out "
            "with missing='drop', or leave the columns out with features="
        )


def refuse_gaps(gaps: Mapping[str, NDArray], layout: Layout) -> None:
    """Weights, blocks and covariates are never made up."""
    if gaps:
        raise ValueError(
            f"missing values in {_counted(gaps, layout)}: these are not filled; supply them, "
            "or leave the rows out with missing='drop'"
        )


# Notes ------------------------------------------------------------------------------------------------------


def tell_left_out(left_out: Mapping[str, str], used: Sequence[str], notes: list[str], *, error: bool) -> None:
    """Columns that are not compared, each with its reason, as a warning or an error."""
    told = _joined([f"{name!r} ({reason})" for name, reason in left_out.items()])
    if not used:
        raise ValueError(f"no column can be compared: {told or 'there is none'}")
    if not left_out:
        return
    if error:
        raise ValueError(
            f"{plural(len(left_out), 'column')} cannot be compared: {told}; leave out such columns or "
            "turn them into numbers or categories"
        )
    sentence = f"{plural(len(left_out), 'column')} left out: {told}."
    notes.append(sentence)
    warnings.warn(f"{sentence[:-1]}; name columns in features= to choose yourself", UserWarning, stacklevel=3)


def tell_remarks(columns: Sequence[Column], notes: list[str]) -> None:
    """What was converted while reading: one note for each kind of conversion."""
    by_remark: dict[str, list[str]] = {}
    for column in columns:
        if column.usable:
            by_remark.setdefault(column.remark, []).append(column.name)
    for remark, names in by_remark.items():
        noun = "Column" if len(names) == 1 else "Columns"
        notes.append(f"{noun} {listed(names, _TOLD)}: {remark.rstrip('.')}.")


def tell_dropped(kept: NDArray, holes: Mapping[str, NDArray], roles: Roles, notes: list[str]) -> None:
    """How many rows of which group went, and for which columns; no group may go altogether."""
    before = np.bincount(roles.codes, minlength=len(roles.groups))
    after = np.bincount(roles.codes[kept], minlength=len(roles.groups))
    columns = _joined([f"{name!r} ({len(rows)})" for name, rows in holes.items()])
    for name, rest in zip(roles.groups, after, strict=True):
        if not rest:
            raise ValueError(
                f"missing='drop' leaves no row of group {name!r}: missing values in {columns}; "
                "leave such columns out with features=, or use missing='impute'"
            )
    lost = ", ".join(
        f"{gone} of {size} in {name!r}"
        for name, size, gone in zip(roles.groups, before, before - after, strict=True)
    )
    notes.append(
        f"{before.sum() - len(kept)} of {before.sum()} rows dropped for missing values ({lost}): {columns}."
    )


def tell_codings(
    codings: Sequence[Coding], pool: Pool, roles: Roles, filled: Mapping[str, Sequence[int]], notes: list[str]
) -> None:
    """Which columns became several features, and which values were filled."""
    coded = [coding for coding in codings if coding.levels is not None]
    if coded:
        told = _joined([f"{coding.column!r} ({_levels_told(coding)})" for coding in coded])
        notes.append(f"{plural(len(coded), 'column')} of categories encoded as 0/1: {told}.")
    alone = _lonely_levels(coded, pool, roles)
    if alone:
        notes.append(f"Levels seen in one group only: {_joined(alone)}.")
    if filled:
        told = _joined([_filled_told(coding, filled, roles) for coding in codings if coding.column in filled])
        total = sum(map(sum, filled.values()))
        notes.append(f"{plural(total, 'missing value')} filled and marked in columns of their own: {told}.")


def _levels_told(coding: Coding) -> str:
    assert coding.levels is not None
    if len(coding.features) == 1 and len(coding.levels) == 2:
        return f"1 is {coding.levels[1]!r}, 0 is {coding.levels[0]!r}"
    return plural(len(coding.levels), "level")


def _filled_told(coding: Coding, filled: Mapping[str, Sequence[int]], roles: Roles) -> str:
    how = "as a level" if coding.fill is None else f"with the median {coding.fill:g}"
    counts = ", ".join(
        f"{count} in {name!r}" for name, count in zip(roles.groups, filled[coding.column], strict=True)
    )
    return f"{coding.column!r} {how} ({counts})"


def _lonely_levels(coded: Sequence[Coding], pool: Pool, roles: Roles) -> list[str]:
    alone = []
    for coding in coded:
        codes, levels = pool.levels[coding.column]
        there = codes >= 0
        table = np.zeros((len(levels), len(roles.groups)), dtype=bool)
        table[codes[there], roles.codes[there]] = True
        for level, groups in zip(levels, table, strict=True):
            if groups.sum() == 1:
                alone.append(f"{level!r} of {coding.column!r} (in {roles.groups[int(groups.argmax())]!r})")
    return alone
