"""Columns as numbers: categories as 0/1 columns, missing values filled and marked, and how to do it again.

What a column became is kept as a `Coding`, plain enough for a JSON file: rows that arrive later must be
encoded exactly as the rows of the fit were, whatever levels and gaps they have themselves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from princdiff.tables.column_values import Part, level_name
from princdiff.tables.dates import DateError, are_dates, date_parts, read_dates, varying_parts
from princdiff.tables.frames import listed
from princdiff.tables.levels import OTHER, Levels
from princdiff.tables.pooled_columns import Pool
from princdiff.tables.precision import Precision
from princdiff.tables.spelling import visible

_BLOCK_ROWS = 4096
_HEAD_ROWS = 1000

ColumnType = Literal["number", "flag", "category", "ordered", "date"]
FeatureKind = Literal["number", "flag", "level", "missing"]


@dataclass(frozen=True)
class Coding:
    """How one column became features.

    Numbers stay as they are; with `fill`, missing ones become that value and a 0/1 feature marks them.

    Categories become one 0/1 feature per level, those that were pooled one feature together, and with
    `indicator` a missing value is one more level. All levels get a feature, none is left out as the
    reference: no inverse is taken anywhere, so the features may sum to one, and a direction with few features
    can then name the level that changed whichever it is (a left-out level would need all others). With two
    levels the second feature would be the mirror image of the first and count the same difference twice, so
    there is one. Either way the shares of a column's features sum to the share of the column.

    Ordered categories become the numbers 0, 1, 2 ... in their order, and dates the numbers of their `parts`.

    Attributes
    ----------
    column : str
        Name of the column.
    type : {"number", "flag", "category", "ordered", "date"}
        What the column holds; a flag has two values and became one 0/1 feature. Found from `levels` if empty.
    levels : tuple of str or None
        Categories; None for numbers and dates.
    pooled : int
        How many further levels were pooled into one feature.
    parts : tuple of str
        Which parts of dates are features.
    start : str
        Where days of dates count from.
    fill : float or None
        What missing numbers become (of dates: days since `start`); None where there were none.
    indicator : bool
        Whether missing values have a feature of their own.
    precision : str
        To what the numbers of the column were rounded, where some were kept less exactly than others: "single
        precision", "6 decimals", "15 digits".

    Examples
    --------
    >>> from princdiff.tables import Coding
    >>> Coding("age", fill=35.0, indicator=True).features
    ('age', 'age (missing)')
    >>> Coding("sex", levels=("f", "m")).features
    ('sex = m',)
    >>> Coding("city", levels=("Oslo", "Rome", "Ürümqi")).features
    ('city = Oslo', 'city = Rome', 'city = Ürümqi')
    >>> Coding("city", levels=("Oslo", "Rome"), pooled=7).features
    ('city = Oslo', 'city = Rome', 'city = other levels')
    """

    column: str
    type: ColumnType | Literal[""] = ""
    levels: tuple[str, ...] | None = None
    pooled: int = 0
    parts: tuple[str, ...] = ()
    start: str = ""
    fill: float | None = None
    indicator: bool = False
    precision: str = ""

    def __post_init__(self) -> None:
        if self.precision:
            Precision.parse(self.precision)
        # Lists come from JSON files.
        object.__setattr__(self, "levels", None if self.levels is None else tuple(self.levels))
        object.__setattr__(self, "parts", tuple(self.parts))
        if not self.type:
            object.__setattr__(self, "type", "number" if self.levels is None else "category")
        if self.type == "category" and len(self.all_codes) == 2:
            object.__setattr__(self, "type", "flag")

    @property
    def one_hot(self) -> bool:
        """Whether features stand for levels."""
        return self.levels is not None and self.type != "ordered"

    @property
    def all_codes(self) -> tuple[int, ...]:
        """Codes that tell rows apart: levels, the pooled ones, missing values."""
        count = len(self.levels or ()) + bool(self.pooled)
        return (*range(count), *((-1,) if self.indicator else ()))

    @property
    def codes(self) -> tuple[int, ...]:
        """Code of the level each feature of a category stands for; -1 is a missing value."""
        codes = self.all_codes
        if len(codes) != 2:
            return codes
        # Of two the second, as 1 means "yes" more often than 0; but a level with a name before the others.
        return codes[:1] if self.pooled and len(self.levels or ()) == 1 else codes[1:]

    @property
    def feature_levels(self) -> tuple[str, ...]:
        """What each feature shows of its column: a level, a part of a date, "missing", or all ("")."""
        marked = ("missing",) if self.indicator else ()
        if self.one_hot:
            names = (*(self.levels or ()), *((OTHER,) if self.pooled else ()), *marked)
            return tuple(names[code] for code in self.codes)
        return (*self.parts, *marked) if self.type == "date" else ("", *marked)

    @property
    def kinds(self) -> tuple[FeatureKind, ...]:
        """Kind of each feature."""
        marked: tuple[FeatureKind, ...] = ("missing",) if self.indicator else ()
        if self.one_hot:
            own: FeatureKind = "flag" if self.type == "flag" else "level"
            return tuple("missing" if code == -1 else own for code in self.codes)
        plain: FeatureKind = "flag" if self.type == "flag" else "number"
        return (*[plain for _ in self.parts or ("",)], *marked)

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the features the column became."""
        names = []
        for kind, level in zip(self.kinds, self.feature_levels, strict=True):
            if kind == "missing" or (level and self.type == "date"):
                names.append(f"{self.column} ({level})")
            else:
                names.append(f"{self.column} = {level}" if level else self.column)
        return tuple(names)


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
    flags = zero_one_columns(pool.numbers)
    codings = []
    for name in pool.order:
        if name in pool.levels:
            codings.append(_coding_of_levels(name, pool.levels[name], name in holes))
        elif name in pool.dates:
            codings.append(_coding_of_dates(name, pool.dates[name], name in holes))
        else:
            place = places[name]
            fill = _median(by_column, place, whole=bool(flags[place])) if name in holes else None
            kind: ColumnType = "flag" if flags[place] else "number"
            grid = str(pool.precision.get(name, ""))
            codings.append(Coding(name, kind, fill=fill, indicator=name in holes, precision=grid))
    return codings


