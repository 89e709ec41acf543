"""What every divergence promises, whatever it measures."""

from __future__ import annotations

import numpy as np
import pytest
from slow_divergences import between_groups

from princdiff import divergences
from princdiff.data.labels import HELD_OUT, Labels
from princdiff.data.samples import Samples
from princdiff.divergences import (
    CustomDivergence,
    Margin,
    PlannedDivergence,
    SurrogateDivergence,
    TotalVariation,
    WassersteinP,
    Workspace,
)
from princdiff.divergences.sorting import order_within_groups
from princdiff.solvers.ascent import Tolerance, ascend
from princdiff.solvers.sparsity import Sparsity


def squared_gap_of_means(x, y):
    slope = 2.0 * (x.mean() - y.mean())
    return (x.mean() - y.mean()) ** 2, np.full(len(x), slope / len(x)), np.full(len(y), -slope / len(y))


NAMED = divergences.available()
OBJECTS = [WassersteinP(1.5), WassersteinP(3), Margin(0.3), TotalVariation(0.1)]
SHIPPED = [divergences.get(name) for name in NAMED] + OBJECTS
ALL = [*SHIPPED, CustomDivergence(squared_gap_of_means)]
# The others do not care which group is first.
DIRECTED = {"kullback_leibler", "reverse_kullback_leibler"}

SIZES = [(9, 9), (7, 12), (5, 8, 6)]


def named(divergence):
    return repr(divergence) if "object at" not in repr(divergence) else divergence.name


every = pytest.mark.parametrize("divergence", ALL, ids=named)
shipped = pytest.mark.parametrize("divergence", SHIPPED, ids=named)


def problem(sizes, seed=0, n_columns=4, ties=False, held_out=0):
    rng = np.random.default_rng(seed)
    codes = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    values = rng.normal(size=(n_columns, len(codes))) * rng.uniform(0.5, 2.0, size=(n_columns, 1))
    values += 0.8 * codes
    values[:, codes == 1] *= 1.5
    if ties:
        values = np.round(2 * values) / 2 + 0.0
    codes = np.concatenate([codes, np.full(held_out, HELD_OUT)])
    values = np.concatenate([values, rng.normal(size=(n_columns, held_out)) * 10], axis=1)
    order = rng.permutation(len(codes))
    return np.ascontiguousarray(values[:, order]), codes[order]


def both(divergence, values, labels):
    """Values by both routes, which must agree, and slopes."""
    values = np.ascontiguousarray(np.atleast_2d(values))
    alone = divergence.value(values, labels)
    together, slopes = divergence.value_and_slope(values, labels, Workspace())
    np.testing.assert_allclose(together, alone, rtol=1e-10 if values.dtype == np.float64 else 1e-4, atol=1e-9)
    assert alone.shape == together.shape == (len(values),)
    assert alone.dtype == together.dtype == np.float64
    assert slopes.shape == values.shape
    assert slopes.dtype == values.dtype
    assert (alone >= 0).all()
    return alone, slopes


def weights_for(divergence, n_rows, weighted, rng):
    if weighted and isinstance(divergence, CustomDivergence):
        pytest.skip("functions of two samples know no weights")
    return rng.uniform(0.3, 3.0, size=n_rows) if weighted else None


def slow(divergence, values, codes, weights=None):
    options = {
        key: getattr(divergence, key)
        for key in ("fraction", "bandwidth")
        if getattr(divergence, key, None) is not None
    }
    return [between_groups(divergence.name, row, codes, weights, **options) for row in values]


# Total variation has a kink wherever the densities cross, and a grid sees it to second order only. The
# stand-ins for divergences of ranks live on a coarse grid; what is reported of them is exact.
TOLERANCE = {"total_variation": 5e-3, "kolmogorov_smirnov": 2e-2, "cramer_von_mises": 2e-2}


@shipped
@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("ties", [False, True])
def test_value_agrees_with_an_independent_one(divergence, sizes, weighted, ties):
    rng = np.random.default_rng(1)
    values, codes = problem(sizes, seed=2, n_columns=3, ties=ties, held_out=3)
    weights = weights_for(divergence, len(codes), weighted, rng)
    found, _ = both(divergence, values, Labels(codes, len(sizes), weights=weights).repeat(3))
    expected = slow(divergence, values, codes, weights)
    np.testing.assert_allclose(found, expected, rtol=TOLERANCE.get(divergence.name, 2e-4), atol=1e-9)


