"""Pairs of columns that go together differently: in their correlation, or in bends, waves and rings.

A correlation sees what rises together. For the rest the ranks of a column go through cosines, of one half
wave, two, and so on, and groups are compared in the means of all products of a cosine of one column with one
of another: a smooth function of two columns is a sum of such products. Means over rows are sums, so that all
labellings cost one matrix product.

Where rows are normal scores of ranks within the observed groups, pairs are all that is looked at beside
directions: nothing of what single columns do is left.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from princdiff.statistics.alone import numbered
from princdiff.statistics.contrasts import Contrasts
from princdiff.statistics.protocol import CellValues, Family
from princdiff.statistics.scores import gamma_scores
from princdiff.statistics.tested_rows import TestedRows

PAIR = Family("pair", "the dependence of two features", 1)
_BEND = Family("bend", "how two features go together, in bends or waves", 6)
# Weight of pairs in bends and waves. Of 40 tables a sine curve is found in .90 and .93 with .5 and 1, without
# in .17. More was not shown to be better: with 3 for few columns a checkerboard is found in 28 and not 27 of
# 30 tables.
_SMOOTH_WEIGHT = 1.0
# Weights beside the directions alone, of which there are about five, and the share of the error that is for
# pairs then.
_ONLY_WEIGHT, _ONLY_SHARE = 3.0, 0.5
# Half waves up to which cosines go, the largest first that is affordable. A checkerboard of four by four
# fields needs 4, a ring 2.
_DEGREES = (6, 4, 3, 2)
# Products (rows x columns x labellings) that may be made: 3e9 take a second.
_WORK = 10**9
# Columns of products made at a time, in numbers.
_ELEMENTS = 4_000_000


def pairs(rows: TestedRows) -> CellValues | None:
    """The pair whose correlation differs most."""
    found = rows.sampled.relations
    if found is None:
        return None
    weight, share = (_ONLY_WEIGHT, _ONLY_SHARE) if rows.within else (rows.weights.pair, 0.0)
    values = np.maximum(found.scores.max(axis=1), found.rest)[: rows.scheme.n_labellings]
    return CellValues([PAIR.cell("pairs", weight=weight, share=share)], values[:, None])


def bends(rows: TestedRows) -> CellValues | None:
    """The pair of numbers that differs most in a smooth way."""
    rows = rows.sampled
    if rows.within:
        columns, units = np.arange(rows.problem.n_features), numbered(rows.problem.units)[1]
        n_pairs = 0 if rows.relations is None else rows.relations.n_pairs
    else:
        columns = units = rows.numbers
        n_pairs = len(columns) * (len(columns) - 1) // 2
    if n_pairs == 0 or not rows.affordable:
        return None
    degree = degree_affordable(rows.problem.n_rows, n_pairs, rows.scheme.n_labellings)
    if not degree:
        return None
    found = smooth_pairs(rows.raw[:, columns], rows.contrasts, degree, units)
    cell = _BEND.cell("smooth pairs", weight=_ONLY_WEIGHT if rows.within else _SMOOTH_WEIGHT)
    return CellValues([cell], found.scores.max(axis=1, keepdims=True))


class SmoothPairs(NamedTuple):
    """Scores of pairs of columns.

    Attributes
    ----------
    pairs : int array of shape (n_pairs, 2)
        Columns of each pair.
    scores : array of shape (n_labellings, n_pairs), float32
        Comparable scores of all labellings, the observed one first.
    """

    pairs: NDArray[np.intp]
    scores: NDArray[np.float32]


def degree_affordable(n_rows: int, n_pairs: int, n_labellings: int) -> int:
    """Half waves of cosines for so many pairs; 0 where none are affordable.

    Examples
    --------
    >>> degree_affordable(200, 6, 1000), degree_affordable(569, 435, 1000), degree_affordable(5000, 435, 1000)
    (6, 2, 0)
    """
    work = n_rows * n_pairs * n_labellings
    return next((degree for degree in _DEGREES if work * degree**2 <= _WORK), 0)


def smooth_pairs(rows: NDArray, contrasts: Contrasts, degree: int, units: NDArray[np.intp]) -> SmoothPairs:
    """Scores of all pairs of columns.

    Parameters
    ----------
    rows : array of shape (n_rows, n_columns)
        Finite numbers; only their ranks matter.
    contrasts : Contrasts
        Labellings.
    degree : int
        Half waves of the cosines at most.
    units : int array of shape (n_columns,)
        Columns of one unit are never a pair.

    Returns
    -------
    SmoothPairs

    Examples
    --------
    >>> from princdiff.labellings.schemes import Scheme
    >>> from princdiff.statistics.contrasts import Relabellings
    >>> rng = np.random.default_rng(0)
    >>> rows = rng.normal(size=(200, 4))
    >>> rows[100:, 2] = rows[100:, 0] ** 2 + rng.normal(size=100)
    >>> codes = np.repeat([0, 1], 100).astype(np.uint8)
    >>> found = smooth_pairs(rows, Contrasts(Relabellings(Scheme(codes, 99, seed=0), 2)), 4, np.arange(4))
    >>> found.pairs[found.scores[0].argmax()]
    array([0, 2])
    """
    waves = cosines(rows, degree)
    first, second = np.triu_indices(rows.shape[1], 1)
    apart = units[first] != units[second]
    first, second = first[apart], second[apart]
    low, high = (part.ravel() for part in np.indices((degree, degree)))
    weights = 1 / (3.0 + low + high)
    step = max(1, _ELEMENTS // (len(rows) * degree**2))
    parts = []
    for start in range(0, len(first), step):
        one, other = (waves[:, :, place[start : start + step]] for place in (first, second))
        products = one[low].transpose(1, 2, 0) * other[high].transpose(1, 2, 0)
        between = contrasts.between(products.reshape(len(rows), -1))
        parts.append(between.reshape(len(between), -1, degree**2) @ weights.astype(np.float32))
    statistics = np.concatenate(parts, axis=1) if parts else np.zeros((contrasts.labellings.n_labellings, 0))
    skewness = np.sqrt(8 / (contrasts.labellings.n_groups - 1)) * (weights**3).sum()
    scores = gamma_scores(statistics, prior=skewness / (weights**2).sum() ** 1.5)
    return SmoothPairs(np.column_stack([first, second]), scores)


def cosines(rows: NDArray, degree: int) -> NDArray[np.float64]:
    """Cosines of the ranks of every column, of one to ``degree`` half waves; equal values have equal ones.

    Parameters
    ----------
    rows : array of shape (n_rows, n_columns)
        Numbers.
    degree : int
        Half waves at most.

    Returns
    -------
    array of shape (degree, n_rows, n_columns)
        Of mean zero and variance one, but for ties.

    Examples
    --------
    >>> cosines(np.array([[3.0], [5.0], [9.0]]), 2)[:, :, 0].round(2)
    array([[ 1.22,  0.  , -1.22],
           [ 0.71, -1.41,  0.71]])
    """
    place = (pd.DataFrame(rows).rank().to_numpy() - 0.5) / len(rows)
    return np.sqrt(2) * np.cos(np.pi * np.arange(1, degree + 1)[:, None, None] * place)
