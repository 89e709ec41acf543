from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.spatial.distance import jensenshannon
from scipy.stats import gaussian_kde, norm

from princdiff.data.labels import HELD_OUT, Labels
from princdiff.divergences import (
    Hellinger,
    JensenShannon,
    KolmogorovSmirnov,
    KullbackLeibler,
    ReverseKullbackLeibler,
    TotalVariation,
)
from princdiff.divergences.density_grid import Binned, make_grid
from princdiff.divergences.sorting import Workspace
from princdiff.divergences.standardise import standardise

FAMILY = [KullbackLeibler, ReverseKullbackLeibler, JensenShannon, Hellinger, TotalVariation]


def two_normals(shift, ratio, n_rows=20_000):
    """Quantiles of two normal distributions: samples without noise."""
    levels = (np.arange(n_rows) + 0.5) / n_rows
    quantiles = norm.ppf(levels)
    return np.concatenate([quantiles, ratio * quantiles + shift])[None], Labels(np.repeat([0, 1], n_rows), 2)


@pytest.mark.parametrize(("shift", "ratio"), [(1.0, 1.0), (0.0, 1.6), (0.7, 0.8)])
def test_normal_distributions_against_closed_forms_and_quadrature(shift, ratio):
    values, labels = two_normals(shift, ratio)
    h = 0.05
    # The kernel adds its variance to both.
    unit = values.std()
    first, second = norm(0.0, np.hypot(1.0, h * unit)), norm(shift, np.hypot(ratio, h * unit))

    width = 2 * (6.0 + 4.0 * h) * unit

    def integral(function):
        return quad(lambda t: function(first.pdf(t), second.pdf(t)), -12, 12, limit=400)[0]

    def log_ratio(p, q):
        # A thousandth of each is spread evenly.
        p, q = 0.999 * p + 1e-3 / width, 0.999 * q + 1e-3 / width
        return p * np.log(p / q)

    def mixed(p, q):
        m = 0.5 * (p + q)
        return 0.5 * (p * np.log(p / m) + q * np.log(q / m))

    def closed_form(p, q):
        s, t = p.std(), q.std()
        return np.log(t / s) + (s**2 + (p.mean() - q.mean()) ** 2) / (2 * t**2) - 0.5

    found = KullbackLeibler(h).value(values, labels)[0]
    assert found == pytest.approx(integral(log_ratio), rel=1e-2)
    assert found == pytest.approx(closed_form(first, second), rel=0.1)
    found = ReverseKullbackLeibler(h).value(values, labels)[0]
    assert found == pytest.approx(integral(lambda p, q: log_ratio(q, p)), rel=1e-2)
    assert found == pytest.approx(closed_form(second, first), rel=0.1)
    assert JensenShannon(h).value(values, labels)[0] == pytest.approx(integral(mixed), rel=1e-2)
    root = integral(lambda p, q: np.sqrt(p * q))
    assert Hellinger(h).value(values, labels)[0] == pytest.approx(1 - root, rel=1e-2)
    absolute = integral(lambda p, q: abs(p - q))
    assert TotalVariation(h).value(values, labels)[0] == pytest.approx(absolute / 2, rel=1e-2)


def test_the_grid_holds_the_kernel_estimate():
    rng = np.random.default_rng(0)
    codes = np.repeat([0, 1], [40, 60])
    weights = rng.uniform(0.2, 2.0, size=100)
    for mass in (None, weights):
        labels = Labels(codes, 2, weights=mass)
        values = standardise(rng.normal(size=(3, 100)) + codes, labels.repeat(3), Workspace()).values
        grid = make_grid(0.3)
        binned = Binned(values, labels.repeat(3), grid, Workspace())
        np.testing.assert_allclose(binned.masses.sum(axis=2), 1.0, rtol=1e-12)
        densities = grid.smooth(binned.masses, Workspace()) / grid.step
        for column, group in [(0, 0), (2, 1)]:
            own = codes == group
            sample = values[column, own]
            # Its bandwidth is a multiple of the sample's standard deviation, so that is taken out first.
            kde = gaussian_kde(sample, bw_method=1.0, weights=None if mass is None else mass[own])
            kde.set_bandwidth(0.3 / np.sqrt(kde.covariance[0, 0]))
            np.testing.assert_allclose(densities[column, group], kde(grid.points), atol=2e-5)


