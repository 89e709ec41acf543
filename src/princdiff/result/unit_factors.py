"""Units that are taken for each other, and what numbers are multiplied by where that happens."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class UnitChange(NamedTuple):
    """Numbers in one unit become numbers in another: ``factor * value + offset``.

    Attributes
    ----------
    before, after : str
        The units; empty where the factor has no name of its own.
    factor, offset : float
        What happens to the numbers.
    """

    before: str
    after: str
    factor: float
    offset: float = 0.0

    def undone(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Numbers in the first unit, of numbers in the second.

        Examples
        --------
        >>> UnitChange("degrees Celsius", "degrees Fahrenheit", 1.8, 32.0).undone(np.array([212.0]))
        array([100.])
        """
        return (values - self.offset) / self.factor

    def partly(self, part: float) -> UnitChange:
        """A change that is smaller or larger, without a name.

        Examples
        --------
        >>> UnitChange("", "", 100.0).partly(0.5).factor
        10.0
        """
        return UnitChange("", "", self.factor**part, self.offset * part)

    @property
    def back(self) -> UnitChange:
        """The other way round.

        Examples
        --------
        >>> UnitChange("inches", "centimetres", 2.54).back.before
        'centimetres'
        """
        return UnitChange(self.after, self.before, 1 / self.factor, -self.offset / self.factor)


_NAMED = (
    UnitChange("inches", "centimetres", 2.54),
    UnitChange("inches", "millimetres", 25.4),
    UnitChange("feet", "metres", 0.3048),
    UnitChange("feet", "centimetres", 30.48),
    UnitChange("feet", "inches", 12.0),
    UnitChange("miles", "kilometres", 1.609344),
    UnitChange("pounds", "kilograms", 0.45359237),
    UnitChange("ounces", "grams", 28.349523),
    UnitChange("gallons", "litres", 3.785412),
    UnitChange("kilocalories", "kilojoules", 4.184),
    UnitChange("days", "hours", 24.0),
    UnitChange("weeks", "days", 7.0),
    UnitChange("minutes", "seconds", 60.0),
    UnitChange("hours", "seconds", 3600.0),
    UnitChange("degrees Celsius", "degrees Fahrenheit", 1.8, 32.0),
    UnitChange("degrees Celsius", "kelvins", 1.0, 273.15),
)
_PLAIN = tuple(UnitChange("", "", 10.0**power) for power in (1, 2, 3, 6, 9))
UNIT_CHANGES = tuple(way for change in (*_NAMED, *_PLAIN) for way in (change, change.back))
