from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from oracles import between_groups, divergence_along, scaled_rows
from princdiff import PDA, SPARDA
from princdiff.data.problem import Design, Problem, Run
from princdiff.datasets import make_block_gaussians, make_gaussian_pair

pytestmark = pytest.mark.whole

SCALES = [None, "pooled", "within"]


def data(seed=0, n_rows=60, n_features=6, n_groups=2):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features)) * rng.uniform(0.5, 3.0, size=n_features)
    X += rng.normal(size=n_features)
    y = rng.permutation(np.arange(n_rows) % n_groups)
    X[y == 1, 0] += 1.5
    X[y == 1, 1] *= 2.0
    return X, y


def estimators(**parameters):
    # Without certificates, which cost many times as much as these fits and have tests of their own.
    parameters = {"certify": False, **parameters}
    return [PDA(**parameters), SPARDA(2, **parameters), SPARDA(penalty=0.1, **parameters)]


def expected_failures(estimator):
    if isinstance(estimator, SPARDA) and estimator.n_features is None and estimator.penalty is None:
        reason = "folds split repeated rows, as in every estimator that cross-validates inside"
        return {f"check_sample_weight_equivalence_on_{kind}_data": reason for kind in ("dense", "sparse")}
    return {}


@parametrize_with_checks(
    [PDA(), PDA(scale="within", certify=False), SPARDA(n_features=2), SPARDA()],
    expected_failed_checks=expected_failures,
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


# ---------------------------------------------------------------- a fit knows nothing of the one before


def test_a_refit_is_a_fresh_fit():
    X, y = data(3, 80, 6)
    used = SPARDA(penalty=0.3, n_components=2, supports="disjoint", random_state=0, certify=False).fit(X, y)
    changes = [
        {"penalty": None, "n_features": 2},
        {"supports": "shared", "n_features": "auto", "n_components": "auto"},
        {"n_features": 1, "scale": "within", "n_components": 1},
        {"scale": None, "n_features": None, "penalty": "auto"},
        {"penalty": 0.1},
    ]
    for change in changes:
        fresh = clone(used.set_params(**change)).fit(X, y)
        used.fit(X, y)
        assert sorted(vars(used)) == sorted(vars(fresh))
        np.testing.assert_array_equal(used.components_, fresh.components_)
        np.testing.assert_array_equal(used.divergences_, fresh.divergences_)


def test_one_group_in_a_fold_is_explained():
    X, y = data(4, 40, 3)
    order = np.argsort(y, kind="stable")
    X, y = X[order], y[order]
    with pytest.raises(ValueError, match=r"no row of group '1' in y.*cv=StratifiedKFold\(5\)"):
        PDA(effort="fast", certify=False).fit(X, y).score(X[:10], y[:10])
    scores = cross_val_score(PDA(effort="fast", random_state=0, certify=False), X, y, cv=StratifiedKFold(5))
    assert np.isfinite(scores).all()


def test_a_problem_is_fitted_as_arrays_are():
    X, y = data(5, 50, 4)
    weights = np.arange(50) % 4 * 1.0
    for estimator in estimators(scale="pooled", effort="fast", random_state=3):
        expected = clone(estimator).fit(X, y, weights)
        problem = Problem.from_arrays(X, y, scale="pooled", design=Design(weights))
        found = estimator.fit_problem(problem, Run.from_options(3))
        np.testing.assert_array_equal(found.components_, expected.components_)
        np.testing.assert_array_equal(found.transform(X), expected.transform(X))
        np.testing.assert_array_equal(
            found.component_pvalues(X, y, weights, n_permutations=9),
            found.problem_pvalues(problem, Run.from_options(3), 9),
        )


# ---------------------------------------------------------------- what a fit says


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("n_groups", [2, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_attributes_agree_with_each_other(scale, n_groups, weighted):
    X, y = data(n_groups=n_groups)
    weights = np.random.default_rng(1).uniform(0.5, 2.0, size=60) if weighted else None
    for estimator in estimators(scale=scale, effort="fast", random_state=0):
        found = estimator.fit(X, y, weights)
        direction = found.components_[0]
        assert found.components_.shape == found.shares_.shape == (1, 6)
        assert found.divergences_.shape == (1,)
        assert np.linalg.norm(direction) == pytest.approx(1.0, abs=1e-12)
        assert direction[np.flatnonzero(direction)[0]] > 0
        np.testing.assert_array_equal(found.support_, direction != 0)
        expected = divergence_along(direction, X, y, scale, weights)
        assert found.divergences_[0] == pytest.approx(expected, rel=1e-9)
        assert found.score(X, y, weights) == pytest.approx(expected, rel=1e-9)
        assert found.shares_.sum() == pytest.approx(1.0)
        assert not found.shares_[0, ~found.support_].any()
        np.testing.assert_array_equal(found.classes_, np.arange(n_groups))
        assert found.n_iter_ >= 1
        assert found.n_features_in_ == 6


def test_shares_are_squared_weights_at_a_plain_optimum():
    # Many rows: smooth enough for the optimum not to lie on a kink.
    X, y = make_gaussian_pair(1000, random_state=0)
    found = PDA(random_state=0, certify=False).fit(X, y)
    np.testing.assert_allclose(found.shares_, found.components_**2, atol=2e-3)
    X, y = make_block_gaussians(6, 1000, random_state=1)
    found = SPARDA(3, random_state=0, certify=False).fit(X, y)
    np.testing.assert_allclose(found.shares_, found.components_**2, atol=2e-3)


def test_shares_are_weight_times_gradient():
    # Under a penalty they are not the squared weights.
    X, y = data(2, n_rows=200)
    found = SPARDA(penalty=1.0, random_state=0, certify=False).fit(X, y)
    b, step = found.components_[0], 1e-6
    gradient = np.array(
        [
            (divergence_along(b + step * axis, X, y) - divergence_along(b - step * axis, X, y)) / (2 * step)
            for axis in np.eye(6)
        ]
    )
    np.testing.assert_allclose(found.shares_[0], b * gradient / (b @ gradient), atol=1e-5)


@pytest.mark.parametrize("scale", SCALES)
def test_a_weight_is_a_number_of_copies(scale):
    X, y = data(3, n_rows=50)
    times = np.random.default_rng(3).integers(0, 4, size=50)
    for estimator in (
        PDA(scale=scale, random_state=0, certify=False),
        SPARDA(2, scale=scale, random_state=0, certify=False),
    ):
        weighted = estimator.fit(X, y, times)
        value, direction = weighted.divergences_[0], weighted.components_[0]
        copies = estimator.fit(np.repeat(X, times, axis=0), np.repeat(y, times))
        assert copies.divergences_[0] == pytest.approx(value, rel=1e-6)
        assert abs(copies.components_[0] @ direction) == pytest.approx(1.0, abs=1e-4)


def test_a_single_row_may_carry_a_group():
    # As two copies of it would.
    X, y = data(3, n_rows=20)
    weights = np.where(y == 0, 1.0, 0.0)
    weights[np.flatnonzero(y == 1)[0]] = 2.0
    times = weights.astype(int)
    for estimator in estimators(effort="fast", random_state=0):
        value = estimator.fit(X, y, weights).divergences_[0]
        copies = estimator.fit(np.repeat(X, times, axis=0), np.repeat(y, times))
        assert copies.divergences_[0] == pytest.approx(value, rel=1e-2)


def test_equal_weights_are_no_weights():
    X, y = data(4)
    for estimator in estimators(effort="fast", random_state=0):
        plain = estimator.fit(X, y).components_
        np.testing.assert_array_equal(estimator.fit(X, y, np.full(60, 0.3)).components_, plain)


def test_rows_without_weight_are_not_there():
    X, y = data(5)
    absent = np.arange(60) % 5 == 0
    X[absent] *= 1e6
    for scale in SCALES:
        for estimator in estimators(scale=scale, effort="fast", random_state=0):
            found = estimator.fit(X, y, np.where(absent, 0.0, 1.0)).components_
            np.testing.assert_array_equal(found, estimator.fit(X[~absent], y[~absent]).components_)


# ---------------------------------------------------------------- kinds of input


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("weighted", [False, True])
def test_sparse_is_dense(scale, weighted):
    rng = np.random.default_rng(6)
    X, y = data(6)
    X = X * (rng.random(X.shape) < 0.5)
    weights = rng.uniform(0.5, 2.0, size=60) if weighted else None
    for estimator in (
        PDA(scale=scale, random_state=0, certify=False),
        SPARDA(2, scale=scale, random_state=0, certify=False),
    ):
        dense = clone(estimator).fit(X, y, weights)
        sparse = clone(estimator).fit(sp.csr_matrix(X), y, weights)
        assert sparse.divergences_[0] == pytest.approx(dense.divergences_[0], rel=1e-5)
        labels = y if scale == "within" else None
        projected = sparse.transform(sp.csr_matrix(X), labels)
        assert isinstance(projected, np.ndarray)
        np.testing.assert_allclose(projected, sparse.transform(X, labels), atol=1e-9)
        assert sparse.score(sp.csr_matrix(X), y, weights) == pytest.approx(sparse.divergences_[0], rel=1e-9)


@pytest.mark.parametrize("container", [sp.csc_matrix, sp.coo_matrix, sp.csr_array, sp.csc_array])
def test_kinds_of_sparse_matrices(container):
    X, y = data(6)
    X = X * (np.random.default_rng(6).random(X.shape) < 0.5)
    for estimator in estimators(scale="pooled", effort="fast", random_state=0):
        expected = clone(estimator).fit(sp.csr_matrix(X), y)
        found = clone(estimator).fit(container(X), y)
        np.testing.assert_array_equal(found.components_, expected.components_)
        np.testing.assert_array_equal(found.transform(container(X)), expected.transform(sp.csr_matrix(X)))


@pytest.mark.parametrize("scale", SCALES)
def test_a_sparse_matrix_is_never_made_dense(monkeypatch, scale):
    X = sp.random(1500, 3000, density=0.01, format="csr", random_state=0)
    y = np.arange(1500) % 2
    limit = X.shape[0] * X.shape[1] // 3

    def guarded(original):
        def method(self, *args, **kwargs):
            assert self.shape[0] * self.shape[1] < limit, "a sparse matrix is made dense"
            return original(self, *args, **kwargs)

        return method

    for container in (sp.csr_matrix, sp.csc_matrix, sp.coo_matrix):
        for name in ("toarray", "todense"):
            monkeypatch.setattr(container, name, guarded(getattr(container, name)))
    found = SPARDA(3, scale=scale, effort="fast", random_state=0, certify=False).fit(X, y)
    assert found.transform(X, y if scale == "within" else None).shape == (1500, 1)
    assert np.isfinite(found.score(X, y))


@pytest.mark.parametrize("scale", SCALES)
def test_single_precision_input(scale):
    X, y = data(8)
    X = X.astype(np.float32)
    weights = np.random.default_rng(8).uniform(0.5, 2.0, size=60)
    for rows in (X, sp.csr_matrix(X)):
        for mass in (None, weights):
            for estimator in estimators(scale=scale, effort="fast", random_state=0):
                single = clone(estimator).fit(rows, y, mass)
                double = clone(estimator).fit(rows.astype(np.float64), y, mass)
                # The same numbers, so the same search.
                assert single.divergences_[0] == pytest.approx(double.divergences_[0], rel=1e-6)
                assert single.components_.dtype == np.float64
                projected = single.transform(rows, y if scale == "within" else None)
                assert projected.dtype == np.float32


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.int8, np.int32, np.int64, bool])
@pytest.mark.parametrize("container", [np.asarray, sp.csr_matrix])
def test_integers_do_not_wrap(dtype, container):
    rng = np.random.default_rng(9)
    X = rng.integers(0, 2 if dtype is bool else 100, size=(60, 4)).astype(dtype)
    y = np.arange(60) % 2
    for estimator in estimators(effort="fast", random_state=0):
        found = clone(estimator).fit(container(X), y)
        expected = clone(estimator).fit(container(X.astype(np.float64)), y)
        np.testing.assert_array_equal(found.components_, expected.components_)
        np.testing.assert_allclose(
            found.transform(container(X)), X.astype(np.float64) @ found.components_.T, atol=1e-9
        )


@pytest.mark.parametrize("order", ["C", "F"])
def test_input_is_left_alone(order):
    X, y = data(10)
    X = np.asarray(X, order=order)
    before, labels = X.copy(), y.copy()
    weights = np.arange(60.0)
    for scale in SCALES:
        for estimator in estimators(scale=scale, effort="fast", random_state=0):
            estimator.fit(X, y, weights).score(X, y, weights)
    np.testing.assert_array_equal(X, before)
    np.testing.assert_array_equal(y, labels)
    np.testing.assert_array_equal(weights, np.arange(60.0))


@pytest.mark.parametrize(
    "names",
    [
        ["benign", "malignant"],
        [False, True],
        [-1, 1],
        pd.Categorical(["b", "a"], categories=["b", "a", "unused"]),
        np.array(["x", "y"], dtype=object),
    ],
)
def test_any_two_labels(names):
    X, y = data(11)
    labels = np.asarray(names)[y]
    if isinstance(names, pd.Categorical):
        labels = pd.Series(pd.Categorical(labels, categories=names.categories))
    found = PDA(effort="fast", random_state=0, certify=False).fit(X, labels)
    np.testing.assert_array_equal(found.classes_, np.unique(np.asarray(names)))
    plain = PDA(effort="fast", random_state=0, certify=False).fit(
        X, np.searchsorted(found.classes_, np.asarray(labels))
    )
    np.testing.assert_array_equal(found.components_, plain.components_)
    assert found.score(X, labels) == pytest.approx(found.divergences_[0], rel=1e-9)


def test_three_groups_average_over_pairs():
    rng = np.random.default_rng(12)
    X = rng.normal(size=(90, 3))
    y = np.repeat(["a", "b", "c"], [20, 30, 40])
    X[y == "b", 0] += 2.0
    X[y == "c", 0] -= 2.0
    found = PDA(random_state=0, certify=False).fit(X, y)
    assert abs(found.components_[0, 0]) > 0.95
    assert found.divergences_[0] == pytest.approx(between_groups(X @ found.components_[0], y), rel=1e-9)
    # Better than the obvious directions.
    for axis in np.eye(3):
        assert found.divergences_[0] >= between_groups(X @ axis, y)


# ---------------------------------------------------------------- transform and score


@pytest.mark.parametrize("scale", [None, "pooled"])
def test_transform_is_scaled_rows_times_the_direction(scale):
    X, y = data(13)
    new = np.random.default_rng(13).normal(size=(7, 6))
    found = PDA(scale=scale, random_state=0, certify=False).fit(X, y)
    factors = np.ones(6) if scale is None else 1 / X.std(axis=0)
    np.testing.assert_allclose(found.transform(new), (new * factors) @ found.components_.T, rtol=1e-10)
    # Labels are not needed, and not looked at.
    np.testing.assert_array_equal(found.transform(new, np.zeros(7)), found.transform(new))


def test_transform_within_looks_at_the_labels_it_is_given():
    X, y = data(14)
    found = PDA(scale="within", random_state=0, certify=False).fit(X, y)
    # Without labels all rows are treated alike: divided by the standard deviation within the groups.
    shares = np.bincount(y) / len(y)
    inside = np.sqrt(shares @ [X[y == g].var(axis=0) for g in (0, 1)])
    np.testing.assert_allclose(found.scale_, inside)
    np.testing.assert_allclose(found.transform(X[:9]), X[:9] / inside @ found.components_.T)
    expected = scaled_rows(X, y, "within") @ found.components_.T
    np.testing.assert_allclose(found.transform(X, y), expected, atol=1e-10)
    # New rows are scaled by the moments of the fitted ones.
    new, labels = X[:9] + 1.0, y[:9]
    moments = {g: (X[y == g].mean(axis=0), X[y == g].std(axis=0)) for g in (0, 1)}
    scaled = [(row - moments[g][0]) / moments[g][1] for row, g in zip(new, labels, strict=True)]
    np.testing.assert_allclose(found.transform(new, labels), scaled @ found.components_.T, atol=1e-10)
    with pytest.raises(ValueError, match="not in the fit"):
        found.transform(new, labels + 5)


@pytest.mark.parametrize("scale", SCALES)
def test_fit_transform_is_fit_then_transform(scale):
    X, y = data(15)
    for estimator in estimators(scale=scale, effort="fast", random_state=0):
        at_once = clone(estimator).fit_transform(X, y)
        fitted = estimator.fit(X, y)
        np.testing.assert_array_equal(at_once, fitted.transform(X))
    weights = np.arange(60) % 3 + 1.0
    at_once = clone(estimator).fit_transform(X, y, sample_weight=weights)
    fitted = estimator.fit(X, y, weights)
    np.testing.assert_array_equal(at_once, fitted.transform(X))


@pytest.mark.parametrize("scale", [None, "pooled"])
def test_score_is_the_divergence_of_held_out_rows(scale):
    X, y = data(16, n_rows=120)
    found = SPARDA(2, scale=scale, random_state=0, certify=False).fit(X[:80], y[:80])
    factors = np.ones(6) if scale is None else 1 / X[:80].std(axis=0)
    projected = (X[80:] * factors) @ found.components_[0]
    weights = np.arange(40) % 4 * 1.0
    assert found.score(X[80:], y[80:]) == pytest.approx(between_groups(projected, y[80:]), rel=1e-9)
    assert found.score(X[80:], y[80:], weights) == pytest.approx(
        between_groups(projected, y[80:], weights), rel=1e-9
    )
    assert isinstance(found.score(X[80:], y[80:]), float)


def test_an_offset_does_not_disturb_fit_or_score():
    X, y = data(17)
    near, far = (
        PDA(random_state=0, certify=False).fit(X, y),
        PDA(random_state=0, certify=False).fit(X + 1e6, y),
    )
    np.testing.assert_allclose(far.divergences_, near.divergences_, rtol=1e-5)
    assert far.score(X + 1e6, y) == pytest.approx(far.divergences_[0], rel=1e-6)
    # Sparse rows with such an offset have no zeros left, but are sparse rows all the same.
    sparse = PDA(random_state=0, certify=False).fit(sp.csr_matrix(X + 1e6), y)
    np.testing.assert_allclose(sparse.divergences_, near.divergences_, rtol=1e-3)


# ---------------------------------------------------------------- names and tables


def test_names_of_a_data_frame_are_kept():
    X, y = data(18)
    table = pd.DataFrame(X, columns=["a", "b", "c", "d", "e", "f"], index=np.arange(60) + 100)
    found = SPARDA(2, random_state=0, certify=False).fit(table, y)
    np.testing.assert_array_equal(found.feature_names_in_, table.columns)
    alone = SPARDA(2, random_state=0, certify=False).fit(X, y)
    np.testing.assert_allclose(found.components_, alone.components_, rtol=1e-6)
    assert found.get_feature_names_out().tolist() == ["sparda0"]
    assert PDA(effort="fast", certify=False).fit(table, y).get_feature_names_out().tolist() == ["pda0"]


@pytest.mark.parametrize("scale", SCALES)
def test_output_as_a_data_frame(scale):
    X, y = data(19)
    table = pd.DataFrame(X, columns=list("abcdef"), index=np.arange(60) + 100)
    found = (
        PDA(scale=scale, effort="fast", random_state=0, certify=False)
        .set_output(transform="pandas")
        .fit(table, y)
    )
    labels = y if scale == "within" else None
    projected = found.transform(table, labels)
    assert isinstance(projected, pd.DataFrame)
    assert projected.columns.tolist() == ["pda0"]
    np.testing.assert_array_equal(projected.index, table.index)
    assert isinstance(found.fit_transform(table, y), pd.DataFrame)
    # The score goes through transform, whatever its output is.
    assert found.score(table, y) == pytest.approx(found.divergences_[0], rel=1e-9)


def test_in_a_pipeline_and_a_grid():
    X, y = data(20, n_rows=90)
    pipeline = make_pipeline(StandardScaler(), SPARDA(2, effort="fast", random_state=0, certify=False))
    fitted = pipeline.fit(X, y)
    alone = SPARDA(2, scale="pooled", effort="fast", random_state=0, certify=False).fit(X, y)
    assert fitted[-1].divergences_[0] == pytest.approx(alone.divergences_[0], rel=1e-5)
    assert fitted.transform(X).shape == (90, 1)
    assert fitted.score(X, y) == pytest.approx(fitted[-1].divergences_[0], rel=1e-9)
    grid = GridSearchCV(pipeline, {"sparda__n_features": [1, 3]}, cv=3).fit(X, y)
    assert grid.best_params_["sparda__n_features"] in (1, 3)
    assert (cross_val_score(PDA(effort="fast", random_state=0, certify=False), X, y, cv=3) > 0).all()


def test_cloned_and_pickled():
    X, y = data(21)
    estimator = SPARDA(2, scale="pooled", effort="fast", random_state=3, certify=False)
    assert clone(estimator).get_params() == estimator.get_params()
    fitted = estimator.fit(X, y)
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.transform(X), fitted.transform(X))
    auto = pickle.loads(pickle.dumps(SPARDA(effort="fast", random_state=0, certify=False).fit(X, y)))
    assert auto.path_.chosen == auto.path_.grid[auto.path_.held_out.mean(axis=0).argmax()]


