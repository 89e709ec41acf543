"""Dask data frames: parts are counted where they lie, and added up as a tree on the workers."""

from __future__ import annotations

from typing import Any

import pandas as pd

from princdiff.extras import extra
from princdiff.profiles.arrow_columns import arrow
from princdiff.profiles.engines import TableEngine, Work, added, some_places

# Parts that one task adds up.
_FAN_IN = 8


def opened(source: Any) -> TableEngine | None:
    """A data frame of Dask."""
    is_frame = type(source).__module__.split(".")[0] in ("dask", "dask_expr") and hasattr(source, "dtypes")
    return DaskFrame(source) if is_frame else None


class DaskFrame:
    """A data frame whose partitions are parts.

    Parameters
    ----------
    frame : dask.dataframe.DataFrame
    """

    n_rows: int | None = None
    elsewhere = True

    def __init__(self, frame: Any) -> None:
        self.label, self.columns = "Dask data frame", [str(name) for name in frame.columns]
        self._frame = frame

    def run(self, work: Work, columns: list[str], most_rows: int | None = None) -> Any:
        """See `TableEngine.run`."""
        dask = extra("dask", "dask", "a profile of a Dask data frame")
        parts = self._frame[columns].to_delayed()
        places = range(len(parts)) if most_rows is None else some_places(len(parts))
        of_part, of_several = dask.delayed(_of_part, pure=False), dask.delayed(added, pure=False)
        found = [of_part(work, str(place), parts[place]) for place in places]
        while len(found) > 1:
            found = [of_several(found[start : start + _FAN_IN]) for start in range(0, len(found), _FAN_IN)]
        return found[0].compute()


def _of_part(work: Work, name: str, part: pd.DataFrame) -> Any:
    return work(name, arrow().Table.from_pandas(part, preserve_index=False).to_batches())
