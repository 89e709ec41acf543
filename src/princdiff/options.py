"""Every option of `compare`: its name, what it may be, its default, what is said of it, and its flag.

This is the only list. `compare` repeats names, types and defaults in its signature, where editors and type
checkers look for them, and a test holds it to this one; its docstring, `Config`, the checks, the command line
and the messages that name an option are made from here.
"""

from __future__ import annotations

import difflib
import inspect
import shlex
import textwrap
import typing
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, TypedDict, TypeVar

from princdiff.data import parameters
from princdiff.data.parameters import Choice, Data, DivergenceRule, Either, Flag, Rule, Whole

Documented = TypeVar("Documented", bound=Any)
Missing = Literal["error", "impute", "drop"]
Dates = Literal["skip", "parts"]
Permute = Literal["auto", "within", "whole"]
ErrorRate = Literal["fwer", "fdr"]


_UNSAID = Data()


@dataclass(frozen=True)
class Option:
    """What is known of an option, beside its name and its type.

    Attributes
    ----------
    default : object
        Its default.
    text : str
        What it does, for docstrings.
    kind : str
        Its type in docstrings; that of a choice or a flag is known.
    rule : Rule
        What it may be; that of a choice or a flag is known, and names with one meaning everywhere have theirs
        in `parameters.RULES`.
    flag : str
        Help of its flag on the command line; empty where it has none.
    value : str
        What stands for its value there.
    names : tuple of str
        What the flag is called, if not like the option.
    """

    default: Any
    text: str
    kind: str = ""
    rule: Rule = _UNSAID
    flag: str = ""
    value: str = "HOW"
    names: tuple[str, ...] = ()


class ConfigRule:
    """A `Config` or None."""

    words = "a princdiff.Config or None"

    def allows(self, value: Any) -> bool:
        """Whether a value may be given."""
        return value is None or isinstance(value, Config)


class ConfigOptions(TypedDict, total=False):
    """Fields of `Config` by their names, which may be given beside the other options as well."""

    memory: int | str | None
    time_budget: float | None
    checkpoint: str | Path | None
    n_jobs: int | None
    progress: bool
    certify: bool | Literal["auto"]
    dates: Dates
    strict: bool
    min_rows: int | None
    show_rows: int


