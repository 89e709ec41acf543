"""Results of several groups two at a time: words, pictures, pages and files."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from princdiff import GroupsResult, compare_groups, load
from princdiff.group_pairs import _table
from princdiff.show.group_pages import groups_html

pytestmark = pytest.mark.whole

OPTIONS = {"n_permutations": 59, "n_features": 1}
NASTY = "</script><b>&\u202e$x$"


@pytest.fixture(scope="module")
def table():
    """Sites a and b alike, c shifted in weight."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(120, 3)), columns=["age", "height", "weight"])
    frame["site"] = np.repeat(["a", "b", "c"], 40)
    frame.loc[frame["site"] == "c", "weight"] += 2.0
    return frame


@pytest.fixture(scope="module")
def pairs(table):
    return compare_groups(table, groups="site", **OPTIONS)


@pytest.fixture(scope="module")
def rest(table):
    return compare_groups(table.replace({"site": {"c": NASTY}}), groups="site", against="rest", **OPTIONS)


def test_it_is_said_in_a_line_and_in_a_sentence(pairs, rest):
    assert repr(pairs) == "<GroupsResult 3 comparisons of 3 groups: 2 differ>"
    assert pairs.headline == (
        "2 of 3 pairs of groups differ (p-values adjusted for the number of comparisons, Holm); "
        "no difference could be shown for a and b."
    )
    assert str(pairs).startswith(pairs.headline) and "weight" in str(pairs)
    assert rest.against_rest and not pairs.against_rest
    assert rest.groups == [NASTY, "a", "b"]
    assert "from the rest" in rest.headline


def test_columns_by_comparisons(pairs):
    effects = pairs.columns_frame()
    assert effects.index[0] == "weight"
    assert list(effects.columns) == ["a and b", "a and c", "b and c"]
    for (group, other), result in pairs.results.items():
        own = result.columns.set_index("column")["effect"]
        pd.testing.assert_series_equal(
            effects[f"{group} and {other}"].sort_index(), own.sort_index(), check_names=False
        )
    assert pairs.columns_frame("selected").loc["weight"].tolist() == [False, True, True]
    with pytest.raises(ValueError, match="column must be"):
        pairs.columns_frame("nothing")


def test_nothing_is_named_where_groups_do_not_differ_after_adjustment(pairs):
    doubtful = {pair: replace(result, pvalue=0.03) for pair, result in pairs.results.items()}
    assert doubtful["a", "c"].selected == ["weight"]
    found = GroupsResult(_table(doubtful, "holm"), doubtful, "holm")
    assert found.table["adjusted"].tolist() == pytest.approx([0.09] * 3)
    assert found.table["features"].tolist() == ["", "", ""]
    assert not found.to_frame()["selected"].any()
    assert not found.columns_frame("selected").to_numpy().any()
    assert ">weight<" in groups_html(pairs) and ">weight<" not in groups_html(found)
    unadjusted = GroupsResult(_table(doubtful, "none"), doubtful, "none")
    assert unadjusted.table["features"].tolist() == ["", "weight", "weight"]
    assert unadjusted.columns_frame("selected").loc["weight"].tolist() == [False, True, True]


def test_names_are_adjusted_over_the_comparisons(pairs):
    """A column at .03 within its comparison is .09 among three, or .045 if two of the three are reported."""

    def with_pvalue(result):
        table, columns = result.table.copy(), result.columns.copy()
        table.loc[table["feature"] == "weight", "pvalue"] = 0.03
        columns.loc[columns["column"] == "weight", "pvalue"] = 0.03
        return replace(result, table=table, columns=columns)

    weaker = {pair: with_pvalue(result) for pair, result in pairs.results.items()}
    for adjustment, named in (("holm", False), ("benjamini-hochberg", True), ("none", True)):
        found = GroupsResult(_table(weaker, adjustment), weaker, adjustment)
        assert found.table["features"].tolist() == (["", "weight", "weight"] if named else [""] * 3)
        assert found.columns_frame("selected").loc["weight"].tolist() == [False, named, named]
        frame = found.to_frame()
        assert frame["selected"].any() == named
        assert (frame.loc[frame["selected"], "pvalue_adj"] <= 0.05).all()


