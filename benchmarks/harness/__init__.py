"""Libraries beside each other on differences whose truth is known: whether, in what, how sure, how long.

    python -m benchmarks.harness [--seeds 100] [--methods princdiff hyppo ...] [--differences blocks ...]

A method is one file of ``methods/``: ``NAME``, and ``answer(first, second, seed)``, which is given two data
frames and returns an `Answer`. Files whose library is not installed are named as such and left out. A
difference is one entry of `benchmarks.harness.differences`. Nothing is downloaded; tables of
``PRINCDIFF_DATA/tables`` take part where that is set.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

LEVEL = 0.05
PERMUTATIONS = 199


@dataclass(frozen=True)
class Answer:
    """What a method says of two tables.

    Attributes
    ----------
    differs : bool
        Whether they differ, at 5 %.
    columns : frozenset of str or None
        The columns that differ; None for a method that names none.
    pvalue : float or None
        None for a method that decides without one.
    """

    differs: bool
    columns: frozenset[str] | None = None
    pvalue: float | None = None


def by_pvalue(pvalue: float, columns: frozenset[str] | None = None) -> Answer:
    """The answer of a method whose decision is that of its p-value."""
    return Answer(bool(pvalue <= LEVEL), columns, float(pvalue))


def numbers(first: pd.DataFrame, second: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Both tables for methods that take numbers only: levels as flags, columns in standard units."""
    table = pd.get_dummies(pd.concat([first, second])).to_numpy(dtype=float)
    spread = table.std(axis=0)
    table = (table - table.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    return table[: len(first)], table[len(first) :]


def codes(first: pd.DataFrame, second: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """All rows with levels as whole numbers, one column for each of the tables, and the groups."""
    table = pd.concat([first, second])
    texts = table.select_dtypes(exclude="number").columns
    table = table.assign(**{name: pd.factorize(table[name])[0] for name in texts})
    return table.to_numpy(dtype=float), np.repeat([0, 1], [len(first), len(second)])
