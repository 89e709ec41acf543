"""Files of several formats as tables.

A file that is not what its name says gets one sentence that names the file and the way out, not the
traceback of a parser. Optional readers are imported where they are used, so that nobody needs them all.
"""

from __future__ import annotations

import csv
import gzip
import os
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
    refuse_duplicates,
    renamed,
    suggestion,
    take_object,
)

_SEPARATORS = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
_SPOKEN = {",": "commas", "\t": "tabs", ";": "semicolons", "|": "bars"}
_FORMATS = ".csv, .tsv, .csv.gz, .tsv.gz, .parquet, .feather, .npz, .npy, .h5ad"
_NAME_KEYS = ("feature_names", "features", "columns", "names", "var_names")
_ROW_KEYS = ("X", "data", "rows")


def read(source: Any, label: str = "X") -> Table:
    """Read a file or take an object in memory.

    Parameters
    ----------
    source : path, DataFrame (pandas or polars), array, scipy.sparse matrix, AnnData
        Files: csv and tsv (also .gz, UTF-8, with a header), parquet, feather, npz, npy, h5ad. In text files
        empty fields and pandas' usual marks (NA, NaN, null, None ...) are missing values.
    label : str
        What messages call an object in memory; a file is called by its name.

    Returns
    -------
    Table

    Examples
    --------
    >>> table = read(pd.DataFrame({"height": [1.7, 1.8], "city": ["Oslo", "Rome"]}))
    >>> table.columns
    ('height', 'city')
    >>> read(np.eye(2)).columns
    ('x0', 'x1')
    """
    if isinstance(source, (str, os.PathLike)):
        table = _read_file(Path(source).expanduser())
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
    ending = _ending(path)
    if ending in _SEPARATORS:
        table = from_frame(_read_text(path, _SEPARATORS[ending]), path.name)
    elif ending in (".parquet", ".pq", ".feather"):
        table = from_frame(_read_arrow(path, ending), path.name)
    elif ending == ".npz":
        table = _read_npz(path)
    elif ending == ".npy":
        table = take_object(_load_numpy(path), path.name)
    elif ending == ".h5ad":
        table = _read_h5ad(path)
    else:
        raise ValueError(f"{path.name}: the ending {ending!r} is not known; these are: {_FORMATS}")
    return replace(table, path=path)


def _check_path(path: Path) -> None:
    if path.is_dir():
        raise ValueError(f"{str(path)!r} is a folder; give one file in it")
    if not path.exists():
        folder = path.parent
        others = [entry.name for entry in folder.iterdir()] if folder.is_dir() else []
        raise FileNotFoundError(f"no such file: {str(path)!r}{suggestion(path.name, others)}")
    if not os.access(path, os.R_OK):
        raise ValueError(f"{str(path)!r} may not be read: permission denied")
    if path.stat().st_size == 0:
        raise ValueError(f"{path.name} is empty")


def _ending(path: Path) -> str:
    suffixes = [suffix.lower() for suffix in path.suffixes]
    # Only text is read compressed: the other formats compress by themselves.
    if suffixes[-1:] == [".gz"]:
        return suffixes[-2] if len(suffixes) > 1 and suffixes[-2] in _SEPARATORS else ".gz"
    return suffixes[-1] if suffixes else ""


def _read_text(path: Path, separator: str) -> pd.DataFrame:
    try:
        _check_header(path, _header(path, separator), separator)
        frame = pd.read_csv(path, sep=separator, skipinitialspace=True, low_memory=False)
    except UnicodeError as error:
        raise ValueError(f"{path.name} is not UTF-8 text ({error}); save it as UTF-8") from error
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise ValueError(f"{path.name} is not a whole gzip file: {_first_line(error)}") from error
    except pd.errors.EmptyDataError as error:
        raise ValueError(f"{path.name} is empty") from error
    except (pd.errors.ParserError, csv.Error) as error:
        spoken = f"text separated by {_SPOKEN[separator]}"
        raise ValueError(f"{path.name} cannot be read as {spoken}: {_first_line(error)}") from error
    return _without_row_names(path, frame)


