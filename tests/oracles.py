"""Slow, independent definitions that the tests compare the package with."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import ot
from scipy.optimize import linprog

from princdiff.data.labels import HELD_OUT


def wasserstein2(x, y, a=None, b=None):
    """Squared 2-Wasserstein distance of two weighted samples, by POT."""
    x, y = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    a = np.ones(len(x)) if a is None else np.asarray(a, dtype=np.float64)
    b = np.ones(len(y)) if b is None else np.asarray(b, dtype=np.float64)
    return float(ot.emd2_1d(x, y, a / a.sum(), b / b.sum(), metric="sqeuclidean"))


def wasserstein2_by_linear_programme(x, y, a=None, b=None):
    """The same as the transport problem it is defined by."""
    n, m = len(x), len(y)
    a = np.ones(n) if a is None else np.asarray(a, dtype=np.float64)
    b = np.ones(m) if b is None else np.asarray(b, dtype=np.float64)
    cost = (np.asarray(x)[:, None] - np.asarray(y)[None, :]) ** 2
    rows = np.kron(np.eye(n), np.ones(m))
    columns = np.kron(np.ones(n), np.eye(m))
    masses = np.concatenate([a / a.sum(), b / b.sum()])
    solution = linprog(cost.ravel(), A_eq=np.vstack([rows, columns]), b_eq=masses, method="highs")
    assert solution.status == 0, solution.message
    return float(solution.fun)


def between_groups(values, codes, weights=None):
    """Average over pairs of groups, weighted by the product of their proportions; held-out rows ignored."""
    values, codes = np.asarray(values, dtype=np.float64), np.asarray(codes)
    weights = np.ones(len(values)) if weights is None else np.asarray(weights, dtype=np.float64)
    groups = [code for code in np.unique(codes) if code != HELD_OUT]
    total = mass = 0.0
    for g, h in combinations(groups, 2):
        inside, other = codes == g, codes == h
        pair = weights[inside].sum() * weights[other].sum()
        total += pair * wasserstein2(values[inside], values[other], weights[inside], weights[other])
        mass += pair
    return total / mass


def scaled_rows(X, y, scale, weights=None):
    """Centred and scaled rows by plain dense algebra."""
    X = np.asarray(X, dtype=np.float64)
    weights = np.ones(len(X)) if weights is None else np.asarray(weights, dtype=np.float64)
    if scale == "within":
        result = np.zeros_like(X)
        y = np.asarray(y)
        usable = np.ones(X.shape[1], dtype=bool)
        for group in np.unique(y):
            inside = y == group
            part = scaled_rows(X[inside], None, "pooled", weights[inside])
            usable &= np.ptp(X[inside], axis=0) > 0
            result[inside] = part
        # A feature that is constant in some group cannot be standardised there.
        return result * usable
    mean = np.average(X, axis=0, weights=weights)
    deviation = np.sqrt(np.average((X - mean) ** 2, axis=0, weights=weights))
    varies = np.ptp(X, axis=0) > 0
    centred = (X - mean) * varies
    return centred if scale is None else centred / np.where(varies, deviation, 1.0)


def divergence_along(direction, X, y, scale=None, weights=None):
    """Divergence of the scaled rows along a direction."""
    return between_groups(scaled_rows(X, y, scale, weights) @ direction, y, weights)


def equal_groups_value(projections, n_first):
    """Divergence of many projections at once, (..., n_rows), for two groups of equal size."""
    first = np.sort(projections[..., :n_first], axis=-1)
    second = np.sort(projections[..., n_first:], axis=-1)
    return ((first - second) ** 2).mean(axis=-1)


def best_pair(X, n_first, n_angles=90):
    """Best direction with two features at most: all pairs x angles, for two groups of equal size."""
    columns = np.ascontiguousarray(X.T)
    angles = np.pi * np.arange(n_angles) / n_angles
    cosines, sines = np.cos(angles)[:, None], np.sin(angles)[:, None]
    return max(
        float(equal_groups_value(cosines * columns[i] + sines * columns[j], n_first).max())
        for i, j in combinations(range(len(columns)), 2)
    )


def half_sphere(n_points):
    """Directions spread evenly over the half sphere in three dimensions (Fibonacci lattice)."""
    index = np.arange(n_points) + 0.5
    height = index / n_points
    turn = np.pi * (1 + np.sqrt(5)) * index
    radius = np.sqrt(1 - height**2)
    return np.stack([radius * np.cos(turn), radius * np.sin(turn), height], axis=1)
