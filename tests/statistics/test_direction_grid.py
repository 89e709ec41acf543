from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from oracles import between_groups, divergence_along, scaled_rows
from princdiff import PDA, SPARDA
from princdiff.data.labels import Labels
from princdiff.data.samples import Samples
from princdiff.divergences import Wasserstein2
from princdiff.statistics.direction_grid import (
    LARGEST_WHITENED,
    Grid,
    default_grid,
    relative_divergence,
    shrinkage,
    single_cell_grid,
    solve_grid,
    whitened_samples,
)


def mixed_rows(seed=0, n_rows=80, n_features=5, scales=None):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features)) @ rng.normal(size=(n_features, n_features))
    return X if scales is None else X * scales


def covariance_of(X, scale, weights=None):
    rows = scaled_rows(X, None, scale, weights)
    mass = np.full(len(X), 1 / len(X)) if weights is None else weights / weights.sum()
    return rows.T @ (rows * mass[:, None])


# ---------------------------------------------------------------- the grid


@pytest.mark.parametrize("n_features", [1, 2, 3, 4, 7, 60, 500, LARGEST_WHITENED, LARGEST_WHITENED + 1])
@pytest.mark.parametrize("metric", ["mixed", "euclidean", "whitened"])
def test_default_grid(n_features, metric):
    grid = default_grid(n_features, metric)
    for levels in (grid.euclidean, grid.whitened):
        assert list(levels) == sorted(set(levels))
        assert all(1 <= level <= n_features for level in levels)
    assert bool(grid.euclidean) == (metric != "whitened")
    assert bool(grid.whitened) == (metric != "euclidean")
    if grid.euclidean:
        # One feature and all features are always looked at.
        assert grid.euclidean[0] == 1 and grid.euclidean[-1] == n_features
    if grid.whitened:
        assert (n_features in grid.whitened) == (n_features <= LARGEST_WHITENED)
        assert all(level <= 5 for level in grid.whitened if level < n_features)
    assert len(grid.cells) == len(grid.euclidean) + len(grid.whitened)
    assert [level for name, level in grid.cells if name == "euclidean"] == list(grid.euclidean)


def test_single_cell():
    assert single_cell_grid(3, "euclidean").cells == [("euclidean", 3)]
    assert single_cell_grid(3, "whitened").cells == [("whitened", 3)]


def test_shrinkage_grows_up_to_a_tenth():
    values = [shrinkage(level, 200) for level in (1, 3, 10, 60, 500)]
    assert values == sorted(values)
    assert values[0] == pytest.approx(0.025) and values[-1] == 0.1
    assert shrinkage(5, 10**6) == pytest.approx(0.02, rel=1e-3)


# ---------------------------------------------------------------- whitened rows


