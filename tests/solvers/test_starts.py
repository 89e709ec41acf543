from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from oracles import between_groups, scaled_rows
from princdiff.data.labels import HELD_OUT, Labels
from princdiff.data.samples import Samples
from princdiff.divergences import Wasserstein2
from princdiff.solvers import starts


def labellings(rng, n_rows, n_groups=2):
    codes = np.stack([rng.permutation(np.arange(n_rows) % (n_groups + 1)) for _ in range(3)])
    codes[codes == n_groups] = HELD_OUT
    return codes


@pytest.mark.parametrize("scale", [None, "pooled", "within"])
@pytest.mark.parametrize("container", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("n_groups", [2, 3])
def test_marginal_divergences_of_every_feature_and_labelling(scale, container, n_groups, monkeypatch):
    # Blocks of two features stand in for many.
    monkeypatch.setattr(starts, "_BLOCK_ELEMENTS", 60)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 5)) * [1, 10, 1, 0.1, 1]
    X[:, 2] = 7.0
    codes = labellings(rng, 30, n_groups)
    samples = Samples(container(X), scale, dtype=np.float64)
    found = starts.marginal_divergences(samples, Labels(codes, n_groups), Wasserstein2())
    for column, own in enumerate(codes):
        # Pooled scaling uses all rows; scaling within groups only those that have one.
        rows = np.zeros_like(X)
        if scale == "within":
            inside = own != HELD_OUT
            rows[inside] = scaled_rows(X[inside], own[inside], scale)
        else:
            rows = scaled_rows(X, own, scale) / samples.unit
        expected = [between_groups(feature, own) for feature in rows.T]
        np.testing.assert_allclose(found[column], expected, rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("n_groups", [2, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_mean_directions(n_groups, weighted):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(40, 4)) + 5
    codes = labellings(rng, 40, n_groups)
    weights = rng.uniform(0.5, 2.0, size=40) if weighted else None
    mass = np.ones(40) if weights is None else weights
    samples = Samples(X, dtype=np.float64, weights=weights)
    found = starts.mean_directions(samples, Labels(codes, n_groups, weights=weights))
    for column, own in enumerate(codes):
        for contrast in range(found.shape[1]):
            inside, rest = own == contrast, (own != contrast) & (own != HELD_OUT)
            expected = np.average(X[inside], axis=0, weights=mass[inside])
            expected -= np.average(X[rest], axis=0, weights=mass[rest])
            np.testing.assert_allclose(
                found[column, contrast], expected / np.linalg.norm(expected), atol=1e-9
            )


@pytest.mark.parametrize("container", [np.asarray, sp.csr_matrix])
def test_spread_directions_are_eigenvectors_of_the_covariance_difference(container):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(400, 6))
    X[200:] *= [4.0, 1.0, 0.1, 1.0, 1.0, 1.0]
    rotation, _ = np.linalg.qr(rng.normal(size=(6, 6)))
    X = X @ rotation.T + 3.0
    y = np.repeat([0, 1], 200)
    found = starts.spread_directions(Samples(container(X)), Labels(y, 2), 3, rng, n_iter=30)[0]
    values, vectors = np.linalg.eigh(np.cov(X[:200].T, ddof=0) - np.cov(X[200:].T, ddof=0))
    top = vectors[:, np.argsort(-np.abs(values))[:2]]
    # The two extreme eigenvectors lie in the span of the directions found.
    np.testing.assert_allclose(np.linalg.norm(found @ top, axis=0), 1.0, atol=1e-3)


def test_all_families_keep_off_constant_features():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(30, 5))
    X[:, 1] = 2.0
    samples, labels = Samples(X), Labels(np.arange(30) % 2, 2)
    marginals = starts.marginal_divergences(samples, labels, Wasserstein2())
    for family in (
        starts.mean_directions(samples, labels),
        starts.spread_directions(samples, labels, 4, rng),
        starts.random_directions(samples, 6, rng),
        starts.single_feature_directions(marginals, 4, rng),
        starts.subset_directions(marginals, 3, 6, rng),
    ):
        assert np.isfinite(family).all()
        np.testing.assert_allclose(family[..., 1], 0.0, atol=1e-7)


def test_single_features_are_near_their_axes_but_not_on_them():
    rng = np.random.default_rng(4)
    marginals = rng.random((2, 8))
    found = starts.single_feature_directions(marginals, 3, rng)
    assert found.shape == (2, 3, 8)
    for column in range(2):
        top = np.argsort(-marginals[column])[:3]
        np.testing.assert_array_equal(np.abs(found[column]).argmax(axis=1), top)
    assert (np.count_nonzero(found, axis=2) == 8).all()


def test_subsets_have_the_asked_size():
    rng = np.random.default_rng(5)
    found = starts.subset_directions(rng.random((2, 30)) + 0.1, 4, 7, rng)
    assert found.shape == (2, 7, 30)
    assert (np.count_nonzero(found, axis=2) == 4).all()


def test_exact_spread_directions_are_eigenvectors():
    # Correlations of opposite signs: two eigenvalues of one magnitude, whose plane has any basis.
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(4000, 6)), np.arange(4000) % 2
    X[:, 4] += np.where(y == 1, 0.8, -0.8) * X[:, 1]
    found = starts.spread_directions(Samples(X), Labels(y, 2), 3, rng, exact=True)[0]
    difference = np.cov(X[y == 0].T, bias=True) - np.cov(X[y == 1].T, bias=True)
    vectors = np.linalg.eigh(difference)[1]
    for expected in vectors[:, [0, -1]].T:
        assert np.abs(found @ expected).max() > 0.999


@pytest.mark.parametrize("n_groups", [2, 3])
def test_features_whose_covariances_differ(n_groups):
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(90 * n_groups, 12)), np.repeat(np.arange(n_groups), 90)
    shared = rng.normal(size=(90, 1))
    X[y == 1, 3:6] = 0.5 * X[y == 1, 3:6] + shared
    samples, labels = Samples(X, "pooled", dtype=np.float64), Labels(y, n_groups)
    found = starts.dependence_directions(samples, labels, 3, 5)
    assert len(found) == 5 * (1 if n_groups == 2 else n_groups)
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1.0)
    assert (np.count_nonzero(found, axis=1) == 3).all()
    np.testing.assert_array_equal(np.flatnonzero(found[0] if n_groups == 2 else found[5]), [3, 4, 5])
    # The value of a start is the difference of the variances along it, the largest on its support.
    rows = scaled_rows(X, y, "pooled") / samples.unit
    own, rest = (y == 0, y != 0)
    for direction in found[:5]:
        support = np.flatnonzero(direction)
        difference = np.cov(rows[own][:, support].T, ddof=0) - np.cov(rows[rest][:, support].T, ddof=0)
        along = direction[support] @ difference @ direction[support]
        assert abs(along) == pytest.approx(np.abs(np.linalg.eigvalsh(difference)).max(), rel=1e-8)
