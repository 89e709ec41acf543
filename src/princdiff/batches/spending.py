"""How the error that is allowed for ever is spent on one look after another.

Whatever the looks have in common (they share a reference, and windows overlap), the chance that any of them
is wrong is at most the sum of their levels. The levels of an endless sequence add up to the whole, and fall
as slowly as 1 / (t log(t)^2): that of the hundredth look is about a thousandth of that of the first.
"""

from __future__ import annotations

import math

# Batches that are looked at together, each number with its part of the error: the last batch alone has half
# of it, since most changes are seen at once. Longer windows are looked at when half of them is new.
WINDOWS = (1, 2, 4, 8, 16, 32, 64)
_SINGLE = 0.5


def weight(look: int) -> float:
    """The part of the error that the look with this number, from 1, may spend; all of them add up to 1.

    Examples
    --------
    >>> round(weight(1), 3), round(sum(weight(look) for look in range(1, 1000)), 3)
    (0.369, 0.9)
    """
    return 1 / math.log2(look + 1) - 1 / math.log2(look + 2)


def looks(batches: int) -> list[tuple[int, float]]:
    """Windows that are looked at after so many batches, and the part of the error that each may spend.

    Examples
    --------
    >>> [window for window, part in looks(1)], [window for window, part in looks(8)]
    ([1], [1, 2, 4, 8])
    """
    found = []
    for window in WINDOWS:
        step = max(1, window // 2)
        if batches < window or batches % step:
            continue
        share = _SINGLE if window == 1 else (1 - _SINGLE) / (len(WINDOWS) - 1)
        found.append((window, share * weight((batches - window) // step + 1)))
    return found
