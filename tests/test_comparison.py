"""The front door, from tables to a result, and the result itself."""

import json

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer, load_wine

from princdiff import Config, DifferenceResult, compare, load
from princdiff import compare as front_door
from princdiff.files import write_text


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(120, 4)), columns=["age", "höhe", "weight", "<b>x</b>"])
    frame["city"] = rng.choice(["Rome", "Oslo", "Lima"], size=120)
    frame["group"] = np.repeat(["before", "after"], 60)
    frame.loc[60:, "weight"] += 1.5
    frame.loc[60:, "city"] = np.where(rng.random(60) < 0.25, "Oslo", frame.loc[60:, "city"])
    return frame


@pytest.fixture(scope="module")
def result(table):
    return compare(table, groups="group", n_permutations=99)


def test_answer(result):
    assert result.pvalue == 0.01
    assert "weight" in result.selected
    assert result.groups == {"after": 60, "before": 60}
    assert result.kind["location"] > 0.5
    assert sum(result.kind.values()) == pytest.approx(1)
    assert result.effect > 1


def test_table_is_tidy_and_sorted(result, table):
    frame = result.to_frame()
    assert frame["share"].sum() == pytest.approx(1)
    assert frame["share"].is_monotonic_decreasing
    expected = {"feature", "column", "weight", "share", "selected", "pvalue", "stability", "divergence"}
    assert expected <= set(frame.columns)
    row = frame.set_index("feature").loc["weight"]
    members = table.loc[table["group"] == "after", "weight"]
    assert row["mean after"] == pytest.approx(members.mean())
    assert row["sd after"] == pytest.approx(members.std(ddof=0))
    assert row["location"] + row["scale"] + row["shape"] == pytest.approx(row["divergence"])


def test_shares_are_summed_back_to_columns(result):
    by_column = result.by_column()
    assert set(by_column.index) == {"age", "höhe", "weight", "<b>x</b>", "city"}
    assert by_column.sum() == pytest.approx(1)


def test_changing_the_copy_leaves_the_result(result):
    copy = result.to_frame()
    copy.loc[0, "share"] = 7.0
    assert result.to_frame().loc[0, "share"] != 7.0
    with pytest.raises(AttributeError):
        result.pvalue = 0.0


def test_summary_tells_the_answer_first(result):
    first = result.summary().splitlines()[0]
    assert "differ" in first and "p = 0.01" in first and "weight" in first
    assert repr(result).startswith("<DifferenceResult")
    assert "<b>x</b>" not in result._repr_html_()


def test_two_tables_equal_one_with_groups(table):
    # Groups are coded in the order of their names, "after" first.
    parts = [table[table["group"] == name].drop(columns="group") for name in ("after", "before")]
    joint = pd.concat(parts, ignore_index=True)
    labels = np.repeat(["after", "before"], 60)
    options = {"n_permutations": 19, "n_features": 2}
    two = compare(*parts, **options)
    one = compare(joint, groups=labels, **options)
    assert two.divergences == pytest.approx(one.divergences)
    assert two.pvalue == one.pvalue


def test_same_seed_same_result_for_any_number_of_jobs(table):
    options = {"groups": "group", "n_permutations": 39, "n_features": 3}
    first, second = (
        compare(table, config=Config(n_jobs=1), **options),
        compare(table, config=Config(n_jobs=2), **options),
    )
    contents = []
    for found in (first, second):
        content = found.to_dict()
        content["parameters"].pop("seconds")
        contents.append(json.dumps(content, sort_keys=True))
    assert contents[0] == contents[1]


def test_threads_do_not_change_the_answer_on_a_mixed_table():
    rng = np.random.default_rng(4)
    frame = pd.DataFrame(
        {
            "income": np.exp(rng.normal(10, 0.5, 300)),
            "visits": rng.poisson(2, 300),
            "plan": rng.choice(["basic", "plus", "pro"], 300, p=[0.6, 0.37, 0.03]),
            "member": rng.random(300) < 0.02,
            "seen": pd.Timestamp("2025-01-01") + pd.to_timedelta(rng.integers(0, 200, 300), unit="D"),
        }
    )
    frame.loc[frame.sample(30, random_state=0).index, "income"] = np.nan
    frame.loc[200:, "plan"] = np.where(rng.random(100) < 0.3, "plus", frame.loc[200:, "plan"])
    options = {
        "groups": np.repeat(["a", "b"], 150),
        "missing": "impute",
        "n_permutations": 49,
    }
    one, two = (Config(dates="parts", show_rows=2, n_jobs=jobs) for jobs in (1, 2))
    assert compare(frame, config=one, **options) == compare(frame, config=two, **options)


