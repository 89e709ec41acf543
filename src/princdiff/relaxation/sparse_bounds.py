"""Bounds on b'Wb for a fixed W and a unit b with at most k non-zeros.

That is sparse PCA of W, and every upper bound on it bounds the divergence of k-sparse directions when W
belongs to a feasible plan. From cheap to sharp: the k largest diagonal entries, a soft-threshold of W, and
branch and bound over which features are in.
"""

from __future__ import annotations

import heapq
from itertools import count
from typing import Any

import numpy as np
import numpy.typing as npt

from princdiff.relaxation.cutting_planes import leading

Array = npt.NDArray[Any]

__all__ = ["best_support_bound", "largest_diagonals", "threshold_bound"]


def largest_diagonals(diagonal: Array, k: int) -> float:
    """Sum of the k largest entries: the trace of the heaviest k x k block of a semidefinite matrix.

    Branch and bound is never above it, but needs W as a whole. Beyond, this is what there is: for three of
    2000 normal columns and 120 rows it is an eighth of the largest eigenvalue.

    Examples
    --------
    >>> largest_diagonals(np.array([1.0, 3.0, 2.0]), 2)
    5.0
    """
    return float(np.sort(diagonal)[::-1][:k].sum())


def threshold_bound(matrix: Array, k: int, n_steps: int = 24) -> tuple[float, float]:
    """The least of lambda_max(W soft-thresholded at t) + t k over t, and that t.

    For a unit b with k non-zeros, |b|_1 squared is at most k, so taking away at most t from every entry
    of W takes away at most t k from b'Wb.

    Examples
    --------
    >>> value, t = threshold_bound(np.array([[2.0, 0.1], [0.1, 2.0]]), 1)
    >>> bool(value >= 2.0)
    True
    """

    def at(t: float) -> float:
        return float(leading(matrix - np.clip(matrix, -t, t), 1)[0][0]) + t * k

    top = float(np.abs(matrix).max())
    best, where = at(0.0), 0.0
    if top == 0:
        return best, where
    grid = top * np.geomspace(1e-3, 1.0, n_steps // 2)
    values = [at(t) for t in grid]
    i = int(np.argmin(values))
    if values[i] < best:
        best, where = values[i], float(grid[i])
    low, high = float(grid[max(i - 1, 0)]), float(grid[min(i + 1, len(grid) - 1)])
    golden = (np.sqrt(5) - 1) / 2
    for _ in range(n_steps // 2):
        left, right = high - golden * (high - low), low + golden * (high - low)
        here, there = at(left), at(right)
        for value, t in ((here, left), (there, right)):
            if value < best:
                best, where = value, t
        if here < there:
            high = right
        else:
            low = left
    return best, where


def best_support_bound(matrix: Array, k: int, tol: float = 1e-3, max_nodes: int = 300) -> tuple[float, bool]:
    """Branch and bound for max of b'Wb over unit b with at most k non-zeros, W semidefinite.

    A node has features that are in and features that may still come in. It is bounded by
    lambda_max over all of them, by a row argument (the k largest entries of each row, in size, bound the
    eigenvalue of every k x k block), and by the diagonal; it branches on the heaviest free feature
    of its leading eigenvector.

    Parameters
    ----------
    matrix : ndarray of shape (d, d)
    k : int
    tol : float
        Relative accuracy.
    max_nodes : int
        Nodes to open before giving up; the bound is then the largest over what is left.

    Returns
    -------
    bound : float
        At least the maximum.
    proven : bool
        Whether the bound is within ``tol`` of a value that is attained.

    Examples
    --------
    >>> bound, proven = best_support_bound(np.diag([1.0, 3.0, 2.0]), 2)
    >>> round(bound, 6), proven
    (3.0, True)
    """
    d = len(matrix)
    k = min(k, d)
    if k == d:
        return float(leading(matrix, 1)[0][0]), True
    weights = np.abs(matrix)
    incumbent = _greedy(matrix, k)
    root = np.arange(d)
    bound, vector = _node(matrix, weights, np.zeros(0, dtype=int), root, k)
    heap: list[tuple[float, int, Array, Array, Array]] = [(-bound, 0, np.zeros(0, dtype=int), root, vector)]
    opened = 0
    number = count(1)  # breaks ties in the heap, which cannot compare arrays
    while heap and -heap[0][0] > incumbent * (1 + tol) and opened < max_nodes:
        _, _, inside, free, vector = heapq.heappop(heap)
        opened += 1
        chosen = free[int(np.argmax(np.abs(vector[len(inside) :])))]
        rest = free[free != chosen]
        for more, left in ((np.append(inside, chosen), rest), (inside, rest)):
            if len(more) + len(left) <= k or len(more) == k:
                block = np.concatenate([more, left]) if len(more) < k else more
                incumbent = max(incumbent, _block(matrix, block))
                continue
            value, vector_here = _node(matrix, weights, more, left, k)
            incumbent = max(incumbent, _rounded(matrix, more, left, vector_here, k))
            if value > incumbent * (1 + tol):
                heapq.heappush(heap, (-value, next(number), more, left, vector_here))
    proven = not heap or -heap[0][0] <= incumbent * (1 + tol)
    # nodes were dropped once within tol of the incumbent: the bound has to cover them
    bound = incumbent * (1 + tol) if proven else max(-heap[0][0], incumbent * (1 + tol))
    return float(bound), proven


def _block(matrix: Array, support: Array) -> float:
    return float(np.linalg.eigvalsh(matrix[np.ix_(support, support)])[-1])


def _node(matrix: Array, weights: Array, inside: Array, free: Array, k: int) -> tuple[float, Array]:
    """Upper bound over supports that hold ``inside`` and come from both; leading eigenvector."""
    every = np.concatenate([inside, free])
    block = matrix[np.ix_(every, every)]
    values, vectors = leading(block, 1)
    size = weights[np.ix_(every, every)]
    if len(every) > k:
        part = np.partition(size, len(every) - k, axis=1)[:, len(every) - k :]
        rows = part.sum(axis=1)
        # every k x k block has a row sum at least its eigenvalue, among the rows of the block
        row_bound = float(rows.max())
    else:
        row_bound = float(size.sum(axis=1).max())
    diagonal = np.diag(block)
    held = diagonal[: len(inside)].sum()
    trace_bound = float(held + np.sort(diagonal[len(inside) :])[::-1][: k - len(inside)].sum())
    return min(float(values[0]), row_bound, trace_bound), vectors[:, 0]


def _rounded(matrix: Array, inside: Array, free: Array, vector: Array, k: int) -> float:
    """A value that is attained: the heaviest features of the eigenvector."""
    heavy = np.argsort(np.abs(vector[len(inside) :]))[::-1][: k - len(inside)]
    return _block(matrix, np.concatenate([inside, free[heavy]]))


def _greedy(matrix: Array, k: int) -> float:
    """Power iterations with a hard threshold, from the largest diagonal entries."""
    best = float(np.diag(matrix).max())
    for start in np.argsort(np.diag(matrix))[::-1][:5]:
        vector = matrix[:, start]
        support = np.argsort(np.abs(vector))[::-1][:k]
        for _ in range(20):
            _, vectors = leading(matrix[np.ix_(support, support)], 1)
            vector = matrix[:, support] @ vectors[:, 0]
            new = np.argsort(np.abs(vector))[::-1][:k]
            if set(new) == set(support):
                break
            support = new
        best = max(best, _block(matrix, support))
    return best
