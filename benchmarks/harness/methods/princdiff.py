"""princdiff: `compare`, without the steps that change neither p-value nor names."""

from benchmarks.harness import PERMUTATIONS, Answer, by_pvalue
from benchmarks.tables.answers import quick_answer

NAME = "princdiff"


def answer(first, second, seed) -> Answer:
    said = quick_answer(first, second, random_state=seed, n_permutations=PERMUTATIONS)
    return by_pvalue(said.pvalue, frozenset(said.columns))
