"""A result as text for a terminal: what fits is shown, what does not is shortened, colours only where seen.

Names of features and groups come out of users' files. They may be long, wide or hold control characters that
a terminal would obey, so everything passes through `printable` before colours are added.
"""

from __future__ import annotations

import os
import re
import shutil
import textwrap
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any

from princdiff.printable import printable

if TYPE_CHECKING:
    import pandas as pd

    from princdiff.result import DifferenceResult

# Longer lines of prose are hard to read, however wide the terminal.
_PROSE = 100
_PIPED = 100
_SHOWN = 10
# Columns for bars and names: what is needed, what is good, what is enough.
_LEAST_BAR, _MORE_BAR = 6, 14
_LEAST_NAME, _GOOD_NAME, _LONG_NAME = 12, 36, 60
_GAP = "  "
_HARD = "\N{NO-BREAK SPACE}"
_UNBROKEN = re.compile(r"\bp = |\d %|\bexit code ")
_KINDS = {"location": "shift", "scale": "spread", "shape": "shape"}
# How messages of the library call an argument, and how the command line does.
_OPTIONS = (
    (re.compile(r"\bmissing='(\w+)'"), r"--missing \1"),
    (re.compile(r"\bcertify=True\b"), "--certify"),
    (re.compile(r"\bsample_weight=|(?<![-\w])weights="), "--weights"),
    (re.compile(r"(?<![-\w])(features|groups|blocks|covariates)="), r"--\1"),
)


@dataclass(frozen=True)
class Screen:
    """Where text goes: how wide it is, whether it knows colours, and characters beyond ASCII.

    Attributes
    ----------
    width : int
        Columns.
    colour : bool
        Whether escape codes are understood.
    drawn : bool
        Whether block characters can be written.
    """

    width: int = 80
    colour: bool = False
    drawn: bool = True

    @classmethod
    def of(cls, stream: IO[str], *, no_colour: bool = False) -> Screen:
        """What is known about a stream: a file gets no colours and a fixed width."""
        terminal = stream.isatty()
        plain = no_colour or bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"
        width = shutil.get_terminal_size((80 if terminal else _PIPED, 24)).columns
        return cls(max(40, width), terminal and not plain, _writes(stream, "█▏…"))

    @property
    def dots(self) -> str:
        """The mark of something left out."""
        return "…" if self.drawn else "..."

    def paint(self, text: str, code: str) -> str:
        """The text in a colour; unchanged where colours are not understood."""
        return f"\x1b[{code}m{text}\x1b[0m" if self.colour and text.strip() else text

    def bold(self, text: str) -> str:
        """What is read first."""
        return self.paint(text, "1")

    def dim(self, text: str) -> str:
        """What may be passed over."""
        return self.paint(text, "2")

    def prose(self, text: str, indent: str = "") -> list[str]:
        """A paragraph in lines that fit."""
        # "p = 0.01" and "83 %" are read as one word, and stay in one line.
        text = _UNBROKEN.sub(lambda match: match[0].replace(" ", _HARD), in_options(printable(text)))
        lines = textwrap.wrap(text, min(self.width, _PROSE), subsequent_indent=indent, break_on_hyphens=False)
        return [line.replace(_HARD, " ") for line in lines] or [""]


