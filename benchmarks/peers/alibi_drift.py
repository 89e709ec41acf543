"""What alibi-detect says of two tables, as JSON; it runs in an environment of its own, without princdiff.

    build/alibi/bin/python benchmarks/peers/alibi_drift.py TABLES.npz

It needs NumPy below 2. KSDrift tests every column and adjusts by Bonferroni's rule; ClassifierDrift asks
whether a classifier, here gradient boosting, tells rows of the two tables apart that it was not trained on.
Both are given one thread.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Callable

import numpy as np


def main(path: str) -> None:
    warnings.simplefilter("ignore")
    from alibi_detect.cd import ClassifierDrift, KSDrift
    from sklearn.ensemble import HistGradientBoostingClassifier
    from threadpoolctl import threadpool_limits

    with np.load(path) as archive:
        reference, rows = archive["reference"], archive["rows"]

    def by_column() -> tuple[float, int]:
        data = KSDrift(reference, p_val=0.05).predict(rows)["data"]
        return float(data["p_val"].min()), int((data["p_val"] < data["threshold"]).sum())

    def by_classifier() -> tuple[float, int]:
        model = HistGradientBoostingClassifier(random_state=0)
        detector = ClassifierDrift(reference, model, backend="sklearn", p_val=0.05, train_size=0.75, seed=0)
        data = detector.predict(rows)["data"]
        return float(data["p_val"]), int(data["is_drift"])

    found = {}
    with threadpool_limits(1):
        for name, work in (("KSDrift", by_column), ("ClassifierDrift", by_classifier)):
            found[name] = timed(work)
    print(json.dumps(found))


def timed(work: Callable[[], tuple[float, int]]) -> dict[str, float]:
    begin = time.process_time()
    pvalue, drifted = work()
    return {"pvalue": pvalue, "drifted": drifted, "seconds": time.process_time() - begin}


if __name__ == "__main__":
    main(sys.argv[1])
