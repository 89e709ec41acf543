"""Ray datasets: each block is counted by a task, and tasks add up what was counted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from princdiff.extras import extra
from princdiff.profiles.engines import ElsewhereEngine, library

LIBRARIES = ("ray",)


def opened(source: Any) -> RayDataset | None:
    """A dataset of Ray."""
    is_dataset = library(source) == "ray" and hasattr(source, "iter_internal_ref_bundles")
    return RayDataset(source) if is_dataset else None


class RayDataset(ElsewhereEngine):
    """A dataset whose blocks are parts.

    Parameters
    ----------
    dataset : ray.data.Dataset
    """

    def __init__(self, dataset: Any) -> None:
        self._ray = extra("ray", "ray", "a profile of a Ray dataset")
        self.label, self.columns = "Ray dataset", list(dataset.columns())
        self._dataset = dataset

    def parts(self, columns: list[str]) -> Sequence[Any]:
        """See `ElsewhereEngine.parts`."""
        found: list[Any] = self._dataset.select_columns(columns).to_arrow_refs()
        return found

    def task(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """See `ElsewhereEngine.task`."""
        return self._ray.remote(function).remote(*arguments)

    def fetched(self, task: Any) -> Any:
        """See `ElsewhereEngine.fetched`."""
        return self._ray.get(task)
