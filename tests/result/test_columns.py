"""One line per column: kinds, words and sizes."""

import numpy as np
import pandas as pd
import pytest

from princdiff import compare


@pytest.fixture(scope="module")
def result():
    rng = np.random.default_rng(5)
    n = 600
    before = pd.DataFrame(
        {
            "plan": rng.choice(["basic", "plus", "pro"], n, p=[0.6, 0.3, 0.1]),
            "churn": rng.random(n) < 0.15,
            "income": rng.normal(50, 5, n),
            "noise": rng.normal(size=n),
            "wobble": rng.normal(size=n),
            "age": np.where(rng.random(n) < 0.02, np.nan, rng.normal(40, 10, n)),
        }
    )
    after = pd.DataFrame(
        {
            "plan": rng.choice(["basic", "plus", "pro"], n, p=[0.4, 0.3, 0.3]),
            "churn": rng.random(n) < 0.45,
            "income": rng.normal(55, 5, n),
            "noise": rng.normal(size=n),
            "wobble": 2 * rng.normal(size=n),
            "age": np.where(rng.random(n) < 0.25, np.nan, rng.normal(40, 10, n)),
        }
    )
    return compare(before, after, n_permutations=99, missing="impute")


def test_kinds_and_types(result):
    columns = result.to_frame(by="column").set_index("column")
    assert columns["kind"].drop("noise").to_dict() == {
        "plan": "proportion",
        "churn": "proportion",
        "income": "shift",
        "wobble": "spread",
        "age": "missing",
    }
    assert columns.loc["plan", "type"] == "category"
    assert columns.loc["churn", "type"] == "flag"
    assert columns.loc["income", "type"] == "number"


def test_what_changed_is_said_in_words_people_use(result):
    change = result.to_frame(by="column").set_index("column")["change"]
    assert change["plan"].startswith(("pro ", "basic "))
    assert "→" in change["churn"] and "%" in change["churn"]
    assert change["income"].startswith("mean 5") and change["income"].endswith("%)")
    assert change["wobble"].startswith("sd 1") or change["wobble"].startswith("sd 0.9")
    assert change["age"].startswith("missing 2")


@pytest.mark.parametrize(
    ("name", "percent"),
    [("visits", True), ("blog_posts", True), ("log1p_visits", False), ("lnVisits", False)],
)
def test_a_logarithm_is_never_told_in_per_cent(name, percent):
    prices = np.log1p(np.random.default_rng(0).lognormal(size=80))
    found = compare({name: prices}, {name: prices + 0.5}, n_permutations=19)
    assert found.columns["change"].iloc[0].endswith("%)") == percent


def test_effects_are_in_the_same_unit(result):
    columns = result.to_frame(by="column").set_index("column")["effect"]
    assert columns["income"] == pytest.approx(1.0, abs=0.15)
    assert columns["wobble"] == pytest.approx(1 / np.sqrt(2.5), abs=0.1)
    assert columns["noise"] < 0.15
    # 15 against 45 percent.
    assert columns["churn"] == pytest.approx(0.3 / np.sqrt(0.3 * 0.7), abs=0.15)


def test_shares_of_columns_are_those_of_their_features(result):
    by_column = result.by_column()
    columns = result.to_frame(by="column").set_index("column")["share"]
    for name, share in by_column.items():
        assert columns[name] == pytest.approx(share)


def test_the_frame_asked_for_must_exist(result):
    with pytest.raises(ValueError, match="by must be one of"):
        result.to_frame(by="row")


def test_three_groups_name_three_values():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"x": rng.normal(size=150), "c": rng.choice(["a", "b", "c"], 150)})
    groups = np.repeat(["g1", "g2", "g3"], 50)
    table.loc[groups == "g3", "x"] += 2
    found = compare(table, groups=groups, n_permutations=19)
    change = found.to_frame(by="column").set_index("column")["change"]
    assert change["x"].count("→") == 2


def test_a_column_that_is_the_grouping_is_pointed_out():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"x": rng.normal(size=60), "alive": np.repeat(["no", "yes"], 30)})
    table["other"] = rng.choice(["a", "b"], 60)
    found = compare(table, groups=np.repeat([0, 1], 30), n_permutations=19)
    notes = [note for note in found.notes if "determines the group" in note]
    assert len(notes) == 1 and "'alive'" in notes[0]


def test_bare_group_names_are_told_with_their_column():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"x": rng.normal(size=60), "survived": np.repeat([0, 1], 30)})
    found = compare(table, groups="survived", n_permutations=19)
    assert "survived = 0 and survived = 1" in found.summary().replace("\n", " ")


def test_a_few_gaps_are_not_told_as_what_changed():
    rng = np.random.default_rng(0)
    values = rng.normal(size=300)
    values[:2] = np.nan
    frame = pd.DataFrame({"weight": values, "plan": rng.choice(["a", "b"], 300)})
    groups = np.repeat(["old", "new"], [100, 200])
    frame.loc[groups == "old", "weight"] += 3
    columns = compare(frame, groups=groups, n_permutations=99, missing="impute").columns.set_index("column")
    assert columns.loc["weight", "selected"]
    assert (
        columns.loc["weight", "change"].startswith("mean")
        and "missing" not in columns.loc["weight", "change"]
    )


def test_a_category_named_as_a_whole_has_the_p_value_by_which_it_was_named():
    """Each of its levels moved by too little to be named."""
    counts = np.round(40 * (1 + 0.25 * np.array([[1], [-1]]) * (-1) ** np.arange(12))).astype(int)
    shop = [f"shop {level}" for group in counts for level in np.repeat(np.arange(12), group)]
    groups = np.repeat(["before", "after"], counts.sum(axis=1))
    table = pd.DataFrame({"shop": shop, "size": np.random.default_rng(0).normal(size=len(shop))})
    result = compare(table, groups=groups, n_permutations=199)
    levels = result.table.loc[result.table["column"] == "shop", "pvalue"]
    assert result.selected_columns == ["shop"] and levels.min() > 0.05
    assert result.columns.set_index("column").loc["shop", "pvalue"] <= 0.05
