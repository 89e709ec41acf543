"""Columns of a Dask DataFrame, computed one at a time: the table stays with Dask."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from princdiff.tables.lazy_columns import LazyColumns, TextCodes


def is_dask_frame(source: Any) -> bool:
    """Whether an object is a Dask DataFrame, recognised by its library, which need not be installed."""
    library = type(source).__module__.split(".")[0]
    return library in ("dask", "dask_expr") and hasattr(source, "npartitions") and hasattr(source, "columns")


class DaskColumns(LazyColumns):
    """Columns of a Dask DataFrame.

    Every column is one computation: a DataFrame that is dear to make should be persisted before.

    Parameters
    ----------
    frame : dask.dataframe.DataFrame
        The table; its index is not looked at.
    memory : int
        Budget in bytes for what is done with it.

    Examples
    --------
    >>> import dask.dataframe
    >>> frame = pd.DataFrame({"size": [1.5, 2.5, 2.0], "city": ["Oslo", "Rome", "Oslo"]})
    >>> columns = DaskColumns(dask.dataframe.from_pandas(frame, npartitions=2), 10**9)
    >>> columns.shape, columns.texts("city")
    ((3, 2), (array([0, 1, 0], dtype=int32), ['Oslo', 'Rome']))
    """

    def __init__(self, frame: Any, memory: int) -> None:
        self._frame, self.memory = frame, memory
        self.columns = tuple(map(str, frame.columns))
        self._names = dict(zip(self.columns, frame.columns, strict=True))
        self.shape = (int(frame.map_partitions(len).compute().sum()), len(self.columns))

    def whole(self) -> pd.DataFrame:
        """All of it, in memory."""
        frame = self._frame.compute()
        return frame if any(name is not None for name in frame.index.names) else frame.reset_index(drop=True)

    def texts(self, name: str) -> tuple[NDArray[np.int32] | None, list[str]]:
        """Positions of every row's text (-1: missing) and the texts; None for columns that are not text."""
        column = self._frame[self._names[name]]
        if not isinstance(column.dtype, pd.StringDtype):
            return None, []
        codes = TextCodes(self.shape[0])
        for part in column.to_delayed():
            positions, texts = pd.factorize(part.compute())
            codes.add([str(text) for text in texts], positions)
            if codes.too_many:
                break
        return codes.found()

    def _series(self, name: str) -> pd.Series:
        return self._frame[self._names[name]].compute().reset_index(drop=True).rename(name)
