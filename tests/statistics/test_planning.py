from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from princdiff.statistics.planning import detectable_effect, expected_power, required_rows


def test_one_feature_is_a_two_sided_test_at_a_smaller_level():
    # A shift of one feature alone: the textbook normal approximation, at 1 / 3.5 of the level.
    effect, rows = 0.5, (40, 60)
    critical = norm.isf(0.05 / 3.5 / 2)
    shift = effect * np.sqrt(40 * 60 / 100)
    expected = norm.sf(critical - shift) + norm.cdf(-critical - shift)
    assert expected_power(effect, rows, 1) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("n_features, n_relevant", [(1, 1), (20, 1), (20, 4), (60, 60), (2000, 3)])
def test_the_three_questions_agree(n_features, n_relevant):
    options = {"n_relevant": n_relevant, "level": 0.01, "power": 0.9}
    effect = detectable_effect((80, 50), n_features, **options)
    assert expected_power(effect, (80, 50), n_features, n_relevant=n_relevant, level=0.01) == pytest.approx(
        0.9
    )
    total = required_rows(effect, n_features, share=50 / 130, **options)
    assert 129 <= total <= 131


def test_what_makes_it_harder():
    base = required_rows(0.5, 20)
    assert required_rows(0.25, 20) == pytest.approx(4 * base, rel=0.02)
    assert required_rows(0.5, 200) > base
    assert required_rows(0.5, 20, power=0.9) > base
    assert required_rows(0.5, 20, level=0.01) > base
    assert required_rows(0.5, 20, share=0.1) == pytest.approx(base * 0.25 / 0.09, rel=0.02)
    assert detectable_effect(200, 20) == detectable_effect((100, 100), 20)
    # A shift shared by a few is easier to find than one spread over all.
    assert required_rows(0.5, 200, n_relevant=3) < required_rows(0.5, 200, n_relevant=100)


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda: required_rows(0.0, 5), "effect must be a positive number"),
        (lambda: required_rows(0.5, 5, share=1.0), "share must be between 0 and 1"),
        (lambda: required_rows(0.5, 5, n_relevant=6), "n_relevant=6 is more than n_features=5"),
        (lambda: required_rows(0.5, 5, power=0.01), "power=0.01 must be above level=0.05"),
        (lambda: required_rows(1e-6, 5), "more than 1e\\+09 rows"),
        (lambda: detectable_effect((1, 50), 5), "at least two rows a group"),
        (lambda: detectable_effect((10, 20, 30), 5), "one number or two"),
        (lambda: expected_power(0.5, 100, 0), "n_features must be a positive whole number"),
        (lambda: expected_power(0.5, 100, 5, level=2), "level must be between 0 and 1"),
    ],
)
def test_bad_questions_say_what_is_wrong(call, words):
    with pytest.raises(ValueError, match=words):
        call()
