"""How stable: selection frequencies over half-samples, and bootstrap intervals for shares."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from princdiff.data import parameters, validate
from princdiff.data.labels import HELD_OUT, Labels
from princdiff.data.problem import Problem, Run
from princdiff.data.row_keys import shuffled_members
from princdiff.data.samples import Samples, Scale
from princdiff.data.shared_docs import with_shared_docs
from princdiff.divergences import Divergence
from princdiff.labellings.execution import run_chunks
from princdiff.parallel import single_threaded_blas
from princdiff.printable import short_repr
from princdiff.solvers.path import solve_path
from princdiff.statistics.tuning import choose_level

# Half-samples solved together; the number does not depend on n_jobs, so neither do the results.
_CHUNK = 20


@dataclass(frozen=True, repr=False)
class StabilityResult:
    """Selection frequencies over complementary half-samples.

    Attributes
    ----------
    frequencies : array of shape (n_features,)
        Share of half-samples in which a feature was selected.
    stable : bool array of shape (n_features,)
        Features at or above the threshold.
    threshold : float
        The threshold.
    expected_false : float
        Bound on the expected number of stable features that are selected no more often than by chance
        (Shah and Samworth 2013, for unimodal frequencies).
    n_features : int
        Features selected in each half-sample.

    Examples
    --------
    >>> import numpy as np
    >>> from princdiff import stability_selection
    >>> X = np.random.default_rng(0).normal(size=(80, 4))
    >>> X[40:, 2] += 2
    >>> result = stability_selection(X, np.repeat([0, 1], 40), random_state=0)
    >>> int(result.frequencies.argmax())
    2
    """

    frequencies: NDArray[np.float64]
    stable: NDArray[np.bool_]
    threshold: float
    expected_false: float
    n_features: int

    __repr__ = short_repr


@with_shared_docs
def stability_selection(
    X: ArrayLike,
    y: ArrayLike,
    *,
    n_features: int | str = "auto",
    threshold: float = 0.9,
    n_pairs: int = 50,
    divergence: str | Divergence | Callable = "wasserstein2",
    scale: Scale = "pooled",
    random_state: Any = None,
    n_jobs: int | None = None,
) -> StabilityResult:
    """How often each feature is selected when half of the rows are used.

    Parameters
    ----------
    {X}
    {y}
    n_features : int or "auto", default="auto"
        Features to select in each half-sample; "auto": by held-out divergence on all rows.
    threshold : float, default=0.9
        Frequency from which a feature counts as stable, above 0.5.
    n_pairs : int, default=50
        Complementary pairs of half-samples.
    {divergence}
    scale : {None, "pooled", "within"}, default="pooled"
        Scaling of the features.
    {random_state}
    {n_jobs}

    Returns
    -------
    StabilityResult

    Examples
    --------
    >>> import numpy as np
    >>> from princdiff import stability_selection
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 10))
    >>> X[100:, 4] += 2
    >>> result = stability_selection(X, np.repeat([0, 1], 100), n_features=1, random_state=0)
    >>> np.flatnonzero(result.stable)
    array([4])
    """
    parameters.check(locals())
    problem = Problem.from_arrays(X, y, divergence=divergence, scale=scale)
    run = Run.from_options(random_state, n_jobs)
    return run_half_samples(problem, run, n_features, threshold, n_pairs)


@single_threaded_blas
def run_half_samples(
    problem: Problem, run: Run, n_features: int | str = "auto", threshold: float = 0.9, n_pairs: int = 50
) -> StabilityResult:
    """Selection frequencies of a problem's features over half-samples of its rows."""
    problem = problem.require_memory().ordered
    if problem.sizes.min() < 4:
        small = problem.classes[int(problem.sizes.argmin())]
        raise ValueError(
            f"group {small!r} has {problem.sizes.min()} rows; every group needs at least four rows, two for "
            "each half-sample"
        )
    rng = run.rng()
    samples, labels, divergence = problem.samples, problem.labels, problem.divergence
    if n_features == "auto":
        level = int(choose_level(samples, labels, divergence, rng, n_jobs=run.n_jobs).chosen)
    else:
        level = validate.check_level(n_features, samples.n_features)
    halves = half_samples(samples, labels, n_pairs, rng)
    selected = partial(_selected, samples, halves, divergence, level, int(rng.integers(2**31)))
    pieces = np.array_split(np.arange(halves.n_columns), -(-halves.n_columns // _CHUNK))
    frequencies = np.concatenate(list(run_chunks(selected, pieces, run.n_jobs))).mean(axis=0)
    bound = expected_false_selections(threshold, level, samples.n_features, n_pairs)
    return StabilityResult(frequencies, frequencies >= threshold, threshold, bound, level)


def _selected(
    samples: Samples,
    halves: Labels,
    divergence: Divergence,
    level: int,
    seed: int,
    columns: NDArray[np.intp],
) -> NDArray[np.bool_]:
    """Features that some of the half-samples select, shape (len(columns), n_features)."""
    rng = np.random.default_rng(seed)
    path = solve_path(samples, halves.take(columns), divergence, np.array([level]), rng)
    return path.directions[:, 0] != 0


def half_samples(samples: Samples, labels: Labels, n_pairs: int, rng: np.random.Generator) -> Labels:
    """Complementary halves of the rows, stratified by group: two columns for each pair."""
    codes = labels.codes[labels.columns[0]]
    result = np.full((2 * n_pairs, len(codes)), HELD_OUT, dtype=np.uint8)
    for pair, seed in enumerate(rng.integers(2**31, size=n_pairs)):
        shuffled = shuffled_members(samples.row_keys, codes, labels.n_groups, int(seed))
        for group, members in enumerate(shuffled):
            middle = len(members) // 2
            result[2 * pair, members[:middle]] = group
            result[2 * pair + 1, members[middle : 2 * middle]] = group
    return Labels(result, labels.n_groups, weights=labels.weights)


def expected_false_selections(threshold: float, selected: int, available: int, n_pairs: int) -> float:
    """Shah and Samworth's bound for unimodal selection frequencies (their theorem 2).

    Examples
    --------
    >>> round(expected_false_selections(0.9, 10, 500, 50), 4)
    0.0863
    """
    share = selected / available
    pairs = 1 / (2 * n_pairs)
    lower = min(0.5 + share**2, 0.5 + pairs + 0.75 * share**2)
    if share > 1 / np.sqrt(3) or threshold <= lower or threshold < 0.5 + 2 * pairs:
        # The theorem does not speak here; the bound without shape assumptions does.
        return float(min(available, share * selected / (2 * threshold - 1)))
    if threshold <= 0.75:
        factor = 1 / (2 * (2 * threshold - 1 - pairs))
    else:
        factor = 4 * (1 - threshold + pairs) / (1 + 2 * pairs)
    return float(factor * share * selected)
