"""Two tables, or one with groups: which rows belong to which group, and what they are called."""

from __future__ import annotations

import dataclasses

import numpy as np
import pandas as pd
import pytest

from princdiff.tables import prepare


def test_two_tables_are_aligned_by_name():
    X = pd.DataFrame({"u": [1.0, 2.0], "v": [3.0, 4.0]})
    Y = pd.DataFrame({"v": [5.0], "u": [6.0]})
    table = prepare(X, Y)
    np.testing.assert_array_equal(table.rows, [[1, 3], [2, 4], [6, 5]])
    np.testing.assert_array_equal(table.codes, [0, 0, 1])
    assert table.codes.dtype == np.uint8
    assert table.groups == ("X", "Y")
    assert table.features == table.origin == table.columns == ("u", "v")
    assert table.notes == () and table.left_out == {} and table.missing == {}
    np.testing.assert_array_equal(table.kept, [0, 1, 2])


def test_result_is_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        prepare(np.eye(2), np.eye(2)).rows = None


def test_files_name_the_groups(tmp_path):
    frame = pd.DataFrame({"u": [1.5, 2.5]})
    for place in ("old/data.csv", "new/data.csv", "new/more.csv.gz", "data/old/a.csv", "data2/old/a.csv"):
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        frame.to_csv(tmp_path / place, index=False)

    def groups(first, second):
        return prepare(tmp_path / first, tmp_path / second).groups

    assert groups("old/data.csv", "new/more.csv.gz") == ("data", "more")
    assert groups("old/data.csv", "new/data.csv") == ("old", "new")
    assert groups("data/old/a.csv", "data2/old/a.csv") == ("old (X)", "old (Y)")
    assert groups("old/data.csv", "old/data.csv") == ("old (X)", "old (Y)")
    assert prepare(tmp_path / "old/data.csv", frame).groups == ("data", "Y")
    pd.DataFrame({"w": [1.5]}).to_csv(tmp_path / "old/data.csv", index=False)
    with pytest.raises(ValueError, match=r"old.data\.csv and .*new.data\.csv have no column in common"):
        groups("old/data.csv", "new/data.csv")


def test_group_column_is_no_feature():
    frame = pd.DataFrame({"g": ["b", "a", "b"], "u": [1.5, 2.5, 3.5]})
    table = prepare(frame, groups="g")
    assert table.features == ("u",)
    assert table.groups == ("a", "b")
    np.testing.assert_array_equal(table.codes, [1, 0, 1])


@pytest.mark.parametrize(
    ("labels", "groups", "codes"),
    [
        ([10, 9, 10], ("9", "10"), [1, 0, 1]),
        ([1.0, 0.0, 1.0], ("0", "1"), [1, 0, 1]),
        ([True, False, True], ("False", "True"), [1, 0, 1]),
        (["ü", "a", "ü"], ("a", "ü"), [1, 0, 1]),
        (("ü", "a", "ü"), ("a", "ü"), [1, 0, 1]),
        (np.array([b"u", b"v", b"u"]), ("u", "v"), [0, 1, 0]),
        (np.array([[3], [2], [3]]), ("2", "3"), [1, 0, 1]),
        (np.array(["p", 3, "p"], dtype=object), ("3", "p"), [1, 0, 1]),
        (pd.Categorical(["low", "high", "low"], ["unused", "low", "high"]), ("low", "high"), [0, 1, 0]),
        (pd.Series([2, 1, 2], dtype="Int64"), ("1", "2"), [1, 0, 1]),
        (pd.DataFrame({"y": ["v", "u", "v"]}), ("u", "v"), [1, 0, 1]),
        (["c", "a", "b"], ("a", "b", "c"), [2, 0, 1]),
    ],
)
def test_group_labels_of_any_kind(labels, groups, codes):
    table = prepare(np.eye(3), groups=labels)
    assert table.groups == groups
    np.testing.assert_array_equal(table.codes, codes)


def test_group_in_the_row_index():
    frame = pd.DataFrame({"u": [1.5, 2.5, 3.5], "g": list("aab")}).set_index("g")
    table = prepare(frame, groups="g")
    assert table.groups == ("a", "b") and table.features == ("u",)
    assert "the row index ('g') is not a feature" in table.notes[0]


def test_group_column_of_an_array_by_position():
    table = prepare(np.array([[0.5, 1], [1.5, 2]]), groups=-1)
    assert table.features == ("x0",) and table.groups == ("1", "2")


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (["a", None, "b"], "1 row without a label, the first is row 1 of X"),
        (["a", float("nan"), "b"], "1 row without a label, the first is row 1 of X"),
        (["a", "b", " "], "1 row without a label, the first is row 2 of X"),
        (pd.array([1, pd.NA, 2], dtype="Int64"), "1 row without a label"),
        (["a", "a", "a"], "only one group, 'a'"),
        (["a", "b"], "has 2 entries, but there are 3 rows in X"),
        (["1", 1, 2], "'1' occurs as text and as a number"),
        (np.eye(3), r"must be a column name or have one entry per row, got shape \(3, 3\)"),
        ("g", "there is no column 'g' in X"),
    ],
)
def test_bad_groups(labels, message):
    with pytest.raises(ValueError, match=f"groups.*{message}"):
        prepare(np.eye(3), groups=labels)


def test_too_many_groups():
    with pytest.raises(ValueError, match="300 different labels, and at most 254 groups"):
        prepare(np.zeros((300, 2)), groups=np.arange(300))


def test_unknown_group_column_suggests_others():
    frame = pd.DataFrame({"Tissue": ["a", "b"], "u": [1.5, 2.5]})
    with pytest.raises(ValueError, match=r"no column 'tisue' in X; did you mean 'Tissue'\?"):
        prepare(frame, groups="tisue")


def test_labels_in_another_order_are_refused():
    frame = pd.DataFrame({"u": [1.5, 2.5, 3.5]}, index=["p", "q", "r"])
    labels = pd.Series(["a", "b", "b"], index=["r", "q", "p"])
    with pytest.raises(ValueError, match=r"another order, by its index; pass groups\.loc\[X\.index\]"):
        prepare(frame, groups=labels)
    assert prepare(frame, groups=labels.to_numpy()).groups == ("a", "b")
    assert prepare(frame, groups=labels.reset_index(drop=True)).groups == ("a", "b")


def test_one_table_alone_or_too_much():
    with pytest.raises(ValueError, match="pass a second table, or groups="):
        prepare(np.eye(2))
    with pytest.raises(ValueError, match="not both"):
        prepare(np.eye(2), np.eye(2), groups=[0, 1])
    with pytest.raises(ValueError, match=r"Y has one dimension.*groups="):
        prepare(np.eye(2), np.array([0, 1]))
    with pytest.raises(ValueError, match="missing must be one of 'error', 'impute', 'drop'"):
        prepare(np.eye(2), np.eye(2), missing="ignore")
