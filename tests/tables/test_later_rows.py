"""Rows that come later are encoded as those of the fit."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from two_tables import GAPS

from princdiff.tables import Coding, encode, prepare


def test_later_rows_are_encoded_alike():
    table = prepare(GAPS, GAPS.assign(c="z"), missing="impute")
    again = encode(GAPS[["full", "b", "c", "n", "u"]], table.codings)
    np.testing.assert_array_equal(again.rows, table.rows[:4])
    assert again.notes == ()
    # Fewer rows have fewer levels and other medians, which changes nothing.
    np.testing.assert_array_equal(encode(GAPS.iloc[1:3], table.codings).rows, table.rows[1:3])


def test_codings_survive_json():
    table = prepare(GAPS, GAPS, missing="impute")
    plain = json.loads(json.dumps([dataclasses.asdict(coding) for coding in table.codings]))
    loaded = [Coding(**{**entry, "levels": entry["levels"] and tuple(entry["levels"])}) for entry in plain]
    assert loaded == list(table.codings)


def test_later_rows_with_something_new():
    X = pd.DataFrame({"u": [0.5, 1.5, 2.5], "c": ["a", "b", "c"], "d": ["p", "q", "p"]})
    codings = [Coding("u"), Coding("c", levels=("a", "b", "c")), Coding("d", levels=("p", "q"))]
    new = encode(X.assign(c=["a", "new", "c"], more=1), codings)
    np.testing.assert_array_equal(new.rows[1], [1.5, 0, 0, 0, 1])
    assert new.notes == (
        "1 column of the new table not used.",
        "Column 'c' has levels that were not seen before: 'new'.",
    )
    gaps = X.assign(u=[0.5, None, 2.5])
    for missing in ("error", "impute"):
        with pytest.raises(
            ValueError, match=r"1 column that had none before: 'u' \(1, the first in row 1 of the new"
        ):
            encode(gaps, codings, missing=missing)
    dropped = encode(gaps.assign(c=["a", "b", "new"]), codings, missing="drop")
    np.testing.assert_array_equal(dropped.kept, [0, 2])
    np.testing.assert_array_equal(dropped.rows, [[0.5, 1, 0, 0, 0], [2.5, 0, 0, 0, 0]])
    with pytest.raises(ValueError, match=r"the new table lacks column 'u'; did you mean 'U'\?"):
        encode(X.rename(columns={"u": "U"}), codings)
    with pytest.raises(ValueError, match="column 'u' held numbers, but now holds text"):
        encode(X.assign(u=["x", "y", "z"]), codings)
    with pytest.raises(ValueError, match="column 'c' held categories, but now holds date"):
        encode(X.assign(c=pd.date_range("2024", periods=3)), codings)
    with pytest.raises(ValueError, match="infinite values"):
        encode(X.assign(u=np.inf), codings)


def test_levels_that_are_numbers_in_a_later_file():
    codings = [Coding("grade", levels=("1", "2", "3+"))]
    rows = encode(
        pd.DataFrame({"grade": [1, 2, None]}), [dataclasses.replace(codings[0], indicator=True)]
    ).rows
    np.testing.assert_array_equal(rows, [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 1]])


def test_later_rows_without_any_value_in_a_column():
    table = prepare(GAPS, GAPS, missing="impute")
    rows = encode(GAPS.assign(u=None, c=None), table.codings).rows
    np.testing.assert_array_equal(rows[:, :2], [[3, 1]] * 4)
    np.testing.assert_array_equal(rows[:, 4:7], [[0, 0, 1]] * 4)


def test_later_arrays():
    table = prepare(np.eye(3), np.eye(3))
    np.testing.assert_array_equal(encode(2 * np.eye(3), table.codings).rows, 2 * np.eye(3))
    assert sp.issparse(encode(sp.eye(3, format="csr"), table.codings).rows)
    with pytest.raises(ValueError, match="the new table lacks column 'x2'"):
        encode(np.eye(2), table.codings)
