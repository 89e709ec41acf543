"""Rows and rows a second while any engine runs in this process."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from princdiff.profiles.engines import TableEngine, Work
from princdiff.progress import progress_bar


class ShownProgress:
    """An engine that shows how far it is; engines whose parts are counted elsewhere show that they run.

    Parameters
    ----------
    engine : TableEngine
    """

    def __init__(self, engine: TableEngine) -> None:
        self._engine = engine
        self.label, self.columns, self.n_rows = engine.label, engine.columns, engine.n_rows
        self.described = getattr(engine, "described", [])
        self.only_numbers = getattr(engine, "only_numbers", False)

    def run(self, work: Work, columns: list[str], most_rows: int | None = None) -> Any:
        """See `TableEngine.run`."""
        if getattr(self._engine, "elsewhere", False):
            with progress_bar(f"{self.label}: counting", total=0, shown=True, bar_format="{desc} ..."):
                return self._engine.run(work, columns, most_rows)
        doing = "looking at rows" if most_rows is not None else "counting rows"
        with progress_bar(f"{self.label}: {doing}", total=most_rows or self.n_rows, shown=True) as bar:

            def noted(batches: Iterable[Any]) -> Iterator[Any]:
                for batch in batches:
                    yield batch
                    bar.update(batch.num_rows)

            return self._engine.run(lambda part, batches: work(part, noted(batches)), columns, most_rows)