def test_a_saved_file_is_read_back_exactly(pairs, tmp_path):
    path = pairs.save(tmp_path / "groups.json")
    read = GroupsResult.load(path)
    assert read == pairs and read.results["a", "c"].pvalue == 1 / 60
    pd.testing.assert_frame_equal(read.table, pairs.table)
    assert read != compare_nothing(pairs)
    with pytest.raises(ValueError, match=r"GroupsResult\.load"):
        load(path)
    single = pairs.results["a", "c"].save(tmp_path / "single.json")
    with pytest.raises(ValueError, match="is not a saved princdiff comparison of groups"):
        GroupsResult.load(single)


def compare_nothing(pairs):
    return GroupsResult(pairs.table, pairs.results, "none")


@pytest.mark.parametrize(
    ("harm", "message"),
    [
        (lambda content: content.update(format=99), "has format 99"),
        (lambda content: content.pop("table"), "damaged"),
        (lambda content: content["results"].pop(), "not those of the table"),
        (lambda content: content["results"][0].pop("pair"), "damaged"),
        (lambda content: content["results"][1].pop("pvalue"), "damaged: result.pvalue is missing"),
        (lambda content: content.update(results=3), "should be a list"),
    ],
)
def test_damaged_files_are_refused(pairs, tmp_path, harm, message):
    content = json.loads(pairs.save(tmp_path / "groups.json").read_text())
    harm(content)
    (tmp_path / "harmed.json").write_text(json.dumps(content))
    with pytest.raises(ValueError, match=message):
        GroupsResult.load(tmp_path / "harmed.json")


def test_what_is_no_file_of_ours(tmp_path):
    with pytest.raises(ValueError, match=r"is a folder; a saved .*comparison of groups is one file"):
        GroupsResult.load(tmp_path)
    with pytest.raises(FileNotFoundError, match="no such file"):
        GroupsResult.load(tmp_path / "none.json")
    (tmp_path / "text.json").write_text("text")
    with pytest.raises(ValueError, match="is not a saved"):
        GroupsResult.load(tmp_path / "text.json")


def test_pictures_show_the_numbers(pairs, rest):
    ax = pairs.plot_matrix()
    shown = [text.get_text() for text in ax.texts]
    matrix = pairs.matrix("effect")
    assert len(shown) == 6 and f"{matrix.loc['a', 'c']:.2g}*" in shown
    assert sum(text.endswith("*") for text in shown) == 4
    ax = pairs.plot_matrix("adjusted")
    assert f"{pairs.matrix().loc['a', 'b']:.2g}" in [text.get_text() for text in ax.texts]
    ax = pairs.plot_columns(top=2)
    assert len(ax.get_yticks()) == 2 and ax.get_yticklabels()[0].get_text() == "weight"
    assert rest.plot_columns() is not None and rest.plot_matrix() is not None
    plt.gcf().canvas.draw()
    plt.close("all")


class _Page(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.open, self.ids, self.links, self.tags = [], [], [], set()
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        known = dict(attributes)
        self.tags.add(tag)
        self.ids += [known["id"]] if "id" in known and "svg" not in self.open else []
        self.links += [known["href"]] if tag == "a" else []
        if tag not in ("meta", "br", "use", "path", "img", "line", "circle", "rect"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag in ("use", "path", "line", "circle", "rect"):
            return
        assert self.open.pop() == tag


def test_the_page_has_every_comparison_and_links_to_it(pairs, rest, tmp_path):
    for result in (pairs, rest):
        text = result.to_html(tmp_path / "page.html").read_text()
        page = _Page(text)
        assert page.open == [] and "script" not in page.tags
        assert {link.removeprefix("#") for link in page.links} <= set(page.ids)
        assert sum(name.startswith("comparison-") for name in page.ids) == len(result.table)
        assert result.headline.split("(")[0].strip() in re.sub(r"\s+", " ", text.replace("\u00a0", " "))
        assert "<b>&\u202e" not in text
        assert len(text) < 400_000


def test_a_notebook_shows_the_comparisons(pairs, rest):
    text = pairs._repr_html_()
    assert pairs.headline in text and "a against c" in text and "<style" not in text
    assert NASTY not in rest._repr_html_() and "against the rest" in rest._repr_html_()
    assert _Page(text).open == []


def test_without_a_test(table):
    result = compare_groups(table, groups="site", **{**OPTIONS, "n_permutations": 0})
    assert result.headline == "3 comparisons were made and none was tested."
    assert "not tested" in result._repr_html_()
