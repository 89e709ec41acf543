from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.stats import binom

from oracles import between_groups, wasserstein2
from princdiff.statistics.split import split_test, univariate_test

pytestmark = pytest.mark.whole


def two_groups(seed=0, sizes=(40, 40), n_features=4, shift=0.0):
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(len(sizes)), sizes)
    X = rng.normal(size=(len(y), n_features))
    X[:, 1] += shift * y
    return X, y


# ---------------------------------------------------------------- along a fixed direction


def exact_pvalue(values, n_first):
    """Over all ways to choose the first group."""
    rows = set(range(len(values)))
    statistics = []
    for first in combinations(range(len(values)), n_first):
        rest = sorted(rows - set(first))
        statistics.append(wasserstein2(values[list(first)], values[rest]))
    return statistics[0], np.mean(np.array(statistics) >= statistics[0] * (1 - 1e-9))


@pytest.mark.parametrize("sizes", [(4, 4), (3, 5), (5, 4)])
@pytest.mark.parametrize("kind", ["continuous", "tied"])
def test_univariate_against_all_relabellings(sizes, kind):
    rng = np.random.default_rng(sum(sizes))
    codes = np.repeat([0, 1], sizes).astype(np.uint8)
    values = rng.normal(size=len(codes)) + 1.2 * codes
    if kind == "tied":
        values = np.round(values)
    statistic, expected = exact_pvalue(values, sizes[0])
    found, observed = univariate_test(values, codes, 2, 20000, np.random.default_rng(0))
    assert observed == pytest.approx(statistic)
    assert found == pytest.approx(expected, abs=4 * np.sqrt(expected * (1 - expected) / 20000) + 1e-4)


def test_univariate_of_unsorted_rows_and_three_groups():
    rng = np.random.default_rng(1)
    codes = rng.permutation(np.repeat([0, 1, 2], [10, 14, 8])).astype(np.uint8)
    values = rng.normal(size=32) + 100.0 + 2.0 * codes
    found, observed = univariate_test(values, codes, 3, 199, np.random.default_rng(0))
    assert observed == pytest.approx(between_groups(values, codes))
    assert found == pytest.approx(1 / 200)


def test_univariate_constant_and_chunks(monkeypatch):
    codes = np.repeat([0, 1], 20).astype(np.uint8)
    assert univariate_test(np.full(40, 3.3), codes, 2, 99, np.random.default_rng(0)) == (1.0, 0.0)
    values = np.random.default_rng(2).normal(size=40)
    monkeypatch.setattr("princdiff.statistics.split._CHUNK_ELEMENTS", 400)
    pieces = [univariate_test(values, codes, 2, 99, np.random.default_rng(0), n_jobs) for n_jobs in (1, 2)]
    assert pieces[0] == pieces[1]
    # Any p-value of 99 relabellings is a whole number of hundredths.
    assert pieces[0][0] * 100 == pytest.approx(round(pieces[0][0] * 100))


def test_univariate_is_exact():
    codes = np.repeat([0, 1], [7, 9]).astype(np.uint8)
    rng = np.random.default_rng(3)
    pvalues = np.array([univariate_test(rng.normal(size=16), codes, 2, 19, rng)[0] for _ in range(1500)])
    counts = np.bincount(np.round(20 * pvalues).astype(int), minlength=21)[1:]
    # Each of the twenty ranks equally often: 99.9 % point of chi squared with 19 degrees of freedom.
    assert ((counts - 75) ** 2 / 75).sum() < 43.8


# ---------------------------------------------------------------- the whole test


def test_result_and_rule():
    X, y = two_groups(4, (60, 50), shift=1.5)
    found = split_test(X, y, n_splits=3, n_features=1, n_permutations=99, random_state=0)
    assert found.pvalues.shape == found.statistics.shape == (3,)
    assert found.directions.shape == (3, 4)
    assert "twice the median" in found.rule and "3 splits" in found.rule
    assert found.pvalue == pytest.approx(min(1.0, 2 * np.median(found.pvalues)))
    np.testing.assert_array_equal(np.abs(found.directions).argmax(axis=1), 1)
    assert found.pvalue <= 0.04
    with pytest.raises(AttributeError):
        found.pvalue = 0.0


