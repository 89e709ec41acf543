"""Laws of sums over a group if its members are drawn at random, from the numbers that are summed.

Under a scheme a group is a random subset of the units, or one of each stratum. So the law of the sum of fixed
numbers over it follows from these numbers, and needs no relabellings. Its tails are those of a saddlepoint
approximation (Robinson 1982; Lugannani and Rice 1980): right where tails are heavy, groups unequal and flags
rare, where a law with the same three or four moments ends too early. Of sums of squares, mean and variance
are exact, and the law is the gamma law with these.

A law is a table: heights of the score, -log of a p-value, at some values of the statistic. Every labelling's
score is read off it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfcx, expit

from princdiff.kernels.engine_choice import Kernel
from princdiff.statistics.scores import survival_score

# Tilts at which tails are computed, in deviations of a normal sum; between them scores are interpolated.
_TILTS = (0.5, 1.0, 1.7, 2.5, 3.6, 5.2, 7.5, 11.0, 18.0, 40.0)
# Steps of Newton's method at each tilt, and how far one may go: from tilt to tilt little changes.
_STEPS, _LONGEST_STEP = 2, 2.0
# Values at either end of a sorted column that are kept one by one, and how much wider each next bin is.
_KEPT_ENDS, _WIDER = 6, 1.7
_SCORES = Kernel("pd_law_scores", "f64* i64 i64 f64* f64* i64 f32*")
# Variance beside the mean of squares that is rounding.
_ROUNDING = 1e-20
# Numbers of the tables of points at a time.
_BLOCK = 2_000_000
# Roots of sums of squares over their mean, at which the gamma law is computed.
_ROOTS = np.array(
    [0, 0.3, 0.6, 0.9, 1.2, 1.6, 2, 2.5, 3, 3.6, 4.3, 5.2, 6.3, 7.6, 9.2, 11.5, 15, 20, 30, 60.0]
)
# Variance of a sum of squares, over that of the same sum of normal numbers, within which a gamma law with
# this variance is close to it. Outside few rows rule the sum.
_LEAST_VARIANCE, _MOST_VARIANCE = 0.6, 1.05


@dataclass(frozen=True, eq=False)
class Drawing:
    """Strata of units, of each of which every group has a random subset of a given size.

    Attributes
    ----------
    strata : int array of shape (n_units,)
        Stratum of each unit.
    taken : int array of shape (n_groups, n_strata)
        Units of each group in each stratum.

    Examples
    --------
    >>> Drawing.of(np.array([0, 0, 1, 1, 1]), np.zeros(5, dtype=int)).taken
    array([[2],
           [3]])
    """

    strata: NDArray[np.intp]
    taken: NDArray[np.intp]

    @classmethod
    def of(cls, codes: NDArray, strata: NDArray[np.intp]) -> Drawing:
        """From the group and the stratum of each unit."""
        taken = np.zeros((int(codes.max()) + 1, int(strata.max()) + 1), dtype=np.intp)
        np.add.at(taken, (codes, strata), 1)
        return cls(strata, taken)

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return len(self.taken)

    @cached_property
    def sizes(self) -> NDArray[np.intp]:
        """Units of each stratum."""
        return self.taken.sum(axis=0)

    @cached_property
    def order(self) -> NDArray[np.intp] | None:
        """Units stratum by stratum; None where there is one stratum."""
        return None if len(self.sizes) == 1 else np.argsort(self.strata, kind="stable")

    @cached_property
    def starts(self) -> NDArray[np.intp]:
        """Place of the first unit of each stratum in this order."""
        return np.cumsum(self.sizes) - self.sizes

    def ordered(self, columns: NDArray) -> NDArray[np.float64]:
        """Columns stratum by stratum, in double precision."""
        return np.asarray(columns if self.order is None else columns[self.order], dtype=np.float64)

    def factors(self, group: int) -> NDArray[np.float64]:
        """Variance of the sum of one group over each stratum's sum of squares about its mean."""
        taken, sizes = self.taken[group], self.sizes
        return taken * (sizes - taken) / (sizes * np.maximum(sizes - 1.0, 1.0))

    def fourth_moments(self, group: int) -> tuple[NDArray[np.float64], ...]:
        """Of the sum of one group over each stratum, whose numbers add up to zero.

        The fourth moment is the first factor times the sum of fourth powers and three times the second factor
        times the squared sum of squares; the third is what the second is if the sum is normal.
        """
        chances, chance = [], np.ones(len(self.sizes))
        for drawn in range(4):
            left = self.sizes - drawn
            chance = chance * np.clip(self.taken[group] - drawn, 0, None) / np.maximum(left, 1)
            chances.append(chance)
        one, two, three, four = chances
        return one - 7 * two + 12 * three - 6 * four, two - 2 * three + four, self.factors(group) ** 2


