"""Random choices among rows that depend on what the rows hold, not on the order in which they came.

Folds, halves, samples and relabellings are drawn at random. Drawn by position, they would change when a
table is sorted, when the two tables of a comparison change places, or when groups are renamed. So each row
gets a key, a hash of its values, and rows are shuffled by key. Rows that are alike in all values (and in
weight) are interchangeable, so it does not matter which of them is drawn.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from princdiff.data.moments import row_blocks, sparse_bounds
from princdiff.data.row_chunks import RowChunks

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
# Steps into which the range of a feature is cut: fine enough to tell rows apart, coarse beside rounding.
_BITS = 20


def row_keys(rows: Any, weights: NDArray[np.float64] | None = None) -> NDArray[np.uint64]:
    """A hash of every row's values, the same for dense and sparse rows and for features in other units.

    Parameters
    ----------
    rows : array, scipy.sparse matrix or RowChunks of shape (n_rows, n_features)
        Finite numbers. A millionth of a feature's range counts as no difference, so that rounding does not.
        Rows out of core are read twice.
    weights : array of shape (n_rows,), optional
        Row weights: rows that differ in weight only have different keys. Their unit does not matter.

    Returns
    -------
    array of shape (n_rows,), dtype uint64

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> rows = np.array([[0.0, 1.5], [2.0, 0.0], [-0.0, 1.5]])
    >>> first, second, third = row_keys(rows)
    >>> bool(first == third), bool(first == second)
    (True, False)
    >>> bool((row_keys(sp.csr_matrix(rows.astype(np.float32))) == row_keys(rows)).all())
    True
    >>> bool((row_keys(1000 * rows) == row_keys(rows)).all())
    True
    """
    low, high = _ranges(rows)
    # By halves: the range of numbers of any size can be represented.
    width = high / 2 - low / 2
    factors = np.random.default_rng(0).integers(2**63, size=rows.shape[1] + 1, dtype=np.uint64)
    # Odd numbers, so that no bit is lost in the product.
    factors = factors * np.uint64(2) + np.uint64(1)
    steps = _Steps(low, np.where(width > 0, width, np.inf))
    keys = np.empty(rows.shape[0], dtype=np.uint64)
    with np.errstate(over="ignore"):
        for place, block in rows.blocks() if isinstance(rows, RowChunks) else _blocks(rows):
            keys[place] = _sums(block, steps, factors)
        if weights is not None:
            keys += np.unique(weights, return_inverse=True)[1].astype(np.uint64) * factors[-1]
    return _mixed(keys)


def _ranges(rows: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    if isinstance(rows, RowChunks):
        found = rows.moments()
        return found.low, found.high
    bounds = sparse_bounds(rows.tocsr()) if sp.issparse(rows) else (rows.min(axis=0), rows.max(axis=0))
    return np.asarray(bounds[0], dtype=np.float64), np.asarray(bounds[1], dtype=np.float64)


def _blocks(rows: Any) -> Iterator[tuple[slice, Any]]:
    if sp.issparse(rows):
        yield slice(None), rows.tocsr()
    else:
        for block in row_blocks(rows):
            yield block, rows[block]


class _Steps:
    """Values as whole numbers, 0 for the lowest of their feature and 2 ** 20 for the highest."""

    def __init__(self, low: NDArray[np.float64], width: NDArray[np.float64]) -> None:
        self._low, self._width = low, width
        self.of_zero = self._of(np.zeros_like(low), low, width)

    def dense(self, block: NDArray) -> NDArray[np.uint64]:
        return self._of(block, self._low, self._width)

    def sparse(self, block: Any) -> NDArray[np.uint64]:
        return self._of(block.data, self._low[block.indices], self._width[block.indices])

    @staticmethod
    def _of(values: NDArray, low: NDArray, width: NDArray) -> NDArray[np.uint64]:
        # Where no value is zero the step of zero may be beyond all numbers; it then cancels out.
        with np.errstate(over="ignore", invalid="ignore"):
            share = (np.asarray(values, dtype=np.float64) / 2 - low / 2) / width
            return np.rint(share * 2.0**_BITS).astype(np.int64).astype(np.uint64)


def _sums(block: Any, steps: _Steps, factors: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Steps times a number for each feature, summed over every row."""
    if not sp.issparse(block):
        return steps.dense(block) @ factors[:-1]
    # Of a row of zeros, and what the other values change in it.
    empty = steps.of_zero @ factors[:-1]
    terms = (steps.sparse(block) - steps.of_zero[block.indices]) * factors[block.indices]
    running = np.concatenate([np.zeros(1, np.uint64), np.cumsum(terms, dtype=np.uint64)])
    return empty + running[block.indptr[1:]] - running[block.indptr[:-1]]


