"""What cannot be told apart by eye is one: in levels, groups, blocks, names of columns, and later rows."""

from __future__ import annotations

import unicodedata

import numpy as np
import pandas as pd
import pytest

from princdiff.tables import encode, prepare
from princdiff.tables.spelling import truth_values, zeros_restored

WORDS = np.tile(["Zürich", "Bern"], 20)
OTHER = np.array([unicodedata.normalize("NFD", word) + "\u200b" for word in WORDS])
VALUES = np.random.default_rng(0).normal(size=40)


def test_levels_are_joined_and_told():
    table = prepare(pd.DataFrame({"city": WORDS, "v": VALUES}), pd.DataFrame({"city": OTHER, "v": VALUES}))
    assert table.features == ("city = Zürich", "v")
    assert any("'city': spellings of 'Zürich', 'Bern' that differ" in note for note in table.notes)
    later = encode(pd.DataFrame({"city": OTHER, "v": VALUES}), table.codings)
    np.testing.assert_array_equal(later.rows, table.rows[40:])
    assert not later.notes


def test_groups_and_blocks_are_joined_and_told():
    labels = np.where(np.arange(40) % 3, WORDS, OTHER)
    frame = pd.DataFrame({"v": VALUES, "person": np.repeat(["a", "b", "a\u200b", "b "], 10)})
    for kind in (list, pd.Categorical):
        table = prepare(frame, groups=kind(labels), blocks="person")
        assert sorted(table.groups) == ["Bern", "Zürich"]
        assert len(np.unique(table.blocks)) == 2
        assert any("groups or blocks: spellings of" in note for note in table.notes)


def test_capitals_are_seen():
    frame = pd.DataFrame({"v": VALUES, "plan": np.tile(["Basic", "basic"], 20)})
    table = prepare(frame, frame)
    assert table.column_info["plan"].levels == ("Basic", "basic")
    assert any("'Basic' and 'basic' differ in capitals only" in note for note in table.notes)


@pytest.mark.parametrize(
    ("names", "present", "restored"),
    [
        (["007", "010", "7"], [[1, 0], [1, 0], [0, 1]], {"7": "007"}),
        (["007", "7"], [[1, 0], [1, 1]], {}),  # both ways in one group: two codes
        (["007", "0010", "7"], [[1, 0], [1, 0], [0, 1]], {}),  # no length is theirs
        (["007", "7", "1234"], [[1, 0], [0, 1], [0, 1]], {}),  # longer than any with zeros
        (["007", "x"], [[1, 0], [0, 1]], {}),
    ],
)
def test_lost_zeros(names, present, restored):
    assert zeros_restored(names, np.array(present, dtype=bool)) == restored


def test_words_for_true_and_false():
    assert truth_values(["T", "F"]) == {"T": "True", "F": "False"}
    assert truth_values(["no", "unknown"]) == {} == truth_values([])
