"""The last digits: a bundle of plans finds the top of a ridge.

With few rows the best direction lies where several plans cost the same, and no single plan's gradient
leads there. Each plan's cost is a smooth function that bounds the divergence from above; a proximal
bundle method maximises the smallest of them, and so ends at the same point wherever it came from.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from princdiff.data.labels import Labels
from princdiff.data.samples import Operator
from princdiff.deadline import time_is_up
from princdiff.divergences import PlannedDivergence, Workspace
from princdiff.divergences.sorting import order_within_groups
from princdiff.solvers.sparsity import normalised

_IDLE_PLANS = 20
_WORTHWHILE = 0.1
_SHORTEST_STEP = 1e-10
_ROUNDING = 1e-14


def climb_ridge(
    operator: Operator,
    labels: Labels,
    divergence: PlannedDivergence,
    direction: NDArray[np.float64],
    penalty: float = 0.0,
    max_iter: int = 100,
    tol: float = 1e-20,
) -> tuple[float, NDArray[np.float64], int]:
    """Maximise the divergence near a direction, on its support and, if penalised, with its signs.

    Parameters
    ----------
    operator : Operator
        Rows in double precision, for one column.
    labels : Labels
        One column.
    divergence : PlannedDivergence
        A minimum over plans.
    direction : array of shape (n_features,)
        Unit direction to start from.
    penalty : float
        Weight of the squared l1 norm.
    max_iter : int
        Evaluations at most.
    tol : float
        Stop when the bundle promises less than this relative gain.

    Returns
    -------
    objective : float
    direction : array of shape (n_features,)
    n_iter : int
    """
    bundle = _Bundle(operator, labels, divergence, direction != 0, penalty)
    current, best = direction, bundle.add(direction)
    costs, slopes = bundle.at(current)
    curvature = 2.0 * max(best, np.finfo(float).tiny)
    weights = np.ones(1)
    for iteration in range(1, max_iter):
        if time_is_up():
            return best, current, iteration
        weights = simplex_minimum(slopes @ slopes.T / curvature, costs, weights)
        step = weights @ slopes / curvature
        promised = float(weights @ (costs - best) + 0.5 * curvature * (step @ step))
        if promised <= tol * abs(best) or step @ step < _SHORTEST_STEP**2:
            return best, current, iteration
        candidate = normalised((current + step)[None])[0]
        weights = np.append(weights[bundle.prune(weights)], 0.0)
        objective = bundle.add(candidate)
        if promised <= _ROUNDING * abs(best) and objective >= best * (1 - _ROUNDING):
            # Values can no longer tell the points apart, slopes still can: trust the bundle.
            current, best = candidate, objective
        elif objective - best >= _WORTHWHILE * promised:
            curvature *= 0.6
            current, best = candidate, objective
        else:
            curvature *= 1.3
        costs, slopes = bundle.at(current)
    return best, current, max_iter


class _Bundle:
    """Plans met so far, as the orders of rows that make them."""

    def __init__(
        self,
        operator: Operator,
        labels: Labels,
        divergence: PlannedDivergence,
        support: NDArray[np.bool_],
        penalty: float,
    ) -> None:
        self._operator, self._labels, self._divergence = operator, labels, divergence
        self._support, self._penalty = support, penalty
        self._orders = np.empty((0, int(labels.group_sizes.sum())), dtype=np.intp)

    def add(self, direction: NDArray[np.float64]) -> float:
        """Take in the plan that is optimal at a direction; return the objective there."""
        projection = self._operator.project(direction[None])
        order = order_within_groups(projection, self._labels, Workspace())
        self._orders = np.concatenate([self._orders, order])
        value = self._divergence.along_plan(projection, self._labels, order, Workspace())[0][0]
        return float(value) - self._penalty * np.abs(direction).sum() ** 2

    def prune(self, weights: NDArray[np.float64]) -> NDArray[np.intp]:
        """Drop plans that do not matter, the oldest first; return the positions of those that stay."""
        idle = np.flatnonzero(weights == 0.0)
        surplus = max(0, len(idle) - _IDLE_PLANS)
        kept = np.delete(np.arange(len(weights)), idle[:surplus])
        self._orders = self._orders[kept]
        return kept

    def at(self, direction: NDArray[np.float64]) -> tuple[NDArray, NDArray]:
        """Every plan's objective at a unit direction, and its slope along the sphere."""
        count = len(self._orders)
        projection = self._operator.project(direction[None])
        tiled = np.repeat(projection, count, axis=0)
        offsets = (np.arange(count) * projection.shape[1])[:, None]
        labels = self._labels.repeat(count)
        costs, row_slopes = self._divergence.along_plan(tiled, labels, self._orders + offsets, Workspace())
        operator = self._operator.take(np.zeros(count, dtype=np.intp))
        slopes = operator.backproject(row_slopes) * self._support
        l1 = np.abs(direction).sum()
        costs = costs - self._penalty * l1**2
        slopes = slopes - 2.0 * self._penalty * l1 * np.sign(direction)
        return costs, slopes - np.outer(slopes @ direction, direction)


def simplex_minimum(
    quadratic: NDArray[np.float64], linear: NDArray[np.float64], start: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """Minimise 0.5 w'Qw + c'w over non-negative weights that sum to one, by an active-set method.

    A good ``start``, such as the solution of a similar problem, saves most of the work.

    Examples
    --------
    >>> simplex_minimum(np.diag([1.0, 3.0]), np.zeros(2))
    array([0.75, 0.25])
    """
    n = len(linear)
    scale = max(float(np.trace(quadratic)) / n, float(np.ptp(linear)), np.finfo(float).tiny)
    quadratic, linear = quadratic / scale + 1e-13 * np.eye(n), (linear - linear.min()) / scale
    if start is None:
        weights = np.zeros(n)
        weights[np.argmin(0.5 * np.diag(quadratic) + linear)] = 1.0
    else:
        weights = start.copy()
    active = weights > 0
    entering = int(np.argmax(weights))
    for _ in range(10 * n):
        while True:
            target = _on_face(quadratic, linear, active)
            if (target[active] > 0).all():
                weights = target
                break
            # Go towards the face's optimum until a weight reaches zero, and leave it there.
            falling = active & (target <= 0)
            gap = weights[falling] - target[falling]
            share = float(np.min(np.divide(weights[falling], gap, out=np.zeros_like(gap), where=gap > 0)))
            weights = weights + share * (target - weights)
            active &= ~(falling & (weights <= 1e-15))
            weights[~active] = 0.0
            if not active.any():
                active[entering] = True
                weights[entering] = 1.0
                break
        gradient = quadratic @ weights + linear
        entering = int(np.argmin(gradient))
        if active[entering] or gradient[entering] >= weights @ gradient - 1e-14:
            break
        active[entering] = True
    return weights / weights.sum()


def _on_face(quadratic: NDArray, linear: NDArray, active: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Optimum with the inactive weights at zero and no sign restriction on the others."""
    index = np.flatnonzero(active)
    system = np.ones((len(index) + 1, len(index) + 1))
    system[:-1, :-1] = quadratic[np.ix_(index, index)]
    system[-1, -1] = 0.0
    solution = np.linalg.solve(system, np.append(-linear[index], 1.0))
    result = np.zeros(len(linear))
    result[index] = solution[:-1]
    return result
