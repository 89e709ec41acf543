"""Results as plain data and back; damaged files are refused with the place of the damage."""

import copy
import json

import numpy as np
import pandas as pd
import pytest

from princdiff import compare, load
from princdiff.result.loading import result_from
from princdiff.result.schema import from_plain, to_plain
from princdiff.show.page_data import page_data

pytestmark = pytest.mark.whole


@pytest.fixture(scope="module")
def result():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"a": rng.normal(size=60), "b": rng.choice(list("xyz"), 60)})
    table.loc[30:, "a"] += 1
    return compare(table, groups=np.repeat(["u", "v"], 30), n_permutations=19, n_components=2, n_features=2)


def test_json_knows_no_nan_and_comes_back_equal(result, tmp_path):
    text = result.to_json(tmp_path / "r.json")
    json.loads(text, parse_constant=lambda constant: pytest.fail(constant))
    again = load(tmp_path / "r.json")
    assert again == result
    pd.testing.assert_frame_equal(again.columns, result.columns)
    pd.testing.assert_frame_equal(again.table, result.table)
    assert again.test.null == pytest.approx(result.test.null)


def places(content, path=()):
    """Every place of a plain structure, leaves and branches alike."""
    yield path
    inner = dict(enumerate(content)) if isinstance(content, list) else content
    for key, item in inner.items() if isinstance(inner, dict) else ():
        yield from places(item, (*path, key))


def damaged(content, path, value):
    content = copy.deepcopy(content)
    inner = content
    for key in path[:-1]:
        inner = inner[key]
    if value is ...:
        del inner[path[-1]]
    else:
        inner[path[-1]] = value
    return content


def test_damaged_files_never_raise_anything_but_a_clear_error(result, tmp_path):
    content = result.to_dict()
    spots = [path for path in places(content) if path]
    chosen = np.random.default_rng(1).choice(len(spots), 25, replace=False)
    deep = []
    for _ in range(3000):
        deep = [deep]
    refused = 0
    for index in chosen:
        for value in (..., None, "x", 3, -1.5, [], {}, {"a": 1}, True):
            path = tmp_path / "damaged.json"
            path.write_text(json.dumps(damaged(content, spots[index], value)))
            try:
                again = load(path)
            except ValueError as error:
                refused += 1
                assert "damaged.json" in str(error)
            else:
                # What is accepted can be shown.
                assert isinstance(repr(again), str)
    assert refused > 40
    path.write_text('{"kind_of_file": "princdiff comparison", "format": 2, "notes": ' + "[" * 100_000)
    with pytest.raises(ValueError, match="not a saved"):
        load(path)
    content["parameters"]["features"] = deep[0]
    with pytest.raises((ValueError, RecursionError)):
        from_plain(type(result), to_plain(content), "result")


def test_the_place_of_the_damage_is_named(result, tmp_path):
    content = damaged(result.to_dict(), ("reference", "components", 0), {"u": 3})
    (tmp_path / "x.json").write_text(json.dumps(content))
    with pytest.raises(ValueError, match=r"result\.reference\.components\[0\]\['u'\]"):
        load(tmp_path / "x.json")


@pytest.mark.parametrize("groups", [{}, {"u": 30}])
def test_a_comparison_has_two_groups(result, tmp_path, groups):
    (tmp_path / "x.json").write_text(json.dumps({**result.to_dict(), "groups": groups}))
    with pytest.raises(ValueError, match=r"x\.json is damaged: result\.groups names . groups"):
        load(tmp_path / "x.json")


@pytest.mark.parametrize(
    ("place", "value", "told"),
    [
        (("contrasts", 0, "name"), "best", r"contrasts\[0\]\.name should be one of"),
        (("reference", "components", 0, "u", "quantiles", 3), None, "quantiles holds something else"),
        (("distributions", "a", "edges", 0), "-Infinity", "edges holds something else"),
    ],
)
def test_what_no_picture_could_show_is_refused(result, place, value, told):
    with pytest.raises(ValueError, match=told):
        result_from(damaged(result.to_dict(), place, value))


def test_infinities_and_gaps():
    assert to_plain([np.inf, -np.inf, np.nan, np.float32(0.5)]) == ["Infinity", "-Infinity", None, 0.5]


@pytest.mark.parametrize("table, column", [("columns", "kind"), ("table", "weight"), ("components", "scale")])
def test_a_table_that_lost_a_column_is_refused(result, tmp_path, table, column):
    content = result.to_dict()
    names = content[table]["columns"]
    names[names.index(column)] = "else"
    (tmp_path / "damaged.json").write_text(json.dumps(content))
    with pytest.raises(ValueError, match=rf"damaged: result\.{table} lacks the column '{column}'"):
        load(tmp_path / "damaged.json")


def without(content, table, place):
    frame = dict(content[table])
    for part in ("columns", "kinds", "data"):
        frame[part] = [*frame[part][:place], *frame[part][place + 1 :]]
    return {**content, table: frame}


@pytest.mark.parametrize("table", ["columns", "table", "components", "relations"])
def test_a_table_without_a_column_is_shown_or_refused(result, table):
    content = result.to_dict()
    shown = 0
    for place, name in enumerate(content[table]["columns"]):
        try:
            older = result_from(without(content, table, place))
        except ValueError as error:
            assert f"result.{table} lacks the column {name!r}" in str(error)
            continue
        shown += 1
        assert str(older).startswith("The groups")
        assert len(older.plot_columns().patches) == 1
        assert page_data(older)["columns"]["name"] == ["a", "b"]
    assert shown


@pytest.mark.parametrize("name", ["changes", "contrasts", "witness", "rows", "decision"])
def test_a_file_from_before_a_part_was_kept_is_shown(result, name):
    content = result.to_dict()
    del content[name]
    assert str(result_from(content)).startswith("The groups")


@pytest.mark.parametrize(
    ("place", "told"),
    [
        (("path", "grid"), r"result\.path: these should be equally long: grid"),
        (("test", "cell_pvalues"), r"result\.test: these should be equally long: cells"),
        (("reference", "levels"), r"result\.reference: these should be equally long: levels"),
        (("parameters", "missing"), r"result\.parameters\.missing should be one of"),
        (("parameters", "versions"), r"result\.parameters\.versions should be a group"),
    ],
)
def test_parts_that_do_not_fit_are_refused(result, place, told):
    content = json.loads(json.dumps(to_plain(result.to_dict())))
    part = content[place[0]]
    found = part[place[1]]
    part[place[1]] = (
        [*found, found[0]]
        if isinstance(found, list) and found
        else "zzz"
        if not isinstance(found, list)
        else [1.0]
    )
    with pytest.raises(ValueError, match=told):
        result_from(content)
