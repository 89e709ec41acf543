"""The harness: its tables are as it says, each method is asked once, and figures are those of the answers."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import cdist

from benchmarks.harness import Answer, __main__, by_pvalue, codes, methods, numbers
from benchmarks.harness.differences import CHANGED, FIRST, differences
from benchmarks.harness.runs import Runs, Said, ask

pytestmark = pytest.mark.whole

HERE, MISSING = methods.available()


@pytest.fixture(autouse=True)
def _no_other_tables(monkeypatch):
    monkeypatch.delenv("PRINCDIFF_DATA", raising=False)


def test_a_method_is_one_short_file():
    files = [path for path in Path(methods.__path__[0]).glob("*.py") if path.stem != "__init__"]
    assert {path.stem for path in files} == {*HERE, *MISSING}
    assert all(len(path.read_text().splitlines()) <= 40 for path in files)
    assert all(module.NAME and callable(module.answer) for module in HERE.values())
    assert {"princdiff", "scipy_holm", "boosted_trees"} <= set(HERE)
    assert next(iter(HERE)) == "princdiff"
    assert all(MISSING.values())


def test_a_difference_is_two_tables_with_the_columns_that_were_changed():
    for name, make in differences().items():
        first, second, truth = make(FIRST)
        assert list(first) == list(second)
        assert truth is None or truth <= set(first)
        assert (truth == frozenset()) == name.startswith("none")
        pd.testing.assert_frame_equal(second, make(FIRST)[1])
        assert not second.equals(make(FIRST + 1)[1])


def test_columns_said_to_be_changed_are_of_kinds_that_exist():
    assert set(CHANGED) <= {*differences(), "15 + 15 digits"}


@pytest.mark.parametrize("name", ["scipy_holm", "boosted_trees"])
def test_clear_differences_are_seen_by_methods_for_them(name):
    rng = np.random.default_rng(0)
    first = pd.DataFrame({"a": rng.normal(size=200), "b": rng.choice(["x", "y"], 200)})
    second = first.sample(frac=1, random_state=0).reset_index(drop=True)
    assert not HERE[name].answer(first, second, 0).differs
    moved = second.assign(a=second["a"] + 2)
    said = HERE[name].answer(first, moved, 0)
    assert said.differs
    assert said.columns == {"a"}


def test_tables_become_numbers_with_a_flag_for_each_level():
    first = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": ["x", "y", "x"]})
    second = pd.DataFrame({"a": [4.0, 5.0], "b": ["z", "x"]})
    X, Y = numbers(first, second)
    assert X.shape == (3, 4) and Y.shape == (2, 4)
    np.testing.assert_allclose(np.concatenate([X, Y]).std(axis=0), 1)
    # Rows of the same level and number are the nearest.
    assert cdist(X, Y).argmin() == 5
    rows, groups = codes(first, second)
    assert rows[:, 1].tolist() == [0, 1, 0, 2, 0]
    assert groups.tolist() == [0, 0, 0, 1, 1]


def test_an_answer_is_held_against_the_truth():
    table = pd.DataFrame({"a": [0.0], "b": [0.0], "c": [0.0]})
    made = (table, table, frozenset("ab"))
    said = ask(lambda *_: by_pvalue(0.03, frozenset("bc")), made, 0)
    assert (said.differs, said.pvalue, said.found, said.false) == (True, 0.03, 0.5, True)
    said = ask(lambda *_: Answer(False), made, 0)
    assert (said.differs, said.pvalue, said.found, said.false) == (False, None, None, None)
    said = ask(lambda *_: Answer(False, frozenset()), (table, table, frozenset()), 0)
    assert (said.found, said.false) == (None, False)
    said = ask(lambda *_: 1 / 0, made, 0)
    assert not said.differs
    assert said.error == "ZeroDivisionError: division by zero"


def test_each_method_is_asked_once_also_where_a_run_goes_on(tmp_path):
    asked = []

    def answer(first, second, seed):
        asked.append(seed)
        return by_pvalue(0.01)

    given = {"a": SimpleNamespace(answer=answer)}, {"kind": lambda seed: (None, None, None)}
    place = tmp_path / "said.json"
    Runs(place).run(*given, [1, 2])
    runs = Runs(place)
    runs.run(*given, [1, 2, 3])
    assert asked == [1, 2, 3]
    assert [said.pvalue for said in runs.of("a", "kind", [1, 3])] == [0.01, 0.01]


def _said(differs, *, false=None, found=None, seconds=1.0):
    return Said(differs, 0.5, found, false, seconds)


def test_shares_and_who_is_ahead_are_those_of_the_answers():
    cells = {
        ("princdiff", "shift"): [_said(True, found=1.0, false=False), _said(False, found=0.0, false=True)],
        ("other", "shift"): [_said(True), _said(True, seconds=3.0)],
        ("princdiff", "none"): [_said(False, false=False), _said(True, false=True)],
        ("other", "none"): [_said(True), _said(True)],
    }
    names = {"princdiff": "us", "other": "them"}
    assert __main__.whether(cells, "shift", list(names)) == ["shift", "0.50", "**1.00**"]
    assert __main__.whether(cells, "none", list(names)) == ["none", "0.50", "1.00"]
    assert __main__.what(cells["princdiff", "shift"]) == "0.50 (0.50)"
    assert __main__.what(cells["princdiff", "none"]) == "- (0.50)"
    assert __main__.what(cells["other", "shift"]) is None
    row = __main__.sure(cells, ["shift", "none"], "other", "them")
    assert row == ["them", "a p-value", "1.00", None, "1.50", "0"]
    (line,) = __main__.behind(cells, ["shift", "none"], names)
    assert line == "**Ahead of princdiff** (0.50) in shift: them 1.00."
    cells["other", "shift"] = cells["princdiff", "shift"]
    assert __main__.behind(cells, ["shift"], names) == [
        "No method sees more than princdiff by more than 0.05 in any row."
    ]


@pytest.mark.filterwarnings("ignore")
def test_one_command_writes_the_section(tmp_path, capsys):
    words = ["--methods", "princdiff", "scipy_holm", "--differences", "none, 60", "spread of one"]
    __main__.main(["--quick", "--out", str(tmp_path), *words])
    text = (tmp_path / "harness.md").read_text()
    assert len(re.findall(r"^\|---", text, flags=re.MULTILINE)) == 3
    assert "| spread of one of 60 |" in text and "| none, 60 numbers |" in text
    assert "quick run; princdiff" in text
    # Errors are the last column of the last table.
    assert re.search(r"^\| princdiff \| a p-value \|.*\| 0 \|$", text, flags=re.MULTILINE)
    silent = {("a", "shift"): [Said(False, None, None, None, 0.0, "ValueError: no")]}
    assert __main__.whether(silent, "shift", ["a"]) == ["shift", "-"]
    assert "Left out of this run: boosted trees (scikit-learn)" in text
    assert text.split("\n\n")[1] in capsys.readouterr().out
    __main__.main(["--seeds", "1", "--out", str(tmp_path), "--methods", "scipy_holm", *words[3:]])
    assert "shortened run; princdiff" in (tmp_path / "harness.md").read_text()
