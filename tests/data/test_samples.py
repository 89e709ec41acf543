from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from oracles import scaled_rows
from princdiff.data.labels import HELD_OUT, Labels
from princdiff.data.samples import Samples

SCALES = [None, "pooled", "within"]
CONTAINERS = {
    "dense float64": lambda X: X,
    "dense float32": lambda X: X.astype(np.float32),
    "dense, column order": np.asfortranarray,
    "csr": sp.csr_matrix,
    "csr float32": lambda X: sp.csr_matrix(X.astype(np.float32)),
    "csr array": sp.csr_array,
    "csc": sp.csc_matrix,
}


def counts_like(rng, n_rows=40, n_features=7):
    """Mostly zeros, one constant column (3), one empty column (5), features of very different size."""
    X = rng.poisson(0.4, size=(n_rows, n_features)) * rng.gamma(2.0, size=(n_rows, n_features))
    X[:, 1] *= 100
    X[:, 2] = rng.normal(size=n_rows)
    X[:, 3] = 4.25
    X[:, 5] = 0.0
    # What single precision holds exactly, so that all containers hold the same numbers.
    return X.astype(np.float32).astype(np.float64)


def tolerance(dtype):
    return {"rtol": 2e-5, "atol": 2e-5} if dtype == np.float32 else {"rtol": 1e-10, "atol": 1e-10}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_products_are_plain_dense_algebra(container, scale, dtype, weighted):
    rng = np.random.default_rng(0)
    X = counts_like(rng)
    y = rng.permutation(np.arange(40) % 2)
    weights = rng.uniform(0.2, 3.0, size=40) if weighted else None
    samples = Samples(CONTAINERS[container](X), scale, weights=weights, dtype=dtype)
    operator = samples.for_labels(Labels(y, 2, weights=weights).repeat(3))
    rows = scaled_rows(X, y, scale, weights) / samples.unit
    directions = rng.normal(size=(3, 7)).astype(dtype)
    slopes = rng.normal(size=(3, 40)).astype(dtype)

    projections = operator.project(directions)
    assert projections.dtype == dtype
    np.testing.assert_allclose(projections, directions @ rows.T, **tolerance(dtype))
    np.testing.assert_allclose(operator.backproject(slopes), slopes @ rows, **tolerance(dtype))
    columns = operator.feature_columns(np.array([2, 3, 0]))
    assert columns.flags.c_contiguous
    np.testing.assert_allclose(columns, rows[:, [2, 3, 0]].T, **tolerance(dtype))


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("container", ["dense float64", "csr"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_products_into_given_arrays(container, scale, dtype):
    rng = np.random.default_rng(1)
    samples = Samples(CONTAINERS[container](counts_like(rng)), scale, dtype=dtype)
    operator = samples.for_labels(Labels(np.arange(40) % 2, 2).repeat(2))
    directions, slopes = rng.normal(size=(2, 7)).astype(dtype), rng.normal(size=(2, 40)).astype(dtype)
    projections, gradients = np.full((2, 40), np.nan, dtype), np.full((2, 7), np.nan, dtype)
    operator.project(directions, out=projections)
    operator.backproject(slopes, out=gradients)
    np.testing.assert_array_equal(projections, operator.project(directions))
    np.testing.assert_array_equal(gradients, operator.backproject(slopes))


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("container", ["dense float64", "csr"])
def test_backproject_is_the_adjoint_of_project(container, scale):
    rng = np.random.default_rng(2)
    samples = Samples(CONTAINERS[container](counts_like(rng)), scale, dtype=np.float64)
    codes = np.stack([rng.permutation(np.arange(40) % 3) for _ in range(4)])
    codes[codes == 2] = HELD_OUT
    operator = samples.for_labels(Labels(codes, 2))
    directions, slopes = rng.normal(size=(4, 7)), rng.normal(size=(4, 40))
    np.testing.assert_allclose(
        (operator.project(directions) * slopes).sum(axis=1),
        (operator.backproject(slopes) * directions).sum(axis=1),
        rtol=1e-10,
    )


@pytest.mark.parametrize("container", ["dense float64", "csr"])
def test_moments_as_measured(container):
    rng = np.random.default_rng(3)
    X = counts_like(rng)
    weights = rng.integers(1, 4, size=40) * 1.0
    for mass in (None, weights):
        samples = Samples(CONTAINERS[container](X), weights=mass)
        copies = X if mass is None else np.repeat(X, mass.astype(int), axis=0)
        np.testing.assert_allclose(samples.centre, copies.mean(axis=0), rtol=1e-12)
        np.testing.assert_allclose(samples.deviation, copies.std(axis=0), rtol=1e-10)


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("value", [0.0, 0.1, 4.25, -1e6, 1e-20])
def test_a_constant_column_is_exactly_constant(container, value):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(30, 3))
    X[:, 1] = value
    samples = Samples(CONTAINERS[container](X), "pooled")
    assert samples.deviation[1] == 0.0
    assert samples.factor[1] == 0.0
    np.testing.assert_array_equal(samples.varying, [True, False, True])
    axis = np.eye(3, dtype=np.float32)[1:2]
    np.testing.assert_allclose(samples.project(axis), 0.0, atol=1e-30)


def test_nothing_varies():
    for rows in (np.ones((5, 2)), sp.csr_matrix((5, 2))):
        samples = Samples(rows, "pooled")
        assert not samples.varying.any()
        assert samples.unit == 1.0
        assert not samples.project(np.ones((1, 2), np.float32)).any()


def test_offset_is_taken_off_before_the_cast_to_single_precision():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(1000, 1))
    near = Samples(X).project(np.ones((1, 1), np.float32))
    far = Samples(X + 1e6).project(np.ones((1, 1), np.float32))
    # Cast first, 86 of 1000 values would remain distinct.
    assert len(np.unique(far)) == 1000
    np.testing.assert_allclose(far, near, atol=1e-6)


