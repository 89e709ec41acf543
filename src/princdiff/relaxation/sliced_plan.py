"""A good feasible plan for more rows than a dense plan could hold.

Both groups are cut at the same quantiles along the leading direction of a relaxation that was solved on a
sample of the rows. Inside a slice entropic transport finds the plan for the whole B; together the
slices are a feasible plan of all rows, so its W certifies, and memory is that of one slice.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from princdiff.relaxation.fast import solve_fast
from princdiff.relaxation.sinkhorn import entropic_plan
from princdiff.relaxation.two_groups import TwoGroups

Array = npt.NDArray[Any]

__all__ = ["sliced_coupling"]


def sliced_coupling(
    problem: TwoGroups, rng: np.random.Generator, rows: int = 1500, sample: int = 1000
) -> Array:
    """W_M (p, p) of a feasible plan that moves rows only inside quantile slices.

    Parameters
    ----------
    problem : TwoGroups
    rng : Generator
    rows : int
        Rows of the larger group in a slice, about.
    sample : int
        Rows of each group for the relaxation that gives B.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> problem = TwoGroups.from_rows(rng.normal(size=(90, 2)), np.repeat([0, 1], [60, 30]))
    >>> matrix = sliced_coupling(problem, rng, rows=20, sample=30)
    >>> bool(np.linalg.eigvalsh(matrix)[0] > 0)
    True
    """
    n, m = len(problem.a), len(problem.b)
    part = problem.subset(
        rng.choice(n, min(n, sample), replace=False), rng.choice(m, min(m, sample), replace=False)
    )
    state = solve_fast(part, 0.0, rng, tol=0.02, max_iter=200)
    factor = state.factor
    direction = np.linalg.svd(factor, full_matrices=False)[0][:, 0]
    order_x, order_y = np.argsort(problem.x @ direction), np.argsort(problem.y @ direction)
    edges_x, edges_y = _levels(problem.a[order_x]), _levels(problem.b[order_y])
    eps = 0.01 * max(state.upper, 1e-12)
    cross = np.zeros((problem.dimension, problem.dimension))
    n_slices = max(1, -(-max(n, m) // rows))
    for s in range(n_slices):
        low, high = s / n_slices, (s + 1) / n_slices
        at_x, mass_x = _inside(edges_x, low, high)
        at_y, mass_y = _inside(edges_y, low, high)
        x, y = problem.x[order_x[at_x]], problem.y[order_y[at_y]]
        share = mass_x.sum()
        weights = mass_x / share, mass_y / mass_y.sum()
        plan = entropic_plan((x @ factor, y @ factor), weights, eps, tol=1e-3)
        cross += share * (x.T @ (plan @ y))
    matrix = problem.product_plan - cross - cross.T
    return np.asarray((matrix + matrix.T) / 2)


def _levels(weights: Array) -> Array:
    levels = np.concatenate([[0.0], np.cumsum(weights)])
    levels[-1] = 1.0
    return levels


def _inside(levels: Array, low: float, high: float) -> tuple[Array, Array]:
    """Sorted rows that overlap the slice [low, high] of the mass, and how much of each does."""
    overlap = np.minimum(levels[1:], high) - np.maximum(levels[:-1], low)
    at = np.flatnonzero(overlap > 1e-15)
    return at, overlap[at]
