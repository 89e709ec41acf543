"""A sparse table in a file: what it gives is what the matrix gives, and its zeros are not stored."""

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp

from princdiff import open_rows
from princdiff.data import stored_sparse
from princdiff.data.row_keys import row_keys
from princdiff.data.samples import Samples
from princdiff.data.scratch import ScratchFile
from princdiff.data.stored_columns import Feature, StoredColumn, StoredColumns
from princdiff.data.stored_sparse import StoredSparseColumn, sparse_block, stored_columns_of
from princdiff.tables import large_tables

N_ROWS, N_FEATURES, MEMORY = 500, 30, 40_000


@pytest.fixture(params=[np.float32, np.float64])
def both(request, monkeypatch):
    """A matrix, and the same in a file, in pieces of fewer rows than it came in."""
    monkeypatch.setattr(stored_sparse, "PIECE", 64)
    matrix = sp.csr_matrix(sp.random(N_ROWS, N_FEATURES, density=0.1, random_state=0, dtype=request.param))
    blocks = [(slice(start, start + 150), matrix[start : start + 150]) for start in range(0, N_ROWS, 150)]
    columns = stored_columns_of(blocks, N_ROWS, N_FEATURES, matrix.dtype)
    return matrix, StoredColumns([Feature(column) for column in columns], MEMORY, matrix.dtype)


def test_parts_are_those_of_the_matrix(both):
    matrix, stored = both
    dense = matrix.toarray()
    assert stored.sparse
    columns = [feature.column for feature in stored.features]
    for start, stop in ((0, N_ROWS), (10, 77), (150, 300), (N_ROWS - 1, N_ROWS), (63, 65)):
        np.testing.assert_array_equal(stored[start:stop], dense[start:stop])
        np.testing.assert_array_equal(sparse_block(columns, start, stop).toarray(), dense[start:stop])
    np.testing.assert_array_equal(stored[:, 3], dense[:, 3])
    blocks = list(stored.blocks())
    assert len(blocks) > 1 and all(sp.issparse(block) for _, block in blocks)
    np.testing.assert_array_equal(sp.vstack([block for _, block in blocks]).toarray(), dense)
    assert sum(column.n_entries for column in columns) == matrix.nnz


def test_rows_in_any_order_are_sparse_or_stored_as_they_fit(both, monkeypatch):
    monkeypatch.setattr(stored_sparse, "_MOST_READ", 4)
    matrix, stored = both
    rng = np.random.default_rng(0)
    few = stored.largest_sample
    assert few < N_ROWS
    for index in (rng.permutation(N_ROWS)[:few], rng.integers(N_ROWS, size=few), np.arange(few)):
        taken = stored.take(index)
        assert sp.issparse(taken)
        np.testing.assert_array_equal(taken.toarray(), matrix[index].toarray())
    order = rng.permutation(N_ROWS)
    moved = stored[order]
    assert isinstance(moved, StoredColumns) and moved.sparse
    np.testing.assert_array_equal(moved.block(0, N_ROWS), matrix[order].toarray())
    # Its pieces are as quick to read as those of the table it was made from.
    columns = [feature.column for feature in moved.features]
    for start, stop in pairwise(columns[0].starts.tolist()):
        assert stored_sparse._whole_piece(columns, start, stop) is not None
        assert stored_sparse._whole_piece(columns[1::2], start, stop) is not None
        assert stored_sparse._whole_piece(columns[::-1], start, stop) is None
        assert stored_sparse._whole_piece([columns[0], columns[-1]], start, stop) is None
        for some in (columns[1::2], columns[3:], columns[::-1], [columns[0], columns[-1]]):
            expected = np.column_stack([column.read(start, stop) for column in some])
            np.testing.assert_array_equal(sparse_block(some, start, stop).toarray(), expected)
    for rows, block in moved.blocks_by_features():
        np.testing.assert_array_equal(block.toarray(), matrix[order][rows].toarray())


