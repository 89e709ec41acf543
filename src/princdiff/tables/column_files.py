"""Columns of parquet files, read one at a time: a table of any length, of which one column is in memory.

Parquet keeps columns apart, so that one can be read without the others. Text is read as the different texts
and which of them each row has, row group by row group, and never as a string for every row.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from princdiff.data.sources import FileState
from princdiff.extras import extra
from princdiff.tables.lazy_columns import LazyColumns, TextCodes


class ColumnFiles(LazyColumns):
    """Columns of one or several parquet files with the same columns, the rows of one file after the other's.

    Parameters
    ----------
    paths : sequence of Path
        The files.
    memory : int
        Budget in bytes for what is done with them.
    columns : sequence of str, optional
        Columns to know; default all, but for the row index of pandas.

    Attributes
    ----------
    shape : (int, int)
        Rows and columns.
    columns : tuple of str
        Column names.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pd.DataFrame({"size": [1.5, 2.5], "city": ["Oslo", "Rome"]}).to_parquet(f"{folder}/a.parquet")
    ...     files = ColumnFiles([Path(f"{folder}/a.parquet")], 10**9)
    ...     files.columns, files.texts("city")
    (('size', 'city'), (array([0, 1], dtype=int32), ['Oslo', 'Rome']))
    """

    def __init__(self, paths: Sequence[Path], memory: int, columns: Sequence[str] | None = None) -> None:
        self.paths, self.memory = tuple(paths), memory
        self._parquet = extra("pyarrow.parquet", "parquet", "reading parquet")
        self._states = [FileState(path) for path in self.paths]
        self._types: dict[str, set[Any]] = {}
        n_rows = 0
        names: tuple[str, ...] | None = None
        for path in self.paths:
            with self._opened(path) as file:
                n_rows += file.metadata.num_rows
                schema = file.schema_arrow
            own = _columns_of(schema)
            names = own if names is None else names
            _refuse_other_columns(path, own, self.paths[0], names)
            for name in own:
                self._types.setdefault(name, set()).add(schema.field(name).type)
        known = names or ()
        self.columns = known if columns is None else tuple(columns)
        self.shape = (n_rows, len(self.columns))

    def _series(self, name: str) -> pd.Series:
        pieces = []
        for batch in self._batches(name, dictionary=False):
            pieces.append(batch.to_pandas()[name])
        whole = pieces[0] if len(pieces) == 1 else pd.concat(pieces, ignore_index=True)
        return whole.reset_index(drop=True)

    def texts(self, name: str) -> tuple[NDArray[np.int32] | None, list[str]]:
        """Positions of every row's text (-1: missing) and the texts; None for columns that are not text."""
        types = extra("pyarrow.types", "parquet", "reading parquet")
        if not all(types.is_string(kind) or types.is_large_string(kind) for kind in self._types[name]):
            return None, []
        codes = TextCodes(self.shape[0])
        for table in self._batches(name, dictionary=True):
            for chunk in table.column(0).chunks:
                own = np.asarray(chunk.indices.fill_null(-1).to_numpy(zero_copy_only=False), dtype=np.intp)
                codes.add(chunk.dictionary.to_pylist(), own)
            if codes.too_many:
                break
        return codes.found()

    def _batches(self, name: str, *, dictionary: bool) -> Iterator[Any]:
        """Row groups of all files, one column of them."""
        for path, state in zip(self.paths, self._states, strict=True):
            state.check()
            try:
                with self._opened(path, read_dictionary=[name] if dictionary else None) as file:
                    if not dictionary:
                        yield file.read(columns=[name])
                        continue
                    for group in range(file.num_row_groups):
                        yield file.read_row_group(group, columns=[name])
            except (OSError, ValueError, NotImplementedError) as error:
                reason = str(error).splitlines()[0] if str(error) else type(error).__name__
                raise ValueError(f"{path.name}: column {name!r} cannot be read ({reason})") from error

    def _opened(self, path: Path, **options: Any) -> Any:
        try:
            return self._parquet.ParquetFile(path, **options)
        except (OSError, ValueError) as error:
            raise ValueError(f"{path} is not a whole parquet file ({error})") from error


def _columns_of(schema: Any) -> tuple[str, ...]:
    about = schema.pandas_metadata or {}
    index = {name for name in about.get("index_columns", []) if isinstance(name, str)}
    return tuple(name for name in schema.names if name not in index)


def _refuse_other_columns(path: Path, own: Sequence[str], first: Path, names: Sequence[str]) -> None:
    absent, more = [n for n in names if n not in own], [n for n in own if n not in names]
    if absent or more:
        name = (absent or more)[0]
        with_it, without = (first, path) if absent else (path, first)
        raise ValueError(
            f"column {name!r} is in {with_it.name} but not in {without.name}: all files of one table need "
            "the same columns"
        )
