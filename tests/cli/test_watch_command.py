"""The watch command: batches over time against a reference."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command_line import one_line_error, written

from princdiff.cli import main

pytestmark = pytest.mark.whole

QUICK = ["--n-permutations", "99", "--quiet"]


@pytest.fixture
def months(tmp_path, monkeypatch):
    """A reference and three months, of which the last differs in age; and all of them in one table."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    tables = []
    for month in range(1, 6):
        table = pd.DataFrame({"age": rng.normal(40, 10, 120).round(2), "size": rng.normal(size=120).round(3)})
        table["age"] += 12.0 * (month == 5)
        table.to_csv(f"m{month}.csv", index=False)
        days = pd.Timestamp(2024, month, 1) + pd.to_timedelta(np.arange(120) % 28, unit="D")
        tables.append(table.assign(day=days.strftime("%Y-%m-%d")))
    pd.concat(tables).sample(frac=1, random_state=0).to_csv("all.csv", index=False)
    return tmp_path


def test_files_against_a_reference(months, capsys):
    assert main(["watch", "m1.csv", "m2.csv", "m3.csv", "m5.csv", "--n-permutations", "199"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("1 of 3 batches differs from m1; the first is m5 (adjusted p = 0.015)")
    assert "(+23 %) in m5, the last batch." in " ".join(out.split())
    for name in ("m2", "m3", "m5"):
        assert any(line.startswith(name) for line in out.splitlines())


def test_one_table_with_dates(months, capsys):
    command = ["watch", "all.csv", "--time", "day", "--every", "month", "--reference", "3"]
    assert main([*command, *QUICK, "--json", "out.json", "--csv", "out.csv", "--plot", "out.png"]) == 0
    assert capsys.readouterr().out.startswith(
        "1 of 2 batches differs from 2024-01 to 2024-03; the first is 2024-05"
    )
    stored = json.loads(Path("out.json").read_text())
    assert stored["began"] == "2024-05" and [batch["rows"] for batch in stored["batches"]] == [120, 120]
    assert stored["columns"][0]["column"] == "age"
    frame = pd.read_csv("out.csv")
    assert frame["batch"].tolist() == ["2024-04", "2024-05"] and frame["columns"].tolist()[1] == "age"
    assert Path("out.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("rule", "code"),
    [
        (["--fail-below", "0.05"], 1),
        (["--fail-below", "0.05", "--min-effect", "auto"], 1),
        (["--fail-below", "0.05", "--min-effect", "5"], 0),
    ],
)
def test_decisions(months, rule, code, capsys):
    assert main(["watch", "m1.csv", "m2.csv", "m5.csv", "--n-permutations", "199", *rule]) == code
    assert f"(exit code {code})" in capsys.readouterr().out


def test_one_definition_of_differs(months, capsys):
    rule = ["--fail-below", "0.05", "--min-effect", "5"]
    files = ["--json", "out.json", "--csv", "out.csv"]
    command = ["watch", "m1.csv", "m2.csv", "m5.csv", "--n-permutations", "199", *rule]
    assert main([*command, *files]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert out.startswith("None of 2 batches differs from m1 by the rule given; m5 has a small p-value")
    assert "Decision: no batch differs by the rule given: adjusted p below 0.05 and an effect of" in out
    stored = json.loads(Path("out.json").read_text())
    assert stored["began"] is None and not any(batch["differs"] for batch in stored["batches"])
    assert stored["columns"] == [] and not pd.read_csv("out.csv")["differs"].any()
    decision = stored["decision"]
    assert decision["outcome"] == "passed" and decision["exit_code"] == 0 and decision["differ"] == []
    assert decision["fail_below"] == 0.05 and decision["min_effect"] == 5


def test_the_decision_names_the_batches(months, capsys):
    rule = ["--fail-below", "0.05", "--min-effect", "auto"]
    assert main(["watch", "m1.csv", "m2.csv", "m5.csv", *QUICK, *rule, "--json", "out.json"]) == 1
    stored = json.loads(Path("out.json").read_text())
    assert stored["decision"]["differ"] == ["m5"] == [stored["began"]]
    assert stored["decision"]["min_effect"] == pytest.approx(stored["band"][1])
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.startswith("Decision: 1 of 2 batches differs by the rule given, the first is m5")


def test_batches_that_are_cut_short(months, capsys):
    pd.read_csv("m3.csv").head(2).to_csv("short.csv", index=False)
    pd.read_csv("m3.csv").head(1).to_csv("single.csv", index=False)
    rule = ["--fail-below", "0.05", "--min-effect", "0.9"]
    command = ["watch", "m1.csv", "m2.csv", "short.csv", "single.csv", *QUICK]
    assert main([*command, *rule, "--json", "out.json"]) == 0
    note, warning = capsys.readouterr().err.splitlines()
    assert note == "note: Batches not compared: single (only one row)."
    assert warning.startswith("warning: so few rows can hardly show a difference of 0.9 standard deviations")
    assert "): short (2 rows; " in warning and "m2" not in warning
    assert json.loads(Path("out.json").read_text())["decision"]["caution"] in warning
    for name, rows in (("short", "2 rows"), ("single", "1 row")):
        assert main(["watch", "m1.csv", f"{name}.csv", *QUICK, "--min-rows", "100"]) == 2
        assert one_line_error(capsys) == f"princdiff: batch '{name}' has {rows}, fewer than --min-rows 100\n"
    assert main(["watch", "short.csv", "m1.csv", *QUICK, "--min-rows", "100"]) == 2
    assert "the reference 'short' has 2 rows, fewer than" in one_line_error(capsys)
    assert main(["watch", "m1.csv", "m2.csv", *QUICK, "--min-rows", "100"]) == 0


def test_a_rule_that_no_batch_of_a_table_could_meet_decides_nothing(months, capsys):
    # How many batches there are is known only once the table is read.
    command = ["watch", "all.csv", "--time", "day", "--n-permutations", "99", "--fail-below", "0.02"]
    assert main([*command, "--quiet"]) == 2
    assert "cannot decide by --fail-below 0.02: no adjusted p-value of 4 batches" in one_line_error(capsys)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["m1.csv"], "give more files, or --time COLUMN"),
        (["m1.csv", "m2.csv", "--time", "day"], "not both"),
        (["m1.csv", "m2.csv", "--reference", "2"], "needs --time"),
        (["m1.csv", "m2.csv", "--min-effect", "auto"], "--fail-below, which is missing"),
        (["m1.csv", "m2.csv", "m2.csv"], "'m2.csv' is given twice"),
        (["m1.csv", "lost.csv"], "no such file: 'lost.csv'"),
        (["m1.csv", "other.csv"], "batch 'other': "),
        (["all.csv", "--time", "dya"], "there is no column 'dya' in all.csv; did you mean 'day'?"),
        (["all.csv", "--time", "age"], "column 'age' holds no dates"),
        (["all.csv", "--time", "day", "--reference", "2023-01"], "there is no month '2023-01'"),
        (["all.csv", "--time", "day", "--reference", "9"], "there are 5 periods"),
        (["all.csv", "--time", "day", "--every", "decade"], "invalid choice: 'decade'"),
        (["m1.csv", "m2.csv", "m3.csv", "--fail-below", "0.01", "--permutations", "150"], "use at least 200"),
    ],
)
def test_errors_are_one_line(months, arguments, message, capsys):
    written("other.csv", "a,b\n1,2\n3,4\n")
    assert main(["watch", *arguments]) == 2
    assert message in one_line_error(capsys)