def test_sparse_equals_dense(table):
    values = np.abs(table[["age", "weight"]].to_numpy())
    values = np.round(np.where(values > 0.8, values, 0.0), 2)
    groups = table["group"].to_numpy()
    options = {"groups": groups, "n_permutations": 19, "n_features": 1}
    dense, sparse = compare(values, **options), compare(sp.csr_matrix(values), **options)
    assert sparse.divergences == pytest.approx(dense.divergences, rel=1e-6)
    assert sparse.selected == dense.selected


def test_round_trip(result, tmp_path):
    path = result.save(tmp_path / "r.json")
    again = load(path)
    assert again == result
    pd.testing.assert_frame_equal(again.to_frame(), result.to_frame())
    assert again.score is not None and DifferenceResult.load(path) == result


def test_round_trip_of_odd_results(tmp_path):
    bunch = load_wine(as_frame=True)
    three = compare(bunch.data, groups=bunch.target_names[bunch.target], n_permutations=0)
    assert np.isnan(three.pvalue) and len(three.groups) == 3
    assert load(three.save(tmp_path / "three.json")) == three


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "not a saved"),
        ("[1, 2]", "not a saved"),
        ('{"kind_of_file": "other"}', "not a saved"),
        ('{"kind_of_file": "princdiff comparison", "format": 99}', "format 99"),
        ('{"kind_of_file": "princdiff comparison", "format": 2}', "damaged: result.pvalue is missing"),
    ],
)
def test_other_files_are_refused(content, words, tmp_path):
    path = tmp_path / "x.json"
    path.write_text(content)
    with pytest.raises(ValueError, match=words):
        load(path)
    with pytest.raises(FileNotFoundError, match="no such file"):
        load(tmp_path / "absent.json")


def test_interrupted_writing_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "r.json"
    path.write_text("old")

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("os.replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_text(path, "new")
    assert path.read_text() == "old"
    assert [item.name for item in tmp_path.iterdir()] == ["r.json"]
    with pytest.raises(FileNotFoundError, match="does not exist"):
        write_text(tmp_path / "nowhere" / "r.json", "new")


def test_score_of_new_rows(result, table):
    rows = table[table["group"] == "after"].drop(columns="group")
    scores = result.score(rows)
    by_group = scores.set_index("group")
    assert by_group.loc["after", "effect"] == 0.0
    assert by_group.loc["before", "effect"] > 1
    assert by_group.loc["after", "closest"] and not by_group.loc["before", "closest"]
    with pytest.raises(ValueError, match="weight"):
        result.score(rows.drop(columns="weight"))


def test_pictures_draw_what_they_say(result):
    assert len(result.plot_projection().get_legend().get_texts()) == 2
    labels = [text.get_text() for text in result.plot_weights(top=3).get_yticklabels()]
    assert labels[0] == result.to_frame().loc[0, "feature"]
    assert "99 permutations" in result.plot_null().get_legend().get_texts()[0].get_text()
    assert result.plot_path().get_xlabel() == "number of features"
    assert result.plot_feature("weight").get_xlabel() == "weight"
    with pytest.raises(ValueError, match="no column or feature is called"):
        result.plot_feature("shoe size")


def test_time_budget_cuts_and_says_so(table):
    found = compare(table, groups="group", n_permutations=5000, n_features=2, config=Config(time_budget=0.5))
    assert found.test.n_permutations < 5000
    assert any("time budget" in note for note in found.notes)


def test_blocks_by_column_name():
    rng = np.random.default_rng(1)
    donors = np.repeat([f"d{i}" for i in range(10)], 8)
    frame = pd.DataFrame(rng.normal(size=(80, 3)) + np.repeat(rng.normal(size=(10, 3)), 8, axis=0))
    frame.columns = ["a", "b", "c"]
    frame["donor"], frame["side"] = donors, np.repeat(["left", "right"], 40)
    found = compare(frame, groups="side", blocks="donor", permute="whole", n_permutations=99, n_features=1)
    assert found.test.smallest_attainable_pvalue >= 1 / 126
    assert "donor" not in found.directions.index


def test_missing_values(table):
    holes = table.copy()
    holes.loc[:4, "age"] = np.nan
    with pytest.raises(ValueError, match="age"):
        compare(holes, groups="group", n_permutations=19)
    found = compare(holes, groups="group", n_permutations=19, missing="impute", n_features=2)
    assert any("age" in note for note in found.notes)


def test_real_table_of_others():
    bunch = load_breast_cancer(as_frame=True)
    groups = bunch.target_names[bunch.target]
    found = compare(bunch.data.iloc[:, :10], groups=groups, n_permutations=39, n_features=3)
    assert found.pvalue == pytest.approx(1 / 40)
    assert found.upper_bound >= found.divergences[0]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"n_permutations": -1}, "n_permutations"),
        ({"n_permutations": 2.5}, "n_permutations"),
        ({"groups": "grup"}, "group"),
        ({"n_features": 99}, "n_features"),
        ({"scale": "unit"}, "scale"),
        ({"missing": "ignore"}, "missing"),
        ({"features": 3}, "features must be a name or a list of names or None, got 3"),
        ({"features": ["nobody"]}, "nobody"),
    ],
)
def test_bad_arguments_are_named(table, options, words):
    with pytest.raises(ValueError, match=words):
        compare(table, **{"groups": "group", "n_permutations": 19, **options})


