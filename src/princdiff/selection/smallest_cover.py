"""The fewest columns that touch every change: a minimum vertex cover, with a proof of how few there can be.

Whatever explains the differences must touch each of them. So the size of the smallest cover bounds from below
how many columns changed, as surely as the changes are known. An integer programme finds it exactly within
moments for real tables; where time runs out, what it has proved until then is the bound, and the best cover
known, or a greedy one, is the answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

# Seconds for the integer programme. Tables of 500 columns with 20 000 changed pairs drawn at random are the
# hardest there are: no more than a bound is known of them then. Real changes have hubs, and take
# milliseconds.
_SECONDS = 3.0
# All preferences together weigh less than one column, so they decide between covers of one size only.
_PREFERENCES = 0.4


class Cover(NamedTuple):
    """Places that touch every edge.

    Attributes
    ----------
    places : list of int
        The cover, ascending.
    least : int
        No cover has fewer.
    """

    places: list[int]
    least: int


def smallest_cover(edges: Sequence[Sequence[int]], preference: ArrayLike, seconds: float = _SECONDS) -> Cover:
    """The smallest set of places that has a member of every edge.

    Parameters
    ----------
    edges : list of lists of int
        Places, at least one each.
    preference : array of shape (n_places,)
        Between covers of one size that with the larger sum of these is taken. Not negative.
    seconds : float
        What the search may take.

    Returns
    -------
    Cover

    Examples
    --------
    >>> smallest_cover([(0, 1), (0, 2), (3, 4)], [0, 0, 0, 1, 2])
    Cover(places=[0, 4], least=2)
    """
    edges = sorted({tuple(sorted(set(edge))) for edge in edges})
    # An edge of one place leaves no choice, and touches others: thousands of genes have no other edges.
    forced = {edge[0] for edge in edges if len(edge) == 1}
    edges = [edge for edge in edges if not forced & set(edge)]
    if not edges:
        return Cover(sorted(forced), len(forced))
    places = np.array(sorted({place for edge in edges for place in edge}))
    members = np.searchsorted(places, np.concatenate([np.array(edge) for edge in edges]))
    rows = np.repeat(np.arange(len(edges)), [len(edge) for edge in edges])
    touches = sp.csr_matrix((np.ones(len(rows)), (rows, members)), shape=(len(edges), len(places)))
    wanted = np.asarray(preference, dtype=np.float64)[places]
    cost = 1 - _PREFERENCES * wanted / max(wanted.sum(), 1e-300)
    found, least = _programme(touches, cost, seconds)
    greedy = _greedy(touches, cost)
    chosen = greedy if found is None or cost[greedy].sum() < cost[found].sum() else found
    return Cover(sorted({*forced, *places[chosen].tolist()}), least + len(forced))


def _programme(
    touches: sp.csr_matrix, cost: NDArray[np.float64], seconds: float
) -> tuple[NDArray[np.intp] | None, int]:
    """The cover of the integer programme, None if time ran out before there was one, and what it proved."""
    # Here, not above: few comparisons need it, and it takes longer to import than they take.
    from scipy.optimize import Bounds, LinearConstraint, milp

    found = milp(
        cost,
        integrality=np.ones(len(cost)),
        bounds=Bounds(0, 1),
        constraints=LinearConstraint(touches, lb=1),
        options={"time_limit": seconds, "mip_rel_gap": 0.0},
    )
    bound = found.fun if found.status == 0 else getattr(found, "mip_dual_bound", None)
    least = 1 if bound is None or not np.isfinite(bound) else max(1, int(np.ceil(bound - 1e-6)))
    return (None if found.x is None else np.flatnonzero(found.x > 0.5)), least


def _greedy(touches: sp.csr_matrix, cost: NDArray[np.float64]) -> NDArray[np.intp]:
    """The place that touches most of what is left, again and again; then those that are not needed go."""
    by_place = touches.tocsc()
    left = np.ones(touches.shape[0], dtype=bool)
    chosen: list[int] = []
    while left.any():
        best = int(np.argmax((by_place.T @ left) / cost))
        chosen.append(best)
        left[by_place[:, [best]].indices] = False
    times = by_place[:, chosen].sum(axis=1).A1 if chosen else np.zeros(0)
    for place in reversed(chosen[:]):
        own = by_place[:, [place]].indices
        if (times[own] >= 2).all():
            times[own] -= 1
            chosen.remove(place)
    return np.array(sorted(chosen), dtype=np.intp)
