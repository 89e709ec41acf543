"""What features are: kinds, levels, rare levels pooled, ordered categories, descriptions of columns."""

from __future__ import annotations

import dataclasses
import json
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from princdiff.tables import Coding, ColumnInfo, encode, prepare
from princdiff.tables.encoding import zero_one_columns


def halves(frame: pd.DataFrame, **options):
    """Even rows against odd rows."""
    return prepare(frame, groups=np.arange(len(frame)) % 2, **options)


def feature(table, name: str) -> np.ndarray:
    return np.asarray(table.rows)[:, table.features.index(name)]


# Kinds ------------------------------------------------------------------------------------------------------


def test_every_feature_has_a_kind_and_every_column_a_description():
    frame = pd.DataFrame(
        {
            "age": [31.5, np.nan, 50.0, 62.0] * 10,
            "active": [0, 1, 1, 0] * 10,
            "sex": [1, 2, 2, 1] * 10,
            "plan": ["free", "pro", "team", "free"] * 10,
            "paid": [True, False, True, True] * 10,
            "grade": pd.Categorical(["low", "mid", "top", "mid"] * 10, ["low", "mid", "top"], ordered=True),
            "city": ["Oslo", "Rome", "Oslo", None] * 10,
        }
    )
    table = halves(frame, missing="impute")
    kinds = dict(zip(table.features, table.kinds, strict=True))
    assert kinds == {
        "age": "number",
        "age (missing)": "missing",
        "active": "flag",
        "sex = 2": "flag",
        "plan = free": "level",
        "plan = pro": "level",
        "plan = team": "level",
        "paid = True": "flag",
        "grade": "number",
        "city = Oslo": "level",
        "city = Rome": "level",
        "city (missing)": "missing",
    }
    assert table.feature_levels == (
        *("", "missing", "", "2", "free", "pro", "team", "True", ""),
        *("Oslo", "Rome", "missing"),
    )
    info = table.column_info
    assert list(info) == list(frame.columns) == list(table.columns)
    assert {name: column.type for name, column in info.items()} == {
        "age": "number",
        "active": "flag",
        "sex": "flag",
        "plan": "category",
        "paid": "flag",
        "grade": "ordered",
        "city": "category",
    }
    assert info["active"].levels == ("0", "1")
    assert info["sex"].levels == ("1", "2")
    assert info["paid"].levels == ("False", "True")
    assert info["grade"].levels == ("low", "mid", "top")
    assert info["city"] == ColumnInfo(
        "city", "category", (9, 10, 11), ("Oslo", "Rome"), pooled_rows=(0, 0), missing=(0, 10)
    )
    assert info["age"].missing == (0, 10) and info["plan"].missing == (0, 0)
    for name, column in info.items():
        assert {table.origin[place] for place in column.features} == {name}
    assert sum(len(column.features) for column in info.values()) == len(table.features)
    json.dumps([dataclasses.asdict(column) for column in info.values()])


def test_flags_hold_zero_and_one_only():
    values = pd.DataFrame({"u": [9.99, 12.5] * 15, "v": [-1, 1] * 15, "w": [0, 2, 3] * 10, "x": [7] * 30})
    table = halves(values)
    assert table.features == ("u = 12.5", "v = 1", "w", "x")
    assert table.kinds == ("flag", "flag", "number", "number")
    np.testing.assert_array_equal(feature(table, "u = 12.5"), values["u"] == 12.5)
    np.testing.assert_array_equal(feature(table, "v = 1"), values["v"] == 1)


def test_two_values_by_accident_stay_numbers():
    assert halves(pd.DataFrame({"u": [1.5, 2.5, 2.5, 1.5]})).features == ("u",)


def test_all_float_frames_agree_with_others():
    floats = pd.DataFrame({"u": [1.0, 2.0] * 300, "v": np.linspace(0, 1, 600), "w": [5.0] * 599 + [6.0]})
    floats.loc[3, "u"] = np.nan
    mixed = floats.assign(z=["a", "b", "c"] * 200)
    one, other = (halves(frame, missing="impute") for frame in (floats, mixed))
    assert one.features == ("u = 1", "u = 2", "u (missing)", "v", "w = 6")
    assert other.features[:5] == one.features and other.kinds[:5] == one.kinds
    np.testing.assert_array_equal(one.rows, other.rows[:, :5])


