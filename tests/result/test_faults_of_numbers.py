"""Faults of numbers are seen where they were made, and nowhere else."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import ks_2samp

from princdiff.findings import FaultKind
from princdiff.result.faults_of_numbers import chance_of_one_law, fault_of_number
from princdiff.result.unit_factors import UNIT_CHANGES

SHAPES = {
    "normal": lambda rng, n: rng.normal(170, 9, size=n),
    "skewed": lambda rng, n: rng.gamma(2.0, 300.0, size=n),
    "two decimals": lambda rng, n: np.round(rng.normal(20, 4, size=n), 2),
    "whole": lambda rng, n: rng.poisson(60, size=n).astype(float),
    "zeros": lambda rng, n: np.where(rng.random(n) < 0.3, 0.0, rng.gamma(2.0, 30.0, size=n)),
}
FAULTS = {
    FaultKind.SENTINEL: lambda values, rng: np.where(rng.random(len(values)) < 0.06, -999.0, values),
    FaultKind.CUT_ABOVE: lambda values, rng: np.minimum(values, np.quantile(values, 0.85)),
    FaultKind.CUT_BELOW: lambda values, rng: np.maximum(values, np.quantile(values, 0.1)),
    FaultKind.ROUNDED: lambda values, rng: 5 * np.round(values / 5),
    FaultKind.UNIT: lambda values, rng: 25.4 * values,
    FaultKind.FREQUENT: lambda values, rng: np.where(rng.random(len(values)) < 0.1, values[0], values),
}


def two(shape, seed, n_rows=600):
    rng = np.random.default_rng(seed)
    return SHAPES[shape](rng, n_rows), SHAPES[shape](rng, n_rows), rng


@pytest.mark.parametrize("kind", FAULTS)
@pytest.mark.parametrize("shape", [shape for shape in SHAPES if shape != "zeros"])
def test_each_fault_is_seen(kind, shape):
    before, after, rng = two(shape, 0)
    found = fault_of_number(FAULTS[kind](after, rng), before)
    assert found is not None and found.kind is kind


CHANGES_OF_THE_WORLD = {
    "nothing": lambda values, rng: values,
    "shift": lambda values, rng: values + 0.5 * values.std(),
    "spread": lambda values, rng: values.mean() + 1.4 * (values - values.mean()),
    "noise": lambda values, rng: values + 0.5 * values.std() * rng.normal(size=len(values)),
    "shuffled": lambda values, rng: rng.permutation(values),
    "growth": lambda values, rng: 1.1 * values,
    "repaired": lambda values, rng: values + 0.001 * rng.random(len(values)),
}


@pytest.mark.parametrize("change", CHANGES_OF_THE_WORLD)
@pytest.mark.parametrize("shape", SHAPES)
def test_other_changes_are_no_faults(change, shape):
    for seed in range(5):
        before, after, rng = two(shape, seed)
        assert fault_of_number(CHANGES_OF_THE_WORLD[change](after, rng), before) is None


def test_what_is_said_of_each():
    before, after, _rng = two("normal", 1, 1000)
    marked = after.copy()
    marked[:60] = 0
    assert fault_of_number(marked, before) == (FaultKind.SENTINEL, 0.0, (0.06, 0.0), ())
    cut = fault_of_number(np.minimum(after, 180.0), before)
    assert cut[1] == 180.0 and cut.shares == ((after >= 180).mean(), (before >= 180).mean())
    assert fault_of_number(np.maximum(after, 160.0), before).value == 160.0
    assert fault_of_number(np.round(after), before)[:2] == (FaultKind.ROUNDED, 1.0)
    assert fault_of_number(np.round(after / 2.5) * 2.5, before).value == 2.5


@pytest.mark.parametrize("change", UNIT_CHANGES, ids=lambda change: f"{change.before} {change.factor:g}")
def test_every_unit(change):
    before, after, _ = two("normal", 2, 2000)
    inner = change.back.undone(after) if change.factor != 1 else after + change.offset
    found = fault_of_number(inner, before)
    assert (found.kind, found.levels) == (FaultKind.UNIT, (change.before, change.after))
    # From degrees to degrees leads no factor.
    assert found.value == change.factor if not change.offset else np.isnan(found.value)


def test_decimals_tell_a_factor_that_the_distribution_does_not():
    miles, after = np.random.default_rng(5).lognormal(0.6, 0.8, size=(2, 800)).round(2)
    found = fault_of_number(1.609344 * after, miles)
    assert found == (FaultKind.UNIT, 1.609344, (), ("miles", "kilometres"))
    # As if the world had changed by as much: nothing says which factor it was.
    assert fault_of_number((1.55 * after).round(2), miles) is None


def test_a_mark_that_both_groups_have_is_none():
    before, after, _ = two("normal", 3)
    before[:40], after[:60] = -999, -999
    assert fault_of_number(after, before) is None


def test_more_of_the_zeros_that_both_groups_have_are_no_mark():
    rng = np.random.default_rng(3)
    spent = rng.integers(1, 30, size=400).astype(float)
    before, after = np.where(rng.random(400) < 0.07, 0, spent), np.where(rng.random(400) < 0.8, 0, spent)
    assert fault_of_number(after, before).kind is FaultKind.FREQUENT


def test_few_rows_or_values_say_nothing():
    assert fault_of_number(np.arange(5.0), np.arange(50.0)) is None
    assert fault_of_number(np.full(100, 9.0), np.tile([1.0, 2.0], 50)) is None


@pytest.mark.parametrize("shift", [0.0, 0.15, 0.4])
def test_the_chance_of_one_law_is_that_of_kolmogorov_and_smirnov(shift):
    rng = np.random.default_rng(7)
    own, other = rng.normal(size=400).round(1), rng.normal(size=300).round(1) + shift
    expected = ks_2samp(own, other, method="asymp").pvalue
    assert chance_of_one_law(own, other) == pytest.approx(expected, rel=0.25, abs=1e-6)
