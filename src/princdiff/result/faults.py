"""What the columns that explain a difference look like: faults of numbers, dates, categories and rows.

"Why did it change" is asked next, and often the answer is not in the world but in a pipeline: another unit,
a mark for missing values, two columns exchanged. These are described for columns that are named already.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from princdiff.findings import Fault, FaultKind
from princdiff.result.faults_of_levels import fault_of_levels
from princdiff.result.faults_of_numbers import alike, chance_of_one_law, fault_of_number, unlike
from princdiff.result.feature_tables import observed
from princdiff.statistics.column_batches import column_of
from princdiff.tables import Coding, Prepared
from princdiff.tables.counts import changed_by_depth, counts_behind, unequal_depth
from princdiff.tables.levels import OTHER

# Columns that are looked at, and rows of each group: a fault shows in these, or is none.
_MOST_COLUMNS, _MOST_ROWS = 30, 20_000
# Part of the rows that must be repeated, how much rarer that must be in the other group, and how surely.
_REPEATED, _RARER, _SURELY = 0.02, 0.2, 4.0
# Days by which dates are wrong where somebody mistook the year.
_YEAR = 365.0
# Of one column repeated rows are repeated values.
_FEWEST_COLUMNS = 2
# What columns look like where the world changed, too.
_ALSO_NEWS = {FaultKind.UNIT, FaultKind.SWAPPED, FaultKind.MOVED, FaultKind.RENAMED, FaultKind.FREQUENT}


class _Column(NamedTuple):
    coding: Coding
    first: int
    """The place of its first feature, of dates of the days."""
    hour: int | None
    """The place of the hours of dates."""


def faults(
    prepared: Prepared, named: Sequence[str], rng: np.random.Generator, unmoved: bool = True
) -> list[Fault]:
    """What the columns named look like: faults of numbers, dates and categories.

    Parameters
    ----------
    prepared : Prepared
        Rows and groups.
    named : list of str
        Columns that explain the difference.
    rng : Generator
        Draws the rows that are looked at, where there are many.
    unmoved : bool, default=True
        Whether the other columns are as they were. Where most of a table changed, the world did: some of the
        columns are then larger by about what inches are in centimetres, or look like others did before.

    Returns
    -------
    list of Fault
        At most one for each column, of two that were swapped together first. None where there are more than
        two groups, or rows have weights or covariates.

    Examples
    --------
    >>> from princdiff.tables import prepare
    >>> rng = np.random.default_rng(0)
    >>> before, after = rng.normal(170, 10, size=(2, 200, 1))
    >>> prepared = prepare(before / 2.54, after)
    >>> [(fault.kind.value, fault.levels) for fault in faults(prepared, ["x0"], rng)]
    [('unit', ('inches', 'centimetres'))]
    """
    if not _plain(prepared):
        return []
    wanted = set(list(named)[:_MOST_COLUMNS])
    columns = [column for column in _columns(prepared.codings) if column.coding.column in wanted]
    numbers = {
        column.coding.column: _groups(prepared, column.first, rng)
        for column in columns
        if column.coding.type in ("number", "date") and prepared.feature_levels[column.first] in ("", "days")
    }
    found = list(_swapped(numbers, prepared)) if unmoved else []
    known = {name for fault in found for name in fault.columns}
    for column in columns:
        if column.coding.column not in known:
            hours = None if column.hour is None else _groups(prepared, column.hour, rng)
            found += _of_column(column, numbers.get(column.coding.column), hours, prepared)
    return [fault for fault in found if unmoved or fault.kind not in _ALSO_NEWS]


def _plain(prepared: Prepared) -> bool:
    """Whether rows in memory simply count, in two groups."""
    whole = prepared.weights is None and prepared.covariates is None
    return whole and len(prepared.groups) == 2


def _columns(codings: Sequence[Coding]) -> Iterator[_Column]:
    place = 0
    for coding in codings:
        parts = {part: place + later for later, part in enumerate(coding.parts)}
        yield _Column(coding, parts.get("days", place), parts.get("hour"))
        place += len(coding.features)


Pair = tuple[NDArray[np.float64], NDArray[np.float64]]


def _groups(prepared: Prepared, place: int, rng: np.random.Generator) -> Pair:
    """Values of a feature in both groups, of many rows some."""
    values, codes, _, _ = observed(prepared, place)
    first, second = values[codes == 0], values[codes == 1]
    return _some(first, rng), _some(second, rng)


def _some(values: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.float64]:
    return values if len(values) <= _MOST_ROWS else rng.choice(values, _MOST_ROWS, replace=False)


def _swapped(numbers: dict[str, Pair], prepared: Prepared) -> Iterator[Fault]:
    """Columns of which each looks in the second group as the other did in the first."""
    changed = [name for name, pair in numbers.items() if min(map(len, pair)) and unlike(*pair)]
    taken: set[str] = set()
    for one, two in combinations(changed, 2):
        crossed = (numbers[one][1], numbers[two][0]), (numbers[two][1], numbers[one][0])
        if not taken & {one, two} and all(alike(*pair) for pair in crossed):
            taken |= {one, two}
            yield Fault(FaultKind.SWAPPED, (one, two), prepared.groups[1])


def _of_column(column: _Column, pair: Pair | None, hours: Pair | None, prepared: Prepared) -> list[Fault]:
    name = (column.coding.column,)
    if column.coding.one_hot:
        found = fault_of_levels(*_counts(column, prepared))
        return [Fault(found.kind, name, prepared.groups[1], levels=found.levels)] if found else []
    if pair is None:
        return []
    if column.coding.type == "date":
        days = _moved(pair) or (0.0 if hours is None else _hours_moved(hours) / 24)
        return [Fault(FaultKind.MOVED, name, prepared.groups[1], days)] if days else []
    for own in (1, 0):
        fault = fault_of_number(pair[own], pair[1 - own])
        # The first group is the one that is as it should be; only marks may have been there and be repaired.
        if fault is not None and (own == 1 or fault.kind is FaultKind.SENTINEL):
            return [Fault(fault.kind, name, prepared.groups[own], *fault[1:])]
    return []


def _moved(pair: Pair) -> float:
    """Days by which all dates seem to have moved; 0 where they have not, or not alike."""
    first, second = pair
    if not min(map(len, pair)) or not unlike(first, second):
        return 0.0
    days = float(np.median(second) - np.median(first))
    # Of dates over some years hundreds of rows do not tell 320 days from a year, which is what happens.
    likely = (_YEAR * round(days / _YEAR), days)
    return next((move for move in likely if move and alike(second - move, first)), 0.0)


def _hours_moved(pair: Pair) -> int:
    """Hours by which all clocks seem to have been put on; 0 where they have not."""
    first, second = pair
    if not min(map(len, pair)) or not unlike(first, second):
        return 0
    chances = {hours: chance_of_one_law((second - hours) % 24, first) for hours in range(-11, 13)}
    hours = max(chances, key=lambda move: chances[move])
    return hours if alike((second - hours) % 24, first) else 0


def _counts(column: _Column, prepared: Prepared) -> tuple[list[str], NDArray[np.float64]]:
    """Names of the levels that have one, and rows with each in both groups."""
    coding = column.coding
    places = [
        (name, column.first + place)
        for place, name in enumerate(coding.feature_levels)
        if coding.kinds[place] != "missing" and name != OTHER
    ]
    marks = [column_of(prepared.rows, place) for _, place in places]
    counts = np.array([np.bincount(prepared.codes, mark, minlength=2) for mark in marks]).reshape(-1, 2).T
    names = [name for name, _ in places]
    if coding.type == "flag" and len(names) == 1 and len(coding.levels or ()) == 2:
        # Of two levels one has no feature.
        rest = np.bincount(prepared.codes, minlength=2)[:, None] - counts
        other = next(level for level in coding.levels or () if level != names[0])
        return [other, *names], np.column_stack([rest, counts])
    return names, counts


def repeated_rows(prepared: Prepared, keys: NDArray[np.uint64]) -> list[Fault]:
    """Rows that are there more than once in one group, and hardly in the other.

    Parameters
    ----------
    prepared : Prepared
        Rows and groups.
    keys : int array of shape (n_rows,)
        The same for rows that are alike in all columns.

    Returns
    -------
    list of Fault
        One or none.

    Examples
    --------
    >>> from princdiff.data.row_keys import row_keys
    >>> from princdiff.tables import prepare
    >>> before, after = np.random.default_rng(0).normal(size=(2, 200, 3))
    >>> after[:20] = after[20:40]
    >>> prepared = prepare(before, after)
    >>> [fault.shares for fault in repeated_rows(prepared, row_keys(prepared.rows))]
    [(0.2, 0.0)]
    """
    if not _plain(prepared) or prepared.rows.shape[1] < _FEWEST_COLUMNS:
        return []
    shares, sizes = [], np.bincount(prepared.codes, minlength=2)
    for code in (0, 1):
        counts = np.unique(keys[prepared.codes == code], return_counts=True)[1]
        shares.append(float(counts[counts > 1].sum() / sizes[code]))
    own = int(shares[1] >= shares[0])
    many, few = shares[own], shares[1 - own]
    error = np.sqrt(many * (1 - many) * (1 / sizes).sum())
    if many < _REPEATED or few > _RARER * many or many - few < _SURELY * error:
        return []
    return [Fault(FaultKind.REPEATED, (), prepared.groups[own], shares=(many, few))]


def unlike_depth(prepared: Prepared) -> list[Fault]:
    """Rows of counts, such as cells or texts, of which one group was counted deeper than the other.

    Parameters
    ----------
    prepared : Prepared
        Rows and groups.

    Returns
    -------
    list of Fault
        One or none.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> from princdiff.tables import prepare
    >>> rng = np.random.default_rng(0)
    >>> rare, often = (sp.csr_matrix(rng.poisson(rate, size=(100, 50)).astype(float)) for rate in (0.5, 1.0))
    >>> [(fault.group, round(fault.value)) for fault in unlike_depth(prepare(rare, often))]
    [('Y', 2)]
    """
    if not _plain(prepared):
        return []
    step = max(1, len(prepared.codes) // _MOST_ROWS)
    codes = prepared.codes[::step]
    counts = counts_behind(prepared.rows[::step])
    if counts is None:
        return []
    ratio = unequal_depth(counts, codes, None if prepared.blocks is None else prepared.blocks[::step])
    if ratio == 1.0:
        return []
    share = changed_by_depth(counts, codes, ratio)
    deeper = prepared.groups[0 if ratio > 1 else 1]
    return [Fault(FaultKind.DEPTH, (), deeper, max(ratio, 1 / ratio), (share,))]