# ---------------------------------------------------------------- seeds and threads


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize(
    "estimator", [PDA(certify=False), SPARDA(3, certify=False), SPARDA(penalty=0.1, certify=False), SPARDA()]
)
def test_same_seed_same_result_for_any_number_of_threads(estimator, scale):
    # Enough rows for the work to be shared out.
    X, y = data(22, n_rows=800 if scale is None else 200, n_features=8)
    effort = "default" if scale is None else "fast"
    estimator = clone(estimator).set_params(scale=scale, effort=effort, random_state=7)
    one, two = (clone(estimator).set_params(n_jobs=n_jobs).fit(X, y) for n_jobs in (1, 2))
    np.testing.assert_array_equal(two.components_, one.components_)
    np.testing.assert_array_equal(two.divergences_, one.divergences_)
    assert two.n_iter_ == one.n_iter_


def test_kinds_of_seeds():
    X, y = data(23)
    for seed in (np.random.RandomState, np.random.default_rng, int):
        one, two = (PDA(effort="fast", random_state=seed(5), certify=False).fit(X, y) for _ in range(2))
        np.testing.assert_array_equal(one.components_, two.components_)
    assert PDA(effort="fast", certify=False).fit(X, y).divergences_[0] > 0


def test_the_global_random_state_is_left_alone():
    X, y = data(24)
    np.random.seed(0)  # noqa: NPY002
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    PDA(effort="fast", random_state=0, certify=False).fit(X, y)
    np.testing.assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002


