"""A moment at which to be done, known to the innermost loops without being handed through every call.

What may end with what it has (a search for a direction) asks `time_is_up` and stops. What means nothing
unless it is whole (relabellings, which must all be treated alike) is given up by an exception, and its caller
does with less.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass


class OutOfTime(TimeoutError):
    """The time that a caller allowed is used up."""


@dataclass
class Deadline:
    """A moment on `time.monotonic`.

    Attributes
    ----------
    moment : float
        When to be done.
    strict : bool
        Whether work is given up then; otherwise it ends with what it has.
    passed : bool
        Whether anything was cut short.
    """

    moment: float
    strict: bool
    passed: bool = False


_CURRENT: ContextVar[Deadline | None] = ContextVar("princdiff_deadline", default=None)


@contextmanager
def until(moment: float, *, strict: bool) -> Iterator[Deadline]:
    """Work inside is cut short, or given up with `OutOfTime`, at a moment; infinity: never.

    Examples
    --------
    >>> with until(time.monotonic() - 1, strict=False) as deadline:
    ...     time_is_up()
    True
    >>> deadline.passed
    True
    >>> with until(time.monotonic() - 1, strict=True):
    ...     time_is_up()
    Traceback (most recent call last):
        ...
    princdiff.deadline.OutOfTime: the time budget is used up
    """
    deadline = Deadline(moment, strict)
    token = _CURRENT.set(deadline)
    try:
        yield deadline
    finally:
        _CURRENT.reset(token)


@contextmanager
def part_of_the_time(share: float) -> Iterator[None]:
    """Work inside has so large a part of the time that is left; without a deadline all it wants.

    Examples
    --------
    >>> with until(time.monotonic() + 100, strict=False), part_of_the_time(0.5):
    ...     round(_CURRENT.get().moment - time.monotonic())
    50
    """
    outer = _CURRENT.get()
    if outer is None or outer.strict:
        yield
        return
    now = time.monotonic()
    with until(now + share * max(0.0, outer.moment - now), strict=False) as inner:
        yield
    outer.passed |= inner.passed


@contextmanager
def undivided() -> Iterator[None]:
    """Work inside is needed as a whole: at the deadline it is given up with `OutOfTime`, not cut short.

    Examples
    --------
    >>> with until(time.monotonic() - 1, strict=False), undivided():
    ...     time_is_up()
    Traceback (most recent call last):
        ...
    princdiff.deadline.OutOfTime: the time budget is used up
    """
    outer = _CURRENT.get()
    if outer is None or outer.strict:
        yield
        return
    try:
        with until(outer.moment, strict=True):
            yield
    except OutOfTime:
        outer.passed = True
        raise


def time_is_up() -> bool:
    """Whether to stop now. Raises `OutOfTime` where work that is cut short would mean nothing.

    Examples
    --------
    >>> time_is_up()
    False
    """
    deadline = _CURRENT.get()
    if deadline is None or time.monotonic() < deadline.moment:
        return False
    if deadline.strict:
        raise OutOfTime("the time budget is used up")
    deadline.passed = True
    return True


def give_up_if_late() -> None:
    """Raise `OutOfTime` between pieces of work that are needed all; others go on."""
    deadline = _CURRENT.get()
    if deadline is not None and deadline.strict:
        time_is_up()
