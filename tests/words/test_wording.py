"""The first sentences of an answer."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import princdiff
from princdiff.words import wording


def test_rows_of_one_unit_are_said_to_be_taken_as_independent():
    rng = np.random.default_rng(0)
    person = np.repeat([f"person {number}" for number in range(60)], 3)
    groups = np.repeat(["a", "b"], 90)
    table = pd.DataFrame(
        {
            "person": person,
            "group": groups,
            "x": rng.normal(size=180) + 2.0 * (groups == "b"),
            "y": rng.normal(size=180),
        }
    )
    with pytest.warns(UserWarning, match="'person'"):
        plain = princdiff.compare(table, groups="group", n_permutations=99, random_state=0)
    opening = wording.opening(plain)
    assert "Rows of the same person recur (all in one group)" in opening and "blocks='person'" in opening
    blocked = princdiff.compare(table, groups="group", blocks="person", n_permutations=99, random_state=0)
    assert "independent" not in wording.opening(blocked)


def test_a_direction_of_gaps_is_said_to_be_one():
    rng = np.random.default_rng(1)
    table = pd.DataFrame(rng.normal(size=(300, 3)), columns=["x", "y", "z"])
    groups = np.repeat(["a", "b"], 150)
    table.loc[(groups == "b") & (rng.random(300) < 0.5), "y"] = np.nan
    result = princdiff.compare(table, groups=groups, missing="impute", n_permutations=99, random_state=0)
    assert "(missing y)" in wording.opening(result)


def test_the_first_sentence_has_at_most_25_words():
    """The change is told in the unit of the column alone, and long names leave room for fewer of them."""
    rng = np.random.default_rng(3)
    names = ["Body Mass (g)", "Culmen Depth (mm)", "Culmen Length (mm)", "Flipper Length (mm)"]
    table = pd.DataFrame(rng.normal(100, 10, size=(300, 9)), columns=names + list("abcde"))
    sex = np.repeat(["females", "males"], 150)
    table.loc[sex == "males", names] += [30, 20, 20, 20]
    headline = princdiff.compare(table, groups=sex, n_permutations=99).headline
    assert headline.startswith(
        "The groups females and males differ (p = 0.01), and four columns explain it: "
    )
    assert headline.endswith(": Body Mass (g) (mean 101 → 130), Flipper Length (mm) and 2 more.")
