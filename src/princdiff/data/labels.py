"""Who belongs to which group, for every column of a batch.

Restarts share one labelling, permutations bring one each, folds and half-samples leave rows out: all of
them are *labels*, and this is the only place that knows how they are stored.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

HELD_OUT = 255
"""Code of a row that takes no part in a labelling."""


class Labels:
    """Labellings of the same rows, and which column of a batch uses which.

    Parameters
    ----------
    codes : array or PackedCodes of shape (n_labellings, n_rows), dtype uint8
        Group of each row, ``0 ... n_groups - 1``, or ``HELD_OUT``. Packed ones can be looked at part by part,
        and be taken; whoever compares groups needs them `unpacked`.
    n_groups : int
        Number of groups.
    weights : array of shape (n_rows,), optional
        Non-negative row weights; they travel with the rows whatever their label. None: equal weights.
    columns : array of shape (n_columns,), optional
        Labelling used by each column of the batch. Default: one column per labelling.

    Examples
    --------
    >>> labels = Labels(np.array([[0, 0, 1, 1, 1]]), 2)
    >>> labels.repeat(3).n_columns
    3
    >>> labels.counts
    array([[2, 3]])
    """

    def __init__(
        self,
        codes: ArrayLike | PackedCodes,
        n_groups: int,
        *,
        weights: NDArray[np.float64] | None = None,
        columns: NDArray[np.intp] | None = None,
    ) -> None:
        self.codes: Any = codes
        if not isinstance(codes, PackedCodes):
            self.codes = np.atleast_2d(np.asarray(codes, dtype=np.uint8))
        self.n_groups = n_groups
        self.weights = weights
        self.columns = np.arange(len(self.codes)) if columns is None else columns

    @property
    def n_rows(self) -> int:
        """Number of pooled rows, held-out ones included."""
        return self.codes.shape[1]

    @property
    def n_columns(self) -> int:
        """Number of columns of the batch."""
        return len(self.columns)

    @property
    def shared(self) -> bool:
        """Whether all columns use one labelling."""
        return len(self.codes) == 1

    def take(self, columns: NDArray) -> Labels:
        """Labels of some columns only (index or mask); labellings are shared, not copied."""
        return self._with_columns(self.columns[columns])

    def unpacked(self, columns: slice) -> Labels:
        """Labels of some columns, each with a labelling of its own, as bytes."""
        codes = np.asarray(self.codes[self.columns[columns]])
        return Labels(codes, self.n_groups, weights=self.weights)

    def repeat(self, times: int) -> Labels:
        """Each column ``times`` times in a row: several starts of the same problem."""
        return self._with_columns(np.repeat(self.columns, times))

    def labelling(self, index: int) -> Labels:
        """One labelling alone, with one column."""
        return Labels(self.codes[index : index + 1], self.n_groups, weights=self.weights)

    def _with_columns(self, columns: NDArray[np.intp]) -> Labels:
        other = Labels(self.codes, self.n_groups, weights=self.weights, columns=columns)
        # What was prepared once per labelling stays prepared.
        for name in ("counts", "_members", "key_part"):
            if name in self.__dict__:
                other.__dict__[name] = self.__dict__[name]
        return other

    @cached_property
    def counts(self) -> NDArray[np.intp]:
        """Rows per group, shape (n_labellings, n_groups)."""
        groups = [np.count_nonzero(self.codes == g, axis=1) for g in range(self.n_groups)]
        return np.stack(groups, axis=1)

    def homogeneous(self) -> Iterator[NDArray[np.intp]]:
        """Yield column positions in sets whose group sizes agree, so that they can be evaluated together."""
        sizes = self.counts[self.columns]
        _, kind = np.unique(sizes, axis=0, return_inverse=True)
        kind = kind.ravel()
        for value in range(kind.max(initial=-1) + 1):
            yield np.flatnonzero(kind == value)

    @cached_property
    def group_sizes(self) -> NDArray[np.intp]:
        """Rows per group, shape (n_groups,), the same in every column of the batch."""
        sizes = self.counts[self.columns]
        if len(sizes) > 1 and (sizes != sizes[0]).any():
            raise ValueError("columns of one batch must agree in their group sizes; split with homogeneous()")
        return sizes[0]

    @cached_property
    def proportions(self) -> NDArray[np.float64]:
        """Share of each group in the (weighted) rows, shape (n_columns or 1, n_groups)."""
        if self.weights is None:
            return (self.group_sizes / self.group_sizes.sum())[None, :]
        mass = np.stack([(self.codes == g) @ self.weights for g in range(self.n_groups)], axis=1)
        return (mass / mass.sum(axis=1, keepdims=True))[self.columns]

    @cached_property
    def _members(self) -> list[NDArray[np.intp]]:
        order = np.argsort(self.codes, axis=1, kind="stable")
        ends = np.cumsum(self.counts[0])
        return [order[:, end - size : end] for size, end in zip(self.counts[0], ends, strict=True)]

    def gather(self, projections: NDArray, group: int) -> NDArray:
        """Projections of one group, shape (n_columns, group size): a copy that may be sorted in place."""
        rows = self._group_rows(group)
        if isinstance(rows, slice):
            return projections[:, rows].copy()
        if rows.ndim == 1:
            return projections[:, rows]
        return np.take_along_axis(projections, rows, axis=1)

    def _group_rows(self, group: int) -> slice | NDArray[np.intp]:
        """Row numbers of a group: a slice or one vector where the columns share them, else one row each."""
        if self.shared:
            rows = self._members[group][0]
            if len(rows) and rows[-1] - rows[0] + 1 == len(rows):
                return slice(int(rows[0]), int(rows[-1]) + 1)
            return rows
        if (self.counts != self.counts[0]).any():
            sub = self.codes[self.columns]
            return np.nonzero(sub == group)[1].reshape(self.n_columns, -1)
        return self._members[group][self.columns]

    def group_rows(self, group: int) -> NDArray[np.intp]:
        """Row numbers of a group in every column, shape (n_columns or 1, group size)."""
        rows = self._group_rows(group)
        if isinstance(rows, slice):
            rows = np.arange(rows.start, rows.stop)
        return np.atleast_2d(rows)

    @cached_property
    def key_part(self) -> NDArray[np.uint64]:
        """Label in the top byte of a 64-bit sorting key, shape (n_labellings, n_rows)."""
        return self.codes.astype(np.uint64) << np.uint64(56)


# Labellings of two groups for very many rows: a bit a row, made bytes where they are looked at.


class PackedCodes:
    """What looks like codes of shape (n_labellings, n_rows), and takes an eighth of their memory.

    Parameters
    ----------
    bits : array of shape (n_labellings, n_bytes), dtype uint8
        Rows of the second group, eight to a byte, the first one highest.
    n_rows : int
        Rows.

    Examples
    --------
    >>> codes = PackedCodes(np.packbits(np.array([[0, 1, 1, 0, 0, 0, 0, 0, 1, 1], [1] * 10]), axis=1), 10)
    >>> codes[:, 7:9]
    array([[0, 1],
           [1, 1]], dtype=uint8)
    >>> codes[0], len(codes[np.array([1])])
    (array([0, 1, 1, 0, 0, 0, 0, 0, 1, 1], dtype=uint8), 1)
    """

    def __init__(self, bits: NDArray[np.uint8], n_rows: int) -> None:
        self._bits = bits
        self.shape = (len(bits), n_rows)

    def __len__(self) -> int:
        return self.shape[0]

    def __iter__(self) -> Iterator[NDArray[np.uint8]]:
        return (self[line] for line in range(len(self)))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray:
        return self[:, :].astype(dtype or np.uint8, copy=False)

    def __getitem__(self, key: Any) -> Any:
        """One labelling or some rows of all as bytes; some labellings, packed."""
        if isinstance(key, tuple):
            start, stop, _ = key[1].indices(self.shape[1])
            first = start // 8
            part = np.unpackbits(self._bits[:, first : -(-stop // 8)], axis=1, count=stop - 8 * first)
            return part[:, start - 8 * first :]
        if isinstance(key, int | np.integer):
            return np.unpackbits(self._bits[key], count=self.shape[1])
        return PackedCodes(self._bits[key], self.shape[1])
