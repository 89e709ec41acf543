from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from oracles import between_groups, scaled_rows
from princdiff.data.labels import HELD_OUT, Labels
from princdiff.data.samples import Samples
from princdiff.datasets import make_block_gaussians
from princdiff.divergences import Wasserstein2
from princdiff.solvers.path import Path, PathOptions, default_levels, let_smaller_compete, solve_path


def data(seed=0, n_features=9, n_samples=40):
    X, y = make_block_gaussians(n_features, n_samples, random_state=seed)
    rng = np.random.default_rng(seed)
    folds = np.stack([y, rng.permutation(y), y, y])
    folds[2, :10] = folds[3, -16:] = HELD_OUT
    return X, folds


@pytest.mark.parametrize("n_features", [1, 2, 3, 4, 5, 6, 10, 60, 500])
def test_levels_run_from_one_feature_to_all(n_features):
    levels = default_levels(n_features)
    assert levels[0] == 1
    assert levels[-1] == n_features
    assert (np.diff(levels) > 0).all()


@pytest.mark.parametrize("scale", [None, "pooled", "within"])
@pytest.mark.parametrize("container", [np.asarray, sp.csr_matrix])
def test_values_are_those_of_the_directions(scale, container):
    X, codes = data()
    samples = Samples(container(X), scale)
    levels = np.array([1, 2, 5, 9])
    path = solve_path(samples, Labels(codes, 2), Wasserstein2(), levels, np.random.default_rng(0))
    assert path.values.shape == (4, 4)
    assert path.directions.shape == (4, 4, 9)
    np.testing.assert_allclose(np.linalg.norm(path.directions, axis=2), 1.0, rtol=1e-5)
    assert (np.count_nonzero(path.directions, axis=2) <= levels).all()
    assert (np.diff(path.values, axis=1) >= 0).all()
    for own, values, directions in zip(codes, path.values, path.directions, strict=True):
        inside = own != HELD_OUT
        if scale == "within":
            rows = scaled_rows(X[inside], own[inside], scale)
        else:
            rows = scaled_rows(X, own, scale)[inside] / samples.unit
        expected = [between_groups(rows @ direction, own[inside]) for direction in directions]
        np.testing.assert_allclose(values, expected, rtol=1e-3)


def test_one_feature_is_exact():
    X, codes = data(1)
    path = solve_path(
        Samples(X, dtype=np.float64),
        Labels(codes, 2),
        Wasserstein2(),
        np.array([1]),
        np.random.default_rng(0),
    )
    for own, value in zip(codes, path.values[:, 0], strict=True):
        alone = max(between_groups(feature, own) for feature in X.T)
        assert value * Samples(X).unit ** 2 == pytest.approx(alone, rel=1e-9)


def test_every_labelling_as_if_alone():
    # The random starts are the same for every column, so a column's find does not depend on the others.
    X, codes = data(2)
    samples, levels = Samples(X), np.array([1, 3, 9])
    together = solve_path(samples, Labels(codes, 2), Wasserstein2(), levels, np.random.default_rng(5))
    for column in range(len(codes)):
        alone = solve_path(
            samples, Labels(codes[column], 2), Wasserstein2(), levels, np.random.default_rng(5)
        )
        np.testing.assert_allclose(together.values[column], alone.values[0], rtol=5e-3)


def test_the_number_of_threads_does_not_matter():
    X, codes = data(3)
    codes = np.stack([np.random.default_rng(seed).permutation(codes[0]) for seed in range(30)])
    paths = [
        solve_path(
            Samples(X),
            Labels(codes, 2),
            Wasserstein2(),
            np.array([1, 2, 9]),
            np.random.default_rng(0),
            PathOptions(n_jobs=n_jobs),
        )
        for n_jobs in (1, 2)
    ]
    np.testing.assert_array_equal(paths[0].values, paths[1].values)
    np.testing.assert_array_equal(paths[0].directions, paths[1].directions)


def test_more_effort_finds_as_much():
    X, codes = data(4)
    levels = np.array([2, 4, 9])
    fast, default = (
        solve_path(
            Samples(X),
            Labels(codes, 2),
            Wasserstein2(),
            levels,
            np.random.default_rng(0),
            PathOptions(effort),
        ).values
        for effort in ("fast", "default")
    )
    assert (default >= 0.999 * fast).all()


def test_competing_levels_leave_the_path_they_are_given_alone():
    values, directions = np.array([[3.0, 1.0]]), np.array([[[1.0, 0.0], [0.6, 0.8]]])
    found = let_smaller_compete(Path(values, directions))
    assert found.values.tolist() == [[3.0, 3.0]] and found.directions[0, 1].tolist() == [1.0, 0.0]
    assert values.tolist() == [[3.0, 1.0]] and directions[0, 1].tolist() == [0.6, 0.8]
