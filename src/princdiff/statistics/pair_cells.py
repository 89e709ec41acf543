"""Pairs of columns that go together differently: in their correlation, or in a smooth way.

Where rows are normal scores of ranks within the observed groups, pairs are all that is looked at beside
directions: nothing of what single columns do is left.
"""

from __future__ import annotations

import numpy as np

from princdiff.statistics.alone import numbered
from princdiff.statistics.protocol import CellValues, Family
from princdiff.statistics.smooth_pairs import degree_affordable, smooth_pairs
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
