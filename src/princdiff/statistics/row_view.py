"""Rows as distances between them see them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from princdiff.data.problem import Problem
from princdiff.data.samples import Samples

# A 0/1 feature counts in distances as if it had at least this standard deviation.
_LEAST_SPREAD = 0.25


@dataclass(frozen=True)
class RowView:
    """Rows as distances see them: scaled, and each feature times a factor.

    Attributes
    ----------
    samples : Samples
        Scaled rows, dense or sparse.
    factors : array of shape (n_features,)
        What a scaled feature counts in a distance.
    """

    samples: Samples
    factors: NDArray[np.float32]

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.samples.n_rows

    def project(self, directions: NDArray[np.float32]) -> NDArray[np.float32]:
        """Rows on directions: (n_features, count) to (n_rows, count)."""
        return self.samples.project((directions * self.factors[:, None]).T).T

    @cached_property
    def dense(self) -> NDArray[np.float32]:
        """All rows, shape (n_rows, n_features)."""
        return _all_columns(self.samples) * self.factors

    def some(self, index: NDArray[np.intp]) -> NDArray[np.float64]:
        """Some rows (ascending numbers), shape (len(index), n_features)."""
        return _all_columns(self.samples.take_rows(index)).astype(np.float64) * self.factors


def _all_columns(samples: Samples) -> NDArray[np.float32]:
    columns = samples.feature_columns(np.arange(samples.n_features))
    return np.ascontiguousarray(columns.T, dtype=np.float32)


def distance_factors(problem: Problem) -> NDArray[np.float64]:
    """What each scaled feature counts in a distance between rows, shape (n_features,).

    The levels of one category count together as one column of unit variance, and a rare flag does not
    outweigh everything else.

    Examples
    --------
    >>> rare = np.zeros((400, 2))
    >>> rare[:, 0] = np.arange(400)
    >>> rare[:4, 1] = 1
    >>> problem = Problem.from_arrays(rare, np.arange(400) % 2)
    >>> distance_factors(problem).round(2)
    array([1. , 0.4])
    """
    factors = np.ones(problem.n_features)
    if problem.scale is None:
        return factors
    deviation = problem.samples.deviation
    kinds, units = np.array(problem.kinds), np.array(problem.units, dtype=str)
    for unit in np.unique(units[kinds == "level"]):
        members = (units == unit) & (kinds == "level")
        total = np.sqrt((deviation[members] ** 2).sum())
        factors[members] = deviation[members] / max(total, _LEAST_SPREAD)
    flags = np.flatnonzero(np.isin(kinds, ("flag", "missing")))
    # Of zeros and ones the deviation itself; other values are as far apart as they happen to be.
    spread = deviation[flags] / 2 / _half_distances(problem.rows, flags)
    factors[flags] = spread / np.maximum(spread, _LEAST_SPREAD)
    return factors


def _half_distances(rows: Any, flags: NDArray[np.intp]) -> NDArray[np.float64]:
    """Half of how far the two values of each flag are apart; 1 where there is one value only."""
    if not len(flags):
        return np.empty(0)
    own = rows[:, flags]
    if sp.issparse(own):
        low, high = (bound.toarray().ravel() for bound in (own.min(axis=0), own.max(axis=0)))
    else:
        low, high = own.min(axis=0), own.max(axis=0)
    # By halves: the distance of numbers of any size can be represented.
    apart = high.astype(np.float64) / 2 - low.astype(np.float64) / 2
    return np.where(apart > 0, apart, 1.0)
