"""Files in a working folder, and a comparison that answers at once."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from command_line import compare_module, tables


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
