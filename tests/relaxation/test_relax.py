"""The relaxation against a conic solver, and the conditions under which the paper calls it tight."""

import cvxpy as cp
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from princdiff.datasets import make_block_gaussians
from princdiff.relaxation import relax as relax_module
from princdiff.relaxation.relax import marginal_divergences, relax
from princdiff.relaxation.transport import line_divergences


def draw(rng, n, m, d):
    X = rng.normal(size=(n, d)) @ rng.normal(size=(d, d))
    Y = rng.normal(size=(m, d)) @ rng.normal(size=(d, d)) + rng.normal(size=d) / 2
    return np.vstack([X, Y]), np.repeat([0, 1], [n, m])


def conic_value(X, y, penalty=0.0, weight=None):
    """min of lambda_max(W_M + U) over plans M and |U| <= penalty, by cvxpy."""
    weight = np.ones(len(y)) if weight is None else weight
    x, z = X[y == 0], X[y == 1]
    a, b = weight[y == 0], weight[y == 1]
    a, b = a / a.sum(), b / b.sum()
    d = X.shape[1]
    plan, top = cp.Variable((len(a), len(b)), nonneg=True), cp.Variable()
    cross = x.T @ plan @ z
    matrix = (x.T * a) @ x + (z.T * b) @ z - cross - cross.T
    rules = [cp.sum(plan, axis=1) == a, cp.sum(plan, axis=0) == b]
    if penalty > 0:
        shrink = cp.Variable((d, d), symmetric=True)
        rules.append(cp.abs(shrink) <= penalty)
        matrix = matrix + shrink
    rules.append(top * np.eye(d) - (matrix + matrix.T) / 2 >> 0)
    problem = cp.Problem(cp.Minimize(top), rules)
    return problem.solve(solver=cp.CLARABEL)


@pytest.mark.parametrize(("n", "m", "d"), [(6, 6, 8), (7, 5, 6), (10, 10, 8)])
def test_rank_is_bounded_by_the_tight_pairs(n, m, d):
    """The bound of docs/explanation/relaxation.md, by a solver of the problem as it is written there."""
    rng = np.random.default_rng(0)
    x, z = rng.normal(size=(n, d)), rng.normal(size=(m, d))
    gaps = x[:, None] - z
    B, u, v = cp.Variable((d, d), PSD=True), cp.Variable(n), cp.Variable(m)
    rules = [cp.trace(B) == 1, v[0] == 0]
    for i in range(n):
        costs = np.einsum("ja,jb->jab", gaps[i], gaps[i]).reshape(m, d * d)
        rules.append(costs @ cp.vec(B, order="C") >= u[i] + v)
    cp.Problem(cp.Maximize(cp.sum(u) / n + cp.sum(v) / m), rules).solve(solver=cp.CLARABEL)
    slack = np.einsum("ija,ab,ijb->ij", gaps, B.value, gaps) - u.value[:, None] - v.value
    rank, tight = (np.linalg.eigvalsh(B.value) > 1e-4).sum(), (slack < 1e-4).sum()
    assert rank * (rank + 1) / 2 <= tight - (n + m) + 2


@pytest.mark.parametrize(
    ("n", "m", "d", "weighted", "penalty"),
    [
        (40, 40, 3, False, 0.0),
        (40, 40, 6, False, 0.0),
        (35, 45, 4, False, 0.0),
        (30, 40, 5, True, 0.0),
        (40, 40, 4, False, 0.3),
        (30, 40, 5, True, 0.2),
    ],
)
def test_bounds_agree_with_a_conic_solver(n, m, d, weighted, penalty):
    rng = np.random.default_rng(n + m + d)
    X, y = draw(rng, n, m, d)
    weight = rng.uniform(0.2, 2.0, n + m) if weighted else None
    scale = np.trace(np.cov(X.T))
    penalty = penalty * scale / d
    exact = conic_value(X, y, penalty, weight)
    fine = relax(X, y, penalty=penalty, sample_weight=weight, tol=1e-4, random_state=0)
    assert fine.lower_bound == pytest.approx(exact, rel=1e-4)
    assert fine.upper_bound == pytest.approx(exact, rel=1e-4)
    coarse = relax(X, y, penalty=penalty, sample_weight=weight, random_state=0)
    tight = 1e-6 * abs(exact)
    assert coarse.lower_bound <= exact + tight
    assert coarse.upper_bound >= exact - tight
    assert coarse.gap <= 0.0101


def test_many_columns_agree_with_a_conic_solver():
    X, y = draw(np.random.default_rng(5), 30, 25, 15)
    exact = conic_value(X, y)
    found = relax(X, y, random_state=0, tol=0.005)
    assert found.lower_bound <= exact * (1 + 1e-6)
    assert found.upper_bound >= exact * (1 - 1e-6)
    assert found.gap <= 0.0051


