"""The command line: what it prints, what it writes, how it fails, and the code it ends with."""

from __future__ import annotations

import builtins
import errno
import importlib
import importlib.util
import io
import json
import os
import subprocess
import sys
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from princdiff import cli
from princdiff.cli import main
from princdiff.present.terminal import Screen, answer, columns_of
from princdiff.result import load
from princdiff.result.parts import TestPart

compare_module = importlib.import_module("princdiff.comparison")


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


def tables(n_rows: int = 40, shift: float = 2.5) -> tuple[pd.DataFrame, pd.DataFrame]:
    rng = np.random.default_rng(0)
    columns = ["age", "height", "weight"]
    before = pd.DataFrame(rng.normal(size=(n_rows, 3)), columns=columns).round(4)
    after = pd.DataFrame(rng.normal(size=(n_rows, 3)), columns=columns).round(4)
    after["weight"] += shift
    return before, after


@pytest.fixture(autouse=True)
def quiet_surroundings(monkeypatch):
    for name in ("NO_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")


@pytest.fixture(scope="module")
def result():
    return compare_module.compare(*tables(), n_permutations=99)


@pytest.fixture
def files(tmp_path, monkeypatch):
    """before.csv, after.csv and both.csv in the working folder."""
    monkeypatch.chdir(tmp_path)
    before, after = tables()
    before.to_csv("before.csv", index=False)
    after.to_csv("after.csv", index=False)
    both = pd.concat([before, after], ignore_index=True)
    both["arm"] = np.repeat(["control", "treated"], len(before))
    both["pair"] = np.tile(np.arange(len(before)), 2)
    both["mass"] = 1.0
    both.to_csv("both.csv", index=False)
    return tmp_path


@pytest.fixture
def asked(files, result, monkeypatch):
    """What compare was called with; it answers at once."""
    calls: list[tuple[tuple, dict]] = []

    def fake(*args, **kwargs):
        calls.append((args, kwargs))
        return result

    monkeypatch.setattr(compare_module, "compare", fake)
    return calls


def one_line_error(capsys) -> str:
    streams = capsys.readouterr()
    assert streams.err.count("\n") == 1, streams.err
    assert streams.err.startswith("princdiff: ")
    assert "Traceback" not in streams.err and "\x1b" not in streams.err
    return streams.err


# The whole path ---------------------------------------------------------------------------------------------


def test_two_files_as_a_process(files):
    command = [sys.executable, "-m", "princdiff", "compare", "before.csv", "after.csv"]
    # The environment is passed on by hand: readline, which pytest loads, sets COLUMNS behind its back.
    done = subprocess.run(
        [*command, "--permutations", "19"],
        capture_output=True,
        encoding="utf-8",
        env=dict(os.environ, PYTHONIOENCODING="utf-8"),
    )
    assert done.returncode == 0 and done.stderr == ""
    assert "\x1b" not in done.stdout and "\r" not in done.stdout
    first_ten = "\n".join(done.stdout.splitlines()[:10])
    assert "The groups before and after differ (p = 0.05)" in first_ten
    assert "weight" in first_ten and "below the best possible" in first_ten
    assert "Permutation test, 19 random relabellings" in done.stdout


def test_groups_of_one_file_with_blocks(files, capsys):
    rows = ["--groups", "arm", "--blocks", "pair", "--features", "age,weight"]
    code = main(["compare", "both.csv", *rows, "--permutations", "99", "--save", "r.json"])
    streams = capsys.readouterr()
    assert code == 0 and "control and treated differ" in streams.out
    saved = load("r.json")
    assert set(saved.table["feature"]) == {"age", "weight"} and saved.parameters["permute"] == "within"


def test_columns_in_another_order_are_aligned_by_name(files, capsys):
    pd.read_csv("after.csv")[["weight", "age", "height"]].to_csv("turned.csv", index=False)
    blocks = ["--permutations", "0", "--scale", "within"]
    assert main(["compare", "before.csv", "turned.csv", *blocks, "--save", "turned.json"]) == 0
    assert main(["compare", "before.csv", "after.csv", *blocks, "--save", "straight.json"]) == 0
    turned, straight = load("turned.json"), load("straight.json")
    pd.testing.assert_frame_equal(
        turned.directions, straight.directions.loc[turned.directions.index], check_like=True
    )


