"""How far apart the groups are along a direction, told by rows that it was not fitted on.

Along a direction that was chosen to tell groups apart they look further apart than they are. So the rows are
halved, several times over: each half is judged by the direction of the other one, and what it shows counts
with the sign that the other half had, so that chance takes off as often as it adds. Directions of halves are
worse than that of all rows: theory (an optimum that is quadratic in the noise) has the truth a third of the
way from what halves show to what the rows of the fit show, and the estimate goes up that way as far as both
agree, the upper bound altogether.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from princdiff.auto_choices import MANY_NUMBERS
from princdiff.data.problem import Problem
from princdiff.data.row_keys import shuffled_members
from princdiff.result.effects import Effect, beyond_chance, rows_that_count
from princdiff.statistics.sharpest import area_under_curve

# Smallest group that is halved.
FEWEST_ROWS = 8
# Rows of a half on which its direction is found, where numbers are many.
FITTED_ROWS = 40_000
# Blocks of each group from which halves have at least two; and blocks across groups from which they count as
# drawn from a population, like pairs: fewer are strata, which are as they are.
_FEWEST_WHOLE, _FEWEST_ACROSS = 4, 10
# How often rows are halved: the more rows, the less depends on how.
_MOST_SPLITS, _NUMBERS = 6, 2_000_000
# Part of the way from what halves show to what the rows of the fit show.
_COST_OF_HALVES = 1 / 3


def rows_to_fit(problem: Problem, seed: int) -> NDArray[np.intp]:
    """Rows of which halves find their directions, at most `FITTED_ROWS` a half; they are judged on all.

    Parameters
    ----------
    problem : Problem
        All rows.
    seed : int
        By which some are drawn from each group, where numbers are many.

    Returns
    -------
    int array of shape (n_taken,)
        In the order of the rows.

    Examples
    --------
    >>> problem = Problem.from_arrays(np.zeros((40, 2)) + np.arange(40)[:, None], np.arange(40) % 2)
    >>> len(rows_to_fit(problem, seed=0))
    40
    """
    share = 2 * FITTED_ROWS / problem.n_rows
    if share >= 1 or problem.n_rows * problem.n_features <= MANY_NUMBERS:
        return np.arange(problem.n_rows)
    members = shuffled_members(problem.row_keys, problem.codes, problem.n_groups, seed)
    kept = [own[: max(FEWEST_ROWS, int(share * len(own)))] for own in members]
    return np.sort(np.concatenate(kept))


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

    def sets(self, codes: NDArray[np.uint8]) -> list[NDArray[np.intp]]:
        """Blocks that are drawn from together: those of each group, or all of them."""
        if not self.whole:
            return [np.unique(self.blocks)]
        return [np.unique(self.blocks[codes == g]) for g in range(int(codes.max()) + 1)]

    def can_be_halved(self, codes: NDArray[np.uint8]) -> bool:
        """Whether each half would have blocks enough."""
        fewest = _FEWEST_WHOLE if self.whole else 2 * _FEWEST_ACROSS
        return min(map(len, self.sets(codes))) >= fewest


def sampled_blocks(problem: Problem) -> SampledBlocks | None:
    """Donors or pairs, over which effects vary from sample to sample; None where rows do so one by one."""
    if problem.blocks is None:
        return None
    whole = problem.permute == "whole"
    if not whole and len(np.unique(problem.blocks)) < _FEWEST_ACROSS:
        return None
    return SampledBlocks(problem.blocks, whole)


def halves(problem: Problem, seed: int, most: int = _MOST_SPLITS) -> NDArray[np.bool_] | None:
    """Half of every group, several times, whatever the order of rows and groups.

    Parameters
    ----------
    problem : Problem
        Rows and groups.
    seed : int
        Of the draw.
    most : int
        Splits at most; large tables get fewer.

    Returns
    -------
    bool array of shape (n_splits, n_rows) or None
        None where groups are too small.
    """
    if np.bincount(problem.codes, minlength=problem.n_groups).min() < FEWEST_ROWS:
        return None
    n_splits = max(1, min(most, _NUMBERS // (problem.n_rows * problem.n_features)))
    keys, codes, places = problem.row_keys, problem.codes, None
    units = sampled_blocks(problem)
    if units is not None and units.can_be_halved(codes):
        # Rows of a block that is judged must not have taken part in the fit either.
        _, first, places = np.unique(units.blocks, return_index=True, return_inverse=True)
        of_block = np.zeros(len(first), dtype=np.uint64)
        np.add.at(of_block, places, keys)
        keys, codes = of_block, codes[first] if units.whole else np.zeros(len(first), dtype=np.uint8)
    result = np.zeros((n_splits, len(keys)), dtype=bool)
    for number, chosen in enumerate(result):
        for members in shuffled_members(keys, codes, int(codes.max()) + 1, seed + number):
            chosen[members[: len(members) // 2]] = True
    return result if places is None else result[:, places]


@dataclass(frozen=True, eq=False)
class JudgedRows:
    """Some rows along a direction, and what other rows showed along it.

    Attributes
    ----------
    rows : int array of shape (n_judged,)
        Rows that are judged.
    scores : array of shape (n_judged,)
        In standard deviations within the groups.
    location, spread : arrays of shape (n_groups,)
        What means and standard deviations of the groups are multiplied by to be the difference that the
        other rows showed.
    upward : bool
        Whether the last group had the larger mean than the first among the other rows.
    """

    rows: NDArray[np.intp]
    scores: NDArray[np.float64]
    location: NDArray[np.float64]
    spread: NDArray[np.float64]
    upward: bool


class HeldOut:
    """Distance of the groups of a problem along directions of its halves.

    Parameters
    ----------
    problem : Problem
        All rows.
    along : array of shape (n_rows,)
        The rows along the direction that all of them gave.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 500)
    >>> problem = Problem.from_arrays(rng.normal(size=(1000, 2)) + 0.8 * y[:, None] * [1, 0], y)
    >>> split = halves(problem, seed=0)
    >>> found = HeldOut(problem, problem.rows[:, 0])
    >>> effect, area = found.measured(split, np.tile([1.0, 0.0], (len(split), 2, 1)))
    >>> effect.low < 0.8 < effect.high, round(area, 1)
    (True, 0.7)
    """

    def __init__(self, problem: Problem, along: NDArray[np.float64]) -> None:
        self.problem = problem
        codes = problem.codes
        self._members = [np.flatnonzero(codes == g) for g in range(problem.n_groups)]
        self._mass = np.ones(problem.n_rows) if problem.weights is None else problem.weights
        share = np.bincount(codes, self._mass, problem.n_groups)
        pairs = np.outer(share, share)
        np.fill_diagonal(pairs, 0.0)
        self._pairs = pairs / (pairs.sum() / 2)
        self._units = sampled_blocks(problem)
        self._counted = float(rows_that_count(codes, problem.weights, problem.n_groups).sum())
        everything = np.arange(problem.n_rows)
        self._of_fit = self._judge(along, everything, everything)
        self._kinds = self._kinds_of(self._of_fit.scores)

    def of_fit(self) -> Effect:
        """What the rows of the fit show, where none can be held out."""
        size, centre, error = self._distance([[self._of_fit]])
        return self._effect(size, centre - self._reach(error), centre + self._reach(error))

    def measured(self, splits: NDArray[np.bool_], directions: NDArray[np.float64]) -> tuple[Effect, float]:
        """The distance with its interval, and the area under the curve (NaN for more than two groups).

        Parameters
        ----------
        splits : bool array of shape (n_splits, n_rows)
            From `halves`.
        directions : array of shape (n_splits, 2, n_features)
            Weights of the unscaled features; those fitted on the rows that are not in the half, and on those
            that are.
        """
        problem = self.problem
        used = np.flatnonzero(directions.any(axis=(0, 1)))
        weights = directions.reshape(-1, directions.shape[-1])[:, used].T
        projected = np.asarray(problem.rows[:, used] @ weights, dtype=np.float64).T
        judged = []
        for number, half in enumerate(splits):
            inside, outside = np.flatnonzero(half), np.flatnonzero(~half)
            judged.append(
                [
                    self._judge(projected[2 * number], outside, inside),
                    self._judge(projected[2 * number + 1], inside, outside),
                ]
            )
        size, centre, error = self._distance(judged)
        of_fit, most, _ = self._distance([[self._of_fit]])
        cost = _COST_OF_HALVES * max(0.0, of_fit - size)
        reach = self._reach(error)
        agree = min(1.0, max(0.0, centre) / most) if most > 0 else 0.0
        area = np.mean([self._area(part) for parts in judged for part in parts])
        return self._effect(size + cost * agree, centre - reach, max(0.0, centre) + cost + reach), float(area)

    @staticmethod
    def _effect(size: float, low: float, high: float) -> Effect:
        return Effect(size, float(np.maximum(0.0, low)), float(np.maximum(size, high)))

    def _reach(self, error: float) -> float:
        """Half the width of an interval of 95 %."""
        units = self._units
        sets = self._members if units is None else units.sets(self.problem.codes)
        return error * float(stdtrit(sum(map(len, sets)) - len(sets), 0.975)) if error > 0 else error

    def _judge(
        self, values: NDArray[np.float64], fitted: NDArray[np.intp], judged: NDArray[np.intp]
    ) -> JudgedRows:
        spread = self._within(values)
        values = (values - values.mean()) / (spread if spread > 0 else 1.0)
        means, deviations = self._moments(values[fitted], fitted)
        return JudgedRows(
            judged, values[judged], self._slope(means), self._slope(deviations), bool(means[-1] >= means[0])
        )

    def _within(self, values: NDArray[np.float64]) -> float:
        """Standard deviation within the groups."""
        square = 0.0
        for own in self._members:
            mass = self._mass[own]
            square += float(mass @ (values[own] - np.average(values[own], weights=mass)) ** 2)
        return math.sqrt(square / self._mass.sum())

    def _moments(
        self, values: NDArray[np.float64], rows: NDArray[np.intp]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Mean and standard deviation of each group among some rows."""
        codes, mass = self.problem.codes[rows], self._mass[rows]
        total = np.bincount(codes, mass, self.problem.n_groups)
        means = np.bincount(codes, mass * values, self.problem.n_groups) / total
        squares = np.bincount(codes, mass * (values - means[codes]) ** 2, self.problem.n_groups)
        return means, np.sqrt(squares / total)

    def _slope(self, figures: NDArray[np.float64]) -> NDArray[np.float64]:
        """What figures of the groups are multiplied by to be their distance, and others along with them."""
        apart = figures[:, None] - figures
        norm = math.sqrt((self._pairs * apart**2).sum() / 2)
        return (self._pairs * apart).sum(axis=1) / norm if norm > 0 else np.zeros(len(figures))

    def _kinds_of(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """How much of the distance is one of location, of spread and of shape: a unit vector."""
        problem = self.problem
        parts = beyond_chance(scores[None], problem.codes, problem.weights)
        squares = np.array([float(part[0]) for part in parts])
        if self._units is not None:
            squares[2] = 0.0
        if not squares.any():
            squares[0] = 1.0
        return np.sqrt(squares / squares.sum())

    def _distance(self, splits: Sequence[Sequence[JudgedRows]]) -> tuple[float, float, float]:
        """Distance beyond chance, before chance is taken off (below 0 at times), and its standard error."""
        found = [self._one_split(parts) for parts in splits]
        centre, square = float(np.mean([one[0] for one in found])), float(np.mean([one[1] for one in found]))
        if len(found) > 1:
            # Where directions of other halves show other distances, so may that of all rows, which varies
            # half as much as they do.
            square += float(np.var([one[0] for one in found], ddof=1)) / 2
        size = math.sqrt(max(0.0, centre**2 - (square if square == square else 0.0))) if centre > 0 else 0.0
        # The standard deviation within the groups is an estimate, too.
        return size, centre, math.sqrt(square + centre**2 * self._kinds[0] ** 2 / (2 * self._counted))

    def _one_split(self, parts: Sequence[JudgedRows]) -> tuple[float, float]:
        """Distance that the parts of the rows show together, and its squared standard error."""
        problem, distance = self.problem, 0.0
        influence = np.zeros(problem.n_rows)
        by_location, by_spread, by_shape = self._kinds
        for part in parts:
            codes, mass = problem.codes[part.rows], self._mass[part.rows]
            means, deviations = self._moments(part.scores, part.rows)
            distance += by_location * float(part.location @ means) + by_spread * float(
                part.spread @ deviations
            )
            if by_shape > 0:
                inner = None if problem.weights is None else mass
                distance += by_shape * math.sqrt(
                    float(beyond_chance(part.scores[None], codes, inner).shape[0])
                )
            off = part.scores - means[codes]
            twice = np.where(deviations > 0, 2 * deviations, np.inf)[codes]
            slope = by_location * part.location[codes] * off
            slope += by_spread * part.spread[codes] * (off**2 - deviations[codes] ** 2) / twice
            influence[part.rows] += mass * slope / np.bincount(codes, mass, problem.n_groups)[codes]
        return distance / len(parts), self._variance(influence / len(parts))

    def _variance(self, influence: NDArray[np.float64]) -> float:
        """Of a sum over rows, which are drawn one by one or in blocks; NaN if there is one block only."""
        units = self._units
        if units is None:
            squares = [(float((influence[own] ** 2).sum()), len(own)) for own in self._members]
        else:
            total = np.bincount(units.blocks, influence)
            sets = units.sets(self.problem.codes)
            squares = [(float((total[own] ** 2).sum()), len(own)) for own in sets]
        return math.fsum(square * n / (n - 1) if n > 1 else math.nan for square, n in squares)

    def _area(self, part: JudgedRows) -> float:
        problem = self.problem
        if problem.n_groups != 2:
            return math.nan
        inner = None if problem.weights is None else problem.weights[part.rows]
        scores = part.scores if part.upward else -part.scores
        return area_under_curve(scores, problem.codes[part.rows] == 1, inner)
