"""Several weighted groups of rows, prepared for the semidefinite relaxation: a sum over pairs of groups.

The divergence of several groups is the average of the squared distances of its pairs, weighted by the product
of their shares. Each pair has plans of its own, W is the average of theirs, and for any choice of plans no
direction exceeds the largest eigenvalue of W. Along a line the ranks give the optimal plans of all pairs, so
nothing is lost by choosing them pair by pair.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from princdiff.relaxation.two_groups import TwoGroups, coordinates, group_members

Array = npt.NDArray[Any]

__all__ = ["SeveralGroups", "prepared_groups"]


@dataclass(frozen=True)
class SeveralGroups:
    """All pairs of groups, in the same coordinates and the same unit.

    Attributes
    ----------
    pairs : tuple of (float, TwoGroups)
        What each pair counts, with sum one, and the pair.
    sizes : tuple of int
        Rows of each group.
    """

    pairs: tuple[tuple[float, TwoGroups], ...]
    sizes: tuple[int, ...]

    @property
    def _first(self) -> TwoGroups:
        return self.pairs[0][1]

    @property
    def dimension(self) -> int:
        """Number of coordinates in use."""
        return self._first.dimension

    @property
    def unit(self) -> float:
        """The global scale; squared distances are multiplied by its square to come back."""
        return self._first.unit

    @property
    def basis(self) -> Array | None:
        """Maps the coordinates used here to the data's; None for the identity."""
        return self._first.basis

    @property
    def n_cells(self) -> int:
        """Entries of the plans of all pairs."""
        return sum(pair.n_cells for _, pair in self.pairs)

    @property
    def assignments(self) -> bool:
        """Whether optimal plans match rows one to one in every pair."""
        return all(pair.assignments for _, pair in self.pairs)

    @cached_property
    def product_plan(self) -> Array:
        """W (p, p) of the plans under which the groups are independent."""
        # Pairs share their groups, whose covariances are needed once.
        groups: dict[int, list[Any]] = {}
        total = np.zeros((self.dimension, self.dimension))
        for share, pair in self.pairs:
            total += share * np.outer(pair.shift, pair.shift)
            for rows, weights in ((pair.x, pair.a), (pair.y, pair.b)):
                groups.setdefault(id(rows), [rows, weights, 0.0])[2] += share
        for rows, weights, share in groups.values():
            total += share * (rows.T * weights) @ rows
        return total

    def sample(self, count: int, rng: np.random.Generator) -> SeveralGroups:
        """The same problem on ``count`` random rows of each group, drawn anew for every pair."""
        pairs = tuple((share, pair.sample(count, rng)) for share, pair in self.pairs)
        return SeveralGroups(pairs, (count,) * len(self.sizes))

    @classmethod
    def from_rows(cls, X: Any, y: Any, sample_weight: Any = None) -> SeveralGroups:
        """Prepare pooled rows, which have been checked.

        Parameters
        ----------
        X : array or scipy sparse matrix of shape (N, d)
            Finite numbers. With more columns than rows they are rewritten in a basis of their span.
        y : array of shape (N,)
            Labels, two distinct values or more.
        sample_weight : array of shape (N,), optional
            Non-negative weights; rows of weight zero are left out.

        Examples
        --------
        >>> problem = SeveralGroups.from_rows(np.arange(8.0).reshape(4, 2), [0, 0, 1, 2])
        >>> [round(share, 2) for share, _ in problem.pairs]
        [0.4, 0.4, 0.2]
        """
        rows: Any = sparse.csr_array(X, dtype=np.float64) if sparse.issparse(X) else np.asarray(X, np.float64)
        members, weights = group_members(np.asarray(y), sample_weight)
        pooled, basis = coordinates(rows[np.concatenate(members)], True)
        groups = np.split(pooled, np.cumsum([len(own) for own in members])[:-1])
        mass = [float(own.sum()) for own in weights]
        weights = [own / own.sum() for own in weights]
        means = [own @ group for own, group in zip(weights, groups, strict=True)]
        groups = [group - mean for group, mean in zip(groups, means, strict=True)]
        spread = [float(np.sum(own @ group**2)) for own, group in zip(weights, groups, strict=True)]
        couples = list(combinations(range(len(groups)), 2))
        shares = np.array([mass[g] * mass[h] for g, h in couples])
        shares /= shares.sum()
        size = sum(
            share * (spread[g] + spread[h] + float(np.sum((means[g] - means[h]) ** 2)))
            for share, (g, h) in zip(shares, couples, strict=True)
        )
        unit = float(np.sqrt(size)) if size > 0 else 1.0
        groups = [group / unit for group in groups]
        pairs = tuple(
            (
                float(share),
                TwoGroups(
                    groups[g], groups[h], weights[g], weights[h], (means[g] - means[h]) / unit, unit,
                    rows.shape[1], None, basis,
                ),
            )
            for share, (g, h) in zip(shares, couples, strict=True)
        )  # fmt: skip
        return cls(pairs, tuple(len(own) for own in members))


def prepared_groups(X: Any, y: Any, sample_weight: Any = None) -> TwoGroups | SeveralGroups:
    """Pooled rows of as many groups as there are labels.

    Examples
    --------
    >>> type(prepared_groups(np.arange(8.0).reshape(4, 2), [0, 0, 1, 1])).__name__
    'TwoGroups'
    """
    several = len(np.unique(np.asarray(y))) > 2
    return (SeveralGroups if several else TwoGroups).from_rows(X, y, sample_weight)
