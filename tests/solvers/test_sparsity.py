from __future__ import annotations

import numpy as np
import pytest

from princdiff.solvers.sparsity import Sparsity, keep_largest, normalised, oriented


def top_by_sorting(row, level):
    order = sorted(range(len(row)), key=lambda j: (-abs(row[j]), j))[:level]
    return np.where(np.isin(np.arange(len(row)), order), row, 0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", ["generic", "ties", "all equal", "few non-zeros"])
def test_keep_largest_keeps_exactly_k(kind, dtype):
    rng = np.random.default_rng(0)
    for n_features in (1, 2, 7, 30):
        rows = rng.normal(size=(n_features, n_features)).astype(dtype)
        if kind == "ties":
            rows = np.sign(rows) * rng.integers(1, 4, size=rows.shape).astype(dtype)
        if kind == "all equal":
            rows = np.sign(rows)
        if kind == "few non-zeros":
            rows[:, 2:] = 0
        levels = np.arange(1, n_features + 1)
        kept = keep_largest(rows, levels)
        assert kept.dtype == dtype
        if kind != "few non-zeros":
            np.testing.assert_array_equal(np.count_nonzero(kept, axis=1), levels)
        np.testing.assert_array_equal(
            kept, [top_by_sorting(*pair) for pair in zip(rows, levels, strict=True)]
        )


def test_keep_largest_with_one_level_for_all_columns():
    rng = np.random.default_rng(1)
    rows = rng.integers(-3, 4, size=(20, 9)).astype(float)
    expected = [top_by_sorting(row, 4) for row in rows]
    np.testing.assert_array_equal(keep_largest(rows, np.full(20, 4)), expected)


def test_keep_largest_keeps_all_when_the_level_is_not_below_the_number_of_features():
    rows = np.random.default_rng(2).normal(size=(3, 4))
    np.testing.assert_array_equal(keep_largest(rows, np.array([4, 5, 9])), rows)


def test_no_columns_is_not_an_error():
    nothing = np.empty((0, 4))
    assert keep_largest(nothing, np.empty(0, dtype=int)).shape == (0, 4)
    assert Sparsity(np.empty(0, dtype=int)).project(nothing).shape == (0, 4)


def test_normalised_leaves_zero_rows_at_zero():
    rows = np.array([[3.0, 4.0], [0.0, 0.0]], dtype=np.float32)
    result = normalised(rows)
    assert result.dtype == np.float32
    np.testing.assert_allclose(result, [[0.6, 0.8], [0.0, 0.0]], rtol=1e-7)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_project_gives_sparse_unit_directions(dtype):
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(40, 12)).astype(dtype)
    levels = rng.integers(1, 13, size=40)
    result = Sparsity(levels).project(rows)
    np.testing.assert_array_equal(np.count_nonzero(result, axis=1), levels)
    np.testing.assert_allclose(np.linalg.norm(result, axis=1), 1.0, rtol=1e-6)
    # The nearest feasible direction to r has the largest product with it: no other support does better.
    others = np.stack([rng.permutation(12) for _ in range(40)])
    for row, found, level, order in zip(rows, result, levels, others, strict=True):
        rival = np.zeros(12)
        rival[order[:level]] = row[order[:level]]
        assert row @ found >= np.linalg.norm(rival) * (1 - 1e-6)


def test_project_stays_in_the_given_support():
    rng = np.random.default_rng(4)
    support = rng.random((10, 8)) < 0.5
    support[:, 0] = True
    result = Sparsity(np.full(10, 8), support=support).project(rng.normal(size=(10, 8)))
    assert not result[~support].any()
    assert (result[support] != 0).all()


def test_soft_threshold_is_the_closed_form():
    rng = np.random.default_rng(5)
    rows = rng.normal(size=(30, 6))
    thresholds = rng.uniform(0, 0.5, size=30)
    shrunk = np.sign(rows) * np.maximum(np.abs(rows) - thresholds[:, None], 0)
    expected = shrunk / np.linalg.norm(shrunk, axis=1, keepdims=True)
    sparsity = Sparsity(np.full(30, 6), penalties=np.ones(30))
    np.testing.assert_allclose(sparsity.project(rows, thresholds), expected, rtol=1e-12)


def test_a_threshold_above_everything_leaves_the_largest_weight():
    sparsity = Sparsity(np.full(2, 3), penalties=np.ones(2))
    result = sparsity.project(np.array([[0.1, -0.5, 0.2], [3.0, 3.0, 0.0]]), np.array([9.0, 9.0]))
    np.testing.assert_array_equal(result, [[0, -1, 0], [1, 0, 0]])


def test_threshold_level_and_support_together():
    sparsity = Sparsity(np.array([2]), np.array([1.0]), np.array([[True, True, True, False]]))
    result = sparsity.project(np.array([[0.5, -0.9, 0.7, 5.0]]), np.array([0.1]))
    np.testing.assert_allclose(result, [[0, -0.8, 0.6, 0]])


def test_cost_is_the_squared_l1_norm():
    directions = np.array([[0.6, -0.8], [1.0, 0.0]])
    assert Sparsity(np.array([2, 2])).cost(directions) == 0.0
    cost = Sparsity(np.array([2, 2]), np.array([0.5, 3.0])).cost(directions)
    np.testing.assert_allclose(cost, [0.5 * 1.4**2, 3.0])


def test_take_goes_with_the_columns():
    whole = Sparsity(np.array([1, 2, 3]), np.array([0.1, 0.2, 0.3]), np.eye(3, dtype=bool))
    part = whole.take(np.array([2, 0]))
    np.testing.assert_array_equal(part.levels, [3, 1])
    np.testing.assert_array_equal(part.penalties, [0.3, 0.1])
    np.testing.assert_array_equal(part.support, np.eye(3, dtype=bool)[[2, 0]])
    assert Sparsity(np.array([1, 2])).take(np.array([True, False])).penalties is None


@pytest.mark.parametrize(
    ("direction", "expected"),
    [
        ([-0.6, 0.8], [0.6, -0.8]),
        ([0.6, -0.8], [0.6, -0.8]),
        ([0.0, -1.0], [0.0, 1.0]),
        ([-0.0, -0.6, 0.8], [0.0, 0.6, -0.8]),
        ([0.0, 0.0], [0.0, 0.0]),
    ],
)
def test_the_first_weight_that_is_not_zero_is_positive(direction, expected):
    np.testing.assert_array_equal(oriented(np.array(direction)), expected)


def test_turning_a_direction_round_leaves_no_negative_zeros():
    result = oriented(np.array([0.0, -0.6, 0.0, 0.8]))
    assert not np.signbit(result[result == 0]).any()
