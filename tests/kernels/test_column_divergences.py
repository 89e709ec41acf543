"""The compiled divergences against NumPy, in double precision, and against each other's conditions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from princdiff.data.labels import HELD_OUT, Labels
from princdiff.divergences import Energy, Wasserstein2, WassersteinP, Workspace
from princdiff.divergences.ties import tie_share
from princdiff.kernels import engine
from princdiff.kernels.column_divergences import DivergenceKernel
from tests.kernels.rounding import clearly_apart

KERNELS = {
    "pd_wasserstein2": Wasserstein2(),
    "pd_wasserstein1": WassersteinP(1),
    "pd_energy": Energy(),
}
every_kernel = pytest.mark.parametrize("name", KERNELS)
compiled = pytest.mark.skipif(
    engine().library is None, reason=f"needs the compiled library: {engine().reason}"
)
pytestmark = compiled


def evaluated(name, values, labels):
    """Values without slopes, values with slopes, slopes."""
    kernel = DivergenceKernel(name)
    share = tie_share(int(labels.group_sizes.sum()))
    assert kernel.takes(values, labels)
    slopes = np.full(values.shape, np.nan, dtype=np.float32)
    together = kernel.value_and_slope(values, labels, share, slopes)
    return kernel.value(values, labels, share), together, slopes


def assert_agrees(name, values, labels):
    """With the same numbers in double precision by NumPy, up to single precision of the spread."""
    alone, together, slopes = evaluated(name, values, labels)
    divergence = KERNELS[name]
    exact, exact_slopes = divergence.value_and_slope(values.astype(np.float64), labels, Workspace())
    inside = (labels.codes != HELD_OUT)[labels.columns]
    spread = (
        np.ptp(np.where(inside, values, values[:, :1]), axis=1).astype(np.float64)
        + np.abs(values).max() * 1e-7
    )
    unit = spread**divergence.degree
    np.testing.assert_allclose(alone / unit, exact / unit, atol=3e-6)
    np.testing.assert_allclose(together / unit, exact / unit, atol=3e-6)
    if divergence.degree == 1 and not clearly_apart(values, spread).all():
        # Slopes jump where rows tie, and single precision cannot tell whether these do.
        return
    # A slope is a share of a row in the value, over the spread.
    size = (unit / spread / values.shape[1])[:, None]
    largest = 1.0 if labels.weights is None else labels.weights.max() / labels.weights.mean()
    few = values.shape[1] / labels.group_sizes.min()
    # Subnormal slopes are whole multiples of the smallest number.
    tolerance = 2e-5 * largest * few + (np.finfo(np.float32).smallest_subnormal / size).max()
    np.testing.assert_allclose(slopes / size, exact_slopes / size, atol=tolerance)
    assert (slopes[~inside] == 0).all()


def apart(rng, n_columns, n_rows):
    """Shuffled rows of numbers that are clearly distinct: whether they tie must not hang on rounding."""
    values = np.cumsum(rng.uniform(0.02, 1.0, size=(n_columns, n_rows)), axis=1)
    values -= values.mean(axis=1, keepdims=True)
    return rng.permuted(2.0 * values / np.abs(values).max(), axis=1)


@st.composite
def problems(draw):
    """Labels and values: few rows, ties, two zeros, tiny and huge numbers, rows held out, weights."""
    sizes = draw(st.lists(st.integers(1, 40), min_size=2, max_size=5))
    held_out = draw(st.integers(0, 5))
    n_labellings = draw(st.integers(1, 3))
    n_columns = draw(st.sampled_from([1, 2, 3, 4, 5, 15, 16, 17, 33]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    codes = np.concatenate([np.repeat(np.arange(len(sizes)), sizes), np.full(held_out, HELD_OUT)])
    codes = np.stack([rng.permutation(codes) for _ in range(n_labellings)])
    n_rows = codes.shape[1]
    values = apart(rng, n_columns, n_rows)
    kind = draw(st.sampled_from(["plain", "ties", "zeros", "constant", "tiny", "huge", "outlier", "cluster"]))
    if kind == "ties":
        values = np.round(values * 2) / 2
    elif kind == "zeros":
        values = np.where(rng.random(values.shape) < 0.5, 0.0, -0.0) + np.round(values)
        values[values == 0] = rng.choice([0.0, -0.0], size=int((values == 0).sum()))
    elif kind == "constant":
        values = np.ones_like(values)
    elif kind == "tiny":
        values *= 1e-40
    elif kind == "huge":
        values *= 1e15
    elif kind == "outlier":
        values[:, 0] = 1e7
    elif kind == "cluster":
        values = np.round(4 * values) * 2.0**-19 + (rng.random(values.shape) < 0.3)
    weights = rng.integers(0, 4, n_rows) + 0.5 if draw(st.booleans()) else None
    labels = Labels(codes, len(sizes), weights=weights, columns=rng.integers(0, n_labellings, n_columns))
    return values.astype(np.float32), labels


@every_kernel
@settings(max_examples=60, deadline=None)
@given(problems())
def test_agrees_with_numpy(name, problem):
    assert_agrees(name, *problem)


SIZES = [
    (1, 1),
    (1, 7),
    (8, 8),
    (100, 100),
    (80, 120),
    (128, 129),
    (1024, 1024),
    (2047, 300),
    (2048, 2048),
    (2049, 2049),
    (4096, 4096),
    (4097, 4096),
    (5000, 3),
    (300, 301, 302),
    (2100, 900, 40, 7),
]


@every_kernel
@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize("n_columns", [1, 3, 4, 21])
@pytest.mark.parametrize("kind", ["plain", "ties"])
def test_every_way_to_sort_agrees_with_numpy(name, sizes, n_columns, kind):
    rng = np.random.default_rng(sum(sizes))
    codes = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    values = apart(rng, n_columns, len(codes))
    if kind == "ties":
        values = np.round(values * 3)
    assert_agrees(name, values.astype(np.float32), Labels(codes, len(sizes)).repeat(n_columns))


@every_kernel
def test_values_that_agree_in_their_leading_bits_are_sorted(name):
    """Far outliers leave the keys of all other rows equal."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=(6, 400)).astype(np.float32)
    values[:, :4] = [1e12, 1e12, -1e12, -1e12]
    labels = Labels(np.arange(400) % 2, 2).repeat(6)
    slopes = evaluated(name, values, labels)[2]
    plain = values.copy()
    plain[:, :4] = [10.0, 10.0, -10.0, -10.0]
    expected = evaluated(name, plain, labels)[2]
    # Each group has its own, so they are matched with each other, and the rest as before.
    np.testing.assert_allclose(slopes, expected, rtol=1e-5, atol=1e-6 * np.abs(expected).max())


