"""Columns as numbers: categories as 0/1 columns, missing values filled and marked, and how to do it again.

What a column became is kept as a `Coding`, plain enough for a JSON file: rows that arrive later must be
encoded exactly as the rows of the fit were, whatever levels and gaps they have themselves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from princdiff.tables.column_values import Part, level_name
from princdiff.tables.pooled_columns import Pool

_BLOCK_ROWS = 4096


@dataclass(frozen=True)
class Coding:
    """How one column became features.

    Numbers stay as they are; with `fill`, missing ones become that value and a 0/1 feature marks them.

    Categories become one 0/1 feature per level, and with `indicator` a missing value is one more level. All
    levels get a feature, none is left out as the reference: no inverse is taken anywhere, so the features
    may sum to one, and a direction with few features can then name the level that changed whichever it is
    (a left-out level would need all others). With two levels the second feature would be the mirror image
    of the first and count the same difference twice, so there is one. Either way the shares of a column's
    features sum to the share of the column.

    Attributes
    ----------
    column : str
        Name of the column.
    levels : tuple of str or None
        Categories; None for numbers.
    fill : float or None
        What missing numbers become; None where there were none.
    indicator : bool
        Whether missing values have a feature of their own.

    Examples
    --------
    >>> Coding("age", fill=35.0, indicator=True).features
    ('age', 'age (missing)')
    >>> Coding("sex", levels=("f", "m")).features
    ('sex = m',)
    >>> Coding("city", levels=("Oslo", "Rome", "Ürümqi")).features
    ('city = Oslo', 'city = Rome', 'city = Ürümqi')
    """

    column: str
    levels: tuple[str, ...] | None = None
    fill: float | None = None
    indicator: bool = False

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the features the column became."""
        marked = (f"{self.column} (missing)",) if self.indicator else ()
        if self.levels is None:
            return (self.column, *marked)
        names = (*(f"{self.column} = {level}" for level in self.levels), *marked)
        return names[1:] if len(names) == 2 else names

    @property
    def codes(self) -> tuple[int, ...]:
        """Code of the level each feature stands for; -1 is a missing value."""
        assert self.levels is not None
        codes = (*range(len(self.levels)), *((-1,) if self.indicator else ()))
        return codes[1:] if len(codes) == 2 else codes


