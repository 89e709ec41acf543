"""How large a difference is, in units that mean the same for every kind of column.

The distance of two samples is never zero, not even of two samples of one population, and the squared
Wasserstein distance of two 0/1 samples is the difference of their proportions, not its square. So an effect
here is what is left when the part that chance gives is taken off, it is counted in standard deviations
(Cohen's d for a pure shift), and for values that tie it counts differences of means and spreads only.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from princdiff.data.labels import Labels
from princdiff.divergences import Wasserstein2
from princdiff.result.shift_spread_shape import Kind, split_difference

# Rows on which the chance part of a shape and the spread of an effect are measured; both scale with the rows.
_MOST_ROWS = 5000
_RELABELLINGS = 5
_DRAWS = 200
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
        Draws the relabellings that show how much of a shape is chance.
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
    names of groups matter.
    """
    values = np.sort(columns, axis=1)
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


class SquaredEffect(NamedTuple):
    """A squared effect and its standard error (NaN where unknown), in squared standard deviations.

    The degrees of freedom of the error matter where it comes from a few blocks.
    """

    squared: float
    error: float
    degrees: float = math.inf


def averaged(parts: Sequence[SquaredEffect], *, independent: bool = True) -> Effect:
    """The effect that parts of the rows show together, with its interval.

    Squares are averaged, not effects: where chance explains everything the interval begins at 0.

    Examples
    --------
    >>> averaged([SquaredEffect(0.04, 0.03), SquaredEffect(0.0, 0.03)]).low
    0.0
    """
    squared = math.fsum(part.squared for part in parts) / len(parts)
    errors = [part.error for part in parts]
    error = (math.hypot(*errors) if independent else math.fsum(errors)) / len(parts)
    degrees = math.fsum(part.degrees for part in parts)
    reach = error * float(stdtrit(degrees, 0.975))
    low, high = (math.sqrt(np.maximum(0.0, squared + sign * reach)) for sign in (-1, 1))
    return Effect(math.sqrt(squared), low, high)


def direction_effect(
    projection: NDArray[np.float64],
    codes: NDArray[np.uint8],
    weights: NDArray[np.float64] | None,
    rng: np.random.Generator,
    units: SampledBlocks | None = None,
) -> SquaredEffect:
    """Squared distance of the groups along a direction that was found on other rows.

    Parameters
    ----------
    projection : array of shape (n_rows,)
        Projected rows.
    codes : array of shape (n_rows,)
        Group of each row.
    weights : array of shape (n_rows,) or None
        Row weights.
    rng : Generator
        For the bootstrap behind the error.
    units : SampledBlocks, optional
        What was drawn from the population, if not the rows one by one.

    Returns
    -------
    SquaredEffect

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> codes = np.repeat([0, 1], 500).astype(np.uint8)
    >>> effect = averaged([direction_effect(rng.normal(size=1000) + 0.8 * codes, codes, None, rng)])
    >>> effect.low < 0.8 < effect.high
    True
    """
    if units is not None:
        return _effect_over_blocks(projection, codes, weights, units, rng)
    squared = float(beyond_chance(projection[None], codes, weights, rng).total[0])
    return SquaredEffect(squared, _bootstrap_error(projection, codes, weights, rng))


class SampledBlocks(NamedTuple):
    """Blocks that were drawn from a population together with all their rows: donors, pairs.

    Attributes
    ----------
    blocks : int array of shape (n_rows,)
        Block of each row.
    whole : bool
        Whether each lies inside one group; else blocks have rows of several groups.
    """

    blocks: NDArray[np.intp]
    whole: bool

    def take(self, rows: NDArray) -> SampledBlocks:
        """Those of some rows (index or mask)."""
        return self._replace(blocks=self.blocks[rows])

    def sets(self, codes: NDArray[np.uint8]) -> list[NDArray[np.intp]]:
        """Blocks that are drawn from together: those of each group, or all of them."""
        if not self.whole:
            return [np.unique(self.blocks)]
        return [np.unique(self.blocks[codes == g]) for g in range(int(codes.max()) + 1)]


