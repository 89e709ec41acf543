"""Where tables lie: each engine runs one function on the parts of a table and adds up what comes back.

To add an engine, write one file here with a function ``opened(source)`` that returns a `TableEngine` or None,
and ``LIBRARIES`` if nothing else reads the tables of a library. Its way of opening a table goes into
`tests/profiles/test_engines.py`, which every engine passes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType
from typing import Any

from princdiff.profiles.arrow_columns import arrow
from princdiff.progress import progress_bar

# Those that take whatever no other knows, in this order.
_GENERAL = ("row_blocks", "arrow_datasets", "arrow_streams")
# What is done with a part: its name and its record batches in, something that can be added out.
Work = Callable[[str, Iterable[Any]], Any]
# Parts of which the sums are added up by one task, and parts that rows to choose bins from are taken of.
FAN_IN, LOOKED_AT = 8, 8


class TableEngine:
    """A table somewhere.

    Attributes
    ----------
    label : str
        What messages call it.
    columns : list of str
        Names of all columns.
    n_rows : int or None
        Rows, where they are known without reading.
    only_numbers : bool
        Whether all columns are numbers, such as cells.
    described : list of str
        Columns that only describe the rows, and are compared only when asked for.
    elsewhere : bool
        Whether parts are worked on in other processes, whose progress cannot be seen.
    """

    label: str
    columns: list[str]
    n_rows: int | None = None
    only_numbers = False
    described: Sequence[str] = ()
    elsewhere = False

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
        raise NotImplementedError


class ElsewhereEngine(TableEngine):
    """A table whose parts lie on the workers of a cluster, which work on them and add up as a tree."""

    elsewhere = True

    def parts(self, columns: list[str]) -> Sequence[Any]:
        """What stands here for the parts of the table, data frames or tables of Arrow where they lie."""
        raise NotImplementedError

    def task(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """What stands for a function's result, of arguments some of which may stand for others."""
        raise NotImplementedError

    def fetched(self, task: Any) -> Any:
        """The result that a task stands for."""
        raise NotImplementedError

    def run(self, work: Work, columns: list[str], most_rows: int | None = None) -> Any:
        """See `TableEngine.run`."""
        parts = self.parts(columns)
        places = spread(len(parts))[: len(parts) if most_rows is None else LOOKED_AT]
        found = [self.task(_of_part, work, str(place), parts[place]) for place in sorted(places)]
        while len(found) > 1:
            found = [
                self.task(_of_several, *found[start : start + FAN_IN])
                for start in range(0, len(found), FAN_IN)
            ]
        return self.fetched(found[0])


def _of_part(work: Work, name: str, part: Any) -> Any:
    pa = arrow()
    table = part if isinstance(part, pa.Table) else pa.Table.from_pandas(part, preserve_index=False)
    return work(name, table.to_batches())


def _of_several(*found: Any) -> Any:
    return added(found)


class _Shown(TableEngine):
    """An engine that shows how far it is; one whose parts are counted elsewhere shows that it runs."""

    def __init__(self, engine: TableEngine) -> None:
        vars(self).update(vars(engine))
        self.only_numbers, self.elsewhere = engine.only_numbers, engine.elsewhere
        self._engine = engine

    def run(self, work: Work, columns: list[str], most_rows: int | None = None) -> Any:
        """See `TableEngine.run`."""
        if self.elsewhere:
            with progress_bar(f"{self.label}: counting", total=0, shown=True, bar_format="{desc} ..."):
                return self._engine.run(work, columns, most_rows)
        doing = "looking at rows" if most_rows is not None else "counting rows"
        with progress_bar(f"{self.label}: {doing}", total=most_rows or self.n_rows, shown=True) as bar:

            def noted(batches: Iterable[Any]) -> Iterator[Any]:
                for batch in batches:
                    yield batch
                    bar.update(batch.num_rows)

            return self._engine.run(lambda part, batches: work(part, noted(batches)), columns, most_rows)


def every_engine() -> list[ModuleType]:
    """The files of all engines, those first that know only tables of their own."""
    own = [module.name for module in iter_modules(__path__) if module.name not in _GENERAL]
    return [import_module(f"{__name__}.{name}") for name in (*own, *_GENERAL)]


def open_source(source: Any, *, progress: bool = False) -> TableEngine:
    """The engine of a table.

    Examples
    --------
    >>> import pandas as pd
    >>> open_source(pd.DataFrame({"size": [1.0, 2.0]})).columns
    ['size']
    """
    if isinstance(source, TableEngine):
        return source
    for module in every_engine():
        engine: TableEngine | None = module.opened(source)
        if engine is not None:
            return _Shown(engine) if progress else engine
    raise TypeError(
        f"a profile is made of files, data frames, Arrow tables or streams, or (connection, query); got "
        f"{type(source).__name__}"
    )


def library(source: Any) -> str:
    """The library that an object is of.

    Examples
    --------
    >>> import pandas as pd
    >>> library(pd.DataFrame())
    'pandas'
    """
    return type(source).__module__.split(".")[0].lstrip("_")


def added(parts: Iterable[Any]) -> Any:
    """The sum of what was found in some parts."""
    total = None
    for part in parts:
        total = part if total is None else total + part
    return total


def spread(count: int) -> list[int]:
    """All places, so that the first few of them are far apart.

    Examples
    --------
    >>> spread(8)
    [0, 4, 2, 6, 1, 5, 3, 7]
    """
    bits = max(1, (count - 1).bit_length())
    turned = [int(f"{place:0{bits}b}"[::-1], 2) for place in range(2**bits)]
    return [place for place in turned if place < count]
