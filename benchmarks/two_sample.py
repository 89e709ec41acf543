"""Statistics of other two-sample tests, for many labellings of the same rows at once.

Every function takes pooled rows and labellings of shape (n_labellings, n_rows) with entries 0 and 1, the
observed one first, and gives one statistic per labelling; large means different. What does not depend on the
labels (distances, kernels, random directions) is computed once: the values are those of a loop over
labellings, only sooner. Whatever depends on the labels is redone for each of them, which is what makes the
p-value of `pvalue` valid.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.spatial.distance import cdist
from scipy.stats import rankdata

Array = np.ndarray
TIE = 1e-9


def pvalue(statistics: Array) -> float:
    """(1 + b) / (1 + B): b of B relabellings reach the observed statistic, which stands first."""
    reached = statistics[1:] >= statistics[0] - TIE * np.abs(statistics).max()
    return (1 + int(reached.sum())) / len(statistics)


# ---------------------------------------------------------------------------------------------
# Distances and kernels
# ---------------------------------------------------------------------------------------------


def _contrast(labellings: Array) -> Array:
    """Weights 1/n in the first group and -1/m in the second, so that c'Kc compares the groups."""
    second = labellings.astype(float)
    return (1 - second) / (1 - second).sum(axis=1, keepdims=True) - second / second.sum(axis=1, keepdims=True)


def _quadratic(matrix: Array, labellings: Array) -> Array:
    weights = _contrast(labellings)
    return np.einsum("bi,bi->b", weights @ matrix, weights)


def mmd(X: Array, labellings: Array) -> Array:
    """Squared maximum mean discrepancy, Gaussian kernel, bandwidth the median distance (as hyppo)."""
    distances = cdist(X, X)
    median = np.median(distances[~np.eye(len(X), dtype=bool)])
    return _quadratic(np.exp(-(distances**2) / (2 * median**2)), labellings)


def energy(X: Array, labellings: Array) -> Array:
    """Energy distance; with two groups DISCO and distance correlation order labellings the same way."""
    return _quadratic(-cdist(X, X), labellings)


def wasserstein(X: Array, labellings: Array) -> Array:
    """Squared Wasserstein distance in all dimensions, by POT's exact solver."""
    import ot

    costs = cdist(X, X, "sqeuclidean")
    values = []
    for labels in labellings:
        first, second = np.flatnonzero(labels == 0), np.flatnonzero(labels)
        part = np.ascontiguousarray(costs[np.ix_(first, second)])
        uniform = [np.full(len(group), 1 / len(group)) for group in (first, second)]
        values.append(ot.emd2(*uniform, part))
    return np.array(values)


def cross_match(X: Array, labellings: Array) -> Array:
    """Rosenbaum's cross-match: pairs of an optimal matching with both groups in them, negated.

    Distances are Mahalanobis distances of the ranks, as Rosenbaum advises. The matching ignores labels.
    """
    import rustworkx

    ranks = np.apply_along_axis(rankdata, 0, X)
    precision = np.linalg.pinv(np.atleast_2d(np.cov(ranks.T)))
    distances = cdist(ranks, ranks, "mahalanobis", VI=precision)
    # The matcher takes whole numbers and maximises.
    weights = np.round(1e6 * (distances.max() - distances) / distances.max()).astype(int)
    graph = rustworkx.PyGraph()
    graph.add_nodes_from(range(len(X)))
    rows, columns = np.triu_indices(len(X), 1)
    graph.add_edges_from(
        list(zip(rows.tolist(), columns.tolist(), weights[rows, columns].tolist(), strict=True))
    )
    pairs = np.array(list(rustworkx.max_weight_matching(graph, max_cardinality=True, weight_fn=int)))
    return -(labellings[:, pairs[:, 0]] != labellings[:, pairs[:, 1]]).sum(axis=1).astype(float)


# ---------------------------------------------------------------------------------------------
# Projections
# ---------------------------------------------------------------------------------------------


def random_projections(X: Array, labellings: Array, count: int = 500, seed: int = 0) -> Array:
    """The largest squared Wasserstein distance along random unit directions, the same for all labellings."""
    directions = np.random.default_rng(seed).standard_normal((X.shape[1], count))
    projected = np.ascontiguousarray((X @ (directions / np.linalg.norm(directions, axis=0))).T)
    return np.array([_line_distances(projected, labels).max() for labels in labellings])


def _line_distances(projected: Array, labels: Array) -> Array:
    first, second = np.sort(projected[:, labels == 0], axis=1), np.sort(projected[:, labels != 0], axis=1)
    if first.shape[1] != second.shape[1]:
        raise ValueError(f"groups of one size are needed, got {first.shape[1]} and {second.shape[1]} rows")
    return ((first - second) ** 2).mean(axis=1)


