"""Features of rows are what their names say."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from princdiff.batches.row_features import RowFeatures, as_table, summed
from princdiff.profiles.ruler import make_ruler


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "size": np.where(rng.random(400) < 0.1, np.nan, rng.lognormal(3, 1, 400)),
            "count": rng.poisson(1, 400),
            "plan": rng.choice(["free", "pro", "team"], 400),
            "open": rng.integers(0, 2, 400),
        }
    )


def of(features, frame):
    return features.of(features.values(as_table(frame, "rows")))


def column(features, columns, measure, what=""):
    return [(one.columns, one.measure, one.of) for one in features.names].index((columns, measure, what))


def test_marks_are_shares(frame):
    features = RowFeatures(make_ruler(frame))
    found = of(features, frame)
    assert found.shape == (400, len(features.names)) and np.isfinite(found).all()
    for level in ("free", "pro", "team"):
        place = column(features, ("plan",), "share", level)
        np.testing.assert_array_equal(found[:, place], frame["plan"] == level)
    for value in (0, 1, 2):
        place = column(features, ("count",), "share", str(value))
        np.testing.assert_array_equal(found[:, place], frame["count"] == value)
    missing = found[:, column(features, ("size",), "share", "missing")]
    np.testing.assert_array_equal(missing, frame["size"].isna())
    ranges = [
        k for k, one in enumerate(features.names) if one.columns == ("size",) and one.measure == "share"
    ]
    # Each row is in one of the ranges, or missing; the ranges are of about equal size.
    np.testing.assert_array_equal(found[:, ranges].sum(axis=1), 1)
    assert all(0.08 < found[:, place].mean() < 0.15 for place in ranges)


def test_means_and_scores_keep_the_order(frame):
    features = RowFeatures(make_ruler(frame))
    found, known = of(features, frame), frame["size"].notna()
    score = found[known, column(features, ("size",), "score")]
    assert pd.Series(score).corr(frame["size"][known].reset_index(drop=True), method="spearman") > 0.99
    np.testing.assert_allclose(found[known, column(features, ("size",), "square")], score**2, rtol=1e-5)
    product = found[:, column(features, ("size", "count"), "product")]
    first, second = (found[:, column(features, (name,), "score")] for name in ("size", "count"))
    np.testing.assert_allclose(product, first * second, rtol=1e-5)


def test_later_rows_in_another_order_and_with_new_levels(frame):
    features = RowFeatures(make_ruler(frame))
    later = frame.head(4).assign(plan=["trial", "free", None, "pro"], size=[np.nan, 1e9, 5, 5])[
        ["plan", "size", "open", "count"]
    ]
    found = of(features, later)
    assert found[:, column(features, ("plan",), "share", "other levels")].tolist() == [1, 0, 0, 0]
    assert found[:, column(features, ("plan",), "share", "missing")].tolist() == [0, 0, 1, 0]
    # One row far away does not rule a mean.
    assert found[1, column(features, ("size",), "mean")] == 8


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"size": "many"}, "'size' held numbers"),
        ({"size": np.inf}, "'size' has infinite values, the first in row 0"),
        ({"plan": None}, None),
    ],
)
def test_bad_batches(frame, change, message):
    features = RowFeatures(make_ruler(frame))
    if message is None:
        with pytest.raises(ValueError, match="today lacks column 'plan'"):
            features.values(as_table(frame.drop(columns="plan"), "today"))
        return
    with pytest.raises(ValueError, match=message):
        features.values(as_table(frame.assign(**change), "today"))


def test_sums_of_units_and_summary(frame):
    features = RowFeatures(make_ruler(frame))
    sums, summary = summed(features, as_table(frame, "rows"), 7, 1000, np.random.default_rng(0))
    assert sums.shape == (400 // 7, len(features.names))
    np.testing.assert_allclose(summary.means, of(features, frame).mean(axis=0), rtol=1e-5)
    np.testing.assert_allclose(summary.numbers["size"], (frame["size"].mean(), frame["size"].std(ddof=0)))
    # One row alone in each unit: all rows are there.
    single, _ = summed(features, as_table(frame, "rows"), 1, 1000, np.random.default_rng(0))
    np.testing.assert_allclose(np.sort(single[:, 0]), np.sort(of(features, frame)[:, 0]), rtol=1e-6)
    few, _ = summed(features, as_table(frame, "rows"), 7, 5, np.random.default_rng(0))
    np.testing.assert_array_equal(few, sums[:5])
