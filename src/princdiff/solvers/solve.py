"""One problem from start to finish: searched in single precision, settled in double."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from princdiff.data.labels import Labels
from princdiff.data.samples import Samples
from princdiff.divergences import Divergence, PlannedDivergence, Workspace
from princdiff.parallel import single_threaded_blas
from princdiff.solvers.ascent import ascend
from princdiff.solvers.bundle import climb_ridge
from princdiff.solvers.effort import SearchSettings, effort_for
from princdiff.solvers.search import Search
from princdiff.solvers.sparsity import Sparsity, normalised, oriented

# Plans that a climb holds at a time, roughly: what one of its iterations costs.
_PLANS_HELD = 30
# What a plan costs beyond its products, in features: matching rows and adding up their slopes.
_MATCHING = 20
# A climb cut shorter than this moves too little to be worth its time.
_SHORTEST_CLIMB = 10
# A stronger penalty leaves one feature as well, and might not fit single precision.
_STRONGEST_PENALTY = 1e15
# Finalists this close to the best may overtake it on the climb.
_CONTENDER = 2e-3
# Relative gain of a step below which single precision has nothing more to say.
SINGLE_PRECISION = 1e-7
# Evaluations in double precision after an ascent in single precision has come to its end.
_LAST_DIGITS = 12
# Evaluations of the ascent in double precision where a climb follows: it zigzags on, and the climb does not.
_BEFORE_CLIMB = 150
# Weights this small in proportion to the largest are what double precision leaves of zero.
_DUST = 1e-10


class Solution(NamedTuple):
    """One problem's best direction.

    Attributes
    ----------
    value : float
        Divergence along it, in the units of the scaled data.
    direction : array of shape (n_features,)
        Unit vector, first non-zero weight positive.
    gradient : array of shape (n_features,)
        Gradient of the divergence there.
    n_iter : int
        Evaluations spent.
    """

    value: float
    direction: NDArray[np.float64]
    gradient: NDArray[np.float64]
    n_iter: int

    @classmethod
    def nothing(cls, n_features: int) -> Solution:
        """Where no direction has a difference: all zero."""
        return cls(0.0, np.zeros(n_features), np.zeros(n_features), 0)

    @property
    def shares(self) -> NDArray[np.float64]:
        """Share of each feature, b_j g_j / (b . g), shape (n_features,); all zero where nothing differs.

        Only for divergences that grow with scale.
        """
        parts = self.direction * self.gradient
        total = parts.sum()
        return parts / total if total > 0 else np.zeros_like(parts)


def solve(
    samples: Samples,
    labels: Labels,
    divergence: Divergence,
    settings: SearchSettings,
    *,
    rng: np.random.Generator,
    extra_starts: NDArray | None = None,
) -> Solution:
    """Best direction for one labelling: searched in single, settled in double precision.

    Parameters
    ----------
    samples : Samples
        Pooled rows, in single precision.
    labels : Labels
        One column.
    divergence : Divergence
        What to maximise.
    settings : SearchSettings
        What may be found, and how hard to look.
    rng : numpy Generator
        For the random starts.
    extra_starts : array of shape (n, n_features), optional
        Directions to begin with as well.

    Returns
    -------
    Solution
    """
    samples = samples.usable(labels)
    if not samples.varying.any():
        return Solution.nothing(samples.n_features)
    settings = in_units(settings, samples, divergence)
    with single_threaded_blas:
        search = Search(samples, labels, divergence, settings, rng)
        search.run(extra_starts)
        finds = search.pool.directions[: search.effort.finalists].astype(np.float64)
        direction, n_iter = settle(samples, labels, divergence, finds, settings)
        value, gradient = evaluate(samples.astype(np.float64), labels, divergence, direction)
        scale = samples.unit**divergence.degree
        return Solution(value * scale, direction, gradient * scale, search.n_iter + n_iter)


def in_units(settings: SearchSettings, samples: Samples, divergence: Divergence) -> SearchSettings:
    """Settings with the penalty in the units of the samples, within the range of single precision."""
    penalty = min(settings.penalty / samples.unit**divergence.degree, _STRONGEST_PENALTY)
    return replace(settings, penalty=penalty)


def settle(
    samples: Samples,
    labels: Labels,
    divergence: Divergence,
    finds: NDArray[np.float64],
    settings: SearchSettings,
) -> tuple[NDArray[np.float64], int]:
    """The best of the finalists after an ascent and a climb in double precision, on their supports."""
    penalty, tolerance = settings.penalty, settings.final_tolerance
    effort = effort_for(settings.effort, samples.n_rows * samples.n_features)
    used = np.flatnonzero((finds != 0).any(axis=0))
    n_iter = 0
    if len(used) > samples.n_features // 2 or samples.basis is not None:
        # A few features of many are worth a copy of their columns; nearly all of them are not.
        used = np.arange(samples.n_features)
        if effort.race:
            finds, n_iter = _winner(samples, labels, divergence, finds, settings)
            tolerance = replace(tolerance, max_iter=min(tolerance.max_iter, _LAST_DIGITS))
        exact = samples.astype(np.float64)
    else:
        exact = samples.restrict(used).astype(np.float64)
    finds = finds[:, used]
    sparsity = Sparsity(
        np.full(len(finds), finds.shape[1]), np.full(len(finds), penalty) if penalty else None, finds != 0
    )
    affordable = effort.climb_elements // (samples.n_rows * (finds.shape[1] + _MATCHING) * _PLANS_HELD)
    max_iter = min(tolerance.max_iter, effort.climb_iter, affordable)
    climbs = max_iter >= _SHORTEST_CLIMB and isinstance(divergence, PlannedDivergence)
    if climbs:
        tolerance = replace(tolerance, max_iter=min(tolerance.max_iter, _BEFORE_CLIMB))
    found = ascend(
        exact, labels.repeat(len(finds)), divergence, sparsity, finds, replace(tolerance, race=True)
    )
    objective, directions, n_iter = found.objective, found.directions, n_iter + int(found.n_iter.sum())
    if climbs and isinstance(divergence, PlannedDivergence):
        operator = exact.for_labels(labels)
        contenders = np.flatnonzero(objective >= objective.max() * (1 - _CONTENDER))
        for index in contenders[np.argsort(-objective[contenders], kind="stable")][: effort.climbs]:
            climbed = climb_ridge(operator, labels, divergence, directions[index], penalty, max_iter)
            objective[index], directions[index] = climbed[:2]
            n_iter += climbed[2]
    direction = np.zeros(samples.n_features)
    direction[used] = _without_dust(directions[objective.argmax()])
    return oriented(direction), n_iter


def _winner(
    samples: Samples,
    labels: Labels,
    divergence: Divergence,
    finds: NDArray[np.float64],
    settings: SearchSettings,
) -> tuple[NDArray[np.float64], int]:
    """The best of the finalists after an ascent in single precision, shape (1, n_features)."""
    penalties = np.full(len(finds), settings.penalty) if settings.penalty else None
    tolerance = settings.final_tolerance
    found = ascend(
        samples,
        labels.repeat(len(finds)),
        divergence,
        Sparsity(np.full(len(finds), samples.n_features), penalties, finds != 0),
        finds,
        replace(tolerance, gain=max(tolerance.gain, SINGLE_PRECISION), race=True),
    )
    return found.directions[[found.objective.argmax()]].astype(np.float64), int(found.n_iter.sum())


def _without_dust(direction: NDArray[np.float64]) -> NDArray[np.float64]:
    """Unit direction without weights that are a matter of rounding: they name no feature and fix no sign."""
    kept = np.where(np.abs(direction) > _DUST * np.abs(direction).max(), direction, 0.0)
    return normalised(kept[None])[0]


def evaluate(
    exact: Samples, labels: Labels, divergence: Divergence, direction: NDArray[np.float64]
) -> tuple[float, NDArray[np.float64]]:
    """Divergence along a direction and its gradient, in units of the samples."""
    operator = exact.for_labels(labels)
    value, slopes = divergence.value_and_slope(operator.project(direction[None]), labels, Workspace())
    return float(value[0]), operator.backproject(slopes)[0]