def test_nothing_differs():
    rng = np.random.default_rng(3)
    same = compare(rng.normal(size=(40, 3)), rng.normal(size=(40, 3)), n_permutations=39)
    assert same.pvalue > 0.05
    assert "No difference" in same.summary()
    assert callable(front_door)


@pytest.mark.parametrize("options", [{"scale": "within"}, {"scale": None}, {"sample_weight": "w"}])
def test_a_groups_own_rows_are_at_no_distance_from_it(options):
    rng = np.random.default_rng(4)
    table = pd.DataFrame(rng.normal(size=(80, 3)), columns=list("abc"))
    table["g"] = np.repeat(["u", "v"], 40)
    table.loc[40:, "a"] += 2
    if "sample_weight" in options:
        # Half of the rows do not count, and lie elsewhere.
        table["w"] = np.tile([1.0, 0.0], 40)
        table.loc[1::2, "b"] += 50
    found = compare(table, groups="g", n_permutations=0, n_features=2, **options)
    for name in ("u", "v"):
        own = table[table["g"] == name]
        own = own[own["w"] > 0].drop(columns="w") if "w" in own else own
        scores = found.score(own.drop(columns="g")).set_index("group")
        assert scores.loc[name, "effect"] == 0
        assert scores.loc[name, "closest"]


def test_a_constant_group_is_at_no_distance_from_itself():
    table = pd.DataFrame({"x": [1.0] * 10 + list(range(10)), "g": ["c"] * 10 + ["v"] * 10})
    found = compare(table, groups="g", n_permutations=0)
    scores = found.score(table[table["g"] == "c"].drop(columns="g")).set_index("group")
    assert scores.loc["c", "effect"] == 0.0


def test_swapping_groups_or_shuffling_rows_changes_nothing_but_signs():
    rng = np.random.default_rng(7)
    first = pd.DataFrame(rng.normal(size=(70, 4)), columns=list("abcd"))
    second = pd.DataFrame(rng.normal(size=(50, 4)), columns=list("abcd"))
    second["b"] += 0.8
    options = {"n_permutations": 19, "n_features": 2}
    one, other = compare(first, second, **options), compare(second, first, **options)
    shuffled = compare(first.sample(frac=1, random_state=0), second.sample(frac=1, random_state=1), **options)
    for found in (other, shuffled):
        assert found.effect == pytest.approx(one.effect, rel=1e-6)
        assert found.divergences == pytest.approx(one.divergences, rel=1e-6)
        assert set(found.selected) == set(one.selected)


def test_the_same_call_gives_an_equal_result(table):
    options = {"groups": "group", "n_permutations": 19, "n_features": 2}
    assert compare(table, **options) == compare(table, **options)


def test_a_column_of_ones_and_twos_is_compared_as_one_of_zeros_and_ones():
    rng = np.random.default_rng(4)
    frame = pd.DataFrame({"sex": rng.integers(0, 2, 60), "age": rng.normal(size=60)})
    groups = np.arange(60) % 2
    first, second = (
        compare(frame.assign(sex=frame["sex"] + more), groups=groups, n_permutations=39) for more in (0, 1)
    )
    assert first.pvalue == second.pvalue and first.effect == pytest.approx(second.effect)
    assert first.table["pvalue"].tolist() == pytest.approx(second.table["pvalue"].tolist())