def _mixed(keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Every bit of the result depends on every bit of a key (the finaliser of splitmix64)."""
    with np.errstate(over="ignore"):
        keys = (keys ^ (keys >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        keys = (keys ^ (keys >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return keys ^ (keys >> np.uint64(31))


def shuffled_members(
    keys: NDArray[np.uint64], codes: NDArray[np.uint8], n_groups: int, seed: int
) -> list[NDArray[np.intp]]:
    """Row numbers of each group in a random order that depends on the rows' keys and the seed only.

    Parameters
    ----------
    keys : array of shape (n_rows,)
        Of `row_keys`.
    codes : array of shape (n_rows,)
        Group of each row; codes of ``n_groups`` and more are left out.
    n_groups : int
        Number of groups.
    seed : int
        Another seed, another order.

    Returns
    -------
    list of int arrays
        A group's order depends neither on the other groups nor on its number.

    Examples
    --------
    >>> keys = row_keys(np.arange(6.0)[:, None])
    >>> codes = np.array([0, 1, 0, 1, 0, 1], dtype=np.uint8)
    >>> first, second = shuffled_members(keys, codes, 2, seed=3)
    >>> other, same = shuffled_members(keys, 1 - codes, 2, seed=3)
    >>> bool((first == same).all()), bool((second == other).all())
    (True, True)
    """
    by_key = np.argsort(keys, kind="stable")
    salt = _mixed(np.array([seed], dtype=np.uint64))
    members = []
    for group in range(n_groups):
        own = by_key[codes[by_key] == group]
        numbers = keys[own]
        # Rows that are alike get numbers of their own: which of them it is.
        new = np.concatenate([[True], numbers[1:] != numbers[:-1]])[: len(own)]
        start = np.maximum.accumulate(np.where(new, np.arange(len(own)), 0))
        repeat = (np.arange(len(own)) - start).astype(np.uint64)
        with np.errstate(over="ignore"):
            draw = _mixed(_mixed(numbers + repeat * _GOLDEN) ^ salt)
        members.append(own[np.argsort(draw, kind="stable")])
    return members


def group_ranks(keys: NDArray[np.uint64], codes: NDArray[np.uint8], n_groups: int) -> NDArray[np.uint8]:
    """A number for each group that depends on its rows, not on its name: small groups first.

    Parameters
    ----------
    keys : array of shape (n_rows,)
        Of `row_keys`.
    codes : array of shape (n_rows,)
        Group of each row.
    n_groups : int
        Number of groups.

    Returns
    -------
    array of shape (n_groups,)
        Groups that have the same rows are interchangeable, and follow their codes.

    Examples
    --------
    >>> keys = row_keys(np.arange(6.0)[:, None])
    >>> codes = np.array([0, 1, 0, 1, 0, 1], dtype=np.uint8)
    >>> first, second = group_ranks(keys, codes, 2), group_ranks(keys, 1 - codes, 2)
    >>> bool((first[codes] == second[1 - codes]).all())
    True
    """
    content = [(int((codes == group).sum()), int(keys[codes == group].sum())) for group in range(n_groups)]
    ranks = np.empty(n_groups, dtype=np.uint8)
    ranks[sorted(range(n_groups), key=content.__getitem__)] = np.arange(n_groups)
    return ranks
