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
    """

    bits: NDArray[np.uint64]

    def chunks(self, n_chunks: NDArray[np.int64]) -> NDArray[np.int64]:
        """The chunk of each row, of as many as its group has, shape (n_rows,)."""
        return ((self.bits & _SIXTEEN).astype(np.int64) * n_chunks) >> 16

    def kept(self, share: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Which rows are kept where only a share of a group is."""
        return ((self.bits >> np.uint64(16)) & _SIXTEEN).astype(np.float64) < share * 65536

    @property
    def keys(self) -> NDArray[np.uint32]:
        """Rows with the smallest are in the sample; those below a share of 2^32 are left out of the sums."""
        return (self.bits >> np.uint64(32)).astype(np.uint32)

    def left_out(self, share: float) -> NDArray[np.bool_]:
        """Which rows are left out of the sums."""
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
        """Rows of blocks, which go together wherever they stand; names of shape (n_rows,)."""
        hashed = pd.util.hash_array(np.asarray(names), categorize=True)
        return Dealt(_mixed(hashed ^ _mixed(np.full(1, self._seed, dtype=np.uint64))))


def _mixed(bits: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Every bit depends on every other (the finaliser of splitmix64)."""
    with np.errstate(over="ignore"):
        bits = bits + np.uint64(0x9E3779B97F4A7C15)
        bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))
