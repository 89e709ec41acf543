from __future__ import annotations

import numpy as np
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from princdiff.data.labels import Labels
from princdiff.data.samples import Samples
from princdiff.divergences import MeanDifference, StandardisedMeanDifference
from princdiff.solvers.effort import SearchSettings
from princdiff.solvers.solve import solve


def problem(sizes, n_features=6, seed=0):
    rng = np.random.default_rng(seed)
    mixing = rng.normal(size=(n_features, n_features))
    codes = np.repeat(np.arange(len(sizes)), sizes)
    X = rng.normal(size=(len(codes), n_features)) @ mixing
    return X + np.outer(codes, rng.normal(size=n_features)), codes


def best_direction(X, codes, divergence, level=None):
    labels = Labels(codes, int(codes.max()) + 1)
    level = level or X.shape[1]
    found = solve(Samples(X), labels, divergence, SearchSettings(level), rng=np.random.default_rng(0))
    return found.direction


def cosine(a, b):
    return abs(a @ b) / np.linalg.norm(a) / np.linalg.norm(b)


@pytest.mark.parametrize("sizes", [(80, 80), (50, 110)])
def test_means_find_the_line_between_the_centroids(sizes):
    X, codes = problem(sizes)
    expected = X[codes == 1].mean(axis=0) - X[codes == 0].mean(axis=0)
    direction = best_direction(X, codes, MeanDifference())
    assert cosine(direction, expected) > 1 - 1e-8
    value = MeanDifference().value((X @ direction)[None], Labels(codes, 2))[0]
    assert value == pytest.approx(expected @ expected, rel=1e-8)


@pytest.mark.parametrize("sizes", [(80, 80), (50, 110)])
def test_standardised_means_find_the_discriminant(sizes):
    X, codes = problem(sizes, seed=1)
    within = sum(np.cov(X[codes == g].T, ddof=0) * np.count_nonzero(codes == g) for g in (0, 1)) / len(codes)
    difference = X[codes == 1].mean(axis=0) - X[codes == 0].mean(axis=0)
    expected = np.linalg.solve(within, difference)
    direction = best_direction(X, codes, StandardisedMeanDifference())
    assert cosine(direction, expected) > 1 - 1e-6
    sklearns = LinearDiscriminantAnalysis(solver="eigen").fit(X, codes).scalings_[:, 0]
    assert cosine(direction, sklearns) > 1 - 1e-6
    value = StandardisedMeanDifference().value((X @ direction)[None], Labels(codes, 2))[0]
    assert value == pytest.approx(difference @ expected, rel=1e-6)


def test_several_groups_find_the_top_discriminant():
    X, codes = problem((60, 50, 70), seed=2)
    direction = best_direction(X, codes, StandardisedMeanDifference())
    sklearns = LinearDiscriminantAnalysis(solver="eigen").fit(X, codes).scalings_[:, 0]
    assert cosine(direction, sklearns) > 1 - 1e-5


def test_a_sparse_direction_keeps_the_largest_differences_of_means():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(200, 8))
    X[100:] += np.array([0.0, 1.0, 0.0, -2.0, 0.0, 0.5, 0.0, 0.0])
    codes = np.repeat([0, 1], 100)
    direction = best_direction(X, codes, MeanDifference(), level=2)
    difference = X[100:].mean(axis=0) - X[:100].mean(axis=0)
    expected = np.where(np.abs(difference) >= np.sort(np.abs(difference))[-2], difference, 0.0)
    assert cosine(direction, expected) > 1 - 1e-8


def test_perfect_separation_is_large_and_finite():
    labels = Labels([0, 0, 1, 1], 2)
    found = StandardisedMeanDifference().value(np.array([[0.0, 0.0, 1.0, 1.0]]), labels)
    assert 1e6 < found[0] < 1e12
