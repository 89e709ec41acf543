from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles import between_groups, wasserstein2, wasserstein2_by_linear_programme
from princdiff.data.labels import HELD_OUT, Labels
from princdiff.divergences import Wasserstein2, Workspace
from princdiff.divergences.wasserstein import staircase

SIZES = [(1, 1), (2, 2), (50, 50), (7, 13), (12, 18), (1, 9), (30, 31), (64, 16)]
MORE_SIZES = [(10, 10, 10), (5, 11, 8), (3, 3, 3, 3), (2, 9, 4, 17)]


def codes_of(sizes, rng=None):
    codes = np.repeat(np.arange(len(sizes)), sizes)
    return codes if rng is None else rng.permutation(codes)


def evaluate(projections, labels):
    """Value by both routes, and slopes; the two values must agree."""
    divergence = Wasserstein2()
    projections = np.ascontiguousarray(np.atleast_2d(projections))
    values = divergence.value(projections, labels)
    both, slopes = divergence.value_and_slope(projections, labels, Workspace())
    np.testing.assert_allclose(values, both, rtol=1e-12 if projections.dtype == np.float64 else 1e-5)
    assert values.shape == (len(projections),)
    assert values.dtype == np.float64
    assert slopes.shape == projections.shape
    assert slopes.dtype == projections.dtype
    return values, slopes


def drawn(rng, n_rows, kind):
    if kind == "integers":
        return rng.integers(-2, 3, size=n_rows) * 1.0
    if kind == "counts":
        return rng.poisson(0.7, size=n_rows) * 1.0
    if kind == "far off":
        return rng.normal(size=n_rows) + 100.0
    return rng.standard_t(3, size=n_rows)


# ---------------------------------------------------------------- values


@pytest.mark.parametrize("kind", ["generic", "integers", "counts", "far off"])
@pytest.mark.parametrize("sizes", SIZES + MORE_SIZES)
def test_value_is_the_average_over_pairs(sizes, kind):
    rng = np.random.default_rng(0)
    codes = codes_of(sizes, rng)
    values = np.stack([drawn(rng, len(codes), kind) for _ in range(5)])
    found, _ = evaluate(values, Labels(codes, len(sizes)).repeat(5))
    np.testing.assert_allclose(found, [between_groups(row, codes) for row in values], rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("sizes", [(4, 4), (3, 5), (6, 4)])
@pytest.mark.parametrize("kind", ["generic", "integers"])
@pytest.mark.parametrize("weighted", [False, True])
def test_value_is_the_optimum_of_the_transport_programme(sizes, kind, weighted):
    rng = np.random.default_rng(1)
    codes = codes_of(sizes, rng)
    values = drawn(rng, len(codes), kind)
    weights = None
    if weighted:
        weights = rng.integers(0, 4, size=len(codes)) * 1.0
        weights[[np.flatnonzero(codes == 0)[0], np.flatnonzero(codes == 1)[0]]] = 2.0
    found, _ = evaluate(values, Labels(codes, 2, weights=weights))
    sides = [codes == 0, codes == 1]
    masses = [None if weights is None else weights[side] for side in sides]
    expected = wasserstein2_by_linear_programme(values[sides[0]], values[sides[1]], *masses)
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-10)


def test_closed_forms():
    labels = Labels(codes_of((100, 100)), 2)
    x = np.random.default_rng(2).normal(size=100)
    shifted, _ = evaluate(np.concatenate([x, x + 3.0]), labels)
    np.testing.assert_allclose(shifted, 9.0)
    stretched, _ = evaluate(np.concatenate([x, 4.0 * x]), labels)
    np.testing.assert_allclose(stretched, 9.0 * (x**2).mean())
    same, slopes = evaluate(np.concatenate([x, x[::-1]]), labels)
    assert same[0] == 0.0
    assert not slopes.any()


