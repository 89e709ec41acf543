"""Numbers far from zero, huge or tiny: the same answer however rows are stored, or a refusal by name."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from princdiff import PDA, SPARDA, compare, permutation_test, relax, split_test, stability_selection
from princdiff.data.labels import Labels
from princdiff.data.moments import moments
from princdiff.data.products import Scaling
from princdiff.data.samples import Samples

pytestmark = pytest.mark.whole

Y = np.repeat([0, 1], 30)


def rows(seed=0):
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(60, 4)) * 64) / 64
    X[30:, 1] += 1.5
    return X


def exact_moments(column):
    numbers = [Fraction(float(value)) for value in column]
    mean = sum(numbers) / len(numbers)
    variance = sum((number - mean) ** 2 for number in numbers) / len(numbers)
    return float(mean), float(variance) ** 0.5


@pytest.mark.parametrize("offset", [0.0, 1e6, 1e9, 1e12])
@pytest.mark.parametrize("size", [1.0, 2.0**600, 2.0**-600])
def test_sparse_moments_are_those_of_the_numbers(offset, size):
    X = (rows() + offset) * size
    X[3, 2] = 0.0
    for weights in (None, np.arange(1.0, 61)):
        dense, sparse = moments(X, weights), moments(sp.csr_matrix(X), weights)
        np.testing.assert_allclose(sparse.mean, dense.mean, rtol=1e-14)
        np.testing.assert_allclose(sparse.deviation, dense.deviation, rtol=1e-12)
    if size == 1.0:
        for feature in range(4):
            mean, deviation = exact_moments(X[:, feature])
            found = moments(sp.csr_matrix(X))
            assert found.mean[feature] == pytest.approx(mean, rel=1e-14)
            assert found.deviation[feature] == pytest.approx(deviation, rel=1e-9)


def test_a_mostly_empty_feature_has_the_moments_of_its_zeros_too():
    rng = np.random.default_rng(1)
    X = np.where(rng.random((500, 20)) < 0.05, rng.gamma(2.0, 3.0, (500, 20)), 0.0)
    found = moments(sp.csr_matrix(X))
    np.testing.assert_allclose(found.mean, X.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(found.deviation, X.std(axis=0), rtol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("offset", [0.0, 1e5, 1e9, 1e13])
def test_products_with_features_far_from_zero(offset, dtype):
    X = rows()
    far = X + np.array([0.0, offset, 0.0, -offset])
    # A few zeros among large numbers: they are far from the others, and must stay so.
    far[5, 0] = 0.0
    samples = {kind: Samples(store(far), "pooled", dtype=dtype) for kind, store in STORES.items()}
    directions = np.random.default_rng(2).normal(size=(3, 4)).astype(dtype)
    slopes = np.random.default_rng(3).normal(size=(3, 60)).astype(dtype)
    dense, sparse = samples["dense"], samples["sparse"]
    tolerance = {"rtol": 1e-4, "atol": 1e-4} if dtype == np.float32 else {"rtol": 1e-9, "atol": 1e-9}
    np.testing.assert_allclose(sparse.project(directions), dense.project(directions), **tolerance)
    np.testing.assert_allclose(sparse.backproject(slopes), dense.backproject(slopes), **tolerance)
    columns = np.array([3, 1])
    np.testing.assert_allclose(sparse.feature_columns(columns), dense.feature_columns(columns), **tolerance)
    labels = Labels(Y, 2)
    within = [Samples(store(far), "within", dtype=dtype).for_labels(labels) for store in STORES.values()]
    np.testing.assert_allclose(within[1].project(directions), within[0].project(directions), **tolerance)


STORES = {"dense": np.asarray, "sparse": sp.csr_matrix}


def test_zeros_of_a_far_feature_are_kept():
    X = np.full((1000, 2), 500.0) + np.random.default_rng(0).normal(size=(1000, 2)) / 1000
    X[7, 0] = 0.0
    deviation = np.array([1.0, 1e-3])
    scaling = Scaling(X.mean(axis=0), 1 / deviation, np.dtype(np.float64), deviation)
    assert scaling.far.all()
    found = scaling.apply(sp.csr_matrix(X)).project(np.eye(2))
    np.testing.assert_allclose(found, ((X - X.mean(axis=0)) / deviation).T, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("change", ["offset 1e6", "offset 1e9", "offset 1e12", "size 1e200", "size 1e-200"])
def test_sparse_and_dense_rows_give_one_answer(change):
    word, number = change.split()
    X = rows() + float(number) if word == "offset" else rows() * float(number)
    dense = permutation_test(X, Y, n_permutations=39, random_state=0)
    sparse = permutation_test(sp.csr_matrix(X), Y, n_permutations=39, random_state=0)
    assert dense.pvalue == sparse.pvalue == pytest.approx(1 / 40)
    searched = np.array([name in ("euclidean", "whitened") for name, _ in dense.levels])
    np.testing.assert_allclose(sparse.values[:, ~searched], dense.values[:, ~searched], rtol=1e-3, atol=1e-5)
    np.testing.assert_allclose(sparse.values[0], dense.values[0], rtol=1e-3, atol=1e-5)
    # Sums are rounded otherwise, and some relabelling's search ends at another optimum about as good.
    np.testing.assert_allclose(sparse.values[:, searched], dense.values[:, searched], rtol=0.1)
    plain = PDA(scale="pooled", random_state=0).fit(rows(), Y).divergences_[0]
    for store in STORES.values():
        found = PDA(scale="pooled", random_state=0).fit(store(X), Y)
        assert found.divergences_[0] == pytest.approx(plain, rel=1e-3)


@pytest.mark.parametrize("store", STORES.values())
@pytest.mark.parametrize("size", [1e-310, 1e-320])
@pytest.mark.parametrize("scale", ["pooled", "within"])
def test_a_feature_too_small_to_divide_by_is_named(store, size, scale):
    X = rows()
    X[:, 2] *= size
    message = "feature 'x2' has a standard deviation of .*e-3.*, too small to divide by"
    for call in (
        lambda: permutation_test(store(X), Y, n_permutations=19, scale=scale),
        lambda: PDA(scale=scale).fit(store(X), Y),
        lambda: stability_selection(store(X), Y, scale=scale),
    ):
        with pytest.raises(ValueError, match=message):
            call()
    with pytest.raises(ValueError, match="feature 'weight' has"):
        frame = pd.DataFrame(rows() * size, columns=["weight", "b", "c", "d"])
        split_test(frame, Y, n_permutations=19)


@pytest.mark.parametrize("store", STORES.values())
def test_a_feature_that_goes_too_far_is_named(store):
    X = rows()
    X[:, 2] = np.where(X[:, 2] > 0, 1e308, -1e308)
    for call in (
        lambda: permutation_test(store(X), Y, n_permutations=19),
        lambda: PDA(scale="pooled").fit(store(X), Y),
    ):
        with pytest.raises(ValueError, match=r"feature 'x2' goes from -1e\+308 to 1e\+308, farther than"):
            call()
    with pytest.raises(ValueError, match=r"'x2'.*(goes from -1e\+308 to 1e\+308|at most 1e\+150)"):
        compare(store(X), groups=Y, n_permutations=0)
    X[:, 2] *= 0.5
    assert np.isfinite(PDA(scale="pooled").fit(store(X), Y).divergences_).all()


@pytest.mark.parametrize("store", STORES.values())
@pytest.mark.parametrize("size", [1e200, 1e-200])
def test_squares_that_cannot_be_represented_are_refused(store, size):
    for call in (
        lambda: permutation_test(store(rows() * size), Y, n_permutations=19, scale=None),
        lambda: PDA().fit(store(rows() * size), Y),
        lambda: relax(store(rows() * size), Y),
    ):
        with pytest.raises(ValueError, match="to the power of 2 it cannot be represented"):
            call()


@pytest.mark.parametrize("scale", [None, "pooled"])
@pytest.mark.parametrize("offset", [1e10, 1e13, 1e14, 1e15])
def test_no_bound_lies_below_the_divergence(offset, scale):
    rng = np.random.default_rng(4)
    for weights in (None, rng.uniform(0.5, 2.0, 60)):
        for estimator in (PDA, lambda **options: SPARDA(1, **options), lambda **o: SPARDA(2, **o)):
            for store in STORES.values():
                found = estimator(scale=scale, random_state=0, certify=True).fit(
                    store(rows() * 3 + offset), Y, weights
                )
                assert found.upper_bounds_[0] >= found.divergences_[0] * (1 - 1e-12)


def test_weights_of_any_size():
    rng = np.random.default_rng(5)
    weights = rng.uniform(0.5, 2.0, 60)
    expected = permutation_test(rows(), Y, sample_weight=weights, n_permutations=19, random_state=0)
    bound = relax(rows(), Y, sample_weight=weights, random_state=0).upper_bound
    effect = compare(rows(), groups=Y, sample_weight=weights, n_permutations=0).effect
    for size in (2.0**1022, 2.0**-1000):
        found = permutation_test(rows(), Y, sample_weight=weights * size, n_permutations=19, random_state=0)
        np.testing.assert_array_equal(found.values, expected.values)
        assert relax(rows(), Y, sample_weight=weights * size, random_state=0).upper_bound == bound
        again = compare(rows(), groups=Y, sample_weight=weights * size, n_permutations=0)
        assert again.effect == effect


def test_entries_stored_twice_are_their_sum():
    X = rows()
    X[2, 1] = 5.0
    twice = sp.csr_matrix(
        (
            np.concatenate([X.ravel(), [2.0, -2.0]]),
            (
                np.concatenate([np.repeat(np.arange(60), 4), [2, 2]]),
                np.concatenate([np.tile(np.arange(4), 60), [1, 1]]),
            ),
        ),
        shape=X.shape,
    )
    parts = sp.csr_matrix((60, 4))
    rows_of = [np.r_[X[i], 2.0, -2.0] if i == 2 else X[i] for i in range(60)]
    columns = [np.r_[np.arange(4), 1, 1] if i == 2 else np.arange(4) for i in range(60)]
    parts.data, parts.indices = np.concatenate(rows_of), np.concatenate(columns).astype(np.int32)
    parts.indptr = np.cumsum([0, *map(len, columns)]).astype(np.int32)
    assert not parts.has_canonical_format and (parts.toarray() == X).all() and (twice.toarray() == X).all()
    found = PDA(scale="pooled", random_state=0).fit(parts, Y)
    expected = PDA(scale="pooled", random_state=0).fit(sp.csr_matrix(X), Y)
    np.testing.assert_allclose(found.components_, expected.components_, atol=1e-9)
    assert parts.nnz == 242
