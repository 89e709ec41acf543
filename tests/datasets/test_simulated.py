from __future__ import annotations

import numpy as np
import pytest

from princdiff.datasets import (
    make_block_gaussians,
    make_gaussian_pair,
)


def test_gaussian_pair_has_the_stated_covariances():
    X, y = make_gaussian_pair(200_000, random_state=0)
    assert X.dtype == np.float64
    assert np.abs(X.mean(axis=0)).max() < 0.01
    first = [[1, 0.2, 0.4], [0.2, 1, 0], [0.4, 0, 1]]
    second = [[1, -0.9, 0], [-0.9, 1, 0], [0, 0, 1]]
    # The standard error of an entry is at most sqrt(2 / 200000) = 0.003.
    np.testing.assert_allclose(np.cov(X[y == 0].T), first, atol=0.015)
    np.testing.assert_allclose(np.cov(X[y == 1].T), second, atol=0.015)


def test_gaussian_pair_pools_the_first_group_first():
    X, y = make_gaussian_pair(7, random_state=0)
    assert X.shape == (14, 3)
    assert y.tolist() == [0] * 7 + [1] * 7


@pytest.mark.parametrize("make", [make_gaussian_pair, make_block_gaussians])
def test_same_seed_same_data(make):
    X, y = make(n_samples=20, random_state=3)
    again, labels = make(n_samples=20, random_state=3)
    other, _ = make(n_samples=20, random_state=4)
    np.testing.assert_array_equal(X, again)
    np.testing.assert_array_equal(y, labels)
    assert not np.any(X == other)


@pytest.mark.parametrize("make", [make_gaussian_pair, make_block_gaussians])
@pytest.mark.parametrize(
    "source",
    [
        lambda: np.random.default_rng(5),
        lambda: np.random.RandomState(5),
        lambda: np.random.SeedSequence(5),
    ],
)
def test_other_sources_of_randomness_are_reproducible(make, source):
    X, _ = make(n_samples=5, random_state=source())
    again, _ = make(n_samples=5, random_state=source())
    np.testing.assert_array_equal(X, again)


def test_a_generator_moves_on_and_a_seed_sequence_does_not():
    rng = np.random.default_rng(5)
    first, second = (make_gaussian_pair(5, random_state=rng)[0] for _ in range(2))
    assert not np.any(first == second)
    seed = np.random.SeedSequence(5)
    first, second = (make_gaussian_pair(5, random_state=seed)[0] for _ in range(2))
    np.testing.assert_array_equal(first, second)


def test_none_draws_afresh():
    assert not np.any(make_gaussian_pair(5)[0] == make_gaussian_pair(5)[0])


def test_groups_are_independent_draws():
    X, y = make_gaussian_pair(5000, random_state=0)
    assert np.abs(np.corrcoef(X[y == 0].T, X[y == 1].T)[:3, 3:]).max() < 0.06


def block_covariances(X, y):
    """Covariance of every block in either group, shape (2, n_blocks, 3, 3)."""
    blocks = range(0, X.shape[1], 3)
    return np.array([[np.cov(X[y == g, j : j + 3].T) for j in blocks] for g in (0, 1)])


def relative_difference(covariances):
    first, second = covariances
    size = np.linalg.norm(first, axis=(1, 2)) + np.linalg.norm(second, axis=(1, 2))
    return np.linalg.norm(first - second, axis=(1, 2)) / size


@pytest.mark.parametrize("seed", range(3))
def test_only_the_first_block_differs(seed):
    X, y = make_block_gaussians(15, 50_000, random_state=seed)
    assert np.abs(X.mean(axis=0) / X.std(axis=0)).max() < 0.02
    difference = relative_difference(block_covariances(X, y))
    assert difference[0] > 0.1
    assert difference[1:].max() < 0.03


@pytest.mark.parametrize("seed", range(3))
def test_null_shares_every_covariance_and_keeps_the_rest(seed):
    X, y = make_block_gaussians(9, 50_000, null=True, random_state=seed)
    assert relative_difference(block_covariances(X, y)).max() < 0.03
    different, _ = make_block_gaussians(9, 50_000, random_state=seed)
    np.testing.assert_array_equal(X[y == 0], different[y == 0])
    np.testing.assert_array_equal(X[:, 3:], different[:, 3:])


def test_blocks_are_independent_of_each_other():
    X, y = make_block_gaussians(12, 50_000, random_state=0)
    for group in (0, 1):
        correlation = np.corrcoef(X[y == group].T)
        for j in range(0, 12, 3):
            correlation[j : j + 3, j : j + 3] = 0
        assert np.abs(correlation).max() < 0.025


def test_covariances_are_wishart_with_three_degrees_of_freedom():
    X, y = make_block_gaussians(3 * 4000, 40, null=True, random_state=0)
    covariances = np.concatenate(block_covariances(X, y))
    # Mean df * I; an entry has variance 3 (6 on the diagonal) and sampling noise on top.
    np.testing.assert_allclose(covariances.mean(axis=0), 3 * np.eye(3), atol=0.15)
    # The variance of the trace tells the degrees of freedom: it is 2 * 3 * df = 18 for the
    # Wishart, and the sampling of 40 rows adds 2 E tr(S^2) / 39 with E tr(S^2) = 3*3*(3+3+1) = 63.
    trace = np.trace(covariances, axis1=1, axis2=2)
    assert trace.var() == pytest.approx(18 + 2 * 63 / 39, rel=0.1)


@pytest.mark.parametrize("null", [False, True])
def test_smaller_data_are_the_first_columns_of_larger(null):
    widest, y = make_block_gaussians(60, 30, n_samples_second=20, null=null, random_state=1)
    assert widest.shape == (50, 60)
    assert y.tolist() == [0] * 30 + [1] * 20
    for n_features in (3, 30, 57):
        X, _ = make_block_gaussians(n_features, 30, n_samples_second=20, null=null, random_state=1)
        np.testing.assert_array_equal(X, widest[:, :n_features])


def test_the_second_sample_size_leaves_the_first_group_alone():
    X, y = make_block_gaussians(6, 10, random_state=1)
    longer, labels = make_block_gaussians(6, 10, n_samples_second=40, random_state=1)
    np.testing.assert_array_equal(X[y == 0], longer[labels == 0])
    np.testing.assert_array_equal(X[y == 1], longer[labels == 1][:10])


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"n_features": 10}, ValueError, "multiple of 3, got 10"),
        ({"n_features": 0}, ValueError, "n_features must be at least 1"),
        ({"n_samples": 0}, ValueError, "n_samples must be at least 1"),
        ({"n_samples_second": -1}, ValueError, "n_samples_second must be at least 1"),
        ({"n_samples": 10.0}, TypeError, "n_samples must be an integer"),
        ({"n_samples": True}, TypeError, "n_samples must be an integer"),
    ],
)
def test_bad_sizes(arguments, error, message):
    with pytest.raises(error, match=message):
        make_block_gaussians(**arguments)
