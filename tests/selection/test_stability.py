from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from princdiff.data.labels import HELD_OUT, Labels
from princdiff.data.samples import Samples
from princdiff.selection.stability import (
    expected_false_selections,
    half_samples,
    stability_selection,
)


def shifted(seed=0, n_rows=120, n_features=8, features=(2,), size=1.5):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(n_rows, n_features)), np.arange(n_rows) % 2
    X[:, list(features)] += size * y[:, None]
    return X, y


# ---------------------------------------------------------------- halves


@pytest.mark.parametrize("sizes", [(10, 10), (7, 12), (5, 9, 4)])
def test_halves_are_complementary_and_stratified(sizes):
    rng = np.random.default_rng(0)
    codes = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    samples = Samples(rng.normal(size=(len(codes), 2)))
    halves = half_samples(samples, Labels(codes, len(sizes)), 6, rng)
    assert halves.codes.shape == (12, len(codes))
    for pair in range(6):
        first, second = halves.codes[2 * pair], halves.codes[2 * pair + 1]
        assert not ((first != HELD_OUT) & (second != HELD_OUT)).any()
        for group, size in enumerate(sizes):
            # Equal halves of every group; of an odd number one row stays out.
            assert (first == group).sum() == (second == group).sum() == size // 2
            assert (codes[(first == group) | (second == group)] == group).all()
    assert len(np.unique(halves.codes, axis=0)) == 12


def test_every_row_is_used_about_as_often():
    codes = np.repeat([0, 1], 15)
    # Rows that are alike as well, as the last five are.
    samples = Samples(np.minimum(np.arange(30), 25).astype(float)[:, None])
    halves = half_samples(samples, Labels(codes, 2), 200, np.random.default_rng(1))
    used = (halves.codes != HELD_OUT).mean(axis=0)
    np.testing.assert_allclose(used, 14 / 30, atol=0.06)


def test_weights_stay_with_the_halves():
    weights = np.random.default_rng(2).random(12)
    labels = Labels(np.arange(12) % 2, 2, weights=weights)
    halves = half_samples(Samples(weights[:, None]), labels, 2, np.random.default_rng(0))
    assert halves.weights is weights


# ---------------------------------------------------------------- the bound


@pytest.mark.parametrize(
    "threshold, selected, available, n_pairs, expected",
    [
        # 4 (1 - .9 + .01) / (1 + .02) * 10^2 / 500
        (0.9, 10, 500, 50, 4 * 0.11 / 1.02 * 0.2),
        # 4 (.01) / 1.02 * 10^2 / 500
        (1.0, 10, 500, 50, 4 * 0.01 / 1.02 * 0.2),
        # 1 / (2 (2 * .7 - 1 - .01)) * 20^2 / 1000
        (0.7, 20, 1000, 50, 1 / (2 * 0.39) * 0.4),
        (0.6, 5, 100, 25, 1 / (2 * 0.18) * 0.25),
        # Where a third of the features or more is selected, only the bound without unimodality holds.
        (0.9, 60, 100, 50, 36 / 0.8),
        # As for thresholds that few halves can tell from one half: 1/2 + 1/B at least.
        (0.503, 10, 500, 50, 0.2 / 0.006),
        (0.51, 10, 500, 50, 0.2 / 0.02),
        # Never more than there are.
        (0.51, 100, 100, 50, 100),
    ],
)
def test_bound_at_hand_computed_points(threshold, selected, available, n_pairs, expected):
    found = expected_false_selections(threshold, selected, available, n_pairs)
    assert found == pytest.approx(expected)


@pytest.mark.parametrize("n_pairs", [5, 50])
@pytest.mark.parametrize("selected", [1, 10, 50, 70])
def test_bound_falls_with_the_threshold(n_pairs, selected):
    grid = np.linspace(0.501, 1.0, 400)
    bounds = np.array([expected_false_selections(t, selected, 100, n_pairs) for t in grid])
    assert (bounds > 0).all() and (bounds <= 100).all()
    assert (np.diff(bounds) <= 1e-12).all()


