from __future__ import annotations

import numpy as np
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.metrics import roc_auc_score

from princdiff.data.problem import Problem
from princdiff.statistics.sharpest import area_under_curve, oriented, sharpest_direction


@pytest.mark.parametrize("weighted", [False, True])
def test_area_under_the_curve(weighted):
    rng = np.random.default_rng(0)
    second = rng.random(80) < 0.4
    scores = np.round(rng.standard_normal(80) + second, 1)
    weights = rng.uniform(0.5, 2, size=80) if weighted else None
    expected = roc_auc_score(second, scores, sample_weight=weights)
    assert area_under_curve(scores, second, weights) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("scale", ["pooled", None])
def test_a_shift_in_a_proportion_is_found_as_discriminant_analysis_finds_it(scale):
    rng = np.random.default_rng(1)
    size, y = rng.normal(10, 3, size=200), np.repeat([0, 1], 100)
    rows = np.column_stack([size, 2 * size + y, 0.5 * size]) + 0.2 * rng.standard_normal((200, 3))
    problem = Problem.from_arrays(rows, y, scale=scale)
    weights = sharpest_direction(problem, 3, seed=0)
    fisher = rows @ LinearDiscriminantAnalysis().fit(rows, y).coef_[0]
    assert np.corrcoef(rows @ weights, fisher)[0, 1] > 0.97
    assert area_under_curve(rows @ weights, y == 1) > 0.95


def test_orientation():
    rng = np.random.default_rng(2)
    rows, y = rng.standard_normal((40, 2)), np.repeat([0, 1], 20)
    rows[20:, 0] += 3
    problem = Problem.from_arrays(rows, y)
    np.testing.assert_array_equal(oriented(np.array([-1.0, 0.0]), problem), [1.0, 0.0])
    np.testing.assert_array_equal(oriented(np.array([1.0, 0.0]), problem), [1.0, 0.0])