class PassedOn(ConfigOptions, total=False):
    """Options of `compare` that others pass on, which have groups and references of their own."""

    features: Annotated[
        str | Sequence[str] | None,
        Option(
            None,
            "Columns to compare; default all.",
            "str or list of str",
            flag="columns to compare; quote names with a comma: '\"a,b\",c'",
            value="A,B,C",
        ),
    ]
    exclude: Annotated[
        str | Sequence[str] | None,
        Option(
            None, "Columns to leave out.", "str or list of str", flag="columns to leave out", value="A,B,C"
        ),
    ]
    n_features: Annotated[
        int | Literal["auto"],
        Option(
            "auto",
            'Features that the direction may use; "auto": chosen by held-out divergence.',
            'int or "auto"',
            flag="features that the direction may use; default auto: chosen on held-out rows",
            value="K|auto",
        ),
    ]
    n_components: Annotated[
        int | Literal["auto"],
        Option(
            1,
            'Directions in succession, each orthogonal to those before; "auto": as many as differ.',
            'int or "auto"',
            flag="directions in succession (default 1); auto: as many as differ",
            value="K|auto",
            names=("n-components", "components"),
        ),
    ]
    divergence: Annotated[
        Any,
        Option(
            "auto",
            'What "different" means for two columns of numbers, see `princdiff.divergences.available`. '
            '"auto": the squared Wasserstein distance where all features are continuous, the energy '
            "distance otherwise.",
            "str, Divergence or callable",
            DivergenceRule(auto=True),
            flag='what "different" means: auto, energy, ...; an unknown name lists them',
            value="NAME",
        ),
    ]
    scale: Annotated[
        Literal["pooled", "within"] | None,
        Option(
            "pooled",
            "Scaling of the features, see `princdiff.PDA`.",
            '{"pooled", None, "within"}',
            flag="divide by the sd: pooled (default), none, within (of each group)",
        ),
    ]
    n_permutations: Annotated[
        int,
        Option(
            999,
            "Permutations; 0 leaves out the test.",
            "int",
            Whole(0),
            flag="permutations of the test (default 999); 0 skips the test",
            value="N",
            names=("n-permutations", "permutations"),
        ),
    ]
    quick: Annotated[
        bool,
        Option(
            False,
            "A first answer: at most 199 permutations, and single columns only, without their relations, "
            "the test of the other columns, stability and contrasts. A note says so.",
            flag="a first answer: few permutations, columns one by one",
        ),
    ]
    blocks: Annotated[
        Any,
        Option(
            None,
            "Column that says which rows belong together, or a label for each row: the two visits of a "
            "patient, the rows of a hospital, the cells of a donor. The test then permutes rows inside "
            "their block or whole blocks, see ``permute``, instead of treating rows as independent.",
            "str or array of shape (n_rows,)",
            flag="column of pairs, strata or donors",
            value="COL",
        ),
    ]
    permute: Annotated[
        Permute,
        Option(
            "auto",
            'Whether rows are permuted inside their block, or whole blocks; "auto": whole where a block '
            "lies in one group, inside it where it has rows of several.",
            flag="permute rows within their block, or whole blocks; default auto",
        ),
    ]
    covariates: Annotated[
        Any,
        Option(
            None,
            "Columns at equal values of which groups are compared: test, names, means and differences are "
            "adjusted for them.",
            "str, list of str or array",
            flag="columns to adjust for: groups are compared at equal values of them",
            value="A,B,C",
        ),
    ]
    sample_weight: Annotated[
        Any,
        Option(
            None,
            "Row weights.",
            "str or array of shape (n_rows,)",
            flag="column of row weights",
            value="COL",
            names=("sample-weight", "weights"),
        ),
    ]
    missing: Annotated[
        Missing,
        Option(
            "error",
            "What to do with missing values: an error, filled and marked, or their rows left out, as are "
            "rows without a group.",
            flag="missing values: error (default), impute (fill and mark), drop (their rows)",
        ),
    ]
    error: Annotated[
        ErrorRate,
        Option(
            "fwer",
            "What is controlled when columns are named: the chance of any false one, or the expected share "
            "of false ones.",
            flag="error rate of the columns named: fwer (default), fdr (allows a few false)",
            value="RATE",
        ),
    ]
    random_state: Annotated[
        Any,
        Option(
            0,
            "Seed.",
            "int, RandomState, Generator or None",
            flag="seed (default 0)",
            value="N",
            names=("seed", "random-state"),
        ),
    ]
    config: Annotated[
        Config | None,
        Option(
            None,
            "How it is run, and what is rarely asked for. A field may also be given by name: ``n_jobs=2``.",
            "Config",
            ConfigRule(),
        ),
    ]


class CompareOptions(PassedOn, total=False):
    """What `compare` may be asked beside its tables."""

    groups: Annotated[
        Any,
        Option(
            None,
            "Column that holds the groups, or a label for each row.",
            "str or array of shape (n_rows,)",
            flag="the column of one file that holds the groups",
            value="COL",
        ),
    ]
    reference: Annotated[
        Any,
        Option(
            None,
            "The group that the others are compared with: changes are told from it to the other. Default: "
            'the first table, or the first group, which is one called "control", "before" or the like, or '
            "else the first category, number or name.",
            "str or number",
            flag="the group that the others are compared with",
            value="GROUP",
        ),
    ]


