"""Whether units of a batch differ from those of the reference, and in which features, at a very small level.

Sums over the units of the batch are compared with sums over random units of both. Each feature's sum is
brought to a normal scale by its mean, variance and skewness over all permutations, which are known in closed
form; the largest of all features is ranked among those of random permutations (Westfall and Young). A level
of one in a million takes millions of permutations, but nearly always a few hundred show that it is out of
reach (Besag and Clifford).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from princdiff.labellings.pvalues import counted_pvalue

# Permutations that reach the observed statistic after which the search ends: the level is out of reach.
_ENOUGH = 10
# Permutations are this many divided by the level: with one alone, its chance would decide.
_TIMES = 3
_FIRST, _ROUND = 250, 5_000
# Differences of statistics below which they are tied.
_TIED = 1e-3


@dataclass(frozen=True, eq=False)
class UnitTest:
    """The outcome.

    Attributes
    ----------
    pvalue : float
        Of the largest of all features.
    scores : array of shape (n_features,)
        How far each feature moved, in standard deviations of a normal law; of the batch less the reference.
    named : array of shape (n_features,), bool
        Features that differ, with the chance of any false one at most the level.
    """

    pvalue: float
    scores: NDArray[np.float64]
    named: NDArray[np.bool_]


def unit_test(
    reference: NDArray[np.float64], batch: NDArray[np.float64], level: float, rng: np.random.Generator
) -> UnitTest:
    """Test at one level.

    Parameters
    ----------
    reference, batch : arrays of shape (n_units, n_features)
        Sums over units of one size.
    level : float
        What the p-value has to reach.
    rng : Generator
        Draws permutations.

    Returns
    -------
    UnitTest

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> reference, batch = rng.normal(size=(80, 3)), rng.normal(size=(20, 3)) + [0, 0, 2]
    >>> found = unit_test(reference, batch, 1e-4, rng)
    >>> found.pvalue <= 1e-4, found.named.tolist()
    (True, [False, False, True])
    """
    pool = np.concatenate([reference, batch])
    pool = pool - pool.mean(axis=0)
    spread = pool.std(axis=0)
    varies = spread > 1e-9 * np.abs(pool).max(axis=0, initial=0.0)
    pool = np.where(varies, pool / np.where(varies, spread, 1.0), 0.0)
    # The sum over the smaller side says the same, with another sign.
    small, sign = (len(batch), 1.0) if len(batch) <= len(reference) else (len(reference), -1.0)
    scale = _Scale.of(pool, small)
    own = pool[-small:] if sign > 0 else pool[:small]
    scores = scale.scores(own.sum(axis=0))
    pvalue, reach = _ranked(pool, small, scale, float(np.abs(scores).max(initial=0.0)), level, rng)
    named = np.abs(scores) >= reach if pvalue <= level else np.zeros(len(scores), dtype=bool)
    return UnitTest(pvalue, sign * scores, named)


@dataclass(frozen=True, eq=False)
class _Scale:
    """From sums over some units to a normal scale: Wilson and Hilferty's, by three moments."""

    deviation: float
    skewness: NDArray[np.float64]

    @classmethod
    def of(cls, pool: NDArray[np.float64], small: int) -> _Scale:
        """Of sums over random ``small`` of the units, which have mean 0 and variance 1."""
        count = len(pool)
        deviation = math.sqrt(small * (count - small) / max(count - 1, 1))
        third = small * (count - small) * (count - 2 * small) / (count * (count - 1) * max(count - 2, 1))
        skewness = third * (pool**3).sum(axis=0) / max(deviation, 1e-300) ** 3
        # Towards zero the formula becomes the sum itself.
        return cls(deviation, np.where(np.abs(skewness) < 1e-4, 1e-4, skewness))

    def scores(self, sums: NDArray) -> NDArray[np.float64]:
        """Of sums of shape (..., n_features)."""
        half = np.maximum(self.skewness / 2 * (sums / self.deviation) + 1, 0.0)
        return np.asarray(6 / self.skewness * (np.cbrt(half) - 1) + self.skewness / 6, dtype=np.float64)

    def sums(self, score: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The sums whose scores are minus and plus ``score``."""
        ends = []
        for own in (-score, score):
            root = self.skewness / 6 * (own - self.skewness / 6) + 1
            ends.append(self.deviation * 2 / self.skewness * (root**3 - 1))
        # Where no sum has such a score, none is beyond it; cubes of negative roots have no meaning.
        return ends[0], ends[1]


def _ranked(
    pool: NDArray[np.float64],
    small: int,
    scale: _Scale,
    observed: float,
    level: float,
    rng: np.random.Generator,
) -> tuple[float, float]:
    """The p-value of the largest score, and how large a score has to be for a feature to be named."""
    count = max(math.ceil(_TIMES / level), _ENOUGH) - 1
    single = pool.astype(np.float32)
    # The largest maxima of permutations that a named feature must exceed.
    allowed = max(0, math.floor(level * (1 + count) + 1e-9) - 1)
    largest = np.full(allowed + 1, -np.inf)
    reached = drawn = 0
    while drawn < count:
        step = min(_FIRST if not drawn else _ROUND, count - drawn)
        maxima = _maxima(single, small, scale, min(observed - _TIED, largest[0]), (step, rng))
        places = np.flatnonzero(maxima >= observed - _TIED)
        if reached + len(places) >= _ENOUGH:
            return _ENOUGH / (drawn + int(places[_ENOUGH - reached - 1]) + 1), math.inf
        reached += len(places)
        drawn += step
        largest = np.sort(np.concatenate([largest, maxima]))[-len(largest) :]
    return float(counted_pvalue(reached, count)), float(largest[0]) + _TIED


def _maxima(
    pool: NDArray[np.float32],
    small: int,
    scale: _Scale,
    from_here: float,
    draws: tuple[int, np.random.Generator],
) -> NDArray[np.float64]:
    """The largest score of each of some permutations; -inf where it is below ``from_here``."""
    step, rng = draws
    chosen = np.zeros((step, len(pool)), dtype=np.float32)
    places = np.argpartition(rng.random((step, len(pool)), dtype=np.float32), small - 1, axis=1)[:, :small]
    np.put_along_axis(chosen, places, 1.0, axis=1)
    sums = chosen @ pool
    found = np.full(step, -np.inf)
    if math.isfinite(from_here):
        low, high = scale.sums(max(from_here - _TIED, 0.0))
        far = np.flatnonzero(((sums <= low) | (sums >= high)).any(axis=1))
    else:
        far = np.arange(step)
    if len(far):
        found[far] = np.abs(scale.scores(sums[far].astype(np.float64))).max(axis=1)
    return found
