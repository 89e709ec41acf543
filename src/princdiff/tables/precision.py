"""Numbers kept with different precision: single beside double, rounded in one file and not in the other.

One seventh is one value, but as float32, as float64 and as 0.142857 it is three, and statistics that look at
ties or at frequent values tell the groups apart by that alone. So all values of such a column are rounded in
the same way, to the coarsest precision found, before anything is compared. What is found depends on a sample
of the values; what is done is one function of all of them, which moves a value by at most a thousandth of the
standard deviation. Where recording was coarser still, it is a difference that is there, and is said.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

# Values looked at in all, and at least in each group; columns of a matrix that are looked at first.
_SAMPLED, _FEWEST_SAMPLED, _PROBED = 200, 20, 50
# What is written with more digits was not rounded to a decimal; a float32 has never more than 9.
_DOUBLE_DIGITS, _SINGLE_DIGITS = 15, (7, 9)
# Values of so few binary digits, such as 1/4096, are exact in any precision.
_SIMPLE_BITS = 12
# Share of a group's values that must need more digits than those of another; distinct values to judge by.
_FINER_SHARE, _FEWEST_VALUES = 0.3, 5
# Share of values that have all decimals where a column was rounded to them; one in ten ends in a zero.
_SAME_DECIMALS = 0.75
# Rounding by more than this part of the standard deviation is left to the user.
_LARGEST_STEP = 1e-3


@dataclass(frozen=True)
class Precision:
    """The values that a precision knows.

    Attributes
    ----------
    kind : {"single", "decimals", "digits"}
        float32, so many decimals, or so many significant digits.
    count : int
        How many decimals or digits.
    """

    kind: Literal["single", "decimals", "digits"]
    count: int = 0

    def rounded(self, values: NDArray) -> NDArray:
        """The nearest values of the grid, as float64.

        Examples
        --------
        >>> (
        ...     Precision("decimals", 2).rounded(np.array([1 / 7, np.nan])),
        ...     Precision("digits", 3).rounded(np.array([2 / 3])),
        ...     Precision("single").rounded(np.array([70.3, np.float32(70.3)])).tolist(),
        ... )
        (array([0.14,  nan]), array([0.667]), [70.3, 70.3])
        """
        if self.kind == "single":
            # As they are written: 70.3 is then 70.3 in either precision, and such a table stays as it is.
            with np.errstate(over="ignore"):
                distinct, places = np.unique(values.astype(np.float32), return_inverse=True)
            return distinct.astype(str).astype(np.float64)[places]
        if self.kind == "decimals":
            return np.round(values, self.count)
        distinct, places = np.unique(values, return_inverse=True)
        return np.array([float(f"{value:.{self.count - 1}e}") for value in distinct.tolist()])[places]

    def step(self, size: float) -> float:
        """Distance between values of the grid near a size."""
        if self.kind == "single":
            return float(np.spacing(np.float32(size)))
        return 10.0 ** (-self.count if self.kind == "decimals" else np.floor(np.log10(size)) + 1 - self.count)

    def __str__(self) -> str:
        if self.kind == "single":
            return "single precision"
        return f"{self.count} {self.kind[:-1] if self.count == 1 else self.kind}"

    @classmethod
    def parse(cls, text: str) -> Precision:
        """The grid that `str` made the text of.

        Examples
        --------
        >>> Precision.parse(str(Precision("decimals", 1))), Precision.parse("single precision")
        (Precision(kind='decimals', count=1), Precision(kind='single', count=0))
        """
        found = re.fullmatch(r"(\d{1,2}) (decimal|digit)s?", text)
        if found is None and text != "single precision":
            raise ValueError(f"{text!r} is not a precision of numbers")
        return cls("single") if found is None else cls(f"{found[2]}s", int(found[1]))  # type: ignore[arg-type]


def to_common_precision(values: NDArray, groups: NDArray) -> tuple[NDArray, Precision | None, str]:
    """Numbers rounded to the coarsest precision in which some of them are kept.

    Parameters
    ----------
    values : array of shape (n_rows,)
        Numbers, missing ones NaN.
    groups : array of shape (n_rows,)
        Group of each row.

    Returns
    -------
    values : array of shape (n_rows,)
        The same array where all have one precision.
    grid : Precision or None
        That to which they were rounded.
    remark : str
        What was done, or found.

    Examples
    --------
    >>> sevenths = np.arange(1, 29) / 7
    >>> mixed = np.append(sevenths.astype(np.float32), sevenths)
    >>> values, _, remark = to_common_precision(mixed, np.repeat([0, 1], 28))
    >>> len(np.unique(mixed)), len(np.unique(values)), remark
    (52, 28, 'kept in single precision in part, all values compared in it')
    """
    if values.dtype != np.float64:
        return values, None, ""
    samples = _samples(values, groups)
    if len(samples) and _holds_singles(np.concatenate(samples)):
        single = Precision("single")
        return single.rounded(values), single, f"kept in {single} in part, all values compared in it"
    grid = _coarsest([sample for sample in samples if len(sample) >= _FEWEST_VALUES])
    if grid is None:
        return values, None, ""
    present = values[np.isfinite(values)]
    with np.errstate(over="ignore", invalid="ignore"):
        step, spread = grid.step(float(np.median(np.abs(present)) or 1.0)), float(np.std(present))
    if step <= _LARGEST_STEP * spread:
        return grid.rounded(values), grid, f"rounded to {grid} in one group only, all values compared so"
    return values, None, f"rounded to {grid} in one group only, which may be all that differs"


def has_mixed_precision(matrix: NDArray, groups: NDArray) -> bool:
    """Whether columns of a matrix are kept with different precision: a few, as they were made together."""
    probed = range(0, matrix.shape[1], max(1, matrix.shape[1] // _PROBED))
    return any(to_common_precision(matrix[:, place], groups)[2] for place in probed)


def _samples(values: NDArray, groups: NDArray) -> list[NDArray]:
    """Different values of each group that are not whole, of which all precisions have the same."""
    sizes = np.bincount(groups)
    wanted = max(_FEWEST_SAMPLED, _SAMPLED // len(sizes))
    found = []
    for group in np.flatnonzero(sizes):
        own = values[groups == group]
        own = own[:: max(1, len(own) // wanted)]
        own = np.unique(own[np.isfinite(own)])
        found.append(own[own != np.floor(own)])
    return found


def _digits(values: NDArray) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Significant digits and decimals with which each value is written at least."""
    digits, decimals = [], []
    for value in values.tolist():
        mantissa, _, exponent = repr(abs(value)).partition("e")
        whole, _, fraction = mantissa.partition(".")
        fraction = fraction.rstrip("0")
        digits.append(len((whole + fraction).lstrip("0")))
        decimals.append(max(0, len(fraction) - int(exponent or 0)))
    return np.array(digits, dtype=np.intp), np.array(decimals, dtype=np.intp)


