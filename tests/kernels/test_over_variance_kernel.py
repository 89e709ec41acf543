"""The compiled quotient by the variance against the same in NumPy, in double precision."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from princdiff.data.labels import HELD_OUT, Labels
from princdiff.divergences import Energy, Wasserstein2, WassersteinP, Workspace
from princdiff.divergences.relative import relative
from princdiff.kernels import engine
from princdiff.kernels import over_variance as kernel
from tests.kernels.rounding import clearly_apart

pytestmark = pytest.mark.skipif(
    engine().library is None, reason=f"needs the compiled library: {engine().reason}"
)
BASES = [Wasserstein2(), WassersteinP(1), Energy()]


@st.composite
def problems(draw):
    """Labels and values: few rows, ties, two zeros, offsets, tiny numbers, rows held out, weights."""
    sizes = draw(st.lists(st.integers(1, 40), min_size=2, max_size=4))
    held_out = draw(st.integers(0, 5))
    n_columns = draw(st.sampled_from([1, 2, 5, 17]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    codes = np.concatenate([np.repeat(np.arange(len(sizes)), sizes), np.full(held_out, HELD_OUT)])
    codes = np.stack([rng.permutation(codes) for _ in range(2)])
    values = rng.normal(size=(n_columns, codes.shape[1]))
    kind = draw(st.sampled_from(["plain", "ties", "zeros", "constant", "offset", "tiny"]))
    if kind == "ties":
        values = np.round(values)
    elif kind == "zeros":
        values = np.where(rng.random(values.shape) < 0.5, 0.0, -0.0)
    elif kind == "constant":
        values = np.full_like(values, 3.0)
    elif kind == "offset":
        values += 300.0
    elif kind == "tiny":
        values *= 1e-41
    weights = rng.integers(0, 4, codes.shape[1]) + 0.5 if draw(st.booleans()) else None
    labels = Labels(codes, len(sizes), weights=weights, columns=rng.integers(0, 2, n_columns))
    return values.astype(np.float32), labels, draw(st.sampled_from([0.05, 0.5, 1.0]))


@pytest.mark.parametrize("base", BASES, ids=lambda base: base.name)
@settings(max_examples=60, deadline=None)
@given(problem=problems())
def test_agrees_with_numpy(base, problem):
    values, labels, shrinkage = problem
    divergence = relative(base, shrinkage)
    assert kernel.takes(values, labels)
    alone = divergence.value(values, labels)
    together, slopes = divergence.value_and_slope(values, labels, Workspace())
    exact, exact_slopes = divergence.value_and_slope(values.astype(np.float64), labels, Workspace())
    # Projections keep seven digits of their distance from zero.
    precision = 1e-5 * max(1.0, float(np.abs(values).max()) ** max(base.degree, 1.0))
    np.testing.assert_allclose(alone, exact, rtol=1e-4, atol=precision)
    np.testing.assert_allclose(together, exact, rtol=1e-4, atol=precision)
    distinct = clearly_apart(values, np.ptp(values, axis=1).astype(np.float64) + np.abs(values).max() * 1e-7)
    compared = distinct | (base.degree != 1)
    np.testing.assert_allclose(slopes[compared], exact_slopes[compared], rtol=1e-3, atol=30 * precision)
    assert (slopes[(labels.codes == HELD_OUT)[labels.columns]] == 0).all()


def test_the_slopes_are_derivatives():
    rng = np.random.default_rng(0)
    labels = Labels(np.arange(31) % 2, 2).repeat(1)
    values = rng.normal(size=(1, 31)).astype(np.float32)
    divergence = relative(Wasserstein2(), 0.2)
    slopes = divergence.value_and_slope(values, labels, Workspace())[1]
    for row in (0, 7, 30):
        moved = np.repeat(values.astype(np.float64), 2, axis=0)
        moved[0, row] += 1e-6
        moved[1, row] -= 1e-6
        up, down = divergence.value(moved, labels.take(np.zeros(2, dtype=np.intp)))
        assert slopes[0, row] == pytest.approx((up - down) / 2e-6, rel=1e-4, abs=1e-5)


def test_a_column_does_not_know_its_neighbours():
    rng = np.random.default_rng(1)
    codes = np.stack([rng.permutation(np.arange(50) % 3) for _ in range(4)])
    labels = Labels(codes, 3, columns=rng.integers(0, 4, 18))
    values = rng.normal(size=(18, 50)).astype(np.float32)
    base_values, base_slopes = rng.random(18), rng.normal(size=(18, 50)).astype(np.float32)
    denominator = kernel.Denominator(0.1, 1.0, 2.0)
    together, together_slopes = base_values.copy(), base_slopes.copy()
    kernel.divide(values, labels, denominator, together, together_slopes)
    for column in range(18):
        one = np.array([column])
        alone, alone_slopes = base_values[one], base_slopes[one]
        kernel.divide(values[one], labels.take(one), denominator, alone, alone_slopes)
        np.testing.assert_array_equal(alone, together[one])
        np.testing.assert_array_equal(alone_slopes, together_slopes[one])


def test_what_the_kernel_does_not_take():
    labels = Labels([[0, 1, 0, 1]], 2)
    assert not kernel.takes(np.zeros((1, 4)), labels)
    assert not kernel.takes(np.zeros((0, 4), np.float32), labels)
