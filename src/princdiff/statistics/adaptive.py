"""The adaptive statistic: every cell, for every labelling alike."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from princdiff.data.problem import Problem
from princdiff.labellings.schemes import Labelled, Scheme, SomeRows, scheme_of
from princdiff.statistics import column_cells
from princdiff.statistics.alone import FEWEST_NAMING, AloneScores, alone_scores_of, numbered
from princdiff.statistics.cell_weights import CellWeights, only_numbers
from princdiff.statistics.cells import Cell, tempered
from princdiff.statistics.changed_correlations import relation_scores
from princdiff.statistics.contrasts import Contrasts, Relabellings
from princdiff.statistics.direction_cells import whitening_share
from princdiff.statistics.kernel_cells import KERNELS, MATRIX_ROWS, RowKernel, RowView, kernel_statistics
from princdiff.statistics.scores import gamma_scores
from princdiff.statistics.searched_rows import random_order
from princdiff.statistics.smooth_pairs import degree_affordable, smooth_pairs

# Numbers up to which rows are made dense for kernels, pairs and lengths.
_DENSE_ELEMENTS = 5 * 10**7
# Multiplications that pairs of columns may take, over all labellings, and how many pairs.
_PAIR_WORK = 6 * 10**10
_MOST_PAIRS = 8000
# Features up to which all are whitened together: a precision matrix needs more rows than features.
_WHITENED_FEATURES = 300
_ROWS_PER_WHITENED = 2.5
# Rows on which kernels, pairs and lengths are looked at, unless a group has a smaller share than this; fewer
# where features are many, so that numbers are no more than these.
_SAMPLED_ROWS, _FEWEST_SAMPLED, _SAMPLED_ELEMENTS = 50_000, 20_000, 5 * 10**6
_LEAST_SHARE = 0.1
# Labellings from which columns and pairs are scored among as many as are needed to name them.
_FEWEST_REFINED = 99
# Weight of the sum of all features, and features from which it is another thing than each of them.
_TOTAL_WEIGHT, _FEWEST_SUMMED = 3.0, 3
# Weight of pairs in bends and waves. Of 40 tables a sine curve is found in .90 and .93 with .5 and 1, without
# in .17. More was not shown to be better: with 3 for few columns a checkerboard is found in 28 and not 27 of
# 30 tables.
_SMOOTH_WEIGHT = 1.0
# A 0/1 feature counts in distances as if it had at least this standard deviation.
_LEAST_SPREAD = 0.25


@dataclass(frozen=True)
class CellValues:
    """Cells and their values for all labellings.

    Attributes
    ----------
    cells : list of Cell
        What was looked at.
    values : array of shape (n_labellings, n_cells)
        Statistics, the observed labelling first.
    """

    cells: list[Cell]
    values: NDArray

    def __add__(self, other: CellValues) -> CellValues:
        return CellValues([*self.cells, *other.cells], np.column_stack([self.values, other.values]))

    @cached_property
    def scores(self) -> NDArray[np.float32]:
        """Comparable scores, shape (n_labellings, n_cells)."""
        return tempered(gamma_scores(self.values))


@dataclass(frozen=True)
class ProductCells:
    """Cells that matrix products give: columns, pairs, kernels, lengths.

    Attributes
    ----------
    problem : Problem
        Rows in memory, without what covariates explain of them.
    scheme : Scheme or SomeRows
        Labellings.
    seed : int
        For random features.
    n_jobs : int, optional
        Threads.
    """

    problem: Problem
    scheme: Labelled
    seed: int
    n_jobs: int | None = None

    @cached_property
    def design(self) -> Relabellings:
        """Labellings and what travels with the rows."""
        return Relabellings.of(self.problem, self.scheme)

    @cached_property
    def contrasts(self) -> Contrasts:
        """Products with all labellings."""
        return Contrasts(self.design, self.n_jobs)

    @cached_property
    def alone(self) -> AloneScores:
        """Scores of every column on its own."""
        found = alone_scores_of(self.problem, self._scored_among, self.n_jobs)
        return found.first(self.scheme.n_labellings)

    @cached_property
    def _scored_among(self) -> Labelled:
        """Labellings by which columns and pairs are made comparable: more of them where few are tested.

        Columns of a table with flags and categories compete by laws that are fitted to each of them, and few
        labellings fit them badly. Those beyond the ones that are tested serve for nothing else.
        """
        scheme = self.scheme
        few = _FEWEST_REFINED <= scheme.n_labellings - 1 < FEWEST_NAMING
        if not few or not isinstance(scheme, Scheme) or scheme.exhaustive or only_numbers(self.problem):
            return scheme
        found = scheme_of(self.problem, FEWEST_NAMING, self.seed)
        # All labellings of a design are listed in an order of their own.
        return scheme if found.exhaustive else found

    @cached_property
    def leading_pair(self) -> tuple[int, int] | None:
        """The two features whose dependence differs most; None if pairs were too many to look at."""
        sampled = self._sampled
        return sampled._pairs[1] if sampled._pairs_affordable else None

    def cells(self) -> CellValues:
        """Every cell that suits the shape of the table: columns on all rows, the others on enough of them."""
        return self._columns() + self._sampled._further()

    @cached_property
    def _sampled(self) -> ProductCells:
        """The same on a sample of the rows, whatever their labels; small groups need all rows."""
        problem = self.problem
        wanted = int(np.clip(_SAMPLED_ELEMENTS // problem.n_features, _FEWEST_SAMPLED, _SAMPLED_ROWS))
        if problem.n_rows <= wanted or problem.sizes.min() < _LEAST_SHARE * problem.n_rows:
            return self
        rows = np.sort(random_order(problem.row_keys, self.seed)[:wanted])
        assert isinstance(self.scheme, Scheme)
        return ProductCells(problem.take_rows(rows), SomeRows(self.scheme, rows), self.seed, self.n_jobs)

    def _further(self) -> CellValues:
        found = self._kernels(self._view, "", KERNELS)
        if not self._dense:
            return found
        found += self._lengths(self._view, "")
        if self._pairs_affordable:
            found += CellValues([Cell("pair", "pairs", weight=self._weights.pair)], self._pairs[0][:, None])
        found += self._smooth_pairs()
        if self._whitened is not None:
            found += self._given_others()
            found += self._kernels(self._whitened, "whitened ", (RowKernel("energy"),))
            found += self._lengths(self._whitened, "whitened ")
        return found

    @cached_property
    def _weights(self) -> CellWeights:
        return CellWeights.of(self.problem, self._view, self.seed)

    @property
    def _dense(self) -> bool:
        return self.problem.n_rows * self.problem.n_features <= _DENSE_ELEMENTS

    @cached_property
    def _view(self) -> RowView:
        return RowView(self.problem.samples, distance_factors(self.problem).astype(np.float32))

    @cached_property
    def _whitened(self) -> RowView | None:
        problem = self.problem
        if problem.n_features < 2 or problem.n_features > _WHITENED_FEATURES:
            return None
        if problem.n_rows < _ROWS_PER_WHITENED * problem.n_features:
            return None
        samples = problem.samples.whitened(whitening_share(problem.n_features, problem.n_rows))
        return RowView(samples, np.ones(problem.n_features, dtype=np.float32))

    def _columns(self) -> CellValues:
        units = self.alone.units
        weights = self._sampled._weights
        detail = "by all that is looked at in a column"
        cells = [Cell("column", "one column", weight=weights.column, detail=detail, share=weights.named)]
        values = units.max(axis=1, keepdims=True)
        # Mean and spread of a flag are its share, which the column on its own has shown.
        numbers = np.flatnonzero(np.array(self.problem.kinds) == "number")
        if len(numbers):
            rows = self.problem.rows
            rows = rows if len(numbers) == rows.shape[1] else rows[:, numbers]
            means, spreads = column_cells.moment_scores(rows, self.contrasts)
            cells += [
                Cell("column", "one mean", weight=2.0, detail="by its mean"),
                Cell("column", "one spread", weight=2.0, detail="by its spread"),
            ]
            values = np.column_stack([values, means.max(axis=1), spreads.max(axis=1)])
        total = total_of_rows(self.problem)
        if total is not None:
            cells.append(Cell("total", "sum of features", weight=_TOTAL_WEIGHT))
            values = np.column_stack([values, column_cells.total_scores(total, self.contrasts)])
        if units.shape[1] > 2:
            cells += [
                Cell("columns", "sum over columns", weight=0.25, detail="added up"),
                Cell("columns", "higher criticism", weight=0.25, detail="by how many stand out"),
            ]
            values = np.column_stack([values, column_cells.many_small(units)])
        return CellValues(cells, values)

    def _kernels(self, view: RowView, prefix: str, kernels: tuple[RowKernel, ...]) -> CellValues:
        if view.n_rows <= MATRIX_ROWS:
            kernels = (*kernels, RowKernel("products"))
        values = kernel_statistics(view, self.contrasts, kernels, np.random.default_rng(self.seed))
        return CellValues([_kernel_cell(kernel, prefix, self._weights) for kernel in kernels], values)

    def _lengths(self, view: RowView, prefix: str) -> CellValues:
        scores = column_cells.length_scores(view.dense, self.contrasts)
        weight = 0.25 if prefix else 0.5
        cell = Cell("length", f"{prefix}lengths", weight=weight, detail=_relative("", prefix))
        return CellValues([cell], scores[:, None])

    @property
    def _pairs_affordable(self) -> bool:
        n_features = self.problem.n_features
        n_pairs = n_features * (n_features - 1) // 2
        work = self.problem.n_rows * n_pairs * self._scored_among.n_labellings
        return 0 < n_pairs <= _MOST_PAIRS and work <= _PAIR_WORK and self._dense

    @cached_property
    def _pairs(self) -> tuple[NDArray, tuple[int, int]]:
        # As the selection judges them, so that a pair which it names is seen here too.
        units = numbered(self.problem.units)[1]
        design = Relabellings.of(self.problem, self._scored_among)
        found = relation_scores(self._raw, design, units, self.n_jobs, within=False)
        n_labellings = self.scheme.n_labellings
        if not found.n_pairs:
            return found.rest[:n_labellings], (0, 0)
        first, second = found.pairs[found.scores[0].argmax()].tolist()
        return np.maximum(found.scores.max(axis=1), found.rest)[:n_labellings], (first, second)

    def _smooth_pairs(self) -> CellValues:
        """Pairs of numbers that go together differently in bends and waves."""
        problem = self.problem
        numbers = np.flatnonzero(summed_features(problem))
        n_pairs = len(numbers) * (len(numbers) - 1) // 2
        degree = degree_affordable(problem.n_rows, n_pairs, self.scheme.n_labellings) if n_pairs else 0
        if not degree:
            return CellValues([], np.empty((self.scheme.n_labellings, 0)))
        found = smooth_pairs(self._raw[:, numbers], self.contrasts, degree, numbers)
        cell = Cell("bend", "smooth pairs", weight=_SMOOTH_WEIGHT)
        return CellValues([cell], found.scores.max(axis=1, keepdims=True))

    @cached_property
    def _raw(self) -> NDArray:
        rows = self.problem.rows
        return rows.toarray() if sp.issparse(rows) else np.asarray(rows)

    def _given_others(self) -> CellValues:
        assert self._whitened is not None
        mixing = self._whitened.samples.mixing
        assert mixing is not None
        view = RowView(self.problem.samples, np.ones(self.problem.n_features, dtype=np.float32))
        scores = column_cells.given_others(view.dense, mixing @ mixing, self.contrasts)
        return CellValues(
            [Cell("given", "one column given the others", weight=self._weights.given)], scores[:, None]
        )


def _kernel_cell(kernel: RowKernel, prefix: str, weights: CellWeights) -> Cell:
    metric = "whitened" if prefix else "scaled"
    if kernel.shape == "products":
        weight = weights.covariances(metric)
        return Cell("covariance", f"{prefix}covariances", metric, weight=weight, detail=_relative("", prefix))
    if kernel.shape == "energy":
        weight = weights.energy(metric)
        detail = _relative("by the distances between rows", prefix)
        return Cell("kernel", f"{prefix}energy", metric, weight=weight, detail=detail)
    local = "local " if kernel.quantile < 0.1 else ""
    weight = {0.005: weights.local, 0.05: 1.0}.get(kernel.quantile, 0.5)
    detail = _relative(f"by the closest {100 * kernel.quantile:g} % of distances between rows", prefix)
    name = f"{prefix}{local}{kernel.shape} {kernel.quantile:g}"
    return Cell("kernel", name, metric, weight=weight, detail=detail)


def _relative(detail: str, prefix: str) -> str:
    """What a cell looks at, and whether on whitened rows, which ``prefix`` says."""
    whitened = "relative to the covariance of all rows" if prefix else ""
    return ", ".join(part for part in (detail, whitened) if part)


def summed_features(problem: Problem) -> NDArray[np.bool_]:
    """Features that can be added up: numbers."""
    return np.array(problem.kinds) == "number"


def total_of_rows(problem: Problem) -> NDArray[np.float64] | None:
    """The sum of the scaled numbers of every row, shape (n_rows,); None where they are too few.

    Along it a small shift of all features in the same direction (sensors that drift, an overall level) is
    clearer than in one of them, by the root of their number if they are independent. It is the same for
    every labelling.

    Examples
    --------
    >>> rows = np.array([[1.0, 2.0, 3.0], [2.0, 5.0, 4.0], [1.0, 1.0, 1.0], [4.0, 0.0, 2.0]])
    >>> total = total_of_rows(Problem.from_arrays(rows, [0, 0, 1, 1]))
    >>> int(total.argmax())
    1
    """
    numbers = summed_features(problem)
    if numbers.sum() < _FEWEST_SUMMED:
        return None
    total = problem.samples.project(numbers[None].astype(np.float32))[0]
    return np.asarray(total, dtype=np.float64) * problem.samples.unit


def distance_factors(problem: Problem) -> NDArray[np.float64]:
    """What each scaled feature counts in a distance between rows, shape (n_features,).

    The levels of one category count together as one column of unit variance, and a rare flag does not
    outweigh everything else.

    Examples
    --------
    >>> rare = np.zeros((400, 2))
    >>> rare[:, 0] = np.arange(400)
    >>> rare[:4, 1] = 1
    >>> problem = Problem.from_arrays(rare, np.arange(400) % 2)
    >>> distance_factors(problem).round(2)
    array([1. , 0.4])
    """
    factors = np.ones(problem.n_features)
    if problem.scale is None:
        return factors
    deviation = problem.samples.deviation
    kinds, units = np.array(problem.kinds), np.array(problem.units, dtype=str)
    for unit in np.unique(units[kinds == "level"]):
        members = (units == unit) & (kinds == "level")
        total = np.sqrt((deviation[members] ** 2).sum())
        factors[members] = deviation[members] / max(total, _LEAST_SPREAD)
    flags = np.flatnonzero(np.isin(kinds, ("flag", "missing")))
    # Of zeros and ones the deviation itself; other values are as far apart as they happen to be.
    spread = deviation[flags] / 2 / _half_distances(problem.rows, flags)
    factors[flags] = spread / np.maximum(spread, _LEAST_SPREAD)
    return factors


def _half_distances(rows: Any, flags: NDArray[np.intp]) -> NDArray[np.float64]:
    """Half of how far the two values of each flag are apart; 1 where there is one value only."""
    if not len(flags):
        return np.empty(0)
    own = rows[:, flags]
    if sp.issparse(own):
        low, high = (bound.toarray().ravel() for bound in (own.min(axis=0), own.max(axis=0)))
    else:
        low, high = own.min(axis=0), own.max(axis=0)
    # By halves: the distance of numbers of any size can be represented.
    apart = high.astype(np.float64) / 2 - low.astype(np.float64) / 2
    return np.where(apart > 0, apart, 1.0)
