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

from princdiff.inference.relabelling import Scheme
from princdiff.parallel import in_threads

# Elements of the label matrix multiplied at a time (single precision: 64 MB).
_CHUNK_ELEMENTS = 16_000_000
# Bytes of group codes that are kept at a time.
_CODE_BYTES = 400_000_000


@dataclass(frozen=True)
class Design:
    """Which labellings a statistic is computed for, and what travels with the rows.

    Attributes
    ----------
    scheme : Scheme
        Labellings, the observed one first.
    n_groups : int
        Number of groups.
    weights : array of shape (n_rows,), optional
        Row weights.
    blocks : int array of shape (n_rows,), optional
        Block of each row.
    whole : bool
        Whether blocks change sides as a whole; otherwise rows do, within their block.
    nuisance : array of shape (n_rows, n_nuisance), optional
        Orthonormal columns (covariates and a constant) which were taken out of the rows; they move with
        the labels.
    """

    scheme: Scheme
    n_groups: int
    weights: NDArray[np.float64] | None = None
    blocks: NDArray[np.intp] | None = None
    whole: bool = False
    nuisance: NDArray[np.float64] | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.scheme.n_rows

    @property
    def n_labellings(self) -> int:
        """Labellings, the observed one included."""
        return self.scheme.n_labellings


class Contrasts:
    """Between-group sums of squares of columns, for all labellings of a design.

    Parameters
    ----------
    design : Design
        Labellings.
    n_jobs : int, optional
        Threads over chunks of labellings.

    Examples
    --------
    >>> codes = np.repeat([0, 1], 3).astype(np.uint8)
    >>> contrasts = Contrasts(Design(Scheme(codes, 99, seed=0), 2))
    >>> contrasts.between(np.arange(6.0)[:, None])[0].round(2)
    array([3.86], dtype=float32)
    """

    def __init__(self, design: Design, n_jobs: int | None = None) -> None:
        self.design = design
        self._n_jobs = n_jobs
        self._fold: Any = None
        if design.whole and design.blocks is not None:
            n_blocks = int(design.blocks.max()) + 1
            entries = np.ones(design.n_rows, dtype=np.float32)
            places = (design.blocks, np.arange(design.n_rows))
            # What a block carries moves together: add it up once, and labellings are those of blocks.
            self._fold = sp.csr_matrix((entries, places), shape=(n_blocks, design.n_rows))
            self._first = np.zeros(n_blocks, dtype=np.intp)
            self._first[design.blocks[::-1]] = np.arange(design.n_rows)[::-1]
        self._weights = np.ones(design.n_rows) if design.weights is None else design.weights
        self._moving = None if design.nuisance is None else self._moving_contrasts(design.nuisance)
        fits = design.n_labellings * design.n_rows <= _CODE_BYTES
        self._codes = self._compute_codes(np.arange(design.n_labellings)) if fits else None

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
        if self._moving is not None:
            parts = in_threads(lambda chunk: self._between_moving(prepared, chunk), chunks, self._n_jobs)
        else:
            parts = in_threads(lambda chunk: self._between_codes(prepared, chunk), chunks, self._n_jobs)
        return np.concatenate(parts)

    def _prepare(self, columns: NDArray) -> NDArray[np.float32]:
        """Columns with mean zero (in each block, where rows move inside it) and unit spread, weighted."""
        values = np.asarray(columns, dtype=np.float64)
        weights = self._weights[:, None]
        blocks = self.design.blocks
        largest = np.abs(values).max(axis=0)
        if blocks is None or self.design.whole:
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
        width = max(1, _CHUNK_ELEMENTS // self.design.n_rows)
        n_labellings = self.design.n_labellings
        yield from np.split(np.arange(n_labellings), np.arange(width, n_labellings, width))

    def _compute_codes(self, indices: NDArray[np.intp]) -> NDArray[np.uint8]:
        codes = self.design.scheme.codes(indices)
        return codes if self._fold is None else codes[:, self._first]

    def _between_codes(self, prepared: NDArray[np.float32], chunk: NDArray[np.intp]) -> NDArray[np.float32]:
        codes = self._compute_codes(chunk) if self._codes is None else self._codes[chunk]
        moved = self._weights if self._fold is None else self._fold @ self._weights
        mass = [(codes == group) @ moved for group in range(self.design.n_groups)]
        total = np.zeros((len(chunk), prepared.shape[1]), dtype=np.float32)
        left: Any = 0.0
        for group in range(self.design.n_groups - 1):
            sums = (codes == group).astype(np.float32) @ prepared
            total += sums * sums / mass[group][:, None].astype(np.float32)
            left = left - sums
        # Columns have mean zero, so what the last group has is what the others lack.
        total += left * left / mass[-1][:, None].astype(np.float32)
        return total

    def _moving_contrasts(self, nuisance: NDArray[np.float64]) -> NDArray[np.float32]:
        """Orthonormal contrasts of the observed groups with the covariates taken out (Freedman and Lane)."""
        codes = self.design.scheme.codes(np.arange(1))[0]
        indicators = (codes[:, None] == np.arange(self.design.n_groups - 1)).astype(np.float64)
        residuals = indicators - nuisance @ (nuisance.T @ indicators)
        return np.linalg.qr(residuals)[0].astype(np.float32)

    def _between_moving(self, prepared: NDArray[np.float32], chunk: NDArray[np.intp]) -> NDArray[np.float32]:
        assert self._moving is not None
        orders = np.array([self.design.scheme.order(int(index)) for index in chunk])
        total = np.zeros((len(chunk), prepared.shape[1]), dtype=np.float32)
        for contrast in self._moving.T:
            sums = contrast[orders] @ prepared
            total += sums * sums
        return total
