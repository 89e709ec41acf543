"""Groups as masses and pairs: what the divergences share.

Between several groups a divergence is the average over pairs, weighted by the product of their proportions
and divided by the sum of these products, so that two groups give the two-sample value.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from princdiff.data.labels import Labels


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
