"""A table from the standard input."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import one_line_error

from princdiff.cli import main

QUICK = ["--n-permutations", "19", "--quiet"]


@pytest.fixture
def piped(monkeypatch):
    """Put bytes where the standard input is read."""

    def give(content: bytes) -> None:
        stream = io.BytesIO(content)
        stream.name = "<stdin>"
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(stream))

    return give


def test_one_table_from_a_pipe(files):
    command = [sys.executable, "-m", "princdiff", "compare", "-", "after.csv", *QUICK]
    done = subprocess.run(command, input=Path("before.csv").read_bytes(), capture_output=True)
    assert done.returncode == 0, done.stderr
    assert b"stdin" in done.stdout and b"after" in done.stdout and b"differ (p = 0.05)" in done.stdout


def test_the_second_table_from_a_pipe(files, piped, capsys):
    piped(Path("before.csv").read_bytes())
    assert main(["compare", "after.csv", "-", *QUICK]) == 0
    assert "The groups after and stdin differ (p = 0.05)" in capsys.readouterr().out


def test_scoring_from_a_pipe(files, result, piped, capsys):
    result.save("result.json")
    piped(Path("before.csv").read_bytes())
    assert main(["score", "result.json", "-", "--quiet"]) == 0
    assert capsys.readouterr().out.startswith("the standard input: 40 rows, closest to X")


def test_it_can_be_read_once_only(files, capsys):
    assert main(["compare", "-", "-"]) == 2
    assert "can be read once only" in one_line_error(capsys)
    assert main(["watch", "-", "-"]) == 2
    assert "can be read once only" in one_line_error(capsys)


def test_empty_standard_input(files, piped, capsys):
    piped(b"")
    assert main(["compare", "-", "after.csv"]) == 2
    assert one_line_error(capsys) == "princdiff: stdin is empty\n"