def test_bound_with_unimodality_is_never_above_the_one_without():
    for threshold in np.linspace(0.51, 1.0, 50):
        plain = 10**2 / 300 / (2 * threshold - 1)
        assert expected_false_selections(threshold, 10, 300, 50) <= plain + 1e-12


# ---------------------------------------------------------------- selection


def test_a_clear_feature_is_stable():
    X, y = shifted(3)
    found = stability_selection(X, y, n_features=1, n_pairs=20, random_state=0)
    assert found.frequencies.shape == found.stable.shape == (8,)
    assert ((found.frequencies >= 0) & (found.frequencies <= 1)).all()
    # Shares of forty half-samples.
    np.testing.assert_allclose(40 * found.frequencies, np.round(40 * found.frequencies))
    np.testing.assert_array_equal(np.flatnonzero(found.stable), [2])
    np.testing.assert_array_equal(found.stable, found.frequencies >= 0.9)
    assert found.frequencies.sum() == pytest.approx(1.0)
    assert found.n_features == 1
    assert found.threshold == 0.9
    assert found.expected_false == pytest.approx(expected_false_selections(0.9, 1, 8, 20))


def test_noise_is_not_stable():
    X, y = shifted(4, size=0.0, n_features=20)
    found = stability_selection(X, y, n_features=3, n_pairs=15, random_state=0)
    assert found.stable.sum() <= 1
    assert found.frequencies.sum() <= 3 + 1e-9
    assert found.expected_false < 0.3


def test_sparsity_is_chosen_once():
    X, y = shifted(6, features=(1, 4), size=2.0, n_rows=160)
    found = stability_selection(X, y, n_pairs=10, random_state=0)
    assert found.stable[[1, 4]].all()
    assert 2 <= found.n_features <= 4


def test_sparse_rows_frames_seeds_and_jobs():
    rng = np.random.default_rng(6)
    X = rng.normal(2.0, size=(60, 5)) * (rng.random((60, 5)) < 0.6)
    y = np.arange(60) % 2
    X[y == 1, 0] += 1.0
    options = {"n_features": 2, "n_pairs": 8}
    dense = stability_selection(X, y, random_state=0, **options)
    for rows in (sp.csr_matrix(X), pd.DataFrame(X)):
        other = stability_selection(rows, y, random_state=0, n_jobs=2, **options)
        np.testing.assert_allclose(other.frequencies, dense.frequencies, atol=0.13)
    again = stability_selection(X, y, random_state=0, n_jobs=2, **options)
    np.testing.assert_array_equal(again.frequencies, dense.frequencies)


def test_three_groups_and_within():
    rng = np.random.default_rng(7)
    y = np.arange(90) % 3
    X = rng.normal(size=(90, 4))
    X[:, 3] += y
    found = stability_selection(X, y, n_features=1, n_pairs=8, random_state=0)
    assert found.stable[3]
    # Correlation alone: pairs of features, not single ones.
    pair = rng.normal(size=(90, 1))
    X[:, 0] = pair[:, 0] + 0.1 * rng.normal(size=90)
    X[:, 1] = np.where(y % 2 == 0, 1, -1) * pair[:, 0] + 0.1 * rng.normal(size=90)
    found = stability_selection(X, y % 2, n_features=2, n_pairs=8, scale="within", random_state=0)
    np.testing.assert_array_equal(np.flatnonzero(found.stable), [0, 1])


@pytest.mark.parametrize(
    "options, words",
    [
        ({"threshold": 0.5}, "threshold must be above 0.5"),
        ({"threshold": 1.1}, "threshold must be above 0.5"),
        ({"n_pairs": 0}, "n_pairs must be a positive whole number"),
        ({"scale": "robust"}, "scale must be one of"),
        ({"n_features": 0}, "between 1 and 8"),
    ],
)
def test_bad_input(options, words):
    X, y = shifted(8, n_rows=20)
    with pytest.raises(ValueError, match=words):
        stability_selection(X, y, **options)


def test_tiny_groups():
    with pytest.raises(ValueError, match="at least four rows"):
        stability_selection(np.random.default_rng(0).normal(size=(13, 2)), np.repeat([0, 1], [10, 3]))