def test_one_split_is_not_doubled():
    X, y = two_groups(5, (60, 50), shift=1.5)
    found = split_test(X, y, n_splits=1, n_features=1, n_permutations=99, random_state=0)
    assert found.rule == "one split"
    assert found.pvalue == found.pvalues[0] == pytest.approx(0.01)


def test_statistic_is_of_rows_not_used_in_the_fit():
    # Pure noise in many dimensions: the fitted rows are pulled apart, the others are not.
    rng = np.random.default_rng(6)
    X, y = rng.normal(size=(60, 30)), np.repeat([0, 1], 30)
    found = split_test(X, y, n_splits=5, n_features=30, n_permutations=19, random_state=0)
    assert np.median(found.statistics) < 1.0
    assert np.linalg.norm(found.directions, axis=1) == pytest.approx(1)


def test_chooses_the_sparsity():
    X, y = two_groups(7, (60, 60), n_features=30, shift=2.0)
    found = split_test(X, y, n_splits=2, n_permutations=99, random_state=0)
    assert (np.count_nonzero(found.directions, axis=1) <= 15).all()
    np.testing.assert_array_equal(np.abs(found.directions).argmax(axis=1), 1)
    assert found.pvalue == pytest.approx(0.02)


@pytest.mark.parametrize("n_features", [1, 2])
def test_level(n_features):
    # Each of the p-values is exact, whatever the fit did; at 10 % two of twenty ranks.
    n_sets, rejected = 80, 0
    for seed in range(n_sets):
        rng = np.random.default_rng([7, seed])
        X, y = rng.standard_t(3, size=(24, 3)), np.repeat([0, 1], [10, 14])
        found = split_test(
            X, y, n_splits=1, n_features=n_features, n_permutations=19, effort="fast", random_state=seed
        )
        rejected += found.pvalue <= 0.1 + 1e-9
    low, high = binom.interval(0.999, n_sets, 0.1)
    assert low <= rejected <= high


def test_level_of_several_splits():
    # Twice the median holds the level, and is conservative where the splits agree.
    n_sets, rejected = 60, 0
    for seed in range(n_sets):
        rng = np.random.default_rng([8, seed])
        X, y = rng.normal(size=(24, 3)), np.repeat([0, 1], 12)
        found = split_test(
            X, y, n_splits=3, n_features=1, n_permutations=39, effort="fast", random_state=seed
        )
        rejected += found.pvalue <= 0.1 + 1e-9
    assert rejected <= binom.ppf(0.999, n_sets, 0.1)


def test_sparse_rows_and_frames():
    rng = np.random.default_rng(9)
    X = rng.poisson(0.7, size=(60, 5)).astype(float)
    y = np.array(["a", "b"])[np.arange(60) % 2]
    X[y == "b", 3] += rng.poisson(2.0, size=30)
    options = {"n_splits": 2, "n_features": 2, "n_permutations": 99, "random_state": 0}
    dense = split_test(X, y, **options)
    for rows in (sp.csr_matrix(X), pd.DataFrame(X)):
        other = split_test(rows, y, **options)
        np.testing.assert_allclose(other.statistics, dense.statistics, rtol=1e-2)
        np.testing.assert_allclose(other.pvalues, dense.pvalues, atol=0.02)


def test_seeds_and_jobs():
    X, y = two_groups(10, shift=0.5)
    options = {"n_splits": 2, "n_features": 2, "n_permutations": 49}
    runs = [split_test(X, y, random_state=1, n_jobs=n_jobs, **options) for n_jobs in (None, 2)]
    np.testing.assert_array_equal(runs[0].pvalues, runs[1].pvalues)
    np.testing.assert_array_equal(runs[0].directions, runs[1].directions)
    assert (split_test(X, y, random_state=2, **options).statistics != runs[0].statistics).any()


