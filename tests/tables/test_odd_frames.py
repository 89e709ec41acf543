"""Frames of any kind give finite rows and an account of every column, or one clear error."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from princdiff.tables import encode, prepare

NAMES = st.text(min_size=1, max_size=8)
VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(allow_infinity=False),
    st.text(max_size=5),
    st.dates(),
    st.decimals(allow_infinity=False, places=2, min_value=-1000, max_value=1000),
    st.binary(max_size=3),
    st.lists(st.integers(), max_size=2),
)
COLUMNS = st.one_of(
    *(
        st.lists(kind, min_size=6, max_size=6)
        for kind in (VALUES, st.booleans() | st.none(), st.integers(0, 9))
    ),
    st.lists(st.sampled_from(["a", "b", "ü", None]), min_size=6, max_size=6),
    st.lists(st.sampled_from(["a", "b", None]), min_size=6, max_size=6).map(pd.Categorical),
    st.lists(st.floats(-5, 5) | st.none(), min_size=6, max_size=6).map(
        lambda v: pd.array(v, dtype="Float64")
    ),
    st.lists(st.text(max_size=3) | st.none(), min_size=6, max_size=6).map(
        lambda v: pd.array(v, dtype="string")
    ),
)


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.dictionaries(NAMES, COLUMNS, min_size=1, max_size=5),
    st.booleans(),
    st.sampled_from(["impute", "drop"]),
)
def test_odd_frames(columns, stacked, missing):
    """Any frame gives finite rows and a full account, or a ValueError; nothing is lost."""
    frame = pd.DataFrame(columns)
    labels = np.array([0, 1, 0, 1, 0, 1])
    sources = {"X": frame, "groups": labels} if stacked else {"X": frame, "Y": frame.iloc[::-1]}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            table = prepare(**sources, missing=missing)
    except ValueError as error:
        assert len(str(error).splitlines()) == 1 or "\n" in "".join(map(str, columns))
        return
    assert set(table.columns) | set(table.left_out) == set(map(str, columns))
    assert set(table.origin) == set(table.columns) and not set(table.columns) & set(table.left_out)
    assert len(set(table.features)) == len(table.features) == table.rows.shape[1]
    assert np.isfinite(table.rows).all()
    assert len(table.rows) == len(table.codes) == len(table.kept)
    assert bool(table.left_out) == any("left out" in note for note in table.notes)
    assert (len(table.kept) < (6 if stacked else 12)) == any("rows dropped" in note for note in table.notes)
    again = encode(frame, table.codings, missing=missing if missing == "drop" else "error")
    here = table.kept[table.kept < 6]
    np.testing.assert_array_equal(again.kept, here)
    np.testing.assert_array_equal(again.rows, table.rows[: len(here)])
