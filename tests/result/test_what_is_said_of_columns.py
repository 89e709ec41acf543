"""What is said of columns of ugly tables: names with commas, many groups, gaps, codes, steps."""

import itertools
import json

import numpy as np
import pandas as pd
import pytest

from princdiff import Config, compare
from princdiff.result.loading import result_from
from princdiff.result.telling_columns import number_tells
from princdiff.words.readable_figures import from_to, number, numbers

pytestmark = pytest.mark.whole


def said_of(frame: pd.DataFrame, column: str, **options) -> pd.Series:
    result = compare(frame, groups="group", n_permutations=99, random_state=0, **options)
    return result.columns.set_index("column").loc[column]


def halves(n_rows: int) -> np.ndarray:
    return np.repeat(["before", "after"], n_rows // 2)


def test_levels_with_commas_and_brackets_are_said_whole_in_the_headline():
    rng = np.random.default_rng(0)
    levels = np.array(["Retriever, Labrador", "auto(l4)", "other"])
    group = halves(600)
    place = np.where(
        group == "before", rng.choice(3, 600, p=[0.7, 0.2, 0.1]), rng.choice(3, 600, p=[0.1, 0.8, 0.1])
    )
    frame = pd.DataFrame({"group": group, "breed": levels[place]})
    for place_of in range(3):
        frame[f"alike {place_of}"] = rng.normal(size=600)
    result = compare(frame, groups="group", n_permutations=99, random_state=0)
    first = result.change_of("breed")[0].text
    assert "%" in first
    assert f"breed ({first})" in result.headline


def test_of_many_groups_the_lowest_and_the_highest_are_named():
    assert from_to([3, 1, 2, 5], ["3", "1", "2", "5"], ["a", "b", "c", "d"]) == "1 in b to 5 in d"
    assert from_to([3, 1, 2, 5], ["3", "1", "2", "5"], ["1", "2", "3", "4"]) == "1 in group 2 to 5 in group 4"
    rng = np.random.default_rng(1)
    group = np.repeat(["north", "east", "south", "west"], 60)
    frame = pd.DataFrame(
        {"group": group, "rain": rng.normal(size=240) + 3 * (group == "west") - 3 * (group == "east")}
    )
    change = said_of(frame, "rain")["change"]
    assert "in east to" in change and change.endswith("in west")


def test_a_group_of_a_few_rows_does_not_stand_for_a_change():
    rng = np.random.default_rng(8)
    group = np.repeat(["north", "east", "south", "west", "few"], [200, 200, 200, 200, 5])
    frame = pd.DataFrame({"group": group, "rain": rng.exponential(size=805) + 1.5 * (group == "west")})
    frame["sky"] = np.where(rng.random(805) < 0.4 + 0.4 * (group == "west"), "blue", "grey")
    frame.loc[group == "few", "sky"] = np.array(["blue", "blue", "blue", "blue", "blue"])
    # The five lie outside of all other groups, by as little as chance gives.
    frame.loc[group == "few", "rain"] = frame.loc[group == "west", "rain"].mean() + 0.2
    for column in ("rain", "sky"):
        change = said_of(frame, column)["change"]
        assert "in west" in change and "in few" not in change


def test_a_flag_with_gaps_determines_no_group_that_it_does_not():
    rng = np.random.default_rng(9)
    group = np.repeat(["control", "treated"], 100)
    # As a lagged flag is: 1 and gaps in one group only, 0 in both.
    lagged = np.where(group == "treated", 0.0, rng.choice([0.0, 1.0, np.nan], 200))
    frame = pd.DataFrame({"group": group, "lagged": lagged, "noise": rng.normal(size=200)})
    result = compare(frame, groups="group", missing="impute", n_permutations=99, random_state=0)
    assert "lagged" in result.columns.loc[result.columns["selected"], "column"].tolist()
    assert result.parameters["telling_columns"] == []
    assert "determines" not in str(result)
    frame["lagged"] = np.where(group == "treated", 0.0, rng.choice([1.0, np.nan], 200))
    result = compare(frame, groups="group", missing="impute", n_permutations=99, random_state=0)
    assert result.parameters["telling_columns"] == ["lagged"]
    frame.loc[[0, 150], "lagged"] = np.nan
    result = compare(frame, groups="group", missing="impute", n_permutations=99, random_state=0)
    assert result.parameters["telling_columns"] == []


def test_a_number_that_is_nearly_always_zero_is_told_by_its_share():
    rng = np.random.default_rng(10)
    group = np.repeat(["no", "yes"], [4000, 400])
    some = rng.random(4400) < np.where(group == "yes", 0.05, 0.005)
    boats = np.where(some, rng.integers(1, 7, 4400), 0)
    row = said_of(pd.DataFrame({"group": group, "boats": boats}), "boats")
    assert row["change"].startswith("0: 99") and row["kind"] == "value"
    # Of the spread, which a few rows make, the size would be several times that.
    assert row["effect"] < 0.6
    # The same share, other amounts: that is no change of the share.
    some = rng.random(4400) < 0.08
    paid = np.where(some, np.where(group == "yes", 60, 20) + rng.integers(0, 9, 4400), 0)
    assert said_of(pd.DataFrame({"group": group, "paid": paid}), "paid")["change"][:2] != "0:"


def test_money_that_grows_and_spreads_is_told_by_its_mean():
    rng = np.random.default_rng(11)
    group = halves(400)
    money = rng.exponential(np.where(group == "before", 100.0, 260.0))
    row = said_of(pd.DataFrame({"group": group, "paid": money}), "paid")
    assert row["kind"] == "shift" and row["change"].startswith("mean ")


def test_money_with_many_gaps_is_told_by_its_median():
    rng = np.random.default_rng(13)
    group = np.repeat(["college", "school"], 500)
    earned = np.exp(rng.normal(np.where(group == "college", 8.0, 6.0), 1.5))
    earned[rng.random(1000) < 0.35] = np.nan
    row = said_of(pd.DataFrame({"group": group, "earned": earned}), "earned", missing="impute")
    medians = [np.nanmedian(earned[group == name]) for name in ("college", "school")]
    assert row["kind"] == "shift"
    assert row["change"].startswith(f"median {medians[0]:.0f} → {medians[1]:.3g}")
    # A spread is still a spread.
    width = rng.normal(size=1000) * np.where(group == "college", 1.0, 4.0)
    width[rng.random(1000) < 0.35] = np.nan
    row = said_of(pd.DataFrame({"group": group, "width": width}), "width", missing="impute")
    assert row["change"].startswith("sd ")


def test_what_ranks_saw_is_not_told_by_a_mean_that_did_not_see_it():
    rng = np.random.default_rng(14)
    group = halves(8000)
    zero = rng.random(8000) < np.where(group == "before", 0.85, 0.95)
    jobs = np.where(zero, 0.0, 0.1)
    jobs[::500] = 50.0
    row = said_of(pd.DataFrame({"group": group, "jobs": jobs}), "jobs")
    assert "mean" not in row["change"] and row["change"].startswith(("0: 8", "0.1: 1", "90 % quantile"))


def test_the_size_is_said_to_be_that_of_the_whole_difference():
    rng = np.random.default_rng(12)
    frame = pd.DataFrame({"group": halves(200), "v": rng.normal(size=200)})
    frame.loc[frame["group"] == "after", "v"] *= 4
    result = compare(frame, groups="group", n_permutations=99, random_state=0)
    assert "size: of the whole difference, in spread and shape too" in " ".join(str(result).split())


def test_gaps_do_not_hide_that_what_was_measured_differs():
    rng = np.random.default_rng(2)
    group = halves(800)
    income = rng.normal(100, 20, size=800) + 20 * (group == "after")
    income[(group == "before") & (rng.random(800) < 0.6)] = np.nan
    change = said_of(pd.DataFrame({"group": group, "income": income}), "income", missing="impute")
    assert change["kind"] == "missing"
    assert change["change"].startswith("missing ") and "mean " in change["change"]


def test_little_is_said_of_measured_values_where_only_the_gaps_differ():
    # Each is judged at the 5 % level: of eight numbers one may be said to differ otherwise too.
    both = []
    for seed, rates in itertools.product([0, 1], [(0.03, 0.12), (0.2, 0.45)]):
        rng = np.random.default_rng(seed)
        group = halves(2000)
        gaps = rng.random(2000) < np.where(group == "before", *rates)
        frame = pd.DataFrame(
            {
                "group": group,
                "score": np.where(gaps, np.nan, rng.normal(size=2000).round(3)),
                "visits": np.where(gaps, np.nan, rng.poisson(3, 2000)),
            }
        )
        said = compare(
            frame, groups="group", n_permutations=99, missing="impute", config=Config(certify=False)
        ).columns
        assert said["selected"].all()
        assert (said["kind"] == "missing").all()
        both += [change for change in said["change"] if ";" in change]
    assert len(both) <= 1


def test_a_number_with_few_gaps_is_described_as_if_it_had_none():
    rng = np.random.default_rng(3)
    group = halves(600)
    profits = rng.normal(size=600) * 0.2 + 0.3 * (group == "after")
    profits[:3] = -30.0
    whole = said_of(pd.DataFrame({"group": group, "profits": profits}), "profits")
    profits[[10, 400]] = np.nan
    gaps = said_of(pd.DataFrame({"group": group, "profits": profits}), "profits", missing="impute")
    assert whole["kind"] == gaps["kind"] == "shift"
    assert gaps["change"].split()[0] == whole["change"].split()[0]


def test_a_change_of_shape_of_counts_is_told_by_a_value():
    rng = np.random.default_rng(4)
    group = halves(4000)
    size = np.where(
        group == "before",
        rng.choice([1, 2, 3, 4, 5], 4000, p=[0.2, 0.2, 0.2, 0.2, 0.2]),
        rng.choice([1, 2, 3, 4, 5], 4000, p=[0.2, 0.12, 0.36, 0.12, 0.2]),
    ) + 10 * (rng.random(4000) < 0.002)
    change = said_of(pd.DataFrame({"group": group, "size": size}), "size")
    assert change["change"].startswith("3: 20 % → 36 %")


def test_numbers_that_determine_the_group():
    codes = np.repeat([0, 1, 0, 1], 10).astype(np.uint8)
    assert number_tells(np.repeat([3.0, 7.0, 4.0, 9.0], 10), codes)
    assert not number_tells(np.repeat([3.0, 7.0, 7.0, 9.0], 10), codes)
    assert number_tells(np.where(codes == 1, 100.0, 0.0) + np.arange(40) * 0.1, codes)
    # Numbers that hardly ever tie lie in one group each, and say nothing.
    assert not number_tells(np.arange(40.0), codes)
    rng = np.random.default_rng(5)
    group = np.repeat(["x", "y", "z"], 60)
    frame = pd.DataFrame(
        {
            "group": group,
            "code": np.repeat([1, 5, 3], 60) + 10 * rng.integers(0, 2, 180),
            "noise": rng.normal(size=180),
        }
    )
    result = compare(frame, groups="group", n_permutations=99, random_state=0)
    assert result.parameters["telling_columns"] == ["code"]


def test_the_promise_speaks_of_columns_where_a_column_has_several_features():
    rng = np.random.default_rng(6)
    group = halves(200)
    frame = pd.DataFrame({"group": group, "number": rng.normal(size=200)})
    assert "the columns named contain a false positive" in str(
        compare(frame, groups="group", n_permutations=19, random_state=0)
    )
    frame["letter"] = rng.choice(["a", "b", "c"], 200)
    assert "the columns named contain a false positive" in str(
        compare(frame, groups="group", n_permutations=19, random_state=0)
    )


def test_large_numbers_are_written_in_words_and_in_one_unit():
    assert numbers([4.84e8, 5.12e8]) == ["484 million", "512 million"]
    # So many digits as tell them apart, in the unit too.
    assert numbers([4.841e8, 4.842e8]) == ["484.1 million", "484.2 million"]
    # What is far smaller is not written in a unit in which it would vanish.
    assert numbers([12.0, 4.84e8]) == ["12", "484 million"]
    assert number(-2.5e12) == "-2.5 trillion"
    assert numbers([99_999_999.0, 0.0]) == ["99999999", "0"]


def test_a_level_that_looks_like_a_change_in_per_cent_is_said_as_it_is():
    rng = np.random.default_rng(15)
    group = halves(400)
    rises = rng.random(400) < np.where(group == "before", 0.2, 0.7)
    frame = pd.DataFrame({"group": group, "plan": np.where(rises, "price (+10 %)", "base")})
    result = compare(frame, groups="group", n_permutations=99, random_state=0)
    assert f"plan ({result.columns['change'][0]})" in " ".join(result.summary().split())
    assert "price (+10 %)" in result.columns["change"][0]
    # A file of an older version has the words only: they are shown whole.
    older = json.loads(result.to_json())
    older.pop("changes")
    for name in ("columns", "table"):
        place = older[name]["columns"].index("differs")
        for part in ("columns", "kinds", "data"):
            older[name][part].pop(place)
    loaded = result_from(older)
    assert loaded.columns["differs"].tolist() == result.columns["differs"].tolist()
    assert str(loaded) == str(result)
