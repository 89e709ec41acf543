"""DataFix: DF-Locate (Barrabes et al., 2023) with 60 trees; it names columns, and has no test."""

import numpy as np
from datafix.locate.datafix_locate import DFLocate
from sklearn.ensemble import RandomForestClassifier

from benchmarks.harness import Answer, codes

NAME = "DataFix"


def answer(first, second, seed) -> Answer:
    rows, groups = codes(first, second)
    forest = RandomForestClassifier(n_estimators=60, random_state=seed)
    # As in its demonstration: the defaults contradict each other.
    found = DFLocate(estimator=forest, cv=5, test_size=None, n_jobs=1, random_state=seed)
    found.shift_location(rows[groups == 0], rows[groups == 1])
    named = frozenset(first.columns[np.asarray(found.mask_, dtype=bool)])
    return Answer(bool(named), named)
