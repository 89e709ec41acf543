"""Output files: what would fail after the long computation fails before it."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Sequence
from pathlib import Path

from princdiff.cli.streams import STANDARD_STREAM
from princdiff.files import check_writable


def check_outputs(outputs: dict[str, str | None], inputs: Sequence[str | None]) -> None:
    """Refuse output files that could not be written, or that would overwrite an input or each other.

    Parameters
    ----------
    outputs : dict
        File of each option, None where it was not given.
    inputs : list of str or None
        Files that are read.
    """
    named = {option: path for option, path in outputs.items() if path not in (None, STANDARD_STREAM)}
    table = named.get("--json")
    if table is not None and Path(table).suffix.lower() != ".json" and not _is_stream(table):
        # The file is optional, so "--json a.csv b.csv" would take a table for it and overwrite it.
        raise ValueError(f"--json: {table!r} does not end in .json; put --json behind the files")
    taken = {_real(path): "the input" for path in inputs if path not in (None, STANDARD_STREAM)}
    for option, path in named.items():
        assert path is not None
        try:
            check_writable(path)
        except OSError as error:
            raise type(error)(f"{option}: {error}") from error
        if _is_stream(path):
            continue
        if _real(path) in taken:
            raise ValueError(f"{option}: {path} is {taken[_real(path)]} too; choose another name")
        taken[_real(path)] = f"the output of {option}"
    if outputs.get("--html") is not None and importlib.util.find_spec("vl_convert") is None:
        from princdiff.present.vega import library

        library()  # raises, and names the extra


def _is_stream(path: str) -> bool:
    """Whether the path is a pipe or a device, such as /dev/stdout."""
    return os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path)


def _real(path: str | None) -> str:
    return os.path.realpath(os.path.expanduser(path or ""))
