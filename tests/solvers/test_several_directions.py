from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import wasserstein_distance

from princdiff import PDA, SPARDA
from princdiff.data.labels import Labels
from princdiff.data.samples import Samples, orthonormal_basis
from princdiff.divergences import Wasserstein2

pytestmark = pytest.mark.whole


def three_groups(seed=0, n=200, d=8, size=2.0):
    """Groups whose means span the plane of the first two features."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(3 * n, d)), np.repeat(["a", "b", "c"], n)
    X[y == "b", 0] += size
    X[y == "c", 1] += size
    return X, y


@pytest.mark.parametrize("scale", [None, "pooled", "within"])
@pytest.mark.parametrize("sparse", [False, True])
def test_deflated_rows_are_the_rows_without_their_part_along_the_directions(scale, sparse):
    rng = np.random.default_rng(1)
    X = np.abs(rng.normal(size=(30, 5))) * rng.integers(0, 2, size=(30, 5)) + 0.1 * (not sparse)
    labels = Labels(np.repeat([0, 1], 15), 2)
    samples = Samples(sp.csr_matrix(X) if sparse else X, scale, dtype=np.float64)
    earlier = rng.normal(size=(2, 5))
    deflated = samples.deflated(earlier)
    plain = samples.for_labels(labels).feature_columns(np.arange(5)).T
    basis = orthonormal_basis(earlier)
    expected = plain - plain @ basis.T @ basis
    operator = deflated.for_labels(labels.repeat(3))
    directions = rng.normal(size=(3, 5))
    np.testing.assert_allclose(operator.project(directions), directions @ expected.T, atol=1e-10)
    slopes = rng.normal(size=(3, 30))
    np.testing.assert_allclose(operator.backproject(slopes), slopes @ expected, atol=1e-10)
    features = np.array([4, 1])
    np.testing.assert_allclose(
        deflated.for_labels(labels).feature_columns(features), expected.T[features], atol=1e-10
    )
    with pytest.raises(ValueError, match="restrict first"):
        deflated.restrict(features)


@pytest.mark.parametrize("metric", ["euclidean", "whitened"])
@pytest.mark.parametrize("estimator", [PDA, SPARDA])
def test_directions_are_orthogonal_units(metric, estimator):
    X, y = three_groups()
    options = {"n_features": 3} if estimator is SPARDA else {}
    fit = estimator(n_components=3, metric=metric, random_state=0, **options).fit(X, y)
    np.testing.assert_allclose(np.linalg.norm(fit.components_, axis=1), 1.0)
    if metric == "euclidean":
        np.testing.assert_allclose(fit.components_ @ fit.components_.T, np.eye(3), atol=1e-9)
    else:
        np.testing.assert_allclose(np.corrcoef(fit.transform(X).T), np.eye(3), atol=1e-6)
    assert (np.diff(fit.divergences_) <= 1e-9).all()
    np.testing.assert_allclose(fit.shares_.sum(axis=1), 1.0)
    if estimator is SPARDA:
        assert (np.count_nonzero(fit.components_, axis=1) <= 3).all()
    assert fit.transform(X).shape == (len(X), 3)
    assert len(fit.get_feature_names_out()) == 3


def test_two_directions_recover_the_plane_of_three_groups():
    for seed in range(4):
        X, y = three_groups(seed, n=800, size=3.0)
        plane = np.linalg.qr(PDA(2, random_state=0, effort="fast", certify=False).fit(X, y).components_.T)[0]
        cosines = np.linalg.svd(plane[:2], compute_uv=False)
        assert np.degrees(np.arccos(np.clip(cosines.min(), 0, 1))) < 5


def test_the_second_direction_is_the_best_orthogonal_one():
    """Against all directions of a fine grid on the circle that the first one leaves in three dimensions."""
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(60, 3)) * [1, 2, 3], np.repeat([0, 1], 30)
    X[y == 1] += [1.0, 0.0, 0.5]
    fit = PDA(2, random_state=0, certify=False).fit(X, y)
    rest = np.linalg.svd(fit.components_[:1])[2][1:]
    angles = np.linspace(0, np.pi, 2001)
    circle = np.column_stack([np.cos(angles), np.sin(angles)]) @ rest
    values = Wasserstein2().value(circle @ X.T, Labels(y, 2).repeat(len(circle)))
    assert fit.divergences_[1] >= values.max() * (1 - 1e-5)


def test_sparse_orthogonal_directions_against_all_supports():
    """Every pair of features, every angle: the best that is orthogonal to the first direction."""
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(80, 6)), np.repeat([0, 1], 40)
    X[y == 1] += [0.8, 0.6, 0.4, 0.0, 0.0, 0.0]
    fit = SPARDA(2, n_components=2, random_state=0, certify=False).fit(X, y)
    labels, first = Labels(y, 2), fit.components_[0]
    best = 0.0
    for pair in combinations(range(6), 2):
        part = first[list(pair)]
        if not part.any():
            angles = np.linspace(0, np.pi, 721)
            candidates = np.column_stack([np.cos(angles), np.sin(angles)])
        else:
            candidates = np.array([[-part[1], part[0]]]) / np.linalg.norm(part)
        for weights in candidates:
            best = max(best, Wasserstein2().value((X[:, pair] @ weights)[None], labels)[0])
    assert fit.divergences_[1] >= best * (1 - 1e-4)


def test_disjoint_supports_share_no_feature():
    X, y = three_groups()
    fit = SPARDA(2, n_components=3, supports="disjoint", random_state=0, certify=False).fit(X, y)
    assert ((fit.components_ != 0).sum(axis=0) <= 1).all()
    fit = SPARDA(penalty=0.3, n_components=2, supports="disjoint", random_state=0, certify=False).fit(X, y)
    assert ((fit.components_ != 0).sum(axis=0) <= 1).all()


def test_the_number_of_directions_is_found():
    X, y = three_groups(5, n=100)
    fit = PDA("auto", random_state=0, certify=False).fit(X, y)
    assert len(fit.components_) == 2
    assert (fit.component_pvalues_ <= 0.05).all()
    noise = np.random.default_rng(6).normal(size=(60, 4))
    fit = SPARDA(2, n_components="auto", random_state=0, certify=False).fit(noise, np.repeat([0, 1], 30))
    assert len(fit.components_) == 1 and fit.component_pvalues_[0] > 0.05
    pvalues = PDA(3, random_state=0, certify=False).fit(X, y).component_pvalues(X, y, n_permutations=39)
    assert pvalues[0] == pvalues[1] == 1 / 40 and pvalues[2] > 0.05


def test_certificates_bound_later_directions():
    rng = np.random.default_rng(7)
    X, y = rng.normal(size=(80, 5)), np.repeat([0, 1], 40)
    X[y == 1, 0] += 1
    fit = PDA(2, random_state=0, certify=True).fit(X, y)
    assert (fit.divergences_ <= fit.upper_bounds_ * (1 + 1e-9)).all()
    assert (fit.upper_bounds_ <= 2.5 * fit.divergences_).all()


def test_more_directions_than_there_are():
    X, y = three_groups(n=20, d=3)
    with pytest.raises(ValueError, match="cannot be orthogonal with 3 features"):
        PDA(4, certify=False).fit(X, y)
    X[:, 2] = 1.0
    with pytest.warns(UserWarning, match="only 2 of 3 directions were found"):
        fit = PDA(3, random_state=0, certify=False).fit(X, y)
    assert fit.components_.shape == (2, 3)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"n_components": 0}, "n_components"),
        ({"n_components": "many"}, "n_components"),
        ({"n_components": 2, "penalty": 0.1}, "disjoint"),
        ({"supports": "other"}, "supports"),
        ({"n_components": 2, "penalty": 0.1, "method": "paper", "supports": "disjoint"}, "one direction"),
    ],
)
def test_bad_parameters(options, words):
    X, y = three_groups(n=10)
    with pytest.raises((ValueError, TypeError), match=words):
        SPARDA(**options).fit(X, y)


def test_two_groups_of_several_give_the_two_sample_value():
    X, y = three_groups(n=50)
    two = y != "c"
    fit = PDA(random_state=0, certify=False).fit(X[two], y[two])
    projected = X[two] @ fit.components_[0]
    a, b = np.sort(projected[y[two] == "a"]), np.sort(projected[y[two] == "b"])
    assert fit.divergences_[0] == pytest.approx(np.mean((a - b) ** 2))
    assert PDA(divergence="wasserstein1", random_state=0, certify=False).fit(X[two], y[two]).divergences_[
        0
    ] >= (wasserstein_distance(a, b) * (1 - 1e-6))


@pytest.mark.parametrize("divergence", ["jensen_shannon", "kolmogorov_smirnov", "hellinger"])
def test_without_a_scale_collinear_features_do_not_show_a_projection_twice(divergence):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 2)), np.repeat([0, 1], 40)
    X[y == 1, 0] += 1.5
    collinear = np.column_stack([X, 2 * X[:, 0] - X[:, 1]])
    fit = PDA(2, divergence=divergence, random_state=0, certify=False).fit(collinear, y)
    assert abs(np.corrcoef(fit.transform(collinear).T)[0, 1]) < 1e-12
    assert fit.divergences_[1] < 0.7 * fit.divergences_[0]
    with pytest.warns(UserWarning, match="only 2 of 3 directions were found"):
        PDA(3, divergence=divergence, random_state=0, certify=False).fit(collinear, y)


def test_whitened_directions_end_with_the_rank():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(80, 2)), np.repeat([0, 1], 40)
    X[y == 1, 0] += 1.5
    wide = X @ rng.normal(size=(2, 5))
    with pytest.warns(UserWarning, match="only 2 of 4 directions were found"):
        PDA(4, metric="whitened", random_state=0, certify=False).fit(wide, y)


def test_partners_on_the_same_features_are_found():
    X = np.random.default_rng(1).normal(size=(80, 6))
    X[40:] *= np.arange(1, 7) / 2
    fit = SPARDA(2, n_components=6, random_state=0, effort="fast", certify=False).fit(
        X, np.repeat([0, 1], 40)
    )
    assert len(fit.components_) == 6
    np.testing.assert_allclose(fit.components_ @ fit.components_.T, np.eye(6), atol=1e-9)


def test_means_differ_along_one_uncorrelated_direction_only():
    X, y = three_groups(n=30, d=4)
    two = y != "c"
    with pytest.warns(UserWarning, match="only 1 of 2 directions were found"):
        PDA(2, divergence="standardised_mean", random_state=0, certify=False).fit(X[two], y[two])
