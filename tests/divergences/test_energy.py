from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import energy_distance

from princdiff.data.labels import HELD_OUT, Labels
from princdiff.divergences import Energy, Workspace


def by_definition(values, codes, weights=None):
    """2 E|X - Y| - E|X - X'| - E|Y - Y'| by all pairs of rows."""
    weights = np.ones(len(values)) if weights is None else weights
    parts = [(values[codes == g], weights[codes == g] / weights[codes == g].sum()) for g in (0, 1)]

    def mean_distance(first, second):
        return first[1] @ np.abs(first[0][:, None] - second[0]) @ second[1]

    return 2 * mean_distance(*parts) - mean_distance(parts[0], parts[0]) - mean_distance(parts[1], parts[1])


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("sizes", [(20, 20), (23, 31), (1, 5)])
@pytest.mark.parametrize("weighted", [False, True])
def test_value_by_definition_and_by_scipy(sizes, ties, weighted):
    rng = np.random.default_rng(0)
    codes = rng.permutation(np.repeat([0, 1], sizes))
    values = rng.standard_t(3, size=len(codes)) + codes
    if ties:
        values = np.round(values)
    weights = rng.uniform(0.2, 2.0, size=len(codes)) if weighted else None
    found = Energy().value(values[None], Labels(codes, 2, weights=weights))
    np.testing.assert_allclose(found, by_definition(values, codes, weights), rtol=1e-10)
    masses = [None, None] if weights is None else [weights[codes == 0], weights[codes == 1]]
    scipys = energy_distance(values[codes == 0], values[codes == 1], *masses) ** 2
    np.testing.assert_allclose(found, scipys, rtol=1e-10)


def test_value_is_twice_the_integrated_squared_difference_of_distribution_functions():
    rng = np.random.default_rng(1)
    values, codes = rng.normal(size=50), np.repeat([0, 1], 25)
    points = np.sort(values)
    functions = [np.searchsorted(np.sort(values[codes == g]), points, side="right") / 25 for g in (0, 1)]
    expected = 2 * np.sum((functions[0] - functions[1])[:-1] ** 2 * np.diff(points))
    np.testing.assert_allclose(Energy().value(values[None], Labels(codes, 2)), expected, rtol=1e-12)


@pytest.mark.parametrize("sizes", [(10, 10), (8, 13), (6, 9, 7)])
@pytest.mark.parametrize("weighted", [False, True])
def test_at_ties_the_slope_is_halfway_between_the_two_sides(sizes, weighted):
    # Piecewise linear: central differences over a small step average the slopes on both sides.
    rng = np.random.default_rng(2)
    codes = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    codes[3] = HELD_OUT
    values = rng.integers(0, 3, size=len(codes)) * 1.0
    weights = rng.uniform(0.5, 2.0, size=len(codes)) if weighted else None
    labels = Labels(codes, len(sizes), weights=weights)
    for dtype in (np.float64, np.float32):
        _, slopes = Energy().value_and_slope(values[None].astype(dtype), labels, Workspace())
        wide, step = labels.repeat(len(codes)), 1e-4
        up = Energy().value(values + step * np.eye(len(codes)), wide)
        down = Energy().value(values - step * np.eye(len(codes)), wide)
        np.testing.assert_allclose(slopes[0], (up - down) / (2 * step), atol=1e-6)


def test_signed_zeros_tie():
    labels = Labels([0, 1, 0, 1], 2)
    found, slopes = Energy().value_and_slope(
        np.array([[0.0, -0.0, -0.0, 0.0]], dtype=np.float32), labels, Workspace()
    )
    assert found[0] == 0.0
    assert not slopes.any()


def test_the_influence_of_a_row_is_bounded():
    rng = np.random.default_rng(3)
    codes = np.repeat([0, 1], 50)
    values = rng.normal(size=100)
    for outlier in (10.0, 1e6):
        values[0] = outlier
        _, slopes = Energy().value_and_slope(values[None], Labels(codes, 2), Workspace())
        assert np.abs(slopes).max() <= 4 / 50


def test_far_off_values_in_single_precision():
    rng = np.random.default_rng(4)
    codes = np.repeat([0, 1], 200)
    values = (rng.normal(size=400) + 0.5 * codes + 100.0).astype(np.float32)
    found, _ = Energy().value_and_slope(values[None], Labels(codes, 2), Workspace())
    np.testing.assert_allclose(found, by_definition(values.astype(float), codes), rtol=1e-3)


@pytest.mark.parametrize("block", [1, 5, 1000])
def test_values_and_ties_of_many_rows_are_computed_in_blocks(monkeypatch, block):
    rng = np.random.default_rng(0)
    labels = Labels(rng.integers(0, 2, 60), 2).repeat(4)
    rows = rng.normal(size=(4, 60)).round(1)
    value = Energy().value(rows, labels)
    slopes = Energy().value_and_slope(rows, labels, Workspace())[1].copy()
    for module in ("energy", "ties"):
        monkeypatch.setattr(f"princdiff.divergences.{module}._BLOCK", 4 * block)
    np.testing.assert_allclose(Energy().value(rows, labels), value, rtol=1e-12)
    np.testing.assert_array_equal(Energy().value_and_slope(rows, labels, Workspace())[1], slopes)