def test_single_rows():
    found, slopes = evaluate(np.array([1.0, 4.0]), Labels([0, 1], 2))
    np.testing.assert_allclose(found, 9.0)
    np.testing.assert_allclose(slopes, [[-6.0, 6.0]])


@pytest.mark.parametrize("sizes", [(30, 30), (20, 33), (10, 14, 9)])
@pytest.mark.parametrize("kind", ["generic", "integers"])
@pytest.mark.parametrize("weights", ["uniform", "zeros", "one row carries it", "tiny and huge"])
def test_weighted_value_is_the_average_over_pairs(sizes, kind, weights):
    rng = np.random.default_rng(3)
    codes = codes_of(sizes, rng)
    if weights == "uniform":
        mass = rng.random(len(codes))
    elif weights == "zeros":
        mass = rng.integers(0, 3, size=len(codes)) * 1.0
    elif weights == "one row carries it":
        mass = np.full(len(codes), 1e-6)
        mass[[np.flatnonzero(codes == group)[2] for group in range(len(sizes))]] = 1.0
    else:
        mass = 10.0 ** rng.integers(-8, 9, size=len(codes))
    values = np.stack([drawn(rng, len(codes), kind) for _ in range(4)])
    found, _ = evaluate(values, Labels(codes, len(sizes), weights=mass).repeat(4))
    expected = [between_groups(row, codes, mass) for row in values]
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


def test_two_groups_are_exactly_the_two_sample_value():
    rng = np.random.default_rng(4)
    codes = codes_of((9, 14), rng)
    values = rng.normal(size=23)
    found, _ = evaluate(values, Labels(codes, 2))
    np.testing.assert_allclose(found, wasserstein2(values[codes == 0], values[codes == 1]), rtol=1e-12)


# ---------------------------------------------------------------- slopes


@pytest.mark.parametrize("sizes", [(6, 6), (5, 8), (4, 6, 9), (5, 5, 5)])
@pytest.mark.parametrize("weighted", [False, True])
def test_slopes_are_finite_differences(sizes, weighted):
    rng = np.random.default_rng(6)
    codes = codes_of(sizes, rng)
    codes[rng.integers(len(codes))] = HELD_OUT
    weights = rng.uniform(0.5, 2.0, size=len(codes)) if weighted else None
    labels = Labels(codes, len(sizes), weights=weights)
    values = rng.normal(size=len(codes))
    _, slopes = evaluate(values, labels)
    # Small against the gaps between generic points, so that the order does not change.
    step = 1e-6
    wide = labels.repeat(len(codes))
    up = Wasserstein2().value(values + step * np.eye(len(codes)), wide)
    down = Wasserstein2().value(values - step * np.eye(len(codes)), wide)
    np.testing.assert_allclose(slopes[0], (up - down) / (2 * step), atol=1e-7)
    assert slopes[0][codes == HELD_OUT] == 0.0


@pytest.mark.parametrize("sizes", [(20, 20), (15, 22), (9, 12, 14)])
@pytest.mark.parametrize("kind", ["generic", "integers"])
def test_slopes_obey_euler_and_shift_invariance(sizes, kind):
    # Homogeneous of degree two: p . slope = 2 value; a common shift changes nothing: the slopes sum to 0.
    rng = np.random.default_rng(7)
    codes = codes_of(sizes, rng)
    values = drawn(rng, len(codes), kind)
    for weights in (None, rng.integers(0, 4, size=len(codes)) + 0.5):
        found, slopes = evaluate(values, Labels(codes, len(sizes), weights=weights))
        np.testing.assert_allclose(values @ slopes[0], Wasserstein2.degree * found[0], rtol=1e-10)
        np.testing.assert_allclose(slopes[0].sum(), 0.0, atol=1e-12)


