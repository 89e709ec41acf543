"""What is counted and added up of one group, chunk by chunk; two of them add up to one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from princdiff.profiles.ruler import Ruler


@dataclass(eq=False)
class GroupSums:
    """Sums of one group.

    Attributes
    ----------
    rows : int64 array of shape (n_chunks,)
        Rows counted.
    counts : list of int64 arrays of shape (n_chunks, n_bins), one per column
        Rows in each bin or of each level; last those of no known level (of levels) and gaps.
    sums : list of arrays of shape (n_chunks, 2), one per column
        Of the scaled values of a number, and of their squares; zeros for levels.
    products : int64 array of shape (n_chunks, n_in_pairs, n_in_pairs)
        Of scores of bins, in `SCORE_STEP`, and of 0/1 features.
    seen : int
        All rows, those left out of the sums among them.
    """

    rows: NDArray[np.int64]
    counts: list[NDArray[np.int64]]
    sums: list[NDArray[np.float64]]
    products: NDArray[np.int64]
    seen: int = 0

    @classmethod
    def empty(cls, ruler: Ruler, n_chunks: int) -> GroupSums:
        """Nothing counted yet."""
        pairs = len(ruler.in_pairs)
        return cls(
            np.zeros(n_chunks, dtype=np.int64),
            [np.zeros((n_chunks, column.n_bins), dtype=np.int64) for column in ruler.columns],
            [np.zeros((n_chunks, 2)) for _ in ruler.columns],
            np.zeros((n_chunks, pairs, pairs), dtype=np.int64),
        )

    @property
    def n_chunks(self) -> int:
        """Chunks that rows were dealt to."""
        return len(self.rows)

    def beside(self, other: GroupSums) -> GroupSums:
        """The chunks of both, as those of one group."""
        return self._with(other, lambda mine, others: np.concatenate([mine, others]))

    def __add__(self, other: GroupSums) -> GroupSums:
        """Sums of the rows of both."""
        if self.n_chunks != other.n_chunks:
            raise ValueError(
                f"profiles of {self.n_chunks} and of {other.n_chunks} chunks cannot be merged: make both "
                "with the same n_chunks="
            )
        return self._with(other, np.add)

    def _with(self, other: GroupSums, join: Callable[[NDArray, NDArray], NDArray]) -> GroupSums:
        return GroupSums(
            join(self.rows, other.rows),
            list(map(join, self.counts, other.counts)),
            list(map(join, self.sums, other.sums)),
            join(self.products, other.products),
            self.seen + other.seen,
        )
