"""How large a difference is, in units that mean the same for every kind of column.

The distance of two samples is never zero, not even of two samples of one population, and the squared
Wasserstein distance of two 0/1 samples is the difference of their proportions, not its square. So an effect
here is what is left when the part that chance gives is taken off, it is counted in standard deviations
(Cohen's d for a pure shift), and for values that tie it counts differences of means and spreads only.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from princdiff.result.shift_spread_shape import Kind, split_difference

# Rows on which the chance part of a shape is measured; it scales with the rows.
_MOST_ROWS = 5000
_RELABELLINGS = 5
# A value held by more than this part of the rows, or so few values, makes a column one of steps.
_TIED_SHARE, _FEW_VALUES = 0.25, 10


class Effect(NamedTuple):
    """A size with its interval, all in standard deviations.

    Attributes
    ----------
    size : float
        Not below 0; what chance gives is taken off.
    low, high : float
        About 95 % confidence, NaN where not computed.
    """

    size: float
    low: float
    high: float

    def at_least(self, size: float) -> Effect:
        """The effect, or one of another size if that is more, with an upper bound as much above it.

        Examples
        --------
        >>> Effect(0.5, 0.25, 0.75).at_least(1.0), Effect(0.5, 0.25, 0.75).at_least(0.25)
        (Effect(size=1.0, low=0.25, high=1.25), Effect(size=0.5, low=0.25, high=0.75))
        """
        more = max(0.0, size - self.size)
        return Effect(self.size + more, self.low, self.high + more)


def is_stepped(values: NDArray[np.float64]) -> bool:
    """Whether values tie so much that they form steps: flags, grades, counts with many zeros.

    Examples
    --------
    >>> is_stepped(np.array([0.0, 1.0, 1.0, 0.0])), is_stepped(np.linspace(0, 1, 50))
    (True, False)
    """
    seen = values if len(values) <= _MOST_ROWS else values[:: -(-len(values) // _MOST_ROWS)]
    counts = np.unique(seen, return_counts=True)[1]
    return bool(len(counts) <= min(_FEW_VALUES, len(seen) - 1) or counts.max() > _TIED_SHARE * len(seen))


def chance_size(codes: NDArray[np.uint8], weights: NDArray[np.float64] | None = None) -> float:
    """What chance adds to the squared difference of two groups' means, in squared standard deviations.

    For two groups 1/n + 1/m; for several their average over pairs, weighted as the divergence weights them.

    Examples
    --------
    >>> chance_size(np.repeat([0, 1], [20, 5]).astype(np.uint8))
    0.25
    """
    n_groups = int(codes.max()) + 1
    share = np.bincount(codes, weights, n_groups).astype(np.float64)
    rows = rows_that_count(codes, weights, n_groups)
    share = share / share.sum()
    total = pairs = 0.0
    for g in range(n_groups):
        for h in range(g):
            total += share[g] * share[h] * (1 / rows[g] + 1 / rows[h])
            pairs += share[g] * share[h]
    return float(total / pairs)


def rows_that_count(
    codes: NDArray[np.uint8], weights: NDArray[np.float64] | None, n_groups: int
) -> NDArray[np.float64]:
    """Rows of each group; of weighted rows as many unweighted ones as say as much (Kish).

    Examples
    --------
    >>> rows_that_count(np.array([0, 0, 1, 1], dtype=np.uint8), np.array([1.0, 1.0, 3.0, 1.0]), 2)
    array([2. , 1.6])
    """
    if weights is None:
        return np.bincount(codes, minlength=n_groups).astype(np.float64)
    share, squares = np.bincount(codes, weights, n_groups), np.bincount(codes, weights**2, n_groups)
    return np.divide(share**2, squares, out=np.zeros(n_groups), where=squares > 0)


def beyond_chance(
    columns: NDArray[np.float64],
    codes: NDArray[np.uint8],
    weights: NDArray[np.float64] | None = None,
    rng: np.random.Generator | None = None,
    found: Kind | None = None,
) -> Kind:
    """Location, scale and shape of each column's difference, less what chance gives, in squared sd.

    Parameters
    ----------
    columns : array of shape (n_columns, n_rows)
        Values.
    codes : array of shape (n_rows,)
        Group of each row.
    weights : array of shape (n_rows,), optional
        Row weights.
    rng : Generator, optional
        Draws the permutations that show how much of a shape is chance.
    found : Kind, optional
        The differences of the columns, where they are known already.

    Returns
    -------
    Kind
        Arrays of shape (n_columns,), none below 0. The shape of stepped columns is 0: it would count the
        difference of proportions a second time.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> same = rng.normal(size=(1, 4000))
    >>> codes = np.repeat([0, 1], 2000).astype(np.uint8)
    >>> bool(beyond_chance(same, codes).total[0] < 0.01)
    True
    """
    rng = np.random.default_rng(0) if rng is None else rng
    found = split_difference(columns, codes, weights) if found is None else found
    variance = columns.var(axis=1)
    stepped = np.array([_is_two_valued(column) for column in columns], dtype=bool)
    # Of two values the spread follows the mean, and to count it again would make rare ones large.
    wider = np.flatnonzero(~stepped)
    numbers = columns[wider]
    stepped[wider] = [is_stepped(column) for column in numbers]
    variance[wider] = _within_variance(numbers, codes, weights)
    safe = np.where(variance > 0, variance, np.inf)
    chance = chance_size(codes, weights)
    parts = np.zeros((3, len(columns)))
    parts[0] = found.location / safe - chance
    parts[1, wider] = found.scale[wider] / safe[wider] - 0.25 * (_kurtosis(numbers) - 1) * chance
    if not stepped.all():
        smooth = ~stepped
        by_chance = _shape_by_chance(columns[smooth], codes, rng) * chance
        parts[2, smooth] = found.shape[smooth] / safe[smooth] - by_chance
    parts[:, variance <= 0] = 0.0
    # Parts below zero are chance, and take off as much of the others; but an outlier, which makes spreads
    # a matter of chance altogether, does not take off a shift.
    positive = np.maximum(parts, 0.0)
    total = np.maximum(parts[0] + np.maximum(parts[1] + parts[2], -chance), 0.0)
    positive *= np.divide(total, positive.sum(axis=0), out=np.zeros_like(total), where=total > 0)
    return Kind(*positive)


def _is_two_valued(column: NDArray[np.float64]) -> bool:
    return bool(((column == column.min()) | (column == column.max())).all())


def _kurtosis(columns: NDArray[np.float64]) -> NDArray[np.float64]:
    """Fourth moment over the squared variance, 1 at least; of constants 1."""
    deviation = columns.std(axis=1)
    centred = columns - columns.mean(axis=1, keepdims=True)
    standard = centred / np.where(deviation > 0, deviation, 1.0)[:, None]
    square = standard * standard
    return np.maximum(np.einsum("ij,ij->i", square, square) / columns.shape[1], 1.0)


def _within_variance(
    columns: NDArray[np.float64], codes: NDArray[np.uint8], weights: NDArray[np.float64] | None
) -> NDArray[np.float64]:
    """Variance within the groups, pooled; over all rows where every group is constant."""
    mass = np.ones(len(codes)) if weights is None else weights
    within = np.zeros(len(columns))
    for g in range(int(codes.max()) + 1):
        members, inner = columns[:, codes == g], mass[codes == g]
        mean = members @ inner / inner.sum()
        within += (members - mean[:, None]) ** 2 @ inner
    within /= mass.sum()
    overall = columns.var(axis=1)
    return np.where(within > 1e-12 * overall, within, overall)


def _shape_by_chance(
    columns: NDArray[np.float64], codes: NDArray[np.uint8], rng: np.random.Generator
) -> NDArray[np.float64]:
    """Shape part that relabelled rows show, over `chance_size`, in squared standard deviations.

    Labels are given to sorted values, the largest group first, so that neither the order of rows nor the
    names of groups matter, and the longer tail up, so that the sign of a direction does not.
    """
    values = np.sort(columns, axis=1)
    down = ((values - values.mean(axis=1, keepdims=True)) ** 3).sum(axis=1) < 0
    values[down] = -values[down, ::-1]
    sizes = np.sort(np.bincount(codes))[::-1]
    if len(codes) > _MOST_ROWS:
        kept = np.linspace(0, len(codes) - 1, _MOST_ROWS).round().astype(np.intp)
        values = values[:, kept]
        sizes = np.maximum(2, (sizes * _MOST_ROWS / len(codes)).astype(np.intp))
        sizes[0] += _MOST_ROWS - sizes.sum()
    labels = np.repeat(np.arange(len(sizes)), sizes).astype(np.uint8)
    variance = np.maximum(values.var(axis=1), np.finfo(float).tiny)
    total = np.zeros(len(columns))
    for _ in range(_RELABELLINGS):
        total += split_difference(values, rng.permutation(labels)).shape / variance
    return total / _RELABELLINGS / chance_size(labels)


def level_effects(
    shares: NDArray[np.float64], codes: NDArray[np.uint8], weights: NDArray[np.float64] | None = None
) -> tuple[NDArray[np.float64], float]:
    """Effects of a category's levels, and of the category as a whole.

    Parameters
    ----------
    shares : array of shape (n_groups, n_levels)
        Part of each group's rows that has each level; the levels are exhaustive.
    codes : array of shape (n_rows,)
        Group of each row.
    weights : array of shape (n_rows,), optional
        Row weights.

    Returns
    -------
    levels : array of shape (n_levels,)
        Standardised differences of the single levels.
    whole : float
        The square root of chi-squared over its degrees of comparison: with two levels the same as theirs.

    Examples
    --------
    >>> codes = np.repeat([0, 1], 10000).astype(np.uint8)
    >>> levels, whole = level_effects(np.array([[0.9, 0.1], [0.8, 0.2]]), codes)
    >>> levels.round(2), round(whole, 2)
    (array([0.28, 0.28]), 0.28)
    """
    mass = np.ones(len(codes)) if weights is None else weights
    sizes = np.bincount(codes, mass, len(shares))
    proportions = sizes / sizes.sum()
    overall = proportions @ shares
    squares, pairs = np.zeros(shares.shape[1]), 0.0
    for g in range(len(shares)):
        for h in range(g):
            pair = proportions[g] * proportions[h]
            squares += pair * (shares[g] - shares[h]) ** 2
            pairs += pair
    squares /= pairs
    chance = chance_size(codes, weights)
    inner = np.where(overall * (1 - overall) > 0, overall * (1 - overall), np.inf)
    single = np.sqrt(np.maximum(0.0, squares / inner - chance))
    present = overall > 0
    whole = float((squares[present] / overall[present]).sum()) - (int(present.sum()) - 1) * chance
    return single, math.sqrt(max(0.0, whole))