@pytest.mark.parametrize("scale", [None, "pooled"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("sparse", [False, True])
def test_covariance(scale, weighted, sparse):
    X = mixed_rows(1, scales=[1.0, 5.0, 0.2, 1.0, 30.0])
    X[:, 3] = 4.0
    X[np.random.default_rng(0).random(X.shape) < 0.3] = 0.0
    weights = np.random.default_rng(1).uniform(0.2, 2.0, size=len(X)) if weighted else None
    samples = Samples(sp.csr_matrix(X) if sparse else X, scale, weights=weights, dtype=np.float64)
    # In units of the samples.
    expected = covariance_of(X, scale, weights) / samples.unit**2
    np.testing.assert_allclose(samples.covariance(), expected, atol=1e-10)


@pytest.mark.parametrize("scale", [None, "pooled"])
@pytest.mark.parametrize("share", [1e-9, 0.1])
def test_whitened_rows_have_an_identity_as_shrunk_covariance(scale, share):
    X = mixed_rows(2, scales=[1.0, 5.0, 0.2, 1.0, 3.0])
    samples = Samples(X, scale, dtype=np.float64)
    whitened = samples.whitened(share)
    covariance = covariance_of(X, scale) / samples.unit**2
    shrunk = (1 - share) * covariance + share * np.diag(covariance).mean() * np.eye(5)
    np.testing.assert_allclose(whitened.mixing @ shrunk @ whitened.mixing.T, np.eye(5), atol=1e-8)
    # The products agree with the mixing.
    rows = scaled_rows(X, None, scale) / samples.unit @ whitened.mixing.T
    directions = np.random.default_rng(0).normal(size=(3, 5))
    np.testing.assert_allclose(whitened.project(directions), directions @ rows.T, atol=1e-9)
    slopes = np.random.default_rng(1).normal(size=(3, len(X)))
    np.testing.assert_allclose(whitened.backproject(slopes), slopes @ rows, atol=1e-9)
    np.testing.assert_allclose(whitened.feature_columns(np.array([4, 1])), rows.T[[4, 1]], atol=1e-9)
    if share < 1e-6:
        np.testing.assert_allclose(rows.T @ rows / len(rows), np.eye(5), atol=1e-6)
    assert samples.mixing is None


def test_whitened_rows_with_constant_and_collinear_features():
    X = mixed_rows(3)
    X = np.column_stack([X, X[:, 0], np.ones(len(X)), X[:, 1] + X[:, 2]])
    samples = Samples(X, "pooled", dtype=np.float64)
    whitened = samples.whitened(0.05)
    assert np.isfinite(whitened.mixing).all()
    # Nothing of the constant gets into any coordinate.
    assert np.abs(whitened.mixing[:, 6]).max() == pytest.approx(0, abs=1e-9)
    rows = whitened.project(np.eye(8)).T
    assert np.isfinite(rows).all()
    assert np.linalg.eigvalsh(rows.T @ rows / len(rows)).max() <= 1 / 0.95 + 1e-6


def test_more_features_than_rows():
    X = mixed_rows(4, n_rows=12, n_features=30)
    whitened = Samples(X, "pooled", dtype=np.float64).whitened(0.1)
    rows = whitened.project(np.eye(30)).T
    values = np.linalg.eigvalsh(rows.T @ rows / len(rows))
    assert values.max() <= 1 / 0.9 + 1e-6
    assert values.min() >= -1e-9


def test_whitened_rows_only_where_asked_for():
    samples = Samples(mixed_rows(5), "pooled")
    assert whitened_samples(samples, Grid((1, 5), (2,))) is None
    assert whitened_samples(samples, Grid((1,), (2, 5))) is not None


def test_relative_divergence_knows_a_typical_feature():
    X = mixed_rows(6, scales=[1.0, 5.0, 0.2, 1.0, 3.0])
    X[:, 0] = 2.0
    pooled = relative_divergence(Samples(X, "pooled"), Wasserstein2(), 2)
    assert pooled.typical == pytest.approx(1.0)
    plain = Samples(X)
    relative = relative_divergence(plain, Wasserstein2(), 2)
    assert relative.typical * plain.unit**2 == pytest.approx(X[:, 1:].var(axis=0).mean())
    assert relative.shrinkage == shrinkage(2, 80)


# ---------------------------------------------------------------- values over the grid


@pytest.mark.parametrize("scale", [None, "pooled"])
def test_values_belong_to_the_directions(scale):
    X = mixed_rows(7, n_features=6)
    rng = np.random.default_rng(7)
    codes = np.array([rng.permutation(np.repeat([0, 1], [35, 45])) for _ in range(3)])
    samples = Samples(X, scale)
    grid = Grid((1, 2, 6), (2, 3, 6))
    path = solve_grid(
        samples, Labels(codes, 2), Wasserstein2(), grid, 0, whitened_samples(samples, grid), "fast"
    )
    assert path.values.shape == (3, 6) and path.directions.shape == (3, 6, 6)
    rows = scaled_rows(X, None, scale)
    covariance = rows.T @ rows / len(rows)
    typical = np.diag(covariance).mean()
    for column in range(3):
        for cell, (metric, level) in enumerate(grid.cells):
            direction = path.directions[column, cell].astype(np.float64)
            assert np.linalg.norm(direction) == pytest.approx(1, rel=1e-5)
            assert np.count_nonzero(direction) <= level
            value = between_groups(rows @ direction, codes[column])
            if metric == "euclidean":
                value /= samples.unit**2
            else:
                share = shrinkage(3 if level < 6 else 6, len(X))
                value /= (1 - share) * direction @ covariance @ direction + share * typical
            assert path.values[column, cell] == pytest.approx(value, rel=1e-3)
        # A larger level contains the smaller ones.
        assert (np.diff(path.values[column, :3]) >= -1e-6).all()
        assert path.values[column, 4] >= path.values[column, 3] - 1e-6


def quotient_over_angles(X, y, scale, share, n_angles=20000):
    angles = np.pi * np.arange(n_angles) / n_angles
    directions = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    rows = scaled_rows(X, y, scale)
    covariance = rows.T @ rows / len(rows)
    shrunk = (1 - share) * covariance + share * np.diag(covariance).mean() * np.eye(2)
    projections = directions @ rows.T
    distances = ((np.sort(projections[:, y == 0]) - np.sort(projections[:, y == 1])) ** 2).mean(axis=1)
    values = distances / np.einsum("ij,jk,ik->i", directions, shrunk, directions)
    return directions[values.argmax()], values.max()


@pytest.mark.parametrize("scale", [None, "pooled"])
@pytest.mark.parametrize("seed", range(4))
def test_whitened_pda_against_all_angles(scale, seed):
    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1], 40)
    X = rng.normal(size=(80, 2)) @ np.array([[1.0, 0.9], [0.0, 0.3]])
    X[y == 1] += 0.5 * rng.normal(size=2)
    X[:, 1] *= 4.0
    direction, value = quotient_over_angles(X, y, scale, shrinkage(2, 80))
    fitted = PDA(scale=scale, metric="whitened", random_state=0).fit(X, y)
    assert fitted.divergences_[0] == pytest.approx(value, rel=1e-3)
    assert abs(fitted.components_[0] @ direction) == pytest.approx(1, abs=2e-3)
    assert np.linalg.norm(fitted.components_) == pytest.approx(1)
    assert fitted.components_[0][np.flatnonzero(fitted.components_[0])[0]] > 0
    assert fitted.shares_.sum() == pytest.approx(1)