@pytest.mark.parametrize("weighted", [False, True])
def test_products_and_moments_are_those_of_the_matrix(both, weighted):
    matrix, stored = both
    rng = np.random.default_rng(1)
    weights = rng.random(N_ROWS) + 0.1 if weighted else None
    ours = Samples(stored, "pooled", weights=weights, dtype=np.float64)
    plain = Samples(matrix, "pooled", weights=weights, dtype=np.float64)
    near = {"rtol": 1e-10, "atol": 1e-10}
    np.testing.assert_allclose(ours.deviation, plain.deviation, **near)
    directions = rng.normal(size=(3, N_FEATURES))
    few = directions * (np.arange(N_FEATURES) < 5)
    for own in (directions, few, 0 * few):
        np.testing.assert_allclose(ours.project(own), plain.project(own), **near)
    slopes = rng.normal(size=(3, N_ROWS))
    np.testing.assert_allclose(ours.backproject(slopes), plain.backproject(slopes), **near)
    squares = (samples._products.backproject_squares(slopes) for samples in (ours, plain))
    np.testing.assert_allclose(*squares, **near)
    some = np.array([4, 0, 7])
    np.testing.assert_allclose(ours.feature_columns(some), plain.feature_columns(some), **near)
    np.testing.assert_allclose(ours.covariance(), plain.covariance(), **near)
    np.testing.assert_array_equal(row_keys(stored, weights), row_keys(matrix, weights))


def test_columns_stored_one_after_the_other_are_not_read_as_one_piece():
    dense = np.random.default_rng(0).integers(0, 3, size=(40, 3)).astype(np.float32)
    file = ScratchFile()
    columns = [StoredSparseColumn.of(file, line) for line in dense.T]
    assert stored_sparse._whole_piece(columns, 0, 40) is None
    np.testing.assert_array_equal(sparse_block(columns, 0, 40).toarray(), dense)
    beside = stored_sparse.side_by_side(columns)
    assert stored_sparse._whole_piece(beside, 0, 40) is not None
    np.testing.assert_array_equal(sparse_block(beside, 0, 40).toarray(), dense)
    mixed = [beside[0], columns[1], beside[2]]
    np.testing.assert_array_equal(sparse_block(mixed, 0, 40).toarray(), dense)


def test_repeated_entries_of_a_row_are_added_up():
    twice = sp.csr_matrix((np.ones(3), np.array([1, 1, 0]), np.array([0, 2, 3])), shape=(2, 2))
    columns = stored_columns_of([(slice(0, 2), twice)], 2, 2, np.dtype(np.float64))
    np.testing.assert_array_equal(sparse_block(columns, 0, 2).toarray(), [[0, 2], [1, 0]])


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.float32])
def test_blocks_are_whole_pieces_whatever_the_file_holds(dtype, tmp_path):
    anndata = pytest.importorskip("anndata")
    counts = sp.random(3000, 200, density=0.05, random_state=0, format="csr")
    counts.data = np.ceil(9 * counts.data)
    cells = anndata.AnnData(counts.astype(dtype))
    cells.write_h5ad(tmp_path / "cells.h5ad")
    rows = open_rows(tmp_path / "cells.h5ad", memory=1_300_000)
    stored = large_tables._stored(rows, 1_300_000).values
    columns = [feature.column for feature in stored.features]
    blocks = list(stored.blocks_by_features())
    assert len(blocks) > 1
    assert all(stored_sparse._whole_piece(columns, part.start, part.stop) for part, _ in blocks)
    np.testing.assert_array_equal(sp.vstack([block for _, block in blocks]).toarray(), counts.toarray())
    index = np.array([2999, 5, 1200, 5])
    np.testing.assert_array_equal(stored.take(index).toarray(), counts[index].toarray())


def test_a_table_with_a_dense_column_is_not_sparse():
    file = ScratchFile()
    values = np.array([0.0, 2.0, 0.0])
    columns = [StoredSparseColumn.of(file, values), StoredColumn.of(file, values)]
    stored = StoredColumns([Feature(column) for column in columns], MEMORY)
    assert not stored.sparse
    np.testing.assert_array_equal(stored.block(0, 3), np.column_stack([values, values]))


def test_a_column_of_zeros_has_no_entries():
    column = StoredSparseColumn.of(ScratchFile(), np.zeros(5, np.float32))
    assert column.n_entries == 0 and len(column.entries()[0]) == 0
    np.testing.assert_array_equal(column.read(), np.zeros(5))