def _coding_of_levels(name: str, column: Levels, gaps: bool) -> Coding:
    if not column.ordered:
        return Coding(name, levels=column.names, pooled=column.pooled, indicator=gaps)
    fill = _lower_median(column.codes[column.codes >= 0]) if gaps else None
    return Coding(name, "ordered", levels=column.names, fill=fill, indicator=gaps)


def _coding_of_dates(name: str, dates: NDArray[np.datetime64], gaps: bool) -> Coding:
    present = dates[~np.isnat(dates)]
    start = present.min()
    fill = None
    if gaps:
        fill = _lower_median(date_parts(present, ("days",), start)[:, 0])
    return Coding(
        name,
        "date",
        parts=varying_parts(dates),
        start=str(start.astype("datetime64[s]")),
        fill=fill,
        indicator=gaps,
    )


def _lower_median(values: NDArray) -> float:
    """A median that occurs: half a level or half a day would be nothing."""
    return float(np.partition(values, (len(values) - 1) // 2)[(len(values) - 1) // 2])


def _median(numbers: Any, place: int, *, whole: bool) -> float:
    values = numbers[:, [place]].toarray() if sp.issparse(numbers) else numbers[:, place]
    values = np.ravel(values).astype(np.float64)
    return _lower_median(values[~np.isnan(values)]) if whole else float(np.nanmedian(values))


def zero_one_columns(numbers: Any) -> NDArray[np.bool_]:
    """Which columns hold both 0 and 1, and nothing else but gaps.

    Parameters
    ----------
    numbers : array or CSR matrix of shape (n_rows, n_columns)
        Numbers, missing ones NaN.

    Returns
    -------
    array of shape (n_columns,)

    Examples
    --------
    >>> zero_one_columns(np.array([[0, 1, 1], [1, 1, np.nan], [1, 1, 0.5]]))
    array([ True, False, False])
    """
    n_rows, n_columns = numbers.shape
    if sp.issparse(numbers):
        other = (numbers.data != 0) & (numbers.data != 1) & ~np.isnan(numbers.data)
        wrong = np.bincount(numbers.indices[other], minlength=n_columns) > 0
        ones = np.bincount(numbers.indices[numbers.data == 1], minlength=n_columns)
        gaps = np.bincount(numbers.indices[np.isnan(numbers.data)], minlength=n_columns)
        return ~wrong & (ones > 0) & (ones + gaps < n_rows)
    head = numbers[:_HEAD_ROWS]
    found = ((head == 0) | (head == 1) | np.isnan(head)).all(axis=0)
    for place in np.flatnonzero(found):
        column = numbers[:, place]
        n_zeros, n_ones = np.count_nonzero(column == 0), np.count_nonzero(column == 1)
        n_gaps = np.count_nonzero(np.isnan(column))
        found[place] = n_zeros > 0 and n_ones > 0 and n_zeros + n_ones + n_gaps == n_rows
    return found


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
    if all(coding.type in ("number", "flag") and not coding.one_hot for coding in codings) and not any(
        coding.indicator for coding in codings
    ):
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
        width = len(coding.kinds)
        if coding.indicator and not coding.one_hot:
            empty = holes.get(coding.column, np.empty(0, dtype=np.intp))
            rows[empty, at : at + width - 1], rows[empty, at + width - 1] = _filling(coding), 1
        at += width
    return rows


def _filling(coding: Coding) -> Any:
    if coding.type != "date":
        return coding.fill
    start = np.datetime64(coding.start, "ns")
    day = start + np.timedelta64(round(86_400e9 * (coding.fill or 0.0)), "ns")
    return date_parts(np.array([day]), coding.parts, start)[0]


def _fill(
    rows: NDArray, pool: Pool, places: Mapping[str, int], codings: Sequence[Coding], block: slice
) -> None:
    at = 0
    for coding in codings:
        name, width = coding.column, len(coding.kinds)
        if coding.one_hot:
            rows[block, at : at + width] = pool.levels[name].codes[block, None] == np.array(coding.codes)
        else:
            if coding.type == "ordered":
                rows[block, at] = pool.levels[name].codes[block]
            elif coding.type == "date":
                start = np.datetime64(coding.start, "ns")
                days = date_parts(pool.dates[name][block], coding.parts, start)
                rows[block, at : at + len(coding.parts)] = days
            else:
                rows[block, at] = pool.numbers[block, places[name]]
            if coding.indicator:
                rows[block, at + width - 1] = 0
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
        Numbers (missing: NaN), dates (missing: NaT), or codes (missing: -1; a level the coding does not know:
        -2, or the code of the pooled levels, where there are some).
    unknown : list of str
        Levels the coding does not know.
    """
    if coding.type == "date":
        return _recode_dates(part, coding), []
    if part.kind in ("date", "other") or (coding.levels is None and part.kind in ("text", "category")):
        kind = "numbers" if coding.levels is None else "categories"
        raise ValueError(f"column {coding.column!r} held {kind}, but now holds {part.remark or part.kind}")
    if coding.levels is None:
        numbers = part.as_numbers()
        return (Precision.parse(coding.precision).rounded(numbers) if coding.precision else numbers), []
    codes, levels = part.codes, list(part.levels)
    if part.kind == "empty":
        return np.full(part.size, -1), []
    if codes is None:
        values, codes = np.unique(part.as_numbers(), return_inverse=True)
        levels = [level_name(value) for value in values]
    known = {level: code for code, level in enumerate(coding.levels)}
    known |= {name: known[level] for name, level in _other_spellings(levels, known).items()}
    strange = len(coding.levels) if coding.pooled else -2
    if part.codes is None:
        known["nan"] = -1
    used = np.bincount(codes[codes >= 0], minlength=len(levels)) > 0
    unknown = [level for level, occurs in zip(levels, used, strict=True) if occurs and level not in known]
    if coding.type == "ordered" and unknown:
        raise ValueError(
            f"column {coding.column!r} has levels whose place in the order is not known: {listed(unknown)}; "
            f"the order was {listed(coding.levels, 10)}"
        )
    return np.array([*(known.get(level, strange) for level in levels), -1])[codes], unknown


def _other_spellings(levels: Sequence[str], known: Mapping[str, int]) -> dict[str, str]:
    """Levels that look like one that is known."""
    seen = {visible(level): level for level in known}
    return {level: seen[visible(level)] for level in levels if level not in known and visible(level) in seen}


def _recode_dates(part: Part, coding: Coding) -> NDArray[np.datetime64]:
    if part.kind not in ("date", "empty") and not (part.codes is not None and are_dates(part.levels)):
        raise ValueError(f"column {coding.column!r} held dates, but now holds {part.remark or part.kind}")
    try:
        return read_dates([part])[0]
    except DateError as error:
        raise ValueError(f"column {coding.column!r}: {error}") from error
