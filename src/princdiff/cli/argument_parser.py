"""Arguments: a parser whose errors are one line and whose help fits the screen, and the types of values."""

from __future__ import annotations

import argparse
import csv
import difflib
from collections.abc import Sequence
from typing import Any, NoReturn

from princdiff.data.parameters import (
    Choice,
    Either,
    Flag,
    Jobs,
    Level,
    MemoryRule,
    Number,
    Rule,
    Seed,
    Whole,
)
from princdiff.options import CompareOptions, Config, flag_names, table

EXIT_CODES = """\
exit codes:
  0    no decision was asked for, or the groups do not differ by the rule given
  1    the groups differ by the rule given (--fail-below and the like; score: --max-effect)
  2    bad input or usage, or a rule that the test could not decide
  130  interrupted
"""
FORMATS = "csv, tsv (also .gz), parquet, feather, npz, npy, h5ad, zarr; - is stdin"
_OPTION_COLUMN = 25
_WIDTH = 100


class UsageError(Exception):
    """Arguments that make no sense."""


class Parser(argparse.ArgumentParser):
    """Errors are one line and hint at what was probably meant."""

    def error(self, message: str) -> NoReturn:
        """Raise instead of ending the process."""
        raise UsageError(f"{message} (see {self.prog} --help)")

    def parse_known_args(self, args=None, namespace=None):  # type: ignore[no-untyped-def, override]
        """Refuse unknown options here: only the parser of the subcommand knows its options."""
        namespace, unknown = super().parse_known_args(args, namespace)
        strange = next((word for word in unknown if word.startswith("-") and word != "-"), None)
        if strange is not None:
            name = strange.split("=")[0]
            # All options begin with dashes, which must not make them alike.
            known = {word.strip("-"): word for word in self._option_string_actions}
            close = difflib.get_close_matches(name.strip("-"), known, n=1, cutoff=0.7)
            hint = f"; did you mean {known[close[0]]}?" if close else ""
            self.error(f"there is no option {name}{hint}")
        return namespace, unknown


