"""Nothing that users are told depends on the order of the rows or on how they are stored."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy import stats

from princdiff import PDA, SPARDA, divergences, select_features
from princdiff.data.labels import Labels
from princdiff.data.samples import Samples
from princdiff.solvers.solve import evaluate
from princdiff.solvers.sparsity import normalised

pytestmark = pytest.mark.whole

Y = np.repeat(["a", "b"], [70, 90])


def poisson_table(rng):
    values = rng.poisson(1.0, (160, 12)).astype(float)
    values[70:, 2] += rng.poisson(0.6, 90)
    values[70:, 7] = values[70:, 3] + rng.poisson(0.3, 90)
    return values


def yes_no_columns(rng):
    values = (rng.random((160, 8)) < rng.uniform(0.1, 0.6, 8)).astype(float)
    values[70:, 1] = rng.random(90) < 0.7
    return values


def sorted_rows(rng):
    values = (rng.random((160, 8)) < 0.4).astype(float)
    values[:, 0] = np.arange(160)
    return values


TABLES = [poisson_table, yes_no_columns, sorted_rows]
every_table = pytest.mark.parametrize("table", TABLES, ids=lambda table: table.__name__)


def fitted(n_features, values, y):
    options = {"scale": "pooled", "certify": False, "random_state": 0}
    kind = PDA(**options) if n_features is None else SPARDA(n_features, **options)
    return kind.fit(values, y)


def assert_same_fit(second, first, n_features):
    if n_features is None:
        # Of many optima within 1e-4 of each other the order of summation may pick another.
        np.testing.assert_allclose(second.divergences_, first.divergences_, rtol=1e-4)
        np.testing.assert_allclose(second.shares_, first.shares_, atol=0.02)
        return
    np.testing.assert_allclose(second.divergences_, first.divergences_, rtol=1e-8)
    np.testing.assert_allclose(second.components_, first.components_, atol=1e-6)
    np.testing.assert_allclose(second.shares_, first.shares_, atol=1e-6)


@every_table
@pytest.mark.parametrize("n_features", [1, 2, 4, None])
@pytest.mark.parametrize("seed", range(3))
def test_shuffled_rows_give_the_same_fit(table, n_features, seed):
    rng = np.random.default_rng(seed)
    values = table(rng)
    order = rng.permutation(len(values))
    assert_same_fit(fitted(n_features, values[order], Y[order]), fitted(n_features, values, Y), n_features)


@every_table
@pytest.mark.parametrize("n_features", [1, 2, 4, None])
@pytest.mark.parametrize("seed", range(3))
def test_sparse_rows_give_the_same_fit(table, n_features, seed):
    values = table(np.random.default_rng(seed))
    assert_same_fit(fitted(n_features, sp.csr_matrix(values), Y), fitted(n_features, values, Y), n_features)


@every_table
@pytest.mark.parametrize("name", ["wasserstein2", "wasserstein1", "energy", "margin"])
@pytest.mark.parametrize("weighted", [False, True])
def test_what_is_said_of_a_direction_knows_neither_order_nor_storage(table, name, weighted):
    rng = np.random.default_rng(5)
    values = table(rng)
    codes = np.repeat([0, 1], [70, 90])
    weights = rng.integers(1, 4, len(values)) / 2.0 if weighted else None
    divergence = divergences.get(name)
    # Ties of every kind: on an axis, of like features with like weights, by content alone.
    directions = np.zeros((4, values.shape[1]))
    directions[0, 1] = 1.0
    directions[1, 1:4] = [1.0, -1.0, 1.0]
    directions[2, :] = 1.0
    directions[3] = rng.normal(size=values.shape[1])
    directions = normalised(directions)
    order = rng.permutation(len(values))

    def gradients(rows, codes, weights):
        samples = Samples(rows, "pooled", weights=weights, dtype=np.float64)
        labels = Labels(codes, 2, weights=weights)
        return [np.append(*evaluate(samples, labels, divergence, direction)) for direction in directions]

    plain = gradients(values, codes, weights)
    shuffled = gradients(values[order], codes[order], None if weights is None else weights[order])
    sparse = gradients(sp.csr_matrix(values), codes, weights)
    np.testing.assert_allclose(shuffled, plain, atol=1e-12)
    np.testing.assert_allclose(sparse, plain, atol=1e-12)


@every_table
@pytest.mark.parametrize("design", [None, "blocks", "weights", "covariates"])
def test_shuffled_rows_give_the_same_selection(table, design):
    rng = np.random.default_rng(7)
    values = table(rng)
    further = {
        "blocks": {"blocks": np.arange(160) % 40},
        "weights": {"sample_weight": rng.integers(1, 4, 160).astype(float)},
        "covariates": {"covariates": rng.normal(size=160)},
    }.get(design, {})
    order = rng.permutation(160)

    def selected(rows):
        options = {name: given[rows] for name, given in further.items()}
        return select_features(values[rows], Y[rows], n_permutations=99, random_state=0, **options)

    plain, shuffled = selected(np.arange(160)), selected(order)
    for part in ("table", "columns", "relations"):
        pd.testing.assert_frame_equal(getattr(shuffled, part), getattr(plain, part), check_exact=True)


@pytest.mark.parametrize("flags_only", [False, True])
def test_selection_names_nothing_where_labels_are_random(flags_only):
    """Rows sorted by one column, or flags that tie in most rows, labels at random."""
    smallest = []
    for seed in range(30):
        rng = np.random.default_rng(seed)
        values = (rng.random((200, 8)) < rng.uniform(0.1, 0.6, 8)).astype(float)
        if flags_only:
            values = values[np.lexsort(values.T)]
        else:
            values[:, 7] = np.sort(rng.normal(size=200))
        labels = rng.permutation(np.repeat([0, 1], 100))
        found = select_features(values, labels, n_permutations=99, random_state=0)
        smallest.append(min(found.table["pvalue_adj"].min(), found.relations["pvalue_adj"].min()))
    # The smallest adjusted p-value is uniform or larger: one in twenty, one in four, half of them.
    for level in (0.05, 0.25, 0.5):
        assert np.mean(np.array(smallest) <= level) <= stats.binom.ppf(0.99, 30, level) / 30
