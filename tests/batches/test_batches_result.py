"""Results of batches as files, and what a damaged file may not do."""

from __future__ import annotations

import json

import pytest
from year_of_batches import compared_year

from princdiff import BatchesResult, load

pytestmark = pytest.mark.whole


@pytest.fixture
def watched():
    return compared_year()


def test_saved_and_loaded(watched, tmp_path):
    path = watched.save(tmp_path / "batches.json")
    loaded = BatchesResult.load(path)
    assert loaded == watched and str(loaded) == str(watched)
    assert loaded.results["2024-04"] == watched.results["2024-04"]
    assert loaded != BatchesResult(watched.frame, watched.results, "other", 3)
    with pytest.raises(ValueError, match=r"read it with BatchesResult\.load"):
        load(path)


def nothing_differs(frame):
    place = frame["columns"].index("differs")
    frame["data"][place] = [False] * len(frame["data"][place])


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda content: content.pop("frame"), "frame"),
        (lambda content: content.update(results=[]), "results should be"),
        (lambda content: content["results"].pop("2024-04"), "not those of the batches"),
        (lambda content: content["history"][0].update(lead=99), "other batches"),
        (lambda content: content["history"][0]["values"].pop(), "other batches"),
        (lambda content: nothing_differs(content["frame"]), "too small where result.min_effect is none"),
        (lambda content: content.update(format=99), "format 99"),
        (lambda content: content.update(kind_of_file="princdiff comparison"), "not a saved"),
    ],
)
def test_damaged_files(watched, tmp_path, damage, message):
    content = watched.to_dict()
    damage(content)
    path = tmp_path / "damaged.json"
    path.write_text(json.dumps(content))
    with pytest.raises(ValueError, match=message):
        BatchesResult.load(path)


def test_pictures(watched):
    ax = watched.plot_column("plan")
    assert ax.get_title(loc="left") == "plan" and "trial" in ax.get_ylabel()
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert {"differs", "no difference shown", "short batch"} <= set(labels)
    assert len(watched.plot().get_xticklabels()) == 5
    with pytest.raises(ValueError, match="differs in no batch"):
        watched.plot_column("age")


def test_page_and_notebook(watched, tmp_path):
    page = watched.to_html(tmp_path / "page.html").read_text()
    assert page.count("<svg role=") >= 3 and "<script" not in page
    # July is cut: the news are those of June.
    assert "The last whole batch: <bdi>2024-06</bdi>" in page and "<b>No longer</b>: <a" in page
    # Every link leads somewhere.
    links = {part.split('"')[0] for part in page.split('href="#')[1:]}
    anchors = {part.split('"')[0] for part in page.split('id="')[1:]}
    assert links and links <= anchors
    assert "<h2" not in watched._repr_html_() and "trial" in watched._repr_html_()


def test_names_are_only_shown(watched, tmp_path):
    import dataclasses

    nasty = '<img src=x onerror="alert(1)">'
    frame = watched.frame.assign(batch=[nasty, *watched.frame["batch"][1:]])
    history = [dataclasses.replace(one, column=nasty, measure=nasty) for one in watched.history]
    other = dataclasses.replace(watched, frame=frame, history=history, results={}, reference=nasty)
    page = other.to_html(tmp_path / "page.html").read_text()
    assert "<img" not in page and "<img" not in other._repr_html_()


def test_a_page_without_news_says_so(watched, tmp_path):
    import dataclasses

    frame = watched.frame.assign(differs=False, pvalue=0.5, adjusted=1.0)
    calm = dataclasses.replace(watched, frame=frame, history=[])
    page = calm.to_html(tmp_path / "calm.html").read_text()
    assert f"<p>No column could be shown to differ from {watched.reference}.</p>" in page