def test_a_pair_that_is_not_named_lends_no_pvalue():
    rng = np.random.default_rng(1)
    dose = np.tile(np.repeat([0.5, 1.0, 2.0], 10), 2)
    group = np.repeat(["a", "b"], 30)
    length = 10 * dose + 4 * (group == "a") * (dose < 2) + rng.normal(0, 4, 60)
    result = compare(pd.DataFrame({"length": length, "dose": dose}), groups=group, random_state=0)
    table = result.to_frame(by="column").set_index("column")
    assert not table["selected"].any()
    # The doses are the same in both groups: nothing can be less of a difference.
    assert table.loc["dose", "pvalue"] == 1
    assert table.loc["length", "pvalue"] < 0.5


@pytest.mark.parametrize("shift", [1.0, -1.0])
def test_a_weight_above_zero_means_more_in_the_last_group(shift):
    rng = np.random.default_rng(0)
    rows, y = rng.normal(size=(120, 4)), np.repeat(["a", "b"], 60)
    rows[60:, 2] += shift
    rows[60:, 0] -= 0.5
    weights = compare(rows, groups=y, n_permutations=0, random_state=0).directions.iloc[:, 0]
    assert np.sign(weights.iloc[2]) == np.sign(shift)


@pytest.mark.parametrize("seed", range(4))
def test_no_part_is_surer_than_the_whole(seed):
    rng = np.random.default_rng([35, seed])
    rows = rng.standard_t(2, size=(80, 6)) if seed % 2 else rng.normal(size=(80, 6))
    rows[40:, seed] += 0.4 * seed
    result = compare(rows, groups=np.repeat(["a", "b"], 40), n_permutations=99, random_state=seed)
    parts = [result.columns["pvalue"], result.table["pvalue"], result.relations["pvalue"]]
    assert min(part.min() for part in parts) >= result.pvalue
    assert (len(result.selected) == 0) or result.pvalue <= 0.05


def test_relationships_alone_are_told_as_such():
    rng = np.random.default_rng(36)
    rows = rng.normal(size=(200, 3))
    rows[100:] = np.exp(rows[100:])
    groups = np.repeat(["a", "b"], 100)
    options = {"groups": groups, "scale": "within", "n_permutations": 99, "random_state": 0}
    alike = compare(rows, **options)
    said = "No difference between a and b in how columns go together could be shown"
    assert alike.headline.startswith(said) and str(alike).startswith(said[:50])
    assert "which was not tested" in str(alike) and not alike.selected
    rows[100:, 0] = rows[100:, 1] * np.exp(0.2 * rng.normal(size=100))
    differ = compare(rows, **options)
    assert differ.headline.startswith("The groups a and b differ in how columns go together (p = 0.01)")
    assert "What columns do on their own was not compared." in " ".join(str(differ).split())
    assert set(differ.table["differs"]) == {"together", ""}


def test_the_first_look_changes_nothing_and_is_shown(caplog):
    rng = np.random.default_rng(0)
    before = pd.DataFrame(rng.normal(size=(80, 3)), columns=["age", "height", "weight"])
    after = before.assign(weight=before["weight"] + 1.5)
    silent = compare(before, after, n_permutations=99)
    with caplog.at_level("INFO", logger="princdiff"):
        shown = compare(before, after, n_permutations=99, config=Config(progress=True))
    said = [message for message in caplog.messages if message.startswith("First look")]
    assert len(said) == 1 and "1 of 3 columns stands out: weight (p = 0.005)" in said[0]
    assert (shown.pvalue, shown.effect, shown.notes) == (silent.pvalue, silent.effect, silent.notes)
    pd.testing.assert_frame_equal(shown.columns, silent.columns)


def test_a_quick_look_names_columns_and_says_what_it_left_out():
    rng = np.random.default_rng(0)
    before = pd.DataFrame(rng.normal(size=(80, 3)), columns=["age", "height", "weight"])
    after = before.assign(weight=before["weight"] + 1.5)
    found = compare(before, after, quick=True)
    assert found.pvalue == 0.005 and found.selected == ["weight"]
    assert found.test.n_permutations == 199
    assert np.isnan(found.explanation.rest_pvalue) and found.relations.empty
    assert any(note.startswith("a quick look: 199 permutations") for note in found.notes)
    assert compare(before, after, quick=True, n_permutations=49).test.n_permutations == 49
