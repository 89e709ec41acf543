"""Pairs that only seem to go together differently: a constant, or values that were filled in.

A pair is looked at once more before it is named. That can only take names away, so whatever is promised of
the names keeps holding.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import chdtrc

from princdiff.data.column_ranks import normal_quantiles
from princdiff.statistics.column_batches import column_of

# Rows of a group that are needed to know a correlation at all.
_FEWEST_ROWS = 10
# Level at which correlations must differ where both values were measured: one test, not one of many.
_LEVEL = 0.05


@dataclass(frozen=True)
class DoubtfulPairs:
    """Judges pairs once more.

    Attributes
    ----------
    rows : array or sparse matrix of shape (n_rows, n_features)
        Numbers.
    codes : array of shape (n_rows,)
        Group of each row.
    gaps : dict of int to int
        Features that were filled, and the 0/1 feature that marks where.
    plain : bool
        Whether rows are simply rows: with weights, blocks or covariates only constants are looked for.
    """

    rows: Any
    codes: NDArray[np.uint8]
    gaps: dict[int, int]
    plain: bool = True

    @classmethod
    def of(
        cls,
        rows: Any,
        codes: NDArray[np.uint8],
        units: Sequence[str],
        kinds: Sequence[str],
        *,
        plain: bool = True,
    ) -> DoubtfulPairs:
        """Of features that know their column and their kind."""
        marks = {unit: place for place, unit in enumerate(units) if kinds[place] == "missing"}
        filled = [place for place, unit in enumerate(units) if unit in marks and kinds[place] != "missing"]
        gaps = {place: marks[units[place]] for place in filled if kinds[place] != "level"}
        return cls(rows.tocsc() if sp.issparse(rows) else rows, codes, gaps, plain)

    def doubtful(self, first: int, second: int) -> bool:
        """Whether a pair must not be named.

        Examples
        --------
        >>> rng = np.random.default_rng(0)
        >>> rows, codes = rng.normal(size=(100, 2)), np.repeat([0, 1], 50).astype(np.uint8)
        >>> rows[:50, 1] = 7.0
        >>> DoubtfulPairs(rows, codes, {}).doubtful(0, 1)
        True
        """
        values = column_of(self.rows, first), column_of(self.rows, second)
        groups = [np.flatnonzero(self.codes == code) for code in range(int(self.codes.max()) + 1)]
        if _says_nothing(values, groups, 0):
            return True
        marks = [self.gaps[feature] for feature in (first, second) if feature in self.gaps]
        if not marks:
            return False
        measured = ~np.any([column_of(self.rows, mark) != 0 for mark in marks], axis=0)
        groups = [own[measured[own]] for own in groups]
        if _says_nothing(values, groups, _FEWEST_ROWS):
            return True
        return self.plain and _homogeneity(values, groups) > _LEVEL


_Two = tuple[NDArray[np.float64], NDArray[np.float64]]


def _says_nothing(values: _Two, groups: list[NDArray[np.intp]], fewest: int) -> bool:
    """Whether a group has too few rows, or one value only."""
    return any(len(own) < fewest or any(np.ptp(column[own]) == 0 for column in values) for own in groups)


def _homogeneity(values: _Two, groups: list[NDArray[np.intp]]) -> float:
    """P-value of equal correlations of normal scores in the groups (Fisher)."""
    z = []
    for own in groups:
        first, second = (normal_quantiles(column[own]) for column in values)
        z.append(np.arctanh(np.clip(np.corrcoef(first, second)[0, 1], -1 + 1e-9, 1 - 1e-9)))
    weight = np.array([len(own) - 3 for own in groups])
    away = np.array(z) - np.average(z, weights=weight)
    return float(chdtrc(len(groups) - 1, (weight * away**2).sum()))