@pytest.mark.parametrize("size", [1e-150, 1e-30, 1e30, 1e150])
@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("container", ["dense float64", "csr"])
def test_huge_and_tiny_data_are_the_same_in_their_own_units(container, scale, size):
    rng = np.random.default_rng(6)
    X = counts_like(rng)
    labels = Labels(np.arange(40) % 2, 2)
    directions = rng.normal(size=(1, 7)).astype(np.float32)
    plain = Samples(CONTAINERS[container](X), scale)
    other = Samples(CONTAINERS[container](X * size), scale)
    assert other.unit == pytest.approx(plain.unit * (size if scale is None else 1.0), rel=1e-9)
    np.testing.assert_allclose(
        other.for_labels(labels).project(directions),
        plain.for_labels(labels).project(directions),
        rtol=1e-4,
        atol=1e-5,
    )


def test_other_precision_of_the_same_rows():
    rng = np.random.default_rng(7)
    samples = Samples(counts_like(rng), "pooled")
    exact = samples.astype(np.float64)
    assert (samples.dtype, exact.dtype) == (np.float32, np.float64)
    assert exact.unit == samples.unit
    direction = rng.normal(size=(1, 7))
    np.testing.assert_allclose(samples.project(direction), exact.project(direction), rtol=1e-4, atol=1e-5)


def test_blocks_of_rows_add_up(monkeypatch):
    # Blocks of a few rows stand in for data much larger than a block.
    rng = np.random.default_rng(8)
    X = counts_like(rng, n_rows=53)
    whole = {dtype: Samples(X, "pooled", dtype=dtype) for dtype in (np.float32, np.float64)}
    monkeypatch.setattr("princdiff.data.samples._BLOCK_BYTES", 8 * 7 * 10)
    for dtype, expected in whole.items():
        samples = Samples(X, "pooled", dtype=dtype)
        np.testing.assert_allclose(samples.deviation, expected.deviation, rtol=1e-12)
        directions, slopes = rng.normal(size=(2, 7)).astype(dtype), rng.normal(size=(2, 53)).astype(dtype)
        np.testing.assert_allclose(
            samples.project(directions), expected.project(directions), rtol=1e-5, atol=1e-6
        )
        np.testing.assert_allclose(
            samples.backproject(slopes), expected.backproject(slopes), rtol=1e-5, atol=1e-5
        )


# ---------------------------------------------------------------- sparse


@pytest.mark.parametrize("scale", SCALES)
def test_a_sparse_matrix_that_would_not_fit_in_memory_when_dense(scale):
    # Dense this would take 3.2 terabytes.
    rng = np.random.default_rng(9)
    n_rows, n_features = 200_000, 2_000_000
    entries = 300_000
    X = sp.coo_matrix(
        (rng.random(entries), (rng.integers(n_rows, size=entries), rng.integers(n_features, size=entries))),
        shape=(n_rows, n_features),
    ).tocsr()
    labels = Labels(np.arange(n_rows) % 2, 2)
    operator = Samples(X, scale).for_labels(labels)
    direction = np.zeros((1, n_features), np.float32)
    direction[0, :50] = 1.0
    projections = operator.project(direction)
    assert projections.shape == (1, n_rows)
    assert np.isfinite(projections).all()
    gradients = operator.backproject(projections)
    assert gradients.shape == (1, n_features)
    assert np.isfinite(gradients).all()


