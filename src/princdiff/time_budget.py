"""A comparison in the time that a user allows: when each step is due, and how large a test fits.

A test that is cut short means nothing, so it is begun small and made again, larger, as long as the next one
fits. Without a budget nothing is cut, but the user soon learns how long a long test takes.
"""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass

import numpy as np
from joblib import effective_n_jobs

from princdiff import auto_choices
from princdiff.data.problem import Problem, Run
from princdiff.deadline import OutOfTime, until
from princdiff.statistics.permutation_result import PermutationOptions, PermutationResult
from princdiff.statistics.permutation_runs import run_permutations

_LOG = logging.getLogger("princdiff")
_PILOT = 19
# Part of the time for a test that its pilot may take, and part of the rest that is planned to be used.
_PILOT_SHARE, _USED = 0.4, 0.8
# A test is at most this much larger than the one before, by which its time was foreseen.
_GROWTH = 20.0
# Part of the budget that a test has at least.
_LEAST_TEST = 0.2
# Time of a whole test over that of its searches for directions.
_WHOLE_TEST = 2.0
# Of every group, where a test is made on a part of the rows; and relabellings that are worth more than rows.
_FEWEST_ROWS, _WANTED = 50, 99
# Seconds about that a test takes for one number and labelling, and that the tables take for one number and
# for one feature; the part of a budget that is left for the rest at least.
_TEST_NUMBER, _TELLING_NUMBER, _TELLING_FEATURE, _LEAST_SHARE = 8e-7, 4e-7, 1e-4, 0.4


@dataclass(frozen=True)
class Budget:
    """When the steps of a comparison have to be done.

    Parameters
    ----------
    begin : float
        Moment on `time.monotonic` from which the time counts.
    seconds : float
        For all steps together; infinite without a limit.

    Examples
    --------
    >>> Budget(begin=100.0, seconds=10.0).due("fitting")
    102.5
    >>> Budget.of(Run(), (200, 5)).limited
    False
    """

    begin: float
    seconds: float

    @classmethod
    def of(cls, run: Run, shape: tuple[int, int]) -> Budget:
        """The time that a run has left, less what describing every column of a table takes in any case."""
        n_rows, n_features = shape
        telling = _TELLING_NUMBER * n_rows * n_features + _TELLING_FEATURE * n_features
        return cls(time.monotonic(), max(run.time_left - telling, _LEAST_SHARE * run.time_left))

    @property
    def limited(self) -> bool:
        """Whether there is a limit at all."""
        return bool(np.isfinite(self.seconds))

    def due(self, step: str) -> float:
        """Moment at which a step has to be done, a key of `auto_choices.TIME_SHARES`; infinity: no limit."""
        return self.begin + auto_choices.TIME_SHARES[step] * self.seconds


