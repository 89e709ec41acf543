"""``princdiff score``: a new batch of rows by a saved comparison."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from princdiff.cli import argument_parser as types
from princdiff.cli.streams import (
    DIFFERENT,
    SAME,
    STANDARD_STREAM,
    print_notes,
    say,
    screen_of,
    source,
    warnings_as_notes,
)

_EXAMPLES = """\
examples:
  princdiff compare march.csv april.csv --save result.json
  princdiff score result.json may.csv
  princdiff score result.json may.csv --group march --max-effect 0.2

"""


def add(commands: argparse._SubParsersAction) -> None:
    """Add the command to the parser."""
    parser = types.add_command(
        commands,
        "score",
        "judge a new batch of rows by a saved comparison",
        _EXAMPLES + types.EXIT_CODES,
        usage="princdiff score RESULT FILE [options]",
    )
    parser.set_defaults(run=_run)
    parser.add_argument("result", metavar="RESULT", help="a comparison written with princdiff compare --save")
    parser.add_argument("file", metavar="FILE", help="the new rows; - for the standard input")
    parser.add_argument("--group", metavar="NAME", help="the group to judge by; default the closest one")
    parser.add_argument(
        "--max-effect",
        metavar="E",
        type=types.not_negative,
        help="exit with 1 if the batch is more than this many standard deviations away, chance taken off",
    )
    types.add_output(parser)


def _run(arguments: argparse.Namespace) -> int:
    from princdiff.result import load
    from princdiff.show.terminal import judgement, printable

    caught: list[str] = []
    with warnings_as_notes(caught):
        result = load(arguments.result)
        if arguments.group is not None and arguments.group not in result.groups:
            from princdiff.tables.frames import listed, suggestion

            hint = suggestion(arguments.group, result.groups) or f"; there are {listed(list(result.groups))}"
            raise ValueError(f"--group: {arguments.result} has no group {arguments.group!r}{hint}")
        scores = result.score(source(arguments.file))
    print_notes(caught, arguments)
    of_group = scores[scores["closest"] if arguments.group is None else scores["group"] == arguments.group]
    worst = of_group.loc[of_group["effect"].idxmax()]
    rows = int(worst["rows"])
    where = "closest to" if arguments.group is None else "compared with"
    name = "the standard input" if arguments.file == STANDARD_STREAM else Path(arguments.file).name
    effect = _digits(float(worst["effect"]), arguments.max_effect)
    away = f"{effect} standard deviations away" if worst["effect"] > 0 else "no further away than by chance"
    sentence = (
        f"{name}: {rows} row{'s' if rows != 1 else ''}, {where} {worst['group']}, {away} along the direction "
        "of the comparison."
    )
    screen = screen_of(sys.stdout, arguments)
    if arguments.quiet:
        say(printable(sentence))
    else:
        lines = [screen.bold(line) for line in screen.prose(sentence)]
        say("\n".join([*lines, "", *judgement(scores, screen)]))
    if arguments.max_effect is None:
        return SAME
    apart = bool(worst["effect"] > arguments.max_effect)
    words = ("differs", "above", DIFFERENT) if apart else ("does not differ", "not above", SAME)
    decision = (
        f"Decision: the batch {words[0]} by the rule given: the effect {effect} is "
        f"{words[1]} {arguments.max_effect:g} (exit code {words[2]})."
    )
    say(printable(decision) if arguments.quiet else "\n".join(["", *screen.prose(decision)]))
    return DIFFERENT if apart else SAME


def _digits(effect: float, limit: float | None) -> str:
    """The effect with as many digits as tell it from the limit.

    Examples
    --------
    >>> _digits(0.2017, 0.2), _digits(0.2017, None)
    ('0.202', '0.2')
    """
    texts = (f"{effect:.{digits}g}" for digits in range(2, 18))
    return next(text for text in texts if limit is None or effect == limit or float(text) != limit)