@dataclass(frozen=True, eq=False)
class Points:
    """Numbers that are summed, stratum by stratum, with how often each occurs.

    Attributes
    ----------
    values : array of shape (n_points, n_columns)
        Numbers.
    counts : array of shape (n_points, n_columns) or (n_points, 1)
        Units that have each; zero for none.
    starts : int array of shape (n_strata,)
        First point of each stratum.
    """

    values: NDArray[np.float64]
    counts: NDArray[np.float64]
    starts: NDArray[np.intp]

    @classmethod
    def of(cls, columns: NDArray, drawing: Drawing) -> Points:
        """From the numbers of all units, shape (n_units, n_columns); those close to each other are joined."""
        ordered = drawing.ordered(columns)
        values, counts, starts, place = [], [], [], 0
        if (drawing.sizes <= 2 * _KEPT_ENDS).all():
            return cls(ordered, np.ones((len(ordered), 1)), drawing.starts)
        for start, size in zip(drawing.starts.tolist(), drawing.sizes.tolist(), strict=True):
            own = np.sort(ordered[start : start + size], axis=0)
            begins = bins_of(size)
            widths = np.diff(np.append(begins, size))
            values.append(np.add.reduceat(own, begins, axis=0) / widths[:, None])
            counts.append(widths[:, None].astype(float))
            starts.append(place)
            place += len(begins)
        return cls(np.concatenate(values), np.concatenate(counts), np.array(starts))

    def take(self, columns: slice) -> Points:
        """Some of the columns."""
        counts = self.counts if self.counts.shape[1] == 1 else self.counts[:, columns]
        return Points(self.values[:, columns], counts, self.starts)

    def of_strata(self, kept: NDArray[np.bool_]) -> Points:
        """Points of some strata."""
        if kept.all():
            return self
        lengths = np.diff(np.append(self.starts, len(self.values)))
        inside = np.repeat(kept, lengths)
        counts = self.counts if len(self.counts) == 1 else self.counts[inside]
        return Points(self.values[inside], counts, np.cumsum(lengths[kept]) - lengths[kept])

    def sums(self, terms: NDArray[np.float64]) -> NDArray[np.float64]:
        """Sums of something over the points of each stratum."""
        if len(self.starts) == 1:
            return terms.sum(axis=0, keepdims=True)
        return np.add.reduceat(terms, self.starts, axis=0)

    def spread(self, per_stratum: NDArray[np.float64]) -> NDArray[np.float64]:
        """What strata have, for each of their points."""
        if len(self.starts) == 1:
            return per_stratum
        return np.repeat(per_stratum, np.diff(np.append(self.starts, len(self.values))), axis=0)


