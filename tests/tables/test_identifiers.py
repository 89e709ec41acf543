"""Columns that name units with several rows are left out, and the user hears of blocks."""

import numpy as np
import pandas as pd
import pytest

from princdiff import compare
from princdiff.tables.identifiers import names_units


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
        ("id", [1, 1, 2, 2, 3, 3, 4, 4], [0, 0, 0, 0, 1, 1, 1, 1], True),
        ("height", [1, 1, 2, 2, 3, 3, 4, 4], [0, 0, 0, 0, 1, 1, 1, 1], False),
        ("id", [1, 1, 2, 2, 1, 1, 2, 2], [0, 0, 0, 0, 1, 1, 1, 1], False),
        ("shop_id", [1, 1, 1, 1, 2, 2, 2, 2], [0, 0, 0, 0, 1, 1, 1, 1], False),
        ("id", [np.nan] * 8, [0, 0, 0, 0, 1, 1, 1, 1], False),
    ],
    ids=["units", "a measurement", "in both groups", "the group itself", "nothing"],
)
def test_what_names_units(name, values, groups, expected):
    assert names_units(name, np.array(values, dtype=float), np.array(groups)) == expected