def test_factor_spectrum_and_directions_fit_together():
    X, y = draw(np.random.default_rng(1), 50, 40, 8)
    found = relax(X, y, random_state=0)
    B = found.factor @ found.factor.T
    assert np.trace(B) == pytest.approx(1.0)
    rebuilt = (found.directions * found.spectrum) @ found.directions.T
    np.testing.assert_allclose(rebuilt, B, atol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(found.directions, axis=0), 1.0)
    assert (np.diff(found.spectrum) <= 0).all()


def test_lower_bound_is_the_transport_cost_at_b():
    ot = pytest.importorskip("ot")
    X, y = draw(np.random.default_rng(2), 40, 30, 5)
    found = relax(X, y, random_state=0, tol=1e-4)
    px, py = X[y == 0] @ found.factor, X[y == 1] @ found.factor
    cost = ot.emd2(np.full(40, 1 / 40), np.full(30, 1 / 30), ot.dist(px, py))
    assert found.lower_bound == pytest.approx(cost, rel=1e-6)


def test_translation_and_scale():
    X, y = draw(np.random.default_rng(3), 40, 30, 4)
    plain = relax(X, y, random_state=0)
    moved = relax(1e-3 * X + 1e4, y, random_state=0)
    assert moved.upper_bound == pytest.approx(1e-6 * plain.upper_bound, rel=1e-3)
    large = relax(1e6 * X, y, random_state=0)
    assert large.upper_bound == pytest.approx(1e12 * plain.upper_bound, rel=1e-6)


def test_equal_weights_and_repeated_rows_are_the_same_problem():
    X, y = draw(np.random.default_rng(4), 20, 20, 3)
    times = np.random.default_rng(0).integers(1, 4, len(y))
    one = relax(X, y, sample_weight=times, tol=1e-4, random_state=0)
    two = relax(np.repeat(X, times, axis=0), np.repeat(y, times), tol=1e-4, random_state=0)
    assert one.upper_bound == pytest.approx(two.upper_bound, rel=2e-4)


def test_sparse_input_gives_the_dense_answer():
    X, y = draw(np.random.default_rng(6), 25, 25, 6)
    X[np.abs(X) < 1] = 0
    dense = relax(X, y, random_state=0)
    sparse = relax(sp.csr_matrix(X), y, random_state=0)
    assert sparse.upper_bound == pytest.approx(dense.upper_bound, rel=1e-4)


def test_more_columns_than_rows_loses_nothing():
    rng = np.random.default_rng(7)
    X = rng.normal(size=(30, 50))
    y = np.repeat([0, 1], 15)
    found = relax(X, y, random_state=0)
    padded = relax(np.hstack([X, np.zeros((30, 5))]), y, random_state=0)
    assert found.gap < 0.0101
    assert padded.upper_bound == pytest.approx(found.upper_bound, rel=1e-2)
    assert found.directions.shape[0] == 50
    J = line_divergences(
        X[:15] @ found.directions, X[15:] @ found.directions, np.full(15, 1 / 15), np.full(15, 1 / 15)
    )
    assert (found.upper_bound >= J).all()


def test_a_wide_sparse_matrix_makes_no_square_array():
    rng = np.random.default_rng(8)
    X = sp.random(120, 10_000, density=0.01, random_state=1, format="csr")
    y = np.repeat([0, 1], 60)
    found = relax(X, y, random_state=rng)
    assert found.certified
    assert found.gap <= 0.0101
    assert found.directions.shape[0] == 10_000


def test_a_wide_penalised_problem_is_screened_and_says_so(monkeypatch):
    monkeypatch.setattr(relax_module, "MAX_PENALISED", 6)
    X, y = draw(np.random.default_rng(9), 30, 30, 12)
    exact = conic_value(X, y, 1.0)
    found = relax(X, y, penalty=1.0, random_state=0)
    assert "largest marginal divergence" in found.note
    assert found.lower_bound <= exact * (1 + 1e-6)
    assert found.upper_bound >= exact * (1 - 1e-6)


def test_too_many_pairs_are_sampled_and_not_called_certified(monkeypatch):
    monkeypatch.setattr(relax_module, "MAX_CELLS", 400)
    X, y = draw(np.random.default_rng(10), 60, 50, 4)
    found = relax(X, y, random_state=0)
    assert not found.certified
    assert "rows drawn" in found.note


def test_marginal_divergences_against_quantiles():
    rng = np.random.default_rng(11)
    X = rng.normal(size=(50, 4))
    y = np.repeat([0, 1], 25)
    want = ((np.sort(X[:25], axis=0) - np.sort(X[25:], axis=0)) ** 2).mean(axis=0)
    np.testing.assert_allclose(marginal_divergences(X, y), want)
    np.testing.assert_allclose(marginal_divergences(sp.csc_matrix(X), y), want)


