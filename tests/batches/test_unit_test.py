"""The test of units against all relabellings by enumeration, and its level."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from princdiff.batches.unit_test import _Scale, unit_test


def all_sums(pool, small):
    return np.array([pool[list(chosen)].sum(axis=0) for chosen in combinations(range(len(pool)), small)])


@pytest.mark.parametrize("small", [2, 3])
def test_moments_are_those_of_all_relabellings(small):
    pool = np.random.default_rng(0).exponential(size=(9, 4))
    pool = (pool - pool.mean(axis=0)) / pool.std(axis=0)
    sums = all_sums(pool, small)
    scale = _Scale.of(pool, small)
    np.testing.assert_allclose(scale.deviation, sums.std(axis=0))
    skewness = ((sums - sums.mean(axis=0)) ** 3).mean(axis=0) / sums.std(axis=0) ** 3
    np.testing.assert_allclose(scale.skewness, skewness, atol=1e-9)


def test_scores_and_sums_are_inverse():
    scale = _Scale(2.0, np.array([1e-4, 0.4, -0.7]))
    for score in (0.5, 2.0, 3.0):
        low, high = scale.sums(score)
        np.testing.assert_allclose(scale.scores(high), score, rtol=1e-3)
        np.testing.assert_allclose(scale.scores(low), -score, rtol=1e-3)


@pytest.mark.parametrize("swapped", [False, True])
def test_pvalue_is_that_of_all_relabellings(swapped):
    rng = np.random.default_rng(1)
    pool = rng.exponential(size=(12, 3))
    pool[-3:, 1] += 1.5
    reference, batch = pool[:-3], pool[-3:]
    centred = pool - pool.mean(axis=0)
    sums = all_sums(centred / centred.std(axis=0), 3)
    scores = _Scale.of(centred / centred.std(axis=0), 3).scores(sums)
    largest = np.abs(scores).max(axis=1)
    exact = float((largest >= np.abs(scores[-1]).max() - 1e-9).mean())
    assert 0.005 < exact < 0.2
    pair = (batch, reference) if swapped else (reference, batch)
    found = unit_test(*pair, 0.001, rng)
    assert found.pvalue == pytest.approx(exact, rel=0.8)
    np.testing.assert_allclose(found.scores, (-1 if swapped else 1) * scores[-1], rtol=1e-3)


def test_level_under_the_null_hypothesis():
    rng = np.random.default_rng(2)
    pvalues = np.array(
        [
            unit_test(rng.exponential(size=(30, 5)), rng.exponential(size=(8, 5)), 0.05, rng).pvalue
            for _ in range(400)
        ]
    )
    # 20 expected; 33 or more have a chance of 1 in 300.
    assert 8 < np.count_nonzero(pvalues <= 0.05) < 33


def test_named_features_and_constants():
    rng = np.random.default_rng(3)
    reference, batch = rng.normal(size=(100, 6)), rng.normal(size=(25, 6))
    batch[:, [1, 4]] += 2.0
    reference[:, 5] = batch[:, 5] = 7.0
    found = unit_test(reference, batch, 1e-3, rng)
    assert found.pvalue <= 1e-3 and np.flatnonzero(found.named).tolist() == [1, 4]
    assert abs(found.scores[5]) < 1e-4 and found.scores[1] > 3


def test_nothing_is_named_above_the_level():
    rng = np.random.default_rng(4)
    found = unit_test(rng.normal(size=(50, 3)), rng.normal(size=(10, 3)) + 0.5, 1e-6, rng)
    assert found.pvalue > 1e-6 and not found.named.any()


def test_the_largest_possible_difference_of_two_units():
    # One labelling of six is as extreme: no more can be shown by so few units.
    reference, batch = np.array([[0.0], [0.1], [0.2]]), np.array([[9.0]])
    assert unit_test(reference, batch, 1e-3, np.random.default_rng(0)).pvalue > 0.1
