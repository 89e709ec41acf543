from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from princdiff import compare, compare_groups
from princdiff.labellings.pvalues import adjusted_pvalues

OPTIONS = {"n_permutations": 39, "n_features": 1}


@pytest.fixture(scope="module")
def table():
    """Sites a and b alike, c shifted in weight."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(90, 3)), columns=["age", "height", "weight"])
    frame["site"] = np.repeat(["a", "b", "c"], 30)
    frame.loc[frame["site"] == "c", "weight"] += 2.0
    return frame


@pytest.fixture(scope="module")
def pairs(table):
    return compare_groups(table, groups="site", **OPTIONS)


def test_every_pair_is_compared_as_by_itself(table, pairs):
    assert list(pairs.results) == [("a", "b"), ("a", "c"), ("b", "c")]
    alone = compare(table[table["site"] != "b"], groups="site", **OPTIONS)
    found = pairs.results["a", "c"]
    assert found.pvalue == alone.pvalue == 1 / 40
    assert found.divergences == pytest.approx(alone.divergences)
    assert found.directions["component 1"].abs().idxmax() == "weight"
    assert pairs.results["a", "b"].pvalue > 0.05


def test_pvalues_are_adjusted_for_their_number(pairs):
    raw = pairs.table["pvalue"].to_numpy()
    np.testing.assert_allclose(pairs.table["adjusted"], adjusted_pvalues(raw))
    matrix = pairs.matrix("adjusted")
    assert matrix.loc["a", "c"] == matrix.loc["c", "a"] == pytest.approx(3 / 40)
    assert np.isnan(np.diag(matrix)).all()
    with pytest.raises(ValueError, match="column"):
        pairs.matrix("features")


def test_each_against_the_rest(table):
    found = compare_groups(table, groups="site", against="rest", adjustment="none", **OPTIONS)
    assert list(found.results) == [("a", "rest"), ("b", "rest"), ("c", "rest")]
    assert found.results["c", "rest"].groups == {"c": 30, "rest": 60}
    assert found.table["effect"].idxmax() == 2 and found.table["pvalue"].iloc[2] == 1 / 40
    assert found.matrix("effect").shape == (3, 1)


def test_arrays_and_weights(table):
    values = table[["age", "weight"]].to_numpy()
    found = compare_groups(
        values, groups=table["site"].to_numpy(), sample_weight=np.ones(90), against="rest", **OPTIONS
    )
    assert found.results["c", "rest"].pvalue == 1 / 40


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"against": "all"}, "against"),
        ({"adjustment": "bonferroni"}, "adjustment"),
        ({"colour": "red"}, "no parameter .colour."),
        ({"groups": np.repeat(["a", "b"], 45)}, "use princdiff.compare"),
        ({"groups": np.repeat(["a", "b", "rest"], 30), "against": "rest"}, "rename it"),
    ],
)
def test_bad_input(table, change, words):
    rows = table.drop(columns="site")
    arguments = {"groups": table["site"].to_numpy(), **OPTIONS, **change}
    with pytest.raises((ValueError, TypeError), match=words):
        compare_groups(rows, **arguments)


def test_features_of_all_comparisons_stand_in_one_frame(table):
    found = compare_groups(table, groups="site", n_permutations=99, n_features=1)
    frame = found.to_frame()
    assert len(frame) == 9 and frame.columns[:3].tolist() == ["group", "other", "feature"]
    named = frame[frame["selected"]]
    assert named[["group", "other", "feature"]].to_numpy().tolist() == [
        ["a", "c", "weight"],
        ["b", "c", "weight"],
    ]
    np.testing.assert_allclose(frame["pvalue_adj"], np.minimum(1, 3 * frame["pvalue"]))
    # Of each comparison what differs comes first.
    assert (
        frame.groupby(["group", "other"])["selected"].apply(lambda part: part.is_monotonic_decreasing).all()
    )
