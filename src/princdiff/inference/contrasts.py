"""How much groups differ in the mean of a column, for many columns and all labellings: one matrix product.

Whatever is asked about a feature becomes columns of numbers (its values, its distances from the median,
functions of its ranks, a 0/1 level). Under a labelling the groups differ in a column as far as its
between-group sum of squares says. Columns are prepared once; a labelling is a column of zeros and ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from princdiff.data.problem import Problem
from princdiff.inference.relabelling import Labelled
from princdiff.parallel import in_threads

# Elements of the label matrix multiplied at a time (single precision: 64 MB).
_CHUNK_ELEMENTS = 16_000_000
# Bytes of group codes that are kept at a time.
_CODE_BYTES = 400_000_000
# Share of the rows below which adding up a group's rows one by one is faster than a dense product.
_SPARSE_SHARE = 0.04


@dataclass(frozen=True)
class Relabellings:
    """Which labellings a statistic is computed for, and what travels with the rows.

    Attributes
    ----------
    scheme : Scheme or SomeRows
        Labellings, the observed one first.
    n_groups : int
        Number of groups.
    weights : array of shape (n_rows,), optional
        Row weights.
    blocks : int array of shape (n_rows,), optional
        Block of each row.
    whole : bool
        Whether blocks change sides as a whole; otherwise rows do, within their block.
    """

    scheme: Labelled
    n_groups: int
    weights: NDArray[np.float64] | None = None
    blocks: NDArray[np.intp] | None = None
    whole: bool = False

    @classmethod
    def of(cls, problem: Problem, scheme: Labelled) -> Relabellings:
        """The relabellings of a problem without covariates."""
        return cls(scheme, problem.n_groups, problem.weights, problem.blocks, problem.permute == "whole")

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.scheme.n_rows

    @property
    def n_labellings(self) -> int:
        """Labellings, the observed one included."""
        return self.scheme.n_labellings


class Contrasts:
    """Between-group sums of squares of columns, for all labellings.

    Parameters
    ----------
    labellings : Relabellings
        Labellings.
    n_jobs : int, optional
        Threads over chunks of labellings.

    Examples
    --------
    >>> from princdiff.inference.relabelling import Scheme
    >>> codes = np.repeat([0, 1], 3).astype(np.uint8)
    >>> contrasts = Contrasts(Relabellings(Scheme(codes, 99, seed=0), 2))
    >>> contrasts.between(np.arange(6.0)[:, None])[0].round(2)
    array([3.86], dtype=float32)
    """

    def __init__(self, labellings: Relabellings, n_jobs: int | None = None) -> None:
        self.labellings = labellings
        self._n_jobs = n_jobs
        self._fold: Any = None
        if labellings.whole and labellings.blocks is not None:
            n_blocks = int(labellings.blocks.max()) + 1
            entries = np.ones(labellings.n_rows, dtype=np.float32)
            places = (labellings.blocks, np.arange(labellings.n_rows))
            # What a block carries moves together: add it up once, and labellings are those of blocks.
            self._fold = sp.csr_matrix((entries, places), shape=(n_blocks, labellings.n_rows))
            self._first = np.zeros(n_blocks, dtype=np.intp)
            self._first[labellings.blocks[::-1]] = np.arange(labellings.n_rows)[::-1]
        self._weights = np.ones(labellings.n_rows) if labellings.weights is None else labellings.weights
        fits = labellings.n_labellings * labellings.n_rows <= _CODE_BYTES
        self._codes = self._compute_codes(np.arange(labellings.n_labellings)) if fits else None
        self._mass: dict[int, NDArray[np.float32]] = {}

    def between(self, columns: NDArray) -> NDArray[np.float32]:
        """Standardised between-group sums of squares.

        Parameters
        ----------
        columns : array of shape (n_rows, n_columns)
            Finite numbers.

        Returns
        -------
        array of shape (n_labellings, n_columns), float32
            About chi-squared with ``n_groups - 1`` degrees of freedom under random labels; 0 for constants.
        """
        prepared = self._prepare(columns)
        chunks = list(self._chunks())
        parts = in_threads(lambda chunk: self._between_chunk(prepared, chunk), chunks, self._n_jobs)
        return np.concatenate(parts)

    def _prepare(self, columns: NDArray) -> NDArray[np.float32]:
        """Columns with mean zero (in each block, where rows move inside it) and unit spread, weighted."""
        values = np.asarray(columns, dtype=np.float64)
        weights = self._weights[:, None]
        blocks = self.labellings.blocks
        largest = np.abs(values).max(axis=0)
        if blocks is None or self.labellings.whole:
            values = values - (weights * values).sum(axis=0) / weights.sum()
        else:
            n_blocks = int(blocks.max()) + 1
            adding = sp.csr_matrix(
                (np.ones(len(blocks)), (blocks, np.arange(len(blocks)))), (n_blocks, len(blocks))
            )
            means = (adding @ (weights * values)) / (adding @ self._weights)[:, None]
            values = values - means[blocks]
        variance = (weights * values**2).sum(axis=0) / (weights.sum() * (1 - 1 / len(values)))
        spread = np.sqrt(variance)
        varying = spread > 1e-7 * largest
        values = values * (weights / np.where(varying, spread, np.inf))
        single = values.astype(np.float32)
        return single if self._fold is None else np.asarray(self._fold @ single)

    def _chunks(self) -> Iterator[NDArray[np.intp]]:
        width = max(1, _CHUNK_ELEMENTS // self.labellings.n_rows)
        n_labellings = self.labellings.n_labellings
        yield from np.split(np.arange(n_labellings), np.arange(width, n_labellings, width))

    def _compute_codes(self, indices: NDArray[np.intp]) -> NDArray[np.uint8]:
        codes = self.labellings.scheme.codes(indices)
        return codes if self._fold is None else codes[:, self._first]

    def _between_chunk(self, prepared: NDArray[np.float32], chunk: NDArray[np.intp]) -> NDArray[np.float32]:
        codes = self._compute_codes(chunk) if self._codes is None else self._codes[chunk[0] : chunk[-1] + 1]
        if int(chunk[0]) not in self._mass:
            self._mass[int(chunk[0])] = self._masses(codes)
        mass = self._mass[int(chunk[0])]
        # Columns have mean zero, so what the largest group has is what the others lack.
        largest = int(mass.sum(axis=0).argmax())
        total = np.zeros((len(chunk), prepared.shape[1]), dtype=np.float32)
        left: Any = 0.0
        for group in range(self.labellings.n_groups):
            if group != largest:
                sums = _group_sums(codes == group, prepared)
                total += sums * sums / mass[:, [group]]
                left = left - sums
        total += left * left / mass[:, [largest]]
        return total

    def _masses(self, codes: NDArray[np.uint8]) -> NDArray[np.float32]:
        """Weight of each group under each labelling, shape (n_labellings, n_groups)."""
        groups = range(self.labellings.n_groups)
        if self._fold is None and self.labellings.weights is None:
            counts = [np.count_nonzero(codes == group, axis=1) for group in groups]
            return np.stack(counts, axis=1).astype(np.float32)
        moved = self._weights if self._fold is None else self._fold @ self._weights
        return np.stack([(codes == group) @ moved for group in groups], axis=1).astype(np.float32)


def _group_sums(members: NDArray[np.bool_], columns: NDArray[np.float32]) -> NDArray[np.float32]:
    """Sums of columns over the members of a group, shape (n_labellings, n_columns)."""
    if np.count_nonzero(members) > _SPARSE_SHARE * members.size:
        return members.astype(np.float32) @ columns
    # A small group of many rows: its rows are few to add.
    labellings, rows = np.nonzero(members)
    ends = np.searchsorted(labellings, np.arange(len(members) + 1))
    chosen = sp.csr_matrix((np.ones(len(rows), dtype=np.float32), rows, ends), shape=members.shape)
    return np.asarray(chosen @ columns)
