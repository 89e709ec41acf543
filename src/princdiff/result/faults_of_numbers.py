"""What a changed number looks like: a mark of missing values, a limit, rounding, another unit.

Looked at are numbers that differ already, so nothing is promised here and nothing is tested: a fault is what
the values of one group look like beside those of the other. Each kind has conditions that hardly anything
else meets (of 346 columns of 20 real tables that were shifted, stretched, shuffled, blurred or left alone one
looked faulty; of 332 with a fault 283 looked like it), and what meets none is described by its mean and
spread alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import kolmogorov

from princdiff.findings import FaultKind
from princdiff.result.unit_factors import UNIT_CHANGES, UnitChange

Numbers = NDArray[np.float64]

# Rows that must have a value, and part of a group, before it counts as one that became frequent.
_FEWEST, _LEAST_SHARE = 5, 0.005
# How much rarer it must be in the other group, and how surely.
_RARER, _SURELY = 0.2, 1e-4
# Of a value that is neither a usual mark nor far out, a smaller change of its share is no fault.
_LEAST_GAIN = 0.02
# A value that became frequent gained so many times as much as any other: whole numbers that move all gain.
_STANDS_OUT = 2.0
# Numbers that stand for "missing" where they lie beyond all others.
_MARKS = {0.0, *(sign * (10.0**digits - 1) for sign in (1, -1) for digits in range(1, 7)), -1.0, -2.0}
# A value gained if no other lost half as much.
_MORE_THAN_LOST = 2.0
# What is no usual mark, or is in both groups, must lie so many interquartile ranges beyond all others.
_FAR = 1.0
# A number with fewer values has no limits, steps or units to speak of.
_FEWEST_VALUES = 10
# Standard errors that a share may miss what it should be.
_WITHIN = 4.0
# Rounding must leave at most this part of the values, and move at least this part of them.
_FEWER_VALUES, _MOVED = 0.6, 0.4
# A unit is named where a change that is so many times as large would not do.
_NEARLY = (0.8, 1.25)
# Decimals with which numbers are written down; of more it is chance that a factor leaves as many.
_MOST_DECIMALS = 4
# P-values of distributions that are alike, and of those that are not.
_ALIKE, _UNLIKE = 0.01, 1e-4


class NumberFault(NamedTuple):
    """What the values of a group look like.

    Attributes
    ----------
    kind : FaultKind
        Kind of fault.
    value : float
        As in `Fault`.
    shares : tuple of float
        As in `Fault`.
    levels : tuple of str
        As in `Fault`.
    """

    kind: FaultKind
    value: float
    shares: tuple[float, ...] = ()
    levels: tuple[str, ...] = ()


def fault_of_number(own: Numbers, other: Numbers) -> NumberFault | None:
    """What the values of one group look like beside those of another that is as it should be.

    Parameters
    ----------
    own : array of shape (n_own,)
        Values that may be faulty.
    other : array of shape (n_other,)
        Those of the other group.

    Returns
    -------
    NumberFault or None

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> before, after = rng.normal(50, 10, size=(2, 400))
    >>> after[:24] = -999
    >>> fault_of_number(after, before)[:3]
    (<FaultKind.SENTINEL: 'sentinel'>, -999.0, (0.06, 0.0))
    """
    if min(len(own), len(other)) < _FEWEST_VALUES or len(np.unique(other)) < _FEWEST_VALUES:
        return None
    looks: tuple[Callable[[Numbers, Numbers], NumberFault | None], ...] = (
        _another_unit,
        _rounded,
        _mark,
        _cut_above,
        _cut_below,
        _frequent_value,
    )
    return next((found for look in looks if (found := look(own, other)) is not None), None)


def alike(own: Numbers, other: Numbers) -> bool:
    """Whether nothing speaks against two groups having one distribution (Kolmogorov and Smirnov)."""
    return chance_of_one_law(own, other) > _ALIKE


def unlike(own: Numbers, other: Numbers) -> bool:
    """Whether two groups clearly differ (Kolmogorov and Smirnov)."""
    return chance_of_one_law(own, other) < _UNLIKE


def chance_of_one_law(own: Numbers, other: Numbers) -> float:
    """By the limiting law of the largest gap; thousands are asked for, and SciPy's test takes far longer."""
    own, other = np.sort(own), np.sort(other)
    both = np.concatenate([own, other])
    reached = [np.searchsorted(values, both, "right") / len(values) for values in (own, other)]
    gap = np.abs(reached[0] - reached[1]).max()
    return float(kolmogorov(gap * np.sqrt(len(own) * len(other) / len(both))))


def _another_unit(own: Numbers, other: Numbers) -> NumberFault | None:
    """A factor with which the groups are alike, and are not with another of nearly its size."""
    if not unlike(own, other):
        return None
    fits = [change for change in UNIT_CHANGES if _undone_alike(change, own, other)]
    fits = [change for change in fits if _onto_decimals(change, own, other)] or [
        change
        for change in fits
        if not any(_undone_alike(change.partly(part), own, other) for part in _NEARLY)
    ]
    if not fits:
        return None
    if len(fits) > 1:
        # Which of them it was so few rows do not tell.
        return NumberFault(FaultKind.UNIT, float(np.median(own) / np.median(other)), levels=("", ""))
    # Where zero is another value too, no factor leads from one unit to the other.
    factor = math.nan if fits[0].offset else fits[0].factor
    return NumberFault(FaultKind.UNIT, factor, levels=(fits[0].before, fits[0].after))


