from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from princdiff import compare
from princdiff.data.problem import Design, Problem
from princdiff.selection.intervals import (
    Sampling,
    described_effect,
    effect_interval,
    quantile_interval,
    selected_effects,
    spread_interval,
)


def drawn(seed, n_rows=60):
    rng = np.random.default_rng(seed)
    second = rng.permutation(n_rows) >= n_rows // 3
    return rng, second, rng.normal(size=n_rows) * np.where(second, 2.0, 1.0) + second


def test_means_agree_with_welch():
    _, second, values = drawn(0)
    found = effect_interval(values, Sampling(second), coverage=0.9)
    expected = stats.ttest_ind(values[second], values[~second], equal_var=False).confidence_interval(0.9)
    assert found.estimate == pytest.approx(values[second].mean() - values[~second].mean())
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high))


@pytest.mark.parametrize(
    "counts, expected", [((56, 70, 48, 80), (0.0524, 0.3339)), ((9, 10, 3, 10), (0.1705, 0.8090))]
)
def test_proportions_agree_with_newcombe(counts, expected):
    # Newcombe (1998), Statistics in Medicine 17, table II, examples (a) and (b), method 10.
    first, n_first, second, n_second = counts
    values = np.concatenate([np.arange(n_second) < second, np.arange(n_first) < first]).astype(float)
    found = effect_interval(values, Sampling(np.arange(len(values)) >= n_second))
    assert (found.low, found.high) == pytest.approx(expected, abs=2e-4)


def test_equal_weights_change_nothing_and_weights_are_rows_that_count_more():
    rng, second, values = drawn(1)
    plain = effect_interval(values, Sampling(second))
    assert effect_interval(values, Sampling(second, weights=np.full(60, 3.3))) == pytest.approx(plain)
    weights = rng.integers(1, 4, 60).astype(float)
    repeats = weights.astype(int)
    found = effect_interval(values, Sampling(second, weights=weights))
    expected = effect_interval(np.repeat(values, repeats), Sampling(np.repeat(second, repeats)))
    assert found.estimate == pytest.approx(expected.estimate)
    # But what is weighted is not more rows: the interval is wider.
    assert found.high - found.low > expected.high - expected.low


def test_pairs_agree_with_the_paired_test():
    rng = np.random.default_rng(2)
    base = 5 * rng.normal(size=25)
    first, second = base + rng.normal(size=25), base + 0.5 + rng.normal(size=25)
    values = np.concatenate([first, second])
    sampling = Sampling(np.arange(50) >= 25, blocks=np.tile(np.arange(25), 2))
    found = effect_interval(values, sampling)
    expected = stats.ttest_rel(second, first).confidence_interval(0.95)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high))


def test_strata_are_compared_within():
    rng = np.random.default_rng(3)
    blocks = np.repeat([0, 1], [120, 60])
    # The second stratum is higher, and has more rows of the second group.
    second = rng.random(180) < np.where(blocks, 0.8, 0.3)
    values = 10.0 * blocks + second + rng.normal(size=180)
    found = effect_interval(values, Sampling(second, blocks=blocks))
    assert found.low < 1.0 < found.high
    assert found.high - found.low < 1.2
    assert effect_interval(values, Sampling(second)).low > 2.0


def test_whole_blocks_of_equal_size_are_compared_by_their_means():
    rng = np.random.default_rng(4)
    blocks = np.repeat(np.arange(12), 20)
    second = blocks >= 5
    values = rng.normal(size=240) + 2 * rng.normal(size=12)[blocks]
    found = effect_interval(values, Sampling(second, blocks=blocks, whole=True))
    means = np.array([values[blocks == block].mean() for block in range(12)])
    expected = stats.ttest_ind(means[5:], means[:5], equal_var=False).confidence_interval(0.95)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high))


