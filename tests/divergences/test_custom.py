from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import energy_distance, ks_2samp, wasserstein_distance

from princdiff.data.labels import HELD_OUT, Labels
from princdiff.data.samples import Samples
from princdiff.divergences import CustomDivergence, Energy, JensenShannon, Wasserstein2, Workspace
from princdiff.solvers.effort import SearchSettings
from princdiff.solvers.solve import solve


def energy(x, y):
    return energy_distance(x, y) ** 2


def squares(x, y):
    x, y = np.sort(x), np.sort(y)
    return np.mean((x - y) ** 2)


def problem(sizes, seed=0, n_columns=3):
    rng = np.random.default_rng(seed)
    codes = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    return rng.normal(size=(n_columns, len(codes))) + 0.8 * codes, codes


@pytest.mark.parametrize("sizes", [(20, 25), (12, 9, 15)])
def test_values_are_those_of_the_function(sizes):
    values, codes = problem(sizes)
    labels = Labels(codes, len(sizes)).repeat(3)
    found = CustomDivergence(energy).value(values, labels)
    np.testing.assert_allclose(found, Energy().value(values, labels), rtol=1e-10)


@pytest.mark.parametrize(("function", "degree"), [(energy, 1.0), (squares, 2.0), (wasserstein_distance, 1.0)])
def test_the_degree_is_measured(function, degree):
    assert CustomDivergence(function).degree == degree


def test_slopes_of_few_rows_are_exact():
    values, codes = problem((12, 14))
    codes[3] = HELD_OUT
    labels = Labels(codes, 2).repeat(3)
    _, slopes = CustomDivergence(energy).value_and_slope(values, labels, Workspace())
    _, expected = Energy().value_and_slope(values, labels, Workspace())
    np.testing.assert_allclose(slopes, expected, atol=1e-6)


def test_slopes_of_many_rows_are_smooth_versions_of_the_true_ones():
    values, codes = problem((300, 300), seed=1)
    labels = Labels(codes, 2).repeat(3)
    for function, divergence in ((energy, Energy()), (squares, Wasserstein2())):
        _, slopes = CustomDivergence(function).value_and_slope(values, labels, Workspace())
        _, expected = divergence.value_and_slope(values, labels, Workspace())
        for slope, truth in zip(slopes, expected, strict=True):
            assert slope @ truth / np.linalg.norm(slope) / np.linalg.norm(truth) > 0.95


def test_the_number_of_calls_does_not_grow_with_the_rows():
    calls = []

    def counted(x, y):
        calls.append(len(x))
        return (x.mean() - y.mean()) ** 2

    divergence = CustomDivergence(counted)
    counts = []
    for size in (100, 1000):
        values, codes = problem((size, size), n_columns=1)
        calls.clear()
        divergence.value_and_slope(values, Labels(codes, 2), Workspace())
        counts.append(len(calls))
    assert counts[0] == counts[1] <= 70


def test_slopes_of_the_function_are_used_as_they_are():
    def with_slope(x, y):
        gap = x.mean() - y.mean()
        return gap**2, np.full(len(x), 2 * gap / len(x)), np.full(len(y), -2 * gap / len(y))

    values, codes = problem((200, 150), seed=2)
    labels = Labels(codes, 2).repeat(3)
    divergence = CustomDivergence(with_slope)
    assert divergence.has_slope
    found, slopes = divergence.value_and_slope(values, labels, Workspace())
    gaps = values[:, codes == 0].mean(axis=1) - values[:, codes == 1].mean(axis=1)
    np.testing.assert_allclose(found, gaps**2, rtol=1e-12)
    expected = np.where(codes == 0, 2 * gaps[:, None] / 200, -2 * gaps[:, None] / 150)
    np.testing.assert_allclose(slopes, expected, rtol=1e-10)


def test_standardised_samples_make_any_function_scale_free():
    def bounded(x, y):
        return 1.0 - np.exp(-abs(np.mean(x) - np.mean(y)))

    with pytest.raises(ValueError, match=r"not homogeneous.*standardise=True"):
        CustomDivergence(bounded)
    divergence = CustomDivergence(bounded, standardise=True)
    assert divergence.degree == 0.0
    values, codes = problem((15, 14), seed=3)
    labels = Labels(codes, 2).repeat(3)
    found, slopes = divergence.value_and_slope(values, labels, Workspace())
    np.testing.assert_allclose(divergence.value(5.0 * values + 3.0, labels), found, rtol=1e-8)
    np.testing.assert_allclose(np.einsum("cn,cn->c", slopes, values), 0.0, atol=1e-6)


