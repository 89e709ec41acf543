"""Tables of distinct values say what the columns themselves do, sparse or dense."""

from itertools import islice

import numpy as np
import pytest
import scipy.sparse as sp

from princdiff.labellings.schemes import Scheme
from princdiff.statistics import column_batches, column_cells
from princdiff.statistics.alone import alone_scores
from princdiff.statistics.contrasts import Contrasts, Relabellings
from princdiff.statistics.feature_columns import MOST_VALUES
from princdiff.statistics.value_tables import Entries, ValueTables, feature_lines


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


@pytest.mark.parametrize("as_stored", [lambda rows: rows, lambda rows: rows.toarray()])
def test_distinct_values_are_those_of_the_columns(rows, as_stored):
    entries = Entries.of(as_stored(rows))
    tables, dense = entries.tables, rows.toarray()
    assert tables.n_rows == 403 and tables.n_columns == 6
    for column in range(6):
        values, counts = np.unique(dense[:, column], return_counts=True)
        own = tables.owner == column
        np.testing.assert_array_equal(tables.values[own], values)
        np.testing.assert_array_equal(tables.counts[own], counts)
    np.testing.assert_array_equal(
        entries.spread_out(tables.values[:, None])[:, :, 0], dense.astype(np.float32)
    )
    some = np.array([0, 3, 4])
    taken = entries.take(some)
    np.testing.assert_array_equal(taken.tables.values, np.concatenate([np.unique(dense[:, j]) for j in some]))
    np.testing.assert_array_equal(
        taken.spread_out(taken.tables.values[:, None])[:, :, 0], dense[:, some].astype(np.float32)
    )


def test_functions_of_values_are_the_columns_that_are_looked_at(rows):
    dense = rows.toarray()
    entries = Entries.of(rows)
    for few in (False, True):
        columns = [j for j in range(6) if not few or len(np.unique(dense[:, j])) <= MOST_VALUES]
        taken = entries.take(np.array(columns))
        found = taken.spread_out(taken.tables.lines(few))
        for place, column in enumerate(columns):
            expected = np.column_stack(list(feature_lines(dense[:, column], None, few)))
            np.testing.assert_allclose(found[:, place], expected, rtol=1e-6, atol=1e-6)


def test_sums_are_those_of_the_columns(rows, labellings):
    contrasts, entries = Contrasts(labellings), Entries.of(rows)
    table, scales = entries.tables.standardised(entries.tables.moments())
    sums = contrasts.sums_of_table(entries, table, scales)
    lines = [line for column in rows.toarray().T for line in islice(feature_lines(column), 2)]
    expected = contrasts.sums_of_lines(lines, 12)
    np.testing.assert_allclose(sums.sums[0], expected.sums[0], rtol=1e-4, atol=1e-3)
    np.testing.assert_allclose(sums.powers, expected.powers, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(sums.scales, expected.scales)


def test_values_that_are_joined_keep_mean_and_ends():
    rng = np.random.default_rng(1)
    columns = [rng.standard_t(2, size=5000), rng.integers(0, 5, size=5000).astype(float)]
    tables = ValueTables.of(columns)
    joined = tables.joined()
    assert joined.sizes[1] == 5 and 12 < joined.sizes[0] < 100
    np.testing.assert_allclose(joined.added(joined.counts * joined.values), [own.sum() for own in columns])
    np.testing.assert_array_equal(joined.values[:5], np.sort(columns[0])[:5])
    assert joined.n_rows == 5000


def test_scores_are_those_of_dense_rows(rows, labellings, monkeypatch):
    dense = alone_scores(rows.toarray(), labellings)
    moments = column_cells.moment_scores(rows.toarray(), Contrasts(labellings))
    monkeypatch.setattr(column_batches, "SPARSE_ROWS", 100)
    sparse = alone_scores(sp.csr_matrix(rows), labellings)
    np.testing.assert_allclose(sparse.units, dense.units, rtol=1e-4, atol=1e-4)
    for own, expected in zip(column_cells.moment_scores(rows, Contrasts(labellings)), moments, strict=True):
        np.testing.assert_allclose(own, expected, rtol=1e-4, atol=1e-4)


def test_weights_of_one_are_no_weights(rows, labellings):
    # Weighted rows are not tabulated: the same scores come another way, but for sums on a lattice.
    columns = rows.toarray()[:, [1, 4]]
    weighted = Relabellings(labellings.scheme, 2, weights=np.ones(403))
    plain, other = alone_scores(columns, labellings), alone_scores(columns, weighted)
    np.testing.assert_allclose(
        other.observed_statistics[:, [0, 1, 3, 4]], plain.observed_statistics[:, [0, 1, 3, 4]], atol=0.05
    )


def test_numbers_of_any_size_have_the_same_scores():
    rng = np.random.default_rng(5)
    rows = np.column_stack(
        [rng.normal(size=300), rng.integers(0, 5, size=300), rng.random(300) < 0.2]
    ).astype(float)
    labellings = Relabellings(Scheme((np.arange(300) % 2).astype(np.uint8), 19, seed=0), 2)
    plain = alone_scores(rows, labellings)
    for factor in (1e-300, 1e300):
        np.testing.assert_allclose(
            alone_scores(rows * factor, labellings).units, plain.units, rtol=1e-4, atol=1e-4
        )
