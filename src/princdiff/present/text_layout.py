"""Text that fits a terminal: shortened and wrapped words, bars, tables."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from princdiff.findings import ChangePart, in_full

if TYPE_CHECKING:
    from princdiff.present.screen import Screen

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
    >>> from princdiff.present.screen import Screen
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
