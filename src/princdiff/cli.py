"""The command line: two files in, an answer on the screen, and an exit code that a script can act upon.

Everything heavy is imported inside the commands: ``princdiff --help`` must not wait for NumPy.
"""

from __future__ import annotations

import argparse
import csv
import difflib
import importlib.util
import os
import sys
import traceback
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, NoReturn

from princdiff import __version__

if TYPE_CHECKING:
    from princdiff.present.terminal import Screen
    from princdiff.result import DifferenceResult

SAME, DIFFERENT, BAD_INPUT, INTERRUPTED = 0, 1, 2, 130
_STDOUT = "-"

_EXIT_CODES = """\
exit codes:
  0    no decision was asked for, or the groups do not differ by the rule given
  1    the groups differ by the rule given (--fail-below, --min-effect; score: --max-effect)
  2    bad input or usage, or a rule that the test made cannot decide
  130  interrupted
"""

_EXAMPLES = """\
examples:
  princdiff compare before.csv after.csv
  princdiff compare cells.parquet --groups tissue --html report.html
  princdiff compare march.csv april.csv --fail-below 0.01 --min-effect 0.1 --quiet
  princdiff score result.json may.csv --max-effect 0.2
  princdiff demo

"""

_COMPARE_EXAMPLES = """\
examples:
  two files, matched by the names of their columns:
    princdiff compare before.csv after.csv
  one file with a column that tells the groups, and a report to show:
    princdiff compare cells.parquet --groups tissue --html report.html
  in CI: exit with 1 if the groups differ by at least a tenth of a standard deviation:
    princdiff compare march.csv april.csv --fail-below 0.01 --min-effect 0.1 --quiet
  patients measured twice, a few columns only, on four cores:
    princdiff compare visits.csv --groups visit --blocks patient --features age,weight,pulse --jobs 4

"""

_SCORE_EXAMPLES = """\
examples:
  princdiff compare march.csv april.csv --save result.json
  princdiff score result.json may.csv
  princdiff score result.json may.csv --group march --max-effect 0.2

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
    >>> main(["--version"])
    princdiff 0.1.0
    engine: ...
    0
    """
    _write_any_character()
    arguments = argparse.Namespace(debug=False, no_color=False)
    try:
        _parser().parse_args(argv, arguments)
        return _run(arguments)
    except _UsageError as error:
        return _fail(str(error), arguments)
    except SystemExit as stop:  # argparse after --help and --version
        return int(stop.code or 0)


def _run(arguments: argparse.Namespace) -> int:
    """A command whose errors are one line; 2 also with a traceback, as 1 means that groups differ."""
    try:
        return arguments.run(arguments)
    except KeyboardInterrupt:
        return _fail("interrupted; files that existed were left as they were", arguments, INTERRUPTED)
    except Exception as error:
        if arguments.debug:
            traceback.print_exc()
        return _fail(_in_words(error), arguments)


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


class _UsageError(Exception):
    """Arguments that make no sense."""


# Arguments --------------------------------------------------------------------------------------------------


class _Parser(argparse.ArgumentParser):
    """Errors are one line and hint at what was probably meant."""

    def error(self, message: str) -> NoReturn:
        raise _UsageError(f"{message} (see {self.prog} --help)")

    def parse_known_args(self, args=None, namespace=None):  # type: ignore[no-untyped-def, override]
        namespace, unknown = super().parse_known_args(args, namespace)
        # Here, not in parse_args: only the parser of the subcommand knows its options.
        strange = next((word for word in unknown if word.startswith("-") and word != "-"), None)
        if strange is not None:
            name = strange.split("=")[0]
            close = difflib.get_close_matches(name, self._option_string_actions, n=1)
            self.error(f"there is no option {name}" + (f"; did you mean {close[0]}?" if close else ""))
        return namespace, unknown


class _Version(argparse.Action):
    """The version, and who does the inner loops; looked up only when asked for."""

    def __init__(self, option_strings: list[str], dest: str, help: str | None = None) -> None:
        super().__init__(option_strings, dest, nargs=0, help=help)

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from princdiff.kernels import describe_engine

        print(f"princdiff {__version__}\nengine: {describe_engine()}")
        parser.exit()


def _parser() -> _Parser:
    parser = _Parser(
        prog="princdiff",
        description="Do these populations differ, in what, and how sure are we?",
        epilog=_EXAMPLES + _EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action=_Version, help="show the version and the engine, and exit")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True, parser_class=_Parser)
    _add_compare(commands)
    _add_score(commands)
    demo = _add_command(commands, "demo", "malignant against benign tumours, as a demonstration", "")
    demo.add_argument("--debug", action="store_true", help="show the traceback of an error")
    demo.set_defaults(run=_demo)
    return parser