def _are_singles(values: NDArray) -> NDArray[np.bool_]:
    with np.errstate(over="ignore"):
        return values.astype(np.float32) == values


def _holds_singles(values: NDArray) -> bool:
    """Whether some, not all, are float32 values of many digits: a double is one by a miracle only."""
    single = _are_singles(values)
    if single.all():
        return False
    mantissas = np.frexp(values)[0] * 2.0**_SIMPLE_BITS
    telling = values[single & (mantissas != np.floor(mantissas))]
    return bool((_digits(telling)[0] > _SINGLE_DIGITS[1]).any())


def _coarsest(samples: list[NDArray]) -> Precision | None:
    """The precision of a group whose values need fewer digits than those of another; None: all are alike."""
    if len(samples) < 2:
        return None
    written = [_digits(sample) for sample in samples]
    places = [decimals.max() for _, decimals in written]
    coarse = int(np.argmin(places))
    finer = [(decimals > places[coarse]).mean() for _, decimals in written]
    if max(finer) < _FINER_SHARE:
        return None
    digits, decimals = written[coarse]
    longest = int(digits.max())
    if longest > _DOUBLE_DIGITS:
        return None
    same_decimals = (decimals == decimals.max()).mean()
    if same_decimals < _SAME_DECIMALS:
        if _SINGLE_DIGITS[0] <= longest <= _SINGLE_DIGITS[1] and _written_from_singles(samples[coarse]):
            return Precision("single")
        if (digits == longest).mean() > same_decimals:
            return Precision("digits", longest)
    return Precision("decimals", int(decimals.max()))


def _written_from_singles(values: NDArray) -> bool:
    """Whether each is what float32 values look like in text files."""
    return all(
        float(str(value)) == exact for value, exact in zip(values.astype(np.float32), values, strict=True)
    )
