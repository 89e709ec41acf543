"""Sparse directions for many labellings and many levels at once.

Cross-validation, permutations and half-samples ask the same question again and again: the best direction
at each of a few sparsity levels, for each of many labellings. A cheaper search than a single fit's runs
here, the same for every labelling: ascents from mixed starts, dense first, each level warm from the one
above, and at last the smaller supports compete at the larger levels.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from princdiff.data.labels import Labels
from princdiff.data.samples import Samples
from princdiff.divergences import Divergence
from princdiff.solvers import starts
from princdiff.solvers.ascent import Tolerance, ascend
from princdiff.solvers.effort import EFFORTS, Effort
from princdiff.solvers.sparsity import Sparsity

_KEPT = 2


class Path(NamedTuple):
    """Best finds for every labelling and level.

    Attributes
    ----------
    values : array of shape (n_columns, n_levels)
        Divergence, in units of the samples, never falling as the level grows.
    directions : array of shape (n_columns, n_levels, n_features)
        Unit directions.
    """

    values: NDArray[np.float64]
    directions: NDArray


@dataclass(frozen=True, eq=False)
class PathOptions:
    """How a path is searched.

    Attributes
    ----------
    effort : {"fast", "default", "thorough"} or Effort
        Number of starts and iterations.
    extra : array of shape (n_columns, n_extra, n_features), optional
        Further starts of each column.
    n_jobs : int, optional
        Threads.
    """

    effort: str | Effort = "fast"
    extra: NDArray | None = None
    n_jobs: int | None = None


def default_levels(n_features: int) -> NDArray[np.intp]:
    """Sparsity levels from one feature to all, in growing steps.

    Examples
    --------
    >>> default_levels(60)
    array([ 1,  2,  3,  5,  8, 12, 18, 27, 41, 60])
    """
    levels = [1, 2, 3, 5]
    while levels[-1] * 1.5 < n_features:
        levels.append(int(np.ceil(levels[-1] * 1.5)))
    levels = [level for level in levels if level < 0.8 * n_features]
    return np.array([*levels, n_features])


def solve_path(
    samples: Samples,
    labels: Labels,
    divergence: Divergence,
    levels: NDArray[np.intp],
    rng: np.random.Generator,
    options: PathOptions | None = None,
) -> Path:
    """Best direction of every column at every level.

    Parameters
    ----------
    samples : Samples
        Pooled rows, in single precision.
    labels : Labels
        One column per problem.
    divergence : Divergence
        What to maximise.
    levels : int array of shape (n_levels,), ascending
        Sparsity levels.
    rng : numpy Generator
        Draws the random starts, which are the same for all columns.
    options : PathOptions, optional
        Effort, further starts, threads.

    Returns
    -------
    Path
    """
    options = options or PathOptions()
    settings = options.effort if isinstance(options.effort, Effort) else EFFORTS[options.effort]
    n_columns, n_features = labels.n_columns, samples.n_features
    marginals = starts.marginal_divergences(samples, labels, divergence, options.n_jobs)
    common = _common_starts(samples, labels, marginals, settings, rng)
    if options.extra is not None:
        common = np.concatenate([options.extra.astype(common.dtype), common], axis=1)
    values = np.zeros((n_columns, len(levels)))
    directions = np.zeros((n_columns, len(levels), n_features), samples.dtype)
    warm = np.empty((n_columns, 0, n_features), samples.dtype)
    for index in reversed(range(len(levels))):
        level = int(levels[index])
        if level == 1:
            best = marginals.argmax(axis=1)
            values[:, index] = marginals[np.arange(n_columns), best]
            directions[np.arange(n_columns), index, best] = 1.0
            continue
        begin = [warm, common]
        if level < n_features:
            begin.append(starts.subset_directions(marginals, level, settings.n_subsets, rng))
        candidates = np.concatenate(begin, axis=1)
        found = _best_of(samples, labels, divergence, level, candidates, settings.tolerance, options.n_jobs)
        values[:, index], directions[:, index], warm = found
    return let_smaller_compete(Path(values, directions))


def _common_starts(
    samples: Samples,
    labels: Labels,
    marginals: NDArray[np.float64],
    effort: Effort,
    rng: np.random.Generator,
) -> NDArray:
    """Starts that serve every level, shape (n_columns, n_starts, n_features)."""
    random = starts.random_directions(samples, effort.n_random, rng)
    families = [
        starts.mean_directions(samples, labels),
        starts.spread_directions(samples, labels, effort.n_spread, rng, n_iter=4),
        np.broadcast_to(random, (labels.n_columns, *random.shape)),
        starts.single_feature_directions(marginals, effort.n_singles, rng),
    ]
    return np.concatenate([family.astype(samples.dtype) for family in families], axis=1)


def _best_of(
    samples: Samples,
    labels: Labels,
    divergence: Divergence,
    level: int,
    begin: NDArray,
    tolerance: Tolerance,
    n_jobs: int | None,
) -> tuple[NDArray[np.float64], NDArray, NDArray]:
    """Value and direction of each column's best ascent, and its few best as warm starts."""
    n_columns, n_starts, n_features = begin.shape
    found = ascend(
        samples,
        labels.repeat(n_starts),
        divergence,
        Sparsity(np.full(n_columns * n_starts, level)),
        begin.reshape(-1, n_features).astype(samples.dtype),
        replace(tolerance, families=np.repeat(np.arange(n_columns), n_starts)),
        n_jobs,
    )
    objective = found.objective.reshape(n_columns, n_starts)
    order = np.argsort(-objective, axis=1, kind="stable")[:, :_KEPT]
    row = np.arange(n_columns)[:, None]
    kept = found.directions.reshape(begin.shape)[row, order]
    return objective[row[:, 0], order[:, 0]], kept[:, 0], kept


def let_smaller_compete(path: Path) -> Path:
    """A direction with few features is feasible at every larger level."""
    values, directions = path.values.copy(), path.directions.copy()
    for index in range(1, values.shape[1]):
        worse = values[:, index] < values[:, index - 1]
        values[worse, index] = values[worse, index - 1]
        directions[worse, index] = directions[worse, index - 1]
    return Path(values, directions)
