"""Labellings given covariates: each sweep keeps their law, and sizes of groups stay as they are."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.stats import chisquare

from princdiff.labellings import given_covariates as conditional_labellings
from princdiff.labellings.given_covariates import TOGETHER, ConditionalLabellings
from princdiff.labellings.schemes import Scheme


def law_of(odds, strata, observed):
    """Every labelling with the observed groups in each stratum, and its chance given the odds."""
    n_units, n_groups = odds.shape
    found = {}
    for labels in product(range(n_groups), repeat=n_units):
        own = np.array(labels)
        if all(
            (np.bincount(own[strata == s]) == np.bincount(observed[strata == s])).all()
            if len(np.bincount(own[strata == s])) == len(np.bincount(observed[strata == s]))
            else False
            for s in np.unique(strata)
        ):
            found[labels] = np.exp(odds[np.arange(n_units), own].sum())
    total = sum(found.values())
    return {labels: value / total for labels, value in found.items()}


@pytest.mark.parametrize("n_groups, strata", [(2, [0] * 5), (3, [0] * 5), (2, [0, 0, 0, 1, 1, 1])])
def test_labellings_have_the_law_of_the_model(n_groups, strata):
    rng = np.random.default_rng(0)
    strata = np.array(strata)
    odds = rng.normal(size=(len(strata), n_groups))
    observed = (np.arange(len(strata)) % n_groups).astype(np.uint8)
    law = law_of(odds, strata, observed)
    counts = dict.fromkeys(law, 0)
    for seed in range(400):
        # Started from a draw, labellings of one centre depend on it: one each.
        drawn = ConditionalLabellings(observed, odds, strata, np.arange(len(strata)), seed)
        counts[tuple(drawn.chunk(0)[1].tolist())] += 1
    expected = np.array(list(law.values())) * 400
    large = expected > 1
    assert (
        chisquare(
            [
                *np.array(list(counts.values()))[large],
                400 - np.array(list(counts.values()))[large].sum() + 1e-9,
            ],
            [*expected[large], expected[~large].sum() + 1e-9],
        ).pvalue
        > 1e-3
    )


@pytest.mark.parametrize("n_groups", [2, 3])
def test_one_sweep_is_enough_for_an_exact_test(n_groups, monkeypatch):
    # Observed labellings are drawn from the model; ranks of a statistic among a few relabellings are uniform.
    monkeypatch.setattr(conditional_labellings, "_SWEEPS", 1)
    rng = np.random.default_rng(1)
    odds = rng.normal(size=(6, n_groups))
    strata = np.zeros(6, dtype=np.intp)
    law = law_of(odds, strata, np.arange(6) % n_groups)
    values = rng.normal(size=6)
    labellings = [np.array(labels, dtype=np.uint8) for labels in law]
    ranks = np.zeros(10)
    for seed in range(1500):
        observed = labellings[rng.choice(len(law), p=list(law.values()))]
        drawn = ConditionalLabellings(observed, odds, strata, np.arange(6), seed).chunk(0)[1:10]
        statistics = np.array([values[own == 1].sum() for own in (observed, *drawn)])
        statistics += 1e-9 * rng.normal(size=10)
        ranks[(statistics[1:] > statistics[0]).sum()] += 1
    assert chisquare(ranks).pvalue > 1e-3


def test_a_labelling_depends_on_its_number_only():
    rng = np.random.default_rng(2)
    codes, covariates = np.repeat([0, 1], [25, 16]).astype(np.uint8), rng.normal(size=(41, 2))
    options = {"keys": rng.permutation(41).astype(np.uint64), "covariates": covariates}
    few, many = Scheme(codes, 70, 3, **options), Scheme(codes, 300, 3, **options)
    every = many.codes(np.arange(301))
    np.testing.assert_array_equal(few.codes(np.arange(71)), every[:71])
    np.testing.assert_array_equal(many.first(5).codes(np.array([4, 2])), every[[4, 2]])
    np.testing.assert_array_equal(every[0], codes)
    assert (every.sum(axis=1) == 16).all() and TOGETHER < 71
    assert few.conditional and not few.exhaustive and few.smallest_pvalue == 1 / 71
    order = rng.permutation(41)
    moved = {name: values[order] for name, values in options.items()}
    again = Scheme(codes[order], 70, 3, **moved).codes(np.arange(71))
    np.testing.assert_array_equal(again, every[:71][:, order])
