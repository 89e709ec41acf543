"""How far a new batch of rows lies from a group of a comparison, along one of its directions.

The size is counted as `princdiff.result.effects` counts that of a comparison: in standard deviations within
the group and the batch, what chance gives taken off, and differences of means and spreads only where values
tie. What chance gives is learned from batches of as many rows that are drawn from the group itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from princdiff.result.effects import is_stepped
from princdiff.result.parts import GroupReference

# Batches drawn from the group, and the part of them that must lie as far for a distance to count as chance.
_DRAWS, _RARE = 199, 0.05
# Rows that are drawn at most; what chance gives falls as one over the rows.
_MOST_ROWS = 2000
# Differences below this part of the largest value are rounding.
_ROUNDING = 1e-9


class FromGroup(NamedTuple):
    """A batch of rows as seen from one group.

    Attributes
    ----------
    distance : float
        Wasserstein distance of the quantiles, in the units of the projection; chance is not taken off.
    effect : float
        In standard deviations, what chance gives taken off; 0 where chance explains the distance.
    by_chance : float
        Part of the batches drawn from the group itself that lie at least as far from it.
    """

    distance: float
    effect: float
    by_chance: float


def from_group(
    batch: NDArray[np.float64],
    group: GroupReference,
    levels: NDArray[np.float64],
    like_it: NDArray[np.float64] | None = None,
) -> FromGroup:
    """How far a batch lies from a group.

    Parameters
    ----------
    batch : array of shape (n_rows,)
        The new rows along the direction.
    group : GroupReference
        The group along it.
    levels : array of shape (n_levels,)
        Probabilities of the group's quantiles.
    like_it : array of shape (n_levels,), optional
        Quantiles that new rows like the group would have, from `new_rows_like`; default those of the group.

    Returns
    -------
    FromGroup

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> levels = (np.arange(500) + 0.5) / 500
    >>> rows = rng.normal(size=1000)
    >>> january = GroupReference(np.quantile(rows, levels), float(rows.std()), len(rows))
    >>> from_group(rng.normal(size=40), january, levels).effect
    0.0
    >>> 0.5 < from_group(rng.normal(size=1000) + 0.7, january, levels).effect < 0.9
    True
    """
    quantiles = np.quantile(batch, levels)
    distance = float(np.sqrt(np.mean((quantiles - group.quantiles) ** 2)))
    # Rounding in another order of summation is no distance.
    if distance <= _ROUNDING * max(np.abs(group.quantiles).max(), np.finfo(float).tiny):
        return FromGroup(0.0, 0.0, 1.0)
    compared, variance = _measure(batch, group)
    if variance == 0:
        return FromGroup(distance, np.inf, 1 / (_DRAWS + 1))
    # Rows of the fit are like the group as it is, new ones like the other: neither is a difference.
    ends = [group.quantiles, group.quantiles if like_it is None else like_it]
    mean, means = quantiles.mean(), [end.mean() for end in ends]
    nearest = (mean - np.clip(mean, min(means), max(means))) ** 2
    others = min(_parts(quantiles, end, compared)[1] for end in ends)
    counts = np.array([len(batch), group.rows])
    most = np.minimum(counts, _MOST_ROWS)
    drawn, redrawn = (_drawn_quantiles(int(n), group, levels, stream) for stream, n in enumerate(most))
    # Where fewer rows were drawn than there are, chance gave too much.
    by_chance = np.array(_parts(drawn, redrawn, compared)) * (1 / counts).sum() / (1 / most).sum()
    as_far = (1 + np.count_nonzero(by_chance.sum(axis=0) >= nearest + others)) / (_DRAWS + 1)
    if as_far > _RARE:
        return FromGroup(distance, 0.0, float(as_far))
    expected = by_chance.mean(axis=1)
    # As in a comparison: an outlier, which makes spreads a matter of chance, does not take off a shift.
    squared = (mean - means[1]) ** 2 - expected[0] + max(float(others - expected[1]), -float(expected[0]))
    return FromGroup(distance, float(np.sqrt(max(0.0, float(squared)) / variance)), float(as_far))


def new_rows_like(groups: Mapping[str, GroupReference], effect: float) -> dict[str, NDArray[np.float64]]:
    """Quantiles that new rows like each group would have along a direction.

    A direction is fitted to the rows of the groups, and makes them look more different than new rows would:
    means and standard deviations are here as much nearer to each other as the effect held out says.

    Parameters
    ----------
    groups : mapping from group to GroupReference
        The groups along the direction.
    effect : float
        How far apart they are on rows that the direction was not fitted on, in standard deviations.

    Returns
    -------
    dict from group to array of shape (n_levels,)

    Examples
    --------
    >>> levels = (np.arange(500) + 0.5) / 500
    >>> groups = {
    ...     name: GroupReference(levels + shift, levels.std(), 100) for name, shift in (("a", 0), ("b", 1))
    ... }
    >>> {name: round(float(values.mean()), 2) for name, values in new_rows_like(groups, effect=0.0).items()}
    {'a': 1.0, 'b': 1.0}
    """
    rows = np.array([group.rows for group in groups.values()], dtype=np.float64)
    means = np.array([group.quantiles.mean() for group in groups.values()])
    deviations = np.array([group.sd for group in groups.values()])
    variance = float(rows @ deviations**2 / rows.sum())
    pair_rows = np.triu(np.outer(rows, rows), 1)
    apart = (means[:, None] - means) ** 2 + (deviations[:, None] - deviations) ** 2
    by_chance = variance * (1 / rows[:, None] + 1 / rows)
    squared = float((pair_rows * (apart - by_chance)).sum() / pair_rows.sum())
    # The part of the distance that rows held out of the fit have shown.
    shown = 1.0 if squared <= 0 or variance == 0 else min(1.0, effect * np.sqrt(variance / squared))
    centre, spread = float(rows @ means / rows.sum()), np.sqrt(variance)
    result = {}
    for group, mean, deviation in zip(groups, means, deviations, strict=True):
        stretch = 1.0 if deviation == 0 else shown + (1 - shown) * spread / deviation
        middle = shown * mean + (1 - shown) * centre
        result[group] = middle + stretch * (groups[group].quantiles - mean)
    return result


class _Compared(NamedTuple):
    """What of a difference is counted besides that of the means."""

    spread: bool
    shape: bool


def _measure(batch: NDArray[np.float64], group: GroupReference) -> tuple[_Compared, float]:
    """What is counted, and the variance that it is divided by, as in a comparison."""
    counts = np.array([group.rows, len(batch)])
    within = float(counts @ [group.sd**2, batch.var()]) / counts.sum()
    if not _two_valued(batch, group.quantiles):
        return _Compared(spread=True, shape=not is_stepped(group.quantiles)), within
    # Of two values the spread follows the mean.
    shares = counts / counts.sum()
    apart = float(batch.mean() - group.quantiles.mean())
    return _Compared(spread=False, shape=False), within + float(shares.prod()) * apart**2


def _two_valued(batch: NDArray[np.float64], quantiles: NDArray[np.float64]) -> bool:
    """Whether the rows take two values only; one of the quantiles may lie between them."""
    both = np.concatenate([batch, quantiles])
    low, high = both.min(), both.max()
    near = _ROUNDING * max(abs(low), abs(high))
    between = [np.count_nonzero((part > low + near) & (part < high - near)) for part in (batch, quantiles)]
    return bool(between[0] == 0 and between[1] <= 1)


def _parts(
    first: NDArray[np.float64], second: NDArray[np.float64], compared: _Compared
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Squared difference of the means, and what is counted of the others, along the last axis."""
    location = (first.mean(axis=-1) - second.mean(axis=-1)) ** 2
    if compared.shape:
        return location, np.maximum(((first - second) ** 2).mean(axis=-1) - location, 0.0)
    if compared.spread:
        return location, (first.std(axis=-1) - second.std(axis=-1)) ** 2
    return location, np.zeros_like(location)


def _drawn_quantiles(
    rows: int, group: GroupReference, levels: NDArray[np.float64], stream: int
) -> NDArray[np.float64]:
    """Quantiles of as many rows drawn from a group, again and again, shape (n_draws, n_levels)."""
    ordered = group.quantiles[_drawn_places(rows, len(levels), stream)]
    # Rows that are in order give their quantiles without another sort.
    position = levels * (rows - 1)
    below = position.astype(np.intp)
    above = np.minimum(below + 1, rows - 1)
    return ordered[:, below] + (position - below) * (ordered[:, above] - ordered[:, below])


@lru_cache(maxsize=8)
def _drawn_places(rows: int, n_levels: int, stream: int) -> NDArray[np.int32]:
    """Which quantiles are drawn, in order, shape (n_draws, rows): the same for every group and direction."""
    rng = np.random.default_rng([stream, rows])
    return np.sort(rng.integers(n_levels, size=(_DRAWS, rows), dtype=np.int32), axis=1)
