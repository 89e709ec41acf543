"""Spark data frames: `mapInArrow` counts each partition where it lies; what comes back is added up here."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator
from typing import Any

from princdiff.extras import extra
from princdiff.profiles.arrow_columns import arrow
from princdiff.profiles.engines import LOOKED_AT, TableEngine, Work, added, library, spread

LIBRARIES = ("pyspark",)


def opened(source: Any) -> SparkFrame | None:
    """A data frame of Spark."""
    return SparkFrame(source) if library(source) == "pyspark" and hasattr(source, "mapInArrow") else None


class SparkFrame(TableEngine):
    """A data frame whose partitions are parts.

    Parameters
    ----------
    frame : pyspark.sql.DataFrame
    """

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
            count = int(frame.rdd.getNumPartitions()) if hasattr(frame, "rdd") else LOOKED_AT
            wanted = set(spread(count)[:LOOKED_AT])

        def in_part(batches: Iterable[Any]) -> Iterator[Any]:
            context = extra("pyspark", "spark", "a profile").TaskContext.get()
            place = 0 if context is None else context.partitionId()
            if wanted is None or place in wanted:
                found = pickle.dumps(work(str(place), batches))
                yield arrow().RecordBatch.from_pydict({"found": [found]})

        rows = frame.mapInArrow(in_part, "found binary").toLocalIterator()
        return added(pickle.loads(row["found"]) for row in rows)