def _header(path: Path, separator: str) -> list[str]:
    opener: Any = gzip.open if path.suffix.lower() == ".gz" else open
    with opener(path, "rt", encoding="utf-8-sig", newline="") as stream:
        for fields in csv.reader(stream, delimiter=separator, skipinitialspace=True):
            if fields:
                return [field.strip() for field in fields]
    raise ValueError(f"{path.name} is empty")


def _check_header(path: Path, header: list[str], separator: str) -> None:
    # pandas would rename the second "a" to "a.1", and take the first row of numbers as names.
    refuse_duplicates([name for name in header if name], path.name)
    other = next((mark for mark in _SPOKEN if mark != separator and mark in header[0]), None)
    if len(header) == 1 and other is not None:
        raise ValueError(
            f"{path.name} has one column only, with {other!r} in its header: it seems to be separated by "
            f"{_SPOKEN[other]}, not {_SPOKEN[separator]}; save it with {_SPOKEN[separator]}, or read it "
            f"with pandas.read_csv(..., sep={other!r}) and pass the table"
        )
    if _looks_like_values(header):
        raise ValueError(
            f"{path.name} begins with numbers ({listed(header, 3)}), not with column names; add a header line"
        )


def _looks_like_values(header: list[str]) -> bool:
    """All numbers, and not the 0, 1, 2 ... that pandas writes for columns without names."""
    try:
        numbers = [float(name) for name in header if name]
    except ValueError:
        return False
    counted = [float(position) for position in range(len(numbers))]
    return bool(numbers) and numbers not in (counted, [position + 1 for position in counted])


def _without_row_names(path: Path, frame: pd.DataFrame) -> pd.DataFrame:
    """R leaves the header of its row names out; pandas then makes them the index."""
    if isinstance(frame.index, pd.MultiIndex):
        raise ValueError(
            f"{path.name}: the rows have {frame.index.nlevels} fields more than the header has names; "
            "mind decimal commas and unquoted separators"
        )
    if not isinstance(frame.index, pd.RangeIndex):
        frame.index.name = "row names"
    frame.columns = [str(name).strip() for name in frame.columns]
    return frame


def _read_arrow(path: Path, ending: str) -> pd.DataFrame:
    extra("pyarrow", "parquet", f"reading {path.name}")
    try:
        return pd.read_feather(path) if ending == ".feather" else pd.read_parquet(path, engine="pyarrow")
    except (ValueError, OSError, TypeError, NotImplementedError) as error:
        kind = "feather" if ending == ".feather" else "parquet"
        raise ValueError(f"{path.name} cannot be read as {kind}: {_first_line(error)}") from error


def _load_numpy(path: Path) -> Any:
    try:
        return np.load(path, allow_pickle=False)
    except (ValueError, OSError, EOFError, zipfile.BadZipFile) as error:
        # A pickled array could run anything while it is read, so it is refused.
        reason = "it holds Python objects" if "pickle" in str(error) else _first_line(error)
        raise ValueError(f"{path.name} cannot be read as NumPy arrays: {reason}") from error


def _read_npz(path: Path) -> Table:
    archive = _load_numpy(path)
    try:
        if {"format", "shape", "data"} <= set(archive.files):
            return take_object(sp.load_npz(path), path.name)
        arrays = {key: archive[key] for key in archive.files}
    except (ValueError, OSError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        reason = "it holds Python objects" if "pickle" in str(error) else _first_line(error)
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


def _read_h5ad(path: Path) -> Table:
    anndata = extra("anndata", "anndata", f"reading {path.name}")
    try:
        data = anndata.read_h5ad(path)
    except Exception as error:  # h5py and anndata raise many kinds, all of which mean this
        raise ValueError(f"{path.name} cannot be read as h5ad: {_first_line(error)}") from error
    return from_anndata(data, path.name)


def _first_line(error: BaseException) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]
