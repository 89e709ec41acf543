"""How the cells of an adaptive test compete, and which of them leads.

A labelling's statistic adds up the inverse p-values of its cells, so that the clearest cell rules and others
that agree with it help. A cell by which columns are named also has a part of the error of its own
(`overall`): what it shows clearly, all the others together must not hide.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from princdiff.labellings.pvalues import ranks_from_above
from princdiff.statistics.protocol import Cell

# Weight of the sum of all inverse numbers where the smallest are equal: more than a tie may differ by
# (`pvalues.tie_tolerance`), and less than two ranks of some thousand labellings differ.
_TIE_BREAK = 1e-3
# Scores (-log of p-values) that are about the same.
_NEAR = 2.0


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
    and their scores are near) the simplest: a shift of one column makes a direction and a kernel
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
