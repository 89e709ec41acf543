"""Which two of several groups show a change: those that differ most clearly.

The figures of a group of five rows lie far out by chance, and would stand for a change of which it says
nothing. So a difference of two groups counts beside its chance error.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

# The lowest and the highest group are shown if their difference is this part as clear as that of any two.
_AS_CLEAR = 0.8


class ClearestGroups(NamedTuple):
    """Two groups.

    Attributes
    ----------
    clarity : float
        Their difference over its chance error, in the unit of the figures.
    low, high : int
        Places of the groups with the lower and with the higher figure.
    """

    clarity: float
    low: int
    high: int


def clearest_groups(figures: Sequence[float], rows: Sequence[float] = ()) -> ClearestGroups | None:
    """The lowest and the highest group, or others that differ far more clearly; None if none has a figure.

    Parameters
    ----------
    figures : list of float
        A mean, a share or a quantile of each group; NaN where a group has none.
    rows : list of float, optional
        Rows of each group; default: all alike, which gives the lowest and the highest.

    Returns
    -------
    ClearestGroups or None

    Examples
    --------
    >>> clearest_groups([8.0, 20.0, 35.0, 30.0], [5, 300, 200, 2000])[1:]
    (1, 2)
    >>> clearest_groups([8.0, 20.0, 35.0, 30.0])[1:]
    (0, 2)
    """
    known = [place for place, figure in enumerate(figures) if not math.isnan(figure)]
    if not known:
        return None
    order = sorted(known, key=lambda place: figures[place])

    def apart(low: int, high: int) -> ClearestGroups:
        error = 1.0 / rows[low] + 1.0 / rows[high] if rows else 2.0
        return ClearestGroups((figures[high] - figures[low]) / math.sqrt(error), low, high)

    outermost = apart(order[0], order[-1])
    best = max((apart(*pair) for pair in combinations(order, 2)), default=outermost)
    return outermost if outermost.clarity >= _AS_CLEAR * best.clarity else best
