"""dcor: energy distance."""

import dcor
import numpy as np

from benchmarks.harness import PERMUTATIONS, Answer, by_pvalue, numbers

NAME = "energy (dcor)"


def answer(first, second, seed) -> Answer:
    options = {"num_resamples": PERMUTATIONS, "random_state": np.random.RandomState(seed)}
    return by_pvalue(dcor.homogeneity.energy_test(*numbers(first, second), **options).pvalue)
