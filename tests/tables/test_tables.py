"""Tables become rows of numbers; whatever is left out, dropped, filled or converted is told."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import importlib.util
import json
import time
import tracemalloc
import warnings
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_wine

from princdiff.tables import Coding, encode, prepare

RNG = np.random.default_rng(0)


def two(column: list, other: list | None = None, **options):
    """A column beside a plain one, in two tables."""
    other = column if other is None else other
    X = pd.DataFrame({"plain": np.linspace(0, 1, len(column)), "c": column})
    Y = pd.DataFrame({"plain": np.linspace(0, 2, len(other)), "c": other})
    return prepare(X, Y, **options)


def left_out(column: list, other: list | None = None) -> str:
    """Why the column is left out."""
    with pytest.warns(UserWarning, match="left out: 'c'"):
        table = two(column, other)
    assert table.features == ("plain",)
    assert any("left out: 'c'" in note for note in table.notes)
    return table.left_out["c"]


# Two tables, or one -----------------------------------------------------------------------------------------


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
        (["a", "a", "a"], "one group only, 'a'"),
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


# Which columns ----------------------------------------------------------------------------------------------


def test_columns_of_one_table_only():
    X = pd.DataFrame({"u": [1.5], "v": [2.5], "Body Mass": [1.5]})
    Y = pd.DataFrame({"u": [1.5], "w": [2.5], "body_mass": [1.5]})
    message = (
        r"columns 'v', 'Body Mass' only in X; columns 'w', 'body_mass' only in Y "
        r"\(spelled differently: 'Body Mass' and 'body_mass'\); rename them, or name .* features="
    )
    with pytest.raises(ValueError, match=message):
        prepare(X, Y)
    table = prepare(X, Y, features=["u"])
    assert table.features == ("u",)
    assert table.notes == ("2 columns not compared, as features= does not name them.",)


def test_no_common_columns():
    with pytest.raises(
        ValueError, match=r"X and Y have no column in common: 'U' against 'u' .*spelled differently"
    ):
        prepare(pd.DataFrame({"U": [1.5]}), pd.DataFrame({"u": [1.5]}))


def test_features_keep_their_order_and_name_unknown_ones():
    frame = pd.DataFrame({"size": [1.5, 2.5], "mass": [3.5, 4.5], "g": [0, 1]})
    assert prepare(frame, groups="g", features=["mass", "size", "mass"]).features == ("mass", "size")
    assert prepare(frame, groups="g", features="mass").features == ("mass",)
    with pytest.raises(ValueError, match=r"features: X has no column 'masss'; did you mean 'mass'\?"):
        prepare(frame, groups="g", features=["masss"])
    with pytest.raises(ValueError, match="'g' is used as groups= and cannot be a feature"):
        prepare(frame, groups="g", features=["g"])
    with pytest.raises(ValueError, match="features= names no column"):
        prepare(frame, groups="g", features=[])
    with pytest.raises(ValueError, match="features: Y has no column 'mass'"):
        prepare(frame, frame[["size"]], features=["mass"])


def test_features_of_arrays_by_position():
    assert prepare(np.eye(3), np.eye(3), features=[2, "x0"]).features == ("x2", "x0")


def test_columns_without_names_are_matched_by_position():
    X = pd.DataFrame({"u": [1.5], "v": [2.5]})
    table = prepare(X, np.array([[3.5, 4.5]]))
    assert table.features == ("u", "v")
    assert table.notes == ("The columns of Y have no names; they took those of X by position.",)
    mixed = X.assign(v=["a"])
    assert prepare(np.array([[0.5, "b"]], dtype=object), mixed).features == ("u", "v = b")
    with pytest.raises(ValueError, match=r"X has 2 columns but Y has 3.*by position"):
        prepare(X, np.zeros((1, 3)))


def test_unnamed_index_column_of_a_file_is_left_out(tmp_path):
    pd.DataFrame({"u": [1.5, 2.5]}).to_csv(tmp_path / "a.csv")
    pd.DataFrame({"u": [1.5, 2.5]}).to_csv(tmp_path / "b.csv", index=False)
    with pytest.warns(UserWarning, match=r"'Unnamed: 0' \(looks like an identifier"):
        assert prepare(tmp_path / "a.csv", tmp_path / "a.csv").features == ("u",)
    with pytest.warns(UserWarning, match="'Unnamed: 0' \\(row names of one table"):
        assert prepare(tmp_path / "a.csv", tmp_path / "b.csv").features == ("u",)


# What a column is -------------------------------------------------------------------------------------------

DAY = datetime.date(2024, 5, 17)


@pytest.mark.parametrize(
    "column",
    [
        pd.date_range("2024-01-01", periods=4),
        pd.date_range("2024-01-01", periods=4, tz="Europe/Oslo"),
        pd.period_range("2024-01", periods=4, freq="M"),
        pd.to_timedelta([1, 2, 3, 3], unit="h"),
        [DAY, None, DAY, DAY],
        pd.Categorical([DAY, DAY, DAY, DAY]),
        pd.Categorical(pd.to_datetime(["2024-01-01"] * 4)),
        [datetime.time(12, 30)] * 4,
        ["2024-01-01", "2024-01-02", None, "2024-01-01"],
        ["2024-01-01T12:00:00Z", "2024-01-02 12:00", "2024-01-01 1:00", "2024-01-02 12:00"],
        ["1/2/2024", "12/31/24", "1/2/2024", "1/2/2024"],
        ["31.12.2024", "1.2.2024", "1.2.2024", "1.2.2024"],
        ["5 May 2024", "17-May-24", "May 17, 2024", "5 May 2024"],
        ["12:30", "12:30:15", "1:00", "1:00"],
    ],
)
def test_dates_are_left_out(column):
    assert left_out(column) == "dates and times are not compared unless dates='parts'"


def test_text_that_all_differs_is_left_out():
    assert "identifier" in left_out(["ada", "bob", "cy", "dan"])
    assert "identifier" in left_out(["ada", "bob", "cy", "dan"], ["eve", "fay", "gus"])
    assert "identifier" in left_out(["a", "b", "c"], ["a", "b", "c"])
    assert left_out([f"a remark of {n} or more words" for n in range(5)]) == "free text"


def test_text_of_many_levels_is_left_out_unless_asked_for():
    column = [f"level {n % 100}" for n in range(250)]
    assert left_out(column) == "free text or too many categories (100 different values)"
    assert len(two(column, features=["c"]).features) == 51
    with pytest.raises(
        ValueError, match="'c' \\(free text or too many categories \\(200 different values\\)\\)"
    ):
        two([f"level {n % 200}" for n in range(250)], ["level 0"], features=["c"])


@pytest.mark.parametrize(
    "column",
    [
        np.arange(20),
        np.arange(100, 120)[::-1],
        np.arange(20) * 1_000_003,
        RNG.permutation(40)[:30],
        pd.array(np.arange(20), dtype="Int64"),
        [str(n) for n in range(20)],
    ],
)
def test_numberings_are_left_out_unless_asked_for(column):
    assert "identifier" in left_out(column)
    assert two(column, features=["plain", "c"]).features == ("plain", "c")


def test_identifiers_by_name():
    sizes = [911, 13_557, 88_123, 5_121, 45_451]
    for name in ("id", "patient_id", "customerId", "UUID", "index", "row number"):
        X = pd.DataFrame({"u": [1.5] * 5, name: sizes})
        with pytest.warns(UserWarning, match=f"'{name}' \\(looks like an identifier"):
            assert prepare(X, X).features == ("u",)
    for name in ("acid", "grid", "income", "Solid"):
        X = pd.DataFrame({"u": [1.5] * 5, name: sizes})
        assert prepare(X, X).features == ("u", name)


def test_identifiers_with_gaps_and_long_codes():
    X = pd.DataFrame({"u": [1.5] * 5, "id": [3.0, None, 5.0, 9.0, 11.0]})
    with pytest.warns(UserWarning, match="'id'"):
        assert prepare(X, X).features == ("u",)
    # As numbers these two would be the same.
    assert "identifier" in left_out(["12345678901234567890", "12345678901234567891", "3"])


def test_identifier_over_groups_of_one_table():
    frame = pd.DataFrame({"g": [0, 1] * 10, "u": np.zeros(20), "nr": np.arange(20)})
    with pytest.warns(UserWarning, match="'nr'"):
        assert prepare(frame, groups="g").features == ("u",)


def test_measurements_that_happen_to_differ_are_kept():
    incomes = RNG.integers(20_000, 90_000, 50)
    assert len(set(incomes)) == 50
    assert two(incomes).features == ("plain", "c")
    assert two(np.arange(20) + 0.0).features == ("plain", "c")
    assert two([1, 2, 3]).features == ("plain", "c")
    assert prepare(np.arange(40).reshape(20, 2), np.arange(40).reshape(20, 2)).features == ("x0", "x1")


def test_objects_that_are_neither_numbers_nor_text():
    assert left_out([[1], [2], [3]]) == "holds objects of type list"
    assert left_out([{1}, "a", 3]) == "holds objects of type int and set and str"
    assert left_out([1j, 2j]) == "holds complex numbers"
    assert left_out([b"a", b"b"]) == "holds objects of type bytes"
    assert left_out(pd.Series([10**400, 1], dtype=object)) == "holds numbers too large for floating point"
    assert left_out(pd.interval_range(0, 3)) == "holds objects of type Interval"
    assert left_out([None, None, None]) == "has no values"
    assert left_out([np.nan] * 3) == "has no values"
    assert left_out(["", " "]) == "has no values"
    assert left_out(pd.array([None, None], dtype="boolean")) == "has no values"
    assert left_out(pd.Categorical([None, None], ["a"])) == "has no values"


def test_strict_makes_it_an_error():
    with pytest.raises(
        ValueError,
        match=r"1 column cannot be compared: 'c' \(dates and times are not compared unless dates='parts'\)",
    ):
        two(pd.date_range("2024-01-01", periods=4), strict=True)
    with pytest.raises(ValueError, match=r"1 column cannot be compared: 'c'"):
        two(pd.date_range("2024-01-01", periods=4), features=["plain", "c"])


def test_no_column_can_be_compared():
    frame = pd.DataFrame({"name": ["ada", "bob", "cy"], "when": pd.date_range("2024-01-01", periods=3)})
    with pytest.raises(ValueError, match=r"no column can be compared: 'name' \(.*\), 'when' \(dates"):
        prepare(frame, frame)
    with pytest.raises(ValueError, match="no column can be compared: there is none"):
        prepare(pd.DataFrame({"g": [0, 1]}), groups="g")


@pytest.mark.parametrize(
    "column",
    [
        [1.5, 2.5, 3.5],
        np.array([1.5, 2.5, 3.5], dtype=np.float16),
        pd.array([1.5, 2.5, 3.5], dtype="Float64"),
        pd.arrays.SparseArray([1.5, 2.5, 3.5]),
        np.array([1.5, 2.5, 3.5], dtype=object),
        [decimal.Decimal("1.5"), decimal.Decimal("2.5"), decimal.Decimal("3.5")],
        ["1.5", "2.5", " 3.5"],
        pd.array(["1.5", "2.5", "3.5"], dtype="string"),
        np.array(["1.5", 2.5, 3.5], dtype=object),
    ],
)
def test_numbers_however_they_are_kept(column):
    table = two(column)
    np.testing.assert_array_equal(table.rows[:3, 1], [1.5, 2.5, 3.5])
    assert table.rows.dtype == np.float64


def test_conversions_are_told():
    assert two(["1.5", "2", "2"]).notes == ("Column 'c': numbers written as text.",)
    assert two([2.5, "2", "2"]).notes == ("Column 'c': numbers written as text.",)
    assert two(np.array([1, 2.5], dtype=object)).notes == ("Column 'c': Python objects read as numbers.",)
    assert "2**53" in two([2**60 + 1, 2**61, 2**60 + 1]).notes[0]
    assert "2**53" in two(pd.array([2**60 + 1, 2**61, None], dtype="Int64"), missing="drop").notes[0]
    mixed = two([1, "one", 1, "one"])
    assert mixed.notes[0] == "Column 'c': int and str mixed, taken as categories."
    assert mixed.features == ("plain", "c = one")


def test_codes_with_leading_zeros_are_no_numbers():
    table = two(["007", "008", "007"])
    assert table.features == ("plain", "c = 008")


def test_nearly_numeric_text_is_a_fault():
    column = [str(n) for n in RNG.normal(size=20)]
    column[7], column[9] = "n/k", "< 3"
    with pytest.raises(
        ValueError, match=r"column 'c' holds numbers but for '< 3', 'n/k' \(the first in row 9 of X\)"
    ):
        two(column)
    with pytest.raises(ValueError, match=r"holds numbers with a comma \('-?\d+,\d+'\)"):
        two([str(n).replace(".", ",") for n in RNG.normal(size=20)])


def test_numbers_here_and_text_there():
    with pytest.raises(ValueError, match=r"column 'c' holds numbers in X but text in Y \('\?'\): replace"):
        two([1.5, 2.5], ["1", "?"])
    with pytest.raises(ValueError, match="holds numbers in Y but categories in X"):
        two(pd.Categorical(["a", "b"]), [1.5, 2.5])
    # Numbers as text beside words are words.
    assert two(["1", "2", "1"], ["1", "3+", "2"]).features == ("plain", "c = 1", "c = 2", "c = 3+")
    # Booleans are numbers beside numbers, and a column without values is anything.
    np.testing.assert_array_equal(two([True, False], [0.5, 1.0]).rows[:, 1], [1, 0, 0.5, 1])
    assert two([None, None], ["a", "b"], missing="impute").features == (
        "plain",
        "c = a",
        "c = b",
        "c (missing)",
    )


# Categories -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("column", "names"),
    [
        (["m", "f", "m"], ["m"]),
        (pd.Series(["m", "f", "m"], dtype="string"), ["m"]),
        (pd.Series(["m", "f", "m"], dtype=object), ["m"]),
        (pd.Categorical(["m", "f", "m"], ["x", "m", "f", "y"]), ["f"]),
        (pd.Categorical([2, 1, 2]), ["2"]),
        (pd.Categorical([2.0, 1.0, 2.0]), ["2"]),
        ([True, False, True], ["True"]),
        (pd.array([True, False, True], dtype="boolean"), ["True"]),
        (np.array([True, False, True], dtype=object), ["True"]),
        (["b", "a", "b", "ü"], ["a", "b", "ü"]),
        (pd.Categorical(["b", "a", "b", "c"], ["c", "b", "a"]), ["c", "b", "a"]),
        (["same", "same"], ["same"]),
        (pd.cut([0.5, 1.5, 0.5], [0, 1, 2]), ["(1, 2]"]),
    ],
)
def test_categories(column, names):
    table = two(column)
    assert table.features == ("plain", *(f"c = {name}" for name in names))
    assert table.origin == ("plain", *["c"] * len(names))
    texts = [str(value) for value in pd.Series(column).astype(object)]
    for place, name in enumerate(names, start=1):
        expected = [text.removesuffix(".0") == name for text in texts]
        np.testing.assert_array_equal(table.rows[: len(texts), place], expected)


def test_level_of_one_table_only_is_kept_and_told():
    table = two(["a", "b", "a"], ["a", "c", "a"])
    assert table.features[1:] == ("c = a", "c = b", "c = c")
    assert "Levels seen in one group only: 'b' of 'c' (in 'X'), 'c' of 'c' (in 'Y')." in table.notes


def test_declared_categories_are_believed():
    assert two(pd.Categorical(["a", "b", "c"])).features == ("plain", "c = a", "c = b", "c = c")


def test_what_a_two_level_column_means_is_told():
    assert "1 column of categories encoded as 0/1: 'c' (1 is 'm', 0 is 'f')." in two(["m", "f", "m"]).notes


def test_shares_are_summed_back():
    table = two(["a", "b", "a", None], ["a", "c", "a", "b"], missing="impute")
    assert table.by_column([0.5, 0.1, 0.1, 0.1, 0.2]) == {"plain": 0.5, "c": pytest.approx(0.5)}
    with pytest.raises(ValueError, match=r"shorter|longer"):
        table.by_column([1.0])


def test_feature_names_stay_different():
    frame = pd.DataFrame({"c = b": [1.5, 2.5], "c": ["a", "b"], "v": [None, 1.5], "v (missing)": [0.5, 1.5]})
    table = prepare(frame, frame, missing="impute")
    assert table.features == ("c = b", "c = b (2)", "v", "v (missing) (2)", "v (missing)")
    assert table.origin == ("c = b", "c", "v", "v", "v (missing)")


def test_one_hot_rows_sum_to_one():
    column = [None, *RNG.choice(list("abcd"), 50)]
    table = two(column, missing="impute")
    np.testing.assert_array_equal(table.rows[:, 1:].sum(axis=1), 1)


# Missing and infinite values --------------------------------------------------------------------------------

GAPS = pd.DataFrame(
    {
        "u": [1.0, np.nan, 3.0, 5.0],
        "n": pd.array([1, 2, None, 7], dtype="Int64"),
        "c": ["a", "b", None, "b"],
        "b": pd.array([True, None, False, True], dtype="boolean"),
        "full": [0.5, 1.5, 2.5, 3.5],
    }
)


def test_missing_values_are_an_error_by_default():
    message = (
        r"missing values in 4 columns: 'u' \(1 of 4 in 'X', 0 of 4 in 'Y'; the first in row 1 of X\), "
        r"'n' \(1 of 4 .* row 2 of X\), 'c' \(1 .*\), 'b' \(1 .*\); 2 of 8 rows have some .*"
        r"missing='impute' to fill and mark them.*; missing='drop' to leave these rows out; .*features="
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
        ValueError, match=r"infinite values in 1 column: '(x)?1' \(1, the first in row 2 of Y\)"
    ):
        prepare(make(rows), make(bad), missing=missing)


def test_huge_but_finite_values_are_fine():
    rows = np.full((4, 2), 1e308)
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


# Sparse tables and AnnData ----------------------------------------------------------------------------------


def test_sparse_stays_sparse_and_agrees_with_dense():
    dense = RNG.poisson(0.5, (30, 6)).astype(float)
    dense[[3, 8, 20], [1, 1, 4]] = np.nan
    for missing in ("impute", "drop"):
        sparse = prepare(sp.csr_matrix(dense), sp.csc_array(dense), missing=missing)
        plain = prepare(dense, dense, missing=missing)
        assert sp.issparse(sparse.rows) and sparse.rows.format == "csr"
        assert sparse.features == plain.features and sparse.origin == plain.origin
        np.testing.assert_array_equal(sparse.rows.toarray(), plain.rows)
        np.testing.assert_array_equal(sparse.kept, plain.kept)
    with pytest.raises(
        ValueError, match=r"'x1' \(2 of 30 in 'X', 2 of 30 in 'Y'; the first in row 3 of X\), 'x4' \(1 of"
    ):
        prepare(sp.csr_matrix(dense), sp.csr_matrix(dense))


def test_sparse_beside_dense():
    dense = np.eye(3)
    for other in (dense, pd.DataFrame(dense, columns=list("abc"))):
        table = prepare(sp.csr_matrix(dense), other)
        assert sp.issparse(table.rows)
        np.testing.assert_array_equal(table.rows.toarray(), np.vstack([dense, dense]))
    with pytest.raises(
        ValueError, match="the other table is sparse, so Y must hold numbers only: 'c' do not"
    ):
        prepare(sp.csr_matrix(dense), pd.DataFrame(dense, columns=list("abc")).assign(c=["u", "v", "w"]))


def test_single_cells():
    obs = pd.DataFrame({"tissue": pd.Categorical(["p", "q", "p"], ["q", "p"]), "depth": [1.5, 2.5, 3.5]})
    cells = SimpleNamespace(X=sp.csr_matrix(np.eye(3)), obs=obs, var_names=["g0", "g1", "depth"])
    table = prepare(cells, groups="tissue", covariates="depth")
    assert table.groups == ("q", "p")
    # "depth" is a column about cells here, and a gene there.
    assert table.features == ("g0", "g1", "depth")
    np.testing.assert_array_equal(table.covariates, [[1.5], [2.5], [3.5]])
    with pytest.raises(ValueError, match=r"no column 'tisue' in X; did you mean 'tissue'\?"):
        prepare(cells, groups="tisue")


def test_float32_stays():
    rows = np.eye(3, dtype=np.float32)
    assert prepare(rows, groups=[0, 1, 1]).rows is rows
    frame = pd.DataFrame(rows).assign(c=["a", "b", "a"])
    assert prepare(frame, frame).rows.dtype == np.float32
    assert prepare(pd.DataFrame(rows), pd.DataFrame(rows)).rows.dtype == np.float32
    assert prepare(rows, rows.astype(float)).rows.dtype == np.float64


# Weights, blocks, covariates --------------------------------------------------------------------------------


def test_columns_with_a_role_are_no_features():
    frame = pd.DataFrame(
        {"u": [0.5, 1.5], "w": [1, 3], "pair": ["p", "q"], "age": [30.5, 40.5], "sex": ["f", "m"]}
    )
    table = prepare(frame, frame, weights="w", blocks="pair", covariates=["age", "sex"])
    assert table.features == ("u",)
    np.testing.assert_array_equal(table.weights, [1, 3, 1, 3])
    np.testing.assert_array_equal(table.blocks, [0, 1, 0, 1])
    assert table.covariate_names == ("age", "sex = m")
    np.testing.assert_array_equal(table.covariates, [[30.5, 0], [40.5, 1]] * 2)


def test_roles_as_vectors():
    rows = np.arange(8.0).reshape(4, 2)
    table = prepare(
        rows, groups=[0, 0, 1, 1], weights=[1, 2, 3, 4], blocks=list("abab"), covariates=np.arange(4.0)
    )
    np.testing.assert_array_equal(table.weights, [1, 2, 3, 4])
    np.testing.assert_array_equal(table.blocks, [0, 1, 0, 1])
    np.testing.assert_array_equal(table.covariates[:, 0], np.arange(4))
    both = prepare(rows, rows, covariates=pd.DataFrame({"age": np.arange(8) / 2, "sex": list("fmfmffmm")}))
    assert both.covariate_names == ("age", "sex = m")
    assert prepare(rows, rows, covariates=pd.Series(np.arange(8.0), name="age")).covariate_names == ("age",)
    assert prepare(rows, rows, covariates=sp.csr_matrix(np.eye(8))).covariates.shape == (8, 8)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"weights": [1, 2]}, "weights has 2 entries, but there are 4 rows in X and Y"),
        ({"weights": ["a", "b", "c", "a"]}, "weights must be numbers, got text"),
        ({"weights": [1, 2, np.inf, 1]}, "the weight of row 2 is infinite"),
        ({"weights": [1, 2, None, 1]}, r"missing values in 'weights' \(1, the first in row 0 of Y\)"),
        ({"blocks": ["a", None, "a", "b"]}, r"missing values in 'blocks' \(1, the first in row 1 of X\)"),
        ({"covariates": np.eye(3)}, "covariates has 3 rows, but there are 4 rows in X and Y"),
        ({"covariates": [1, 2, np.nan, 4]}, "missing values in \"covariate 'x0'\""),
        ({"covariates": [1, 2, np.inf, 4]}, "covariates: 'x0' holds infinite values"),
        (
            {"covariates": pd.DataFrame({"t": pd.date_range("2024", periods=4)})},
            r"'t' \(dates .*\) cannot be used",
        ),
        ({"weights": "x9"}, "weights: there is no column 'x9' in X"),
    ],
)
def test_bad_roles(options, message):
    with pytest.raises(ValueError, match=message):
        prepare(np.eye(2), np.eye(2), missing="impute", **options)


def test_rows_without_weight_block_or_covariate_are_dropped():
    rows = np.arange(12.0).reshape(6, 2)
    table = prepare(
        rows,
        groups=[0, 0, 0, 1, 1, 1],
        weights=[1, 2, None, 4, 5, 6],
        blocks=[*"abcab", None],
        covariates=[1.5, 2.5, 3.5, np.nan, 5.5, 6.5],
        missing="drop",
    )
    np.testing.assert_array_equal(table.kept, [0, 1, 4])
    np.testing.assert_array_equal(table.weights, [1, 2, 5])
    np.testing.assert_array_equal(table.blocks, [0, 1, 1])
    np.testing.assert_array_equal(table.covariates, [[1.5], [2.5], [5.5]])
    assert "3 of 6 rows dropped" in table.notes[0]


def test_converted_covariates_are_told():
    table = prepare(np.eye(2), np.eye(2), covariates=pd.DataFrame({"age": ["30", "40", "30", "40"]}))
    assert table.notes == ("Covariate 'age': numbers written as text.",)


# Later rows -------------------------------------------------------------------------------------------------


def test_later_rows_are_encoded_alike():
    table = prepare(GAPS, GAPS.assign(c="z"), missing="impute")
    again = encode(GAPS[["full", "b", "c", "n", "u"]], table.codings)
    np.testing.assert_array_equal(again.rows, table.rows[:4])
    assert again.notes == ()
    # Fewer rows have fewer levels and other medians, which changes nothing.
    np.testing.assert_array_equal(encode(GAPS.iloc[1:3], table.codings).rows, table.rows[1:3])


def test_codings_survive_json():
    table = prepare(GAPS, GAPS, missing="impute")
    plain = json.loads(json.dumps([dataclasses.asdict(coding) for coding in table.codings]))
    loaded = [Coding(**{**entry, "levels": entry["levels"] and tuple(entry["levels"])}) for entry in plain]
    assert loaded == list(table.codings)


def test_later_rows_with_something_new():
    X = pd.DataFrame({"u": [0.5, 1.5, 2.5], "c": ["a", "b", "c"], "d": ["p", "q", "p"]})
    codings = [Coding("u"), Coding("c", levels=("a", "b", "c")), Coding("d", levels=("p", "q"))]
    new = encode(X.assign(c=["a", "new", "c"], more=1), codings)
    np.testing.assert_array_equal(new.rows[1], [1.5, 0, 0, 0, 1])
    assert new.notes == (
        "1 column of the new table not used.",
        "Column 'c' has levels that were not seen before: 'new'.",
    )
    gaps = X.assign(u=[0.5, None, 2.5])
    for missing in ("error", "impute"):
        with pytest.raises(
            ValueError, match=r"1 column that had none before: 'u' \(1, the first in row 1 of the new"
        ):
            encode(gaps, codings, missing=missing)
    dropped = encode(gaps.assign(c=["a", "b", "new"]), codings, missing="drop")
    np.testing.assert_array_equal(dropped.kept, [0, 2])
    np.testing.assert_array_equal(dropped.rows, [[0.5, 1, 0, 0, 0], [2.5, 0, 0, 0, 0]])
    with pytest.raises(ValueError, match=r"the new table lacks column 'u'; did you mean 'U'\?"):
        encode(X.rename(columns={"u": "U"}), codings)
    with pytest.raises(ValueError, match="column 'u' held numbers, but now holds text"):
        encode(X.assign(u=["x", "y", "z"]), codings)
    with pytest.raises(ValueError, match="column 'c' held categories, but now holds date"):
        encode(X.assign(c=pd.date_range("2024", periods=3)), codings)
    with pytest.raises(ValueError, match="infinite values"):
        encode(X.assign(u=np.inf), codings)


def test_levels_that_are_numbers_in_a_later_file():
    codings = [Coding("grade", levels=("1", "2", "3+"))]
    rows = encode(
        pd.DataFrame({"grade": [1, 2, None]}), [dataclasses.replace(codings[0], indicator=True)]
    ).rows
    np.testing.assert_array_equal(rows, [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 1]])


def test_later_rows_without_any_value_in_a_column():
    table = prepare(GAPS, GAPS, missing="impute")
    rows = encode(GAPS.assign(u=None, c=None), table.codings).rows
    np.testing.assert_array_equal(rows[:, :2], [[3, 1]] * 4)
    np.testing.assert_array_equal(rows[:, 4:7], [[0, 0, 1]] * 4)


def test_later_arrays():
    table = prepare(np.eye(3), np.eye(3))
    np.testing.assert_array_equal(encode(2 * np.eye(3), table.codings).rows, 2 * np.eye(3))
    assert sp.issparse(encode(sp.eye(3, format="csr"), table.codings).rows)
    with pytest.raises(ValueError, match="the new table lacks column 'x2'"):
        encode(np.eye(2), table.codings)


# Tables that others made, and large ones --------------------------------------------------------------------


@pytest.mark.parametrize("load", [load_breast_cancer, load_wine])
def test_real_tables_through_a_file(tmp_path, load):
    frame = load(as_frame=True).frame
    frame.to_csv(tmp_path / "a.csv", index=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table = prepare(tmp_path / "a.csv", groups="target")
    np.testing.assert_array_equal(table.rows, frame.drop(columns="target"))
    np.testing.assert_array_equal(table.codes, frame["target"])


def mixed_table(n_rows: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    columns = {f"f{place}": rng.normal(size=n_rows) for place in range(8)}
    columns |= {f"i{place}": rng.integers(0, 1000, n_rows) for place in range(4)}
    return pd.DataFrame(
        columns
        | {
            "id": np.arange(n_rows),
            "flag": rng.random(n_rows) < 0.5,
            "city": rng.choice([f"city {place}" for place in range(30)], n_rows),
            "sex": rng.choice(["f", "m"], n_rows),
            "name": [f"name {place}" for place in range(n_rows)],
            "when": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 10**6, n_rows), unit="s"),
            "kind": pd.Categorical(rng.choice(["x", "y", "z"], n_rows)),
            "gap": np.where(rng.random(n_rows) < 0.1, np.nan, rng.normal(size=n_rows)),
        }
    )


def test_large_mixed_table():
    X, Y = mixed_table(125_000, 0), mixed_table(125_000, 1)
    start = time.process_time()
    tracemalloc.start()
    with pytest.warns(UserWarning, match="3 columns left out: 'id' .*, 'name' .*, 'when' "):
        table = prepare(X, Y, missing="impute")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert table.rows.shape == (250_000, 49)
    # Far from the limits on a quiet machine: about one second, and 1.4 times the result.
    assert time.process_time() - start < 8
    assert peak < 2.5 * table.rows.nbytes


# Odd frames -------------------------------------------------------------------------------------------------

NAMES = st.text(min_size=1, max_size=8)
VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(allow_infinity=False),
    st.text(max_size=5),
    st.dates(),
    st.decimals(allow_infinity=False, places=2, min_value=-1000, max_value=1000),
    st.binary(max_size=3),
    st.lists(st.integers(), max_size=2),
)
COLUMNS = st.one_of(
    *(
        st.lists(kind, min_size=6, max_size=6)
        for kind in (VALUES, st.booleans() | st.none(), st.integers(0, 9))
    ),
    st.lists(st.sampled_from(["a", "b", "ü", None]), min_size=6, max_size=6),
    st.lists(st.sampled_from(["a", "b", None]), min_size=6, max_size=6).map(pd.Categorical),
    st.lists(st.floats(-5, 5) | st.none(), min_size=6, max_size=6).map(
        lambda v: pd.array(v, dtype="Float64")
    ),
    st.lists(st.text(max_size=3) | st.none(), min_size=6, max_size=6).map(
        lambda v: pd.array(v, dtype="string")
    ),
)


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.dictionaries(NAMES, COLUMNS, min_size=1, max_size=5),
    st.booleans(),
    st.sampled_from(["impute", "drop"]),
)
def test_odd_frames(columns, stacked, missing):
    """Any frame gives finite rows and a full account, or a ValueError; nothing is lost."""
    frame = pd.DataFrame(columns)
    labels = np.array([0, 1, 0, 1, 0, 1])
    sources = {"X": frame, "groups": labels} if stacked else {"X": frame, "Y": frame.iloc[::-1]}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            table = prepare(**sources, missing=missing)
    except ValueError as error:
        assert len(str(error).splitlines()) == 1 or "\n" in "".join(map(str, columns))
        return
    assert set(table.columns) | set(table.left_out) == set(map(str, columns))
    assert set(table.origin) == set(table.columns) and not set(table.columns) & set(table.left_out)
    assert len(set(table.features)) == len(table.features) == table.rows.shape[1]
    assert np.isfinite(table.rows).all()
    assert len(table.rows) == len(table.codes) == len(table.kept)
    assert bool(table.left_out) == any("left out" in note for note in table.notes)
    assert (len(table.kept) < (6 if stacked else 12)) == any("rows dropped" in note for note in table.notes)
    again = encode(frame, table.codings, missing=missing if missing == "drop" else "error")
    here = table.kept[table.kept < 6]
    np.testing.assert_array_equal(again.kept, here)
    np.testing.assert_array_equal(again.rows, table.rows[: len(here)])


@pytest.mark.skipif(importlib.util.find_spec("polars") is None, reason="polars is not installed")
def test_polars_frames():
    import polars

    frame = polars.DataFrame({"u": [1.5, None, 3.5], "c": ["a", "b", "a"], "b": [True, None, False]})
    table = prepare(frame, frame, missing="impute")
    same = prepare(
        *[pd.DataFrame({"u": [1.5, None, 3.5], "c": list("aba"), "b": [True, None, False]})] * 2,
        missing="impute",
    )
    assert table.features == same.features
    np.testing.assert_array_equal(table.rows, same.rows)
    assert prepare(frame.select("u"), groups=frame["c"], missing="impute").groups == ("a", "b")


@pytest.mark.skipif(importlib.util.find_spec("anndata") is None, reason="anndata is not installed")
def test_anndata_frames(tmp_path):
    import anndata

    obs = pd.DataFrame({"tissue": ["p", "q", "p"]}, index=["c0", "c1", "c2"])
    cells = anndata.AnnData(sp.csr_matrix(np.eye(3)), obs=obs, var=pd.DataFrame(index=["g0", "g1", "g2"]))
    cells.write_h5ad(tmp_path / "cells.h5ad")
    for source in (cells, tmp_path / "cells.h5ad"):
        table = prepare(source, groups="tissue")
        assert sp.issparse(table.rows) and table.features == ("g0", "g1", "g2")
        assert table.groups == ("p", "q")
    np.testing.assert_array_equal(prepare(cells, groups=cells.obs["tissue"]).codes, [0, 1, 0])


@pytest.mark.skipif(importlib.util.find_spec("pyarrow") is None, reason="pyarrow is not installed")
def test_arrow_types():
    import pyarrow

    def arrow(values, kind):
        return pd.array(values, dtype=pd.ArrowDtype(kind))

    frame = pd.DataFrame(
        {
            "i": arrow([3, None, 7], pyarrow.int32()),
            "d": arrow([decimal.Decimal("1.5"), None, decimal.Decimal("2.5")], pyarrow.decimal128(5, 2)),
            "s": arrow(["a", None, "b"], pyarrow.string()),
            "b": arrow([True, None, False], pyarrow.bool_()),
            "k": pd.Series(pyarrow.array(["a", None, "b"]).dictionary_encode().to_pandas()),
            "t": arrow([DAY, DAY, DAY], pyarrow.date32()),
            "l": arrow([[1], [2], [3]], pyarrow.list_(pyarrow.int8())),
        }
    )
    with pytest.warns(UserWarning, match="'t' \\(dates.*, 'l' \\(holds objects"):
        table = prepare(frame, frame, missing="impute")
    assert table.columns == ("i", "d", "s", "b", "k")
    np.testing.assert_array_equal(table.rows[0], [3, 0, 1.5, 0, 1, 0, 0, 0, 1, 0, 1, 0, 0])
