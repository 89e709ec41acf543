"""The standard output closed, or of an encoding that lacks our signs."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import one_line_error

import princdiff
from princdiff.cli import main

PATH = {"PYTHONPATH": str(Path(princdiff.__file__).parents[1])}
COMPARE = ["compare", "before.csv", "after.csv", "--n-permutations", "19"]


def test_closed_streams_are_no_errors(files):
    command = f"{sys.executable} -m princdiff {' '.join(COMPARE)} --quiet --fail-below 0.1 >&- 2>&-"
    done = subprocess.run(command, shell=True, env=os.environ | PATH, capture_output=True, text=True)
    assert done.returncode == 1 and not done.stderr


@pytest.mark.parametrize("closed", [["stdout"], ["stderr"], ["stdout", "stderr"]])
def test_streams_that_are_not_there_are_no_errors(files, closed, monkeypatch, capsys):
    # As Python itself leaves them where they are closed.
    for name in closed:
        monkeypatch.setattr(sys, name, None)
    assert main(COMPARE) == 0
    assert not capsys.readouterr().err


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_signs_that_an_encoding_lacks_are_spelled_out(files, encoding, monkeypatch):
    printed = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(printed, encoding=encoding))
    assert main([*COMPARE, "--quiet"]) == 0
    assert b" -> " in printed.getvalue() and b"\\u" not in printed.getvalue()


def test_a_checkpoint_does_not_take_the_place_of_an_input(files, capsys):
    before = Path("before.csv").read_bytes()
    assert main(["compare", "before.csv", "after.csv", "--checkpoint", "before.csv"]) == 2
    assert "--checkpoint: before.csv is the input too" in one_line_error(capsys)
    assert Path("before.csv").read_bytes() == before
