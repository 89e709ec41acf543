"""Tests given covariates: what they promise on data made so that residuals would break the promise."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import binom

from princdiff import permutation_test, select_features
from princdiff.data.problem import Design, Problem
from princdiff.labellings.covariates import covariate_terms, group_log_odds, with_unexplained_rows

pytestmark = pytest.mark.whole

RNG = np.random.default_rng


def spread_grows(rng, n=40):
    """Nothing differs at equal age, but values spread with it."""
    y = np.repeat([0, 1], n)
    age = rng.uniform(20, 70, 2 * n) + 10 * y
    return age[:, None] * (1 + 0.2 * rng.normal(size=(2 * n, 4))), y, {"covariates": age}


def bent(rng, n=40):
    y = np.repeat([0, 1], n)
    age = rng.normal(size=2 * n) + y
    return np.maximum(age, 0)[:, None] ** 2 + rng.normal(size=(2 * n, 4)), y, {"covariates": age}


def sites(rng, n=40):
    """A category on which level and spread depend, in three groups."""
    y = np.repeat([0, 1, 2], n)
    site = np.minimum(rng.integers(0, 3, 3 * n) + rng.integers(0, 2, 3 * n) * (y > 0), 3)
    rows = site[:, None] + (1 + site[:, None] / 2) * rng.normal(size=(3 * n, 4))
    return rows, y, {"covariates": np.eye(4)[site]}


def twenty(rng, n=60):
    y = np.repeat([0, 1], n)
    table = rng.normal(size=(2 * n, 20)) + 0.5 * y[:, None] * (np.arange(20) < 3)
    return rng.normal(size=(2 * n, 4)) + table[:, :3].sum(axis=1, keepdims=True), y, {"covariates": table}


def donors(rng, n=16):
    """Whole blocks of unequal size, whose level depends on what is known of them."""
    y = np.repeat([0, 1], n)
    age = rng.normal(size=2 * n) + y
    block = np.repeat(np.arange(2 * n), rng.integers(1, 4, 2 * n))
    rows = 2 * age[block, None] + rng.normal(size=(2 * n, 4))[block] + rng.normal(size=(len(block), 4))
    return rows, y[block], {"covariates": age[block], "blocks": block, "permute": "whole"}


def strata(rng, n=12):
    """Groups inside strata, by the odds of a covariate whose spread grows."""
    block = np.repeat(np.arange(8), n)
    age = rng.normal(size=8 * n)
    y = (rng.random(8 * n) < 1 / (1 + np.exp(-1.5 * age))).astype(int)
    rows = np.exp(0.4 * age)[:, None] * rng.normal(size=(8 * n, 4)) + 2 * age[:, None] + block[:, None]
    return rows, y, {"covariates": age, "blocks": block, "permute": "within"}


@pytest.mark.parametrize("null", [spread_grows, bent, sites, twenty, donors, strata])
def test_level(null):
    rejected, named, n_sets = 0, 0, 20
    for seed in range(n_sets):
        rows, y, design = null(RNG([3, seed]))
        own = {**design, "random_state": seed, "n_jobs": 1}
        rejected += permutation_test(rows, y, n_permutations=19, **own).pvalue <= 0.05
        if seed < 4:
            named += select_features(rows, y, n_permutations=99, **own).selected.any()
    assert rejected <= binom.ppf(0.999, n_sets, 0.05)
    assert named <= binom.ppf(0.999, 4, 0.05)


def test_what_covariates_do_not_explain_is_found():
    for null in (spread_grows, sites):
        rows, y, design = null(RNG(1))
        rows[:, 2] += (y == 1) * 1.5 * rows[:, 2].std()
        found = select_features(rows, y, n_permutations=199, random_state=0, **design)
        assert found.selected.tolist() == [False, False, True, False]


def test_the_order_of_rows_and_the_names_of_groups_play_no_part():
    rows, y, design = bent(RNG(5))
    rows[y == 1, 1] += 1
    order = RNG(6).permutation(len(rows))
    plain = permutation_test(rows, y, n_permutations=49, random_state=0, **design)
    shuffled = permutation_test(
        rows[order], y[order], covariates=design["covariates"][order], n_permutations=49, random_state=0
    )
    swapped = permutation_test(rows, 1 - y, n_permutations=49, random_state=0, **design)
    assert plain.pvalue == shuffled.pvalue == swapped.pvalue
    np.testing.assert_allclose(shuffled.null, plain.null)


def test_odds_are_those_of_the_model():
    rng = RNG(0)
    age = rng.normal(size=(4000, 1))
    y = (rng.random(4000) < 1 / (1 + np.exp(-(1 + 1.5 * age[:, 0])))).astype(np.uint8)
    odds = group_log_odds(covariate_terms(age), y)
    slope, constant = np.polyfit(age[:, 0], odds[:, 1] - odds[:, 0], 1)
    assert slope == pytest.approx(1.5, abs=0.15) and constant == pytest.approx(1, abs=0.2)


@pytest.mark.parametrize("size", [2, 10])
def test_odds_within_strata_are_those_of_the_model(size):
    rng = RNG(1)
    block = np.arange(6000) // size
    # Strata differ in their level of the covariate and in the share of the groups.
    age = rng.normal(size=6000) + rng.normal(size=6000)[block]
    y = (rng.random(6000) < 1 / (1 + np.exp(-(1.5 * age + rng.normal(size=6000)[block])))).astype(np.uint8)
    terms = covariate_terms(age[:, None])
    odds = group_log_odds(terms, y, block)
    slope = np.polyfit(age, odds[:, 1] - odds[:, 0], 1)[0]
    assert slope == pytest.approx(1.5, abs=0.2)


def test_terms():
    rng = RNG(2)
    table = rng.normal(size=(60, 2)) * [1e-9, 1e150] + [0, 5e150]
    terms = covariate_terms(np.column_stack([table, 7 * table[:, 0], np.ones(60), table[:, 0] > 0]))
    # Two numbers, their squares and a flag: neither a copy nor a constant.
    assert terms.shape == (60, 5)
    np.testing.assert_allclose(terms.std(axis=0), 1)
    # Few rows have no squares.
    assert covariate_terms(rng.normal(size=(12, 4))).shape == (12, 4)


def test_unexplained_rows():
    rng = RNG(4)
    age = rng.normal(size=80)
    rows = np.column_stack([rng.normal(size=80) + 3 * age**2, rng.integers(0, 3, 80), rng.random(80) < 0.5])
    problem = Problem.from_arrays(rows, np.arange(80) % 2, design=Design(covariates=age))
    left = with_unexplained_rows(problem)
    before, after = (abs(np.corrcoef(values[:, 0], age**2)[0, 1]) for values in (rows, left.rows))
    assert before > 0.9 and after < 0.1
    # Few values stay what they are.
    np.testing.assert_array_equal(left.rows[:, 1:], rows[:, 1:])
    assert with_unexplained_rows(problem) is left
    sparse = Problem.from_arrays(sp.csr_matrix(rows), problem.codes, design=Design(covariates=age))
    np.testing.assert_allclose(with_unexplained_rows(sparse).rows, left.rows)