def feature_names(codings: Sequence[Coding]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Names of all features, and the column each comes from."""
    names: list[str] = []
    origin: list[str] = []
    taken = {coding.column for coding in codings}
    for coding in codings:
        for name in coding.features:
            unique, count = name, 1
            # A column may happen to be called "sex = m".
            while unique in taken and unique != coding.column:
                count += 1
                unique = f"{name} ({count})"
            taken.add(unique)
            names.append(unique)
            origin.append(coding.column)
    return tuple(names), tuple(origin)


def codings_of(pool: Pool, holes: Mapping[str, NDArray]) -> list[Coding]:
    """The coding of each column; columns with holes get medians over all rows, and indicators."""
    places = {name: place for place, name in enumerate(pool.numeric)}
    by_column = pool.numbers.tocsc() if sp.issparse(pool.numbers) and holes else pool.numbers
    codings = []
    for name in pool.order:
        if name in pool.levels:
            codings.append(Coding(name, levels=pool.levels[name][1], indicator=name in holes))
        elif name in holes:
            codings.append(Coding(name, fill=_median(by_column, places[name]), indicator=True))
        else:
            codings.append(Coding(name))
    return codings


def _median(numbers: Any, place: int) -> float:
    values = numbers[:, [place]].toarray() if sp.issparse(numbers) else numbers[:, place]
    return float(np.nanmedian(values.astype(np.float64)))


def expand(pool: Pool, codings: Sequence[Coding], holes: Mapping[str, NDArray]) -> Any:
    """Columns as features.

    Parameters
    ----------
    pool : Pool
        Columns.
    codings : list of Coding
        How each of them is coded; where it has no `fill` or `indicator`, the column must have no holes.
    holes : dict
        Rows with missing values, by column.

    Returns
    -------
    array or CSR matrix of shape (n_rows, n_features)
    """
    if all(coding.levels is None and not coding.indicator for coding in codings):
        return pool.numbers
    if sp.issparse(pool.numbers):
        return _expand_sparse(pool, codings, holes)
    width = sum(len(coding.features) for coding in codings)
    rows = np.empty((pool.numbers.shape[0], width), dtype=pool.numbers.dtype)
    places = {name: place for place, name in enumerate(pool.numeric)}
    # Rows by the thousand, so that writing column after column stays within the cache.
    for start in range(0, len(rows), _BLOCK_ROWS):
        _fill(rows, pool, places, codings, slice(start, start + _BLOCK_ROWS))
    at = 0
    for coding in codings:
        if coding.levels is None and coding.indicator:
            empty = holes.get(coding.column, np.empty(0, dtype=np.intp))
            rows[empty, at], rows[empty, at + 1] = coding.fill, 1
        at += len(coding.features)
    return rows


def _fill(
    rows: NDArray, pool: Pool, places: Mapping[str, int], codings: Sequence[Coding], block: slice
) -> None:
    at = 0
    for coding in codings:
        width = len(coding.features)
        if coding.levels is None:
            rows[block, at] = pool.numbers[block, places[coding.column]]
            rows[block, at + 1 : at + width] = 0
        else:
            rows[block, at : at + width] = pool.levels[coding.column][0][block, None] == np.array(
                coding.codes
            )
        at += width


def _expand_sparse(pool: Pool, codings: Sequence[Coding], holes: Mapping[str, NDArray]) -> sp.csr_matrix:
    """Numbers only: fill the holes, put the indicators beside, and move them to their columns."""
    filled = sp.csc_matrix(pool.numbers, copy=True)
    marked = [place for place, coding in enumerate(codings) if coding.indicator]
    indicators = sp.lil_matrix((len(marked), filled.shape[0]), dtype=filled.dtype)
    for line, place in enumerate(marked):
        empty = holes.get(codings[place].column, np.empty(0, dtype=np.intp))
        column = filled.data[filled.indptr[place] : filled.indptr[place + 1]]
        column[np.isnan(column)] = codings[place].fill
        indicators[line, empty] = 1
    both = sp.hstack([filled, indicators.T], format="csc")
    # Half a step behind their column.
    position = np.concatenate([np.arange(len(codings)), np.array(marked, dtype=float) + 0.5])
    return sp.csr_matrix(both[:, np.argsort(position)])


def recode(part: Part, coding: Coding) -> tuple[NDArray, list[str]]:
    """Later rows of one column, in the terms of its coding.

    Parameters
    ----------
    part : Part
        The column as read.
    coding : Coding
        How the column was coded.

    Returns
    -------
    values : array of shape (n_rows,)
        Numbers (missing: NaN) or codes (missing: -1; a level the coding does not know: -2).
    unknown : list of str
        Levels the coding does not know.
    """
    if part.kind in ("date", "other") or (coding.levels is None and part.kind in ("text", "category")):
        kind = "numbers" if coding.levels is None else "categories"
        raise ValueError(f"column {coding.column!r} held {kind}, but now holds {part.remark or part.kind}")
    if coding.levels is None:
        return part.as_numbers(), []
    codes, levels = part.codes, list(part.levels)
    if part.kind == "empty":
        return np.full(part.size, -1), []
    if codes is None:
        values, codes = np.unique(part.as_numbers(), return_inverse=True)
        levels = [level_name(value) for value in values]
    known = {level: code for code, level in enumerate(coding.levels)}
    known["nan"] = -1 if part.codes is None else known.get("nan", -2)
    unknown = [level for level in levels if known.get(level, -2) == -2]
    return np.array([*(known.get(level, -2) for level in levels), -1])[codes], unknown
