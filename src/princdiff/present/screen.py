"""Where text is shown: how wide it is, and whether it takes colours and other signs than plain letters."""

from __future__ import annotations

import os
import re
import shutil
from dataclasses import dataclass
from typing import IO

from princdiff.present.text_layout import wrapped
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
