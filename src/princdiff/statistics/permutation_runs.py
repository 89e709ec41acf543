"""The runs of a permutation test: a statistic of directions at given levels, or the adaptive one."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from princdiff import __version__
from princdiff.data import validate
from princdiff.data.problem import Problem, Run
from princdiff.data.row_chunks import RowChunks
from princdiff.data.samples import Samples
from princdiff.labellings.execution import Checkpoint, resumed, run_chunks
from princdiff.labellings.pvalues import (
    SCORED,
    Interval,
    monte_carlo_interval,
    pareto_pvalue,
    permutation_pvalue,
    tie_tolerance,
)
from princdiff.parallel import in_threads
from princdiff.resume import fingerprint_of
from princdiff.solvers.path import Path
from princdiff.solvers.starts import marginal_divergences
from princdiff.solvers.whitening import refuse_to_whiten
from princdiff.statistics.column_cells import COLUMN
from princdiff.statistics.combining import leading_cell, overall, parts_of_error
from princdiff.statistics.direction_cells import (
    SEARCH_ROWS,
    DirectionCells,
    adaptive_grid,
    direction_cell,
)
from princdiff.statistics.direction_grid import (
    Grid,
    default_grid,
    single_cell_grid,
    solve_grid,
    whitened_samples,
)
from princdiff.statistics.identity import identity_of, rows_identity
from princdiff.statistics.permutation_result import (
    PermutationOptions,
    PermutationResult,
)
from princdiff.statistics.permuted_problem import Labellings
from princdiff.statistics.protocol import Cell, CellValues
from princdiff.statistics.registry import RELATIONS, STATISTICS
from princdiff.statistics.scores import gamma_scores
from princdiff.statistics.searched_rows import SearchRows, random_order
from princdiff.statistics.tested_rows import TestedRows
from princdiff.statistics.tuning import held_out_by_level

# Labellings solved together; the number does not depend on n_jobs, so neither do the results.
_CHUNK = 125
_CHUNK_ELEMENTS = 20_000_000
# Labels of a chunk, a byte each, or a bit of rows that are searched in part.
_CHUNK_LABELS = 200_000_000
_STARTS = 12
# Relabellings after which an adaptive test first looks whether it may stop; then twice as many, and so on.
_FIRST_STAGE = 99


def run_permutations(
    problem: Problem,
    run: Run,
    options: PermutationOptions,
    watch: Callable[[int, int], None] | None = None,
) -> PermutationResult:
    """The test itself, of a problem that was checked.

    ``watch`` is called by an adaptive test before its first labelling and as labellings are done, with how
    many are and how many there will be.
    """
    labellings = Labellings.of(problem, options.n_permutations, run.seed_for())
    if options.statistic == "adaptive":
        return _Adaptive(labellings, run, options).result(watch)
    return _fixed_test(labellings, run, options)


# The statistics that look at directions only.


def _fixed_test(problem: Labellings, run: Run, options: PermutationOptions) -> PermutationResult:
    grid = _fixed_grid(problem, options)
    work = partial(_compute_chunk, problem, grid, whitened_samples(problem.samples, grid), options)
    kept_chunks = _checkpoint(options, problem, (options.statistic, grid.cells))
    values: list[NDArray] = []
    directions: list[NDArray | None] = []
    chunks = _chunks(problem, problem.scheme.n_labellings, 50)
    with run.bar("permutations", total=problem.scheme.n_labellings) as bar:
        parts = _run(work, chunks, run, kept_chunks)
        for part, kept in parts:
            values.append(part)
            directions.append(kept)
            bar.update(len(part))
            if options.early_stop is not None and _reached(
                _fixed_statistics(np.concatenate(values), options)[0], options.early_stop
            ):
                parts.close()
                break
    found = np.concatenate(values)
    statistics, best = _fixed_statistics(found, options)
    levels = found[:, :-1] if options.statistic == "paper" else found
    result = _summarise(problem, grid.cells, levels, statistics, int(best[0]), tail=options.tail)
    if options.keep_directions:
        return replace(result, directions=np.concatenate([part for part in directions if part is not None]))
    return result


def _fixed_statistics(
    values: NDArray[np.float64], options: PermutationOptions
) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Statistic and level of every labelling."""
    if options.statistic == "divergence":
        return values[:, 0], np.zeros(len(values), dtype=np.intp)
    best = values[:, -1].astype(np.intp)
    return values[np.arange(len(values)), best], best


