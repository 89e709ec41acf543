"""Sums over the rows of a group against plain ones in double precision, by both engines."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from princdiff.kernels import engine
from princdiff.kernels import labelled_sums as module
from princdiff.kernels.labelled_sums import labelled_sums, packed


class Absent:
    available = False


@pytest.fixture(params=["compiled", "numpy"])
def each_engine(request, monkeypatch):
    if request.param == "numpy":
        monkeypatch.setattr(module, "_SUMS", Absent())
    elif engine().library is None:
        pytest.skip(f"needs the compiled library: {engine().reason}")


@st.composite
def problems(draw):
    """No row to many, one labelling to many, ties, two zeros, subnormals, large numbers."""
    n_rows = draw(st.sampled_from([0, 1, 3, 7, 8, 9, 31, 32, 33, 63, 8191, 8192, 8193, 8231]))
    n_labellings, n_columns = (draw(st.sampled_from([0, 1, 2, 15, 16, 17, 33])) for _ in range(2))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    columns = rng.normal(size=(n_rows, n_columns)) * 10.0 ** draw(st.sampled_from([0, -42, 20]))
    if draw(st.booleans()):
        columns = np.round(columns) * rng.choice([1.0, -0.0], size=columns.shape)
    inside = rng.random((n_labellings, n_rows)) < draw(st.sampled_from([0.0, 0.01, 0.5, 1.0]))
    return inside, columns.astype(np.float32)


def assert_sums(inside, columns):
    found = labelled_sums(packed(inside), columns)
    exact = inside.astype(np.float64) @ columns.astype(np.float64)
    size = inside.astype(np.float64) @ np.abs(columns).astype(np.float64)
    assert found.shape == exact.shape
    assert (np.abs(found - exact) <= 3e-5 * size + 1e-45 * len(columns)).all()


@settings(max_examples=120, deadline=None)
@given(problem=problems())
def test_agrees_with_a_product(problem):
    assert_sums(*problem)


def test_both_engines_agree_with_a_product(each_engine):
    rng = np.random.default_rng(0)
    assert_sums(rng.random((300, 20_011)) < 0.3, rng.normal(size=(20_011, 19)).astype(np.float32))


def test_whole_numbers_are_exact_beyond_single_precision(each_engine):
    n_rows = 2**24 + 5
    columns = np.ones((n_rows, 1), dtype=np.float32)
    inside = np.ones((1, n_rows), dtype=bool)
    assert labelled_sums(packed(inside), columns)[0, 0] == n_rows


def test_a_labelling_does_not_know_its_neighbours():
    rng = np.random.default_rng(1)
    bits = packed(rng.random((600, 900)) < 0.5)
    columns = rng.normal(size=(900, 21)).astype(np.float32)
    together = labelled_sums(bits, columns)
    for part in (slice(0, 1), slice(255, 258), slice(300, 600)):
        np.testing.assert_array_equal(labelled_sums(bits[part], columns), together[part])


def test_bits_of_other_rows_are_refused():
    with pytest.raises(ValueError, match="2 bytes of memberships do not suit 8 rows"):
        labelled_sums(np.zeros((1, 2), dtype=np.uint8), np.zeros((8, 1), dtype=np.float32))
