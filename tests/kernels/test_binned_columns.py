"""The compiled loop and NumPy count and add up the same."""

from __future__ import annotations

import numpy as np
import pytest

from princdiff.kernels import binned_columns
from princdiff.kernels.binned_columns import MOST_BOUNDS, Bins, ColumnTotals, add_binned


def totals(n_units: int, n_bins: int, n_rows: int) -> ColumnTotals:
    return ColumnTotals(
        np.zeros((n_units, n_bins), dtype=np.int64), np.zeros((n_units, 2)), np.zeros(n_rows, np.float32)
    )


@pytest.mark.parametrize("n_bounds", [0, 1, 2, 31, MOST_BOUNDS])
def test_both_agree_also_on_bounds_gaps_and_far_values(n_bounds):
    rng = np.random.default_rng(n_bounds)
    bounds = np.sort(rng.normal(size=n_bounds))
    values = np.concatenate([rng.normal(size=500), bounds, [np.nan, -1e9, 1e9, 0.0]])
    unit = rng.integers(0, 7, len(values)).astype(np.int32)
    place = rng.permutation(len(values))
    bins = Bins(bounds, rng.integers(-80, 80, n_bounds + 2).astype(np.float32), 0.5, 2.0)
    one, other = (totals(7, n_bounds + 2, len(values)) for _ in range(2))
    assert add_binned(values, bins, unit, place, one)
    assert binned_columns._add_in_numpy(values, bins, unit, place, other)
    np.testing.assert_array_equal(one.counts, other.counts)
    np.testing.assert_allclose(one.sums, other.sums, rtol=1e-12)
    np.testing.assert_array_equal(one.worth, other.worth)
    assert one.counts[:, -1].sum() == 1


@pytest.mark.parametrize("far", [np.inf, -np.inf])
def test_infinite_values_are_seen(far):
    bins = Bins(np.array([0.0]), np.zeros(3, np.float32), 0.0, 1.0)
    values, unit = np.array([1.0, far]), np.zeros(2, np.int32)
    assert not add_binned(values, bins, unit, np.arange(2), totals(1, 3, 2))
    assert not binned_columns._add_in_numpy(values, bins, unit, np.arange(2), totals(1, 3, 2))
