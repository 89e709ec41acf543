from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from princdiff.data.labels import HELD_OUT, Labels
from princdiff.divergences import sorting
from princdiff.divergences.sorting import Workspace, order_within_groups


def reference(projections, labels):
    """Stable argsort of each group of each column, written out."""
    n_rows = projections.shape[1]
    result = []
    for column, (row, labelling) in enumerate(zip(projections, labels.columns, strict=True)):
        order = []
        for group in range(labels.n_groups):
            members = np.flatnonzero(labels.codes[labelling] == group)
            order.append(members[np.argsort(row[members], kind="stable")] + column * n_rows)
        result.append(np.concatenate(order))
    return np.array(result)


def random_labels(rng, n_labellings, n_rows, n_groups=2, n_held_out=0):
    codes = np.arange(n_rows) % n_groups
    codes[:n_held_out] = HELD_OUT
    return Labels(np.stack([rng.permutation(codes) for _ in range(n_labellings)]), n_groups)


def kinds_of_values(rng, shape):
    generic = rng.normal(size=shape)
    yield "generic", generic
    yield "integers", rng.integers(-3, 4, size=shape) * 1.0
    yield "counts", rng.poisson(0.5, size=shape) * 1.0
    yield "constant", np.ones(shape)
    yield "huge", generic * 1e37
    yield "tiny", generic * 1e-37
    yield "subnormal", generic * 1e-43
    yield "mixed magnitudes", generic * 10.0 ** rng.integers(-35, 36, size=shape)
    yield "all negative", -np.abs(generic)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_groups", [2, 4])
@pytest.mark.parametrize("n_held_out", [0, 5])
def test_order_is_a_stable_argsort_of_each_group(dtype, n_groups, n_held_out):
    rng = np.random.default_rng(0)
    labels = random_labels(rng, 6, 33, n_groups, n_held_out)
    for kind, values in kinds_of_values(rng, (6, 33)):
        values = values.astype(dtype)
        found = order_within_groups(values, labels, Workspace())
        np.testing.assert_array_equal(found, reference(values, labels), err_msg=kind)


def test_both_signs_of_zero_are_one_value():
    # -0.0 == 0.0, so which comes first is free, but neither may pass its neighbours.
    values = np.array([[0.0, -0.0, 1e-45, -1e-45, -0.0, 0.0, -1.0, 1.0]], dtype=np.float32)
    labels = Labels(np.zeros((1, 8)), 1)
    order = order_within_groups(values, labels, Workspace())
    np.testing.assert_array_equal(values.ravel()[order[0]], np.sort(values[0]))
    np.testing.assert_array_equal(np.sort(order[0]), np.arange(8))


def test_one_labelling_shared_by_all_columns():
    rng = np.random.default_rng(1)
    labels = random_labels(rng, 1, 20).repeat(7)
    values = rng.normal(size=(7, 20)).astype(np.float32)
    found = order_within_groups(values, labels, Workspace())
    np.testing.assert_array_equal(found, reference(values, labels))


def test_columns_pick_their_labelling():
    rng = np.random.default_rng(2)
    labels = random_labels(rng, 3, 20).take(np.array([2, 0, 0, 1, 2]))
    values = rng.normal(size=(5, 20)).astype(np.float32)
    found = order_within_groups(values, labels, Workspace())
    np.testing.assert_array_equal(found, reference(values, labels))


@pytest.mark.parametrize("position_bits", [5, 7, 24])
def test_blocks_and_rows_beyond_what_a_key_can_count(monkeypatch, position_bits):
    # Few position bits stand in for very large data: 5 bits cannot count the 40 rows (argsort takes
    # over), 7 count the rows but not the whole block (row numbers), 24 count the block.
    monkeypatch.setattr(sorting, "_POSITION_BITS", position_bits)
    monkeypatch.setattr(sorting, "_POSITION_MASK", np.uint64((1 << position_bits) - 1))
    rng = np.random.default_rng(3)
    labels = random_labels(rng, 10, 40, 3, 4)
    for kind, values in kinds_of_values(rng, (10, 40)):
        values = values.astype(np.float32)
        found = order_within_groups(values, labels, Workspace())
        np.testing.assert_array_equal(found, reference(values, labels), err_msg=kind)


def test_projections_are_left_alone():
    values = np.random.default_rng(5).normal(size=(3, 10)).astype(np.float32)
    before = values.copy()
    order_within_groups(values, random_labels(np.random.default_rng(5), 3, 10), Workspace())
    np.testing.assert_array_equal(values, before)


finite32 = st.floats(width=32, allow_nan=False, allow_infinity=False)


@settings(deadline=None, derandomize=True, max_examples=60)
@given(hnp.arrays(np.float32, st.tuples(st.integers(1, 4), st.integers(1, 24)), elements=finite32), st.data())
def test_any_floats_are_sorted_within_their_groups(values, data):
    codes = data.draw(hnp.arrays(np.uint8, values.shape[1], elements=st.sampled_from([0, 1, HELD_OUT])))
    labels = Labels(codes, 2).repeat(len(values))
    order = order_within_groups(values, labels, Workspace())
    ranked = values.ravel()[order]
    expected = [np.concatenate([np.sort(row[codes == group]) for group in (0, 1)]) for row in values]
    np.testing.assert_array_equal(ranked, expected)
    assert all(len(set(row)) == len(row) for row in order.tolist())


def test_workspace_reuses_its_buffers():
    workspace = Workspace()
    first = workspace.array("a", (4, 5), np.float32)
    assert np.shares_memory(first, workspace.array("a", (2, 3), np.float32))
    assert not np.shares_memory(first, workspace.array("b", (4, 5), np.float32))
    assert not np.shares_memory(first, workspace.array("a", (4, 5), np.float64))
    assert workspace.array("a", (10, 10), np.float32).shape == (10, 10)