# A watch that goes on.


def test_a_watch_goes_on_from_its_file(months, capsys):
    rule = ["--state", "drift.watch", "--fail-below", "0.05"]
    assert main(["watch", "m1.csv", "m2.csv", "m3.csv", *rule]) == 0
    assert "none of 2 new batches differs by the rule given" in " ".join(capsys.readouterr().out.split())
    # The reference and batches that were seen may be given again.
    assert main(["watch", "m1.csv", "m2.csv", "m5.csv", *rule, "--json", "out.json"]) == 1
    assert "Decision: m5 differs by the rule given" in capsys.readouterr().out
    stored = json.loads(Path("out.json").read_text())
    assert [batch["batch"] for batch in stored["batches"]] == ["m2", "m3", "m5"] and stored["began"] == "m5"
    # What is known is no news.
    assert main(["watch", "m5.csv", *rule, "--html", "page.html", "--save", "all.json"]) == 0
    assert "no batch was added" in capsys.readouterr().out
    assert "m5" in Path("page.html").read_text() and "Each batch against" not in Path("page.html").read_text()
    assert main(["watch", "m4.csv", "--state", "drift.watch", "--quiet"]) == 0
    assert capsys.readouterr().out.startswith("1 of 4 batches differs from m1; the first is m5")


def test_a_watch_of_one_table_with_dates(months, capsys):
    command = ["watch", "all.csv", "--time", "day", "--reference", "2", "--state", "drift.watch", "--quiet"]
    assert main(command) == 0
    first = capsys.readouterr().out
    assert first.startswith("1 of 3 batches differs from 2024-01 to 2024-02; the first is 2024-05")
    # The same table again adds nothing.
    assert main(command) == 0 and capsys.readouterr().out == first


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["m2.csv", "--min-effect", "1", "--fail-below", "0.05"], "--min-effect has no meaning with --state"),
        (["m2.csv", "--fail-below", "0.01"], "this watch has begun with 0.05, which cannot change"),
        (["m2.csv", "--exclude", "age"], "were settled when the watch began"),
        (["-"], "give no standard input"),
        (["m2.csv", "--save", "drift.watch"], "the output of"),
    ],
)
def test_what_a_watch_refuses(months, capsys, arguments, message):
    assert main(["watch", "m1.csv", "m2.csv", "--state", "drift.watch", "--quiet"]) == 0
    capsys.readouterr()
    assert main(["watch", *arguments, "--state", "drift.watch"]) == 2
    assert message in one_line_error(capsys)


