"""Which features pull the groups apart: credit along directions that were fitted on other rows.

Along a direction every row has a displacement, the distance its projection must move to match the other
group. A feature takes part if its values go with the displacements. Directions are fitted on some folds
and judged on the others, and a feature is judged without its own weight, so that nothing is credited for
what was fitted to it.

The null distribution shuffles the rows of all features not yet selected, jointly: they keep their
correlations with each other and lose those with the labels and the selected features. The maximum over
features of the shuffled scores controls the family-wise error.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from princdiff.data.labels import Labels
from princdiff.data.samples import Samples
from princdiff.divergences import Divergence, Workspace
from princdiff.labellings.pvalues import permutation_pvalue
from princdiff.parallel import in_threads
from princdiff.solvers.path import solve_path
from princdiff.statistics.tuning import stratified_folds

_LEVELS = (2, 3, 5, 10, 20, 40)
# The first round's direction of two features.
_PAIR = 0


@dataclass(frozen=True)
class Fold:
    """Rows left out of a fit, and the directions fitted without them.

    Attributes
    ----------
    rows : int array of shape (n_left_out,)
        Row numbers.
    labels : Labels
        Labels of these rows alone.
    directions : array of shape (n_directions, n_features)
        Directions of the features as they are; entry i is the same round and level in every fold.
    """

    rows: NDArray[np.intp]
    labels: Labels
    directions: NDArray[np.float64]


def fit_folds(
    standardised: NDArray[np.float32],
    labels: Labels,
    divergence: Divergence,
    rng: np.random.Generator,
    n_folds: int,
    n_rounds: int,
    n_jobs: int | None,
) -> list[Fold]:
    """Directions for every fold: several sparsity levels, and several rounds of deflation.

    After a round the features' dependence on the direction found is regressed out, so that the next round
    finds another one.
    """
    n_features = standardised.shape[1]
    levels = np.array([level for level in _LEVELS if level < n_features] or [n_features])
    train, test = stratified_folds(Samples(standardised), labels, n_folds, int(rng.integers(2**31)))
    seeds = rng.integers(2**31, size=n_rounds)

    def run(fold: int) -> Fold:
        fitted = np.flatnonzero(train.codes[fold] < labels.n_groups)
        own = Labels(train.codes[fold][fitted], labels.n_groups)
        values = standardised[fitted].astype(np.float64)
        deflation = np.eye(n_features)
        rounds = []
        for seed in seeds:
            samples = Samples(values @ deflation)
            path = solve_path(samples, own, divergence, levels, np.random.default_rng(seed))
            rounds.append(path.directions[0].astype(np.float64) @ deflation.T)
            deflation = _deflate(values @ deflation, deflation, path.directions[0, len(levels) // 2])
        left_out = np.flatnonzero(test.codes[fold] < labels.n_groups)
        return Fold(left_out, Labels(test.codes[fold][left_out], labels.n_groups), np.concatenate(rounds))

    return _with_common_signs(in_threads(run, range(len(train.codes)), n_jobs))


def _deflate(values: NDArray, deflation: NDArray, direction: NDArray) -> NDArray[np.float64]:
    """Take the direction's projection out of all features: x -> x - slope * (direction . x)."""
    direction = direction.astype(np.float64)
    projection = values @ direction
    projection -= projection.mean()
    square = projection @ projection
    if square == 0:
        return deflation
    slopes = values.T @ projection / square
    return deflation - np.outer(deflation @ direction, slopes)


def _with_common_signs(folds: list[Fold]) -> list[Fold]:
    """B and -b are one direction, but their credits have opposite signs: agree with the first fold."""
    reference = folds[0].directions
    result = []
    for fold in folds:
        agree = np.einsum("bd,bd->b", fold.directions, reference) >= 0
        result.append(
            Fold(fold.rows, fold.labels, np.where(agree[:, None], fold.directions, -fold.directions))
        )
    return result


