"""Rows that a person can look at: the middle of each group, and those that lie like another group's rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from princdiff.result.parts import GroupReference, RowsPart
from princdiff.tables import Prepared
from princdiff.tables.decoding import decode
from princdiff.words.readable_figures import number

TYPICAL, OTHER_SIDE = "typical", "other side"
SIDES_IN_WORDS = {TYPICAL: "typical", OTHER_SIDE: "like another's"}
# Part of a group, around its median along the direction, among which typical rows are looked for; at least
# this many rows for each that is shown.
_MIDDLE, _CHOICE = 0.1, 5
_GRID = 512


def rows_to_show(
    prepared: Prepared,
    projection: NDArray[np.float64],
    references: dict[str, GroupReference],
    factor: NDArray[np.float64],
    count: int,
) -> RowsPart:
    """The most typical rows of each group, and those furthest on the other side.

    Typical rows lie in the middle of their group along the direction, and of those nearest to the group's
    means in all columns. On the other side are the rows where the density of other groups along the
    direction exceeds that of their own most.

    Parameters
    ----------
    prepared : Prepared
        Rows and groups.
    projection : array of shape (n_rows,)
        Rows on the direction.
    references : dict from group to GroupReference
        Quantiles of each group on the direction.
    factor : array of shape (n_features,)
        What a feature is multiplied by before distances between rows are taken.
    count : int
        Rows of each kind, for each group.

    Returns
    -------
    RowsPart
    """
    chosen: list[int] = []
    records = []
    densities = _Densities(references)
    for code, group in enumerate(prepared.groups):
        members = np.flatnonzero(prepared.codes == code)
        others = densities.advantage_of_others(group, projection[members])
        # Far out both densities are nothing: there the distance from the own median decides.
        far = np.abs(projection[members] - np.median(references[group].quantiles))
        order = np.lexsort((prepared.kept[members], -far, -np.round(others, 6)))
        picked = {
            TYPICAL: _typical(prepared, members, projection, factor, count),
            OTHER_SIDE: members[order[:count]],
        }
        for side, rows in picked.items():
            chosen += rows.tolist()
            records += [(group, side, _number(prepared, row), float(projection[row])) for row in rows]
    where = pd.DataFrame(records, columns=["group", "side", "row", "score"])
    return RowsPart(where, decode(prepared.rows[np.array(chosen, dtype=np.intp)], prepared.codings))


def _typical(
    prepared: Prepared,
    members: NDArray[np.intp],
    projection: NDArray[np.float64],
    factor: NDArray[np.float64],
    count: int,
) -> NDArray[np.intp]:
    own = projection[members]
    width = min(len(members), max(_CHOICE * count, round(_MIDDLE * len(members))))
    from_middle = np.abs(own - np.median(own))
    # All rows that tie with the last one are looked at, or their order in the file would decide.
    middle = members[from_middle <= np.partition(from_middle, width - 1)[width - 1]]
    # Sums over the group, not a dense copy of it: tables may be sparse.
    centre = np.asarray(prepared.rows[members].mean(axis=0), dtype=np.float64).ravel()
    distances = np.empty(len(middle))
    step = max(1, 2_000_000 // max(1, len(centre)))
    for start in range(0, len(middle), step):
        part = prepared.rows[middle[start : start + step]]
        part = part.toarray() if hasattr(part, "toarray") else np.asarray(part)
        distances[start : start + step] = (((part - centre) * factor) ** 2).sum(axis=1)
    order = np.lexsort((prepared.kept[middle], np.round(distances, 9)))
    return middle[order[:count]]


class _Densities:
    """Smooth densities of the groups along the direction."""

    def __init__(self, references: dict[str, GroupReference]) -> None:
        points = np.concatenate([reference.quantiles for reference in references.values()])
        smallest = min(reference.rows for reference in references.values())
        spread = max(float(points.std()), np.finfo(float).tiny)
        width = 1.06 * spread * smallest**-0.2
        self._grid = np.linspace(points.min() - width, points.max() + width, _GRID)
        self._values = {
            name: np.exp(-0.5 * ((self._grid[:, None] - reference.quantiles) / width) ** 2).mean(axis=1)
            for name, reference in references.items()
        }

    def advantage_of_others(self, group: str, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Log of the mean density of other groups over that of this one."""
        others = np.mean([values for name, values in self._values.items() if name != group], axis=0)
        ratio = np.log(others + 1e-12) - np.log(self._values[group] + 1e-12)
        return np.interp(points, self._grid, ratio)


def _number(prepared: Prepared, row: int) -> int:
    """Number of a row in the table it came from."""
    number = int(prepared.kept[row])
    for size in prepared.table_sizes[:-1]:
        if number < size:
            break
        number -= size
    return number


def cell(value: Any) -> str:
    """A value of a row as text.

    Examples
    --------
    >>> cell("Rome"), cell(np.int64(123456)), cell(0.123456), cell(None), cell(float("nan"))
    ('Rome', '123456', '0.123', 'missing', 'missing')
    """
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return "missing"
    if isinstance(value, float):
        return f"{value:.0f}" if value.is_integer() and abs(value) < 1e15 else number(value)
    return str(value)
