"""Columns of Arrow tables as arrays: numbers with NaN for gaps, and codes of known levels."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from princdiff.extras import extra
from princdiff.profiles.ruler import CountedColumn
from princdiff.tables.column_values import level_name


def arrow() -> Any:
    """The library; an error says how to install it."""
    return extra("pyarrow", "parquet", "a profile")


def column_of(table: Any, name: str, part: str) -> Any:
    """One column of a table or batch, in one piece."""
    if name not in table.schema.names:
        raise ValueError(f"{part} has no column {name!r}; all parts of a table need the same columns")
    pa = arrow()
    column = table.column(name)
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def numbers(table: Any, column: CountedColumn, part: str) -> NDArray[np.float64]:
    """A column of numbers, shape (n_rows,), NaN where missing."""
    pa = arrow()
    found = column_of(table, column.name, part)
    try:
        values = found.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise ValueError(
            f"column {column.name!r} holds numbers elsewhere, but {found.type} in {part}: {error}"
        ) from error
    return np.ascontiguousarray(values, dtype=np.float64)


def codes(table: Any, column: CountedColumn, part: str) -> NDArray[np.int64]:
    """Places of a column's levels, shape (n_rows,): unknown ones after the known, then gaps."""
    names, indices = labels(column_of(table, column.name, part))
    levels = {level: place for place, level in enumerate(column.coding.levels or ())}
    other, gap = column.n_bins - 2, column.n_bins - 1
    places = np.array([*(levels.get(name, other) if name.strip() else gap for name in names), gap])
    return places[indices]


def labels(column: Any) -> tuple[list[str], NDArray[np.int64]]:
    """Distinct values as texts, and the place of each row's among them; -1 where missing.

    Examples
    --------
    >>> import pyarrow as pa
    >>> labels(pa.array(["b", None, "a", "b"]))
    (['b', 'a'], array([ 0, -1,  1,  0]))
    """
    pa = arrow()
    if not pa.types.is_dictionary(column.type):
        if pa.types.is_floating(column.type):
            column = pa.compute.if_else(pa.compute.is_nan(column), None, column)
        column = column.dictionary_encode()
    indices = column.indices.cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False)
    values = column.dictionary.to_pylist()
    # A dictionary may hold a missing value itself.
    place = np.array([-1 if value is None else k for k, value in enumerate(values)] + [-1], dtype=np.int64)
    return ["" if value is None else level_name(value) for value in values], place[indices]