def test_a_second_fit_forgets_the_first():
    X, y = data(25)
    found = SPARDA(effort="fast", random_state=0, certify=False).fit(X, y)
    assert hasattr(found, "path_")
    found.set_params(n_features=1).fit(X[:, :3], y)
    assert found.components_.shape == (1, 3)
    assert not hasattr(found, "path_")


# ---------------------------------------------------------------- odd shapes


@st.composite
def odd_problems(draw):
    """Few rows, ties, constant columns, more features than rows, tiny and huge numbers."""
    sizes = draw(st.lists(st.integers(2, 7), min_size=2, max_size=3))
    n_features = draw(st.integers(1, 9))
    seed = draw(st.integers(0, 2**32 - 1))
    kind = draw(st.sampled_from(["generic", "integers", "binary", "constant", "one feature varies"]))
    rng = np.random.default_rng(seed)
    n_rows = sum(sizes)
    if kind == "integers":
        X = rng.integers(-2, 3, size=(n_rows, n_features)) * 1.0
    elif kind == "binary":
        X = (rng.random((n_rows, n_features)) < 0.3) * 1.0
    elif kind == "constant":
        X = np.full((n_rows, n_features), rng.normal())
    else:
        X = rng.normal(size=(n_rows, n_features))
    if kind == "one feature varies":
        X[:, 1:] = 3.0
    if draw(st.booleans()):
        X[:, rng.integers(n_features)] = 5.0
    X = X * draw(st.sampled_from([1.0, 1e-150, 1e150, 1e-5, 1e9]))
    return X, rng.permutation(np.repeat(np.arange(len(sizes)), sizes)), seed