def _effect_over_blocks(
    projection: NDArray[np.float64],
    codes: NDArray[np.uint8],
    weights: NDArray[np.float64] | None,
    units: SampledBlocks,
    rng: np.random.Generator,
) -> SquaredEffect:
    """Effect of means and spreads; what blocks give by chance, and the error, by drawing blocks anew."""
    if len(codes) > _MOST_ROWS:
        # Blocks differ from each other by far more than a few thousand rows leave in doubt.
        kept = np.sort(rng.permutation(len(codes))[:_MOST_ROWS])
        projection, codes, units = projection[kept], codes[kept], units.take(kept)
        weights = None if weights is None else weights[kept]
    mass = np.ones(len(codes)) if weights is None else weights
    values = projection[None] - projection.mean()
    variance = float(_within_variance(projection[None], codes, weights)[0]) or 1.0
    observed = float(_means_and_spreads(values, codes, mass[None])[0])
    sets = units.sets(codes)
    fewest = min(map(len, sets))
    if fewest < 2:
        return SquaredEffect(observed / variance, math.nan)
    times = np.zeros((_DRAWS, int(units.blocks.max()) + 1))
    for own in sets:
        drawn = rng.choice(own, (_DRAWS, len(own)))
        np.add.at(times, (np.arange(_DRAWS)[:, None], drawn), 1.0)
    redrawn = _means_and_spreads(
        np.broadcast_to(values, (_DRAWS, len(codes))), codes, times[:, units.blocks] * mass
    )
    # Few blocks drawn from themselves vary less than they would when drawn from a population.
    more = fewest / (fewest - 1)
    chance = max(0.0, float(redrawn.mean()) - observed) * more
    error = float(redrawn.std()) * math.sqrt(more)
    return SquaredEffect(
        max(0.0, observed - chance) / variance, error / variance, sum(map(len, sets)) - len(sets)
    )


def _bootstrap_error(
    projection: NDArray[np.float64],
    codes: NDArray[np.uint8],
    weights: NDArray[np.float64] | None,
    rng: np.random.Generator,
) -> float:
    """Standard error of the squared effect, by drawing the rows of each group anew."""
    n_rows = len(codes)
    size = min(n_rows, _MOST_ROWS)
    members = [np.flatnonzero(codes == g) for g in range(int(codes.max()) + 1)]
    counts = [max(2, round(len(own) * size / n_rows)) for own in members]
    stepped = is_stepped(projection)
    variance = float(_within_variance(projection[None], codes, weights)[0]) or 1.0
    drawn = np.concatenate(
        [rng.choice(own, (_DRAWS, count)) for own, count in zip(members, counts, strict=True)], axis=1
    )
    labels = np.repeat(np.arange(len(members)), counts).astype(np.uint8)
    values = projection[drawn] - projection.mean()
    if stepped or weights is not None:
        squares = _means_and_spreads(values, labels, None if weights is None else weights[drawn])
    else:
        squares = Wasserstein2().value(values, Labels(labels, len(members)).repeat(_DRAWS))
    return float(squares.std()) / variance * math.sqrt(sum(counts) / n_rows)


def _means_and_spreads(
    values: NDArray[np.float64], labels: NDArray[np.uint8], weights: NDArray[np.float64] | None
) -> NDArray[np.float64]:
    """Squared differences of means and of standard deviations, averaged over pairs of groups."""
    n_groups = int(labels.max()) + 1
    means, deviations, masses = [], [], []
    for g in range(n_groups):
        own = values[:, labels == g]
        inner = np.ones_like(own) if weights is None else weights[:, labels == g] + 1e-300
        mass = inner.sum(axis=1)
        mean = (own * inner).sum(axis=1) / mass
        means.append(mean)
        deviations.append(np.sqrt(((own - mean[:, None]) ** 2 * inner).sum(axis=1) / mass))
        masses.append(mass)
    total, pairs = np.zeros(len(values)), np.zeros(len(values))
    for g in range(n_groups):
        for h in range(g):
            pair = masses[g] * masses[h]
            total += pair * ((means[g] - means[h]) ** 2 + (deviations[g] - deviations[h]) ** 2)
            pairs += pair
    return total / pairs


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
