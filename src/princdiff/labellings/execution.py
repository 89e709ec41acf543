"""Chunks of a batch through joblib, where a user's back-end may take over, and a checkpoint of those done.

Threads by default; inside ``joblib.parallel_config(backend="dask")``, ``"ray"`` or ``"loky"`` the
chunks go to other processes or machines. They are the same chunks everywhere, so the results are, too.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from joblib.parallel import get_active_backend
from numpy.typing import NDArray

from princdiff.deadline import give_up_if_late
from princdiff.options import option
from princdiff.parallel import single_threaded_blas
from princdiff.resume import read_finished, write_finished

# Writing may take this share of the time.
_WRITING_SHARE = 0.05

Part = tuple[NDArray, NDArray | None]


def run_chunks(
    function: Callable[[NDArray[np.intp]], Any], chunks: Sequence[NDArray[np.intp]], n_jobs: int | None
) -> Generator[Any, None, None]:
    """Results of a function for every chunk, in order, as they come.

    Examples
    --------
    >>> list(run_chunks(np.sum, [np.arange(3), np.arange(4)], None))
    [np.int64(3), np.int64(6)]
    """
    backend = get_active_backend(prefer="threads")[0]
    # The limit on BLAS threads does not reach into other processes.
    shared = getattr(backend, "supports_sharedmem", False)
    work = delayed(function if shared else partial(_with_one_thread, function))
    with single_threaded_blas:
        if backend.supports_return_generator:
            tasks = map(work, chunks)
            for outcome in Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator")(tasks):
                give_up_if_late()
                yield outcome
        else:
            # Ray gives everything back at once: a few waves, so that something is kept on the way.
            with Parallel(n_jobs=n_jobs, prefer="threads") as pool:
                width = max(1, 4 * pool._effective_n_jobs())
                for start in range(0, len(chunks), width):
                    yield from pool(map(work, chunks[start : start + width]))


def _with_one_thread(function: Callable, chunk: NDArray[np.intp]) -> Any:
    with single_threaded_blas:
        return function(chunk)


class Checkpoint:
    """Finished chunks in a file, from which a run that was cut off goes on.

    The file holds a fingerprint of everything that the results depend on and a checksum of the results. A
    file of another run, or one that is damaged, is refused: its numbers are never used.

    Parameters
    ----------
    path : str or Path
        The file. It is written beside its place and renamed, so it is whole at any time.
    fingerprint : dict of str to str
        What the results depend on, by name.
    """

    def __init__(self, path: str | Path, fingerprint: dict[str, str]) -> None:
        self.path = Path(path)
        self._fingerprint = fingerprint
        self._parts: dict[int, Part] = {}
        self._saved = 0
        self._last, self._cost = -np.inf, 0.0
        if self.path.exists():
            self._parts = self._load()
            self._saved = len(self._parts)

    def __contains__(self, index: int) -> bool:
        return index in self._parts

    def __getitem__(self, index: int) -> Part:
        return self._parts[index]

    def add(self, index: int, part: Part) -> None:
        """Keep a chunk's results, and write unless that was done a moment ago."""
        self._parts[index] = part
        if time.monotonic() - self._last > self._cost / _WRITING_SHARE:
            self.save()

    def save(self) -> None:
        """Write what is finished."""
        if self._saved == len(self._parts):
            return
        start = time.monotonic()
        arrays: dict[str, NDArray] = {}
        for index, (values, directions) in self._parts.items():
            arrays[f"values-{index}"] = values
            if directions is not None:
                arrays[f"directions-{index}"] = directions
        write_finished(self.path, self._fingerprint, arrays)
        self._saved = len(self._parts)
        self._last = time.monotonic()
        self._cost = self._last - start

    def _load(self) -> dict[int, Part]:
        arrays, _ = read_finished(self.path, self._fingerprint)
        indices = [int(name.split("-")[1]) for name in arrays if name.startswith("values-")]
        return {index: (arrays[f"values-{index}"], arrays.get(f"directions-{index}")) for index in indices}


def resumed(
    function: Callable[[NDArray[np.intp]], Part],
    chunks: Sequence[NDArray[np.intp]],
    n_jobs: int | None,
    checkpoint: Checkpoint,
) -> Generator[Part, None, None]:
    """As `run_chunks`; what a checkpoint holds is not computed again, what is computed is added to it."""
    missing = [index for index in range(len(chunks)) if index not in checkpoint]
    computed = run_chunks(function, [chunks[index] for index in missing], n_jobs)
    try:
        for index in range(len(chunks)):
            if index not in checkpoint:
                checkpoint.add(index, next(computed))
            yield checkpoint[index]
    finally:
        # Interrupted, out of workers or stopped early: what is finished stays.
        checkpoint.save()


def refuse_unseeded(checkpoint: str | Path | None, random_state: Any) -> None:
    """Without a seed a resumed run would draw other relabellings."""
    if checkpoint is not None and not isinstance(random_state, (int, np.integer)):
        raise ValueError(
            f"{option('checkpoint')} needs a number as random_state, so that a resumed run draws the same "
            f"permutations; got {random_state!r}"
        )
