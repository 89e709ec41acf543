"""Words on what changed columns look like: a unit, a mark of missing values, a limit, levels joined."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from princdiff.findings import Fault, FaultKind
from princdiff.words.readable_figures import NAMED, cut, group_names, listed, number, percentages

if TYPE_CHECKING:
    from princdiff.result import DifferenceResult

# A year, as differences of dates that are drawn at random show it.
_YEAR, _ABOUT = 365.25, 0.02


def fault_sentences(result: DifferenceResult) -> list[str]:
    """What the columns named look like, one sentence each."""
    shown = dict(zip(result.groups, group_names(result), strict=True))
    first = [fault for fault in result.faults if fault.kind is FaultKind.DEPTH]
    known = first + [fault for fault in result.faults if fault.columns and not _said(result, fault)]
    return [fault_sentence(fault, shown) for fault in known[:NAMED]]


def repeated_sentences(result: DifferenceResult) -> list[str]:
    """Rows that are there more than once: a note, as they are no change of a column."""
    shown = dict(zip(result.groups, group_names(result), strict=True))
    return [fault_sentence(one, shown) for one in result.faults if one.kind is FaultKind.REPEATED]


def _said(result: DifferenceResult, fault: Fault) -> bool:
    """Whether what changed in the column says it as well: that a value became frequent."""
    frame = result.columns
    kinds = frame.loc[frame["column"].isin(fault.columns), "kind"]
    return fault.kind is FaultKind.FREQUENT and bool((kinds == "value").all())


def fault_sentence(fault: Fault, groups: dict[str, str]) -> str:
    """What a column looks like.

    Parameters
    ----------
    fault : Fault
        The fact.
    groups : dict of str to str
        What the two groups are called.

    Returns
    -------
    str

    Examples
    --------
    >>> groups = {"before": "before", "after": "after"}
    >>> fault_sentence(Fault(FaultKind.SENTINEL, ("age",), "after", -999, (0.06, 0)), groups)
    'In after, 6 % of the values of age are -999, in before none: this looks like a mark for missing values.'
    >>> fault_sentence(Fault(FaultKind.UNIT, ("size",), "after", 2.54, (), ("inches", "centimetres")), groups)
    'It looks as if size were in inches in before and in centimetres in after (x 2.54).'
    >>> fault_sentence(Fault(FaultKind.UNIT, ("size",), "after", 0.001, (), ("", "")), groups)
    'In after, size looks divided by 1000.'
    >>> fault_sentence(Fault(FaultKind.CUT_ABOVE, ("income",), "after", 9000, (0.15, 0.14)), groups)
    'In after, income looks cut off at 9000: 15 % of its values are just that, in before 14 % are as large.'
    """
    own = groups[fault.group]
    other = next(name for group, name in groups.items() if group != fault.group)
    names = [cut(name, 40) for name in fault.columns]
    match fault.kind:
        case FaultKind.SENTINEL:
            looks = "this looks like a mark for missing values"
            return f"{_shares(fault, names[0], own, other)}: {looks}."
        case FaultKind.FREQUENT:
            return f"{_shares(fault, names[0], own, other)}."
        case FaultKind.CUT_ABOVE | FaultKind.CUT_BELOW:
            at, beyond = percentages(fault.shares)
            size = "large" if fault.kind is FaultKind.CUT_ABOVE else "small"
            limit = f"In {own}, {names[0]} looks cut off at {_exact(fault.value)}"
            return f"{limit}: {at} of its values are just that, in {other} {beyond} are as {size}."
        case FaultKind.ROUNDED:
            step = "whole numbers" if fault.value == 1 else f"steps of {_exact(fault.value)}"
            return f"In {own}, {names[0]} looks rounded to {step}."
        case FaultKind.UNIT:
            return _unit(fault, names[0], own, other)
        case FaultKind.SWAPPED:
            return f"In {own}, {listed(names)} look exchanged."
        case FaultKind.MOVED:
            return f"In {own}, the dates of {names[0]} look moved: {_days(fault.value)}."
        case FaultKind.REPEATED:
            return repeated_rows(fault, own, other)
        case FaultKind.DEPTH:
            many = f"changes the mean of about {percentages(fault.shares)[0]} of the columns"
            deeper = f"Rows of {own} were counted {fault.value:.1f} times as deep as those of {other}"
            return f"{deeper}: that alone {many}, normalised or not; compare counts thinned to equal depth."
    return _levels(fault, names[0], own)


def repeated_rows(fault: Fault, own: str, other: str) -> str:
    """Rows that are there more than once.

    Examples
    --------
    >>> repeated_rows(Fault(FaultKind.REPEATED, (), "b", shares=(0.08, 0)), "b", "a")
    'In b, 8 % of the rows are there more than once, in a none: p-values take rows for independent.'
    """
    shares = _of_none(fault)
    many = f"In {own}, {shares[0]} of the rows are there more than once, in {other} {shares[1]}"
    return f"{many}: p-values take rows for independent."


def _shares(fault: Fault, name: str, own: str, other: str) -> str:
    shares = _of_none(fault)
    return f"In {own}, {shares[0]} of the values of {name} are {_exact(fault.value)}, in {other} {shares[1]}"


def _of_none(fault: Fault) -> list[str]:
    return [
        text if share else "none" for share, text in zip(fault.shares, percentages(fault.shares), strict=True)
    ]


def _exact(value: float) -> str:
    """A value that stands in a table: all of its digits, unless they are many."""
    return f"{value:.0f}" if abs(value - round(value)) < 1e-9 and abs(value) < 1e8 else number(value)


def _unit(fault: Fault, name: str, own: str, other: str) -> str:
    before, after = fault.levels
    more = fault.value >= 1
    size = fault.value if more else 1 / fault.value
    if not before:
        about = "" if abs(np.log10(size) - round(np.log10(size))) < 1e-9 else "about "
        return f"In {own}, {name} looks {'multiplied' if more else 'divided'} by {about}{_exact(size)}."
    brackets = "" if np.isnan(size) else f" ({'x' if more else '/'} {number(size)})"
    return f"It looks as if {name} were in {before} in {other} and in {after} in {own}{brackets}."


def _days(days: float) -> str:
    """How far dates moved.

    Examples
    --------
    >>> _days(365.0), _days(-30.0), _days(0.0833)
    ('about a year later', 'about 30 days earlier', 'about 2 hours later')
    """
    side, size = ("later" if days > 0 else "earlier"), abs(days)
    if size < 1:
        hours = round(24 * size)
        return (
            f"about {hours} hour{'s' if hours != 1 else ''} {side}" if hours else f"less than an hour {side}"
        )
    if abs(size - _YEAR) <= _ABOUT * _YEAR:
        return f"about a year {side}"
    whole = round(size)
    return f"about {whole} day{'s' if whole != 1 else ''} {side}"


def _levels(fault: Fault, name: str, own: str) -> str:
    levels = [cut(level, 40) for level in fault.levels]
    match fault.kind:
        case FaultKind.RENAMED:
            return _ended(f"In {own}, {levels[0]} of {name} looks renamed to {levels[1]}")
        case FaultKind.JOINED:
            return _ended(f"In {own}, {levels[0]} and {levels[1]} of {name} look joined as {levels[2]}")
    into = f"{levels[1]} and {levels[2]}" if len(levels) > 2 else f"{levels[0]} and {levels[1]}"
    return _ended(f"In {own}, {levels[0]} of {name} looks split into {into}")


def _ended(sentence: str) -> str:
    """A sentence with its full stop, which a level may have already.

    Examples
    --------
    >>> _ended("joined as admin."), _ended("joined as gold")
    ('joined as admin.', 'joined as gold.')
    """
    return sentence if sentence.endswith(".") else f"{sentence}."
