"""Energy distance: twice the integrated squared difference of the distribution functions.

The Cramer-von Mises distance in its form over the line (`CramerVonMises` is the one over ranks). It is
linear in scale, bounded in the influence of each row, and exact by sorting: with A the mean absolute
difference of two draws, the average over pairs of groups is A of all rows less the groups' average A, so
that all pairs cost no more than one.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from princdiff.data.labels import Labels
from princdiff.divergences.sorting import PooledOrder, Workspace, order_pooled, scratch
from princdiff.divergences.standardise import pair_mass, row_masses
from princdiff.divergences.ties import tie_share
from princdiff.kernels.column_divergences import DivergenceKernel

_KERNEL = DivergenceKernel("pd_energy")
# Numbers worked on at a time where many are summed up.
_BLOCK = 1_000_000


class Energy:
    """Energy distance 2 E|X - Y| - E|X - X'| - E|Y - Y'| between the groups' projections.

    The square of what `scipy.stats.energy_distance` returns; twice the integral of (F - G)^2.

    Examples
    --------
    >>> import numpy as np
    >>> from princdiff.data.labels import Labels
    >>> from princdiff.divergences import Energy
    >>> labels = Labels([[0, 0, 1, 1]], 2)
    >>> Energy().value(np.array([[0.0, 1.0, 3.0, 2.0]]), labels)
    array([3.])
    """

    name = "energy"
    degree = 1.0

    def value(self, projections: NDArray, labels: Labels) -> NDArray[np.float64]:
        """Values only: sorting numbers costs less than finding their order, even twice."""
        if _KERNEL.takes(projections, labels):
            return _KERNEL.value(projections, labels, tie_share(int(labels.group_sizes.sum())))
        if labels.weights is not None:
            return self.value_and_slope(projections, labels, scratch())[0]
        groups = [labels.gather(projections, group) for group in range(labels.n_groups)]
        total = _mean_difference(np.concatenate(groups, axis=1))
        for group, members in enumerate(groups):
            total -= labels.proportions[:, group] * _mean_difference(members)
        return np.maximum(total, 0.0) / pair_mass(labels)

    def value_and_slope(
        self, projections: NDArray, labels: Labels, workspace: Workspace
    ) -> tuple[NDArray[np.float64], NDArray]:
        """Values, shape (n_columns,), and slopes, shape (n_columns, n_rows)."""
        if _KERNEL.takes(projections, labels):
            slopes = workspace.array("slopes", projections.shape, np.float32)
            share = tie_share(int(labels.group_sizes.sum()))
            return _KERNEL.value_and_slope(projections, labels, share, slopes), slopes
        pooled = order_pooled(projections, labels, workspace)
        if labels.weights is None:
            ranked = _unweighted(pooled, labels, projections.dtype, workspace)
        else:
            ranked = _weighted(pooled, labels)
        slopes = workspace.array("slopes", projections.shape, projections.dtype)
        if pooled.order.shape[1] < labels.n_rows:
            slopes.fill(0)
        slopes.reshape(-1)[pooled.order] = ranked
        # Homogeneous of degree one: the value is the slope times the point (Euler).
        values = np.einsum("cn,cn->c", slopes, projections, dtype=np.float64)
        return np.maximum(values, 0.0), slopes


def _mean_difference(values: NDArray) -> NDArray[np.float64]:
    """Mean absolute difference of two draws with replacement from each row; sorts in place."""
    size = values.shape[1]
    values.sort(axis=1)
    total = np.zeros(len(values))
    step = max(1, _BLOCK // len(values))
    for start in range(0, size, step):
        part = values[:, start : start + step]
        ranks = 2.0 * np.arange(start, start + part.shape[1]) + 1.0 - size
        total += part.astype(np.float64) @ ranks
    return total * (2.0 / size**2)


def _unweighted(pooled: PooledOrder, labels: Labels, dtype: np.dtype, workspace: Workspace) -> NDArray:
    """Slopes of the ordered rows: how far the distribution functions of all and of the own group are apart.

    Both are taken in the middle of the row's jump. A row moves up where its own group's is the lower one.
    """
    shape = pooled.order.shape
    scale = 2.0 / (shape[1] * float(pair_mass(labels)[0]))
    ties = _Ties(pooled.fresh)
    # Counts are integers, and twice the middle of a jump is one as well: nothing is rounded before the end.
    mine, reached = workspace.array("mine", shape, np.int32), workspace.array("reached", shape, np.int32)
    result, own = workspace.array("ranked slopes", shape, dtype), workspace.array("own", shape, dtype)
    mine.fill(1)
    np.cumsum(mine, axis=1, out=reached)
    np.multiply(ties.twice_middle(reached, mine), dtype.type(scale / shape[1]), out=result)
    for group, size in enumerate(labels.group_sizes):
        np.copyto(mine, pooled.codes == group)
        np.cumsum(mine, axis=1, out=reached)
        middle = ties.twice_middle(reached, mine)
        middle *= mine
        np.multiply(middle, dtype.type(scale / size), out=own)
        result -= own
    return result


def _weighted(pooled: PooledOrder, labels: Labels) -> NDArray[np.float64]:
    """Slopes of the ordered rows where rows have weights; in float64."""
    shape = (labels.n_columns, labels.n_rows)
    masses = np.broadcast_to(row_masses(labels), shape).reshape(-1)[pooled.order]
    ties = _Ties(pooled.fresh)
    result = ties.twice_middle(np.cumsum(masses, axis=1), masses)
    for group in range(labels.n_groups):
        mine = pooled.codes == group
        own = masses * mine
        middle = ties.twice_middle(np.cumsum(own, axis=1), own)
        result -= mine * middle / labels.proportions[:, group, None]
    return result * masses * (2.0 / pair_mass(labels))[:, None]


class _Ties:
    """Rows with equal values make one jump of a distribution function together.

    Single precision ties a few values of any large sample, counts tie most: the work is in proportion.
    """

    def __init__(self, fresh: NDArray[np.bool_]) -> None:
        tied = ~fresh
        tied[:, :-1] |= ~fresh[:, 1:]
        self._members = np.flatnonzero(tied)
        starts = np.flatnonzero(fresh.reshape(-1)[self._members])
        lengths = np.diff(starts, append=len(self._members))
        self._first = np.repeat(self._members[starts], lengths)
        self._last = self._first + np.repeat(lengths, lengths) - 1

    def twice_middle(self, reached: NDArray, own: NDArray) -> NDArray:
        """Twice the middles of the jumps of a distribution function, tied rows having a common one.

        ``reached``, the distribution function after each row, is overwritten; ``own`` is what the row
        adds to it.
        """
        after, before = (reached.reshape(-1)[at] for at in (self._last, self._first))
        common = before - own.reshape(-1)[self._first] + after
        reached *= 2
        reached -= own
        reached.reshape(-1)[self._members] = common
        return reached
