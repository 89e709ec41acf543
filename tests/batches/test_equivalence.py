"""Equivalence is claimed where intervals lie within margins, and rarely where a column sits at its margin."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from princdiff.batches.equivalence import equivalent


def two(shift=0.0, rows=400, seed=0, gap=0.0):
    rng = np.random.default_rng(seed)

    def table(moved):
        size = rng.normal(moved, 1, rows)
        return pd.DataFrame(
            {"size": np.where(rng.random(rows) < gap, np.nan, size), "open": rng.integers(0, 2, rows)}
        )

    return table(0.0), table(shift)


def test_intervals_are_those_of_a_library():
    old, new = two(rows=60)
    found = equivalent(old, new, margin=0.3).table.set_index("feature").loc["size"]
    expected = stats.ttest_ind(new["size"], old["size"], equal_var=False).confidence_interval(0.9)
    unit = pd.concat([old["size"], new["size"]]).std(ddof=0)
    assert found["unit"] == pytest.approx(unit) and found["margin"] == pytest.approx(0.3 * unit)
    # The margin is a multiple of an estimate, which makes the interval a little wider.
    middle = (expected.low + expected.high) / 2
    assert found["difference"] == pytest.approx(middle)
    assert 1 <= (found["high"] - middle) / (expected.high - middle) < 1.05


@pytest.mark.parametrize(
    ("shift", "rows", "answer"),
    [(0.0, 4000, "equivalent"), (1.0, 400, "different"), (0.0, 60, "not decided")],
)
def test_three_answers(shift, rows, answer):
    found = equivalent(*two(shift, rows), margin=0.2, share_margin=0.06)
    assert found.answer == answer and bool(found) == (answer == "equivalent")
    words = {"equivalent": "No column moved by more than 0.2 sd", "different": "size", "not decided": "would"}
    assert words[answer] in found.sentence and answer in repr(found)
    assert math.isnan(found.more_rows) == (answer != "not decided")


def test_so_many_more_rows_would_do():
    rng = np.random.default_rng(1)
    old, new = rng.normal(size=(20_000, 1)), rng.normal(size=(300, 1))
    found = equivalent(old, new, margin=0.1)
    assert found.answer == "not decided" and 100 < found.more_rows < 5000
    # As many more rows with the same mean and spread.
    row = found.table.iloc[0]
    total = 300 + found.more_rows
    ratio = math.sqrt((1 / 20_000 + 1 / total) / (1 / 20_000 + 1 / 300))
    assert abs(row["difference"]) + ratio * (row["high"] - row["difference"]) <= row["margin"] * (1 + 1e-9)


def test_more_rows_of_one_group_may_not_do():
    found = equivalent(*two(rows=40), margin=0.05)
    assert found.more_rows == math.inf and "alone would not do" in found.sentence


def test_gaps_are_a_share_of_their_own():
    old, new = two(rows=3000)[0], two(rows=3000, seed=1, gap=0.2)[1]
    found = equivalent(old, new, margin=0.2, share_margin=0.1)
    answers = found.table.set_index("feature")["answer"].to_dict()
    assert answers == {"size": "within", "size (missing)": "beyond", "open": "within"}


@pytest.mark.parametrize(
    ("rows", "flags"),
    [(200, False), (400, True)],
)
def test_a_column_at_its_margin_is_rarely_called_equivalent(rows, flags):
    rng = np.random.default_rng(5)
    claims = 0
    for _ in range(200):
        if flags:
            pair = (rng.random((rows, 1)) < 0.2, rng.random((rows, 1)) < 0.3)
            found = equivalent(*(part.astype(float) for part in pair), share_margin=0.1)
        else:
            # The deviation over all rows contains the shift.
            shift = 0.3 / math.sqrt(1 - 0.3**2 / 4)
            found = equivalent(rng.normal(size=(rows, 1)), rng.normal(shift, size=(rows, 1)), margin=0.3)
        claims += bool(found)
    # 10 expected; 20 or more have a chance of 1 in 300.
    assert claims < 20


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"margin": 0}, "margin must be"),
        ({"share_margin": 1.5}, "share_margin must be"),
        ({"alpha": 0}, "alpha must be"),
        ({"Y": None, "groups": list("abc") * 20}, "two groups, and there are 3"),
    ],
)
def test_bad_input(options, message):
    tables = {"X": np.arange(60.0)[:, None] % 7, "Y": np.arange(60.0)[:, None] % 5}
    with pytest.raises(ValueError, match=message):
        equivalent(**{**tables, **options})