def test_a_sparse_matrix_is_left_alone():
    X = sp.random(30, 6, density=0.3, format="csr", random_state=0)
    before = X.copy()
    samples = Samples(X, "pooled")
    samples.project(np.ones((1, 6), np.float32))
    samples.backproject(np.ones((1, 30), np.float32))
    assert (X != before).nnz == 0
    assert X.dtype == before.dtype


def test_stored_zeros_and_unsorted_columns_do_not_matter():
    # Row 0 holds a stored zero, row 1 has its columns in falling order.
    X = sp.csr_matrix(
        (np.array([0.0, 2.0, 5.0, 1.0, 3.0]), np.array([1, 0, 2, 0, 1]), np.array([0, 2, 4, 5])), shape=(3, 3)
    )
    dense, direction = X.toarray(), np.array([[1.0, 2.0, -1.0]])
    for scale in (None, "pooled"):
        found = Samples(X, scale, dtype=np.float64).project(direction)
        np.testing.assert_allclose(
            found, Samples(dense, scale, dtype=np.float64).project(direction), atol=1e-12
        )


# ---------------------------------------------------------------- scaling within groups


@pytest.mark.parametrize("container", ["dense float64", "csr"])
def test_within_every_column_has_its_own_groups(container):
    rng = np.random.default_rng(10)
    X = rng.normal(size=(36, 4)) * [1, 5, 0.1, 30] + 3
    codes = np.stack([rng.permutation(np.arange(36) % 3) for _ in range(3)])
    samples = Samples(CONTAINERS[container](X), "within", dtype=np.float64)
    labels = Labels(codes, 3, columns=np.array([2, 0, 1, 1]))
    operator = samples.for_labels(labels)
    directions, slopes = rng.normal(size=(4, 4)), rng.normal(size=(4, 36))
    rows = [scaled_rows(X, codes[labelling], "within") for labelling in labels.columns]
    projected = [own @ direction for own, direction in zip(rows, directions, strict=True)]
    gradients = [slope @ own for own, slope in zip(rows, slopes, strict=True)]
    np.testing.assert_allclose(operator.project(directions), projected, atol=1e-10)
    np.testing.assert_allclose(operator.backproject(slopes), gradients, atol=1e-10)
    part = operator.take(np.array([3, 0]))
    np.testing.assert_allclose(part.project(directions[[3, 0]]), np.array(projected)[[3, 0]], atol=1e-10)
    np.testing.assert_allclose(part.backproject(slopes[[3, 0]]), np.array(gradients)[[3, 0]], atol=1e-10)


def test_within_leaves_held_out_rows_out():
    rng = np.random.default_rng(11)
    X = rng.normal(size=(30, 3))
    codes = np.arange(30) % 3
    inside = codes < 2
    samples = Samples(X, "within", dtype=np.float64)
    direction = rng.normal(size=(1, 3))
    found = samples.for_labels(Labels(np.where(inside, codes, HELD_OUT), 2)).project(direction)
    expected = scaled_rows(X[inside], codes[inside], "within") @ direction[0]
    np.testing.assert_allclose(found[0, inside], expected, atol=1e-12)
    assert not found[0, ~inside].any()


@pytest.mark.parametrize("container", ["dense float64", "csr"])
def test_within_a_feature_constant_in_one_group_has_no_part(container):
    rng = np.random.default_rng(12)
    X = rng.normal(size=(20, 3))
    X[:10, 1] = 0.1
    operator = Samples(CONTAINERS[container](X), "within", dtype=np.float64).for_labels(
        Labels(np.repeat([0, 1], 10), 2)
    )
    assert not operator.project(np.eye(3)[1:2]).any()
    assert operator.backproject(rng.normal(size=(1, 20)))[0, 1] == 0.0


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_within_features_of_very_different_size(dtype):
    # Standardised, they are all alike, whatever the ratio of their sizes.
    rng = np.random.default_rng(13)
    X = rng.normal(size=(40, 3))
    sizes = np.array([1e-60, 1.0, 1e60])
    labels = Labels(np.arange(40) % 2, 2)
    direction = np.full((1, 3), 0.5, dtype)
    with np.errstate(over="raise", invalid="raise"):
        found = Samples(X * sizes, "within", dtype=dtype).for_labels(labels).project(direction)
    expected = Samples(X, "within", dtype=dtype).for_labels(labels).project(direction)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_without_label_dependent_scaling_the_operator_is_the_samples():
    samples = Samples(np.random.default_rng(14).normal(size=(6, 2)), "pooled")
    assert samples.for_labels(Labels([0, 0, 0, 1, 1, 1], 2)) is samples
    assert samples.take(np.array([0])) is samples
