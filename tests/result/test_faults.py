"""What changed columns look like, through the front door: facts, sentences, files."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer

from princdiff import Config, compare, load
from princdiff.findings import Fault, FaultKind
from princdiff.result.faults import faults
from princdiff.tables import prepare

pytestmark = pytest.mark.whole


def people(seed, n_rows=500):
    """Two tables of the same people's law."""
    rng = np.random.default_rng(seed)
    height = rng.normal(67, 4, size=2 * n_rows)
    table = pd.DataFrame(
        {
            "height": height,
            "weight": 2.2 * height + rng.normal(0, 10, size=2 * n_rows),
            "income": rng.gamma(2.0, 500.0, size=2 * n_rows),
            "plan": rng.choice(["basic", "gold", "silver"], size=2 * n_rows, p=[0.5, 0.2, 0.3]),
            "seen": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 200, 2 * n_rows), unit="D"),
        }
    )
    return table[:n_rows], table[n_rows:].reset_index(drop=True), rng


def differing(before, after, dates="skip"):
    """The comparison, with groups that have names."""
    table = pd.concat([before.assign(when="april"), after.assign(when="may")], ignore_index=True)
    table = table if dates else table.drop(columns="seen")
    return compare(table, groups="when", n_permutations=99, config=Config(dates=dates))


def exchanged(table, rng):
    table[["height", "weight"]] = table[["weight", "height"]].to_numpy()


def marked(table, rng):
    table.loc[:29, "income"] = -999.0


DONE = {
    "unit": (
        lambda table, rng: table.update(2.54 * table["height"]),
        Fault(FaultKind.UNIT, ("height",), "may", 2.54, (), ("inches", "centimetres")),
        "as if height were in inches in april and in centimetres in may (x 2.54).",
    ),
    "swapped": (
        exchanged,
        Fault(FaultKind.SWAPPED, ("height", "weight"), "may"),
        "In may, height and weight look exchanged.",
    ),
    "mark": (
        marked,
        Fault(FaultKind.SENTINEL, ("income",), "may", -999.0, (0.06, 0.0)),
        "In may, 6 % of the values of income are -999, in april none",
    ),
    "joined": (
        lambda table, rng: table.update(table["plan"].replace("gold", "silver")),
        Fault(FaultKind.JOINED, ("plan",), "may", levels=("gold", "silver", "silver")),
        "In may, gold and silver of plan look joined as silver.",
    ),
    "a year": (
        lambda table, rng: table.update(table["seen"] + pd.Timedelta(days=365)),
        Fault(FaultKind.MOVED, ("seen",), "may"),
        "In may, the dates of seen look moved: about a year later.",
    ),
}


def test_clocks_put_on_and_the_year_mistaken():
    rng = np.random.default_rng(0)
    hours = np.where(rng.random(2000) < 0.5, rng.integers(8, 12, 2000), rng.integers(0, 24, 2000))
    times = pd.Timestamp("2024-03-01") + pd.to_timedelta(24 * rng.integers(0, 30, 2000) + hours, unit="h")
    born = pd.Timestamp("2015-01-01") + pd.to_timedelta(rng.integers(0, 1500, 2000), unit="D")
    table = pd.DataFrame({"call": times, "born": born, "score": rng.normal(size=2000)})
    before, after = table[:1000], table[1000:].copy()
    after["call"] += pd.Timedelta(hours=5)
    after["born"] -= pd.Timedelta(days=365)
    prepared = prepare(before, after, dates="parts")
    days = {fault.columns[0]: fault.value for fault in faults(prepared, ["call", "born"], rng)}
    assert days == {"call": pytest.approx(5 / 24), "born": -365.0}


@pytest.mark.parametrize("case", DONE)
def test_facts_and_words(case, tmp_path):
    change, expected, words = DONE[case]
    before, after, rng = people(0)
    change(after, rng)
    result = differing(before, after, dates="parts")
    found = [fault for fault in result.faults if fault.columns == expected.columns]
    assert [(fault.kind, fault.group, fault.levels) for fault in found] == [
        (expected.kind, expected.group, expected.levels)
    ]
    if not np.isnan(expected.value):
        assert found[0].value == expected.value and found[0].shares == expected.shares
    assert words in " ".join(str(result).split())
    again = load(result.save(tmp_path / "result.json"))
    assert again.faults == result.faults
    assert json.loads((tmp_path / "result.json").read_text())["faults"][0]["kind"] == expected.kind.value
    assert words.split(" (")[0] in " ".join(result._repr_html_().split())


def test_nothing_is_said_where_nothing_differs_or_all_did():
    before, after, _rng = people(1)
    assert differing(before, after).faults == []
    after["income"] *= 1.3
    assert differing(before, after).faults == []


def test_rows_that_are_there_twice():
    before, after, _rng = people(2)
    after.iloc[:50] = after.iloc[50:100].to_numpy()
    result = differing(before, after)
    assert result.faults[-1] == Fault(FaultKind.REPEATED, (), "may", shares=(0.2, 0.0))
    assert any(
        "In may, 20 % of the rows are there more than once, in april none" in one for one in result.notes
    )


def test_only_columns_that_are_named_are_looked_at():
    before, after, rng = people(3)
    marked(after, rng)
    prepared = prepare(before.drop(columns="seen"), after.drop(columns="seen"))
    assert faults(prepared, ["height", "plan"], rng) == []
    assert [fault.columns for fault in faults(prepared, ["income"], rng)] == [("income",)]


def test_of_two_levels_both_have_names():
    rng = np.random.default_rng(4)
    before, after = (
        pd.DataFrame({"sex": rng.choice(["f", "m"], 300), "x": rng.normal(size=300)}) for _ in "ab"
    )
    after["sex"] = after["sex"].replace("m", "M")
    (found,) = faults(prepare(before, after), ["sex"], rng)
    assert found.kind is FaultKind.RENAMED and found.levels == ("m", "M")


def test_damaged_files_are_refused(tmp_path):
    before, after, rng = people(0)
    marked(after, rng)
    place = differing(before, after).save(tmp_path / "result.json")
    whole = json.loads(place.read_text())
    for name, wrong in (("kind", "unheard of"), ("columns", ["age"]), ("group", "june"), ("shares", [])):
        place.write_text(json.dumps({**whole, "faults": [{**whole["faults"][0], name: wrong}]}))
        with pytest.raises(ValueError, match="fault"):
            load(place)


@pytest.mark.parametrize("groups", [{0: "a", 1: "b"}, {0: "b", 1: "a"}])
def test_where_most_columns_differ_none_is_said_to_be_in_another_unit(groups):
    """Tumours differ in nearly all measurements, some of them by about what miles are in kilometres."""
    tumours = load_breast_cancer(as_frame=True)
    found = compare(tumours.data, groups=tumours.target.map(groups), n_permutations=99, random_state=0)
    assert len(found.selected_columns) > 20
    assert not {fault.kind for fault in found.faults} & {FaultKind.UNIT, FaultKind.SWAPPED, FaultKind.MOVED}


@pytest.mark.parametrize("n_columns", [4, 5])
def test_small_tables_of_which_all_or_most_differs_are_not_in_other_units(n_columns):
    """Cars of two countries differ in all that was measured, in one thing by what miles are in kilometres."""
    rng = np.random.default_rng(5)
    first, second = np.exp(0.3 * rng.normal(size=(2, 300, n_columns)))
    second[:, :4] *= [1.609, 1.3, 0.7, 2.1]
    found = compare(first, second, n_permutations=99)
    assert len(found.selected_columns) == 4 and found.faults == []
