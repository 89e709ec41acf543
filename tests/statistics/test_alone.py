from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from scipy import stats

from princdiff.labellings.pvalues import permutation_pvalue, step_down_pvalues
from princdiff.labellings.schemes import Scheme
from princdiff.statistics import column_batches
from princdiff.statistics.alone import (
    AloneScores,
    alone_scores,
    extrapolated,
    levels_adjusted,
    pooled_discovery_rates,
)
from princdiff.statistics.contrasts import Relabellings


def halves(n_rows):
    return np.repeat([0, 1], n_rows // 2).astype(np.uint8)


def labellings_of(codes, n_permutations=199, seed=0, **options):
    return Relabellings(Scheme(codes, n_permutations, seed), int(codes.max()) + 1, **options)


def alone_test(rows, labellings, units=None, error="fwer"):
    """P-values of units and features, as the selection makes them of the scores."""
    scores = alone_scores(rows, labellings, units)
    pvalue = permutation_pvalue(scores.units)
    adjusted = step_down_pvalues(scores.units) if error == "fwer" else pooled_discovery_rates(scores.units)
    return SimpleNamespace(
        score=scores.observed_units,
        pvalue=pvalue,
        adjusted=adjusted,
        approximate=extrapolated(pvalue, scores.observed_units, len(scores.units)),
        feature_score=scores.observed_features,
        feature_pvalue=permutation_pvalue(scores.features),
        feature_adjusted=levels_adjusted(scores, adjusted),
    )


def named(found, alpha=0.01):
    # A strict level: these are single draws, and one in twenty may have a false name at the usual one.
    return set(np.flatnonzero(found.adjusted <= alpha).tolist())


def one_hot(levels):
    return (levels[:, None] == np.unique(levels)).astype(float)


# ---------------------------------------------------------------- every kind of difference


@pytest.mark.parametrize("kind", ["shift", "spread", "modes", "zeros", "flag", "rare flag", "outliers"])
def test_each_kind_of_difference_is_named_and_nothing_else(kind):
    rng = np.random.default_rng(0)
    n = 500
    rows, codes = rng.normal(size=(2 * n, 8)), halves(2 * n)
    rows[:, 6] = rng.random(2 * n) < 0.002
    rows[:, 7] = rng.random(2 * n) < 0.3
    second = rows[n:, 2]
    if kind == "shift":
        second += 0.5
    elif kind == "spread":
        second *= 1.5
    elif kind == "modes":
        # Equal mean and variance.
        second[:] = 0.9 * rng.choice([-1, 1], n) + np.sqrt(0.19) * second
    elif kind == "zeros":
        rows[:, 2] = np.exp(rows[:, 2]) * (rng.random(2 * n) < np.where(codes, 0.7, 0.5))
    elif kind == "flag":
        rows[:, 2] = rng.random(2 * n) < np.where(codes, 0.4, 0.25)
    elif kind == "rare flag":
        rows[:, 2] = rng.random(2 * n) < np.where(codes, 0.05, 0.005)
    else:
        second[:15] += 30
    assert named(alone_test(rows, labellings_of(codes))) == {2}


def test_what_goes_with_a_differing_feature_is_not_named():
    rng = np.random.default_rng(1)
    shared = rng.normal(size=(400, 1))
    rows, codes = 0.95 * shared + np.sqrt(1 - 0.95**2) * rng.normal(size=(400, 6)), halves(400)
    rows[200:, 0] += 0.6
    assert named(alone_test(rows, labellings_of(codes))) == {0}


def test_three_groups():
    rng = np.random.default_rng(2)
    rows, codes = rng.normal(size=(240, 6)), (np.arange(240) % 3).astype(np.uint8)
    rows[codes == 2, 1] += 0.9
    rows[codes == 1, 4] *= 2.2
    assert named(alone_test(rows, labellings_of(codes))) == {1, 4}


def test_weights_are_rows_that_count_more():
    rng = np.random.default_rng(3)
    rows, codes = rng.normal(size=(300, 4)), halves(300)
    # Weighted, the rows that differ hardly count.
    rows[150:200, 0] += 3
    weights = np.where((np.arange(300) >= 150) & (np.arange(300) < 200), 1e-3, 1.0)
    assert named(alone_test(rows, labellings_of(codes))) == {0}
    assert named(alone_test(rows, labellings_of(codes, weights=weights))) == set()


def donors(seed, effect):
    """Six donors a group; each has its own level in every feature."""
    rng = np.random.default_rng(seed)
    blocks = np.repeat(np.arange(12), 30)
    codes = (blocks >= 6).astype(np.uint8)
    rows = rng.normal(size=(360, 5)) + rng.normal(size=(12, 5))[blocks]
    rows[codes == 1, 3] += effect
    return rows, codes, blocks


def test_donors_are_the_units_of_chance():
    rows, codes, blocks = donors(4, 0.0)
    assert len(named(alone_test(rows, labellings_of(codes)))) > 0
    scheme = Scheme(codes, 999, 0, blocks=blocks, permute="whole")
    whole = Relabellings(scheme, 2)
    assert named(alone_test(rows, whole)) == set()
    rows[codes == 1, 3] += 6.0
    assert named(alone_test(rows, whole)) == {3}


def test_pairs_take_out_what_they_share():
    rng = np.random.default_rng(5)
    blocks = np.repeat(np.arange(60), 2)
    codes = np.tile([0, 1], 60).astype(np.uint8)
    rows = 5 * rng.normal(size=(60, 4))[blocks] + rng.normal(size=(120, 4))
    rows[codes == 1, 2] += 0.8
    assert named(alone_test(rows, labellings_of(codes))) == set()
    scheme = Scheme(codes, 499, 0, blocks=blocks)
    assert named(alone_test(rows, Relabellings(scheme, 2))) == {2}


# ---------------------------------------------------------------- units


def test_a_category_is_one_unit():
    rng = np.random.default_rng(7)
    n = 600
    codes = halves(2 * n)
    colour = rng.integers(0, 6, 2 * n)
    chosen = (codes == 1) & (rng.random(2 * n) < 0.15)
    colour[chosen] = 4
    city = rng.integers(0, 5, 2 * n)
    rows = np.column_stack([rng.normal(size=2 * n), one_hot(colour), one_hot(city)])
    units = np.repeat([0, 1, 2], [1, 6, 5])
    found = alone_test(rows, labellings_of(codes), units)
    assert found.score.shape == found.adjusted.shape == (3,)
    assert named(found) == {1}
    # Inside it the level that grew is told apart, and no level is surer than its column.
    levels = found.feature_adjusted[1:7]
    assert found.feature_score[1:7].argmax() == 4 and levels[4] <= 0.05
    assert (found.feature_adjusted >= found.adjusted[units]).all()
    assert (found.feature_adjusted[[0, *range(7, 12)]] > 0.05).all()


def test_many_small_changes_of_a_category_add_up():
    rng = np.random.default_rng(9)
    codes = halves(2000)
    shares = np.array([np.full(20, 0.05), 0.05 + 0.012 * np.where(np.arange(20) % 2, 1, -1)])
    levels = np.array([rng.choice(20, p=shares[code]) for code in codes])
    found = alone_test(one_hot(levels), labellings_of(codes, 999), np.zeros(20, dtype=int))
    assert found.adjusted[0] <= 0.005


def test_a_number_and_its_missing_mark_are_one_unit():
    rng = np.random.default_rng(10)
    codes = halves(400)
    number, missing = rng.normal(size=400), rng.random(400) < np.where(codes, 0.3, 0.1)
    number[missing] = 0.0
    rows = np.column_stack([number, missing, rng.normal(size=400)])
    found = alone_test(rows, labellings_of(codes), np.array([0, 0, 1]))
    assert named(found) == {0}
    assert found.feature_adjusted[1] <= 0.05


def test_units_in_any_order():
    rng = np.random.default_rng(11)
    rows, codes = rng.normal(size=(80, 5)), halves(80)
    labellings = labellings_of(codes, 49)
    plain = alone_scores(rows, labellings, np.array([0, 0, 1, 2, 2]))
    mixed = alone_scores(rows[:, [3, 0, 2, 1, 4]], labellings, np.array([2, 0, 1, 0, 2]))
    np.testing.assert_allclose(mixed.units, plain.units, rtol=1e-4, atol=1e-5)


# ---------------------------------------------------------------- p-values


def test_features_that_are_their_own_column_are_adjusted_as_it():
    scores = np.random.default_rng(12).exponential(size=(100, 6)).astype(np.float32)
    found = AloneScores(scores, scores, np.arange(6), np.zeros((6, 7)))
    adjusted = step_down_pvalues(scores)
    np.testing.assert_array_equal(levels_adjusted(found, adjusted), adjusted)


def test_only_what_no_relabelling_reaches_is_extrapolated():
    scores = np.ones((10, 2), dtype=np.float32)
    scores[0] = [9.0, 1.0]
    np.testing.assert_allclose(
        extrapolated(np.array([0.1, 1.0]), scores[0], len(scores)), [np.exp(-9.0), 1.0]
    )


def test_discovery_rates_are_counted_over_all_hypotheses():
    rng = np.random.default_rng(13)
    scores = rng.exponential(size=(50, 200)).astype(np.float32)
    scores[0, :20] += 9
    pool = scores[1:].ravel()
    counted = np.array([(1 + np.sum(pool >= s - 1e-4)) / (1 + len(pool)) for s in scores[0]])
    np.testing.assert_allclose(pooled_discovery_rates(scores), stats.false_discovery_control(counted))


def test_discovery_rate_finds_many_small_differences():
    rng = np.random.default_rng(14)
    rows, codes = rng.normal(size=(100, 300)), halves(100)
    rows[50:, :60] += 0.75
    labellings = labellings_of(codes, 99)
    wide = named(alone_test(rows, labellings, error="fdr"), 0.05)
    narrow = named(alone_test(rows, labellings), 0.05)
    assert len(wide & set(range(60))) > len(narrow & set(range(60))) + 10
    assert len(wide - set(range(60))) <= 0.2 * len(wide)


def test_family_wise_error_beside_differences():
    # Correlated nulls of several kinds beside strong differences; 5 % of 60 runs, 99.9 % band.
    false = 0
    for seed in range(60):
        rng = np.random.default_rng([15, seed])
        rows, codes = rng.normal(size=(120, 12)) + rng.normal(size=(120, 1)), halves(120)
        rows[:, 6:9] = rng.random((120, 3)) < [0.01, 0.05, 0.5]
        rows[:, 9] = rng.standard_t(2, size=120)
        rows[:, 10] = rng.poisson(1.0, size=120)
        rows[60:, :2] += 2
        found = named(alone_test(rows, labellings_of(codes, 99, seed)), 0.05)
        assert found >= {0, 1}
        false += len(found) > 2
    assert false <= stats.binom.ppf(0.999, 60, 0.05)


# ---------------------------------------------------------------- invariance


def test_order_storage_precision_and_threads_do_not_matter(monkeypatch):
    rng = np.random.default_rng(16)
    rows = rng.poisson(0.7, size=(90, 10)).astype(float)
    rows[:, 9] = np.arange(90)
    codes = rng.permutation(halves(90))
    labellings = labellings_of(codes, 99)
    plain = alone_scores(rows, labellings)
    for other in (
        alone_scores(sp.csr_matrix(rows), labellings),
        alone_scores(np.asfortranarray(rows.astype(np.float32)), labellings),
        alone_scores(rows, labellings, n_jobs=2),
    ):
        np.testing.assert_allclose(other.units, plain.units, rtol=1e-4, atol=1e-4)
    np.testing.assert_array_equal(alone_scores(rows, labellings, n_jobs=3).units, plain.units)
    monkeypatch.setattr(column_batches, "_BATCH_ELEMENTS", 90 * 25)
    np.testing.assert_allclose(alone_scores(rows, labellings).units, plain.units, rtol=1e-4, atol=1e-4)
    # Rows and labellings in another order: the observed scores do not change but for chance labellings.
    order = rng.permutation(90)

    class Moved(Scheme):
        bits = None

        def codes(self, indices):
            return labellings.scheme.codes(indices)[:, order]

    moved = Relabellings(Moved(codes[order], 99, 0), 2)
    np.testing.assert_allclose(alone_scores(rows[order], moved).units, plain.units, rtol=1e-3, atol=1e-3)


def test_constant_features_never_differ():
    rng = np.random.default_rng(17)
    rows, codes = rng.normal(size=(60, 4)), halves(60)
    rows[:, 1], rows[:, 2] = 3.3, 0.0
    found = alone_test(rows, labellings_of(codes, 49))
    assert (found.pvalue[1:3] == 1).all() and (found.score[1:3] == 0).all()


def test_a_flag_of_one_row_says_nothing():
    # In groups of equal size its statistic is the same under every labelling but for rounding.
    rows = np.zeros((400, 3))
    rows[7, 0], rows[300, 1], rows[:, 2] = 1.0, 1.0, np.random.default_rng(18).normal(size=400)
    found = alone_test(rows, labellings_of(halves(400), 199), np.array([0, 0, 1]))
    assert (found.feature_pvalue[:2] > 0.4).all()
    assert found.pvalue[0] > 0.4


def test_a_value_that_becomes_more_frequent():
    # In the middle of six values: neither mean nor spread nor ranks say much.
    rng = np.random.default_rng(19)
    rows, codes = rng.integers(0, 6, size=(1200, 4)).astype(float), halves(1200)
    rows[600:, 1] = np.where(rng.random(600) < 0.12, 3.0, rows[600:, 1])
    assert named(alone_test(rows, labellings_of(codes))) == {1}


def test_exact_small_design():
    # 6 + 4 rows have 210 labellings; the observed one is among the most extreme.
    codes = np.repeat([0, 1], [6, 4]).astype(np.uint8)
    rows = np.arange(10.0)[:, None]
    scheme = Scheme(codes, 999, 0)
    assert scheme.exhaustive
    found = alone_test(rows, Relabellings(scheme, 2))
    # The two extreme labellings, and two that differ as clearly in spread.
    assert found.pvalue[0] <= 4 / 210


def test_scores_of_clear_differences_are_those_of_known_tests():
    # So clear that no relabelling comes near: the score has to say how clear.
    rng = np.random.default_rng(31)
    rows = rng.normal(size=(600, 2))
    rows[300:, 1] += 1.5
    codes = np.repeat([0, 1], 300).astype(np.uint8)
    found = alone_test(rows, Relabellings(Scheme(codes, 199, seed=0), 2))
    known = -np.log(stats.ttest_ind(rows[:300, 1], rows[300:, 1]).pvalue)
    assert 0.5 * known < found.score[1] < 1.2 * known
    assert found.approximate[1] == pytest.approx(np.exp(-found.score[1]))
    assert found.score[0] < 8


def test_a_rare_value_of_a_count_is_looked_at_by_itself():
    # Passengers of taxis: only the share of zero changes, from 1.3 to 4.3 %.
    first = np.repeat([1, 2, 5, 3, 6, 4, 0], [739, 134, 44, 32, 24, 14, 13])
    second = np.repeat([1, 2, 5, 3, 6, 4, 0], [717, 129, 43, 31, 24, 13, 43])
    rows = np.concatenate([first, second]).astype(float)[:, None]
    codes = np.repeat([0, 1], 1000).astype(np.uint8)
    found = alone_test(rows, Relabellings(Scheme(codes, 999, seed=0), 2))
    assert found.pvalue[0] <= 0.005


def test_what_all_blocks_have_alike_hides_nothing():
    """Of people who were all seen in the same years the years tell nothing, and rounding must not either."""
    rng = np.random.default_rng(5)
    person, visit = np.divmod(np.arange(40 * 7), 7)
    codes = (person % 2).astype(np.uint8)
    blood = rng.normal(size=40)[person] + 0.3 * rng.normal(size=280) + 2.0 * codes
    rows = np.column_stack([2001.0 + 3 * visit, visit == 2, np.exp(visit / 3), blood])
    scheme = Scheme(codes, 99, 0, person, "whole")
    found = alone_scores(rows, Relabellings(scheme, 2))
    assert (found.units[:, :3] == 0).all()
    assert step_down_pvalues(found.units)[3] == 0.01