def _add_command(commands: argparse._SubParsersAction, name: str, what: str, examples: str) -> _Parser:
    return commands.add_parser(
        name,
        help=what,
        description=what[0].upper() + what[1:] + ".",
        epilog=examples + _EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )


def _add_compare(commands: argparse._SubParsersAction) -> None:
    parser = _add_command(
        commands, "compare", "compare two files, or the groups of rows of one file", _COMPARE_EXAMPLES
    )
    parser.set_defaults(run=_compare)
    parser.add_argument("file", help="csv or tsv (also .gz), parquet, feather, npz, npy or h5ad")
    parser.add_argument("other", nargs="?", help="a second file with the same columns, in any order")
    rows = parser.add_argument_group("rows and columns")
    rows.add_argument("--groups", metavar="COL", help="the column of one file that tells the groups")
    rows.add_argument(
        "--features",
        metavar="A,B,C",
        type=_names,
        action="extend",
        help="columns to compare; quote names that hold a comma: '\"a,b\",c'",
    )
    rows.add_argument("--weights", metavar="COL", help="column of row weights")
    rows.add_argument("--blocks", metavar="COL", help="column of pairs, strata or donors")
    rows.add_argument(
        "--permute",
        choices=("within", "whole"),
        help="relabel rows inside their block (within, the default) or whole blocks",
    )
    rows.add_argument(
        "--covariates",
        metavar="A,B,C",
        type=_names,
        action="extend",
        help="columns whose linear effect the test takes out",
    )
    rows.add_argument(
        "--missing",
        choices=("error", "impute", "drop"),
        default="error",
        help="missing values: refuse them (the default), fill and mark them, or drop their rows",
    )
    rows.add_argument(
        "--strict", action="store_true", help="a column that cannot be compared is an error, not a note"
    )
    method = parser.add_argument_group("method")
    method.add_argument(
        "--n-features",
        metavar="K|auto",
        type=_count_or_auto,
        default="auto",
        help="features that the direction may use; auto (the default): chosen on rows kept aside",
    )
    method.add_argument(
        "--components",
        metavar="K|auto",
        type=_count_or_auto,
        default=1,
        help="directions in succession (default 1); auto: as many as differ",
    )
    method.add_argument(
        "--divergence",
        metavar="NAME",
        default="auto",
        help='what "different" means (default auto): wasserstein2, energy, jensen_shannon, ...; '
        "an unknown name lists them all",
    )
    method.add_argument(
        "--permutations",
        metavar="N",
        type=_count,
        default=999,
        help="relabellings of the test (default 999); 0 leaves out the test",
    )
    method.add_argument(
        "--scale",
        choices=("pooled", "none", "within"),
        default="pooled",
        help="divide features by their standard deviation (pooled, the default), leave them as they are, or "
        "standardise them within each group, so that only relationships remain",
    )
    method.add_argument(
        "--certify",
        action="store_true",
        help="bound how much better another direction could be also where that takes long",
    )
    method.add_argument("--seed", metavar="N", type=_count, default=0, help="seed (default 0)")
    method.add_argument("--jobs", metavar="N", type=_jobs, help="threads; -1 for all cores")
    method.add_argument(
        "--time-budget",
        metavar="SECONDS",
        type=_positive,
        help="shorten or leave out steps after this time; the result then depends on the machine",
    )
    files = parser.add_argument_group("output")
    files.add_argument("--html", metavar="FILE", help="write a report: one page that works offline")
    files.add_argument(
        "--json",
        metavar="FILE.json",
        nargs="?",
        const=_STDOUT,
        help="write everything as JSON, to the standard output if no file is named",
    )
    files.add_argument("--save", metavar="FILE", help="save the result, for princdiff score")
    rule = parser.add_argument_group("decision")
    rule.add_argument(
        "--fail-below",
        metavar="P",
        type=_probability,
        help="exit with 1 if the p-value is below this",
    )
    rule.add_argument(
        "--min-effect",
        metavar="E",
        type=_not_negative,
        help="and the effect is at least this many standard deviations: with many rows every difference is "
        "significant",
    )
    _add_output(files, parser)


