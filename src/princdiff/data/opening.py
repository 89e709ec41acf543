"""From a path, or an object that other libraries read lazily, to rows out of core."""

from __future__ import annotations

import os
from glob import glob, has_magic
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from princdiff.data import parameters
from princdiff.data.memory import DEFAULT_MEMORY, parse_memory
from princdiff.data.parameters import Either, File, Flag, Names, Text
from princdiff.data.row_chunks import RowChunks
from princdiff.data.sources import MappedRows, ParquetRows, StoredRows, StoredSparseRows
from princdiff.extras import extra


def open_rows(
    source: Any,
    *,
    memory: int | str = DEFAULT_MEMORY,
    layer: str | None = None,
    columns: list[str] | None = None,
    progress: bool = False,
) -> RowChunks:
    """Rows that stay in their file, or on their cluster, and are worked on in blocks.

    Parameters
    ----------
    source : path, list of paths, numpy.memmap, dask.array, backed AnnData or its X, h5py or zarr array
        Paths: .npy, .parquet, .h5ad, .zarr (an AnnData store). Several parquet files with the same columns
        are one table: a list of them, a pattern such as ``"big/*.parquet"``, or their folder.
    memory : int or str, default="2GB"
        Budget for the whole process; blocks, batches and samples of rows are sized to it.
    layer : str, optional
        Layer of an AnnData to use instead of X.
    columns : list of str, optional
        Columns of a parquet file; default: all.
    progress : bool, default=False
        Show a bar over the blocks of each pass, with the time left.

    Returns
    -------
    RowChunks
        For `compare`, `PDA.fit`, `SPARDA.fit`, their ``transform`` and ``score``, and `permutation_test`.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from princdiff import open_rows
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.save(f"{folder}/rows.npy", np.eye(4, 3))
    ...     rows = open_rows(f"{folder}/rows.npy", memory="100MB")
    ...     rows.shape, rows.load()[0]
    ((4, 3), array([1., 0., 0.]))
    """
    parameters.check(
        {"layer": layer, "columns": columns, "progress": progress},
        layer=Either(Text(), None),
        columns=Either(Names(), None),
        progress=Flag(),
    )
    options = {"memory": parse_memory(memory), "progress": progress}
    files = parquet_files(source)
    if files is not None and layer is None:
        names = f"{files[0].name} and {len(files) - 1} more" if len(files) > 1 else files[0].name
        return _opened(ParquetRows(files, columns, label=names, **options))
    if isinstance(source, (str, os.PathLike)):
        parameters.check({"source": source}, source=File())
        return _opened(_from_path(Path(source).expanduser(), layer, columns, options))
    _refuse_options(source, layer, columns)
    if isinstance(source, RowChunks):
        return source
    rows = _from_object(source, layer, options)
    if rows is None:
        raise TypeError(
            f"source: {type(source).__name__} is not a path, memory map, Dask array or backed AnnData; rows "
            "in memory are given to fit as they are"
        )
    return _opened(rows)


def _refuse_options(source: Any, layer: str | None, columns: list[str] | None) -> None:
    """What chooses a part of a file, and would be ignored for an object."""
    name = type(source).__name__
    if columns is not None:
        raise ValueError(f"columns= is for parquet files, not for {name}; take its columns by indexing")
    if layer is not None and not hasattr(source, "layers"):
        raise ValueError(f"layer= is for AnnData, not for {name}")


def _opened(rows: RowChunks) -> RowChunks:
    """The rows, unless their budget allows no work at all: better said now than after a pass over them."""
    if not rows.fits:
        rows.check_budget()
    return rows


def out_of_core(X: Any, memory: int | str = DEFAULT_MEMORY) -> RowChunks | None:
    """Rows out of core for what a user gave to ``fit``, or None for rows in memory."""
    if isinstance(X, RowChunks):
        return X
    if isinstance(X, os.PathLike):
        return open_rows(X, memory=memory)
    return _from_object(X, None, {"memory": parse_memory(memory), "progress": False})


def _from_path(
    path: Path, layer: str | None, columns: list[str] | None, options: dict[str, Any]
) -> RowChunks:
    if not path.exists():
        raise FileNotFoundError(f"no such file: {str(path)!r}")
    ending = path.suffix.lower()
    if columns is not None and ending not in (".parquet", ".pq"):
        raise ValueError(f"columns= is for parquet files, not for {path.name}")
    if layer is not None and ending not in (".h5ad", ".zarr"):
        raise ValueError(f"layer= is for AnnData files, not for {path.name}")
    if ending == ".npy":
        try:
            array = np.load(path, mmap_mode="r")
        except (ValueError, EOFError) as error:
            raise ValueError(f"{path} is not a whole npy file of numbers ({error})") from error
        return _from_mapped(array, path.name, options)
    if ending in (".h5ad", ".zarr"):
        return _from_store(path, layer, options)
    raise ValueError(f"{path.name}: rows are read from .npy, .parquet, .h5ad and .zarr, not from {ending!r}")


def _from_mapped(array: Any, label: str, options: dict[str, Any]) -> RowChunks:
    if array.ndim != 2 or array.dtype.kind not in "biuf":
        raise ValueError(
            f"{label} must be a table of numbers, rows x features; it is {array.dtype}, shape {array.shape}"
        )
    return MappedRows(array, label=label, **options)


