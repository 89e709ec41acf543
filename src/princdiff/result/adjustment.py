"""Rows weighted so that groups are alike in the covariates, and how alike they are then."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from princdiff.data.problem import Problem
from princdiff.labellings.overlap import Overlap
from princdiff.labellings.units import Units


def adjusting_weights(problem: Problem) -> NDArray[np.float64]:
    """Overlap weights of the rows, times their own, with mean one, shape (n_rows,).

    With them means, quantiles and distances are those of groups that have the same covariates.

    Examples
    --------
    >>> from princdiff.data.problem import Design
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 200)
    >>> age = rng.normal(size=400) + y
    >>> weights = adjusting_weights(Problem.from_arrays(age[:, None], y, design=Design(covariates=age)))
    >>> means = [np.average(age[y == group], weights=weights[y == group]) for group in (0, 1)]
    >>> bool(abs(means[1] - means[0]) < 0.02)
    True
    """
    assert problem.covariates is not None
    units = Units.of(problem.codes, problem.blocks, problem.permute)
    table, codes = units.averaged(problem.covariates), units.codes_of(problem.codes)
    weights = Overlap.of(table, codes, units.strata).weights
    weights = weights if units.of_row is None else weights[units.of_row]
    weights = weights if problem.weights is None else weights * problem.weights
    return weights / weights.mean()


def balance_of(problem: Problem, weights: NDArray[np.float64]) -> pd.DataFrame:
    """Each covariate in the groups, as it is and with the weights.

    Parameters
    ----------
    problem : Problem
        With covariates.
    weights : array of shape (n_rows,)
        Of `adjusting_weights`.

    Returns
    -------
    DataFrame
        Columns covariate, before and after (standardised mean differences, of several groups between the two
        that are farthest apart), then the means of the groups before and after.
    """
    assert problem.covariates is not None
    own = np.ones(problem.n_rows) if problem.weights is None else problem.weights
    members = [problem.codes == group for group in range(problem.n_groups)]
    spread = np.sqrt(np.mean([_moments(problem.covariates, own, rows)[1] for rows in members], axis=0))
    found: dict[str, Any] = {"covariate": list(problem.covariate_names)}
    means: dict[str, Any] = {}
    for when, mass in (("before", own), ("after", weights)):
        of_groups = np.array([_moments(problem.covariates, mass, rows)[0] for rows in members])
        farthest = np.ptp(of_groups, axis=0)
        apart = of_groups[1] - of_groups[0] if len(members) == 2 else farthest
        found[when] = np.where(spread > 0, apart / np.where(spread > 0, spread, 1.0), 0.0)
        means |= {f"mean {name} {when}": of_groups[g] for g, name in enumerate(problem.classes)}
    return pd.DataFrame({**found, **means})


def _moments(
    table: NDArray[np.float64], mass: NDArray[np.float64], rows: NDArray[np.bool_]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    mean = np.average(table[rows], axis=0, weights=mass[rows])
    return mean, np.average((table[rows] - mean) ** 2, axis=0, weights=mass[rows])
