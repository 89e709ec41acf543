"""What is looked at in every row of a watched table: numbers whose sums over rows say what changed.

They are fixed before any row is counted, by a ruler made from rows of the reference that are then left out:
so rows of reference and batches that have one law have one law of these numbers too, whatever the ruler says.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from princdiff.profiles.ruler import SCORE_STEP, CountedColumn, Ruler
from princdiff.tables.alignment import matching
from princdiff.tables.column_values import read_column
from princdiff.tables.encoding import recode
from princdiff.tables.frames import Table
from princdiff.tables.readers import read
from princdiff.words.readable_figures import number

# A number's values beyond this many spreads count as this far away: one row must not rule a mean.
_FAR = 8.0
OTHER = "other levels"
# Bins of a number that are looked at one by one: each value where there are few, else about equal parts.
_BINS = 8
# Columns whose pairs are looked at: 24 have 276 pairs, about as many as they have features of their own.
_IN_PAIRS = 24


@dataclass(frozen=True)
class RowFeature:
    """One number of every row.

    Attributes
    ----------
    columns : tuple of str
        The column it is of; two where it is of a pair.
    measure : {"mean", "score", "square", "share", "product"}
        The scaled value, its normal score, the square of that, a 0/1 mark, or the product of two scores.
    of : str
        What the mark marks: a level, a range, "missing".
    """

    columns: tuple[str, ...]
    measure: str
    of: str = ""


class RowFeatures:
    """Turns tables into features.

    Parameters
    ----------
    ruler : Ruler
        Bins and levels.

    Examples
    --------
    >>> from princdiff.profiles.ruler import make_ruler
    >>> import pandas as pd
    >>> rows = pd.DataFrame({"age": np.arange(100.0), "plan": ["a", "b"] * 50})
    >>> features = RowFeatures(make_ruler(rows))
    >>> features.of(features.values(read(rows.head(3)))).shape == (3, len(features.names))
    True
    """

    def __init__(self, ruler: Ruler) -> None:
        self.ruler = ruler
        self._bins = [
            _coarse(column) if column.is_number else np.empty(0, np.intp) for column in ruler.columns
        ]

    @cached_property
    def names(self) -> list[RowFeature]:
        """What each feature is."""
        found: list[RowFeature] = []
        for column, bins in zip(self.ruler.columns, self._bins, strict=True):
            own = (column.name,)
            if column.is_number:
                found += [RowFeature(own, measure) for measure in ("mean", "score", "square")]
                found += [RowFeature(own, "share", text) for text in _ranges(column, bins)]
            else:
                found += [RowFeature(own, "share", level) for level in (*(column.coding.levels or ()), OTHER)]
            found.append(RowFeature(own, "share", "missing"))
        pairs = combinations(self._in_pairs, 2)
        columns = self.ruler.columns
        return found + [RowFeature((columns[i].name, columns[j].name), "product") for i, j in pairs]

    @cached_property
    def _in_pairs(self) -> list[int]:
        scored = [k for k, column in enumerate(self.ruler.columns) if column.is_number or column.n_bins <= 4]
        return scored[:_IN_PAIRS]

    def values(self, table: Table) -> list[NDArray]:
        """Columns of a table as numbers (missing: NaN) or codes of levels (unknown: -2, missing: -1)."""
        notes: list[str] = []
        frame = matching(table, self.ruler.names, notes).frame()
        found = []
        for column in self.ruler.columns:
            try:
                values = recode(read_column(frame[column.name]), column.coding)[0]
            except ValueError as error:
                raise ValueError(f"{table.label}: {error}") from error
            if column.is_number and np.isinf(values).any():
                row = int(np.isinf(values).argmax())
                raise ValueError(
                    f"{table.label}: column {column.name!r} has infinite values, the first in row {row}"
                )
            found.append(np.asarray(values))
        return found

    def of(self, values: Sequence[NDArray]) -> NDArray[np.float32]:
        """Features of rows, shape (n_rows, n_features)."""
        parts: list[NDArray] = []
        scores: dict[int, NDArray] = {}
        for place, (column, bins) in enumerate(zip(self.ruler.columns, self._bins, strict=True)):
            own = values[place]
            if column.is_number:
                gap = np.isnan(own)
                inside = np.searchsorted(
                    np.array(column.bounds), np.where(gap, column.centre, own), side="right"
                )
                score = np.where(gap, 0.0, np.array(column.scores)[inside] * SCORE_STEP)
                scaled = np.clip((own - column.centre) / column.scale, -_FAR, _FAR)
                parts += [np.where(gap, 0.0, scaled), score, score**2]
                coarse = np.where(gap, -1, bins[inside])
                parts += [coarse == k for k in range(int(bins.max()) + 1)]
                scores[place] = score
            else:
                count = len(column.coding.levels or ())
                gap = own == -1
                parts += [own == code for code in range(count)]
                parts.append((own == -2) | (own >= count))
                # Of two levels the mark of the second is a score.
                scores[place] = np.where(gap, 0.0, own == 1) - 0.5
            parts.append(gap)
        parts += [scores[i] * scores[j] for i, j in combinations(self._in_pairs, 2)]
        return np.column_stack([np.asarray(part, dtype=np.float32) for part in parts])


def _coarse(column: CountedColumn) -> NDArray[np.intp]:
    """The part of the values that each bin of a number is in."""
    count = len(column.bounds) + 1
    return np.arange(count) if count <= _BINS else np.arange(count) * _BINS // count


def _ranges(column: CountedColumn, bins: NDArray[np.intp]) -> list[str]:
    """What each part of the values is called."""
    if len(bins) <= _BINS:
        return [number(value) for value in column.values]
    starts = np.flatnonzero(np.diff(bins, prepend=-1))
    edges = [number(column.bounds[start - 1]) for start in starts[1:]]
    return [
        f"below {edges[0]}",
        *(f"{low} to {high}" for low, high in pairwise(edges)),
        f"{edges[-1]} or more",
    ]


@dataclass(frozen=True, eq=False)
class Summary:
    """What the history of a batch needs.

    Attributes
    ----------
    rows : int
    means : array of shape (n_features,)
        Mean of each feature over all rows.
    numbers : dict of str to (float, float)
        Mean and standard deviation of each number as it is written, where it is not missing.
    """

    rows: int
    means: NDArray[np.float64]
    numbers: dict[str, tuple[float, float]]


def summed(
    features: RowFeatures, table: Table, unit_rows: int, most_units: int, rng: np.random.Generator
) -> tuple[NDArray[np.float64], Summary]:
    """Rows dealt at random into units of one size, and what is told of all of them.

    Parameters
    ----------
    features : RowFeatures
    table : Table
    unit_rows : int
        Rows of a unit; those left over are in none.
    most_units : int
        Units at most.
    rng : Generator

    Returns
    -------
    sums : array of shape (n_units, n_features)
    summary : Summary
    """
    values = features.values(table)
    order = rng.permutation(table.n_rows)
    step = unit_rows * max(1, 20_000 // unit_rows)
    units: list[NDArray] = []
    total, count = np.zeros(len(features.names)), 0
    for start in range(0, len(order), step):
        found = features.of([own[order[start : start + step]] for own in values]).astype(np.float64)
        total += found.sum(axis=0)
        whole = len(found) // unit_rows
        if whole and count < most_units:
            count += whole
            units.append(found[: whole * unit_rows].reshape(whole, unit_rows, -1).sum(axis=1))
    sums = np.concatenate(units)[:most_units] if units else np.empty((0, len(features.names)))
    numbers = {}
    for column, own in zip(features.ruler.columns, values, strict=True):
        if column.is_number:
            known = own[~np.isnan(own)]
            numbers[column.name] = (
                (float(known.mean()), float(known.std())) if len(known) else (np.nan, np.nan)
            )
    return sums, Summary(table.n_rows, total / len(order), numbers)


def as_table(source: Any, label: str) -> Table:
    """A batch as a table with named columns of their own kinds."""
    return read(source, label)
