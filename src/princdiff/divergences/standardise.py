"""Projections in multiples of their own spread.

A divergence that compares standardised projections does not depend on the length of a direction, and needs
no unit for its bandwidth. Mean and standard deviation are those of all labelled rows together, so they do
not depend on who belongs to which group, and a permutation does not change them.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from princdiff.data.labels import Labels
from princdiff.divergences.sorting import Workspace


class Standardised(NamedTuple):
    """Projections with mean 0 and standard deviation 1 over the labelled rows.

    Attributes
    ----------
    values : array of shape (n_columns, n_rows)
        Standardised projections; all 0 where a column is constant.
    scale : array of shape (n_columns, 1)
        What the centred projections were multiplied by: 1 / standard deviation, or 0.
    masses : array broadcastable to (n_columns, n_rows)
        Share of each row in mean and standard deviation.
    """

    values: NDArray
    scale: NDArray
    masses: NDArray

    def pull_back(self, slopes: NDArray) -> NDArray:
        """Derivative by the projections from that by the standardised ones, in place.

        A row also moves the mean and the standard deviation, and with them all the others. The
        standardised values are used up.
        """
        total = slopes.sum(axis=1, keepdims=True)
        along = np.einsum("cn,cn->c", slopes, self.values)[:, None]
        common = np.multiply(self.values, along, out=self.values)
        common += total
        common *= self.masses
        slopes -= common
        slopes *= self.scale
        return slopes


def standardise(projections: NDArray, labels: Labels, workspace: Workspace) -> Standardised:
    """Standardise each column.

    Parameters
    ----------
    projections : array of shape (n_columns, n_rows)
        Projected rows.
    labels : Labels
        Who takes part, with what weight.
    workspace : Workspace
        Buffers to reuse; the values are in one of them.

    Returns
    -------
    Standardised

    Examples
    --------
    >>> labels = Labels([[0, 1, 255]], 2)
    >>> standardise(np.array([[1.0, 3.0, 99.0]]), labels, Workspace()).values[:, :2]
    array([[-1.,  1.]])
    """
    dtype = projections.dtype
    masses = row_masses(labels).astype(dtype)
    values = workspace.array("standardised", projections.shape, dtype)
    if masses.size == 1:
        np.subtract(projections, projections.mean(axis=1, keepdims=True), out=values)
        variance = np.einsum("cn,cn->c", values, values) * masses[0]
    else:
        masses = np.broadcast_to(masses, projections.shape)
        np.subtract(projections, np.einsum("cn,cn->c", projections, masses)[:, None], out=values)
        variance = np.einsum("cn,cn,cn->c", values, values, masses, optimize=False)
    varies = ~is_constant(projections, variance)
    scale = np.divide(1.0, np.sqrt(variance), out=np.zeros_like(variance), where=varies)[:, None]
    values *= scale
    return Standardised(values, scale, masses)


def is_constant(projections: NDArray, variance: NDArray) -> NDArray[np.bool_]:
    """Columns whose variance is a matter of rounding, shape (n_columns,)."""
    largest = np.maximum(projections.max(axis=1), -projections.min(axis=1))
    return variance <= (16 * np.finfo(projections.dtype).eps * largest) ** 2


# Groups as masses and pairs: what the divergences share.


def pair_mass(labels: Labels) -> NDArray[np.float64]:
    """Sum over pairs of the products of their proportions, shape (n_columns or 1,).

    Examples
    --------
    >>> pair_mass(Labels([[0, 0, 1, 1]], 2))
    array([0.25])
    """
    return 0.5 * (1.0 - (labels.proportions**2).sum(axis=1))


def group_pairs(labels: Labels) -> Iterator[tuple[int, int, NDArray[np.float64]]]:
    """Every pair of groups and its weight, shape (n_columns or 1,); the weights sum to one.

    Examples
    --------
    >>> [(g, h, float(weight[0])) for g, h, weight in group_pairs(Labels([[0, 1, 2, 2]], 3))]
    [(0, 1, 0.2), (0, 2, 0.4), (1, 2, 0.4)]
    """
    shares = labels.proportions
    mass = pair_mass(labels)
    for g, h in combinations(range(labels.n_groups), 2):
        yield g, h, shares[:, g] * shares[:, h] / mass


def row_masses(labels: Labels) -> NDArray[np.float64]:
    """Share of each row in all labelled rows, broadcastable to (n_columns, n_rows); 0 where held out.

    Examples
    --------
    >>> row_masses(Labels([[0, 1, 255]], 2, weights=np.array([1.0, 3.0, 5.0])))
    array([[0.25, 0.75, 0.  ]])
    """
    if labels.weights is None and int(labels.group_sizes.sum()) == labels.n_rows:
        return np.full((1, 1), 1.0 / labels.n_rows)
    masses = labelled(labels) * (1.0 if labels.weights is None else labels.weights)
    return masses / masses.sum(axis=1, keepdims=True)


def labelled(labels: Labels) -> NDArray[np.bool_]:
    """Which rows take part, shape (n_columns or 1, n_rows)."""
    codes = labels.codes if labels.shared else labels.codes[labels.columns]
    return codes < labels.n_groups
