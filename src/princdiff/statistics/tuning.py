"""Choosing the sparsity by held-out divergence, as in the paper.

Directions are fitted on all folds but one and judged by the divergence of the rows left out. All folds
and levels run as one batch.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from princdiff.data.labels import HELD_OUT, Labels
from princdiff.data.row_keys import shuffled_members
from princdiff.data.samples import Samples
from princdiff.deadline import time_is_up
from princdiff.divergences import Divergence
from princdiff.solvers.ascent import ascend
from princdiff.solvers.effort import EFFORTS
from princdiff.solvers.path import Path, PathOptions, default_levels, let_smaller_compete, solve_path
from princdiff.solvers.sparsity import Sparsity

# Penalties that are tried, each a little more than half of the one before.
_N_PENALTIES = 12
# Parts of the rows; a direction is judged on the part that it was not fitted on.
N_FOLDS = 5


@dataclass(frozen=True)
class SparsityPath:
    """Held-out divergence along a path of sparsity levels or penalties.

    Attributes
    ----------
    kind : {"n_features", "penalty"}
        What varies along the path.
    grid : array of shape (n_levels,)
        The levels or penalties, from sparse to dense.
    fitted, held_out : arrays of shape (n_folds, n_levels)
        Divergence on the rows of the fit and on the rows left out.
    n_selected : array of shape (n_folds, n_levels)
        Features with a weight.
    chosen : float
        The level or penalty chosen.
    """

    kind: str
    grid: NDArray
    fitted: NDArray[np.float64]
    held_out: NDArray[np.float64]
    n_selected: NDArray[np.intp]
    chosen: float


def choose_level(
    samples: Samples,
    labels: Labels,
    divergence: Divergence,
    rng: np.random.Generator,
    *,
    one_standard_error: bool = False,
    n_jobs: int | None = None,
) -> SparsityPath:
    """Number of features with the largest held-out divergence.

    Parameters
    ----------
    samples : Samples
        Pooled rows.
    labels : Labels
        One column.
    divergence : Divergence
        What is compared.
    rng : numpy Generator
        For folds and starts.
    one_standard_error : bool
        Take the sparsest level within one standard error of the best.
    n_jobs : int, optional
        Threads.

    Returns
    -------
    SparsityPath
    """
    train, test, levels, path = _path_on_folds(samples, labels, divergence, rng, n_jobs)
    held_out = _evaluate(samples, test, divergence, path.directions)
    between = _levels_around(levels, int(held_out.mean(axis=0).argmax()))
    if len(between) and not time_is_up():
        finer = solve_path(samples, train, divergence, between, rng, PathOptions(n_jobs=n_jobs))
        order = np.argsort(np.concatenate([levels, between]))
        levels = np.concatenate([levels, between])[order]
        merged = (np.concatenate(pair, axis=1)[:, order] for pair in zip(path, finer, strict=True))
        # What one of the two searches found with fewer features serves the other's larger levels as well.
        path = let_smaller_compete(Path(*merged))
        held_out = _evaluate(samples, test, divergence, path.directions)
    fitted = path.values * samples.unit**divergence.degree
    return _summarise("n_features", levels, fitted, held_out, path.directions, one_standard_error)


def _levels_around(levels: NDArray[np.intp], best: int, count: int = 8) -> NDArray[np.intp]:
    """Levels not tried yet between the neighbours of the best one."""
    low, high = levels[max(best - 1, 0)], levels[min(best + 1, len(levels) - 1)]
    candidates = np.unique(np.linspace(low, high, count + 2).round().astype(np.intp))
    return np.setdiff1d(candidates, levels)


def held_out_by_level(
    samples: Samples,
    labels: Labels,
    divergence: Divergence,
    levels: NDArray[np.intp],
    seed: int,
) -> NDArray[np.float64]:
    """Mean held-out divergence of every labelling at every level, shape (n_columns, n_levels).

    Folds are drawn anew for each labelling (they are stratified by its groups), with the same seed.
    """
    trains, tests = [], []
    for column in range(labels.n_columns):
        own = labels.labelling(int(labels.columns[column]))
        train, test = stratified_folds(samples, own, N_FOLDS, seed)
        trains.append(train.codes)
        tests.append(test.codes)
    n_folds = len(trains[0])
    train, test = (
        Labels(np.concatenate(part), labels.n_groups, weights=labels.weights) for part in (trains, tests)
    )
    path = solve_path(samples, train, divergence, levels, np.random.default_rng(seed))
    held_out = _evaluate(samples, test, divergence, path.directions)
    return held_out.reshape(labels.n_columns, n_folds, len(levels)).mean(axis=1)


def choose_penalty(
    samples: Samples,
    labels: Labels,
    divergence: Divergence,
    rng: np.random.Generator,
    *,
    one_standard_error: bool = False,
    n_jobs: int | None = None,
) -> SparsityPath:
    """Penalty with the largest held-out divergence; parameters as in `choose_level`.

    The grid falls geometrically from where one feature remains. Each penalty starts from hard-thresholded
    solutions of every level.
    """
    train, test, _, path = _path_on_folds(samples, labels, divergence, rng, n_jobs)
    n_columns, n_levels, n_features = path.directions.shape
    strongest = float(path.values.max()) or 1.0
    grid = strongest * np.geomspace(1.0, 1e-3, _N_PENALTIES)
    directions = np.empty((n_columns, _N_PENALTIES, n_features), samples.dtype)
    for index, penalty in enumerate(grid):
        found = ascend(
            samples,
            train.repeat(n_levels),
            divergence,
            Sparsity(np.full(n_columns * n_levels, n_features), np.full(n_columns * n_levels, penalty)),
            path.directions.reshape(-1, n_features),
            EFFORTS["fast"].tolerance,
            n_jobs,
        )
        best = found.objective.reshape(n_columns, n_levels).argmax(axis=1)
        directions[:, index] = found.directions.reshape(path.directions.shape)[np.arange(n_columns), best]
    fitted = _evaluate(samples, train, divergence, directions)
    held_out = _evaluate(samples, test, divergence, directions)
    in_data_units = grid * samples.unit**divergence.degree
    return _summarise("penalty", in_data_units, fitted, held_out, directions, one_standard_error)


def _path_on_folds(
    samples: Samples, labels: Labels, divergence: Divergence, rng: np.random.Generator, n_jobs: int | None
) -> tuple[Labels, Labels, NDArray[np.intp], Path]:
    """Folds to fit on and to evaluate on, levels, and a direction of each level fitted on each fold."""
    train, test = stratified_folds(samples, labels, N_FOLDS, int(rng.integers(2**31)))
    levels = default_levels(int(samples.varying.sum()) or 1)
    return (
        train,
        test,
        levels,
        solve_path(samples, train, divergence, levels, rng, PathOptions(n_jobs=n_jobs)),
    )


def stratified_folds(samples: Samples, labels: Labels, n_folds: int, seed: int) -> tuple[Labels, Labels]:
    """Labellings of the rows to fit on and of the rows left out, one column per fold.

    Folds depend on the values of the rows and the seed, not on the order of rows or groups.
    """
    codes = labels.codes[labels.columns[0]]
    smallest = int(labels.group_sizes.min())
    if smallest < 2:
        raise ValueError(
            "a group has one row with weight only, so none can be left out to choose the sparsity: "
            "give n_features or penalty"
        )
    # Two rows at least of each group on both sides of every fold.
    n_folds = max(2, min(n_folds, smallest // 2))
    fold = np.full(len(codes), -1)
    for members in shuffled_members(samples.row_keys, codes, labels.n_groups, seed):
        fold[members] = np.arange(len(members)) % n_folds
    left_out = fold[None, :] == np.arange(n_folds)[:, None]
    train = np.where(left_out, HELD_OUT, codes)
    test = np.where(left_out, codes, HELD_OUT)
    return (
        Labels(train, labels.n_groups, weights=labels.weights),
        Labels(test, labels.n_groups, weights=labels.weights),
    )


def _evaluate(
    samples: Samples, labels: Labels, divergence: Divergence, directions: NDArray
) -> NDArray[np.float64]:
    """Divergence of every column's directions under its labels, shape (n_columns, n_directions)."""
    n_columns, n_directions, n_features = directions.shape
    wide = labels.repeat(n_directions)
    flat = directions.reshape(-1, n_features)
    values = np.empty(len(flat))
    for columns in wide.homogeneous():
        own = wide.take(columns)
        values[columns] = divergence.value(samples.for_labels(own).project(flat[columns]), own)
    return values.reshape(n_columns, n_directions) * samples.unit**divergence.degree


def _summarise(
    kind: str,
    grid: NDArray,
    fitted: NDArray,
    held_out: NDArray,
    directions: NDArray,
    one_standard_error: bool,
) -> SparsityPath:
    """Pick from the path, which is ordered from sparse to dense."""
    mean = held_out.mean(axis=0)
    best = int(mean.argmax())
    if one_standard_error:
        error = held_out[:, best].std(ddof=1) / np.sqrt(len(held_out))
        best = int(np.flatnonzero(mean >= mean[best] - error)[0])
    n_selected = np.count_nonzero(directions, axis=2)
    return SparsityPath(kind, grid, fitted, held_out, n_selected, grid[best].item())
