"""What a permutation test works on: a problem, its relabellings, and their divergences over a grid."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from princdiff.data.column_ranks import normal_quantiles
from princdiff.data.labels import Labels
from princdiff.data.problem import Problem
from princdiff.data.samples import Samples
from princdiff.divergences import Divergence
from princdiff.labellings.covariates import with_unexplained_rows
from princdiff.labellings.schemes import Scheme, scheme_of
from princdiff.statistics.direction_grid import Grid, solve_grid
from princdiff.statistics.tuning import held_out_by_level


@dataclass(frozen=True)
class Labellings:
    """A problem and its relabellings, and what the solver says of them."""

    problem: Problem
    samples: Samples
    scheme: Scheme
    seed: int

    @classmethod
    def of(cls, problem: Problem, n_permutations: int, seed: int) -> Labellings:
        """The observed labelling and random ones; rows without what covariates explain."""
        problem = with_unexplained_rows(problem.with_ranked_groups.ordered)
        scheme = scheme_of(problem, n_permutations, seed)
        samples = problem.samples
        if problem.scale == "within":
            rows = problem.dense_rows('scale="within"')
            rows = normal_scores_within(rows, problem.codes, seed)
            samples = Samples(rows, problem.scale, weights=problem.weights)
        return cls(problem, samples, scheme, seed)

    @property
    def codes(self) -> NDArray[np.uint8]:
        """Observed groups."""
        return self.problem.codes

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return self.problem.n_groups

    @property
    def weights(self) -> NDArray[np.float64] | None:
        """Row weights."""
        return self.problem.weights

    @property
    def divergence(self) -> Divergence:
        """What is compared."""
        return self.problem.divergence

    def labels(self, indices: NDArray[np.intp], packed: bool = False) -> Labels:
        """Labellings with the given numbers, a byte a row or, of two groups, a bit."""
        kept = self.scheme.bits if packed else None
        codes = self.scheme.codes(indices) if kept is None else kept.packed(indices)
        return Labels(codes, self.n_groups, weights=self.weights)

    def values(
        self, grid: Grid, whitened: Samples | None, indices: NDArray[np.intp], keep: bool | str
    ) -> tuple[NDArray, NDArray | None]:
        """Divergences of some labellings over the grid, and their directions if wanted."""
        path = solve_grid(self.samples, self.labels(indices), self.divergence, grid, self.seed, whitened)
        # Relative divergences have no unit; the others are in that of the scaled features.
        unit = self.samples.unit**self.divergence.degree
        units = np.repeat([unit, 1.0], [len(grid.euclidean), len(grid.whitened)])
        if not keep:
            return path.values * units, None
        # The largest level ends the plain metric's; a grid without that metric has one level.
        wanted = slice(None) if keep is True else slice(len(grid.euclidean) - 1, len(grid.euclidean) or None)
        return path.values * units, path.directions[:, wanted]

    def paper_values(
        self, grid: Grid, whitened: Samples | None, indices: NDArray[np.intp], keep: bool | str
    ) -> tuple[NDArray, NDArray | None]:
        """As `values`, with a last column: the number of the level that cross-validation chooses."""
        values, directions = self.values(grid, whitened, indices, keep)
        held_out = held_out_by_level(
            self.samples, self.labels(indices), self.divergence, np.array(grid.euclidean), self.seed
        )
        return np.column_stack([values, held_out.argmax(axis=1)]), directions


def normal_scores_within(rows: NDArray, codes: NDArray[np.uint8], seed: int) -> NDArray[np.float64]:
    """Rows in which no feature differs on its own: normal scores of ranks in each observed group.

    Every feature has the same distribution in all groups then, whatever it was before, so that relationships
    between features alone may differ. Equal values are ranked at random: shared ranks would leave a trace of
    how often values tie. Constants become zero.

    Parameters
    ----------
    rows : array of shape (n_rows, n_features)
        Numbers.
    codes : array of shape (n_rows,)
        Observed groups.
    seed : int
        For the order of equal values.

    Returns
    -------
    array of shape (n_rows, n_features)

    Examples
    --------
    >>> rows = np.array([[1.0], [2.0], [4.0], [30.0], [10.0], [20.0]])
    >>> normal_scores_within(rows, np.array([0, 0, 0, 1, 1, 1]), 0).ravel().round(2)
    array([-0.97,  0.  ,  0.97,  0.97, -0.97,  0.  ])
    """
    rng = np.random.default_rng(seed)
    result = np.zeros(rows.shape)
    members = [np.flatnonzero(codes == group) for group in np.unique(codes)]
    for place in np.flatnonzero(np.ptp(rows, axis=0) > 0):
        ties = rng.random(len(rows))
        order = np.lexsort([ties, rows[:, place]])
        rank = np.empty(len(rows))
        rank[order] = np.arange(len(rows))
        for own in members:
            result[own, place] = normal_quantiles(rank[own])
    return result
