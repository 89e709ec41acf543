from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.svm import SVC, LinearSVC
from slow_divergences import gap

from princdiff.data.labels import Labels
from princdiff.data.samples import Samples
from princdiff.divergences import Margin, MeanDifference
from princdiff.solvers.effort import SearchSettings
from princdiff.solvers.solve import solve


def separable(n_rows, n_features, seed=0, shift=4.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(2 * n_rows, n_features))
    X[n_rows:, :3] += shift
    return X, np.repeat([0, 1], n_rows)


def cosine(a, b):
    return abs(a @ b) / np.linalg.norm(a) / np.linalg.norm(b)


def best_direction(X, codes, divergence, level=None):
    return solve(
        Samples(X),
        Labels(codes, 2),
        divergence,
        SearchSettings(level or X.shape[1]),
        rng=np.random.default_rng(0),
    ).direction


@pytest.mark.parametrize(("n_rows", "n_features"), [(25, 3), (30, 8), (12, 15)])
def test_the_direction_is_that_of_the_support_vector_machine(n_rows, n_features):
    X, codes = separable(n_rows, n_features)
    machine = SVC(kernel="linear", C=1e8, tol=1e-8).fit(X, codes)
    assert machine.score(X, codes) == 1.0
    direction = best_direction(X, codes, Margin())
    assert cosine(direction, machine.coef_[0]) > 1 - 1e-8
    reported = Margin().report((X @ direction)[None], Labels(codes, 2))[0]
    assert reported == pytest.approx(2 / np.linalg.norm(machine.coef_), rel=1e-5)


def test_the_direction_is_that_of_the_linear_support_vector_machine():
    X, codes = separable(25, 3, shift=4.0)
    # It penalises its intercept too, so the data are put around the origin and the penalty made small.
    X -= X.mean(axis=0)
    machine = LinearSVC(C=1e5, dual=False, intercept_scaling=100.0, tol=1e-8, max_iter=100_000)
    machine.fit(X, codes)
    assert cosine(best_direction(X, codes, Margin()), machine.coef_[0]) > 0.999


def test_a_sparse_direction_is_the_machine_on_its_features():
    X, codes = separable(25, 10, seed=1, shift=3.0)
    direction = best_direction(X, codes, Margin(), level=3)
    support = np.flatnonzero(direction)
    assert set(support) == {0, 1, 2}
    machine = SVC(kernel="linear", C=1e8, tol=1e-8).fit(X[:, support], codes)
    assert cosine(direction[support], machine.coef_[0]) > 1 - 1e-8


def test_a_fraction_is_the_distance_of_reduced_hulls():
    # Two points of the hulls in which no row has more than 1 / (fraction * n) of the weight.
    X, codes = separable(10, 2, seed=2, shift=1.0)
    fraction = 0.5
    first, second = X[codes == 0], X[codes == 1]
    most = 1 / (fraction * 10)

    def distance(weights):
        return np.sum((weights[:10] @ first - weights[10:] @ second) ** 2)

    sums = [{"type": "eq", "fun": lambda w, s=s: w[s].sum() - 1} for s in (slice(0, 10), slice(10, 20))]
    nearest = minimize(
        distance, np.full(20, 0.1), bounds=[(0, most)] * 20, constraints=sums, options={"ftol": 1e-14}
    )
    direction = best_direction(X, codes, Margin(fraction))
    reported = Margin(fraction).report((X @ direction)[None], Labels(codes, 2))[0]
    assert reported == pytest.approx(np.sqrt(nearest.fun), rel=1e-4)


def test_all_rows_as_edge_are_the_difference_in_means():
    X, codes = separable(20, 4, shift=1.0)
    labels = Labels(codes, 2)
    values = X @ np.random.default_rng(3).normal(size=(4, 5))
    np.testing.assert_allclose(
        Margin(1.0).report(values.T, labels.repeat(5)) ** 2,
        MeanDifference().value(values.T, labels.repeat(5)),
        rtol=1e-10,
    )


@pytest.mark.parametrize("fraction", [0.0, 0.05, 0.4, 1.0])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("shift", [0.3, 5.0])
def test_reports_by_definition(fraction, weighted, shift):
    rng = np.random.default_rng(4)
    codes = rng.permutation(np.repeat([0, 1], [12, 17]))
    values = rng.normal(size=(4, 29)) + shift * codes
    weights = rng.uniform(0.2, 2.0, size=29) if weighted else None
    found = Margin(fraction).report(values, Labels(codes, 2, weights=weights).repeat(4))
    mass = np.ones(29) if weights is None else weights
    expected = [
        gap(row[codes == 0], row[codes == 1], mass[codes == 0], mass[codes == 1], fraction) for row in values
    ]
    np.testing.assert_allclose(found, expected, rtol=1e-10)


def test_where_groups_are_apart_the_value_is_the_gap():
    X, codes = separable(20, 3)
    labels = Labels(codes, 2)
    values = X.sum(axis=1)[None]
    np.testing.assert_allclose(Margin().value(values, labels), Margin().report(values, labels), rtol=1e-5)
    mixed = Labels(np.tile([0, 1], 20), 2)
    assert Margin().report(values, mixed)[0] < 0
    assert 0 < Margin().value(values, mixed)[0] < 1e-3


@pytest.mark.parametrize("fraction", [-0.1, 1.1, np.nan])
def test_bad_fractions_are_refused(fraction):
    with pytest.raises(ValueError, match="fraction must be a share"):
        Margin(fraction)
