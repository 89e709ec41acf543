"""What a comparison found, as facts: words and pictures are made of these, and nothing reads a sentence."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

# Partners that are listed.
_SHOWN_PARTNERS = 3


class Reason(StrEnum):
    """Why a column or a feature is named."""

    NONE = ""
    ALONE = "alone"
    TOGETHER = "together"
    DIRECTION = "direction"


@dataclass(frozen=True)
class Why:
    """Why a feature is named, and with whom.

    Attributes
    ----------
    reason : Reason
        The kind of finding.
    partners : tuple of str
        Features that it takes part with; for a direction the one whose difference it hides.
    """

    reason: Reason = Reason.NONE
    partners: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        # Out of a file it is a word.
        object.__setattr__(self, "reason", Reason(self.reason))

    @property
    def company(self) -> str:
        """The partners in words.

        Examples
        --------
        >>> Why(Reason.TOGETHER, ("age", "sex")).company
        'with age and sex'
        """
        if self.reason is not Reason.TOGETHER:
            return ""
        many = len(self.partners) > _SHOWN_PARTNERS
        return "with " + " and ".join(
            [*self.partners[: _SHOWN_PARTNERS - 1], "others"] if many else self.partners
        )

    def __str__(self) -> str:
        """The reason in words."""
        if self.reason is Reason.TOGETHER:
            return f"together {self.company}"
        if self.reason is Reason.DIRECTION and self.partners:
            return f"direction: hides a difference of {self.partners[0]}"
        return str(self.reason)


@dataclass(frozen=True)
class ChangePart:
    """One of the things that changed in a column, from what to what.

    Attributes
    ----------
    text : str
        Such as "mean 30 → 35" or "gold 10 % → 20 %".
    percent : str
        The change in per cent where that says something, such as "+17 %".
    apart : str
        The sign before it, where it is not the first.
    """

    text: str
    percent: str = ""
    apart: str = "; "

    def __str__(self) -> str:
        """The part with its change in per cent."""
        return f"{self.text} ({self.percent})" if self.percent else self.text


class FaultKind(StrEnum):
    """What may have happened to values on their way into a table."""

    SENTINEL = "sentinel"
    FREQUENT = "frequent value"
    CUT_ABOVE = "cut off above"
    CUT_BELOW = "cut off below"
    ROUNDED = "rounded"
    UNIT = "unit"
    SWAPPED = "swapped"
    MOVED = "dates moved"
    JOINED = "levels joined"
    SPLIT = "level split"
    RENAMED = "level renamed"
    REPEATED = "rows repeated"
    DEPTH = "unequal depth"


# How many columns, shares and levels each kind of fault has, where it is not a column and nothing else.
_SHARE = ((1, 2, 0),)
_SIZES = {
    FaultKind.SENTINEL: _SHARE,
    FaultKind.FREQUENT: _SHARE,
    FaultKind.CUT_ABOVE: _SHARE,
    FaultKind.CUT_BELOW: _SHARE,
    FaultKind.UNIT: ((1, 0, 2),),
    FaultKind.SWAPPED: ((2, 0, 0),),
    FaultKind.JOINED: ((1, 0, 3),),
    FaultKind.SPLIT: ((1, 0, 2), (1, 0, 3)),
    FaultKind.RENAMED: ((1, 0, 2),),
    FaultKind.REPEATED: ((0, 2, 0),),
    FaultKind.DEPTH: ((0, 1, 0),),
}


@dataclass(frozen=True)
class Fault:
    """What a difference looks like, where it looks like a fault of the table and not like news of the world.

    Attributes
    ----------
    kind : FaultKind
        What it looks like.
    columns : tuple of str
        The column; two where they were swapped, none where whole rows are repeated or deeper.
    group : str
        The group whose values look changed.
    value : float
        The value that is too frequent, the limit, the step, the factor, or days; NaN where there is none.
    shares : tuple of float
        Part of the rows that have it: in this group, and in the other. Empty where it says nothing. Of
        unequal depth the part of the columns that it alone would change.
    levels : tuple of str
        The two levels joined and what they became; the level split and the new ones; the old and the new
        name; the units before and after.
    """

    kind: FaultKind
    columns: tuple[str, ...]
    group: str
    value: float = math.nan
    shares: tuple[float, ...] = ()
    levels: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        kind = FaultKind(self.kind)
        found = len(self.columns), len(self.shares), len(self.levels)
        if found not in _SIZES.get(kind, ((1, 0, 0),)):
            raise ValueError(f"a fault of the kind {kind} has no {found} columns, shares and levels")


def in_full(change: Sequence[ChangePart]) -> str:
    """All that changed in a column, in words.

    Examples
    --------
    >>> in_full([ChangePart("mean 30 → 35", "+17 %"), ChangePart("missing 1 % → 4 %")])
    'mean 30 → 35 (+17 %); missing 1 % → 4 %'
    """
    return "".join(f"{part.apart if place else ''}{part}" for place, part in enumerate(change))
