"""How much groups differ in the mean of a column, for many columns and all labellings: one matrix product.

Whatever is asked about a feature becomes columns of numbers (its values, its distances from the median,
functions of its ranks, a 0/1 level). Under a labelling the groups differ in a column as far as its
between-group sum of squares says. Columns are prepared once; a labelling is a column of zeros and ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from princdiff.data.problem import Problem
from princdiff.deadline import give_up_if_late
from princdiff.kernels.labelled_sums import labelled_sums, packed
from princdiff.labellings.bits import LabellingBits
from princdiff.labellings.covariates import covariate_basis
from princdiff.labellings.schemes import Labelled
from princdiff.parallel import in_threads

# Labels of a thread at a time (a byte each, until they are packed), and labellings at most.
_CHUNK_ELEMENTS = 64_000_000
_CHUNK_LABELLINGS = 512
# Numbers prepared at a time, so that they stay in the cache.
_PREPARED_ELEMENTS = 200_000
# Rows from which columns are made and standardised one by one, numbers of such columns held at a time, and
# columns: with the weights as many as the sums take side by side.
MANY_ROWS = 200_000
_LINE_ELEMENTS, _MOST_LINES = 150_000_000, 15
# Bytes of memberships that are kept, of more than two groups.
_KEPT_BYTES = 200_000_000


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
    basis : array of shape (n_rows, n_terms), optional
        Of `covariate_basis`: what covariates explain of a column is taken out of it.
    """

    scheme: Labelled
    n_groups: int
    weights: NDArray[np.float64] | None = None
    basis: NDArray[np.float64] | None = None

    @classmethod
    def of(cls, problem: Problem, scheme: Labelled) -> Relabellings:
        """The relabellings of a problem."""
        return cls(scheme, problem.n_groups, problem.weights, covariate_basis(problem.covariates))

    @property
    def free(self) -> bool:
        """Whether single rows of equal weight change sides freely, all labellings being equally likely."""
        return self.weights is None and self.scheme.units is None and not self.scheme.conditional

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
    >>> from princdiff.labellings.schemes import Scheme
    >>> codes = np.repeat([0, 1], 3).astype(np.uint8)
    >>> contrasts = Contrasts(Relabellings(Scheme(codes, 99, seed=0), 2))
    >>> contrasts.between(np.arange(6.0)[:, None])[0].round(2)
    array([3.86], dtype=float32)
    """

    def __init__(self, labellings: Relabellings, n_jobs: int | None = None) -> None:
        self.labellings = labellings
        self._n_jobs = n_jobs
        # What a unit carries moves together: add it up once, and labellings are those of units.
        units = labellings.scheme.units
        self._fold: Any = None if units is None else units.adding
        self._first = None if units is None else units.first_rows
        self._weights = np.ones(labellings.n_rows) if labellings.weights is None else labellings.weights
        n_bytes = labellings.n_labellings * labellings.n_rows // 8 * (labellings.n_groups - 1)
        # Chunks by their first labelling.
        self._kept: dict[int, list[NDArray[np.uint8]]] | None = {} if n_bytes <= _KEPT_BYTES else None

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
        return self._between(np.column_stack([self._moved, self._prepare(columns)]))

    def between_lines(self, lines: Iterable[NDArray], count: int) -> NDArray[np.float32]:
        """The same of columns that are made one after the other, and need not be in memory together.

        Parameters
        ----------
        lines : iterable of arrays of shape (n_rows,)
            Finite numbers.
        count : int
            How many they are.

        Returns
        -------
        array of shape (n_labellings, count), float32
        """
        n_rows = self.labellings.n_rows
        if n_rows < MANY_ROWS or self._fold is not None:
            return self.between(np.column_stack(list(lines)))
        width = int(np.clip(_LINE_ELEMENTS // n_rows, 1, _MOST_LINES))
        rest = iter(lines)
        parts = []
        for start in range(0, count, width):
            some = min(width, count - start)
            prepared = np.empty((n_rows, some + 1), dtype=np.float32)
            prepared[:, 0] = self._moved
            for place, line in enumerate(islice(rest, some), start=1):
                give_up_if_late()
                prepared[:, place] = self._standardised(np.asarray(line, dtype=np.float64)[:, None])[:, 0]
            parts.append(self._between(prepared))
        return np.concatenate(parts, axis=1)

    @cached_property
    def _moved(self) -> NDArray[np.float32]:
        """The weights, which travel along: their sums are the weights of the groups."""
        moved = self._weights if self._fold is None else self._fold @ self._weights
        return moved.astype(np.float32)

    def _between(self, prepared: NDArray[np.float32]) -> NDArray[np.float32]:
        if self._fold is None and self.labellings.scheme.bits is not None:
            return self._between_bits(prepared, self.labellings.scheme.bits)
        chunks = list(self._chunks())
        parts = in_threads(lambda chunk: self._sums_of(prepared, chunk), chunks, self._n_jobs)
        if self.labellings.scheme.conditional:
            return self._squared([np.concatenate(sums) for sums in zip(*parts, strict=True)], prepared)
        return np.concatenate([self._squared(sums, prepared) for sums in parts])

    def _between_bits(self, prepared: NDArray[np.float32], bits: LabellingBits) -> NDArray[np.float32]:
        """Of two groups, whose labellings are kept: part by part of the rows."""
        n_labellings = self.labellings.n_labellings
        parts = bits.parts(n_labellings)
        sums = np.zeros((n_labellings, prepared.shape[1]))
        for rows, members in parts:
            give_up_if_late()
            sums += labelled_sums(members, prepared[rows])
        return self._squared([sums], prepared)

    def _prepare(self, columns: NDArray) -> NDArray[np.float32]:
        """Columns with mean zero (in each block, where rows move inside it) and unit spread, weighted."""
        give_up_if_late()
        prepared = np.empty(columns.shape, dtype=np.float32)
        # A few columns at a time, lest every step go through memory.
        step = max(1, _PREPARED_ELEMENTS // len(columns))
        for start in range(0, columns.shape[1], step):
            part = np.asarray(columns[:, start : start + step], dtype=np.float64)
            prepared[:, start : start + step] = self._standardised(part)
        return prepared if self._fold is None else np.asarray(self._fold @ prepared)

    def _standardised(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        weights = self._weights[:, None]
        largest = np.maximum(values.max(axis=0), -values.min(axis=0))
        centred = values - self._means(values)
        basis = self.labellings.basis
        if basis is not None:
            centred -= basis @ (basis.T @ centred)
            centred -= self._means(centred)
        total = self._weights.sum() * (1 - 1 / len(values))
        spread = np.sqrt(np.einsum("i,ij,ij->j", self._weights, centred, centred) / total)
        centred *= 1 / np.where(spread > 1e-7 * largest, spread, np.inf)
        return centred if self.labellings.weights is None else centred * weights

    def _means(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Means of the columns, shape (n_columns,), or of every row's stratum, shape (n_rows, n_columns)."""
        units = self.labellings.scheme.units
        if units is None:
            return self._weights @ values / self._weights.sum()
        return units.stratum_means(values, self._weights)

    def _chunks(self) -> Iterator[NDArray[np.intp]]:
        width = int(np.clip(_CHUNK_ELEMENTS // self.labellings.n_rows, 1, _CHUNK_LABELLINGS))
        n_labellings = self.labellings.n_labellings
        yield from np.split(np.arange(n_labellings), np.arange(width, n_labellings, width))

    def _members(self, chunk: NDArray[np.intp]) -> list[NDArray[np.uint8]]:
        """Bits of the rows (or blocks) that are in each group but the last."""
        if self._kept is not None and int(chunk[0]) in self._kept:
            return self._kept[int(chunk[0])]
        codes = self.labellings.scheme.codes(chunk)
        codes = codes if self._first is None else codes[:, self._first]
        members = [packed(codes == group) for group in range(self.labellings.n_groups - 1)]
        if self._kept is not None:
            self._kept[int(chunk[0])] = members
        return members

    def _sums_of(self, prepared: NDArray[np.float32], chunk: NDArray[np.intp]) -> list[NDArray[np.float64]]:
        """Sums of every group but the last under some labellings."""
        return [labelled_sums(members, prepared) for members in self._members(chunk)]

    def _squared(self, sums: list[NDArray[np.float64]], prepared: NDArray[np.float32]) -> NDArray[np.float32]:
        """Sums of squares between groups from the sums of every group but the last.

        Given covariates what a group has of a column is not zero on average. What counts is how far it is
        from its mean over all labellings, the observed one among them.
        """
        # Columns have mean zero, so what the last group has is what the others lack.
        last = -np.sum(sums, axis=0)
        last[:, 0] += prepared[:, 0].sum(dtype=np.float64)
        total = np.zeros((len(last), prepared.shape[1] - 1))
        for group in (*sums, last):
            parts = group[:, 1:] / np.sqrt(group[:, :1])
            total += (parts - parts.mean(axis=0) if self.labellings.scheme.conditional else parts) ** 2
        return total.astype(np.float32)
