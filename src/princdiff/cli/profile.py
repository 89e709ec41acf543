"""``princdiff profile``: sums of a table in a small file, to be merged and compared without its rows."""

from __future__ import annotations

import argparse
import sys

from princdiff.cli import argument_parser as types
from princdiff.cli.streams import SAME, print_notes, say, warnings_as_notes

_EXAMPLES = """\
examples:
  princdiff profile january.parquet -o january.profile
  princdiff profile 'sales/*.parquet' --groups month -o sales.profile
  princdiff profile february.parquet --like january.profile -o february.profile
  princdiff compare january.profile february.parquet

"""


def add(commands: argparse._SubParsersAction) -> None:
    """Add the command to the parser."""
    parser = types.add_command(
        commands,
        "profile",
        "sums of a table in a small file, to be compared without its rows",
        _EXAMPLES + types.EXIT_CODES,
        usage="princdiff profile FILE... -o PROFILE [options]",
    )
    parser.set_defaults(run=_run)
    parser.add_argument(
        "files", metavar="FILE", nargs="+", help="parquet, csv or feather: files, a pattern or a folder"
    )
    parser.add_argument("-o", "--output", metavar="PROFILE", required=True, help="the file to write")
    parser.add_argument("--groups", metavar="COL", help="column that holds the groups")
    parser.add_argument("--like", metavar="PROFILE", help="take bins and levels from this profile")
    parser.add_argument("--features", metavar="COLS", type=types.names, help="columns to count")
    parser.add_argument("--exclude", metavar="COLS", type=types.names, help="columns not to count")
    parser.add_argument("--blocks", metavar="COL", help="column that says which rows belong together")
    parser.add_argument(
        "--sample-rows",
        metavar="N",
        type=types.count,
        default=10_000,
        help="rows kept of each group (default 10000; 0: none)",
    )
    parser.add_argument("--seed", metavar="N", type=types.count, default=0, help="seed (default 0)")
    types.add_output(parser)


def _run(arguments: argparse.Namespace) -> int:
    from princdiff.files import check_writable
    from princdiff.profiles import load_profile, profile

    check_writable(arguments.output)
    caught: list[str] = []
    with warnings_as_notes(caught):
        found = profile(
            arguments.files[0] if len(arguments.files) == 1 else arguments.files,
            arguments.groups,
            None if arguments.like is None else load_profile(arguments.like),
            features=arguments.features,
            exclude=arguments.exclude,
            blocks=arguments.blocks,
            sample_rows=arguments.sample_rows,
            random_state=arguments.seed,
            progress=not arguments.quiet and sys.stderr.isatty(),
        )
    print_notes(caught, arguments)
    found.save(arguments.output)
    groups = f", groups {', '.join(found.groups)}" if found.grouped else ""
    say(f"{arguments.output}: {found.n_rows} rows, {len(found.columns)} columns{groups}.")
    return SAME
