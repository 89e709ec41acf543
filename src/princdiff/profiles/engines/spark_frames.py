"""Spark data frames: partitions are counted where they lie, and added up as a tree on the executors."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator
from typing import Any

import pandas as pd

from princdiff.extras import extra
from princdiff.profiles.arrow_columns import arrow
from princdiff.profiles.engines import FAN_IN, LOOKED_AT, TableEngine, Work, added, library, spread

LIBRARIES = ("pyspark",)
# What was found in a partition, or in several.
_FOUND = "place long, found binary"
_MANY = 4096


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
        # Over Spark Connect nobody says how many partitions there are.
        count = int(frame.rdd.getNumPartitions()) if hasattr(frame, "rdd") else _MANY
        wanted = set(spread(count)[: count if most_rows is None else LOOKED_AT])

        def in_part(batches: Iterable[Any]) -> Iterator[Any]:
            context = extra("pyspark", "spark", "a profile").TaskContext.get()
            place = 0 if context is None else context.partitionId()
            if most_rows is None or place in wanted:
                found = pickle.dumps(work(str(place), batches))
                yield arrow().RecordBatch.from_pydict({"place": [place], "found": [found]})

        found = frame.mapInArrow(in_part, _FOUND)
        left = len(wanted)
        while left > 1:
            found = found.groupBy((found["place"] / FAN_IN).cast("long").alias("place"))
            found = found.applyInPandas(_added_up, _FOUND)
            left = -(-left // FAN_IN)
        return added(pickle.loads(row["found"]) for row in found.toLocalIterator())


def _added_up(found: pd.DataFrame) -> pd.DataFrame:
    """One row for several, always added in the same order."""
    found = found.sort_values("place")
    total = added(map(pickle.loads, found["found"]))
    return pd.DataFrame({"place": [found["place"].iloc[0] // FAN_IN], "found": [pickle.dumps(total)]})
