"""RELAX as printed: its projection, its objective, and where it ends on the paper's Fig. 1a."""

import cvxpy as cp
import numpy as np
import pytest

from princdiff.datasets import make_gaussian_pair
from princdiff.relaxation.paper import project_simplex, projection
from princdiff.relaxation.relax import relax
from princdiff.relaxation.transport import line_divergences

pytestmark = pytest.mark.whole


@pytest.mark.parametrize("seed", range(5))
def test_eigenvalue_projection_against_a_quadratic_program(seed):
    values = np.random.default_rng(seed).normal(size=6)
    w = cp.Variable(6)
    cp.Problem(cp.Minimize(cp.sum_squares(w - values)), [w >= 0, w <= 1, cp.sum(w) == 1]).solve(
        solver=cp.CLARABEL
    )
    np.testing.assert_allclose(project_simplex(values), w.value, atol=1e-5)


def test_projection_is_the_nearest_matrix_of_the_feasible_set():
    A = np.random.default_rng(0).normal(size=(4, 4))
    A = (A + A.T) / 2
    B = cp.Variable((4, 4), PSD=True)
    cp.Problem(cp.Minimize(cp.sum_squares(B - A)), [cp.trace(B) == 1]).solve(solver=cp.CLARABEL)
    np.testing.assert_allclose(projection(A), B.value, atol=1e-5)


def test_soft_threshold_leaves_the_trace_as_printed():
    A = projection(np.random.default_rng(1).normal(size=(5, 5)))
    shrunk = projection(A, penalty=0.5, step=0.1)
    np.testing.assert_allclose(shrunk, np.sign(A) * np.maximum(np.abs(A) - 0.05, 0), atol=1e-12)
    assert np.trace(shrunk) < 1


@pytest.fixture(scope="module")
def fig1a():
    X, y = make_gaussian_pair(200, random_state=0)
    return X, y, relax(X, y, tol=1e-4, random_state=0)


def top_divergence(X, y, found):
    top = found.directions[:, :1]
    x, z = X[y == 0], X[y == 1]
    return line_divergences(x @ top, z @ top, np.full(len(x), 1 / len(x)), np.full(len(z), 1 / len(z)))[0]


def grid_optimum(X, y):
    t, p = np.meshgrid(np.linspace(0, np.pi, 120), np.linspace(0, np.pi, 120))
    V = np.stack([np.cos(t) * np.sin(p), np.sin(t) * np.sin(p), np.cos(p)]).reshape(3, -1)
    x, z = X[y == 0], X[y == 1]
    w = np.full(len(x), 1 / len(x))
    return line_divergences(x @ V, z @ V, w, w).max()


def test_fig_1a(fig1a):
    X, y, best = fig1a
    found = relax(X, y, method="paper", max_iter=1000)
    assert found.lower_bound == pytest.approx(best.lower_bound, rel=0.01)
    assert found.upper_bound >= best.lower_bound * (1 - 1e-6)
    assert top_divergence(X, y, found) >= 0.995 * grid_optimum(X, y)


def test_incremental_variant_comes_near_the_same_value():
    X, y = make_gaussian_pair(50, random_state=0)
    best = relax(X, y, tol=1e-4, random_state=0)
    found = relax(X, y, method="paper", incremental=True, max_iter=1000, random_state=0)
    assert found.lower_bound == pytest.approx(best.lower_bound, rel=0.015)


@pytest.mark.slow
def test_incremental_variant_reaches_the_same_value(fig1a):
    X, y, best = fig1a
    found = relax(X, y, method="paper", incremental=True, max_iter=1000, random_state=0)
    assert found.lower_bound == pytest.approx(best.lower_bound, rel=0.01)


def test_incremental_variant_repeats_itself():
    X, y = make_gaussian_pair(30, random_state=0)
    one, two = (relax(X, y, method="paper", incremental=True, max_iter=20, random_state=4) for _ in range(2))
    assert one.lower_bound == two.lower_bound


def test_single_dual_steps_and_constant_steps_improve_on_the_start(fig1a):
    X, y, best = fig1a
    start = relax(X, y, method="paper", max_iter=1)
    found = relax(
        X, y, method="paper", dual_steps=1, diminishing=False, dual_step=0.001, matrix_step=0.01,
        max_iter=600,
    )  # fmt: skip
    assert start.lower_bound < found.lower_bound <= best.upper_bound


def test_unequal_groups_weights_and_a_penalty():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(70, 4))
    X[:40, 0] *= 3
    y = np.repeat([0, 1], [40, 30])
    weight = rng.uniform(0.5, 1.5, 70)
    best = relax(X, y, penalty=0.2, sample_weight=weight, tol=1e-4, random_state=0)
    found = relax(X, y, penalty=0.2, sample_weight=weight, method="paper", max_iter=500)
    assert found.lower_bound <= best.upper_bound * (1 + 1e-9)
    assert found.upper_bound >= best.lower_bound * (1 - 1e-9)
    assert found.lower_bound >= 0.95 * best.lower_bound


def test_penalty_makes_exact_zeros_in_the_leading_eigenvector():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(100, 6))
    X[:50, 0] *= 3
    y = np.repeat([0, 1], 50)
    found = relax(X, y, penalty=1.0, method="paper")
    assert np.count_nonzero(found.directions[:, 0]) < 6


@pytest.mark.parametrize("bad", [{"dual_steps": 0}, {"patience": 0}, {"dual_step": 0.0}, {"n_pairs": 0}])
def test_bad_options(bad):
    with pytest.raises(ValueError, match=f"{next(iter(bad))} must be a positive"):
        relax(np.eye(4), [0, 0, 1, 1], method="paper", **bad)
    with pytest.raises(TypeError, match="does not know speed="):
        relax(np.eye(4), [0, 0, 1, 1], method="paper", speed=3)