def test_at_ties_the_slope_is_a_supergradient():
    # The value is a minimum over plans, each quadratic: for the plan found, the quadratic lies above.
    rng = np.random.default_rng(8)
    codes = codes_of((8, 8), rng)
    labels = Labels(codes, 2)
    values = rng.integers(0, 3, size=16) * 1.0
    found, slopes = evaluate(values, labels)
    for _ in range(50):
        move = 1e-5 * rng.normal(size=16)
        moved = Wasserstein2().value((values + move)[None], labels)
        assert moved[0] <= found[0] + slopes[0] @ move + 1e-8


def test_rows_without_weight_have_no_slope():
    rng = np.random.default_rng(9)
    codes = codes_of((10, 12), rng)
    weights = rng.integers(0, 2, size=22) * 1.0
    weights[[np.flatnonzero(codes == 0)[0], np.flatnonzero(codes == 1)[0]]] = 1.0
    _, slopes = evaluate(rng.normal(size=22), Labels(codes, 2, weights=weights))
    assert not slopes[0][weights == 0].any()


# ---------------------------------------------------------------- invariances


@settings(deadline=None, derandomize=True, max_examples=40)
@given(
    sizes=st.lists(st.integers(1, 12), min_size=2, max_size=4),
    seed=st.integers(0, 2**32 - 1),
    ties=st.booleans(),
    weighted=st.booleans(),
)
def test_invariances(sizes, seed, ties, weighted):
    rng = np.random.default_rng(seed)
    codes = codes_of(sizes, rng)
    n_groups, n_rows = len(sizes), len(codes)
    values = drawn(rng, n_rows, "integers" if ties else "generic")
    weights = rng.integers(1, 4, size=n_rows) * 1.0 if weighted else None

    def value(p, c=codes, w=weights):
        return evaluate(p, Labels(c, n_groups, weights=w))[0][0]

    plain = value(values)
    close = {"rel": 1e-9, "abs": 1e-12}
    assert plain == pytest.approx(between_groups(values, codes, weights), **close)
    assert value(values + 5.0) == pytest.approx(plain, **close)
    assert value(-3.0 * values) == pytest.approx(9.0 * plain, **close)
    assert value(values, n_groups - 1 - codes) == pytest.approx(plain, **close)
    shuffled = rng.permutation(n_rows)
    moved = None if weights is None else weights[shuffled]
    assert value(values[shuffled], codes[shuffled], moved) == pytest.approx(plain, **close)
    if weights is not None:
        assert value(values, w=7.0 * weights) == pytest.approx(plain, **close)
        # A whole number as a weight is that many copies of the row.
        times = weights.astype(int)
        assert value(np.repeat(values, times), np.repeat(codes, times), None) == pytest.approx(plain, **close)
    assert value(np.tile(values, 2), np.tile(codes, 2), None if weights is None else np.tile(weights, 2)) == (
        pytest.approx(plain, **close)
    )


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_held_out_rows_do_not_matter(weighted, dtype):
    rng = np.random.default_rng(10)
    codes = codes_of((12, 15), rng)
    values = rng.normal(size=27).astype(dtype)
    weights = rng.uniform(0.5, 2, size=27) if weighted else None
    left_out = np.arange(27) % 4 == 1
    held = np.where(left_out, HELD_OUT, codes)
    found, slopes = evaluate(np.where(left_out, dtype(1e6), values), Labels(held, 2, weights=weights))
    mass = None if weights is None else weights[~left_out]
    alone, inner = evaluate(values[~left_out], Labels(codes[~left_out], 2, weights=mass))
    np.testing.assert_allclose(found, alone, rtol=1e-6)
    np.testing.assert_allclose(slopes[0][~left_out], inner[0], rtol=1e-5, atol=1e-7)
    assert not slopes[0][left_out].any()


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("sizes", [(8, 8), (6, 11), (5, 7, 4)])
def test_each_column_of_a_batch_as_if_alone(weighted, sizes):
    rng = np.random.default_rng(11)
    codes = np.stack([codes_of(sizes, rng) for _ in range(6)])
    weights = rng.uniform(0.5, 2, size=codes.shape[1]) if weighted else None
    labels = Labels(codes, len(sizes), weights=weights, columns=np.array([3, 0, 0, 5, 1, 2, 4]))
    values = rng.normal(size=(7, codes.shape[1]))
    found, slopes = evaluate(values, labels)
    for column, labelling in enumerate(labels.columns):
        alone, inner = evaluate(values[column], labels.labelling(labelling))
        np.testing.assert_allclose(found[column], alone[0], rtol=1e-13)
        np.testing.assert_allclose(slopes[column], inner[0], rtol=1e-12, atol=1e-15)


