"""What a permutation test works on: a problem, its relabellings, and their divergences over a grid."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

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
            rows = standardised_within(rows, problem.codes, problem.weights)
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


def standardised_within(
    rows: NDArray, codes: NDArray[np.uint8], weights: NDArray[np.float64] | None
) -> NDArray[np.float64]:
    """Rows with mean zero and unit variance in each observed group; constants become zero."""
    result = np.zeros(rows.shape)
    for group in np.unique(codes):
        members = codes == group
        part = Samples(
            rows[members], "pooled", weights=None if weights is None else weights[members], dtype=np.float64
        )
        result[members] = part.feature_columns(np.arange(rows.shape[1])).T
    return result
