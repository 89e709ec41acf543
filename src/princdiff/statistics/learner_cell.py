"""What a learner tells apart: out-of-bag predictions of a random forest, fitted anew for every labelling."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from princdiff.data.samples import Samples
from princdiff.parallel import in_threads
from princdiff.statistics.protocol import CellValues, Family
from princdiff.statistics.tested_rows import TestedRows

_FAMILY = Family("learner", "a rule that a random forest has learned", 10)
_WEIGHT = 3.0
_TREES = 60
_LEAF = 3


def forest(tested: TestedRows) -> CellValues | None:
    """How well forests predict the groups of rows they have not seen.

    The average, over groups, of the predicted chance of a row's own group: rows are predicted by the trees
    that were grown without them. Every labelling has a forest of its own, with the same random numbers.
    """
    from sklearn.ensemble import RandomForestClassifier

    problem, scheme = tested.problem, tested.scheme
    # In units of their spread: trees take what is closer than 1e-7 as equal.
    samples = Samples(problem.rows, "pooled", weights=problem.weights, dtype=np.float64)
    if not samples.varying.any():
        return None
    rows: Any = samples.scaled_rows(problem.labels)
    rows = rows.tocsc().astype(np.float32) if sp.issparse(rows) else rows.astype(np.float32)

    def run(index: int) -> float:
        codes = scheme.codes(np.array([index]))[0]
        found = RandomForestClassifier(
            _TREES, min_samples_leaf=_LEAF, oob_score=True, random_state=tested.seed, n_jobs=1
        )
        found.fit(rows, codes, sample_weight=problem.weights)
        chances = found.oob_decision_function_[np.arange(len(codes)), codes]
        # A row that every tree has seen has no prediction.
        chances = np.where(np.isfinite(chances), chances, 1 / problem.n_groups)
        return float(np.mean([chances[codes == group].mean() for group in range(problem.n_groups)]))

    values = np.array(in_threads(run, range(scheme.n_labellings), tested.n_jobs))
    return CellValues([_FAMILY.cell("random forest", weight=_WEIGHT)], values[:, None])
