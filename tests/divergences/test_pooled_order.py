from __future__ import annotations

import numpy as np
import pytest

from princdiff.data.labels import HELD_OUT, Labels
from princdiff.divergences.sorting import Workspace, order_pooled


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("held_out", [0, 5])
@pytest.mark.parametrize("shared", [True, False])
def test_rows_come_in_ascending_order_with_their_groups(dtype, ties, held_out, shared):
    rng = np.random.default_rng(0)
    codes = np.repeat([0, 1, 2, HELD_OUT], [7, 11, 4, held_out])
    many = np.stack([rng.permutation(codes) for _ in range(1 if shared else 6)])
    labels = Labels(many, 3)
    labels = labels.repeat(6) if shared else labels
    values = rng.normal(size=(6, len(codes))) * 10.0 ** rng.integers(-20, 20, size=(6, 1))
    if ties:
        values = rng.integers(-2, 3, size=values.shape) * 1.0
    values = values.astype(dtype)
    pooled = order_pooled(values, labels, Workspace())
    for column in range(6):
        own = many[0 if shared else column]
        rows = np.flatnonzero(own != HELD_OUT)
        expected = rows[np.argsort(values[column, rows], kind="stable")]
        np.testing.assert_array_equal(pooled.order[column] - column * len(codes), expected)
        np.testing.assert_array_equal(pooled.codes[column], own[expected])
        np.testing.assert_array_equal(pooled.fresh[column, 1:], np.diff(values[column, expected]) != 0)
        assert pooled.fresh[column, 0]


def test_the_two_zeros_are_one_value():
    values = np.array([[0.0, -0.0, 0.0, -1.0]], dtype=np.float32)
    pooled = order_pooled(values, Labels([0, 1, 0, 1], 2), Workspace())
    np.testing.assert_array_equal(pooled.order, [[3, 0, 1, 2]])
    np.testing.assert_array_equal(pooled.fresh, [[True, True, False, False]])
