"""How many directions there are: whether anything differs beyond those found."""

from __future__ import annotations

import numpy as np

from princdiff.data.labels import Labels
from princdiff.data.samples import Samples
from princdiff.divergences import Divergence
from princdiff.labellings.pvalues import permutation_pvalue
from princdiff.labellings.schemes import Scheme
from princdiff.parallel import in_threads
from princdiff.solvers.path import solve_path

_CHUNK = 50


def remainder_pvalue(
    rest: Samples,
    labels: Labels,
    divergence: Divergence,
    level: int,
    seed: int,
    *,
    n_permutations: int = 99,
    n_jobs: int | None = None,
) -> float:
    """P-value of the best direction in what earlier directions have left.

    The earlier directions are kept as they are while labels are permuted. They were chosen with the
    observed labels, so this p-value is descriptive: good for deciding when to stop, not a test.

    Parameters
    ----------
    rest : Samples
        Rows without the earlier directions, see `princdiff.solvers.several_directions.remainder`.
    labels : Labels
        One column.
    divergence : Divergence
        What is compared.
    level : int
        Features that a direction may use.
    seed : int
        For relabellings and starts.
    n_permutations : int
        Relabellings.
    n_jobs : int, optional
        Threads.

    Returns
    -------
    float
        (1 + b) / (1 + B).
    """
    scheme = Scheme(labels.codes[labels.columns[0]], n_permutations, seed, keys=rest.row_keys)
    chunks = np.split(np.arange(scheme.n_labellings), np.arange(_CHUNK, scheme.n_labellings, _CHUNK))

    def run(indices: np.ndarray) -> np.ndarray:
        own = Labels(scheme.codes(indices), labels.n_groups, weights=labels.weights)
        rng = np.random.default_rng(seed)
        return solve_path(rest, own, divergence, np.array([level]), rng).values[:, 0]

    values = np.concatenate(in_threads(run, chunks, n_jobs))
    return float(permutation_pvalue(values))