class BudgetedTest:
    """The permutation test of a comparison, as large as the time allows.

    Parameters
    ----------
    problem : Problem
        What is compared.
    run : Run
        Seed, threads and progress.
    asked : int
        Relabellings wanted.
    budget : Budget
        The time of the whole comparison.

    Attributes
    ----------
    cut : list of str
        What was cut to keep within the time.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(40, 2))
    >>> problem = Problem.from_arrays(X, np.arange(40) % 2)
    >>> BudgetedTest(problem, Run(), 19, Budget(time.monotonic(), 600.0)).made().n_permutations
    19
    """

    def __init__(self, problem: Problem, run: Run, asked: int, budget: Budget) -> None:
        self.problem, self.how, self.asked, self.budget = problem, run, asked, budget
        self.cut: list[str] = []
        self._due = np.inf

    def made(self) -> PermutationResult | None:
        """The test with as many relabellings as the time allows; None if it allows none."""
        # Whatever the steps before took, some time is for the test.
        self._due = max(self.budget.due("testing"), time.monotonic() + _LEAST_TEST * self.budget.seconds)
        pilot = self._pilot()
        if pilot is None:
            self.cut.append(
                "time budget: no test was made, since the time does not suffice for "
                f"{_PILOT} permutations; allow more time, or compare fewer rows or columns"
            )
            return None
        found, problem, seconds = pilot
        # Larger and larger tests, since much of a small one's time does not grow with it. Each is a test by
        # itself, and the last one that was done in time counts.
        while (larger := self._larger_test(problem, found, seconds)) is not None:
            begin = time.monotonic()
            try:
                with until(self._due, strict=True):
                    found = _permuted(*larger)
            except OutOfTime:
                break
            problem, seconds = larger[0], time.monotonic() - begin
        self._note_what_was_cut(found, problem)
        return found

    def _note_what_was_cut(self, found: PermutationResult, problem: Problem) -> None:
        if found.n_permutations < self.asked and not found.exact:
            self.cut.append(
                f"time budget: {found.n_permutations} instead of {self.asked} permutations were made "
                "(this depends on the machine)"
            )
        if problem.n_rows < self.problem.n_rows:
            self.cut.append(
                f"time budget: the test was made on {problem.n_rows} of {self.problem.n_rows} rows, "
                "drawn at random from every group"
            )

    def _larger_test(
        self, problem: Problem, found: PermutationResult, seconds: float
    ) -> tuple[Problem, Run, int] | None:
        """Rows and relabellings of a test that fits into the time left; None if it would hardly be larger."""
        n_rows, count = self.problem.n_rows, found.n_permutations
        if (count >= self.asked or found.exact) and problem.n_rows == n_rows:
            return None
        work = problem.n_rows * (count + 1)
        growth = _USED * (self._due - time.monotonic()) / seconds
        affordable = min(growth, _GROWTH) * work
        share = max(problem.n_rows / n_rows, affordable / (n_rows * (min(self.asked, _WANTED) + 1)))
        larger = part_of_rows(self.problem, min(1.0, share), self.how)
        more = min(self.asked, max(count, round(affordable / larger.n_rows) - 1))
        if larger.n_rows * (more + 1) < min(1.5 * work, n_rows * (self.asked + 1)):
            return None
        if larger.n_rows * (more + 1) > 1.1 * growth * work:
            return None
        return larger, self.how, more

    def _pilot(self) -> tuple[PermutationResult, Problem, float] | None:
        """A test with few relabellings, on fewer rows until it fits into the time, and its seconds."""
        count = min(_PILOT, self.asked)
        left = _PILOT_SHARE * (self._due - time.monotonic())
        numbers = self.problem.n_rows * self.problem.n_features * (count + 1)
        # Machines and divergences differ: the first try is a modest one.
        share = min(1.0, left / (4 * _TEST_NUMBER * numbers))
        while True:
            problem = part_of_rows(self.problem, share, self.how)
            share /= auto_choices.FEWER_ROWS
            last = part_of_rows(self.problem, share, self.how).n_rows > problem.n_rows / 2
            begin = time.monotonic()
            due = begin + (1.0 if last else _PILOT_SHARE) * (self._due - begin)
            try:
                with until(due, strict=True):
                    return _permuted(problem, self.how, count), problem, time.monotonic() - begin
            except OutOfTime:
                if last:
                    return None


def part_of_rows(problem: Problem, share: float, run: Run) -> Problem:
    """A random part of the rows of every group; all where groups are small, or rows belong to blocks.

    Which rows are taken does not depend on how groups would be relabelled, so the test stays valid.
    """
    if share >= 1 or problem.blocks is not None or problem.sizes.max() <= _FEWEST_ROWS:
        return problem
    taken = np.zeros(problem.n_rows, dtype=bool)
    for code, size in enumerate(problem.sizes):
        members = np.flatnonzero(problem.codes == code)
        wanted = min(int(size), max(_FEWEST_ROWS, int(share * size)))
        taken[run.rng(f"rows {code}").permutation(members)[:wanted]] = True
    return problem.take_rows(taken)


class Announcement:
    """Logs how long a test takes, once, if that is long: as soon as a part of its labellings is done.

    Parameters
    ----------
    n_jobs : int, optional
        Of the test.

    Examples
    --------
    >>> announcement = Announcement()
    >>> announcement(0, 1000)
    >>> announcement.expected(100, 1000) < 1.0
    True
    """

    def __init__(self, n_jobs: int | None = None) -> None:
        self._n_jobs, self._begin, self._announced = n_jobs, time.monotonic(), False

    def __call__(self, made: int, total: int) -> None:
        """So many labellings of all have been searched for directions."""
        if made == 0:
            self._begin = time.monotonic()
        elif not self._announced and self.expected(made, total) > auto_choices.LONG:
            self._announced = True
            # Warnings are collected and shown at the end, which would be late.
            _LOG.warning(
                "princdiff: the test takes about %s (%d permutations); fewer of them or a time budget make "
                "it shorter",
                _duration(self.expected(made, total)),
                total - 1,
            )

    def expected(self, made: int, total: int) -> float:
        """Seconds of the whole test, by those until now."""
        # What the first to be done took, others took as well, at the same time.
        at_once = min(effective_n_jobs(self._n_jobs), total // made)
        return _WHOLE_TEST * (time.monotonic() - self._begin) * total / (made * at_once)


def _permuted(problem: Problem, run: Run, count: int) -> PermutationResult:
    return run_permutations(problem, run, PermutationOptions(n_permutations=count))


def _duration(seconds: float) -> str:
    """A duration in words.

    Examples
    --------
    >>> _duration(80), _duration(600), _duration(9000)
    ('80 seconds', '10 minutes', '2.5 hours')
    """
    if seconds < 100:
        return f"{seconds:.0f} seconds"
    return f"{seconds / 60:.0f} minutes" if seconds < 6000 else f"{seconds / 3600:.1f} hours"
