"""What kind of difference: location, scale or shape, for a direction and for each single feature.

With quantile functions q_X and q_Y the squared Wasserstein distance splits exactly:
(mean difference)^2 + (sd difference)^2 + 2 sd_X sd_Y (1 - corr(q_X, q_Y)).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from princdiff.data.labels import Labels
from princdiff.divergences import Wasserstein2

_BLOCK_ELEMENTS = 1 << 20


class Kind(NamedTuple):
    """Parts of a squared Wasserstein distance; they sum to it.

    Attributes
    ----------
    location, scale, shape : arrays of shape (n_columns,)
        From different means, different standard deviations, and the rest.
    """

    location: NDArray[np.float64]
    scale: NDArray[np.float64]
    shape: NDArray[np.float64]

    @property
    def total(self) -> NDArray[np.float64]:
        """The squared Wasserstein distance, shape (n_columns,)."""
        return self.location + self.scale + self.shape


def split_difference(
    projections: ArrayLike, codes: ArrayLike, weights: NDArray[np.float64] | None = None
) -> Kind:
    """Location, scale and shape of the difference in every column.

    Parameters
    ----------
    projections : array of shape (n_columns, n_rows)
        Projected rows, or features; one after the other.
    codes : array of shape (n_rows,)
        Group of each row, 0 ... n_groups - 1. More than two groups: the average over pairs weighted by the
        product of their proportions.
    weights : array of shape (n_rows,), optional
        Row weights.

    Returns
    -------
    Kind

    Examples
    --------
    >>> kind = split_difference([[0.0, 2.0, 5.0, 7.0]], [0, 0, 1, 1])
    >>> [float(part[0]) for part in kind]
    [25.0, 0.0, 0.0]
    """
    values = np.atleast_2d(np.asarray(projections, dtype=np.float64))
    codes = np.asarray(codes, dtype=np.uint8)
    n_groups = int(codes.max()) + 1
    labels = Labels(codes, n_groups, weights=weights)
    members = [np.flatnonzero(codes == g) for g in range(n_groups)]
    mass = np.array([len(own) if weights is None else weights[own].sum() for own in members])
    low, high = values.min(axis=1), values.max(axis=1)
    two = np.array([((row == a) | (row == b)).all() for row, a, b in zip(values, low, high, strict=True)])
    means, deviations = np.empty((n_groups, len(values))), np.empty((n_groups, len(values)))
    total = np.empty(len(values))
    pairs = [(mass[g] * mass[h], g, h) for g in range(n_groups) for h in range(g)]
    pairs = [(weight / sum(pair[0] for pair in pairs), g, h) for weight, g, h in pairs]
    if two.any():
        # Of two values the shares of the upper one say all: no sort, and no more passes.
        at_top = [row == top for row, top in zip(values[two], high[two], strict=True)]
        counts = [
            np.bincount(codes[own], None if weights is None else weights[own], n_groups) for own in at_top
        ]
        width, upper = (high - low)[two], np.minimum(np.array(counts).T / mass[:, None], 1.0)
        means[:, two], deviations[:, two] = width * upper, width * np.sqrt(upper * (1 - upper))
        total[two] = width**2 * sum(weight * np.abs(upper[g] - upper[h]) for weight, g, h in pairs)
    if not two.all():
        centred = values[~two] - values[~two].mean(axis=1, keepdims=True)
        total[~two] = Wasserstein2().value(centred, labels.repeat(len(centred)))
        for g, own in enumerate(members):
            inner = np.full(len(own), 1 / mass[g]) if weights is None else weights[own] / mass[g]
            part = centred[:, own]
            mean = part @ inner
            part -= mean[:, None]
            np.square(part, out=part)
            means[g, ~two], deviations[g, ~two] = mean, np.sqrt(part @ inner)
    location = sum(weight * (means[g] - means[h]) ** 2 for weight, g, h in pairs)
    scale = sum(weight * (deviations[g] - deviations[h]) ** 2 for weight, g, h in pairs)
    # The rest is never negative but for rounding.
    return Kind(location, scale, np.maximum(total - location - scale, 0.0))


def effect_size(projection: ArrayLike, codes: ArrayLike, weights: NDArray[np.float64] | None = None) -> float:
    """Wasserstein distance in standard deviations along the direction, pooled over the groups.

    Parameters
    ----------
    projection : array of shape (n_rows,)
        Projected rows.
    codes : array of shape (n_rows,)
        Group of each row, 0 ... n_groups - 1.
    weights : array of shape (n_rows,), optional
        Row weights.

    Returns
    -------
    float
        For a pure shift this is Cohen's d; 0 where nothing differs.

    Examples
    --------
    >>> effect_size([0.0, 2.0, 5.0, 7.0], [0, 0, 1, 1])
    5.0
    """
    values, codes = np.asarray(projection, dtype=np.float64), np.asarray(codes)
    mass = np.ones(len(codes)) if weights is None else weights
    within = 0.0
    for g in np.unique(codes):
        members, inner = values[codes == g], mass[codes == g]
        within += inner @ (members - np.average(members, weights=inner)) ** 2
    distance = float(np.sqrt(split_difference(values[None], codes, weights).total[0]))
    spread = float(np.sqrt(within / mass.sum()))
    if spread == 0.0:
        return np.inf if distance > 0 else 0.0
    return distance / spread


def feature_table(
    columns: NDArray, names: ArrayLike, codes: ArrayLike, groups: ArrayLike, weights: NDArray | None = None
) -> pd.DataFrame:
    """Each feature on its own: its divergence, the kind of difference, means and standard deviations.

    Parameters
    ----------
    columns : array of shape (n_features, n_rows)
        Features, one after the other.
    names : array of shape (n_features,)
        Their names.
    codes : array of shape (n_rows,)
        Group of each row.
    groups : array of shape (n_groups,)
        Names of the groups.
    weights : array of shape (n_rows,), optional
        Row weights.

    Returns
    -------
    DataFrame
        Columns feature, divergence, location, scale, shape, then mean and sd of each group.

    Examples
    --------
    >>> table = feature_table(np.array([[0.0, 2.0, 5.0, 7.0]]), ["height"], [0, 0, 1, 1], ["a", "b"])
    >>> table[["divergence", "mean a", "sd b"]].to_numpy().tolist()
    [[25.0, 1.0, 1.0]]
    """
    codes = np.asarray(codes)
    step = max(1, _BLOCK_ELEMENTS // max(1, len(codes)))
    blocks = [split_difference(columns[i : i + step], codes, weights) for i in range(0, len(columns), step)]
    kind = Kind(*(np.concatenate(parts) for parts in zip(*blocks, strict=True)))
    table = {"feature": np.asarray(names), "divergence": kind.total, **kind._asdict()}
    mass = np.ones(len(codes)) if weights is None else weights
    for code, group in enumerate(np.asarray(groups)):
        members, inner = columns[:, codes == code].astype(np.float64), mass[codes == code]
        mean = members @ inner / inner.sum()
        table[f"mean {group}"] = mean
        table[f"sd {group}"] = np.sqrt((members - mean[:, None]) ** 2 @ inner / inner.sum())
    return pd.DataFrame(table)
