"""Values that count as equal: how near they must be, and the slope that tied rows share."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

# Part of a column's spread within which values tie.
_TIE_WIDTH = 2.0**-21
# Values looked at in a time.
_BLOCK = 1_000_000


class TieScale(NamedTuple):
    """How far apart values of a column must be, lest they count as tied.

    Rows that tie in exact arithmetic are split by rounding, differently with every order of summation. So
    values tie if they differ by a few units of rounding of what was added up to them: of their distance
    from the middle of the column, or of its spread if that is larger.

    Attributes
    ----------
    middle, spread : arrays of shape (n_columns, 1)
        Mean of the groups' medians, and the largest of their interquartile ranges.
    share : float
        Part of these within which values tie.
    """

    middle: NDArray
    spread: NDArray
    share: float

    @classmethod
    def of_groups(cls, groups: list[NDArray]) -> TieScale:
        """Of sorted groups, each of shape (n_columns, group size).

        Examples
        --------
        >>> TieScale.of_groups([np.array([[0.0, 1.0, 2.0, 9.0]])]).spread
        array([[1.]])
        """
        sizes = [group.shape[1] for group in groups]
        medians = [
            0.5 * (group[:, (n - 1) // 2] + group[:, n // 2]) for group, n in zip(groups, sizes, strict=True)
        ]
        ranges = [group[:, n - 1 - n // 4] - group[:, n // 4] for group, n in zip(groups, sizes, strict=True)]
        middle = np.add.reduce(medians) / len(groups)
        return cls(middle[:, None], np.maximum.reduce(ranges)[:, None], tie_share(sum(sizes)))

    def width(self, first: NDArray, second: NDArray) -> NDArray:
        """Largest difference of two values that counts as none, in their shape (n_columns, n)."""
        far = np.maximum(np.abs(first - self.middle), np.abs(second - self.middle))
        return np.maximum(far, self.spread) * far.dtype.type(self.share)

    def rises(self, ranked: NDArray) -> NDArray[np.bool_]:
        """Where sorted values, (n_columns, n), rise by more than rounding; the first of each row does."""
        result = np.ones(ranked.shape, dtype=bool)
        # Few at a time: of many rows each step would take as much memory as the values do.
        step = max(1, _BLOCK // len(ranked))
        for start in range(0, ranked.shape[1] - 1, step):
            stop = min(start + step, ranked.shape[1] - 1)
            before, after = ranked[:, start:stop], ranked[:, start + 1 : stop + 1]
            np.greater(after - before, self.width(before, after), out=result[:, start + 1 : stop + 1])
        return result


def tie_share(n_rows: int) -> float:
    """Part of a column's spread within which values tie.

    At most a hundredth of the average distance between rows, lest neighbours in very large samples be taken
    for ties.
    """
    return min(_TIE_WIDTH, 0.01 / n_rows)


def average_ties(slopes: NDArray, groups: list[NDArray], masses: NDArray[np.float64] | None = None) -> None:
    """Give the tied rows of a group their average slope, in place.

    Which tied row is matched with whom is a matter of chance, of the order of the rows. The average over
    all ways to match them is as good a slope as any of them, and the only one that treats equal rows
    alike.

    Parameters
    ----------
    slopes : array of shape (n_columns, n_labelled), C-contiguous
        Slopes of the sorted rows, group by group.
    groups : list of arrays of shape (n_columns, group size)
        The groups' values, sorted.
    masses : array of shape (n_columns, n_labelled), optional
        Weights of the rows; tied rows share their slope in proportion.

    Examples
    --------
    >>> slopes = np.array([[1.0, 3.0, 5.0]])
    >>> average_ties(slopes, [np.array([[0.0, 0.0]]), np.array([[0.0]])])
    >>> slopes
    array([[2., 2., 5.]])
    """
    scale = TieScale.of_groups(groups)
    fresh = np.concatenate([scale.rises(group) for group in groups], axis=1)
    if fresh.all():
        return
    tied = ~fresh
    tied[:, :-1] |= ~fresh[:, 1:]
    members = np.flatnonzero(tied)
    starts = np.flatnonzero(fresh.reshape(-1)[members])
    lengths = np.diff(starts, append=len(members))
    flat = slopes.reshape(-1)
    totals = np.add.reduceat(flat[members], starts, dtype=np.float64)
    if masses is None:
        flat[members] = np.repeat(totals / lengths, lengths)
        return
    own = masses.reshape(-1)[members]
    mass = np.add.reduceat(own, starts)
    shares = np.divide(totals, mass, out=np.zeros_like(totals), where=mass > 0)
    flat[members] = own * np.repeat(shares, lengths)
