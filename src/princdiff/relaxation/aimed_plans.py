"""Plans that match two groups well along one direction and fairly along all others.

The plan along a direction leaves the other features to chance: each of them costs its whole variance in both
groups. A plan for a cost that has that direction and, with a smaller share, every feature gives up a little
along the direction and saves much elsewhere. So it bounds whole cones of sparse directions: many features in
their tails may be anything.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from princdiff.relaxation.group_rows import GroupRows
from princdiff.relaxation.sinkhorn import entropic_plan
from princdiff.relaxation.transport import exact_plan, squared_distances

Array = npt.NDArray[Any]

__all__ = ["AimedPlans"]

_EVERY = 6.0  # what all features together weigh in the cost, where each feature of the direction weighs one
_MOST_CELLS = 4_000_000  # pairs of rows beyond which a plan takes seconds
_EXACT, _ENTROPIC = 18.0, 80.0  # numbers that could be touched in the time of a pair of rows
_SMOOTHING = 0.01  # of the mean cost: the regularisation of groups of unequal sizes
_MARGINALS = 2e-3  # accuracy of those before they are rounded to feasible plans


class AimedPlans:
    """Maker of such plans.

    Parameters
    ----------
    rows : GroupRows

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> rows = GroupRows.from_rows(rng.normal(size=(60, 5)), np.repeat([0, 1], 30))
    >>> plans = AimedPlans(rows)
    >>> matrix = plans.matrix(np.array([2]), np.ones(1))
    >>> bool(matrix[2, 2] < matrix[1, 1] < rows.product_plan[1, 1])
    True
    """

    def __init__(self, rows: GroupRows) -> None:
        self._rows = rows
        self._sizes = tuple(len(own) for own in rows.weights)

    @property
    def available(self) -> bool:
        """Whether there are two groups, and not too many rows."""
        return len(self._sizes) == 2 and self._sizes[0] * self._sizes[1] <= _MOST_CELLS

    @property
    def cost(self) -> float:
        """Numbers that could be touched in the time a plan takes, about."""
        return (_EXACT if self._assignment else _ENTROPIC) * self._sizes[0] * self._sizes[1]

    @property
    def _assignment(self) -> bool:
        return self._rows.uniform and self._sizes[0] == self._sizes[1]

    def matrix(self, support: Array, coordinates: Array) -> Array:
        """W (d, d) of a plan aimed at one direction, by its coordinates on a support."""
        rows = self._rows
        x, y = rows.rows
        (a, b), d = rows.weights, rows.n_features
        length = np.sqrt((rows.metric[support] * coordinates**2).sum())
        share = len(support) / (len(support) + _EVERY)
        # distances in units of the data, as the length of a direction is
        everywhere = np.sqrt((1 - share) / d) * rows.scale
        aim = np.sqrt(share) / length * coordinates
        px, py = (np.column_stack([group[:, support] @ aim, group * everywhere]) for group in (x, y))
        if self._assignment:
            plan = exact_plan(squared_distances(px, py), a, b)
            cross = (x[plan.rows].T * plan.mass) @ y[plan.cols]
        else:
            mean = float(a @ (px**2).sum(axis=1) + b @ (py**2).sum(axis=1))
            cross = x.T @ (entropic_plan((px, py), (a, b), _SMOOTHING * mean, _MARGINALS) @ y)
        return np.asarray(rows.product_plan - cross - cross.T)
