"""Ray datasets: each block is counted by a task, and what comes back is added up here."""

from __future__ import annotations

from typing import Any

from princdiff.extras import extra
from princdiff.profiles.arrow_columns import arrow
from princdiff.profiles.engines import TableEngine, Work, some_places

# Counts that are added up at a time.
_FAN_IN = 8


def opened(source: Any) -> TableEngine | None:
    """A dataset of Ray."""
    is_dataset = type(source).__module__.split(".")[0] == "ray" and hasattr(
        source, "iter_internal_ref_bundles"
    )
    return RayDataset(source) if is_dataset else None


class RayDataset:
    """A dataset whose blocks are parts.

    Parameters
    ----------
    dataset : ray.data.Dataset
    """

    n_rows: int | None = None
    elsewhere = True

    def __init__(self, dataset: Any) -> None:
        self._ray = extra("ray", "ray", "a profile of a Ray dataset")
        self.label, self.columns = "Ray dataset", list(dataset.columns())
        self._dataset = dataset

    def run(self, work: Work, columns: list[str], most_rows: int | None = None) -> Any:
        """See `TableEngine.run`."""
        blocks = self._dataset.select_columns(columns).to_arrow_refs()
        places = range(len(blocks)) if most_rows is None else some_places(len(blocks))
        of_part, merged = self._ray.remote(_of_part), self._ray.remote(_of_several)
        found = [of_part.remote(work, str(place), blocks[place]) for place in places]
        while len(found) > 1:
            found = [
                merged.remote(*found[start : start + _FAN_IN]) for start in range(0, len(found), _FAN_IN)
            ]
        return self._ray.get(found[0])


def _of_part(work: Work, name: str, part: Any) -> Any:
    table = part if isinstance(part, arrow().Table) else arrow().Table.from_pandas(part)
    return work(name, table.to_batches())


def _of_several(*found: Any) -> Any:
    total = found[0]
    for one in found[1:]:
        total = total + one
    return total
