"""Which chunk a row goes to, whether it is left out of the sums, and whether it is in the sample of rows.

All three are random numbers that depend on the seed and on where the row stands (its part of the source and
its number in it), or on the block that it belongs to; never on what it holds.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

# Of the 64 random bits of a row: 16 for its chunk, 16 for thinning, 32 for the sample.
_SIXTEEN = np.uint64(0xFFFF)


@dataclass(frozen=True)
class Dealt:
    """Random numbers of some rows.

    Attributes
    ----------
    bits : uint64 array of shape (n_rows,)
        Of each row, or of the block that it belongs to.
    own : uint64 array of shape (n_rows,), optional
        Of each row, where `bits` are those of blocks.
    """

    bits: NDArray[np.uint64]
    own: NDArray[np.uint64] | None = None

    def chunks(self, n_chunks: NDArray[np.int64]) -> NDArray[np.int64]:
        """The chunk of each row, of as many as its group has, shape (n_rows,)."""
        return ((self.bits & _SIXTEEN).astype(np.int64) * n_chunks) >> 16

    def kept(self, share: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Which rows are kept where only a share of a group is."""
        return ((self.bits >> np.uint64(16)) & _SIXTEEN).astype(np.float64) < share * 65536

    @property
    def keys(self) -> NDArray[np.uint32]:
        """Rows with the smallest are in the sample."""
        return _upper(self.bits if self.own is None else self.own)

    def left_out(self, share: float) -> NDArray[np.bool_]:
        """Which rows, or blocks, are left out of the sums."""
        return _upper(self.bits) < share * 2.0**32

    def looked_at(self, share: float) -> NDArray[np.bool_]:
        """Which rows bins are chosen from where none is left out of the sums."""
        return self.keys < share * 2.0**32


class Dealer:
    """Deals the rows of one part of a source, in their order.

    Parameters
    ----------
    seed : int
    part : str
        What the part is called, the same whenever it is read.

    Examples
    --------
    >>> Dealer(0, "a.parquet 3").rows(4).chunks(np.full(4, 128)).max() < 128
    np.True_
    """

    def __init__(self, seed: int, part: str) -> None:
        self._seed = seed
        self._numbers = np.random.PCG64([seed, zlib.crc32(part.encode())])

    def rows(self, count: int) -> Dealt:
        """The next rows."""
        return Dealt(self._numbers.random_raw(count))

    def blocks(self, names: Any) -> Dealt:
        """Rows of blocks, which go to one chunk wherever they stand; names of shape (n_rows,)."""
        hashed = pd.util.hash_array(np.asarray(names), categorize=True)
        of_blocks = _mixed(hashed ^ _mixed(np.full(1, self._seed, dtype=np.uint64)))
        # Rows of one block have numbers of their own; where each is a block, they come from it alone.
        turn = pd.Series(hashed).groupby(hashed).cumcount().to_numpy().astype(np.uint64)
        return Dealt(of_blocks, np.where(turn == 0, of_blocks, _mixed(of_blocks ^ _mixed(turn))))


def _upper(bits: NDArray[np.uint64]) -> NDArray[np.uint32]:
    return (bits >> np.uint64(32)).astype(np.uint32)


def _mixed(bits: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Every bit depends on every other (the finaliser of splitmix64)."""
    with np.errstate(over="ignore"):
        bits = bits + np.uint64(0x9E3779B97F4A7C15)
        bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))
