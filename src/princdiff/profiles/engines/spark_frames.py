"""Spark data frames: `mapInArrow` counts each partition where it lies; what comes back is added up here."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator
from typing import Any

from princdiff.extras import extra
from princdiff.profiles.arrow_columns import arrow
from princdiff.profiles.engines import TableEngine, Work, added, some_places


def opened(source: Any) -> TableEngine | None:
    """A data frame of Spark."""
    is_frame = type(source).__module__.split(".")[0] == "pyspark" and hasattr(source, "mapInArrow")
    return SparkFrame(source) if is_frame else None


class SparkFrame:
    """A data frame whose partitions are parts.

    Parameters
    ----------
    frame : pyspark.sql.DataFrame
    """

    n_rows: int | None = None
    elsewhere = True

    def __init__(self, frame: Any) -> None:
        extra("pyspark", "spark", "a profile of a Spark data frame")
        self.label, self.columns = "Spark data frame", list(frame.columns)
        self._frame = frame

    def run(self, work: Work, columns: list[str], most_rows: int | None = None) -> Any:
        """See `TableEngine.run`."""
        frame = self._frame.select(*[f"`{name}`" for name in columns])
        wanted = None
        if most_rows is not None:
            wanted = set(some_places(int(frame.rdd.getNumPartitions()) if hasattr(frame, "rdd") else 8))

        def count(batches: Iterable[Any]) -> Iterator[Any]:
            context = extra("pyspark", "spark", "a profile").TaskContext.get()
            place = 0 if context is None else context.partitionId()
            if wanted is None or place in wanted:
                batches = iter(batches)
                first = next(batches, None)
                if first is not None:
                    yield packed(work(str(place), _with_first(first, batches)))

        rows = frame.mapInArrow(count, "found binary").toLocalIterator()
        return added(pickle.loads(row["found"]) for row in rows)


def _with_first(first: Any, rest: Iterable[Any]) -> Iterator[Any]:
    yield first
    yield from rest


def packed(found: Any) -> Any:
    """What was found in a part, as a batch of one row."""
    pa = arrow()
    return pa.RecordBatch.from_arrays([pa.array([pickle.dumps(found)], pa.binary())], ["found"])
