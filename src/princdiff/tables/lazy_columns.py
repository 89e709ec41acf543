"""Columns out of memory, of which one at a time is read: what parquet files and Dask have in common."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Self, overload

import numpy as np
import pandas as pd
from numpy.typing import NDArray

# Different texts of a column up to which they are looked at; beyond, it is no column of categories.
MOST_TEXTS = 1_000_000


class LazyColumns(ABC):
    """A table of any length, one column of which is in memory.

    Attributes
    ----------
    memory : int
        Budget in bytes for what is done with it.
    shape : (int, int)
        Rows and columns.
    columns : tuple of str
        Column names.
    """

    memory: int
    shape: tuple[int, int]
    columns: tuple[str, ...]

    @overload
    def __getitem__(self, key: str) -> pd.Series: ...

    @overload
    def __getitem__(self, key: list[str]) -> Self: ...

    def __getitem__(self, key: str | list[str]) -> Any:
        """A column as a Series, or the table with some of its columns."""
        if isinstance(key, str):
            codes, levels = self.texts(key)
            if codes is None:
                return self._series(key)
            if len(levels) > MOST_TEXTS:
                raise ValueError(f"column {key!r} has more than {MOST_TEXTS} different texts")
            # One object for each text, however many rows have it.
            return pd.Series(np.array([*levels, None], dtype=object)[codes], name=key)
        other = copy.copy(self)
        other.columns, other.shape = tuple(key), (self.shape[0], len(key))
        return other

    def rows(self, index: NDArray[np.intp]) -> LazyColumns:
        """The table with some of its rows."""
        return _SomeRows(self, index)

    @abstractmethod
    def texts(self, name: str) -> tuple[NDArray[np.int32] | None, list[str]]:
        """Positions of every row's text (-1: missing) and the texts; None for columns that are not text.

        Of more than ``MOST_TEXTS`` some are given, and no positions beyond.
        """

    @abstractmethod
    def _series(self, name: str) -> pd.Series:
        """A column that is not text, whole."""


class _SomeRows(LazyColumns):
    """Some of the rows of a table out of memory."""

    def __init__(self, whole: LazyColumns, index: NDArray[np.intp]) -> None:
        self.memory, self.columns = whole.memory, whole.columns
        self.shape = (len(index), whole.shape[1])
        self._whole, self._index = whole, index

    def texts(self, name: str) -> tuple[NDArray[np.int32] | None, list[str]]:
        codes, levels = self._whole.texts(name)
        if codes is None or len(levels) > MOST_TEXTS:
            return (None if codes is None else codes[self._index]), levels
        # Texts of the other rows are no levels of these.
        seen, own = np.unique(codes[self._index], return_inverse=True)
        texts = [levels[code] for code in seen if code >= 0]
        return (own - int(len(texts) < len(seen))).astype(np.int32), texts

    def _series(self, name: str) -> pd.Series:
        return self._whole._series(name).iloc[self._index].reset_index(drop=True)


class TextCodes:
    """The different texts of a column and which of them each row has, gathered piece by piece.

    Parameters
    ----------
    n_rows : int
        Rows of the whole column.

    Examples
    --------
    >>> codes = TextCodes(4)
    >>> codes.add(["Oslo", "Rome"], np.array([0, 1]))
    >>> codes.add(["Rome"], np.array([0, -1]))
    >>> codes.found()
    (array([ 0,  1,  1, -1], dtype=int32), ['Oslo', 'Rome'])
    """

    def __init__(self, n_rows: int) -> None:
        self._known: dict[str, int] = {}
        self._codes = np.full(n_rows, -1, dtype=np.int32)
        self._end = 0

    @property
    def too_many(self) -> bool:
        """Whether more texts have come than are looked at."""
        return len(self._known) > MOST_TEXTS

    def add(self, texts: Sequence[str], positions: NDArray[np.intp]) -> None:
        """The next rows: their different texts and which of them each has, -1 for none."""
        places = [self._known.setdefault(text, len(self._known)) for text in texts]
        start, self._end = self._end, self._end + len(positions)
        self._codes[start : self._end] = np.array([*places, -1], dtype=np.int32)[positions]

    def found(self) -> tuple[NDArray[np.int32], list[str]]:
        """Position of every row's text, and the texts in the order in which they came."""
        return self._codes, list(self._known)
