"""What the tests of the command line share."""

from __future__ import annotations

import importlib
import importlib.util
import io
from pathlib import Path

import numpy as np
import pandas as pd

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


def one_line_error(capsys) -> str:
    streams = capsys.readouterr()
    assert streams.err.count("\n") == 1, streams.err
    assert streams.err.startswith("princdiff: ")
    assert "Traceback" not in streams.err and "\x1b" not in streams.err
    return streams.err


def written(name: str, text: str | bytes) -> str:
    Path(name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return name
