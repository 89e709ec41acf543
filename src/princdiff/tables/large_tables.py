"""Tables with a budget of memory: read as any other where they fit, and kept in files where they do not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

from princdiff.data.memory import format_bytes
from princdiff.data.opening import out_of_core
from princdiff.data.parquet_paths import parquet_files
from princdiff.data.row_chunks import RowChunks
from princdiff.data.scratch import ScratchFile
from princdiff.data.sources import ParquetRows
from princdiff.data.stored_columns import Feature, StoredColumn, StoredColumns
from princdiff.tables.column_files import ColumnFiles
from princdiff.tables.frames import Table, from_frame, take_object
from princdiff.tables.readers import read

# Bytes that a comparison in memory takes for every number of the table, and one from files for every row;
# what the libraries take is beside both.
BYTES_PER_NUMBER = 120
BYTES_PER_ROW = 150
LIBRARIES = 300_000_000


def open_table(source: Any, label: str, memory: int | None) -> Table:
    """A table that is read within a budget of memory.

    Parameters
    ----------
    source : path, list of paths, RowChunks, or whatever `read` takes
        Several parquet files with the same columns are one table.
    label : str
        What messages call an object in memory.
    memory : int, optional
        Budget in bytes; default: that of rows out of core, otherwise none.

    Returns
    -------
    Table
    """
    chunks = _chunks(source, memory)
    budget = memory if memory is not None else None if chunks is None else chunks.memory
    files = chunks.paths if isinstance(chunks, ParquetRows) else parquet_files(source)
    if files is not None:
        return _from_parquet(files, _names_of(chunks), budget)
    if chunks is None:
        return read(source, label)
    assert budget is not None
    if _fits(chunks.shape, budget):
        return _renamed(take_object(chunks.load(), chunks.label), _names_of(chunks))
    _check_budget(chunks.shape, budget, chunks.label)
    return _renamed(_stored(chunks, budget), _names_of(chunks))


def _names_of(chunks: RowChunks | None) -> list[str] | None:
    return None if chunks is None or chunks.feature_names is None else list(chunks.feature_names)


def _chunks(source: Any, memory: int | None) -> RowChunks | None:
    """Rows out of core, among what is no file and no AnnData: those are tables with names of their own."""
    if isinstance(source, RowChunks):
        return source
    if isinstance(source, str | pd.DataFrame | np.ma.MaskedArray) or hasattr(source, "obs"):
        return None
    if hasattr(source, "__fspath__"):
        return None
    return out_of_core(source) if memory is None else out_of_core(source, memory)


def _fits(shape: tuple[int, int], budget: int | None) -> bool:
    return budget is None or shape[0] * shape[1] * BYTES_PER_NUMBER + LIBRARIES <= budget


def _check_budget(shape: tuple[int, int], budget: int, label: str) -> None:
    """Refuse a budget in which one column cannot be worked on."""
    needed = BYTES_PER_ROW * shape[0] + LIBRARIES
    if budget < needed:
        raise ValueError(
            f"memory={format_bytes(budget)!r} is too little for the {shape[0]} rows of {label}: to compare "
            f"one column after the other takes {format_bytes(needed)}; give a larger memory= or fewer rows"
        )


def _from_parquet(files: list[Any], names: list[str] | None, budget: int | None) -> Table:
    label = files[0].name if len(files) == 1 else f"{files[0].name} and {len(files) - 1} more"
    if len(files) == 1 and budget is None and names is None:
        return read(files[0])
    columns = ColumnFiles(files, budget or 0, names)
    path = files[0] if len(files) == 1 else files[0].parent
    if _fits(columns.shape, budget):
        if len(files) == 1 and names is None:
            return read(files[0])
        frame = pd.DataFrame({name: columns[name] for name in columns.columns})
        return replace(from_frame(frame, label), path=path)
    assert budget is not None
    _check_budget(columns.shape, budget, label)
    return Table(columns, columns.columns, label, path=path)


def _stored(rows: RowChunks, budget: int) -> Table:
    """Rows out of core as a stored table, in one pass."""
    n_rows, n_columns = rows.shape
    file = ScratchFile()
    size = rows.dtype.itemsize
    columns = [StoredColumn(file, file.reserve(n_rows * size), rows.dtype, n_rows) for _ in range(n_columns)]
    for part, block in rows.blocks():
        values = block.toarray() if sp.issparse(block) else block
        for column, line in zip(columns, np.ascontiguousarray(values.T, dtype=rows.dtype), strict=True):
            file.write(column.place + part.start * size, line)
    stored = StoredColumns([Feature(column) for column in columns], budget, rows.dtype, n_rows)
    return Table(stored, tuple(f"x{place}" for place in range(n_columns)), rows.label, named=False)


def _renamed(table: Table, names: list[str] | None) -> Table:
    if names is None:
        return table
    values = table.values.set_axis(names, axis=1) if isinstance(table.values, pd.DataFrame) else table.values
    return replace(table, values=values, columns=tuple(map(str, names)), named=True)
