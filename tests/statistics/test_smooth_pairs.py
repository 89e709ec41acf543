"""Pairs of columns that go together differently in bends and waves."""

from __future__ import annotations

import numpy as np
import pytest

from princdiff import permutation_test
from princdiff.labellings.schemes import Scheme
from princdiff.statistics.contrasts import Contrasts, Relabellings
from princdiff.statistics.pair_cells import cosines, degree_affordable, smooth_pairs
from princdiff.statistics.scores import gamma_scores


def design(n_rows, n_groups=2, **options):
    codes = (np.arange(n_rows) * n_groups // n_rows).astype(np.uint8)
    return Relabellings(Scheme(codes, 49, seed=0), n_groups, **options)


@pytest.mark.parametrize("n_groups", [2, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_pairs_against_loops(n_groups, weighted):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(36, 3))
    rows[:, 2] = np.round(rows[:, 2])
    weights = rng.uniform(0.5, 2, 36) if weighted else np.ones(36)
    own = design(36, n_groups, weights=weights if weighted else None)
    found = smooth_pairs(rows, Contrasts(own), 3, np.arange(3))
    labels = own.scheme.codes(np.arange(own.n_labellings))
    expected = np.zeros((own.n_labellings, 3))
    waves = cosines(rows, 3)
    for pair, (i, j) in enumerate(found.pairs):
        for k in range(3):
            for other in range(3):
                column = waves[k][:, i] * waves[other][:, j]
                centred = column - np.average(column, weights=weights)
                spread = (weights * centred**2).sum() / (weights.sum() * (1 - 1 / 36))
                for row, line in enumerate(labels):
                    for group in range(n_groups):
                        inside = line == group
                        mass = weights[inside].sum()
                        mean = np.average(centred[inside], weights=weights[inside])
                        expected[row, pair] += mass * mean**2 / spread / (3 + k + other)
    prior = 1 / (3.0 + np.add.outer(np.arange(3), np.arange(3)))
    skewness = np.sqrt(8 / (n_groups - 1)) * (prior**3).sum() / (prior**2).sum() ** 1.5
    np.testing.assert_allclose(found.scores, gamma_scores(expected, prior=skewness), atol=2e-3)


def test_monotone_changes_of_a_column_change_nothing():
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(60, 4))
    contrasts = Contrasts(design(60))
    found = smooth_pairs(rows, contrasts, 4, np.arange(4))
    np.testing.assert_array_equal(smooth_pairs(np.exp(rows), contrasts, 4, np.arange(4)).scores, found.scores)


def test_levels_of_one_column_are_no_pair():
    rows = np.random.default_rng(2).normal(size=(30, 3))
    found = smooth_pairs(rows, Contrasts(design(30)), 2, np.array([0, 0, 1]))
    assert found.pairs.tolist() == [[0, 2], [1, 2]]
    none = smooth_pairs(rows[:, :1], Contrasts(design(30)), 2, np.array([0]))
    assert none.scores.shape == (50, 0)


def test_degrees_fall_where_products_are_many():
    degrees = [degree_affordable(200, pairs, 1000) for pairs in (6, 100, 1000, 10_000)]
    assert degrees == sorted(degrees, reverse=True)
    assert degrees[0] == 6 and degrees[-1] == 0


def test_a_wave_that_moves_is_seen_by_the_default_test():
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(200, 4))
    rows[:, 0] = rng.uniform(0, 2 * np.pi, 200)
    rows[:, 1] = np.sin(2 * rows[:, 0] + np.repeat([0, np.pi / 2], 100)) + 0.4 * rows[:, 1]
    found = permutation_test(rows, np.repeat([0, 1], 100), n_permutations=99, random_state=0)
    assert found.pvalue <= 0.02 and found.leading.endswith("bends or waves")
