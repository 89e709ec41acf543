"""The command that makes profiles, and profiles on the command line of others."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from command_line import one_line_error

from princdiff.cli import main
from princdiff.profiles import load_profile


@pytest.fixture
def months(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    for name, shift in (("january", 0.0), ("february", 0.3)):
        frame = pd.DataFrame(
            {"age": rng.normal(40 + shift * 9, 9, 6000), "plan": rng.choice(["a", "b", "c"], 6000)}
        )
        frame.to_parquet(f"{name}.parquet")


def test_a_profile_is_written_and_compared(months, capsys):
    assert main(["profile", "january.parquet", "-o", "january.profile"]) == 0
    assert capsys.readouterr().out == "january.profile: 6000 rows, 2 columns.\n"
    assert load_profile("january.profile").n_rows == 6000
    command = [
        "compare",
        "january.profile",
        "february.parquet",
        "--n-permutations",
        "199",
        "--fail-below",
        "0.05",
    ]
    assert main(command) == 1
    out = capsys.readouterr().out
    assert "january and february differ" in out
    assert "sums over chunks" in " ".join(out.split())


def test_two_profiles_are_compared(months, capsys):
    assert main(["profile", "january.parquet", "-o", "january.profile", "--sample-rows", "500"]) == 0
    made = ["profile", "february.parquet", "--like", "january.profile", "-o", "february.profile"]
    assert main([*made, "--sample-rows", "500"]) == 0
    capsys.readouterr()
    assert main(["compare", "january.profile", "february.profile", "--n-permutations", "199"]) == 0
    assert "age" in capsys.readouterr().out


def test_bad_files_are_one_line(months, capsys):
    assert main(["profile", "january.parquet", "-o", "no-folder/january.profile"]) == 2
    assert "no-folder" in one_line_error(capsys)
    assert main(["profile", "march.parquet", "-o", "march.profile"]) == 2
    assert "no such file: 'march.parquet'" in one_line_error(capsys)