def test_help():
    done = subprocess.run([sys.executable, "-m", "princdiff", "--help"], capture_output=True, text=True)
    assert done.returncode == 0 and "examples:" in done.stdout and "exit codes:" in done.stdout


def test_parsing_imports_nothing_heavy():
    code = "import sys; from princdiff.cli import main; main(['compare', '--help']); main(['compare'])\n"
    code += "print(sorted({'numpy', 'pandas', 'scipy', 'sklearn', 'matplotlib'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "[]"
    assert done.stderr.startswith("princdiff: the following arguments are required: file")


@pytest.mark.parametrize("command", ["compare", "score", "demo"])
def test_help_of_commands(command, capsys):
    assert main([command, "--help"]) == 0
    text = capsys.readouterr().out
    assert f"usage: princdiff {command}" in text and "exit codes:" in text


def test_demo(monkeypatch):
    called = []
    monkeypatch.setattr(importlib.import_module("princdiff.demo"), "main", lambda: called.append(True))
    assert main(["demo"]) == 0 and called


# Options ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ([], {"n_features": "auto", "n_permutations": 999, "scale": "pooled", "missing": "error"}),
        ([], {"certify": "auto", "strict": False, "random_state": 0, "n_jobs": None, "progress": False}),
        (["--features", "age,weight"], {"features": ["age", "weight"]}),
        (["--features", "age", "--features", '"a, b",c'], {"features": ["age", "a, b", "c"]}),
        (["--n-features", "2"], {"n_features": 2}),
        (["--permutations", "0"], {"n_permutations": 0}),
        (["--scale", "none"], {"scale": None}),
        (["--scale", "within"], {"scale": "within"}),
        (["--blocks", "pair", "--permute", "whole"], {"blocks": "pair", "permute": "whole"}),
        (["--covariates", "age,height"], {"covariates": ["age", "height"]}),
        (["--weights", "mass"], {"sample_weight": "mass"}),
        (["--missing", "impute"], {"missing": "impute"}),
        (["--strict"], {"strict": True}),
        (["--certify"], {"certify": True}),
        (["--seed", "7", "--jobs", "-1"], {"random_state": 7, "n_jobs": -1}),
        (["--time-budget", "2.5"], {"time_budget": 2.5}),
    ],
)
def test_options_reach_compare(asked, options, expected, capsys):
    assert main(["compare", "both.csv", "--groups", "arm", *options]) == 0
    (args, kwargs), *_ = asked
    assert args == ("both.csv", None) and kwargs["groups"] == "arm"
    assert {name: kwargs[name] for name in expected} == expected


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--gruops", "arm"], "there is no option --gruops; did you mean --groups?"),
        (["--permutations", "many"], "a whole number, 0 or more, is expected, got 'many'"),
        (["--permutations", "-3"], "0 or more"),
        (["--n-features", "0"], "1 or more, or auto"),
        (["--scale", "minmax"], "invalid choice: 'minmax'"),
        (["--fail-below", "2"], "between 0 and 1"),
        (["--fail-below", "nan"], "between 0 and 1"),
        (["--time-budget", "0"], "a positive number"),
        (["--jobs", "0"], "a number of threads"),
        (["--features", "a,,b"], "names between commas"),
        (["--permute", "whole"], "needs --blocks"),
        (["--min-effect", "0.1"], "--fail-below, which is missing"),
        (["--fail-below", "0.01", "--permutations", "99"], "use at least 100"),
        (["--fail-below", "0.05", "--permutations", "0"], "no p-value can be below 0.05"),
        (["third.csv"], "unrecognized arguments: third.csv"),
        (["--groups", "arm"], "not both"),
    ],
)
def test_usage_errors_are_one_line(asked, options, message, capsys):
    assert main(["compare", "before.csv", "after.csv", *options]) == 2
    assert message in one_line_error(capsys)
    assert not asked


