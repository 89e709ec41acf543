"""Columns that differ only because others do: sums, ratios, copies in another unit or coarser, categories.

Such a column is (nearly) a function of others, the same one in every group. So a function is looked for,
labels ignored, and what it leaves over is tested: its distribution, and how it goes with what it is a
function of; over all rows, and where that differs among rows that are alike in the others, since what is left
over of a price may grow with it. A column follows from others only if hardly anything is left over and the
groups do not differ in that. What is left over is so little that a change of the column's own stands out in
it many times more than in the column, which is why accepting that there is none is safe here, and only here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from princdiff.labellings.pvalues import step_down_pvalues
from princdiff.labellings.schemes import Scheme
from princdiff.statistics.alone import alone_scores
from princdiff.statistics.contrasts import Relabellings

# Part of a column's variance inside the groups that others must explain, terms of the function at most, and
# the level of the test of what is left over: above it, nothing speaks against that being the same.
_EXPLAINED, _MOST_TERMS, _LEVEL = 0.99, 3, 0.05
# Rows that are taken for alike in the others, and their part that must have another group nearby.
# In 20 pairs of real tables whose rows were chosen by one column, so that all others follow or stay, the area
# of cells followed from their radius in 20 (without this look at rows that are alike: 4), the total of a fare
# from its parts in 18 (none), the weight of diamonds from their sides in 16; no column that had also changed
# itself was taken for an echo in 840 runs.
_ALIKE_ROWS, _OVERLAP = 20, 0.4
# What is left over of a function that is exact but for rounding.
_EXACT = 1e-9
# Rows and columns beyond which no functions are looked for, and columns that are tried at most.
_MOST_NUMBERS, _MOST_TRIED = 5_000_000, 30
# A column with at most so many values may be a coarser copy: a function with steps.
_FEW_VALUES = 30


class Echoes(NamedTuple):
    """Columns that follow from others, as numbers.

    Attributes
    ----------
    parents : dict of int to list of int
        For each column that follows, those it follows from.
    either : dict of int to list of int
        Columns that are kept, and those of the first which they would follow from as well.
    """

    parents: dict[int, list[int]]
    either: dict[int, list[int]]


def echoes(rows: Any, labellings: Relabellings, unit_of: NDArray[np.intp], changed: Sequence[int]) -> Echoes:
    """Which of the columns that differ on their own follow from others.

    Parameters
    ----------
    rows : array of shape (n_rows, n_features)
        Finite numbers. Of anything else nothing is said.
    labellings : Relabellings
        Labellings of the test.
    unit_of : int array of shape (n_features,)
        Column of each feature.
    changed : list of int
        Columns that differ on their own, the clearest first: of two that follow from each other it is kept.

    Returns
    -------
    Echoes

    Examples
    --------
    >>> from princdiff.labellings.schemes import Scheme
    >>> rng = np.random.default_rng(0)
    >>> rows, codes = rng.normal(size=(200, 3)), np.repeat([0, 1], 100).astype(np.uint8)
    >>> rows[100:, 0] += 2
    >>> rows[:, 2] = rows[:, 0] + rows[:, 1]
    >>> echoes(rows, Relabellings(Scheme(codes, 199, seed=0), 2), np.arange(3), [0, 2])
    Echoes(parents={2: [0, 1]}, either={0: [2]})
    """
    none = Echoes({}, {})
    if len(changed) < 2 or len(changed) > _MOST_TRIED or not isinstance(rows, np.ndarray):
        return none
    if rows.size > _MOST_NUMBERS:
        return none
    table = _Table(rows.astype(np.float64), labellings, unit_of)
    parents: dict[int, list[int]] = {}
    either: dict[int, list[int]] = {}
    for column in reversed(changed):
        sources = [one for one in changed if one != column and one not in parents]
        left_out = {column, *parents}
        found = table.function_of(column, left_out) if sources else None
        if found is None or not set(found) & set(sources):
            continue
        parents[column] = found
        for source in set(found) & set(sources):
            back = table.function_of(source, set(parents) - {column} | {source})
            if back is not None and column in back:
                either.setdefault(source, []).append(column)
    return Echoes(parents, either)


class _Table:
    """Columns, and functions of them."""

    def __init__(
        self, rows: NDArray[np.float64], labellings: Relabellings, unit_of: NDArray[np.intp]
    ) -> None:
        self._rows, self._labellings, self._unit_of = rows, labellings, unit_of
        self._codes = labellings.scheme.codes(np.zeros(1, dtype=np.intp))[0]
        # A column is a function of these, of their squares, and of their logarithms.
        terms, owners = [rows, rows**2], [unit_of, unit_of]
        positive = np.flatnonzero(rows.min(axis=0) > 0)
        if len(positive):
            terms.append(np.log(rows[:, positive]))
            owners.append(unit_of[positive])
        self._terms, self._owners = _standardised(np.concatenate(terms, axis=1)), np.concatenate(owners)

    def function_of(self, column: int, left_out: set[int]) -> list[int] | None:
        """The columns that a column is a function of, the same in all groups; None if it is of none."""
        own = self._rows[:, self._unit_of == column]
        usable = ~np.isin(self._owners, list(left_out))
        if own.shape[1] == 1:
            targets = [own] if own.min() <= 0 else [own, np.log(own)]
            for target in targets:
                found = self._sum_of_terms(_standardised(target)[:, 0], usable)
                if found is not None:
                    return found
        few = own.shape[1] > 1 or len(np.unique(own)) <= _FEW_VALUES
        return self._steps(own, left_out) if few else None

    def _sum_of_terms(self, target: NDArray[np.float64], usable: NDArray[np.bool_]) -> list[int] | None:
        """A sum of few terms, the one that explains most of what is left taken each time."""
        terms, owners = self._terms[:, usable], self._owners[usable]
        chosen: list[int] = []
        left = target
        for _ in range(min(_MOST_TERMS, terms.shape[1])):
            chosen.append(int(np.abs(terms.T @ left).argmax()))
            basis = terms[:, chosen]
            fitted = basis @ np.linalg.lstsq(basis, target, rcond=None)[0]
            left = target - fitted
            if self._within(left) <= (1 - _EXPLAINED) * self._within(target) and self._alike(
                left, basis, fitted
            ):
                return sorted(set(owners[chosen].tolist()))
        return None

    def _within(self, column: NDArray[np.float64]) -> float:
        """Its variance inside the groups: two that are far apart explain each other, whatever else is so."""
        sizes = np.bincount(self._codes)
        means = np.bincount(self._codes, column) / np.maximum(sizes, 1)
        return float(np.mean((column - means[self._codes]) ** 2))

    def _steps(self, own: NDArray[np.float64], left_out: set[int]) -> list[int] | None:
        """One column of which this is a function with few steps, such as a category made of a number."""
        codes = np.unique(own, axis=0, return_inverse=True)[1].ravel()
        n_levels = int(codes.max()) + 1
        for other in np.unique(self._unit_of):
            if other in left_out:
                continue
            values = self._rows[:, self._unit_of == other]
            places = np.unique(values, axis=0, return_inverse=True)[1].ravel()
            n_places = int(places.max()) + 1
            if n_places < n_levels or n_levels < 2:
                continue
            counts = np.zeros((n_places, n_levels))
            np.add.at(counts, (places, codes), 1)
            # The same value always gives the same level, and levels change hardly more often than they must.
            changes = np.count_nonzero(np.diff(counts.argmax(axis=1)))
            if (np.count_nonzero(counts, axis=1) == 1).all() and (
                changes < n_levels or (n_places <= len(codes) / 10 and values.shape[1] > 1)
            ):
                return [int(other)]
        return None

    def _alike(
        self, left: NDArray[np.float64], basis: NDArray[np.float64], fitted: NDArray[np.float64]
    ) -> bool:
        """Whether groups do not differ in what a function leaves over, or not where its values are alike."""
        if np.abs(left).max() <= _EXACT:
            return True
        columns = np.column_stack([left, left[:, None] * basis])
        if _not_different(columns, self._labellings):
            return True
        nearby = self._among_alike(fitted)
        return nearby is not None and _not_different(columns, nearby)

    def _among_alike(self, fitted: NDArray[np.float64]) -> Relabellings | None:
        """Labellings by which only rows change sides that are alike; None where groups are too far apart."""
        if not self._labellings.free:
            return None
        places = np.argsort(np.argsort(fitted, kind="stable"), kind="stable")
        alike = places // _ALIKE_ROWS
        counts = np.zeros((int(alike.max()) + 1, self._labellings.n_groups))
        np.add.at(counts, (alike, self._codes), 1)
        if _mixed(counts).sum() < _OVERLAP * _mixed(counts.sum(axis=0)):
            return None
        scheme = Scheme(
            self._codes, self._labellings.n_labellings - 1, seed=0, blocks=alike, permute="within"
        )
        return Relabellings(scheme, self._labellings.n_groups)


def _not_different(columns: NDArray[np.float64], labellings: Relabellings) -> bool:
    return bool(step_down_pvalues(alone_scores(columns, labellings).units).min() > _LEVEL)


def _mixed(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """How many rows could have another group, by rows of each group."""
    rows = counts.sum(axis=-1)
    return rows - (counts**2).sum(axis=-1) / rows


def _standardised(columns: NDArray[np.float64]) -> NDArray[np.float64]:
    """Columns of mean zero and variance one; constants are zero."""
    scaled = columns / np.maximum(np.abs(columns).max(axis=0), 1e-300)
    centred = scaled - scaled.mean(axis=0)
    spread = centred.std(axis=0)
    return centred / np.where(spread > 1e-9, spread, np.inf)
