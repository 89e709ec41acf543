"""Which two of several groups a change is told by: those that differ most clearly.

The figures of a group of five rows lie far out by chance, and would stand for a change of which it says
nothing. So a difference of two groups counts beside its chance error.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple


class Apart(NamedTuple):
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


def clearest_groups(figures: Sequence[float], rows: Sequence[float] = ()) -> Apart | None:
    """The two groups that differ most clearly; None where no group has a figure.

    Parameters
    ----------
    figures : list of float
        A mean, a share or a quantile of each group; NaN where a group has none.
    rows : list of float, optional
        Rows of each group; default: all alike, which gives the lowest and the highest.

    Returns
    -------
    Apart or None

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
    best = Apart(0.0, known[0], known[0])
    for first, second in combinations(sorted(known, key=lambda place: figures[place]), 2):
        error = 1.0 / rows[first] + 1.0 / rows[second] if rows else 2.0
        clarity = (figures[second] - figures[first]) / math.sqrt(error)
        if clarity > best.clarity or best.low == best.high:
            best = Apart(clarity, first, second)
    return best
