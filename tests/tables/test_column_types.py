"""What a column is: numbers, categories, dates, identifiers, free text, or nearly numbers."""

from __future__ import annotations

import datetime
import decimal

import numpy as np
import pandas as pd
import pytest
from two_tables import left_out, two

from princdiff.tables import encode, prepare

RNG = np.random.default_rng(0)


DAY = datetime.date(2024, 5, 17)


def test_text_of_many_levels_that_recur_is_a_category_with_the_rare_ones_pooled():
    rng = np.random.default_rng(0)
    towns = rng.integers(0, 70, 3000)
    prepared = two([f"town {n}" for n in towns[:1500]], [f"town {n}" for n in towns[1500:]])
    assert sum(name.startswith("c = town") for name in prepared.features) == 64
    assert prepared.features[-1] == "c = other levels"
    assert any("6 levels" in note for note in prepared.notes)


@pytest.mark.parametrize(
    "column",
    [
        pd.date_range("2024-01-01", periods=4),
        pd.date_range("2024-01-01", periods=4, tz="Europe/Oslo"),
        pd.period_range("2024-01", periods=4, freq="M"),
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
        match=r"1 column cannot be compared: 'c' \(dates and times are not compared unless dates",
    ):
        two(pd.date_range("2024-01-01", periods=4), strict=True)
    with pytest.raises(ValueError, match=r"1 column cannot be compared: 'c'"):
        two(pd.date_range("2024-01-01", periods=4), features=["plain", "c"])


def test_no_column_can_be_compared():
    frame = pd.DataFrame({"name": ["ada", "bob", "cy"], "when": pd.date_range("2024-01-01", periods=3)})
    with pytest.raises(ValueError, match=r"no column can be compared: 'name' \(.*\), 'when' \(dates"):
        prepare(frame, frame)
    with pytest.raises(ValueError, match="no column can be compared: none is left"):
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


def test_an_entry_that_many_rows_share_is_a_category():
    years = [str(n) for n in range(12)] * 10 + ["some"] * 20
    assert "c = some" in two(years).features
    with pytest.raises(ValueError, match=r"but for 'some' .*make the column one \(pandas: astype"):
        two(years[:122])


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


@pytest.mark.parametrize(
    ("write", "what"),
    [
        (lambda v: f"({-v:.2f})" if v < 0 else f"{v:.2f}", "signs or units"),
        (lambda v: f"{-v:.2f}-" if v < 0 else f"{v:.2f}", "signs or units"),
        (lambda v: f"{1e5 * v + 9e5:,.0f}".replace(",", " "), "signs or units"),
        (lambda v: f"{1e8 * v + 9e8:,.0f}", "signs or units"),
        (lambda v: f"{round(v)},5", "a comma"),
    ],
)
def test_numbers_of_bookkeepers_are_no_identifiers(write, what):
    column = [write(value) for value in np.random.default_rng(0).normal(size=60)]
    with pytest.raises(ValueError, match=f"column 'c' holds numbers with {what}"):
        two(column)


def test_numbers_of_cases_are_identifiers_and_no_losses():
    assert "looks like an identifier" in left_out([f"17-{number:06}" for number in range(60)])


def test_names_of_levels_are_cut_short_alike_in_later_rows():
    books = ["a" * 200_000, "a" * 199_999 + "b", "c"]
    table = two(books * 10)
    assert max(map(len, table.features)) < 150
    assert len(set(table.features)) == 4
    later = encode(pd.DataFrame({"plain": np.zeros(3), "c": books}), table.codings)
    np.testing.assert_array_equal(later.rows[:, 1:], table.rows[:3, 1:])


@pytest.mark.parametrize("other", [np.arange(6.0), ["x", "y"] * 3])
def test_dates_here_and_something_else_there(other):
    days = pd.date_range("2024-01-01", periods=6)
    X, Y = (pd.DataFrame({"plain": np.arange(6.0), "c": column}) for column in (days, other))
    with pytest.warns(UserWarning, match="dates in one table, something else in the other"):
        assert prepare(X, Y, dates="parts").features == ("plain",)


def test_numbers_whose_squares_are_infinite():
    frame = pd.DataFrame({"c": np.random.default_rng(0).normal(size=9)})
    with pytest.raises(
        ValueError,
        match=r"infinite values, or .* in 1 column: 'c' .* numbers of at most 1e\+150",
    ):
        prepare(frame * 1e160, frame * 1e160)
    assert np.isfinite(prepare(frame * 1e140, frame * 1e140).rows).all()
