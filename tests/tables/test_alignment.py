"""Columns of two tables are matched by name."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from princdiff import compare
from princdiff.tables import prepare


def test_columns_of_one_table_only():
    X = pd.DataFrame({"u": [1.5], "v": [2.5], "Body Mass": [1.5]})
    Y = pd.DataFrame({"u": [1.5], "w": [2.5], "body_mass": [1.5]})
    message = (
        r"columns 'v', 'Body Mass' are only in X; columns 'w', 'body_mass' are only in Y "
        r"\(spelled differently: 'Body Mass' and 'body_mass'\); rename them, leave them out with exclude=, "
        r"or name .* features="
    )
    with pytest.raises(ValueError, match=message):
        prepare(X, Y)
    table = prepare(X, Y, features=["u"])
    assert table.features == ("u",)
    assert table.notes == ("2 columns not compared, as features= does not name them.",)


def test_one_column_of_one_table_only():
    both = pd.DataFrame({"u": [1.5], "score": [2.5]})
    with pytest.raises(ValueError, match=r"^column 'score' is only in X; rename it, leave it out with excl"):
        prepare(both, both[["u"]])


def test_no_common_columns():
    with pytest.raises(
        ValueError, match=r"X and Y have no column in common: 'U' against 'u' .*spelled differently"
    ):
        prepare(pd.DataFrame({"U": [1.5]}), pd.DataFrame({"u": [1.5]}))


def test_features_keep_their_order_and_name_unknown_ones():
    frame = pd.DataFrame({"size": [1.5, 2.5], "mass": [3.5, 4.5], "g": [0, 1]})
    assert prepare(frame, groups="g", features=["mass", "size", "mass"]).features == ("mass", "size")
    assert prepare(frame, groups="g", features="mass").features == ("mass",)
    with pytest.raises(ValueError, match=r"features: X has no column 'masss'; did you mean 'mass'\?"):
        prepare(frame, groups="g", features=["masss"])
    with pytest.raises(ValueError, match="'g' is used as groups= and cannot be a feature"):
        prepare(frame, groups="g", features=["g"])
    with pytest.raises(ValueError, match="features= names no column"):
        prepare(frame, groups="g", features=[])
    with pytest.raises(ValueError, match="features: Y has no column 'mass'"):
        prepare(frame, frame[["size"]], features=["mass"])


def test_features_of_arrays_by_position():
    assert prepare(np.eye(3), np.eye(3), features=[2, "x0"]).features == ("x2", "x0")


def test_columns_without_names_are_matched_by_position():
    X = pd.DataFrame({"u": [1.5], "v": [2.5]})
    table = prepare(X, np.array([[3.5, 4.5]]))
    assert table.features == ("u", "v")
    assert table.notes == ("The columns of Y have no names; they took those of X by position.",)
    mixed = X.assign(v=["a"])
    assert prepare(np.array([[0.5, "b"]], dtype=object), mixed).features == ("u", "v = b")
    with pytest.raises(ValueError, match=r"X has 2 columns but Y has 3.*by position"):
        prepare(X, np.zeros((1, 3)))


def test_unnamed_index_column_of_a_file_is_left_out(tmp_path):
    pd.DataFrame({"u": [1.5, 2.5]}).to_csv(tmp_path / "a.csv")
    pd.DataFrame({"u": [1.5, 2.5]}).to_csv(tmp_path / "b.csv", index=False)
    with pytest.warns(UserWarning, match=r"'Unnamed: 0' \(looks like an identifier"):
        assert prepare(tmp_path / "a.csv", tmp_path / "a.csv").features == ("u",)
    with pytest.warns(UserWarning, match="'Unnamed: 0' \\(row names of one table"):
        assert prepare(tmp_path / "a.csv", tmp_path / "b.csv").features == ("u",)


def test_excluded_columns():
    frame = pd.DataFrame({"size": [1.5, 2.5], "mass": [3.5, 4.5], "g": [0, 1], "note": ["a", "b"]})
    table = prepare(frame, groups="g", exclude=["note", "mass", "note"])
    assert table.features == ("size",)
    assert table.notes == ("Not compared, as exclude= names them: 'note', 'mass'.",)
    assert prepare(frame, groups="g", exclude="note").features == ("size", "mass")
    assert prepare(np.eye(3), np.eye(3), exclude=[1]).features == ("x0", "x2")
    with pytest.raises(ValueError, match=r"exclude: X has no column 'masss'; did you mean 'mass'\?"):
        prepare(frame, groups="g", exclude=["masss"])
    with pytest.raises(ValueError, match="'mass' is used as exclude= and cannot be a feature too"):
        prepare(frame, groups="g", exclude=["mass"], features=["mass"])
    with pytest.raises(ValueError, match="no column can be compared"):
        prepare(frame, groups="g", exclude=["mass", "size", "note"])


def test_a_column_of_one_table_only_can_be_excluded():
    X = pd.DataFrame({"u": [1.5, 0.5], "old": [2.5, 1.5]})
    Y = pd.DataFrame({"u": [1.5, 2.5], "new": ["?", 1]})
    assert prepare(X, Y, exclude=["old", "new"]).features == ("u",)
    with pytest.raises(ValueError, match="exclude: X and Y have no column 'odl'; did you mean 'old'"):
        prepare(X, Y, exclude=["odl"])


def test_one_name_is_a_list_of_one():
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(40, 3)), columns=["age", "size", "mass"])
    assert prepare(frame, frame, features="age").features == ("age",)
    assert prepare(frame, frame, exclude="age").features == ("size", "mass")
    found = compare(frame, groups=[0, 1] * 20, features="size", n_permutations=0)
    assert list(found.columns["column"]) == ["size"] and found.parameters["features"] == ["size"]
