from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from oracles import divergence_along, scaled_rows
from princdiff.data.labels import HELD_OUT, Labels
from princdiff.data.samples import Samples
from princdiff.divergences import Wasserstein2
from princdiff.solvers.scans import ANGLES, load_features, scan_angles, turn


@pytest.mark.parametrize("container", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("scale", [None, "pooled", "within"])
@pytest.mark.parametrize("penalty", [0.0, 0.1])
@pytest.mark.parametrize("weighted", [False, True])
def test_scan_finds_the_best_of_all_turns(container, scale, penalty, weighted):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 5)) * (rng.random((30, 5)) < 0.7) + rng.normal(size=5)
    y = rng.permutation(np.arange(30) % 2)
    weights = rng.uniform(0.5, 2.0, size=30) if weighted else None
    samples = Samples(container(X), scale, weights=weights, dtype=np.float64)
    labels = Labels(y, 2, weights=weights)
    directions = np.array([[0.6, 0.8, 0, 0, 0], [0, 0, 1.0, 0, 0]])
    features = load_features(samples, labels, np.array([0, 2, 3, 4]))
    projections = samples.for_labels(labels.repeat(2)).project(directions)[:, features.rows]
    objective, angles = scan_angles(features, projections, directions, Wasserstein2(), penalty)
    for i, direction in enumerate(directions):
        for position, feature in enumerate(features.columns):
            turned = [turn(direction, feature, angle) for angle in ANGLES]
            values = [
                divergence_along(t, X, y, scale, weights) / samples.unit**2 - penalty * np.abs(t).sum() ** 2
                for t in turned
            ]
            assert objective[i, position] == pytest.approx(max(values), rel=1e-8, abs=1e-12)
            assert values[np.flatnonzero(ANGLES == angles[i, position])[0]] == pytest.approx(
                max(values), rel=1e-8
            )


def test_features_are_sorted_by_group_without_the_held_out_rows():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(20, 4))
    codes = rng.permutation(np.arange(20) % 3)
    codes[codes == 2] = HELD_OUT
    features = load_features(Samples(X, dtype=np.float64), Labels(codes, 2), np.array([3, 1]))
    assert (np.diff(features.labels.codes[0].astype(int)) >= 0).all()
    np.testing.assert_array_equal(np.sort(features.rows), np.flatnonzero(codes != HELD_OUT))
    rows = scaled_rows(X, codes, None) / Samples(X).unit
    np.testing.assert_allclose(features.values, rows[features.rows][:, [3, 1]].T, atol=1e-12)
    part = features.select(np.array([1]))
    np.testing.assert_array_equal(part.columns, [1])
    np.testing.assert_array_equal(part.values, features.values[1:])


def test_the_number_of_threads_does_not_matter():
    rng = np.random.default_rng(2)
    samples = Samples(rng.normal(size=(400, 30)))
    labels = Labels(np.arange(400) % 2, 2)
    features = load_features(samples, labels, np.arange(30))
    directions = np.eye(30)[:3]
    projections = samples.project(directions)[:, features.rows]
    one = scan_angles(features, projections, directions, Wasserstein2(), n_jobs=1)
    two = scan_angles(features, projections, directions, Wasserstein2(), n_jobs=2)
    np.testing.assert_array_equal(one, two)


def test_a_turn_is_a_unit_direction():
    direction = np.array([0.6, 0.8, 0.0])
    for feature in range(3):
        for angle in ANGLES:
            assert np.linalg.norm(turn(direction, feature, angle)) == pytest.approx(1.0)
    np.testing.assert_array_equal(direction, [0.6, 0.8, 0.0])


def test_angles_cover_the_half_circle_but_not_the_incumbent():
    assert (np.abs(ANGLES) > 0).all() and (np.abs(ANGLES) < np.pi / 2).all()
    np.testing.assert_allclose(ANGLES, -ANGLES[::-1])
