from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from princdiff.kernels.engine_choice import Kernel
from princdiff.statistics.scores import gamma_scores, left_out_moments, survival_score


@pytest.mark.parametrize("skewness", [0.01, 0.3, 1.0, 1.9, 2.0, 2.1, 2.83, 8.0, 30.0])
def test_score_is_the_tail_of_pearsons_third_law(skewness):
    z = np.array([-0.9, -0.1, 0.0, 0.4, 1.0, 2.5, 4.0, 8.0, 15.0])
    expected = -stats.pearson3.logsf(z, skewness)
    np.testing.assert_allclose(survival_score(z, skewness), expected, rtol=1e-7, atol=1e-9)


def test_score_without_skewness_is_the_normal_tail():
    z = np.array([-3.0, 0.0, 2.0, 30.0, 200.0])
    np.testing.assert_allclose(survival_score(z, 0.0), -stats.norm.logsf(z))
    # A law with an end would call everything beyond it impossible.
    np.testing.assert_allclose(survival_score(z, -1.5), -stats.norm.logsf(z))


@pytest.mark.parametrize("skewness", [0.0, 0.002, 0.05, 0.5, 1.5, 2.0, 4.0, 20.0])
def test_score_grows_however_far_out(skewness):
    z = np.concatenate([np.linspace(0, 60, 400), np.geomspace(61, 1e6, 400)])
    scores = survival_score(z, skewness)
    assert np.isfinite(scores).all()
    assert (np.diff(scores) > 0).all()
    # No jump where one formula takes over from another.
    assert np.diff(scores[:400]).max() < 3 * np.diff(scores[:400])[-5:].max() + 1.0


