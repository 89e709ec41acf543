"""The relaxation of several groups: a plan for every pair, and a bound that no direction exceeds."""

import numpy as np
import pytest
from sklearn.datasets import load_wine

from benchmarks.certificates import best_of_many, small_problem
from princdiff import PDA
from princdiff.data.labels import Labels
from princdiff.divergences import get
from princdiff.relaxation.fast import solve_fast
from princdiff.relaxation.several_groups import SeveralGroups, prepared_groups
from princdiff.relaxation.two_groups import TwoGroups
from princdiff.relaxation.upper_bound import ProofEffort, upper_bound


def three_groups(seed, d=4, weighted=False):
    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1, 2], [14, 9, 20])
    X = rng.normal(size=(len(y), d)) + rng.normal(size=(3, d))[y]
    return X, y, rng.uniform(0.5, 2, len(y)) if weighted else None


def on_a_circle(X, y, weight, count=20_000):
    """The best of all directions of two features, by a fine grid."""
    angle = np.linspace(0, np.pi, count)
    V = np.column_stack([np.cos(angle), np.sin(angle)])
    labels = Labels(y[None], int(y.max()) + 1, weights=weight)
    return get("wasserstein2").value(V @ X.T, labels.repeat(count)).max()


@pytest.mark.parametrize("weighted", [False, True])
def test_two_groups_are_the_only_pair(weighted):
    X, y, weight = three_groups(0, weighted=weighted)
    pair = y < 2
    X, y, weight = X[pair], y[pair], None if weight is None else weight[pair]
    ((share, own),) = SeveralGroups.from_rows(X, y, weight).pairs
    expected = TwoGroups.from_rows(X, y, weight)
    assert share == 1.0
    assert own.unit == pytest.approx(expected.unit)
    np.testing.assert_allclose(own.x, expected.x, atol=1e-12)
    np.testing.assert_allclose(own.shift, expected.shift, atol=1e-12)
    assert isinstance(prepared_groups(X, y, weight), TwoGroups)


@pytest.mark.parametrize("seed", range(6))
def test_bounds_enclose_the_best_direction_of_two_features(seed):
    X, y, weight = three_groups(seed, d=2, weighted=seed % 2 == 1)
    problem = SeveralGroups.from_rows(X, y, weight)
    found = solve_fast(problem, 0.0, np.random.default_rng(0), tol=1e-3)
    best = on_a_circle(X, y, weight)
    assert found.upper * problem.unit**2 >= best * (1 - 1e-12)
    assert found.lower <= found.upper
    assert found.gap <= 2e-3
    # The relaxation is above every direction, but by little here.
    assert found.lower * problem.unit**2 <= 1.2 * best


def test_w_is_the_average_over_pairs_and_touches_nothing_below():
    X, y, weight = three_groups(3, weighted=True)
    problem = SeveralGroups.from_rows(X, y, weight)
    found = solve_fast(problem, 0.0, np.random.default_rng(0))
    V = np.random.default_rng(1).normal(size=(500, X.shape[1]))
    V /= np.linalg.norm(V, axis=1, keepdims=True)
    labels = Labels(y[None], 3, weights=weight)
    J = get("wasserstein2").value(V @ X.T, labels.repeat(len(V)))
    for W in (found.coupling, problem.product_plan):
        assert (np.einsum("ij,jk,ik->i", V, W, V) * problem.unit**2 >= J * (1 - 1e-9)).all()


@pytest.mark.parametrize("block", [0, 1, *(pytest.param(block, marks=pytest.mark.slow) for block in (2, 3))])
def test_never_below_the_best_of_many_directions(block):
    for seed in range(40 * block, 40 * block + 40, 4):  # every fourth has three groups
        X, y, weight, k, rng = small_problem(seed)
        assert len(np.unique(y)) == 3
        best, _ = best_of_many(X, y, weight, k, rng)
        found = upper_bound(X, y, k, sample_weight=weight, effort=ProofEffort(work=1e5))
        assert found.upper_bound * (1 + 1e-9) >= best, (seed, k, found)


def test_one_feature_is_the_average_over_all_pairs():
    X, y, weight = three_groups(4, d=1, weighted=True)
    problem = SeveralGroups.from_rows(X, y, weight)
    labels = Labels(y[None], 3, weights=weight)
    expected = get("wasserstein2").value(X.T, labels)[0]
    found = solve_fast(problem, 0.0, np.random.default_rng(0))
    assert found.upper * problem.unit**2 == pytest.approx(expected)
    assert found.lower * problem.unit**2 == pytest.approx(expected)


def test_plans_of_all_pairs_together_must_fit_into_memory():
    X, y, _ = three_groups(4)
    problem = SeveralGroups.from_rows(X, y)
    assert problem.n_cells == 14 * 9 + 14 * 20 + 9 * 20
    product = sum(share * pair.product_plan for share, pair in problem.pairs)
    np.testing.assert_allclose(problem.product_plan, product, atol=1e-14)


def test_more_columns_than_rows():
    rng = np.random.default_rng(5)
    y = np.repeat([0, 1, 2], 10)
    X = rng.normal(size=(30, 80)) + 2 * rng.normal(size=(3, 80))[y]
    found = upper_bound(X, y)
    value = PDA(random_state=0, certify=False).fit(X, y).divergences_[0]
    assert found.kind == "certificate"
    assert value <= found.upper_bound <= 1.5 * value


def test_a_dense_fit_of_several_groups_is_certified():
    X, y = load_wine(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    fit = PDA(random_state=0, certify=False).fit(X, y)
    found = upper_bound(X, y, directions=fit.components_[0])
    assert found.kind == "certificate"
    assert 0 <= found.gap(fit.divergences_[0]) <= 0.01


def test_plans_made_in_slices_bound_too(monkeypatch):
    monkeypatch.setattr("princdiff.relaxation.upper_bound.MAX_CELLS", 50)
    X, y, weight = three_groups(7, d=12, weighted=True)
    found = upper_bound(X, y, sample_weight=weight)
    V = np.random.default_rng(1).normal(size=(2000, 12))
    V /= np.linalg.norm(V, axis=1, keepdims=True)
    J = get("wasserstein2").value(V @ X.T, Labels(y[None], 3, weights=weight).repeat(len(V)))
    assert "slice" in found.how
    assert found.upper_bound >= J.max()


def test_rows_and_columns_beyond_decomposition_have_no_bound(monkeypatch):
    monkeypatch.setattr("princdiff.relaxation.upper_bound.MAX_DIMENSION", 5)
    X, y, _ = three_groups(8, d=12)
    assert not np.isfinite(upper_bound(X, y).upper_bound)
