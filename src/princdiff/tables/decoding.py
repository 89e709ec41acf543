"""Features back into the values of the user's table, for the few rows that a person looks at."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from numpy.typing import NDArray

from princdiff.tables.encoding import Coding
from princdiff.tables.levels import OTHER


def decode(rows: Any, codings: Sequence[Coding]) -> pd.DataFrame:
    """What the columns of the user's table hold in some rows.

    Parameters
    ----------
    rows : array or sparse matrix of shape (n_rows, n_features)
        Rows as `princdiff.tables.prepare` made them; a few, since each cell becomes an object.
    codings : list of Coding
        How columns became features.

    Returns
    -------
    DataFrame of shape (n_rows, n_columns)
        Numbers, and texts for levels and dates; None where a value is missing. A level that was pooled is
        "other levels".

    Examples
    --------
    >>> codings = [Coding("age", fill=35.0, indicator=True), Coding("city", levels=("Oslo", "Riga", "Rome"))]
    >>> decode(np.array([[41.0, 0, 0, 0, 1], [35.0, 1, 1, 0, 0]]), codings)
        age  city
    0  41.0  Rome
    1   NaN  Oslo
    """
    dense = rows.toarray() if sp.issparse(rows) else np.asarray(rows)
    columns: dict[str, Any] = {}
    start = 0
    for coding in codings:
        own = dense[:, start : start + len(coding.kinds)]
        start += len(coding.kinds)
        columns[coding.column] = _levels(own, coding) if coding.one_hot else _values(own, coding)
    return pd.DataFrame(columns, index=range(len(dense)))


def _levels(own: NDArray, coding: Coding) -> list[str | None]:
    names: dict[int, str | None] = dict(enumerate(coding.levels or ()))
    if coding.pooled:
        names[len(names)] = OTHER
    if coding.indicator:
        names[-1] = None
    codes = list(coding.codes)
    # Of two levels one has a feature, and no feature means the other.
    rest = next((name for code, name in names.items() if code not in codes), None)
    return [names[codes[int(row.argmax())]] if row.any() else rest for row in own]


def _values(own: NDArray, coding: Coding) -> Any:
    missing = own[:, -1] > 0 if coding.indicator else np.zeros(len(own), dtype=bool)
    if coding.type == "ordered":
        levels = coding.levels or ()
        return [None if gap else levels[int(code)] for code, gap in zip(own[:, 0], missing, strict=True)]
    if coding.type == "date":
        return [None if gap else _date(row, coding) for row, gap in zip(own, missing, strict=True)]
    values = own[:, 0].astype(np.float64)
    if missing.any():
        return np.where(missing, np.nan, values)
    whole = (values == np.round(values)).all() and (np.abs(values) < 2**53).all()
    return values.astype(np.int64) if whole else values


def _date(row: NDArray, coding: Coding) -> str:
    if "days" not in coding.parts:
        return ", ".join(
            f"{part} {value:g}" for part, value in zip(coding.parts, row[: len(coding.parts)], strict=True)
        )
    days = float(row[coding.parts.index("days")])
    return str((pd.Timestamp(coding.start) + pd.Timedelta(days=days)).round("s"))
