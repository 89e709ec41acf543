from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import approx_fprime

from oracles import between_groups, scaled_rows
from princdiff.data.labels import HELD_OUT, Labels
from princdiff.data.samples import Samples
from princdiff.divergences import Energy, KolmogorovSmirnov, Wasserstein2, WassersteinP, Workspace
from princdiff.divergences.relative import PlannedRelative
from princdiff.divergences.relative import relative as make_relative
from princdiff.divergences.sorting import order_within_groups

CASES = [
    # group sizes, rows held out, weighted
    ((8, 8), 0, False),
    ((5, 9), 0, False),
    ((4, 6, 7), 0, False),
    ((6, 8), 5, False),
    ((6, 8), 0, True),
    ((5, 4, 6), 4, True),
]


def labelled(sizes, held_out, weighted, seed=0, n_labellings=1):
    rng = np.random.default_rng(seed)
    codes = np.concatenate([np.repeat(np.arange(len(sizes)), sizes), np.full(held_out, HELD_OUT)])
    codes = np.array([rng.permutation(codes) for _ in range(n_labellings)])
    weights = rng.uniform(0.3, 2.0, size=codes.shape[1]) if weighted else None
    return Labels(codes, len(sizes), weights=weights)


def explicit(values, codes, weights, shrinkage, typical):
    """The quotient as it is defined: variance over the labelled rows, shrunk towards the typical one."""
    inside = codes != HELD_OUT
    mass = (np.ones(len(values)) if weights is None else weights)[inside]
    mean = np.average(values[inside], weights=mass)
    variance = np.average((values[inside] - mean) ** 2, weights=mass)
    return between_groups(values, codes, weights) / ((1 - shrinkage) * variance + shrinkage * typical)


@pytest.mark.parametrize("sizes, held_out, weighted", CASES)
@pytest.mark.parametrize("shrinkage", [0.0, 0.1])
def test_value_is_the_quotient(sizes, held_out, weighted, shrinkage):
    for n_labellings in (1, 3):
        labels = labelled(sizes, held_out, weighted, 1, n_labellings)
        wide = labels.repeat(2)
        values = np.random.default_rng(2).standard_t(4, size=(wide.n_columns, labels.n_rows)) + 3.0
        relative = PlannedRelative(Wasserstein2(), shrinkage, 2.5)
        expected = [
            explicit(row, labels.codes[column], labels.weights, shrinkage, 2.5)
            for row, column in zip(values, wide.columns, strict=True)
        ]
        np.testing.assert_allclose(relative.value(values, wide), expected, rtol=1e-10)
        both, slopes = relative.value_and_slope(values, wide, Workspace())
        np.testing.assert_allclose(both, expected, rtol=1e-10)
        assert slopes.shape == values.shape
        single = relative.value_and_slope(values.astype(np.float32), wide, Workspace())
        np.testing.assert_allclose(single[0], expected, rtol=1e-4)
        assert single[1].dtype == np.float32


@pytest.mark.parametrize("sizes, held_out, weighted", CASES)
@pytest.mark.parametrize("shrinkage", [0.0, 0.1])
def test_slope_is_the_derivative(sizes, held_out, weighted, shrinkage):
    labels = labelled(sizes, held_out, weighted, 3)
    values = np.random.default_rng(4).normal(size=labels.n_rows)
    relative = PlannedRelative(Wasserstein2(), shrinkage, 0.7)
    slopes = relative.value_and_slope(values[None], labels, Workspace())[1][0]
    numeric = approx_fprime(
        values, lambda row: explicit(row, labels.codes[0], labels.weights, shrinkage, 0.7), 1e-7
    )
    np.testing.assert_allclose(slopes, numeric, atol=2e-6)
    assert (slopes[labels.codes[0] == HELD_OUT] == 0).all()
    # A common shift changes nothing, and without shrinkage a common factor neither.
    assert slopes.sum() == pytest.approx(0, abs=1e-12)
    if shrinkage == 0:
        assert slopes @ values == pytest.approx(0, abs=1e-12)


