"""The levels of a column of categories, and the rule by which rare ones are pooled.

A level held by a handful of rows can show nothing on its own, and a column of thousands of levels would
become thousands of features. Such levels become one, "other levels". The rule looks at how often a level
occurs in all rows together, never at the groups: pooling by group would choose the features that differ, and
a test of them would no longer hold.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

MAX_LEVELS = 64
"""Levels of a column that have features of their own; the others are pooled."""

RARE_ROWS = 5
"""A level held by fewer rows is rare, in tables of 500 rows or more."""

RARE_SHARE = 0.01
"""In smaller tables: a level held by a smaller share of the rows."""

OTHER = "other levels"


@dataclass(frozen=True, eq=False)
class Levels:
    """A column of categories.

    Attributes
    ----------
    codes : array of shape (n_rows,)
        Positions in `names`; ``len(names)`` is one of the pooled levels, -1 a missing value.
    names : tuple of str
        Levels, in their order.
    ordered : bool
        Whether the order means something.
    pooled : int
        How many levels were pooled.
    """

    codes: NDArray[np.intp]
    names: tuple[str, ...]
    ordered: bool = False
    pooled: int = 0

    def take_rows(self, keep: NDArray) -> Levels:
        """Some of the rows."""
        return replace(self, codes=self.codes[keep])

    def compacted(self) -> Levels:
        """Only the levels that occur."""
        used = self.counts() > 0
        if used.all():
            return self
        # The last entry answers for code -1.
        renumbered = np.append(np.where(used, np.cumsum(used) - 1, -1), -1).astype(self.codes.dtype)
        names = tuple(name for name, occurs in zip(self.names, used, strict=True) if occurs)
        return replace(self, codes=renumbered[self.codes], names=names)

    def counts(self) -> NDArray[np.intp]:
        """Rows of each level."""
        return np.bincount(self.codes[self.codes >= 0], minlength=len(self.names))

    def rare_pooled(self) -> Levels:
        """Rare levels as one.

        Examples
        --------
        >>> codes = np.repeat([0, 1, 2, 3], [400, 200, 3, 2])
        >>> pooled = Levels(codes, ("a", "b", "c", "d")).rare_pooled()
        >>> pooled.names, pooled.pooled, np.bincount(pooled.codes)
        (('a', 'b'), 2, array([400, 200,   5]))
        """
        if self.ordered or not len(self.names):
            return self
        counts = self.counts()
        keep = counts >= min(RARE_ROWS, RARE_SHARE * counts.sum())
        # Of levels equally frequent the first by name, so that the order of rows and tables plays no part.
        by_frequency = sorted(range(len(counts)), key=lambda code: (-counts[code], self.names[code]))
        keep[by_frequency[MAX_LEVELS:]] = False
        gone = int((~keep).sum())
        if gone < 2:
            # One level alone gains nothing from another name.
            return self
        renumbered = np.append(np.where(keep, np.cumsum(keep) - 1, keep.sum()), -1).astype(self.codes.dtype)
        names = tuple(name for name, stays in zip(self.names, keep, strict=True) if stays)
        return replace(self, codes=renumbered[self.codes], names=names, pooled=gone)