@pytest.mark.parametrize("scale", [None, "pooled"])
def test_directions_are_of_the_scaled_features(scale):
    X, y = two_groups(11, (50, 50), n_features=3, shift=2.0)
    X = X * [1000.0, 1.0, 1.0]
    found = split_test(X, y, n_splits=1, n_features=1, scale=scale, n_permutations=19, random_state=0)
    assert np.abs(found.directions[0]).argmax() == (0 if scale is None else 1)


def test_three_groups_and_equal_rows():
    X, y = two_groups(12, (20, 25, 18), shift=1.2)
    found = split_test(X, y, n_splits=3, n_features=1, n_permutations=99, random_state=0)
    assert found.pvalue <= 0.04
    equal = split_test(np.ones((40, 3)), np.arange(40) % 2, n_splits=2, n_features=2, random_state=0)
    assert equal.pvalue == 1.0
    assert (equal.statistics == 0).all()


@pytest.mark.parametrize("fraction, works", [(0.5, True), (0.75, True), (0.9, False), (0.1, False)])
def test_fraction(fraction, works):
    X, y = two_groups(13, (8, 30))
    options = {"n_splits": 1, "n_features": 1, "n_permutations": 19, "random_state": 0}
    if works:
        assert 0 < split_test(X, y, fraction=fraction, **options).pvalue <= 1
    else:
        with pytest.raises(ValueError, match=r"too small to split.*use permutation_test"):
            split_test(X, y, fraction=fraction, **options)


@pytest.mark.parametrize(
    "options, words",
    [
        ({"n_splits": 0}, "n_splits must be a positive whole number"),
        ({"n_permutations": -1}, "n_permutations must be a positive whole number"),
        ({"fraction": 0.0}, "fraction must be between 0 and 1"),
        ({"fraction": 1.0}, "fraction must be between 0 and 1"),
        ({"scale": "within"}, "scale must be one of None, 'pooled'"),
        ({"n_features": 9}, "between 1 and 4"),
        ({"n_features": "few"}, "whole number or 'auto'"),
        ({"effort": "none"}, "effort must be one of"),
    ],
)
def test_bad_input(options, words):
    X, y = two_groups(14, (10, 10))
    with pytest.raises(ValueError, match=words):
        split_test(X, y, **options)


def test_tiny_groups():
    X, y = two_groups(15, (3, 30))
    with pytest.raises(ValueError, match="a group of 3 rows is too small"):
        split_test(X, y)


@pytest.mark.parametrize("n_groups", [2, 3])
def test_quantiles_of_many_rows_give_the_pvalue_of_the_distance(n_groups, monkeypatch):
    rng = np.random.default_rng(8)
    codes = rng.permutation(np.arange(900) % n_groups).astype(np.uint8)
    for shift in (0.0, 0.12):
        values = rng.normal(size=900) + shift * codes
        exact, statistic = univariate_test(values, codes, n_groups, 499, np.random.default_rng(0))
        monkeypatch.setattr("princdiff.statistics.split._MANY_ROWS", 100)
        quick, same = univariate_test(values, codes, n_groups, 499, np.random.default_rng(0))
        monkeypatch.undo()
        assert same == statistic
        assert abs(quick - exact) < 0.08


def test_quantiles_of_many_rows_hold_the_level(monkeypatch):
    monkeypatch.setattr("princdiff.statistics.split._MANY_ROWS", 10)
    pvalues = []
    for seed in range(200):
        rng = np.random.default_rng([9, seed])
        codes = np.repeat([0, 1], [25, 40]).astype(np.uint8)
        pvalues.append(univariate_test(rng.normal(size=65), codes, 2, 19, rng)[0])
    assert binom.ppf(0.001, 200, 0.05) <= np.sum(np.array(pvalues) <= 0.05) <= binom.ppf(0.999, 200, 0.05)