def test_no_command_and_one_file_alone(files, capsys):
    assert main([]) == 2
    assert "COMMAND" in one_line_error(capsys)
    assert main(["compare", "before.csv"]) == 2
    assert "give a second file, or --groups COLUMN" in one_line_error(capsys)


def test_permutations_just_enough_for_the_rule(asked):
    assert main(["compare", "before.csv", "after.csv", "--fail-below", "0.011", "--permutations", "100"]) == 1


# Decisions --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pvalue", "effect", "rule", "code"),
    [
        (0.001, 1.5, ["--fail-below", "0.05"], 1),
        (0.001, 1.5, ["--fail-below", "0.05", "--min-effect", "0.1"], 1),
        (0.001, 0.05, ["--fail-below", "0.05", "--min-effect", "0.1"], 0),
        (0.05, 1.5, ["--fail-below", "0.05"], 0),
        (0.001, 0.1, ["--fail-below", "0.05", "--min-effect", "0.1"], 1),
        (0.001, 1.5, [], 0),
    ],
)
@pytest.mark.parametrize("output", [[], ["--quiet"], ["--json"]])
def test_exit_code_of_a_rule(files, result, monkeypatch, capsys, pvalue, effect, rule, code, output):
    changed = replace(result, pvalue=pvalue, effect=effect)
    monkeypatch.setattr(compare_module, "compare", lambda *args, **kwargs: changed)
    assert main(["compare", "before.csv", "after.csv", *rule, *output]) == code
    assert ("Decision:" in capsys.readouterr().out) == (bool(rule) and not output)


@pytest.mark.parametrize(
    "test",
    [
        TestPart("permutation", n_permutations=5, exact=True, smallest_attainable_pvalue=0.2),
        TestPart(),
    ],
)
def test_a_test_that_cannot_reach_the_level_decides_nothing(files, result, monkeypatch, capsys, test):
    changed = replace(result, pvalue=np.nan if test.name == "none" else 0.2, test=test)
    monkeypatch.setattr(compare_module, "compare", lambda *args, **kwargs: changed)
    assert main(["compare", "before.csv", "after.csv", "--fail-below", "0.05", "--quiet"]) == 2
    assert "cannot decide by --fail-below 0.05" in one_line_error(capsys)
    # A difference too small to matter is none, whatever the test could show.
    rule = ["--fail-below", "0.05", "--min-effect", "99"]
    assert main(["compare", "before.csv", "after.csv", *rule]) == 0


# Output -----------------------------------------------------------------------------------------------------


def test_quiet_prints_one_line(asked, capsys):
    assert main(["compare", "before.csv", "after.csv", "--quiet", "--save", "r.json"]) == 0
    streams = capsys.readouterr()
    assert streams.out.count("\n") == 1 and streams.out.startswith("The groups X and Y differ (p = 0.01)")
    assert Path("r.json").exists() and streams.err == ""


def test_json_on_the_standard_output(asked, result, capsys):
    assert main(["compare", "before.csv", "after.csv", "--json"]) == 0
    out = capsys.readouterr().out
    assert json.loads(out)["pvalue"] == result.pvalue


def test_json_and_saved_files(asked, result, capsys):
    assert main(["compare", "before.csv", "after.csv", "--json", "out.json", "--save", "result.json"]) == 0
    out = capsys.readouterr().out
    assert "JSON: out.json" in out and "Result: result.json" in out
    assert load("result.json") == result and load("out.json") == result


def test_html_report(asked, capsys):
    pytest.importorskip("vl_convert", reason="the extra 'report' is not installed")
    assert main(["compare", "before.csv", "after.csv", "--html", "report.html"]) == 0
    assert "Report: report.html" in capsys.readouterr().out
    assert "<html" in Path("report.html").read_text(encoding="utf-8").lower()


