"""For tests of a pipeline: fail with what drifted, and not with two hundred lines of numbers."""

from __future__ import annotations

from typing import Any, Unpack

from princdiff.batches.equivalence import equivalent
from princdiff.comparison import compare
from princdiff.options import CompareOptions
from princdiff.result.pass_or_fail import decide
from princdiff.words import wording

_SHOWN = 10


def assert_no_drift(
    before: Any,
    after: Any,
    *,
    fail_below: float = 0.01,
    min_effect: float | None = None,
    margin: float | None = None,
    **options: Unpack[CompareOptions],
) -> None:
    """Fail if two tables differ, or if it cannot be shown that nothing moved by more than a margin.

    Parameters
    ----------
    before, after : path, DataFrame or array
        Two tables with the same columns.
    fail_below : float, default=0.01
        The tables differ if the p-value of `compare` is below this.
    min_effect : float, optional
        ... and the effect at least this many standard deviations.
    margin : float, optional
        Ask for more: that no column moved by so many standard deviations can be shown, see `equivalent`. The
        other two limits are then not used.
    **options
        Passed to `compare`, or to `equivalent` where there is a margin.

    Raises
    ------
    AssertionError
        With the columns that differ, and how.

    Examples
    --------
    >>> import numpy as np
    >>> from princdiff import assert_no_drift
    >>> rng = np.random.default_rng(0)
    >>> before = rng.normal(size=(200, 2))
    >>> assert_no_drift(before, rng.normal(size=(200, 2)), n_permutations=199)
    >>> assert_no_drift(before, rng.normal(size=(200, 2)) + [0, 1], n_permutations=199)
    Traceback (most recent call last):
    ...
    AssertionError: The groups X and Y differ (p = 0.005), and one column explains it: x1 ...
    """
    # The traceback of pytest ends in the test, not here.
    __tracebackhide__ = True
    if margin is not None:
        found = equivalent(before, after, margin=margin, **options)
        if not found:
            raise AssertionError(found.sentence)
        return
    result = compare(before, after, **options)
    decision = decide(result, fail_below, min_effect)
    if decision.outcome == "undecided":
        raise ValueError(f"cannot decide: {decision.reason}; use more n_permutations")
    if decision.outcome == "failed":
        named = result.columns[result.columns["selected"].astype(bool)]
        lines = [
            f"  {row.column}: {row.change} ({row.effect:.2f} sd)" for row in named.head(_SHOWN).itertuples()
        ]
        more = [f"  and {len(named) - _SHOWN} more columns"] if len(named) > _SHOWN else []
        raise AssertionError("\n".join([wording.headline(result), *lines, *more, decision.sentence]))
