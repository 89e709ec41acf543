"""Rows to look at: which are chosen, and that a result holds none unless it was asked to."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import princdiff
from princdiff.result.rows import OTHER_SIDE, TYPICAL


def two_groups(seed: int = 0, n_rows: int = 60) -> tuple[pd.DataFrame, pd.DataFrame]:
    rng = np.random.default_rng(seed)
    tables = []
    for shift in (0.0, 3.0):
        table = pd.DataFrame(rng.normal(size=(n_rows, 2)), columns=["age", "height"])
        table["age"] += shift
        table["city"] = rng.choice(["Bern", "Chur", "Genf"], n_rows)
        tables.append(table)
    return tables[0], tables[1]


def test_typical_rows_lie_in_the_middle_and_the_others_beyond_all_of_their_group():
    before, after = two_groups()
    result = princdiff.compare(
        before,
        after,
        n_permutations=19,
        n_features=1,
        features=["age", "height"],
        config=princdiff.Config(show_rows=2),
    )
    where, tables = result.rows.where, {"X": before, "Y": after}
    assert where.groupby(["group", "side"], sort=False).size().tolist() == [2, 2, 2, 2]
    for group, towards in (("X", 1), ("Y", -1)):
        own = tables[group]["age"].to_numpy()
        rows = {side: part["row"].to_numpy() for side, part in where[where["group"] == group].groupby("side")}
        # Brute force: the other side is the end of the group that points to the other one.
        assert set(rows[OTHER_SIDE]) == set(np.argsort(-towards * own)[:2])
        ranks = own.argsort().argsort()[rows[TYPICAL]]
        assert (np.abs(ranks - len(own) / 2) <= 6).all()


def test_values_are_those_of_the_users_rows():
    before, after = two_groups(1)
    result = princdiff.compare(before, after, n_permutations=19, config=princdiff.Config(show_rows=3))
    frame = result.typical_rows()
    assert frame.index.names == ["group", "side", "row"]
    assert frame.columns[0] == "age"
    for (group, _, row), values in frame.iterrows():
        original = (before if group == "X" else after).iloc[row]
        assert values["city"] == original["city"]
        assert values["age"] == pytest.approx(original["age"])


def test_of_groups_that_differ_in_spread_the_wide_one_overlaps_in_the_middle():
    rng = np.random.default_rng(2)
    narrow, wide = rng.normal(size=(200, 1)), 6 * rng.normal(size=(200, 1))
    result = princdiff.compare(narrow, wide, n_permutations=19, config=princdiff.Config(show_rows=3))
    where = result.rows.where
    other = where[where["side"] == OTHER_SIDE]
    assert (np.abs(wide[other.loc[other["group"] == "Y", "row"], 0]) < 2).all()
    assert (np.abs(narrow[other.loc[other["group"] == "X", "row"], 0]) > 1.5).all()


def test_the_order_of_rows_does_not_matter():
    before, after = two_groups(3)
    shuffled = before.sample(frac=1, random_state=0)
    one = princdiff.compare(
        before, after, n_permutations=19, config=princdiff.Config(show_rows=2)
    ).typical_rows()
    other = princdiff.compare(
        shuffled, after, n_permutations=19, config=princdiff.Config(show_rows=2)
    ).typical_rows()
    pd.testing.assert_frame_equal(one.reset_index(drop=True), other.reset_index(drop=True))
    assert (shuffled.index[other.loc["X"].index.get_level_values("row")]).tolist() == (
        one.loc["X"].index.get_level_values("row").tolist()
    )


def test_a_result_holds_no_rows_unless_asked():
    before, after = two_groups()
    after.loc[0, "city"] = "a secret"
    result = princdiff.compare(before, after, n_permutations=19)
    assert not result.rows
    with pytest.raises(ValueError, match="show_rows"):
        result.typical_rows()


def test_rows_are_saved_and_shown(tmp_path):
    before, after = two_groups()
    result = princdiff.compare(before, after, n_permutations=19, config=princdiff.Config(show_rows=1))
    assert princdiff.load(result.save(tmp_path / "result.json")) == result
    page = result.to_html(tmp_path / "page.html").read_text(encoding="utf-8")
    assert "Typical rows" in page
    assert "none of the rows compared" not in page
    plain = princdiff.compare(before, after, n_permutations=19)
    page = plain.to_html(tmp_path / "plain.html").read_text(encoding="utf-8")
    assert "Typical rows" not in page


def test_a_file_without_rows_can_still_be_read(tmp_path):
    before, after = two_groups()
    result = princdiff.compare(before, after, n_permutations=19)
    content = result.to_dict()
    del content["rows"]
    path = tmp_path / "old.json"
    path.write_text(princdiff.result.difference.json.dumps(content), encoding="utf-8")
    assert princdiff.load(path) == result
