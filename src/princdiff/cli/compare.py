"""``princdiff compare``: two files, or the groups of one file."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from princdiff.cli import argument_parser as types
from princdiff.cli.streams import (
    SAME,
    STANDARD_STREAM,
    check_outputs,
    distinct,
    fail,
    print_notes,
    say,
    screen_of,
    source,
    warnings_as_notes,
)
from princdiff.options import CompareOptions, Config, table

if TYPE_CHECKING:
    from princdiff.result import DifferenceResult

_EXAMPLES = """\
examples:
  princdiff compare visits/*.parquet --groups visit --blocks patient --memory 2GB --html report.html
  princdiff compare march.csv april.csv --min-rows 500 --fail-below 0.01 --min-effect 0.1 --quiet    in CI
exit codes: 0 no difference by the rule given, or no rule; 1 they differ by it; 2 bad input; 130 interrupted
"""


def add(commands: argparse._SubParsersAction) -> None:
    """Add the command to the parser."""
    parser = types.add_command(
        commands,
        "compare",
        "compare two files, or the groups of rows of one file",
        _EXAMPLES,
        usage="princdiff compare FILE OTHER [options]\n"
        "       princdiff compare FILE... --groups COL [options]",
    )
    parser.set_defaults(run=_run)
    parser.add_argument("file", metavar="FILE", help=types.FORMATS)
    parser.add_argument(
        "other", metavar="OTHER", nargs="?", help="a second file with the same columns, in any order"
    )
    # The shell makes many files of a pattern: with --groups they are the parts of one table.
    parser.add_argument("more", nargs="*", help=argparse.SUPPRESS)
    types.add_options(parser.add_argument_group("rows and columns"), _ROWS_AND_GROUPS)
    types.add_options(parser.add_argument_group("method"), _METHOD_OF_TWO)
    files = parser.add_argument_group("output")
    files.add_argument("--html", metavar="FILE", help="write a report: one page that works offline")
    files.add_argument(
        "--json",
        metavar="FILE.json",
        nargs="?",
        const=STANDARD_STREAM,
        help="write the result as JSON, to the standard output if no file is named",
    )
    files.add_argument(
        "--save",
        metavar="FILE",
        help="write the same JSON to a file of any name, for princdiff score",
    )
    types.add_options(files, _OUTPUT)
    types.add_output(files)
    rule = parser.add_argument_group("decision")
    rule.add_argument(
        "--fail-below", metavar="P", type=types.probability, help="exit with 1 if the p-value is below this"
    )
    rule.add_argument(
        "--min-effect",
        metavar="E",
        type=types.not_negative,
        help="... and the effect is at least this many standard deviations",
    )
    rule.add_argument(
        "--min-column-effect",
        metavar="E",
        type=types.not_negative,
        help="... and the size of a column that differs is at least this",
    )


# Options of all comparisons, in the order of the help.
ROWS = ("features", "exclude", "missing", "dates", "strict", "min_rows")
METHOD = (
    "n_features", "n_components", "divergence", "n_permutations", "scale", "error", "certify", "random_state",
    "n_jobs", "time_budget",
)  # fmt: skip
_ROWS_AND_GROUPS = (
    "groups", "reference", *ROWS, "sample_weight", "blocks", "permute", "covariates", "memory",
)  # fmt: skip
_OUTPUT = ("show_rows",)
# What a comparison takes that a watch does not; a new option is among them.
_METHOD_OF_TWO = METHOD + tuple(
    name
    for name, known in {**table(CompareOptions), **table(Config)}.items()
    if known.flag and name not in (*METHOD, *_ROWS_AND_GROUPS, *_OUTPUT)
)


def options_of(arguments: argparse.Namespace, names: Sequence[str]) -> dict[str, Any]:
    """Options by their names, as `compare` takes them."""
    asked = {name: getattr(arguments, name) for name in names}
    config = {name: asked.pop(name) for name in names if name in table(Config)}
    return {**asked, "config": Config(progress=sys.stderr.isatty() and not arguments.quiet, **config)}


def _run(arguments: argparse.Namespace) -> int:
    _check_sources(arguments)
    check_rule(arguments)
    check_outputs(
        {
            "--html": arguments.html,
            "--json": arguments.json,
            "--save": arguments.save,
            "--checkpoint": arguments.checkpoint,
        },
        [arguments.file, arguments.other, *arguments.more],
    )
    from princdiff.comparison import compare

    caught: list[str] = []
    names = (*_ROWS_AND_GROUPS, *_METHOD_OF_TWO, *_OUTPUT)
    with warnings_as_notes(caught):
        result = compare(*_tables(arguments), **options_of(arguments, names))
    if arguments.fail_below is not None:
        from princdiff.result.pass_or_fail import decide

        # Kept with the result: a file or a report that says "differ" has to explain why the job passed.
        rule = (arguments.fail_below, arguments.min_effect, arguments.min_column_effect)
        result = replace(result, decision=decide(result, *rule))
    _print_answer(result, caught, arguments)
    written = _write(result, arguments)
    return concluded(
        result.decision, written, arguments, "; use more --n-permutations, more time or more rows"
    )


def concluded(
    decision: Any, written: Sequence[tuple[str, str]], arguments: argparse.Namespace, advice: str = ""
) -> int:
    """Print what was written and decided; the exit code.

    Parameters
    ----------
    decision : object, optional
        With outcome, sentence, reason, caution, fail_below and exit_code.
    written : list of (what, path)
        Files.
    arguments : Namespace
        Of the command.
    advice : str
        What to do where nothing could be decided.
    """
    sure = decision is not None and decision.outcome != "undecided"
    _print_end(written, decision.sentence if sure else "", arguments)
    if decision is None:
        return SAME
    print_notes([decision.caution] if decision.caution else [], arguments, kind="warning")
    if sure:
        return int(decision.exit_code)
    why = f"cannot decide by --fail-below {decision.fail_below:g}: {decision.reason}{advice}"
    return fail(why, arguments)


def _print_end(written: Sequence[tuple[str, str]], decision: str, arguments: argparse.Namespace) -> None:
    """Where little is printed, the decision is part of it."""
    from princdiff.show.terminal import printable

    if arguments.json == STANDARD_STREAM:
        return
    if arguments.quiet:
        lines = [printable(decision)] if decision else []
    else:
        lines = [f"{what}: {path}" for what, path in written]
        lines += screen_of(sys.stdout, arguments).prose(decision) if decision else []
        lines = ["", *lines] if lines else []
    if lines:
        say("\n".join(lines))


def _tables(arguments: argparse.Namespace) -> tuple[Any, Any]:
    """One table, of several files perhaps, or two."""
    if arguments.other is None:
        return source(arguments.file), None
    if arguments.groups is not None:
        return [arguments.file, arguments.other, *arguments.more], None
    return source(arguments.file), source(arguments.other)


def _print_answer(result: DifferenceResult, caught: Sequence[str], arguments: argparse.Namespace) -> None:
    """Print the answer with its notes; where they are not part of it they go to the standard error."""
    from princdiff.show.terminal import answer, printable
    from princdiff.words import wording

    notes = distinct([*result.notes, *caught])
    if arguments.json == STANDARD_STREAM:
        print_notes(notes, arguments)
        say(result.to_json())
    elif arguments.quiet:
        print_notes(distinct([*caught, *cut_short(result)]), arguments)
        say(printable(wording.headline(result)))
    else:
        say("\n".join(answer(result, screen_of(sys.stdout, arguments), notes=notes)))


def cut_short(result: DifferenceResult) -> list[str]:
    """What was left out as time ran out; never hidden: the answer rests on less than was asked for."""
    found = list(result.parameters.get("cut", ()))
    test = result.test
    if not found and not test.exact and test.n_permutations < test.asked:
        found.append(f"{test.n_permutations} instead of {test.asked} permutations were made")
    return found


def _write(result: DifferenceResult, arguments: argparse.Namespace) -> list[tuple[str, str]]:
    """Write the files asked for, each at once or not at all."""
    written = []
    if arguments.save:
        result.save(arguments.save)
        written.append(("Result", arguments.save))
    if arguments.json and arguments.json != STANDARD_STREAM:
        result.to_json(arguments.json)
        written.append(("JSON", arguments.json))
    if arguments.html:
        result.to_html(arguments.html)
        written.append(("Report", arguments.html))
    return written


# Checks before the work -------------------------------------------------------------------------------------


def _check_sources(arguments: argparse.Namespace) -> None:
    if arguments.other is None and arguments.groups is None and not _is_profile(arguments.file):
        raise ValueError("one file alone has nothing to differ from: give a second file, or --groups COLUMN")
    files = [arguments.file, arguments.other, *arguments.more]
    if arguments.other is not None and arguments.groups is not None:
        if not all(file.lower().endswith((".parquet", ".pq")) for file in files):
            raise ValueError(
                "give two files, or one file with --groups, not both; of several files of one table all must "
                "be parquet"
            )
    elif arguments.more:
        raise ValueError(f"two files are compared, and there are {len(files)}: give --groups COLUMN")
    if arguments.file == arguments.other == STANDARD_STREAM:
        raise ValueError("the standard input can be read once only: give - for one of the files")
    if arguments.permute != "auto" and arguments.blocks is None:
        raise ValueError("--permute says what to do with blocks, and needs --blocks COLUMN")


def _is_profile(path: str) -> bool:
    """Whether a file is a profile, which may hold its groups."""
    from princdiff.profiles.profile_file import is_profile

    return is_profile(path)


def check_rule(arguments: argparse.Namespace) -> None:
    """A rule that can never say 1 would keep a pipeline green for ever."""
    limit, count = arguments.fail_below, arguments.n_permutations
    if limit is None:
        if arguments.min_effect is not None:
            raise ValueError("--min-effect is a part of the rule of --fail-below, which is missing")
        if arguments.min_column_effect is not None:
            raise ValueError("--min-column-effect is a part of the rule of --fail-below, which is missing")
        return
    if 1 / (count + 1) >= limit:
        enough = int(1 / limit + 1e-9)
        raise ValueError(
            f"with --n-permutations {count} no p-value can be below {limit:g}: use at least {enough}"
        )
