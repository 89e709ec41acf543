"""A small set of features without which the groups can no longer be told apart."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from princdiff.data.problem import Problem, Run
from princdiff.inference.cells import SINGLE
from princdiff.inference.permutation import permutation_test
from princdiff.inference.permutation_result import PermutationResult
from princdiff.solvers.effort import SearchSettings
from princdiff.solvers.solve import solve
from princdiff.solvers.whitening import solve_whitened

_MOST_ROUNDS = 20


@dataclass(frozen=True)
class MinimalSet:
    """Features taken out until the rest does not differ.

    Attributes
    ----------
    selected : bool array of shape (n_features,)
        Which features.
    pvalue : array of shape (n_features,)
        P-value of the test in which a feature was taken out; of the last test for those that are left.
    complement_pvalue : float
        P-value of the features left. Descriptive: the same rows were used to choose.
    """

    selected: NDArray[np.bool_]
    pvalue: NDArray[np.float64]
    complement_pvalue: float


def minimal_set(problem: Problem, run: Run, alpha: float, n_permutations: int) -> MinimalSet:
    """Take out the features of the direction that stands out most, test the rest, go on.

    Parameters
    ----------
    problem : Problem
        Rows in memory.
    run : Run
        Seed and threads.
    alpha : float
        Level at which the rest is tested.
    n_permutations : int
        Relabellings of each test.

    Returns
    -------
    MinimalSet
    """
    rng = run.rng("minimal set")
    selected, pvalue = np.zeros(problem.n_features, dtype=bool), np.ones(problem.n_features)
    complement = 1.0
    for _ in range(_MOST_ROUNDS):
        rest = np.flatnonzero(~selected)
        if len(rest) == 0:
            complement = 1.0
            break
        part = problem.restrict(rest)
        test = _tested(part, run, n_permutations, int(rng.integers(2**31)))
        pvalue[rest] = complement = test.pvalue
        if test.pvalue > alpha:
            break
        direction = _leading_direction(part, test, rng, run.n_jobs)
        selected[rest[direction != 0]] = True
    return MinimalSet(selected, pvalue, complement)


def _tested(problem: Problem, run: Run, n_permutations: int, seed: int) -> PermutationResult:
    return permutation_test(
        problem.rows,
        problem.codes,
        n_permutations=n_permutations,
        divergence=problem.divergence,
        scale=problem.scale,
        blocks=problem.blocks,
        permute=problem.permute if problem.permute in ("within", "whole") else "auto",
        covariates=problem.covariates,
        sample_weight=problem.weights,
        random_state=seed,
        n_jobs=run.n_jobs,
    )


def _leading_direction(
    problem: Problem, test: PermutationResult, rng: np.random.Generator, n_jobs: int | None
) -> NDArray[np.float64]:
    """The direction of the fewest features that stands out, shape (n_features,)."""
    samples, labels, divergence = problem.samples, problem.labels, problem.divergence
    scores = standardised(test.values)[0]
    directions = np.array([metric in ("euclidean", "whitened", SINGLE[0]) for metric, _ in test.levels])
    sparse = directions & np.array([level < samples.n_features for _, level in test.levels])
    # A set of all features would be no answer while a smaller one is significant on its own.
    clear = sparse & (test.level_pvalues <= test.pvalue)
    usable = clear if clear.any() else sparse if sparse.any() else directions
    # The smaller the better; of several of one size the clearest.
    best = min(np.flatnonzero(usable), key=lambda place: (test.levels[place][1], -scores[place]))
    metric, level = test.levels[best]
    if (metric, level) == SINGLE:
        return np.eye(samples.n_features)[test.leading_feature]
    find = solve_whitened if metric == "whitened" else solve
    return find(samples, labels, divergence, SearchSettings(level, n_jobs=n_jobs), rng=rng).direction


def standardised(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Z-scores of every level over all labellings, the observed one included."""
    spread = values.std(axis=0)
    flat = spread <= 1e-7 * np.abs(values).max(axis=0)
    return (values - values.mean(axis=0)) / np.where(flat, np.inf, spread)