@every_kernel
def test_a_column_does_not_know_its_neighbours(name):
    """Whatever chunk it is in: results do not depend on the number of threads or columns."""
    rng = np.random.default_rng(1)
    codes = np.stack([rng.permutation(np.repeat([0, 1, 2], [30, 41, 29])) for _ in range(5)])
    labels = Labels(codes, 3, columns=rng.integers(0, 5, 37))
    values = rng.normal(size=(37, 100)).astype(np.float32)
    values[5:9] = np.round(values[5:9])
    alone, together, slopes = evaluated(name, values, labels)
    for chunk in (slice(0, 16), slice(7, 12), slice(20, 37), slice(3, 36)):
        part = evaluated(name, values[chunk], labels.take(chunk))
        np.testing.assert_array_equal(part[0], alone[chunk])
        np.testing.assert_array_equal(part[1], together[chunk])
        np.testing.assert_array_equal(part[2], slopes[chunk])
    for column in (0, 5, 36):
        one = np.array([column])
        part = evaluated(name, values[one], labels.take(one))
        np.testing.assert_allclose(part[1], together[one], rtol=1e-6)
        np.testing.assert_allclose(part[2], slopes[one], rtol=1e-6, atol=1e-9)


@every_kernel
@pytest.mark.parametrize("sizes", [(50, 50), (30, 70), (70, 30), (9, 91), (1, 99), (1030, 1200)], ids=str)
@pytest.mark.parametrize("held_out", [0, 13, 300])
def test_columns_side_by_side_have_the_digits_of_one_alone(name, sizes, held_out):
    """A column alone is sorted and compared by itself, several go through lanes."""
    rng = np.random.default_rng(3)
    codes = np.repeat([0, 1, HELD_OUT], [*sizes, held_out])
    labels = Labels(np.stack([rng.permutation(codes) for _ in range(21)]), 2)
    values = rng.normal(size=labels.codes.shape).astype(np.float32)
    values[4] = np.round(values[4]) + 0.0  # no negative zeros, which go first where they are told apart
    values[5, 7] = 1e9
    values[6] = 2.5
    together = evaluated(name, values, labels)
    for column in range(21):
        alone = evaluated(name, values[column : column + 1], labels.take(np.array([column])))
        for part, whole in zip(alone, together, strict=True):
            np.testing.assert_array_equal(part[0], whole[column])


@every_kernel
def test_shuffled_rows_have_shuffled_slopes(name):
    rng = np.random.default_rng(2)
    codes = rng.integers(0, 2, 90)
    values = np.round(rng.normal(size=(20, 90)) * 2).astype(np.float32)
    order = rng.permutation(90)
    _, value, slopes = evaluated(name, values, Labels(codes, 2).repeat(20))
    _, shuffled_value, shuffled = evaluated(
        name, np.ascontiguousarray(values[:, order]), Labels(codes[order], 2).repeat(20)
    )
    np.testing.assert_allclose(shuffled_value, value, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(shuffled, slopes[:, order], rtol=1e-5, atol=1e-8)


def test_what_a_kernel_does_not_take():
    labels = Labels([[0, 1, 0, 1]], 2)
    kernel = DivergenceKernel("pd_wasserstein2")
    assert kernel.takes(np.zeros((1, 4), np.float32), labels)
    assert not kernel.takes(np.zeros((1, 4)), labels)
    assert not kernel.takes(np.zeros((0, 4), np.float32), labels)
    assert not kernel.takes(np.zeros((1, 4), np.float32), Labels([[0, 0, 0, 0]], 2))
    with pytest.raises(ValueError, match="labels for 2 columns cannot serve 3"):
        two = Labels([[0, 1, 0, 1], [1, 1, 0, 0]], 2)
        kernel.value(np.zeros((3, 4), np.float32), two, 0.0)
