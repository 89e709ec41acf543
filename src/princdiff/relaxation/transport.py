"""Optimal transport between two weighted clouds: rounded, dual and exact plans.

The relaxation asks one question over and over: which plan moves one group onto the other at the
least cost tr(W_M B)? Most answers may be rough (sinkhorn.py); those that go into a bound must be
feasible and evaluated in float64, and are made here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

Array = npt.NDArray[Any]

__all__ = [
    "Plan",
    "dual_value",
    "exact_plan",
    "line_divergences",
    "round_plan",
    "squared_distances",
    "staircase_plan",
]


@dataclass(frozen=True)
class Plan:
    """A transport plan by its non-zero cells.

    Attributes
    ----------
    rows, cols : ndarray of int, shape (c,)
    mass : ndarray of shape (c,)
    value : float
        Its cost, the least possible up to rounding.
    """

    rows: Array
    cols: Array
    mass: Array
    value: float


def squared_distances(x: Array, y: Array) -> Array:
    """Squared Euclidean distances between the rows of x (n, r) and of y (m, r), never negative.

    Examples
    --------
    >>> squared_distances(np.array([[0.0], [3.0]]), np.array([[1.0]]))
    array([[1.],
           [4.]])
    """
    cost = x @ (-2.0 * y.T)
    cost += np.einsum("ij,ij->i", x, x)[:, None]
    cost += np.einsum("ij,ij->i", y, y)
    return np.maximum(cost, 0.0, out=cost)


def round_plan(plan: Array, a: Array, b: Array) -> Array:
    """The nearest cheap feasible plan: rows and columns scaled down, the remainder added as a product.

    Altschuler, Weed and Rigollet (2017), algorithm 2. The marginals of the result are a and b up to
    rounding, and no entry is negative.

    Examples
    --------
    >>> M = round_plan(np.array([[0.6, 0.1], [0.0, 0.4]]), np.array([0.5, 0.5]), np.array([0.5, 0.5]))
    >>> M.sum(axis=0), M.sum(axis=1)
    (array([0.5, 0.5]), array([0.5, 0.5]))
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.minimum(1.0, a / plan.sum(axis=1))
        plan = plan * np.where(np.isfinite(ratio), ratio, 1.0)[:, None]
        ratio = np.minimum(1.0, b / plan.sum(axis=0))
        plan *= np.where(np.isfinite(ratio), ratio, 1.0)
    left_a = np.maximum(a - plan.sum(axis=1), 0.0)
    left_b = np.maximum(b - plan.sum(axis=0), 0.0)
    total = max(left_a.sum(), left_b.sum())
    if total > 0:
        plan += np.outer(left_a, left_b / total)
    return np.asarray(plan)


def dual_value(cost: Array, f: Array, a: Array, b: Array) -> tuple[float, Array, Array]:
    """A lower bound on the least transport cost, from any potential f, by a double c-transform.

    Returns the bound and the improved potentials, which satisfy f_i + g_j <= cost_ij.
    """
    g = (cost - f[:, None]).min(axis=0)
    f = (cost - g).min(axis=1)
    return float(a @ f + b @ g), f, g


def staircase_plan(px: Array, py: Array, a: Array, b: Array) -> Plan:
    """The optimal plan between two weighted samples on the line: quantiles to quantiles.

    Parameters
    ----------
    px, py : ndarray of shape (n,), (m,)
    a, b : ndarray of shape (n,), (m,), each summing to one

    Examples
    --------
    >>> p = staircase_plan(np.array([1.0, 0.0]), np.array([2.0]), np.array([0.5, 0.5]), np.ones(1))
    >>> p.rows, p.cols, p.mass, p.value
    (array([1, 0]), array([0, 0]), array([0.5, 0.5]), 2.5)
    """
    order_x, order_y = np.argsort(px, kind="stable"), np.argsort(py, kind="stable")
    level_x, level_y = np.cumsum(a[order_x]), np.cumsum(b[order_y])
    level_x[-1] = level_y[-1] = 1.0
    levels = np.union1d(level_x, level_y)
    mass = np.diff(levels, prepend=0.0)
    middle = levels - mass / 2
    rows = order_x[np.minimum(np.searchsorted(level_x, middle), len(px) - 1)]
    cols = order_y[np.minimum(np.searchsorted(level_y, middle), len(py) - 1)]
    return Plan(rows, cols, mass, float(mass @ (px[rows] - py[cols]) ** 2))


