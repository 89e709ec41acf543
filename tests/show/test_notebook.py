"""A result inside a notebook: what it says, and that it is safe, small and the same in every run."""

import dataclasses
import re
from html.parser import HTMLParser

import matplotlib.pyplot as plt
import numpy as np
import pytest
from made_up import NAMES, NASTY, made_up, mixed

from princdiff.result.parts import SelectionPart, TestPart
from princdiff.show.notebook import result_html
from princdiff.words.wording import details, headline


class _Elements(HTMLParser):
    """Elements and text; complains about what is closed out of turn."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data.strip())


def test_the_answer_comes_first_then_columns_and_the_direction():
    result = mixed()
    page = _Elements(result_html(result))
    shown = [text for text in page.texts if text]
    assert shown[:2] == [headline(result), details(result)]
    shown = shown[1:]
    assert shown[1:7] == ["column", "kind", "what changed", "size", "adjusted p", "differs"]
    assert shown[7:13] == [
        "plan",
        "proportion",
        "free 40 % → 20 %, gold 2 % → 10 %",
        "0.90 sd",
        "0.01",
        "alone",
    ]
    # Columns that were not selected are left out; those that differ together are told so.
    assert "visits" not in shown
    assert shown.count("together") == 2
    tags = [tag for tag, _ in page.elements]
    assert tags.count("svg") == tags.count("table") == 1
    assert {"before", "after"} <= set(shown)
    assert result._repr_html_() == result_html(result)


def test_lengths_of_bars_are_sizes():
    result = mixed()
    widths = [float(width) for width in re.findall(r"width:([\d.]+)em;height", result_html(result))]
    assert widths == pytest.approx(4 * np.array([0.9, 0.6, 0.4, 0.5, 0, 0]) / 0.9, abs=0.01)


def test_it_stands_on_any_ground_without_style_sheets():
    for tag, attributes in _Elements(result_html(mixed())).elements:
        assert tag not in ("script", "style", "link", "img", "iframe")
        assert "class" not in attributes
        assert not any(name.startswith("on") for name in attributes)
    drawn = result_html(mixed())
    assert "currentColor" in drawn
    # Neither black text nor a white ground, which would vanish or glare in the dark.
    assert not re.search(r"fill: ?#(000000|ffffff)|[^-]color: ?#000", drawn)


def test_names_are_only_text():
    text = result_html(made_up(names=NAMES, groups=(NASTY, r"$\frac$")))
    page = _Elements(text)
    assert not {"script", "img"} & {tag for tag, _ in page.elements}
    assert any(NASTY in part for part in page.texts)


def test_it_is_small_the_same_again_and_leaves_no_figure_open():
    before = plt.get_fignums()
    text = result_html(mixed())
    assert text == result_html(mixed())
    assert len(text) < 60_000
    assert plt.get_fignums() == before


def test_pictures_of_one_notebook_do_not_share_names():
    def names(result) -> set[str]:
        return set(re.findall(r' id="([^"]+)"', result_html(result)))

    assert names(mixed())
    assert not names(mixed()) & names(made_up())


def test_what_was_not_done_is_said():
    result = made_up()
    result = dataclasses.replace(
        result,
        pvalue=float("nan"),
        test=TestPart(),
        selection=SelectionPart(),
        columns=result.columns.assign(selected=False, pvalue=np.nan),
        directions=result.directions * 0,
        table=result.table.assign(weight=0.0),
        notes=[],
    )
    page = _Elements(result_html(result))
    shown = [text for text in page.texts if text]
    assert "No test was made." in " ".join(shown)
    assert "The largest differences, which may well be chance." in shown
    assert not {"adjusted p", "differs"} & set(shown)
    assert "svg" not in [tag for tag, _ in page.elements]
    assert "result.notes" not in " ".join(shown)


def test_many_columns_are_counted():
    names = [f"column {j}" for j in range(30)]
    result = made_up(names=names)
    columns = result.columns.assign(selected=True, differs="alone", reason="alone")
    text = result_html(dataclasses.replace(result, columns=columns))
    assert "… and 20 more that differ<" in text


@pytest.mark.parametrize(
    ("n_alone", "further"),
    [
        (27, "… and 17 more that differ, and 3 that differ together with others"),
        (10, "… and 20 more that differ together with others"),
        (4, "… and 20 more that differ together with others"),
    ],
)
def test_columns_beyond_the_table_are_counted_as_in_the_headline(n_alone, further):
    result = made_up(names=[f"column {j}" for j in range(30)])
    reasons = ["alone"] * n_alone + ["together"] * (30 - n_alone)
    result = dataclasses.replace(result, columns=result.columns.assign(selected=True, differs=reasons))
    assert f"{further}<" in result_html(result)
    assert further in " ".join(result.summary().split())
    assert f"in {n_alone} of 30 columns" in result.headline
