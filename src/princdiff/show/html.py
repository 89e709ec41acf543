"""What pages and pieces for notebooks are made of: text that is safe to show, templates, tables.

Notebooks bring style sheets of their own, light and dark, and some drop ``<style>`` elements: so every rule
of a piece stands in a ``style`` attribute, text and lines have the colour of the text around, and there are
no grounds.
"""

from __future__ import annotations

import base64
import hashlib
import re
import unicodedata
from collections.abc import Iterable, Sequence
from html import escape
from importlib.resources import files
from typing import Any

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from princdiff.show.plot_style import COLOURS

# Styles of cells, and of what is said quietly.
CELL = "text-align:left;vertical-align:top;padding:0.2em 0.9em 0.2em 0;white-space:normal"
NUMBER = "text-align:right;vertical-align:top;padding:0.2em 0.9em 0.2em 0;white-space:nowrap"
SOFT = "opacity:0.75;font-size:0.9em"
_NOT_NAMED = "#8d99a5"
_BIDI = set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f")
_TOGETHER = re.compile(r" (?=[%=])|(?<=[→=]) ")
_MINUS = re.compile(r"(?<![\w.-])-(?=\d)")


def visible(text: object) -> str:
    r"""Text without what a browser cannot show or what turns the text around it: controls, overrides.

    Examples
    --------
    >>> visible("a\x00b\u202ec") == "a\ufffdb\ufffdc"
    True
    """
    return "".join(
        "\ufffd" if character in _BIDI or unicodedata.category(character) in ("Cc", "Cs") else character
        for character in str(text).replace("\n", " ").replace("\t", " ")
    )


def unbroken(text: object) -> str:
    r"""Text in which "85 %" and "→ 32 %" stay in one line, with minus signs before numbers.

    Examples
    --------
    >>> unbroken("sex (85 % → 32 %)").split(" ")
    ['sex', '(85\xa0%', '→\xa032\xa0%)']
    >>> unbroken("from 2024-01 to -5")[-2:] == "\u22125"
    True
    """
    return _MINUS.sub("\u2212", _TOGETHER.sub("\u00a0", visible(text)))


def named(text: object) -> str:
    """A name that can be seen, whatever it is."""
    shown = visible(text)
    return shown if shown.strip() else "(no name)"


# Pages.


def page(template: str, scripts: Sequence[str] = (), **values: Any) -> str:
    """A page of one file, which runs its own scripts and nothing else, and needs no network.

    Parameters
    ----------
    template : str
        Its file.
    scripts : sequence of str
        Code, which the template gets as ``scripts``.
    **values
        What it shows; text is escaped.

    Returns
    -------
    str
        HTML.
    """
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    # Browsers hash a script with the line ends that they know, and its own end would close it.
    codes = [code.replace("\r\n", "\n").replace("</script", "<\\/script") for code in scripts]
    allowed = f"script-src {' '.join(map(_hash, codes))}; " if codes else ""
    return environment.from_string(shipped(template)).render(
        scripts=[Markup(code) for code in codes],
        style=Markup(shipped("page.css")),
        policy=f"default-src 'none'; {allowed}style-src 'unsafe-inline'; img-src data:",
        **values,
    )


def shipped(name: str) -> str:
    """The text of a file of this folder."""
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def _hash(code: str) -> str:
    digest = hashlib.sha256(code.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"


# Pieces for notebooks.


def piece(opening: str, body: str, last: str) -> str:
    """A sentence (HTML), a table or nothing, and where there is more (text)."""
    return (
        f'<div style="max-width:62em;text-align:left"><p style="margin:0 0 0.6em">{opening}</p>{body}'
        f'<p style="margin:0.4em 0 0;{SOFT}">{escape(last)}</p></div>'
    )


def table(heads: Iterable[tuple[str, str]], rows: Iterable[Sequence[str]]) -> str:
    """Rows of cells (HTML) below heads with the styles of their columns; an empty head is none."""
    heads = list(heads)
    styles = [style for _, style in heads]
    head = "".join(f'<th scope="col" style="{style};font-weight:600">{name}</th>' for name, style in heads)
    styled = (
        "".join(f'<td style="{style}">{cell}</td>' for style, cell in zip(styles, row, strict=True))
        for row in rows
    )
    body = "".join(f"<tr>{row}</tr>" for row in styled)
    head = f"<thead><tr>{head}</tr></thead>" if any(name for name, _ in heads) else ""
    style = "border-collapse:collapse;margin:0;font-size:0.95em"
    return f'<table style="{style}">{head}<tbody>{body}</tbody></table>'


def meter(effect: float, longest: float, strong: bool) -> str:
    """A bar for an effect, and its figure."""
    length = 4.0 * max(0.0, effect) / longest
    colour = COLOURS[0] if strong else _NOT_NAMED
    bar = f"display:inline-block;width:{length:.2f}em;height:0.65em;background:{colour}"
    room = "display:inline-block;width:4em;margin-right:0.5em"
    return f'<span style="{room}"><span style="{bar}"></span></span>{effect:.2f} sd'
