"""What a relabelling moves: rows, whole blocks of rows, or both, and among which of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from princdiff.data.blocks import crossing_blocks


@dataclass(frozen=True, eq=False)
class Units:
    """Units, of which each has one group, and strata, inside which units exchange their groups.

    Attributes
    ----------
    of_row : int array of shape (n_rows,) or None
        Unit of each row, 0, 1, ...; None where every row is one.
    strata : int array of shape (n_units,)
        Stratum of each unit, 0, 1, ...

    Examples
    --------
    Person p has rows in both groups, q and r in one each:

    >>> codes = np.array([0, 1, 0, 0, 1, 1], dtype=np.uint8)
    >>> units = Units.of(codes, np.array([0, 0, 1, 1, 2, 2]), "mixed")
    >>> units.of_row, units.strata
    (array([0, 1, 2, 2, 3, 3]), array([0, 0, 1, 1]))
    """

    of_row: NDArray[np.intp] | None
    strata: NDArray[np.intp]

    @classmethod
    def of(cls, codes: NDArray[np.uint8], blocks: NDArray[np.intp] | None, permute: str | None) -> Units:
        """The units of a design.

        Parameters
        ----------
        codes : array of shape (n_rows,), dtype uint8
            Group of each row.
        blocks : int array of shape (n_rows,), optional
            Block of each row.
        permute : {"within", "whole", "mixed"}
            Rows inside their block, whole blocks, or rows inside the blocks that have rows of several groups
            and whole blocks among the others. Ignored without blocks.
        """
        if blocks is None:
            return cls(None, np.zeros(len(codes), dtype=np.intp))
        if permute == "whole":
            return cls(blocks, np.zeros(int(blocks.max()) + 1, dtype=np.intp))
        if permute == "within":
            return cls(None, blocks)
        crossing = crossing_blocks(codes, blocks)[blocks]
        # Rows of a crossing block are units of their own, and their block is their stratum.
        unit = np.where(crossing, blocks.max() + 1 + np.arange(len(codes)), blocks)
        _, first, of_row = np.unique(unit, return_index=True, return_inverse=True)
        stratum = np.where(crossing, blocks, blocks.max() + 1)[first]
        order = np.argsort(first, kind="stable")
        place = np.empty(len(order), dtype=np.intp)
        place[order] = np.arange(len(order))
        return cls(place[of_row], np.unique(stratum[order], return_inverse=True)[1])

    @property
    def n_units(self) -> int:
        """Number of units."""
        return len(self.strata)

    @cached_property
    def first_rows(self) -> NDArray[np.intp] | None:
        """One row of each unit; None where every row is one."""
        if self.of_row is None:
            return None
        first = np.zeros(self.n_units, dtype=np.intp)
        first[self.of_row[::-1]] = np.arange(len(self.of_row))[::-1]
        return first

    @cached_property
    def adding(self) -> sp.csr_matrix | None:
        """Adds up the rows of each unit, shape (n_units, n_rows), single precision; None: rows are units."""
        if self.of_row is None:
            return None
        places = (self.of_row, np.arange(len(self.of_row)))
        return sp.csr_matrix((np.ones(len(self.of_row), dtype=np.float32), places))

    def codes_of(self, codes: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Group of each unit from the groups of the rows."""
        if self.first_rows is None or self.of_row is None:
            return codes
        found = codes[self.first_rows]
        if (found[self.of_row] != codes).any():
            raise ValueError("a block has rows of several groups and cannot change sides as a whole")
        return found

    def averaged(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Means of some columns over the rows of each unit, shape (n_units, n_columns)."""
        if self.of_row is None:
            return values
        counts = np.bincount(self.of_row, minlength=self.n_units)
        return np.column_stack([np.bincount(self.of_row, column) / counts for column in values.T])

    def stratum_means(
        self, values: NDArray[np.float64], weights: NDArray[np.float64] | None = None
    ) -> NDArray[np.float64]:
        """Means over all rows, shape (n_columns,), or of the stratum of each row, (n_rows, n_columns)."""
        weights = np.ones(len(values)) if weights is None else weights
        if self.strata.max() == 0:
            return weights @ values / weights.sum()
        strata = self.strata if self.of_row is None else self.strata[self.of_row]
        adding = sp.csr_matrix((np.ones(len(strata)), (strata, np.arange(len(strata)))))
        means = (adding @ (weights[:, None] * values)) / (adding @ weights)[:, None]
        return np.asarray(means[strata])

    def take(self, rows: NDArray[np.intp]) -> Units:
        """The units of some rows."""
        if self.of_row is None:
            return Units(None, np.unique(self.strata[rows], return_inverse=True)[1])
        kept, of_row = np.unique(self.of_row[rows], return_inverse=True)
        return Units(of_row, np.unique(self.strata[kept], return_inverse=True)[1])
