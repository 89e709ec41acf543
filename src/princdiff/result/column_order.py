"""Columns compared in an order of their names: a result does not depend on where they stand in the table.

Searches begin at random directions, and ties are settled by the first column: both follow the order of the
columns. So columns are compared in an order of their own, and the result has them as the table did.
"""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from princdiff.result.difference import DifferenceResult
from princdiff.tables import Prepared


def by_name(prepared: Prepared) -> Prepared:
    """The same table with its columns in the order of their names, numbers in these counted.

    Examples
    --------
    >>> from princdiff.tables import prepare
    >>> rows = [[1.5, 3.5, 2.5], [2.5, 1.5, 3.5], [4.5, 2.5, 1.5], [0.5, 6.5, 2.0]]
    >>> table = pd.DataFrame(rows, columns=["x10", "x9", "a"])
    >>> by_name(prepare(table, groups=[0, 0, 1, 1])).features
    ('a', 'x9', 'x10')
    """
    order = sorted(range(len(prepared.codings)), key=lambda place: _key(prepared.codings[place].column))
    if order == list(range(len(order))):
        return prepared
    widths = [len(coding.features) for coding in prepared.codings]
    starts = np.cumsum([0, *widths])
    chosen = np.concatenate([np.arange(starts[place], starts[place + 1]) for place in order])
    rows = prepared.rows
    return replace(
        prepared,
        rows=rows[:, chosen],
        features=tuple(prepared.features[place] for place in chosen),
        origin=tuple(prepared.origin[place] for place in chosen),
        kinds=tuple(prepared.kinds[place] for place in chosen),
        feature_levels=tuple(prepared.feature_levels[place] for place in chosen),
        codings=tuple(prepared.codings[place] for place in order),
    )


def _key(name: str) -> tuple[list[tuple[str, int]], str]:
    """Texts and the numbers that follow them; the name itself where spellings differ."""
    parts = re.findall(r"([^0-9]*)([0-9]*)", name)
    return [(text, int(digits or -1)) for text, digits in parts], name


def as_in_table(result: DifferenceResult, prepared: Prepared) -> DifferenceResult:
    """A result with its columns in the order of the table.

    Parameters
    ----------
    result : DifferenceResult
        Of the columns in the order of their names.
    prepared : Prepared
        The table, its columns as they came.

    Returns
    -------
    DifferenceResult
    """
    names = list(prepared.features)
    place = pd.Index(result.directions.index).get_indexer(pd.Index(names))
    if (place == np.arange(len(place))).all():
        return result
    reference = result.reference
    return replace(
        result,
        directions=result.directions.iloc[place],
        codings=list(prepared.codings),
        reference=replace(
            reference,
            factors={group: values[place] for group, values in reference.factors.items()},
            offsets={group: values[place] for group, values in reference.offsets.items()},
        ),
        contrasts=[replace(part, weights=part.weights[place]) for part in result.contrasts],
        columns=_ties_as_in_table(result.columns, prepared.columns),
    )


def _ties_as_in_table(columns: pd.DataFrame, names: tuple[str, ...]) -> pd.DataFrame:
    """Columns between which nothing decides follow each other as in the table."""
    deciding = columns[["selected", "pvalue", "effect"]].fillna(-1.0)
    run = (deciding != deciding.shift()).any(axis=1).cumsum().to_numpy()
    places: NDArray[np.intp] = pd.Index(names).get_indexer(pd.Index(columns["column"]))
    return columns.iloc[np.lexsort((places, run))].reset_index(drop=True)
