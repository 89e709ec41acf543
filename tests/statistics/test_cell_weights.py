from __future__ import annotations

import numpy as np
import pytest

from princdiff import permutation_test
from princdiff.data.problem import Problem
from princdiff.labellings.schemes import scheme_of
from princdiff.statistics.cell_weights import CellWeights, effective_features, heavy_tails
from princdiff.statistics.registry import STATISTICS
from princdiff.statistics.tested_rows import TestedRows


def sharing(n_rows, n_features, correlation, seed=0):
    """Normal features of equal correlation."""
    rng = np.random.default_rng(seed)
    own, shared = rng.normal(size=(n_rows, n_features)), rng.normal(size=(n_rows, 1))
    return np.sqrt(1 - correlation) * own + np.sqrt(correlation) * shared


def weights_of(problem, seed=0):
    rows = TestedRows(problem, scheme_of(problem, 19, seed), seed)
    found = [statistic(rows) for statistic in STATISTICS]
    return {cell.name: cell.weight for one in found if one is not None for cell in one.cells}


@pytest.mark.parametrize("correlation", [0.0, 0.1, 0.3, 0.7])
@pytest.mark.parametrize("n_rows", [300, 20_000])
def test_features_of_equal_correlation_count_as_the_closed_form_says(correlation, n_rows):
    # The sum of squared correlations, with those of ranks of normal features.
    n_features = 30
    of_ranks = 6 / np.pi * np.arcsin(correlation / 2)
    expected = n_features / (1 + (n_features - 1) * of_ranks**2)
    found = effective_features(sharing(n_rows, n_features, correlation))
    assert found == pytest.approx(expected, rel=0.25 if n_rows == 300 else 0.05)


@pytest.mark.parametrize(("n_rows", "n_features"), [(10, 60), (20, 400), (50, 400)])
def test_few_rows_of_independent_features_are_not_taken_for_correlated_ones(n_rows, n_features):
    # A covariance of 10 rows has 9 eigenvalues at most.
    counts = [effective_features(sharing(n_rows, n_features, 0.0, seed)) for seed in range(20)]
    assert np.mean(counts) > 0.85 * n_features


def test_count_does_not_depend_on_units_places_or_constants():
    rows = sharing(200, 6, 0.4)
    changed = np.column_stack([rows * 10.0 ** np.arange(-3, 3) + 7.0, np.full(200, 3.0), np.zeros(200)])
    assert effective_features(changed) == pytest.approx(effective_features(rows), rel=1e-6)


def test_one_row_far_out_does_not_decide():
    rows = sharing(200, 30, 0.0)
    rows[0] = 1e6
    assert effective_features(rows) > 25


def test_rows_without_weight_do_not_count():
    rows = np.concatenate([sharing(150, 12, 0.0), sharing(150, 12, 0.9)])
    weights = np.repeat([1.0, 1e-9], 150)
    assert effective_features(rows, weights) == pytest.approx(effective_features(rows[:150]), rel=1e-3)


def test_constants_and_copies():
    assert effective_features(np.ones((10, 4))) == 1.0
    column = np.arange(20.0)[:, None]
    assert effective_features(np.tile(column, 5)) == pytest.approx(1.0, abs=0.2)


def test_constant_columns_leave_the_weights_as_they_are():
    rows, y = sharing(120, 8, 0.2), np.arange(120) % 2
    padded = np.column_stack([rows, np.ones((120, 30))])
    first, second = (weights_of(Problem.from_arrays(table, y)) for table in (rows, padded))
    assert second == pytest.approx(first, rel=1e-5)


def test_features_that_vary_together_move_weight_to_what_others_leave_unexplained():
    y = np.arange(200) % 2
    alone, together = (
        weights_of(Problem.from_arrays(sharing(200, 20, correlation), y)) for correlation in (0.0, 0.8)
    )
    assert alone["energy"] > together["energy"] == 4.0
    assert together["one column given the others"] > alone["one column given the others"] >= 1.5
    assert together["whitened covariances"] > alone["whitened covariances"] >= 3.0
    unmoved = set(alone) - {"energy", "one column given the others", "whitened covariances"}
    assert all(alone[name] == together[name] for name in unmoved)


@pytest.mark.parametrize("n_rows", [120, 3000])
def test_weights_depend_on_neither_labels_nor_the_order_of_rows(n_rows):
    rng = np.random.default_rng(1)
    rows, y = sharing(n_rows, 5, 0.5), np.arange(n_rows) % 2
    order = rng.permutation(n_rows)
    first = permutation_test(rows, y, n_permutations=19, random_state=0).cells
    other = permutation_test(rows, rng.permutation(y), n_permutations=19, random_state=0).cells
    shuffled = permutation_test(rows[order], y[order], n_permutations=19, random_state=0).cells
    for found in (other, shuffled):
        assert [cell.weight for cell in found] == pytest.approx([cell.weight for cell in first], rel=1e-5)


def test_tables_with_flags_are_not_asked_how_their_features_vary_together():
    rows = np.column_stack([sharing(60, 3, 0.9), np.arange(60) % 3 == 0])
    problem = Problem.from_arrays(rows, np.arange(60) % 2)
    weights = TestedRows(problem, scheme_of(problem, 19, 0), 0).weights
    assert weights == CellWeights(only_numbers=False, n_features=4, n_independent=4.0, uneven=0.25)


def test_a_few_flags_among_many_numbers_leave_the_weights_of_numbers():
    rng = np.random.default_rng(5)
    numbers, flags = rng.normal(size=(80, 30)), rng.random((80, 2)) < 0.5
    weights = [
        TestedRows(problem, scheme_of(problem, 19, 0), 0).weights
        for rows in (
            numbers,
            np.column_stack([numbers, flags]),
            np.column_stack([flags, flags[:, :1] ^ flags[:, 1:]]),
        )
        for problem in [Problem.from_arrays(rows.astype(float), np.arange(80) % 2)]
    ]
    assert weights[0].column == pytest.approx(weights[1].column, rel=0.3) and weights[2].column == 120
    assert weights[0].named == 0.2 < weights[1].named < 0.21 and weights[2].named == 0.7


def test_columns_count_more_where_tails_are_heavy():
    rng = np.random.default_rng(4)
    draws = [rng.normal(size=(200, 8)), rng.exponential(size=(200, 8)), rng.standard_t(2, size=(200, 8))]
    shares = [heavy_tails(rows) for rows in draws]
    assert shares[0] == 0 and shares[1] < 0.4 and shares[2] > 0.7
    light, heavy, mixed = (
        CellWeights(numbers, 8, 8.0, share) for numbers, share in ((True, 0.0), (True, 1.0), (False, 1.0))
    )
    assert light.column < heavy.column == mixed.column
    assert light.pair < heavy.pair == mixed.pair
    assert light.named < heavy.named == mixed.named < 1
