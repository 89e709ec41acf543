"""Measured values of a number with gaps, judged on their own."""

import numpy as np
import pytest

from princdiff.result.feature_tables import differs_clearly, measured_scores


@pytest.fixture
def codes():
    return np.repeat([0, 1], 500).astype(np.uint8)


def test_equal_distributions_rarely_differ_clearly(codes):
    rng = np.random.default_rng(0)
    found = [differs_clearly(measured_scores(rng.normal(size=1000), codes)) for _ in range(40)]
    assert sum(found) <= 6


@pytest.mark.parametrize(
    "changed", [lambda rows: rows + 0.5, lambda rows: 2 * rows, lambda rows: np.where(rows > 1, 1.0, rows)]
)
def test_a_shift_a_spread_and_a_frequent_value_are_seen(codes, changed):
    values = np.random.default_rng(1).normal(size=1000)
    values[500:] = changed(values[500:])
    assert differs_clearly(measured_scores(values, codes))


def test_a_constant_does_not_differ(codes):
    assert not differs_clearly(measured_scores(np.ones(1000), codes))


def test_weights_count():
    codes = np.tile([0, 1], 500).astype(np.uint8)
    values = np.random.default_rng(2).normal(size=1000)
    values[:200] += 3.0 * codes[:200]
    without = np.where(np.arange(1000) < 200, 1e-6, 1.0)
    assert differs_clearly(measured_scores(values, codes))
    assert not differs_clearly(measured_scores(values, codes, without))