def test_jensen_shannon_is_the_square_of_scipys_distance():
    rng = np.random.default_rng(1)
    codes = np.repeat([0, 1], 50)
    values = rng.normal(size=100) + codes
    labels, divergence = Labels(codes, 2), JensenShannon(0.25)
    grid = make_grid(0.25)
    standardised = standardise(values[None], labels, Workspace()).values
    masses = Binned(standardised, labels, grid, Workspace()).masses.copy()
    smooth = np.maximum(grid.smooth(masses, Workspace())[0], 0)
    np.testing.assert_allclose(divergence.value(values[None], labels), jensenshannon(*smooth) ** 2, rtol=1e-8)


@pytest.mark.parametrize("kind", FAMILY)
def test_the_bandwidth_rule(kind):
    labels = Labels(np.repeat([0, 1], [32, 500]), 2)
    assert kind().bandwidth_for(labels) == pytest.approx(0.5)
    assert kind(0.7).bandwidth_for(labels) == 0.7
    values = np.random.default_rng(2).normal(size=(2, 532))
    np.testing.assert_allclose(
        kind().value(values, labels.repeat(2)), kind(0.5).value(values, labels.repeat(2))
    )
    # Equal weights are no weights, whatever their size; unequal ones count for fewer rows.
    equal = Labels(labels.codes, 2, weights=np.full(532, 7.0))
    assert kind().bandwidth_for(equal) == pytest.approx(0.5)
    unequal = Labels(labels.codes, 2, weights=np.random.default_rng(3).uniform(size=532))
    assert kind().bandwidth_for(unequal) > 0.5


@pytest.mark.parametrize("kind", [*FAMILY, KolmogorovSmirnov])
@pytest.mark.parametrize("bandwidth", [0.0, -0.1, np.nan, np.inf])
def test_bad_bandwidths_are_refused(kind, bandwidth):
    with pytest.raises(ValueError, match="bandwidth must be a positive number"):
        kind(bandwidth)


def test_a_bandwidth_too_small_for_a_grid_is_refused():
    with pytest.raises(ValueError, match="bandwidth 1e-06 is too small"):
        TotalVariation(1e-6).value(np.zeros((1, 4)), Labels([0, 0, 1, 1], 2))


@pytest.mark.parametrize("kind", FAMILY)
def test_bounds(kind):
    labels = Labels(np.repeat([0, 1], 30), 2)
    x = np.random.default_rng(4).normal(size=30)
    apart = kind(0.1).value(np.concatenate([x, x + 100.0])[None], labels)[0]
    most = {JensenShannon: np.log(2), Hellinger: 1.0, TotalVariation: 1.0}
    if kind in most:
        assert apart == pytest.approx(most[kind], rel=1e-6)
    else:
        assert 1.0 < apart < 15.0


def test_a_stray_row_does_not_rule_kullback_leibler():
    rng = np.random.default_rng(5)
    codes = np.repeat([0, 1], 500)
    values = rng.normal(size=1000)
    plain = KullbackLeibler().value(values[None], Labels(codes, 2))[0]
    values[0] = 7.0
    stray = KullbackLeibler().value(values[None], Labels(codes, 2))[0]
    assert stray - plain < 0.02


def test_rows_beyond_the_grid_are_moved_to_its_end():
    grid = make_grid(0.3)
    binned = Binned(np.array([[20.0, -9.0, 1.0]]), Labels([0, 1, 2], 3), grid, Workspace())
    np.testing.assert_allclose(binned.masses[0] @ grid.points, [6.0, -6.0, 1.0], atol=1e-12)
    slopes = binned.slopes(np.ones((1, 3, 1)) * grid.points**2)
    np.testing.assert_allclose(slopes, [[0.0, 0.0, 2.0]], atol=1e-10)


def test_held_out_rows_do_not_count_in_the_bandwidth():
    codes = np.repeat([0, 1, HELD_OUT], [32, 50, 400])
    assert TotalVariation().bandwidth_for(Labels(codes, 2)) == pytest.approx(0.5)
