"""Squared 2-Wasserstein distance: the mean squared difference of quantile functions.

Between several groups it is the average over pairs weighted by the product of their proportions, computed
through the barycentre (whose quantile function is the weighted average), so that all pairs cost no more
than one, and two groups give exactly the two-sample value.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from princdiff.data.labels import Labels
from princdiff.divergences.sorting import Workspace, order_within_groups
from princdiff.divergences.ties import average_ties, tie_share
from princdiff.kernels.column_divergences import DivergenceKernel

# Rows of unequal groups beyond which the plan between them is made block by block, and numbers in a block.
_MANY_ROWS, _BLOCK = 4_000_000, 1_000_000


class Staircase(NamedTuple):
    """The optimal plan between sorted samples: cells between merged breakpoints of the quantile functions.

    Attributes
    ----------
    widths : array of shape (n_cells,)
        Probability mass of each cell.
    positions : list of arrays of shape (n_cells,)
        For each group, the rank of its member in each cell.
    starts : list of arrays of shape (group size,)
        For each group, the first cell of each member.
    """

    widths: NDArray[np.float64]
    positions: list[NDArray[np.intp]]
    starts: list[NDArray[np.intp]]


@lru_cache(maxsize=64)
def staircase(sizes: tuple[int, ...]) -> Staircase:
    """Plan for equally weighted rows; it depends on the group sizes alone.

    Examples
    --------
    >>> plan = staircase((2, 3))
    >>> plan.widths
    array([0.33333333, 0.16666667, 0.16666667, 0.33333333])
    >>> plan.positions[1]
    array([0, 1, 1, 2])
    """
    # Correct rounding makes equal fractions equal numbers, so breakpoints that coincide are found as such.
    edges = [np.arange(1, size + 1) / size for size in sizes]
    merged = np.unique(np.concatenate(edges))
    widths = np.diff(merged, prepend=0.0)
    positions = [np.searchsorted(edge, merged) for edge in edges]
    starts = [
        np.searchsorted(position, np.arange(size)) for position, size in zip(positions, sizes, strict=True)
    ]
    return Staircase(widths, positions, starts)


class QuantileDivergence:
    """What the Wasserstein distances share: sorting, the staircase of cells, and the way back to rows."""

    _kernel: DivergenceKernel | None = None
    # Whether the value is a sum over cells.
    _separable = False

    def compare(
        self, cells: list[NDArray], widths: NDArray | float, proportions: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], list[NDArray]]:
        """Values, and per group the derivative of the value by its quantile function over the cell's width.

        ``cells`` are the groups' quantile functions on common cells, (n_columns, n_cells) each.
        """
        raise NotImplementedError

    def value(self, projections: NDArray, labels: Labels) -> NDArray[np.float64]:
        """Values only: sorting numbers costs a quarter of finding their order."""
        if self._kernel is not None and self._kernel.takes(projections, labels):
            return self._kernel.value(projections, labels, tie_share(int(labels.group_sizes.sum())))
        if labels.weights is not None:
            return self.value_and_slope(projections, labels, Workspace())[0]
        groups = []
        for group in range(labels.n_groups):
            members = labels.gather(projections, group)
            members.sort(axis=1)
            groups.append(members)
        many = int(labels.group_sizes.sum()) > _MANY_ROWS and not _equal_sizes(labels)
        if self._separable and many:
            parts = _cells_in_blocks(groups, max(1, _BLOCK // len(groups[0])))
            return np.asarray(sum(self.compare(*part, labels.proportions)[0] for part in parts))
        cells, widths = _cells(groups, labels)
        return self.compare(cells, widths, labels.proportions)[0]

    def value_and_slope(
        self, projections: NDArray, labels: Labels, workspace: Workspace
    ) -> tuple[NDArray[np.float64], NDArray]:
        """Values, shape (n_columns,), and slopes, shape (n_columns, n_rows); tied rows share theirs."""
        if self._kernel is not None and self._kernel.takes(projections, labels):
            slopes = workspace.array("slopes", projections.shape, np.float32)
            share = tie_share(int(labels.group_sizes.sum()))
            return self._kernel.value_and_slope(projections, labels, share, slopes), slopes
        order = order_within_groups(projections, labels, workspace)
        return self._matched(projections, labels, order, workspace, ties=True)

    def along_plan(
        self, projections: NDArray, labels: Labels, order: NDArray[np.intp], workspace: Workspace
    ) -> tuple[NDArray[np.float64], NDArray]:
        """Cost of the plans that match rows in a given order, and its derivative.

        With the order of the projections themselves this is the divergence; any other order gives a
        feasible plan, whose cost bounds the divergence from above.
        """
        return self._matched(projections, labels, order, workspace, ties=False)

    def _matched(
        self, projections: NDArray, labels: Labels, order: NDArray[np.intp], workspace: Workspace, ties: bool
    ) -> tuple[NDArray[np.float64], NDArray]:
        ranked = workspace.array("ranked", order.shape, projections.dtype)
        np.take(projections.reshape(-1), order, out=ranked, mode="clip")
        ends = np.cumsum(labels.group_sizes)
        groups = np.split(ranked, ends[:-1], axis=1)
        masses = None
        if labels.weights is None:
            target = workspace.array("ranked slopes", order.shape, projections.dtype)
            cells, widths = _cells(groups, labels)
            values, cell_slopes = self.compare(cells, widths, labels.proportions)
            for group, part in enumerate(np.split(target, ends[:-1], axis=1)):
                _cells_to_members(cell_slopes[group], widths, labels, group, out=part)
        else:
            rows = order - (np.arange(len(order)) * labels.n_rows)[:, None]
            masses = labels.weights[rows]
            values, target = _weighted(self, groups, masses, labels)
        if ties:
            average_ties(target, groups, masses)
        slopes = workspace.array("slopes", projections.shape, projections.dtype)
        if ends[-1] < labels.n_rows:
            slopes.fill(0)
        slopes.reshape(-1)[order] = target
        return values, slopes


class Wasserstein2(QuantileDivergence):
    """Squared 2-Wasserstein distance between the groups' projections.

    Examples
    --------
    >>> import numpy as np
    >>> from princdiff.data.labels import Labels
    >>> from princdiff.divergences import Wasserstein2
    >>> labels = Labels([[0, 0, 1, 1]], 2)
    >>> Wasserstein2().value(np.array([[0.0, 1.0, 3.0, 2.0]]), labels)
    array([4.])
    """

    name = "wasserstein2"
    degree = 2.0
    _kernel = DivergenceKernel("pd_wasserstein2")
    _separable = True

    def compare(
        self, cells: list[NDArray], widths: NDArray | float, proportions: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], list[NDArray]]:
        """Mean squared difference of the quantile functions, between several groups by the barycentre."""
        return _squared_differences(cells, widths, proportions)


def _equal_sizes(labels: Labels) -> bool:
    return bool((labels.group_sizes == labels.group_sizes[0]).all())


def _cells(groups: list[NDArray], labels: Labels) -> tuple[list[NDArray], NDArray | float]:
    """Quantile functions of sorted groups on common cells, and the cells' widths."""
    if _equal_sizes(labels):
        return groups, 1.0 / int(labels.group_sizes[0])
    plan = staircase(tuple(int(size) for size in labels.group_sizes))
    cells = [np.take(group, position, axis=1) for group, position in zip(groups, plan.positions, strict=True)]
    return cells, plan.widths.astype(groups[0].dtype)