def test_exponential_law_exactly():
    z = np.array([-1.0, 0.0, 3.0, 500.0, 1e5])
    np.testing.assert_allclose(survival_score(z, 2.0), z + 1, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("far", [3.0, 1e3, 1e8])
def test_moments_leave_one_out(far):
    values = np.random.default_rng(0).gamma(0.7, size=(30, 4))
    values[0, 0], values[5, 1], values[:, 2] = far, -far, values[:, 2] + far
    found = left_out_moments(values)
    for i in range(30):
        for j in range(4):
            others = np.delete(values[:, j], i)
            assert found.mean[i, j] == pytest.approx(others.mean(), rel=1e-9, abs=1e-12)
            assert found.spread[i, j] == pytest.approx(others.std(), rel=1e-6)
            assert found.skewness[i, j] == pytest.approx(stats.skew(others), rel=1e-5, abs=1e-6)


def test_scores_of_the_null_are_exponential():
    rng = np.random.default_rng(1)
    for law in (rng.chisquare(1, (999, 20)), rng.chisquare(7, (999, 20)), rng.normal(size=(999, 20)) + 50):
        scores = gamma_scores(law)
        assert scores.dtype == np.float32
        assert np.median(scores) == pytest.approx(np.log(2), abs=0.05)
        assert np.quantile(scores, 0.99) == pytest.approx(np.log(100), rel=0.12)


def test_a_clear_value_is_not_masked_by_itself():
    values = np.random.default_rng(2).chisquare(1, size=(200, 2))
    values[0] = [30.0, 3000.0]
    scores = gamma_scores(values)
    assert scores[0, 0] > 12
    assert scores[0, 1] > 30 * scores[0, 0]


def test_every_labelling_is_treated_alike():
    rng = np.random.default_rng(3)
    values = rng.gamma(0.3, size=(50, 7))
    order = rng.permutation(50)
    np.testing.assert_allclose(gamma_scores(values)[order], gamma_scores(values[order]), rtol=1e-5, atol=1e-6)


def test_units_do_not_matter():
    values = np.random.default_rng(4).gamma(0.5, size=(80, 3))
    scores = gamma_scores(values)
    np.testing.assert_allclose(gamma_scores(1e-9 * values), scores, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(gamma_scores(1e9 * values - 4e9), scores, rtol=1e-4, atol=1e-5)


def test_columns_in_pieces(monkeypatch):
    values = np.random.default_rng(5).gamma(0.5, size=(60, 11))
    whole = gamma_scores(values)
    monkeypatch.setattr("princdiff.statistics.scores._BLOCK", 130)
    np.testing.assert_array_equal(gamma_scores(values), whole)


def test_what_does_not_vary_has_no_score():
    values = np.ones((20, 4))
    values[3, 1] = np.nan
    values[7, 2] = 5.0
    values[7, 3] = -5.0
    scores = gamma_scores(values)
    assert (scores[:, :2] == 0).all()
    # One labelling above all others, which are equal: as rare as one in twenty.
    assert scores[7, 2] == pytest.approx(np.log(20))
    assert scores[7, 2] == scores[:, 2].max()
    assert scores[7, 3] == scores[:, 3].min()


@pytest.mark.parametrize("dtype, noise", [(np.float32, 1e-7), (np.float64, 1e-13)])
@pytest.mark.parametrize("above", [None, 1.5])
def test_rounding_is_no_variation(dtype, noise, above):
    values = 0.25 * (1 + noise * np.random.default_rng(8).normal(size=(500, 3)))
    values[:, 2] = np.random.default_rng(9).chisquare(1, size=500)
    scores = gamma_scores(values.astype(dtype), above=above)
    assert (scores[:, :2] == 0).all()
    assert scores[:, 2].max() > 3


def test_only_large_values_may_be_scored():
    values = np.random.default_rng(10).chisquare(1, size=(400, 30))
    values[0, 3] = 40.0
    every, large = gamma_scores(values), gamma_scores(values, above=2.0)
    z = (values - values.mean(axis=0)) / values.std(axis=0)
    np.testing.assert_allclose(large[z > 2.0], every[z > 2.0], rtol=1e-4)
    assert (large[z <= 2.0] == 0).all()


def test_rare_columns_do_not_rule_the_maximum():
    # Forty columns present in 3 of 1000 rows beside one of halves.
    rng = np.random.default_rng(6)
    rare, common = rng.hypergeometric(3, 997, 200, (2000, 40)), rng.hypergeometric(500, 500, 200, (2000, 1))
    values = np.column_stack([common - 100.0, rare - 0.6]) ** 2
    # A fair share of the largest hundredth is one in forty-one; by z-scores it has less than half of that.
    scores = gamma_scores(values)
    z = (values - values.mean(axis=0)) / values.std(axis=0)
    assert share_of_first(scores) > 0.5 / 41
    assert share_of_first(z) < 0.5 / 41


def share_of_first(scores):
    largest = scores.max(axis=1)
    top = largest >= np.quantile(largest, 0.95)
    return (scores[top].argmax(axis=1) == 0).mean()


@pytest.mark.parametrize("above", [None, 2.0])
@pytest.mark.parametrize(("prior", "mean"), [(None, None), (2.0, None), (np.sqrt(8), 1.0)])
def test_the_compiled_scores_are_those_of_numpy(above, prior, mean):
    rng = np.random.default_rng(11)
    values = np.column_stack(
        [
            rng.chisquare(1, (300, 9)),
            rng.normal(size=(300, 4)),
            rng.hypergeometric(3, 97, 40, (300, 4)) ** 2,
            np.zeros((300, 1)),
            np.arange(300)[:, None] == 7,
        ]
    ).astype(np.float32)
    values[0, 2], values[5, 9] = 80.0, 1e4
    means = None if mean is None else np.where(np.arange(values.shape[1]) % 3, mean, np.nan)
    compiled = gamma_scores(values, above, prior, mean=means)
    reference = gamma_scores(values.astype(float), above, prior, mean=means)
    np.testing.assert_allclose(compiled, reference, rtol=2e-4, atol=2e-5)
    np.testing.assert_array_equal(gamma_scores(values, above, prior, mean=means, overwrite=True), compiled)


def test_a_prior_steadies_the_skewness_of_few_labellings():
    # The score of a value that a chi-squared law exceeds once in a thousand.
    statistics = np.random.default_rng(12).chisquare(1, (199, 400))
    statistics[0] = stats.chi2.isf(1e-3, 1)
    free, steadied = gamma_scores(statistics)[0], gamma_scores(statistics, prior=np.sqrt(8))[0]
    assert steadied.std() < 0.8 * free.std()
    assert np.median(steadied) == pytest.approx(np.log(1000), rel=0.1)


def test_a_known_mean_steadies_scores_and_a_wrong_one_is_left_aside():
    statistics = np.random.default_rng(13).chisquare(1, (999, 400))
    statistics[0] = stats.chi2.isf(1e-7, 1)
    shape_known, known, wrong = (
        gamma_scores(statistics, prior=np.sqrt(8), mean=mean)[0] for mean in (None, 1.0, 2.0)
    )
    assert known.std() < 0.5 * shape_known.std()
    assert np.median(known) == pytest.approx(-np.log(1e-7), rel=0.02)
    # Believed, it would halve them.
    assert (wrong > 0.8 * shape_known).all()


def test_the_compiled_survival_function_is_that_of_scipy():
    kernel = Kernel("pd_survival_scores", "f64* f64* i64 f64*")
    if not kernel.available:
        pytest.skip("nothing is compiled")
    z, skewness = (
        part.ravel() for part in np.meshgrid(np.linspace(-1, 60, 200), [0.0, 0.3, 1.0, 2.0, 2.83, 6.0, 20.0])
    )
    found = np.empty(len(z))
    kernel(z, skewness, len(z), found)
    expected = survival_score(z, skewness)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9)
