"""Where tables lie: each engine runs one function on the parts of a table and adds up what comes back.

To add an engine, write one file with a function ``opened(source)`` that returns a `TableEngine` or None, name
it below, and add its way of opening a table to `tests/profiles/test_engines.py`, which every engine passes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any, Protocol

# In this order: the first that knows a source opens it.
ENGINES = (
    "dask_frames",
    "spark_frames",
    "ray_datasets",
    "database_queries",
    "row_blocks",
    "arrow_datasets",
    "arrow_streams",
)
# What is done with a part: its name and its record batches in, something that can be added out.
Work = Callable[[str, Iterable[Any]], Any]


class TableEngine(Protocol):
    """A table somewhere.

    Attributes
    ----------
    label : str
        What messages call it.
    columns : list of str
        Names of all columns.
    n_rows : int or None
        Rows, where they are known without reading.

    An engine of rows of numbers, such as cells, says ``only_numbers = True``, and names the columns that only
    describe the rows in ``described``.
    """

    label: str
    columns: list[str]
    n_rows: int | None

    def run(self, work: Work, columns: list[str], most_rows: int | None = None) -> Any:
        """What ``work`` finds in all parts, added up.

        Parameters
        ----------
        work : callable
            Takes the name of a part and its record batches; can be pickled.
        columns : list of str
            Columns that the batches must have.
        most_rows : int, optional
            Look at parts from all over the table until about so many rows were seen, not at all of them.
        """
        ...


def open_source(source: Any, *, progress: bool = False) -> TableEngine:
    """The engine of a table.

    Examples
    --------
    >>> import pandas as pd
    >>> open_source(pd.DataFrame({"size": [1.0, 2.0]})).columns
    ['size']
    """
    if hasattr(source, "run") and hasattr(source, "columns"):
        return source  # type: ignore[no-any-return]
    for name in ENGINES:
        engine: TableEngine | None = import_module(f"princdiff.profiles.engines.{name}").opened(source)
        if engine is not None:
            if progress:
                from princdiff.profiles.engines.shown_progress import ShownProgress

                return ShownProgress(engine)
            return engine
    raise TypeError(
        f"a profile is made of files, data frames, Arrow tables or streams, or (connection, query); got "
        f"{type(source).__name__}"
    )


def added(parts: Iterable[Any]) -> Any:
    """The sum of what was found in some parts."""
    total = None
    for part in parts:
        total = part if total is None else total + part
    return total


def some_places(count: int, most: int = 8) -> list[int]:
    """Places of a few of many parts, from all over them.

    Examples
    --------
    >>> some_places(100, 4), some_places(2)
    ([0, 33, 66, 99], [0, 1])
    """
    if count <= most:
        return list(range(count))
    return [place * (count - 1) // (most - 1) for place in range(most)]
