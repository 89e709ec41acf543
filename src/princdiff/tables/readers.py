"""Files of several formats as tables.

A file that is not what its name says gets one sentence that names the file and the way out, not the
traceback of a parser. Optional readers are imported where they are used, so that nobody needs them all.
"""

from __future__ import annotations

import gzip
import os
import re
import zipfile
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from numpy.typing import NDArray

from princdiff.extras import extra
from princdiff.tables.frames import (
    Table,
    decoded,
    from_anndata,
    from_frame,
    listed,
    renamed,
    suggestion,
    take_object,
)
from princdiff.tables.text_files import (
    SEPARATORS,
    TextFile,
    first_line,
    read_text,
    text_in_memory,
    text_of_column,
)

_SEPARATORS = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
_FORMATS = ".csv, .tsv, .csv.gz, .tsv.gz, .parquet, .feather, .npz, .npy, .h5ad, .zarr"
_NAME_KEYS = ("feature_names", "features", "columns", "names", "var_names")
_ROW_KEYS = ("X", "data", "rows")
# A path drops one of the two slashes.
_ADDRESS = re.compile(r"[a-z][a-z0-9+]+:/", re.IGNORECASE)


def read(source: Any, label: str = "X") -> Table:
    """Read a file or take an object in memory.

    Parameters
    ----------
    source : path, open file, DataFrame (pandas or polars), array, scipy.sparse matrix, AnnData
        Files: csv and tsv (also .gz, UTF-8, with a header), parquet, feather, npz, npy, h5ad, zarr (an
        AnnData store). In text files empty fields and pandas' usual marks (NA, NaN, null ...) are
        missing values. Open files and pipes must hold csv or tsv.
    label : str
        What messages call an object in memory; a file is called by its name.

    Returns
    -------
    Table

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from princdiff.tables import read
    >>> table = read(pd.DataFrame({"height": [1.7, 1.8], "city": ["Oslo", "Rome"]}))
    >>> table.columns
    ('height', 'city')
    >>> read(np.eye(2)).columns
    ('x0', 'x1')
    """
    if isinstance(source, (str, os.PathLike)):
        table = _read_file(Path(source).expanduser())
    elif hasattr(source, "read") and hasattr(source, "readline"):
        table = _read_stream(source, label)
    else:
        table = take_object(source, label)
    if not table.columns:
        raise ValueError(f"{table.label} has no columns")
    if not table.n_rows:
        raise ValueError(f"{table.label} has columns but no rows")
    return table


def stem(path: Path) -> str:
    """File name without its endings: ``a.csv.gz`` is ``a``."""
    shortened = path.with_suffix("") if path.suffix.lower() == ".gz" else path
    return shortened.stem


def _read_file(path: Path) -> Table:
    _check_path(path)
    if _is_store(path):
        return replace(_read_anndata(path, "zarr"), path=path)
    if not path.is_file():
        # A pipe, such as the shell makes of <(zcat a.csv.gz): it has no size and is read once.
        with path.open("rb") as stream:
            return replace(_read_stream(stream, path.name), label=path.name)
    ending = _ending(path)
    if ending in _SEPARATORS:
        table = _read_text(path, _SEPARATORS[ending])
    elif ending in (".parquet", ".pq", ".feather"):
        table = from_frame(_read_arrow(path, ending), path.name)
    elif ending == ".npz":
        table = _read_npz(path)
    elif ending == ".npy":
        table = take_object(_load_numpy(path), path.name)
    elif ending == ".h5ad":
        table = _read_anndata(path, "h5ad")
    else:
        raise ValueError(
            f"{path.name}: the ending {ending!r} is not known; these are: {_FORMATS}. Save the table as one "
            "of them, or read it with pandas and pass the DataFrame"
        )
    return replace(table, path=path)


def _is_store(path: Path) -> bool:
    """Whether a folder is a zarr store, by its name."""
    return path.is_dir() and path.suffix.lower() == ".zarr"


def _check_path(path: Path) -> None:
    if path.is_dir() and not _is_store(path):
        raise ValueError(f"{str(path)!r} is a folder; give one file in it")
    if not path.exists() and _ADDRESS.match(str(path)):
        raise ValueError(f"{str(path)!r} is an address, not a file; download the table first")
    if not path.exists():
        folder = path.parent
        others = [entry.name for entry in folder.iterdir()] if folder.is_dir() else []
        raise FileNotFoundError(f"no such file: {str(path)!r}{suggestion(path.name, others)}")
    if not os.access(path, os.R_OK):
        raise ValueError(f"{str(path)!r} may not be read: permission denied")
    if path.is_file() and path.stat().st_size == 0:
        raise ValueError(f"{path.name} is empty")