@settings(deadline=None, derandomize=True, max_examples=40)
@given(
    odd_problems(),
    st.sampled_from(SCALES),
    st.sampled_from(["PDA", "level", "penalty", "auto", "auto penalty"]),
    st.booleans(),
    st.booleans(),
)
def test_odd_shapes(problem, scale, kind, sparse, weighted):
    X, y, seed = problem
    rng = np.random.default_rng(seed)
    size = np.abs(X).max() or 1.0
    estimator = {
        "PDA": PDA(),
        "level": SPARDA(int(rng.integers(1, X.shape[1] + 1))),
        "penalty": SPARDA(penalty=float(rng.random() * (size**2 if scale is None else 1.0))),
        "auto": SPARDA(),
        "auto penalty": SPARDA(penalty="auto"),
    }[kind]
    weights = rng.integers(1, 4, size=len(y)) * 1.0 if weighted else None
    estimator.set_params(scale=scale, effort="fast", random_state=0)
    found = estimator.fit(sp.csr_matrix(X) if sparse else X, y, weights)
    direction = found.components_[0]
    varies = np.ptp(X, axis=0) > 0
    if scale == "within":
        # What is constant in one group cannot be standardised there.
        varies = np.all([np.ptp(X[y == group], axis=0) > 0 for group in np.unique(y)], axis=0)
    assert np.linalg.norm(direction) == pytest.approx(1.0 if varies.any() else 0.0)
    assert not direction[~varies].any()
    assert np.isfinite(found.shares_).all()
    # Evaluated on numbers of ordinary size, since squares of huge ones leave the range of the oracle.
    unit = size if scale is None else 1.0
    expected = divergence_along(direction, X / size, y, scale, weights)
    assert found.divergences_[0] / unit / unit == pytest.approx(expected, rel=1e-6, abs=1e-12)
    assert found.divergences_[0] >= 0.0
    if kind == "level":
        assert found.support_.sum() <= estimator.n_features
    if found.divergences_[0] > 0:
        assert found.shares_.sum() == pytest.approx(1.0)
