"""The same columns in the same order: tables are matched by the names of their columns.

By position only where there are no names: two files of one survey rarely keep their columns in one order.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from princdiff.options import option
from princdiff.tables.frames import Table, listed, plural, renamed, suggestion
from princdiff.tables.spelling import joined_in_words, visible

# pandas' name for the first column of a file whose header has none for it: the row names.
_ROW_NAMES = "Unnamed: 0"


def align(
    tables: Sequence[Table],
    features: Any,
    reserved: Mapping[str, str],
    notes: list[str],
    exclude: Any = None,
) -> tuple[list[Table], dict[str, str]]:
    """Bring tables to the same columns in the same order.

    Parameters
    ----------
    tables : list of Table
        One table, or two.
    features : str, list of str, or None
        Columns to keep; positions where columns have no names.
    reserved : dict
        Columns that are no features, and what they are for.
    notes : list of str
        Receives what was done.
    exclude : str, list of str, or None
        Columns to leave out.

    Returns
    -------
    tables : list of Table
        The tables with the columns to compare.
    left_out : dict
        Columns left out, and why.

    Examples
    --------
    >>> import pandas as pd
    >>> from princdiff.tables.readers import read
    >>> a, b = pd.DataFrame({"u": [1], "v": [2]}), pd.DataFrame({"v": [3], "u": [4]})
    >>> tables, _ = align([read(a), read(b)], None, {}, [])
    >>> tables[1].columns
    ('u', 'v')
    """
    tables = _matched_by_position(list(tables), notes)
    tables = [tables[0], *(_spelled_as(table, tables[0].columns, notes) for table in tables[1:])]
    left_out: dict[str, str] = {}
    if exclude is not None:
        unwanted = _excluded(exclude, tables)
        reserved = {**dict.fromkeys(unwanted, "exclude"), **reserved}
        notes.append(f"Not compared, as {option('exclude')} names them: {listed(unwanted, 10)}.")
    if features is not None:
        names = _asked(features, tables, reserved)
        unused = len(set(tables[0].columns) - set(names) - set(reserved))
        if unused:
            notes.append(
                f"{plural(unused, 'column')} not compared, as {option('features')} does not name them."
            )
    else:
        if len(tables) == 2:
            _refuse_differences(tables, reserved, left_out)
        names = [name for name in tables[0].columns if name not in reserved and name not in left_out]
    return [table.take(names) for table in tables], left_out


def matching(table: Table, columns: Sequence[str], notes: list[str]) -> Table:
    """A later table with the columns of earlier ones."""
    if not table.named and len(table.columns) == len(columns):
        table = renamed(table, columns)
    table = _spelled_as(table, columns, notes)
    known = set(table.columns)
    absent = [name for name in columns if name not in known]
    if absent:
        hint = suggestion(absent[0], table.columns)
        raise ValueError(f"{table.label} lacks {_columns(absent)}{hint}")
    unused = len(known) - len(columns)
    if unused:
        notes.append(f"{plural(unused, 'column')} of {table.label} not used.")
    return table.take(columns)


def _spelled_as(table: Table, columns: Sequence[str], notes: list[str]) -> Table:
    """A table whose names are spelled as those of another one that look the same."""
    only, other = set(table.columns) - set(columns), set(columns) - set(table.columns)
    wanted = {visible(name): name for name in other}
    names = {name: wanted[visible(name)] for name in only if visible(name) in wanted}
    if not names or len(set(names.values())) < len(names):
        return table
    notes.append(f"{table.label}, names of columns: {joined_in_words(names)}.")
    return renamed(table, [names.get(name, name) for name in table.columns])


def _columns(names: Sequence[str]) -> str:
    return f"column{'' if len(names) == 1 else 's'} {listed(names)}"


def _matched_by_position(tables: list[Table], notes: list[str]) -> list[Table]:
    if len(tables) < 2 or all(table.named for table in tables):
        return tables
    widths = [len(table.columns) for table in tables]
    if widths[0] != widths[1]:
        labels = [table.label for table in tables]
        raise ValueError(
            f"{labels[0]} has {widths[0]} columns but {labels[1]} has {widths[1]}, and without column names "
            "they can only be matched by position"
        )
    named = next((table for table in tables if table.named), None)
    if named is None:
        return tables
    other = tables[1] if named is tables[0] else tables[0]
    notes.append(f"The columns of {other.label} have no names; they took those of {named.label} by position.")
    return [table if table.named else renamed(table, named.columns) for table in tables]


def _excluded(exclude: Any, tables: Sequence[Table]) -> list[str]:
    names = _names(exclude, tables[0])
    known = {name for table in tables for name in table.columns}
    absent = [name for name in names if name not in known]
    if absent:
        places = " and ".join(table.label for table in tables)
        have = "has" if len(tables) == 1 else "have"
        raise ValueError(
            f"exclude: {places} {have} no {_columns(absent)}{suggestion(absent[0], sorted(known))}"
        )
    return names


def _names(wanted: Any, first: Table) -> list[str]:
    """Names of columns, each once; positions where columns have no names."""
    items = [wanted] if isinstance(wanted, (str, int, np.integer)) else list(wanted)
    names = [
        f"x{item}" if not first.named and isinstance(item, (int, np.integer)) else str(item) for item in items
    ]
    return list(dict.fromkeys(names))


def _asked(features: Any, tables: Sequence[Table], reserved: Mapping[str, str]) -> list[str]:
    names = _names(features, tables[0])
    if not names:
        raise ValueError(f"{option('features')} names no column")
    for name in names:
        if name in reserved:
            raise ValueError(f"features: {name!r} is used as {reserved[name]}= and cannot be a feature too")
    for table in tables:
        known = set(table.columns)
        absent = [name for name in names if name not in known]
        if absent:
            hint = suggestion(absent[0], table.columns)
            raise ValueError(f"features: {table.label} has no {_columns(absent)}{hint}")
    return names


def _refuse_differences(
    tables: Sequence[Table], reserved: Mapping[str, str], left_out: dict[str, str]
) -> None:
    """Columns of one table only cannot be compared, and it is the user who knows what they mean."""
    both = [[name for name in table.columns if name not in reserved] for table in tables]
    common = set(both[0]) & set(both[1])
    only = [[name for name in names if name not in common] for names in both]
    for names in only:
        if _ROW_NAMES in names and common:
            names.remove(_ROW_NAMES)
            left_out[_ROW_NAMES] = "row names of one table"
    if not any(only):
        return
    first, second = (table.label for table in tables)
    if not common:
        raise ValueError(
            f"{first} and {second} have no column in common: {listed(both[0])} against {listed(both[1])}"
            f"{_spelling(*only)}"
        )
    found = [
        f"{_columns(names)} {'is' if len(names) == 1 else 'are'} only in {table.label}"
        for names, table in zip(only, tables, strict=True)
        if names
    ]
    them = "it" if sum(map(len, only)) == 1 else "them"
    raise ValueError(
        f"{'; '.join(found)}{_spelling(*only)}; rename {them}, leave {them} out with "
        f"{option('exclude')}, or name "
        f"the columns to compare with {option('features')}"
    )


def _spelling(first: Sequence[str], second: Sequence[str]) -> str:
    """A hint where names agree but for case, blanks and punctuation."""
    plain = {re.sub(r"[\W_]", "", name).casefold(): name for name in first}
    pairs = [
        (plain[key], name)
        for name in second
        if (key := re.sub(r"[\W_]", "", name).casefold()) in plain and key
    ]
    return f" (spelled differently: {pairs[0][0]!r} and {pairs[0][1]!r})" if pairs else ""
