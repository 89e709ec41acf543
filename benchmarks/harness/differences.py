"""Differences whose truth is known: made ones, changes planted in tables, and none at all.

Each makes two data frames of a seed, with the columns that were changed (None where nobody knows them).
Data sets below 440 had a part in choosing cells and weights of our test, so runs that count begin there.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache, partial

import numpy as np
import pandas as pd

from benchmarks.power import KINDS
from benchmarks.tables.planted import plant, read

FIRST = 440
ROWS = 200

Made = tuple[pd.DataFrame, pd.DataFrame, frozenset[str] | None]


def names(indices: range) -> frozenset[str]:
    return frozenset(f"x{j}" for j in indices)


# How many of the first columns differ; what is not here is of two columns.
CHANGED = {
    "Fig. 1c blocks, d = 60": 3,
    "shift of one of 60": 1,
    "shift of all of 60": 60,
    "spread of one of 60": 1,
    "correlated, shift of one": 1,
    "correlated, dependence of ten": 10,
    "scale mixture, d = 30": 30,
    "15 + 15 digits": None,
}


def made(kind: str, seed: int) -> Made:
    """A difference of simulated numbers."""
    X, y = KINDS[kind](seed)
    table = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
    first, second = (table[y == group].reset_index(drop=True) for group in np.unique(y))
    changed = CHANGED.get(kind, 2)
    return first, second, None if changed is None else names(range(changed))


def equal_numbers(seed: int) -> Made:
    rng = np.random.default_rng([51, seed])
    table = pd.DataFrame(rng.standard_normal((200, 60)), columns=[f"x{j}" for j in range(60)])
    return table.iloc[:100], table.iloc[100:].reset_index(drop=True), frozenset()


def planted(table: str, change: str, seed: int) -> Made:
    """Two random halves of a table, one of which was changed."""
    rng = np.random.default_rng([52, seed])
    whole = table_of(table)
    order = rng.permutation(len(whole))[: 2 * ROWS]
    first, second = (whole.iloc[part].reset_index(drop=True) for part in np.array_split(order, 2))
    return first, second, frozenset(plant(change, second, rng))


table_of = cache(read)


def differences() -> dict[str, Callable[[int], Made]]:
    """All that can be made here, by name; those in which nothing differs come last."""
    tables = ["made", *(["telco", "bank"] if os.environ.get("PRINCDIFF_DATA") else [])]
    found: dict[str, Callable[[int], Made]] = {kind: partial(made, kind) for kind in KINDS}
    for table in tables:
        for change in ("rate", "shift", "spread", "broken"):
            found[f"{table} table, {change}"] = partial(planted, table, change)
    found["none, 60 numbers"] = equal_numbers
    return found | {f"none, {table} table": partial(planted, table, "none") for table in tables}
