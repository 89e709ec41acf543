"""How large a difference is on rows that its direction was not fitted on."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from princdiff.data.problem import Problem
from princdiff.inference.sharpest import area_under_curve, oriented
from princdiff.result.effects import Effect, direction_effect

_FEWEST_ROWS = 8


def halves(problem: Problem, seed: int, rng: np.random.Generator) -> NDArray[np.bool_] | None:
    """Half of every group, whatever the order of rows and groups; None where groups are too small.

    Parameters
    ----------
    problem : Problem
        Rows and groups.
    seed : int
        Of the draw.
    rng : Generator
        Puts rows into an order of their own.

    Returns
    -------
    bool array of shape (n_rows,) or None
    """
    key = np.asarray(problem.rows @ rng.normal(size=problem.n_features)).ravel()
    result = np.zeros(len(key), dtype=bool)
    for code in range(problem.n_groups):
        members = np.flatnonzero(problem.codes == code)
        if len(members) < _FEWEST_ROWS:
            return None
        ordered = members[np.argsort(key[members], kind="stable")]
        drawn = np.random.default_rng([seed, len(members)]).permutation(len(members))
        result[ordered[drawn[: len(members) // 2]]] = True
    return result


class Crossed(NamedTuple):
    """Each half's rows along the direction of the other half.

    Attributes
    ----------
    scores : array of shape (n_rows,)
        In standard deviations within groups; the sign does not depend on the groups.
    upward : array of shape (n_rows,)
        1 where the last group had the larger mean in the half that was fitted, -1 elsewhere.
    """

    scores: NDArray[np.float64]
    upward: NDArray[np.float64]


def crossed(
    problem: Problem, halves: NDArray[np.bool_], direction: Callable[[Problem], NDArray[np.float64]]
) -> Crossed:
    """Judge each half by the direction of the other.

    Parameters
    ----------
    problem : Problem
        All rows.
    halves : bool array of shape (n_rows,)
        From `halves`.
    direction : callable
        From the problem of one half to weights of the unscaled features, shape (n_features,).

    Returns
    -------
    Crossed
    """
    scores, upward = np.empty(len(halves)), np.empty(len(halves))
    for part in (False, True):
        fitted, judged = problem.take_rows(np.flatnonzero(halves == part)), halves != part
        weights = direction(fitted)
        largest = np.argmax(np.abs(weights) * fitted.samples.deviation)
        weights = weights if weights[largest] >= 0 else -weights
        used = np.flatnonzero(weights)
        values = np.asarray(problem.rows[:, used][judged] @ weights[used], dtype=np.float64).ravel()
        scores[judged] = _standard(values, problem.codes[judged])
        upward[judged] = 1.0 if oriented(weights, fitted) is weights else -1.0
    return Crossed(scores, upward)


def effect(problem: Problem, halves: NDArray[np.bool_], found: Crossed, rng: np.random.Generator) -> Effect:
    """Distance of the groups, averaged over both halves, with its interval."""
    squares = []
    for part in (False, True):
        own = halves == part
        inner = None if problem.weights is None else problem.weights[own]
        squares.append(direction_effect(found.scores[own], problem.codes[own], inner, rng))
    size, low, high = (float(np.sqrt(np.mean(np.square(values)))) for values in zip(*squares, strict=True))
    # Half of the rows widen an interval by the root of two; both halves together have all of them.
    shrink = 1 / np.sqrt(2)
    return Effect(size, max(0.0, size - (size - low) * shrink), size + (high - size) * shrink)


def auc(problem: Problem, halves: NDArray[np.bool_], found: Crossed) -> float:
    """Area under the curve, averaged over both halves; NaN for more than two groups."""
    if problem.n_groups != 2:
        return float("nan")
    scores = found.scores * found.upward
    areas = []
    for part in (False, True):
        own = halves == part
        inner = None if problem.weights is None else problem.weights[own]
        areas.append(area_under_curve(scores[own], problem.codes[own] == 1, inner))
    return float(np.mean(areas))


def _standard(values: NDArray[np.float64], codes: NDArray[np.uint8]) -> NDArray[np.float64]:
    """Values in units of their standard deviation within the groups."""
    total = sum(((values[codes == g] - values[codes == g].mean()) ** 2).sum() for g in np.unique(codes))
    spread = float(np.sqrt(total / len(values)))
    return values / spread if spread > 0 else values