def _writes(stream: IO[str], characters: str) -> bool:
    try:
        characters.encode(getattr(stream, "encoding", None) or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


# Text -------------------------------------------------------------------------------------------------------


def in_options(text: str) -> str:
    """A message of the library, with arguments called as the command line calls them.

    Examples
    --------
    >>> in_options("fill them with missing='impute' or leave the columns out with features=")
    'fill them with --missing impute or leave the columns out with --features'
    """
    for pattern, option in _OPTIONS:
        text = pattern.sub(option, text)
    return text


def columns_of(text: str) -> int:
    """Columns that a text takes in a terminal: some letters take two, some none.

    Examples
    --------
    >>> columns_of("abc"), columns_of("日本"), columns_of("e\N{COMBINING ACUTE ACCENT}")
    (3, 4, 1)
    """
    if text.isascii():
        return len(text)
    return sum(map(_columns_of_sign, text))


def _columns_of_sign(sign: str) -> int:
    if unicodedata.combining(sign):
        return 0
    return 2 if unicodedata.east_asian_width(sign) in "WF" else 1


def shorten(text: str, width: int, mark: str = "…") -> str:
    """A name with its middle left out: long names tend to differ at their ends.

    Examples
    --------
    >>> shorten("worst concave points", 12)
    'worst…points'
    """
    if columns_of(text) <= width:
        return text
    room = max(0, width - len(mark))
    tail = _taken(text[::-1], (room + 1) // 2)[::-1]
    return _taken(text, room - columns_of(tail)).rstrip() + mark + tail.lstrip()


def _taken(text: str, width: int) -> str:
    used = 0
    for position, sign in enumerate(text):
        used += _columns_of_sign(sign)
        if used > width:
            return text[:position]
    return text


def _padded(text: str, width: int, right: bool = False) -> str:
    blanks = " " * max(0, width - columns_of(text))
    return blanks + text if right else text + blanks


def bar(part: float, width: int, drawn: bool = True) -> str:
    """A bar of up to ``width`` characters for a part between 0 and 1.

    Examples
    --------
    >>> bar(0.5, 5), bar(0.5, 6, drawn=False)
    ('██▌', '###')
    """
    part = min(max(part, 0.0), 1.0)
    if not drawn:
        return "#" * round(part * width)
    eighths = round(part * width * 8)
    return "█" * (eighths // 8) + ("", "▏", "▎", "▍", "▌", "▋", "▊", "▉")[eighths % 8]


def number(value: float) -> str:
    """A mean as short as it can be read.

    Examples
    --------
    >>> number(0.00012345), number(1234567.0), number(12.0), number(654.889)
    ('0.000123', '1.23e+06', '12', '655')
    """
    if value == 0 or 1e-4 <= abs(value) < 1e5:
        digits = 0 if abs(value) >= 1000 else None
        return f"{value:.0f}" if digits == 0 else f"{value:.3g}"
    return f"{value:.2e}"


# Tables -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Column:
    """One column of a table.

    Attributes
    ----------
    title : str
        Its header.
    cells : list of str
        Its entries.
    right : bool
        Whether entries are aligned at the right.
    paint : callable
        From an entry to the code of its colour, or "".
    """

    title: str
    cells: Sequence[str]
    right: bool = False
    paint: Callable[[str], str] = lambda cell: ""

    @property
    def width(self) -> int:
        """Columns of the widest entry."""
        return max(map(columns_of, (self.title, *self.cells)))


def drawn_table(columns: Sequence[Column], screen: Screen) -> list[str]:
    """The lines of a table: a header and a line per entry.

    Examples
    --------
    >>> drawn_table([Column("name", ["a", "b"]), Column("size", ["1", "22"], right=True)], Screen())
    ['name  size', 'a        1', 'b       22']
    """
    widths = [column.width for column in columns]
    header = [_padded(c.title, width, c.right) for c, width in zip(columns, widths, strict=True)]
    lines = [screen.dim(_GAP.join(header).rstrip())]
    for row in range(len(columns[0].cells)):
        cells = []
        for column, width in zip(columns, widths, strict=True):
            cell = column.cells[row]
            code = column.paint(cell)
            text = _padded(cell, width, column.right)
            cells.append(screen.paint(text, code) if code else text)
        lines.append(_GAP.join(cells).rstrip())
    return lines


# The result -------------------------------------------------------------------------------------------------


def answer(result: DifferenceResult, screen: Screen, *, notes: Sequence[str] = ()) -> list[str]:
    """The whole answer: what differs and how sure that is come first, how it was found last.

    Parameters
    ----------
    result : DifferenceResult
        What to tell.
    screen : Screen
        Where it goes.
    notes : list of str
        What was left out or changed.

    Returns
    -------
    list of str
        Lines.
    """
    # Here, not above: a message about a mistyped option must not wait for NumPy.
    from princdiff.result import wording

    certified = result.upper_bound > 0
    lines = [screen.bold(line) for line in screen.prose(wording.headline(result))]
    if certified:
        lines += screen.prose(wording.certainty(result))
    lines.append("")
    if result.pvalue > wording.LEVEL:
        lines += screen.prose("Where the groups differ most, which may well be chance:")
    lines += feature_table(result, screen)
    lines.append("")
    sizes = ", ".join(f"{shorten(printable(name), 40)} {size} rows" for name, size in result.groups.items())
    facts = [f"Compared: {sizes}; {len(result.table)} features.", *wording.components_sentences(result)]
    facts.append(wording.test_sentence(result))
    if not certified:
        facts.append(wording.certainty(result))
    facts.append(wording.selection_sentence(result))
    for fact in facts:
        lines += screen.prose(fact)
    for note in notes:
        first, *rest = screen.prose(f"Note: {note}", indent=" " * 6)
        lines += [screen.paint("Note:", "33") + first[5:], *rest]
    return lines


def feature_table(result: DifferenceResult, screen: Screen) -> list[str]:
    """The leading features: as many columns as the screen has room for."""
    frame = result.table
    leading = frame[(frame["weight"] != 0) | frame["selected"]]
    shown = leading.head(_SHOWN)
    if shown.empty:
        return ["No feature has a weight."]
    columns = _feature_columns(result, shown, screen)
    lines = drawn_table(columns, screen)
    hidden = len(leading) - len(shown)
    remarks = [f"{screen.dots} and {hidden} more with a weight or selected"] if hidden else []
    if [column.title for column in columns[6 : 6 + len(result.groups)]] == [
        column.title for column in _means(result, shown, "")
    ]:
        remarks.append("under the groups: their means")
    return lines + [screen.dim(line) for line in (screen.prose("; ".join(remarks)) if remarks else [])]


def _feature_columns(result: DifferenceResult, shown: pd.DataFrame, screen: Screen) -> list[Column]:
    """What fits: names that can be recognised first, then further columns, then longer names and bars."""
    names = [printable(name) for name in shown["feature"]]
    share = Column("share", [_percent(share) for share in shown["share"]], right=True)
    weight = Column(
        "weight", [f"{weight:+.3f}" for weight in shown["weight"]], right=True, paint=_sign_colour
    )
    kind = Column("kind", [_kind(row) for row in shown.to_dict("records")])
    selected = Column("selected", ["yes" if yes else "-" for yes in shown["selected"]], paint=_yes_colour)
    longest = max(len("feature"), *map(columns_of, names))
    after = [weight, kind, selected]
    room = screen.width - _width([share, *after]) - _LEAST_BAR - len(_GAP)
    if room < _LEAST_NAME:
        # A very narrow screen: the share is written as a number anyway.
        room += _LEAST_BAR + len(_GAP)
        if room < _LEAST_NAME:
            after, room = [weight, selected], room + _width([kind])
        name = Column("feature", [shorten(name, max(_LEAST_NAME, room), screen.dots) for name in names])
        return [name, share, *after]
    name_width = min(longest, room, _GOOD_NAME)
    room -= name_width
    for choices in _further_columns(result, shown):
        bundle = next((choice for choice in choices if _width(choice) <= room), [])
        after += bundle
        room -= _width(bundle)
    longer = min(longest, name_width + room, _LONG_NAME) - name_width
    name = Column("feature", [shorten(name, name_width + longer, screen.dots) for name in names])
    # Where shares are not defined, squared weights show what leads.
    leading = shown["share"].fillna(shown["weight"] ** 2)
    bars = _bars(leading, _LEAST_BAR + min(room - longer, _MORE_BAR), screen)
    return [name, share, bars, *after]


def _width(columns: Sequence[Column]) -> int:
    return sum(column.width + len(_GAP) for column in columns)


def _further_columns(result: DifferenceResult, shown: pd.DataFrame) -> list[list[list[Column]]]:
    """Columns for which there may be room, the most telling first; of each choice one bundle is shown."""
    choices = [[_means(result, shown, "mean "), _means(result, shown, "")]]
    if shown["pvalue"].notna().any():
        choices.append([[Column("adjusted p", [_known(p, ".2g") for p in shown["pvalue"]], right=True)]])
    if result.parameters.get("scale") == "pooled":
        alone = [f"{value**0.5:.2f} sd" for value in shown["divergence"].clip(lower=0)]
        choices.append([[Column("by itself", alone, right=True)]])
    if shown["stability"].notna().any():
        choices.append([[Column("stability", [_known(s, ".2f") for s in shown["stability"]], right=True)]])
    return choices


def _means(result: DifferenceResult, shown: pd.DataFrame, prefix: str) -> list[Column]:
    groups = [name for name in result.groups if f"mean {name}" in shown]
    return [
        Column(
            prefix + shorten(printable(name), 16),
            [number(value) for value in shown[f"mean {name}"]],
            right=True,
        )
        for name in groups
    ]


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %" if share == share else "-"


def _known(value: float, form: str) -> str:
    return format(value, form) if value == value else "-"


def _bars(shares: pd.Series, width: int, screen: Screen) -> Column:
    most = max(float(shares.max()), 1e-12)
    bars = [bar(share / most, width, screen.drawn) for share in shares]
    return Column("", bars, paint=lambda cell: "36" if cell else "")


def _kind(row: dict[Any, Any]) -> str:
    parts = {name: row[name] for name in _KINDS}
    return _KINDS[max(parts, key=lambda name: parts[name])] if sum(parts.values()) > 0 else "-"


def _sign_colour(cell: str) -> str:
    # Blue and yellow: the pair that every kind of colour vision tells apart. The sign is written too.
    return {"+": "34", "-": "33"}.get(cell[:1], "")


def _yes_colour(cell: str) -> str:
    return "32" if cell == "yes" else "2"


def judgement(scores: pd.DataFrame, screen: Screen) -> list[str]:
    """How far new rows are from each group."""
    several = scores["component"].nunique() > 1
    columns = [Column("group", [shorten(printable(name), 40) for name in scores["group"]])]
    if several:
        columns.insert(0, Column("component", scores["component"].astype(str).tolist()))
    columns += [
        Column("distance", [f"{value:.3f}" for value in scores["distance"]], right=True),
        Column("effect", [f"{value:.2f} sd" for value in scores["effect"]], right=True),
        Column("", ["closest" if yes else "" for yes in scores["closest"]], paint=lambda cell: "32"),
    ]
    return drawn_table(columns, screen)
