"""The relaxation as a matrix game: a few plans against a few directions.

Convex combinations of feasible plans are feasible, so a handful of matrices W_M found on the way bounds the
optimum better together than the best of them alone: minimise lambda_max over their hull. In few
dimensions the same idea, with exact plans as the answer to every B, closes the gap altogether.
Both are small linear programs whose rows are directions (a cut of lambda_max each).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.linalg import eigh

from princdiff.deadline import time_is_up

Array = npt.NDArray[Any]

__all__ = ["hull_bound", "leading", "play"]


def leading(matrix: Array, count: int) -> tuple[Array, Array]:
    """The ``count`` largest eigenvalues of a symmetric matrix, largest first, and their eigenvectors."""
    size = len(matrix)
    if count >= size or size <= 64:
        values, vectors = np.linalg.eigh(matrix)
    else:
        values, vectors = eigh(matrix, subset_by_index=[size - count, size - 1], check_finite=False)
    return values[::-1][:count], vectors[:, ::-1][:, :count]


def hull_bound(matrices: list[Array], tol: float, rounds: int = 8) -> tuple[float, Array]:
    """Minimise lambda_max over convex combinations of symmetric matrices.

    Parameters
    ----------
    matrices : list of ndarray of shape (p, p)
    tol : float
        Relative accuracy at which to stop.
    rounds : int
        At most this many linear programs.

    Returns
    -------
    bound : float
        lambda_max of the best combination tried: never below the minimum.
    weights : ndarray of shape (len(matrices),)

    Examples
    --------
    >>> bound, weights = hull_bound([np.diag([3.0, 1.0]), np.diag([1.0, 3.0])], 1e-6)
    >>> round(bound, 6), weights
    (2.0, array([0.5, 0.5]))
    """
    stack = np.array(matrices)
    count = len(stack)
    cuts, best, weights = [], np.inf, np.eye(count)[0]
    for i, matrix in enumerate(stack):
        values, vectors = leading(matrix, 4)
        cuts.append(vectors)
        if values[0] < best:
            best, weights = float(values[0]), np.eye(count)[i]
    if count == 1:
        return best, weights
    for _ in range(rounds):
        directions = np.hstack(cuts)
        payoff = np.einsum("ak,iab,bk->ki", directions, stack, directions, optimize=True)
        floor, trial, _, _ = _master(payoff, 0.0, directions)
        if best - floor <= tol * abs(best):
            break
        # the program's own corner overshoots; halfway to the best so far is usually better
        trial = (trial + weights) / 2
        values, vectors = leading(np.tensordot(trial, stack, 1), 4)
        cuts.append(vectors)
        if values[0] < best:
            best, weights = float(values[0]), trial
    return best, weights


def _master(payoff: Array, penalty: float, directions: Array) -> tuple[float, Array, Array, Array]:
    """Solve min over w (simplex) and |U| <= penalty of max over directions b_k of b_k'(sum w_i W_i + U) b_k.

    Parameters
    ----------
    payoff : ndarray of shape (k, i), entries b_k'W_i b_k
    directions : ndarray of shape (p, k)

    Returns
    -------
    value, weights (i,), U (p, p), probabilities of the directions (k,)
    """
    n_cuts, count = payoff.shape
    p = directions.shape[0]
    columns = [payoff]
    bounds: list[tuple[float | None, float | None]] = [(0.0, None)] * count
    upper = np.triu_indices(p)
    if penalty > 0:
        twice = np.where(upper[0] == upper[1], 1.0, 2.0)
        columns.append((directions[upper[0]] * directions[upper[1]] * twice[:, None]).T)
        bounds += [(-penalty, penalty)] * len(upper[0])
    columns.append(-np.ones((n_cuts, 1)))
    bounds.append((None, None))
    table = np.hstack(columns)
    total = np.zeros((1, table.shape[1]))
    total[0, :count] = 1.0
    objective = np.zeros(table.shape[1])
    objective[-1] = 1.0
    from scipy.optimize import linprog

    answer = linprog(objective, A_ub=table, b_ub=np.zeros(n_cuts), A_eq=total, b_eq=[1.0], bounds=bounds)
    if answer.x is None:
        raise RuntimeError(f"the matrix game's program failed: {answer.message}")
    weights = np.maximum(answer.x[:count], 0.0)
    shift = np.zeros((p, p))
    if penalty > 0:
        shift[upper] = np.clip(answer.x[count:-1], -penalty, penalty)
        shift = np.triu(shift) + np.triu(shift, 1).T
    chances = np.maximum(-answer.ineqlin.marginals, 0.0)
    return float(answer.fun), weights / weights.sum(), shift, chances / max(chances.sum(), 1e-300)


def play(
    answer: Callable[[Array], tuple[float, Array]],
    factor: Array,
    couplings: list[Array],
    penalty: float,
    tol: float,
    max_rounds: int = 60,
) -> tuple[float, Array, float, Array, Array, int]:
    """Close the gap of the relaxation by a game between collected plans and collected directions.

    Parameters
    ----------
    answer : callable
        Given a factor V (p, r) with B = VV', the least transport cost tr(W_M B) and its W_M.
    factor : ndarray of shape (p, r)
        Where to begin.
    couplings : list of ndarray of shape (p, p)
        W_M of feasible plans, at least one.
    penalty : float
    tol : float
        Gap at which to stop.

    Returns
    -------
    lower : float
    factor : ndarray
        The B it belongs to.
    upper : float
    dual : ndarray of shape (p, p)
        W_M + U whose lambda_max is the upper bound.
    coupling : ndarray of shape (p, p)
        That W_M.
    rounds : int
        Exact transports used.
    """
    matrices = list(couplings)
    p = len(matrices[0])
    lower, best = -np.inf, factor
    upper, dual, coupling = np.inf, matrices[0], matrices[0]
    cuts = _columns(factor)
    trial = factor
    rounds = 0
    while rounds < max_rounds:
        rounds += 1
        cost, matrix = answer(trial)
        value = cost - penalty * float(np.abs(trial @ trial.T).sum())
        if value > lower:
            lower, best = value, trial
        matrices.append(matrix)
        if _closed(lower, upper, tol) or (np.isfinite(upper) and time_is_up()):
            break
        # Solve the game with the plans at hand, adding directions until its value is known well
        # enough; no transport is needed for that.
        chances = np.zeros(0)
        for _ in range(40):
            stack = np.array(matrices)
            payoff = np.einsum("ak,iab,bk->ki", cuts, stack, cuts, optimize=True)
            floor, weights, shift, chances = _master(payoff, penalty, cuts)
            here = np.tensordot(weights, stack, 1)
            values, vectors = leading(here + shift, 3)
            if values[0] < upper:
                upper, dual, coupling = float(values[0]), here + shift, here
            if values[0] - floor <= max(0.1 * tol * abs(upper), 0.05 * (upper - lower)):
                break
            cuts, chances = np.hstack([cuts, vectors]), np.append(chances, np.zeros(vectors.shape[1]))
        if _closed(lower, upper, tol):
            break
        halfway = (cuts * chances) @ cuts.T / 2 + best @ best.T / 2
        trial = _root(halfway)
        cuts = _thin(cuts, chances, 40 * p)
    return lower, best, upper, dual, coupling, rounds


def _closed(lower: float, upper: float, tol: float) -> bool:
    return bool(np.isfinite(upper) and upper - lower <= tol * max(abs(upper), abs(lower)))


def _thin(cuts: Array, chances: Array, most: int) -> Array:
    """Forget directions that play no part once there are many."""
    if cuts.shape[1] <= most:
        return cuts
    recent = np.arange(cuts.shape[1]) >= cuts.shape[1] - most // 2
    return cuts[:, (chances > 0) | recent]


def _columns(factor: Array) -> Array:
    norm = np.linalg.norm(factor, axis=0)
    return np.asarray(factor[:, norm > 0] / norm[norm > 0])


def _root(matrix: Array) -> Array:
    """A factor V with VV' = matrix, scaled to trace one."""
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    values = np.maximum(values, 0.0)
    keep = values > 1e-12 * values[-1]
    return np.asarray(vectors[:, keep] * np.sqrt(values[keep] / values[keep].sum()))
