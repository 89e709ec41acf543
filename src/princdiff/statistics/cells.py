"""What an adaptive test looks at: cells, how they compete, and words for the one that leads.

A cell is one statistic, computed for every labelling alike. Its values over all labellings become comparable
scores (`scores`), about -log of a p-value, and a labelling's statistic adds up the inverse p-values of its
cells, so that the clearest cell rules and others that agree with it help. A cell by which columns are named
also has a part of the error of its own (`overall`): what it shows clearly, all the others together must not
hide. *Anything* may be a cell: the p-value stays exact, since the observed labelling is one of many that are
treated alike.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from princdiff.labellings.pvalues import ranks_from_above

Family = Literal[
    "direction",
    "column",
    "columns",
    "total",
    "pair",
    "bend",
    "given",
    "kernel",
    "length",
    "covariance",
    "learner",
]
SINGLE = ("single features", 1)


@dataclass(frozen=True)
class Cell:
    """One statistic of an adaptive test.

    Attributes
    ----------
    family : str
        What kind of difference it sees: "direction", "column" (one column alone), "columns" (many a
        little), "total" (many a little, mostly the same way), "pair" (the dependence of two), "bend" (the
        same in bends and waves), "given" (one
        column with all others held fixed), "kernel", "length" (of rows: overall spread), "covariance" (as a
        whole) or "learner".
    name : str
        Short and unique.
    metric : str
        Of directions "euclidean" or "whitened"; of other cells what they are computed on.
    level : int
        Features of a direction at most; 0 for other cells.
    weight : float
        Weight of its inverse p-value.
    detail : str
        What sets it apart from other cells that see the same kind of difference.
    share : float
        Part of the error that is its own, whatever other cells say.

    Examples
    --------
    >>> Cell("direction", "euclidean 3", "euclidean", 3).sentence
    'one direction of at most 3 features'
    >>> Cell("column", "one mean", detail="by its mean").words
    'one column alone, by its mean'
    """

    family: Family
    name: str
    metric: str = "scaled"
    level: int = 0
    weight: float = 1.0
    detail: str = ""
    share: float = 0.0

    @property
    def key(self) -> tuple[str, int]:
        """Metric and number of features of a direction; name and number of other cells."""
        if self.family == "direction":
            return self.metric, self.level
        return SINGLE if self.name == "one column" else (self.name, 0)

    @property
    def complexity(self) -> int:
        """How much there is to say: cells of a lower number are named first."""
        if self.family == "direction":
            return 3 if self.level <= _FEW else 5
        if self.family == "kernel":
            return 9 if "local" in self.name else 6
        return _COMPLEXITY[self.family]

    @property
    def sentence(self) -> str:
        """In what the groups differ, where this cell leads."""
        if self.family == "direction":
            features = "1 feature" if self.level == 1 else f"at most {self.level} features"
            relative = ", relative to the variance along it" if self.metric == "whitened" else ""
            return f"one direction of {features}{relative}"
        if self.family == "kernel":
            return "local structure" if "local" in self.name else "many features together"
        return _SENTENCES[self.family]

    @property
    def words(self) -> str:
        """What it looks at, in words that no other cell of a test has."""
        return f"{self.sentence}, {self.detail}" if self.detail else self.sentence


# Weight of the sum of all inverse numbers where the smallest are equal: more than a tie may differ by
# (`pvalues.tie_tolerance`), and less than two ranks of some thousand labellings differ.
_TIE_BREAK = 1e-3
# Scores (-log of p-values) that are about the same.
_NEAR = 2.0
# Features of a direction that can be named one by one.
_FEW = 10
_COMPLEXITY = {
    "column": 0,
    "pair": 1,
    "bend": 6,
    "total": 4,
    "given": 4,
    "columns": 4,
    "length": 7,
    "covariance": 8,
    "learner": 10,
}
_SENTENCES = {
    "column": "one column alone",
    "columns": "many features a little",
    "total": "the sum of all features",
    "pair": "the dependence of two features",
    "bend": "how two features go together, in bends or waves",
    "given": "one feature, given all others",
    "length": "overall spread",
    "covariance": "the covariances as a whole",
    "learner": "a rule that a random forest has learned",
}


def tempered(scores: NDArray[np.float32]) -> NDArray[np.float32]:
    """Scores that grow like their logarithm beyond what the number of labellings supports.

    The law behind a score is fitted to as many values as there are labellings. What it says of a chance
    far below one over their number is a guess, and with few labellings often a wild one: in one cell of one
    relabelling it could drown a clear difference in all others.

    Parameters
    ----------
    scores : array of shape (n_labellings, n_cells)

    Returns
    -------
    array of shape (n_labellings, n_cells)

    Examples
    --------
    >>> tempered(np.array([[1.0], [1.0], [50.0]])).round(2).ravel()
    array([1.  , 1.  , 5.99])
    """
    supported = scores.dtype.type(np.log(len(scores)) + 1.0)
    beyond = np.maximum(scores - supported, 0)
    return np.minimum(scores, supported) + np.log1p(beyond)


def combined(scores: NDArray[np.float32], cells: list[Cell]) -> NDArray[np.float64]:
    """One statistic of every labelling: the log of the weighted mean of the cells' inverse p-values.

    Parameters
    ----------
    scores : array of shape (n_labellings, n_cells)
        Comparable scores.
    cells : list of Cell
        Their weights.

    Returns
    -------
    array of shape (n_labellings,)

    Examples
    --------
    >>> cells = [Cell("length", "lengths"), Cell("pair", "pairs")]
    >>> combined(np.log(np.array([[4.0, 2.0], [1.0, 1.0]])), cells)
    array([1.09861229, 0.        ])
    """
    weights = np.array([cell.weight for cell in cells])
    return np.logaddexp.reduce(scores.astype(np.float64) + np.log(weights / weights.sum()), axis=1)


def overall(values: NDArray, scores: NDArray[np.float32], cells: list[Cell]) -> NDArray[np.float64]:
    """One statistic of every labelling, in which cells with a share of their own cannot be outvoted.

    A labelling's rank in such a cell, from above, over the cell's share, is compared with its rank in what
    all cells say together, over the rest: the smaller decides. So the p-value is at most that of the cell
    alone over its share, and at most that of all cells together over the rest.

    Parameters
    ----------
    values : array of shape (n_labellings, n_cells)
        Statistics.
    scores : array of shape (n_labellings, n_cells)
        Their comparable scores.
    cells : list of Cell
        Their weights and shares, which depend on no labels.

    Returns
    -------
    array of shape (n_labellings,)
        -log of that smaller number; what the sum of the inverse numbers says decides between equal ones.

    Examples
    --------
    >>> cells = [Cell("column", "one column", share=0.25), Cell("pair", "pairs")]
    >>> values = np.array([[9.0, 1.0], [1.0, 6.0], [2.0, 3.0], [3.0, 2.0]])
    >>> overall(values, values, cells).argsort()[::-1]
    array([0, 1, 3, 2])
    """
    parts, shares = parts_of_error(values, scores, cells)
    if len(shares) == 1:
        return parts[:, 0]
    inverse = shares / ranks_from_above(parts)
    return np.log(inverse.max(axis=1)) + _TIE_BREAK * np.log(inverse.sum(axis=1))


def parts_of_error(
    values: NDArray, scores: NDArray[np.float32], cells: list[Cell]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """What has a part of the error: cells with a share of their own, and last what all cells say together.

    Returns
    -------
    statistics : array of shape (n_labellings, n_parts)
    shares : array of shape (n_parts,)
        They sum to one.
    """
    own = [place for place, cell in enumerate(cells) if cell.share > 0]
    shares = np.array([cells[place].share for place in own])
    statistics = np.column_stack([values[:, own], combined(scores, cells)])
    return statistics, np.append(shares, 1 - shares.sum())


def leading_cell(
    scores: NDArray[np.float32], pvalues: NDArray[np.float64], cells: list[Cell], n_labellings: int
) -> int:
    """The cell that says most simply in what the observed labelling stands out.

    Of all cells that stand out about as clearly as any (as few relabellings reach them, give or take one,
    and their scores are near) the simplest: a shift of one column makes a direction, a kernel and a forest
    stand out as well.

    Parameters
    ----------
    scores : array of shape (n_cells,)
        Of the observed labelling, tempered.
    pvalues : array of shape (n_cells,)
        Of each cell alone.
    cells : list of Cell
        What was looked at.
    n_labellings : int
        The observed one included.

    Returns
    -------
    int
    """
    clear = np.flatnonzero(pvalues <= pvalues.min() + 1.5 / n_labellings)
    clear = clear[scores[clear] >= scores[clear].max() - _NEAR]
    return int(min(clear, key=lambda place: (cells[place].complexity, -scores[place])))
