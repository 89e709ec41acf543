"""The compare command: from files to an answer, its options and its decisions."""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command_line import compare_module, one_line_error

from princdiff.cli import main
from princdiff.result import load
from princdiff.result.parts import TestPart

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
    assert "weight" in first_ten and "(proved" in done.stdout
    assert "Permutation test, 19 random permutations" in done.stdout


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
    # Scaled within groups no group has a larger mean, so that a direction has no sign.
    sign = np.sign(turned.directions.loc["age"] * straight.directions.loc["age"])
    pd.testing.assert_frame_equal(
        sign * turned.directions, straight.directions.loc[turned.directions.index], check_like=True
    )
    assert (turned.directions != 0).any().all()


def test_help():
    done = subprocess.run([sys.executable, "-m", "princdiff", "--help"], capture_output=True, text=True)
    assert done.returncode == 0 and "examples:" in done.stdout and "exit codes:" in done.stdout


def test_parsing_imports_nothing_heavy():
    code = "import sys; from princdiff.cli import main; main(['compare', '--help']); main(['compare'])\n"
    code += "print(sorted({'numpy', 'pandas', 'scipy', 'sklearn', 'matplotlib'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "[]"
    assert done.stderr.startswith("princdiff: the following arguments are required: FILE")


@pytest.mark.parametrize("command", ["compare", "watch", "score"])
def test_help_fits_one_screen_and_has_examples(command, capsys):
    assert main([command, "--help"]) == 0
    text = capsys.readouterr().out
    assert f"usage: princdiff {command}" in text and "exit codes:" in text and "examples:" in text
    lines = text.splitlines()
    assert len(lines) <= 62 and max(map(len, lines)) <= 110
    options = [line for line in lines if line.startswith("  --")]
    # Each option in one line, with its help.
    assert options and all(len(line.split("  ")) >= 3 for line in options)


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
        (["--exclude", "age", "--exclude", "height"], {"exclude": ["age", "height"]}),
        (["--n-features", "2"], {"n_features": 2}),
        (["--permutations", "0"], {"n_permutations": 0}),
        (["--n-permutations", "19"], {"n_permutations": 19}),
        (["--n-components", "2"], {"n_components": 2}),
        (["--components", "auto"], {"n_components": "auto"}),
        (["--sample-weight", "mass"], {"sample_weight": "mass"}),
        (["--n-jobs", "2", "--random-state", "3"], {"n_jobs": 2, "random_state": 3}),
        (["--dates", "parts"], {"dates": "parts"}),
        ([], {"dates": "skip", "divergence": "auto", "permute": "auto", "error": "fwer"}),
        (["--error", "fdr"], {"error": "fdr"}),
        (["--scale", "none"], {"scale": None}),
        (["--scale", "within"], {"scale": "within"}),
        (["--blocks", "pair", "--permute", "whole"], {"blocks": "pair", "permute": "whole"}),
        (["--covariates", "age,height"], {"covariates": ["age", "height"]}),
        (["--weights", "mass"], {"sample_weight": "mass"}),
        (["--missing", "impute"], {"missing": "impute"}),
        (["--reference", "b"], {"reference": "b"}),
        (["--strict"], {"strict": True}),
        (["--min-rows", "30"], {"min_rows": 30}),
        (["--certify"], {"certify": True}),
        (["--seed", "7", "--jobs", "-1"], {"random_state": 7, "n_jobs": -1}),
        (["--time-budget", "2.5"], {"time_budget": 2.5}),
    ],
)
def test_options_reach_compare(asked, options, expected, capsys):
    assert main(["compare", "both.csv", "--groups", "arm", *options]) == 0
    (args, kwargs), *_ = asked
    assert args == ("both.csv", None) and kwargs["groups"] == "arm"
    given = {**kwargs, **vars(kwargs["config"])}
    assert {name: given[name] for name in expected} == expected


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--gruops", "arm"], "there is no option --gruops; did you mean --groups?"),
        (["--permutations", "many"], "a whole number, 0 or more, is expected, got 'many'"),
        (["--permutations", "-3"], "0 or more"),
        (["--n-features", "0"], "1 or more, or auto"),
        (["--min-rows", "0"], "1 or more"),
        (["--scale", "minmax"], "invalid choice: 'minmax'"),
        (["--fail-below", "2"], "between 0 and 1"),
        (["--fail-below", "nan"], "between 0 and 1"),
        (["--time-budget", "0"], "a positive number"),
        (["--jobs", "0"], "a number of threads"),
        (["--features", "a,,b"], "names between commas"),
        (["--permute", "whole"], "needs --blocks"),
        (["--min-effect", "0.1"], "--fail-below, which is missing"),
        (["--min-column-effect", "0.1"], "--fail-below, which is missing"),
        (["--fail-below", "0.01", "--permutations", "99"], "use at least 100"),
        (["--fail-below", "0.05", "--permutations", "0"], "no p-value can be below 0.05"),
        (["--zzz"], "there is no option --zzz (see"),
        (["--drop", "arm"], "there is no option --drop (see"),
        (["third.csv"], "two files are compared, and there are 3"),
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
    out = capsys.readouterr().out
    if output == ["--json"]:
        stored = json.loads(out)["decision"]
        assert (stored is None) == (not rule) and (not rule or stored["exit_code"] == code)
    else:
        assert out.count("Decision:") == bool(rule)


