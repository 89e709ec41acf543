"""Whether groups overlap in their covariates, and the weights that make them comparable where they do.

Overlap weights (Li, Morgan and Zaslavsky 2018): a row counts as far as rows with its covariates occur in all
groups. With a logistic model they make the means of the covariates the same in the groups, and they never
grow beyond one, however rare a row is among its like.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from princdiff.caught_warnings import warn_user
from princdiff.data.problem import Problem
from princdiff.labellings.covariates import covariate_terms, group_log_odds
from princdiff.labellings.units import Units

# Less than for labellings: means of covariates are to agree, and a bold guess of the odds does no harm.
_RIDGE = 0.02
# Share of a group's rows, and number of them, that it should be worth at equal covariates.
_LEAST_SHARE, _FEWEST = 0.2, 8


@dataclass(frozen=True)
class Overlap:
    """Units (rows, or whole blocks) of a design, and how likely each group is for them.

    Attributes
    ----------
    probabilities : array of shape (n_units, n_groups)
        Of each group given the covariates.
    codes : array of shape (n_units,), dtype uint8
        Observed groups.
    """

    probabilities: NDArray[np.float64]
    codes: NDArray[np.uint8]

    @classmethod
    def of(
        cls,
        table: NDArray[np.float64],
        codes: NDArray[np.uint8],
        strata: NDArray[np.intp] | None = None,
        weights: NDArray[np.float64] | None = None,
    ) -> Overlap:
        """From covariates; see `group_log_odds`."""
        odds = group_log_odds(covariate_terms(table), codes, strata, weights, _RIDGE)
        if strata is not None and strata.max() > 0:
            odds = odds + _stratum_odds(odds, codes, strata)
        return cls(softmax(odds, axis=1), codes)

    @property
    def weights(self) -> NDArray[np.float64]:
        """Overlap weights, shape (n_units,), at most one.

        Examples
        --------
        >>> Overlap(np.array([[0.9, 0.1], [0.5, 0.5]]), np.array([0, 1], dtype=np.uint8)).weights
        array([0.1, 0.5])
        """
        inverse = 1 / np.maximum(self.probabilities, 1e-12)
        return np.asarray(inverse[np.arange(len(self.codes)), self.codes] / inverse.sum(axis=1))

    def effective(self) -> NDArray[np.float64]:
        """How many units of each group there are at equal covariates (Kish), shape (n_groups,)."""
        n_groups = self.probabilities.shape[1]
        total = np.bincount(self.codes, self.weights, n_groups)
        return total**2 / np.maximum(np.bincount(self.codes, self.weights**2, n_groups), 1e-300)

    def apart(self) -> NDArray[np.bool_]:
        """Which pairs of groups the model tells apart without an error, shape (n_groups, n_groups)."""
        n_groups = self.probabilities.shape[1]
        found = np.zeros((n_groups, n_groups), dtype=bool)
        scores = np.log(np.maximum(self.probabilities, 1e-300))
        for one in range(n_groups):
            for other in range(one):
                gain = scores[:, one] - scores[:, other]
                clear = gain[self.codes == one].min() > gain[self.codes == other].max()
                found[one, other] = found[other, one] = clear
        return found


def _stratum_odds(
    odds: NDArray[np.float64], codes: NDArray[np.uint8], strata: NDArray[np.intp]
) -> NDArray[np.float64]:
    """What is added in every stratum so that its groups have their sizes, shape (n_units, n_groups)."""
    n_strata, n_groups = int(strata.max()) + 1, odds.shape[1]
    sizes = np.zeros((n_strata, n_groups))
    np.add.at(sizes, (strata, codes), 1.0)
    added = np.log(np.maximum(sizes, 1e-9))
    for _ in range(50):
        expected = np.zeros_like(sizes)
        np.add.at(expected, strata, softmax(odds + added[strata], axis=1))
        added += np.log(np.maximum(sizes, 1e-9) / np.maximum(expected, 1e-9))
    return added[strata]


def check_overlap(problem: Problem, covariates: NDArray[np.float64]) -> None:
    """An error where groups share no value of the covariates, a warning where they hardly do."""
    units = Units.of(problem.codes, problem.blocks, problem.permute)
    table, codes = units.averaged(covariates), units.codes_of(problem.codes)
    names, groups = problem.covariate_names, [str(name) for name in problem.classes]
    _refuse_disjoint(table, codes, names, groups)
    if units.strata.max() > 0:
        return
    found = Overlap.of(table, codes)
    apart = found.apart()
    if apart[np.triu_indices(len(groups), 1)].all():
        raise ValueError(
            f"the covariates ({_some(names)}) together determine the group of every row: groups cannot be "
            "compared at equal covariates; use fewer covariates"
        )
    alone = np.flatnonzero((apart | np.eye(len(groups), dtype=bool)).all(axis=1))
    if len(alone):
        warn_user(
            "the covariates determine which rows belong to "
            f"{_some([repr(groups[place]) for place in alone], ' and ')}: what sets such groups apart cannot "
            "be told from the effect of the covariates"
        )
        return
    sizes, worth = np.bincount(codes), found.effective()
    few = int(np.argmin(worth / sizes))
    if worth[few] < max(_LEAST_SHARE * sizes[few], min(_FEWEST, 0.5 * sizes[few])):
        moved = "rows" if units.of_row is None else "blocks"
        warn_user(
            f"the groups hardly overlap in the covariates ({_some(names)}): at equal covariates the "
            f"{sizes[few]} {moved} of {groups[few]!r} are worth {worth[few]:.0f}, so that little can be shown"
        )


def _refuse_disjoint(
    table: NDArray[np.float64], codes: NDArray[np.uint8], names: Sequence[str], groups: Sequence[str]
) -> None:
    """Groups that share no value of a covariate, even if there are only two of them."""
    if len(groups) != 2:
        return
    parts = [table[codes == group] for group in (0, 1)]
    low, high = (np.array([f(part, axis=0) for part in parts]) for f in (np.min, np.max))
    for place in np.flatnonzero((high[0] < low[1]) | (high[1] < low[0])).tolist():
        order = sorted((0, 1), key=lambda g: groups[g])
        spans = [f"{low[g][place]:.6g} to {high[g][place]:.6g} in {groups[g]!r}" for g in order]
        found = f"the groups do not overlap in the covariate {names[place]!r} ({' and '.join(spans)})"
        raise ValueError(
            f"{found}: no rows can be compared at equal values of it; leave it out, or compare a range that "
            "both groups have"
        )


def _some(names: Sequence[str], last: str = ", ") -> str:
    shown = list(names[:3])
    return last.join(shown) + (" and others" if len(names) > 3 else "")
