"""Bad input and files that cannot be written: one line that says what to do."""

from __future__ import annotations

import builtins
import errno
import importlib
import importlib.util
import io
import os
import sys
from pathlib import Path

import pandas as pd
import pytest
from command_line import compare_module, one_line_error, written

from princdiff.cli import main

# Bad input --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("empty.csv", "", "empty.csv is empty"),
        ("header.csv", "age,height,weight\n", "header.csv has columns but no rows"),
        ("other.csv", "a,b\n1,2\n3,4\n", "have no column in common"),
        ("twice.csv", "age,age,weight\n1,2,3\n", "'age'"),
        ("gap.csv", "age,height,weight\n1,,3\n4,5,6\n", "--missing impute"),
        ("infinite.csv", "age,height,weight\n1,inf,3\n4,5,6\n", "infinite values"),
        (
            "less.csv",
            "age,height\n1,2\n3,4\n",
            "leave it out with --exclude",
        ),
        ("odd.xyz", "what", "the ending '.xyz' is not known"),
        ("bad.parquet", b"PAR1 no", "parquet"),
        ("bad.npz", b"PK no", "bad.npz"),
    ],
)
def test_bad_files(files, name, content, message, capsys):
    assert main(["compare", "before.csv", written(name, content)]) == 2
    assert message in one_line_error(capsys)


def test_missing_file_with_a_suggestion(files, capsys):
    assert main(["compare", "before.csv", "aftr.csv"]) == 2
    assert "no such file: 'aftr.csv'; did you mean 'after.csv'" in one_line_error(capsys)
    # The ending alone makes no two names alike.
    for name in ("result.csv", "x.csv", "order.csv"):
        assert main(["compare", "before.csv", name]) == 2
        assert one_line_error(capsys) == f"princdiff: no such file: {name!r}\n"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--groups", "amr"], "did you mean 'arm'?"),
        (["--groups", "mass"], "only one group"),
        (["--groups", "arm", "--features", "hieght"], "did you mean 'height'"),
        (["--groups", "arm", "--blocks", "pairs"], "did you mean 'pair'?"),
        (["--groups", "arm", "--covariates", "agee"], "did you mean 'age'?"),
        (["--groups", "arm", "--weights", "maas"], "did you mean 'mass'?"),
    ],
)
def test_bad_columns(files, options, message, capsys):
    assert main(["compare", "both.csv", *options]) == 2
    assert message in one_line_error(capsys)


def test_nothing_but_text_and_strict(files, capsys):
    rows = "".join(f"g{i % 2},2024-01-{1 + i % 28:02d},{i % 5}\n" for i in range(40))
    written("dates.csv", "arm,when,n\n" + rows)
    assert main(["compare", "dates.csv", "--groups", "arm", "--strict"]) == 2
    assert "'when'" in one_line_error(capsys)
    written("dates.csv", "arm,when\n" + "".join(f"g{i % 2},2024-01-{1 + i % 28:02d}\n" for i in range(40)))
    assert main(["compare", "dates.csv", "--groups", "arm"]) == 2
    assert "no column can be compared" in one_line_error(capsys)


def test_missing_extra_is_named(files, monkeypatch, capsys):
    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name.split(".")[0] == "pyarrow":
            raise ImportError("No module named 'pyarrow'")
        return real(name, *args, **kwargs)

    def refuse(name, *args):
        raise ImportError(f"No module named {name!r}")

    written("cells.parquet", b"PAR1")
    monkeypatch.setattr(builtins, "__import__", without)
    monkeypatch.setattr(importlib.import_module("princdiff.extras").importlib, "import_module", refuse)
    assert main(["compare", "cells.parquet", "--groups", "arm"]) == 2
    assert "pip install 'princdiff[parquet]'" in one_line_error(capsys)


def test_debug_shows_the_traceback_and_still_ends_with_2(files, capsys):
    assert main(["compare", "no.csv", "after.csv", "--debug"]) == 2
    err = capsys.readouterr().err
    assert "Traceback" in err and err.splitlines()[-1].startswith("princdiff: no such file")


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (MemoryError(), "not enough memory"),
        (KeyError("lost"), "unexpected KeyError: 'lost'; run again with --debug"),
        (ValueError("two\nlines"), "princdiff: two lines"),
        (OSError(errno.EIO, "Input/output error", "a.csv"), "a.csv: Input/output error"),
    ],
)
def test_errors_inside_are_one_line(files, monkeypatch, capsys, error, message):
    def fail(*args, **kwargs):
        raise error

    monkeypatch.setattr(compare_module, "compare", fail)
    assert main(["compare", "before.csv", "after.csv"]) == 2
    assert message in one_line_error(capsys)


def test_interrupted(files, monkeypatch, capsys):
    def interrupt(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(compare_module, "compare", interrupt)
    assert main(["compare", "before.csv", "after.csv", "--save", "r.json"]) == 130
    assert "interrupted" in one_line_error(capsys)
    assert not Path("r.json").exists()


# Files that are written -------------------------------------------------------------------------------------


@pytest.mark.parametrize("option", ["--save", "--json", "--html"])
@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("nowhere/r.json", "the folder nowhere does not exist"),
        ("folder.json", "is a folder"),
        ("before.json", "the input too"),
    ],
)
def test_outputs_are_checked_before_the_work(asked, option, path, message, capsys):
    Path("folder.json").mkdir()
    Path("before.json").symlink_to("before.csv")
    assert main(["compare", "before.csv", "after.csv", option, path]) == 2
    err = one_line_error(capsys)
    assert message in err and option in err
    assert not asked


