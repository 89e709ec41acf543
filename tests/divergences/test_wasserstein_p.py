from __future__ import annotations

import numpy as np
import ot
import pytest
from scipy.stats import wasserstein_distance

from princdiff.data.labels import Labels
from princdiff.data.samples import Samples
from princdiff.divergences import Wasserstein2, WassersteinP, Workspace
from princdiff.solvers.effort import SearchSettings
from princdiff.solvers.solve import solve


def sample(seed, sizes=(23, 31), ties=False):
    rng = np.random.default_rng(seed)
    values = rng.standard_t(4, size=sum(sizes))
    values[: sizes[0]] *= 1.7
    return np.round(values) if ties else values, np.repeat([0, 1], sizes)


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("sizes", [(20, 20), (23, 31), (1, 5)])
@pytest.mark.parametrize("weighted", [False, True])
def test_first_power_is_scipys_distance(sizes, ties, weighted):
    values, codes = sample(0, sizes, ties)
    weights = np.random.default_rng(1).uniform(0.2, 2.0, size=len(codes)) if weighted else None
    found = WassersteinP().value(values[None], Labels(codes, 2, weights=weights))
    masses = [None, None] if weights is None else [weights[codes == 0], weights[codes == 1]]
    expected = wasserstein_distance(values[codes == 0], values[codes == 1], *masses)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("p", [1.0, 1.3, 2.0, 4.0])
def test_powers_are_those_of_pot(p):
    values, codes = sample(2)
    found = WassersteinP(p).value(values[None], Labels(codes, 2))
    expected = ot.wasserstein_1d(values[codes == 0], values[codes == 1], p=p)
    np.testing.assert_allclose(found, expected, rtol=1e-10)


@pytest.mark.parametrize("sizes", [(20, 20), (14, 33), (10, 12, 9)])
@pytest.mark.parametrize("weighted", [False, True])
def test_second_power_is_the_squared_distance(sizes, weighted):
    rng = np.random.default_rng(3)
    codes = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    values = rng.normal(size=(4, len(codes))) + codes
    weights = rng.uniform(0.2, 2.0, size=len(codes)) if weighted else None
    labels = Labels(codes, len(sizes), weights=weights).repeat(4)
    found, slopes = WassersteinP(2).value_and_slope(values, labels, Workspace())
    expected, expected_slopes = Wasserstein2().value_and_slope(values, labels, Workspace())
    np.testing.assert_allclose(found, expected, rtol=1e-10)
    np.testing.assert_allclose(slopes, expected_slopes, atol=1e-12)


def test_every_power_of_a_pure_shift_is_the_power_of_the_shift():
    x = np.random.default_rng(4).normal(size=40)
    labels = Labels(np.repeat([0, 1], 40), 2)
    for p in (1.0, 2.5, 6.0):
        np.testing.assert_allclose(WassersteinP(p).value(np.concatenate([x, x + 3.0])[None], labels), 3.0**p)


def test_the_power_decides_between_many_small_moves_and_few_large_ones():
    # Feature 0: all rows moved a little. Feature 1: a tenth of the rows moved far.
    rng = np.random.default_rng(5)
    X = rng.normal(size=(400, 2))
    X[200:, 0] += 1.0
    X[200:220, 1] += 5.0
    labels = Labels(np.repeat([0, 1], 200), 2)
    tops = [
        int(
            np.abs(
                solve(
                    Samples(X), labels, WassersteinP(p), SearchSettings(1), rng=np.random.default_rng(0)
                ).direction
            ).argmax()
        )
        for p in (1.0, 4.0)
    ]
    assert tops == [0, 1]


@pytest.mark.parametrize("p", [0.5, 0.0, -1.0, np.nan, np.inf])
def test_powers_below_one_are_refused(p):
    with pytest.raises(ValueError, match="p must be at least 1"):
        WassersteinP(p)
