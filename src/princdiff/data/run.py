"""How something is computed, as opposed to what: seed, threads, progress bars, memory and time."""

from __future__ import annotations

import time
import zlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from tqdm import tqdm

from princdiff.data.parameters import Seed
from princdiff.data.validate import random_state_of
from princdiff.deadline import OutOfTime
from princdiff.progress import progress_bar


@dataclass(frozen=True)
class Run:
    """Seed, threads, progress bars, memory and deadline of one call.

    Parameters
    ----------
    seed : int
        All random numbers follow from it. See `from_options` for what users pass as ``random_state``.
    n_jobs : int or None
        Threads, as in joblib. Results do not depend on it.
    progress : bool
        Whether to show progress bars.
    memory : int or None
        Bytes that may be used; None: no limit.
    deadline : float or None
        Moment on `time.monotonic` at which to be done; None: no limit.

    Examples
    --------
    >>> run = Run(seed=0)
    >>> run.rng("folds").integers(100) == run.rng("folds").integers(100)
    np.True_
    >>> run.rng("folds").integers(2**31) == run.rng("starts").integers(2**31)
    np.False_
    >>> run.time_left
    inf
    """

    seed: int = 0
    n_jobs: int | None = None
    progress: bool = False
    memory: int | None = None
    deadline: float | None = None

    @classmethod
    def from_options(
        cls,
        random_state: Any = None,
        n_jobs: int | None = None,
        progress: bool = False,
        *,
        memory: int | None = None,
        time_budget: float | None = None,
    ) -> Run:
        """Turn the options of a public function into a run.

        ``random_state`` is an int, a RandomState, a Generator or None; a generator is advanced by one draw.
        """
        deadline = None if time_budget is None else time.monotonic() + time_budget
        return cls(seed_from(random_state), n_jobs, progress, memory, deadline)

    def rng(self, purpose: str = "") -> np.random.Generator:
        """A new generator for one purpose; streams of different purposes are independent of each other."""
        if not purpose:
            return np.random.default_rng(self.seed)
        # A checksum, since hash() of a text differs between processes.
        return np.random.default_rng([self.seed, zlib.crc32(purpose.encode())])

    def seed_for(self, purpose: str = "") -> int:
        """A seed for one purpose."""
        return int(self.rng(purpose).integers(2**31))

    @property
    def time_left(self) -> float:
        """Seconds until the deadline, negative once it has passed; infinite without one."""
        return np.inf if self.deadline is None else self.deadline - time.monotonic()

    def with_share(self, share: float) -> Run:
        """The same run with a part of the time that is left.

        Examples
        --------
        >>> round(Run.from_options(0, time_budget=100).with_share(0.25).time_left)
        25
        """
        if self.deadline is None:
            return self
        return replace(self, deadline=time.monotonic() + share * max(0.0, self.time_left))

    def check(self, doing: str = "this step") -> None:
        """Raise `OutOfTime` once the deadline has passed."""
        if self.time_left < 0:
            raise OutOfTime(f"the time budget was used up before {doing} was done")

    def bar(self, description: str, items: Iterable | None = None, total: int | None = None) -> tqdm:
        """A progress bar, if one was asked for."""
        return progress_bar(description, items, total, shown=self.progress)


def seed_from(random_state: Any = None) -> int:
    """The seed that ``random_state`` stands for.

    Examples
    --------
    >>> seed_from(0) == seed_from(0)
    True
    """
    if not Seed().allows(random_state):
        raise ValueError(f"random_state must be {Seed.words}, got {random_state!r}")
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31))
    return int(random_state_of(random_state).randint(2**31))
