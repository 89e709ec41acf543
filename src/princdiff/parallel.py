"""Threads over pieces of a batch.

NumPy releases the interpreter lock where the time goes, so threads suffice and nothing is copied. BLAS is
held to one thread meanwhile: the pieces are the parallelism, and results do not depend on how many
threads a product was split over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from typing import TypeVar

from joblib import Parallel, delayed, effective_n_jobs
from threadpoolctl import ThreadpoolController

Item = TypeVar("Item")
Outcome = TypeVar("Outcome")


@cache
def _libraries() -> ThreadpoolController:
    return ThreadpoolController()


def in_threads(
    function: Callable[[Item], Outcome], items: Iterable[Item], n_jobs: int | None = None
) -> list[Outcome]:
    """Apply a function to every item, in order, with as many threads as ``n_jobs`` says.

    Examples
    --------
    >>> in_threads(abs, [-1, 2, -3], n_jobs=2)
    [1, 2, 3]
    """
    items = list(items)
    with _libraries().limit(limits=1, user_api="blas"):
        if len(items) < 2 or effective_n_jobs(n_jobs) == 1:
            return [function(item) for item in items]
        return Parallel(n_jobs=n_jobs, require="sharedmem")(delayed(function)(item) for item in items)
