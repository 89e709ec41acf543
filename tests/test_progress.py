"""Progress can be seen on a terminal, in a notebook and in a log."""

from __future__ import annotations

import io
import logging
import sys
import types

import numpy as np
import pytest

from princdiff import permutation_test, progress
from princdiff.progress import progress_bar


class _Terminal(io.StringIO):
    def isatty(self):
        return True


def test_hidden_unless_asked_for(monkeypatch, caplog):
    screen = _Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    with caplog.at_level(logging.INFO):
        assert list(progress_bar("counting", range(3), shown=False)) == [0, 1, 2]
    assert screen.getvalue() == "" and not caplog.records


def test_a_bar_on_a_terminal(monkeypatch, caplog):
    screen = _Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    with caplog.at_level(logging.INFO):
        assert list(progress_bar("counting", range(3), shown=True)) == [0, 1, 2]
    assert "counting" in screen.getvalue() and not caplog.records


def test_lines_of_the_log_elsewhere(monkeypatch, caplog, capsys):
    monkeypatch.setattr(progress, "_SECONDS_BETWEEN_LINES", 0.0)
    with (
        caplog.at_level(logging.INFO, logger="princdiff"),
        progress_bar("counting", total=4, shown=True) as bar,
    ):
        bar.update(2)
    told = [record.getMessage() for record in caplog.records]
    assert told[0] == "counting: 0 of 4" and "counting: 2 of 4" in told
    assert capsys.readouterr() == ("", "")


def test_a_bar_in_a_notebook_though_its_output_is_no_terminal(monkeypatch, capsys):
    shell = types.SimpleNamespace(config={"IPKernelApp": {}})
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: shell))
    assert list(progress_bar("counting", range(3), shown=True)) == [0, 1, 2]
    assert "counting" in "".join(capsys.readouterr())


@pytest.mark.parametrize("words", ["permutations: 0 of"])
def test_a_test_reports_what_it_does(caplog, words):
    rows = np.random.default_rng(0).normal(size=(20, 2))
    with caplog.at_level(logging.INFO, logger="princdiff"):
        permutation_test(rows, np.repeat([0, 1], 10), n_permutations=19, progress=True, random_state=0)
    assert any(words in record.getMessage() for record in caplog.records)
