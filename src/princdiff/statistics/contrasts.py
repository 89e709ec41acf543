"""How much groups differ in the mean of a column, for many columns and all labellings: one matrix product.

Whatever is asked about a feature becomes columns of numbers (its values, its distances from the median,
functions of its ranks, a 0/1 level). Under a labelling the groups differ in a column as far as its
between-group sum of squares says. Columns are prepared once; a labelling is a column of zeros and ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
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
from princdiff.statistics.laws import Drawing
from princdiff.statistics.value_tables import Entries

# Labels of a thread at a time (a byte each, until they are packed), and labellings at most.
_CHUNK_ELEMENTS = 64_000_000
_CHUNK_LABELLINGS = 512
# Numbers prepared at a time, so that they stay in the cache.
_PREPARED_ELEMENTS = 200_000
# Rows from which columns are made and standardised one by one, numbers of such columns held at a time, and
# columns: with the weights as many as the sums take side by side.
MANY_ROWS = 200_000
_LINE_ELEMENTS, _MOST_LINES = 150_000_000, 15
# Part of the numbers added up that a sum may be away from zero by rounding.
_ROUNDING = 1e-10
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


@dataclass(frozen=True, eq=False)
class LineSums:
    """Sums of columns over groups, for all labellings.

    Attributes
    ----------
    weights : list of arrays of shape (n_labellings, 1)
        Of every group; none where they are the same under every labelling.
    sums : list of arrays of shape (n_labellings, n_columns)
        Of every group but the last.
    scales : array of shape (n_columns,)
        What the numbers were multiplied by; zero for constants.
    prepared : array of shape (n_units, n_columns), float32, or None
        What is summed; None where it is not kept.
    powers : array of shape (2, n_strata, n_columns)
        Sums of its squares and of its fourth powers in each stratum.
    """

    weights: list[NDArray[np.float64]]
    sums: list[NDArray[np.float64]]
    scales: NDArray[np.float64]
    prepared: NDArray[np.float32] | None
    powers: NDArray[np.float64]

    @classmethod
    def joined(cls, parts: Sequence[LineSums]) -> LineSums:
        """Of columns side by side."""
        return cls(
            parts[0].weights,
            [np.concatenate(sums, axis=1) for sums in zip(*(part.sums for part in parts), strict=True)],
            np.concatenate([part.scales for part in parts]),
            parts[0].prepared if len(parts) == 1 else None,
            np.concatenate([part.powers for part in parts], axis=2),
        )

    def over_deviations(self, drawing: Drawing) -> list[NDArray[np.float64]]:
        """Sums over their standard deviations: of one of two groups, of each of several."""
        sums = self.sums if drawing.n_groups == 2 else [*self.sums, -np.sum(self.sums, axis=0)]
        variances = [drawing.factors(group) @ self.powers[0] for group in range(len(sums))]
        return [
            own / np.sqrt(np.where(variance > 0, variance, np.inf))
            for own, variance in zip(sums, variances, strict=True)
        ]


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
        # The weights travel along: their sums are the weights of the groups.
        moved = self._weights if self._fold is None else self._fold @ self._weights
        self._moved = moved.astype(np.float32)
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
        prepared = np.column_stack([self._moved, self._prepare(columns)[0]])
        return self.squared(*self._weights_and_sums(prepared))

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
        parts = self._part_by_part(
            lines, count, lambda prepared, _: self.squared(*self._weights_and_sums(prepared))
        )
        return np.concatenate(parts, axis=1)

    def sums_of_lines(self, lines: Iterable[NDArray], count: int) -> LineSums:
        """Sums over groups of columns that are made one after the other.

        Parameters
        ----------
        lines : iterable of arrays of shape (n_rows,)
            Finite numbers.
        count : int
            How many they are.

        Returns
        -------
        LineSums
        """

        def summed(prepared: NDArray[np.float32], scales: NDArray[np.float64]) -> LineSums:
            weights, sums = self._weights_and_sums(prepared)
            kept = None if self.one_by_one else prepared[:, 1:]
            return LineSums(weights, sums, scales, kept, self._powers(prepared[:, 1:]))

        parts = self._part_by_part(lines, count, summed)
        return LineSums.joined(parts)

    def sums_of_table(
        self, entries: Entries, table: NDArray[np.float64], scales: NDArray[np.float64]
    ) -> LineSums:
        """The same of functions of values, of mean zero and unit spread, where single rows are drawn.

        Parameters
        ----------
        entries : Entries
            Columns.
        table : array of shape (n_values, n_functions)
            Functions of their values.
        scales : array of shape (n_columns, n_functions)
            What the functions were multiplied by.
        """
        sums = self._sums(entries.spread_out(table).reshape(self.labellings.n_rows, -1))
        squares = entries.tables.counts[:, None] * table**2
        powers = np.stack([entries.tables.added(one).ravel() for one in (squares, squares * table**2)])
        return LineSums([], sums, scales.ravel(), None, powers[:, None])

    @cached_property
    def drawing(self) -> Drawing:
        """How the groups are drawn, if labellings do not depend on covariates."""
        units, codes = self.labellings.scheme.units, self.labellings.scheme.codes(np.array([0]))[0]
        if units is None:
            return Drawing.of(codes, np.zeros(len(codes), dtype=np.intp))
        return Drawing.of(units.codes_of(codes), units.strata)

    def _powers(self, prepared: NDArray[np.float32]) -> NDArray[np.float64]:
        """Sums of squares and of fourth powers in each stratum."""
        step, starts = max(1, _PREPARED_ELEMENTS // len(prepared)), self.drawing.starts
        found = np.empty((2, len(starts), prepared.shape[1]))
        for start in range(0, prepared.shape[1], step):
            own = self.drawing.ordered(prepared[:, start : start + step])
            for power in range(2):
                own = own * own
                some = slice(start, start + step)
                found[power, :, some] = own.sum(axis=0) if len(starts) == 1 else np.add.reduceat(own, starts)
        return found

    @property
    def one_by_one(self) -> bool:
        """Whether columns are prepared one by one, because rows are many."""
        return self.labellings.n_rows >= MANY_ROWS and self._fold is None

    def _part_by_part(
        self, lines: Iterable[NDArray], count: int, used: Callable[[NDArray, NDArray], Any]
    ) -> list[Any]:
        """What is made of prepared columns, beside what travels with the rows, and of their scales.

        Of many rows a few columns are prepared at a time, and not kept.
        """
        if not self.one_by_one:
            prepared, scales = self._prepare(np.column_stack(list(lines)))
            return [used(np.column_stack([self._moved, prepared]), scales)]
        found = []
        n_rows, rest = self.labellings.n_rows, iter(lines)
        width = int(np.clip(_LINE_ELEMENTS // n_rows, 1, _MOST_LINES))
        for start in range(0, count, width):
            some = min(width, count - start)
            prepared = np.empty((n_rows, some + 1), dtype=np.float32)
            prepared[:, 0] = self._moved
            scales = np.empty(some)
            for place, line in enumerate(islice(rest, some)):
                give_up_if_late()
                own, scale = self._standardised(np.asarray(line, dtype=np.float64)[:, None])
                prepared[:, place + 1], scales[place] = own[:, 0], scale[0]
            found.append(used(prepared, scales))
            del prepared
        return found

    def _weights_and_sums(
        self, prepared: NDArray[np.float32]
    ) -> tuple[list[NDArray[np.float64]], list[NDArray[np.float64]]]:
        """Weight of every group, (n_labellings, 1), and sums of every group but the last."""
        sums = self._sums(prepared)
        weights = [group[:, :1] for group in sums]
        weights.append(self._moved.sum(dtype=np.float64) - np.sum(weights, axis=0))
        return weights, [group[:, 1:] for group in sums]

    def _sums(self, prepared: NDArray[np.float32]) -> list[NDArray[np.float64]]:
        """Sums of every group but the last, each (n_labellings, n_columns)."""
        if self._fold is None and self.labellings.scheme.bits is not None:
            return [self._sums_of_bits(prepared, self.labellings.scheme.bits)]
        chunks = list(self._chunks())
        parts = in_threads(lambda chunk: self._sums_of(prepared, chunk), chunks, self._n_jobs)
        return [np.concatenate(sums) for sums in zip(*parts, strict=True)]

    def _sums_of_bits(self, prepared: NDArray[np.float32], bits: LabellingBits) -> NDArray[np.float64]:
        """Of the first of two groups, whose labellings are kept: part by part of the rows."""
        n_labellings = self.labellings.n_labellings
        sums = np.zeros((n_labellings, prepared.shape[1]))
        for rows, members in bits.parts(n_labellings):
            give_up_if_late()
            sums += labelled_sums(members, prepared[rows])
        # Bits say which rows are in the second one.
        return prepared.sum(axis=0, dtype=np.float64) - sums

    def _prepare(self, columns: NDArray) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
        """Columns with mean zero (in each block, where rows move inside it) and unit spread, weighted.

        Beside them what their numbers were multiplied by.
        """
        give_up_if_late()
        n_units = len(columns) if self._fold is None else self._fold.shape[0]
        prepared = np.empty((n_units, columns.shape[1]), dtype=np.float32)
        scales = np.empty(columns.shape[1])
        # A few columns at a time, lest every step go through memory.
        step = max(1, _PREPARED_ELEMENTS // len(columns))
        for start in range(0, columns.shape[1], step):
            part = np.asarray(columns[:, start : start + step], dtype=np.float64)
            some = slice(start, start + step)
            own, scales[some] = self._standardised(part)
            prepared[:, some] = own if self._fold is None else self._folded(own)
        return prepared, scales

    def _folded(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Sums over units. Years in which every unit was seen add up to nothing in each but for rounding."""
        sums, sizes = self._fold @ rows, self._fold @ np.abs(rows)
        return np.where(np.abs(sums) > _ROUNDING * sizes, sums, 0.0)

    def _standardised(self, values: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        weights = self._weights[:, None]
        largest = np.maximum(values.max(axis=0), -values.min(axis=0))
        centred = values - self._means(values)
        basis = self.labellings.basis
        if basis is not None:
            centred -= basis @ (basis.T @ centred)
            centred -= self._means(centred)
        total = self._weights.sum() * (1 - 1 / len(values))
        spread = np.sqrt(np.einsum("i,ij,ij->j", self._weights, centred, centred) / total)
        scales = 1 / np.where(spread > 1e-7 * largest, spread, np.inf)
        centred *= scales
        return (centred if self.labellings.weights is None else centred * weights), scales

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

    def squared(
        self, weights: list[NDArray[np.float64]], sums: list[NDArray[np.float64]]
    ) -> NDArray[np.float32]:
        """Sums of squares between groups from the weight of every group, and the sums of all but the last.

        Given covariates what a group has of a column is not zero on average. What counts is how far it is
        from its mean over all labellings, the observed one among them.
        """
        total = np.zeros_like(sums[0])
        # Columns have mean zero, so what the last group has is what the others lack.
        for weight, group in zip(weights, [*sums, -np.sum(sums, axis=0)], strict=True):
            parts = group / np.sqrt(weight)
            total += (parts - parts.mean(axis=0) if self.labellings.scheme.conditional else parts) ** 2
        return total.astype(np.float32)
