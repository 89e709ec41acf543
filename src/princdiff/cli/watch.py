"""``princdiff watch``: batches over time against a reference."""

from __future__ import annotations

import argparse
import json
import math
import sys
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from princdiff.cli import argument_parser as types
from princdiff.cli.compare import METHOD, ROWS, concluded, options_of
from princdiff.cli.streams import (
    BAD_INPUT,
    DIFFERENT,
    SAME,
    STANDARD_STREAM,
    check_outputs,
    distinct,
    print_notes,
    say,
    screen_of,
    source,
    warnings_as_notes,
)
from princdiff.cli.watch_state import decided, remember_defaults, watched

if TYPE_CHECKING:
    from princdiff.batches import BatchesResult

_EXAMPLES = """\
examples:
  princdiff watch reference.csv batches/*.csv --missing impute
  princdiff watch orders.csv --time ordered_at --every week --reference 8
  princdiff watch orders.csv --time ordered_at --reference 2024-01 --fail-below 0.01 --min-effect auto
  princdiff watch reference.csv monday.csv --state drift.watch --fail-below 0.05     # and the next day:
  princdiff watch tuesday.csv --state drift.watch --fail-below 0.05

exit codes: 0 no batch differs by the rule given, or no rule; 1 some batch does; 2 bad input; 130 interrupted
"""


def add(commands: argparse._SubParsersAction) -> None:
    """Add the command to the parser."""
    parser = types.add_command(
        commands,
        "watch",
        "compare batches over time with a reference: when did a change begin, and in what",
        _EXAMPLES,
        usage="princdiff watch REFERENCE BATCH [BATCH ...] [options]\n"
        "       princdiff watch TABLE --time COL [--every month] [--reference 2024-01] [options]\n"
        "       princdiff watch [REFERENCE] BATCH [BATCH ...] --state FILE [options]",
    )
    parser.set_defaults(run=_run)
    parser.add_argument("file", metavar="REFERENCE", help="what batches are compared with, or one table")
    parser.add_argument("batches", metavar="BATCH", nargs="*", help="files with the same columns, in order")
    time = parser.add_argument_group("one table")
    time.add_argument("--time", metavar="COL", help="column of dates that assigns each row to a batch")
    time.add_argument(
        "--every",
        choices=("hour", "day", "week", "month", "quarter", "year"),
        default="month",
        metavar="PERIOD",
        help="hour, day, week, month (default), quarter or year",
    )
    time.add_argument(
        "--reference", metavar="N|PERIOD", help="the first N periods, or one such as 2024-01; default 1"
    )
    types.add_options(parser.add_argument_group("rows and columns"), ROWS)
    types.add_options(parser.add_argument_group("method"), METHOD)
    files = parser.add_argument_group("output")
    files.add_argument(
        "--state",
        metavar="FILE",
        help="keep a record in FILE: look at new batches only, and control the error over all to come",
    )
    files.add_argument(
        "--html", metavar="FILE", help="write a page: what is new, each column over time, each batch"
    )
    files.add_argument(
        "--save", metavar="FILE", help="write the whole result, for BatchesResult.load in Python"
    )
    files.add_argument("--plot", metavar="FILE", help="write the chart: png, svg or pdf")
    files.add_argument("--csv", metavar="FILE", help="write one line for each batch")
    files.add_argument(
        "--json",
        metavar="FILE.json",
        nargs="?",
        const=STANDARD_STREAM,
        help="write the batches as JSON, to the standard output if no file is named",
    )
    files.add_argument("--junit", metavar="FILE", help="write JUnit XML: each batch a test case")
    files.add_argument(
        "--annotate", action="store_true", help="print a GitHub annotation for each batch that fails"
    )
    types.add_output(files)
    rule = parser.add_argument_group("decision")
    rule.add_argument(
        "--fail-below",
        metavar="P",
        type=types.probability,
        help="exit with 1 if the adjusted p-value of some batch is below this",
    )
    rule.add_argument(
        "--min-effect",
        metavar="E|auto",
        type=types.effect_or_auto,
        help="... and its effect is at least this; auto: above those within the reference",
    )
    remember_defaults(parser)


