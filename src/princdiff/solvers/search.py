"""The search for the best direction: a portfolio that pools its finds.

Ascents from mixed starts run in lockstep. For few features a forward beam and swaps follow, which scan
true values over features x angles. Whatever was found competes, smaller supports included, since the
constraint is "at most k".
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from princdiff.data.labels import Labels
from princdiff.data.samples import Samples
from princdiff.deadline import time_is_up
from princdiff.divergences import Divergence, Workspace
from princdiff.solvers import starts
from princdiff.solvers.ascent import Tolerance, ascend, walk_ridge
from princdiff.solvers.effort import SearchSettings, effort_for
from princdiff.solvers.scans import ANGLES, Features, load_features, scan_angles, turn
from princdiff.solvers.sparsity import Sparsity, normalised

# Features up to which the supports found are searched anew, how many of them, with how many draws each, and
# how many of these climb.
_FEW_FEATURES, _SUPPORTS, _DRAWS, _CLIMBERS = 8, 16, 48, 4
# Features, in proportion to those that directions use, from which a copy of the latter pays.
_FEW_OF_MANY = 8
# Sets of features with other covariances that are looked at.
_RELATED = 64


class _Pool:
    """Finds so far, best first, one per support."""

    def __init__(self, n_features: int) -> None:
        self.objective = np.empty(0)
        self.directions = np.empty((0, n_features))

    def add(self, objective: NDArray, directions: NDArray) -> None:
        objective = np.concatenate([self.objective, objective])
        directions = np.concatenate([self.directions, directions])
        order = np.argsort(-objective, kind="stable")
        keep: list[int] = []
        seen: set[bytes] = set()
        for index in order:
            # Equal values on one support are one find; a dense problem has one support and many finds.
            mark = np.packbits(directions[index] != 0).tobytes() + f"{objective[index]:.4e}".encode()
            if mark not in seen:
                seen.add(mark)
                keep.append(int(index))
        self.objective, self.directions = objective[keep[:64]], directions[keep[:64]]


class Search:
    """The search for one labelling and one sparsity.

    Parameters
    ----------
    samples : Samples
        Pooled rows, in single precision.
    labels : Labels
        One column.
    divergence : Divergence
        What to maximise.
    settings : SearchSettings
        What may be found, and how hard to look; its penalty in units of the samples.
    rng : numpy Generator
        For the random starts.
    """

    def __init__(
        self,
        samples: Samples,
        labels: Labels,
        divergence: Divergence,
        settings: SearchSettings,
        rng: np.random.Generator,
    ) -> None:
        self.samples, self.labels, self.divergence = samples, labels, divergence
        self.level = min(settings.level, int(samples.varying.sum()))
        self.penalty, self.n_jobs = settings.penalty, settings.n_jobs
        self.effort, self.rng = effort_for(settings.effort, samples.n_rows * samples.n_features), rng
        self.marginals = starts.marginal_divergences(samples, labels, divergence, self.n_jobs)
        self.pool = _Pool(samples.n_features)
        self.n_iter = 0

    def run(self, extra_starts: NDArray | None = None) -> NDArray:
        """Unit direction of the best objective found, shape (n_features,)."""
        self._add_singles()
        if self.level > 1:
            self._ascend_from_starts(extra_starts)
            if self.effort.beam and not time_is_up():
                self._scan()
                if self.level <= _FEW_FEATURES and not self.penalty:
                    self._start_anew()
            if not time_is_up():
                self._polish()
        return self.pool.directions[0]

    def _add_singles(self) -> None:
        order = np.argsort(-self.marginals[0], kind="stable")
        # Where no feature differs a constant one must not win by its place.
        top = order[self.samples.varying[order]][: self.effort.finalists]
        self.pool.add(self.marginals[0][top] - self.penalty, _axes(top, self.samples.n_features))

    def _starts(self) -> NDArray:
        effort, samples, rng = self.effort, self.samples, self.rng
        families = [
            starts.mean_directions(samples, self.labels)[0],
            starts.spread_directions(samples, self.labels, effort.n_spread, rng)[0],
            self._screened_random(),
            starts.single_feature_directions(self.marginals, effort.n_singles, rng)[0],
        ]
        if self.level < samples.n_features:
            families.append(starts.subset_directions(self.marginals, self.level, effort.n_subsets, rng)[0])
        return np.concatenate(families).astype(samples.dtype)

    @property
    def _covariances_affordable(self) -> bool:
        samples = self.samples
        few = self.level <= _FEW_FEATURES and not self.penalty and samples.columns_per_pass is None
        return few and samples.n_rows * samples.n_features**2 <= 2 * self.effort.scan_elements

    def _screened_random(self) -> NDArray:
        """The best by value of many random directions, and as many unscreened ones."""
        count = self.effort.n_random
        longest = max(self.samples.n_rows, self.samples.n_features)
        screened = int(np.clip(self.effort.scan_elements // (4 * longest), count, 1000))
        draws = starts.random_directions(self.samples, screened + count, self.rng)
        wide = self.labels.repeat(screened)
        projections = self.samples.for_labels(wide).project(draws[:screened])
        values = self.divergence.value(projections, wide)
        return np.concatenate([draws[np.argsort(-values)[:count]], draws[screened:]])

    def _ascend_from_starts(self, extra_starts: NDArray | None) -> None:
        begin = self._starts()
        if extra_starts is not None and len(extra_starts):
            begin = np.concatenate([extra_starts.astype(begin.dtype), begin])
        # Equal means make a start of zeros, which no penalty touches: it would beat every direction.
        begin = begin[begin.any(axis=1)]
        if self.level < self.samples.n_features or self.penalty:
            # From dense to sparse: the dense solutions, cut down step by step, are starts as well.
            dense = self._from_dense(begin)
            begin = np.concatenate([begin, dense])
        self.pool.add(*self._ascend(begin, self.effort.tolerance))
        if self._covariances_affordable:
            related = starts.dependence_directions(self.samples, self.labels, self.level, _RELATED)
            # On their supports: a step to other features would leave them before they show their height.
            related = related.astype(self.samples.dtype)
            self.pool.add(*self._ascend(related, self.effort.tolerance, fixed_support=True))

    def _from_dense(self, begin: NDArray) -> NDArray:
        finds: list[NDArray] = []
        current, level = begin, self.samples.n_features
        target = 1 if self.penalty else self.level
        while level > target and not (finds and time_is_up()):
            objective, current = self._ascend(current, self.effort.tolerance, level=level, penalty=0.0)
            current = current[np.argsort(-objective, kind="stable")[: max(4, self.effort.finalists)]]
            finds.append(current)
            level = max(target, level // 2)
        return np.concatenate(finds) if self.penalty else current

    def _ascend(
        self,
        begin: NDArray,
        tolerance: Tolerance,
        *,
        level: int | None = None,
        penalty: float | None = None,
        fixed_support: bool = False,
    ) -> tuple[NDArray, NDArray]:
        if self.effort.race and tolerance.screen_after is not None:
            tolerance = replace(tolerance, families=np.zeros(len(begin), dtype=np.intp))
        samples, used = self._of_support(begin) if fixed_support else (self.samples, slice(None))
        begin = begin[:, used]
        found = ascend(
            samples,
            self.labels.repeat(len(begin)),
            self.divergence,
            self._sparsity(begin, level, penalty, fixed_support),
            begin,
            tolerance,
            self.n_jobs,
        )
        self.n_iter += int(found.n_iter.sum())
        return found.objective, self._of_all_features(found.directions, used)

    def _of_support(self, directions: NDArray) -> tuple[Samples, NDArray[np.intp] | slice]:
        """The samples with the features that the directions use, if these are few of many; else with all."""
        samples = self.samples
        used = np.flatnonzero(directions.any(axis=0))
        in_memory = samples.columns_per_pass is None and samples.mixing is None and samples.basis is None
        if not in_memory or len(used) > samples.n_features // _FEW_OF_MANY:
            return samples, slice(None)
        return samples.restrict(used), used

    def _of_all_features(self, directions: NDArray, used: NDArray[np.intp] | slice) -> NDArray:
        if isinstance(used, slice):
            return directions
        whole = np.zeros((len(directions), self.samples.n_features), directions.dtype)
        whole[:, used] = directions
        return whole

    def _sparsity(
        self, begin: NDArray, level: int | None, penalty: float | None, fixed_support: bool
    ) -> Sparsity:
        penalty = self.penalty if penalty is None else penalty
        return Sparsity(
            np.full(len(begin), self.level if level is None else level),
            np.full(len(begin), penalty) if penalty else None,
            begin != 0 if fixed_support else None,
        )

    # Scans.

    def _scan(self) -> None:
        features = self._scannable()
        if len(features.columns) == 0:
            return
        if self.level < self.samples.n_features and not self.penalty and self._beam_reaches:
            self._beam(features)
        for _ in range(self.effort.swap_rounds):
            if time_is_up():
                break
            before = self.pool.objective[0]
            self._coordinates(features)
            if self.level < self.samples.n_features and not self.penalty:
                self._swaps(features)
            if self.pool.objective[0] <= before * (1 + 1e-6):
                break

    @property
    def _beam_reaches(self) -> bool:
        """Whether the beam ends with as many features as are looked for; a race has no time for others."""
        return not self.effort.race or self.level <= self.effort.beam_steps + 1

    def _affordable(self, n_incumbents: int) -> int:
        return self.effort.scan_elements // (len(ANGLES) * self.samples.n_rows * max(1, n_incumbents))

    def _scannable(self) -> Features:
        """All features where the budget allows, else those that stand out alone or pull the best finds."""
        count = min(int(self.samples.varying.sum()), max(self._affordable(self.effort.beam), 8))
        candidates = self._ranked_features()[:count]
        return load_features(self.samples, self.labels, np.sort(candidates))

    def _ranked_features(self) -> NDArray[np.intp]:
        finds = self.pool.directions[: self.effort.finalists].astype(self.samples.dtype)
        pull = np.abs(self._gradients(finds)).max(axis=0)
        alone = np.sqrt(self.marginals[0])
        used = (finds != 0).any(axis=0) & (np.count_nonzero(finds) < finds.size / 2)
        rank = np.minimum(_ranks(-pull), _ranks(-alone)) - used * self.samples.n_features
        order = np.argsort(rank, kind="stable")
        return order[self.samples.varying[order]]

    def _gradients(self, directions: NDArray) -> NDArray:
        wide = self.labels.repeat(len(directions))
        operator = self.samples.for_labels(wide)
        slopes = self.divergence.value_and_slope(operator.project(directions), wide, Workspace())[1]
        return operator.backproject(slopes)

    def _project(self, directions: NDArray, features: Features) -> NDArray:
        wide = self.labels.repeat(len(directions))
        operator = self.samples.for_labels(wide)
        return operator.project(directions.astype(self.samples.dtype))[:, features.rows]

    def _scan_from(self, directions: NDArray, features: Features) -> tuple[NDArray, NDArray]:
        projections = self._project(directions, features)
        return scan_angles(features, projections, directions, self.divergence, self.penalty, self.n_jobs)

    def _beam(self, features: Features) -> None:
        """Add the best feature, again and again, from several incumbents at once."""
        n_features, width = self.samples.n_features, self.effort.beam
        n_roots = int(np.clip(self._affordable(len(features.columns)), width, len(features.columns)))
        top = features.columns[np.argsort(-self.marginals[0][features.columns], kind="stable")[:n_roots]]
        incumbents = _axes(top, n_features)
        for _ in range(min(self.level - 1, self.effort.beam_steps)):
            if time_is_up():
                break
            values, angles = self._scan_from(incumbents, features)
            values[incumbents[:, features.columns] != 0] = -np.inf
            candidates = _distinct_turns(incumbents, features, values, angles, 3 * width)
            if len(candidates) == 0:
                break
            objective, found = self._ascend(candidates, Tolerance(12, 1e-4, 3), fixed_support=True)
            self.pool.add(objective, found)
            incumbents = found[np.argsort(-objective, kind="stable")[:width]].astype(np.float64)

    def _coordinates(self, features: Features) -> None:
        """Change one weight at a time, within the support where it is full; accept by value."""
        finds = self.pool.directions[: self.effort.finalists].astype(np.float64)
        full = np.count_nonzero(finds, axis=1) >= self.level
        values, angles = self._scan_from(finds, features)
        closed = (finds[:, features.columns] == 0) & full[:, None]
        values[closed] = -np.inf
        top = values.argmax(axis=1)
        candidates = np.stack(
            [
                turn(find, features.columns[j], angles[i, j])
                for i, (find, j) in enumerate(zip(finds, top, strict=True))
            ]
        )
        self.pool.add(*self._ascend(candidates, self.effort.tolerance, fixed_support=not self.penalty))

    def _swaps(self, features: Features) -> None:
        """Drop each feature of the best finds in turn and try all others in its place."""
        finds = self.pool.directions[:2].astype(np.float64)
        reduced = []
        for find in finds:
            support = np.flatnonzero(find)
            if len(support) < 2:
                continue
            # Where supports are large only the weakest features are worth a trial.
            weakest = support[np.argsort(np.abs(find[support]))][:16]
            reduced += [np.where(np.arange(len(find)) == j, 0.0, find) for j in weakest]
        if not reduced or time_is_up():
            return
        incumbents = normalised(np.array(reduced))
        count = self._affordable(len(incumbents))
        if count < len(features.columns):
            ranked = self._ranked_features()[: max(count, 8)]
            features = features.select(np.flatnonzero(np.isin(features.columns, ranked)))
        values, angles = self._scan_from(incumbents, features)
        values[incumbents[:, features.columns] != 0] = -np.inf
        candidates = [
            _distinct_turns(incumbents[i : i + 1], features, values[i : i + 1], angles[i : i + 1], 3)
            for i in range(len(incumbents))
        ]
        turned = np.concatenate(candidates)
        if len(turned):
            self.pool.add(*self._ascend(turned, Tolerance(12, 1e-4, 3), fixed_support=True))

    def _start_anew(self) -> None:
        """Random starts on the supports found: with few rows even three features have several hills."""
        supports = np.unique(self.pool.directions != 0, axis=0, return_index=True)[1]
        supports = self.pool.directions[np.sort(supports)[:_SUPPORTS]] != 0
        supports = supports[supports.sum(axis=1) > 1]
        affordable = self.effort.scan_elements // (4 * self.samples.n_rows * max(1, len(supports)))
        count = min(_DRAWS, affordable)
        if len(supports) == 0 or count < _CLIMBERS:
            return
        draws = self.rng.standard_normal((len(supports), count, self.samples.n_features)) * supports[:, None]
        draws = normalised(draws.reshape(-1, self.samples.n_features)).astype(self.samples.dtype)
        wide = self.labels.repeat(len(draws))
        values = self.divergence.value(self.samples.for_labels(wide).project(draws), wide)
        best = np.argsort(-values.reshape(len(supports), count), axis=1)[:, :_CLIMBERS]
        chosen = (best + count * np.arange(len(supports))[:, None]).ravel()
        self.pool.add(*self._ascend(draws[chosen], self.effort.tolerance, fixed_support=True))

    def _polish(self) -> None:
        finds = self.pool.directions[: self.effort.finalists].astype(self.samples.dtype)
        if not self.effort.ridge_steps:
            return
        objective, finds = self._ascend(finds, Tolerance(self.effort.ridge_steps, 1e-6, 6))
        self.pool.add(objective, finds)
        finds = self.pool.directions[: self.effort.finalists].astype(self.samples.dtype)
        samples, used = self._of_support(finds)
        finds = finds[:, used]
        walked = walk_ridge(
            samples,
            self.labels.repeat(len(finds)),
            self.divergence,
            self._sparsity(finds, None, None, fixed_support=True),
            finds,
            self.effort.ridge_steps,
            self.n_jobs,
        )
        self.n_iter += int(walked.n_iter.sum())
        self.pool.add(walked.objective, self._of_all_features(walked.directions, used))


def _ranks(values: NDArray) -> NDArray[np.intp]:
    ranks = np.empty(len(values), dtype=np.intp)
    ranks[np.argsort(values, kind="stable")] = np.arange(len(values))
    return ranks


def _distinct_turns(
    incumbents: NDArray, features: Features, values: NDArray, angles: NDArray, count: int
) -> NDArray:
    """The best turns that lead to different supports, shape (at most count, n_features)."""
    order = np.argsort(-values, axis=None, kind="stable")
    chosen: list[NDArray] = []
    seen: set[bytes] = set()
    for flat in order[: 50 * count]:
        i, j = np.unravel_index(flat, values.shape)
        if not np.isfinite(values[i, j]):
            break
        turned = turn(incumbents[i], int(features.columns[j]), float(angles[i, j]))
        mark = np.packbits(turned != 0).tobytes()
        if mark not in seen:
            seen.add(mark)
            chosen.append(turned)
        if len(chosen) == count:
            break
    return np.array(chosen).reshape(-1, incumbents.shape[1])


def _axes(features: NDArray[np.intp], n_features: int) -> NDArray[np.float64]:
    """Directions of single features, without the features x features matrix that a whole basis is."""
    directions = np.zeros((len(features), n_features))
    directions[np.arange(len(features)), features] = 1.0
    return directions
