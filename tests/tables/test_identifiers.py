"""Columns that name units with several rows are left out, and the user hears of blocks."""

import numpy as np
import pandas as pd
import pytest

from princdiff import Config, compare
from princdiff.tables.identifiers import recurring_units
from princdiff.words.wording import opening


def visits(per_person=4, n_persons=40):
    rng = np.random.default_rng(0)
    person = np.repeat(np.arange(n_persons), per_person)
    return pd.DataFrame(
        {
            "id": person + 100,
            "score": rng.normal(size=len(person)),
            "group": np.where(person < n_persons // 2, "f", "m"),
        }
    )


@pytest.mark.parametrize("as_text", [False, True])
def test_units_with_several_rows_are_left_out_with_advice(as_text):
    table = visits()
    if as_text:
        table["id"] = "P" + table["id"].astype(str)
    with pytest.warns(UserWarning, match="blocks='id'"):
        result = compare(table, groups="group", n_permutations=19, random_state=0)
    assert list(result.columns["column"]) == ["score"]
    # As blocks it is used, and nothing is left out.
    blocked = compare(table, groups="group", blocks="id", n_permutations=19, random_state=0)
    assert list(blocked.columns["column"]) == ["score"]


def test_what_is_asked_for_is_compared():
    result = compare(visits(), groups="group", features=["id", "score"], n_permutations=19, random_state=0)
    assert set(result.columns["column"]) == {"id", "score"}


@pytest.mark.parametrize(
    ("name", "values", "groups", "expected"),
    [
        ("id", np.arange(24) // 2 * 1.0, np.arange(24) >= 12, False),
        ("id", np.arange(60) // 3 * 1.0, np.arange(60) >= 30, True),
        ("height", np.arange(60) // 3 * 1.0, np.arange(60) >= 30, False),
        ("id", np.arange(60) % 20 * 1.0, np.arange(60) >= 30, "crossed"),
        ("patient", np.arange(60) % 50 * 1.0, np.arange(60) >= 30, "crossed"),
        ("USUBJID", np.arange(60) % 5 * 1.0, np.arange(60) >= 30, "crossed"),
        ("client", np.arange(60) % 5 * 1.0, np.arange(60) >= 30, False),
        ("shop_id", np.arange(600) % 20 * 1.0, np.arange(600) >= 300, False),
        ("patient_id", np.arange(60) * 1.0, np.arange(60) >= 30, False),
        ("shop_id", (np.arange(60) >= 30) * 1.0, np.arange(60) >= 30, False),
        ("id", np.full(60, np.nan), np.arange(60) >= 30, False),
        ("id", np.where(np.arange(90) < 60, np.arange(90) // 3, np.nan), np.arange(90) // 30, True),
        ("id", np.where(np.arange(90) >= 30, np.arange(90) // 3, np.nan), np.arange(90) // 30, True),
    ],
    ids=[
        "few",
        "units",
        "a measurement",
        "in both groups",
        "persons",
        "one word",
        "kinds",
        "shops",
        "each once",
        "the group",
        "nothing",
        "without 3",
        "without 1",
    ],
)
def test_what_names_units(name, values, groups, expected):
    found = recurring_units(name, values, groups.astype(np.uint8))
    assert found == (expected if isinstance(expected, str) else "nested" if expected else "")


@pytest.mark.parametrize("name", ["patient", "subject_id", "customer_id", "Donor", "UserID"])
@pytest.mark.parametrize("as_text", [False, True])
def test_persons_with_rows_in_both_groups_are_never_a_finding(name, as_text):
    rng = np.random.default_rng(1)
    person = np.sort(rng.integers(4000, 4060, 200))
    table = pd.DataFrame({name: person, "score": rng.normal(size=200), "group": np.arange(200) // 10 % 2})
    table["score"] += (person - 4030) / 10
    if as_text:
        table[name] = "P" + table[name].astype(str)
    with pytest.warns(UserWarning, match=f"some in several groups.*blocks='{name}'"):
        result = compare(table, groups="group", n_permutations=19, random_state=0)
    assert list(result.columns["column"]) == ["score"]
    told = opening(result)
    assert f"Rows of the same {name} recur" in told and f"blocks='{name}'" in told
    blocked = compare(table, groups="group", blocks=name, n_permutations=19, random_state=0)
    assert "recur" not in opening(blocked)


def test_numbers_that_are_codes_are_noted():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "Postal Code": rng.choice([10115, 20095, 50667, 80331], 200),
            "income": rng.integers(900, 1000, 200),
            "group": np.arange(200) % 2,
        }
    )
    options = {"groups": "group", "n_permutations": 19}
    notes = " ".join(compare(table, **options).notes)
    assert "Column 'Postal Code': compared as numbers" in notes and "income" not in notes
    # As advised, it is a category and nothing needs to be said.
    table["Postal Code"] = table["Postal Code"].astype("category")
    assert "compared as numbers" not in " ".join(compare(table, **options).notes)


def test_amounts_with_a_long_tail_are_numbers_though_all_differ():
    """As the populations of countries do; numbers of accounts fill their range."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "people": np.unique(rng.lognormal(16, 1.5, 1500).astype(int))[:1400],
            "account": rng.choice(10**9, 1400, replace=False) + 10**9,
        }
    ).sample(frac=1, random_state=0)
    result = compare(table, groups=np.arange(1400) % 2, n_permutations=19, config=Config(certify=False))
    assert list(result.columns["column"]) == ["people"] and "'account'" in " ".join(result.notes)


def test_many_names_each_of_one_group_name_units_whatever_the_column_is_called():
    country = np.repeat([f"country {number}" for number in range(120)], 12)
    table = pd.DataFrame({"land": country, "income": np.random.default_rng(0).normal(size=1440)})
    result = compare(table, groups=np.arange(1440) // 720, n_permutations=19, config=Config(certify=False))
    assert "blocks='land'" in " ".join(result.notes)
