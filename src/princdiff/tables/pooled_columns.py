"""The columns of all tables, one below the other: numbers as one matrix, categories as codes, dates.

Between reading and encoding there is one place where all rows lie together and gaps are still gaps. Missing
and infinite values are looked for here, once, for dense and sparse tables alike.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from numpy.typing import NDArray

from princdiff.options import option
from princdiff.tables.column_types import Column, Rules, classify, two_valued
from princdiff.tables.column_values import read_column
from princdiff.tables.frames import Table, listed
from princdiff.tables.identifiers import names_identifier
from princdiff.tables.levels import Levels
from princdiff.tables.precision import Precision, has_mixed_precision, to_common_precision

LARGEST = 1e150
"""Beyond, the square of a number, of which statistics are made, would be infinite."""

# Rows that are looked at first, to find the few columns that may hold two values only.
_HEAD = 200


@dataclass(frozen=True, eq=False)
class Pool:
    """The columns of all rows, before missing values are dealt with.

    Attributes
    ----------
    order : list of str
        Columns, in the order of the table.
    numbers : array or CSR matrix of shape (n_rows, n_numeric)
        Numeric columns, missing values NaN.
    numeric : list of str
        Their names.
    levels : dict
        Levels of each column of categories.
    dates : dict
        Dates (n_rows,) of each column of dates, missing ones NaT.
    precision : dict
        To what the numbers of a column were rounded, where they were kept with different precision.
    """

    order: Sequence[str]
    numbers: Any
    numeric: Sequence[str]
    levels: Mapping[str, Levels] = field(default_factory=dict)
    dates: Mapping[str, NDArray[np.datetime64]] = field(default_factory=dict)
    precision: Mapping[str, Precision] = field(default_factory=dict)

    def take_rows(self, keep: NDArray) -> Pool:
        """Some of the rows."""
        levels = {name: column.take_rows(keep) for name, column in self.levels.items()}
        dates = {name: column[keep] for name, column in self.dates.items()}
        return replace(self, numbers=self.numbers[keep], levels=levels, dates=dates)

    def compacted(self) -> Pool:
        """Only the levels that occur."""
        return replace(self, levels={name: column.compacted() for name, column in self.levels.items()})

    def rare_levels_pooled(self) -> Pool:
        """Rare levels of each column as one."""
        return replace(self, levels={name: column.rare_pooled() for name, column in self.levels.items()})

    def without(self, names: Sequence[str]) -> Pool:
        """All but some of the numeric columns."""
        gone = set(names)
        stay = [place for place, name in enumerate(self.numeric) if name not in gone]
        return replace(
            self,
            order=[name for name in self.order if name not in gone],
            numbers=self.numbers[:, stay],
            numeric=[self.numeric[place] for place in stay],
        )


def gather(
    tables: Sequence[Table], groups: NDArray, where: Callable[[int], str], rules: Rules
) -> tuple[Pool, list[Column]]:
    """Put the columns of tables one below the other.

    Parameters
    ----------
    tables : list of Table
        Tables with the same columns in the same order.
    groups : array of shape (n_rows,)
        Group of each row.
    where : callable
        Words for a row.
    rules : Rules
        What the user said about columns.

    Returns
    -------
    pool : Pool
        The columns that can be used.
    odd : list of Column
        Columns with a reason to be left out, a fault, or a remark.
    """
    if any(sp.issparse(table.values) for table in tables):
        tables = [_without_frame(table) for table in tables]
    names = tables[0].columns
    if not any(table.is_frame for table in tables):
        return _of_common_precision(Pool(names, _stacked([table.values for table in tables]), names), groups)
    frames = [table.frame() for table in tables]
    if all(map(_is_floats, frames)) and not any(map(names_identifier, names)):
        # One block: ten thousand columns need not be looked at one by one. A copy, as pandas' is read-only.
        dtype = _float_type(dtype for frame in frames for dtype in frame.dtypes)
        matrix = np.concatenate([frame.to_numpy(dtype) for frame in frames])
        pool, remarks = _of_common_precision(Pool(names, matrix, names), groups)
        return _with_two_valued(pool), remarks
    labels = [table.label for table in tables]
    columns = [
        classify(name, [read_column(frame[name]) for frame in frames], labels, groups, where, rules)
        for name in names
    ]
    return _pool(columns, len(groups)), [c for c in columns if c.reason or c.fault or c.remark]


def _with_two_valued(pool: Pool) -> Pool:
    """Columns of two different numbers as categories, found without inspecting every column."""
    head = pool.numbers[:_HEAD]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # columns that begin with NaN
        low, high = np.nanmin(head, axis=0), np.nanmax(head, axis=0)
    possible = np.flatnonzero(((head == low) | (head == high) | np.isnan(head)).all(axis=0)).tolist()
    found = {
        pool.numeric[place]: two_valued(pool.numbers[:, place], pool.precision.get(pool.numeric[place]))
        for place in possible
    }
    levels = {name: column for name, column in found.items() if column is not None}
    return replace(pool.without(list(levels)), order=pool.order, levels=levels) if levels else pool


def _is_floats(frame: pd.DataFrame) -> bool:
    return all(isinstance(dtype, np.dtype) and dtype.kind == "f" for dtype in frame.dtypes)


def _float_type(dtypes: Iterable[np.dtype]) -> type:
    return np.float32 if all(dtype == np.float32 for dtype in dtypes) else np.float64


def _stacked(blocks: Sequence[Any]) -> NDArray | sp.csr_matrix:
    if len(blocks) == 1:
        return blocks[0]
    if any(sp.issparse(block) for block in blocks):
        return sp.vstack([sp.csr_matrix(block) for block in blocks], format="csr")
    return np.concatenate(blocks)


def _of_common_precision(pool: Pool, groups: NDArray) -> tuple[Pool, list[Column]]:
    """A table of numbers whose columns have one precision each, and what is to be said of them."""
    numbers = pool.numbers
    if sp.issparse(numbers):
        # Entries of a sparse matrix were made together: they are looked at as one column.
        entries, grid, remark = to_common_precision(numbers.data, np.repeat(groups, np.diff(numbers.indptr)))
        rounded: Any = numbers
        if grid is not None:
            rounded = sp.csr_matrix((entries, numbers.indices, numbers.indptr), shape=numbers.shape)
        found = [Column(name, remark=remark, precision=grid) for name in pool.numeric if remark]
    elif not has_mixed_precision(numbers, groups):
        return pool, []
    else:
        rounded, found = numbers.copy(), []
        for place, name in enumerate(pool.numeric):
            rounded[:, place], grid, remark = to_common_precision(numbers[:, place], groups)
            found.append(Column(name, remark=remark, precision=grid))
    return replace(pool, numbers=rounded, precision=_precision(found)), [c for c in found if c.remark]


def _precision(columns: Sequence[Column]) -> dict[str, Precision]:
    return {column.name: column.precision for column in columns if column.precision is not None}


def _without_frame(table: Table) -> Table:
    """A frame beside a sparse table: it must be numbers only, or the sparse one would have to be dense."""
    if not isinstance(table.values, pd.DataFrame):
        return table
    parts = {name: read_column(table.values[name]) for name in table.columns}
    # Text that could be read as numbers is refused too, as nobody here would learn that it was.
    usable = {"number", "boolean", "empty"}
    wrong = [
        name
        for name, part in parts.items()
        if part.kind not in usable or (part.codes is not None and part.remark)
    ]
    if wrong:
        raise ValueError(
            f"the other table is sparse, so {table.label} must hold numbers only: {listed(wrong)} do not; "
            f"leave them out with {option('exclude')}"
        )
    numbers = np.column_stack([part.as_numbers() for part in parts.values()])
    return replace(table, values=sp.csr_matrix(numbers))


def _pool(columns: Sequence[Column], n_rows: int) -> Pool:
    numeric = {column.name: column.numbers for column in columns if column.numbers is not None}
    dtype = _float_type(values.dtype for values in numeric.values()) if numeric else np.float64
    numbers: NDArray = np.empty((n_rows, len(numeric)), dtype=dtype)
    for place, values in enumerate(numeric.values()):
        numbers[:, place] = values
    levels = {column.name: column.levels for column in columns if column.levels is not None}
    dates = {column.name: column.dates for column in columns if column.dates is not None}
    used = {*numeric, *levels, *dates}
    order = [column.name for column in columns if column.name in used]
    return Pool(order, numbers, list(numeric), levels, dates, _precision(columns))


def bad_cells(pool: Pool, *, infinite: bool) -> dict[str, NDArray]:
    """Rows with a missing (or an infinite or too large) value, for each column that has any.

    Parameters
    ----------
    pool : Pool
        Columns.
    infinite : bool
        Look for infinite values and those beyond `LARGEST`, not for missing ones.

    Returns
    -------
    dict
        Row numbers, ascending, by column in the order of the table.
    """
    found: dict[str, NDArray] = {}
    if _suspicious(pool.numbers):
        found = _bad_numbers(pool, _is_too_large if infinite else np.isnan)
    if not infinite:
        empty = {name: column.codes == -1 for name, column in pool.levels.items()}
        empty |= {name: np.isnat(column) for name, column in pool.dates.items()}
        found |= {name: np.flatnonzero(rows) for name, rows in empty.items() if rows.any()}
    return {name: found[name] for name in pool.order if name in found}


def _is_too_large(values: NDArray) -> NDArray[np.bool_]:
    # Of float32, which knows no such number, infinity is one too.
    return np.abs(values) > min(LARGEST, float(np.finfo(values.dtype).max))


def _suspicious(numbers: Any) -> bool:
    """Whether to look closely: one pass over the numbers settles the usual case."""
    values = numbers.data if sp.issparse(numbers) else numbers
    # Comparisons with NaN are false.
    return bool(values.size) and not (-LARGEST <= float(values.min()) and float(values.max()) <= LARGEST)


def _bad_numbers(pool: Pool, test: Callable[[NDArray], NDArray]) -> dict[str, NDArray]:
    if sp.issparse(pool.numbers):
        entries = pool.numbers.tocoo()
        bad = test(entries.data)
        rows, columns = entries.row[bad], entries.col[bad]
    else:
        rows, columns = np.nonzero(test(np.asarray(pool.numbers)))
    order = np.lexsort((rows, columns))
    places, starts = np.unique(columns[order], return_index=True)
    pieces = np.split(rows[order], starts[1:]) if len(places) else []
    return {pool.numeric[place]: piece for place, piece in zip(places, pieces, strict=True)}
