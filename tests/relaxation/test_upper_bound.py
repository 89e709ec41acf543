"""Certificates: never below what brute force finds, and tight where they claim to be."""

from itertools import combinations

import numpy as np
import pytest
import scipy.sparse as sp

from princdiff.datasets import make_block_gaussians, make_gaussian_pair
from princdiff.relaxation import upper_bound as certificate_module
from princdiff.relaxation.envelope import best_on_arc, envelope_bound, quadratics
from princdiff.relaxation.relax import marginal_divergences
from princdiff.relaxation.sliced_plan import sliced_coupling
from princdiff.relaxation.sparse_bounds import best_support_bound, largest_diagonals, threshold_bound
from princdiff.relaxation.transport import line_divergences
from princdiff.relaxation.two_groups import TwoGroups
from princdiff.relaxation.upper_bound import ProofEffort, upper_bound

pytestmark = pytest.mark.whole


def divergences(X, y, V):
    x, z = X[y == 0] @ V, X[y == 1] @ V
    return line_divergences(x, z, np.full(len(x), 1 / len(x)), np.full(len(z), 1 / len(z)))


def brute_force(X, y, k, rng):
    """The best of many directions on every support of k features, with a local search from the best."""
    d = X.shape[1]
    best = -np.inf
    for support in combinations(range(d), k):
        if k == 2:
            angle = np.linspace(0, np.pi, 181)
            core = np.stack([np.cos(angle), np.sin(angle)])
        else:
            core = rng.normal(size=(k, 150 if k > 1 else 1))
        radius = 0.2
        for _ in range(4):
            V = np.zeros((d, core.shape[1]))
            V[list(support)] = core / np.linalg.norm(core, axis=0)
            J = divergences(X, y, V)
            best = max(best, J.max())
            top = V[list(support), np.argmax(J)]
            core = top[:, None] + radius * rng.normal(size=(k, 40))
            radius /= 4
    return best


def random_problem(seed):
    rng = np.random.default_rng(seed)
    d = int(rng.integers(1, 6))
    n, m = rng.integers(1, 9, 2)
    X = rng.normal(size=(n + m, d))
    kind = seed % 5
    if kind == 0:  # ties
        X = np.round(X)
    elif kind == 1:  # a large mean difference
        X[:n] += 3 * rng.normal(size=d)
    elif kind == 2:  # far from the origin, of unequal scale
        X = X * 10.0 ** rng.integers(-2, 3, d) + 50
    elif kind == 3:  # a repeated column
        X[:, -1] = X[:, 0]
    y = np.repeat([0, 1], [n, m])
    weight = rng.integers(1, 4, n + m) if seed % 3 == 0 else None
    return X, y, weight, int(rng.integers(1, d + 1)), rng


@pytest.mark.parametrize(
    "block", [*range(5), *(pytest.param(block, marks=pytest.mark.slow) for block in range(5, 10))]
)
def test_never_below_brute_force(block):
    for seed in range(50 * block, 50 * block + 50):
        X, y, weight, k, rng = random_problem(seed)
        found = upper_bound(X, y, k, sample_weight=weight, effort=ProofEffort(sorts=20_000, work=3e6))
        assert found.kind == "certificate"
        if weight is not None:
            X, y = np.repeat(X, weight, axis=0), np.repeat(y, weight)
        best = brute_force(X, y, k, rng)
        assert found.upper_bound >= best * (1 - 1e-12), (seed, k, found)


@pytest.mark.parametrize("seed", range(20))
def test_bounds_from_the_plan_are_never_below_brute_force(seed):
    # the sharper bounds of small supports would hide these
    X, y, _, k, rng = random_problem(1000 + seed)
    best = brute_force(X, y, k, rng)
    for bound in certificate_module._from_plan(X, y, k, None, None):
        assert bound.upper_bound >= best * (1 - 1e-12), bound


def test_one_feature_is_exact():
    X, y = make_block_gaussians(12, 40, random_state=0)
    found = upper_bound(X, y, 1)
    assert found.upper_bound == pytest.approx(marginal_divergences(X, y).max())


def test_two_features_are_tight():
    X, y = make_block_gaussians(9, 50, random_state=1)
    found = upper_bound(X, y, 2)
    best = brute_force(X, y, 2, np.random.default_rng(0))
    assert best <= found.upper_bound <= 1.005 * best


def test_fig_1a_is_tight():
    X, y = make_gaussian_pair(200, random_state=0)
    found = upper_bound(X, y)
    best = brute_force(X, y, 3, np.random.default_rng(0))
    assert best <= found.upper_bound <= 1.01 * best
    assert "all directions" in found.how
    assert found.gap(best) < 0.01


def test_more_features_allow_more():
    X, y = make_block_gaussians(12, 40, random_state=0)
    bounds = [upper_bound(X, y, k).upper_bound for k in (1, 2, 3, 12)]
    assert bounds == sorted(bounds)
    assert upper_bound(X, y, 50).upper_bound == bounds[-1]


def test_sparse_matrix_with_many_columns():
    X = sp.random(80, 10_000, density=0.01, random_state=1, format="csr")
    y = np.repeat([0, 1], 40)
    dense = X.toarray()
    for k in (1, 5, None):
        found = upper_bound(X, y, k)
        assert found.kind == "certificate"
        V = np.zeros((10_000, 50))
        V[np.random.default_rng(0).integers(0, 10_000, 50), np.arange(50)] = 1
        assert (found.upper_bound >= divergences(dense, y, V)).all()


