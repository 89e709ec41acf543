"""What a changed category looks like: two levels joined, one split, another name for one.

As with numbers this describes what differs already and promises nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from princdiff.findings import FaultKind

# Chance at most that a level with so many rows in one group has none in the other.
_BY_CHANCE = 1e-4
# Standard errors within which shares agree, and beyond which they do not.
_WITHIN = 3.0
# By how many levels are gone and how many are new.
_KINDS = {(1, 1): FaultKind.RENAMED, (2, 1): FaultKind.JOINED, (1, 2): FaultKind.SPLIT}


class LevelFault(NamedTuple):
    """What became of levels: kind of fault, and their names as in `Fault`."""

    kind: FaultKind
    levels: tuple[str, ...]


def fault_of_levels(names: Sequence[str], counts: ArrayLike) -> LevelFault | None:
    """What became of the levels of a category from one group to the next.

    Parameters
    ----------
    names : list of str of length n_levels
        Names of the levels.
    counts : array of shape (2, n_levels)
        Rows with each level, in the first group and in the second.

    Returns
    -------
    LevelFault or None
        Where a level of one group is not there in the other, and one other level has its rows.

    Examples
    --------
    >>> fault_of_levels(["basic", "gold", "silver"], [[150, 60, 90], [152, 0, 148]])
    LevelFault(kind=<FaultKind.JOINED: 'levels joined'>, levels=('gold', 'silver', 'silver'))
    >>> fault_of_levels(["F", "Female", "M"], [[0, 50, 50], [48, 0, 52]])
    LevelFault(kind=<FaultKind.RENAMED: 'level renamed'>, levels=('Female', 'F'))
    """
    table = np.asarray(counts, dtype=np.float64)
    lost, new = _absent(table), _absent(table[::-1])
    gone, come = [names[place] for place in lost.tolist()], [names[place] for place in new.tolist()]
    if (len(lost), len(new)) in _KINDS and _agree(table[:, [*lost, *new]].sum(axis=1), table):
        return LevelFault(_KINDS[len(lost), len(new)], (*gone, *come))
    if (len(lost), len(new)) == (1, 0):
        heir = _heir(table, int(lost[0]))
        return None if heir is None else LevelFault(FaultKind.JOINED, (*gone, names[heir], names[heir]))
    if (len(lost), len(new)) == (0, 1):
        heir = _heir(table[::-1], int(new[0]))
        return None if heir is None else LevelFault(FaultKind.SPLIT, (names[heir], *come))
    return None


def _absent(table: NDArray[np.float64]) -> NDArray[np.intp]:
    """Levels of the first group that the second lacks, and not by chance."""
    share = table[0].sum() / table.sum()
    return np.flatnonzero((table[1] == 0) & (share ** table[0] <= _BY_CHANCE))


def _heir(table: NDArray[np.float64], lost: int) -> int | None:
    """The only level that has, beside its own rows, those of one that was lost."""
    heirs = [
        place
        for place in range(table.shape[1])
        if place != lost
        and table[0, place] > 0
        and _agree(table[:, [lost, place]].sum(axis=1), table)
        and not _agree(table[:, place], table)
    ]
    return heirs[0] if len(heirs) == 1 else None


def _agree(counts: NDArray[np.float64], table: NDArray[np.float64]) -> bool:
    """Whether so many rows are the same part of both groups, within the error."""
    sizes = table.sum(axis=1)
    part = counts.sum() / sizes.sum()
    error = np.sqrt(part * (1 - part) * (1 / sizes).sum())
    return bool(abs(np.diff(counts / sizes)[0]) <= _WITHIN * error)