@every
@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("weighted", [False, True])
def test_slopes_are_finite_differences(divergence, sizes, weighted):
    rng = np.random.default_rng(3)
    values, codes = problem(sizes, seed=4, n_columns=1, held_out=2)
    weights = weights_for(divergence, len(codes), weighted, rng)
    labels = Labels(codes, len(sizes), weights=weights)
    _, slopes = both(divergence, values, labels)
    step = 1e-6
    wide = labels.repeat(len(codes))
    up = divergence.value(values + step * np.eye(len(codes)), wide)
    down = divergence.value(values - step * np.eye(len(codes)), wide)
    differences = (up - down) / (2 * step)
    np.testing.assert_allclose(slopes[0], differences, atol=2e-6 * np.abs(differences).max())
    assert not slopes[0][codes == HELD_OUT].any()


@every
@pytest.mark.parametrize("sizes", [(30, 30), (25, 40), (20, 14, 17)])
def test_slopes_obey_euler_and_shift_invariance(divergence, sizes):
    # Homogeneous: p . slope = degree * value; a common shift changes nothing: the slopes sum to 0.
    values, codes = problem(sizes, seed=5)
    labels = Labels(codes, len(sizes)).repeat(len(values))
    found, slopes = both(divergence, values, labels)
    along = np.einsum("cn,cn->c", values, slopes)
    np.testing.assert_allclose(along, divergence.degree * found, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(slopes.sum(axis=1), 0.0, atol=1e-9 * np.abs(slopes).sum())


@every
@pytest.mark.parametrize("sizes", [(30, 30), (20, 14, 17)])
@pytest.mark.parametrize("ties", [False, True])
def test_scale_shift_and_reflection(divergence, sizes, ties):
    values, codes = problem(sizes, seed=6, ties=ties)
    labels = Labels(codes, len(sizes)).repeat(len(values))
    found, _ = both(divergence, values, labels)
    scaled, _ = both(divergence, 2.5 * values, labels)
    np.testing.assert_allclose(scaled, 2.5**divergence.degree * found, rtol=1e-8)
    shifted, _ = both(divergence, values + 7.0, labels)
    np.testing.assert_allclose(shifted, found, rtol=1e-8, atol=1e-12)
    # The grid is not symmetric about zero, so what lies on it agrees up to its accuracy.
    reflected, _ = both(divergence, -values, labels)
    np.testing.assert_allclose(reflected, found, rtol=TOLERANCE.get(divergence.name, 1e-4))


@every
def test_swapping_the_groups_changes_nothing_but_the_direction_of_kullback_leibler(divergence):
    values, codes = problem((20, 31), seed=7)
    labels, swapped = (Labels(c, 2).repeat(len(values)) for c in (codes, 1 - codes))
    found, slopes = both(divergence, values, labels)
    if divergence.name in DIRECTED:
        (other,) = DIRECTED - {divergence.name}
        divergence = divergences.get(other)
    again, slopes_again = both(divergence, values, swapped)
    np.testing.assert_allclose(again, found, rtol=1e-10)
    np.testing.assert_allclose(slopes_again, slopes, atol=1e-10 * np.abs(slopes).max())


@every
def test_two_groups_of_several_are_the_two_sample_value(divergence):
    # Three groups, the last nearly without mass: its pairs hardly count.
    if isinstance(divergence, CustomDivergence):
        pytest.skip("functions of two samples know no weights")
    values, codes = problem((20, 25, 4), seed=8)
    weights = np.where(codes == 2, 1e-14, 1.0)
    few = divergence if not hasattr(divergence, "bandwidth") else type(divergence)(0.4)
    three = few.value(values, Labels(codes, 3, weights=weights).repeat(len(values)))
    two = np.where(codes == 2, HELD_OUT, codes)
    expected = few.value(values, Labels(two, 2).repeat(len(values)))
    np.testing.assert_allclose(three, expected, rtol=1e-6)


@every
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("sizes", [(30, 30), (22, 35), (12, 9, 17)])
def test_every_column_has_its_own_labels(divergence, dtype, sizes):
    rng = np.random.default_rng(9)
    values, codes = problem(sizes, seed=9, held_out=4)
    values = values.astype(dtype)
    many = np.stack([rng.permutation(codes) for _ in values])
    found, slopes = both(divergence, values, Labels(many, len(sizes)))
    for column in range(len(values)):
        alone, slope = both(divergence, values[column], Labels(many[column], len(sizes)))
        np.testing.assert_allclose(found[column], alone[0], rtol=1e-5)
        np.testing.assert_allclose(slopes[column], slope[0], atol=1e-4 * np.abs(slope).max())
        assert not slopes[column][many[column] == HELD_OUT].any()


@every
@pytest.mark.parametrize("sizes", [(40, 40), (33, 52), (20, 14, 31)])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("ties", [False, True])
def test_single_precision_agrees_with_double(divergence, sizes, weighted, ties):
    rng = np.random.default_rng(10)
    values, codes = problem(sizes, seed=10, ties=ties, held_out=2)
    # What single precision can hold, so that only the arithmetic differs.
    values = values.astype(np.float32).astype(np.float64)
    weights = weights_for(divergence, len(codes), weighted, rng)
    labels = Labels(codes, len(sizes), weights=weights).repeat(len(values))
    found, slopes = both(divergence, values, labels)
    single, single_slopes = both(divergence, values.astype(np.float32), labels)
    np.testing.assert_allclose(single, found, rtol=2e-4)
    np.testing.assert_allclose(single_slopes, slopes, atol=2e-3 * np.abs(slopes).max())


@shipped
def test_weights_act_like_copies_of_rows(divergence):
    # A given bandwidth, since the rule counts rows: copies are more of them, weights are not.
    if hasattr(divergence, "bandwidth"):
        divergence = type(divergence)(0.3)
    rng = np.random.default_rng(11)
    values, codes = problem((12, 17), seed=11)
    copies = rng.integers(1, 4, size=len(codes))
    weighted, slopes = both(divergence, values, Labels(codes, 2, weights=1.0 * copies).repeat(len(values)))
    repeated = np.repeat(np.arange(len(codes)), copies)
    many, many_slopes = both(divergence, values[:, repeated], Labels(codes[repeated], 2).repeat(len(values)))
    np.testing.assert_allclose(weighted, many, rtol=1e-9)
    summed = np.stack([np.bincount(repeated, row) for row in many_slopes])
    np.testing.assert_allclose(slopes, summed, atol=1e-9 * np.abs(slopes).max())
    half, _ = both(divergence, values, Labels(codes, 2, weights=0.5 * copies).repeat(len(values)))
    np.testing.assert_allclose(half, weighted, rtol=1e-10)


@every
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_equal_samples_and_constants(divergence, dtype):
    x = np.random.default_rng(12).normal(size=15)
    labels = Labels(np.repeat([0, 1], 15), 2)
    same, _ = both(divergence, np.concatenate([x, x[::-1]]).astype(dtype), labels)
    if divergence.name != "margin":
        np.testing.assert_allclose(same, 0.0, atol=1e-6)
    for level in (0.0, 3.7):
        nothing, slopes = both(divergence, np.full(30, level, dtype=dtype), labels)
        np.testing.assert_allclose(nothing, 0.0, atol=1e-7)
        assert np.isfinite(slopes).all()


@every
def test_far_outliers_and_single_rows_are_harmless(divergence):
    values, codes = problem((40, 45), seed=13)
    values[:, 0] = 1e4
    found, slopes = both(divergence, values.astype(np.float32), Labels(codes, 2).repeat(len(values)))
    assert np.isfinite(found).all() and np.isfinite(slopes).all()
    found, slopes = both(divergence, np.array([1.0, 4.0]), Labels([0, 1], 2))
    assert np.isfinite(found).all() and np.isfinite(slopes).all() and found[0] > 0


@every
def test_batches_larger_than_a_block_are_evaluated_in_pieces(divergence):
    values, codes = problem((10, 13), seed=14, n_columns=400 if divergence in SHIPPED else 20)
    labels = Labels(codes, 2).repeat(len(values))
    found = divergence.value(values, labels)
    some = np.array([0, 7, len(values) - 1])
    np.testing.assert_allclose(found[some], divergence.value(values[some], labels.take(some)), rtol=1e-12)


@every
def test_slopes_may_be_written_to_and_the_projections_stay(divergence):
    values, codes = problem((10, 13), seed=15)
    before = values.copy()
    workspace, labels = Workspace(), Labels(codes, 2).repeat(len(values))
    first = divergence.value_and_slope(values, labels, workspace)[1].copy()
    second = divergence.value_and_slope(values, labels, workspace)[1]
    np.testing.assert_array_equal(values, before)
    np.testing.assert_array_equal(first, second)
    second *= 0.0


@pytest.mark.parametrize("divergence", [d for d in ALL if isinstance(d, PlannedDivergence)], ids=named)
@pytest.mark.parametrize("sizes", [(12, 12), (9, 14)])
def test_the_value_is_the_smallest_over_plans(divergence, sizes):
    values, codes = problem(sizes, seed=16, n_columns=30)
    labels = Labels(codes, 2).repeat(len(values))
    found, _ = both(divergence, values, labels)
    order = order_within_groups(values, labels, Workspace())
    along, _ = divergence.along_plan(values, labels, order, Workspace())
    np.testing.assert_allclose(along, found, rtol=1e-12)
    # The plans of one column, applied to the others.
    foreign = order[0] + (np.arange(len(values)) * len(codes))[:, None]
    bound, _ = divergence.along_plan(values, labels, foreign, Workspace())
    assert (bound >= found * (1 - 1e-12)).all()


@every
def test_what_is_reported_is_the_value_or_the_exact_one(divergence):
    values, codes = problem((30, 41), seed=17)
    labels = Labels(codes, 2).repeat(len(values))
    reported = divergences.report(divergence, values, labels)
    if isinstance(divergence, SurrogateDivergence):
        np.testing.assert_array_equal(reported, divergence.report(values, labels))
    else:
        np.testing.assert_array_equal(reported, divergence.value(values, labels))


@every
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_an_ascent_climbs(divergence, dtype):
    rng = np.random.default_rng(18)
    X = rng.normal(size=(120, 5))
    X[60:, :2] += 2.0
    X[60:, 2] *= 1.5
    samples, labels = Samples(X, dtype=dtype), Labels(np.repeat([0, 1], 60), 2).repeat(4)
    starts = rng.normal(size=(4, 5))
    sparsity = Sparsity(np.array([5, 5, 3, 2]))
    begin = ascend(samples, labels, divergence, sparsity, starts, Tolerance(1))
    end = ascend(samples, labels, divergence, sparsity, starts, Tolerance(40))
    assert (end.objective > 1.02 * begin.objective).all()
    expected = divergence.value(samples.project(end.directions), labels)
    np.testing.assert_allclose(end.objective, expected, rtol=1e-3)


@every
@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_tied_rows_are_treated_alike(divergence, sizes, weighted, dtype):
    rng = np.random.default_rng(11)
    values, codes = problem(sizes, seed=12, n_columns=3, ties=True, held_out=2)
    values = values.astype(dtype)
    # What rounding splits is tied as well.
    values *= 1 + np.finfo(dtype).eps * rng.integers(-1, 2, values.shape)
    weights = weights_for(divergence, len(codes), weighted, rng)
    if weighted:
        # Only rows of one weight are alike in everything.
        weights = np.round(weights) + 1.0
    _, slopes = both(divergence, values, Labels(codes, len(sizes), weights=weights).repeat(3))
    exact = slopes.dtype == np.float64
    for row, slope in zip(np.round(2 * values) / 2, slopes, strict=True):
        keys = np.stack([row, codes, np.zeros(len(codes)) if weights is None else weights], axis=1)
        _, kind = np.unique(keys, axis=0, return_inverse=True)
        size = np.abs(slope).max()
        for value in range(kind.max() + 1):
            assert np.ptp(slope[kind.ravel() == value]) <= (1e-9 if exact else 2e-5) * size