def _fixed_grid(problem: Labellings, options: PermutationOptions) -> Grid:
    available, metric = problem.samples.n_features, options.metric
    if options.statistic == "paper":
        return default_grid(available, "euclidean", problem.problem.divergence.degree)
    wanted = options.n_features
    level = available if wanted is None else validate.check_level(wanted, available)
    if metric == "whitened" and level == available:
        refuse_to_whiten(level)
    return single_cell_grid(level, "euclidean" if metric == "mixed" else metric)


def _compute_chunk(
    problem: Labellings,
    grid: Grid,
    whitened: Samples | None,
    options: PermutationOptions,
    indices: NDArray[np.intp],
) -> tuple[NDArray, NDArray | None]:
    """Values over the grid; for "paper" with a last column, the number of the level that is chosen."""
    labels, divergence = problem.labels(indices), problem.problem.divergence
    path = solve_grid(problem.samples, labels, divergence, grid, problem.seed, whitened)
    values, directions = _in_units(path, problem, grid, options.keep_directions, indices)
    if options.statistic == "paper":
        levels = np.array(grid.euclidean)
        held_out = held_out_by_level(problem.samples, labels, divergence, levels, problem.seed)
        values = np.column_stack([values, held_out.argmax(axis=1)])
    return values, directions


# The adaptive statistic.


class _Adaptive:
    """All cells of all labellings, stage by stage if the test may stop early."""

    def __init__(self, labellings: Labellings, run: Run, options: PermutationOptions) -> None:
        self.labellings, self.run, self.options = labellings, run, options
        problem = labellings.problem
        # Rows that are standardised anew for every labelling, or out of core, have directions only.
        self.plain = problem.scale == "within" or isinstance(problem.rows, RowChunks)
        metric = "euclidean" if problem.scale == "within" else options.metric
        degree = problem.divergence.degree
        if self.plain:
            self.grid = default_grid(problem.n_features, metric, degree)
        else:
            self.grid = adaptive_grid(problem.n_features, problem.n_rows, metric, degree)
        rows = None
        if not self.plain and (problem.sizes > SEARCH_ROWS).any():
            rows = SearchRows.of(problem.sizes, SEARCH_ROWS, random_order(problem.row_keys, labellings.seed))
        self.search = DirectionCells(labellings.samples, problem.divergence, self.grid, labellings.seed, rows)
        self.leading_feature: int | None = None
        self.leading_pair: tuple[int, int] | None = None

    def result(self, watch: Callable[[int, int], None] | None = None) -> PermutationResult:
        options = self.options
        watch = watch or (lambda *_: None)
        n_labellings = self.labellings.scheme.n_labellings
        values: list[NDArray] = []
        directions: list[NDArray | None] = []
        made = 0
        with self.run.bar("permutations", total=n_labellings) as bar:
            parts = self._directions()
            watch(0, n_labellings)
            for stage in _stages(n_labellings, options.early_stop):
                while made < stage:
                    part, kept = next(parts)
                    values.append(part)
                    directions.append(kept)
                    made += len(part)
                    bar.update(len(part))
                    watch(made, n_labellings)
                found = self._cells(np.concatenate(values)[:stage], stage)
                statistics = overall(found.values, found.scores, found.cells)
                if options.early_stop is not None and _reached(statistics, options.early_stop):
                    break
            parts.close()
        return self._summary(found, statistics, directions)

    def _directions(self) -> Generator:
        """Values of the direction cells, chunk by chunk."""
        options, labellings = self.options, self.labellings
        self.search.prepare()
        work = partial(_direction_chunk, self.search, labellings, options.keep_directions)
        kept = _checkpoint(options, labellings, ("adaptive", self.grid.cells))
        packed = _packed(self.search, labellings)
        chunks = _chunks(labellings, labellings.scheme.n_labellings, _CHUNK, packed)
        return _run(work, chunks, self.run, kept)

    def _cells(self, directions: NDArray[np.float64], n_labellings: int) -> CellValues:
        """All cells of the first labellings."""
        n_jobs, labellings = self.run.n_jobs, self.labellings
        problem = labellings.problem
        within = problem.scale == "within"
        few = {"euclidean": 1.5, "whitened": 4.0}
        cells = [
            direction_cell(metric, level, weight=few[metric] if level <= 3 else 1.0)
            for metric, level in self.grid.cells
        ]
        found = CellValues(cells, directions)
        if within:
            problem = replace(problem, rows=np.asarray(labellings.samples.rows))
        rows = TestedRows(problem, labellings.scheme.first(n_labellings), labellings.seed, n_jobs)
        if self.plain and not within:
            scores = _single_feature_scores(labellings, n_labellings, n_jobs)
            self.leading_feature = int(scores[0].argmax())
            found += CellValues([COLUMN.cell("one column", weight=3.0)], scores.max(axis=1, keepdims=True))
        else:
            for statistic in RELATIONS if within else STATISTICS:
                found += statistic(rows)
        if not self.plain:
            self.leading_feature = int(rows.alone.features[0].argmax())
            self.leading_pair = rows.leading_pair
        return found

    def _summary(
        self, found: CellValues, statistics: NDArray[np.float64], directions: list[NDArray | None]
    ) -> PermutationResult:
        cells = found.cells
        alone = permutation_pvalue(found.values)
        best = leading_cell(found.scores[0], alone, cells, len(statistics))
        result = _summarise(
            self.labellings, [cell.key for cell in cells], found.values, statistics, best, excess=SCORED
        )
        n_directions = len(self.grid.cells)
        kept = None
        if self.options.keep_directions:
            kept = np.concatenate([part for part in directions if part is not None])[: len(statistics)]
        return replace(
            result,
            extrapolated_pvalue=self._extrapolated(found, result.pvalue),
            directions=kept,
            cells=cells,
            cell_scores=found.scores[0],
            leading=cells[best].sentence,
            leading_feature=self.leading_feature,
            leading_pair=self.leading_pair,
            contrasts=_contrasts(
                cells[:n_directions], found.scores[0, :n_directions], self._observed(directions[0])
            ),
        )

    def _extrapolated(self, found: CellValues, pvalue: float) -> float | None:
        """Beyond 1 / (B + 1): the smallest of its parts', each over its share of the error."""
        if self.options.tail != "pareto":
            return None
        statistics, shares = parts_of_error(found.values, found.scores, found.cells)
        tails = [pareto_pvalue(line[0], line[1:]) for line in statistics.T]
        known = [tail / share for tail, share in zip(tails, shares, strict=True) if tail is not None]
        return min(pvalue, *known) if known else None

    def _observed(self, first: NDArray | None) -> NDArray[np.float64]:
        """The directions of the observed labelling in every cell; the first chunk has them, as a rule."""
        if first is not None and first.ndim == 3:
            return first[0]
        return self.search(self.labellings.labels(np.arange(1))).directions[0]


