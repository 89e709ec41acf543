"""Sums of squares of sparse columns are those of the same columns with their zeros."""

import numpy as np
import pytest
import scipy.sparse as sp

from princdiff.labellings.schemes import Scheme
from princdiff.statistics import column_cells, sparse_columns
from princdiff.statistics.alone import alone_scores
from princdiff.statistics.contrasts import Contrasts, Relabellings
from princdiff.statistics.feature_columns import MOST_VALUES, RankFunctions, feature_columns
from princdiff.statistics.sparse_columns import SparseColumn, SparseContrasts


@pytest.fixture
def rows():
    """Counts, numbers of both signs, a flag, few values without zeros, stored zeros, a constant."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(403, 6)) * (rng.random((403, 6)) < 0.3)
    X[:, 0] = rng.poisson(0.4, size=403)
    X[:, 2] = rng.random(403) < 0.1
    X[:, 3] = rng.integers(1, 5, size=403)
    X[:, 5] = 0.0
    matrix = sp.csc_matrix(X)
    matrix.data[matrix.indptr[4] : matrix.indptr[4] + 5] = 0.0
    return matrix


@pytest.fixture
def labellings():
    return Relabellings(Scheme(np.repeat([0, 1], [250, 153]).astype(np.uint8), 49, seed=3), 2)


def test_distinct_values_are_those_of_the_column(rows):
    for feature in range(rows.shape[1]):
        column, dense = SparseColumn.of(rows, feature), rows[:, [feature]].toarray()[:, 0]
        values, counts = np.unique(dense, return_counts=True)
        np.testing.assert_array_equal(column.values, values)
        np.testing.assert_array_equal(column.counts, counts)
        np.testing.assert_array_equal(column.values[column.place], dense[column.rows])


@pytest.mark.parametrize("together", [50, 4096])
def test_sums_of_squares_are_those_with_the_zeros(rows, labellings, together, monkeypatch):
    monkeypatch.setattr(sparse_columns, "_TOGETHER", together)
    found, contrasts = SparseContrasts(rows, labellings), Contrasts(labellings)
    ranks = RankFunctions(rows.shape[0])
    for feature in range(rows.shape[1]):
        dense = rows[:, [feature]].toarray()[:, 0]
        few = len(np.unique(dense)) <= MOST_VALUES
        between, shares = found.features(np.array([feature]), few)
        expected = contrasts.between(feature_columns(dense, ranks, few))
        np.testing.assert_allclose(between[:, 0], expected, rtol=2e-4, atol=2e-5)
        if few:
            counts = np.unique(dense, return_counts=True)[1]
            np.testing.assert_allclose(shares[0, : len(counts)], counts / len(dense))
    between, shares = found.flags(np.array([2, 5]))
    np.testing.assert_allclose(between, contrasts.between(rows[:, [2, 5]].toarray()), rtol=2e-4, atol=2e-5)
    np.testing.assert_allclose(shares, [rows[:, [2]].mean(), 0.0])


def test_scores_are_those_of_dense_rows(rows, labellings, monkeypatch):
    dense = alone_scores(rows.toarray(), labellings)
    moments = column_cells.moment_scores(rows.toarray(), Contrasts(labellings))
    monkeypatch.setattr(sparse_columns, "SPARSE_ROWS", 100)
    sparse = alone_scores(sp.csr_matrix(rows), labellings)
    np.testing.assert_allclose(sparse.units, dense.units, rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(sparse.observed_units, dense.observed_units, rtol=1e-3, atol=1e-3)
    for own, expected in zip(column_cells.moment_scores(rows, Contrasts(labellings)), moments, strict=True):
        np.testing.assert_allclose(own, expected, rtol=1e-3, atol=1e-3)


def test_what_travels_with_the_rows_needs_them_all(rows, labellings, monkeypatch):
    assert SparseContrasts.of(rows, labellings) is None
    monkeypatch.setattr(sparse_columns, "SPARSE_ROWS", 100)
    assert SparseContrasts.of(rows, labellings) is not None
    assert SparseContrasts.of(rows.toarray(), labellings) is None
    weighted = Relabellings(labellings.scheme, 2, weights=np.ones(403))
    assert SparseContrasts.of(rows, weighted) is None
