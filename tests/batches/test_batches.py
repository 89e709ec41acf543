"""Batches over time: when it began, in what, and what the adjusted p-values promise."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from princdiff import Config, compare, compare_batches
from princdiff.labellings.pvalues import adjusted_pvalues

pytestmark = pytest.mark.whole


def made_up(n_months: int = 5, rows: int = 100, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    days = pd.date_range("2024-01-01", f"2024-{n_months:02}-28", periods=rows * n_months)
    return pd.DataFrame(
        {
            "day": days,
            "size": rng.normal(size=len(days)),
            "plan": rng.choice(["free", "pro", "team"], len(days)),
        }
    )


def test_each_batch_is_compared_as_by_hand():
    table = made_up()
    result = compare_batches(table, time="day", n_permutations=99, band=False)
    months = table.groupby(table["day"].dt.strftime("%Y-%m"))
    first = months.get_group("2024-01").drop(columns="day")
    for month in ("2024-02", "2024-04"):
        other = months.get_group(month).drop(columns="day")
        expected = compare(first.reset_index(drop=True), other.reset_index(drop=True), n_permutations=99)
        assert result.results[month] == expected
    assert result.frame["rows"].tolist() == [len(months.get_group(month)) for month in result.frame["batch"]]
    np.testing.assert_allclose(result.frame["adjusted"], adjusted_pvalues(result.frame["pvalue"]))
    assert math.isnan(result.band[0])


def test_when_it_began_and_in_what():
    table = made_up(6, 150)
    late = table["day"] >= "2024-05-01"
    table.loc[late & (np.arange(len(table)) % 3 == 0), "plan"] = "trial"
    result = compare_batches(table, time="day", reference=3, n_permutations=199)
    assert result.frame["batch"].tolist() == ["2024-04", "2024-05", "2024-06"]
    assert result.frame["differs"].tolist() == [False, True, True]
    assert result.began == "2024-05" and result.reference == "2024-01 to 2024-03"
    column = result.to_frame(by="column").iloc[0]
    assert column["column"] == "plan" and column["first"] == "2024-05" and column["batches"] == 2
    assert "trial" in column["change"]
    assert "the first is 2024-05" in result.headline and "plan" in result.headline
    # The months of the reference differ among themselves by less.
    assert result.band[1] < result.frame["effect"].iloc[1:].min()
    assert "trial" in str(result) and "2024-06" in str(result)


def test_a_smallest_effect_is_part_of_the_definition():
    table = made_up(3)
    table.loc[table["day"] >= "2024-03-01", "size"] += 1.5
    options = {"time": "day", "n_permutations": 99, "band": False}
    plain = compare_batches(table, **options)
    effect = plain.frame["effect"].iloc[1]
    assert plain.began == "2024-03" and not plain.too_small.any()
    assert compare_batches(table, min_effect=effect, **options).began == "2024-03"
    strict = compare_batches(table, min_effect=effect + 0.1, **options)
    assert strict.began is None and strict.too_small.tolist() == [False, True]
    assert strict.frame["columns"].tolist() == [[], []] and strict.to_frame(by="column").empty
    assert "too small" in str(strict) and "differs  " not in str(strict)
    labels = [text.get_text() for text in strict.plot().get_legend().get_texts()]
    assert "p-value small, effect too small" in labels
    dots = {dots.get_label(): len(dots.get_offsets()) for dots in strict.plot().collections}
    assert "differs" not in dots and dots["p-value small, effect too small"] == 1
    with pytest.raises(ValueError, match="needs band=True"):
        compare_batches(table, min_effect="auto", **options)


def test_nothing_differs():
    result = compare_batches(made_up(4), time="day", n_permutations=99)
    assert result.began is None and not result.frame["differs"].any()
    assert result.headline == "None of 3 batches could be shown to differ from 2024-01."
    assert result.to_frame(by="column").empty
    assert repr(result) == "<BatchesResult 3 batches against 2024-01: 0 differ>"


@pytest.mark.parametrize(
    ("every", "names"),
    [
        ("year", ["2024"]),
        ("quarter", ["2024Q1", "2024Q2"]),
        ("week", ["2024-01-01", "2024-01-08", "2024-01-15"]),
        ("day", ["2024-01-01", "2024-01-02"]),
        ("hour", ["2024-01-01 00h", "2024-01-01 01h"]),
    ],
)
def test_lengths_of_periods(every, names):
    from princdiff.batches.batch_rows import _period_names

    steps = {"year": "100D", "quarter": "60D", "week": "2D", "day": "5h", "hour": "20min"}
    index = pd.date_range("2024-01-01", periods=3 if every in ("year", "quarter") else 8, freq=steps[every])
    assert sorted(set(_period_names(index, every)))[: len(names)] == names


def test_lists_dicts_and_other_references(tmp_path):
    months = [made_up(1, 60, seed).drop(columns="day") for seed in range(3)]
    quick = {"n_permutations": 19, "band": False}
    assert compare_batches(months, **quick).frame["batch"].tolist() == ["batch 2", "batch 3"]
    named = dict(zip("abc", months, strict=True))
    assert compare_batches(named, **quick).reference == "a"
    assert compare_batches(named, reference="b", **quick).frame["batch"].tolist() == ["a", "c"]
    result = compare_batches(months[1:], reference=months[0], **quick)
    assert result.reference == "the reference" and len(result.frame) == 2
    months[0].to_csv(tmp_path / "ref.csv", index=False)
    result = compare_batches(made_up(2, 60), time="day", reference=str(tmp_path / "ref.csv"), **quick)
    assert result.frame["batch"].tolist() == ["2024-01", "2024-02"] and result.reference == "ref.csv"
    chosen = compare_batches(made_up(4, 60), time="day", reference=["2024-01", "2024-03"], **quick)
    assert chosen.frame["batch"].tolist() == ["2024-02", "2024-04"]


def test_rows_without_a_date_and_batches_of_one_row():
    table = made_up(3, 60)
    table.loc[[3, 100], "day"] = pd.NaT
    table = pd.concat([table, table.tail(1).assign(day=pd.Timestamp("2024-09-09"))], ignore_index=True)
    result = compare_batches(table, time="day", n_permutations=19, band=False)
    assert "2 rows without a date in 'day' belong to no batch." in result.notes
    assert result.skipped == {"2024-09": "only one row"}
    assert "Batches not compared: 2024-09 (only one row)." in result.notes


def test_too_few_permutations_are_told():
    result = compare_batches(made_up(4, 40), time="day", n_permutations=19, band=False)
    assert any("use a larger n_permutations=" in note for note in result.notes)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"batches": made_up(1)}, "one table alone has no batches"),
        ({"batches": []}, "there is no batch"),
        ({"batches": made_up(2), "time": "day", "every": "decade"}, "every must be one of"),
        ({"batches": made_up(2), "time": "day", "groups": "plan"}, "groups= cannot be given"),
        ({"batches": made_up(2), "time": "day", "alpha": 2}, "alpha must be between 0 and 1"),
        ({"batches": [made_up(1)] * 2, "reference": 2}, "give a table or 1 for the first"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        compare_batches(**arguments)


def test_same_result_with_more_threads():
    table = made_up(3, 60)
    one, two = (
        compare_batches(table, time="day", n_permutations=49, config=Config(n_jobs=jobs)) for jobs in (1, 2)
    )
    pd.testing.assert_frame_equal(one.frame, two.frame)
    assert one.band == two.band


def test_false_alarms_over_all_batches():
    """Pure noise: some batch differs in at most 5 % of runs."""
    alarms = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        batches = [rng.normal(size=(20, 2)) for _ in range(3)]
        found = compare_batches(
            batches, n_permutations=59, band=False, n_features=1, config=Config(certify=False)
        )
        alarms += found.began is not None
    assert stats.binomtest(alarms, 20, 0.05, alternative="greater").pvalue > 0.01


def test_plot():
    pytest.importorskip("matplotlib").use("Agg")
    table = made_up(4, 60)
    table["a$b"] = 1.0
    result = compare_batches(table, time="day", n_permutations=19)
    ax = result.plot()
    assert len(ax.get_xticklabels()) == 3 and ax.get_ylim()[0] == 0
    np.testing.assert_allclose(ax.lines[0].get_ydata(), result.frame["effect"])
    ax.figure.canvas.draw()


def test_too_few_permutations_are_said_first():
    rng = np.random.default_rng(4)
    batches = {name: rng.normal(size=(60, 2)) for name in "abcd"}
    for name in "cd":
        batches[name] = batches[name] + 2
    result = compare_batches(batches, n_permutations=39, band=False)
    assert result.headline == (
        "Too few permutations to say which of 3 batches differ from a: 2 of them have the smallest p-value "
        "possible, 0.025."
    )
    decided = compare_batches(batches, n_permutations=99, band=False)
    assert decided.headline.startswith("2 of 3 batches differ from a; the first is c")


def test_what_is_so_in_every_batch_is_said_once():
    rng = np.random.default_rng(5)
    batches = {name: pd.DataFrame({"x": rng.normal(size=50), "id": np.arange(50)}) for name in "abcd"}
    with pytest.warns(UserWarning, match="'id'") as caught:
        compare_batches(batches, n_permutations=9, band=False)
    assert [str(one.message).count("'id'") for one in caught if "left out" in str(one.message)] == [1]
