"""One thing written in two ways: signs that cannot be seen, leading zeros, words for true and false.

What a reader cannot tell apart is the same: "Zürich" has two spellings in Unicode, signs without width come
with copied text, blanks with columns of fixed width. Capitals are seen, so they stay.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

# Soft hyphen, joiners and marks of direction, byte order mark.
_WITHOUT_WIDTH = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]")
_TRUTH = {
    **dict.fromkeys(("true", "t", "yes", "y"), "True"),
    **dict.fromkeys(("false", "f", "no", "n"), "False"),
}


def visible(text: str) -> str:
    r"""A text as it is seen: composed, without signs of no width, with single blanks.

    Examples
    --------
    >>> visible("Zu\u0308rich\u200b") == visible(" Zürich"), visible("a\u00a0 b")
    (True, 'a b')
    """
    if not text.isascii():
        text = _WITHOUT_WIDTH.sub("", unicodedata.normalize("NFC", text))
    return " ".join(text.split())


def seen_alike(names: Iterable[str]) -> dict[str, str]:
    r"""Names that look like another one, and the name that stands for all of them.

    Examples
    --------
    >>> seen_alike(["yes", "yes\u200b", " no"])
    {'yes\u200b': 'yes'}
    """
    spellings: dict[str, list[str]] = {}
    for name in names:
        spellings.setdefault(visible(name), []).append(name)
    return {
        name: seen
        for seen, own in spellings.items()
        if seen and len(set(own)) > 1
        for name in own
        if name != seen
    }


def joined_in_words(names: Iterable[str]) -> str:
    """What to say of names that were joined."""
    shown = ", ".join(dict.fromkeys(repr(visible(name)) for name in names))
    return f"spellings of {shown} that differ in signs which are not seen were taken as one"


def truth_values(names: Sequence[str]) -> dict[str, str]:
    """Words for true and false, as a column of booleans names them; nothing if there are others.

    Examples
    --------
    >>> truth_values(["YES", "no"]), truth_values(["yes", "perhaps"])
    ({'YES': 'True', 'no': 'False'}, {})
    """
    found = {name: _TRUTH.get(visible(name).casefold(), "") for name in names}
    return found if found and all(found.values()) else {}


def spelled_alike(names: Sequence[str]) -> list[str]:
    """Names that are the same but for capitals, the first such pair; often one thing typed twice.

    Examples
    --------
    >>> spelled_alike(["Yes", "no", "yes"])
    ['Yes', 'yes']
    """
    seen: dict[str, str] = {}
    for name in names:
        other = seen.setdefault(visible(name).casefold(), name)
        if other != name:
            return [other, name]
    return []


def zeros_restored(names: Sequence[str], present: NDArray[np.bool_]) -> dict[str, str]:
    """Codes that lost their leading zeros in some groups and kept them in others, with the zeros.

    Parameters
    ----------
    names : list of str
        The different codes.
    present : array of shape (n_names, n_groups)
        Which groups have which.

    Returns
    -------
    dict
        New names of the codes that lost zeros; nothing unless those with zeros are all equally long, and
        every group has its codes in one of the two ways.

    Examples
    --------
    >>> zeros_restored(["00501", "10001", "501"], np.array([[1, 0], [1, 1], [0, 1]], dtype=bool))
    {'501': '00501'}
    """
    plain = [name.strip() for name in names]
    widths = np.array([len(name) for name in plain])
    zeros = np.array([len(name) > 1 and name[0] == "0" for name in plain])
    if not zeros.any() or not all(name.isascii() and name.isdigit() for name in plain):
        return {}
    width = widths[zeros].max()
    padded = present[zeros].any(axis=0)
    short = ~zeros & (widths < width)
    if (
        widths.max() > width
        or not short.any()
        or present[short][:, padded].any()
        or (widths[zeros] < width).any()
    ):
        return {}
    return {names[place]: plain[place].zfill(width) for place in np.flatnonzero(short).tolist()}