def test_matrices_are_numbers_but_zeros_and_ones_are_flags():
    X = np.array([[0, 1, 0.0, 3, 1], [1, 2, 0.0, 3, np.nan], [0, 1, 0.0, 3, 0]] * 10)
    for matrix in (X, sp.csr_matrix(X)):
        table = prepare(matrix, groups=np.arange(30) % 2, missing="impute")
        assert table.features == ("x0", "x1", "x2", "x3", "x4", "x4 (missing)")
        assert table.kinds == ("flag", "number", "number", "number", "flag", "missing")
        # Half of the values present are 1: the median must not become one half.
        rows = table.rows.toarray() if sp.issparse(table.rows) else table.rows
        assert set(rows[:, 4]) == {0.0, 1.0}


def test_zero_one_columns_of_long_tables():
    X = np.zeros((3000, 4))
    X[2500, 0], X[2600, 1], X[:, 2] = 1, 2, 1
    np.testing.assert_array_equal(zero_one_columns(X), [True, False, False, False])
    np.testing.assert_array_equal(zero_one_columns(sp.csr_matrix(X)), [True, False, False, False])


def test_one_level_with_gaps_is_a_missing_flag():
    table = halves(pd.DataFrame({"u": [1.5, 2.5, 3.5, 1.5] * 9, "c": ["yes", None] * 18}), missing="impute")
    assert table.features == ("u", "c (missing)") and table.kinds == ("number", "missing")
    assert table.column_info["c"].type == "flag" and table.column_info["c"].levels == ("yes", "missing")
    assert table.column_info["c"].missing == (0, 18)


# Missing values ---------------------------------------------------------------------------------------------