def test_covariates_are_held_equal():
    rng = np.random.default_rng(5)
    age = rng.normal(size=200)
    second = age + rng.normal(size=200) > 0
    values = 3 * age + 0.7 * second + rng.normal(size=200)
    found = effect_interval(values, Sampling(second, covariates=age[:, None]))
    table = np.column_stack([np.ones(200), second, age])
    expected = np.linalg.lstsq(table, values, rcond=None)[0][1]
    # Squares of the covariate are held equal too.
    assert found.estimate == pytest.approx(expected, abs=0.02)
    # The classical standard error, which is right here.
    residuals = values - table @ np.linalg.lstsq(table, values, rcond=None)[0]
    error = np.sqrt(residuals @ residuals / 197 * np.linalg.inv(table.T @ table)[1, 1])
    assert (found.high - found.low) / 2 == pytest.approx(1.972 * error, rel=0.1)


@pytest.mark.parametrize("kind", ["means", "flags", "donors", "pairs"])
def test_coverage(kind):
    n_sets, covered = 400, 0
    rng = np.random.default_rng([6, len(kind)])
    for _ in range(n_sets):
        if kind == "means":
            second = np.arange(40) >= 12
            values, truth = rng.normal(size=40) * np.where(second, 3, 1) + second, 1.0
            sampling = Sampling(second)
        elif kind == "flags":
            second = np.arange(80) >= 30
            values, truth = (rng.random(80) < np.where(second, 0.3, 0.1)).astype(float), 0.2
            sampling = Sampling(second)
        elif kind == "donors":
            blocks = np.repeat(np.arange(12), rng.integers(3, 9, 12))
            second = blocks >= 6
            values, truth = rng.normal(size=len(blocks)) + rng.normal(size=12)[blocks] + 2 * second, 2.0
            sampling = Sampling(second, blocks=blocks, whole=True)
        else:
            blocks = np.repeat(np.arange(15), 2)
            second = np.tile([False, True], 15)
            values, truth = rng.normal(size=30) + 3 * rng.normal(size=15)[blocks] - second, -1.0
            sampling = Sampling(second, blocks=blocks)
        found = effect_interval(values, sampling, 0.9)
        covered += found.low <= truth <= found.high
    low, high = stats.binom.interval(0.999, n_sets, 0.9)
    assert low - 0.02 * n_sets <= covered <= high + 0.03 * n_sets


def test_too_little_to_tell():
    second = np.array([False, True, True])
    assert np.isnan(effect_interval(np.array([1.0, 2.0, 4.0]), Sampling(second)).low)
    donors = Sampling(np.repeat([False, True], 5), blocks=np.repeat([0, 1], 5), whole=True)
    assert np.isnan(effect_interval(np.arange(10.0), donors).estimate)
    # All values equal: no doubt about no difference.
    assert effect_interval(np.full(10, 3.0), Sampling(np.arange(10) > 4)) == (0.0, 0.0, 0.0)


def test_sampling_of_a_problem():
    rng = np.random.default_rng(7)
    donors = np.repeat(["p", "q", "r", "s"], 5)
    problem = Problem.from_arrays(
        rng.normal(size=(20, 2)), np.repeat(["a", "b"], 10), design=Design(blocks=donors)
    )
    sampling = Sampling.of(problem)
    assert sampling.whole and sampling.second.tolist() == [False] * 10 + [True] * 10


def test_spread_and_quantiles_are_those_of_the_groups():
    rng, second, values = drawn(8, 100)
    spread = spread_interval(values, Sampling(second))
    assert spread.estimate == pytest.approx(values[second].std() - values[~second].std())
    for level in (0.1, 0.5, 0.9):
        found = quantile_interval(values, level, Sampling(second))
        both = [np.quantile(values[own], level, method="inverted_cdf") for own in (second, ~second)]
        assert found.estimate == pytest.approx(both[0] - both[1])
        assert found.low < found.estimate < found.high
    repeats = rng.integers(1, 4, 100)
    weighted = quantile_interval(values, 0.5, Sampling(second, weights=repeats.astype(float)))
    longer = quantile_interval(np.repeat(values, repeats), 0.5, Sampling(np.repeat(second, repeats)))
    assert weighted.estimate == pytest.approx(longer.estimate)


