"""What is told of a column over all batches, and what a short batch may not do."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from year_of_batches import compared_year, made_up_year

from princdiff import compare_batches
from princdiff.batches.over_time import ColumnOverTime, short_batches

pytestmark = pytest.mark.whole


@pytest.fixture
def year():
    return made_up_year()


@pytest.fixture
def watched():
    return compared_year()


def column(values, named, lead, change="mean 2 → 5"):
    band = np.full(len(values), 1.0), np.full(len(values), 3.0)
    return ColumnOverTime("age", "mean", False, 2.0, np.array(values, float), *band, named, change, 1.0, lead)


@pytest.mark.parametrize(
    ("values", "named", "lead", "short", "told"),
    [
        (
            [5, 6, 7],
            [True, True, True],
            0,
            ["", "", ""],
            "since may, in all 3 batches; 7 in july, the last batch.",
        ),
        ([2, 2, 7], [False, False, True], 2, ["", "", ""], "in july, the last batch."),
        (
            [2, 7, 2],
            [False, True, False],
            1,
            ["", "", ""],
            "in june, and not shown again; 2 in july, the last batch.",
        ),
        (
            [5, 2, 7],
            [True, False, True],
            0,
            ["", "", ""],
            "in may, and again in 1 of the 2 batches since; 7 in",
        ),
        ([2, 9, 2], [False, True, False], 1, ["", "4 rows", ""], "in june only, a short batch (4 rows)."),
        (
            [5, 6, 9],
            [True, True, True],
            0,
            ["", "", "cut"],
            "all 3 batches; 6 in june, the last whole batch.",
        ),
        ([2, 5, 9], [False, True, True], 1, ["", "", "cut"], "in june, the last whole batch."),
    ],
)
def test_sentences(values, named, lead, short, told):
    sentence = column(values, named, lead).sentence(["may", "june", "july"], short)
    assert sentence.startswith("age: mean 2 → 5 ") and told in sentence


def test_sparklines():
    assert column([2, 9, np.nan, 5.5], [False] * 4, 0).sparkline() == "▁█ ▅"
    assert column([2, 2], [False] * 2, 0).sparkline() == "▁▁"
    assert column([2, 9], [False] * 2, 0).sparkline(drawn=False) == ""


def test_the_measure_is_said_where_something_else_changed():
    one = replace(column([5, 6], [True, True], 0, "median 2 → 4"), told_alike=False)
    assert one.sentence(["may", "june"], ["", ""]).endswith(
        "in both batches; mean 6 in june, the last batch."
    )


def test_a_short_batch_sets_no_scale():
    assert column([2, 3, 90], [False] * 3, 0).sparkline() == "▁▁█"
    assert column([2, 3, 90], [False] * 3, 0).sparkline(short=["", "", "cut"]) == "▁██"


def test_short_batches():
    assert short_batches([100, 49, 51, 120], [120], [""] * 4) == ["", "49 rows", "", ""]
    assert short_batches([10], [100], ["ends at 12:00"]) == ["10 rows and ends at 12:00"]


def test_values_are_those_of_the_rows(year, watched):
    assert [one.column for one in watched.history] == ["size", "open", "plan"]
    months = year["day"].dt.strftime("%Y-%m")
    after = year[months > "2024-02"]
    means = after.groupby(months)["size"].mean()
    table = watched.over_time("size")
    np.testing.assert_allclose(table["value"], means)
    before = year.loc[months <= "2024-02", "size"]
    error = before.std(ddof=0) * np.sqrt(1 / len(before) + 1 / table["rows"])
    np.testing.assert_allclose(table["high"] - table["low"], 2 * 1.96 * error)
    trials = (after["plan"] == "trial").groupby(months).mean()
    # Before May there are two levels, of which one has a feature, and trial is none of them.
    np.testing.assert_allclose(watched.over_time("plan")["value"], trials)
    with pytest.raises(ValueError, match="'month' differs in no batch; those that do are size, open, plan"):
        watched.over_time("month")
    with pytest.raises(ValueError, match="column must be"):
        watched.over_time([])


def test_a_level_without_a_feature_of_its_own(year):
    table = year[["day", "plan"]].copy()
    late = table["day"] >= "2024-05-01"
    table.loc[late & (table["plan"] == "free") & (np.arange(len(table)) % 2 == 0), "plan"] = "pro"
    table.loc[table["plan"] == "trial", "plan"] = "pro"
    found = compare_batches(table, time="day", reference=2, n_permutations=99, band=False)
    one = found.history[0]
    shares = (table["plan"] == one.measure).groupby(table["day"].dt.strftime("%Y-%m")).mean()
    np.testing.assert_allclose(one.values, shares.iloc[2:])


def test_what_began_when_and_stayed(watched):
    found = watched.to_frame(by="column").set_index("column")
    assert found["first"].to_dict() == {"size": "2024-04", "open": "2024-05", "plan": "2024-05"}
    assert found["stayed"].to_dict() == {"size": True, "open": False, "plan": True}
    assert found["batches"].to_dict() == {"size": 4, "open": 1, "plan": 3}
    assert "Not compared, since they say which batch a row is in: month." in watched.notes


def test_a_short_batch_never_leads(year):
    # Four days of a month, in which everything is larger, come before the change.
    table = year[~year["day"].between("2024-03-05", "2024-03-31 23:59")].copy()
    table.loc[table["day"].between("2024-03-01", "2024-04-01"), "size"] += 40
    found = compare_batches(table, time="day", reference=2, n_permutations=199, band=False)
    short = found.frame.set_index("batch")["short"]
    assert short["2024-03"].endswith("rows") and "ends at 2024-07-10" in short["2024-07"]
    assert found.frame["differs"].iloc[0] and found.began == "2024-04"
    assert "2 of them short; the first whole one is 2024-04" in found.headline
    size = found.to_frame(by="column").set_index("column").loc["size"]
    assert size["first"] == "2024-04" and size["change"].startswith("mean 49") and size["batches"] == 5
    assert "Short: 2024-03 (" in str(found)


def test_only_a_short_batch_differs(year):
    table = year[year["day"] < "2024-03-04"][["day", "size"]].copy()
    table.loc[table["day"] >= "2024-03-01", "size"] += 40
    found = compare_batches(table, time="day", reference=2, n_permutations=199, band=False)
    assert found.began == "2024-03"
    assert found.headline.startswith(
        "Only one batch that is short differs from 2024-01 to 2024-02: 2024-03 ("
    )
