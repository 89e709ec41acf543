"""Branch and bound over sparse directions: never below brute force, and tight where it says so."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.certificates import small_problem
from princdiff.data.labels import Labels
from princdiff.datasets import make_block_gaussians
from princdiff.divergences import get
from princdiff.relaxation.aimed_plans import AimedPlans
from princdiff.relaxation.branch_and_bound import BranchAndBound, _halves, _with_next_feature
from princdiff.relaxation.cone_bounds import Cones
from princdiff.relaxation.group_rows import GroupRows
from princdiff.relaxation.upper_bound import ProofEffort, upper_bound

pytestmark = pytest.mark.whole


def divergences(X, y, weight, V):
    labels = Labels(y[None], int(y.max()) + 1, weights=weight)
    return get("wasserstein2").value(V @ X.T, labels.repeat(len(V)))


def brute_force(X, y, weight, k, rng):
    """The best of many directions on every support, climbed by random steps."""
    best, where = 0.0, np.zeros(X.shape[1])
    for support in combinations(range(X.shape[1]), k):
        core, radius = rng.normal(size=(120 if k > 1 else 1, k)), 0.3
        for _ in range(5):
            V = np.zeros((len(core), X.shape[1]))
            V[:, support] = core / np.linalg.norm(core, axis=1, keepdims=True)
            values = divergences(X, y, weight, V)
            top = values.argmax()
            if values[top] > best:
                best, where = values[top], V[top]
            core, radius = V[top, support] + radius * rng.normal(size=(30, k)), radius / 4
    return best, where


@pytest.mark.parametrize(
    "block", [0, 1, 2, *(pytest.param(block, marks=pytest.mark.slow) for block in (3, 4, 5))]
)
def test_never_below_brute_force(block):
    proved = 0
    for seed in range(20 * block, 20 * block + 20):
        X, y, weight, k, rng = small_problem(seed)
        best, where = brute_force(X, y, weight, k, rng)
        rows = GroupRows.from_rows(X, y, weight)
        tol = (0.01, 0.001, 0.1)[seed % 3]
        # with a good direction and without one
        search = BranchAndBound(rows, k, where if seed % 2 else np.zeros(X.shape[1]), tol)
        if seed % 5 == 0 and rows.n_features:
            search.add_plan(rows.product_plan)
        progress = search.run((1e6, 1e7, 3e7)[seed % 3])
        upper, value = progress.upper * rows.unit**2, progress.value * rows.unit**2
        assert upper * (1 + 1e-9) >= best, (seed, k, progress)
        if progress.proved and value > 0:
            assert upper <= value * (1 + tol) * (1 + 1e-9)
            proved += 1
        # what it met on the way is a direction with that divergence
        assert np.count_nonzero(search.direction) <= k
        if search.direction.any():
            assert divergences(X, y, weight, search.direction[None])[0] == pytest.approx(value, rel=1e-7)
    assert proved >= 5


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.lists(st.integers(-3, 3), min_size=3, max_size=3), min_size=4, max_size=9),
    st.integers(1, 3),
    st.integers(1, 3),
)
def test_integers_are_never_below_a_grid(rows, n_first, k):
    X = np.array(rows, dtype=float)
    y = (np.arange(len(X)) >= n_first).astype(int)
    prepared = GroupRows.from_rows(X, y)
    progress = BranchAndBound(prepared, k, np.zeros(3)).run(3e6)
    angle = np.linspace(0, np.pi, 25)
    V = [np.roll([np.cos(a) * np.cos(t), np.sin(a) * np.cos(t), np.sin(t)], 1) for a in angle for t in angle]
    V = np.array(
        V + [np.roll([np.cos(a), np.sin(a), 0.0], s) for a in angle for s in range(3)] + list(np.eye(3))
    )
    V = np.where(np.abs(V) < 1e-12, 0.0, V)
    V = V[np.count_nonzero(V, axis=1) <= k]
    best = divergences(X, y, None, V).max()
    assert progress.upper * prepared.unit**2 * (1 + 1e-9) >= best


def test_finds_what_the_search_missed():
    X, y = make_block_gaussians(12, 60, random_state=0)
    rows = GroupRows.from_rows(X, y)
    search = BranchAndBound(rows, 2, np.eye(12)[7])
    progress = search.run(1e9)
    best = brute_force(X, y, None, 2, np.random.default_rng(0))[0]
    assert progress.proved
    assert progress.value * rows.unit**2 == pytest.approx(best, rel=0.01)
    assert set(np.flatnonzero(search.direction)) <= {0, 1, 2}


def test_bound_only_falls_and_work_is_kept_to():
    X, y = make_block_gaussians(30, 40, random_state=1)
    search = BranchAndBound(GroupRows.from_rows(X, y), 4, np.eye(30)[0])
    uppers, spent = [], []
    for work in (1e6, 5e6, 2e7, 5e7):
        uppers.append(search.run(work).upper)
        spent.append(search.work)
    assert uppers == sorted(uppers, reverse=True) and uppers[-1] < uppers[0]
    assert all(work <= limit + 5e6 for work, limit in zip(spent, (1e6, 5e6, 2e7, 5e7), strict=True))
    before = search.work
    assert search.run(1e12, stop=lambda: True).upper == uppers[-1] and search.work == before


def test_a_bound_from_elsewhere_counts():
    X, y = make_block_gaussians(30, 40, random_state=1)
    search = BranchAndBound(GroupRows.from_rows(X, y), 5, np.eye(30)[0])
    search.lower_roof(1.3 * search.value)
    assert search.run(1e6).upper <= 1.3 * search.value * (1 + 1e-12) or not search.finished
    search.lower_roof(search.value)
    assert search.finished


def test_excluded_features_are_in_no_better_direction():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 12))
    y = np.repeat([0, 1], 40)
    X[y == 1, :2] += 3
    rows = GroupRows.from_rows(X, y)
    where = np.zeros(12)
    where[:2] = 1
    progress = BranchAndBound(rows, 2, where).run(1e9)
    assert progress.proved and progress.n_excluded == 10
    level = 1.01 * progress.value * rows.unit**2
    for feature in range(2, 12):
        for other in range(12):
            pair = X[:, [feature, other]] if other != feature else X[:, [feature]]
            assert brute_force(pair, y, None, pair.shape[1], rng)[0] <= level


@pytest.mark.parametrize("n_groups", [2, 3, 4])
@pytest.mark.parametrize("weighted", [False, True])
def test_plans_touch_the_divergence_and_bound_it_elsewhere(n_groups, weighted):
    rng = np.random.default_rng(n_groups)
    y = np.repeat(np.arange(n_groups), rng.integers(3, 9, n_groups))
    X = rng.normal(size=(len(y), 4)) * [1, 10, 0.1, 1] + 5
    weight = rng.uniform(0.5, 2, len(y)) if weighted else None
    rows = GroupRows.from_rows(X, y, weight)
    V = rng.normal(size=(30, 4))
    V /= np.linalg.norm(V, axis=1, keepdims=True)
    truth = divergences(X, y, weight, V)
    inside = np.array([rows.coordinates(v) for v in V])
    gaps = rows.gaps(np.tile(np.arange(4), (30, 1)), inside)
    cost = (np.einsum("cld,vd->cvl", gaps, inside) ** 2).sum(axis=2) * rows.unit**2
    np.testing.assert_allclose(np.diag(cost), truth, rtol=1e-9)
    assert (cost >= truth * (1 - 1e-9)).all()
    product = np.einsum("vd,de,ve->v", inside, rows.product_plan, inside) * rows.unit**2
    assert (product >= truth * (1 - 1e-9)).all()


@pytest.mark.parametrize("n_groups", [2, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_forms_are_those_of_the_roots(n_groups, weighted):
    rng = np.random.default_rng(n_groups)
    y = np.repeat(np.arange(n_groups), rng.integers(5, 12, n_groups))
    X = rng.normal(size=(len(y), 6))
    rows = GroupRows.from_rows(X, y, rng.uniform(0.5, 2, len(y)) if weighted else None)
    supports, directions = np.array([[0, 3], [5, 2]]), np.array([[1.0, 0.5], [0.3, -1.0]])
    vectors = rng.normal(size=(2, 2, 2))
    everywhere = np.zeros((2, 6))
    np.put_along_axis(everywhere, supports, directions, axis=1)
    roots = rows.gaps(np.tile(np.arange(6), (2, 1)), everywhere)
    found = rows.forms(supports, directions, vectors, True)
    inside = rows.gaps(supports, directions)
    for i in range(2):
        W = roots[i].T @ roots[i]
        np.testing.assert_allclose(inside[i].T @ inside[i], W[np.ix_(supports[i], supports[i])], atol=1e-12)
        np.testing.assert_allclose(found.cross[i], vectors[i] @ W[supports[i]], atol=1e-12)
        np.testing.assert_allclose(found.pairs[i], found.cross[i][:, supports[i]] @ vectors[i].T, atol=1e-12)
        np.testing.assert_allclose(found.squares[i], np.diag(W), atol=1e-12)
        np.testing.assert_allclose(found.gaps[i].T @ found.gaps[i], W, atol=1e-5)


@pytest.mark.parametrize("sizes", [(20, 20), (20, 13)])
@pytest.mark.parametrize("weighted", [False, True])
def test_aimed_plans_are_plans(sizes, weighted):
    """Their quadratic form is nowhere below the divergence, and close to it where they aim at."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], sizes)
    X = rng.normal(size=(len(y), 5)) * [1, 10, 0.1, 1, 1] + 3 * y[:, None]
    weight = rng.uniform(0.5, 2, len(y)) if weighted else None
    rows = GroupRows.from_rows(X, y, weight)
    aimed = AimedPlans(rows)
    assert aimed.available
    V = rng.normal(size=(40, 5))
    V /= np.linalg.norm(V, axis=1, keepdims=True)
    truth = divergences(X, y, weight, V)
    inside = np.array([rows.coordinates(v) for v in V])
    for support in ([1], [0, 3]):
        matrix = aimed.matrix(np.array(support), np.ones(len(support)))
        form = np.einsum("vd,de,ve->v", inside, matrix, inside) * rows.unit**2
        assert (form >= truth * (1 - 1e-9)).all()
        at = np.zeros(5)
        at[support] = 1.0
        assert at @ matrix @ at < at @ rows.product_plan @ at


