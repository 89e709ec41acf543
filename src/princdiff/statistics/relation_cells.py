"""What is looked at where only relationships between features count, beside directions.

The rows are normal scores of ranks within the observed groups (`permuted_problem.normal_scores_within`), so
that nothing of what single features do is left: pairs may differ, in their correlation or in a smooth way.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from princdiff.data.problem import Problem
from princdiff.labellings.schemes import Scheme
from princdiff.statistics.adaptive import CellValues
from princdiff.statistics.alone import numbered
from princdiff.statistics.cells import Cell
from princdiff.statistics.changed_correlations import relation_scores
from princdiff.statistics.contrasts import Contrasts, Relabellings
from princdiff.statistics.smooth_pairs import degree_affordable, smooth_pairs

# Weights beside the directions, of which there are about five, and the share of the error that is for pairs.
_PAIR_WEIGHT, _PAIR_SHARE = 3.0, 0.5


def relation_cells(
    problem: Problem, rows: NDArray[np.float64], scheme: Scheme, n_jobs: int | None = None
) -> CellValues:
    """Pairs of features, for all labellings; without cells where there is one feature only.

    Parameters
    ----------
    problem : Problem
        The rows as they are.
    rows : array of shape (n_rows, n_features)
        Normal scores of their ranks within the observed groups.
    scheme : Scheme
        Labellings.
    n_jobs : int, optional
        Threads.

    Returns
    -------
    CellValues
    """
    units = numbered(problem.units)[1]
    design = Relabellings.of(problem, scheme)
    none = CellValues([], np.empty((scheme.n_labellings, 0)))
    found = relation_scores(rows, design, units, n_jobs)
    if not found.n_pairs:
        return none
    largest = np.maximum(found.scores.max(axis=1), found.rest)
    cells = CellValues([Cell("pair", "pairs", weight=_PAIR_WEIGHT, share=_PAIR_SHARE)], largest[:, None])
    degree = degree_affordable(len(rows), found.n_pairs, scheme.n_labellings)
    if degree:
        smooth = smooth_pairs(rows, Contrasts(design, n_jobs), degree, units).scores.max(axis=1)
        cells += CellValues([Cell("bend", "smooth pairs", weight=_PAIR_WEIGHT)], smooth[:, None])
    return cells