def _run(arguments: argparse.Namespace) -> int:
    _check(arguments)
    check_outputs(
        {
            f"--{name}": getattr(arguments, name)
            for name in ("html", "save", "plot", "csv", "json", "junit", "state")
        },
        [arguments.file, *arguments.batches],
        charts=False,
    )
    from princdiff.batches import compare_batches

    caught: list[str] = []
    new: list[str] = []
    with warnings_as_notes(caught):
        if arguments.state is None:
            result = compare_batches(**_sources(arguments), **_options(arguments))
        else:
            result, new, _ = watched(arguments)
    notes = distinct([*result.notes, *_time_notes(result)])
    decision = None
    if arguments.fail_below is not None:
        decision = _decide(result, arguments) if arguments.state is None else _decide_new(result, new)
    if decision is not None:
        result = replace(result, decision=decision.sentence)
    _print_answer(result, notes, decision, arguments)
    written = _write(result, decision, arguments)
    code = concluded(decision, written, arguments)
    if decision is not None and arguments.annotate:
        from princdiff.cli.ci_reports import github_lines

        for line in github_lines(result, decision.differ):
            say(line)
    return code


def _check(arguments: argparse.Namespace) -> None:
    if arguments.time is None and not arguments.batches and arguments.state is None:
        raise ValueError("one file alone has no batches: give more files, or --time COLUMN")
    if arguments.time is not None and arguments.batches:
        raise ValueError("give batches as files, or one file with --time, not both")
    if arguments.time is None and arguments.reference is not None:
        raise ValueError("--reference chooses periods of one table, and needs --time COLUMN")
    if arguments.fail_below is None and (arguments.junit or arguments.annotate):
        raise ValueError("--junit and --annotate say what fails: give the rule, --fail-below")
    if arguments.fail_below is None and arguments.min_effect is not None:
        raise ValueError("--min-effect is a part of the rule of --fail-below, which is missing")
    if [arguments.file, *arguments.batches].count(STANDARD_STREAM) > 1:
        raise ValueError("the standard input can be read once only: give - for one of the files")
    if arguments.fail_below is not None and arguments.state is None:
        count, batches = arguments.n_permutations, max(1, len(arguments.batches))
        if batches / (count + 1) >= arguments.fail_below:
            enough = int(batches / arguments.fail_below + 1e-9)
            raise ValueError(
                f"with --n-permutations {count} no adjusted p-value of {batches} batches can be below "
                f"{arguments.fail_below:g}: use at least {enough}"
            )


def _sources(arguments: argparse.Namespace) -> dict[str, Any]:
    if arguments.time is None:
        return {
            "batches": [source(path) for path in arguments.batches],
            "reference": source(arguments.file),
        }
    return {
        "batches": source(arguments.file),
        "time": arguments.time,
        "every": arguments.every,
        "reference": periods_of_reference(arguments),
    }


def periods_of_reference(arguments: argparse.Namespace) -> int | str | None:
    """How many of the first periods are the reference, or the name of one."""
    reference: str | None = arguments.reference
    return (
        int(reference) if reference is not None and reference.isdigit() and len(reference) < 4 else reference
    )


def _options(arguments: argparse.Namespace) -> dict[str, Any]:
    options = options_of(arguments, (*ROWS, *METHOD))
    if arguments.fail_below is not None:
        # A batch differs at alpha or below it; by the rule its p-value is below the limit.
        options["alpha"] = math.nextafter(arguments.fail_below, 0.0)
        options["min_effect"] = arguments.min_effect
    return options


def _time_notes(result: BatchesResult) -> list[str]:
    from princdiff.cli.compare import cut_short

    return [f"{name}: {note}" for name, part in result.results.items() for note in cut_short(part)]


def _print_answer(
    result: BatchesResult, notes: list[str], decision: _Decision | None, arguments: argparse.Namespace
) -> None:
    from princdiff.batches.batches_result import about_skipped
    from princdiff.printable import printable
    from princdiff.show.batch_views import batches_lines

    if arguments.json == STANDARD_STREAM:
        print_notes(notes, arguments)
        say(_json(result, decision))
    elif arguments.quiet:
        # A batch that was not looked at is not one that does not differ.
        skipped = [about_skipped(result.skipped)] if result.skipped else []
        print_notes([*skipped, *_time_notes(result)], arguments)
        say(printable(result.headline))
    else:
        say("\n".join(batches_lines(result, screen_of(sys.stdout, arguments), notes)))


def _json(result: BatchesResult, decision: _Decision | None) -> str:
    frame = result.frame.astype(object).where(result.frame.notna(), None)
    low, high = (edge if edge == edge else None for edge in result.band)
    return json.dumps(
        {
            "reference": result.reference,
            "reference_rows": result.reference_rows,
            "band": [low, high],
            "began": result.began,
            "decision": None if decision is None else asdict(decision),
            "batches": json.loads(frame.to_json(orient="records")),
            "columns": json.loads(result.to_frame(by="column").to_json(orient="records")),
            "notes": result.notes,
        },
        allow_nan=False,
        ensure_ascii=False,
    )


