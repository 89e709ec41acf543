"""RELAX and Projection as the paper prints them, vectorised.

Sub-gradient steps on the dual variables u, v and on B, and a projection of B's eigenvalues to the
simplex. The loop over pairs is three matrix products; nothing n x m x d is formed. The steps are
scaled by the data: the mean cost s at the start sets the dual step, since u and v are costs.

Two remarks on the printed algorithm. The soft-threshold of the Projection box comes after the projection,
so its output has a trace below one and may be slightly indefinite; the iteration goes on from it, as
printed, but an iterate is valued after it was projected back, otherwise a shrunken B would be
compared with a whole one. And the dual objective, which is what the box can see, is far below the transport
cost until u and v have caught up; the iterate of the best dual objective is the one returned.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from princdiff.relaxation.cutting_planes import leading
from princdiff.relaxation.fast import Relaxation
from princdiff.relaxation.transport import dual_value, exact_plan, squared_distances
from princdiff.relaxation.two_groups import TwoGroups

Array = npt.NDArray[Any]

__all__ = ["PaperSteps", "paper_relax", "project_simplex", "projection"]


def project_simplex(w: Array) -> Array:
    """The nearest point of the probability simplex, in closed form.

    Examples
    --------
    >>> project_simplex(np.array([0.5, 1.0, -3.0]))
    array([0.25, 0.75, 0.  ])
    """
    falling = np.sort(w)[::-1]
    excess = np.cumsum(falling) - 1.0
    count = np.arange(1, len(w) + 1)
    last = np.flatnonzero(falling * count > excess)[-1]
    return np.maximum(w - excess[last] / (last + 1), 0.0)


def projection(matrix: Array, penalty: float = 0.0, step: float = 0.0) -> Array:
    """The paper's Projection box: eigenvalues to the simplex, then a soft-threshold at step * penalty.

    Parameters
    ----------
    matrix : ndarray of shape (d, d), symmetric
    penalty : float
    step : float
        The step that led to ``matrix``.

    Returns
    -------
    ndarray of shape (d, d)
        Semidefinite with trace one if ``penalty`` or ``step`` is zero; otherwise, as printed, slightly
        short of both.

    Examples
    --------
    >>> projection(np.diag([2.0, 0.0]))
    array([[1., 0.],
           [0., 0.]])
    """
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    projected = (vectors * project_simplex(values)) @ vectors.T
    if penalty > 0:
        projected = np.sign(projected) * np.maximum(np.abs(projected) - step * penalty, 0.0)
    return np.asarray(projected)


@dataclass
class _Iterate:
    value: float
    matrix: Array
    u: Array
    v: Array


@dataclass(frozen=True)
class PaperSteps:
    """Steps of the algorithm as printed.

    Attributes
    ----------
    n_steps : int
        Steps on B.
    dual_steps : int
        Steps on u and v for each step on B; 1 is the box as printed.
    dual_step : float
        Eta, times n times the mean cost at the start. At 0.03 and above the dual objective may never
        rise above zero, and the start is returned.
    matrix_step : float
        Gamma, the length of the normalised step on B.
    diminishing : bool
        Divide both steps by the square root of the number of the B-step.
    patience : int
        T: stop after this many B-steps without improvement.
    incremental : bool
        Replace the sums over all pairs by sums over random pairs, scaled up.
    n_pairs : int, optional
        Pairs drawn for each step; None: a tenth of all.
    """

    n_steps: int = 300
    dual_steps: int = 10
    dual_step: float = 0.01
    matrix_step: float = 0.1
    diminishing: bool = True
    patience: int = 100
    incremental: bool = False
    n_pairs: int | None = None


def paper_relax(
    problem: TwoGroups, penalty: float, rng: np.random.Generator, steps: PaperSteps | None = None
) -> Relaxation:
    """Run RELAX on a prepared problem.

    Parameters
    ----------
    problem : TwoGroups
        Not reduced: the start and the soft-threshold are in the coordinates of the features.
    penalty : float
        In the problem's unit.
    rng : Generator
        For the random pairs.
    steps : PaperSteps, optional
        How many steps, and how long.

    Returns
    -------
    Relaxation
        The lower bound is the transport cost at the B returned, projected to trace one; the upper
        bound comes from the exact plan at that B.
    """
    asked = PaperSteps() if steps is None else steps
    n, m, d = len(problem.a), len(problem.b), problem.dimension
    drawn = max(1, n * m // 10) if asked.n_pairs is None else int(asked.n_pairs)
    # Rows that keep their group's mean inside: the box knows no separate mean difference.
    x, y = problem.x + problem.shift, problem.y
    pairs = _Pairs(x, y, problem.a, problem.b, drawn if asked.incremental else None, rng)
    matrix = np.full((d, d), 1.0 / d)
    u, v = np.zeros(n), np.zeros(m)
    cost = _costs(x, y, matrix)
    scale = asked.dual_step * max(n, m) * float(problem.a @ cost @ problem.b)
    best = _Iterate(-np.inf, matrix, u, v)
    since, done = 0, 0
    for done in range(1, asked.n_steps + 1):
        shrink = np.sqrt(done) if asked.diminishing else 1.0
        for _ in range(asked.dual_steps):
            du, dv = pairs.dual_gradient(cost, u, v)
            u, v = u + scale / shrink * du, v + scale / shrink * dv
        here = _objective(cost, u, v, matrix, problem, penalty)
        if here > best.value:
            best, since = _Iterate(here, matrix, u, v), 0
        else:
            since += 1
            if since >= asked.patience:
                break
        slope = pairs.matrix_gradient(cost, u, v)
        norm = float(np.linalg.norm(slope))
        if norm == 0:
            continue  # no pair is below its potentials yet: only u and v can move
        step = asked.matrix_step / shrink / norm
        matrix = projection(matrix + step * slope, penalty, step)
        cost = _costs(x, y, matrix)
    return _finish(problem, penalty, best, done)


def _costs(x: Array, y: Array, matrix: Array) -> Array:
    """tr(z_ij z_ij' B) for all pairs (n, m), for a symmetric B that may be slightly indefinite."""
    moved_x, moved_y = x @ matrix, y @ matrix
    cost = moved_x @ (-2.0 * y.T)
    cost += np.einsum("ij,ij->i", moved_x, x)[:, None]
    cost += np.einsum("ij,ij->i", moved_y, y)
    return np.asarray(cost)


class _Pairs:
    """Steps 3 to 8 over all pairs, or over random ones.

    A violated pair counts a_i b_j max(n, m): the box's 1/m where the weights are equal and n >= m.
    """

    def __init__(
        self, x: Array, y: Array, a: Array, b: Array, drawn: int | None, rng: np.random.Generator
    ) -> None:
        self.x, self.y, self.a, self.b = x, y, a, b
        self.drawn, self.rng = drawn, rng
        self.unit = max(len(a), len(b))
        self.levels_a, self.levels_b = np.cumsum(a), np.cumsum(b)

    def dual_gradient(self, cost: Array, u: Array, v: Array) -> tuple[Array, Array]:
        """Supergradients of the dual objective by u and v."""
        if self.drawn is None:
            below = (cost < u[:, None] + v).astype(np.float32)
            return (
                self.a * (1.0 - self.unit * (below @ self.b.astype(np.float32))),
                self.b * (1.0 - self.unit * (self.a.astype(np.float32) @ below)),
            )
        i, j = self._draw(cost, u, v)
        share = self.unit / self.drawn
        return (
            self.a - share * np.bincount(i, minlength=len(u)),
            self.b - share * np.bincount(j, minlength=len(v)),
        )

    def matrix_gradient(self, cost: Array, u: Array, v: Array) -> Array:
        """Supergradient by B. The step is normalised, but the threshold is not: the scale counts."""
        x, y = self.x, self.y
        if self.drawn is not None:
            i, j = self._draw(cost, u, v)
            z = x[i] - y[j]
            return np.asarray(z.T @ z * (self.unit / self.drawn))
        weights = (cost < u[:, None] + v) * (self.unit * self.a)[:, None] * self.b
        cross = x.T @ (weights @ y)
        total = (x.T * weights.sum(axis=1)) @ x + (y.T * weights.sum(axis=0)) @ y - cross - cross.T
        return np.asarray((total + total.T) / 2)

    def _draw(self, cost: Array, u: Array, v: Array) -> tuple[Array, Array]:
        """Random pairs, drawn by weight, that are below their potentials."""
        assert self.drawn is not None
        i = np.searchsorted(self.levels_a, self.rng.random(self.drawn), side="right")
        j = np.searchsorted(self.levels_b, self.rng.random(self.drawn), side="right")
        i, j = np.minimum(i, len(u) - 1), np.minimum(j, len(v) - 1)
        below = cost[i, j] < u[i] + v[j]
        return i[below], j[below]


def _objective(cost: Array, u: Array, v: Array, matrix: Array, problem: TwoGroups, penalty: float) -> float:
    """The dualised objective, the penalty included."""
    a, b = problem.a, problem.b
    short = np.minimum(cost - u[:, None] - v, 0.0)
    value = max(len(a), len(b)) * float(a @ short @ b) + float(a @ u) + float(b @ v)
    return value - penalty * float(np.abs(matrix).sum())


def _finish(problem: TwoGroups, penalty: float, best: _Iterate, steps: int) -> Relaxation:
    """Value the best iterate: transport cost of its nearest feasible B, and the bound of that plan."""
    matrix = projection(best.matrix)
    values, vectors = np.linalg.eigh(matrix)
    keep = values > 0
    factor = vectors[:, keep] * np.sqrt(values[keep])
    cost = squared_distances((problem.x + problem.shift) @ factor, problem.y @ factor)
    lower, f, g = dual_value(cost, best.u, problem.a, problem.b)
    plan = exact_plan(cost, problem.a, problem.b, (f, g))
    coupling = problem.coupling_matrix_of_cells(plan.rows, plan.cols, plan.mass)
    lower = max(lower, plan.value) - penalty * float(np.abs(matrix).sum())
    dual = coupling - np.clip(coupling, -penalty, penalty)
    largest = float(leading(dual, 1)[0][0])
    upper = largest + 1e-9 * max(abs(largest), 1e-3)
    return Relaxation(lower, upper, factor, dual, coupling, steps)
