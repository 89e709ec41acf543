"""Tables in memory and Arrow streams: pandas, polars, pyarrow, DuckDB, Ibis, whatever speaks Arrow."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

import pandas as pd

from princdiff.profiles.arrow_columns import arrow
from princdiff.profiles.engines import TableEngine, Work, library

LIBRARIES = ("duckdb", "ibis")
_ROWS = 262_144


def opened(source: Any) -> TableEngine | None:
    """A table in memory, or a stream that is read once."""
    if isinstance(source, pd.DataFrame):
        return _in_memory(source)
    if library(source) == "polars" and hasattr(source, "collect"):
        source = source.collect(engine="streaming")
    if hasattr(source, "__arrow_c_stream__"):
        pa = arrow()
        if isinstance(source, pa.Table):
            return Batches("table", source.schema, source.to_batches(_ROWS), source.num_rows)
        reader = pa.RecordBatchReader.from_stream(source)
        return Stream(type(source).__name__, reader.schema, reader)
    return None


def _in_memory(frame: pd.DataFrame) -> TableEngine:
    pa = arrow()
    named = frame.set_axis([str(name) for name in frame.columns], axis=1)
    try:
        table = pa.Table.from_pandas(named, preserve_index=False)
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise ValueError(f"the table has a column of mixed types: {error}") from error
    return Batches("table", table.schema, table.to_batches(_ROWS), table.num_rows)


class Batches(TableEngine):
    """Record batches in memory, read as often as wanted.

    Parameters
    ----------
    label : str
    schema : pyarrow.Schema
    batches : list of pyarrow.RecordBatch
    n_rows : int
    """

    def __init__(self, label: str, schema: Any, batches: list[Any], n_rows: int) -> None:
        self.label, self.columns = label, list(schema.names)
        self.n_rows = n_rows
        self._batches = batches

    def run(self, work: Work, columns: list[str], most_rows: int | None = None) -> Any:
        """See `TableEngine.run`; tables in memory are looked at as a whole."""
        return work("0", (batch.select(columns) for batch in self._batches))


class Stream(TableEngine):
    """Batches that come once: what is looked at first is kept until all are counted.

    Parameters
    ----------
    label : str
    schema : pyarrow.Schema
    batches : iterable of pyarrow.RecordBatch
    """

    def __init__(self, label: str, schema: Any, batches: Iterable[Any]) -> None:
        self.label, self.columns = label, list(schema.names)
        self._coming = iter(batches)
        self._kept: list[Any] = []
        self._used = False

    def run(self, work: Work, columns: list[str], most_rows: int | None = None) -> Any:
        """See `TableEngine.run`."""
        if most_rows is not None:
            count = 0
            while count < most_rows and (batch := next(self._coming, None)) is not None:
                self._kept.append(batch)
                count += batch.num_rows
            return work("0", (batch.select(columns) for batch in self._kept))
        if self._used:
            raise ValueError(f"{self.label} is a stream that was read already: open it once more")
        self._used = True
        return work("0", (batch.select(columns) for batch in self._all()))

    def _all(self) -> Iterator[Any]:
        kept, self._kept = self._kept, []
        yield from chain(kept, self._coming)
