"""The standard output closed, or of an encoding that lacks our signs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import one_line_error

import princdiff
from princdiff.cli import main

PATH = {"PYTHONPATH": str(Path(princdiff.__file__).parents[1])}
COMPARE = f"{sys.executable} -m princdiff compare before.csv after.csv --n-permutations 19"


@pytest.mark.parametrize(
    ("closed", "code"), [(">&-", 0), (">&- 2>&-", 0), ("--quiet --fail-below 0.1 >&- 2>&-", 1)]
)
def test_closed_streams_are_no_errors(files, closed, code):
    done = subprocess.run(
        f"{COMPARE} {closed}", shell=True, env=os.environ | PATH, capture_output=True, text=True
    )
    assert done.returncode == code and not done.stderr


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_signs_that_an_encoding_lacks_are_spelled_out(files, encoding):
    surroundings = os.environ | PATH | {"PYTHONIOENCODING": encoding}
    done = subprocess.run(f"{COMPARE} --quiet", shell=True, env=surroundings, capture_output=True)
    assert b" -> " in done.stdout and b"\\u" not in done.stdout


def test_a_checkpoint_does_not_take_the_place_of_an_input(files, capsys):
    before = Path("before.csv").read_bytes()
    assert main(["compare", "before.csv", "after.csv", "--checkpoint", "before.csv"]) == 2
    assert "--checkpoint: before.csv is the input too" in one_line_error(capsys)
    assert Path("before.csv").read_bytes() == before
