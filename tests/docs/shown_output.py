"""Whether an example gives what its page shows.

``...`` stands for anything and spaces count as one. Processors round differently, so that a number may be off
by one in its last digit shown, though never by more than a tenth of itself: 0.01 is not 0.02. Where a number
is not the one got, rounded, a warning says so even then: mostly the page is out of date.
"""

from __future__ import annotations

import doctest
import math
import re
import warnings

_NUMBER = re.compile(r"(?<![\w.])[-+]?(?:\d+\.\d*|\.?\d+)(?:[eE][-+]?\d+)?(?![\w])")
_LARGEST_PART = 0.1


class OutOfDate(UserWarning):
    """A number shown differs from the one got by no more than processors may differ."""


def matches(shown: str, got: str) -> bool:
    """Whether what was got is what a page shows."""
    shown, got = _words(shown), _words(got)
    pieces = shown.split("...")
    patterns = [re.escape(_NUMBER.sub("\0", piece)).replace("\0", "(\0)") for piece in pieces]
    numbers = _NUMBER.findall("\n".join(pieces))
    pattern = re.compile("^" + ".*?".join(patterns).replace("\0", r"\S+?") + "$", re.DOTALL)
    match = pattern.match(got)
    if match is None or not all(map(_close, numbers, match.groups())):
        return False
    stale = [f"{a}, not {b}" for a, b in zip(numbers, match.groups(), strict=True) if not _rounded(a, b)]
    if stale:
        warnings.warn(f"an example gives other last digits: {'; '.join(stale)}", OutOfDate, stacklevel=2)
    return True


class OutputChecker(doctest.OutputChecker):
    """Compares the output of a ``>>>`` example."""

    def check_output(self, want: str, got: str, optionflags: int) -> bool:
        """Whether an example gave what is shown below it."""
        return want == got or matches(want.replace("<BLANKLINE>", ""), got)


def _words(text: str) -> str:
    return " ".join(text.split())


def _close(shown: str, got: str) -> bool:
    """Equal up to one in the last digit shown, and to a tenth."""
    if shown == got:
        return True
    unit = _unit(shown)
    try:
        first, second = float(shown), float(got)
    except ValueError:
        return False
    if unit == 0:
        return first == second
    if _rounded(shown, got):
        return True
    return abs(first - second) <= min(1.001 * unit, _LARGEST_PART * max(abs(first), abs(second)))


def _rounded(shown: str, got: str) -> bool:
    """Whether the number shown is the one got, rounded."""
    return shown == got or math.isclose(float(shown), float(got), rel_tol=0, abs_tol=0.501 * _unit(shown))


def _unit(shown: str) -> float:
    """One in the last digit; 0 for a whole number, which is exact."""
    mantissa, _, exponent = shown.lower().partition("e")
    if "." not in mantissa and not exponent:
        return 0.0
    return 10.0 ** (int(exponent or 0) - len(mantissa.partition(".")[2]))
