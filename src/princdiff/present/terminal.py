"""A result as text for a terminal: what fits is shown, what does not is shortened, colours only where seen.

Names of features and groups come out of users' files. They may be long, wide or hold control characters that
a terminal would obey, so everything passes through `printable` before colours are added.
"""

from __future__ import annotations

import os
import re
import shutil
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
_SHOWN_PAIRS = 5
# Widths of names and of what changed: what is needed, what is enough.
_LEAST_NAME, _GOOD_NAME = 12, 36
_LEAST_CHANGE = 16
_BAR = 10
_GAP = "  "
_HARD = "\N{NO-BREAK SPACE}"
_UNBROKEN = re.compile(r" = |\d %|→ |\bexit code |(?<= )[+-]\d\.\d\d ")
# How messages of the library call an argument, and how the command line does.
_OPTIONS = (
    (re.compile(r"\b(missing|dates|permute|error|scale)='(\w+)'"), r"--\1 \2"),
    (re.compile(r"\bcertify=True\b"), "--certify"),
    (re.compile(r"\bsample_weight=|(?<![-\w])weights="), "--sample-weight"),
    (re.compile(r"\b(n|time|random)_(permutations|features|components|jobs|budget|state)="), r"--\1-\2 "),
    (re.compile(r"(?<![-\w])(features|exclude|groups|blocks|covariates)="), r"--\1"),
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
    command_line : bool
        Whether arguments are called as the command line calls them.
    """

    width: int = 80
    colour: bool = False
    drawn: bool = True
    command_line: bool = False

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
        # "p = 0.01", "83 %" and "→ 26 %" are read as one word, and stay in one line.
        text = printable(text)
        if self.command_line:
            text = in_options(text)
        text = _UNBROKEN.sub(lambda match: match[0].replace(" ", _HARD), text)
        return [line.replace(_HARD, " ") for line in wrapped(text, min(self.width, _PROSE), indent)]


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


def wrapped(text: str, width: int, indent: str = "") -> list[str]:
    """A paragraph in lines of at most so many columns; letters that take two are counted as two.

    Examples
    --------
    >>> wrapped("one two 日本語の列 three", 9, indent="  ")
    ['one two', '  日本語', '  の列', '  three']
    """
    lines, line = [], ""
    for word in text.split(" "):
        while True:
            joined = f"{line} {word}" if line.strip() else line + word
            if columns_of(joined) <= width:
                line = joined
                break
            if line.strip():
                lines.append(line)
                line = indent
                continue
            # A word that is wider than a line is cut where the line ends; at least one letter is taken.
            head = _taken(word, width - columns_of(line)) or word[:1]
            lines.append(line + head)
            line, word = indent, word[len(head) :]
    return [*lines, line] if line.strip() or not lines else lines


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

    lines = [screen.bold(line) for line in screen.prose(wording.headline(result))]
    lines.append("")
    if result.pvalue > wording.LEVEL:
        lines += screen.prose("Columns by the size of their difference, which may well be chance:")
    lines += column_lines(result, screen)
    lines += relation_lines(result, screen)
    lines.append("")
    groups = zip(wording.group_names(result), result.groups.values(), strict=True)
    sizes = ", ".join(f"{shorten(printable(name), 40)}: {size} rows" for name, size in groups)
    n_columns, n_features = len(result.columns), len(result.table)
    features = f" as {n_features} features" if n_features != n_columns else ""
    facts = [f"Compared: {sizes}; {n_columns} column{'s' if n_columns != 1 else ''}{features}."]
    facts += [printable(line) for line in wording.witness_sentences(result)]
    if len(result.contrasts) > 1:
        facts += [printable(wording.contrast_sentence(result, part)) for part in result.contrasts]
    else:
        facts.append(direction_sentence(result))
    facts += wording.components_sentences(result)
    facts += [wording.certainty(result), wording.test_sentence(result), wording.selection_sentence(result)]
    facts += [str(result.parameters.get("why_divergence") or "")]
    for fact in filter(None, facts):
        lines += screen.prose(fact)
    for note in notes:
        first, *rest = screen.prose(f"Note: {note}", indent=" " * 6)
        lines += [screen.paint("Note:", "33") + first[5:], *rest]
    return lines if screen.drawn else [line.replace("→", "->") for line in lines]


def direction_sentence(result: DifferenceResult) -> str:
    """The weights of the direction, the largest first."""
    frame = result.table[result.table["weight"] != 0]
    if frame.empty:
        return "No direction tells the groups apart."
    order = frame["weight"].abs().sort_values(ascending=False, kind="stable").index
    shown = [
        f"{frame.at[i, 'weight']:+.2f} {shorten(printable(frame.at[i, 'feature']), 40)}" for i in order[:6]
    ]
    more = f", and {len(frame) - 6} more" if len(frame) > 6 else ""
    unshared = ""
    if frame["share"].isna().all():
        name = str(result.parameters.get("divergence") or "this divergence").replace("_", " ")
        unshared = f" {name.capitalize()} does not depend on scale, so shares are not defined."
    return f"Direction: {', '.join(shown)}{more} (of the scaled features).{unshared}"


def column_lines(result: DifferenceResult, screen: Screen) -> list[str]:
    """The columns of the user's table: those that differ, or the largest differences where none was shown."""
    from princdiff.result import wording
    from princdiff.result.columns import MOST_ARROWS

    frame = result.columns
    chosen = frame[frame["selected"]]
    shown = (chosen if len(chosen) else frame.sort_values("effect", ascending=False, kind="stable")).head(
        _SHOWN
    )
    if shown.empty:
        return ["No column was compared."]
    lines = drawn_table(_column_columns(shown, screen), screen)
    hidden = len(chosen) - len(shown)
    remarks = [f"{screen.dots} and {hidden} more that differ"] if hidden > 0 else []
    names = wording.group_names(result)
    if len(names) <= MOST_ARROWS:
        remarks.append(f"from {' to '.join(shorten(printable(name), 30) for name in names)}")
    if "adjusted p" in lines[0]:
        remarks.append("adjusted p: adjusted for the number of columns looked at")
    return lines + [screen.dim(line) for line in (screen.prose("; ".join(remarks)) if remarks else [])]


def _column_columns(shown: pd.DataFrame, screen: Screen) -> list[Column]:
    """Names, what changed and its size; then, as far as there is room, p-value, alone or not, and kind."""
    names = [printable(name) for name in shown["column"]]
    changes = [printable(change) for change in shown["change"]]
    effect = Column("size", [f"{value:.2f} sd" for value in shown["effect"]], right=True)
    kind = Column("kind", [str(kind) for kind in shown["kind"]])
    differs = Column("differs", [_differs(row) for row in shown.to_dict("records")], paint=_yes_colour)
    pvalue = Column("adjusted p", [_known(p, ".2g") for p in shown["pvalue"]], right=True)
    optional = [pvalue] if shown["pvalue"].notna().any() else []
    # Where all differ by themselves there is nothing to tell apart.
    optional += [differs] if set(differs.cells) != {"alone"} else []
    optional += [kind]
    longest = max(len("column"), *map(columns_of, names))
    # Of several levels the first must be read whole; of a mean its change in percent may go.
    wanted = max(_LEAST_CHANGE, *(columns_of(_brief(change)) for change in changes))
    while True:
        room = screen.width - _width([effect, *optional]) - len(_GAP)
        if not optional or room >= min(longest, _GOOD_NAME) + wanted:
            break
        optional.pop()
    name_width = min(longest, max(_LEAST_NAME, room - wanted, _GOOD_NAME if room > 80 else 0))
    room -= name_width
    name = Column("column", [shorten(name, name_width, screen.dots) for name in names])
    if room < _LEAST_CHANGE:
        return [name, effect]
    change = Column("what changed", [clipped(change, room, screen.dots) for change in changes])
    bars = Column("", [bar(value / max(shown["effect"].max(), 1e-9), _BAR) for value in shown["effect"]])
    room -= change.width
    before = [kind] if any(one is kind for one in optional) else []
    after = [one for one in (differs, pvalue) if any(one is chosen for chosen in optional)]
    drawn = [bars] if screen.drawn and room >= _BAR + len(_GAP) else []
    return [name, *before, change, effect, *drawn, *after]


def _brief(change: str) -> str:
    """The part of what changed that must not be cut."""
    return change.split("; ")[0].split(", ")[0].split(" (")[0]


def clipped(text: str, width: int, mark: str = "…") -> str:
    """What changed, cut after whole parts where it is too long.

    Examples
    --------
    >>> clipped("gold 2 % → 10 %, free 40 % → 20 %", 20)
    'gold 2 % → 10 %'
    >>> clipped("mean 0.795 → 2.19 (+176 %)", 20)
    'mean 0.795 → 2.19'
    """
    for part in ("; ", ", ", " ("):
        while columns_of(text) > width and part in text:
            text = text.rpartition(part)[0]
    return text if columns_of(text) <= width else _taken(text, max(0, width - len(mark))) + mark


def _differs(row: dict[Any, Any]) -> str:
    if not row["selected"]:
        return "-"
    return "alone" if str(row["reason"]).startswith("alone") else "together"


def relation_lines(result: DifferenceResult, screen: Screen) -> list[str]:
    """Pairs that go together differently."""
    from princdiff.result import wording

    pairs = wording.named_pairs(result).head(_SHOWN_PAIRS)
    if pairs.empty:
        return []
    texts = [
        wording.correlations([float(row[f"dependence {group}"]) for group in result.groups])
        for row in pairs.to_dict("records")
    ]
    groups = [
        Column(shorten(printable(name), 16, screen.dots), [row[place] for row in texts], right=True)
        for place, name in enumerate(wording.group_names(result))
    ]
    pvalue = Column("adjusted p", [_known(p, ".2g") for p in pairs["pvalue"]], right=True)
    names = {side: [printable(name) for name in pairs[side]] for side in ("first", "second")}
    lowest = [min(row, key=float) for row in texts]
    highest = [max(row, key=float) for row in texts]
    span = [Column("lowest", lowest, right=True), Column("highest", highest, right=True)]
    # On a narrow screen the p-values give way first, then the groups.
    for numbers in ([*groups, pvalue], groups, [*span, pvalue], span):
        room = screen.width - _width(numbers) - len(_GAP)
        if room >= 2 * _LEAST_NAME:
            break
    longest = {side: max(len(side), *map(columns_of, own)) for side, own in names.items()}
    first = min(longest["first"], max(room // 2, room - longest["second"]))
    widths = {"first": first, "second": room - first}
    columns = [
        Column(side, [shorten(name, max(4, widths[side]), screen.dots) for name in own])
        for side, own in names.items()
    ]
    total = len(wording.selected_relations(result)) - len(pairs)
    words = f"{screen.dots} and {total} more pair{'s' if total > 1 else ''}"
    return [
        "",
        *screen.prose("These go together differently (correlations in each group):"),
        *drawn_table([*columns, *numbers], screen),
        *([screen.dim(words)] if total > 0 else []),
    ]


def _width(columns: Sequence[Column]) -> int:
    return sum(column.width + len(_GAP) for column in columns)


def _known(value: float, form: str) -> str:
    return format(value, form) if value == value else "-"


def _yes_colour(cell: str) -> str:
    return "2" if cell == "-" else "32"


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
