from __future__ import annotations

import numpy as np
import pytest

from princdiff.data.labels import HELD_OUT, Labels

CODES = np.array([[0, 1, 0, 1, HELD_OUT, 0], [1, 0, HELD_OUT, 0, 0, 1]], dtype=np.uint8)


def test_one_column_per_labelling_by_default():
    labels = Labels(CODES, 2)
    assert labels.n_rows == 6
    assert labels.n_columns == 2
    assert not labels.shared
    np.testing.assert_array_equal(labels.columns, [0, 1])


def test_a_single_vector_is_one_labelling():
    labels = Labels([0, 1, 1], 2)
    assert labels.codes.shape == (1, 3)
    assert labels.shared


def test_counts_leave_out_held_out_rows():
    np.testing.assert_array_equal(Labels(CODES, 2).counts, [[3, 2], [3, 2]])


def test_take_and_repeat_choose_labellings():
    labels = Labels(CODES, 2)
    np.testing.assert_array_equal(labels.repeat(3).columns, [0, 0, 0, 1, 1, 1])
    np.testing.assert_array_equal(labels.repeat(3).take(np.array([4, 0])).columns, [1, 0])
    np.testing.assert_array_equal(labels.take(np.array([False, True])).columns, [1])
    assert labels.repeat(3).codes is labels.codes


def test_what_is_prepared_once_stays_prepared():
    labels = Labels(CODES, 2)
    part, counts = labels.key_part, labels.counts
    wide = labels.repeat(4)
    assert wide.key_part is part
    assert wide.counts is counts


def test_one_labelling_alone_keeps_the_weights():
    weights = np.arange(6.0)
    alone = Labels(CODES, 2, weights=weights).labelling(1)
    np.testing.assert_array_equal(alone.codes, CODES[1:])
    assert alone.weights is weights
    assert alone.n_columns == 1


@pytest.mark.parametrize("columns", [[0], [1], [0, 1], [1, 1, 0], [1, 0, 0, 1]])
@pytest.mark.parametrize("contiguous", [True, False])
@pytest.mark.parametrize("same_sizes", [True, False])
def test_gather_and_group_rows_are_plain_masks(columns, contiguous, same_sizes):
    rng = np.random.default_rng(0)
    second = [0, 0, 0, 1, 1, HELD_OUT] if same_sizes else [0, 0, 1, 1, 1, HELD_OUT]
    codes = np.array([[0, 0, 0, 1, 1, HELD_OUT], second])
    if not contiguous:
        codes = codes[:, [3, 0, 5, 1, 4, 2]]
    labels = Labels(codes, 2).take(np.array(columns))
    if len({tuple(labels.counts[column]) for column in columns}) > 1:
        # One gather needs equal sizes; the parts with equal sizes are gathered one by one.
        parts = [labels.take(part) for part in labels.homogeneous()]
    else:
        parts = [labels]
    for part in parts:
        projections = rng.normal(size=(part.n_columns, 6))
        for group in (0, 1):
            expected = [row[codes[c] == group] for row, c in zip(projections, part.columns, strict=True)]
            np.testing.assert_array_equal(part.gather(projections, group), expected)
            rows = np.broadcast_to(part.group_rows(group), (part.n_columns, len(expected[0])))
            np.testing.assert_array_equal(rows, [np.flatnonzero(codes[c] == group) for c in part.columns])


def test_gather_gives_a_copy():
    labels = Labels([0, 0, 1, 1], 2)
    projections = np.array([[2.0, 1.0, 4.0, 3.0]])
    labels.gather(projections, 0).sort(axis=1)
    np.testing.assert_array_equal(projections, [[2.0, 1.0, 4.0, 3.0]])


def test_gather_after_columns_of_unequal_size_were_seen_first():
    # The first labelling's sizes must not be used for the others.
    codes = np.array([[0, 0, 0, 1, 1], [0, 1, 1, 1, 0], [1, 1, 0, 0, 1]])
    labels = Labels(codes, 2)
    projections = np.arange(15.0).reshape(3, 5)
    own = labels.take(np.array([1, 2]))
    np.testing.assert_array_equal(own.gather(projections[1:], 0), [[5, 9], [12, 13]])


def test_homogeneous_covers_every_column_once():
    codes = np.array([[0, 0, 1, 1], [0, 1, 1, 1], [1, 1, 0, 0], [0, 0, 0, 1]])
    labels = Labels(codes, 2).repeat(2)
    parts = list(labels.homogeneous())
    np.testing.assert_array_equal(np.sort(np.concatenate(parts)), np.arange(8))
    sizes = [{tuple(labels.counts[labels.columns[c]]) for c in part} for part in parts]
    assert all(len(size) == 1 for size in sizes)
    assert len({size for part in sizes for size in part}) == len(parts) == 3


def test_unequal_sizes_in_one_batch_are_refused():
    labels = Labels([[0, 0, 1], [0, 1, 1]], 2)
    with pytest.raises(ValueError, match="group sizes"):
        labels.group_sizes  # noqa: B018


def test_proportions_by_number_and_by_weight():
    np.testing.assert_allclose(Labels(CODES, 2).proportions, [[0.6, 0.4]])
    weights = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 0.0])
    expected = np.array([[4 / 10, 6 / 10], [11 / 12, 1 / 12]])
    labels = Labels(CODES, 2, weights=weights)
    np.testing.assert_allclose(labels.proportions, expected)
    np.testing.assert_allclose(labels.repeat(2).take(np.array([3, 0])).proportions, expected[[1, 0]])


def test_key_part_orders_groups_and_puts_held_out_rows_last():
    part = Labels(CODES, 2).key_part
    assert part.dtype == np.uint64
    np.testing.assert_array_equal(part >> np.uint64(56), CODES)
    # Nothing below the label byte, which is the value's and the position's room.
    assert not (part & np.uint64((1 << 56) - 1)).any()