def centroid_directions(X: Array, labellings: Array) -> Array:
    """From one mean to the other, shape (n_labellings, n_features)."""
    return -_contrast(labellings) @ X


def svm_directions(X: Array, labellings: Array, C: float = 1.0) -> Array:
    """Normals of linear support vector machines with squared hinge loss (scikit-learn's LinearSVC)."""
    signs = 2.0 * labellings - 1.0

    def loss(margins: Array) -> tuple[Array, Array]:
        short = np.maximum(0, 1 - margins)
        return C * short**2, -2 * C * short

    curvature = np.full(len(signs), 2 * C)
    return _accelerated(X, signs, loss, curvature, ridge=1.0, ball=np.inf)


def dwd_directions(X: Array, labellings: Array) -> Array:
    """Directions of distance weighted discrimination (Marron), shape (n_labellings, n_features).

    Minimises the sum of 1/r_i + C xi_i with r_i = y_i (w'x_i + b) + xi_i, xi_i >= 0 and ||w|| <= 1, with the
    usual C = 100 / (median distance between the groups)^2. The best xi is explicit, which leaves a smooth
    convex loss of the margin: 1/m beyond 1/sqrt(C), the tangent before.
    """
    signs = 2.0 * labellings - 1.0
    distances = cdist(X, X)
    C = np.array([100 / np.median(distances[np.ix_(row < 0, row > 0)]) ** 2 for row in signs])[:, None]
    root = np.sqrt(C)

    def loss(margins: Array) -> tuple[Array, Array]:
        far = margins * root >= 1
        inverse = 1 / np.where(far, margins, 1 / root)
        return np.where(far, inverse, 2 * root - C * margins), np.where(far, -(inverse**2), -C)

    return _accelerated(X, signs, loss, 2 * C[:, 0] ** 1.5, ridge=0.0, ball=1.0)


def _accelerated(
    X: Array,
    signs: Array,
    loss: Callable[[Array], tuple[Array, Array]],
    curvature: Array,
    ridge: float,
    ball: float,
    max_iter: int = 3000,
    tol: float = 1e-4,
) -> Array:
    """Minimise sum of losses of the margins + ridge/2 ||w||^2 over ||w|| <= ball, for all labellings at once.

    Accelerated projected gradients with restarts; stops when no direction moves.
    """
    centre = X.mean(axis=0)
    # A column of ones is the offset; on the scale of the data it slows nothing down.
    height = np.sqrt(np.linalg.norm(X - centre, 2) ** 2 / len(X))
    rows = np.column_stack([X - centre, np.full(len(X), height)])
    step = 1 / (curvature * np.linalg.norm(rows, 2) ** 2 + ridge)[:, None]
    current = np.zeros((len(signs), rows.shape[1]))
    ahead, momentum = current.copy(), np.ones((len(signs), 1))
    for iteration in range(max_iter):
        _, slopes = loss(signs * (ahead @ rows.T))
        gradient = (signs * slopes) @ rows
        gradient[:, :-1] += ridge * ahead[:, :-1]
        proposed = ahead - step * gradient
        length = np.linalg.norm(proposed[:, :-1], axis=1, keepdims=True)
        proposed[:, :-1] *= np.minimum(1, ball / np.maximum(length, 1e-300))
        moved = proposed - current
        # Where the momentum points uphill it is forgotten.
        uphill = np.einsum("bi,bi->b", ahead - proposed, moved)[:, None] > 0
        following = np.where(uphill, 1.0, (1 + np.sqrt(1 + 4 * momentum**2)) / 2)
        ahead = proposed + np.where(uphill, 0.0, (momentum - 1) / following) * moved
        current, momentum = proposed, following
        if iteration % 10 == 9:
            size = np.linalg.norm(current, axis=1)
            if np.all(np.linalg.norm(moved, axis=1) <= tol / 100 * np.maximum(size, 1e-300)):
                break
    return current[:, :-1]


def diproperm(X: Array, labellings: Array, directions: Callable[[Array, Array], Array]) -> Array:
    """DiProPerm (Wei et al.): Welch's t between the groups along a direction that separates them.

    The direction is found anew for every labelling, and its projections are compared by that labelling:
    comparing them by the observed labels, as a published package does, makes every null hypothesis rejected.
    """
    projected = directions(X, labellings) @ X.T
    second = labellings.astype(bool)
    moments = []
    for members in (~second, second):
        count = members.sum(axis=1)
        mean = (projected * members).sum(axis=1) / count
        variance = (((projected - mean[:, None]) ** 2) * members).sum(axis=1) / (count - 1)
        moments.append((mean, variance / count))
    return np.abs(moments[1][0] - moments[0][0]) / np.sqrt(moments[0][1] + moments[1][1])
