"""Which features differ: alone, together with others, or along a direction; or the fewest that explain it.

*Alone*: the feature's own distribution differs (`alone`). *Together*: its own does not, but its relation to
another feature does (`relations`). Both kinds of hypotheses go through one step-down maximum, so one
statement holds for the whole list: the chance that it has any feature of which neither is true is at most
alpha. A feature that merely goes with one that differs is named by neither.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from princdiff.data import parameters
from princdiff.data.problem import Design, Problem, Run
from princdiff.data.samples import Scale
from princdiff.data.shared_docs import with_shared_docs
from princdiff.divergences import Divergence
from princdiff.labellings.covariates import with_unexplained_rows
from princdiff.labellings.pvalues import step_down_pvalues
from princdiff.labellings.schemes import scheme_of
from princdiff.parallel import single_threaded_blas
from princdiff.selection.explanation import with_rest
from princdiff.selection.selected import SelectionResult, only_explaining
from princdiff.selection.steps import SelectionOptions, SelectionSteps
from princdiff.statistics.alone import ERRORS, alone_scores_of, numbered

GOALS = ("all", "explanation", "directions")


@with_shared_docs
def select_features(
    X: ArrayLike,
    y: ArrayLike,
    *,
    goal: str = "all",
    alpha: float = 0.05,
    n_permutations: int = 999,
    error: str = "fwer",
    divergence: str | Divergence | Callable = "wasserstein2",
    scale: Scale = "pooled",
    blocks: ArrayLike | None = None,
    permute: str = "auto",
    covariates: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    columns: ArrayLike | None = None,
    random_state: Any = None,
    n_jobs: int | None = None,
    progress: bool = False,
) -> SelectionResult:
    """Find the features in which the groups differ.

    Parameters
    ----------
    {X}
    {y}
    goal : {"all", "explanation", "directions"}, default="all"
        "all": every feature whose own distribution differs, or whose relation to another feature does.
        "explanation": of these the fewest columns that are in everything that changed, and those that could
        stand for one of them; all other columns are tested together. "directions": as "all", and the features
        that take part in sparse directions: they need not differ in any way on their own or in pairs, but
        make a difference of others clearer.
    alpha : float, default=0.05
        Level.
    {n_permutations}
    error : {"fwer", "fdr"}, default="fwer"
        Control the chance of any false feature, or the expected share of false ones among those that
        differ alone (pairs keep the former).
    divergence : str, Divergence or callable, default="wasserstein2"
        What "different" means along directions, for "explanation" and "directions"; see
        `princdiff.divergences.available`. Single features and pairs are compared in several ways at once
        (means, spreads, shares, ranks; correlations of ranks), whatever the divergence.
    scale : {None, "pooled", "within"}, default="pooled"
        Scaling of the features. Single features are compared in any unit alike; with "within" they are not
        compared at all, and only features that go together differently are named.
    {blocks}
    {permute}
    covariates : array of shape (n_rows,) or (n_rows, n_covariates), optional
        Numbers that are held equal, as in `permutation_test`.
    {sample_weight}
    columns : array of str of shape (n_features,), optional
        Column of a table that each feature belongs to: the 0/1 levels of a category, or a number and its mark
        for missing values, are judged as one column first. Default: each feature is a column.
    {random_state}
    {n_jobs}
    {progress}

    Returns
    -------
    SelectionResult

    Notes
    -----
    "all" with ``error="fwer"`` promises: with probability at least 1 - ``alpha`` every feature named "alone"
    differs in distribution, and every pair named "together" goes together differently. What is assumed:
    the permutations are right (rows, or blocks, are exchangeable where nothing differs), and the features and
    pairs that do not differ have jointly the same distribution in the groups; for pairs, after each feature
    is brought to normal scores within its group, which makes that part approximate. Of the error 60 %
    is for single features, 25 % for pairs, and 15 % for the relations of further features to those already
    named, their squares and products; where there are flags or categories 75 %, 15 % and 10 %. In tables of
    up to 30 numbers a third of the last is for three features at a time of which no two need to go together
    differently, such as one that has the sign of the product of two others. Half of what
    is for pairs goes to those that depend on each other over all rows, labels ignored. The largest
    score is itself a test of the whole difference at level ``alpha``, so nothing is named where nothing
    differs but for that chance.

    "directions" adds features under a stronger assumption: those not selected are jointly independent of the
    labels and of the selected ones. A feature that goes with a shifted one, and is not shifted itself, takes
    part in the best direction and is named. Half of ``alpha`` is for these.

    Examples
    --------
    >>> import numpy as np
    >>> from princdiff import select_features
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 10))
    >>> X[150:, 4] += 1
    >>> X[150:, 7] = 0.9 * X[150:, 2] + 0.4 * X[150:, 7]
    >>> result = select_features(X, np.repeat([0, 1], 150), n_permutations=199, random_state=0)
    >>> result.table.loc[result.selected, ["feature", "reason"]]
      feature            reason
    2      x2  together with x7
    4      x4             alone
    7      x7  together with x2
    """
    parameters.check(
        locals(),
        goal=parameters.Choice(*GOALS),
        error=parameters.Choice(*ERRORS),
        columns=parameters.Data(),
    )
    options = SelectionOptions(goal, alpha, int(n_permutations), error)
    design = Design(sample_weight, blocks, permute, covariates)
    problem = Problem.from_arrays(X, y, divergence=divergence, scale=scale, design=design)
    if columns is not None:
        problem = _with_columns(problem, columns)
    return select(problem, Run.from_options(random_state, n_jobs, progress), options)


def _with_columns(problem: Problem, columns: ArrayLike) -> Problem:
    names = tuple(map(str, np.asarray(columns).ravel()))
    if len(names) != problem.n_features:
        raise ValueError(
            f"columns must name the column of each of the {problem.n_features} features, got {len(names)}"
        )
    return replace(problem, units=names)


@single_threaded_blas
def select(problem: Problem, run: Run, options: SelectionOptions) -> SelectionResult:
    """Find the features in which the groups of a problem differ; see `select_features`."""
    # In an order of their own: shuffled rows and renamed groups give the same answer to the last digit.
    groups = problem.classes
    problem = problem.require_memory().with_ranked_groups.ordered
    finder = SelectionSteps(problem, run, options, groups)
    if options.relations:
        finder.columns_and_pairs()
        finder.relations_to_named()
        finder.relations_of_threes()
    else:
        finder.single_columns()
    if options.goal == "directions":
        finder.directions()
    found = finder.result()
    if options.goal != "explanation":
        return found
    explanation = with_rest(found.explanation, problem, run, options.n_permutations)
    return only_explaining(replace(found, explanation=explanation))


def single_columns(problem: Problem, run: Run, n_permutations: int) -> pd.DataFrame:
    """Columns on their own, and nothing else: what can be known first.

    Parameters
    ----------
    problem : Problem
        Rows in memory, not scaled within groups.
    run : Run
        Seed and threads.
    n_permutations : int
        Permutations.

    Returns
    -------
    DataFrame
        ``column``, and ``pvalue_adj``, which controls the chance of any false name (step-down maximum).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> rows, y = rng.normal(size=(60, 2)), np.repeat([0, 1], 30)
    >>> rows[30:, 1] += 2
    >>> single_columns(Problem.from_arrays(rows, y, names=["a", "b"]), Run(), 99)["pvalue_adj"].tolist()[1]
    0.01
    """
    problem = with_unexplained_rows(problem.require_memory().with_ranked_groups.ordered)
    scheme = scheme_of(problem, n_permutations, run.seed_for())
    scores = alone_scores_of(problem, scheme, run.n_jobs).units
    return pd.DataFrame({"column": numbered(problem.units)[0], "pvalue_adj": step_down_pvalues(scores)})
