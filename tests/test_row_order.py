"""Nothing that users are told depends on the order of the rows or on how they are stored."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from princdiff import PDA, SPARDA

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


@every_table
@pytest.mark.parametrize("n_features", [1, 2, 4, None])
@pytest.mark.parametrize("seed", range(4))
def test_shuffled_rows_give_the_same_fit(table, n_features, seed):
    rng = np.random.default_rng(seed)
    values = table(rng)
    first = fitted(n_features, values, Y)
    order = rng.permutation(len(values))
    second = fitted(n_features, values[order], Y[order])
    np.testing.assert_allclose(second.divergences_, first.divergences_, rtol=1e-7)
    np.testing.assert_allclose(second.components_, first.components_, atol=1e-5)
    np.testing.assert_allclose(second.shares_, first.shares_, atol=1e-5)


@every_table
@pytest.mark.parametrize("n_features", [1, 2, 4, None])
@pytest.mark.parametrize("seed", range(4))
def test_sparse_rows_give_the_same_fit(table, n_features, seed):
    values = table(np.random.default_rng(seed))
    first, second = fitted(n_features, values, Y), fitted(n_features, sp.csr_matrix(values), Y)
    np.testing.assert_allclose(second.divergences_, first.divergences_, rtol=1e-7)
    np.testing.assert_allclose(second.components_, first.components_, atol=1e-5)
    np.testing.assert_allclose(second.shares_, first.shares_, atol=1e-5)