def _add_score(commands: argparse._SubParsersAction) -> None:
    parser = _add_command(
        commands,
        "score",
        "judge a new batch of rows by a saved comparison",
        _SCORE_EXAMPLES,
    )
    parser.set_defaults(run=_score)
    parser.add_argument("result", help="a comparison written with princdiff compare --save")
    parser.add_argument("file", help="the new rows")
    parser.add_argument("--group", metavar="NAME", help="the group to judge by; default the closest one")
    parser.add_argument(
        "--max-effect",
        metavar="E",
        type=_not_negative,
        help="exit with 1 if the batch is more than this many of the group's standard deviations away",
    )
    _add_output(parser)


def _add_output(files: argparse._ActionsContainer, parser: argparse._ActionsContainer | None = None) -> None:
    files.add_argument("--quiet", action="store_true", help="print the answer only, in one line")
    files.add_argument("--no-color", action="store_true", help="no colours (NO_COLOR is respected too)")
    (parser or files).add_argument("--debug", action="store_true", help="show the traceback of an error")


def _names(text: str) -> list[str]:
    """Names between commas; one that holds a comma is quoted, as in a csv file."""
    names = [name.strip() for name in next(csv.reader([text], skipinitialspace=True), [])]
    if not names or not all(names):
        raise argparse.ArgumentTypeError(f"names between commas are expected, got {text!r}")
    return names


