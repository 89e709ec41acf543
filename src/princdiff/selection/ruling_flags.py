"""A direction that rests on the noise of 0/1 columns: squared Wasserstein distance on tables of flags.

Between 0/1 samples the squared distance is the difference of proportions itself, with noise of order
n^(-1/2), while that of a continuous column is of order n^(-1). Divided by the variance p (1 - p), the rarest
column wins the direction, whatever else differs.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from princdiff.caught_warnings import warn_user
from princdiff.data.problem import Problem
from princdiff.data.row_chunks import RowChunks

# Part of the direction's squared weights that makes what has them its ruler.
_RULES = 0.5
_NAMED = 3
# Cells of the table that are looked at together: columns of sparse rows are dear one by one.
_CELLS_AT_ONCE = 1 << 20


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
    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn_of_ruling_flags(problem, np.array([0.0, 0.0, 1.0]))
    >>> str(caught[0].message)[:56]
    'the direction rests on 0/1 columns whose proportions har'
    """
    if isinstance(problem.rows, RowChunks):
        return
    squares = direction**2
    by_weight = np.argsort(-squares, kind="stable")[: np.count_nonzero(squares)]
    at_once = max(1, _CELLS_AT_ONCE // problem.rows.shape[0])
    needed, clear, doubtful = _RULES * squares.sum(), 0.0, np.empty(0, dtype=np.intp)
    for begin in range(0, len(by_weight), at_once):
        features = by_weight[begin : begin + at_once]
        noisy = _noisy_flags(problem, features)
        doubtful = np.append(doubtful, features[noisy])
        clear += squares[features[~noisy]].sum()
        # Most columns of a dense direction need not be looked at.
        if squares[doubtful].sum() > needed or clear >= squares.sum() - needed:
            break
    if squares[doubtful].sum() <= needed:
        return
    names = ", ".join(repr(problem.names[feature]) for feature in doubtful[:_NAMED])
    warn_user(
        f"the direction rests on 0/1 columns whose proportions hardly differ ({names}): the squared "
        "Wasserstein distance is dominated by the rarest of them; divergence='energy' suits flags too"
    )


def _noisy_flags(problem: Problem, features: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Which features have two values, whose proportions differ by no more than chance among all gives."""
    columns = problem.rows[:, features]
    values = columns.toarray() if sp.issparse(columns) else np.asarray(columns)
    low, high = values.min(axis=0), values.max(axis=0)
    ones = values == high
    flags = (low < high) & (ones | (values == low)).all(axis=0)
    noisy = np.zeros(len(features), dtype=bool)
    if not flags.any():
        return noisy
    ones = ones[:, flags]
    sizes = np.bincount(problem.codes)
    members = np.equal.outer(np.arange(len(sizes)), problem.codes)
    shares = (members.astype(np.float64) @ ones) / sizes[:, None]
    overall = ones.mean(axis=0)
    squares = (sizes[:, None] * (shares - overall) ** 2).sum(axis=0) / (overall * (1 - overall))
    # The best of so many columns by chance, and one standard error more.
    limit = (np.sqrt(2 * np.log(2 * problem.n_features)) + 1) ** 2
    noisy[flags] = squares <= limit + len(sizes) - 2
    return noisy