@pytest.mark.parametrize("kind", ["spread", "quantile", "donors", "shape"])
def test_coverage_of_spreads_and_quantiles(kind):
    n_sets, covered = 300, 0
    rng = np.random.default_rng([9, len(kind)])
    for _ in range(n_sets):
        second = np.arange(150) >= 60
        values = rng.normal(size=150) * np.where(second, 2.0, 1.0)
        if kind == "spread":
            found, truth = spread_interval(values, Sampling(second), 0.9), 1.0
        elif kind == "quantile":
            found, truth = quantile_interval(values, 0.75, Sampling(second), 0.9), stats.norm.ppf(0.75)
        elif kind == "donors":
            blocks = np.repeat(np.arange(30), 5)
            second = blocks >= 12
            values = rng.normal(size=150) + rng.normal(size=30)[blocks] + second
            found = quantile_interval(values, 0.5, Sampling(second, blocks=blocks, whole=True), 0.9)
            truth = 1.0
        else:
            measure, found = described_effect(values, "shape", Sampling(second), 0.9)
            truth = stats.norm.ppf(int(measure.split()[0]) / 100)
        covered += found.low <= truth <= found.high
    low = stats.binom.interval(0.999, n_sets, 0.9)[0]
    # Intervals of quantiles are cautious; those of spreads, to first order, may be a little short.
    assert covered >= low - 0.02 * n_sets


def test_whole_blocks_with_covariates():
    rng = np.random.default_rng(10)
    covered = 0
    for _ in range(200):
        blocks = np.repeat(np.arange(16), 6)
        second = blocks % 2 == 0
        age = rng.normal(size=96)
        values = 2 * age + second + rng.normal(size=16)[blocks] + rng.normal(size=96)
        found = effect_interval(values, Sampling(second, None, blocks, True, age[:, None]), 0.9)
        covered += found.low <= 1.0 <= found.high
    assert covered >= stats.binom.interval(0.999, 200, 0.9)[0]


def test_intervals_of_selected_features_allow_for_the_selection():
    rng = np.random.default_rng(11)
    problem = Problem.from_arrays(rng.normal(size=(60, 10)), np.repeat(["a", "b"], 30))
    found = selected_effects(problem, {"x3": "shift", "x5": "spread"}, alpha=0.1)
    assert found["measure"].tolist() == ["mean", "sd"]
    expected = effect_interval(problem.rows[:, 3], Sampling.of(problem), 0.98)
    assert found.loc["x3", ["difference", "low", "high"]].tolist() == pytest.approx(list(expected))


def test_results_tell_differences_in_the_columns_own_units():
    rng = np.random.default_rng(12)
    values = rng.normal(size=(300, 4)) * [1, 100, 1, 1]
    values[150:, 1] += 120
    values[:, 2] = rng.random(300) < np.repeat([0.2, 0.6], 150)
    result = compare(values, groups=np.repeat(["a", "b"], 150), n_permutations=99)
    table = result.table.set_index("feature")
    assert table.loc["x1", "measure"] == "mean"
    assert table.loc["x1", "difference"] == pytest.approx(values[150:, 1].mean() - values[:150, 1].mean())
    assert table.loc["x1", "difference_low"] < 120 < table.loc["x1", "difference_high"]
    assert table.loc["x2", "measure"] == "proportion"
    assert table.loc["x0", "measure"] == "" and np.isnan(table.loc["x0", "difference"])
    columns = result.columns.set_index("column")
    assert columns.loc["x1", "difference"] == table.loc["x1", "difference"]
    three = compare(values, groups=np.repeat(["a", "b", "c"], 100), n_permutations=99)
    assert three.table["difference"].isna().all()