def _write(
    result: BatchesResult, decision: _Decision | None, arguments: argparse.Namespace
) -> list[tuple[str, str]]:
    from princdiff.files import replacing, write_text

    written = []
    if arguments.csv:
        frame = result.frame.assign(columns=["; ".join(names) for names in result.frame["columns"]])
        write_text(arguments.csv, frame.to_csv(index=False))
        written.append(("Batches", arguments.csv))
    if arguments.json and arguments.json != STANDARD_STREAM:
        write_text(arguments.json, _json(result, decision))
        written.append(("JSON", arguments.json))
    if arguments.junit:
        from princdiff.cli.ci_reports import junit

        write_text(arguments.junit, junit(result, decision.differ if decision else []))
        written.append(("JUnit", arguments.junit))
    if arguments.html:
        result.to_html(arguments.html)
        written.append(("Page", arguments.html))
    if arguments.save:
        result.save(arguments.save)
        written.append(("Result", arguments.save))
    if arguments.plot:
        from matplotlib.figure import Figure

        figure = Figure(figsize=(max(5.0, 1.5 + 0.45 * len(result.frame)), 3.6), layout="constrained")
        result.plot(ax=figure.subplots())
        with replacing(arguments.plot) as beside:
            figure.savefig(beside, dpi=150)
        written.append(("Chart", arguments.plot))
    return written


@dataclass(frozen=True)
class _Decision:
    """What the rule says, as the JSON file has it."""

    outcome: str
    exit_code: int
    fail_below: float
    min_effect: float | None
    differ: list[str]
    reason: str
    caution: str

    @property
    def sentence(self) -> str:
        return f"Decision: {self.reason} (exit code {self.exit_code})."


def _decide(result: BatchesResult, arguments: argparse.Namespace) -> _Decision:
    """The outcome by the rule given: does any batch differ."""
    frame = result.frame
    differ = [str(name) for name in frame.loc[frame["differs"], "batch"]]
    rule = f"adjusted p below {arguments.fail_below:g}"
    if result.min_effect is not None:
        rule += f" and an effect of at least {result.min_effect:.2g}"
    outcome = "failed" if differ else "passed"
    if differ:
        count = f"{len(differ)} of {len(frame)} batches differ{'s' if len(differ) == 1 else ''}"
        words = f"{count} by the rule given, the first is {differ[0]}"
    else:
        words = "no batch differs by the rule given"
        # A rule that no outcome could have met would keep a pipeline green for ever.
        smallest = min(part.test.smallest_attainable_pvalue for part in result.results.values())
        large = result.min_effect is None or bool((frame["effect"] >= result.min_effect).any())
        if large and not smallest * len(frame) < arguments.fail_below:
            outcome = "undecided"
            words = f"no adjusted p-value of {len(frame)} batches could be small enough, whatever the rows"
            rule += "; use more --n-permutations"
    return _Decision(
        outcome=outcome,
        exit_code={"passed": SAME, "failed": DIFFERENT}.get(outcome, BAD_INPUT),
        fail_below=arguments.fail_below,
        min_effect=result.min_effect,
        differ=differ,
        reason=f"{words}: {rule}",
        caution=_caution(result, arguments),
    )


def _decide_new(result: BatchesResult, new: list[str]) -> _Decision:
    """The outcome of a watch that goes on: does any batch differ that came with this run."""
    differ, reason = decided(result, new, result.alpha)
    code = DIFFERENT if differ else SAME
    return _Decision("failed" if differ else "passed", code, result.alpha, None, differ, reason, "")


def _caution(result: BatchesResult, arguments: argparse.Namespace) -> str:
    """Which batches have so few rows that they would pass whatever they hold."""
    from princdiff.result.pass_or_fail import asked_shift, too_few_rows

    # What parts of the reference differ by is no size that anybody asked to find.
    asked = None if arguments.min_effect == "auto" else arguments.min_effect
    frame = result.frame[result.frame["adjusted"] > result.alpha]
    few = [
        f"{batch} ({rows} rows; {result.results[batch].test.detectable:.2g})"
        for batch, rows in zip(frame["batch"], frame["rows"], strict=True)
        if too_few_rows(result.results[batch], asked)
    ]
    if not few:
        return ""
    return (
        f"so few rows can hardly show a difference of {asked_shift(asked):.2g} standard "
        "deviations (in brackets the shift of one column that is found in four of five such tables): "
        f"{', '.join(few)}"
    )
