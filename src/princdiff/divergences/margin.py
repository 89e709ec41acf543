"""The margin between projected samples: the linear support vector machine as a special case.

The gap between the lowest row of the upper group and the highest row of the lower one is largest along the
normal of the maximum-margin hyperplane, dense or sparse. With a ``fraction`` the tails are averages over
that share of each group, which is the soft margin of the nu-SVM (the distance of the reduced convex hulls):
0 is the hard margin, 1 the difference in means.

Where groups overlap the gap is negative, and a search needs something that is not: it ascends a positive
function of the gap, increasing, with the same units, and equal to it where the groups are apart.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from princdiff.data.labels import Labels
from princdiff.divergences.sorting import Workspace, order_within_groups, scratch
from princdiff.divergences.standardise import group_pairs, standardise
from princdiff.divergences.ties import average_ties

# How sharply the ascended function bends at a gap of zero, in standard deviations of the projections.
_BEND = 1e-3
_LEAST_SHARE = 1e-12


class Margin:
    """Gap between the groups' projections.

    Parameters
    ----------
    fraction : float, default=0.0
        Share of each group whose average is its edge, from 0 (the outermost row alone) to 1 (all rows).

    Notes
    -----
    `report` gives the gap, negative where groups overlap. `value` is what a search ascends: with gap m and
    pooled standard deviation s, ``(m + sqrt(m ** 2 + (2e-3 * s) ** 2)) / 2``, which is m up to a millionth
    of s where the groups are apart, and small and positive where they are not.

    Examples
    --------
    >>> import numpy as np
    >>> from princdiff.data.labels import Labels
    >>> from princdiff.divergences import Margin
    >>> labels = Labels([[0, 0, 1, 1]], 2)
    >>> rows = np.array([[0.0, 1.0, 3.0, 4.0]])
    >>> Margin().report(rows, labels)
    array([2.])
    >>> Margin(fraction=1.0).report(rows, labels)
    array([3.])
    >>> Margin().report(np.array([[0.0, 3.0, 1.0, 4.0]]), labels)
    array([-2.])
    """

    name = "margin"
    degree = 1.0

    def __init__(self, fraction: float = 0.0) -> None:
        if not 0 <= fraction <= 1:
            raise ValueError(f"fraction must be a share of the rows, from 0 to 1: got {fraction!r}")
        self.fraction = float(fraction)

    def __repr__(self) -> str:
        return f"Margin(fraction={self.fraction:g})" if self.fraction else "Margin()"

    def report(self, projections: NDArray, labels: Labels) -> NDArray[np.float64]:
        """The gap itself, shape (n_columns,); what is reported."""
        projections = np.ascontiguousarray(projections)
        order = order_within_groups(projections, labels, scratch())
        edges = [tail.edges() for tail in self._tails(projections, labels, order)]
        values = np.zeros(len(projections))
        for g, h, weight in group_pairs(labels):
            values += weight * np.maximum(edges[g][0] - edges[h][1], edges[h][0] - edges[g][1])
        return values

    def value(self, projections: NDArray, labels: Labels) -> NDArray[np.float64]:
        """What a search ascends, shape (n_columns,); see the notes."""
        return self.value_and_slope(projections, labels, scratch())[0]

    def value_and_slope(
        self, projections: NDArray, labels: Labels, workspace: Workspace
    ) -> tuple[NDArray[np.float64], NDArray]:
        """Values, shape (n_columns,), and slopes, shape (n_columns, n_rows); tied rows share theirs."""
        order = order_within_groups(projections, labels, workspace)
        return self._with_tails(projections, labels, order, workspace, ties=True)

    def along_plan(
        self, projections: NDArray, labels: Labels, order: NDArray[np.intp], workspace: Workspace
    ) -> tuple[NDArray[np.float64], NDArray]:
        """The same with the tails that belong to a given order; an upper bound for any other.

        The tails' averages are the smallest and largest over all choices of rows, and the ascended
        function increases with the gap: a minimum of smooth functions.
        """
        return self._with_tails(projections, labels, order, workspace, ties=False)

    def _with_tails(
        self, projections: NDArray, labels: Labels, order: NDArray[np.intp], workspace: Workspace, ties: bool
    ) -> tuple[NDArray[np.float64], NDArray]:
        standardised = standardise(projections, labels, workspace)
        spread = _inverse(standardised.scale[:, 0].astype(np.float64))
        tails = self._tails(projections, labels, order)
        edges = [tail.edges() for tail in tails]
        values, by_spread = np.zeros(len(projections)), np.zeros(len(projections))
        by_low, by_high = np.zeros((2, labels.n_groups, len(projections)))
        for g, h, weight in group_pairs(labels):
            above, below = edges[g][0] - edges[h][1], edges[h][0] - edges[g][1]
            value, by_gap, rate = _bent(np.maximum(above, below), spread)
            values += weight * value
            by_spread += weight * rate
            up = weight * by_gap * (above >= below)
            down = weight * by_gap * (above < below)
            by_low[g] += up
            by_high[h] -= up
            by_low[h] += down
            by_high[g] -= down
        slopes = np.multiply(standardised.values, standardised.masses, out=standardised.values)
        slopes *= by_spread[:, None].astype(slopes.dtype)
        ranked = np.concatenate(
            [
                low[:, None] * tail.low + high[:, None] * tail.high
                for tail, low, high in zip(tails, by_low, by_high, strict=True)
            ],
            axis=1,
        )
        if ties:
            rows = order - (np.arange(len(order)) * labels.n_rows)[:, None]
            masses = None if labels.weights is None else labels.weights[rows]
            average_ties(ranked, [tail.ranked for tail in tails], masses)
        slopes.reshape(-1)[order] += ranked.astype(slopes.dtype)
        return values, slopes

    def _tails(self, projections: NDArray, labels: Labels, order: NDArray[np.intp]) -> list[_Tails]:
        ends = np.cumsum(labels.group_sizes)[:-1]
        ranked = np.split(projections.reshape(-1)[order], ends, axis=1)
        # A share of nothing is the outermost row alone.
        share = max(self.fraction, _LEAST_SHARE)
        if labels.weights is None:
            masses = [np.full((1, size), 1.0 / size) for size in labels.group_sizes]
        else:
            rows = order - (np.arange(len(order)) * labels.n_rows)[:, None]
            parts = np.split(labels.weights[rows], ends, axis=1)
            masses = [part / part.sum(axis=1, keepdims=True) for part in parts]
        return [
            _Tails(values, _lower_tail(mass, share), _lower_tail(mass[:, ::-1], share)[:, ::-1])
            for values, mass in zip(ranked, masses, strict=True)
        ]


class _Tails(NamedTuple):
    """Sorted rows of a group, and how they are averaged to its edges."""

    ranked: NDArray
    low: NDArray[np.float64]
    high: NDArray[np.float64]

    def edges(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Lower and upper edge, shape (n_columns,) each."""
        return (self.ranked * self.low).sum(axis=1), (self.ranked * self.high).sum(axis=1)


def _lower_tail(masses: NDArray[np.float64], share: float) -> NDArray[np.float64]:
    """Weights that average the first ``share`` of the mass, same shape."""
    reached = np.minimum(np.cumsum(masses, axis=1), share)
    weights = np.diff(reached, axis=1, prepend=0.0)
    return weights / weights.sum(axis=1, keepdims=True)


def _bent(
    gap: NDArray[np.float64], spread: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """The gap where positive, towards 0 where negative; and its derivatives by gap and spread."""
    bend = 2.0 * _BEND * spread
    root = np.sqrt(gap**2 + bend**2)
    inverse = _inverse(root)
    # The same number twice; the second has no cancellation where the gap is negative.
    value = np.where(gap > 0, 0.5 * (gap + root), 0.5 * bend**2 * _inverse(root + np.abs(gap)))
    return value, value * inverse, _BEND * bend * inverse


def _inverse(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.divide(1.0, values, out=np.zeros_like(values), where=values > 0)
