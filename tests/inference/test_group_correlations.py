"""Correlations of groups under many labellings."""

import numpy as np
import pytest

from princdiff.inference.changed_correlations import _normal_scores_within
from princdiff.inference.contrasts import Relabellings
from princdiff.inference.group_correlations import GroupCorrelations
from princdiff.inference.relabelling import Scheme


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
