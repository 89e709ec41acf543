from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import chisquare, kstest

from princdiff.data.row_keys import row_keys, shuffled_members


def tables():
    rng = np.random.default_rng(0)
    return {
        "continuous": rng.normal(size=(500, 7)),
        "zeros and ones": rng.integers(0, 2, size=(500, 12)) * 1.0,
        "counts": rng.poisson(2.0, size=(500, 9)) * 1.0,
        "wide": np.where(rng.random((30, 4000)) < 0.05, rng.normal(size=(30, 4000)), 0.0),
        "tiny": rng.normal(size=(200, 3)) * 1e-300,
    }


@pytest.mark.parametrize("name", tables())
def test_keys_are_of_the_values_only(name):
    rows = tables()[name]
    keys = row_keys(rows)
    # As many keys as different rows: no two fall together.
    assert len(np.unique(keys)) == len(np.unique(rows, axis=0))
    # Other units, and others for every feature; an offset.
    np.testing.assert_array_equal(row_keys(rows * 0.3), keys)
    far = sp.csr_matrix(rows + 1e9 * np.abs(rows).max())
    np.testing.assert_array_equal(row_keys(far), row_keys(far.toarray()))
    units = np.random.default_rng(2).uniform(0.1, 10.0, size=rows.shape[1])
    np.testing.assert_array_equal(row_keys(rows * units), keys)
    if name != "tiny":
        np.testing.assert_array_equal(row_keys(rows + 100.0), keys)
    order = np.random.default_rng(1).permutation(len(rows))
    np.testing.assert_array_equal(row_keys(rows[order]), keys[order])
    np.testing.assert_array_equal(row_keys(sp.csr_matrix(rows)), keys)
    np.testing.assert_array_equal(row_keys(sp.csc_array(rows)), keys)
    np.testing.assert_array_equal(row_keys(np.asfortranarray(rows)), keys)
    np.testing.assert_array_equal(row_keys(np.where(rows == 0, -0.0, rows)), keys)
    single = rows.astype(np.float32)
    np.testing.assert_array_equal(row_keys(single), row_keys(single.astype(np.float64)))


def test_explicit_zeros_are_zeros():
    rows = sp.csr_matrix(np.array([[1.0, 2.0], [3.0, 4.0]]))
    rows.data[1] = 0.0
    np.testing.assert_array_equal(row_keys(rows), row_keys(rows.toarray()))


def test_features_of_any_size():
    rng = np.random.default_rng(4)
    rows = rng.normal(size=(50, 3))
    for size in (1e-320, 1e-300, 1e300, 1.7e308 / np.abs(rows).max()):
        keys = row_keys(rows * size)
        assert len(np.unique(keys)) > (40 if size > 1e-310 else 10)
    np.testing.assert_array_equal(row_keys(rows * 2.0**1000), row_keys(rows))
    assert len(np.unique(row_keys(np.full((5, 2), 3.0)))) == 1


def test_weights_tell_equal_rows_apart():
    rows = np.ones((4, 2))
    assert len(np.unique(row_keys(rows))) == 1
    assert len(np.unique(row_keys(rows, np.array([1.0, 2.0, 1.0, 3.0])))) == 3


def test_a_shuffle_is_one_of_every_group():
    rng = np.random.default_rng(2)
    codes = rng.integers(0, 4, size=300).astype(np.uint8)
    codes[:20] = 255
    keys = row_keys(rng.integers(0, 5, size=(300, 2)) * 1.0)
    members = shuffled_members(keys, codes, 4, seed=9)
    for group, own in enumerate(members):
        np.testing.assert_array_equal(np.sort(own), np.flatnonzero(codes == group))
    assert shuffled_members(keys, codes, 5, seed=9)[4].shape == (0,)


def test_a_shuffle_depends_on_the_rows_and_not_on_their_order():
    rng = np.random.default_rng(3)
    rows = rng.integers(0, 4, size=(200, 2)) * 1.0
    codes = rng.integers(0, 2, size=200).astype(np.uint8)
    keys = row_keys(rows)
    order = rng.permutation(200)
    for seed in (0, 1, 12345):
        found = [rows[own] for own in shuffled_members(keys, codes, 2, seed)]
        again = [rows[order][own] for own in shuffled_members(keys[order], codes[order], 2, seed)]
        swapped = [rows[own] for own in shuffled_members(keys, 1 - codes, 2, seed)]
        for one, other, third in zip(found, again, swapped[::-1], strict=True):
            np.testing.assert_array_equal(one, other)
            np.testing.assert_array_equal(one, third)


@pytest.mark.parametrize("name", ["continuous", "zeros and ones"])
def test_shuffles_are_uniform(name):
    rows = tables()[name][:30]
    keys, codes = row_keys(rows), np.zeros(30, dtype=np.uint8)
    orders = np.array([shuffled_members(keys, codes, 1, seed)[0] for seed in range(3000)])
    places = np.argsort(orders, axis=1)
    for row in range(0, 30, 7):
        assert chisquare(np.bincount(places[:, row], minlength=30)).pvalue > 1e-4
    # Two rows: either may come first, whatever the place of a third.
    first = (places[:, 0] < places[:, 1]) & (places[:, 2] < 15)
    assert abs(first.mean() - 0.25) < 0.04
    assert kstest(keys / 2.0**64, "uniform").pvalue > 1e-4 or name == "zeros and ones"
