"""Many rows: search on a sample of them, and let more and more rows settle what was found.

A search tries hundreds of directions to find the right hill; for that a sample of the rows is as good as all
of them, since a divergence is known to a relative error of one over the root of the rows. The few finalists
then climb on samples that grow fourfold, and the best ends on all rows in double precision: the divergence
that is reported is that of all rows, and so is the direction. A difference that is too small for the sample
to show must not be missed: where few features are wanted, all single features, the difference of means and
that of covariances are looked at on all rows before the search ends.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from princdiff.data.labels import Labels
from princdiff.data.row_keys import shuffled_members
from princdiff.data.samples import Samples
from princdiff.deadline import time_is_up
from princdiff.divergences import Divergence
from princdiff.parallel import single_threaded_blas
from princdiff.solvers import starts
from princdiff.solvers.ascent import Ascent, Tolerance, ascend
from princdiff.solvers.effort import SearchSettings
from princdiff.solvers.search import Search
from princdiff.solvers.solve import SINGLE_PRECISION, Solution, evaluate, in_units, settle
from princdiff.solvers.sparsity import Sparsity, keep_largest, normalised, oriented

GROWTH = 4
# A sample of this many rows per feature, within bounds, leaves little room to fit its noise.
_ROWS_PER_FEATURE = 10
_SMALLEST, _LARGEST = 10_000, 50_000
# Below this many times the first sample, a search on all rows costs about as much.
_WORTHWHILE = 5
_FEWEST_OF_A_GROUP = 500
_ON_SAMPLES = Tolerance(40, 1e-5, 4)
_ON_ALL_ROWS = Tolerance(12, 1e-4, 3)
# Finalists this close to the best may overtake it on more rows.
_CONTENDER = 0.01
# Directions that go on from values on all rows.
_FINALISTS = 4
# Numbers (rows x features) up to which every single feature is judged on all rows, about half a minute of
# sorting; and the fewest features that are.
_MOST_JUDGED, _FEWEST_JUDGED = 300_000_000, 50
_VALUES_AT_ONCE = 20_000_000
# Numbers that ascent and climb of the bundle may touch; beyond, the divergence is smooth for all that a
# quasi-Newton method can see, since the kinks between plans shrink with the rows.
_SMOOTH = 50_000_000


def first_sample(samples: Samples, subsample: int | str | None) -> int | None:
    """Rows of the first sample, or None where all rows are searched.

    Parameters
    ----------
    samples : Samples
        The pooled rows.
    subsample : int, "auto" or None
        As in `princdiff.PDA`.

    Returns
    -------
    int or None
    """
    if subsample is None:
        return None
    if isinstance(subsample, str):
        wanted = int(np.clip(_ROWS_PER_FEATURE * samples.n_features, _SMALLEST, _LARGEST))
        worthwhile = _WORTHWHILE * wanted
    else:
        wanted, worthwhile = int(subsample), int(subsample) + 1
    largest = samples.largest_sample
    if largest is not None:
        wanted = max(2 * _FEWEST_OF_A_GROUP, min(wanted, largest))
        if largest < samples.n_rows and not samples.streamed:
            # A search that gathers columns from a file at every step takes a hundred times as long.
            worthwhile = wanted + 1
    return wanted if samples.n_rows >= worthwhile else None


@dataclass(frozen=True)
class _Nested:
    """Samples of rows, each within the next, drawn from every group in proportion."""

    samples: Samples
    labels: Labels
    position: NDArray[np.intp]
    sizes: list[int]

    @classmethod
    def draw(cls, samples: Samples, labels: Labels, first: int, rng: np.random.Generator) -> _Nested:
        """Read the largest sample, in one pass; the others are parts of it."""
        sizes = [first]
        limit = samples.n_rows // GROWTH
        if samples.largest_sample is not None:
            limit = min(limit, samples.largest_sample)
        while sizes[-1] * GROWTH <= limit:
            sizes.append(sizes[-1] * GROWTH)
        # Every row's place in a random order of its group, as a share: rows below a share are a sample.
        codes = labels.codes[labels.columns[0]]
        place = np.full(labels.n_rows, np.inf)
        seed = int(rng.integers(2**31))
        for members in shuffled_members(samples.row_keys, codes, labels.n_groups, seed):
            # Of a small group at least a few hundred rows, or all.
            fewest = min(1.0, _FEWEST_OF_A_GROUP / len(members))
            share = (np.arange(len(members)) + 0.5) / len(members)
            place[members] = np.where(share < fewest, 0.0, share)
        index = np.flatnonzero(place <= sizes[-1] / samples.n_rows)
        return cls(samples.take_rows(index), _labels_of(labels, index), place[index] * samples.n_rows, sizes)

    def sample(self, size: int) -> tuple[Samples, Labels]:
        """Rows and labels of one of the samples."""
        index = np.flatnonzero(self.position <= size)
        if len(index) == len(self.position):
            return self.samples, self.labels
        return self.samples.take_rows(index), _labels_of(self.labels, index)


def one_sample(
    samples: Samples, labels: Labels, size: int, rng: np.random.Generator
) -> tuple[Samples, Labels]:
    """A random sample of the rows, in memory, and its labels."""
    drawn = _Nested.draw(samples, labels, size, rng)
    return drawn.sample(size)


def _labels_of(labels: Labels, index: NDArray[np.intp]) -> Labels:
    weights = None if labels.weights is None else labels.weights[index]
    return Labels(labels.codes[labels.columns[:1]][:, index], labels.n_groups, weights=weights)


def solve_growing(
    samples: Samples,
    labels: Labels,
    divergence: Divergence,
    settings: SearchSettings,
    *,
    first: int,
    rng: np.random.Generator,
) -> Solution:
    """Best direction for one labelling of many rows; parameters and result as in `solve`.

    ``first`` is the number of rows on which the search runs.
    """
    samples = samples.usable(labels)
    if not samples.varying.any():
        return Solution.nothing(samples.n_features)
    settings = in_units(settings, samples, divergence)
    with single_threaded_blas:
        nested = _Nested.draw(samples, labels, first, rng)
        few, few_labels = nested.sample(first)
        search = Search(few, few_labels, divergence, settings, rng)
        search.run()
        finds = search.pool.directions[: max(2, search.effort.finalists)]
        climb = _GrowingClimb(divergence, replace(settings, level=search.level), search.n_iter)
        for size in nested.sizes[1:]:
            if time_is_up():
                break
            finds = _contenders(climb.ascend(*nested.sample(size), finds, _ON_SAMPLES))
        if settings.level < samples.n_features or settings.penalty:
            # Which features take part is settled by all rows: a sample may have missed them.
            largest = nested.sample(nested.sizes[-1])
            seen = climb.seen_by_all_rows(samples, labels, largest, search.effort.n_spread, rng)
            finds = climb.best_of(samples, labels, np.concatenate([finds.astype(seen.dtype), seen]))
            finds = _contenders(climb.ascend(samples, labels, finds, _ON_ALL_ROWS))
        finds = finds[:2].astype(np.float64)
        # Deflated rows need all features, so that they cannot be cut down to a support.
        if samples.basis is not None or samples.n_rows * np.count_nonzero(finds[0]) <= _SMOOTH:
            direction, spent = settle(samples, labels, divergence, finds, settings)
        else:
            direction, spent = _settle_smooth(samples, labels, divergence, finds[0], settings)
        value, gradient = evaluate(samples.astype(np.float64), labels, divergence, direction)
        scale = samples.unit**divergence.degree
        return Solution(value * scale, direction, gradient * scale, climb.n_iter + spent)


class _GrowingClimb:
    """Finds of a search on a sample, taken up by more and more rows."""

    def __init__(self, divergence: Divergence, settings: SearchSettings, n_iter: int) -> None:
        self._divergence, self._n_jobs = divergence, settings.n_jobs
        self._level, self._penalty = settings.level, settings.penalty
        self.n_iter = n_iter

    def _sparsity(self, count: int) -> Sparsity:
        penalties = np.full(count, self._penalty) if self._penalty else None
        return Sparsity(np.full(count, self._level), penalties)

    def ascend(self, samples: Samples, labels: Labels, finds: NDArray, tolerance: Tolerance) -> Ascent:
        """Ascents from all finds."""
        count = len(finds)
        begin = finds.astype(samples.dtype)
        found = ascend(
            samples,
            labels.repeat(count),
            self._divergence,
            self._sparsity(count),
            begin,
            tolerance,
            self._n_jobs,
        )
        self.n_iter += int(found.n_iter.sum())
        return found

    def seen_by_all_rows(
        self,
        samples: Samples,
        labels: Labels,
        largest: tuple[Samples, Labels],
        n_spread: int,
        rng: np.random.Generator,
    ) -> NDArray:
        """What all rows say at little cost: single features, means, and the difference of covariances."""
        marginals = self._marginals(samples, labels, largest)
        if self._level == 1:
            return single_axes(marginals, 1)
        return np.concatenate(
            [
                single_axes(marginals, 2),
                starts.mean_directions(samples, labels)[0],
                starts.spread_directions(samples, labels, n_spread, rng, exact=True)[0],
            ]
        )

    def _marginals(
        self, samples: Samples, labels: Labels, largest: tuple[Samples, Labels]
    ) -> NDArray[np.float64]:
        """Divergence of every single feature on all rows; of those that a sample puts last, where many: 0."""
        affordable = max(_FEWEST_JUDGED, _MOST_JUDGED // samples.n_rows)
        if samples.streamed and samples.columns_per_pass is not None:
            affordable = min(affordable, max(_FEWEST_JUDGED, 4 * samples.columns_per_pass))
        if samples.n_features <= affordable or samples.basis is not None:
            return starts.marginal_divergences(samples, labels, self._divergence, self._n_jobs)[0]
        rough = starts.marginal_divergences(*largest, self._divergence, self._n_jobs)[0]
        chosen = np.sort(np.argsort(-rough, kind="stable")[:affordable])
        result = np.zeros(samples.n_features)
        few = samples.restrict(chosen)
        result[chosen] = starts.marginal_divergences(few, labels, self._divergence, self._n_jobs)[0]
        return result

    def best_of(self, samples: Samples, labels: Labels, candidates: NDArray) -> NDArray:
        """The best few of some directions, cut to the sparsity, by their values on all rows."""
        if self._penalty:
            # A penalised direction has as many features as it likes; the finds know how many about.
            sizes = np.unique(np.count_nonzero(candidates, axis=1))
            cut = [keep_largest(candidates, np.full(len(candidates), size)) for size in sizes]
            candidates = np.concatenate(cut)
        else:
            candidates = keep_largest(candidates, np.full(len(candidates), self._level))
        candidates = np.unique(normalised(candidates), axis=0)
        candidates = candidates[candidates.any(axis=1)].astype(samples.dtype)
        values = np.empty(len(candidates))
        step = samples.columns_per_pass or max(1, _VALUES_AT_ONCE // samples.n_rows)
        for begin in range(0, len(candidates), step):
            part = candidates[begin : begin + step]
            wide = labels.repeat(len(part))
            values[begin : begin + step] = self._divergence.value(
                samples.for_labels(wide).project(part), wide
            )
        values -= self._sparsity(len(candidates)).cost(candidates)
        return candidates[np.argsort(-values, kind="stable")[:_FINALISTS]]


def single_axes(values: NDArray[np.float64], count: int) -> NDArray[np.float64]:
    """Directions of the features with the largest values, shape (count, n_features)."""
    best = np.argsort(-values, kind="stable")[:count]
    axes = np.zeros((len(best), len(values)))
    axes[np.arange(len(best)), best] = 1.0
    return axes


def _contenders(found: Ascent) -> NDArray:
    """Finds close to the best, best first."""
    order = np.argsort(-found.objective, kind="stable")
    best = found.objective[order[0]]
    return found.directions[order[found.objective[order] >= best - _CONTENDER * abs(best)]]


def _settle_smooth(
    samples: Samples,
    labels: Labels,
    divergence: Divergence,
    start: NDArray[np.float64],
    settings: SearchSettings,
) -> tuple[NDArray[np.float64], int]:
    """Quasi-Newton ascent on the support of a direction: most of the way in single, the end in double."""
    used = np.flatnonzero(start)
    own = samples if len(used) == len(start) else samples.restrict(used)
    smooth = _SmoothObjective(labels, divergence, settings.penalty, np.sign(start[used]))
    found, n_coarse = _quasi_newton(smooth, own, start[used], settings.max_iter, SINGLE_PRECISION)
    # Relative gains are squares of what a direction still moves: far below the tolerance of values.
    exact = own.astype(np.float64)
    found, n_fine = _quasi_newton(smooth, exact, found, settings.max_iter, 1e-4 * settings.tol)
    direction = np.zeros_like(start)
    direction[used] = found
    return oriented(direction), n_coarse + n_fine


def _stop_late(intermediate_result: Any) -> None:
    if time_is_up():
        raise StopIteration


@dataclass(frozen=True)
class _SmoothObjective:
    """A divergence less its penalty, smooth as long as penalised weights keep their signs."""

    labels: Labels
    divergence: Divergence
    penalty: float
    signs: NDArray[np.float64]

    def __call__(self, samples: Samples, direction: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        """Objective of a unit direction and its slope."""
        value, gradient = evaluate(samples, self.labels, self.divergence, direction)
        l1 = np.abs(direction).sum()
        slope = gradient.astype(np.float64) - 2.0 * self.penalty * l1 * self.signs
        return value - self.penalty * l1**2, slope

    @property
    def bounds(self) -> list[tuple[float | None, float | None]] | None:
        """Beyond zero the penalty has a kink."""
        if not self.penalty:
            return None
        return [(0.0, None) if sign > 0 else (None, 0.0) for sign in self.signs]


def _quasi_newton(
    smooth: _SmoothObjective, samples: Samples, start: NDArray[np.float64], max_iter: int, gain: float
) -> tuple[NDArray[np.float64], int]:
    """The best direction that L-BFGS sees, and evaluations."""
    best: dict[str, Any] = {"objective": -np.inf, "direction": start, "n_iter": 0, "scale": 1.0}

    def descend(point: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        direction = normalised(point[None])[0]
        objective, slope = smooth(samples, direction)
        if best["n_iter"] == 0:
            best["scale"] = 1.0 / max(abs(objective), np.finfo(float).tiny)
        best["n_iter"] += 1
        if objective > best["objective"]:
            best["objective"], best["direction"] = objective, direction
        tangent = (slope - (slope @ direction) * direction) / np.linalg.norm(point)
        return -objective * best["scale"], -tangent * best["scale"]

    limits = {"maxfun": max_iter, "maxiter": max_iter, "ftol": gain, "gtol": 1e-9, "maxcor": 20}
    from scipy.optimize import minimize

    minimize(
        descend,
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=smooth.bounds,
        options=limits,
        callback=_stop_late,
    )
    return best["direction"], best["n_iter"]
