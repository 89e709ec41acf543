"""Features that differ in no direction of their own, yet hide a difference of others.

A suppressor j carries noise that a differing feature i shares. Neither its own distribution nor its credit
along any optimum shows it, but taking it out of i makes i differ more. Its null distribution shuffles
the rows of all unselected features jointly, as for credit.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from princdiff.data.labels import Labels
from princdiff.divergences import Divergence
from princdiff.parallel import in_threads

_BLOCK_ELEMENTS = 1 << 17
# Gains are measured on the features that differ most on their own.
MOST_TARGETS = 10


def suppression_gains(
    targets: NDArray[np.float32], candidates: NDArray[np.float32], labels: Labels, divergence: Divergence
) -> NDArray[np.float64]:
    """Relative gain of every target's divergence when a candidate is taken out of it.

    Parameters
    ----------
    targets : array of shape (n_targets, n_rows)
        Standardised features that differ.
    candidates : array of shape (n_candidates, n_rows)
        Standardised features that may hide more.
    labels : Labels
        One column.
    divergence : Divergence
        Of degree 2.

    Returns
    -------
    array of shape (n_targets, n_candidates)
    """
    n_rows = targets.shape[1]
    correlation = targets @ candidates.T / n_rows
    alone = divergence.value(targets, labels.repeat(len(targets)))
    gains = np.empty(correlation.shape)
    step = max(1, _BLOCK_ELEMENTS // n_rows)
    for i, target in enumerate(targets):
        for start in range(0, len(candidates), step):
            block = slice(start, start + step)
            r = correlation[i, block][:, None]
            # Near-duplicates leave rounding errors rather than a remainder.
            rest = np.sqrt(np.maximum(1 - r**2, 1e-3))
            mixed = (target - r * candidates[block]) / rest
            values = divergence.value(mixed, labels.repeat(len(mixed)))
            gains[i, block] = values / alone[i] - 1
    return gains


def shuffled_gains(
    targets: NDArray[np.float32],
    candidates: NDArray[np.float32],
    labels: Labels,
    divergence: Divergence,
    seeds: NDArray[np.int64],
    n_jobs: int | None,
) -> NDArray[np.float64]:
    """Largest gain under joint shuffles of the candidates' rows, shape (n_shuffles,)."""

    def run(seed: np.int64) -> float:
        order = np.random.default_rng(int(seed)).permutation(candidates.shape[1])
        shuffled = np.ascontiguousarray(candidates[:, order])
        return float(suppression_gains(targets, shuffled, labels, divergence).max())

    return np.array(in_threads(run, list(seeds), n_jobs))