def test_buffers_of_a_wider_batch_do_not_leak_into_a_narrower_one():
    rng = np.random.default_rng(12)
    codes = np.where(np.arange(20) < 3, HELD_OUT, np.arange(20) % 2)
    labels = Labels(codes, 2)
    values = rng.normal(size=(9, 20)).astype(np.float32)
    workspace = Workspace()
    Wasserstein2().value_and_slope(values, labels.repeat(9), workspace)
    _, again = Wasserstein2().value_and_slope(values[4:6], labels.repeat(2), workspace)
    _, fresh = Wasserstein2().value_and_slope(values[4:6], labels.repeat(2), Workspace())
    np.testing.assert_array_equal(again, fresh)


def test_single_precision_is_double_precision_but_for_rounding():
    rng = np.random.default_rng(13)
    for sizes in ((500, 500), (300, 700), (200, 300, 500)):
        codes = codes_of(sizes, rng)
        labels = Labels(codes, len(sizes)).repeat(3)
        values = rng.normal(size=(3, 1000))
        found, slopes = evaluate(values.astype(np.float32), labels)
        exact, precise = evaluate(values, labels)
        np.testing.assert_allclose(found, exact, rtol=2e-4)
        # A tie in single precision may swap two neighbours, whose slopes hardly differ.
        np.testing.assert_allclose(slopes, precise, atol=1e-5)


# ---------------------------------------------------------------- the plan


@pytest.mark.parametrize("sizes", [*SIZES, *MORE_SIZES, (6, 10, 15), (997, 1009), (1000, 999)])
def test_staircase_is_a_plan(sizes):
    plan = staircase(sizes)
    assert (plan.widths > 0).all()
    assert len(plan.widths) <= sum(sizes) - len(sizes) + 1
    np.testing.assert_allclose(plan.widths.sum(), 1.0)
    for size, positions, starts in zip(sizes, plan.positions, plan.starts, strict=True):
        np.testing.assert_allclose(np.bincount(positions, plan.widths), 1 / size, rtol=1e-9)
        assert (np.diff(positions) >= 0).all()
        np.testing.assert_array_equal(positions[starts], np.arange(size))
        assert not (positions[np.maximum(starts - 1, 0)] == np.arange(size))[1:].any()


@pytest.mark.parametrize("sizes", [(7, 7), (5, 12), (1, 9), (30, 41, 13)])
@pytest.mark.parametrize("block", [1, 4, 25])
def test_values_in_blocks_of_quantiles_are_those_of_the_whole_plan(monkeypatch, sizes, block):
    rng = np.random.default_rng(sum(sizes))
    labels = Labels(rng.permutation(np.repeat(np.arange(len(sizes)), sizes)), len(sizes)).repeat(3)
    rows = rng.normal(size=(3, sum(sizes))).round(1)
    whole = Wasserstein2().value(rows, labels)
    monkeypatch.setattr("princdiff.divergences.wasserstein._MANY_ROWS", 0)
    monkeypatch.setattr("princdiff.divergences.wasserstein._equal_sizes", lambda labels: False)
    monkeypatch.setattr("princdiff.divergences.wasserstein._BLOCK", 3 * block)
    np.testing.assert_allclose(Wasserstein2().value(rows, labels), whole, rtol=1e-12)