def line_divergences(px: Array, py: Array, a: Array, b: Array) -> Array:
    """Squared 2-Wasserstein distance of every column of px (n, c) and py (m, c), shape (c,).

    Examples
    --------
    >>> px, py = np.array([[0.0, 1.0], [1.0, 3.0]]), np.array([[2.0, 1.0], [1.0, 2.0]])
    >>> line_divergences(px, py, np.full(2, 0.5), np.full(2, 0.5))
    array([1. , 0.5])
    """
    if np.ptp(a) > 1e-14 or np.ptp(b) > 1e-14:
        return np.array([staircase_plan(p, q, a, b).value for p, q in zip(px.T, py.T, strict=True)])
    sorted_x, sorted_y = np.sort(px.T, axis=1), np.sort(py.T, axis=1)
    if len(a) == len(b):
        return np.mean((sorted_x - sorted_y) ** 2, axis=1)
    # equal weights: the same staircase serves every column
    steps = staircase_plan(np.arange(len(a), dtype=float), np.arange(len(b), dtype=float), a, b)
    return np.asarray((sorted_x[:, steps.rows] - sorted_y[:, steps.cols]) ** 2 @ steps.mass)


def exact_plan(cost: Array, a: Array, b: Array, potentials: tuple[Array, Array] | None = None) -> Plan:
    """The cheapest plan for a cost matrix (n, m).

    Equal weights on equally many rows make it an assignment. Otherwise a linear program over a few
    cells, those of least reduced cost under the given potentials; cells that the program's own
    potentials find too cheap are added until there are none.

    Parameters
    ----------
    cost : ndarray of shape (n, m)
    a, b : ndarray of shape (n,), (m,), each summing to one
    potentials : pair of ndarray, optional
        Where to begin, such as those of an entropic solution.

    Examples
    --------
    >>> exact_plan(np.array([[1.0, 0.0], [0.0, 1.0]]), np.full(2, 0.5), np.full(2, 0.5)).value
    0.0
    """
    n, m = cost.shape
    if n == m and np.ptp(a) <= 1e-14 and np.ptp(b) <= 1e-14:
        from scipy.optimize import linear_sum_assignment

        rows, cols = linear_sum_assignment(cost)
        return Plan(rows, cols, a[rows], float(a[rows] @ cost[rows, cols]))
    return _column_generation(cost, a, b, potentials)


def _column_generation(cost: Array, a: Array, b: Array, potentials: tuple[Array, Array] | None) -> Plan:
    n, m = cost.shape
    f = np.zeros(n) if potentials is None else np.asarray(potentials[0], dtype=np.float64)
    _, f, g = dual_value(cost, f, a, b)
    # the staircase in the given order is feasible, so the first program has a solution
    corner = staircase_plan(np.arange(n, dtype=float), np.arange(m, dtype=float), a, b)
    cells = np.unique(np.concatenate([corner.rows * m + corner.cols, _cheapest(cost - f[:, None] - g, 12)]))
    slack = 1e-11 * max(1.0, float(np.abs(cost).max()))
    mass, right = np.zeros(0), np.concatenate([a, b])
    for _ in range(200):
        rows, cols = np.divmod(cells, m)
        ones = np.ones(len(cells))
        incidence = sparse.csc_array(
            (
                np.concatenate([ones, ones]),
                (np.concatenate([rows, n + cols]), np.tile(np.arange(len(cells)), 2)),
            ),
            shape=(n + m, len(cells)),
        )
        # the constraints are dependent (both sides sum to one): the last is implied
        from scipy.optimize import linprog

        answer = linprog(
            cost.ravel()[cells], A_eq=incidence[:-1], b_eq=right[:-1], bounds=(0, None),
            method="highs-ds",
        )  # fmt: skip
        if answer.x is None:
            raise RuntimeError(f"the transport program failed: {answer.message}")
        mass = np.maximum(answer.x, 0.0)
        dual = np.append(answer.eqlin.marginals, 0.0)
        reduced = cost - dual[:n, None] - dual[n:]
        if reduced.min() >= -slack - 1e-9 * abs(answer.fun):
            break
        reduced.ravel()[cells] = np.inf
        cells = np.unique(np.concatenate([cells, _cheapest(np.minimum(reduced, 0.0), 2, below=0.0)]))
    used = mass > 0
    rows, cols = np.divmod(cells[used], m)
    plan = np.zeros((n, m))
    plan[rows, cols] = mass[used]
    plan = round_plan(plan, a, b)  # the program meets the marginals only to its own tolerance
    rows, cols = np.nonzero(plan)
    mass = plan[rows, cols]
    return Plan(rows, cols, mass, float(mass @ cost[rows, cols]))


def _cheapest(reduced: Array, count: int, below: float = np.inf) -> Array:
    """Flat indices of the ``count`` smallest entries of every row and every column, if below a level."""
    n, m = reduced.shape
    across = np.argpartition(reduced, min(count, m) - 1, axis=1)[:, :count]
    down = np.argpartition(reduced, min(count, n) - 1, axis=0)[:count]
    flat = np.concatenate([(np.arange(n)[:, None] * m + across).ravel(), (down * m + np.arange(m)).ravel()])
    return np.asarray(flat[reduced.ravel()[flat] < below])
