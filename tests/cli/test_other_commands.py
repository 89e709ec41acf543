"""doctor and completion."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess

import pytest
from command_line import one_line_error

from princdiff.cli import main
from princdiff.cli.completion import described
from princdiff.cli.main import build_parser


def test_doctor_tells_versions_engine_threads_and_extras(capsys, monkeypatch):
    real = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "pyarrow" else real(name))
    assert main(["doctor"]) == 0
    out = capsys.readouterr().out
    for word in ("princdiff", "engine", "numpy", "threads", "cores", "anndata"):
        assert word in out
    assert "absent: pip install 'princdiff[parquet]'" in out


def test_completion_knows_every_command_and_option(capsys):
    commands = dict(described(build_parser()))
    assert list(commands) == ["compare", "watch", "score", "profile", "demo", "doctor", "completion"]
    for shell in ("bash", "zsh", "fish"):
        assert main(["completion", shell]) == 0
        script = capsys.readouterr().out
        for name, (_, options) in commands.items():
            assert name in script
            for option in options:
                assert option.name.lstrip("-") in script
        assert "SUPPRESS" not in script and "impute" in script


def test_unknown_shell(capsys):
    assert main(["completion", "cmd"]) == 2
    assert "invalid choice: 'cmd'" in one_line_error(capsys)


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["princdiff", "comp"], {"compare", "completion"}),
        (["princdiff", "compare", "--mis"], {"--missing"}),
        (["princdiff", "compare", "a.csv", "--missing", "im"], {"impute"}),
        (["princdiff", "watch", "--every", "q"], {"quarter"}),
        (["princdiff", "completion", "z"], {"zsh"}),
    ],
)
def test_bash_completes(capsys, tmp_path, words, expected):
    assert main(["completion", "bash"]) == 0
    script = capsys.readouterr().out
    script += f"\nCOMP_WORDS=({' '.join(words)}); COMP_CWORD={len(words) - 1}; _princdiff\n"
    script += 'printf "%s\\n" "${COMPREPLY[@]}"\n'
    done = subprocess.run(["bash"], input=script, capture_output=True, text=True, cwd=tmp_path)
    assert set(done.stdout.split()) == expected and not done.stderr
