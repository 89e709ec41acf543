"""The paper's own pipeline: RELAX, then plain tightening from its leading eigenvector."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from princdiff.data.labels import Labels
from princdiff.data.samples import Samples
from princdiff.divergences import Wasserstein2
from princdiff.relaxation.paper import PaperSteps
from princdiff.relaxation.relax import FastSteps, Pooled, solve_relaxation
from princdiff.solvers.ascent import Tolerance, ascend
from princdiff.solvers.solve import Solution, evaluate
from princdiff.solvers.sparsity import Sparsity, oriented


def relax_and_tighten(
    samples: Samples,
    labels: Labels,
    penalty: float,
    rng: np.random.Generator,
    *,
    max_iter: int,
    tol: float,
) -> Solution:
    """RELAX at a penalty, the sparsity of its leading eigenvector, tightening at that sparsity.

    Parameters
    ----------
    samples : Samples
        Pooled rows.
    labels : Labels
        One column, two groups.
    penalty : float
        Lambda, in the units of the divergence.
    rng : numpy Generator
        For the relaxation.
    max_iter, tol : int, float
        Of the tightening.

    Returns
    -------
    Solution
    """
    pooled = Pooled(samples.scaled_rows(labels), labels.codes[0], labels.weights)
    relaxed = solve_relaxation(pooled, penalty, rng, PaperSteps())
    start = relaxed.directions[:, 0].copy()
    exact = samples.astype(np.float64)
    sparsity = Sparsity(np.array([np.count_nonzero(start)]))
    found = ascend(exact, labels, Wasserstein2(), sparsity, start[None], Tolerance(max_iter, tol, 10))
    direction = oriented(found.directions[0])
    value, gradient = evaluate(exact, labels, Wasserstein2(), direction)
    scale = samples.unit**2
    return Solution(value * scale, direction, gradient * scale, relaxed.n_iter + int(found.n_iter[0]))


def relaxed_starts(samples: Samples, labels: Labels, rng: np.random.Generator, count: int) -> NDArray:
    """Leading eigenvectors of the relaxation as starts, shape (at most count, n_features).

    Never the first alone: it leads to the best optimum in half of the problems only.
    """
    pooled = Pooled(samples.scaled_rows(labels), labels.codes[0], labels.weights)
    relaxed = solve_relaxation(pooled, 0.0, rng, FastSteps(tol=0.03))
    return relaxed.directions[:, :count].T
