"""The HTML report as text: what it says, that it is well formed, safe and small, and how it is written."""

import builtins
import dataclasses
import importlib
import json
import os
import re
import sys
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from made_up import NAMES, NASTY, made_up, mixed

import princdiff
from princdiff.result.parts import CertificatePart, PathPart, TestPart
from princdiff.tables import Coding
from princdiff.words.wording import headline, opening

vl_convert = pytest.importorskip("vl_convert", reason="the extra 'report' is not installed")

from princdiff.show import charts, figures, page, vega  # noqa: E402
from princdiff.show.page_data import leading, page_data  # noqa: E402

pytestmark = pytest.mark.whole


class _Structure(HTMLParser):
    """Elements in order; complains about what is closed out of turn."""

    EMPTY = ("meta", "input", "br", "img", "link", "hr")

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.scripts: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in self.EMPTY:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "script":
            self.scripts.append(data)
        elif self.open and self.open[-1] != "style":
            self.texts.append(data)


@pytest.fixture(scope="module")
def text() -> str:
    from princdiff.show.page import render

    return render(made_up())


def test_the_page_is_well_formed_and_opens_with_the_answer(text):
    structure = _Structure(text)
    tags = [tag for tag, _ in structure.elements]
    assert text.startswith("<!doctype html>")
    assert [tags.count(tag) for tag in ("html", "head", "title", "body", "h1", "main")] == [1] * 6
    ids = [attributes["id"] for _, attributes in structure.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    for _, attributes in structure.elements:
        assert attributes.get("aria-labelledby", ids[0]) in ids
    shown = " ".join(" ".join(structure.texts).split())
    answer = " ".join(headline(made_up()).split())
    assert answer in shown
    for part in (
        "Could it be chance?",
        "at most 5 % more (proved)",
        "a note about <b>this</b>",
        "id <i>",
        "3.75 s",
    ):
        assert shown.index(answer) < shown.index(part)


def test_the_page_loads_nothing_and_allows_only_its_own_scripts(text):
    structure = _Structure(text)
    for tag, attributes in structure.elements:
        assert tag not in ("link", "img", "iframe", "base")
        assert "src" not in attributes
        assert attributes.get("href", "#").startswith("#")
        assert not any(name.startswith("on") for name in attributes)
    policy = next(a["content"] for t, a in structure.elements if t == "meta" and "http-equiv" in a)
    assert "default-src 'none'" in policy
    assert policy.count("'sha256-") == 2
    assert "eval" not in policy


def test_the_data_are_json_and_hold_no_rows(text):
    data = json.loads(_Structure(text).scripts[0])
    assert data["columns"]["name"][0] == "measurement number 0"
    assert data["groups"] == ["before", "after"]
    assert set(data["charts"]) == {"projection-0", "null", "path"}
    assert set(data["histograms"]) == {str(row) for row in range(12)}


def test_features_stand_below_their_columns():
    result = mixed()
    # Features come by their share, columns by what differs: the page brings them together.
    shuffled = result.table.sample(frac=1.0, random_state=3).reset_index(drop=True)
    columns = result.columns.iloc[::-1].reset_index(drop=True)
    data = page_data(dataclasses.replace(result, table=shuffled, columns=columns))
    names = [data["columns"]["name"][place] for place in range(7)]
    assert names == ["weight", "height", "visits", "age", "active", "income", "plan"]
    assert data["columns"]["width"] == [1, 1, 1, 2, 1, 1, 5]
    features = data["features"]
    assert features["name"][3:5] == [None, "age (missing)"]
    assert features["level"][3:] == ["", "missing", "yes", "", "basic", "free", "gold", "pro", "team"]
    assert features["mean"][1][4] == pytest.approx(0.25)
    free = result.table.set_index("feature").loc["plan = free"]
    assert features["weight"][0][8] == pytest.approx(free["weight"], rel=1e-3)
    assert set(features["own"]) == {"3", "4", "7", "8", "9", "10", "11"}
    assert features["own"]["8"]["change"] == "40\u00a0% →\u00a020\u00a0%"
    assert features["own"]["4"]["change"] == "3\u00a0% →\u00a025\u00a0%"
    # Proportions need no histogram.
    assert set(data["histograms"]) == {"0", "1", "2", "3", "6"}
    assert data["histograms"]["2"]["values"] == [0, 1, 2, 3, 6]


def test_ordered_categories_keep_the_names_of_their_levels():
    result = mixed()
    codings = [Coding("visits", type="ordered", levels=("none", "few", "many")), *result.codings]
    codings = [coding for coding in codings if (coding.column, coding.type) != ("visits", "number")]
    data = page_data(dataclasses.replace(result, codings=codings))
    assert data["columns"]["levels"] == {"4": ["none", "few", "many"]}


def test_the_first_pictures_show_what_the_headline_names():
    assert leading(mixed()) == {"columns": [0, 1, 2, 3], "pairs": [0], "why": "alone"}
    result = mixed()
    together = result.columns.assign(differs="together", reason="together with others")
    pairs_only = dataclasses.replace(result, columns=together)
    assert leading(pairs_only) == {"columns": [], "pairs": [0], "why": "together"}
    unnamed = dataclasses.replace(pairs_only, relations=result.relations.assign(selected=False))
    assert leading(unnamed)["why"] == "largest"
    # The largest effects: plan, income, age, active.
    assert leading(unnamed)["columns"] == [0, 1, 3, 2]
    # Where no difference was shown, nothing is said to differ.
    assert leading(dataclasses.replace(result, pvalue=0.4))["why"] == "largest"
    assert leading(dataclasses.replace(pairs_only, pvalue=0.4))["why"] == "largest"


def test_differences_are_told_with_their_intervals():
    result = mixed()
    assert set(page_data(result)["columns"]["interval"]) == {""}
    measures = ["mean", "proportion of plan = gold", "", *[""] * (len(result.columns) - 3)]
    columns = result.columns.assign(
        measure=measures, difference=0.25, difference_low=-0.5, difference_high=np.inf
    )
    intervals = page_data(dataclasses.replace(result, columns=columns))["columns"]["interval"]
    plain = [text.replace("\u00a0", " ").replace("\u2212", "-") for text in intervals]
    assert plain[0] == "mean +0.25 (-0.5 to any more)"
    assert plain[1].startswith("gold: +25 points (-50 to") and plain[2] == ""


def test_the_headline_counts_all_pairs_and_mentions_one_that_can_be_seen():
    result = mixed()
    small = result.relations.assign(change=[0.05, 0.3], pvalue=0.01, selected=True)
    told = opening(dataclasses.replace(result, relations=small))
    assert "The correlation of income and plan = gold (" in told
    assert "also changes, as does one more pair." in told
    hidden = result.relations.assign(change=[0.05, 0.03], pvalue=0.01, selected=True)
    assert "correlation" not in opening(dataclasses.replace(result, relations=hidden))


def test_pairs_are_told_with_their_correlations():
    structure = _Structure(page.render(mixed()))
    shown = " ".join(" ".join(structure.texts).split())
    assert "Pairs that are related differently" in shown
    assert "height and weight" in shown
    assert "0.80" in shown
    assert "\u22120.30" in shown
    assert "plan = gold" not in shown
    # On a line of 200 from -1 to 1, with a margin of 8.
    places = [float(a["cx"]) for tag, a in structure.elements if tag == "circle"]
    assert places == pytest.approx([100 + 92 * 0.8, 100 - 92 * 0.3])
    assert "Pairs that are related differently" not in page.render(made_up())


def test_scales_hold_the_report_beside():
    one, other = mixed(), dataclasses.replace(mixed(), columns=mixed().columns.assign(effect=9.0))
    assert page_data(one)["scales"] == {"effect": 0.9, "features": {}}
    scales = page_data(one, other)["scales"]
    assert scales == page_data(other, one)["scales"] and scales["effect"] == 13.5
    place = page_data(one)["columns"]["name"].index("plan")
    first = sum(page_data(one)["columns"]["width"][:place])
    means = one.table.loc[one.table["column"] == "plan", [f"mean {group}" for group in one.groups]]
    levels = [scales["features"][str(first + level)]["top"] for level in range(5)]
    assert sorted(levels) == sorted(means.max(axis=1).round(4).tolist())
    shown = " ".join(_Structure(page.render(one, other)).texts)
    assert "hold this report and that of before, after" in shown


def test_columns_that_follow_are_counted_apart():
    result = mixed()
    alone = result.columns[result.columns["differs"] == "alone"]
    explanation = dataclasses.replace(result.explanation, follows={alone["column"].iloc[-1]: ["height"]})
    result = dataclasses.replace(result, columns=alone, explanation=explanation)
    assert "in 3 of 4 columns" in result.headline
    figure = page._columns_figure(result)
    assert (figure["value"], figure["help"]) == ("4 of 4", "1 of them follows from others")


def test_counts_agree():
    shown = " ".join(" ".join(_Structure(page.render(mixed())).texts).split())
    assert "in 4 of 7 columns, most in " in shown
    assert "columns that differ on their own 4 of 7 2 more differ only together with others" in shown
    assert "pairs related differently 1 " in shown
    assert "may use 2 (dashed line); 12 of them got a weight" in shown


def test_one_cell_is_marked_as_leading():
    rng = np.random.default_rng(0)
    before, after = rng.normal(size=(60, 3)), rng.normal([0, 0, 2], 1, size=(60, 3))
    result = princdiff.compare(before, after, n_permutations=99)
    assert len(set(result.test.cells)) == len(result.test.cells)
    assert result.test.leading_cell.startswith("one column alone, by ")
    assert page.render(result).count("<b>(led)</b>") == 1
    # Files of before name several cells alike.
    repeated = dataclasses.replace(
        result.test,
        cells=["one column alone"] * 2,
        cell_pvalues=np.array([0.89, 0.01]),
        leading_cell="one column alone",
    )
    shown = page.render(dataclasses.replace(result, test=repeated))
    assert shown.count("<b>(led)</b>") == 1
    assert '<b>(led)</b></td><td class="n">0.01' in shown


def test_the_cells_of_the_test_are_told_in_words(text):
    shown = " ".join(" ".join(_Structure(text).texts).split())
    assert "statistic its own p-value single features, W2 (led) 0.01 up to 5 features 0.02" in shown


def test_every_chart_compiles(text):
    data = json.loads(_Structure(text).scripts[0])
    data["charts"]["splits"] = charts.splits(np.array([0.1, 0.5]))
    for spec in data["charts"].values():
        assert vl_convert.vegalite_to_vega(spec)["marks"]


@pytest.mark.parametrize("count", [2, 6])
def test_every_picture_compiles(count):
    entry = {"group": 0, "share": 0.3, "text": "30 %", "name": "a", "low": 0.1, "high": 0.5}
    datasets = {
        "steps": [{"x": 0, "y": 1, "group": 0}],
        "bins": [{"x": 0, "x2": 1, "g0": "1 %"}],
        "moments": [{"group": 0, "mean": 0.5, "low": 0.1, "high": 0.7, "at": 6}],
        "bars": [{**entry, "place": 0, "level": "yes", "value": "1"}],
        "outlines": [{"x": 0, "y": 1, "group": 0, "place": 0}],
    }
    for spec in charts.pictures([f"group {j}" for j in range(count)]).values():
        assert vl_convert.vegalite_to_vega({**spec, "datasets": datasets})["marks"]


def test_nasty_names_are_only_text():
    result = made_up(names=NAMES, groups=(NASTY, "</script>", "plain"))
    structure = _Structure(page.render(result))
    tags = [tag for tag, _ in structure.elements]
    assert tags.count("script") == 3
    assert "img" not in tags
    assert "<!--" not in structure.scripts[0]
    data = json.loads(structure.scripts[0])
    assert data["groups"] == [NASTY, "</script>", "plain"]
    assert data["columns"]["name"][:6] == NAMES[:6]
    assert "\u202e" not in data["columns"]["name"][6]
    assert "49" not in data["columns"]["name"][10]
    assert any(NASTY in part for part in structure.texts)


def test_text_that_cannot_be_encoded_does_not_stop_the_report(tmp_path):
    dataclasses.replace(made_up(), notes=["half \ud800 pair"]).to_html(tmp_path / "report.html")
    assert "half \ufffd pair" in (tmp_path / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("groups", [("a", "b"), tuple("abcdefg")])
def test_ten_thousand_features_stay_below_three_megabytes(tmp_path, groups):
    target = made_up(10_000, groups=groups).to_html(tmp_path / "report.html")
    assert target.stat().st_size <= 3_000_000


def test_what_was_not_done_is_said():
    result = dataclasses.replace(
        made_up(),
        pvalue=float("nan"),
        statistic=float("nan"),
        test=TestPart(),
        path=PathPart(),
        upper_bounds=np.array([np.nan]),
        certificate=CertificatePart(how="No bound was computed."),
        distributions={},
        notes=[],
    )
    result.columns["pvalue"] = np.nan
    structure = _Structure(page.render(result))
    shown = " ".join(structure.texts)
    assert "No test was made." in shown
    assert "may well be chance" in shown
    assert "What changed most" not in shown
    assert "No bound was computed." in shown
    assert "Notes and warnings" not in shown
    data = json.loads(structure.scripts[0])
    assert set(data["charts"]) == {"projection-0"}
    assert data["histograms"] == {}
    assert data["columns"]["pvalue"][0] is None


def test_a_split_test_shows_its_pvalues():
    test = TestPart(
        name="split", split_pvalues=np.array([0.01, 0.2, 0.03]), rule="twice the median of 3 splits"
    )
    structure = _Structure(page.render(dataclasses.replace(made_up(), test=test)))
    assert "splits" in json.loads(structure.scripts[0])["charts"]
    assert "twice the median of 3 splits" in " ".join(structure.texts)


def test_a_real_comparison_also_after_loading(tmp_path):
    rng = np.random.default_rng(0)
    before = pd.DataFrame(rng.normal(size=(40, 3)), columns=["age", "height", "weight"])
    result = princdiff.compare(before, before.assign(weight=before["weight"] + 1.5), n_permutations=19)
    first = result.to_html(tmp_path / "first.html")
    assert first == tmp_path / "first.html"
    again = princdiff.load(result.save(tmp_path / "saved.json")).to_html(tmp_path / "again.html")
    assert first.read_bytes() == again.read_bytes()


@pytest.mark.parametrize("shift", [0.0, 30.0])
def test_the_densities_are_densities(shift):
    rng = np.random.default_rng(1)
    quantiles = [np.sort(rng.normal(0, 1, 500)), np.sort(rng.normal(shift, 2, 500))]
    spec = charts.projection(quantiles, [500, 500], ["a", "b"])
    for group in (0, 1):
        curve = [(v["x"], v["y"]) for v in spec["datasets"]["curves"] if v["group"] == group]
        assert np.trapezoid(*np.array(curve).T[::-1]) == pytest.approx(1, abs=0.03)


def test_values_that_most_rows_have_are_narrow_peaks_in_every_group():
    # 5 % and 9 % of the rows at 3, the others at 0: the peaks differ as the shares do, not by their width.
    quantiles = [np.repeat([0.0, 3.0], [475, 25]), np.repeat([0.0, 3.0], [455, 45])]
    values = charts.projection(quantiles, [30_000, 30_000], ["a", "b"])["datasets"]["curves"]
    highest = [max(value["y"] for value in values if value["group"] == group) for group in (0, 1)]
    assert highest[1] / highest[0] == pytest.approx(0.91 / 0.95, rel=0.02)


def test_far_outliers_do_not_flatten_the_picture():
    points = np.append(np.linspace(-1, 1, 499), 1e6)
    low, high = figures.visible_range([points, points], [50, 50])
    assert -2 < low < high < 2
    captions = page._projections(made_up(), ["before", "after"])
    assert captions[0]["cut"] == ""


def test_groups_without_spread_are_drawn():
    spec = charts.projection([np.zeros(500), np.zeros(500)], [5, 5], ["a", "b"])
    assert all(np.isfinite(value["y"]) for value in spec["datasets"]["curves"])
    assert charts.null(np.zeros(9), 0.0)["layer"]


def test_relabellings_can_be_seen_however_far_the_observed_statistic_is():
    values = np.random.default_rng(0).normal(size=199)
    for observed in (0.5, 8.0, 1e4):
        spec = charts.null(values, observed)
        low, high = spec["layer"][0]["encoding"]["x"]["scale"]["domain"]
        assert np.ptp(values) > 0.35 * (high - low)
        assert low < values.min() < values.max() < high
        drawn = any(layer["mark"]["type"] == "rule" for layer in spec["layer"])
        assert drawn == (not figures.is_far(values, observed)) == (low < observed < high)


def test_labels_are_short_and_distinct():
    made = vega.labels(["x" * 300, "x" * 299, "y", "y"])
    assert len(set(made)) == 4
    assert max(map(len, made)) < 40


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        made_up().to_html(tmp_path / "nowhere" / "report.html")


def test_an_old_report_survives_a_failed_write(tmp_path, monkeypatch):
    target = tmp_path / "report.html"
    target.write_text("old")

    def fail(*args):
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="disk full"):
        made_up().to_html(target)
    assert target.read_text() == "old"
    assert os.listdir(tmp_path) == ["report.html"]


def test_the_missing_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    vega.library.cache_clear()
    with pytest.raises(ImportError, match=re.escape("pip install 'princdiff[report]'")):
        made_up().to_html(tmp_path / "report.html")
    assert os.listdir(tmp_path) == []


def test_the_package_imports_without_the_extra(monkeypatch):
    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name.startswith("vl_convert"):
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    for name in [name for name in sys.modules if name.startswith("princdiff.show")]:
        monkeypatch.delitem(sys.modules, name)
    importlib.import_module("princdiff.show.page")
