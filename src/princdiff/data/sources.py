"""Where rows out of core lie: arrays in files, sparse matrices in files, parquet tables.

Files are read with the libraries that define them. A file that is cut off, damaged or changed between two
passes gets an error that names it; no pass goes on with what it cannot trust.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from princdiff.data.row_chunks import Block, RowChunks
from princdiff.extras import extra


class FileState:
    """Size and time of a file when it was opened; another state later means that it was changed."""

    def __init__(self, path: str | Path | None) -> None:
        self._path = None if path is None else Path(path)
        self._state = self._look()

    def _look(self) -> tuple[int, int] | None:
        if self._path is None or not self._path.is_file():
            return None
        status = os.stat(self._path)
        return status.st_size, status.st_mtime_ns

    def check(self) -> None:
        """Raise if the file is not what it was."""
        if self._look() != self._state:
            raise ValueError(f"{self._path} was changed or removed while it was being read; start again")


class MappedRows(RowChunks):
    """A NumPy array in a file. Each block is mapped on its own, so that what was read does not stay resident.

    Parameters
    ----------
    array : numpy.memmap of shape (n_rows, n_features)
        The array, or a part of it.
    options
        As in `RowChunks`.
    """

    def __init__(self, array: np.memmap, **options: Any) -> None:
        super().__init__(
            array.shape, array.dtype, row_bytes=array.shape[1] * max(array.dtype.itemsize, 4), **options
        )
        self._array = array
        self._place = _place_in_file(array)
        self._state = FileState(None if self._place is None else self._place[0])

    def _read(self) -> Iterator[Block]:
        step = self.rows_per_block
        for start in range(0, self.shape[0], step):
            self._state.check()
            stop = min(start + step, self.shape[0])
            yield self._block(start, stop).astype(self.dtype)

    def _block(self, start: int, stop: int) -> NDArray:
        if self._place is None:
            return np.asarray(self._array[start:stop])
        path, offset = self._place
        width = self._array.dtype.itemsize * self.shape[1]
        shape = (stop - start, self.shape[1])
        try:
            return np.memmap(path, self._array.dtype, "r", offset + start * width, shape)
        except (OSError, ValueError) as error:
            raise ValueError(f"{path}: rows {start} to {stop} cannot be read ({error})") from error


def _place_in_file(array: np.memmap) -> tuple[Path, int] | None:
    """File and offset of an array whose rows follow each other in it; None for other views."""
    root: Any = array
    while isinstance(root.base, np.memmap):
        root = root.base
    if array.filename is None or not array.flags.c_contiguous:
        return None
    shift = array.__array_interface__["data"][0] - root.__array_interface__["data"][0]
    return Path(array.filename), int(root.offset) + shift


class StoredRows(RowChunks):
    """A dense array that a library reads in slices: h5py, zarr."""

    def __init__(self, array: Any, *, path: str | Path | None = None, **options: Any) -> None:
        super().__init__(
            array.shape, array.dtype, row_bytes=array.shape[1] * max(array.dtype.itemsize, 4), **options
        )
        self._array, self._state = array, FileState(path)

    def _read(self) -> Iterator[Block]:
        step = self.rows_per_block
        for start in range(0, self.shape[0], step):
            self._state.check()
            stop = min(start + step, self.shape[0])
            yield np.asarray(_sliced(self._array, start, stop, self.label), dtype=self.dtype)


class StoredSparseRows(RowChunks):
    """A sparse matrix in a file, stored by rows, as AnnData keeps it in h5ad and zarr.

    Parameters
    ----------
    group : h5py or zarr group
        With the arrays ``data``, ``indices`` and ``indptr``.
    shape : (int, int)
        Rows and features.
    path : str or Path, optional
        File in which the group lies.
    options
        As in `RowChunks`.
    """

    sparse = True

    def __init__(
        self, group: Any, shape: tuple[int, int], *, path: str | Path | None = None, **options: Any
    ) -> None:
        data, indices = group["data"], group["indices"]
        width = max(data.dtype.itemsize, 4) + indices.dtype.itemsize
        super().__init__(shape, data.dtype, row_bytes=width * data.shape[0] / max(1, shape[0]) + 8, **options)
        self._data, self._indices, self._indptr = data, indices, group["indptr"]
        self._state = FileState(path)
        if self._indptr.shape[0] != shape[0] + 1 or indices.shape != data.shape:
            raise ValueError(f"{self.label}: the stored sparse rows do not agree with their shape {shape}")

    def _read(self) -> Iterator[Block]:
        step = self.rows_per_block
        for start in range(0, self.shape[0], step):
            self._state.check()
            stop = min(start + step, self.shape[0])
            ends = np.asarray(_sliced(self._indptr, start, stop + 1, self.label), dtype=np.int64)
            first, last = int(ends[0]), int(ends[-1])
            if not 0 <= first <= last <= self._data.shape[0]:
                raise ValueError(
                    f"{self.label}: rows {start} to {stop} are damaged, their ends make no sense"
                )
            data = np.asarray(_sliced(self._data, first, last, self.label), dtype=self.dtype)
            indices = np.asarray(_sliced(self._indices, first, last, self.label))
            block = sp.csr_matrix((stop - start, self.shape[1]), dtype=self.dtype)
            block.data, block.indices = data, indices
            block.indptr = (ends - first).astype(indices.dtype)
            yield block


def _sliced(array: Any, start: int, stop: int, label: str) -> Any:
    try:
        return array[start:stop]
    except Exception as error:
        # Whatever a reader raises over a damaged file, it is the file that is at fault.
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise ValueError(
            f"{label}: rows {start} to {stop} cannot be read, the file is cut off or damaged ({reason})"
        ) from error


class ParquetRows(RowChunks):
    """Numeric columns of one or several parquet files, read row group by row group.

    Parameters
    ----------
    paths : Path or list of Path
        The files, the rows of one after the other's.
    columns : list of str, optional
        Columns to use; default: all. Columns that hold no numbers are refused when rows are read: a table
        can be compared by `princdiff.compare` with its text.
    options
        As in `RowChunks`.
    """

    def __init__(self, paths: Any, columns: list[str] | None = None, **options: Any) -> None:
        self._parquet = extra("pyarrow.parquet", "parquet", "reading parquet")
        self.paths = [Path(path) for path in (paths if isinstance(paths, list) else [paths])]
        self._states = [FileState(path) for path in self.paths]
        self._fault = ""
        names: list[str] = []
        kinds: list[np.dtype] = []
        n_rows = 0
        for path in self.paths:
            with self._opened(path) as file:
                n_rows += file.metadata.num_rows
                schema = file.schema_arrow
            names = names or (list(schema.names) if columns is None else list(columns))
            absent = [name for name in names if name not in schema.names]
            if absent:
                raise ValueError(f"{path} has no column {absent[0]!r}")
            kinds += [self._kind(schema.field(name), path) for name in names]
        dtype = np.float32 if all(kind == np.float32 for kind in kinds) else np.float64
        super().__init__(
            (n_rows, len(names)),
            dtype,
            row_bytes=len(names) * np.dtype(dtype).itemsize,
            feature_names=np.array(names, dtype=object),
            **options,
        )

    def _opened(self, path: Path) -> Any:
        try:
            return self._parquet.ParquetFile(path)
        except (OSError, ValueError) as error:
            raise ValueError(f"{path} is not a whole parquet file ({error})") from error

    def _kind(self, field: Any, path: Path) -> np.dtype:
        try:
            return np.dtype(_numeric(field, path))
        except ValueError as error:
            self._fault = self._fault or str(error)
            return np.dtype(np.float64)

    def _read(self) -> Iterator[Block]:
        if self._fault:
            raise ValueError(self._fault)
        assert self.feature_names is not None
        for path, state in zip(self.paths, self._states, strict=True):
            state.check()
            try:
                with self._parquet.ParquetFile(path) as file:
                    batches = file.iter_batches(self.rows_per_block, columns=list(self.feature_names))
                    for batch in batches:
                        values = np.empty((batch.num_rows, self.shape[1]), self.dtype)
                        for place, column in enumerate(batch.columns):
                            # Missing values become NaN, and are refused by name.
                            values[:, place] = column.to_numpy(zero_copy_only=False)
                        yield values
            except (OSError, ValueError) as error:
                raise ValueError(f"{path} cannot be read to its end ({error})") from error


def _numeric(field: Any, path: Path) -> Any:
    try:
        dtype = np.dtype(field.type.to_pandas_dtype())
    except (NotImplementedError, TypeError):
        dtype = np.dtype(object)
    if dtype.kind not in "biuf":
        raise ValueError(
            f"{path}: column {field.name!r} holds {field.type}, not numbers; name those to use in columns="
        )
    return dtype
