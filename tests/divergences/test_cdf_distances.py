from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import cramervonmises_2samp, ks_2samp

from princdiff.data.labels import HELD_OUT, Labels
from princdiff.data.samples import Samples
from princdiff.divergences import CramerVonMises, KolmogorovSmirnov
from princdiff.solvers.effort import SearchSettings
from princdiff.solvers.solve import solve


def problem(sizes, seed=0, ties=False):
    rng = np.random.default_rng(seed)
    codes = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    values = rng.normal(size=(5, len(codes))) + 0.7 * codes
    return np.round(2 * values) if ties else values, codes


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("sizes", [(20, 20), (31, 18), (1, 6)])
@pytest.mark.parametrize("ties", [False, True])
def test_kolmogorov_smirnov_reports_scipys_statistic(sizes, ties, dtype):
    values, codes = problem(sizes, ties=ties)
    values = values.astype(dtype)
    found = KolmogorovSmirnov().report(values, Labels(codes, 2).repeat(5))
    expected = [ks_2samp(row[codes == 0], row[codes == 1]).statistic for row in values]
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("sizes", [(20, 20), (31, 18)])
def test_cramer_von_mises_reports_scipys_statistic(sizes):
    # Without ties: there scipy ranks by averages, and the criterion has no one definition.
    values, codes = problem(sizes)
    found = CramerVonMises().report(values, Labels(codes, 2).repeat(5))
    scipys = [cramervonmises_2samp(row[codes == 0], row[codes == 1]).statistic for row in values]
    np.testing.assert_allclose(found, np.array(scipys) * (1 / sizes[0] + 1 / sizes[1]), rtol=1e-10)


def exact(values, codes, weights, kind):
    """By distribution functions at every row."""
    rows = np.flatnonzero(codes != HELD_OUT)

    def function(group):
        own = codes == group
        return np.array([weights[own] @ (values[own] <= values[row]) for row in rows]) / weights[own].sum()

    difference = function(0) - function(1)
    return np.abs(difference).max() if kind == "ks" else np.average(difference**2, weights=weights[rows])


@pytest.mark.parametrize("ties", [False, True])
def test_reports_with_weights_and_held_out_rows(ties):
    values, codes = problem((17, 22), seed=3, ties=ties)
    codes[[2, 7]] = HELD_OUT
    weights = np.random.default_rng(4).uniform(0.2, 2.0, size=len(codes))
    labels = Labels(codes, 2, weights=weights).repeat(5)
    for divergence, kind in ((KolmogorovSmirnov(), "ks"), (CramerVonMises(), "cvm")):
        expected = [exact(row, codes, weights, kind) for row in values]
        np.testing.assert_allclose(divergence.report(values, labels), expected, rtol=1e-10)


@pytest.mark.parametrize("divergence", [KolmogorovSmirnov(), CramerVonMises()], ids=repr)
def test_reports_of_several_groups_average_over_pairs(divergence):
    values, codes = problem((10, 14, 9), seed=5)
    found = divergence.report(values, Labels(codes, 3).repeat(5))
    total = norm = 0.0
    for g, h in [(0, 1), (0, 2), (1, 2)]:
        kept = (codes == g) | (codes == h)
        labels = Labels((codes[kept] == h).astype(int), 2).repeat(5)
        weight = np.count_nonzero(codes == g) * np.count_nonzero(codes == h)
        total = total + weight * divergence.report(values[:, kept], labels)
        norm += weight
    np.testing.assert_allclose(found, total / norm, rtol=1e-12)


def test_monotone_transformations_change_nothing_in_the_report():
    values, codes = problem((25, 30), seed=6)
    labels = Labels(codes, 2).repeat(5)
    for divergence in (KolmogorovSmirnov(), CramerVonMises()):
        plain = divergence.report(values, labels)
        np.testing.assert_allclose(divergence.report(np.exp(values), labels), plain, rtol=1e-12)


def test_less_smoothing_brings_the_stand_in_to_the_exact_value():
    values, codes = problem((200, 250), seed=7)
    labels = Labels(codes, 2).repeat(5)
    exact_value = KolmogorovSmirnov().report(values, labels)
    smoothed = [KolmogorovSmirnov(h).value(values, labels) for h in (0.3, 0.1, 0.03)]
    errors = [np.abs(value - exact_value).max() for value in smoothed]
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < 0.02


def test_the_search_finds_a_direction_that_is_good_in_the_exact_value():
    rng = np.random.default_rng(8)
    X = rng.normal(size=(300, 12))
    X[150:, :2] += 0.8
    labels = Labels(np.repeat([0, 1], 150), 2)
    divergence = KolmogorovSmirnov()
    found = solve(
        Samples(X), labels, divergence, SearchSettings(2, effort="fast"), rng=np.random.default_rng(0)
    )
    assert set(np.flatnonzero(found.direction)) == {0, 1}
    truth = np.zeros(12)
    truth[:2] = 0.5**0.5
    reported, planted = divergence.report(np.stack([X @ found.direction, X @ truth]), labels.repeat(2))
    assert reported > 0.95 * planted