def test_missing_report_extra_is_named_before_the_work(asked, monkeypatch, capsys):
    charts = importlib.import_module("princdiff.present.charts")
    charts.library.cache_clear()
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    assert main(["compare", "before.csv", "after.csv", "--html", "report.html"]) == 2
    assert "pip install 'princdiff[report]'" in one_line_error(capsys)
    assert not asked


def test_colours_on_a_terminal_only(asked, monkeypatch):
    def printed(stream, *options):
        monkeypatch.setattr(sys, "stdout", stream)
        assert main(["compare", "before.csv", "after.csv", *options]) == 0
        return stream.getvalue()

    assert "\x1b[1m" in printed(Terminal())
    assert "\x1b" not in printed(io.StringIO())
    assert "\x1b" not in printed(Terminal(), "--no-color")
    for name, value in {"NO_COLOR": "1", "TERM": "dumb"}.items():
        with monkeypatch.context() as patch:
            patch.setenv(name, value)
            patch.setattr(sys, "stdout", stream := Terminal())
            main(["compare", "before.csv", "after.csv"])
        assert "\x1b" not in stream.getvalue()


def test_progress_on_a_terminal_only(asked, monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    main(["compare", "before.csv", "after.csv"])
    main(["compare", "before.csv", "after.csv", "--quiet"])
    assert [kwargs["progress"] for _, kwargs in asked] == [True, False]


def test_error_on_a_terminal_is_red_and_clears_the_progress_bar(files, monkeypatch):
    monkeypatch.setattr(sys, "stderr", stream := Terminal())
    assert main(["compare", "no.csv", "after.csv"]) == 2
    assert stream.getvalue().startswith("\r\x1b[K\x1b[31mprincdiff:\x1b[0m no such file")


def nasty(result):
    """Long, wide and dangerous names, three groups, negative shares."""
    table = result.table.copy()
    table["feature"] = ["x" * 300, "身長" * 40, "a\x1b[31mred\nline\u202e"]
    table["column"] = table["feature"]
    table["share"] = [0.9, 0.3, -0.2]
    table["weight"] = [0.9, -0.3, 0.1]
    columns = result.columns.copy()
    columns["column"] = table["feature"]
    columns["change"] = ["mean 1 → 2", "a\x1b[31m 1 % → 2 %, " * 9, "x" * 300]
    groups = {"g" * 80: 40, "\x1b]0;title\x07": 40, "ü": 3}
    separation = [[[0.0, 1.0, 2.0], [1.0, 0.0, 3.0], [2.0, 3.0, 0.0]]]
    return replace(result, table=table, columns=columns, groups=groups, separation=separation)


@pytest.mark.parametrize("width", [40, 60, 80, 120, 200])
@pytest.mark.parametrize("which", ["plain", "nasty"])
def test_lines_fit_and_names_are_harmless(result, width, which):
    shown = result if which == "plain" else nasty(result)
    lines = answer(shown, Screen(width), notes=["a note that is long " * 10])
    assert all(line.isprintable() for line in lines)
    # Prose counts letters, not columns; names in it are cut by the sentence.
    assert max(len(line) for line in lines) <= width
    header = next(number for number, line in enumerate(lines) if line.startswith("column"))
    assert max(columns_of(line) for line in lines[header : header + 4]) <= width
    if width == 200 and which == "plain":
        for title in ("kind", "what changed", "size", "differs", "adjusted p"):
            assert title in lines[header]


def test_encoding_without_blocks(asked, result, monkeypatch):
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", stream)
    assert main(["compare", "before.csv", "after.csv"]) == 0
    stream.flush()
    assert b"->" in stream.buffer.getvalue()


def test_a_difference_that_could_not_be_shown(files, result, monkeypatch, capsys):
    monkeypatch.setattr(compare_module, "compare", lambda *args, **kwargs: replace(result, pvalue=0.6))
    assert main(["compare", "before.csv", "after.csv"]) == 0
    out = capsys.readouterr().out
    assert "No difference between X and Y could be shown (p = 0.6)" in out and "may well be chance" in out


def test_warnings_are_notes(files, result, monkeypatch, capsys):
    def fake(*args, **kwargs):
        for _ in range(2):
            warnings.warn("1 column left out: 'when' (dates); name columns in features=", stacklevel=1)
        warnings.warn("old name", DeprecationWarning, stacklevel=1)
        return replace(result, notes=["1 column left out: 'when' (dates)."])

    monkeypatch.setattr(compare_module, "compare", fake)
    main(["compare", "before.csv", "after.csv"])
    streams = capsys.readouterr()
    assert streams.out.count("1 column left out") == 1 and streams.err == ""
    for option in ("--quiet", "--json"):
        main(["compare", "before.csv", "after.csv", option])
        err = capsys.readouterr().err
        assert err == "note: 1 column left out: 'when' (dates); name columns in --features\n"


def test_a_reader_who_has_gone_is_no_error(asked, monkeypatch, capsys):
    class Gone(io.StringIO):
        def write(self, text):
            raise BrokenPipeError

        def fileno(self):
            return descriptor

    descriptor = os.open("spare", os.O_WRONLY | os.O_CREAT)
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", Gone())
        code = main(["compare", "before.csv", "after.csv", "--save", "new.json", "--fail-below", ".05"])
    # What is still in the buffer at the end of the process must not fail either.
    os.write(descriptor, b"more")
    os.close(descriptor)
    assert code == 1 and capsys.readouterr().err == "" and Path("new.json").exists()
    assert Path("spare").read_bytes() == b""


# Bad input --------------------------------------------------------------------------------------------------


def written(name: str, text: str | bytes) -> str:
    Path(name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return name


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("empty.csv", "", "empty.csv is empty"),
        ("header.csv", "age,height,weight\n", "header.csv has columns but no rows"),
        ("other.csv", "a,b\n1,2\n3,4\n", "have no column in common"),
        ("twice.csv", "age,age,weight\n1,2,3\n", "'age'"),
        ("gap.csv", "age,height,weight\n1,,3\n4,5,6\n", "--missing impute"),
        ("infinite.csv", "age,height,weight\n1,inf,3\n4,5,6\n", "infinite values"),
        ("less.csv", "age,height\n1,2\n3,4\n", "name the columns to compare with --features"),
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


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--groups", "amr"], "did you mean 'arm'?"),
        (["--groups", "mass"], "one group only"),
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
    monkeypatch.setattr(cli, "_check_outputs", lambda arguments: None)
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
    assert "nothing may be written" in one_line_error(capsys)


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


# Scoring ----------------------------------------------------------------------------------------------------


@pytest.fixture
def saved(files, result):
    result.save("result.json")
    return files


def test_score(saved, capsys):
    assert main(["score", "result.json", "before.csv"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("before.csv: 40 rows, closest to X, 0")
    assert "closest" in out and "\x1b" not in out


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (["--max-effect", "0.5"], 0),
        (["--max-effect", "0.5", "--group", "X"], 0),
        (["--max-effect", "0.5", "--group", "Y"], 1),
        (["--max-effect", "50", "--group", "Y"], 0),
    ],
)
def test_score_decides(saved, options, code, capsys):
    assert main(["score", "result.json", "before.csv", *options]) == code
    assert f"(exit code {code})" in capsys.readouterr().out
    assert main(["score", "result.json", "before.csv", *options, "--quiet"]) == code
    assert capsys.readouterr().out.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["lost.json", "before.csv"], "no such file: lost.json"),
        (["before.csv", "before.csv"], "is not a saved princdiff comparison"),
        (["result.json", "lost.csv"], "no such file"),
        (["result.json", "less.csv"], "lacks column 'weight'"),
        (["result.json", "gap.csv"], "missing values"),
        (["result.json", "before.csv", "--group", "Z"], "there are 'X', 'Y'"),
        (["result.json", "before.csv", "--max-effect", "-1"], "0 or more"),
    ],
)
def test_score_errors(saved, arguments, message, capsys):
    written("less.csv", "age,height\n1,2\n3,4\n")
    written("gap.csv", "age,height,weight\n1,,3\n4,5,6\n")
    assert main(["score", *arguments]) == 2
    assert message in one_line_error(capsys)
