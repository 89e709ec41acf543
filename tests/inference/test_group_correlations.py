"""Correlations in the groups of many labellings: labels come in portions, whatever their number."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from princdiff.inference import group_correlations
from princdiff.inference.contrasts import Relabellings
from princdiff.inference.group_correlations import GroupCorrelations
from princdiff.inference.relabelling import Scheme


@dataclass
class _Watched:
    """Labellings that remember how many labels were asked for at once."""

    scheme: Scheme
    asked: list[int] = field(default_factory=list)

    @property
    def n_rows(self) -> int:
        return self.scheme.n_rows

    @property
    def n_labellings(self) -> int:
        return self.scheme.n_labellings

    def codes(self, indices: NDArray[np.intp]) -> NDArray[np.uint8]:
        found = self.scheme.codes(indices)
        self.asked.append(found.size)
        return found


def test_labels_of_many_rows_are_held_a_portion_at_a_time(monkeypatch):
    rng = np.random.default_rng(0)
    n_rows, most = 6000, 6000 * 20
    columns = rng.normal(size=(n_rows, 6)).astype(np.float32)
    codes = (np.arange(n_rows) % 2).astype(np.uint8)
    watched = _Watched(Scheme(codes, 99, seed=0))
    sums = GroupCorrelations(columns, slice(0, 3), slice(3, None), Relabellings(watched, 2))
    wanted = np.ones(9, dtype=bool)
    whole = sums.changes(wanted, 1)
    assert max(watched.asked) == 100 * n_rows
    watched.asked.clear()
    monkeypatch.setattr(group_correlations, "_LABEL_ELEMENTS", most)
    np.testing.assert_array_equal(sums.changes(wanted, 1), whole)
    assert max(watched.asked) <= most
