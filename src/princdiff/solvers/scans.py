"""Value scans: try every feature at finite angles.

A value needs a sort of numbers, a slope needs their order as well, at four times the cost: scanning true
values over features x angles is cheaper than it looks, and it leaves the kinks of tied data, where no
gradient helps.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from princdiff.data.labels import Labels
from princdiff.data.samples import Samples
from princdiff.deadline import time_is_up
from princdiff.divergences import Divergence
from princdiff.parallel import in_threads

_FRACTIONS = np.array([1, 2, 4, 6, 8, 10, 12, 14]) / 32
ANGLES = np.pi * np.concatenate([-_FRACTIONS[::-1], _FRACTIONS])
"""Angles between an incumbent and a feature's axis; small ones included, since optima crowd there."""

_CHUNK_ELEMENTS = 1 << 16


class Features(NamedTuple):
    """Some features' scaled values, rows sorted by group so that groups are contiguous.

    Attributes
    ----------
    columns : array of shape (n_features,)
        Which features.
    values : array of shape (n_features, n_rows)
        Their values, in the order of ``rows``.
    rows : array of shape (n_rows,)
        Row numbers, group by group.
    labels : Labels
        Labels of the sorted rows, one column.
    """

    columns: NDArray[np.intp]
    values: NDArray
    rows: NDArray[np.intp]
    labels: Labels

    def select(self, chosen: NDArray) -> Features:
        """Some of the features (positions)."""
        return self._replace(columns=self.columns[chosen], values=self.values[chosen])


def load_features(samples: Samples, labels: Labels, columns: NDArray[np.intp]) -> Features:
    """Features under the first column's labels, held-out rows left away."""
    codes = labels.codes[labels.columns[0]]
    rows = np.argsort(codes, kind="stable")[: int(np.count_nonzero(codes < labels.n_groups))]
    own = labels.take(np.array([0]))
    values = samples.for_labels(own).feature_columns(columns)
    weights = None if labels.weights is None else labels.weights[rows]
    return Features(
        columns,
        np.ascontiguousarray(values[:, rows]),
        rows,
        Labels(codes[rows][None], labels.n_groups, weights=weights),
    )


def scan_angles(
    features: Features,
    projections: NDArray,
    directions: NDArray,
    divergence: Divergence,
    penalty: float = 0.0,
    n_jobs: int | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Best objective of every incumbent turned towards every feature.

    Candidates are ``cos(a) * direction + sin(a) * axis`` brought to unit length, so a feature that already
    has a weight gets another one.

    Parameters
    ----------
    features : Features
        What to try.
    projections : array of shape (n_incumbents, n_rows)
        Projections of the incumbents, rows in the order of ``features.rows``.
    directions : array of shape (n_incumbents, all features)
        The incumbents, unit vectors.
    divergence : Divergence
        What to maximise.
    penalty : float
        Weight of the squared l1 norm.
    n_jobs : int, optional
        Threads.

    Returns
    -------
    objective, angles : arrays of shape (n_incumbents, n_features)
        The best over `ANGLES`, and where.
    """
    n_rows = projections.shape[1]
    dtype = features.values.dtype
    cosines, sines = np.cos(ANGLES), np.sin(ANGLES)
    step = max(1, _CHUNK_ELEMENTS // (len(ANGLES) * n_rows))
    tasks = [
        (incumbent, slice(start, min(start + step, len(features.columns))))
        for incumbent in range(len(projections))
        for start in range(0, len(features.columns), step)
    ]

    def run(task: tuple[int, slice]) -> tuple[NDArray, NDArray]:
        incumbent, block = task
        if time_is_up():
            return np.full(block.stop - block.start, -np.inf), np.zeros(block.stop - block.start)
        mixed = sines.astype(dtype)[:, None] * features.values[block][:, None, :]
        mixed += cosines.astype(dtype)[:, None] * projections[incumbent].astype(dtype)
        mixed = mixed.reshape(-1, n_rows)
        values = divergence.value(mixed, features.labels.repeat(len(mixed))).reshape(-1, len(ANGLES))
        weights = directions[incumbent][features.columns[block]][:, None]
        # A turn that nearly cancels the incumbent leaves no direction worth the name.
        length = np.sqrt(np.maximum(1.0 + 2.0 * cosines * sines * weights, 1e-3))
        objective = values / length**divergence.degree
        if penalty:
            rest = np.abs(directions[incumbent]).sum() - np.abs(weights)
            l1 = (np.abs(cosines) * rest + np.abs(cosines * weights + sines)) / length
            objective = objective - penalty * l1**2
        top = objective.argmax(axis=1)
        return objective[np.arange(len(objective)), top], ANGLES[top]

    objective = np.empty((len(projections), len(features.columns)))
    angles = np.empty_like(objective)
    for (incumbent, block), found in zip(tasks, in_threads(run, tasks, n_jobs), strict=True):
        objective[incumbent, block], angles[incumbent, block] = found
    return objective, angles


def turn(direction: NDArray, feature: int, angle: float) -> NDArray:
    """Unit direction turned towards a feature's axis.

    Examples
    --------
    >>> turn(np.array([1.0, 0.0]), 1, np.pi / 4).round(3)
    array([0.707, 0.707])
    """
    turned = np.cos(angle) * direction
    turned[feature] += np.sin(angle)
    return turned / np.sqrt(turned @ turned)
