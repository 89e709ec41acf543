"""Where text is shown, how wide it is and whether it takes colours; words, bars and tables that fit it."""

from __future__ import annotations

import os
import re
import shutil
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import IO

from princdiff.findings import ChangePart, in_full
from princdiff.printable import printable

# Longer lines of prose are hard to read, however wide the terminal.
_PROSE = 100
_PIPED = 100
_HARD = "\N{NO-BREAK SPACE}"
_UNBROKEN = re.compile(r" = |\d %|→ |\bexit code |(?<= )[+-]\d\.\d\d ")


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
        # "p = 0.01", "83 %" and "→ 26 %" are read as one word, and stay in one line.
        text = printable(text)
        text = _UNBROKEN.sub(lambda match: match[0].replace(" ", _HARD), text)
        return [line.replace(_HARD, " ") for line in wrapped(text, min(self.width, _PROSE), indent)]


def _writes(stream: IO[str], characters: str) -> bool:
    try:
        characters.encode(getattr(stream, "encoding", None) or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


# Text that fits a terminal: shortened and wrapped words, bars, tables.


GAP = "  "


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
    """A paragraph in lines of at most this many columns; letters that take two are counted as two.

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


@dataclass(frozen=True)
class TextColumn:
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


def drawn_table(columns: Sequence[TextColumn], screen: Screen) -> list[str]:
    """The lines of a table: a header and a line per entry.

    Examples
    --------
    >>> drawn_table([TextColumn("name", ["a", "b"]), TextColumn("size", ["1", "22"], right=True)], Screen())
    ['name  size', 'a        1', 'b       22']
    """
    widths = [column.width for column in columns]
    header = [_padded(c.title, width, c.right) for c, width in zip(columns, widths, strict=True)]
    lines = [screen.dim(GAP.join(header).rstrip())]
    for row in range(len(columns[0].cells)):
        cells = []
        for column, width in zip(columns, widths, strict=True):
            cell = column.cells[row]
            code = column.paint(cell)
            text = _padded(cell, width, column.right)
            cells.append(screen.paint(text, code) if code else text)
        lines.append(GAP.join(cells).rstrip())
    return lines


def clipped(change: Sequence[ChangePart], width: int, mark: str = "…") -> str:
    """What changed in a column, as many whole parts as fit; of the first perhaps not the per cent.

    Examples
    --------
    >>> parts = [ChangePart("gold 2 % → 10 %"), ChangePart("free 40 % → 20 %", apart=", ")]
    >>> clipped(parts, 20), clipped(parts, 40)
    ('gold 2 % → 10 %', 'gold 2 % → 10 %, free 40 % → 20 %')
    >>> clipped([ChangePart("mean 0.795 → 2.19", "+176 %")], 20)
    'mean 0.795 → 2.19'
    """
    for count in range(len(change), 0, -1):
        text = in_full(change[:count])
        if columns_of(text) <= width:
            return text
    text = change[0].text if change else ""
    return text if columns_of(text) <= width else _taken(text, max(0, width - len(mark))) + mark


def table_width(columns: Sequence[TextColumn]) -> int:
    """Characters that a table of these columns takes."""
    return sum(column.width + len(GAP) for column in columns)
