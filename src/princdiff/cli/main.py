"""The front of the command line: the commands, and what becomes of errors."""

from __future__ import annotations

import argparse
import codecs
import os
import shlex
import sys
import traceback
from collections.abc import Sequence

from princdiff import __version__
from princdiff.cli import compare, completion, doctor, profile, score, watch
from princdiff.cli.argument_parser import EXIT_CODES, OneLineFormatter, Parser, UsageError, add_command
from princdiff.cli.streams import BAD_INPUT, INTERRUPTED, SAME, fail
from princdiff.options import as_flags

# Signs of our own, as an encoding without them shows them.
_PLAIN = {"→": "->", "…": "...", "×": "x", "≤": "<=", "≥": ">=", "−": "-", "–": "-", "█": "#", "▏": "|"}
_EXAMPLES = """\
examples:
  princdiff compare before.csv after.csv
  princdiff compare cells.parquet --groups tissue --html report.html
  princdiff compare march.csv april.csv --fail-below 0.01 --min-effect 0.1 --quiet
  princdiff watch reference.csv batches/*.csv
  princdiff score result.json may.csv --max-effect 0.2
  princdiff demo

"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command.

    Parameters
    ----------
    argv : list of str, optional
        Arguments; default those of the process.

    Returns
    -------
    int
        The exit code: 0 no decision or no difference, 1 the groups differ by the rule given, 2 bad input or
        usage, 130 interrupted.

    Examples
    --------
    >>> main(["--version"])  # doctest: +ELLIPSIS
    princdiff 0.1.0
    engine: ...
    0
    """
    _write_any_character()
    words = list(sys.argv[1:] if argv is None else argv)
    arguments = argparse.Namespace(debug=False, no_color=False, words=words)
    try:
        build_parser().parse_args(words, arguments)
        return _run(arguments)
    except UsageError as error:
        return fail(str(error), arguments)
    except SystemExit as stop:  # argparse after --help and --version
        return int(stop.code or 0)


class _Version(argparse.Action):
    """Show the version and what computes; the library is loaded only when asked for."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from princdiff.kernels import describe_engine

        print(f"princdiff {__version__}\nengine: {describe_engine()}")
        parser.exit()


def build_parser() -> Parser:
    """The parser of all commands."""
    parser = Parser(
        prog="princdiff",
        description="Do these populations differ, in what, and how sure are we?",
        epilog=_EXAMPLES + EXIT_CODES,
        formatter_class=OneLineFormatter,
        allow_abbrev=False,
    )
    parser.add_argument(
        "--version", action=_Version, nargs=0, help="show the version and the engine, and exit"
    )
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True, parser_class=Parser)
    compare.add(commands)
    watch.add(commands)
    score.add(commands)
    profile.add(commands)
    demo = add_command(commands, "demo", "malignant against benign tumours, as a demonstration", "")
    demo.add_argument("--debug", action="store_true", help=argparse.SUPPRESS)
    demo.set_defaults(run=_demo)
    doctor.add(commands)
    completion.add(commands, build_parser)
    return parser


def _demo(arguments: argparse.Namespace) -> int:
    from princdiff.demo import main as demo

    demo()
    return SAME


def _run(arguments: argparse.Namespace) -> int:
    """A command whose errors are one line; 2 also with a traceback, as 1 means that groups differ."""
    try:
        with as_flags():
            return arguments.run(arguments)
    except KeyboardInterrupt:
        return fail("interrupted; files that existed were left as they were", arguments, INTERRUPTED)
    except Exception as error:
        if arguments.debug:
            traceback.print_exc()
        return fail(_in_words(error) + _command_to_try(error, arguments), arguments, BAD_INPUT)


def _command_to_try(error: Exception, arguments: argparse.Namespace) -> str:
    """The command that would have gone through, to be copied."""
    # Looked up, not imported: where it was raised it is loaded, and starting up must stay quick.
    messages = sys.modules.get("princdiff.tables.messages")
    if messages is None:
        return ""
    words = list(arguments.words)
    if isinstance(error, messages.LeftOutError):
        # Columns that were asked for by name are not to be left out, and names with commas cannot be listed.
        if getattr(arguments, "features", None) or any("," in name for name in error.columns):
            return ""
        return f". Try: {shlex.join(['princdiff', *words, '--exclude', ','.join(error.columns)])}"
    if not isinstance(error, messages.MissingValuesError):
        return ""
    if "--missing" in words:
        place = words.index("--missing")
        del words[place : place + 2]
    words = [word for word in words if not word.startswith("--missing=")]
    return f". Try: {shlex.join(['princdiff', *words, '--missing', 'impute'])}"


def _in_words(error: Exception) -> str:
    if isinstance(error, MemoryError):
        return "not enough memory; compare fewer columns with --features, or fewer rows"
    if isinstance(error, OSError):
        return _system_error(error)
    if isinstance(error, (ValueError, ImportError)):
        return str(error) or type(error).__name__
    # A defect of ours: still one line, and the way to the rest.
    return f"unexpected {type(error).__name__}: {error}; run again with --debug for the whole story"


def _system_error(error: OSError) -> str:
    if error.strerror is None:
        return str(error) or type(error).__name__
    return f"{error.filename}: {error.strerror}" if error.filename else error.strerror


def _write_any_character() -> None:
    """A sign that the terminal's encoding lacks is spelled out; what is printed on closed streams is lost."""
    codecs.register_error("princdiff", _spelled_out)
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="princdiff")


def _spelled_out(error: UnicodeError) -> tuple[str | bytes, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    if error.object[error.start] in _PLAIN:
        return _PLAIN[error.object[error.start]], error.start + 1
    return codecs.backslashreplace_errors(error)
