from __future__ import annotations

import ast
import re
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import princdiff
from princdiff.labellings.pvalues import (
    SCORED,
    adjusted_pvalues,
    monte_carlo_interval,
    permutation_pvalue,
    step_down_pvalues,
    tie_tolerance,
)


def counted(values):
    return (1 + sum(value >= values[0] for value in values[1:])) / len(values)


def test_counting_by_hand():
    values = np.random.default_rng(0).normal(size=(40, 3, 2))
    found = permutation_pvalue(values)
    assert found.shape == (3, 2)
    for i in range(3):
        for j in range(2):
            assert found[i, j] == counted(values[:, i, j])
    assert permutation_pvalue(values[:, 0, 0]) == found[0, 0]


def test_many_columns_are_counted_in_pieces(monkeypatch):
    values = np.random.default_rng(1).normal(size=(20, 50))
    whole = permutation_pvalue(values)
    monkeypatch.setattr("princdiff.labellings.pvalues._BLOCK", 60)
    np.testing.assert_array_equal(permutation_pvalue(values), whole)
    np.testing.assert_array_equal(step_down_pvalues(values), step_down_pvalues(values.copy()))


def test_rounding_does_not_decide():
    # Ten labellings tie with the observed one, in any precision.
    rng = np.random.default_rng(2)
    values = rng.chisquare(3, size=100)
    values[1:11] = values[0]
    exact = permutation_pvalue(values)
    assert exact == counted(values)
    for dtype in (np.float32, np.float64):
        noisy = (values * (1 + 1e-7 * rng.normal(size=100))).astype(dtype)
        assert permutation_pvalue(noisy) == exact
    # The same for statistics that hardly vary beside their size.
    assert permutation_pvalue(1e3 + values.astype(np.float32)) == exact


def test_tolerance_is_far_below_what_matters():
    values = np.random.default_rng(3).normal(size=(1000, 5)) * 7
    assert (tie_tolerance(values) < 0.001 * 7).all()
    assert (tie_tolerance(values) > 0).all()


def test_constant_statistics_say_nothing():
    assert permutation_pvalue(np.full(50, 3.3)) == 1.0
    assert (step_down_pvalues(np.zeros((10, 3))) == 1.0).all()


# ---------------------------------------------------------------- step-down maximum


def stepped_down(scores):
    """Westfall and Young's recipe, hypothesis by hypothesis."""
    order = np.argsort(-scores[0], kind="stable")
    adjusted, last = np.empty(scores.shape[1]), 0.0
    for place, j in enumerate(order):
        rest = order[place:]
        last = max(last, (1 + sum(row[rest].max() >= scores[0, j] for row in scores[1:])) / len(scores))
        adjusted[j] = last
    return adjusted


