from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.linalg import sqrtm
from scipy.stats import binom

from princdiff import permutation_test
from princdiff.data.problem import Design, Problem
from princdiff.inference.covariates import covariate_basis, unexplained_rows, without_covariates


def problem_of(n_rows=30, n_covariates=3, seed=0, **design):
    rng = np.random.default_rng(seed)
    table = rng.normal(size=(n_rows, n_covariates))
    X = rng.normal(size=(n_rows, 4)) + table @ rng.normal(size=(n_covariates, 4))
    return Problem.from_arrays(X, np.arange(n_rows) % 2, design=Design(covariates=table, **design))


@pytest.mark.parametrize("n_rows, n_covariates", [(12, 4), (15, 1), (60, 7)])
def test_rows_are_those_of_theil(n_rows, n_covariates):
    rng = np.random.default_rng(n_rows)
    basis = covariate_basis(rng.normal(size=(n_rows, n_covariates)))
    transform, kept = unexplained_rows(np.eye(n_rows), basis)
    hat = basis @ basis.T
    # Orthonormal rows that span all that is orthogonal to the covariates.
    np.testing.assert_allclose(transform @ transform.T, np.eye(n_rows - n_covariates - 1), atol=1e-10)
    np.testing.assert_allclose(transform.T @ transform, np.eye(n_rows) - hat, atol=1e-10)
    # The textbook form, with a square root of a matrix.
    residuals = (np.eye(n_rows) - hat)[kept]
    expected = np.linalg.inv(sqrtm(residuals[:, kept]).real) @ residuals
    np.testing.assert_allclose(transform, expected, atol=1e-8)
    # Each row stands for the original one more than for any other.
    np.testing.assert_array_equal(np.abs(transform[:, kept]).argmax(axis=1), np.arange(len(kept)))
    assert (np.diff(kept) > 0).all()


def test_no_effect_of_the_covariates_is_left():
    rng = np.random.default_rng(1)
    table = rng.normal(size=(40, 3))
    noise = rng.normal(size=(40, 5))
    basis = covariate_basis(table)
    first, _ = unexplained_rows(noise, basis)
    second, _ = unexplained_rows(noise + 100.0 + table @ rng.normal(size=(3, 5)) * 50, basis)
    np.testing.assert_allclose(second, first, atol=1e-9)


def test_a_linear_function_of_the_groups_leaves_no_difference_to_see():
    y = np.arange(20) % 2
    shifted, _ = unexplained_rows(5.0 * y[:, None], covariate_basis(y[:, None].astype(float)))
    np.testing.assert_allclose(shifted, 0.0, atol=1e-10)


def test_units_of_covariates_do_not_matter():
    rng = np.random.default_rng(2)
    table = rng.normal(size=(30, 3))
    plain = covariate_basis(table)
    scaled = covariate_basis(table * [1e-9, 1e4, 1e150] + [0.0, 1e5, 0.0])
    np.testing.assert_allclose(scaled @ scaled.T, plain @ plain.T, atol=1e-8)
    # A copy, a constant and a sum add nothing.
    more = np.column_stack([table, 7 * table[:, 0], np.full(30, 3.0), table[:, 1] - table[:, 2]])
    assert covariate_basis(more).shape == (30, 4)


def test_a_covariate_of_small_unit_is_not_dropped():
    rng = np.random.default_rng(3)
    y = np.repeat([0, 1], 50)
    explains, other = rng.normal(size=100) + y, rng.normal(size=100)
    X = 2.0 * explains[:, None] + rng.normal(size=(100, 3))
    options = {"n_permutations": 99, "random_state": 0}
    usual = permutation_test(X, y, covariates=np.c_[explains, other], **options)
    tiny = permutation_test(X, y, covariates=np.c_[explains * 1e-9, other * 1e4], **options)
    without = permutation_test(X, y, covariates=other, **options)
    assert tiny.pvalue == usual.pvalue
    assert tiny.statistic == pytest.approx(usual.statistic, rel=1e-3)
    assert without.statistic > 2 * tiny.statistic


