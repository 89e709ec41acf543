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

from princdiff.data.moments import row_blocks
from princdiff.data.row_chunks import RowChunks

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def row_keys(rows: Any, weights: NDArray[np.float64] | None = None) -> NDArray[np.uint64]:
    """A hash of every row's values, the same for dense and sparse rows of any precision.

    Parameters
    ----------
    rows : array, scipy.sparse matrix or RowChunks of shape (n_rows, n_features)
        Finite numbers. Rows out of core are read once.
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
    """
    factors = np.random.default_rng(0).integers(2**63, size=rows.shape[1] + 1, dtype=np.uint64)
    # Odd numbers, so that no bit of a value is lost in the product.
    factors = factors * np.uint64(2) + np.uint64(1)
    keys = np.empty(rows.shape[0], dtype=np.uint64)
    with np.errstate(over="ignore"):
        for place, block in rows.blocks() if isinstance(rows, RowChunks) else _blocks(rows):
            keys[place] = _sums(block, factors)
        if weights is not None:
            keys += np.unique(weights, return_inverse=True)[1].astype(np.uint64) * factors[-1]
    return _mixed(keys)


def _blocks(rows: Any) -> Iterator[tuple[slice, Any]]:
    if sp.issparse(rows):
        yield slice(None), rows.tocsr()
    else:
        for block in row_blocks(rows):
            yield block, rows[block]


def _sums(block: Any, factors: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Bits times a number for each feature, summed over every row; zeros add nothing."""
    if not sp.issparse(block):
        return _folded(block) @ factors[:-1]
    terms = _folded(block.data) * factors[block.indices]
    running = np.concatenate([np.zeros(1, np.uint64), np.cumsum(terms, dtype=np.uint64)])
    return running[block.indptr[1:]] - running[block.indptr[:-1]]


def _folded(values: NDArray) -> NDArray[np.uint64]:
    """Bits of numbers in double precision, with those of short numbers spread; zero for zero."""
    # Adding zero turns -0.0 into 0.0.
    bits = (np.asarray(values, dtype=np.float64) + 0.0).view(np.uint64)
    return bits ^ (bits >> np.uint64(32)) ^ (bits >> np.uint64(52))


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
        # Rows that are alike get numbers of their own: the how manieth of them it is.
        new = np.concatenate([[True], numbers[1:] != numbers[:-1]])[: len(own)]
        start = np.maximum.accumulate(np.where(new, np.arange(len(own)), 0))
        repeat = (np.arange(len(own)) - start).astype(np.uint64)
        with np.errstate(over="ignore"):
            draw = _mixed(_mixed(numbers + repeat * _GOLDEN) ^ salt)
        members.append(own[np.argsort(draw, kind="stable")])
    return members