def holds(cones, point):
    """Whether any of the cones of one support holds a point, by its coordinates in the generators."""
    weights = np.linalg.solve(
        cones.generators.transpose(0, 2, 1), np.tile(point[:, None], (len(cones), 1, 1))
    )
    return bool((weights[:, :, 0] >= -1e-9).all(axis=1).any())


def test_cuts_lose_nothing():
    rng = np.random.default_rng(0)
    d = 4
    cones = Cones(np.ones(1), np.array([[2]]), np.ones((1, 1, 1)), np.arange(d)[None] != 2, np.full(1, -1))
    metric = rng.uniform(0.5, 2, d)
    for feature in (0, 3, 1):
        allowed = np.zeros((len(cones), d, 2), dtype=bool)
        allowed[:, feature] = True
        cones = _halves(_with_next_feature(cones, allowed), metric)
        assert not cones.tail[:, feature].any()
        for _ in range(50):
            sizes = np.sort(rng.uniform(size=cones.size))[::-1]
            signs = np.where(rng.uniform(size=cones.size) < 0.5, -1.0, 1.0)
            signs[0] = 1.0
            assert holds(cones, sizes * signs)


def test_upper_bound_uses_it_where_small_sets_are_too_many():
    X, y = make_block_gaussians(12, 50, random_state=0)
    X = X / X.std(axis=0)
    guide = np.zeros(12)
    guide[:3] = brute_force(X[:, :3], y, None, 3, np.random.default_rng(0))[1]
    found = upper_bound(X, y, 3, directions=guide, effort=ProofEffort(sorts=10, work=2e9))
    assert "branch and bound over directions" in found.how and found.n_features == 3
    assert found.gap(divergences(X, y, None, guide[None])[0]) <= 0.0101


def test_one_feature_of_several_groups_is_exact():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 5)), np.arange(30) % 3
    assert upper_bound(X, y, 1).upper_bound == pytest.approx(divergences(X, y, None, np.eye(5)).max())
