"""Later rows, encoded exactly as those of a comparison were."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from princdiff.data.validate import check_choice
from princdiff.options import Missing
from princdiff.tables import messages
from princdiff.tables.alignment import matching
from princdiff.tables.column_values import read_column
from princdiff.tables.encoding import Coding, expand, recode
from princdiff.tables.frames import Table, listed, plural
from princdiff.tables.levels import Levels
from princdiff.tables.pooled_columns import Pool, bad_cells
from princdiff.tables.readers import read
from princdiff.tables.roles import Layout


@dataclass(frozen=True, eq=False)
class Encoded:
    """Later rows, encoded as earlier ones were.

    Attributes
    ----------
    rows : array or CSR matrix of shape (n_rows, n_features)
        Finite numbers.
    kept : array of shape (n_rows,)
        Number of each row in the input.
    notes : tuple of str
        What was dropped, filled or not known.

    Examples
    --------
    >>> import pandas as pd
    >>> from princdiff.tables import encode, prepare
    >>> frame = pd.DataFrame({"age": [31.5, 40.2, 28.9, 55.1] * 3, "city": ["Bern", "Basel", "Chur"] * 4})
    >>> prepared = prepare(frame, groups=["a", "a", "b", "b"] * 3)
    >>> encode(frame.head(2), prepared.codings).rows
    array([[31.5,  0. ,  1. ,  0. ],
           [40.2,  1. ,  0. ,  0. ]])
    """

    rows: Any
    kept: NDArray[np.intp]
    notes: tuple[str, ...] = ()


def encode(source: Any, codings: Sequence[Coding], *, missing: Missing = "error") -> Encoded:
    """Encode other rows exactly as those that `prepare` saw.

    Parameters
    ----------
    source : path, DataFrame (pandas or polars), array, scipy.sparse matrix, AnnData
        Rows with the columns of `codings`, in any order; further columns are not used.
    codings : list of Coding
        `Prepared.codings`.
    missing : {"error", "impute", "drop"}
        Missing values where there were none before: an error, or their rows left out. Where there were some,
        they are filled and marked as they were then. "impute" is an error as well: there is no median.

    Returns
    -------
    Encoded
        A category that was not seen before is one of the other levels, or, where there was no such feature,
        has 0 in all features of its column.

    Examples
    --------
    >>> import pandas as pd
    >>> from princdiff.tables import Coding, encode
    >>> codings = [Coding("size"), Coding("city", levels=("Oslo", "Riga", "Rome"))]
    >>> encode(pd.DataFrame({"city": ["Rome", "Bonn"], "size": [1.5, 2.5]}), codings).rows
    array([[1.5, 0. , 0. , 1. ],
           [2.5, 0. , 0. , 0. ]])
    """
    check_choice("missing", missing, ("error", "impute", "drop"))
    table = read(source, "the new table")
    notes = list(table.notes)
    table = matching(table, [coding.column for coding in codings], notes)
    pool = _recoded(table, codings, notes)
    layout = Layout((table.label,), (table.n_rows,))
    messages.refuse_infinite(pool, layout)
    holes = bad_cells(pool, infinite=False)
    new_holes = {c.column: holes[c.column] for c in codings if c.column in holes and not c.indicator}
    kept = np.arange(table.n_rows)
    if missing == "drop" and new_holes:
        kept = messages.rows_without(new_holes, table.n_rows)
        notes.append(f"{table.n_rows - len(kept)} of {table.n_rows} rows were dropped for missing values.")
        pool = pool.take_rows(kept)
        holes = bad_cells(pool, infinite=False)
    else:
        messages.refuse_new_missing(new_holes, layout)
    return Encoded(expand(pool, codings, holes), kept, tuple(notes))


def _recoded(table: Table, codings: Sequence[Coding], notes: list[str]) -> Pool:
    order = [coding.column for coding in codings]
    plain = all(c.levels is None and c.type != "date" and not c.precision for c in codings)
    if not isinstance(table.values, pd.DataFrame) and plain:
        return Pool(order, table.values, order)
    levels: dict[str, Levels] = {}
    numbers: dict[str, NDArray] = {}
    dates: dict[str, NDArray] = {}
    frame = table.frame()
    for coding in codings:
        values, unknown = recode(read_column(frame[coding.column]), coding)
        if unknown and coding.pooled:
            notes.append(
                f"Column {coding.column!r}: {plural(len(unknown), 'level')} counted as other levels: "
                f"{listed(unknown)}."
            )
        elif unknown:
            notes.append(f"Column {coding.column!r} has levels that were not seen before: {listed(unknown)}.")
        if coding.type == "date":
            dates[coding.column] = values
        elif coding.levels is None:
            numbers[coding.column] = values
        else:
            levels[coding.column] = Levels(values, coding.levels, pooled=coding.pooled)
    matrix = np.column_stack(list(numbers.values())) if numbers else np.empty((table.n_rows, 0))
    return Pool(order, matrix, list(numbers), levels, dates)
