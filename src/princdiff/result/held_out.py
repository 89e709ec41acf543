"""How large a difference is on rows that its direction was not fitted on."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from princdiff.data.problem import Problem
from princdiff.inference.sharpest import area_under_curve, oriented
from princdiff.result.effects import Effect, SampledBlocks, averaged, direction_effect

_FEWEST_ROWS = 8
# Blocks of each group from which halves have at least two; and blocks across groups from which they count as
# drawn from a population, like pairs: fewer are strata, which are as they are.
_FEWEST_WHOLE, _FEWEST_ACROSS = 4, 10


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
    sizes = np.bincount(problem.codes, minlength=problem.n_groups)
    if sizes.min() < _FEWEST_ROWS:
        return None
    units = sampled_blocks(problem)
    if units is not None and _can_be_halved(units, problem.codes):
        # Rows of a block that is judged must not have taken part in the fit either.
        total = np.bincount(units.blocks, key).astype(np.float64)
        first = np.concatenate([_half_of(own, total[own], seed) for own in units.sets(problem.codes)])
        return np.isin(units.blocks, first)
    result = np.zeros(len(key), dtype=bool)
    for code in range(problem.n_groups):
        members = np.flatnonzero(problem.codes == code)
        result[_half_of(members, key[members], seed)] = True
    return result


def _half_of(members: NDArray[np.intp], key: NDArray[np.float64], seed: int) -> NDArray[np.intp]:
    """A half drawn from members in the order of a key of theirs."""
    ordered = members[np.argsort(key, kind="stable")]
    return ordered[np.random.default_rng([seed, len(members)]).permutation(len(members))[: len(members) // 2]]


def sampled_blocks(problem: Problem) -> SampledBlocks | None:
    """Donors or pairs, over which effects vary from sample to sample; None where rows do so one by one."""
    if problem.blocks is None:
        return None
    whole = problem.permute == "whole"
    if not whole and len(np.unique(problem.blocks)) < _FEWEST_ACROSS:
        return None
    return SampledBlocks(problem.blocks, whole)


def _can_be_halved(units: SampledBlocks, codes: NDArray[np.uint8]) -> bool:
    fewest = _FEWEST_WHOLE if units.whole else 2 * _FEWEST_ACROSS
    return min(map(len, units.sets(codes))) >= fewest


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
    units = sampled_blocks(problem)
    squares = []
    for part in (False, True):
        own = halves == part
        inner = None if problem.weights is None else problem.weights[own]
        of_part = None if units is None else units.take(own)
        squares.append(direction_effect(found.scores[own], problem.codes[own], inner, rng, of_part))
    # Halves that share their blocks know no more than one of them.
    independent = units is None or _can_be_halved(units, problem.codes)
    return averaged(squares, independent=independent)


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