def _undone_alike(change: UnitChange, own: Numbers, other: Numbers) -> bool:
    # To so many digits, since a factor and back is not always the same to the last.
    digits = 9 - int(np.ceil(np.log10(np.abs(other).max())))
    return alike(np.round(change.undone(own), digits), np.round(other, digits))


def _onto_decimals(change: UnitChange, own: Numbers, other: Numbers) -> bool:
    """Whether only this change undone gives values with as few decimals as the other group has."""
    scale = next((10.0**digits for digits in range(_MOST_DECIMALS) if _whole(other * 10.0**digits)), None)
    return scale is not None and _whole(change.undone(own) * scale) and not _whole(own * scale)


def _whole(values: Numbers) -> bool:
    return bool(np.allclose(values, np.rint(values), rtol=1e-13, atol=1e-6))


def _gained(own: Numbers, other: Numbers) -> list[tuple[float, float, float]]:
    """Values that are far more frequent than in the other group, with both shares, the largest gain first.

    None where another value is as much rarer: zeros that moved with all other values are no fault.
    """
    found, lost = _more_frequent(own, other), _more_frequent(other, own)
    least = _MORE_THAN_LOST * max((share - before for _, share, before in lost), default=0.0)
    return [one for one in found if one[1] - one[2] > least]


def _more_frequent(own: Numbers, other: Numbers) -> list[tuple[float, float, float]]:
    values, counts = np.unique(own, return_counts=True)
    many = counts >= max(_FEWEST, _LEAST_SHARE * len(own))
    found = []
    for value, count in zip(values[many].tolist(), counts[many].tolist(), strict=True):
        before = int((other == value).sum())
        shares = count / len(own), before / len(other)
        if shares[1] <= _RARER * shares[0] and _surely_more(own, other, value):
            found.append((value, *shares))
    return sorted(found, key=lambda one: one[2] - one[1])


def _surely_more(own: Numbers, other: Numbers, value: float) -> bool:
    """Whether a value is more frequent than by chance."""
    from scipy.stats import fisher_exact

    table = [[int((group == value).sum()), int((group != value).sum())] for group in (own, other)]
    return bool(fisher_exact(table).pvalue <= _SURELY)


def _mark(own: Numbers, other: Numbers) -> NumberFault | None:
    """A value beyond all others that stands for something else than a number."""
    both = np.concatenate([own, other])
    for value, *shares in _gained(own, other):
        rest = both[both != value]
        low, high = np.quantile(rest, (0.25, 0.75))
        beyond = max(rest.min() - value, value - rest.max())
        # Zeros that both groups have are a number, such as nothing spent.
        new_mark = value in _MARKS and not shares[1]
        if beyond > 0 and (new_mark or beyond >= _FAR * (high - low)):
            return NumberFault(FaultKind.SENTINEL, value, tuple(shares))
    return None


def _cut_above(own: Numbers, other: Numbers) -> NumberFault | None:
    """As many rows at the largest value as the other group has beyond it."""
    limit = float(own.max())
    at, beyond = float(np.mean(own == limit)), float(np.mean(other >= limit))
    error = np.sqrt(at * (1 - at) * (1 / len(own) + 1 / len(other)))
    reached = (own == limit).sum() >= max(_FEWEST, _LEAST_GAIN * len(own)) and (
        other > limit
    ).sum() >= _FEWEST
    if not reached or (other == limit).mean() > at / 2 or abs(at - beyond) > _WITHIN * error:
        return None
    if not _surely_more(own, other, limit):
        return None
    # Of zeros that moved to the limit the other group has one value there.
    if np.unique(other[other >= limit], return_counts=True)[1].max() > beyond * len(other) / 2:
        return None
    return NumberFault(FaultKind.CUT_ABOVE, limit, (at, beyond))


def _cut_below(own: Numbers, other: Numbers) -> NumberFault | None:
    found = _cut_above(-own, -other)
    return None if found is None else found._replace(kind=FaultKind.CUT_BELOW, value=-found.value)


def _rounded(own: Numbers, other: Numbers) -> NumberFault | None:
    """All values on steps, of which the other group has many between."""
    values = np.unique(own)
    if not 3 <= len(values) <= _FEWER_VALUES * len(np.unique(other)):
        return None
    step = float(np.diff(values).min())
    step = float(np.ptp(values)) / round(float(np.ptp(values)) / step)
    if not _on_steps(values, values[0], step).all():
        return None
    between = 1 - float(_on_steps(other, values[0], step).mean())
    return NumberFault(FaultKind.ROUNDED, step) if between >= _MOVED else None


def _on_steps(values: Numbers, first: float, step: float) -> NDArray[np.bool_]:
    places = (values - first) / step
    return np.abs(places - np.rint(places)) < 1e-3


def _frequent_value(own: Numbers, other: Numbers) -> NumberFault | None:
    """One of many values that has become far more frequent, and no other has."""
    gained = _gained(own, other)[:2]
    gains = [share - before for _, share, before in gained] + [0.0]
    if not gained or gains[0] < max(_LEAST_GAIN, _STANDS_OUT * gains[1]):
        return None
    value, *shares = gained[0]
    return NumberFault(FaultKind.FREQUENT, value, tuple(shares))
