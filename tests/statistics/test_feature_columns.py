from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad
from scipy.special import eval_legendre

from princdiff.labellings.schemes import Scheme
from princdiff.statistics import feature_columns as module
from princdiff.statistics.contrasts import Contrasts, Relabellings
from princdiff.statistics.feature_columns import (
    MOST_VALUES,
    N_COLUMNS,
    N_TERMS,
    RankFunctions,
    feature_columns,
    legendre_integrals,
    statistics_of,
)
from princdiff.statistics.value_tables import ValueTables


def orthonormal(degree, u):
    return np.sqrt(2 * degree + 1) * eval_legendre(degree, 2 * u - 1)


@pytest.mark.parametrize("degree", [1, 2, 5])
def test_integrals_of_legendre_polynomials(degree):
    found = legendre_integrals(np.array([0.0, 0.13, 0.8, 1.0]), 5)[degree - 1]
    expected = [quad(lambda u: orthonormal(degree, u), 0, end)[0] for end in (0.0, 0.13, 0.8, 1.0)]
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_functions_of_ranks_are_averages_over_ties():
    values = np.array([2.0, 5.0, 2.0, 9.0, 5.0, 5.0])
    found = RankFunctions(6)(values)
    spans = {2.0: (0, 2), 5.0: (2, 5), 9.0: (5, 6)}
    for degree in (1, 4):
        for row, value in enumerate(values):
            first, last = spans[value]
            area = quad(lambda u, k=degree: orthonormal(k, u), first / 6, last / 6)[0]
            assert found[degree - 1, row] == pytest.approx(area / ((last - first) / 6))


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("block", [1, 7, 1000])
def test_ranks_of_many_rows_are_those_of_few(monkeypatch, ties, block):
    values = np.random.default_rng(0).normal(size=60)
    values = values.round(1) if ties else values
    expected = RankFunctions(60)(values)
    monkeypatch.setattr(module, "_TABLE_ROWS", 0)
    monkeypatch.setattr(module, "_BLOCK_POINTS", block)
    np.testing.assert_allclose(RankFunctions(60)(values), expected, rtol=1e-12, atol=1e-13)
    distinct, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    tables = ValueTables(distinct, counts, np.zeros(1, dtype=int))
    lines = tables.lines(False)[place, -N_TERMS:]
    np.testing.assert_allclose(lines.T, expected, rtol=1e-12, atol=1e-13)


def test_weights_are_rows_that_count_more():
    values = np.array([2.0, 5.0, 1.0, 9.0])
    repeats = np.array([1, 3, 2, 2])
    expected = RankFunctions(8)(np.repeat(values, repeats))
    found = RankFunctions(4, weights=repeats / 7)(values)
    np.testing.assert_allclose(np.repeat(found, repeats, axis=1), expected)


def test_functions_of_ranks_see_ranks_only():
    rng = np.random.default_rng(0)
    values, order = rng.poisson(3, 50).astype(float), rng.permutation(50)
    functions = RankFunctions(50)
    np.testing.assert_allclose(functions(np.exp(values)), functions(values))
    np.testing.assert_allclose(functions(values[order]), functions(values)[:, order])


def test_terms_add_up_to_the_anderson_darling_statistic():
    rng = np.random.default_rng(1)
    values, codes = rng.normal(size=60), np.repeat([0, 1], 30).astype(np.uint8)
    values[30:] += 0.4
    scheme = Scheme(codes, 19, seed=0)
    contrasts = Contrasts(Relabellings(scheme, 2))
    n_terms = 59
    terms = contrasts.between(RankFunctions(60, n_terms=n_terms)(values).T)
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
    columns = feature_columns(values, RankFunctions(40))
    assert columns.shape == (40, N_COLUMNS)
    assert np.corrcoef(columns[:, 0], values)[0, 1] == pytest.approx(1)
    assert np.corrcoef(columns[:, 1], np.abs(values - np.median(values)))[0, 1] == pytest.approx(1)
    frequent = np.bincount(values.astype(int)).argmax()
    np.testing.assert_array_equal(columns[:, 2], values == frequent)
    # No value of a continuous feature has a share worth looking at.
    assert not feature_columns(rng.normal(size=40), RankFunctions(40))[:, 2].any()

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
    columns = feature_columns(values, RankFunctions(80), few_values=True)
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
    columns = feature_columns(unit * values, RankFunctions(30))
    np.testing.assert_allclose(columns, feature_columns(values, RankFunctions(30)), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("ties", [False, True])
def test_functions_of_many_ranks_are_those_of_a_table(weighted, ties, monkeypatch):
    rng = np.random.default_rng(11)
    values = rng.integers(40, size=500).astype(float) if ties else rng.normal(size=500)
    weights = rng.uniform(0.5, 2, size=500) if weighted else None
    plain = RankFunctions(500, weights)(values)
    monkeypatch.setattr(module, "_TABLE_ROWS", 10)
    monkeypatch.setattr(module, "_BLOCK_POINTS", 64)
    np.testing.assert_allclose(RankFunctions(500, weights)(values), plain, rtol=1e-10, atol=1e-10)
