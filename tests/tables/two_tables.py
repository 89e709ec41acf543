"""Small tables for the tests of this folder."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from princdiff.tables import prepare

GAPS = pd.DataFrame(
    {
        "u": [1.0, np.nan, 3.0, 5.0],
        "n": pd.array([1, 2, None, 7], dtype="Int64"),
        "c": ["a", "b", None, "b"],
        "b": pd.array([True, None, False, True], dtype="boolean"),
        "full": [0.5, 1.5, 2.5, 3.5],
    }
)


def two(column: list, other: list | None = None, **options):
    """A column beside a plain one, in two tables."""
    other = column if other is None else other
    X = pd.DataFrame({"plain": np.linspace(0, 1, len(column)), "c": column})
    Y = pd.DataFrame({"plain": np.linspace(0, 2, len(other)), "c": other})
    return prepare(X, Y, **options)


def left_out(column: list, other: list | None = None) -> str:
    """Why the column is left out."""
    with pytest.warns(UserWarning, match="left out: 'c'"):
        table = two(column, other)
    assert table.features == ("plain",)
    assert any("left out: 'c'" in note for note in table.notes)
    return table.left_out["c"]
