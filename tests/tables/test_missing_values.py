"""Missing and infinite values are refused, dropped or filled, and always told."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from two_tables import GAPS

from princdiff.tables import prepare


def test_missing_values_are_an_error_by_default():
    message = (
        r"missing values in 4 columns \(2 of 8 rows\): use missing='impute' to fill and mark them, .*, "
        r"missing='drop' to leave these rows out, or exclude= .*\. They are in "
        r"'u' \(1 of 4 in 'X', 0 of 4 in 'Y'; the first in row 1 of X\), 'n' \(1 of 4 .* row 2 of X\), "
        r"'c' \(1 .*\), 'b' \(1 .*\) \(rows count from 0\)"
    )
    with pytest.raises(ValueError, match=message):
        prepare(GAPS, GAPS.assign(u=0.5, n=1, c="a", b=True))


def test_impute():
    table = prepare(GAPS, GAPS.assign(u=10.0), missing="impute")
    assert table.features == (
        *("u", "u (missing)", "n", "n (missing)", "c = a", "c = b", "c (missing)"),
        *("b = False", "b = True", "b (missing)", "full"),
    )
    assert table.origin == (*"uunn", *"cccbbb", "full")
    assert not np.isnan(table.rows).any()
    # Medians over all rows of both tables.
    np.testing.assert_array_equal(table.rows[1, :4], [10, 1, 2, 0])
    np.testing.assert_array_equal(table.rows[2, :4], [3, 0, 2, 1])
    np.testing.assert_array_equal(table.rows[2, 4:7], [0, 0, 1])
    np.testing.assert_array_equal(table.rows[1, 7:10], [0, 0, 1])
    assert table.missing == {"u": (1, 0), "n": (1, 1), "c": (1, 1), "b": (1, 1)}
    assert any("'u' with the median 10 (1 in 'X', 0 in 'Y')" in note for note in table.notes)
    assert any(note.startswith("7 missing values filled") for note in table.notes)


def test_drop():
    table = prepare(GAPS, GAPS.assign(u=10.0, n=2, c="z", b=False), missing="drop")
    assert len(table.rows) == 6
    np.testing.assert_array_equal(table.kept, [0, 3, 4, 5, 6, 7])
    np.testing.assert_array_equal(table.codes, [0, 0, 1, 1, 1, 1])
    assert "2 of 8 rows dropped for missing values (2 of 4 in 'X', 0 of 4 in 'Y'): 'u' (1)" in table.notes[0]


def test_levels_of_dropped_rows_are_gone():
    X = pd.DataFrame({"u": [0.5, 1.5, 2.5, None], "c": ["a", "b", "a", "z"]})
    assert prepare(X, X, missing="drop").features == ("u", "c = b")


def test_drop_must_leave_rows_in_every_group():
    X = pd.DataFrame({"u": [0.5, 1.5], "v": [0.5, 1.5]})
    with pytest.raises(
        ValueError, match=r"missing='drop' leaves no row of group 'Y': missing values in 'v' \(2\)"
    ):
        prepare(X, X.assign(v=np.nan), missing="drop")
    table = prepare(X, X.assign(v=np.nan), missing="impute")
    np.testing.assert_array_equal(table.rows[:, 2], [0, 0, 1, 1])


def test_column_without_values_in_an_array_is_left_out():
    rows = np.column_stack([np.arange(4.0), np.full(4, np.nan)])
    for make in (np.asarray, sp.csr_matrix):
        with pytest.warns(UserWarning, match="'x1' \\(has no values\\)"):
            assert prepare(make(rows), make(rows)).features == ("x0",)


@pytest.mark.parametrize("make", [np.asarray, pd.DataFrame, sp.csr_matrix])
@pytest.mark.parametrize("missing", ["error", "impute", "drop"])
def test_infinite_values_are_always_an_error(make, missing):
    rows = np.arange(6.0).reshape(3, 2)
    bad = rows.copy()
    bad[2, 1] = -np.inf
    with pytest.raises(
        ValueError,
        match=r"infinite values, or .* in 1 column: '(x)?1' \(1, the first in row 2 of Y\)",
    ):
        prepare(make(rows), make(bad), missing=missing)


def test_huge_but_finite_values_are_fine():
    rows = np.full((4, 2), 1e140)
    assert prepare(rows, rows).rows.shape == (8, 2)


def test_column_with_values_in_one_table_only():
    X = pd.DataFrame({"u": np.array([0.5, 1.5], dtype=np.float32), "c": ["a", "b"]})
    table = prepare(X, X.assign(u=None), missing="impute")
    np.testing.assert_array_equal(table.rows[:, :2], [[0.5, 0], [1.5, 0], [1, 1], [1, 1]])
    assert table.rows.dtype == np.float32


def test_caller_keeps_the_input():
    frame, array = GAPS.copy(), np.array([[1.0, np.nan], [2.0, 3.0]])
    matrix = sp.csr_matrix(array)
    prepare(frame, frame, missing="impute")
    prepare(array, array, missing="impute")
    prepare(matrix, groups=[0, 1], missing="impute")
    prepare(array, groups=[0, 1], missing="impute")
    pd.testing.assert_frame_equal(frame, GAPS)
    assert np.isnan(array[0, 1]) and np.isnan(matrix[0, 1])