def credit_scores(
    standardised: NDArray[np.float32], folds: list[Fold], divergence: Divergence
) -> NDArray[np.float64]:
    """Scores of every feature, shape (n_directions + 1, n_features).

    First the credit along every direction, about standard normal for a feature that has nothing to do with
    the labels or the other features. Then what the root divergence along the best pair of features loses
    without one of them: two features that differ only in how they depend on each other have no credit,
    each being judged without the other. (Roots, and pairs, because then a strong difference in one feature
    does not inflate the loss of a partner that is mere noise.)
    """
    n_directions, n_features = folds[0].directions.shape
    total = np.zeros((n_directions + 1, n_features))
    for fold in folds:
        values = standardised[fold.rows]
        values = values - values.mean(axis=0)
        spread = values.std(axis=0)
        values /= np.where(spread > 0, spread, np.inf).astype(values.dtype)
        total += _fold_scores(values, fold, divergence)
    total[-1] = np.maximum(total[-1], 0.0)
    return total / np.sqrt(len(folds))


def _fold_scores(values: NDArray[np.float32], fold: Fold, divergence: Divergence) -> NDArray:
    directions = fold.directions.astype(values.dtype)
    projections = directions @ values.T
    which, feature = np.nonzero(directions)
    # A feature with a weight is judged along the direction without it.
    without = projections[which] - directions[which, feature][:, None] * values.T[feature]
    divergences, displacement = _displacement(np.concatenate([projections, without]), fold.labels, divergence)
    credit = displacement[: len(directions)] @ values
    credit[which, feature] = np.einsum("cn,cn->c", displacement[len(directions) :], values.T[feature])
    roots = np.sqrt(divergences)
    loss = np.zeros((1, directions.shape[1]))
    paired = which == _PAIR
    if np.count_nonzero(paired) == 2:
        loss[0, feature[paired]] = roots[_PAIR] - roots[len(directions) :][paired]
    return np.concatenate([credit, loss])


def _displacement(
    projections: NDArray, labels: Labels, divergence: Divergence
) -> tuple[NDArray[np.float64], NDArray]:
    """Divergences, and their slopes with mean zero and unit length in every column."""
    wide = labels.repeat(len(projections))
    values, slopes = divergence.value_and_slope(projections, wide, Workspace())
    slopes = slopes - slopes.mean(axis=1, keepdims=True)
    lengths = np.sqrt(np.einsum("cn,cn->c", slopes, slopes))
    return values, slopes / np.where(lengths > 0, lengths, 1.0)[:, None]


def shuffled_order(folds: list[Fold], seed: np.int64) -> NDArray[np.intp]:
    """A shuffle of the rows inside each fold.

    Rows must not come from where a fold's directions were fitted: those suit them better than others.
    """
    rng = np.random.default_rng(int(seed))
    order = np.arange(sum(len(fold.rows) for fold in folds))
    for fold in folds:
        order[fold.rows] = rng.permutation(fold.rows)
    return order


def shuffled_scores(
    standardised: NDArray[np.float32],
    unselected: NDArray[np.intp],
    folds: list[Fold],
    divergence: Divergence,
    seeds: NDArray[np.int64],
    n_jobs: int | None,
) -> NDArray[np.float32]:
    """Scores with the rows of the unselected features shuffled jointly, (n_shuffles, n_directions, n)."""

    def run(seed: np.int64) -> NDArray[np.float32]:
        order = shuffled_order(folds, seed)
        values = standardised.copy()
        values[:, unselected] = standardised[order][:, unselected]
        return credit_scores(values, folds, divergence)[:, unselected].astype(np.float32)

    return np.stack(in_threads(run, list(seeds), n_jobs))


def family_wise_pvalues(observed: NDArray, shuffled: NDArray) -> NDArray[np.float64]:
    """P-values of the largest standardised credit, adjusted for the maximum over features.

    Parameters
    ----------
    observed : array of shape (n_directions, n_features)
        Credit of the observed data.
    shuffled : array of shape (n_shuffles, n_directions, n_features)
        Credit under joint shuffles.

    Returns
    -------
    array of shape (n_features,)

    Notes
    -----
    Every direction and feature is standardised over all data sets, the observed one among them: a
    direction whose scores are large for everybody must not hide the others.
    """
    pool = np.concatenate([observed[None].astype(np.float32), shuffled])
    spread = pool.std(axis=0)
    scores = np.abs((pool - pool.mean(axis=0)) / np.where(spread > 0, spread, np.inf)).max(axis=1)
    largest = scores[1:].max(axis=1)
    by_chance = np.broadcast_to(largest[:, None], (len(largest), scores.shape[1]))
    return permutation_pvalue(np.concatenate([scores[:1], by_chance]))
