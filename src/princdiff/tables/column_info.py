"""What each compared column is, for those who present a result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from princdiff.tables.encoding import Coding, ColumnType
from princdiff.tables.pooled_columns import Pool


@dataclass(frozen=True)
class ColumnInfo:
    """One column of the user's table.

    Attributes
    ----------
    name : str
        Name of the column.
    type : {"number", "flag", "category", "ordered", "date"}
        What it holds. A flag has two values and is one 0/1 feature.
    features : tuple of int
        Positions of its features.
    levels : tuple of str
        Level names: of a category those with a feature of their own, of an ordered one all, in order (feature
        value 0, 1, 2 ...), of a flag the meaning of 0 and of 1. Empty for numbers and dates.
    pooled_levels : int
        How many further levels were pooled into the feature "other levels"; 0: none.
    pooled_rows : tuple of int
        Rows with one of them, by group.
    parts : tuple of str
        Parts of dates, in the order of the features.
    missing : tuple of int
        Missing values, by group: those filled, or those of dropped rows.

    Examples
    --------
    >>> import pandas as pd
    >>> from princdiff.tables import prepare
    >>> frame = pd.DataFrame({"age": [31.5, 40.2, 28.9, 55.1] * 3, "city": ["Bern", "Basel", "Chur"] * 4})
    >>> prepared = prepare(frame, groups=["a", "a", "b", "b"] * 3)
    >>> city = prepared.column_info["city"]
    >>> city.type, city.levels, city.features
    ('category', ('Basel', 'Bern', 'Chur'), (1, 2, 3))
    """

    name: str
    type: ColumnType
    features: tuple[int, ...]
    levels: tuple[str, ...] = ()
    pooled_levels: int = 0
    pooled_rows: tuple[int, ...] = ()
    parts: tuple[str, ...] = ()
    missing: tuple[int, ...] = ()

    @property
    def pooled(self) -> bool:
        """Whether rare levels were pooled."""
        return self.pooled_levels > 0


def describe(
    pool: Pool, codings: Sequence[Coding], codes: NDArray, missing: Mapping[str, Sequence[int]], n_groups: int
) -> dict[str, ColumnInfo]:
    """Describe every column.

    Parameters
    ----------
    pool : Pool
        Columns.
    codings : list of Coding
        How they became features.
    codes : array of shape (n_rows,)
        Group of each row.
    missing : dict
        Missing values by group, for columns that have some.
    n_groups : int
        Number of groups.

    Returns
    -------
    dict
        A `ColumnInfo` for each column, in the order of the table.
    """
    described = {}
    at = 0
    for coding in codings:
        width = len(coding.kinds)
        pooled_rows = [0] * n_groups
        if coding.pooled:
            other = pool.levels[coding.column].codes == len(coding.levels or ())
            pooled_rows = np.bincount(codes[other], minlength=n_groups).tolist()
        described[coding.column] = ColumnInfo(
            name=coding.column,
            type=coding.type,  # type: ignore[arg-type]
            features=tuple(range(at, at + width)),
            levels=_level_names(coding),
            pooled_levels=coding.pooled,
            pooled_rows=tuple(pooled_rows),
            parts=coding.parts,
            missing=tuple(missing.get(coding.column, [0] * n_groups)),
        )
        at += width
    return described


def _level_names(coding: Coding) -> tuple[str, ...]:
    if coding.levels is None:
        return ("0", "1") if coding.type == "flag" else ()
    if coding.type != "flag":
        return coding.levels
    # The one feature is 1 for the last of the two, or for the one level that was not pooled.
    (level,) = coding.feature_levels
    both = [
        *coding.levels,
        *(["other levels"] if coding.pooled else []),
        *(["missing"] if coding.indicator else []),
    ]
    return tuple(sorted(both, key=lambda name: name == level))