def _from_store(path: Path, layer: str | None, options: dict[str, Any]) -> RowChunks:
    """X or a layer of an h5ad file or an AnnData zarr store, without reading the rest."""
    try:
        group = _open_store(path)
        matrix = group["X"] if layer is None else group["layers"][layer]
    except KeyError as error:
        missing = "X" if layer is None else f"layer {layer!r}"
        raise ValueError(f"{path.name} has no {missing}") from error
    rows = _from_stored(matrix, path.name, path, options)
    names = np.asarray(_frame_in_store(group, "var").index, dtype=object)
    rows.feature_names = names if all(isinstance(name, str) for name in names) else None
    return rows


def obs_of_store(path: Path) -> pd.DataFrame:
    """What an h5ad file or an AnnData zarr store says about its rows, without reading the rows."""
    return _frame_in_store(_open_store(path), "obs")


def _open_store(path: Path) -> Any:
    extra("anndata", "anndata", f"reading {path.suffix}")
    try:
        if path.suffix.lower() == ".h5ad":
            return extra("h5py", "anndata", "reading .h5ad").File(path, "r")
        return extra("zarr", "anndata", "reading .zarr").open_group(str(path), mode="r")
    except Exception as error:
        raise ValueError(f"{path} is not a whole {path.suffix} file ({error})") from error


def _frame_in_store(group: Any, name: str) -> pd.DataFrame:
    anndata_io = __import__("anndata.io", fromlist=["read_elem"])
    return anndata_io.read_elem(group[name])


def _from_stored(matrix: Any, label: str, path: Any, options: dict[str, Any]) -> RowChunks:
    """An array or a sparse group of an open h5py or zarr file."""
    if hasattr(matrix, "shape"):
        if len(matrix.shape) != 2 or np.dtype(matrix.dtype).kind not in "biuf":
            raise ValueError(f"{label} must be a table of numbers, rows x features; shape {matrix.shape}")
        return StoredRows(matrix, path=path, label=label, **options)
    encoding = str(matrix.attrs.get("encoding-type", ""))
    if encoding == "csc_matrix":
        raise ValueError(
            f"{label} is stored by columns (CSC), whose rows cannot be read block by block; write it as CSR"
        )
    if encoding != "csr_matrix":
        raise ValueError(f"{label} is stored as {encoding or 'something unknown'}; CSR or an array is needed")
    return StoredSparseRows(matrix, tuple(matrix.attrs["shape"]), path=path, label=label, **options)


def _from_object(X: Any, layer: str | None, options: dict[str, Any]) -> RowChunks | None:
    """Objects are recognised by the library they come from, which need not be installed otherwise."""
    if isinstance(X, np.memmap):
        return _from_mapped(X, "X", options) if X.ndim == 2 and X.dtype.kind in "biuf" else None
    library = type(X).__module__.split(".")[0]
    if library == "dask" and hasattr(X, "to_delayed") and hasattr(X, "chunks"):
        from princdiff.data.dask_rows import DaskRows

        return DaskRows(X, label="X", **options)
    if library == "anndata":
        if hasattr(X, "isbacked"):
            return _from_anndata(X, layer, options)
        if hasattr(X, "format") and hasattr(X, "group"):
            return _from_stored(X.group, "X", _file_of(X.group), options)
    if library in ("h5py", "zarr") and hasattr(X, "shape"):
        return _from_stored(X, "X", _file_of(X), options)
    return None


def _from_anndata(adata: Any, layer: str | None, options: dict[str, Any]) -> RowChunks | None:
    matrix = adata.X if layer is None else adata.layers[layer]
    rows = _from_object(matrix, None, options)
    if rows is None:
        raise TypeError("this AnnData is in memory: give its X to fit; rows out of core need a backed one")
    rows.feature_names = np.asarray(adata.var_names, dtype=object)
    return rows


def _file_of(stored: Any) -> str | None:
    """File of an h5py object; None for others."""
    return getattr(getattr(stored, "file", None), "filename", None)


# Which parquet files are meant: one file, a pattern, a folder, or a list of them.


_ENDINGS = (".parquet", ".pq")


def parquet_files(source: Any) -> list[Path] | None:
    """Files behind a path, a pattern such as ``big/*.parquet``, a folder, or a list; None if not parquet.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name in ("b.parquet", "a.parquet"):
    ...         _ = (Path(folder) / name).write_bytes(b"")
    ...     [path.name for path in parquet_files(f"{folder}/*.parquet") or []]
    ['a.parquet', 'b.parquet']
    """
    if isinstance(source, list | tuple):
        found = [parquet_files(item) for item in source] if source else [None]
        if all(isinstance(item, str | Path) for item in source) and all(part is not None for part in found):
            return [path for part in found for path in part or []]
        return None
    if not isinstance(source, str | Path):
        return None
    path = Path(source).expanduser()
    if path.is_dir():
        inside = sorted(entry for ending in _ENDINGS for entry in path.glob(f"*{ending}"))
        return inside or None
    if path.exists():
        return [path] if path.suffix.lower() in _ENDINGS else None
    if has_magic(str(path)) and path.suffix.lower() in _ENDINGS:
        matching = sorted(Path(name) for name in glob(str(path)))
        if not matching:
            raise FileNotFoundError(f"no file matches {str(source)!r}")
        return matching
    return None
