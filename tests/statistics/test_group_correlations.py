"""Correlations of groups under many labellings: what to expect of them, and labels that come in portions."""

from dataclasses import dataclass, field

import numpy as np
import pytest
from numpy.typing import NDArray

from princdiff.labellings.schemes import Scheme
from princdiff.statistics import group_correlations
from princdiff.statistics.changed_correlations import _normal_scores_within
from princdiff.statistics.contrasts import Relabellings
from princdiff.statistics.group_correlations import GroupCorrelations


def correlations_of(rows, sizes, n_labellings=3999, **design):
    codes = np.repeat(np.arange(len(sizes)), sizes).astype(np.uint8)
    labellings = Relabellings(Scheme(codes, n_labellings, seed=0), len(sizes), **design)
    scores = _normal_scores_within(rows, np.arange(rows.shape[1]), labellings)
    return GroupCorrelations(scores, slice(0, 2), slice(2, None), labellings)


@pytest.mark.parametrize("sizes", [(100, 100), (60, 300), (80, 80, 80)])
@pytest.mark.parametrize("kind", ["normal", "heavy tails", "flags"])
def test_the_expected_changes_are_the_mean_over_labellings(sizes, kind):
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(sum(sizes), 5))
    if kind == "heavy tails":
        rows = rng.standard_t(2, size=rows.shape) + 2 * rng.standard_t(2, size=(len(rows), 1))
    elif kind == "flags":
        rows = (rows + rng.normal(size=(len(rows), 1)) > 1).astype(float)
    found = correlations_of(rows, sizes)
    changes = found.changes(np.ones(6, dtype=bool), None)
    # To first order in one over the rows of a group, beside the noise of as many labellings.
    np.testing.assert_allclose(found.expected_changes(), changes.mean(axis=0), rtol=0.1)
    spread = found.expected_changes() * np.sqrt(2 / (len(sizes) - 1))
    np.testing.assert_allclose(spread, changes.std(axis=0), rtol=0.2)


def test_nothing_is_expected_of_small_groups_weights_and_constants():
    rows = np.random.default_rng(2).normal(size=(120, 4))
    assert np.isnan(correlations_of(rows, (20, 100), 19).expected_changes()).all()
    assert np.isnan(correlations_of(rows, (60, 60), 19, weights=np.ones(120)).expected_changes()).all()
    rows[:, 2] = 5.0
    expected = correlations_of(rows, (60, 60), 19).expected_changes()
    assert np.isnan(expected[[0, 2]]).all()
    assert np.isfinite(expected[[1, 3]]).all()


def test_nothing_is_expected_of_flags_with_few_ones_in_a_group():
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(400, 4))
    rows[:, 2] = rng.random(400) < 0.03
    expected = correlations_of(rows, (340, 60), 19).expected_changes()
    assert np.isnan(expected[[0, 2]]).all()
    assert np.isfinite(expected[[1, 3]]).all()


@dataclass
class _Watched:
    """Labellings that remember how many labels were asked for at once."""

    scheme: Scheme
    asked: list[int] = field(default_factory=list)
    conditional = False
    units = None

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