def test_whitened_sparda_uses_its_block_of_the_covariance():
    rng = np.random.default_rng(8)
    y = np.repeat([0, 1], 50)
    common = rng.normal(size=(100, 1))
    X = np.column_stack([common + 0.3 * rng.normal(size=(100, 2)), rng.normal(size=(100, 3))])
    X[y == 1, 0] += 0.4
    fitted = SPARDA(2, scale="pooled", metric="whitened", random_state=0).fit(X, y)
    np.testing.assert_array_equal(np.flatnonzero(fitted.support_), [0, 1])
    _, value = quotient_over_angles(X[:, :2], y, "pooled", shrinkage(2, 100))
    assert fitted.divergences_[0] == pytest.approx(value, rel=1e-3)
    # The two are each other's noise: opposite signs.
    assert np.prod(fitted.components_[0][:2]) < 0


@pytest.mark.parametrize("estimator", [PDA(), SPARDA(2)])
def test_whitened_pooled_fit_does_not_know_the_units(estimator):
    X = mixed_rows(9)
    y = np.repeat([0, 1], 40)
    X[y == 1, 1] += 1.5
    estimator.set_params(scale="pooled", metric="whitened", random_state=0)
    first = estimator.fit(X, y)
    components, value = first.components_.copy(), first.divergences_[0]
    second = estimator.fit(X * [1.0, 1e3, 1e-3, 50.0, 7.0] + [0, 10, 0, 0, 1e3], y)
    assert second.divergences_[0] == pytest.approx(value, rel=1e-4)
    np.testing.assert_allclose(second.components_, components, atol=1e-2)


def test_whitened_value_hardly_depends_on_the_mixture_of_features():
    # But for the shrinkage the quotient is the same in any coordinates.
    rng = np.random.default_rng(10)
    X, y = rng.normal(size=(400, 3)), np.repeat([0, 1], 200)
    X[y == 1, 0] += 1.0
    mixing = np.array([[1.0, 0.5, 0.0], [0.0, 1.0, -0.5], [0.3, 0.0, 1.0]])
    plain, mixed = (
        PDA(metric="whitened", random_state=0).fit(rows, y).divergences_[0] for rows in (X, X @ mixing)
    )
    assert mixed == pytest.approx(plain, rel=0.1)
    euclidean = [PDA(random_state=0).fit(rows, y).divergences_[0] for rows in (X, 10 * X @ mixing)]
    assert euclidean[1] > 10 * euclidean[0]


def test_whitened_finds_small_variances_where_the_plain_metric_does_not():
    rng = np.random.default_rng(11)
    common = rng.normal(size=(300, 1))
    X, y = common + 0.3 * rng.normal(size=(300, 4)), np.repeat([0, 1], 150)
    X[y == 1, 2] += 0.5
    fitted = PDA(scale="pooled", metric="whitened", random_state=0).fit(X, y)
    assert np.abs(fitted.components_[0]).argmax() == 2
    plain = PDA(scale="pooled", random_state=0).fit(X, y)
    contrast = np.abs(fitted.components_[0].sum())
    assert contrast < 0.5 * np.abs(plain.components_[0].sum())
    # Along its own direction the plain divergence is larger, as it must be.
    assert plain.divergences_[0] >= divergence_along(fitted.components_[0], X, y, "pooled")


def test_whitened_refuses_what_it_cannot_do():
    X, y = mixed_rows(12), np.repeat([0, 1], 40)
    with pytest.raises(ValueError, match='use scale="pooled" or None'):
        PDA(metric="whitened", scale="within").fit(X, y)
    with pytest.raises(ValueError, match="not with penalty"):
        SPARDA(penalty=0.1, metric="whitened").fit(X, y)
    with pytest.raises(ValueError, match="metric must be one of"):
        PDA(metric="mixed").fit(X, y)
    wide = np.random.default_rng(0).normal(size=(8, LARGEST_WHITENED + 1))
    with pytest.raises(ValueError, match="ask for fewer features"):
        PDA(metric="whitened").fit(wide, np.arange(8) % 2)
