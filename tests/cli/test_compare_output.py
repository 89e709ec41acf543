"""What the compare command prints and writes."""

from __future__ import annotations

import importlib
import importlib.util
import io
import json
import os
import stat
import sys
import warnings
from dataclasses import replace
from pathlib import Path

import pytest
from command_line import Terminal, compare_module, one_line_error

from princdiff.cli import main
from princdiff.options import option
from princdiff.result import load
from princdiff.show.screen import Screen, columns_of
from princdiff.show.terminal import answer


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
    # The guides promise that it is one format.
    assert Path("result.json").read_bytes() == Path("out.json").read_bytes()


def test_html_report(asked, capsys):
    pytest.importorskip("vl_convert", reason="the extra 'report' is not installed")
    assert main(["compare", "before.csv", "after.csv", "--html", "report.html"]) == 0
    assert "Report: report.html" in capsys.readouterr().out
    assert "<html" in Path("report.html").read_text(encoding="utf-8").lower()


def test_missing_report_extra_is_named_before_the_work(asked, monkeypatch, capsys):
    vega = importlib.import_module("princdiff.show.vega")
    vega.library.cache_clear()
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
    assert [kwargs["config"].progress for _, kwargs in asked] == [True, False]


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
        for title in ("kind", "what changed", "size", "adjusted p"):
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
            warnings.warn(
                f"1 column left out: 'when' (dates); name columns in {option('features')}", stacklevel=1
            )
        warnings.warn("old name", DeprecationWarning, stacklevel=1)
        return replace(result, notes=["1 column left out: 'when' (dates)."])

    monkeypatch.setattr(compare_module, "compare", fake)
    main(["compare", "before.csv", "after.csv"])
    streams = capsys.readouterr()
    assert streams.out.count("1 column left out") == 1 and streams.err == ""
    for flag in ("--quiet", "--json"):
        main(["compare", "before.csv", "after.csv", flag])
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


def test_quiet_does_not_hide_a_test_cut_short(files, result, monkeypatch, capsys):
    test = replace(result.test, n_permutations=19, asked=999, exact=False)
    for notes in (
        [],
        ["time budget: 19 instead of 999 permutations were made (this depends on the machine)"],
    ):
        short = replace(result, test=test, notes=notes, parameters={**result.parameters, "cut": notes})
        monkeypatch.setattr(compare_module, "compare", lambda *args, short=short, **options: short)
        assert main(["compare", "before.csv", "after.csv", "--quiet"]) == 0
        streams = capsys.readouterr()
        assert streams.out.count("\n") == 1
        assert streams.err.count("19 instead of 999 permutations were made") == 1


def test_json_is_json_without_a_test(files, capsys):
    assert main(["compare", "before.csv", "after.csv", "--json", "--n-permutations", "0"]) == 0

    def refuse(word):
        raise AssertionError(word)

    assert json.loads(capsys.readouterr().out, parse_constant=refuse)["pvalue"] is None


@pytest.mark.skipif(not os.path.exists("/dev/null"), reason="there is no /dev/null")
def test_devices_are_written_to_and_stay(asked, capsys):
    for flag in ("--save", "--json", "--html"):
        if flag == "--html" and importlib.util.find_spec("vl_convert") is None:
            continue
        assert main(["compare", "before.csv", "after.csv", flag, "/dev/null"]) == 0
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


def test_links_stay_links(asked, result):
    Path("store").mkdir()
    Path("latest.json").symlink_to("store/result.json")
    assert main(["compare", "before.csv", "after.csv", "--save", "latest.json"]) == 0
    assert Path("latest.json").is_symlink() and load("store/result.json") == result
