"""Optimal transport between two weighted clouds: entropic, rounded, dual and exact.

The relaxation asks one question over and over: which plan moves one group onto the other at the
least cost tr(W_M B)? Most answers may be rough (Sinkhorn, float32, warm potentials); those that go
into a bound must be feasible and evaluated in float64. Both kinds are here, and nothing else is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.optimize import linear_sum_assignment, linprog

Array = npt.NDArray[Any]

__all__ = [
    "EntropicTransport",
    "Plan",
    "dual_value",
    "exact_plan",
    "line_divergences",
    "round_plan",
    "squared_distances",
    "staircase_plan",
]

_TINY = 1e-25  # a column sum below this has underflowed in float32
_LOG_STEPS = 20  # after this many steps in the log domain what underflows is cut off
_RANGE = 1e15  # scalings outside [1 / _RANGE, _RANGE] are absorbed into the potentials


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


class _Projected(NamedTuple):
    """Projected rows of both groups, the first times 2 / eps, their squared lengths, and eps."""

    scaled: Array
    py: Array
    norm_x: Array
    norm_y: Array
    eps: float


class EntropicTransport:
    """Sinkhorn between projected rows, with potentials kept warm from one call to the next.

    The cost matrix is never stored: the logits come from one matrix product, are exponentiated in
    place, and the iterations are matrix-vector products on that kernel.

    Parameters
    ----------
    a, b : ndarray of shape (n,), (m,)
        Weights, each summing to one.
    dtype : numpy dtype
        float32 is twice to four times as fast and good to a regularisation of about 1/500 of the value.

    Attributes
    ----------
    f, g : ndarray
        Potentials of the last call.
    n_iter : int
        Sinkhorn iterations so far.
    """

    def __init__(self, a: Array, b: Array, dtype: Any = np.float32) -> None:
        self.dtype = np.dtype(dtype)
        self.a = a.astype(self.dtype)
        self.b = b.astype(self.dtype)
        self.f = np.zeros_like(self.a)
        self.g = np.zeros_like(self.b)
        self.n_iter = 0
        self._kernel = np.empty((len(a), len(b)), self.dtype)
        self._u = self.a
        self._v = self.b

    def astype(self, dtype: Any) -> EntropicTransport:
        """The same state in another precision."""
        other = EntropicTransport(self.a, self.b, dtype)
        other.f, other.g = self.f.astype(dtype), self.g.astype(dtype)
        other.n_iter = self.n_iter
        return other

    def solve(self, px: Array, py: Array, eps: float, tol: float, max_iter: int) -> float:
        """Transport px (n, r) to py (m, r) with regularisation eps; returns the dual value.

        Stops when the column marginals are off by less than tol in total, or after max_iter iterations.
        The value is that of the potentials, so it is a lower bound on the regularised cost whatever tol.
        """
        norm_x = np.einsum("ij,ij->i", px, px)
        norm_y = np.einsum("ij,ij->i", py, py)
        pair = _Projected(px * self.dtype.type(2.0 / eps), py, norm_x, norm_y, eps)
        done = log_steps = 0
        while True:
            patient = log_steps < _LOG_STEPS
            state, done, top = self._iterate(pair, tol, max_iter, done, patient)
            self.f = norm_x + eps * (np.log(self._u / self.a) - top)
            if state == "underflow":
                self._log_step(pair)
                log_steps += 1
                continue
            self.g = self.g + eps * np.log(self._v / self.b)
            if state == "done":
                break
        self.n_iter += done
        return float(self.a.astype(float) @ self.f) + float(self.b.astype(float) @ self.g)

    def _iterate(
        self, pair: _Projected, tol: float, limit: int, done: int, patient: bool
    ) -> tuple[str, int, Array]:
        """Iterations on one kernel, until done, or until it has to be built anew."""
        kernel = self._kernel
        one = np.ones((len(pair.scaled), 1), self.dtype)
        column = ((self.g - pair.norm_y) / pair.eps).astype(self.dtype)[:, None]
        np.matmul(np.hstack([pair.scaled, one]), np.hstack([pair.py, column]).T, out=kernel)
        top = kernel.max(axis=1)
        kernel -= top[:, None]
        np.exp(kernel, out=kernel)
        # What under- or overflows is seen by the test of the column sums (nan fails it too), and repaired.
        with np.errstate(all="ignore"):
            return (*self._sweeps(tol, limit, done, patient), top)

    def _sweeps(self, tol: float, limit: int, done: int, patient: bool) -> tuple[str, int]:
        """Rows and columns scaled in turn; each line costs as much as the product for few rows."""
        kernel, a, b = self._kernel, self.a, self.b
        v = b
        while True:
            u = a / (kernel @ v)
            column_sum = u @ kernel
            done += 1
            if not column_sum.min() > _TINY:
                u = self._u = a / (kernel @ b)  # finite: every row of the kernel holds a one
                if patient:
                    return "underflow", done
                self._v = b / np.maximum(u @ kernel, _TINY)
                return "done", done
            last = done >= limit or (done % 3 == 1 and np.abs(v * column_sum - b).sum() < tol)
            v = b / column_sum
            if last or (done % 10 == 0 and (v.max() > _RANGE or v.min() < 1 / _RANGE)):
                self._u, self._v = u, v
                return "done" if last else "absorb", done

    def _log_step(self, pair: _Projected) -> None:
        """One column update in the log domain, for kernels whose columns underflow."""
        kernel = self._kernel
        one = np.ones((len(pair.py), 1), self.dtype)
        row = ((self.f - pair.norm_x) / pair.eps).astype(self.dtype)[:, None]
        np.matmul(np.hstack([pair.scaled, row]), np.hstack([pair.py, one]).T, out=kernel)
        top = kernel.max(axis=0)
        kernel -= top
        np.exp(kernel, out=kernel)
        self.g = pair.norm_y - pair.eps * (top + np.log(self.a @ kernel))

    def plan(self) -> Array:
        """The plan of the last call (n, m), float64; its columns sum to b, its rows only nearly to a."""
        plan = self._kernel.astype(np.float64)
        plan *= self._u[:, None]
        plan *= self._v
        return plan

    def transported(self, px: Array, py: Array) -> tuple[Array, Array, Array]:
        """M py (n, r), M' px (m, r) and the row sums of M, for the plan M of the last call."""
        kernel, u, v = self._kernel, self._u[:, None], self._v[:, None]
        return u * (kernel @ (v * py)), v * (kernel.T @ (u * px)), self._u * (kernel @ self._v)


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