@dataclass(frozen=True, kw_only=True)
class Config:
    """How a comparison is run, and what is rarely asked for.

    Parameters
    ----------
    {options}

    Examples
    --------
    >>> from princdiff import Config
    >>> Config(memory="2GB", n_jobs=2).memory
    '2GB'
    >>> Config(min_rows=0)
    Traceback (most recent call last):
    ...
    ValueError: min_rows must be a positive whole number (up to 100000000) or None, got 0
    """

    memory: Annotated[
        int | str | None,
        Option(
            None,
            'Budget of memory for the process, such as "2GB". Files and rows out of core that would not fit '
            "are compared by sums over chunks of their rows, made where they are; see `princdiff.profile`.",
            "int or str",
            flag="budget, such as 2GB: parquet files that do not fit stay on disk",
            value="SIZE",
        ),
    ] = None
    time_budget: Annotated[
        float | None,
        Option(
            None,
            "Seconds after which remaining steps are shortened or left out. The result then depends on the "
            "machine, and says what was cut.",
            "float",
            flag="shorten or skip steps after this time, and say so",
            value="SEC",
        ),
    ] = None
    checkpoint: Annotated[
        str | Path | None,
        Option(
            None,
            "File in which the direction, the test and the selection are kept as each is done. The same "
            "call goes on from it after an interruption and gives the same result; ``random_state`` must be "
            "a number.",
            "str or Path",
            flag="keep finished steps here; the same command resumes from them",
            value="FILE",
        ),
    ] = None
    n_jobs: Annotated[
        int | None,
        Option(
            None,
            "Threads. The result does not depend on it.",
            "int",
            flag="threads; -1 for all cores",
            value="N",
            names=("n-jobs", "jobs"),
        ),
    ] = None
    progress: Annotated[
        bool,
        Option(
            False,
            "Show what is being done, and what single columns say before the rest is worked out.",
        ),
    ] = False
    certify: Annotated[
        bool | Literal["auto"],
        Option(
            "auto",
            'Bound the best possible divergence; "auto": where that is cheap.',
            '{"auto", True, False}',
            flag="bound the best possible direction even where that takes long",
        ),
    ] = "auto"
    dates: Annotated[
        Dates,
        Option(
            "skip",
            "Columns of dates and times: left out and named, or compared by year, month, weekday, hour and "
            "days since the first.",
            flag="dates: skip (default), parts (year, month, weekday, hour, days)",
        ),
    ] = "skip"
    strict: Annotated[
        bool,
        Option(
            False,
            "Columns that cannot be compared are an error, not a warning.",
            flag="a column that cannot be compared is an error, not a note",
        ),
    ] = False
    min_rows: Annotated[
        int | None,
        Option(
            None,
            "A group with fewer rows is an error: of a table cut short nothing can be shown.",
            "int",
            Either(Whole(1), None),
            flag="refuse a table or group with fewer rows, with exit code 2",
            value="N",
        ),
    ] = None
    show_rows: Annotated[
        int,
        Option(
            0,
            "Keep this many typical rows of each group, and as many that lie furthest on the other side, "
            "for `DifferenceResult.typical_rows` and the page. By default a result holds none of the data.",
            "int",
            Whole(0),
            flag="show N typical rows of each group, and N that look like another group's",
            value="N",
        ),
    ] = 0

    def __post_init__(self) -> None:
        parameters.check(vars(self), **{name: option.rule for name, option in table(Config).items()})


@cache
def table(of: type) -> dict[str, Option]:
    """The options that a class declares, with their rules.

    Examples
    --------
    >>> table(Config)["dates"].rule.words, table(CompareOptions)["n_permutations"].default
    ("one of 'skip', 'parts'", 999)
    """
    hints = typing.get_type_hints(of, include_extras=True)
    said = {name: typing.get_args(hint) for name, hint in hints.items()}
    return {
        name: _completed(name, *parts)
        for name, parts in said.items()
        if parts and isinstance(parts[-1], Option)
    }


def _completed(name: str, kind: Any, option: Option) -> Option:
    """With the rule and the kind that its type or its name already say."""
    words, rule = option.kind, option.rule
    if typing.get_origin(kind) is Literal:
        choices = typing.get_args(kind)
        words = words or f"{{{', '.join(map(_shown, choices))}}}"
        rule = Choice(*choices) if rule is _UNSAID else rule
    elif kind is bool:
        words, rule = "bool", Flag()
    elif rule is _UNSAID:
        rule = parameters.RULES[name]
    return replace(option, kind=words, rule=rule)


def _shown(value: object) -> str:
    return f'"{value}"' if isinstance(value, str) else repr(value)


