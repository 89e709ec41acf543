from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad
from scipy.special import eval_legendre

from princdiff.labellings.schemes import Scheme
from princdiff.statistics.contrasts import Contrasts, Relabellings
from princdiff.statistics.feature_columns import (
    MOST_VALUES,
    N_COLUMNS,
    N_TERMS,
    legendre_integrals,
    rank_functions,
    statistics_of,
)
from princdiff.statistics.value_tables import feature_lines


def orthonormal(degree, u):
    return np.sqrt(2 * degree + 1) * eval_legendre(degree, 2 * u - 1)


def feature_columns(values, weights=None, few=False):
    return np.column_stack(list(feature_lines(values, weights, few)))


def of_ranks(values, weights=None):
    return feature_columns(values, weights)[:, -N_TERMS:].T


@pytest.mark.parametrize("degree", [1, 2, 5])
def test_integrals_of_legendre_polynomials(degree):
    found = list(legendre_integrals(np.array([0.0, 0.13, 0.8, 1.0])))[degree - 1]
    expected = [quad(lambda u: orthonormal(degree, u), 0, end)[0] for end in (0.0, 0.13, 0.8, 1.0)]
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_functions_of_ranks_are_averages_over_ties():
    values = np.array([2.0, 5.0, 2.0, 9.0, 5.0, 5.0])
    found = of_ranks(values)
    spans = {2.0: (0, 2), 5.0: (2, 5), 9.0: (5, 6)}
    for degree in (1, 4):
        for row, value in enumerate(values):
            first, last = spans[value]
            area = quad(lambda u, k=degree: orthonormal(k, u), first / 6, last / 6)[0]
            assert found[degree - 1, row] == pytest.approx(area / ((last - first) / 6))


def test_weights_are_rows_that_count_more():
    values = np.array([2.0, 5.0, 1.0, 9.0])
    repeats = np.array([1, 3, 2, 2])
    expected = of_ranks(np.repeat(values, repeats))
    found = of_ranks(values, repeats / 7)
    np.testing.assert_allclose(np.repeat(found, repeats, axis=1), expected)


def test_functions_of_ranks_see_ranks_only():
    rng = np.random.default_rng(0)
    values, order = rng.poisson(3, 50).astype(float), rng.permutation(50)
    np.testing.assert_allclose(of_ranks(np.exp(values)), of_ranks(values))
    np.testing.assert_allclose(of_ranks(values[order]), of_ranks(values)[:, order])


def test_terms_add_up_to_the_anderson_darling_statistic():
    rng = np.random.default_rng(1)
    values, codes = rng.normal(size=60), np.repeat([0, 1], 30).astype(np.uint8)
    values[30:] += 0.4
    scheme = Scheme(codes, 19, seed=0)
    contrasts = Contrasts(Relabellings(scheme, 2))
    n_terms = 59
    ends = np.argsort(np.argsort(values)) + 1
    every = np.column_stack(list(rank_functions(np.arange(1, 61) / 60, np.array([0]), n_terms)))
    terms = contrasts.between(every[ends - 1])
    degrees = np.arange(1, n_terms + 1)
    found = terms @ (1 / (degrees * (degrees + 1)))
    for labelling, own in zip(scheme.codes(np.arange(20)), found, strict=True):
        parts = [values[labelling == 0], values[labelling == 1]]
        assert own == pytest.approx(_anderson_darling(*parts), rel=0.06, abs=0.05)


def _anderson_darling(first, second):
    """By its definition for two samples without ties."""
    n, m = len(first), len(second)
    total = n + m
    ranked = np.sort(np.concatenate([first, second]))[:-1]
    below = np.searchsorted(np.sort(first), ranked, side="right")
    i = np.arange(1, total)
    return np.sum((below * total - n * i) ** 2 / (i * (total - i))) / (n * m)


def test_own_definition_agrees_with_scipy():
    rng = np.random.default_rng(2)
    a, b = rng.normal(size=20), rng.normal(size=25)
    # SciPy gives it standardised: the same order over pairs of samples.
    pairs = [(a, b + shift) for shift in (0.0, 0.5, 1.0)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = np.array([stats.anderson_ksamp(pair).statistic for pair in pairs])
    ours = np.array([_anderson_darling(*pair) for pair in pairs])
    slope = np.diff(theirs) / np.diff(ours)
    assert slope[0] == pytest.approx(slope[1], rel=0.05)


def test_columns_and_statistics_of_a_feature():
    rng = np.random.default_rng(3)
    values = rng.poisson(1.0, 40).astype(float)
    columns = feature_columns(values)
    assert columns.shape == (40, N_COLUMNS)
    assert np.corrcoef(columns[:, 0], values)[0, 1] == pytest.approx(1)
    assert np.corrcoef(columns[:, 1], np.abs(values - np.median(values)))[0, 1] == pytest.approx(1)
    frequent = np.bincount(values.astype(int)).argmax()
    np.testing.assert_array_equal(columns[:, 2], values == frequent)
    # No value of a continuous feature has a share worth looking at.
    assert not feature_columns(rng.normal(size=40))[:, 2].any()

    between = rng.random((5, 2, N_COLUMNS)).astype(np.float32)
    found = statistics_of(between)
    assert found.shape == (5, 2, 5)
    k = np.arange(1, N_TERMS + 1)
    np.testing.assert_allclose(found[..., :3], between[..., :3])
    np.testing.assert_allclose(found[..., 3], (between[..., 3:] / (k * (k + 1))).sum(axis=2), rtol=1e-5)
    np.testing.assert_allclose(found[..., 4], between[..., 3:7].sum(axis=2), rtol=1e-5)


def test_few_values_have_pearsons_statistic():
    rng = np.random.default_rng(5)
    values, codes = rng.integers(0, 4, 80).astype(float), np.repeat([0, 1], 40).astype(np.uint8)
    columns = feature_columns(values, few=True)
    assert columns.shape == (80, N_COLUMNS + MOST_VALUES)
    np.testing.assert_array_equal(columns[:, N_COLUMNS : N_COLUMNS + 4], values[:, None] == np.arange(4))
    assert not columns[:, N_COLUMNS + 4 :].any()
    scheme = Scheme(codes, 9, seed=0)
    between = Contrasts(Relabellings(scheme, 2)).between(columns)[:, None, :]
    shares = columns[None, :, N_COLUMNS:].mean(axis=1)
    found = statistics_of(between, shares)
    assert found.shape == (10, 1, 6)
    for labelling, own in zip(scheme.codes(np.arange(10)), found[:, 0, 5], strict=True):
        table = [[np.sum((values == v) & (labelling == g)) for g in range(2)] for v in range(4)]
        expected = stats.chi2_contingency(table, correction=False).statistic
        assert own == pytest.approx(expected * 79 / 80, rel=1e-4)


@pytest.mark.parametrize("unit", [1e-200, 1.0, 1e200])
def test_units_do_not_matter(unit):
    values = np.random.default_rng(4).normal(size=30)
    columns = feature_columns(unit * values)
    np.testing.assert_allclose(columns, feature_columns(values), rtol=1e-6, atol=1e-9)
