"""Do the groups differ? Permutation tests whose every data-driven step is redone for every labelling.

The p-value is (1 + b) / (1 + B): b of B relabellings reach the observed statistic. It is valid because the
observed labelling is one of B + 1 that are exchangeable under the null hypothesis and treated alike.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from tqdm import tqdm

from princdiff import __version__
from princdiff.data import validate
from princdiff.data.problem import Design, Problem, Run
from princdiff.data.row_chunks import RowChunks
from princdiff.data.samples import Samples, Scale
from princdiff.divergences import Divergence
from princdiff.inference.direction_grid import (
    METRICS,
    Grid,
    default_grid,
    single_cell_grid,
    whitened_samples,
)
from princdiff.inference.execution import Checkpoint, fingerprint_of, refuse_unseeded, resumed
from princdiff.inference.labellings import Labellings
from princdiff.inference.relabelling import Scheme
from princdiff.inference.tail import pareto_pvalue
from princdiff.parallel import in_threads, single_threaded_blas
from princdiff.solvers.starts import marginal_divergences
from princdiff.solvers.whitening import refuse_to_whiten

SINGLE = ("single features", 1)
STATISTICS = ("adaptive", "divergence", "paper")
# Labellings solved together; the number does not depend on n_jobs, so neither do the results.
_CHUNK = 50
_CHUNK_ELEMENTS = 20_000_000
_STARTS = 12
# Statistics closer than this, in standard deviations of their pool, are tied: single precision and chunk
# sizes must not decide.
_TIE = 1e-4


@dataclass(frozen=True)
class PermutationResult:
    """Outcome of a permutation test.

    Attributes
    ----------
    statistic : float
        Observed statistic.
    pvalue : float
        (1 + b) / (1 + B), or the exact share where all relabellings were used.
    null : array of shape (n_permutations,)
        The statistic of every relabelling.
    levels : list of (metric, number of features)
        What was looked at.
    level_pvalues : array of shape (n_levels,)
        P-value of each level alone, not corrected for looking at several.
    values : array of shape (n_permutations + 1, n_levels)
        Divergence of every labelling at every level, the observed one first.
    best_level : (metric, number of features)
        Level at which the observed labelling stands out most; for "paper" the level that
        cross-validation chose for it.
    leading_feature : int or None
        For "adaptive": the feature that stands out most by itself.
    smallest_attainable_pvalue : float
        What the design and the number of permutations allow at best.
    n_permutations : int
        Relabellings made, the observed one not counted.
    exact : bool
        Whether all distinct relabellings were used.
    extrapolated_pvalue : float or None
        With ``tail="pareto"``: an extrapolation beyond 1 / (B + 1).
    directions : array of shape (n_permutations + 1, n_features) or None
        With ``keep_directions``: each labelling's direction at its best level (single features aside), or at
        the largest.
    """

    statistic: float
    pvalue: float
    null: NDArray[np.float64]
    levels: list[tuple[str, int]]
    level_pvalues: NDArray[np.float64]
    values: NDArray[np.float64]
    best_level: tuple[str, int]
    smallest_attainable_pvalue: float
    n_permutations: int
    exact: bool
    extrapolated_pvalue: float | None = None
    directions: NDArray | None = None
    leading_feature: int | None = None


def permutation_test(
    X: ArrayLike,
    y: ArrayLike,
    *,
    n_permutations: int = 999,
    statistic: str = "adaptive",
    n_features: int | None = None,
    divergence: str | Divergence | Callable = "wasserstein2",
    metric: str = "mixed",
    scale: Scale = "pooled",
    blocks: ArrayLike | None = None,
    permute: str = "auto",
    covariates: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    early_stop: int | None = None,
    tail: str | None = None,
    random_state: Any = None,
    n_jobs: int | None = None,
    progress: bool = False,
    keep_directions: bool | str = False,
    checkpoint: str | Path | None = None,
) -> PermutationResult:
    """Test whether the groups differ in any direction.

    Parameters
    ----------
    X : array, DataFrame or scipy.sparse matrix of shape (n_rows, n_features)
        Rows of all groups.
    y : array of shape (n_rows,)
        Group of each row.
    n_permutations : int, default=999
        Random relabellings; all distinct ones where they are fewer.
    statistic : {"adaptive", "divergence", "paper"}, default="adaptive"
        "adaptive": the best over a grid of sparsity levels and metrics, and over single features, each
        standardised over all labellings, the observed one included. "divergence": the divergence at
        ``n_features``. "paper": the divergence at a sparsity chosen by cross-validation, anew for each
        labelling.
    n_features : int, optional
        For "divergence": the sparsity level; default all features.
    divergence : str, Divergence or callable, default="wasserstein2"
        What "different" means for two columns of numbers: a name from
        `princdiff.divergences.available`, an object or a function. Where the search ascends a smooth
        stand-in (Kolmogorov-Smirnov), the statistic is that of the stand-in.
    metric : {"mixed", "euclidean", "whitened"}, default="mixed"
        "euclidean": unit directions of the scaled features, as in the paper. "whitened": directions of
        unit variance over all rows, our extension. "mixed": both (the euclidean one where a single
        level is tested).
    scale : {None, "pooled", "within"}, default="pooled"
        Scaling of the features, as in `princdiff.PDA`. With "within" the null hypothesis is "equal after
        standardising each feature in each group", and the test is approximate.
    blocks : array of shape (n_rows,), optional
        Pairs, strata or donors.
    permute : {"auto", "within", "whole"}, default="auto"
        Relabel rows inside their block, or whole blocks; "auto": whole blocks where each lies in one group,
        within blocks where each has rows of several groups.
    covariates : array of shape (n_rows,) or (n_rows, n_covariates), optional
        Numbers whose linear effect on the features is taken out: the test is made on as many rows fewer as
        there are covariates, and one, in which nothing of them is left (Theil's residuals). Exact if what
        is left is normal, and approximate otherwise.
    sample_weight : array of shape (n_rows,), optional
        Row weights; they travel with the rows.
    early_stop : int, optional
        For a fixed-level statistic: stop when so many relabellings have reached the observed statistic
        (Besag and Clifford); the p-value is valid.
    tail : {None, "pareto"}
        Extrapolate small p-values with a generalised Pareto tail.
    random_state : int, RandomState or None
        Seed.
    n_jobs : int, optional
        Parallel chunks of relabellings, through joblib: a cluster back-end works too.
    progress : bool, default=False
        Show a progress bar.
    keep_directions : {False, True, "dense"}, default=False
        Keep every labelling's direction at its best level, or at the largest level, mostly all features.
    checkpoint : str or Path, optional
        File in which finished relabellings are kept while the test runs. The same call goes on from it after
        an interruption and gives the same p-value; ``random_state`` must be a number.

    Returns
    -------
    PermutationResult

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 5))
    >>> X[30:, 2] += 1.5
    >>> result = permutation_test(X, np.repeat([0, 1], 30), n_permutations=99, random_state=0)
    >>> result.pvalue
    0.01
    """
    validate.check_choice("statistic", statistic, STATISTICS)
    validate.check_choice("metric", metric, METRICS)
    validate.check_choice("tail", tail, (None, "pareto"))
    validate.check_choice("keep_directions", keep_directions, (False, True, "dense"))
    validate.check_positive("n_permutations", n_permutations, whole=True)
    if early_stop is not None:
        validate.check_positive("early_stop", early_stop, whole=True)
        if statistic != "divergence":
            raise ValueError(
                f"early_stop needs a statistic that each relabelling has by itself; {statistic!r} compares "
                'all of them: use statistic="divergence"'
            )
    refuse_unseeded(checkpoint, random_state)
    if metric == "whitened" and scale == "within":
        raise ValueError(
            'metric="whitened" standardises directions over all rows; use scale="pooled" or None'
        )
    checked = Problem.from_arrays(
        X,
        y,
        divergence=divergence,
        scale=scale,
        design=Design(sample_weight, blocks, permute, covariates),
    )
    seed = Run.from_options(random_state).seed_for()
    problem = Labellings.of(checked, n_permutations, seed)
    grid = _grid(problem, statistic, n_features, metric)
    compute = problem.paper_values if statistic == "paper" else problem.values
    values, directions = _all_labellings(
        problem, grid, compute, early_stop, n_jobs, progress, keep_directions, checkpoint
    )
    cells, leading = grid.cells, None
    if statistic == "adaptive":
        cells = [*cells, SINGLE]
        single, leading = _best_single_feature(problem, len(values), n_jobs)
        values = np.column_stack([values, single])
        scores = standardised(values)
        best = scores.argmax(axis=1)
    elif statistic == "paper":
        best = values[:, -1].astype(np.intp)
        values = values[:, :-1]
        scores = values[np.arange(len(values)), best][:, None]
    else:
        scores, best = values, np.zeros(len(values), dtype=np.intp)
    result = _summarise(problem.scheme, cells, values, scores.max(axis=1), best, directions, tail)
    return replace(result, leading_feature=leading)


def _grid(problem: Labellings, statistic: str, n_features: int | None, metric: str) -> Grid:
    available = problem.samples.n_features
    if n_features is not None and statistic != "divergence":
        raise ValueError(
            'n_features is for statistic="divergence"; the others choose the sparsity themselves'
        )
    if statistic == "divergence":
        level = available if n_features is None else validate.check_level(n_features, available)
        if metric == "whitened" and level == available:
            refuse_to_whiten(level)
        return single_cell_grid(level, "euclidean" if metric == "mixed" else metric)
    if statistic == "paper" or problem.samples.scale == "within":
        metric = "euclidean"
    return default_grid(available, metric, problem.divergence.degree)


def _all_labellings(
    problem: Labellings,
    grid: Grid,
    compute: Callable,
    early_stop: int | None,
    n_jobs: int | None,
    progress: bool,
    keep: bool | str,
    checkpoint: str | Path | None,
) -> tuple[NDArray[np.float64], NDArray | None]:
    """Values of all labellings, in chunks that are the same whatever the number of jobs."""
    n_labellings = problem.scheme.n_labellings
    size = int(np.clip(_CHUNK_ELEMENTS // (_STARTS * problem.samples.n_features), 4, _CHUNK))
    chunks = np.split(np.arange(n_labellings), np.arange(size, n_labellings, size))
    bar = tqdm(total=n_labellings, desc="permutations", disable=None if progress else True, leave=False)
    values: list[NDArray] = []
    directions: list[NDArray] = []
    with bar:
        with single_threaded_blas():
            whitened = whitened_samples(problem.samples, grid)
        kept_chunks = _checkpoint(checkpoint, problem, grid, compute, size, keep)
        run = partial(_compute_chunk, compute, grid, whitened, keep)
        parts = resumed(run, chunks, n_jobs, kept_chunks)
        for part, kept in parts:
            values.append(part)
            if kept is not None:
                directions.append(kept)
            bar.update(len(part))
            if early_stop is not None and _reached(values, early_stop):
                parts.close()
                break
    return np.concatenate(values), np.concatenate(directions) if directions else None


def _compute_chunk(
    compute: Callable, grid: Grid, whitened: Samples | None, keep: bool | str, indices: NDArray[np.intp]
) -> tuple[NDArray, NDArray | None]:
    return compute(grid, whitened, indices, keep)


def _checkpoint(
    path: str | Path | None, problem: Labellings, grid: Grid, compute: Callable, size: int, keep: bool | str
) -> Checkpoint | None:
    """A checkpoint that belongs to these data and parameters, or none."""
    if path is None:
        return None
    samples = problem.samples
    streamed = isinstance(samples.rows, RowChunks)
    scheme = problem.scheme
    last = np.arange(min(scheme.n_labellings, 3))
    parts = {
        # Out of core the moments stand for the values, which would take another pass.
        "the rows": (
            samples.rows.shape,
            samples.centre,
            samples.deviation,
            None if streamed else samples.rows,
        ),
        "the groups": problem.codes,
        "sample_weight": problem.weights,
        "divergence": f"{type(problem.divergence).__name__} {vars(problem.divergence)}",
        "scale": samples.scale,
        "random_state": problem.seed,
        "blocks or permute": scheme.codes(last),
        "n_permutations": scheme.n_labellings,
        "statistic, metric or n_features": (compute.__name__, grid.cells),
        "keep_directions": keep,
        "the version of princdiff": f"{__version__}, chunks of {size}",
    }
    return Checkpoint(path, fingerprint_of(parts))


def _best_single_feature(
    problem: Labellings, n_labellings: int, n_jobs: int | None
) -> tuple[NDArray[np.float64], int]:
    """The largest single-feature divergence of each labelling, every feature on its own null scale.

    Also which feature it is for the observed labelling.

    The squared distance of a 0/1 feature grows with the difference of proportions, that of a continuous one
    with its square: in a table of both the former would drown the latter. Standardised over all labellings,
    the observed one included, they compare.
    """
    size = max(1, _CHUNK_ELEMENTS // (problem.samples.n_rows * 10))
    chunks = np.split(np.arange(n_labellings), np.arange(size, n_labellings, size))

    def run(indices: NDArray[np.intp]) -> NDArray[np.float32]:
        labels = problem.labels(indices)
        parts = np.empty((len(indices), problem.samples.n_features), dtype=np.float32)
        for columns in labels.homogeneous():
            own = labels.take(columns)
            values = marginal_divergences(problem.samples, own, problem.divergence)
            parts[columns] = np.sqrt(np.maximum(values, 0.0))
        return parts

    roots = np.concatenate(in_threads(run, chunks, n_jobs)).astype(np.float64)
    scores = standardised(roots)
    return scores.max(axis=1), int(scores[0].argmax())


def _reached(values: list[NDArray], wanted: int) -> bool:
    """Whether enough relabellings have reached the observed statistic."""
    scores = np.concatenate(values)[:, 0]
    return int((scores[1:] >= scores[0] - _tolerance(scores)).sum()) >= wanted


def standardised(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Z-scores of every level over all labellings, the observed one included.

    One symmetric function of the whole pool: this is what keeps the best over levels a valid statistic.
    """
    spread = values.std(axis=0)
    flat = spread <= 1e-7 * np.abs(values).max(axis=0)
    return (values - values.mean(axis=0)) / np.where(flat, np.inf, spread)


