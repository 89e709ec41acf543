"""The score command."""

from __future__ import annotations

import pytest
from command_line import one_line_error, written

from princdiff.cli import main


@pytest.fixture
def saved(files, result):
    result.save("result.json")
    return files


def test_score(saved, capsys):
    assert main(["score", "result.json", "before.csv"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("before.csv: 40 rows, closest to X, no further away than by chance")
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
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2 and lines[1].startswith("Decision: ") and f"(exit code {code})" in lines[1]


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


def test_an_effect_just_above_the_limit_is_not_said_to_equal_it(saved, result, capsys):
    effect = float(result.score("after.csv").set_index("group").loc["X", "effect"])
    limit = f"{effect - 1e-4:.10g}"
    assert main(["score", "result.json", "after.csv", "--group", "X", "--max-effect", limit]) == 1
    said = " ".join(capsys.readouterr().out.split()).split("the effect ")[1].split()
    assert said[1:3] == ["is", "above"] and float(said[0]) > float(said[3])
