"""hyppo: maximum mean discrepancy, Gaussian kernel with the median distance as bandwidth."""

from hyppo.ksample import MMD

from benchmarks.harness import PERMUTATIONS, Answer, by_pvalue, numbers

NAME = "MMD (hyppo)"


def answer(first, second, seed) -> Answer:
    # auto=False: permutations, not the chi-squared approximation.
    options = {"reps": PERMUTATIONS, "workers": 1, "auto": False, "random_state": seed}
    return by_pvalue(MMD().test(*numbers(first, second), **options)[1])