def _direction_chunk(
    search: DirectionCells, labellings: Labellings, keep: bool, indices: NDArray[np.intp]
) -> tuple[NDArray, NDArray | None]:
    path = search(labellings.labels(indices, packed=_packed(search, labellings)))
    return _in_units(path, labellings, search.grid, keep, indices)


def _contrasts(
    cells: list[Cell], scores: NDArray[np.float32], directions: NDArray
) -> dict[str, NDArray[np.float64]]:
    """The clearest direction in each metric."""
    result = {}
    for metric in ("euclidean", "whitened"):
        places = [place for place, cell in enumerate(cells) if cell.metric == metric]
        if places:
            best = places[int(scores[places].argmax())]
            result[metric] = directions[best].astype(np.float64)
    return result


def _stages(n_labellings: int, early_stop: int | None) -> Iterator[int]:
    """Labellings after which to look whether the test may stop."""
    stage = _FIRST_STAGE + 1
    while early_stop is not None and stage < n_labellings:
        yield stage
        stage *= 2
    yield n_labellings


def _single_feature_scores(problem: Labellings, n_labellings: int, n_jobs: int | None) -> NDArray[np.float64]:
    """Comparable scores of every feature's own divergence, shape (n_labellings, n_features)."""
    size = max(1, _CHUNK_ELEMENTS // (problem.samples.n_rows * 10))
    chunks = np.split(np.arange(n_labellings), np.arange(size, n_labellings, size))

    def run(indices: NDArray[np.intp]) -> NDArray[np.float32]:
        labels = problem.labels(indices)
        parts = np.empty((len(indices), problem.samples.n_features), dtype=np.float32)
        for columns in labels.homogeneous():
            parts[columns] = marginal_divergences(
                problem.samples, labels.take(columns), problem.problem.divergence
            )
        return parts

    return gamma_scores(np.concatenate(in_threads(run, chunks, n_jobs))).astype(np.float64)


# What all statistics share.


def _in_units(
    path: Path, labellings: Labellings, grid: Grid, keep: bool, indices: NDArray[np.intp]
) -> tuple[NDArray, NDArray | None]:
    """Values in the unit of the scaled features, and the directions that are kept."""
    n_euclidean = len(grid.euclidean)
    # Relative divergences have no unit.
    unit = labellings.samples.unit**labellings.problem.divergence.degree
    units = np.repeat([unit, 1.0], [n_euclidean, len(grid.whitened)])
    if keep:
        # The largest level ends the plain metric's; a grid without that metric has its largest at the end.
        return path.values * units, path.directions[:, (n_euclidean or len(units)) - 1]
    # Those of the observed labelling are shown in any case.
    return path.values * units, path.directions[:1] if indices[0] == 0 else None


def _packed(search: DirectionCells, labellings: Labellings) -> bool:
    """Whether labellings stay a bit a row: a chunk of bytes would be large, and rows are searched in part."""
    many = search.samples.n_rows * _CHUNK > _CHUNK_LABELS
    return many and search.rows is not None and labellings.scheme.bits is not None


def _chunks(
    problem: Labellings, n_labellings: int, most: int, packed: bool = False
) -> list[NDArray[np.intp]]:
    """Labellings in chunks that are the same whatever the number of jobs."""
    samples = problem.samples
    size = int(np.clip(_CHUNK_ELEMENTS // (_STARTS * samples.n_features), 4, min(most, _CHUNK)))
    size = max(1, min(size, (8 if packed else 1) * _CHUNK_LABELS // samples.n_rows))
    return np.split(np.arange(n_labellings), np.arange(size, n_labellings, size))


def _checkpoint(options: PermutationOptions, problem: Labellings, computed: tuple) -> Checkpoint | None:
    """A checkpoint that belongs to these data and parameters, or none."""
    if options.checkpoint is None:
        return None
    samples = problem.samples
    scheme = problem.scheme
    last = np.arange(min(scheme.n_labellings, 3))
    parts = {
        "the rows": (samples.rows.shape, rows_identity(samples.rows)),
        "the groups": problem.problem.codes,
        "sample_weight": problem.problem.weights,
        "divergence": identity_of(problem.problem.divergence),
        "scale": samples.scale,
        "random_state": problem.seed,
        "blocks or permute": scheme.codes(last),
        "n_permutations": scheme.n_labellings,
        "statistic, metric or n_features": computed,
        "keep_directions": options.keep_directions,
        "the version of princdiff": f"{__version__}, chunks of {_CHUNK}",
    }
    return Checkpoint(options.checkpoint, fingerprint_of(parts))


def _run(work: Callable, chunks: list, run: Run, kept: Checkpoint | None) -> Generator:
    return run_chunks(work, chunks, run.n_jobs) if kept is None else resumed(work, chunks, run.n_jobs, kept)


def _reached(statistics: NDArray[np.float64], wanted: int) -> bool:
    """Whether enough relabellings have reached the observed statistic.

    To stop when this many have, at any of some numbers of relabellings B fixed beforehand, and to report
    (1 + b) / (1 + B), is valid: to be at most a level, the p-value has to be so at the first of these
    numbers where stopping would give no more than the level.
    """
    return int((statistics[1:] >= statistics[0] - tie_tolerance(statistics)).sum()) >= wanted


def _summarise(
    problem: Labellings,
    levels: list[tuple[str, int]],
    values: NDArray[np.float64],
    statistics: NDArray[np.float64],
    best: int,
    *,
    tail: str | None = None,
    excess: float = 0.0,
) -> PermutationResult:
    scheme = problem.scheme
    exact = scheme.exhaustive and len(statistics) == scheme.n_labellings
    pvalue = float(permutation_pvalue(statistics))
    return PermutationResult(
        statistic=float(statistics[0]),
        pvalue=pvalue,
        null=statistics[1:],
        levels=levels,
        level_pvalues=permutation_pvalue(values),
        values=values,
        best_level=levels[best],
        smallest_attainable_pvalue=max(scheme.smallest_pvalue, 1 / len(statistics)),
        n_permutations=len(statistics) - 1,
        exact=exact,
        extrapolated_pvalue=pareto_pvalue(statistics[0], statistics[1:]) if tail == "pareto" else None,
        monte_carlo=(
            Interval(pvalue, pvalue)
            if exact
            else monte_carlo_interval(pvalue, len(statistics), excess=excess)
        ),
    )