def test_missing_counts_of_all_columns_and_filled_rows():
    frame = pd.DataFrame(
        {
            "u": [1.5, np.nan, 2.5, 3.5, 0.5, 9.5],
            "when": pd.to_datetime(["2024-01-01", None, None, None, "2024-01-02", "2024-01-09"]),
            "note": [
                "some words to read",
                None,
                "more words to read",
                "a third text here",
                None,
                "four is all",
            ],
        }
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        table = halves(frame, missing="impute")
    assert table.missing == {"u": (0, 1), "when": (1, 2), "note": (1, 1)}
    assert list(table.column_info) == ["u"]
    assert list(table.filled) == ["u"]
    np.testing.assert_array_equal(table.filled["u"], [1])
    assert feature(table, "u")[1] == 2.5


def test_rows_in_another_order():
    frame = pd.DataFrame({"u": [1.5, np.nan, 2.5, 3.5], "v": [np.nan, 1.5, np.nan, 4.0], "w": [1, 2, 3, 4]})
    table = halves(
        frame, missing="impute", weights=np.arange(4.0), blocks=[0, 0, 1, 1], covariates=frame[["w"]]
    )
    index = np.array([3, 1, 2])
    taken = table.take_rows(index)
    np.testing.assert_array_equal(taken.rows, table.rows[index])
    np.testing.assert_array_equal(taken.kept, index)
    np.testing.assert_array_equal(taken.weights, index)
    np.testing.assert_array_equal(taken.covariates[:, 0], index + 1)
    np.testing.assert_array_equal(taken.blocks, table.blocks[index])
    np.testing.assert_array_equal(taken.filled["u"], [1])
    np.testing.assert_array_equal(taken.filled["v"], [2])


# Rare levels ------------------------------------------------------------------------------------------------


def test_rare_levels_are_pooled_and_told():
    cities = np.repeat(["Oslo", "Rome", "Bonn", "Lima", "Kyiv", "Nice"], [300, 180, 6, 4, 3, 1])
    table = halves(pd.DataFrame({"city": cities}))
    assert table.features == ("city = Bonn", "city = Oslo", "city = Rome", "city = other levels")
    assert table.kinds == ("level",) * 4
    np.testing.assert_array_equal(
        feature(table, "city = other levels"), np.isin(cities, ["Lima", "Kyiv", "Nice"])
    )
    info = table.column_info["city"]
    assert info.pooled and info.pooled_levels == 3 and info.pooled_rows == (4, 4)
    assert info.levels == ("Bonn", "Oslo", "Rome")
    assert "Rare levels pooled into 'other levels': 'city' (3 levels: 4 of 247 in '0', 4 of 247 in '1')." in (
        table.notes
    )
    # All levels have a place: nothing is dropped.
    np.testing.assert_array_equal(table.rows.sum(axis=1), 1)


def test_small_tables_keep_their_levels():
    table = halves(pd.DataFrame({"c": ["a"] * 50 + ["b"] * 40 + ["c", "d"]}))
    assert table.features == ("c = a", "c = b", "c = c", "c = d")
    assert not table.column_info["c"].pooled


def test_one_rare_level_keeps_its_name():
    table = halves(pd.DataFrame({"c": ["a"] * 500 + ["b"] * 499 + ["c"]}))
    assert table.features == ("c = a", "c = b", "c = c")


def test_one_common_level_and_others():
    table = halves(pd.DataFrame({"c": ["a"] * 995 + ["b", "c", "d", "e", "f"]}))
    assert table.features == ("c = a",) and table.kinds == ("flag",)
    assert table.column_info["c"].levels == ("other levels", "a")
    np.testing.assert_array_equal(table.rows[:, 0], [1] * 995 + [0] * 5)


def test_new_level_of_one_group_stays_visible():
    rng = np.random.default_rng(0)
    old = pd.DataFrame({"plan": rng.choice(["free", "pro", "team"], 5000)})
    new = pd.DataFrame({"plan": np.r_[rng.choice(["free", "pro", "team"], 4950), ["trial"] * 50]})
    table = prepare(old, new)
    assert "plan = trial" in table.features
    assert "Levels seen in one group only: 'trial' of 'plan' (in 'Y')." in table.notes


def test_pooling_ignores_groups_and_the_order_of_rows():
    rng = np.random.default_rng(1)
    levels = np.array([f"l{number:03}" for number in range(200)])
    frame = pd.DataFrame({"c": rng.permutation(np.r_[np.repeat(levels, 6), np.repeat(levels[:70], 3)])})
    shuffled = frame.iloc[rng.permutation(len(frame))]
    tables = [halves(part, features=["c"]) for part in (frame, shuffled)]
    other = prepare(frame, groups=rng.integers(0, 3, len(frame)), features=["c"])
    assert tables[0].features == tables[1].features == other.features
    assert len(tables[0].features) == 65
    # The most frequent first, then by name.
    assert tables[0].features[:64] == tuple(f"c = l{number:03}" for number in range(64))


def test_thousands_of_levels_do_not_explode():
    rng = np.random.default_rng(2)
    codes = rng.integers(0, 5000, 50_000)
    frame = pd.DataFrame(
        {"u": rng.normal(size=50_000), "shop": np.array([f"shop {n}" for n in range(5000)])[codes]}
    )
    table = halves(frame, features=["u", "shop"])
    assert table.rows.shape == (50_000, 66)
    assert table.column_info["shop"].pooled_levels == 5000 - 64
    declared = halves(frame.astype({"shop": "category"}), features=["u", "shop"])
    assert declared.features == table.features


def test_levels_that_are_all_rare():
    frame = pd.DataFrame({"u": np.linspace(0, 1, 2000), "c": [f"l{n // 4}" for n in range(2000)]})
    table = halves(frame, features=["u", "c"])
    assert table.features == ("u", "c = other levels")
    assert table.column_info["c"].levels == ()


def test_covariates_are_pooled_and_told():
    covariate = [f"l{n // 2}" for n in range(100)] + ["common"] * 900
    table = prepare(
        np.eye(1000)[:, :2], groups=np.arange(1000) % 2, covariates=pd.DataFrame({"c": covariate})
    )
    assert table.covariate_names == ("c = common",)
    assert "Covariate 'c': 50 rare levels pooled into 'other levels'." in table.notes


def test_later_rows_with_pooled_levels():
    cities = ["Oslo"] * 300 + ["Rome"] * 300 + ["Bonn", "Kyiv", "Lima"]
    table = halves(pd.DataFrame({"city": cities}))
    new = encode(pd.DataFrame({"city": ["Rome", "Kyiv", "Nice"]}), table.codings)
    np.testing.assert_array_equal(new.rows, [[0, 1, 0], [0, 0, 1], [0, 0, 1]])
    assert new.notes == ("Column 'city': 2 levels counted as other levels: 'Kyiv', 'Nice'.",)


# Ordered categories -----------------------------------------------------------------------------------------


def grades(values: list, order: tuple = ("low", "mid", "high", "top")) -> pd.DataFrame:
    return pd.DataFrame({"g": pd.Categorical(values, list(order), ordered=True)})


def test_ordered_categories_keep_their_order():
    table = prepare(grades(["low", "top", "mid"]), grades(["high", "high", "low"]))
    assert table.features == ("g",) and table.kinds == ("number",)
    np.testing.assert_array_equal(table.rows[:, 0], [0, 3, 1, 2, 2, 0])
    assert table.column_info["g"].levels == ("low", "mid", "high", "top")
    assert table.notes == (
        "Ordered categories taken as the numbers 0, 1, 2 ...: 'g' ('low', 'mid', 'high', 'top').",
    )


def test_levels_that_do_not_occur_leave_no_gap_in_the_order():
    table = prepare(grades(["low", "top", "low"]), grades(["high", "high", "low"]))
    np.testing.assert_array_equal(table.rows[:, 0], [0, 2, 0, 1, 1, 0])


def test_order_of_the_longer_list():
    table = prepare(grades(["low", "high", "low"], ("low", "high")), grades(["mid", "top", "low"]))
    np.testing.assert_array_equal(table.rows[:, 0], [0, 2, 0, 1, 3, 0])


def test_two_orders_are_no_order():
    other = grades(["mid", "high", "low"], ("top", "high", "mid", "low"))
    table = prepare(grades(["low", "top", "mid"]), other)
    assert table.features == ("g = low", "g = mid", "g = high", "g = top")
    assert table.notes[0] == (
        "Column 'g': the tables order the categories differently, so their order was not used."
    )


def test_missing_ordered_values_get_a_median_that_occurs():
    table = prepare(
        grades(["low", "top", None, "low"]), grades(["top", "mid", "mid", "mid"]), missing="impute"
    )
    assert table.features == ("g", "g (missing)") and table.kinds == ("number", "missing")
    np.testing.assert_array_equal(table.rows[2], [1, 1])
    assert "'g' with the median 'mid' (1 in 'X', 0 in 'Y')" in table.notes[-1]


def test_later_ordered_rows():
    table = prepare(grades(["low", "top", "mid"]), grades(["high", "high", "low"]))
    assert encode(pd.DataFrame({"g": ["top", "mid"]}), table.codings).rows.tolist() == [[3], [1]]
    with pytest.raises(ValueError, match="'g' has levels whose place in the order is not known: 'best'"):
        encode(pd.DataFrame({"g": ["top", "best"]}), table.codings)


def test_numbers_stored_as_a_few_integers_stay_numbers():
    table = halves(pd.DataFrame({"stars": [1, 2, 3, 4, 5] * 20}))
    assert table.features == ("stars",) and table.kinds == ("number",)


# Codings ----------------------------------------------------------------------------------------------------


def test_codings_of_every_type_survive_json():
    frame = pd.DataFrame(
        {
            "u": [1.5, None, 2.5] * 300,
            "flag": [0, 1, 1] * 300,
            "c": ["a", "b", "c"] * 295 + [f"rare {n}" for n in range(15)],
            "g": pd.Categorical(["low", "mid", "top"] * 300, ["low", "mid", "top"], ordered=True),
            "when": pd.date_range("2023-11-05 10:30", periods=900, freq="7h"),
        }
    )
    table = halves(frame, missing="impute", dates="parts")
    stored = json.loads(json.dumps([vars(coding) for coding in table.codings]))
    codings = [Coding(**coding) for coding in stored]
    assert codings == list(table.codings)
    np.testing.assert_array_equal(encode(frame, codings).rows, table.rows)