def test_more_rows_and_columns_than_can_be_decomposed_give_an_estimate(monkeypatch):
    monkeypatch.setattr(certificate_module, "MAX_DIMENSION", 10)
    X, y = make_block_gaussians(12, 20, random_state=0)
    found = upper_bound(X, y, directions=np.ones(12))
    assert found.kind == "estimate"
    assert found.upper_bound >= marginal_divergences(X, y).max()


def test_a_plan_made_in_slices_is_feasible(monkeypatch):
    X, y = make_block_gaussians(12, 60, n_samples_second=45, random_state=0)
    weight = np.random.default_rng(0).uniform(0.5, 2, len(y))
    problem = TwoGroups.from_rows(X, y, weight)
    matrix = sliced_coupling(problem, np.random.default_rng(0), rows=13, sample=30)
    rng = np.random.default_rng(1)
    for _ in range(50):
        v = rng.normal(size=12)
        v /= np.linalg.norm(v)
        J = line_divergences((problem.x @ v)[:, None], (problem.y @ v)[:, None], problem.a, problem.b)[0]
        assert v @ matrix @ v >= J + (problem.shift @ v) ** 2 - 1e-12
    # More features than branch and bound over cones can help with.
    monkeypatch.setattr(certificate_module, "MAX_CELLS", 100)
    found = upper_bound(X, y, sample_weight=weight)
    assert "slice" in found.how


# ---------------------------------------------------------------- the pieces


def test_quadratics_touch_j_at_their_direction_and_bound_it_elsewhere():
    rng = np.random.default_rng(0)
    for n, m, weighted in ((20, 20, False), (20, 13, False), (15, 12, True)):
        X, y = rng.normal(size=(n + m, 5)), np.repeat([0, 1], [n, m])
        weight = rng.uniform(0.5, 2, n + m) if weighted else None
        problem = TwoGroups.from_rows(X, y, weight)
        supports = np.array([[0, 3], [4, 1]])
        directions = np.array([[0.6, 0.8], [1.0, 0.0]])
        matrices = quadratics(problem, supports, directions)

        def J(support, b, problem=problem):
            x, z = problem.x[:, support] @ b, problem.y[:, support] @ b
            here = line_divergences(x[:, None], z[:, None], problem.a, problem.b)[0]
            return here + (problem.shift[support] @ b) ** 2

        for W, support, b in zip(matrices, supports, directions, strict=True):
            assert b @ W @ b == pytest.approx(J(support, b))
            for angle in np.linspace(0, np.pi, 30):
                c = np.array([np.cos(angle), np.sin(angle)])
                assert c @ W @ c >= J(support, c) - 1e-12


def test_best_on_arc_against_a_grid():
    rng = np.random.default_rng(1)
    A, B = (np.array([m @ m.T for m in rng.normal(size=(200, 2, 2))]) for _ in range(2))
    left = rng.uniform(-4, 4, 200)
    right = left + rng.uniform(0.01, np.pi, 200)
    best, where = best_on_arc(A, B, left, right)
    assert ((where >= left) & (where <= right)).all()
    for i in range(200):
        t = np.linspace(left[i], right[i], 4001)
        c = np.stack([np.cos(t), np.sin(t)])
        low = np.minimum(np.einsum("at,ab,bt->t", c, A[i], c), np.einsum("at,ab,bt->t", c, B[i], c))
        assert best[i] >= low.max() - 1e-12
        assert best[i] <= low.max() * (1 + 1e-3) + 1e-9


@pytest.mark.parametrize("size", [2, 3, 4])
def test_envelope_is_valid_whatever_the_budget(size):
    X, y = make_block_gaussians(6, 25, random_state=3)
    problem = TwoGroups.from_rows(X, y)
    supports = np.array(list(combinations(range(6), size)))
    best = brute_force(X, y, size, np.random.default_rng(0)) / problem.unit**2
    last = np.inf
    for budget in (1, 20_000, 100_000, 2_000_000):
        found = envelope_bound(problem, supports, 1e-2, budget)
        assert best <= found.upper * (1 + 1e-12)
        assert found.value <= best * 1.01
        assert found.upper <= last * (1 + 1e-9)
        last = found.upper
    assert last <= 1.02 * best


def test_sparse_bounds_of_a_matrix_against_enumeration():
    rng = np.random.default_rng(2)
    for seed in range(20):
        d, k = int(rng.integers(3, 9)), int(rng.integers(1, 4))
        A = rng.normal(size=(d, d)) * rng.exponential(size=d)
        W = A.T @ A
        best = max(np.linalg.eigvalsh(W[np.ix_(s, s)])[-1] for s in combinations(range(d), min(k, d)))
        tight, proven = best_support_bound(W, k)
        assert proven, seed
        assert best * (1 - 1e-12) <= tight <= best * 1.0011
        assert threshold_bound(W, k)[0] >= best * (1 - 1e-12)
        assert largest_diagonals(np.diag(W), k) >= best * (1 - 1e-12)
        early, _ = best_support_bound(W, k, max_nodes=1)
        assert early >= best * (1 - 1e-12)


def test_equal_entries_do_not_confuse_branch_and_bound():
    W = np.eye(12) + 0.3
    bound, _ = best_support_bound(W, 4)
    assert bound >= 1 + 4 * 0.3 - 1e-12


@pytest.mark.parametrize("k", [0, -1, 1.5])
def test_bad_k(k):
    with pytest.raises(ValueError, match="k must be"):
        upper_bound(np.eye(4), [0, 0, 1, 1], k)


def test_bad_data():
    with pytest.raises(ValueError, match="two groups"):
        upper_bound(np.eye(3), [1, 1, 1])
    with pytest.raises(ValueError, match="directions"):
        upper_bound(np.eye(4), [0, 0, 1, 1], directions=np.ones(3))
