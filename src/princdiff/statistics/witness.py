"""What a kernel statistic saw: which features take part, and which rows are most typical of their group.

The witness of a kernel is, at a row, the difference of its mean similarity to the groups: high where the
first group is denser, low where the second is. A feature's part is what the statistic loses without it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from princdiff.data.problem import Problem
from princdiff.statistics.kernel_cells import KERNELS, RowKernel, kernel_of_distances
from princdiff.statistics.row_view import RowView, distance_factors
from princdiff.statistics.searched_rows import random_order

# Rows on which the witness is looked at, and features that are left out one by one: a matrix each.
_ROWS = 500
_FEATURES = 200


@dataclass(frozen=True)
class Witness:
    """What a kernel statistic saw.

    Attributes
    ----------
    parts : array of shape (n_features,)
        What the statistic loses without the feature, as a share of all losses; features beyond the first
        200 by their own difference have none.
    typical : list of int arrays
        For each group places of rows, the most typical one first.
    """

    parts: NDArray[np.float64]
    typical: list[NDArray[np.intp]]


def kernel_named(name: str) -> RowKernel:
    """The kernel of a cell's name; a kernel of middle width for cells that are none.

    Examples
    --------
    >>> kernel_named("local gaussian 0.005").quantile, kernel_named("lengths").quantile
    (0.005, 0.25)
    """
    if name.endswith("covariances"):
        return RowKernel("products")
    for kernel in KERNELS:
        if kernel.shape == "energy" and name.endswith("energy"):
            return kernel
        if name.endswith(f"{kernel.shape} {kernel.quantile:g}"):
            return kernel
    return RowKernel("gaussian", 0.25)


def witness(
    rows: NDArray[np.float64], codes: NDArray[np.uint8], kernel: RowKernel, count: int = 5
) -> Witness:
    """Features and rows behind a kernel statistic.

    Parameters
    ----------
    rows : array of shape (n_rows, n_features)
        Scaled, as distances between them should be; at most a few hundred.
    codes : array of shape (n_rows,)
        Groups.
    kernel : RowKernel
        What compared the rows.
    count : int, default=5
        Typical rows of each group.

    Returns
    -------
    Witness

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> rows, codes = rng.normal(size=(120, 3)), np.repeat([0, 1], 60)
    >>> rows[60:, 1] *= 4
    >>> found = witness(rows, codes, RowKernel("gaussian", 0.25))
    >>> int(found.parts.argmax()), [len(rows) for rows in found.typical]
    (1, [5, 5])
    """
    inner = rows @ rows.T
    groups = [np.flatnonzero(codes == group) for group in range(int(codes.max()) + 1)]
    matrix = _similarities(kernel, inner)
    full = _clarity(matrix, groups)
    losses = np.zeros(rows.shape[1])
    for feature in _worth_leaving_out(rows, groups):
        column = rows[:, feature]
        without = _similarities(kernel, inner - np.outer(column, column))
        losses[feature] = max(0.0, full - _clarity(without, groups))
    total = losses.sum()
    return Witness(losses / total if total > 0 else losses, _typical(matrix, groups, count))


def witness_rows(problem: Problem, seed: int) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Up to some hundred rows, no group with more than its share, as distances see them.

    Parameters
    ----------
    problem : Problem
        Rows in memory.
    seed : int
        Of the draw.

    Returns
    -------
    index : int array of shape (n_taken,)
    rows : array of shape (n_taken, n_features)
    """
    order = random_order(problem.row_keys, seed)
    most = max(20, _ROWS // problem.n_groups)
    parts = [order[problem.codes[order] == group][:most] for group in range(problem.n_groups)]
    index = np.sort(np.concatenate(parts))
    view = RowView(problem.samples, distance_factors(problem).astype(np.float32))
    return index, view.some(index)


def _similarities(kernel: RowKernel, inner: NDArray[np.float64]) -> NDArray[np.float64]:
    """From inner products; a row is no neighbour of its own."""
    if kernel.shape == "products":
        matrix = inner * inner
    else:
        lengths = np.diag(inner)
        squares = np.maximum(lengths[:, None] + lengths - 2 * inner, 0.0)
        matrix = kernel_of_distances(kernel, np.sqrt(squares))
    np.fill_diagonal(matrix, 0.0)
    return matrix


def _worth_leaving_out(rows: NDArray[np.float64], groups: list[NDArray[np.intp]]) -> NDArray[np.intp]:
    """All features, or those whose mean or spread differs most."""
    if rows.shape[1] <= _FEATURES:
        return np.arange(rows.shape[1])
    means = np.array([rows[own].mean(axis=0) for own in groups])
    spreads = np.array([rows[own].std(axis=0) for own in groups])
    return np.argsort(-(np.ptp(means, axis=0) + np.ptp(spreads, axis=0)), kind="stable")[:_FEATURES]


def _clarity(matrix: NDArray[np.float64], groups: list[NDArray[np.intp]]) -> float:
    """Unbiased statistic over the spread of the similarities: comparable with and without a feature."""
    total = 0.0
    for place, own in enumerate(groups):
        within = matrix[np.ix_(own, own)].sum() / (len(own) * (len(own) - 1))
        total += (len(groups) - 1) * within
        for other in groups[:place]:
            total -= 2 * matrix[np.ix_(own, other)].mean()
    apart = matrix[np.triu_indices(len(matrix), 1)]
    spread = float(apart.std())
    return total / spread if spread > 0 else 0.0


def _typical(
    matrix: NDArray[np.float64], groups: list[NDArray[np.intp]], count: int
) -> list[NDArray[np.intp]]:
    """Rows of each group that are much more like their own group than like the others."""
    result = []
    for place, own in enumerate(groups):
        inside = matrix[np.ix_(own, own)].sum(axis=1) / (len(own) - 1)
        others = np.concatenate([other for number, other in enumerate(groups) if number != place])
        outside = matrix[np.ix_(own, others)].mean(axis=1)
        result.append(own[np.argsort(-(inside - outside), kind="stable")[:count]])
    return result
