"""Columns kept with different precision are rounded alike; others stay as they are."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from princdiff.tables import Coding, encode, prepare
from princdiff.tables.precision import to_common_precision

RNG = np.random.default_rng(5)
GROUPS = np.repeat([0, 1], 200)
SEVENTHS = RNG.integers(0, 60, 400) / 7
NORMAL = RNG.normal(size=400)


def written(values, form):
    return np.array([float(form % value) for value in values])


def from_singles(values):
    return np.array([float(str(value)) for value in values.astype(np.float32)])


@pytest.mark.parametrize(
    ("coarser", "told"),
    [
        (lambda v: v.astype(np.float32), "single precision"),
        (from_singles, "single precision"),
        (lambda v: written(v, "%.15g"), "15 digits"),
        (lambda v: written(v, "%.6g"), "6 digits"),
        (lambda v: v.round(6), "6 decimals"),
        (lambda v: v.round(10), "10 decimals"),
    ],
)
def test_values_of_two_precisions_are_one(coarser, told):
    mixed = np.append(coarser(SEVENTHS[:200]), SEVENTHS[200:])
    rounded, grid, remark = to_common_precision(mixed, GROUPS)
    assert str(grid) == told and told in remark
    assert len(np.unique(rounded)) == len(np.unique(SEVENTHS)) < len(np.unique(mixed))
    np.testing.assert_array_equal(to_common_precision(rounded, GROUPS)[0], rounded)


def test_what_was_measured_stays_the_same_through_single_precision():
    measured = NORMAL.round(3)
    mixed = np.append(measured[:200].astype(np.float32), measured[200:])
    np.testing.assert_array_equal(to_common_precision(mixed, GROUPS)[0], measured)


@pytest.mark.parametrize(
    "values",
    [
        NORMAL,
        NORMAL.round(2),
        SEVENTHS,
        np.log1p(RNG.poisson(9, 400)),
        NORMAL * 1e-9,
        np.round(NORMAL * 4) / 4,
    ],
)
def test_one_precision_is_left_alone(values):
    same, grid, remark = to_common_precision(values, GROUPS)
    assert same is values and grid is None and not remark


def test_recording_that_was_much_coarser_is_said_and_kept():
    values = np.append(NORMAL[:200].round(1), NORMAL[200:])
    same, grid, remark = to_common_precision(values, GROUPS)
    assert same is values and grid is None
    assert remark == "rounded to 1 decimal in one group only, which may be all that differs"


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix, pd.DataFrame])
def test_all_kinds_of_tables(kind):
    one, two = (SEVENTHS[part].reshape(-1, 2) for part in (slice(200), slice(200, 400)))
    mixed = prepare(kind(one.astype(np.float32)), kind(two))
    rows = mixed.rows.toarray() if sp.issparse(mixed.rows) else mixed.rows
    assert len(np.unique(rows)) == len(np.unique(SEVENTHS))
    assert any("single precision" in note for note in mixed.notes)


def test_later_rows_are_rounded_too_and_two_values_keep_their_names():
    both = np.random.default_rng(0).choice([0.1, 0.7], 40)
    frames = [
        pd.DataFrame({"seventh": SEVENTHS[:40], "dose": both}).astype(dtype)
        for dtype in ("float32", "float64")
    ]
    table = prepare(*frames)
    assert table.features == ("seventh", "dose = 0.7")
    for frame in frames:
        np.testing.assert_array_equal(encode(frame, table.codings).rows, table.rows[:40])
    with pytest.raises(ValueError, match="'seven' is not a precision"):
        Coding("seventh", precision="seven")
