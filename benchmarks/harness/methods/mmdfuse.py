"""MMD-FUSE (Biggs, Schrab and Gretton, 2023); it decides, and gives no p-value."""

import jax
from mmdfuse import mmdfuse

from benchmarks.harness import LEVEL, Answer, numbers

NAME = "MMD-FUSE"


def answer(first, second, seed) -> Answer:
    return Answer(bool(mmdfuse(*numbers(first, second), jax.random.PRNGKey(seed), alpha=LEVEL)))
