"""Compiled products with sparse rows against dense ones in double precision."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from princdiff.data.products import Scaling
from princdiff.kernels import engine
from princdiff.kernels.sparse import SparseProducts

pytestmark = pytest.mark.skipif(
    engine().library is None, reason=f"needs the compiled library: {engine().reason}"
)
both_precisions = pytest.mark.parametrize("dtype", [np.float32, np.float64])


def assert_products(matrix, directions, slopes, *, transpose):
    products = SparseProducts(matrix, transpose=transpose)
    assert products.compiled == (min(matrix.shape) > 0)
    exact = matrix.toarray().astype(np.float64)
    # Every sum is exact up to the rounding of its terms, which may cancel.
    eps = np.finfo(matrix.dtype).eps
    tiny = float(np.finfo(matrix.dtype).smallest_subnormal)
    for found, left, right in (
        (products.project(directions), directions, exact.T),
        (products.backproject(slopes), slopes, exact),
    ):
        assert found.dtype == matrix.dtype
        size = np.abs(left).astype(np.float64) @ np.abs(right)
        tolerance = 2 * eps * len(right) * size + tiny * (len(right) + 1)
        assert (np.abs(found - left.astype(np.float64) @ right) <= tolerance).all()


@st.composite
def problems(draw):
    """Odd shapes, empty rows and features, entries of all sizes, stored zeros, few or many columns."""
    n_rows, n_features = draw(st.integers(0, 40)), draw(st.integers(0, 40))
    n_columns = draw(st.sampled_from([0, 1, 2, 7, 8, 9, 15, 16, 17, 33]))
    dtype = draw(st.sampled_from([np.float32, np.float64]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    values = rng.normal(size=(n_rows, n_features)) * 10.0 ** draw(st.sampled_from([0, -40, 12]))
    values[rng.random(values.shape) < draw(st.floats(0, 1))] = 0.0
    matrix = sp.csr_matrix(values.astype(dtype))
    if draw(st.booleans()) and matrix.nnz:
        matrix.data[rng.integers(matrix.nnz)] = draw(st.sampled_from([0.0, -0.0]))
    directions = rng.normal(size=(n_columns, n_features)).astype(dtype)
    directions[:, rng.random(n_features) < draw(st.sampled_from([0.0, 0.5, 0.9, 1.0]))] = 0.0
    slopes = rng.normal(size=(n_columns, n_rows)).astype(dtype)
    slopes[:, rng.random(n_rows) < draw(st.sampled_from([0.0, 0.9]))] = -0.0
    return matrix, directions, slopes, draw(st.booleans())


@settings(max_examples=150, deadline=None)
@given(problems())
def test_agrees_with_dense_products(problem):
    *arrays, transpose = problem
    assert_products(*arrays, transpose=transpose)


@both_precisions
@pytest.mark.parametrize("transpose", [False, True])
def test_many_rows_of_which_some_are_long(dtype, transpose):
    rng = np.random.default_rng(0)
    matrix = sp.random(3001, 517, 0.05, format="csr", dtype=dtype, random_state=rng)
    assert_products(
        matrix,
        rng.normal(size=(11, 517)).astype(dtype),
        rng.normal(size=(11, 3001)).astype(dtype),
        transpose=transpose,
    )


@both_precisions
@pytest.mark.parametrize("transpose", [False, True])
def test_a_column_does_not_know_its_neighbours(dtype, transpose):
    """Whatever chunk it is in: results do not depend on the number of threads or columns."""
    rng = np.random.default_rng(1)
    matrix = sp.random(90, 70, 0.2, format="csr", dtype=dtype, random_state=rng)
    products = SparseProducts(matrix, transpose=transpose)
    directions = rng.normal(size=(37, 70)).astype(dtype)
    slopes = rng.normal(size=(37, 90)).astype(dtype)
    projected, brought_back = products.project(directions), products.backproject(slopes)
    for chunk in (slice(0, 1), slice(3, 12), slice(20, 37), slice(1, 36)):
        np.testing.assert_array_equal(products.project(directions[chunk]), projected[chunk])
        np.testing.assert_array_equal(products.backproject(slopes[chunk]), brought_back[chunk])


def test_long_indices_are_left_to_scipy():
    rng = np.random.default_rng(2)
    matrix = sp.random(9, 7, 0.5, format="csr", dtype=np.float32, random_state=rng)
    plain = SparseProducts(matrix).project(np.eye(7, dtype=np.float32))
    long = matrix.copy()
    long.indices, long.indptr = long.indices.astype(np.int64), long.indptr.astype(np.int64)
    products = SparseProducts(long)
    assert not products.compiled
    np.testing.assert_allclose(products.project(np.eye(7, dtype=np.float32)), plain)
    np.testing.assert_allclose(products.backproject(np.eye(9, dtype=np.float32)), matrix.toarray())


@both_precisions
def test_a_scaled_block_is_the_same_dense_or_sparse_kept_or_passing(dtype):
    rng = np.random.default_rng(3)
    values = rng.poisson(0.5, size=(60, 21)) * rng.uniform(1, 3, size=21)
    scaling = Scaling(values.mean(axis=0), 1 / values.std(axis=0), np.dtype(dtype))
    dense = scaling.apply(values)
    directions = rng.normal(size=(5, 21)).astype(dtype)
    directions[:, 4:] *= rng.random(17) < 0.1
    slopes = rng.normal(size=(5, 60)).astype(dtype)
    tolerance = {"rtol": 0, "atol": 200 * np.finfo(dtype).eps}
    for kept in (False, True):
        block = scaling.apply(sp.csr_matrix(values), kept=kept)
        np.testing.assert_allclose(block.project(directions), dense.project(directions), **tolerance)
        np.testing.assert_allclose(block.backproject(slopes), dense.backproject(slopes), **tolerance)
        np.testing.assert_allclose(
            block.backproject_squares(slopes),
            dense.backproject_squares(slopes),
            rtol=0,
            atol=2000 * np.finfo(dtype).eps,
        )
        features = np.array([3, 0, 20])
        np.testing.assert_allclose(
            block.feature_columns(features), dense.feature_columns(features), **tolerance
        )