@pytest.mark.parametrize("seed", range(3))
def test_step_down_by_its_definition(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    scores = rng.exponential(size=(60, 9)).round(2 if seed else 9)
    scores[0, :3] += 4
    np.testing.assert_allclose(step_down_pvalues(scores), stepped_down(scores))
    offsets = rng.exponential(size=9)
    np.testing.assert_allclose(step_down_pvalues(scores, offsets), stepped_down(scores - offsets))
    monkeypatch.setattr("princdiff.labellings.pvalues._BLOCK", 20)
    np.testing.assert_allclose(step_down_pvalues(scores), stepped_down(scores))


def test_step_down_of_one_hypothesis_is_its_pvalue():
    scores = np.random.default_rng(4).exponential(size=(200, 1))
    assert step_down_pvalues(scores)[0] == permutation_pvalue(scores[:, 0])
    assert len(step_down_pvalues(np.zeros((5, 0)))) == 0


def test_step_down_holds_its_level_beside_strong_differences():
    rng = np.random.default_rng(5)
    n_sets, false = 600, 0
    for _ in range(n_sets):
        scores = rng.normal(size=(20, 1)) + rng.normal(size=(20, 6))
        scores[0, :2] += 50
        adjusted = step_down_pvalues(scores)
        assert (adjusted[:2] == 1 / 20).all()
        false += adjusted[2:].min() <= 0.1 + 1e-12
    low, high = stats.binom.interval(0.999, n_sets, 0.1)
    assert low <= false <= high


# ---------------------------------------------------------------- other adjustments, Monte Carlo error


def test_holm_against_its_definition():
    rng = np.random.default_rng(0)
    for _ in range(20):
        values = rng.random(6) ** 3
        expected = np.empty(6)
        order = np.argsort(values)
        for rank, place in enumerate(order):
            expected[place] = min(1, max((6 - r) * values[order[r]] for r in range(rank + 1)))
        np.testing.assert_allclose(adjusted_pvalues(values), expected)
    np.testing.assert_array_equal(adjusted_pvalues([0.02, np.nan, 0.5]), [0.04, np.nan, 0.5])


def test_adjustments():
    pvalues = np.array([0.01, np.nan, 0.04, 0.03, 0.9])
    known = [0.01, 0.04, 0.03, 0.9]
    by_hand = [0.04, 0.09, 0.09, 0.9]
    np.testing.assert_allclose(adjusted_pvalues(pvalues)[[0, 2, 3, 4]], by_hand)
    assert np.isnan(adjusted_pvalues(pvalues)[1])
    found = adjusted_pvalues(pvalues, "benjamini-hochberg")[[0, 2, 3, 4]]
    np.testing.assert_allclose(found, stats.false_discovery_control(known))
    np.testing.assert_array_equal(adjusted_pvalues(known, "none"), known)
    assert (adjusted_pvalues([0.6, 0.7]) <= 1).all()


@pytest.mark.parametrize("reached", [0, 1, 7, 49, 198, 199])
def test_monte_carlo_error_is_that_of_a_share(reached):
    low, high = monte_carlo_interval((1 + reached) / 200, 200, coverage=0.95)
    expected = stats.binomtest(reached, 199).proportion_ci(0.95, method="exact")
    assert (low, high) == pytest.approx((expected.low, expected.high))


@pytest.mark.parametrize("pvalue", [0.02, 0.2, 0.6])
def test_monte_carlo_error_with_fitted_scores_is_that_of_fewer_labellings(pvalue):
    plain = monte_carlo_interval(pvalue, 10_000)
    wide = monte_carlo_interval(pvalue, 10_000, excess=SCORED)
    ratio = (wide.high - wide.low) / (plain.high - plain.low)
    assert ratio == pytest.approx(np.sqrt(1 + SCORED * pvalue * (1 - pvalue)), rel=0.05)
    assert wide.low < pvalue < wide.high
    # Nothing is fitted that could hide a statistic that no labelling reaches.
    assert monte_carlo_interval(1e-4, 10_000, excess=SCORED).low == 0.0


def test_what_cannot_be_compared_makes_no_small_pvalue():
    nothing = np.full(20, np.nan)
    assert permutation_pvalue(nothing) == 1.0
    assert permutation_pvalue(np.r_[np.nan, np.arange(19.0)]) == 1.0
    assert permutation_pvalue(np.r_[5.0, np.nan, np.zeros(18)]) == 1.0
    scores = np.column_stack([np.arange(20.0)[::-1], nothing])
    assert step_down_pvalues(scores)[1] == 1.0


def test_no_other_module_counts_by_itself():
    root = Path(princdiff.__file__).parent
    share = re.compile(r"\(1 \+ [^)]*\)+ / (\(1 \+|len\()|>= [^)]*\)\.mean\(")
    found = []
    for path in sorted(root.rglob("*.py")):
        if path.name == "pvalues.py":
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        code = [ast.unparse(node) for node in ast.walk(tree) if isinstance(node, (ast.Return, ast.Assign))]
        found += [f"{path.relative_to(root)}: {line}" for line in code if share.search(line)]
    assert found == []