def test_functions_of_ranks_need_a_wide_step():
    def statistic(x, y):
        return ks_2samp(x, y).statistic

    with pytest.raises(ValueError, match=r"no slope that finite differences.*step=0.1"):
        CustomDivergence(statistic)
    divergence = CustomDivergence(statistic, step=0.1)
    values, codes = problem((100, 100), seed=4, n_columns=1)
    _, slopes = divergence.value_and_slope(values, Labels(codes, 2), Workspace())
    # The second group is the larger one: apart is up for it and down for the first.
    assert slopes[0][codes == 1].sum() > 0 > slopes[0][codes == 0].sum()


def test_the_search_takes_a_function():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(80, 5))
    X[40:, :2] += 1.5

    def centres(x, y):
        return abs(x.mean() - y.mean()) + abs(x.std() - y.std())

    found = solve(
        Samples(X),
        Labels(np.repeat([0, 1], 40), 2),
        CustomDivergence(centres),
        SearchSettings(2, effort="fast"),
        rng=np.random.default_rng(0),
    )
    assert set(np.flatnonzero(found.direction)) == {0, 1}


# ---------------------------------------------------------------- bad input


def refused(function, message, **options):
    with pytest.raises(ValueError, match=message):
        CustomDivergence(function, **options)


def test_bad_functions_are_refused_at_once():
    refused(lambda x, y: np.nan, "must be finite: the function returned nan")
    refused(lambda x, y: np.inf, "must be finite: the function returned inf")
    refused(lambda x, y: x - y, r"must be one number: the function returned an array of shape \(40,\)")
    refused(lambda x, y: "far", "must be one number: the function returned 'far'")
    refused(lambda x, y: None, "must be one number")
    refused(lambda x, y: -1.0, "must not be negative: the function returned -1")
    refused(lambda x, y: x.mean() ** 2 + y.mean() ** 2, "when all numbers are raised by 1")
    refused(lambda x, y: 0.0, "is 0 between two samples that differ")
    refused(lambda x, y: float(np.sum(x < y.mean())), "no slope that finite differences")


def test_bad_slopes_are_refused():
    values, codes = problem((5, 7), n_columns=1)
    labels = Labels(codes, 2)

    def evaluate(function):
        CustomDivergence(function).value_and_slope(values, labels, Workspace())

    with pytest.raises(ValueError, match="returned 2 things"):
        evaluate(lambda x, y: ((x.mean() - y.mean()) ** 2, x))
    with pytest.raises(ValueError, match=r"slope by the second sample has shape \(\d+,\), but"):
        evaluate(lambda x, y: ((x.mean() - y.mean()) ** 2, x, y[:-1]))
    with pytest.raises(ValueError, match="slope by the first sample is not finite"):
        evaluate(lambda x, y: ((x.mean() - y.mean()) ** 2, x * np.nan, y))


def test_nan_later_is_refused_where_it_happens():
    def touchy(x, y):
        return np.nan if len(x) < 6 else (x.mean() - y.mean()) ** 2

    divergence = CustomDivergence(touchy)
    values, codes = problem((5, 7), n_columns=1)
    with pytest.raises(ValueError, match="'touchy' for samples of 5 and 7 rows must be finite"):
        divergence.value(values, Labels(codes, 2))


def test_weights_are_refused():
    values, codes = problem((5, 7), n_columns=1)
    with pytest.raises(ValueError, match="knows no row weights"):
        CustomDivergence(energy).value(values, Labels(codes, 2, weights=np.ones(12)))


def test_other_bad_parameters_are_refused():
    with pytest.raises(TypeError, match="must be a function of two arrays"):
        CustomDivergence(3.0)
    with pytest.raises(ValueError, match="step must be a positive number"):
        CustomDivergence(energy, step=0.0)


def test_names():
    assert CustomDivergence(energy).name == "energy"
    assert CustomDivergence(energy, name="mine").name == "mine"
    assert repr(CustomDivergence(energy)) == "CustomDivergence(energy)"


def test_the_function_may_spoil_its_arguments():
    def rude(x, y):
        x.sort()
        y.sort()
        return abs(x.mean() - y.mean())

    values, codes = problem((20, 22), n_columns=1)
    before = values.copy()
    CustomDivergence(rude).value_and_slope(values, Labels(codes, 2), Workspace())
    np.testing.assert_array_equal(values, before)


def test_density_divergence_as_a_function_of_the_package_agrees():
    # The package's own, wrapped: values and slopes must come out the same.
    inner = JensenShannon(0.4)

    def wrapped(x, y):
        labels = Labels(np.repeat([0, 1], [len(x), len(y)]), 2)
        value, slope = inner.value_and_slope(np.concatenate([x, y])[None], labels, Workspace())
        return value[0], slope[0, : len(x)].copy(), slope[0, len(x) :].copy()

    values, codes = problem((30, 40), seed=6)
    labels = Labels(codes, 2).repeat(3)
    found = CustomDivergence(wrapped).value_and_slope(values, labels, Workspace())
    expected = inner.value_and_slope(values, labels, Workspace())
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-8)
    np.testing.assert_allclose(found[1], expected[1], atol=1e-8)
