"""What a permutation test works on: a problem and its relabellings."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from princdiff.data.column_ranks import normal_quantiles
from princdiff.data.labels import Labels
from princdiff.data.problem import Problem
from princdiff.data.samples import Samples
from princdiff.labellings.covariates import with_unexplained_rows
from princdiff.labellings.schemes import Scheme, scheme_of


@dataclass(frozen=True)
class Labellings:
    """A problem and its relabellings; ``samples`` are its rows, or with the scale "within" their ranks."""

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

    def labels(self, indices: NDArray[np.intp], packed: bool = False) -> Labels:
        """Labellings with the given numbers, a byte a row or, of two groups, a bit."""
        kept = self.scheme.bits if packed else None
        codes = self.scheme.codes(indices) if kept is None else kept.packed(indices)
        return Labels(codes, self.problem.n_groups, weights=self.problem.weights)


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
