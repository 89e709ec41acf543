"""Features back into the values of the user's table."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from princdiff.tables import prepare
from princdiff.tables.decoding import decode


@pytest.fixture
def table() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    n_rows = 300
    frame = pd.DataFrame(
        {
            "income": rng.normal(3000, 500, n_rows),
            "visits": rng.poisson(3, n_rows),
            "city": rng.choice(["Oslo", "Riga", "Rome"], n_rows),
            "sex": rng.choice(["f", "m"], n_rows),
            "member": rng.random(n_rows) < 0.5,
            "grade": pd.Categorical(
                rng.choice(["low", "mid", "high"], n_rows), ["low", "mid", "high"], ordered=True
            ),
            "seen": pd.Timestamp("2024-03-01") + pd.to_timedelta(rng.integers(0, 90, n_rows), unit="D"),
            "group": np.arange(n_rows) % 2,
        }
    )
    for place, name in enumerate(["income", "city", "sex", "grade", "seen"]):
        frame.loc[frame.index[place * 7 : place * 7 + 5], name] = None
    return frame


def test_every_kind_of_column_comes_back_as_it_was(table):
    prepared = prepare(table, groups="group", missing="impute", dates="parts")
    found = decode(prepared.rows, prepared.codings)
    for name in ("income", "visits", "city", "sex", "grade"):
        expected = table[name].astype(object).where(table[name].notna(), None)
        assert [None if pd.isna(value) else value for value in found[name]] == expected.tolist(), name
    assert found["member"].tolist() == [str(value) for value in table["member"]]
    expected = [None if pd.isna(date) else str(date) for date in table["seen"]]
    assert [None if pd.isna(date) else date for date in found["seen"]] == expected


def test_pooled_levels_are_told_as_such():
    names = np.array(["a"] * 200 + ["b"] * 190 + [f"rare {i}" for i in range(10)])
    frame = pd.DataFrame({"x": names, "y": np.arange(400.0)})
    prepared = prepare(frame, groups=np.arange(400) % 2)
    found = decode(prepared.rows[[0, 250, 395]], prepared.codings)["x"].tolist()
    assert found == ["a", "b", "other levels"]


def test_sparse_rows_give_the_same():
    rows = np.array([[0.0, 2.5], [1.0, 0.0], [0.0, 0.0]])
    codings = prepare(rows, groups=[0, 1, 1]).codings
    pd.testing.assert_frame_equal(decode(rows, codings), decode(sp.csr_matrix(rows), codings))
