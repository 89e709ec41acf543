"""What a learner tells apart: out-of-bag predictions of a random forest, fitted anew for every labelling."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier

from princdiff.data.problem import Problem
from princdiff.data.samples import Samples
from princdiff.labellings.schemes import Scheme
from princdiff.parallel import in_threads

_TREES = 60
_LEAF = 3


def forest_values(problem: Problem, scheme: Scheme, seed: int, n_jobs: int | None) -> NDArray[np.float64]:
    """How well forests predict the groups of rows they have not seen, shape (n_labellings,).

    The average, over groups, of the predicted chance of a row's own group: rows are predicted by the trees
    that were grown without them. Every labelling has a forest of its own, with the same random numbers.

    Parameters
    ----------
    problem : Problem
        Rows in memory.
    scheme : Scheme
        Labellings.
    seed : int
        Of the forests.
    n_jobs : int, optional
        Threads over labellings.

    Returns
    -------
    array of shape (n_labellings,)
    """
    # In units of their spread: trees take what is closer than 1e-7 as equal.
    samples = Samples(problem.rows, "pooled", weights=problem.weights, dtype=np.float64)
    if not samples.varying.any():
        return np.zeros(scheme.n_labellings)
    rows: Any = samples.scaled_rows(problem.labels)
    rows = rows.tocsc().astype(np.float32) if sp.issparse(rows) else rows.astype(np.float32)

    def run(index: int) -> float:
        codes = scheme.codes(np.array([index]))[0]
        forest = RandomForestClassifier(
            _TREES, min_samples_leaf=_LEAF, oob_score=True, random_state=seed, n_jobs=1
        )
        forest.fit(rows, codes, sample_weight=problem.weights)
        chances = forest.oob_decision_function_[np.arange(len(codes)), codes]
        # A row that every tree has seen has no prediction.
        chances = np.where(np.isfinite(chances), chances, 1 / problem.n_groups)
        return float(np.mean([chances[codes == group].mean() for group in range(problem.n_groups)]))

    return np.array(in_threads(run, range(scheme.n_labellings), n_jobs))
