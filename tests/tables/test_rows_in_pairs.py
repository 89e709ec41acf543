"""The same identifiers in every group: a note says so and names the paired test."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

from princdiff.cli import main
from princdiff.tables import prepare
from princdiff.tables.rows_in_pairs import matched_rows

RNG = np.random.default_rng(0)


def people(ids, **columns):
    return pd.DataFrame({"person": ids, "score": RNG.normal(size=len(ids)), **columns})


def notes_of(*tables, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return [note for note in prepare(*tables, **options).notes if "paired test" in note]


IDS = RNG.permutation(np.arange(4000, 4040) * 7)


@pytest.mark.parametrize("kind", [int, str])
def test_two_tables_of_the_same_persons(kind):
    before, after = people(IDS.astype(kind)), people(RNG.permutation(IDS).astype(kind))
    (note,) = notes_of(before, after)
    assert note == (
        "Column 'person': 40 values occur once in every group. If these are the same persons, things or "
        "days, blocks='person' compares each with itself (the paired test)."
    )
    # Some did not come again.
    (note,) = notes_of(before, after.iloc[3:])
    assert "37 values" in note
    assert notes_of(before, after, blocks="person") == []


def test_groups_of_one_table():
    table = people(np.concatenate([IDS, IDS, IDS]), visit=np.repeat(["a", "b", "c"], 40))
    assert len(notes_of(table, groups="visit")) == 1


def test_days_match_rows_too():
    days = pd.date_range("2024-01-01", periods=30).astype(str)
    first, second = (pd.DataFrame({"day": days, "price": RNG.normal(size=30)}) for _ in range(2))
    (note,) = notes_of(first, second)
    assert "blocks='day'" in note


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (IDS, IDS + 1),
        (IDS, np.concatenate([IDS[:30], IDS[30:] + 1])),
        (IDS[:4], IDS[:4]),
    ],
    ids=["others", "half of them", "too few"],
)
def test_other_persons_are_no_match(before, after):
    assert notes_of(people(before), people(after)) == []


def test_a_count_of_rows_matches_nothing():
    first, second = (
        pd.DataFrame({"Unnamed: 0": np.arange(50), "score": RNG.normal(size=50)}) for _ in range(2)
    )
    assert notes_of(first, second) == []
    renamed = [table.rename(columns={"Unnamed: 0": "id"}) for table in (first, second)]
    assert notes_of(*renamed) == []
    # Patients are counted so too.
    patients = [table.rename(columns={"Unnamed: 0": "patient_id"}) for table in (first, second)]
    assert len(notes_of(*patients)) == 1


def test_a_value_twice_in_a_group_matches_nothing():
    codes = np.repeat([0, 1], 20).astype(np.uint8)
    labels = np.tile(np.arange(20), 2)
    assert matched_rows(pd.Series(labels), codes) == 20
    labels[0] = labels[1]
    assert matched_rows(pd.Series(labels), codes) == 0


def test_the_command_line_names_its_option(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    people(IDS).to_csv("before.csv", index=False)
    people(RNG.permutation(IDS)).to_csv("after.csv", index=False)
    assert main(["compare", "before.csv", "after.csv", "--n-permutations", "19"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "--blocks person compares each with itself (the paired test)" in text
    assert main(["compare", "before.csv", "after.csv", "--n-permutations", "19", "--blocks", "person"]) == 0


def test_identifiers_that_recur_in_another_group_are_said_to():
    table = prepare(people(IDS), people(IDS + 1))
    assert table.left_out["person"] == "looks like an identifier: every value occurs once"
    table = prepare(people(IDS), people(IDS))
    assert table.left_out["person"] == "looks like an identifier: every value occurs once in a group"
