"""Threads over pieces of a batch.

NumPy releases the interpreter lock where the time goes, so threads suffice and nothing is copied. BLAS is
held to one thread meanwhile: the pieces are the parallelism, and results do not depend on how many
threads a product was split over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import cache
from typing import Any, TypeVar

from joblib import effective_n_jobs
from threadpoolctl import ThreadpoolController

from princdiff.deadline import give_up_if_late

Item = TypeVar("Item")
Outcome = TypeVar("Outcome")


@cache
def _libraries() -> ThreadpoolController:
    return ThreadpoolController()


def single_threaded_blas() -> Any:
    """Context in which a matrix product uses one thread; our own pieces are the parallelism."""
    return _libraries().limit(limits=1, user_api="blas")


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
    with single_threaded_blas():
        n_threads = min(len(items), effective_n_jobs(n_jobs))
        if n_threads < 2:
            return [_in_time(function, item) for item in items]
        # Threads know of a deadline what the caller's thread knows; a context serves one call at a time.
        contexts = [copy_context() for _ in items]
        # Not joblib: its dispatch costs milliseconds a call, as much as a whole iteration here.
        with ThreadPoolExecutor(n_threads) as pool:
            return list(
                pool.map(lambda context, item: context.run(_in_time, function, item), contexts, items)
            )


def _in_time(function: Callable[[Item], Outcome], item: Item) -> Outcome:
    give_up_if_late()
    return function(item)