def bins_of(size: int) -> NDArray[np.intp]:
    """First places of bins of sorted values: single ones at both ends, wider and wider towards the middle.

    Examples
    --------
    >>> len(bins_of(16)), len(bins_of(1000)), len(bins_of(1_000_000))
    (16, 34, 60)
    """
    half = [0.0]
    while half[-1] < size / 2:
        half.append(half[-1] + max(1.0, _WIDER ** (len(half) - _KEPT_ENDS)))
    left = np.minimum(np.floor(half), size // 2).astype(np.intp)
    return np.unique(np.concatenate([left, size - left[left > 0]]))


@dataclass(frozen=True, eq=False)
class Law:
    """Scores of statistics, as tables.

    Attributes
    ----------
    knots : array of shape (n_columns, n_knots)
        Values of the statistic, ascending.
    heights : array of shape (n_columns, n_knots)
        Roots of twice the scores there.
    """

    knots: NDArray[np.float64]
    heights: NDArray[np.float64]

    def scores(self, statistics: NDArray) -> NDArray[np.float32]:
        """Scores, -log of p-values, of statistics of shape (n_labellings, n_columns)."""
        knots, heights = (np.ascontiguousarray(table) for table in (self.knots, self.heights))
        if _SCORES.available:
            scores = np.empty(statistics.shape, dtype=np.float32)
            values = np.ascontiguousarray(statistics, dtype=np.float64)
            _SCORES(values, *values.shape, knots, heights, knots.shape[1], scores)
            return scores
        values = np.ascontiguousarray(statistics.T)
        found = np.empty(values.shape)
        for column in range(len(values)):
            found[column] = np.interp(values[column], knots[column], heights[column])
        for end in (0, -1):
            # Beyond the tables heights go on as they have grown on the whole.
            last = knots[:, [end]]
            ratio = values / np.where(last == 0, np.inf, last)
            beyond = np.nonzero(ratio > 1)
            found[beyond] = heights[beyond[0], end] * ratio[beyond]
        return np.ascontiguousarray((found * found / 2).T, dtype=np.float32)


def sum_law(points: Points, drawing: Drawing, group: int, steps: NDArray | float = 0.0) -> Law:
    """Law of the sum over one group, over its standard deviation; scores are of two-sided p-values.

    Parameters
    ----------
    points : Points
        What is summed.
    drawing : Drawing
        How groups are drawn.
    group : int
        Which one.
    steps : float or array of shape (n_columns,)
        Distance between possible sums, such as 1 of a flag; 0 where they are many.

    Returns
    -------
    Law
        Of sums over the square root of `variance_of_sums`.

    Examples
    --------
    Of 20 rows three have a flag; all of them are among the 10 of a group:

    >>> flag = np.repeat([1.0, 0.0], [3, 17])[:, None]
    >>> drawing = Drawing.of(np.repeat([0, 1], 10), np.zeros(20, dtype=int))
    >>> law = sum_law(Points.of(flag, drawing), drawing, 0, 1.0)
    >>> deviation = np.sqrt(variance_of_sums(flag, drawing, 0))
    >>> score = law.scores((np.array([[3.0]]) - 1.5) / deviation)
    >>> float(np.exp(-score[0, 0]).round(1))  # of 1140 relabellings 2 * 120
    0.2
    """
    steps = np.broadcast_to(np.asarray(steps, dtype=np.float64), (points.values.shape[1],))
    width = max(1, _BLOCK // len(points.values))
    parts = [
        _sum_law(points.take(slice(start, start + width)), drawing, group, steps[start : start + width])
        for start in range(0, max(1, points.values.shape[1]), width)
    ]
    return Law(
        np.concatenate([part.knots for part in parts]), np.concatenate([part.heights for part in parts])
    )


def variance_of_sums(columns: NDArray, drawing: Drawing, group: int) -> NDArray[np.float64]:
    """Variance of the sums of one group, exact, shape (n_columns,)."""
    points = Points(drawing.ordered(columns), np.ones((len(columns), 1)), drawing.starts)
    centred = points.values - points.spread(points.sums(points.values) / drawing.sizes[:, None])
    return np.asarray(drawing.factors(group) @ points.sums(centred * centred))


def _sum_law(points: Points, drawing: Drawing, group: int, steps: NDArray[np.float64]) -> Law:
    taken, sizes = drawing.taken[group][:, None], drawing.sizes[:, None].astype(float)
    centred = points.values - points.spread(points.sums(points.counts * points.values) / sizes)
    variance = drawing.factors(group) @ points.sums(points.counts * centred**2)
    # A subset is drawn without replacement: its sum varies more than the saddlepoint would have it.
    scale = np.sqrt(sizes / np.maximum(sizes - 1, 1))
    size = drawing.factors(group) @ points.sums(points.counts * points.values**2)
    # What rounding alone makes vary is constant.
    deviation = np.sqrt(np.where(variance > _ROUNDING * size, variance, np.inf))
    # A stratum of which nothing or all is drawn does not move.
    moved = points.spread(((taken > 0) & (taken < sizes)) * scale) * centred / deviation
    counts = points.counts if points.counts.shape[1] == 1 else np.tile(points.counts, 2)
    # Both tails, side by side.
    both = Points(np.concatenate([moved, -moved], axis=1), counts, points.starts)
    pairs = drawing.sizes == 2
    rest = both.of_strata(~pairs)
    sums, heights = _tails(
        rest,
        # Which of two is drawn needs no approximation: differences of one unit from the other, unscaled.
        (both.values[points.starts[pairs]] - both.values[points.starts[pairs] + 1]) / np.sqrt(2),
        np.column_stack([np.clip(taken, 0.5, sizes - 0.5), sizes])[~pairs],
        np.tile(steps * scale.min() / deviation, 2),
    )
    n_columns = len(variance)
    middle = np.zeros((n_columns, 1))
    return Law(
        np.concatenate([-sums[::-1, n_columns:].T, middle, sums[:, :n_columns].T], axis=1),
        np.concatenate([heights[::-1, n_columns:].T, middle, heights[:, :n_columns].T], axis=1),
    )


def _tails(
    points: Points, differences: NDArray[np.float64], drawn: NDArray[np.float64], steps: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Sums, and roots of twice the scores of reaching them, at every tilt, each (n_tilts, n_columns).

    Sums have unit variance. ``drawn``, of shape (n_strata, 2), has the units taken from each stratum and how
    many it has; ``differences`` are those of strata with two units.
    """
    values, counts = points.values, points.counts
    taken, sizes = drawn[:, :1], drawn[:, 1:]
    odds = np.log(taken / (sizes - taken))
    shift = np.broadcast_to(odds, (len(sizes), values.shape[1])).copy()
    slope, before = np.zeros_like(shift), 0.0
    sums, heights = [], []
    for tilt in _TILTS:
        shift += slope * (tilt - before)
        before = tilt
        for _ in range(_STEPS):
            chance = expit(points.spread(shift) + tilt * values)
            inside = counts * chance
            varying = inside * (1 - chance)
            curvature = np.maximum(points.sums(varying), 1e-300)
            step = (taken - points.sums(inside)) / curvature
            shift += np.clip(step, -_LONGEST_STEP, _LONGEST_STEP)
        chance = expit(points.spread(shift) + tilt * values)
        varying = counts * chance * (1 - chance)
        curvature = np.maximum(points.sums(varying), 1e-300)
        mixed = points.sums(varying * values)
        slope = -mixed / curvature
        total = (counts * chance * values).sum(axis=0)
        left = (varying * values**2).sum(axis=0) - (mixed**2 / curvature).sum(axis=0)
        growth = (counts * np.logaddexp(0, points.spread(shift) + tilt * values)).sum(axis=0)
        growth -= (taken * shift + sizes * np.logaddexp(0, odds) - taken * odds).sum(axis=0)
        if len(differences):
            half = np.tanh(tilt * differences / 2)
            total += (differences * half).sum(axis=0) / 2
            left += (differences**2 * (1 - half**2)).sum(axis=0) / 4
            growth += (np.logaddexp(tilt * differences / 2, -tilt * differences / 2) - np.log(2)).sum(axis=0)
        sums.append(total)
        heights.append(_height(tilt * total - growth, tilt, left, steps))
    # Towards the largest possible sum both stand still.
    return np.maximum.accumulate(sums, axis=0), np.maximum.accumulate(heights, axis=0)


def _height(
    exponent: NDArray[np.float64], tilt: float, variance: NDArray[np.float64], steps: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Root of twice the score of a two-sided p-value from what a saddlepoint gives (Lugannani and Rice)."""
    exponent = np.maximum(exponent, 1e-12)
    root = np.sqrt(2 * exponent)
    # Of sums on a lattice the chance to reach one counts itself.
    lattice = np.where(steps > 0, -np.expm1(-steps * tilt) / np.where(steps > 0, steps * tilt, 1.0), 1.0)
    width = tilt * np.sqrt(np.maximum(variance, 1e-300)) * lattice
    density = np.sqrt(np.pi / 2) * erfcx(root / np.sqrt(2)) + 1 / width - 1 / root
    score = exponent + 0.5 * np.log(2 * np.pi) - np.log(np.maximum(density, 1e-300))
    # The bound of Chernoff, which is reached by the largest possible sum.
    return np.sqrt(2 * np.maximum(np.maximum(score, exponent) - np.log(2), 0.0))


@dataclass(frozen=True, eq=False)
class Grams:
    """Sums of products of columns over the units of each stratum, and of products of their squares.

    Attributes
    ----------
    products : array of shape (n_strata, n_features, n_columns, n_columns)
    squares : array of shape (n_strata, n_features, n_columns, n_columns)
    """

    products: NDArray[np.float64]
    squares: NDArray[np.float64]

    @classmethod
    def of(cls, columns: NDArray, drawing: Drawing) -> Grams:
        """Of columns of several features, shape (n_units, n_features, n_columns), zero on average."""
        n_units, n_features, width = columns.shape
        if drawing.order is None:
            own = np.ascontiguousarray(columns.transpose(1, 2, 0))
            return cls(_gram(own)[None], _gram(own * own)[None])
        ordered = columns[drawing.order]
        step = max(1, _BLOCK // (n_units * width * width))
        parts = []
        for start in range(0, n_features, step):
            own = ordered[:, start : start + step].astype(np.float64)
            crossed = own[:, :, :, None] * own[:, :, None, :]
            parts.append([np.add.reduceat(one, drawing.starts) for one in (crossed, crossed * crossed)])
        return cls(*(np.concatenate(one, axis=1) for one in zip(*parts, strict=True)))

    @classmethod
    def of_tables(cls, columns: NDArray, counts: NDArray) -> Grams:
        """Of columns that are tabulated over the values of each feature.

        Parameters
        ----------
        columns : array of shape (n_values, n_features, n_columns)
            Zero on average.
        counts : array of shape (n_values, n_features)
            Units that have each value.
        """
        own = np.sqrt(counts)[:, :, None] * columns
        squares = own * columns
        return cls(*(_gram(np.ascontiguousarray(one.transpose(1, 2, 0)))[None] for one in (own, squares)))


def _gram(columns: NDArray) -> NDArray[np.float64]:
    return np.asarray(columns @ columns.swapaxes(1, 2), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class SquaresLaw:
    """Gamma laws of weighted sums of squares.

    Attributes
    ----------
    mean : array of shape (n_features,)
        Exact.
    law : Law
        Of roots of sums over the mean.
    known : bool array of shape (n_features,)
        Whether a gamma law is close: not where few rows rule a sum of squares.
    """

    mean: NDArray[np.float64]
    law: Law
    known: NDArray[np.bool_]

    @classmethod
    def of(cls, grams: Grams, weights: NDArray[np.float64], drawing: Drawing) -> SquaresLaw:
        """Of sums of squared sums, each over its variance, weighted and added over the groups.

        Parameters
        ----------
        grams : Grams
            Of the columns.
        weights : array of shape (n_columns,) or (n_features, n_columns)
            What the square of each column counts.
        drawing : Drawing
            How groups are drawn.
        """
        n_features, width = grams.products.shape[1:3]
        weights = np.broadcast_to(weights, (n_features, width))
        ratios = np.ones(n_features)
        for group in range(drawing.n_groups if drawing.n_groups > 2 else 1):
            normal, excess, skewness = _moments_of_squares(grams, weights, drawing, group)
            ratio = 1 + excess / np.where(normal > 0, normal, np.inf)
            ratios = np.where(abs(np.log(np.maximum(ratio, 1e-9))) > abs(np.log(ratios)), ratio, ratios)
        varying = np.einsum("sfkk->fk", grams.products) > 0
        freedom = drawing.n_groups - 1
        mean = freedom * (weights * varying).sum(axis=1)
        known = (normal > 0) & (ratios > _LEAST_VARIANCE) & (ratios < _MOST_VARIANCE)
        ratios = np.where(known, ratios, 1.0)[:, None]
        own = np.where(known, mean, 1.0)[:, None]
        deviation = np.sqrt(ratios * freedom * np.where(known, normal, 1.0)[:, None])
        z = (_ROOTS**2 - 1) * own / deviation
        heights = np.sqrt(2 * survival_score(z, skewness[:, None] * np.sqrt(ratios / freedom)))
        heights = np.where(known[:, None], heights, 0.0)
        return cls(own[:, 0], Law(np.broadcast_to(_ROOTS, heights.shape), heights), known)

    def scores(self, statistics: NDArray) -> NDArray[np.float32]:
        """Scores of sums of squares, shape (n_labellings, n_features); zero where the law is not known."""
        return self.law.scores(np.sqrt(np.maximum(statistics, 0.0) / self.mean))


def _moments_of_squares(
    grams: Grams, weights: NDArray[np.float64], drawing: Drawing, group: int
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Of the sum of squares of one group, each (n_features,).

    The variance that it has if sums are normal, what it has beyond that, and the skewness if they are normal.
    """
    squared, fourth, product = drawing.fourth_moments(group)
    factors = drawing.factors(group)
    covariance = np.einsum("s,sfkl->fkl", factors, grams.products)
    variance = np.einsum("fkk->fk", covariance)
    scale = np.where(variance > 1e-12 * variance.max(axis=1, keepdims=True), weights, 0.0)
    scale = np.sqrt(scale / np.where(scale > 0, variance, 1.0))
    both = scale[:, :, None] * scale[:, None, :]
    mixed = covariance * both
    normal = 2 * np.einsum("fkl,fkl->f", mixed, mixed)
    skewness = 8 * np.einsum("fkl,flm,fmk->f", mixed, mixed, mixed, optimize=True)
    skewness /= np.where(normal > 0, normal, 1.0) ** 1.5
    excess = np.einsum("s,sfkl,fkl->f", squared, grams.squares, both**2, optimize=True)
    own = grams.products * both
    traces = np.einsum("sfkk->sf", own) ** 2 + 2 * np.einsum("sfkl,sfkl->sf", own, own)
    return normal, excess + np.einsum("s,sf->f", fourth - product, traces), skewness


def harmonic(
    scores: Sequence[NDArray] | NDArray, counts: NDArray | float | None = None
) -> NDArray[np.float32]:
    """One score of several of the same thing, first axis: -log of the harmonic mean of their p-values.

    In the tails this is about a p-value again, whatever the dependence (Wilson 2019): the clearest rules, and
    others that agree with it help.

    Parameters
    ----------
    scores : array of shape (n_scores, ...)
        -log of p-values.
    counts : float or array, optional
        How many they are, where some are zero because nothing is known.

    Examples
    --------
    >>> harmonic(np.array([[5.0], [0.0]])).round(2)
    array([4.31], dtype=float32)
    """
    values = np.asarray(scores, dtype=np.float32)
    largest = values.max(axis=0)
    total = np.exp(values - largest).sum(axis=0)
    count = np.float32(len(values)) if counts is None else np.asarray(counts, dtype=np.float32)
    return np.maximum(largest + np.log(total / count), np.float32(0.0))
