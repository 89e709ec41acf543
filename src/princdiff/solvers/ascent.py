"""Tightening: a batched projected ascent on the divergence itself.

Every column is a problem with its own labels, direction, sparsity and step. A step that does not raise
the objective is taken back and tried again at half its length, so progress is monotone; columns that have
converged leave the batch.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from princdiff.data.labels import Labels
from princdiff.data.samples import Operator, Samples
from princdiff.deadline import time_is_up
from princdiff.divergences import Divergence, Workspace
from princdiff.kernels import directions as directions_kernel
from princdiff.parallel import in_threads
from princdiff.solvers.sparsity import Sparsity, normalised

_CHUNK_ELEMENTS = 1 << 18
_MAX_CHUNK_COLUMNS = 256
_LONGEST_STEP = 16.0
_RIDGE_STEP = 0.1
_RIDGE_MEMORY = 0.8
# Evaluations between two looks at a race.
_RACE_LAP = 10


class Ascent(NamedTuple):
    """Where the columns ended.

    Attributes
    ----------
    objective : array of shape (n_columns,)
        Divergence less the penalty, in units of the samples.
    directions : array of shape (n_columns, n_features)
        Unit directions.
    n_iter : int array of shape (n_columns,)
        Evaluations made.
    """

    objective: NDArray[np.float64]
    directions: NDArray
    n_iter: NDArray[np.intp]


@dataclass(frozen=True)
class Tolerance:
    """When a column is done.

    Attributes
    ----------
    max_iter : int
        Evaluations at most.
    gain : float
        A relative gain below this counts as none.
    patience : int
        Steps in a row without gain after which a column leaves.
    screen_after : int, optional
        Evaluations after which only the best ``finalists`` of each family go on, where families are given.
    finalists : int
        Columns of a family that go on.
    families : int array of shape (n_columns,), optional
        Columns that compete with each other: starts of one problem, of which only the best is wanted.
    race : bool
        Whether all columns compete, and those leave whose gains, were they to go on as they are, would not
        reach the leader.
    """

    max_iter: int = 100
    gain: float = 1e-5
    patience: int = 6
    screen_after: int | None = None
    finalists: int = 3
    families: NDArray[np.intp] | None = field(default=None, compare=False)
    race: bool = False

    def take(self, columns: NDArray[np.intp]) -> Tolerance:
        """The same for some of the columns."""
        return self if self.families is None else replace(self, families=self.families[columns])


def ascend(
    samples: Samples,
    labels: Labels,
    divergence: Divergence,
    sparsity: Sparsity,
    starts: NDArray,
    tolerance: Tolerance | None = None,
    n_jobs: int | None = None,
) -> Ascent:
    """Ascend from every start, in chunks of columns that fit the cache.

    Parameters
    ----------
    samples : Samples
        The pooled rows.
    labels : Labels
        Labels of the columns.
    divergence : Divergence
        What to maximise.
    sparsity : Sparsity
        Feasible directions of the columns.
    starts : array of shape (n_columns, n_features)
        Where to begin; need not be feasible.
    tolerance : Tolerance, optional
        When to stop.
    n_jobs : int, optional
        Threads over chunks. Chunks do not depend on it, so neither do the results.

    Returns
    -------
    Ascent
    """
    tolerance = tolerance or Tolerance()
    pieces, n_jobs = _pieces(samples, labels, n_jobs)

    def run(columns: NDArray[np.intp]) -> Ascent:
        own = labels.take(columns)
        operator = samples.for_labels(own)
        start = starts[columns].astype(samples.dtype)
        evaluate = Evaluator(operator, own, divergence)
        return _ascend_chunk(evaluate, sparsity.take(columns), start, tolerance.take(columns))

    return _gathered(pieces, in_threads(run, pieces, n_jobs), starts.shape, samples.dtype)


def _pieces(
    samples: Samples, labels: Labels, n_jobs: int | None
) -> tuple[list[NDArray[np.intp]], int | None]:
    """Chunks of columns, and threads over them: out of core, columns share passes over the rows instead."""
    if samples.columns_per_pass is None:
        return chunks(labels), n_jobs
    pieces: list[NDArray[np.intp]] = []
    for columns in labels.homogeneous():
        pieces += np.array_split(columns, -(-len(columns) // samples.columns_per_pass))
    return pieces, 1


def _gathered(
    pieces: list[NDArray[np.intp]], parts: list[Ascent], shape: tuple[int, ...], dtype: np.dtype
) -> Ascent:
    """The chunks' results in the order of the columns."""
    whole = Ascent(np.empty(shape[0]), np.empty(shape, dtype), np.empty(shape[0], dtype=np.intp))
    for columns, part in zip(pieces, parts, strict=True):
        for target, source in zip(whole, part, strict=True):
            target[columns] = source
    return whole


