"""Do the groups differ? Permutation tests whose every data-driven step is redone for every labelling.

The p-value is (1 + b) / (1 + B): b of B relabellings reach the observed statistic. It is valid because the
observed labelling is one of B + 1 that are exchangeable under the null hypothesis and treated alike.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike

from princdiff.data import parameters
from princdiff.data.parameters import Choice, Either, Flag, Level, Whole
from princdiff.data.problem import Design, Problem, Run
from princdiff.data.samples import Scale
from princdiff.data.shared_docs import with_shared_docs
from princdiff.divergences import Divergence
from princdiff.labellings.execution import refuse_unseeded
from princdiff.parallel import single_threaded_blas
from princdiff.statistics.direction_grid import (
    METRICS,
)
from princdiff.statistics.permutation_result import (
    STATISTICS,
    PermutationOptions,
    PermutationResult,
)
from princdiff.statistics.permutation_runs import run_permutations


@with_shared_docs
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
    keep_directions: bool = False,
    checkpoint: str | Path | None = None,
) -> PermutationResult:
    """Test whether the groups differ in any direction.

    Parameters
    ----------
    {X}
    {y}
    {n_permutations}
    statistic : {"adaptive", "divergence", "paper"}, default="adaptive"
        "adaptive": directions of several sparsity levels in two metrics, single features, their sum, pairs of
        them, kernels at several bandwidths, lengths of rows and more, made comparable over all labellings and
        combined; see `PermutationResult.leading` for what stood out. "divergence": the divergence at
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
        Scaling of the features, as in `princdiff.PDA`. With "within" only relationships between features are
        tested: each feature is brought to normal scores of its ranks in each group first, whatever its
        distribution was. Ranks are estimates, which makes this test approximate.
    {blocks}
    {permute}
    covariates : array of shape (n_rows,) or (n_rows, n_covariates), optional
        Numbers that are held equal: labels are permuted so that groups differ in them as much as they do,
        with the odds of a logistic model of the group on them and their squares. Valid if that model holds,
        whatever the rows are like.
    {sample_weight}
    early_stop : int, optional
        Stop when this many relabellings have reached the observed statistic (Besag and Clifford): where
        groups do not differ this saves most of the time. "adaptive" looks after 99, 199, 399, ... of them.
        The p-value is valid, and coarse where it is large.
    tail : {None, "pareto"}
        Extrapolate small p-values with a generalised Pareto tail.
    {random_state}
    n_jobs : int, optional
        Parallel chunks of relabellings, through joblib: a cluster back-end works too.
    {progress}
    keep_directions : bool, default=False
        Keep every labelling's direction at the largest level, usually all features.
    checkpoint : str or Path, optional
        File in which finished relabellings are kept while the test runs. The same call goes on from it after
        an interruption and gives the same p-value; ``random_state`` must be a number.

    Returns
    -------
    PermutationResult

    Examples
    --------
    >>> import numpy as np
    >>> from princdiff import permutation_test
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 5))
    >>> X[30:, 2] += 1.5
    >>> result = permutation_test(X, np.repeat([0, 1], 30), n_permutations=99, random_state=0)
    >>> result.pvalue, result.leading
    (0.01, 'one column alone')
    """
    parameters.check(
        locals(),
        n_features=Either(Level(), None),
        metric=Choice(*METRICS),
        statistic=Choice(*STATISTICS),
        early_stop=Either(Whole(1), None),
        tail=Choice(None, "pareto"),
        keep_directions=Flag(),
    )
    options = PermutationOptions(
        n_permutations=int(n_permutations),
        statistic=statistic,
        n_features=n_features,
        metric=metric,
        early_stop=early_stop,
        tail=tail,
        keep_directions=keep_directions,
        checkpoint=checkpoint,
    )
    refuse_unseeded(checkpoint, random_state)
    if metric == "whitened" and scale == "within":
        raise ValueError(
            'metric="whitened" standardises directions over all rows; use scale="pooled" or None'
        )
    problem = Problem.from_arrays(
        X,
        y,
        divergence=divergence,
        scale=scale,
        design=Design(sample_weight, blocks, permute, covariates),
    )
    with single_threaded_blas:
        return run_permutations(problem, Run.from_options(random_state, n_jobs, progress), options)
