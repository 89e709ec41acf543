"""Tables with a budget of memory: read as any other where they fit, and kept in files where they do not."""

from __future__ import annotations

from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

from princdiff.data.memory import DEFAULT_MEMORY, format_bytes, parse_memory
from princdiff.data.opening import obs_of_store, open_rows, out_of_core, parquet_files
from princdiff.data.row_chunks import RowChunks
from princdiff.data.scratch import ScratchFile
from princdiff.data.sources import ParquetRows
from princdiff.data.stored_columns import Feature, StoredColumn, StoredColumns
from princdiff.data.stored_sparse import sparse_step, stored_columns_of
from princdiff.tables.column_files import ColumnFiles
from princdiff.tables.dask_columns import DaskColumns, is_dask_frame
from princdiff.tables.frames import Table, from_frame, refuse_duplicates, renamed, take_object
from princdiff.tables.readers import read

# Bytes that a comparison in memory takes for every number of the table, and one from files for every row;
# what the libraries take is beside both.
BYTES_PER_NUMBER = 120
BYTES_PER_ROW = 150
LIBRARIES = 300_000_000
# Times that the bytes of stored sparse rows are taken by a comparison of them in memory.
SPARSE_COPIES = 6
# Share of numbers that are stored up to which sparse rows stay sparse in files; part of a budget that others
# take where they are made dense.
_SPARSE_SHARE = 0.3
_DENSE_SHARE = 32


def open_table(source: Any, label: str, memory: int | None) -> Table:
    """A table that is read within a budget of memory.

    Parameters
    ----------
    source : path, list of paths, RowChunks, Dask DataFrame, or whatever `read` takes
        Several parquet files with the same columns are one table.
    label : str
        What messages call an object in memory.
    memory : int, optional
        Budget in bytes; default: that of rows out of core, otherwise none.

    Returns
    -------
    Table
    """
    if is_dask_frame(source):
        return _from_dask(source, label, parse_memory(DEFAULT_MEMORY) if memory is None else memory)
    cells = None if memory is None else _cells(source, memory)
    if cells is not None:
        return cells
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


def _from_dask(frame: Any, label: str, budget: int) -> Table:
    columns = DaskColumns(frame, budget)
    if _fits(columns.shape, budget):
        return from_frame(columns.whole(), label)
    refuse_duplicates(columns.columns, label)
    _check_budget(columns.shape, budget, label)
    return Table(columns, columns.columns, label)


def _cells(source: Any, budget: int) -> Table | None:
    """Cells of an AnnData file, or of a backed AnnData, that do not fit; None for anything else."""
    path = Path(source).expanduser() if isinstance(source, str | PathLike) else None
    stored = path is not None and path.suffix.lower() in (".h5ad", ".zarr") and path.exists()
    if not stored and not getattr(source, "isbacked", False):
        return None
    rows = open_rows(source, memory=budget)
    as_sparse = rows.sparse and SPARSE_COPIES * rows.shape[0] * rows.row_bytes + LIBRARIES <= budget
    if as_sparse or _fits(rows.shape, budget):
        return None
    _check_budget(rows.shape, budget, rows.label)
    about = source.obs.copy(deep=False) if path is None else obs_of_store(path)
    about.columns = [str(name) for name in about.columns]
    assert rows.feature_names is not None
    return replace(renamed(_stored(rows, budget), list(rows.feature_names)), about=about, path=path)


def _stored(rows: RowChunks, budget: int) -> Table:
    """Rows out of core as a stored table, in one pass."""
    n_rows, n_columns = rows.shape
    size = rows.dtype.itemsize
    if rows.sparse and rows.row_bytes <= _SPARSE_SHARE * n_columns * (4 + size):
        step = sparse_step(budget, rows.row_bytes)
        columns = stored_columns_of(rows.blocks(), n_rows, n_columns, rows.dtype, step)
        return _table_of([Feature(column) for column in columns], budget, rows)
    file = ScratchFile()
    dense = [StoredColumn(file, file.reserve(n_rows * size), rows.dtype, n_rows) for _ in range(n_columns)]
    step = max(1, budget // (_DENSE_SHARE * n_columns * size)) if rows.sparse else n_rows
    for part, block in rows.blocks():
        for start in range(0, block.shape[0], step):
            some = block[start : start + step]
            values = some.toarray() if sp.issparse(some) else some
            for column, line in zip(dense, np.ascontiguousarray(values.T, dtype=rows.dtype), strict=True):
                file.write(column.place + (part.start + start) * size, line)
    return _table_of([Feature(column) for column in dense], budget, rows)


def _table_of(features: list[Feature], budget: int, rows: RowChunks) -> Table:
    stored = StoredColumns(features, budget, rows.dtype, rows.shape[0])
    return Table(stored, tuple(f"x{place}" for place in range(len(features))), rows.label, named=False)


def _renamed(table: Table, names: list[str] | None) -> Table:
    if names is None:
        return table
    values = table.values.set_axis(names, axis=1) if isinstance(table.values, pd.DataFrame) else table.values
    return replace(table, values=values, columns=tuple(map(str, names)), named=True)