def chunks(labels: Labels) -> list[NDArray[np.intp]]:
    """Columns cut so that projections stay in cache and group sizes agree; large work is shared by two."""
    width = int(np.clip(_CHUNK_ELEMENTS // labels.n_rows, 8, _MAX_CHUNK_COLUMNS))
    pieces: list[NDArray[np.intp]] = []
    for columns in labels.homogeneous():
        worth_sharing = len(columns) * labels.n_rows > _CHUNK_ELEMENTS // 8
        n_pieces = max(-(-len(columns) // width), min(2, len(columns)) if worth_sharing else 1)
        pieces += np.array_split(columns, n_pieces)
    return pieces


class Evaluator:
    """Objective and gradient of a chunk: two products and one sort, in buffers that are reused."""

    def __init__(self, operator: Operator, labels: Labels, divergence: Divergence) -> None:
        self._operator, self._labels, self._divergence = operator, labels, divergence
        self._workspace = Workspace()

    def take(self, columns: NDArray) -> None:
        """Go on with some of the columns."""
        self._operator = self._operator.take(columns)
        self._labels = self._labels.take(columns)

    def __call__(self, directions: NDArray) -> tuple[NDArray[np.float64], NDArray]:
        """Divergence, shape (n_columns,), and its gradient, shape (n_columns, n_features)."""
        shape = (len(directions), self._labels.n_rows)
        projections = self._workspace.array("projections", shape, directions.dtype)
        self._operator.project(directions, out=projections)
        values, slopes = self._divergence.value_and_slope(projections, self._labels, self._workspace)
        return values, self._operator.backproject(slopes)


def _ascend_chunk(evaluate: Evaluator, sparsity: Sparsity, starts: NDArray, tolerance: Tolerance) -> Ascent:
    current = sparsity.project(starts)
    values, gradient = evaluate(current)
    best = values - sparsity.cost(current)
    result = Ascent(best.copy(), current.copy(), np.ones(len(current), dtype=np.intp))
    active = np.arange(len(current))
    steps = np.ones(len(current))
    growth = np.full(len(current), 2.0)
    idle = np.zeros(len(current), dtype=np.intp)
    last_lap = best.copy()
    for iteration in range(1, tolerance.max_iter):
        if time_is_up():
            break
        candidate = propose(current, gradient, steps, sparsity)
        values, new_gradient = evaluate(candidate)
        objective = values - sparsity.cost(candidate)
        gain = objective - best
        better = gain > 0
        idle = np.where(gain > tolerance.gain * np.abs(best), 0, idle + 1)
        np.copyto(current, candidate, where=better[:, None])
        np.copyto(gradient, new_gradient, where=better[:, None])
        np.copyto(best, objective, where=better)
        # Steps double until the first failure, which brackets the right length; then they creep.
        growth[~better] = 1.3
        steps = np.minimum(np.where(better, steps * growth, steps * 0.4), _LONGEST_STEP)
        result.n_iter[active] += 1
        going = idle < tolerance.patience
        if tolerance.families is not None and iteration + 1 == tolerance.screen_after:
            going &= _finalists(best, tolerance.families[active], tolerance.finalists)
        if tolerance.race and iteration % _RACE_LAP == 0:
            laps_left = (tolerance.max_iter - iteration) / _RACE_LAP
            # Those that have left count as well: the leader may be done.
            leader = max(result.objective.max(), best.max())
            going &= best + (best - last_lap) * laps_left >= leader
            last_lap = best.copy()
        if not going.all():
            result.objective[active], result.directions[active] = best, current
            active = active[going]
            if len(active) == 0:
                return result
            current, gradient, best = current[going], gradient[going], best[going]
            steps, growth, idle, last_lap = steps[going], growth[going], idle[going], last_lap[going]
            sparsity = sparsity.take(going)
            evaluate.take(going)
    result.objective[active], result.directions[active] = best, current
    return result


def _finalists(objective: NDArray[np.float64], families: NDArray[np.intp], count: int) -> NDArray[np.bool_]:
    """The best few columns of each family, shape (n_columns,)."""
    order = np.lexsort((-objective, families))
    ordered = families[order]
    first = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
    place = np.arange(len(order)) - np.repeat(first, np.diff(np.r_[first, len(order)]))
    chosen = np.zeros(len(order), dtype=bool)
    chosen[order[place < count]] = True
    return chosen


def walk_ridge(
    samples: Samples,
    labels: Labels,
    divergence: Divergence,
    sparsity: Sparsity,
    starts: NDArray,
    n_steps: int = 80,
    n_jobs: int | None = None,
) -> Ascent:
    """Sub-gradient steps of diminishing length along averaged gradients; the best point seen is kept.

    With few rows an optimum lies on a ridge where plans change (a minimum over plans has its kinks
    upwards). A monotone ascent zigzags to a halt beside the top; averaged gradients walk along it.

    Parameters and result are those of `ascend`; ``n_steps`` evaluations are made.
    """
    pieces, n_jobs = _pieces(samples, labels, n_jobs)

    def run(columns: NDArray[np.intp]) -> Ascent:
        own = labels.take(columns)
        evaluate = Evaluator(samples.for_labels(own), own, divergence)
        return _walk_chunk(evaluate, sparsity.take(columns), starts[columns].astype(samples.dtype), n_steps)

    return _gathered(pieces, in_threads(run, pieces, n_jobs), starts.shape, samples.dtype)


def _walk_chunk(evaluate: Evaluator, sparsity: Sparsity, starts: NDArray, n_steps: int) -> Ascent:
    current = sparsity.project(starts)
    best, directions = np.full(len(starts), -np.inf), current.copy()
    average = np.zeros_like(current)
    for step in range(n_steps):
        if step and time_is_up():
            break
        values, gradient = evaluate(current)
        objective = values - sparsity.cost(current)
        better = objective > best
        best[better], directions[better] = objective[better], current[better]
        if sparsity.penalties is not None:
            l1 = np.abs(current).sum(axis=1, dtype=np.float64)
            gradient = gradient - (2.0 * sparsity.penalties * l1)[:, None] * np.sign(current)
        average = (_RIDGE_MEMORY * average + gradient).astype(current.dtype)
        # Only the part along the sphere moves the direction.
        average -= np.einsum("cd,cd->c", average, current)[:, None] * current
        length = _RIDGE_STEP / (1.0 + step) ** 0.7
        current = sparsity.project(current + current.dtype.type(length) * normalised(average))
    return Ascent(best, directions, np.full(len(starts), n_steps, dtype=np.intp))


def propose(current: NDArray, gradient: NDArray, steps: NDArray, sparsity: Sparsity) -> NDArray:
    """One projected step along the normalised gradient."""
    if directions_kernel.takes(current) and gradient.dtype == current.dtype:
        return directions_kernel.feasible(
            current, sparsity.levels, sparsity.support, sparsity.penalties, (gradient, steps)
        )
    lengths = np.sqrt(np.einsum("cd,cd->c", gradient, gradient, dtype=np.float64))
    lengths[lengths == 0] = 1.0
    rates = steps / lengths
    candidate = current + rates.astype(current.dtype)[:, None] * gradient
    if sparsity.penalties is None:
        return sparsity.project(candidate)
    # ||b||_1 ** 2 linearised at the current direction: its subgradient is 2 ||b||_1 sign(b), so a fixed
    # point satisfies the optimality conditions of the squared norm on the unit sphere.
    thresholds = 2.0 * rates * sparsity.penalties * np.abs(current).sum(axis=1, dtype=np.float64)
    return sparsity.project(candidate, thresholds.astype(current.dtype))