def test_what_stays_with_the_rows():
    problem = problem_of(30, 3)
    left = without_covariates(problem)
    assert left.covariates is None and left.n_rows == 26
    rows, kept = unexplained_rows(problem.rows, covariate_basis(problem.covariates))
    np.testing.assert_array_equal(left.codes, problem.codes[kept])
    np.testing.assert_allclose(left.rows, rows)
    assert left.names == problem.names and left.classes == problem.classes
    assert without_covariates(left) is left


def test_constant_covariates_change_nothing():
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(20, 3)), np.arange(20) % 2
    problem = Problem.from_arrays(X, y, design=Design(covariates=np.full((20, 2), 5.0)))
    left = without_covariates(problem)
    np.testing.assert_array_equal(left.rows, X)
    assert left.covariates is None


def test_sparse_rows():
    problem = problem_of(24, 2)
    sparse = Problem.from_arrays(
        sp.csr_matrix(problem.rows), problem.codes, design=Design(covariates=problem.covariates)
    )
    np.testing.assert_allclose(without_covariates(sparse).rows, without_covariates(problem).rows)


def test_blocks_are_taken_out_with_the_covariates():
    blocks = np.arange(40) // 8
    problem = problem_of(40, 2, blocks=blocks, permute="within")
    left = without_covariates(problem)
    assert left.n_rows == 40 - 2 - 5 and left.permute == "within"
    shifted = Problem.from_arrays(
        problem.rows + 30.0 * np.arange(5)[blocks][:, None],
        problem.codes,
        design=Design(covariates=problem.covariates, blocks=blocks, permute="within"),
    )
    np.testing.assert_allclose(without_covariates(shifted).rows, left.rows, atol=1e-8)


def test_too_many_covariates_say_so():
    with pytest.raises(ValueError, match="6 covariates for 12 rows leave too little"):
        without_covariates(problem_of(12, 6))
    pairs = np.repeat(np.arange(10), 2)
    with pytest.raises(ValueError, match=r"1 covariates and 10 blocks for 20 rows.*differences"):
        without_covariates(problem_of(20, 1, blocks=pairs, permute="within"))
    # The only rows of a group that the covariates do not tell apart are too few.
    y = np.array([1, 1, 1] + [0] * 17)
    table = np.column_stack([np.eye(20)[:, 0], np.eye(20)[:, 1], np.random.default_rng(0).normal(size=20)])
    problem = Problem.from_arrays(
        np.random.default_rng(1).normal(size=(20, 2)), y, design=Design(covariates=table)
    )
    with pytest.raises(ValueError, match=r"3 covariates for 20 rows leave 1 row\(s\) of group 1"):
        without_covariates(problem)


@pytest.mark.parametrize("draw", ["normal", "exponential", "heavy"])
@pytest.mark.parametrize("n_rows, n_covariates", [(40, 10), (12, 4)])
def test_level_of_a_plain_statistic(draw, n_rows, n_covariates):
    # The squared difference of means and of third moments, for many data sets without a difference.
    rng = np.random.default_rng(5)
    make = {
        "normal": rng.normal,
        "exponential": rng.exponential,
        "heavy": lambda size: rng.standard_t(3, size=size),
    }[draw]
    rejected, n_sets = np.zeros(2), 300
    y = np.arange(n_rows) % 2
    for _ in range(n_sets):
        table = rng.normal(size=(n_rows, n_covariates))
        table[:, 0] += y
        X = make(size=(n_rows, 3)) + table @ rng.normal(size=(n_covariates, 3))
        rows, kept = unexplained_rows(X, covariate_basis(table))
        labels = np.array([y[kept], *(rng.permutation(y[kept]) for _ in range(19))])
        if min(labels[0].sum(), len(kept) - labels[0].sum()) < 2:
            continue
        contrast = labels / labels[:1].sum() - (1 - labels) / (1 - labels[0]).sum()
        for place, power in enumerate((1, 3)):
            statistics = ((contrast @ rows**power) ** 2).sum(axis=1)
            rejected[place] += (statistics[1:] >= statistics[0] * (1 - 1e-9)).sum() < 2
    # At 10 %: two of twenty ranks.
    assert (rejected <= binom.ppf(0.999, n_sets, 0.1)).all()
    assert (rejected >= binom.ppf(0.001, n_sets, 0.1) - (30 if n_rows == 12 else 0)).all()
