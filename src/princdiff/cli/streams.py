"""What is printed where: the answer on the standard output, notes and errors on the standard error."""

from __future__ import annotations

import argparse
import importlib.util
import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from princdiff.caught_warnings import caught_warnings
from princdiff.files import check_writable

if TYPE_CHECKING:
    from princdiff.show.screen import Screen

SAME, DIFFERENT, BAD_INPUT, INTERRUPTED = 0, 1, 2, 130
STANDARD_STREAM = "-"


def source(path: str) -> Any:
    """A file to read: its path, or the standard input."""
    return sys.stdin.buffer if path == STANDARD_STREAM else path


def screen_of(stream: IO[str], arguments: argparse.Namespace) -> Screen:
    """What a stream can show."""
    from princdiff.show.screen import Screen

    return Screen.of(stream, no_colour=arguments.no_color)


@contextmanager
def warnings_as_notes(notes: list[str]) -> Iterator[None]:
    """Collect warnings as sentences, each once; those about versions of libraries are not for users."""
    with caught_warnings() as caught:
        for technical in (DeprecationWarning, PendingDeprecationWarning, FutureWarning, ImportWarning):
            warnings.simplefilter("ignore", technical)
        yield
    notes.extend(dict.fromkeys(str(warning.message) for warning in caught))


def distinct(notes: Sequence[str]) -> list[str]:
    """Notes without those that another one says too, with more words."""
    kept: list[str] = []
    for note in dict.fromkeys(notes):
        start = note.rstrip(".")
        if not any(other != note and other.startswith(start) for other in notes):
            kept.append(note)
    return kept


def print_notes(notes: Sequence[str], arguments: argparse.Namespace, kind: str = "note") -> None:
    """Notes on the standard error, one line each."""
    from princdiff.show.terminal import printable

    screen = screen_of(sys.stderr, arguments)
    for note in notes:
        print(screen.paint(f"{kind}:", "33"), printable(note), file=sys.stderr)


def say(text: str) -> None:
    """Print; a reader who has gone (``| head``) is no error, and files and the exit code still follow."""
    try:
        print(text, flush=True)
    except BrokenPipeError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def fail(message: str, arguments: argparse.Namespace, code: int = BAD_INPUT) -> int:
    """One line that says what is wrong."""
    from princdiff.show.terminal import printable

    line = printable(" ".join(message.split()))
    prefix = "princdiff:"
    if sys.stderr.isatty():
        screen = screen_of(sys.stderr, arguments)
        # A progress bar may stand in the line.
        prefix = ("\r\x1b[K" if screen.colour else "\n") + screen.paint(prefix, "31")
    print(prefix, line, file=sys.stderr, flush=True)
    return code


# Output files: what would fail after the long computation fails before it.


def check_outputs(
    outputs: dict[str, str | None], inputs: Sequence[str | None], *, charts: bool = True
) -> None:
    """Refuse output files that could not be written, or that would overwrite an input or each other.

    Parameters
    ----------
    outputs : dict
        File of each option, None where it was not given.
    inputs : list of str or None
        Files that are read.
    charts : bool, default=True
        Whether the page needs the library that draws its charts.
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
    if charts and outputs.get("--html") is not None and importlib.util.find_spec("vl_convert") is None:
        from princdiff.show.vega import library

        library()  # raises, and names the extra


def _is_stream(path: str) -> bool:
    """Whether the path is a pipe or a device, such as /dev/stdout."""
    return os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path)


def _real(path: str | None) -> str:
    return os.path.realpath(os.path.expanduser(path or ""))