def test_json_never_takes_a_table_for_its_file(asked, capsys):
    before = Path("before.csv").read_bytes()
    assert main(["compare", "--json", "before.csv", "both.csv", "--groups", "arm"]) == 2
    assert "does not end in .json" in one_line_error(capsys)
    assert Path("before.csv").read_bytes() == before


def test_two_outputs_of_one_name(asked, capsys):
    assert main(["compare", "before.csv", "after.csv", "--save", "r.json", "--json", "./r.json"]) == 2
    assert "the output of --json too" in one_line_error(capsys)


@pytest.mark.skipif(
    os.name == "nt" or os.geteuid() == 0, reason="whoever may write everywhere is never refused"
)
def test_folder_without_permission(asked, capsys):
    Path("closed").mkdir(mode=0o500)
    assert main(["compare", "before.csv", "after.csv", "--save", "closed/r.json"]) == 2
    assert "no file can be written" in one_line_error(capsys)


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), 2, "No space left on device"),
        (KeyboardInterrupt(), 130, "interrupted"),
    ],
)
@pytest.mark.parametrize("option", ["--save", "--json"])
def test_the_old_file_survives_a_failed_write(asked, monkeypatch, capsys, error, code, message, option):
    Path("r.json").write_text("old")

    def fail(*args):
        raise error

    before = set(os.listdir())
    monkeypatch.setattr(os, "replace", fail)
    assert main(["compare", "before.csv", "after.csv", option, "r.json"]) == code
    assert message in one_line_error(capsys)
    assert Path("r.json").read_text() == "old" and set(os.listdir()) == before


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")
def test_full_disk_behind_the_standard_output(asked, monkeypatch, capsys):
    with pytest.MonkeyPatch.context() as patch:
        stream = io.TextIOWrapper(io.FileIO("/dev/full", "w"))
        patch.setattr(sys, "stdout", stream)
        assert main(["compare", "before.csv", "after.csv"]) == 2
        stream.detach()
    assert "No space left on device" in one_line_error(capsys)


def test_long_name_fails_before_the_work(asked, capsys):
    assert main(["compare", "before.csv", "after.csv", "--save", "n" * 300 + ".json"]) == 2
    assert "--save: the file name nnn" in one_line_error(capsys)
    assert not asked
    assert main(["compare", "before.csv", "after.csv", "--save", "n" * 250 + ".json"]) == 0


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")
def test_full_disk_names_the_file(asked, capsys):
    assert main(["compare", "before.csv", "after.csv", "--save", "/dev/full"]) == 2
    assert one_line_error(capsys) == "princdiff: /dev/full: No space left on device\n"


def test_interrupted_while_reading(files, monkeypatch, capsys):
    def fail(*args, **options):
        raise pd.errors.ParserError("Error tokenizing data. C error: Calling read(nbytes) on source failed.")

    monkeypatch.setattr(pd, "read_csv", fail)
    assert main(["compare", "before.csv", "after.csv"]) == 130
    assert "interrupted" in one_line_error(capsys)


def test_missing_values_advise_the_option(files, capsys):
    written("gap.csv", "age,height,weight\n1,,3\n4,5,6\n")
    assert main(["compare", "before.csv", "gap.csv"]) == 2
    err = one_line_error(capsys)
    assert "'height' (0 of 40 in 'before', 1 of 2 in 'gap'; the first in row 0 of gap.csv)" in err
    assert "use --missing impute to fill and mark them" in err and "--missing drop" in err
    assert err.endswith("Try: princdiff compare before.csv gap.csv --missing impute\n")


def test_the_command_to_try_replaces_what_was_asked_and_quotes_names(files, capsys):
    written("a gap.csv", "age,height,weight\n1,,3\n4,5,6\n")
    assert main(["compare", "before.csv", "a gap.csv", "--missing", "error", "--seed", "3"]) == 2
    err = one_line_error(capsys)
    assert err.endswith("Try: princdiff compare before.csv 'a gap.csv' --seed 3 --missing impute\n")


def test_strict_ends_with_a_command_that_goes_through(files, capsys):
    days = "".join(f"2024-01-{day:02d},{day % 7},{day * 1.7}\n" for day in range(1, 29))
    written("early.csv", "day,size,weight\n" + days)
    written("late.csv", "day,size,weight\n" + days)
    command = ["compare", "early.csv", "late.csv", "--strict", "--n-permutations", "19"]
    assert main(command) == 2
    err = one_line_error(capsys)
    assert err.rstrip().endswith(f"Try: princdiff {' '.join(command)} --exclude day")
    assert main([*command, "--exclude", "day"]) == 0
    capsys.readouterr()
    assert main([*command, "--features", "day,size"]) == 2
    assert "Try:" not in one_line_error(capsys)
