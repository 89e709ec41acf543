"""Threads over pieces of a batch.

NumPy releases the interpreter lock where the time goes, so threads suffice and nothing is copied. BLAS is
held to one thread meanwhile: the pieces are the parallelism, most products are small (waking a second thread
for each doubled the processor time of `compare` on 569 x 30), and results do not depend on how many
threads a product was split over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextvars import Context, copy_context
from functools import cache, wraps
from threading import Lock
from typing import Any, ParamSpec, TypeVar

from joblib import effective_n_jobs
from threadpoolctl import ThreadpoolController

from princdiff.deadline import give_up_if_late

Item = TypeVar("Item")
Outcome = TypeVar("Outcome")
Parameters = ParamSpec("Parameters")


@cache
def _libraries() -> ThreadpoolController:
    # SciPy brings a BLAS of its own, which is limited only if it is there to be found.
    import scipy.linalg  # noqa: F401

    return ThreadpoolController()


class _SingleThreadedBlas:
    """Context, or decorator of a function, in which a matrix product uses one thread.

    The number of threads belongs to the process: the first who enters sets it, and the last who leaves
    restores it, in whatever order calls in several threads end.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._holders = 0
        self._limit: Any = None

    def __enter__(self) -> None:
        with self._lock:
            if self._holders == 0:
                self._limit = _libraries().limit(limits=1, user_api="blas")
            self._holders += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._holders -= 1
            if self._holders == 0:
                self._limit.restore_original_limits()

    # Not contextlib's, whose frame would stand between a warning and the user's line.
    def __call__(self, function: Callable[Parameters, Outcome]) -> Callable[Parameters, Outcome]:
        @wraps(function)
        def held(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Outcome:
            with self:
                return function(*args, **kwargs)

        return held


single_threaded_blas = _SingleThreadedBlas()


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
    with single_threaded_blas:
        n_threads = min(len(items), effective_n_jobs(n_jobs))
        if n_threads < 2:
            found = []
            for item in items:
                give_up_if_late()
                found.append(function(item))
            return found
        # Threads know of a deadline what the caller's thread knows; a context serves one call at a time.
        contexts = [copy_context() for _ in items]

        def in_time(context: Context, item: Item) -> Outcome:
            context.run(give_up_if_late)
            return context.run(function, item)

        # Not joblib: its dispatch costs milliseconds a call, as much as a whole iteration here.
        with ThreadPoolExecutor(n_threads) as pool:
            return list(pool.map(in_time, contexts, items))
