"""Tables that lie in files or on a cluster: how large they are, and reading those that fit into memory."""

from __future__ import annotations

from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from princdiff.data.memory import DEFAULT_MEMORY, format_bytes, parse_memory
from princdiff.data.opening import obs_of_store, open_rows, out_of_core, parquet_files
from princdiff.data.row_chunks import RowChunks
from princdiff.data.sources import ParquetRows
from princdiff.extras import extra
from princdiff.options import option
from princdiff.tables.frames import Table, from_frame, renamed, take_object
from princdiff.tables.readers import read

# Bytes that a comparison of rows in memory takes for every number of the table; libraries are beside that.
BYTES_PER_NUMBER = 120
LIBRARIES = 300_000_000
# Times that the bytes of stored sparse rows are taken by a comparison of them in memory.
SPARSE_COPIES = 6


class Extent(NamedTuple):
    """How large a table is that is not in memory, and what of the budget it would take."""

    n_rows: int
    n_columns: int
    bytes: float
    budget: int | None
    label: str

    @property
    def fits(self) -> bool:
        """Whether its rows may be compared in memory."""
        return self.budget is None or self.bytes + LIBRARIES <= self.budget


def extent_of(source: Any, memory: int | None = None) -> Extent | None:
    """How large a table is, without reading it; None for what is in memory, and files without footers.

    Parameters
    ----------
    source : table, path or list of paths
    memory : int, optional
        Budget in bytes; default: that of rows out of core, otherwise none.
    """
    if is_dask_frame(source):
        shape = int(source.map_partitions(len).compute().sum()), len(source.columns)
        return _extent(shape, parse_memory(DEFAULT_MEMORY) if memory is None else memory, "X")
    files = parquet_files(source)
    if files is not None:
        return _extent(_shape_of_files(files), memory, files[0].name)
    rows = row_blocks(source, memory)
    if rows is None:
        return None
    budget = rows.memory if memory is None and not _is_stored(source) else memory  # type: ignore[assignment]
    found = _extent(rows.shape, budget, rows.label)
    return found._replace(bytes=SPARSE_COPIES * rows.shape[0] * rows.row_bytes) if rows.sparse else found


def _extent(shape: tuple[int, int], budget: int | None, label: str) -> Extent:
    return Extent(*shape, shape[0] * shape[1] * BYTES_PER_NUMBER, budget, label)


def is_dask_frame(source: Any) -> bool:
    """Whether an object is a Dask DataFrame, recognised by its library, which need not be installed."""
    library = type(source).__module__.split(".")[0]
    return library in ("dask", "dask_expr") and hasattr(source, "npartitions") and hasattr(source, "columns")


def row_blocks(source: Any, memory: int | None = None) -> RowChunks | None:
    """Rows of numbers that are read block by block: opened ones, stores, memory maps, Dask arrays."""
    if isinstance(source, RowChunks):
        return source
    if _is_stored(source) or getattr(source, "isbacked", False):
        return open_rows(source, memory=DEFAULT_MEMORY if memory is None else memory)
    if isinstance(source, str | PathLike | pd.DataFrame | np.ma.MaskedArray) or hasattr(source, "obs"):
        return None
    return out_of_core(source) if memory is None else out_of_core(source, memory)


def about_rows(source: Any) -> pd.DataFrame:
    """What a store or a backed AnnData says about its rows, as columns; none of other sources."""
    about = obs_of_store(Path(source).expanduser()) if _is_stored(source) else getattr(source, "obs", None)
    if about is None:
        return pd.DataFrame()
    return about.set_axis([str(name) for name in about.columns], axis=1)


def _is_stored(source: Any) -> bool:
    if not isinstance(source, str | PathLike):
        return False
    path = Path(source).expanduser()
    return path.suffix.lower() in (".h5ad", ".zarr") and path.exists()


def open_table(source: Any, label: str, memory: int | None) -> Table:
    """A table that is read into memory; an error if it does not fit there.

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
    extent = extent_of(source, memory) if memory is not None or not _is_stored(source) else None
    if extent is not None and not extent.fits:
        _refuse(extent)
    if is_dask_frame(source):
        frame = source.compute()
        named = any(name is not None for name in frame.index.names)
        return from_frame(frame if named else frame.reset_index(drop=True), label)
    rows = None if _is_stored(source) else row_blocks(source, memory)
    files = rows.paths if isinstance(rows, ParquetRows) else parquet_files(source)
    names = None if rows is None or rows.feature_names is None else list(rows.feature_names)
    if files is not None and (len(files) > 1 or names is not None):
        return _from_parquet(files, names)
    if files is not None:
        return read(files[0])
    if rows is None or hasattr(source, "obs"):
        return read(source, label)
    table = take_object(rows.load(), rows.label)
    return table if names is None else renamed(table, names)


def _refuse(extent: Extent) -> None:
    assert extent.budget is not None
    raise ValueError(
        f"{extent.label} has {extent.n_rows} rows of {extent.n_columns} columns, which take about "
        f"{format_bytes(extent.bytes + LIBRARIES)} to compare row by row, more than "
        f"{option('memory', format_bytes(extent.budget))}; "
        f"give more memory, or leave out what needs single rows ({option('covariates')}, "
        f"{option('sample_weight')}, dropped rows, dates by parts, rows to show, a checkpoint, blocks "
        "permuted within blocks), and sums over chunks of rows are compared"
    )


def _shape_of_files(files: list[Path]) -> tuple[int, int]:
    parquet = extra("pyarrow.parquet", "parquet", "reading parquet")
    n_rows, first = 0, None
    for path in files:
        try:
            found = parquet.ParquetFile(path)
        except (OSError, ValueError) as error:
            raise ValueError(f"{path} is not a whole parquet file ({error})") from error
        n_rows += found.metadata.num_rows
        names = columns_of(found.schema_arrow)
        first = names if first is None else first
        refuse_other_columns(path, names, files[0], first)
    return n_rows, len(first or ())


def _from_parquet(files: list[Path], names: list[str] | None) -> Table:
    """Files with the same columns as one table, in the order of the first."""
    label = files[0].name if len(files) == 1 else f"{files[0].name} and {len(files) - 1} more"
    _shape_of_files(files)
    parts = [read(path) for path in files]
    wanted = parts[0].columns if names is None else names
    frame = pd.concat([part.frame()[list(wanted)] for part in parts], ignore_index=True)
    return replace(from_frame(frame, label), path=files[0] if len(files) == 1 else files[0].parent)


def columns_of(schema: Any) -> tuple[str, ...]:
    """Columns of a parquet file, without those that are an index of pandas."""
    about = schema.pandas_metadata or {}
    index = {name for name in about.get("index_columns", []) if isinstance(name, str)}
    return tuple(name for name in schema.names if name not in index)


def refuse_other_columns(path: Path, own: tuple[str, ...], first: Path, names: tuple[str, ...]) -> None:
    """An error where a file has other columns than the first of its table."""
    absent, more = [n for n in names if n not in own], [n for n in own if n not in names]
    if absent or more:
        name = (absent or more)[0]
        with_it, without = (first, path) if absent else (path, first)
        raise ValueError(
            f"column {name!r} is in {with_it.name} but not in {without.name}: all files of one table need "
            "the same columns"
        )