def _cells_in_blocks(groups: list[NDArray], size: int) -> Iterator[tuple[list[NDArray], NDArray]]:
    """The same block by block of quantile levels: of many rows a plan takes more memory than they do.

    A cell is cut where a block ends, which changes no sum over cells.
    """
    counts = [group.shape[1] for group in groups]
    levels = np.linspace(0.0, 1.0, -(-sum(counts) // size) + 1)
    passed = [0] * len(groups)
    for low, high in pairwise(levels.tolist()):
        # One edge more than may be needed: the rounded fractions themselves decide whether it is inside.
        edges = [
            np.arange(start + 1, min(int(high * count) + 1, count) + 1) / count
            for start, count in zip(passed, counts, strict=True)
        ]
        edges = [edge[edge <= high] for edge in edges]
        merged = np.unique(np.concatenate([*edges, [high]]))
        cells = [
            np.take(group, np.minimum(start + np.searchsorted(edge, merged), count - 1), axis=1)
            for group, start, edge, count in zip(groups, passed, edges, counts, strict=True)
        ]
        yield cells, np.diff(merged, prepend=low).astype(groups[0].dtype)
        passed = [start + len(edge) for start, edge in zip(passed, edges, strict=True)]


def _squared_differences(
    cells: list[NDArray], widths: NDArray | float, proportions: NDArray[np.float64]
) -> tuple[NDArray[np.float64], list[NDArray]]:
    if len(cells) == 2:
        difference = cells[0] - cells[1]
        values = _weighted_squares(difference, widths)
        difference *= difference.dtype.type(2)
        return values, [difference, -difference]
    shares = proportions.astype(cells[0].dtype)[:, :, None]
    centre = sum(shares[:, g] * cells[g] for g in range(len(cells)))
    pairs = 0.5 * (1.0 - (proportions**2).sum(axis=1))
    values = np.zeros(len(cells[0]))
    slopes = []
    for g, cell in enumerate(cells):
        difference = cell - centre
        values += proportions[:, g] * _weighted_squares(difference, widths)
        difference *= (2.0 * proportions[:, g] / pairs).astype(difference.dtype)[:, None]
        slopes.append(difference)
    return values / pairs, slopes


def _weighted_squares(difference: NDArray, widths: NDArray | float) -> NDArray[np.float64]:
    if isinstance(widths, float):
        return np.einsum("ij,ij->i", difference, difference).astype(np.float64) * widths
    if widths.ndim == 1:
        return np.einsum("ij,ij,j->i", difference, difference, widths, optimize=False).astype(np.float64)
    return np.einsum("ij,ij,ij->i", difference, difference, widths)


def _cells_to_members(
    slopes: NDArray, widths: NDArray | float, labels: Labels, group: int, *, out: NDArray
) -> None:
    """Sum the slopes of the cells that belong to each sorted member of a group."""
    if isinstance(widths, float):
        np.multiply(slopes, slopes.dtype.type(widths), out=out)
        return
    plan = staircase(tuple(int(size) for size in labels.group_sizes))
    np.multiply(slopes, widths, out=slopes)
    starts = plan.starts[group]
    spans = np.diff(starts, append=len(plan.widths))
    if spans.max() > 2:
        np.add.reduceat(slopes, starts, axis=1, out=out)
        return
    # A member of the larger of two groups spans one cell or two: two gathers beat many short sums.
    np.take(slopes, starts, axis=1, out=out, mode="clip")
    double = np.flatnonzero(spans == 2)
    out[:, double] += np.take(slopes, starts[double] + 1, axis=1)


def _weighted(
    divergence: QuantileDivergence, groups: list[NDArray], masses: NDArray[np.float64], labels: Labels
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Values and slopes of sorted rows of unequal weight: every column has its own staircase; in float64."""
    ranked = [group.astype(np.float64) for group in groups]
    ends = np.cumsum(labels.group_sizes)
    edges = []
    for part in np.split(masses, ends[:-1], axis=1):
        edge = np.cumsum(part, axis=1)
        edges.append(edge / edge[:, -1:])
    merged = np.concatenate(edges, axis=1)
    sequence = np.argsort(merged, axis=1, kind="stable")
    merged = np.take_along_axis(merged, sequence, axis=1)
    widths = np.diff(merged, axis=1, prepend=0.0)
    owner = np.repeat(np.arange(labels.n_groups), labels.group_sizes)[sequence]
    positions = []
    for group, size in enumerate(labels.group_sizes):
        mine = owner == group
        positions.append(np.minimum(np.cumsum(mine, axis=1) - mine, size - 1))
    cells = [np.take_along_axis(*pair, axis=1) for pair in zip(ranked, positions, strict=True)]
    values, cell_slopes = divergence.compare(cells, widths, labels.proportions)
    slopes = np.zeros(masses.shape)
    offsets = (np.arange(len(masses)) * masses.shape[1])[:, None]
    for group, start in enumerate(ends - labels.group_sizes):
        target = start + positions[group] + offsets
        slopes += np.bincount(
            target.ravel(), (cell_slopes[group] * widths).ravel(), minlength=slopes.size
        ).reshape(slopes.shape)
    return values, slopes
