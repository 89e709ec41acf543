"""The sharpest contrast: the direction of the largest difference relative to the variance along it.

It may be quite another than the direction of the largest difference in size. Measurements of animals differ
in size along almost all directions; two kinds of the same size may still be perfectly separated by a
proportion, along which nothing else varies.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from princdiff.data.problem import Problem
from princdiff.statistics.direction_cells import DirectionCells
from princdiff.statistics.direction_grid import Grid


def sharpest_direction(problem: Problem, level: int, seed: int) -> NDArray[np.float64]:
    """What the features, as they are, are multiplied by and added up with.

    Parameters
    ----------
    problem : Problem
        Rows in memory, scaled by their pooled standard deviations or not at all.
    level : int
        Features at most.
    seed : int
        Of the search.

    Returns
    -------
    array of shape (n_features,)
        The second of two groups has the larger mean along it.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> size, y = rng.normal(scale=5, size=80), np.repeat([0, 1], 40)
    >>> rows = np.column_stack([size, size + y]) + 0.1 * rng.normal(size=(80, 2))
    >>> weights = sharpest_direction(Problem.from_arrays(rows, y), 2, seed=0)
    >>> round(float(weights[0] / weights[1]), 1)
    -1.0
    """
    samples = problem.samples
    search = DirectionCells(samples, problem.divergence, Grid((), (level,)), seed)
    direction = search(problem.labels).directions[0, 0].astype(np.float64)
    return oriented(direction * samples.factor, problem)


def oriented(weights: NDArray[np.float64], problem: Problem) -> NDArray[np.float64]:
    """The same direction, along which the last group has a larger mean than the first."""
    scores = np.asarray(problem.rows @ weights, dtype=np.float64).ravel()
    first, last = scores[problem.codes == 0].mean(), scores[problem.codes == problem.n_groups - 1].mean()
    return weights if last >= first else -weights


def area_under_curve(
    scores: NDArray[np.float64], second: NDArray[np.bool_], weights: NDArray[np.float64] | None = None
) -> float:
    """Chance that a row of the second group scores higher than one of the first; ties count half.

    Examples
    --------
    >>> area_under_curve(np.array([1.0, 2.0, 2.0, 3.0]), np.array([False, False, True, True]))
    0.875
    """
    if weights is None:
        ranks = pd.Series(scores).rank().to_numpy()
        n_second = int(second.sum())
        below = ranks[second].sum() - n_second * (n_second + 1) / 2
        return float(below / (n_second * (len(scores) - n_second)))
    order = np.argsort(scores[~second], kind="stable")
    reached = np.concatenate([[0.0], np.cumsum(weights[~second][order])])
    ordered = scores[~second][order]
    below = reached[np.searchsorted(ordered, scores[second], "left")]
    upto = reached[np.searchsorted(ordered, scores[second], "right")]
    return float(np.average((below + upto) / 2, weights=weights[second]) / reached[-1])