def _number(text: str, what: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not abs(value) < float("inf"):
        raise argparse.ArgumentTypeError(f"{what} is expected, got {text!r}")
    return value


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise argparse.ArgumentTypeError(f"a whole number, 0 or more, is expected, got {text!r}")
    return int(text)


def _count_or_auto(text: str) -> int | str:
    if text == "auto":
        return text
    if not (text.isascii() and text.isdigit() and int(text)):
        raise argparse.ArgumentTypeError(f"a whole number, 1 or more, or auto is expected, got {text!r}")
    return int(text)


def _jobs(text: str) -> int:
    try:
        jobs = int(text)
    except ValueError:
        jobs = 0
    if not jobs:
        raise argparse.ArgumentTypeError(f"a number of threads (-1: all cores) is expected, got {text!r}")
    return jobs


def _positive(text: str) -> float:
    value = _number(text, "a positive number")
    if value <= 0:
        raise argparse.ArgumentTypeError(f"a positive number is expected, got {text!r}")
    return value


def _not_negative(text: str) -> float:
    value = _number(text, "a number, 0 or more,")
    if value < 0:
        raise argparse.ArgumentTypeError(f"a number, 0 or more, is expected, got {text!r}")
    return value


def _probability(text: str) -> float:
    value = _number(text, "a number between 0 and 1")
    if not 0 < value <= 1:
        raise argparse.ArgumentTypeError(f"a number between 0 and 1 is expected, got {text!r}")
    return value


# Commands ---------------------------------------------------------------------------------------------------


def _compare(arguments: argparse.Namespace) -> int:
    _check_sources(arguments)
    _check_rule(arguments)
    _check_outputs(arguments)
    from princdiff.comparison import compare

    caught: list[str] = []
    with _warnings_as_notes(caught):
        result = compare(
            arguments.file,
            arguments.other,
            groups=arguments.groups,
            features=arguments.features,
            n_features=arguments.n_features,
            n_components=arguments.components,
            divergence=arguments.divergence,
            scale=None if arguments.scale == "none" else arguments.scale,
            n_permutations=arguments.permutations,
            blocks=arguments.blocks,
            permute=arguments.permute or "auto",
            covariates=arguments.covariates,
            sample_weight=arguments.weights,
            missing=arguments.missing,
            strict=arguments.strict,
            certify=True if arguments.certify else "auto",
            time_budget=arguments.time_budget,
            random_state=arguments.seed,
            n_jobs=arguments.jobs,
            progress=sys.stderr.isatty() and not arguments.quiet,
        )
    _tell(result, caught, arguments)
    written = _write(result, arguments)
    code, decision = _decide(result, arguments)
    if arguments.json != _STDOUT and not arguments.quiet:
        screen = _screen(sys.stdout, arguments)
        lines = [f"{what}: {path}" for what, path in written]
        lines += screen.prose(decision) if decision else []
        if lines:
            _say("\n".join(["", *lines]))
    if code == BAD_INPUT:
        return _fail(decision, arguments)
    return code


def _tell(result: DifferenceResult, caught: Sequence[str], arguments: argparse.Namespace) -> None:
    """Print the answer with its notes; where they are not part of it they go to the standard error."""
    from princdiff.present.terminal import answer, printable
    from princdiff.result import wording

    notes = _distinct([*result.notes, *caught])
    if arguments.json == _STDOUT:
        _notes(notes, arguments)
        _say(result.to_json())
    elif arguments.quiet:
        _notes(caught, arguments)
        _say(printable(wording.headline(result)))
    else:
        _say("\n".join(answer(result, _screen(sys.stdout, arguments), notes=notes)))


def _write(result: DifferenceResult, arguments: argparse.Namespace) -> list[tuple[str, str]]:
    """Write the files asked for, each at once or not at all."""
    written = []
    if arguments.save:
        result.save(arguments.save)
        written.append(("Result", arguments.save))
    if arguments.json and arguments.json != _STDOUT:
        result.to_json(arguments.json)
        written.append(("JSON", arguments.json))
    if arguments.html:
        result.to_html(arguments.html)
        written.append(("Report", arguments.html))
    return written


def _decide(result: DifferenceResult, arguments: argparse.Namespace) -> tuple[int, str]:
    """The exit code by the rule given, and the reason in words."""
    if arguments.fail_below is None:
        return SAME, ""
    least, limit = arguments.min_effect or 0.0, arguments.fail_below
    large, small = result.effect >= least, result.pvalue < limit
    smallest = _smallest_pvalue(result)
    if large and not small and smallest >= limit:
        return BAD_INPUT, (
            f"cannot decide by --fail-below {limit:g}: no p-value below {smallest:.2g} was possible in the "
            "test that was made; use more --permutations, more time or more rows"
        )
    sides = [f"p = {result.pvalue:.2g} is {'below' if small else 'not below'} {limit:g}"]
    if arguments.min_effect is not None:
        sides.append(f"the effect {result.effect:.2g} is {'at least' if large else 'below'} {least:g}")
    joined = (", but " if large != small and len(sides) == 2 else " and ").join(sides)
    if large and small:
        return DIFFERENT, f"Decision: the groups differ by the rule given: {joined} (exit code 1)."
    return SAME, f"Decision: no difference by the rule given: {joined} (exit code 0)."


def _smallest_pvalue(result: DifferenceResult) -> float:
    smallest = result.test.smallest_attainable_pvalue
    return smallest if smallest == smallest else 1.0


def _score(arguments: argparse.Namespace) -> int:
    from princdiff.present.terminal import judgement, printable
    from princdiff.result import load

    caught: list[str] = []
    with _warnings_as_notes(caught):
        result = load(arguments.result)
        if arguments.group is not None and arguments.group not in result.groups:
            from princdiff.tables.frames import listed, suggestion

            hint = suggestion(arguments.group, result.groups) or f"; there are {listed(list(result.groups))}"
            raise ValueError(f"--group: {arguments.result} has no group {arguments.group!r}{hint}")
        scores = result.score(arguments.file)
    _notes(caught, arguments)
    judged = scores[scores["closest"] if arguments.group is None else scores["group"] == arguments.group]
    worst = judged.loc[judged["effect"].idxmax()]
    rows = int(worst["rows"])
    where = "closest to" if arguments.group is None else "compared with"
    sentence = (
        f"{Path(arguments.file).name}: {rows} row{'s' if rows != 1 else ''}, {where} {worst['group']}, "
        f"{worst['effect']:.2g} standard deviations away along the direction of the comparison."
    )
    screen = _screen(sys.stdout, arguments)
    if arguments.quiet:
        _say(printable(sentence))
    else:
        lines = [screen.bold(line) for line in screen.prose(sentence)]
        _say("\n".join([*lines, "", *judgement(scores, screen)]))
    if arguments.max_effect is None:
        return SAME
    apart = bool(worst["effect"] > arguments.max_effect)
    if not arguments.quiet:
        words = ("differs", "above", DIFFERENT) if apart else ("does not differ", "not above", SAME)
        decision = (
            f"Decision: the batch {words[0]} by the rule given: the effect {worst['effect']:.2g} is "
            f"{words[1]} {arguments.max_effect:g} (exit code {words[2]})."
        )
        _say("\n".join(["", *screen.prose(decision)]))
    return DIFFERENT if apart else SAME


def _demo(arguments: argparse.Namespace) -> int:
    from princdiff.demo import main as demo

    demo()
    return SAME


# Checks before the work -------------------------------------------------------------------------------------


def _check_sources(arguments: argparse.Namespace) -> None:
    if arguments.other is None and arguments.groups is None:
        raise ValueError("one file alone has nothing to differ from: give a second file, or --groups COLUMN")
    if arguments.other is not None and arguments.groups is not None:
        raise ValueError("give two files, or one file with --groups, not both")
    if arguments.permute is not None and arguments.blocks is None:
        raise ValueError("--permute says what to do with blocks, and needs --blocks COLUMN")


def _check_rule(arguments: argparse.Namespace) -> None:
    """A rule that can never say 1 would keep a pipeline green for ever."""
    limit, count = arguments.fail_below, arguments.permutations
    if limit is None:
        if arguments.min_effect is not None:
            raise ValueError("--min-effect is a part of the rule of --fail-below, which is missing")
        return
    if 1 / (count + 1) >= limit:
        enough = int(1 / limit + 1e-9)
        raise ValueError(
            f"with --permutations {count} no p-value can be below {limit:g}: use at least {enough}"
        )


def _check_outputs(arguments: argparse.Namespace) -> None:
    """What would fail after the long computation fails before it."""
    outputs = {"--html": arguments.html, "--json": arguments.json, "--save": arguments.save}
    outputs = {option: path for option, path in outputs.items() if path not in (None, _STDOUT)}
    if "--json" in outputs and Path(outputs["--json"]).suffix.lower() != ".json":
        # The file is optional, so "--json a.csv b.csv" would take a table for it and overwrite it.
        raise ValueError(f"--json: {outputs['--json']!r} does not end in .json; put --json behind the files")
    taken = {_real(path): "the input" for path in (arguments.file, arguments.other) if path is not None}
    for option, path in outputs.items():
        _check_writable(path, option)
        if _real(path) in taken:
            raise ValueError(f"{option}: {path} is {taken[_real(path)]} too; choose another name")
        taken[_real(path)] = f"the output of {option}"
    if arguments.html is not None and importlib.util.find_spec("vl_convert") is None:
        from princdiff.present.charts import library

        library()  # raises, and names the extra


def _check_writable(path: str, option: str) -> None:
    """Refuse a file that could not be written."""
    folder = Path(path).parent
    if not folder.is_dir():
        raise FileNotFoundError(f"{option}: the folder {folder} does not exist; create it first")
    if Path(path).is_dir():
        raise IsADirectoryError(f"{option}: {path} is a folder; name a file in it")
    if not os.access(folder, os.W_OK):
        raise PermissionError(f"{option}: nothing may be written in the folder {folder}")


def _real(path: str) -> str:
    return os.path.realpath(os.path.expanduser(path))


# Streams ----------------------------------------------------------------------------------------------------


@contextmanager
def _warnings_as_notes(told: list[str]) -> Iterator[None]:
    """Collect warnings as sentences, each once; those about versions of libraries are not for users."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for technical in (DeprecationWarning, PendingDeprecationWarning, FutureWarning, ImportWarning):
            warnings.simplefilter("ignore", technical)
        yield
    told.extend(dict.fromkeys(str(warning.message) for warning in caught))


def _distinct(notes: Sequence[str]) -> list[str]:
    """Notes without those that another one says too, with more words."""
    kept: list[str] = []
    for note in dict.fromkeys(notes):
        start = note.rstrip(".")
        if not any(other != note and other.startswith(start) for other in notes):
            kept.append(note)
    return kept


def _notes(notes: Sequence[str], arguments: argparse.Namespace) -> None:
    from princdiff.present.terminal import in_options, printable

    screen = _screen(sys.stderr, arguments)
    for note in notes:
        print(screen.paint("note:", "33"), in_options(printable(note)), file=sys.stderr)


def _screen(stream: IO[str], arguments: argparse.Namespace) -> Screen:
    from princdiff.present.terminal import Screen

    return Screen.of(stream, no_colour=arguments.no_color)


def _say(text: str) -> None:
    """Print; a reader who has gone (``| head``) is no error, and files and the exit code still follow."""
    try:
        print(text, flush=True)
    except BrokenPipeError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def _fail(message: str, arguments: argparse.Namespace, code: int = BAD_INPUT) -> int:
    """One line that says what is wrong."""
    line = _plain_line(message)
    prefix = "princdiff:"
    if sys.stderr.isatty():
        screen = _screen(sys.stderr, arguments)
        # A progress bar may stand in the line.
        prefix = ("\r\x1b[K" if screen.colour else "\n") + screen.paint(prefix, "31")
    print(prefix, line, file=sys.stderr, flush=True)
    return code


def _plain_line(message: str) -> str:
    from princdiff.present.terminal import in_options, printable

    return in_options(printable(" ".join(message.split())))


def _write_any_character() -> None:
    """A name that the terminal's encoding lacks is spelled out instead of ending the run."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
