"""SciPy: Kolmogorov-Smirnov of numbers, chi-squared of categories, with Holm's correction."""

from benchmarks.harness import Answer
from benchmarks.tables.planted import univariate

NAME = "columns, Holm (scipy)"


def answer(first, second, seed) -> Answer:
    named = univariate(first, second)
    return Answer(bool(named), frozenset(named))