def test_slope_on_many_labellings():
    labels = labelled((6, 8), 3, False, 5, n_labellings=4)
    values = np.random.default_rng(6).normal(size=(4, labels.n_rows))
    relative = PlannedRelative(Wasserstein2(), 0.05, 1.0)
    slopes = relative.value_and_slope(values, labels, Workspace())[1]
    for column in range(4):
        alone = relative.value_and_slope(values[column : column + 1], labels.labelling(column), Workspace())
        np.testing.assert_allclose(slopes[column], alone[1][0], rtol=1e-12)


def test_gradient_by_direction():
    # Through the projections: d/db of b'Wb / (b'Sb), where W depends on b only through the order of rows.
    rng = np.random.default_rng(7)
    X, y = rng.normal(size=(30, 4)) @ rng.normal(size=(4, 4)), np.repeat([0, 1], [14, 16])
    samples, labels = Samples(X, "pooled", dtype=np.float64), Labels(y, 2)
    rows = scaled_rows(X, y, "pooled")
    relative = PlannedRelative(Wasserstein2(), 0.1, 1.0)
    direction = np.array([0.5, -0.2, 0.8, 0.1])

    def value(b):
        return explicit(rows @ b, y, None, 0.1, 1.0)

    projections = samples.project(direction[None])
    found, slopes = relative.value_and_slope(projections, labels, Workspace())
    assert found[0] == pytest.approx(value(direction))
    gradient = samples.backproject(slopes)[0]
    np.testing.assert_allclose(gradient, approx_fprime(direction, value, 1e-7), atol=2e-6)


def test_along_plan_bounds_the_value():
    labels = labelled((7, 7), 0, False, 8)
    rng = np.random.default_rng(9)
    relative = PlannedRelative(Wasserstein2(), 0.05, 1.0)
    values = rng.normal(size=(1, 14))
    own = order_within_groups(values, labels, Workspace())
    assert relative.along_plan(values, labels, own, Workspace())[0] == pytest.approx(
        relative.value(values, labels)
    )
    other = order_within_groups(rng.normal(size=(1, 14)), labels, Workspace())
    assert relative.along_plan(values, labels, other, Workspace())[0] >= relative.value(values, labels)


def test_constant_projections_are_harmless():
    labels = Labels(np.repeat([0, 1], 5), 2)
    for shrinkage in (0.0, 0.1):
        relative = PlannedRelative(Wasserstein2(), shrinkage, 1.0)
        value, slopes = relative.value_and_slope(np.zeros((1, 10)), labels, Workspace())
        assert value[0] == 0.0
        assert np.isfinite(slopes).all()


def test_name_and_degree():
    relative = PlannedRelative(Wasserstein2(), 0.0)
    assert relative.name == "relative wasserstein2"
    assert relative.degree == 0.0
    labels = Labels(np.repeat([0, 1], 6), 2)
    values = np.random.default_rng(10).normal(size=(1, 12))
    assert relative.value(40.0 * values, labels) == pytest.approx(relative.value(values, labels))


@pytest.mark.parametrize("base", [Energy(), WassersteinP(1.0), WassersteinP(3.0)], ids=lambda base: base.name)
def test_other_degrees_are_divided_by_their_power_of_the_spread(base):
    labels = labelled((7, 9), 0, False)
    values = np.random.default_rng(5).normal(size=(1, labels.n_rows))
    relative = make_relative(base, 0.0)
    assert relative.value(50.0 * values, labels) == pytest.approx(relative.value(values, labels))
    expected = base.value(values, labels) / values.std() ** base.degree
    assert relative.value(values, labels) == pytest.approx(expected)
    shrunk = make_relative(base, 0.1, 0.7)
    slopes = shrunk.value_and_slope(values, labels, Workspace())[1][0]
    numeric = approx_fprime(values[0], lambda row: float(shrunk.value(row[None], labels)[0]), 1e-7)
    np.testing.assert_allclose(slopes, numeric, atol=2e-5)
    assert not isinstance(relative, PlannedRelative) or hasattr(base, "along_plan")


def test_a_divergence_without_scale_stays_as_it_is():
    base = KolmogorovSmirnov()
    assert make_relative(base, 0.1) is base
