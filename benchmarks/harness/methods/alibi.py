"""alibi-detect: Kolmogorov-Smirnov and chi-squared tests of the columns, Bonferroni's correction."""

from alibi_detect.cd import TabularDrift

from benchmarks.harness import LEVEL, Answer, codes

NAME = "alibi-detect"


def answer(first, second, seed) -> Answer:
    rows, groups = codes(first, second)
    texts = set(first.select_dtypes(exclude="number"))
    categories = {j: None for j, name in enumerate(first) if name in texts}
    drift = TabularDrift(rows[groups == 0], p_val=LEVEL, categories_per_feature=categories)
    found = drift.predict(rows[groups == 1])["data"]
    named = frozenset(first.columns[found["p_val"] < found["threshold"]])
    return Answer(bool(found["is_drift"]), named)
