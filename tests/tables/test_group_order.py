"""Which group the others are compared with: by default, by name, and asked for."""

import numpy as np
import pandas as pd
import pytest

from princdiff import compare, compare_groups, profile
from princdiff.tables import prepare
from princdiff.tables.group_order import in_order_of_names


def table(names, n_rows=30, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"x": rng.normal(size=n_rows * len(names))})
    frame["group"] = np.repeat(names, n_rows)
    return frame


@pytest.mark.parametrize(
    ("names", "order"),
    [
        (["b", "a", "c"], ("a", "b", "c")),
        (["after", "before"], ("before", "after")),
        (["Treated", "Control", "sham"], ("Control", "Treated", "sham")),
        # Two that could be meant: neither is.
        (["old", "control", "a"], ("a", "control", "old")),
        ([10, 9, 2], ("2", "9", "10")),
    ],
)
def test_the_first_group(names, order):
    frame = table(names)
    assert prepare(frame, groups="group").groups == order
    assert prepare(frame.sample(frac=1, random_state=0), groups="group").groups == order


def test_categories_keep_their_order():
    frame = table(["low", "high", "control"])
    frame["group"] = pd.Categorical(frame["group"], ["high", "low", "control"])
    assert prepare(frame, groups="group").groups == ("high", "low", "control")


def test_a_reference_that_is_asked_for_comes_first():
    frame = table([1, 2, 3])
    prepared = prepare(frame, groups="group", reference=2)
    assert prepared.groups == ("2", "1", "3")
    assert prepared.codes.tolist() == np.repeat([1, 0, 2], 30).tolist()
    with pytest.raises(
        ValueError, match=r"reference: there is no group 'control'; the groups are '1', '2', '3'"
    ):
        prepare(frame, groups="group", reference="control")


def test_the_reference_turns_signs_and_nothing_else():
    frame = table(["a", "b"])
    frame.loc[frame["group"] == "b", "x"] += 1
    options = {"groups": "group", "n_permutations": 99}
    straight, turned = compare(frame, **options), compare(frame, reference="b", **options)
    assert [list(result.groups) for result in (straight, turned)] == [["a", "b"], ["b", "a"]]
    assert straight.pvalue == turned.pvalue
    assert straight.effect == pytest.approx(turned.effect)
    sizes = [result.columns.loc[0, "difference"] for result in (straight, turned)]
    assert sizes[0] == pytest.approx(-sizes[1]) and sizes[0] > 0


def test_of_two_tables_and_of_several_groups():
    frame = table(["a", "b", "c"])
    one, other = (frame.loc[frame["group"] == name, ["x"]] for name in "ab")
    found = compare(one, other, reference="Y", n_permutations=0)
    assert list(found.groups) == ["Y", "X"]
    pairs = compare_groups(frame, groups="group", reference="c", n_permutations=0)
    assert list(pairs.results) == [("c", "a"), ("c", "b"), ("a", "b")]


def test_groups_of_profiles_have_the_same_order():
    assert in_order_of_names(["z", "after", "before"]) == ["before", "after", "z"]
    found = profile(table(["after", "before"], 300), groups="group")
    assert list(found.groups) == ["before", "after"]
    options = {"n_permutations": 39}
    assert list(compare(found, reference="after", **options).groups) == ["after", "before"]