class OneLineFormatter(argparse.RawDescriptionHelpFormatter):
    """One line for each option, so that all of them fit the screen: the first name, and a short help."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=_OPTION_COLUMN, width=_WIDTH)

    def _format_action_invocation(self, action: argparse.Action) -> str:
        if not action.option_strings:
            return super()._format_action_invocation(action)
        name = next(word for word in action.option_strings if word.startswith("--"))
        if action.nargs == 0:
            return name
        return f"{name} {self._format_args(action, self._get_default_metavar_for_optional(action))}"


def add_command(
    commands: argparse._SubParsersAction, name: str, what: str, examples: str, usage: str | None = None
) -> Parser:
    """A subcommand with its help."""
    parser = commands.add_parser(
        name,
        help=what,
        usage=usage,
        description=what[0].upper() + what[1:] + ".",
        epilog=examples,
        formatter_class=OneLineFormatter,
        allow_abbrev=False,
        add_help=False,
    )
    # Who reads it knows it.
    parser.add_argument("-h", "--help", action="help", help=argparse.SUPPRESS)
    parser._positionals.title = "files"
    return parser


def add_options(group: argparse._ActionsContainer, names: Sequence[str]) -> None:
    """Flags of options of `compare`, as the table of options has them."""
    known = {**table(CompareOptions), **table(Config)}
    for name in names:
        option = known[name]
        group.add_argument(
            *(f"--{flag}" for flag in flag_names(name, option)),
            dest=name,
            default=option.default,
            help=option.flag,
            **_reading(option.rule, option.value),
        )


def _reading(rule: Rule, metavar: str) -> dict[str, Any]:
    """How argparse reads what a rule allows."""
    kinds = rule.rules if isinstance(rule, Either) else [rule]
    choices = {choice for kind in kinds if isinstance(kind, Choice) for choice in kind.choices}
    if isinstance(rule, Flag) or True in choices:
        return {"action": "store_const", "const": True}
    if isinstance(rule, Choice):
        return {"choices": rule.choices, "type": _or_none, "metavar": metavar}
    kind = kinds[0]
    if metavar == "A,B,C":
        return {"type": names, "action": "extend", "metavar": metavar}
    if isinstance(kind, Whole):
        whole = positive_count if kind.low else count
        return {"type": count_or_auto if "auto" in choices else whole, "metavar": metavar}
    readers = {Level: count_or_auto, MemoryRule: memory, Number: positive, Jobs: jobs, Seed: count}
    return {"type": readers.get(type(kind), str), "metavar": metavar}


def _or_none(text: str) -> str | None:
    return None if text == "none" else text


def add_output(files: argparse._ActionsContainer) -> None:
    """Options that all commands have."""
    files.add_argument("--quiet", action="store_true", help="print the answer in one line, and the decision")
    files.add_argument("--no-color", action="store_true", help="no colours (NO_COLOR is respected too)")
    # Named by the message that it helps with.
    files.add_argument("--debug", action="store_true", help=argparse.SUPPRESS)


# Types of values --------------------------------------------------------------------------------------------


def names(text: str) -> list[str]:
    """Names between commas; one that holds a comma is quoted, as in a csv file."""
    found = [name.strip() for name in next(csv.reader([text], skipinitialspace=True), [])]
    if not found or not all(found):
        raise argparse.ArgumentTypeError(f"names between commas are expected, got {text!r}")
    return found


def _number(text: str, what: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not abs(value) < float("inf"):
        raise argparse.ArgumentTypeError(f"{what} is expected, got {text!r}")
    return value


def count(text: str) -> int:
    """A whole number, 0 or more."""
    if not (text.isascii() and text.isdigit()):
        raise argparse.ArgumentTypeError(f"a whole number, 0 or more, is expected, got {text!r}")
    return int(text)


def positive_count(text: str) -> int:
    """A whole number, 1 or more."""
    if not (text.isascii() and text.isdigit() and int(text)):
        raise argparse.ArgumentTypeError(f"a whole number, 1 or more, is expected, got {text!r}")
    return int(text)


def count_or_auto(text: str) -> int | str:
    """A whole number, 1 or more, or auto."""
    if text == "auto":
        return text
    if not (text.isascii() and text.isdigit() and int(text)):
        raise argparse.ArgumentTypeError(f"a whole number, 1 or more, or auto is expected, got {text!r}")
    return int(text)


def memory(text: str) -> str:
    """A size such as 2GB."""
    from princdiff.data.memory import parse_memory

    try:
        parse_memory(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"a size such as 2GB is expected, got {text!r}") from error
    return text


def jobs(text: str) -> int:
    """A number of threads."""
    try:
        value = int(text)
    except ValueError:
        value = 0
    if not value:
        raise argparse.ArgumentTypeError(f"a number of threads (-1: all cores) is expected, got {text!r}")
    return value


def positive(text: str) -> float:
    """A number above 0."""
    value = _number(text, "a positive number")
    if value <= 0:
        raise argparse.ArgumentTypeError(f"a positive number is expected, got {text!r}")
    return value


def not_negative(text: str) -> float:
    """A number, 0 or more."""
    value = _number(text, "a number, 0 or more,")
    if value < 0:
        raise argparse.ArgumentTypeError(f"a number, 0 or more, is expected, got {text!r}")
    return value


def effect_or_auto(text: str) -> float | str:
    """An effect, or auto: what batches of the reference differ among themselves."""
    return text if text == "auto" else not_negative(text)


def probability(text: str) -> float:
    """A number above 0, at most 1."""
    value = _number(text, "a number between 0 and 1")
    if not 0 < value <= 1:
        raise argparse.ArgumentTypeError(f"a number between 0 and 1 is expected, got {text!r}")
    return value
