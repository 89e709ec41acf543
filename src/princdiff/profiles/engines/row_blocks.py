"""Rows of numbers out of core, block by block: stores of AnnData, memory maps, arrays of h5py, zarr, Dask."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
import scipy.sparse as sp

from princdiff.data.row_chunks import RowChunks
from princdiff.data.sources import ParquetRows
from princdiff.profiles.arrow_columns import arrow
from princdiff.profiles.engines import TableEngine, Work, added, spread
from princdiff.profiles.engines.arrow_datasets import opened as opened_files
from princdiff.tables.large_tables import about_rows, row_blocks

# Numbers of a batch: those of sparse rows are made dense. And rows of a part.
_NUMBERS, _PART = 1 << 24, 1 << 18
# The number of its part, where it lies, and its rows.
_Piece: TypeAlias = tuple[int, slice, Any]


def opened(source: Any) -> TableEngine | None:
    """Rows that are read in blocks."""
    rows = row_blocks(source)
    if isinstance(rows, ParquetRows):
        # Their columns may hold text.
        engine = opened_files(list(rows.paths))
        assert engine is not None
        engine.columns = _names_of(rows)
        return engine
    return None if rows is None else RowBlocks(rows, about_rows(source))


def _names_of(rows: RowChunks) -> list[str]:
    if rows.feature_names is None:
        return [f"x{place}" for place in range(rows.shape[1])]
    return [str(name) for name in rows.feature_names]


class RowBlocks(TableEngine):
    """Rows of numbers, and columns about them.

    Parameters
    ----------
    rows : RowChunks
    about : DataFrame of shape (n_rows, n_columns)
        Columns that describe the rows, and are compared only when asked for.
    """

    only_numbers = True

    def __init__(self, rows: RowChunks, about: pd.DataFrame) -> None:
        self._rows, self._about = rows, about
        names = _names_of(rows)
        self._place = {name: place for place, name in enumerate(names)}
        self.described = [name for name in about.columns if name not in self._place]
        self.label, self.columns = rows.label, [*names, *self.described]
        self.n_rows = rows.shape[0]

    def run(self, work: Work, columns: list[str], most_rows: int | None = None) -> Any:
        """See `TableEngine.run`; rows that nobody looks at are read, but nothing is made of them."""
        count = -(-self._rows.shape[0] // _PART)
        looked_at = spread(count)[: count if most_rows is None else max(2, most_rows // _PART)]
        parts = groupby(self._pieces(), key=lambda piece: piece[0])
        return added(
            work(str(number), (self._batch(piece, columns) for piece in pieces))
            for number, pieces in parts
            if number in looked_at
        )

    def _pieces(self) -> Iterator[_Piece]:
        """Some rows at a time, and the number of the part that they are in."""
        step = min(_PART, max(1, _NUMBERS // max(1, self._rows.shape[1])))
        for place, block in self._rows.blocks():
            start = place.start
            while start < place.stop:
                stop = min(place.stop, start + step, (start // _PART + 1) * _PART)
                yield start // _PART, slice(start, stop), block[start - place.start : stop - place.start]
                start = stop

    def _batch(self, piece: _Piece, columns: list[str]) -> Any:
        pa = arrow()
        _, here, some = piece
        places = np.array([self._place[name] for name in columns if name in self._place], dtype=np.intp)
        if len(places) < self._rows.shape[1]:
            some = some[:, places]
        numbers = iter(np.asfortranarray(some.toarray() if sp.issparse(some) else some).T)
        arrays = [
            pa.array(next(numbers))
            if name in self._place
            else pa.Array.from_pandas(self._about[name].iloc[here])
            for name in columns
        ]
        return pa.RecordBatch.from_arrays(arrays, names=columns)