def _tolerance(scores: NDArray[np.float64]) -> float:
    return _TIE * float(scores.std()) + 1e-7 * float(np.abs(scores).max())


def _summarise(
    scheme: Scheme,
    cells: list[tuple[str, int]],
    values: NDArray[np.float64],
    statistics: NDArray[np.float64],
    best: NDArray[np.intp],
    directions: NDArray | None,
    tail: str | None,
) -> PermutationResult:
    z = standardised(values)
    alone = np.array([_pvalue(column) for column in z.T])
    kept = None
    if directions is not None:
        n_kept = directions.shape[1]
        place = np.where(best < n_kept, best, z[:, :n_kept].argmax(axis=1))
        kept = directions[np.arange(len(directions)), place]
    return PermutationResult(
        statistic=float(statistics[0]),
        pvalue=_pvalue(statistics),
        null=statistics[1:],
        levels=cells,
        level_pvalues=alone,
        values=values,
        best_level=cells[best[0]],
        smallest_attainable_pvalue=max(scheme.smallest_pvalue, 1 / len(statistics)),
        n_permutations=len(statistics) - 1,
        exact=scheme.exhaustive and len(statistics) == scheme.n_labellings,
        extrapolated_pvalue=pareto_pvalue(statistics[0], statistics[1:]) if tail == "pareto" else None,
        directions=kept,
    )


def _pvalue(statistics: NDArray[np.float64]) -> float:
    reached = statistics[1:] >= statistics[0] - _tolerance(statistics)
    return (1 + int(reached.sum())) / len(statistics)
