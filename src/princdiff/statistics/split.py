"""A test for large data: the direction from one part of the rows, the test on the other.

One fit a split instead of one a permutation. On the rows that were not used in the fit the direction is
fixed, so a univariate permutation test is exact. Several splits are combined by twice the median of their
p-values, which is valid however they depend on each other (Rueger's rule); with one split the p-value
itself is used.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from princdiff.data import parameters, validate
from princdiff.data.labels import Labels
from princdiff.data.problem import Problem, Run
from princdiff.data.row_keys import shuffled_members
from princdiff.data.samples import Scale
from princdiff.data.shared_docs import with_shared_docs
from princdiff.divergences import Divergence, Wasserstein2, report
from princdiff.labellings.pvalues import permutation_pvalue
from princdiff.parallel import in_threads, single_threaded_blas
from princdiff.printable import short_repr
from princdiff.solvers.effort import SearchSettings
from princdiff.solvers.growing_samples import first_sample, one_sample, solve_growing
from princdiff.solvers.solve import solve
from princdiff.statistics.tuning import choose_level

_CHUNK_ELEMENTS = 1 << 20
# With more rows, quantile functions are compared at this many levels instead of in every cell.
_MANY_ROWS = 20_000
_LEVELS = 2000


@dataclass(frozen=True, repr=False)
class SplitResult:
    """Outcome of a split test.

    Attributes
    ----------
    pvalue : float
        Twice the median over splits, at most 1.
    pvalues : array of shape (n_splits,)
        One for each split; each is valid on its own.
    statistics : array of shape (n_splits,)
        Divergence on the rows kept aside.
    directions : array of shape (n_splits, n_features)
        Directions of the scaled features.
    rule : str
        How the splits were combined, in words.

    Examples
    --------
    >>> import numpy as np
    >>> from princdiff import split_test
    >>> X = np.random.default_rng(0).normal(size=(80, 3)) + np.repeat([[0.0], [2.0]], 40, axis=0)
    >>> result = split_test(X, np.repeat([0, 1], 40), n_permutations=99, random_state=0)
    >>> result.pvalue, len(result.pvalues)
    (0.02, 5)
    """

    pvalue: float
    pvalues: NDArray[np.float64]
    statistics: NDArray[np.float64]
    directions: NDArray[np.float64]
    rule: str

    __repr__ = short_repr


@with_shared_docs
def split_test(
    X: ArrayLike,
    y: ArrayLike,
    *,
    n_splits: int = 5,
    fraction: float = 0.5,
    n_features: int | str = "auto",
    divergence: str | Divergence | Callable = "wasserstein2",
    scale: Scale = "pooled",
    n_permutations: int = 999,
    effort: str = "default",
    random_state: Any = None,
    n_jobs: int | None = None,
    progress: bool = False,
) -> SplitResult:
    """Test whether the groups differ, with one fit per split.

    Parameters
    ----------
    {X}
    {y}
    n_splits : int, default=5
        Random splits.
    fraction : float, default=0.5
        Part of each group that the direction is fitted on.
    n_features : int or "auto", default="auto"
        Sparsity of the direction; "auto" chooses it inside the fitted part.
    {divergence}
    scale : {"pooled", None}, default="pooled"
        Scaling of the features.
    n_permutations : int, default=999
        Permutations of the rows kept aside.
    {effort}
    {random_state}
    {n_jobs}
    {progress}

    Returns
    -------
    SplitResult

    Examples
    --------
    >>> import numpy as np
    >>> from princdiff import split_test
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(400, 5))
    >>> X[200:, 2] += 1
    >>> split_test(X, np.repeat([0, 1], 200), random_state=0).pvalue
    0.002
    """
    parameters.check(locals(), scale=parameters.Choice(None, "pooled"))
    problem = Problem.from_arrays(X, y, divergence=divergence, scale=scale)
    run = Run.from_options(random_state, n_jobs, progress)
    return run_splits(problem, run, SplitOptions(n_splits, fraction, n_features, n_permutations, effort))


@dataclass(frozen=True)
class SplitOptions:
    """How to split and to fit; see `split_test`."""

    n_splits: int = 5
    fraction: float = 0.5
    n_features: int | str = "auto"
    n_permutations: int = 999
    effort: str = "default"


@single_threaded_blas
def run_splits(problem: Problem, run: Run, options: SplitOptions) -> SplitResult:
    """The split test of a problem."""
    problem = problem.require_memory().ordered
    part, n_splits = options.fraction, options.n_splits
    if np.minimum(np.floor(problem.sizes * part), np.floor(problem.sizes * (1 - part))).min() < 2:
        raise ValueError(
            f"a group of {problem.sizes.min()} rows is too small to split at fraction={part:g}: at least two "
            "rows of each group are needed on both sides; use permutation_test instead"
        )
    rng = run.rng()
    outcomes = [_one_split(problem, run, options, rng) for _ in run.bar("splits", range(n_splits))]
    pvalues, statistics, directions = (np.array(values) for values in zip(*outcomes, strict=True))
    combined = pvalues[0] if n_splits == 1 else min(1.0, 2 * float(np.median(pvalues)))
    rule = "one split" if n_splits == 1 else f"twice the median of the p-values of {n_splits} splits"
    return SplitResult(float(combined), pvalues, statistics, directions, rule)


def _one_split(
    problem: Problem, run: Run, options: SplitOptions, rng: np.random.Generator
) -> tuple[float, float, NDArray[np.float64]]:
    """P-value, statistic and direction of one split."""
    fitted = np.zeros(problem.n_rows, dtype=bool)
    seed = int(rng.integers(2**31))
    for members in shuffled_members(problem.row_keys, problem.codes, problem.n_groups, seed):
        fitted[members[: round(options.fraction * len(members))]] = True
    part = problem.take_rows(fitted)
    samples, labels, divergence = part.samples, part.labels, part.divergence
    first = first_sample(samples, "auto")
    if options.n_features == "auto":
        tuned = (samples, labels) if first is None else one_sample(samples, labels, first, rng)
        level = int(choose_level(*tuned, divergence, rng, n_jobs=run.n_jobs).chosen)
    else:
        level = validate.check_level(options.n_features, samples.n_features)
    settings = SearchSettings(level, effort=options.effort, n_jobs=run.n_jobs)
    if first is None:
        best = solve(samples, labels, divergence, settings, rng=rng)
    else:
        best = solve_growing(samples, labels, divergence, settings, first=first, rng=rng)
    weights = best.direction * samples.factor
    projection = np.asarray(problem.rows[~fitted] @ weights, dtype=np.float64).ravel()
    pvalue, statistic = univariate_test(
        projection,
        problem.codes[~fitted],
        problem.n_groups,
        options.n_permutations,
        rng,
        run.n_jobs,
        divergence,
    )
    return pvalue, statistic, best.direction


def univariate_test(
    projection: NDArray[np.float64],
    codes: NDArray[np.uint8],
    n_groups: int,
    n_permutations: int,
    rng: np.random.Generator,
    n_jobs: int | None = None,
    divergence: Divergence | None = None,
) -> tuple[float, float]:
    """Permutation p-value and divergence of numbers along a fixed direction.

    The squared Wasserstein distance if none is given; exact also where a search would ascend a stand-in.

    Examples
    --------
    >>> numbers = np.arange(20.0)
    >>> codes = np.repeat([0, 1], 10).astype(np.uint8)
    >>> univariate_test(numbers, codes, 2, 99, np.random.default_rng(0))
    (0.01, 100.0)
    """
    values = np.sort(projection - projection.mean())
    codes = codes[np.argsort(projection, kind="stable")]
    observed = float(report(divergence or Wasserstein2(), values[None], Labels(codes, n_groups))[0])
    if len(values) > _MANY_ROWS and isinstance(divergence, Wasserstein2 | None):
        return _by_quantiles(values, codes, n_groups, n_permutations, rng, n_jobs), observed
    size = max(1, _CHUNK_ELEMENTS // len(values))
    seeds = rng.integers(2**31, size=-(-n_permutations // size))
    compared = divergence or Wasserstein2()

    def run(index: int) -> NDArray[np.float64]:
        own = np.random.default_rng(seeds[index])
        count = min(size, n_permutations - index * size)
        permuted = own.permuted(np.tile(codes, (count, 1)), axis=1)
        return report(compared, np.tile(values, (count, 1)), Labels(permuted, n_groups))

    null = np.concatenate(in_threads(run, range(len(seeds)), n_jobs))
    return float(permutation_pvalue(np.append(observed, null))), observed


def _by_quantiles(
    values: NDArray[np.float64],
    codes: NDArray[np.uint8],
    n_groups: int,
    n_permutations: int,
    rng: np.random.Generator,
    n_jobs: int | None,
) -> float:
    """P-value of the squared distance of quantile functions at many levels; ``values`` ascend.

    A permutation test is valid for any statistic. With many rows this one differs from the distance by less
    than anybody could see, and a permutation costs no sort and no matching of rows.
    """
    sizes = np.bincount(codes, minlength=n_groups)
    shares = (sizes / len(codes))[:, None]
    levels = (np.arange(_LEVELS) + 0.5) / _LEVELS
    places = (levels * sizes[:, None]).astype(np.intp)

    def statistic(labels: NDArray[np.uint8]) -> float:
        # Members of a group come in ascending order, since all values do.
        quantiles = np.array([values[labels == g][places[g]] for g in range(n_groups)])
        return float((shares * (quantiles - (shares * quantiles).sum(axis=0)) ** 2).sum())

    def run(seed: np.int64) -> float:
        return statistic(np.random.default_rng(int(seed)).permutation(codes))

    observed = statistic(codes)
    null = np.array(in_threads(run, list(rng.integers(2**31, size=n_permutations)), n_jobs))
    return float(permutation_pvalue(np.append(observed, null)))
