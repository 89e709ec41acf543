"""What goes to a screen: names without control characters, which a terminal would obey; short reprs."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

_LONGEST = 60


def printable(text: object) -> str:
    r"""The text with control and format characters spelled out, so that none reaches the terminal.

    Parameters
    ----------
    text : object
        What will be printed.

    Returns
    -------
    str

    Examples
    --------
    >>> print(printable("a\x1b[31mb\nc"))
    a\x1b[31mb\nc
    """
    text = str(text)
    if text.isprintable():
        return text
    return "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in text)


def short_repr(thing: object) -> str:
    """A dataclass in one line: its numbers and words, and of arrays and tables only the size.

    Parameters
    ----------
    thing : dataclass
        What to show; classes take this as their ``__repr__``.

    Returns
    -------
    str

    Examples
    --------
    >>> import numpy as np
    >>> from dataclasses import dataclass
    >>> @dataclass(repr=False)
    ... class Found:
    ...     pvalue: float
    ...     null: np.ndarray
    ...     __repr__ = short_repr
    >>> Found(0.05, np.zeros(999))
    Found(pvalue=0.05, null=<array (999,)>)
    """
    parts = ", ".join(f"{field.name}={_short(getattr(thing, field.name))}" for field in fields(thing))  # type: ignore[arg-type]
    return f"{type(thing).__name__}({parts})"


def _short(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    shape = getattr(value, "shape", None)
    if shape:
        return f"<{'table' if hasattr(value, 'columns') else 'array'} {tuple(map(int, shape))}>"
    if isinstance(value, dict | list | tuple):
        text = repr(value)
        return text if len(text) <= _LONGEST else f"<{type(value).__name__} of {len(value)}>"
    text = repr(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 4]}...{text[-1]}"