def described(documented: Documented) -> Documented:
    """Put what is said of the options where the docstring has the line ``{options}``.

    Parameters
    ----------
    documented : function or class
        `Config`, or what takes the options of `compare`.

    Returns
    -------
    function or class
        The same object.
    """
    of = table(Config if documented.__name__ == "Config" else CompareOptions)
    lines = []
    for name in inspect.signature(documented).parameters:
        if name not in of:
            continue
        known = of[name]
        usual = "optional" if known.default is None else f"default={_shown(known.default)}"
        lines += [f"{name} : {known.kind}, {usual}", textwrap.indent(textwrap.fill(known.text, 100), "    ")]
    text = textwrap.indent("\n".join(lines), "    ")
    documented.__doc__ = documented.__doc__.replace("    {options}", text)
    return documented


described(Config)


def settled(who: str, options: Mapping[str, Any], known: Collection[str] = ()) -> dict[str, Any]:
    """Options of `compare` that were checked, those of ``config`` beside the others.

    Fields of `Config` may stand among them, and count more than those of ``config``.

    Parameters
    ----------
    who : str
        The function that was given them.
    options : dict
        Those that were given.
    known : list of str, optional
        Those that it takes, where it does not take all.

    Returns
    -------
    dict

    Raises
    ------
    TypeError
        If there is no such option.

    Examples
    --------
    >>> options = settled("compare", {"exclude": "age", "n_jobs": 2, "config": Config(dates="parts")})
    >>> options["exclude"], options["n_jobs"], options["dates"]
    (['age'], 2, 'parts')
    """
    rules = {name: one.rule for name, one in table(CompareOptions).items()}
    options = folded(options)
    for name in options:
        if name not in (known or rules):
            there_are = [*(known or rules), *table(Config)]
            close = difflib.get_close_matches(name, there_are, n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(there_are)}"
            raise TypeError(f"{who} has no parameter {name!r}; {hint}")
    parameters.check(options, **rules)
    found = {**options, **vars(options.get("config") or Config())}
    for name in ("features", "exclude"):
        names = found.get(name)
        found[name] = [names] if isinstance(names, str) else names if names is None else list(names)
    return found


def folded(options: Mapping[str, Any]) -> dict[str, Any]:
    """The same options, fields of `Config` among them put into ``config``.

    Examples
    --------
    >>> folded({"scale": None, "n_jobs": 2})["config"].n_jobs
    2
    """
    fields = {name: value for name, value in options.items() if name in table(Config)}
    others = {name: value for name, value in options.items() if name not in fields}
    config = others.get("config")
    if fields and (config is None or isinstance(config, Config)):
        others["config"] = replace(config or Config(), **fields)
    return others


# How messages call an option --------------------------------------------------------------------------------

_flags_shown = False


def option(name: str, value: object = None) -> str:
    """An option in a message, with the value that is meant if there is one.

    Parameters
    ----------
    name : str
        The argument.
    value : object, optional
        Its value.

    Returns
    -------
    str

    Examples
    --------
    >>> option("missing", "impute"), option("exclude", ["a b"]), option("features")
    ("missing='impute'", "exclude=['a b']", 'features=')
    >>> option("dates", "parts")
    "dates='parts'"
    >>> with as_flags():
    ...     option("missing", "impute"), option("exclude", ["a b"]), option("min_rows", 5)
    ('--missing impute', "--exclude 'a b'", '--min-rows 5')
    """
    if not _flags_shown:
        return f"{name}={'' if value is None else repr(value)}"
    known = {**table(CompareOptions), **table(Config)}.get(name)
    flag = f"--{flag_names(name, known)[0]}"
    if value is None or value is True:
        return flag
    values = value if isinstance(value, Sequence) and not isinstance(value, str) else [value]
    return f"{flag} {shlex.quote(','.join(map(str, values)))}"


def flag_names(name: str, known: Option | None = None) -> tuple[str, ...]:
    """What the flag of an option is called, without its dashes; the first is shown."""
    return (known.names if known else ()) or (name.replace("_", "-"),)


@contextmanager
def as_flags() -> Iterator[None]:
    """Within this block messages are made for the command line."""
    global _flags_shown
    before, _flags_shown = _flags_shown, True
    try:
        yield
    finally:
        _flags_shown = before
