"""A rule for a pipeline and what it says of a comparison; kept with the result, to explain an exit code."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from princdiff.result import DifferenceResult

Outcome = Literal["passed", "failed", "undecided"]
EXIT_CODES: dict[Outcome, int] = {"passed": 0, "failed": 1, "undecided": 2}
_SENTENCES: dict[Outcome, str] = {
    "passed": "no difference by the rule given",
    "failed": "the groups differ by the rule given",
    "undecided": "none was possible by the rule given",
}


@dataclass(frozen=True)
class DecisionPart:
    """What the rule of a pipeline says of a comparison.

    Attributes
    ----------
    outcome : {"passed", "failed", "undecided"}
        Failed: the groups differ by the rule. Undecided: the test that was made could not have reached the
        level, whatever the rows.
    exit_code : int
        Of the command: 0, 1 or 2.
    fail_below : float
        The rule: the p-value has to be below this for the groups to differ.
    min_effect : float
        ... and the effect at least this; NaN where the rule does not ask for it.
    pvalue, effect : float
        What was compared with them.
    reason : str
        The same in words.
    min_column_effect : float
        ... and the size of a column that was named at least this; NaN where the rule does not ask for it.
    caution : str
        Where the groups passed, but have so few rows that a difference as large as asked for could hardly
        have been shown: the same in words.
    """

    outcome: Outcome
    exit_code: int
    fail_below: float
    min_effect: float
    pvalue: float
    effect: float
    reason: str
    caution: str = ""
    min_column_effect: float = math.nan

    @property
    def sentence(self) -> str:
        """The outcome with its reason."""
        return f"Decision: {_SENTENCES[self.outcome]}: {self.reason} (exit code {self.exit_code})."


def decide(
    result: DifferenceResult,
    fail_below: float,
    min_effect: float | None = None,
    min_column_effect: float | None = None,
) -> DecisionPart:
    """Apply a rule: the groups differ if the p-value is small and the effect is large.

    Parameters
    ----------
    result : DifferenceResult
        What was found.
    fail_below : float
        The p-value has to be below this.
    min_effect : float, optional
        The effect has to be at least this; default any.
    min_column_effect : float, optional
        The size of one of the columns that were named has to be at least this; default any.

    Returns
    -------
    DecisionPart

    Examples
    --------
    >>> import numpy as np
    >>> from princdiff import compare
    >>> rng = np.random.default_rng(0)
    >>> result = compare(rng.normal(size=(60, 2)), rng.normal(size=(60, 2)) + 1, n_permutations=99)
    >>> decide(result, fail_below=0.05, min_effect=5).outcome
    'passed'
    """
    small = result.pvalue < fail_below
    large = min_effect is None or result.effect >= min_effect
    column, size = _largest_column(result)
    enough = min_column_effect is None or size >= min_column_effect
    reached = result.test.smallest_attainable_pvalue
    reached = 1.0 if math.isnan(reached) else reached
    # Where columns were not tested, or could not be named by so small a test, none was found too small.
    unknown = min_column_effect is not None and not column
    if large and (enough or unknown) and not small and reached >= fail_below:
        outcome: Outcome = "undecided"
        reason = f"no p-value below {reached:.2g} was possible in the test that was made"
    elif large and small and unknown and not result.selection.made:
        outcome = "undecided"
        reason = "the columns were not tested, so none could be held against its rule"
    else:
        outcome = "failed" if large and enough and small else "passed"
        reason = _comparisons(result, fail_below, min_effect, small, large)
        if min_column_effect is not None:
            reason += _column_in_words(column, size, min_column_effect, small and large)
    return DecisionPart(
        outcome=outcome,
        exit_code=EXIT_CODES[outcome],
        fail_below=fail_below,
        min_effect=math.nan if min_effect is None else min_effect,
        pvalue=result.pvalue,
        effect=result.effect,
        reason=reason,
        caution="" if small or outcome != "passed" else _caution(result, min_effect or min_column_effect),
        min_column_effect=math.nan if min_column_effect is None else min_column_effect,
    )


def _largest_column(result: DifferenceResult) -> tuple[str, float]:
    """The column named whose difference is largest, and its size; nothing where none was named."""
    named = result.columns[result.columns["selected"].astype(bool)]
    if named.empty:
        return "", -math.inf
    best = named.loc[named["effect"].idxmax()]
    return str(best["column"]), float(best["effect"])


def _column_in_words(column: str, size: float, least: float, otherwise: bool) -> str:
    enough = size >= least
    joint = " and" if otherwise == enough else ", but"
    if not column:
        return f"{joint} no column was named"
    return f"{joint} the largest size of a column, {size:.2g} of {column!r}, is " + (
        f"at least {least:g}" if enough else f"below {least:g}"
    )


def _comparisons(
    result: DifferenceResult, fail_below: float, min_effect: float | None, small: bool, large: bool
) -> str:
    pvalue = f"p = {result.pvalue:.2g} is {'below' if small else 'not below'} {fail_below:g}"
    if min_effect is None:
        return pvalue
    joint = " and" if small == large else ", but"
    return (
        f"{pvalue}{joint} the effect {result.effect:.2g} is {'at least' if large else 'below'} {min_effect:g}"
    )


def asked_shift(min_effect: float | None) -> float:
    """The difference that a rule is there to find, in standard deviations: one, where it does not say."""
    return min_effect or 1.0


def too_few_rows(result: DifferenceResult, min_effect: float | None) -> bool:
    """Whether a test of so few rows would usually miss a difference as large as the rule asks for."""
    # NaN, where it is not known, compares as False.
    return result.test.detectable > asked_shift(min_effect)


def _caution(result: DifferenceResult, min_effect: float | None) -> str:
    if not too_few_rows(result, min_effect):
        return ""
    rows = ", ".join(f"{name}: {count}" for name, count in result.groups.items())
    return (
        f"so few rows ({rows}) can hardly show a difference of {asked_shift(min_effect):.2g} standard "
        f"deviations: a shift of one column has to be {result.test.detectable:.2g} to be found in four of "
        "five such tables"
    )