def test_a_watch_cannot_begin_without_batches(months, capsys):
    assert main(["watch", "m1.csv", "--state", "drift.watch"]) == 2
    assert "the watch has begun; give batches to look at" in one_line_error(capsys)
    assert main(["watch", "m2.csv", "--state", "drift.watch", "--quiet"]) == 0


def test_continuous_integration(months, capsys):
    from xml.etree import ElementTree

    command = ["watch", "m1.csv", "m2.csv", "m5.csv", *QUICK, "--junit", "out.xml", "--annotate"]
    assert main([*command, "--fail-below", "0.05"]) == 1
    assert "::error title=m5::differs in age (mean " in capsys.readouterr().out
    suite = ElementTree.parse("out.xml").getroot()
    assert (suite.get("tests"), suite.get("failures")) == ("2", "1")
    failed = {case.get("name"): case.find("failure") is not None for case in suite}
    assert failed == {"m2": False, "m5": True}
    assert main(command) == 2
    assert "give the rule, --fail-below" in capsys.readouterr().err


def test_annotations_cannot_be_ended_by_names(months):
    from princdiff import compare_batches
    from princdiff.cli.ci_reports import github_lines, junit

    tables = {"first": pd.read_csv("m1.csv"), "a::b\n::error,<&": pd.read_csv("m5.csv")}
    found = compare_batches(tables, n_permutations=99, band=False)
    (line,) = github_lines(found, list(found.frame["batch"]))
    assert line.startswith("::error title=a%3A%3Ab%0A%3A%3Aerror%2C<&::differs") and "\n" not in line
    assert "&lt;&amp;" in junit(found, list(found.frame["batch"]))
