"""Many rows: search on a sample of them, and let more and more rows settle what was found.

A search tries hundreds of directions to find the right hill; for that a sample of the rows is as good as all
of them, since a divergence is known to a relative error of one over the root of the rows. The few finalists
then climb on samples that grow fourfold, and the best ends on all rows in double precision: the divergence
that is reported is that of all rows, and so is the direction.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from princdiff.data.labels import Labels
from princdiff.data.row_chunks import RowChunks
from princdiff.data.row_keys import shuffled_members
from princdiff.data.samples import Samples
from princdiff.divergences import Divergence
from princdiff.parallel import single_threaded_blas
from princdiff.solvers.ascent import Ascent, Tolerance, ascend
from princdiff.solvers.search import EFFORTS, Search
from princdiff.solvers.solve import Solution, evaluate, in_units, settle
from princdiff.solvers.sparsity import Sparsity, normalised, oriented

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
# Numbers that ascent and climb of the bundle may touch; beyond, the divergence is smooth for all that a
# quasi-Newton method can see, since the kinks between plans shrink with the rows.
_SMOOTH = 50_000_000
# Relative gain of a step below which single precision has nothing more to say.
_SINGLE_PRECISION = 1e-7


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
        if samples.n_rows < _WORTHWHILE * wanted:
            return None
    else:
        wanted = int(subsample)
        if samples.n_rows <= wanted:
            return None
    if isinstance(samples.rows, RowChunks):
        wanted = max(2 * _FEWEST_OF_A_GROUP, min(wanted, samples.rows.largest_sample))
    return wanted


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
        if isinstance(samples.rows, RowChunks):
            limit = min(limit, samples.rows.largest_sample)
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
    *,
    first: int,
    level: int,
    penalty: float = 0.0,
    effort: str = "default",
    max_iter: int = 500,
    tol: float = 1e-9,
    rng: np.random.Generator,
    extra_starts: NDArray | None = None,
    n_jobs: int | None = None,
) -> Solution:
    """Best direction for one labelling of many rows; parameters and result as in `solve`.

    ``first`` is the number of rows on which the search runs.
    """
    samples = samples.usable(labels)
    if not samples.varying.any():
        nothing = np.zeros(samples.n_features)
        return Solution(0.0, nothing, nothing, 0)
    cost = in_units(penalty, samples, divergence)
    with single_threaded_blas():
        nested = _Nested.draw(samples, labels, first, rng)
        few, few_labels = nested.sample(first)
        search = Search(few, few_labels, divergence, level, cost, EFFORTS[effort], rng, n_jobs)
        search.run(extra_starts)
        finds, n_iter = search.pool.best(max(2, search.effort.finalists)), search.n_iter
        for size in nested.sizes[1:]:
            more, more_labels = nested.sample(size)
            found = _ascend(more, more_labels, divergence, finds, search.level, cost, _ON_SAMPLES, n_jobs)
            finds, n_iter = _contenders(found), n_iter + int(found.n_iter.sum())
        if level < samples.n_features or cost:
            # Which features take part is settled by all rows as well.
            found = _ascend(samples, labels, divergence, finds, search.level, cost, _ON_ALL_ROWS, n_jobs)
            finds, n_iter = _contenders(found)[:2], n_iter + int(found.n_iter.sum())
        finds = finds[:2].astype(np.float64)
        # Deflated rows need all features, so that they cannot be cut down to a support.
        if samples.basis is not None or samples.n_rows * np.count_nonzero(finds[0]) <= _SMOOTH:
            direction, spent = settle(
                samples, labels, divergence, finds, cost, search.effort, Tolerance(max_iter, tol, 10)
            )
        else:
            direction, spent = _settle_smooth(samples, labels, divergence, finds[0], cost, max_iter, tol)
        value, gradient = evaluate(samples.astype(np.float64), labels, divergence, direction)
        scale = samples.unit**divergence.degree
        return Solution(value * scale, direction, gradient * scale, n_iter + spent)


def _ascend(
    samples: Samples,
    labels: Labels,
    divergence: Divergence,
    finds: NDArray,
    level: int,
    penalty: float,
    tolerance: Tolerance,
    n_jobs: int | None,
) -> Ascent:
    count = len(finds)
    sparsity = Sparsity(np.full(count, level), np.full(count, penalty) if penalty else None)
    begin = finds.astype(samples.dtype)
    return ascend(samples, labels.repeat(count), divergence, sparsity, begin, tolerance, n_jobs)


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
    penalty: float,
    max_iter: int,
    tol: float,
) -> tuple[NDArray[np.float64], int]:
    """Quasi-Newton ascent on the support of a direction: most of the way in single, the end in double."""
    used = np.flatnonzero(start)
    own = samples if len(used) == len(start) else samples.restrict(used)
    signs = np.sign(start[used])
    found, n_coarse = _quasi_newton(
        own, labels, divergence, start[used], signs, penalty, max_iter, _SINGLE_PRECISION
    )
    # Relative gains are squares of what a direction still moves: far below the tolerance of values.
    exact = own.astype(np.float64)
    found, n_fine = _quasi_newton(exact, labels, divergence, found, signs, penalty, max_iter, 1e-4 * tol)
    direction = np.zeros_like(start)
    direction[used] = found
    return oriented(direction), n_coarse + n_fine


def _quasi_newton(
    samples: Samples,
    labels: Labels,
    divergence: Divergence,
    start: NDArray[np.float64],
    signs: NDArray[np.float64],
    penalty: float,
    max_iter: int,
    gain: float,
) -> tuple[NDArray[np.float64], int]:
    """The best direction that L-BFGS sees, and evaluations; penalised weights keep their signs."""
    best: dict[str, Any] = {"objective": -np.inf, "direction": start, "n_iter": 0, "scale": 1.0}

    def descend(point: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        direction = normalised(point[None])[0]
        value, gradient = evaluate(samples, labels, divergence, direction)
        l1 = np.abs(direction).sum()
        objective = value - penalty * l1**2
        slope = gradient.astype(np.float64) - 2.0 * penalty * l1 * signs
        if best["n_iter"] == 0:
            best["scale"] = 1.0 / max(abs(objective), np.finfo(float).tiny)
        best["n_iter"] += 1
        if objective > best["objective"]:
            best["objective"], best["direction"] = objective, direction
        tangent = (slope - (slope @ direction) * direction) / np.linalg.norm(point)
        return -objective * best["scale"], -tangent * best["scale"]

    # Beyond zero the penalty has a kink.
    bounds = [(0.0, None) if sign > 0 else (None, 0.0) for sign in signs] if penalty else None
    limits = {"maxfun": max_iter, "maxiter": max_iter, "ftol": gain, "gtol": 1e-9, "maxcor": 20}
    minimize(descend, start, jac=True, method="L-BFGS-B", bounds=bounds, options=limits)
    return best["direction"], best["n_iter"]
