"""What `compare` chooses where the user did not: which divergence suits the columns, what is worth its time.

Choices are functions of sizes and kinds that a test can call. Each limit is a number of elementary
steps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from princdiff.data.row_chunks import RowChunks
from princdiff.divergences import Divergence, get

AFFORDABLE_STABILITY = 10**5
"""Numbers (rows x features) up to which half-samples are refitted to see which features stay."""

MOST_STABILITY_FEATURES = 2000
MOST_DISTRIBUTIONS = 300
HASTY_SELECTION_PERMUTATIONS = 199
"""Relabellings by which columns are named where a time budget is used up: with fewer some never could be.

Random halves of diamonds and bank, 1000 + 1000 rows: a column has an adjusted p-value below 0.05 in
5.5 of 100 draws with 499 of them, in 7.5 with 199.
"""


def worth_stability(shape: tuple[int, int], smallest_group: int) -> bool:
    """Whether the stability of the direction's features is looked at.

    Examples
    --------
    >>> worth_stability((569, 30), 212), worth_stability((100_000, 30), 50_000)
    (True, False)
    """
    n_rows, n_features = shape
    return (
        n_rows * n_features <= AFFORDABLE_STABILITY
        and n_features <= MOST_STABILITY_FEATURES
        and smallest_group >= 4
    )


TIME_SHARES = {
    "fitting": 0.25,
    "testing": 0.65,
    "selecting": 0.78,
    "rest": 0.83,
    "stability": 0.86,
    "effect": 0.97,
}
"""Part of a time budget after which each step has to be done.

Of ten seconds, 8.2 were used on 3 against 100 000 rows, 9.6 on a million rows of 10 columns, 10.2 on
50 groups.
"""

FEWER_ROWS = 30
"""Where a test does not fit into its time, it is made on fewer rows, by this factor."""

LONG = 60.0
"""Seconds from which the user is informed how long something takes."""


SEARCHED_ROWS = 4000
"""Rows on which a comparison searches first; what is found is judged and improved on all of them."""


def searched_rows(shape: tuple[int, int]) -> int | str:
    """Rows of the first search for a direction, as ``subsample`` of the estimators.

    Examples
    --------
    >>> searched_rows((569, 30)), searched_rows((50_000, 30))
    ('auto', 4000)
    """
    n_rows, n_features = shape
    wanted = max(SEARCHED_ROWS, 30 * n_features)
    return wanted if n_rows > 2 * wanted else "auto"


MANY_NUMBERS = 10**7
"""Numbers (rows x features) from which a comparison searches with the smallest effort.

140 000 x 197: the same direction in 7.3 s of processor in place of 10.3.
"""


def effort(shape: tuple[int, int]) -> str:
    """Effort of the search for a direction: where rows are many, all of them settle what is found.

    Examples
    --------
    >>> effort((569, 30)), effort((140_000, 197))
    ('default', 'fast')
    """
    return "fast" if shape[0] * shape[1] > MANY_NUMBERS else "default"


# Rows that are looked at to see whether a feature takes few values, and what counts as few. A value that a
# quarter of all rows has is seen in 2000 of them 500 times, give or take 20.
_SEEN_ROWS = 2000
_FEW_VALUES, _TIED_SHARE = 10, 0.25


def choose_divergence(
    asked: str | Divergence | Callable, rows: Any, kinds: Sequence[str]
) -> tuple[Divergence, str]:
    """The divergence that suits the columns, and why.

    Parameters
    ----------
    asked : str, Divergence or callable
        What the user asked for; "auto": squared Wasserstein distance where all features are continuous,
        energy distance where some take few values.
    rows : array, sparse matrix or RowChunks of shape (n_rows, n_features)
        The features.
    kinds : sequence of {"number", "flag", "level", "missing"}
        What each feature is.

    Returns
    -------
    divergence : Divergence
    why : str
        A sentence; empty where the user chose.

    Examples
    --------
    >>> choose_divergence("auto", np.arange(40.0).reshape(20, 2), ["number", "number"])[0].name
    'wasserstein2'
    >>> choose_divergence("auto", np.eye(4), ["flag"] * 4)[0].name
    'energy'
    """
    if not (isinstance(asked, str) and asked == "auto"):
        return get(asked), ""
    if any(kind != "number" for kind in kinds):
        found = "flags or categories"
    elif stepped := _stepped_features(rows):
        found = f"{'a column' if stepped == 1 else f'{stepped} columns'} of few different values"
    else:
        return get("wasserstein2"), (
            "Distance: squared Wasserstein, because all columns are continuous numbers."
        )
    return get("energy"), (
        f"Distance: energy, because the table has {found}, of which the rarest would dominate the squared "
        "Wasserstein distance."
    )


def _stepped_features(rows: Any) -> int:
    """How many features take few values, or one value in many rows."""
    if isinstance(rows, RowChunks):
        rows = rows.take(np.unique(np.linspace(0, rows.shape[0] - 1, _SEEN_ROWS).astype(np.intp)))
    step = max(1, rows.shape[0] // _SEEN_ROWS)
    seen = rows[::step]
    if sp.issparse(seen):
        # Most entries of a sparse matrix are zero, and so tie.
        counts = np.diff(seen.tocsc().indptr)
        return int((counts < (1 - _TIED_SHARE) * seen.shape[0]).sum())
    ranked = np.sort(np.asarray(seen), axis=0)
    fresh = np.ones(ranked.shape, dtype=bool)
    fresh[1:] = ranked[1:] != ranked[:-1]
    values = fresh.sum(axis=0)
    few = values <= min(_FEW_VALUES, seen.shape[0] - 1)
    tied = _longest_runs(fresh) > _TIED_SHARE * seen.shape[0]
    # A constant cannot differ, whatever compares it.
    return int(((few | tied) & (values > 1)).sum())


def _longest_runs(fresh: np.ndarray) -> np.ndarray:
    """Length of the longest run of equal values in each column."""
    position = np.arange(len(fresh))[:, None]
    start = np.maximum.accumulate(np.where(fresh, position, 0), axis=0)
    return (position - start + 1).max(axis=0)
