"""Dask data frames: parts are counted where they lie, and added up as a tree on the workers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from princdiff.extras import extra
from princdiff.profiles.engines import ElsewhereEngine, library


def opened(source: Any) -> DaskFrame | None:
    """A data frame of Dask."""
    is_frame = library(source) in ("dask", "dask_expr") and hasattr(source, "dtypes")
    return DaskFrame(source) if is_frame else None


class DaskFrame(ElsewhereEngine):
    """A data frame whose partitions are parts.

    Parameters
    ----------
    frame : dask.dataframe.DataFrame
    """

    def __init__(self, frame: Any) -> None:
        self._dask = extra("dask", "dask", "a profile of a Dask data frame")
        self.label, self.columns = "Dask data frame", [str(name) for name in frame.columns]
        self._frame = frame

    def parts(self, columns: list[str]) -> Sequence[Any]:
        """See `ElsewhereEngine.parts`."""
        found: list[Any] = self._frame[columns].to_delayed()
        return found

    def task(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """See `ElsewhereEngine.task`."""
        return self._dask.delayed(function, pure=False)(*arguments)

    def fetched(self, task: Any) -> Any:
        """See `ElsewhereEngine.fetched`."""
        return task.compute()
