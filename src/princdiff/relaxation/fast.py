"""The fast method of the relaxation: low-rank entropic ascent, with a proof after every round.

B = VV' with few columns is climbed by L-BFGS; the least transport cost is smoothed by entropy, which makes it
differentiable and cheap. After each round the plan is rounded to a feasible one, whose W bounds the
optimum from above, and the potentials are made feasible, which bounds it from below. Both are in float64.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from princdiff.deadline import time_is_up
from princdiff.relaxation.cutting_planes import hull_bound, leading, play
from princdiff.relaxation.several_groups import SeveralGroups
from princdiff.relaxation.sinkhorn import EntropicTransport
from princdiff.relaxation.transport import (
    dual_value,
    exact_plan,
    round_plan,
    squared_distances,
    staircase_plan,
)
from princdiff.relaxation.two_groups import TwoGroups

Array = npt.NDArray[Any]

__all__ = ["Relaxation", "solve_fast"]

_SAMPLE = 150  # rows of each group on which the first climb is made
_SINKHORN = 0.008  # error of the marginals that a climb bears, times value over typical distance
_ASSIGNMENT = 3000  # rows up to which an exact assignment costs less than another round
_GAME_GAP = 0.03  # gap below which exact plans are considered
_POLISH_DIMENSION = 10  # up to here the exact game closes the gap faster than small regularisation
_MARGIN = 1e-9  # eigenvalues and values are rounded: upper bounds are raised by this much, relatively


@dataclass
class Relaxation:
    """State of a solution in the coordinates of a :class:`TwoGroups` or :class:`SeveralGroups`, in its unit.

    Attributes
    ----------
    lower, upper : float
    factor : ndarray of shape (p, r)
        The B of the lower bound.
    dual : ndarray of shape (p, p)
        W_M + U of the upper bound.
    coupling : ndarray of shape (p, p)
        W_M alone.
    n_iter : int
    """

    lower: float
    upper: float
    factor: Array
    dual: Array
    coupling: Array
    n_iter: int = 0

    @property
    def gap(self) -> float:
        """Distance of the bounds relative to the larger of them in size."""
        return _gap(self.lower, self.upper)


def _gap(lower: float, upper: float) -> float:
    size = max(abs(upper), abs(lower))
    if not np.isfinite(size):
        return float("inf")
    return (upper - lower) / size if size > 0 else 0.0


def solve_fast(
    problem: TwoGroups | SeveralGroups,
    penalty: float,
    rng: np.random.Generator,
    *,
    tol: float = 0.01,
    max_iter: int = 1000,
) -> Relaxation:
    """Low-rank entropic ascent with bounds after every round, in the problem's own unit.

    Each round climbs on V (B = VV') at one regularisation, then rounds the plan, bounds both sides, drops
    columns of V that vanished and adds eigenvectors of W that B does not yet hold.
    """
    trivial = _trivial(problem, penalty)
    if trivial is not None:
        return trivial
    climb = _Climb(problem, penalty, tol)
    factor = _warm_start(problem, penalty, rng)
    value = climb.transport_value(factor)
    eps, accuracy, smoothing = 0.02 * value, 1e-6, 1e-2
    stalls = 0
    for _ in range(30):
        factor = climb.ascend(factor, eps, smoothing, accuracy, max_iter)
        before = climb.gap
        value, vectors = climb.bound(factor, eps)
        if climb.gap > tol and climb.gap < _GAME_GAP:
            climb.use_exact_plans(factor)
        if climb.gap <= tol or climb.n_iter >= max_iter or time_is_up():
            break
        stalls = stalls + 1 if climb.gap > 0.97 * before else 0
        if stalls >= 4:
            break
        # An error in the marginals costs about as much as the plan's typical distance, so where the value is
        # small next to that, the gradient needs better marginals to be one.
        ratio = value / climb.transport_value(factor)
        climb.sinkhorn_tol = min(climb.sinkhorn_tol, max(_SINKHORN * ratio, 1e-4))
        if eps > 0.011 * value:
            # larger steps down leave the potentials too far off to be warm
            eps = max(0.01 * value, eps / 6)
            accuracy = 1e-8
            smoothing = max(smoothing / 10, 1e-3)
        elif climb.transport_error > climb.direction_error:
            eps /= 2
        else:
            accuracy = max(accuracy / 10, 1e-10)
            climb.sinkhorn_tol = max(climb.sinkhorn_tol / 3, 1e-5)
            smoothing = max(smoothing / 3, 2e-5)
        factor = _refresh(factor, vectors)
    return climb.relaxation()


def _trivial(problem: TwoGroups | SeveralGroups, penalty: float) -> Relaxation | None:
    """Problems with nothing to search: one column, or rows that are all the same."""
    p = problem.dimension
    if p == 1:
        value = sum(share * _line_value(pair) for share, pair in problem.pairs)
        matrix = np.array([[value]])
        upper = value - penalty + _MARGIN * value
        return Relaxation(value - penalty, upper, np.ones((1, 1)), matrix - penalty, matrix)
    if np.trace(problem.product_plan) <= 0:
        zero = np.zeros((p, p))
        return Relaxation(-penalty, -penalty, np.eye(p, 1), zero, zero)
    return None


def _line_value(pair: TwoGroups) -> float:
    """Squared distance of two groups of one column."""
    line = staircase_plan(pair.x[:, 0], pair.y[:, 0], pair.a, pair.b)
    return line.value + float(pair.shift[0] ** 2)


def _warm_start(problem: TwoGroups | SeveralGroups, penalty: float, rng: np.random.Generator) -> Array:
    """A first V: random, and with many rows climbed on a sample of them at strong regularisation."""
    p = problem.dimension
    rank = min(p, max(32, p // 3))
    factor = rng.standard_normal((p, rank))
    factor /= np.linalg.norm(factor)
    if min(problem.sizes) < 2 * _SAMPLE:
        return factor
    part = problem.sample(_SAMPLE, rng)
    climb = _Climb(part, penalty, 0.01)
    value = climb.transport_value(factor)
    return climb.ascend(factor, 0.1 * value, 1e-2, 1e-4, 40)


def _refresh(factor: Array, vectors: Array) -> Array:
    """Drop columns that vanished; give new directions two per cent of the weight."""
    left, root, _ = np.linalg.svd(factor, full_matrices=False)
    keep = root**2 > 1e-5
    factor = left[:, keep] * root[keep]
    if vectors.shape[1]:
        fresh = vectors * np.sqrt(0.02 / vectors.shape[1])
        factor = np.hstack([factor * np.sqrt(0.98), fresh])
        if factor.shape[1] > factor.shape[0]:
            left, root, _ = np.linalg.svd(factor, full_matrices=False)
            factor = left * root
    return np.asarray(factor / np.linalg.norm(factor))


class _Transport:
    """Transport between the two groups of one pair: smooth, rounded, bounded from below, and exact."""

    def __init__(self, pair: TwoGroups) -> None:
        self.pair = pair
        self.sinkhorn = EntropicTransport(pair.a, pair.b)
        self.use(np.float32)

    def use(self, dtype: Any) -> None:
        """Keep rows and potentials in this precision."""
        self.x = self.pair.x.astype(dtype)
        self.y = self.pair.y.astype(dtype)
        self.sinkhorn = self.sinkhorn.astype(dtype)

    def smooth(self, factor: Array, eps: float, tol: float) -> tuple[float, Array]:
        """The regularised cost at B = VV', and half of its derivative by V."""
        low, shift = factor.astype(self.x.dtype), self.pair.shift
        px, py = self.x @ low, self.y @ low
        value = self.sinkhorn.solve(px, py, eps, tol, 400)
        to_y, to_x, row_sum = self.sinkhorn.transported(px, py)
        # The row sums of the plan itself make this the exact gradient of the dual value.
        slope = self.x.T @ (row_sum[:, None] * px - to_y)
        slope += self.y.T @ (self.sinkhorn.b[:, None] * py - to_x)
        along = shift @ factor
        return value + float(along @ along), slope.astype(np.float64) + np.outer(shift, along)

    def matched(self, factor: Array, eps: float, tol: float) -> Array:
        """Products of matched rows (p, p), summed over a feasible plan near the smooth one."""
        pair, low = self.pair, factor.astype(self.x.dtype)
        self.sinkhorn.solve(self.x @ low, self.y @ low, eps, tol, 500)
        return np.asarray(pair.x.T @ (round_plan(self.sinkhorn.plan(), pair.a, pair.b) @ pair.y))

    def lower(self, factor: Array) -> float:
        """The least cost at B = VV', from below, by feasible potentials."""
        pair = self.pair
        cost = squared_distances(pair.x @ factor, pair.y @ factor)
        value, _, _ = dual_value(cost, self.sinkhorn.f.astype(np.float64), pair.a, pair.b)
        return value + float(np.sum((pair.shift @ factor) ** 2))

    def exact(self, factor: Array) -> tuple[float, Array]:
        """The least cost at B = VV', and the products of the rows that its plan matches."""
        pair = self.pair
        cost = squared_distances(pair.x @ factor, pair.y @ factor)
        start = self.sinkhorn.f.astype(np.float64), self.sinkhorn.g.astype(np.float64)
        plan = exact_plan(cost, pair.a, pair.b, start)
        matched = (pair.x[plan.rows].T * plan.mass) @ pair.y[plan.cols]
        return plan.value + float(np.sum((pair.shift @ factor) ** 2)), matched


class _Climb:
    """Ascent on V and the bounds found on the way."""

    def __init__(self, problem: TwoGroups | SeveralGroups, penalty: float, tol: float) -> None:
        self.problem = problem
        self.penalty = penalty
        self.tol = tol
        self.sinkhorn_tol = 5e-3
        self.n_iter = 0
        self.lower, self.upper = -np.inf, np.inf
        self.best_factor = np.zeros((problem.dimension, 1))
        self.best_dual = self.best_coupling = np.zeros((1, 1))
        self.transport_error = self.direction_error = np.inf
        self.smoothing = 1e-2
        # exact plans cost little more than a round of Sinkhorn where they are assignments
        self.assignment = problem.assignments and max(problem.sizes) <= _ASSIGNMENT
        self._single = True
        self._product_plan = problem.product_plan
        self._duals: list[Array] = []
        self._couplings: list[Array] = []
        self.transports = [(share, _Transport(pair)) for share, pair in problem.pairs]

    @property
    def gap(self) -> float:
        return _gap(self.lower, self.upper)

    def transport_value(self, factor: Array) -> float:
        """tr(W B) of the product plan: the scale of the first regularisation."""
        return float(np.sum(factor * (self._product_plan @ factor)))

    def ascend(self, factor: Array, eps: float, smoothing: float, accuracy: float, max_iter: int) -> Array:
        """L-BFGS on U with V = U / ||U|| at one regularisation."""
        if self._single and eps < 1e-4 * self.transport_value(factor):
            self._single = False
            for _, transport in self.transports:
                transport.use(np.float64)
        self.smoothing = smoothing
        from scipy.optimize import minimize

        answer = minimize(
            self._objective, factor.ravel(), args=(factor.shape, eps), jac=True, method="L-BFGS-B",
            callback=_stop_when_late,
            options={
                "maxfun": min(60, max(1, max_iter - self.n_iter)), "maxcor": 20,
                "ftol": accuracy, "gtol": 1e-9,
            },
        )  # fmt: skip
        found = answer.x.reshape(factor.shape)
        return np.asarray(found / np.linalg.norm(found))

    def _objective(self, flat: Array, shape: tuple[int, int], eps: float) -> tuple[float, Array]:
        self.n_iter += 1
        unscaled = flat.reshape(shape)
        length = float(np.linalg.norm(unscaled))
        factor = unscaled / length
        value, gradient = 0.0, np.zeros(shape)
        for share, transport in self.transports:
            own, slope = transport.smooth(factor, eps, self.sinkhorn_tol)
            value += share * own
            gradient += 2.0 * share * slope
        if self.penalty > 0:
            size, shrink = self._smooth_l1(factor)
            value -= size
            gradient -= 2.0 * shrink @ factor
        gradient -= factor * float(np.sum(gradient * factor))
        return -value, -gradient.ravel() / length

    def _smooth_l1(self, factor: Array) -> tuple[float, Array]:
        """Huber's version of penalty * ||VV'||_1 and its derivative by B."""
        matrix = factor @ factor.T
        clipped = np.clip(matrix / self.smoothing, -1.0, 1.0)
        size = float(np.sum(clipped * (matrix - clipped * (self.smoothing / 2))))
        return self.penalty * size, self.penalty * clipped

    def bound(self, factor: Array, eps: float) -> tuple[float, Array]:
        """Both bounds at V; returns tr(W B) and eigenvectors of W + U that B lacks."""
        tol = self.sinkhorn_tol / 5
        coupling = self._coupling([share * own.matched(factor, eps, tol) for share, own in self.transports])
        value = float(np.sum(factor * (coupling @ factor)))
        reached = self._lower(factor)
        if self.penalty > 0:
            self._lower(_pruned(factor))
        dual, values, vectors = self._least_dual(coupling, factor)
        self._remember(dual, coupling, float(values[0]))
        attained = float(np.sum(factor * (dual @ factor)))
        self.transport_error = attained - reached
        self.direction_error = self.upper - attained
        fresh = vectors[:, values > attained - 0.02 * abs(attained)]
        return value, fresh

    def _lower(self, factor: Array) -> float:
        """The relaxation's objective at B = VV', from below, by feasible potentials."""
        value = sum(share * own.lower(factor) for share, own in self.transports)
        if self.penalty > 0:
            value -= self.penalty * float(np.abs(factor @ factor.T).sum())
        self._raise_lower(value, factor)
        return value

    def _least_dual(self, coupling: Array, factor: Array) -> tuple[Array, Array, Array]:
        """W + U of least lambda_max among the U at hand, with leading eigenvalues and eigenvectors."""
        count = max(16, self.problem.dimension // 16)
        if self.penalty == 0:
            return (coupling, *leading(coupling, count))
        shrink = self.penalty * np.clip(factor @ factor.T / self.smoothing, -1.0, 1.0)
        candidates = [coupling - shrink, coupling - np.clip(coupling, -self.penalty, self.penalty)]
        solved = [(dual, *leading(dual, count)) for dual in candidates]
        return min(solved, key=lambda item: float(item[1][0]))

    def _remember(self, dual: Array, coupling: Array, largest: float) -> None:
        """Keep the last few matrices and the best bound over their hull."""
        self._duals = [*self._duals[-3:], dual]
        self._couplings = [*self._couplings[-3:], coupling]
        if self._raised(largest) < self.upper:
            self.upper, self.best_dual, self.best_coupling = self._raised(largest), dual, coupling
        if self.gap <= self.tol or len(self._duals) < 2:
            return
        largest, weights = hull_bound(self._duals, self.tol / 10)
        if self._raised(largest) < self.upper:
            self.upper = self._raised(largest)
            self.best_dual = np.tensordot(weights, np.array(self._duals), 1)
            self.best_coupling = np.tensordot(weights, np.array(self._couplings), 1)

    def _raised(self, largest: float) -> float:
        """An upper bound that rounding cannot undercut; the data's unit makes W of order one."""
        return largest + _MARGIN * max(abs(largest), 1e-3)

    def use_exact_plans(self, factor: Array) -> None:
        """Near the end exact plans may be the shorter way: a game in few dimensions, one plan in many."""
        small = self.problem.dimension <= _POLISH_DIMENSION
        if small and (self.assignment or self.tol < 0.003):
            self._game(40 if self.tol < 0.003 else 3)
        elif self.assignment and self.gap < 1.5 * self.tol and self.direction_error < self.tol / 2:
            value, coupling = self._exact(factor)
            if self.penalty == 0:
                self._raise_lower(value, factor)
                self._remember(coupling, coupling, float(leading(coupling, 1)[0][0]))

    def _game(self, max_rounds: int) -> None:
        """The exact game, from the best B and the plans of the rounds."""
        lower, factor, upper, dual, coupling, rounds = play(
            self._exact, self.best_factor, self._couplings, self.penalty, self.tol, max_rounds
        )
        self.n_iter += rounds
        self._raise_lower(lower, factor)
        if self._raised(upper) < self.upper:
            self.upper, self.best_dual, self.best_coupling = self._raised(upper), dual, coupling

    def _raise_lower(self, value: float, factor: Array) -> None:
        if value - 1e-12 > self.lower:
            self.lower, self.best_factor = value - 1e-12, factor

    def _exact(self, factor: Array) -> tuple[float, Array]:
        found = [(share, *own.exact(factor)) for share, own in self.transports]
        value = sum(share * cost for share, cost, _ in found)
        return value, self._coupling([share * matched for share, _, matched in found])

    def _coupling(self, matched: list[Array]) -> Array:
        """W of the plans whose products of matched rows these are."""
        cross = np.asarray(sum(matched))
        return np.asarray(self._product_plan - cross - cross.T)

    def relaxation(self) -> Relaxation:
        """What was found."""
        return Relaxation(
            self.lower, self.upper, self.best_factor, self.best_dual, self.best_coupling, self.n_iter
        )


def _pruned(factor: Array) -> Array:
    """V without the rows that hardly count: tiny entries of B cost penalty and earn nothing."""
    norm = np.linalg.norm(factor, axis=1)
    kept = factor * (norm > 0.03 * norm.max())[:, None]
    return np.asarray(kept / np.linalg.norm(kept))


def _stop_when_late(_: Array) -> None:
    """A step of an optimiser that ends with what it has at the deadline."""
    if time_is_up():
        raise StopIteration
