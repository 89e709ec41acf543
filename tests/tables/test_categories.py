"""Categories as 0/1 features."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from two_tables import two

from princdiff.tables import prepare


@pytest.mark.parametrize(
    ("column", "names"),
    [
        (["m", "f", "m"], ["m"]),
        (pd.Series(["m", "f", "m"], dtype="string"), ["m"]),
        (pd.Series(["m", "f", "m"], dtype=object), ["m"]),
        (pd.Categorical(["m", "f", "m"], ["x", "m", "f", "y"]), ["f"]),
        (pd.Categorical([2, 1, 2]), ["2"]),
        (pd.Categorical([2.0, 1.0, 2.0]), ["2"]),
        ([True, False, True], ["True"]),
        (pd.array([True, False, True], dtype="boolean"), ["True"]),
        (np.array([True, False, True], dtype=object), ["True"]),
        (["b", "a", "b", "ü"], ["a", "b", "ü"]),
        (pd.Categorical(["b", "a", "b", "c"], ["c", "b", "a"]), ["c", "b", "a"]),
        (["same", "same"], ["same"]),
        (pd.cut([0.5, 1.5, 0.5], [0, 1, 2]), ["(1, 2]"]),
    ],
)
def test_categories(column, names):
    table = two(column)
    assert table.features == ("plain", *(f"c = {name}" for name in names))
    assert table.origin == ("plain", *["c"] * len(names))
    texts = [str(value) for value in pd.Series(column).astype(object)]
    for place, name in enumerate(names, start=1):
        expected = [text.removesuffix(".0") == name for text in texts]
        np.testing.assert_array_equal(table.rows[: len(texts), place], expected)


def test_level_of_one_table_only_is_kept_and_told():
    table = two(["a", "b", "a"], ["a", "c", "a"])
    assert table.features[1:] == ("c = a", "c = b", "c = c")
    assert "Levels seen in one group only: 'b' of 'c' (in 'X'), 'c' of 'c' (in 'Y')." in table.notes


def test_declared_categories_are_believed():
    assert two(pd.Categorical(["a", "b", "c"])).features == ("plain", "c = a", "c = b", "c = c")


def test_many_declared_categories_are_pooled_not_left_out():
    shops = [f"shop {number % 100}" for number in range(600)]
    table = two(pd.Categorical(shops))
    assert len(table.features) == 66 and table.column_info["c"].pooled_levels == 36
    with pytest.warns(UserWarning, match="too many categories"):
        assert two(pd.Categorical([f"shop {number % 300}" for number in range(600)])).features == ("plain",)


def test_what_a_two_level_column_means_is_told():
    table = two(["m", "f", "m"])
    assert "1 column of categories encoded as 1 0/1 feature." in table.notes
    assert table.feature_levels == ("", "m") and table.column_info["c"].levels == ("f", "m")


def test_shares_are_summed_back():
    table = two(["a", "b", "a", None], ["a", "c", "a", "b"], missing="impute")
    assert table.by_column([0.5, 0.1, 0.1, 0.1, 0.2]) == {"plain": 0.5, "c": pytest.approx(0.5)}
    with pytest.raises(ValueError, match=r"shorter|longer"):
        table.by_column([1.0])


def test_feature_names_stay_different():
    frame = pd.DataFrame({"c = b": [1.5, 2.5], "c": ["a", "b"], "v": [None, 1.5], "v (missing)": [0.5, 1.5]})
    table = prepare(frame, frame, missing="impute")
    assert table.features == ("c = b", "c = b (2)", "v", "v (missing) (2)", "v (missing)")
    assert table.origin == ("c = b", "c", "v", "v", "v (missing)")


def test_one_hot_rows_sum_to_one():
    column = [None, *np.random.default_rng(0).choice(list("abcd"), 50)]
    table = two(column, missing="impute")
    np.testing.assert_array_equal(table.rows[:, 1:].sum(axis=1), 1)
