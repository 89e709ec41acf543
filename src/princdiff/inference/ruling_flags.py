"""A direction that rests on the noise of 0/1 columns: squared Wasserstein distance on tables of flags.

Between 0/1 samples the squared distance is the difference of proportions itself, with noise of order
n^(-1/2), while that of a continuous column is of order n^(-1). Divided by the variance p (1 - p), the rarest
column wins the direction, whatever else differs.
"""

from __future__ import annotations

import warnings

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from princdiff.data.problem import Problem
from princdiff.data.row_chunks import RowChunks

# Part of the direction's squared weights that makes what has them its ruler.
_RULES = 0.5
_NAMED = 3


def warn_of_ruling_flags(problem: Problem, direction: NDArray[np.float64]) -> None:
    """Warn where most of a direction's weight is on 0/1 columns whose proportions hardly differ.

    Parameters
    ----------
    problem : Problem
        Rows and groups.
    direction : array of shape (n_features,)
        Unit direction of the scaled features.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> rows = rng.normal(size=(400, 3))
    >>> rows[:, 2] = np.arange(400) < 2
    >>> problem = Problem.from_arrays(rows, np.arange(400) >= 200)
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn_of_ruling_flags(problem, np.array([0.0, 0.0, 1.0]))
    >>> str(caught[0].message)[:56]
    'the direction rests on 0/1 columns whose proportions har'
    """
    if isinstance(problem.rows, RowChunks):
        return
    used = np.flatnonzero(direction).tolist()
    doubtful = [feature for feature in used if _noisy_flag(problem, feature)]
    if (direction[doubtful] ** 2).sum() <= _RULES * (direction**2).sum():
        return
    first = sorted(doubtful, key=lambda feature: -abs(direction[feature]))[:_NAMED]
    names = ", ".join(repr(problem.names[feature]) for feature in first)
    warnings.warn(
        f"the direction rests on 0/1 columns whose proportions hardly differ ({names}): the squared "
        "Wasserstein distance lets the rarest of them rule; divergence='energy' suits flags too",
        UserWarning,
        stacklevel=3,
    )


def _noisy_flag(problem: Problem, feature: int) -> bool:
    """Whether a feature has two values, whose proportions differ by no more than chance among all gives."""
    column = problem.rows[:, [feature]]
    values = (column.toarray() if sp.issparse(column) else np.asarray(column)).ravel()
    low, high = values.min(), values.max()
    ones = values == high
    if low == high or not (ones | (values == low)).all():
        return False
    sizes = np.bincount(problem.codes)
    shares = np.bincount(problem.codes, weights=ones) / sizes
    overall = ones.mean()
    squares = (sizes * (shares - overall) ** 2).sum() / (overall * (1 - overall))
    # The best of so many columns by chance, and one standard error more.
    limit = (np.sqrt(2 * np.log(2 * problem.n_features)) + 1) ** 2
    return bool(squares <= limit + len(sizes) - 2)
