from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import genpareto

from princdiff.labellings.pvalues import pareto_pvalue


def plotting_positions(n=999):
    """A sample without chance: the quantiles at evenly spread probabilities."""
    return (np.arange(n) + 0.5) / n


@pytest.mark.parametrize("observed", [9.0, 12.0, 15.0])
def test_exponential_tail(observed):
    null = -np.log1p(-plotting_positions())
    assert pareto_pvalue(observed, null) == pytest.approx(np.exp(-observed), rel=0.6)


def test_drawn_exponential_tails():
    logs = []
    for seed in range(20):
        null = np.random.default_rng(seed).exponential(size=999)
        found = pareto_pvalue(12.0, null)
        if found is not None:
            assert 0 < found < 1e-3
            logs.append(np.log10(found))
    assert len(logs) >= 15
    # The truth is 6e-6; an extrapolation of two decades is good to about one.
    assert np.median(logs) == pytest.approx(np.log10(np.exp(-12.0)), abs=0.7)


@pytest.mark.parametrize("shape", [0.2, 0.5])
def test_heavy_tail(shape):
    null = genpareto.ppf(plotting_positions(), shape)
    observed = genpareto.isf(1e-4, shape)
    assert pareto_pvalue(observed, null) == pytest.approx(1e-4, rel=0.3)


@pytest.mark.parametrize("observed", [0.9999, 1.0, 1.2, 3.0])
def test_bounded_tail_promises_nothing_impossible(observed):
    # Past the end of a uniform null a fitted end point would give 0 exactly: too good to be true.
    found = pareto_pvalue(observed, plotting_positions())
    assert found is not None
    assert 0 < found <= 1 / 999


def test_never_grows_with_the_observed_value():
    null = np.random.default_rng(0).gamma(3.0, size=999)
    found = [pareto_pvalue(observed, null) for observed in np.linspace(9.5, 25, 12)]
    assert None not in found
    assert (np.diff(found) <= 1e-12).all()


@pytest.mark.parametrize("reached", [10, 60, 500, 999])
def test_large_pvalues_are_counted(reached):
    null = np.random.default_rng(1).permutation(np.arange(999.0))
    assert pareto_pvalue(999.0 - reached, null) == pytest.approx((1 + reached) / 1000)


def test_ties_have_no_continuous_tail():
    null = np.random.default_rng(2).poisson(2.0, size=999).astype(float)
    assert pareto_pvalue(20.0, null) is None
    assert pareto_pvalue(1.0, np.zeros(999)) is None


def test_too_few_values_have_no_tail():
    null = np.random.default_rng(3).exponential(size=99)
    assert pareto_pvalue(8.0, null) is None
    # But what can be counted is counted.
    assert pareto_pvalue(0.0, null) == 1.0


def test_null_is_left_as_it_was():
    null = np.random.default_rng(4).exponential(size=300)
    before = null.copy()
    pareto_pvalue(9.0, null)
    np.testing.assert_array_equal(null, before)
