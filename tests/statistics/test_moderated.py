"""Moderated t statistics, beside the plain t test and the exact law of what they estimate."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from princdiff.statistics.moderated import LabelledUnits, level_rows, moderated, pooled_pvalues, without_trend


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def test_equal_variances_need_no_moderation(rng):
    """Where all columns have one variance, the statistic is that of a z test with this variance."""
    values = rng.normal(size=(12, 4000))
    labels = np.repeat([0, 1], 6).astype(np.uint8)
    found = LabelledUnits(labels[None], paired=False).statistics(values)[0]
    z = np.abs(values[6:].mean(axis=0) - values[:6].mean(axis=0)) / np.sqrt(2 / 6)
    np.testing.assert_allclose(found, z, rtol=0.05, atol=0.02)


@pytest.mark.parametrize("paired", [False, True])
def test_the_order_of_columns_of_unlike_variances_is_nearly_that_of_plain_t(rng, paired):
    """Where variances are very unlike, little is borrowed."""
    values = rng.normal(size=(40, 300)) * np.exp(rng.normal(0, 2, 300))
    labels = np.tile([0, 1], 20).astype(np.uint8)
    found = LabelledUnits(labels[None], paired).statistics(values)[0]
    test = stats.ttest_rel if paired else stats.ttest_ind
    plain = np.abs(test(values[1::2], values[::2]).statistic)
    assert stats.spearmanr(found, plain).statistic > 0.9


def test_moderation_finds_the_prior_it_was_drawn_from(rng):
    """Variances from a scaled inverse chi-squared law, of which the posterior is known."""
    prior, scale, freedom = 8, 2.0, 6
    true = prior * scale / rng.chisquare(prior, 20_000)
    estimated = true * rng.chisquare(freedom, 20_000) / freedom
    expected = (prior * scale + freedom * estimated) / (prior + freedom)
    np.testing.assert_allclose(moderated(estimated[None], freedom)[0], expected, rtol=0.1)


def test_swapping_the_sides_of_all_units_changes_nothing(rng):
    values = rng.normal(size=(16, 30))
    labels = rng.permuted(np.tile(np.repeat([0, 1], 8), (20, 1)), axis=1).astype(np.uint8)
    one = LabelledUnits(labels, paired=False).statistics(values)
    np.testing.assert_allclose(LabelledUnits(1 - labels, paired=False).statistics(values), one, rtol=1e-5)


def test_a_shift_and_a_scale_of_all_columns_change_nothing(rng):
    values = rng.normal(size=(16, 30))
    labels = np.repeat([0, 1], 8).astype(np.uint8)[None]
    units = LabelledUnits(labels, paired=False)
    np.testing.assert_allclose(units.statistics(5 + 3 * values), units.statistics(values), rtol=1e-4)


def test_pooled_pvalues_are_uniform_where_nothing_differs(rng):
    found = []
    for _ in range(20):
        labels = rng.permuted(np.tile(np.repeat([0, 1], 5), (60, 1)), axis=1).astype(np.uint8)
        statistics = LabelledUnits(labels, paired=False).statistics(rng.standard_t(4, size=(10, 200)))
        found.append(pooled_pvalues(statistics))
    assert stats.kstest(np.concatenate(found), "uniform").statistic < 0.03


def test_columns_that_differ_do_not_count_as_chance(rng):
    statistics = np.abs(rng.normal(size=(100, 50))).astype(np.float32)
    statistics[0, :10] = 50
    statistics[1:, :10] *= 10
    with_them = (1 + (statistics[1:] >= statistics[0, 20]).sum()) / (1 + 99 * 50)
    without = (1 + (statistics[1:, 10:] >= statistics[0, 20]).sum()) / (1 + 99 * 40)
    assert without < with_them
    assert pooled_pvalues(statistics)[20] == pytest.approx(without, rel=0.05)


def test_a_trend_is_taken_out_and_labels_play_no_part(rng):
    level = rng.uniform(0, 5, 1000)
    even = without_trend(np.exp(-level) * rng.normal(size=(20, 1000)), level)
    low, high = even[:, level < 1].std(), even[:, level > 4].std()
    assert low == pytest.approx(high, rel=0.2)


def test_columns_that_rise_do_not_make_the_others_fall(rng):
    """Parts of a whole of which a tenth rise: the logarithms of the others stay where they were."""
    parts = rng.lognormal(0, 0.02, size=(8, 200)) * rng.lognormal(0, 1, size=200)
    parts[4:, :20] *= 10
    values = np.log2(parts / parts.sum(axis=1, keepdims=True))
    even = level_rows(values)
    apart = [one[4:].mean(axis=0) - one[:4].mean(axis=0) for one in (values, even)]
    assert np.abs(apart[0][20:]).mean() > 0.3
    assert np.abs(apart[1][20:]).max() < 0.1
    np.testing.assert_allclose(apart[1][:20], np.log2(10), atol=0.1)
