"""A table from the standard input."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from command_line import one_line_error

from princdiff.cli import main


@pytest.mark.parametrize("arguments", [["-", "after.csv"], ["after.csv", "-"]])
def test_one_table_from_a_pipe(files, arguments):
    command = [sys.executable, "-m", "princdiff", "compare", *arguments, "--n-permutations", "99", "--quiet"]
    done = subprocess.run(command, input=Path("before.csv").read_bytes(), capture_output=True)
    assert done.returncode == 0, done.stderr
    assert b"stdin" in done.stdout and b"after" in done.stdout and b"differ (p = 0.01)" in done.stdout


def test_scoring_from_a_pipe(files, result):
    result.save("result.json")
    command = [sys.executable, "-m", "princdiff", "score", "result.json", "-", "--quiet"]
    done = subprocess.run(command, input=Path("before.csv").read_bytes(), capture_output=True)
    assert done.returncode == 0 and done.stdout.startswith(b"the standard input: 40 rows, closest to X")


def test_it_can_be_read_once_only(files, capsys):
    assert main(["compare", "-", "-"]) == 2
    assert "can be read once only" in one_line_error(capsys)
    assert main(["watch", "-", "-"]) == 2
    assert "can be read once only" in one_line_error(capsys)


def test_empty_standard_input(files):
    command = [sys.executable, "-m", "princdiff", "compare", "-", "after.csv"]
    done = subprocess.run(command, input=b"", capture_output=True, text=False)
    assert done.returncode == 2 and done.stderr == b"princdiff: stdin is empty\n"
