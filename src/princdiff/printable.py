"""Names from data files may hold control characters, which a terminal would obey: they are spelled out."""

from __future__ import annotations


def printable(text: object, *, keep_lines: bool = False) -> str:
    r"""The text with control and format characters spelled out, so that none reaches the terminal.

    Parameters
    ----------
    text : object
        What will be printed.
    keep_lines : bool
        Whether line breaks stay.

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
    return "".join(
        sign
        if sign.isprintable() or (keep_lines and sign == "\n")
        else sign.encode("unicode_escape").decode()
        for sign in text
    )
