"""Figures and names of groups as people read them: 15 % → 61 %, 1999.3 → 1999.5, a, b and 2 more."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from princdiff.result import DifferenceResult

ARROW = " → "
NOTHING = "–"
MOST_ARROWS = 3
"""With more groups a chain of arrows is not read: the two that differ most clearly are shown."""
# Letters of a group's name beside its figure.
_GROUP_LENGTH = 20
# Nobody counts the digits of larger numbers at a glance.
_LARGE = 1e8
_WORDS = {1e12: "trillion", 1e9: "billion", 1e6: "million"}


def from_to(
    values: Sequence[float], texts: Sequence[str], groups: Sequence[str] = (), rows: Sequence[float] = ()
) -> str:
    """Figures of the groups in their order; of many groups the two that differ most clearly.

    "To" stands between the lowest and the highest, "against" between two others.

    Examples
    --------
    >>> from_to([1, 3, 2], ["1", "3", "2"]), from_to([1, 4, 0, 2], ["1 %", "4 %", "0 %", "2 %"])
    ('1 → 3 → 2', '0 % to 4 %')
    >>> from_to([1, 4, 0, 2], ["1", "4", "0", "2"], ["north", "east", "south", "west"], [99, 99, 5, 99])
    '1 in north against 4 in east'
    """
    if len(values) <= MOST_ARROWS:
        return ARROW.join(texts)
    apart = clearest_groups(values, rows)
    if apart is None:
        return NOTHING
    named = [
        f"{texts[place]} in {_short_group(groups[place])}" if groups else texts[place]
        for place in (apart.low, apart.high)
    ]
    known = [value for value in values if not math.isnan(value)]
    whole = values[apart.low] == min(known) and values[apart.high] == max(known)
    return (" to " if whole else " against ").join(named)


def _short_group(name: str) -> str:
    # A bare number would be taken for another figure.
    name = f"group {name}" if name.lstrip("-").replace(".", "", 1).isdigit() else name
    return cut(name, _GROUP_LENGTH)


def percentages(values: Sequence[float], apart: bool = True) -> list[str]:
    """Proportions as percentages; with digits that tell them apart if they are known to differ.

    Examples
    --------
    >>> percentages([0.15, 0.61]), percentages([0.001, 0.0012]), percentages([0.0, 0.01])
    (['15 %', '61 %'], ['0.10 %', '0.12 %'], ['0 %', '1 %'])
    """
    known = [value for value in values if not math.isnan(value)]
    if len(known) < len(values):
        # A group without any value.
        texts = iter(percentages(known, apart) if known else ())
        return [NOTHING if math.isnan(value) else next(texts) for value in values]
    # Shares of weighted rows add up to one but for rounding.
    percents = [round(100 * value, 9) for value in values]
    for digits in (0, 1, 2, 3):
        rounded = [round(percent, digits) for percent in percents]
        # What is not none must not be shown as none, nor what is not all as all.
        vanishes = any(
            (percent > 0 and shown == 0) or (percent < 100 and shown == 100)
            for percent, shown in zip(percents, rounded, strict=True)
        )
        if (not apart or _tells(percents, rounded)) and not vanishes:
            break
    return [f"{percent:.{digits}f} %" if percent else "0 %" for percent in percents]


def numbers(values: Sequence[float], apart: bool = True) -> list[str]:
    """Numbers as short as they can be read; with digits that tell them apart if they are known to differ.

    Examples
    --------
    >>> numbers([81.13, 104.8]), numbers([1999.32, 1999.54])
    (['81.1', '105'], ['1999.3', '1999.5'])
    >>> numbers([-0.0754, 1.01])
    ['-0.08', '1.01']
    >>> numbers([3.5, float("nan"), 4.0])
    ['3.5', '–', '4']
    >>> numbers([4.84e8, 5.12e8]), numbers([9.9e8, 1.05e9])
    (['484 million', '512 million'], ['0.99 billion', '1.05 billion'])
    >>> numbers([2008.0424, 2008.0417], apart=False)
    ['2008', '2008']
    """
    known = [value for value in values if not math.isnan(value)]
    if len(known) < len(values):
        # A group without any value.
        texts = iter(numbers(known, apart) if known else ())
        return [NOTHING if math.isnan(value) else next(texts) for value in values]
    unit, word = _unit(known)
    if word:
        return [f"{text} {word}" for text in numbers([value / unit for value in values], apart)]
    largest = max(map(abs, known), default=0.0)
    texts_of = [_beside(value, largest) for value in values]
    for digits in range(1, 5):
        if not apart or not known or any("e" in text or " " in text for text in texts_of):
            break
        if _tells(values, [float(text) for text in texts_of]):
            break
        texts_of = [f"{value:.{digits}f}" for value in values]
    return texts_of


def _beside(value: float, largest: float) -> str:
    """A number; far below another with as many decimals as that, if one of them is not zero."""
    text = number(value)
    if not abs(value) < 0.1 * largest < _LARGE:
        return text
    short = f"{value:.{max(0, 2 - math.floor(math.log10(largest)))}f}"
    return short if len(short) < len(text) and float(short) else text


def _tells(values: Sequence[float], rounded: Sequence[float]) -> bool:
    """Whether rounded numbers are about as far apart as they were."""
    spread = max(values) - min(values)
    return not abs((max(rounded) - min(rounded)) - spread) > 0.2 * spread


def number(value: float) -> str:
    """A number as short as it can be read.

    Examples
    --------
    >>> number(0.00012345), number(1234567.0), number(12.0), number(654.889), number(35.27)
    ('0.000123', '1234567', '12', '655', '35.3')
    >>> number(-4.842e8), number(3e17)
    ('-484 million', '3.00e+17')
    """
    unit, word = _unit([value])
    if word:
        return f"{value / unit:.3g} {word}"
    if value == 0 or 1e-4 <= abs(value) < _LARGE:
        return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    return f"{value:.2e}"


def _unit(values: Sequence[float]) -> tuple[float, str]:
    """The unit for large numbers, if one suits all of them."""
    sizes = [abs(value) for value in values if value]
    if not sizes or not _LARGE <= max(sizes) < 1e15:
        return 1.0, ""
    unit = max(unit for unit in _WORDS if unit <= max(sizes))
    return (unit, _WORDS[unit]) if min(sizes) >= 0.01 * unit else (1.0, "")


# Names of groups and columns in a sentence: some of many, cut to a length that can be read.


NAMED = 4
"""Names in a sentence at most; of more the others are counted."""
_BARE = ("yes", "no", "true", "false", "y", "n", "t", "f")


def group_names(result: DifferenceResult) -> list[str]:
    """What the groups are called; a bare 0, 1, yes or no is named with the column it stands in."""
    names = [str(name) for name in result.groups]
    column = result.parameters.get("groups")
    bare = all(name.lstrip("-").isdigit() or name.lower() in _BARE for name in names)
    return [f"{column} = {name}" for name in names] if column and bare else names


def group_sizes(result: DifferenceResult, count: Callable[[int], str] = str) -> list[str]:
    """How large the groups are: rows, after the blocks that count where whole blocks were permuted."""
    rows = [f"{count(rows)} rows" for rows in result.groups.values()]
    blocks = result.parameters.get("blocks") or []
    return [f"{own} ({text})" for own, text in zip(blocks, rows, strict=True)] if blocks else rows


def some(names: list[str], most: int = NAMED) -> str:
    """The first names, and how many more there are.

    Examples
    --------
    >>> some(["age", "sex"]), some(["a", "b", "c", "d", "e"])
    ('age and sex', 'a, b, c and 2 more')
    """
    return listed(names if len(names) <= most else [*names[: most - 1], f"{len(names) - most + 1} more"])


def listed(names: list[str]) -> str:
    """All names, as a sentence lists them."""
    names = [cut(name, 60) for name in names]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def cut(text: str, length: int) -> str:
    """The beginning of a text that is longer."""
    return text if len(text) <= length else text[: length - 1] + "…"


# Which two of several groups show a change: those that differ most clearly.


# The lowest and the highest group are shown if their difference is this part as clear as that of any two.
_AS_CLEAR = 0.8


class ClearestGroups(NamedTuple):
    """Two groups.

    Attributes
    ----------
    clarity : float
        Their difference over its chance error, in the unit of the figures.
    low, high : int
        Places of the groups with the lower and with the higher figure.
    """

    clarity: float
    low: int
    high: int


def clearest_groups(figures: Sequence[float], rows: Sequence[float] = ()) -> ClearestGroups | None:
    """The lowest and the highest group, or others that differ far more clearly; None if none has a figure.

    Parameters
    ----------
    figures : list of float
        A mean, a share or a quantile of each group; NaN where a group has none.
    rows : list of float, optional
        Rows of each group; default: all alike, which gives the lowest and the highest.

    Returns
    -------
    ClearestGroups or None

    Examples
    --------
    >>> clearest_groups([8.0, 20.0, 35.0, 30.0], [5, 300, 200, 2000])[1:]
    (1, 2)
    >>> clearest_groups([8.0, 20.0, 35.0, 30.0])[1:]
    (0, 2)
    """
    known = [place for place, figure in enumerate(figures) if not math.isnan(figure)]
    if not known:
        return None
    order = sorted(known, key=lambda place: figures[place])

    def apart(low: int, high: int) -> ClearestGroups:
        error = 1.0 / rows[low] + 1.0 / rows[high] if rows else 2.0
        return ClearestGroups((figures[high] - figures[low]) / math.sqrt(error), low, high)

    outermost = apart(order[0], order[-1])
    best = max((apart(*pair) for pair in combinations(order, 2)), default=outermost)
    return outermost if outermost.clarity >= _AS_CLEAR * best.clarity else best
