"""MMDAgg: MMD over many kernels (Schrab et al., 2023); it decides, and gives no p-value."""

from mmdagg.np import mmdagg

from benchmarks.harness import LEVEL, Answer, numbers

NAME = "MMDAgg"


def answer(first, second, seed) -> Answer:
    return Answer(bool(mmdagg(*numbers(first, second), alpha=LEVEL, seed=seed)))
