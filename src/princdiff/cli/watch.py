"""``princdiff watch``: batches over time against a reference."""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING, Any

from princdiff.cli import parser as types
from princdiff.cli.compare import add_method_options, add_table_options, method_options
from princdiff.cli.outputs import check_outputs
from princdiff.cli.streams import (
    DIFFERENT,
    SAME,
    STANDARD_STREAM,
    distinct,
    print_notes,
    say,
    screen_of,
    source,
    warnings_as_notes,
)

if TYPE_CHECKING:
    from princdiff.batches import BatchesResult

_EXAMPLES = """\
examples:
  princdiff watch reference.csv batches/*.csv --missing impute
  princdiff watch orders.csv --time ordered_at --every week --reference 8
  princdiff watch orders.csv --time ordered_at --reference 2024-01 --fail-below 0.01 --min-effect auto

exit codes: 0 no batch differs by the rule given, or no rule; 1 some batch does; 2 bad input; 130 interrupted
"""


def add(commands: argparse._SubParsersAction) -> None:
    """Add the command to the parser."""
    parser = types.add_command(
        commands,
        "watch",
        "compare batches over time with a reference: when did it begin, and in what",
        _EXAMPLES,
        usage="princdiff watch REFERENCE BATCH [BATCH ...] [options]\n"
        "       princdiff watch TABLE --time COL [--every month] [--reference 2024-01] [options]",
    )
    parser.set_defaults(run=_run)
    parser.add_argument("file", metavar="REFERENCE", help="what batches are compared with, or one table")
    parser.add_argument("batches", metavar="BATCH", nargs="*", help="files with the same columns, in order")
    time = parser.add_argument_group("one table")
    time.add_argument("--time", metavar="COL", help="column of dates that tells the batch of each row")
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
    add_table_options(parser.add_argument_group("rows and columns"), grouped=False)
    add_method_options(parser.add_argument_group("method"))
    files = parser.add_argument_group("output")
    files.add_argument("--plot", metavar="FILE", help="write the chart: png, svg or pdf")
    files.add_argument("--csv", metavar="FILE", help="write one line for each batch")
    files.add_argument(
        "--json",
        metavar="FILE.json",
        nargs="?",
        const=STANDARD_STREAM,
        help="write the batches as JSON, to the standard output if no file is named",
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


def _run(arguments: argparse.Namespace) -> int:
    _check(arguments)
    check_outputs(
        {"--plot": arguments.plot, "--csv": arguments.csv, "--json": arguments.json},
        [arguments.file, *arguments.batches],
    )
    from princdiff.batches import compare_batches

    caught: list[str] = []
    with warnings_as_notes(caught):
        result = compare_batches(**_sources(arguments), **_options(arguments))
    notes = distinct([*result.notes, *_time_notes(result)])
    _print_answer(result, notes, arguments)
    written = _write(result, arguments)
    code, decision = _decide(result, arguments)
    if arguments.json != STANDARD_STREAM and not arguments.quiet:
        lines = [f"{what}: {path}" for what, path in written]
        lines += screen_of(sys.stdout, arguments).prose(decision) if decision else []
        if lines:
            say("\n".join(["", *lines]))
    return code


def _check(arguments: argparse.Namespace) -> None:
    if arguments.time is None and not arguments.batches:
        raise ValueError("one file alone has no batches: give more files, or --time COLUMN")
    if arguments.time is not None and arguments.batches:
        raise ValueError("give batches as files, or one file with --time, not both")
    if arguments.time is None and arguments.reference is not None:
        raise ValueError("--reference chooses periods of one table, and needs --time COLUMN")
    if arguments.fail_below is None and arguments.min_effect is not None:
        raise ValueError("--min-effect is a part of the rule of --fail-below, which is missing")
    if [arguments.file, *arguments.batches].count(STANDARD_STREAM) > 1:
        raise ValueError("the standard input can be read once only: give - for one of the files")
    if arguments.fail_below is not None:
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
    reference = arguments.reference
    if reference is not None and reference.isdigit() and len(reference) < 4:
        reference = int(reference)
    return {
        "batches": source(arguments.file),
        "time": arguments.time,
        "every": arguments.every,
        "reference": reference,
    }


def _options(arguments: argparse.Namespace) -> dict[str, Any]:
    limit = arguments.fail_below
    return {**method_options(arguments), **({} if limit is None else {"alpha": min(limit, 0.999)})}


def _time_notes(result: BatchesResult) -> list[str]:
    from princdiff.cli.compare import cut_short

    return [f"{name}: {note}" for name, part in result.results.items() for note in cut_short(part)]


def _print_answer(result: BatchesResult, notes: list[str], arguments: argparse.Namespace) -> None:
    from princdiff.present.batch_views import batches_lines
    from princdiff.printable import printable

    if arguments.json == STANDARD_STREAM:
        print_notes(notes, arguments)
        say(_json(result))
    elif arguments.quiet:
        print_notes(_time_notes(result), arguments)
        say(printable(result.headline()))
    else:
        say("\n".join(batches_lines(result, screen_of(sys.stdout, arguments), notes)))


def _json(result: BatchesResult) -> str:
    frame = result.frame.astype(object).where(result.frame.notna(), None)
    low, high = (edge if edge == edge else None for edge in result.band)
    return json.dumps(
        {
            "reference": result.reference,
            "reference_rows": result.reference_rows,
            "band": [low, high],
            "began": result.began,
            "batches": json.loads(frame.to_json(orient="records")),
            "columns": json.loads(result.to_frame(by="column").to_json(orient="records")),
            "notes": result.notes,
        },
        allow_nan=False,
        ensure_ascii=False,
    )


def _write(result: BatchesResult, arguments: argparse.Namespace) -> list[tuple[str, str]]:
    from princdiff.files import replacing, write_text

    written = []
    if arguments.csv:
        frame = result.frame.assign(columns=["; ".join(names) for names in result.frame["columns"]])
        write_text(arguments.csv, frame.to_csv(index=False))
        written.append(("Batches", arguments.csv))
    if arguments.json and arguments.json != STANDARD_STREAM:
        write_text(arguments.json, _json(result))
        written.append(("JSON", arguments.json))
    if arguments.plot:
        from matplotlib.figure import Figure

        figure = Figure(figsize=(max(5.0, 1.5 + 0.45 * len(result.frame)), 3.6), layout="constrained")
        result.plot(ax=figure.subplots())
        with replacing(arguments.plot) as beside:
            figure.savefig(beside, dpi=150)
        written.append(("Chart", arguments.plot))
    return written


def _decide(result: BatchesResult, arguments: argparse.Namespace) -> tuple[int, str]:
    """The exit code by the rule given, and the reason in words."""
    if arguments.fail_below is None:
        return SAME, ""
    least = arguments.min_effect or 0.0
    if least == "auto":
        least = result.band[1] if result.band[1] == result.band[1] else 0.0
    frame = result.frame
    found = frame[(frame["adjusted"] < arguments.fail_below) & (frame["effect"] >= least)]
    rule = f"adjusted p below {arguments.fail_below:g}"
    if arguments.min_effect is not None:
        rule += f" and an effect of at least {least:.2g}"
    if len(found):
        first = found.iloc[0]["batch"]
        words = f"{len(found)} of {len(frame)} batches differ by the rule given, the first is {first}"
        return DIFFERENT, f"Decision: {words}: {rule} (exit code 1)."
    return SAME, f"Decision: no batch differs by the rule given: {rule} (exit code 0)."