def _ending(path: Path) -> str:
    suffixes = [suffix.lower() for suffix in path.suffixes]
    # Only text is read compressed: the other formats compress on their own.
    if suffixes[-1:] == [".gz"]:
        return suffixes[-2] if len(suffixes) > 1 and suffixes[-2] in _SEPARATORS else ".gz"
    return suffixes[-1] if suffixes else ""


def _read_text(path: Path, separator: str) -> Table:
    opener: Any = gzip.open if path.suffix.lower() == ".gz" else open
    return _from_text(TextFile(path.name, lambda: opener(path, "rb"), separator))


def _from_text(source: TextFile) -> Table:
    frame, found = read_text(source)
    table = from_frame(frame, source.name)
    notes = table.notes
    if found.separator != source.separator:
        notes += (f"{source.name}: fields are separated by {SEPARATORS[found.separator]}.",)
    return replace(table, notes=notes, written=lambda name: text_of_column(found, frame, name))


def _read_stream(stream: Any, label: str) -> Table:
    """Text from a pipe, the standard input or an open file."""
    content = stream.read()
    name = getattr(stream, "name", label)
    name = name.strip("<>") if isinstance(name, str) else label
    if isinstance(content, str):
        content = content.encode()
    if not content:
        raise ValueError(f"{name} is empty")
    try:
        return _from_text(text_in_memory(content, name))
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise ValueError(f"{name} is not a whole gzip file: {first_line(error)}") from error


def _read_arrow(path: Path, ending: str) -> pd.DataFrame:
    extra("pyarrow", "parquet", f"reading {path.name}")
    try:
        return pd.read_feather(path) if ending == ".feather" else pd.read_parquet(path, engine="pyarrow")
    except (ValueError, OSError, TypeError, NotImplementedError) as error:
        kind = "feather" if ending == ".feather" else "parquet"
        raise ValueError(f"{path.name} cannot be read as {kind}: {first_line(error)}") from error


def _load_numpy(path: Path) -> Any:
    try:
        return np.load(path, allow_pickle=False)
    except (ValueError, OSError, EOFError, zipfile.BadZipFile) as error:
        # A pickled array could run anything while it is read, so it is refused.
        reason = "it holds Python objects" if "pickle" in str(error) else first_line(error)
        raise ValueError(f"{path.name} cannot be read as NumPy arrays: {reason}") from error


def _read_npz(path: Path) -> Table:
    archive = _load_numpy(path)
    try:
        if {"format", "shape", "data"} <= set(archive.files):
            return take_object(sp.load_npz(path), path.name)
        arrays = {key: archive[key] for key in archive.files}
    except (ValueError, OSError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        reason = "it holds Python objects" if "pickle" in str(error) else first_line(error)
        raise ValueError(f"{path.name} cannot be read as NumPy arrays: {reason}") from error
    finally:
        archive.close()
    return _from_arrays(arrays, path.name)


def _from_arrays(arrays: dict[str, NDArray], label: str) -> Table:
    """The one matrix of an npz file; its vectors name columns or describe rows."""
    key = _rows_key(arrays, label)
    table = take_object(arrays[key], label)
    n_columns = len(table.columns)
    others = {name: array for name, array in arrays.items() if name != key}
    name_key = next((n for n in _NAME_KEYS if n in others and others[n].shape == (n_columns,)), None)
    if name_key is not None:
        table = renamed(table, others.pop(name_key).tolist())
    vectors = {name: array for name, array in others.items() if array.shape == (table.n_rows,)}
    unused = [name for name in others if name not in vectors]
    notes = (f"{label}: {listed(unused)} not used; the rows are {key!r}.",) if unused else ()
    about = pd.DataFrame({name: decoded(vector) for name, vector in vectors.items()}) if vectors else None
    return replace(table, about=about, notes=table.notes + notes)


def _rows_key(arrays: dict[str, NDArray], label: str) -> str:
    matrices = [name for name, array in arrays.items() if array.ndim == 2]
    preferred = [name for name in _ROW_KEYS if name in matrices]
    if len(matrices) == 1 or preferred:
        return preferred[0] if preferred else matrices[0]
    found = ", ".join(f"{name!r} {array.shape}" for name, array in arrays.items()) or "nothing"
    raise ValueError(
        f"{label} does not show which array holds the rows: it has {found}; "
        "store one array of two dimensions, or call it 'X'"
    )


def _read_anndata(path: Path, kind: str) -> Table:
    anndata = extra("anndata", "anndata", f"reading {path.name}")
    if kind == "zarr":
        extra("zarr", "anndata", f"reading {path.name}")
    try:
        data = anndata.read_h5ad(path) if kind == "h5ad" else anndata.read_zarr(path)
    except Exception as error:  # h5py, zarr and anndata raise many kinds, all of which mean this
        raise ValueError(f"{path.name} cannot be read as {kind}: {first_line(error)}") from error
    return from_anndata(data, path.name)