def test_one_column_and_constant_rows():
    X, y = draw(np.random.default_rng(12), 20, 15, 1)
    found = relax(X, y)
    assert found.lower_bound == pytest.approx(marginal_divergences(X, y)[0])
    assert found.gap < 1e-8
    flat = relax(np.ones((6, 3)), [0, 0, 0, 1, 1, 1])
    assert flat.lower_bound == flat.upper_bound == 0.0
    assert flat.gap == 0.0


# ---------------------------------------------------------------- section 4.3 of the paper


def best_direction(X, y, n=4000):
    """J of the best of many random directions, polished a little by the envelope of their plans."""
    rng = np.random.default_rng(0)
    V = rng.normal(size=(X.shape[1], n))
    V /= np.linalg.norm(V, axis=0)
    x, z = X[y == 0], X[y == 1]
    return line_divergences(x @ V, z @ V, np.full(len(x), 1 / len(x)), np.full(len(z), 1 / len(z))).max()


def tightness(X, y):
    found = relax(X, y, tol=1e-3, random_state=0)
    top = found.directions[:, :1]
    x, z = X[y == 0], X[y == 1]
    J = line_divergences(x @ top, z @ top, np.full(len(x), 1 / len(x)), np.full(len(z), 1 / len(z)))[0]
    return found.spectrum[0], 1 - max(J, best_direction(X, y)) / found.upper_bound


def gaussian_pair(mean_x, cov_x, mean_y, cov_y, n=300):
    rng = np.random.default_rng(1)
    X = rng.multivariate_normal(mean_x, cov_x, n)
    Y = rng.multivariate_normal(mean_y, cov_y, n)
    return np.vstack([X, Y]), np.repeat([0, 1], n)


def test_condition_i_one_direction_holds_nearly_all_the_distance():
    eye = np.eye(4)
    X, y = gaussian_pair(np.zeros(4), 0.05 * eye, [3, 1, 0, 0], 0.05 * eye)
    leading, gap = tightness(X, y)
    assert leading > 0.99
    assert gap < 0.01


def test_condition_ii_gaussians_with_equal_covariance_and_different_means():
    cov = np.diag([1.0, 2.0, 0.5]) + 0.3
    X, y = gaussian_pair(np.zeros(3), cov, [1.0, -1.0, 0.5], cov)
    leading, gap = tightness(X, y)
    assert leading > 0.97
    assert gap < 0.03


def test_condition_iii_one_marginal_variance_differs():
    eye = np.eye(3)
    X, y = gaussian_pair(np.zeros(3), eye, np.zeros(3), np.diag([9.0, 1.0, 1.0]))
    leading, gap = tightness(X, y)
    assert leading > 0.97
    assert gap < 0.03


def test_counter_example_where_the_relaxation_is_not_tight():
    # Few rows and many columns: in every direction a little of the sampling noise looks like a difference,
    # the least transport cost is concave in B, and so B spreads over them all.
    X, y = make_block_gaussians(30, 60, random_state=0)
    leading, gap = tightness(X, y)
    assert leading < 0.5
    assert gap > 0.2


# ---------------------------------------------------------------- input


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"penalty": -1.0}, "penalty"),
        ({"penalty": np.nan}, "penalty"),
        ({"method": "slow"}, "method"),
        ({"tol": 0.0}, "tol"),
        ({"max_iter": 0}, "max_iter"),
        ({"dual_steps": 3}, "only method"),
        ({"sample_weight": -np.ones(10)}, "sample_weight"),
        ({"sample_weight": np.ones(3)}, "sample_weight"),
        ({"sample_weight": np.repeat([0.0, 1.0], 5)}, "group '0' is left without weight"),
    ],
)
def test_bad_options(change, message):
    X, y = draw(np.random.default_rng(0), 5, 5, 2)
    with pytest.raises(ValueError, match=message):
        relax(X, y, **change)


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (np.zeros((6, 2)), [0, 1, 2, 0, 1, 2], "two groups; y holds 3"),
        (np.zeros((2, 2)), [0, 0], "only one class"),
        (np.full((4, 2), np.nan), [0, 1, 0, 1], "NaN or infinity: columns '0', '1' are affected"),
        (pd.DataFrame({"a": [1.0, np.inf, 2, 3], "b": 1}), [0, 1, 0, 1], "column 'a' is affected"),
        (np.zeros((2, 2)), [0, 1, 1], "y has 3 labels but X has 2 rows"),
        (np.zeros((4, 2)), [0, 1, np.nan, 1], "Input y contains NaN"),
        (np.zeros(4), [0, 1, 1, 0], "Expected 2D array"),
        (np.zeros((4, 0)), [0, 1, 0, 1], "0 feature"),
        (np.array([["a"], ["b"]]), [0, 1], "X holds text, but numbers are needed"),
    ],
)
def test_bad_data(X, y, message):
    with pytest.raises(ValueError, match=message):
        relax(X, y)