def test_the_decision_is_in_every_output(files, result, monkeypatch, capsys):
    pytest.importorskip("vl_convert", reason="the extra 'report' is not installed")
    changed = replace(result, pvalue=0.001, effect=0.05)
    monkeypatch.setattr(compare_module, "compare", lambda *args, **kwargs: changed)
    rule = ["--fail-below", "0.05", "--min-effect", "0.1"]
    outputs = ["--json", "out.json", "--save", "saved.json", "--html", "page.html"]
    assert main(["compare", "before.csv", "after.csv", *rule, *outputs, "--quiet"]) == 0
    sentence = (
        "Decision: no difference by the rule given: p = 0.001 is below 0.05, but the effect 0.05 is "
        "below 0.1 (exit code 0)."
    )
    assert capsys.readouterr().out.splitlines()[1:] == [sentence]
    stored = json.loads(Path("out.json").read_text())["decision"]
    assert stored == {
        "outcome": "passed",
        "exit_code": 0,
        "fail_below": 0.05,
        "min_effect": 0.1,
        "pvalue": 0.001,
        "effect": 0.05,
        "reason": "p = 0.001 is below 0.05, but the effect 0.05 is below 0.1",
        "caution": "",
        "min_column_effect": None,
    }
    for name in ("out.json", "saved.json"):
        assert load(name).decision.sentence == sentence
    page = Path("page.html").read_text(encoding="utf-8").replace("\u00a0", " ")
    assert page.index(sentence) < page.index('class="figures"')


QUICK = ["--permutations", "199", "--quiet"]


@pytest.mark.parametrize(
    ("rule", "shift"),
    [
        (["--fail-below", "0.01", "--min-effect", "0.2"], "0.2"),
        (["--fail-below", "0.01"], "1"),
        (["--fail-below", "0.01", "--min-effect", "9"], ""),
        ([], ""),
    ],
)
def test_a_truncated_table_passes_with_a_warning(files, capsys, rule, shift):
    pd.read_csv("before.csv").head(2).to_csv("today.csv", index=False)
    assert main(["compare", "before.csv", "today.csv", *QUICK, *rule, "--save", "out.json"]) == 0
    err = capsys.readouterr().err
    start = f"warning: so few rows (before: 40, today: 2) can hardly show a difference of {shift} standard "
    assert err.startswith(start) if shift else err == ""
    decision = load("out.json").decision
    assert (decision.caution if decision else "") == err.removeprefix("warning: ").rstrip()


@pytest.mark.parametrize(
    ("rule", "code", "words"),
    [
        (["--min-column-effect", "0.5"], 1, "is below 0.05 and the largest size of a column, {size:.2g} of"),
        (["--min-column-effect", "9"], 0, "is below 0.05, but the largest size of a column, {size:.2g} of"),
        (["--min-effect", "0.1", "--min-column-effect", "9"], 0, "is at least 0.1, but the largest size"),
        (["--min-effect", "9", "--min-column-effect", "0.5"], 0, "is below 9, but the largest size"),
    ],
)
def test_a_rule_for_a_single_column(files, capsys, rule, code, words):
    command = [
        "compare",
        "before.csv",
        "after.csv",
        *QUICK,
        "--fail-below",
        "0.05",
        *rule,
        "--save",
        "o.json",
    ]
    assert main(command) == code
    result = load("o.json")
    named = result.columns[result.columns["selected"]]
    assert words.format(size=named["effect"].max()) in capsys.readouterr().out
    assert result.decision.min_column_effect == float(rule[-1])


def test_a_rule_for_a_single_column_where_none_is_named(files, capsys):
    pd.read_csv("before.csv").sample(frac=0.5, random_state=0).to_csv("half.csv", index=False)
    rule = ["--fail-below", "0.05", "--min-column-effect", "0.1"]
    assert main(["compare", "before.csv", "half.csv", *QUICK, *rule]) == 0
    assert "no column was named" in capsys.readouterr().out


def test_what_was_shown_needs_no_warning(files, capsys):
    rule = ["--fail-below", "0.05", "--min-effect", "0.2"]
    assert main(["compare", "before.csv", "after.csv", *QUICK, *rule]) == 1
    assert capsys.readouterr().err == ""
    # The difference is shown, and is smaller than asked for.
    assert (
        main(["compare", "before.csv", "after.csv", *QUICK, "--fail-below", "0.05", "--min-effect", "9"]) == 0
    )
    assert capsys.readouterr().err == ""


def test_a_table_with_fewer_rows_than_asked_for_is_refused(files, capsys):
    pd.read_csv("before.csv").head(2).to_csv("today.csv", index=False)
    outputs = ["--min-rows", "30", "--save", "out.json"]
    assert main(["compare", "before.csv", "today.csv", *QUICK, *outputs]) == 2
    assert one_line_error(capsys) == "princdiff: group 'today' has 2 rows, fewer than --min-rows 30\n"
    assert not Path("out.json").exists()
    assert main(["compare", "before.csv", "after.csv", *QUICK, "--min-rows", "41"]) == 2
    assert "group 'before' has 40 rows, group 'after' has 40 rows, fewer than" in one_line_error(capsys)
    assert main(["compare", "before.csv", "after.csv", *QUICK, "--min-rows", "40"]) == 0


def test_results_without_a_decision_are_read(files, result):
    old = result.to_dict()
    del old["decision"]
    Path("old.json").write_text(json.dumps(old))
    assert load("old.json") == result and load("old.json").decision is None


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
