"""Which features differ: a smallest set, or all that take part."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from tqdm import tqdm

from princdiff.data import validate
from princdiff.data.labels import Labels
from princdiff.data.samples import Samples, Scale
from princdiff.divergences import Divergence, get
from princdiff.inference.credit import (
    credit_scores,
    family_wise_pvalues,
    fit_folds,
    shuffled_order,
    shuffled_scores,
)
from princdiff.inference.permutation import SINGLE, PermutationResult, permutation_test, standardised
from princdiff.inference.suppressors import MOST_TARGETS, shuffled_gains, suppression_gains
from princdiff.solvers.solve import solve
from princdiff.solvers.starts import marginal_divergences
from princdiff.solvers.whitening import solve_whitened

_MOST_PASSES = 8
_MOST_ROUNDS = 20
_LARGEST = 3 * 10**8


@dataclass(frozen=True)
class SelectionResult:
    """Features that differ.

    Attributes
    ----------
    selected : bool array of shape (n_features,)
        Which features.
    table : DataFrame with one row per feature
        ``feature``, ``selected``, ``share`` (of the divergence along the best direction of the selected
        features), ``score``, ``pvalue`` (adjusted), ``round`` (when it was found, 0 = not) and ``reason``.
    complement_pvalue : float
        Permutation p-value of the features not selected. Descriptive: the same rows were used to choose.
    control : str
        What is controlled, in words.
    """

    selected: NDArray[np.bool_]
    table: pd.DataFrame
    complement_pvalue: float
    control: str


def select_features(
    X: ArrayLike,
    y: ArrayLike,
    *,
    goal: str = "all",
    scale: Scale = "pooled",
    divergence: str | Divergence | Callable = "wasserstein2",
    alpha: float = 0.05,
    n_shuffles: int = 199,
    n_rounds: int = 3,
    n_permutations: int = 99,
    random_state: Any = None,
    n_jobs: int | None = None,
    progress: bool = False,
) -> SelectionResult:
    """Find the features in which the groups differ.

    Parameters
    ----------
    X : array, DataFrame or scipy.sparse matrix of shape (n_rows, n_features)
        Rows of all groups.
    y : array of shape (n_rows,)
        Group of each row.
    goal : {"all", "minimal"}, default="all"
        "all": every feature that takes part, near-duplicates and suppressors included, with the
        family-wise error controlled. "minimal": a small set without which the groups can no longer be
        told apart.
    scale : {"pooled", None}, default="pooled"
        Scaling of the features for "minimal"; "all" compares features on their pooled scale.
    divergence : str, Divergence or callable, default="wasserstein2"
        What "different" means for two columns of numbers, see `princdiff.divergences.available`.
    alpha : float, default=0.05
        Level.
    n_shuffles : int, default=199
        Joint shuffles behind every p-value of "all".
    n_rounds : int, default=3
        Directions looked for in succession.
    n_permutations : int, default=99
        Relabellings of the test of the complement.
    random_state : int, RandomState or None
        Seed.
    n_jobs : int, optional
        Threads.
    progress : bool, default=False
        Show a progress bar.

    Returns
    -------
    SelectionResult

    Notes
    -----
    Error control of "all": under the hypothesis that the unselected features are jointly independent of the
    labels and of the selected ones, the chance of any false selection is at most ``alpha`` (half of it for
    credit, half for suppressors). Features that depend on each other stay so in the null distribution.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 10))
    >>> X[150:, 4] += 1
    >>> result = select_features(X, np.repeat([0, 1], 150), random_state=0)
    >>> np.flatnonzero(result.selected)
    array([4])
    """
    validate.check_choice("goal", goal, ("all", "minimal"))
    validate.check_choice("scale", scale, (None, "pooled"))
    for name, value in (
        ("n_shuffles", n_shuffles),
        ("n_rounds", n_rounds),
        ("n_permutations", n_permutations),
    ):
        validate.check_positive(name, value, whole=True)
    if not 0 < alpha < 1:
        raise ValueError(f"alpha must be between 0 and 1, got {alpha!r}")
    if goal == "all" and 1 / (n_shuffles + 1) > alpha / 2:
        raise ValueError(
            f"n_shuffles={n_shuffles} cannot give an adjusted p-value below {alpha / 2:g}; "
            f"use at least {int(np.ceil(2 / alpha)) - 1}"
        )
    checker = BaseEstimator()
    rows = validate.check_rows(checker, X, reset=True)
    names = getattr(checker, "feature_names_in_", None)
    names = np.array([f"x{j}" for j in range(rows.shape[1])]) if names is None else np.asarray(names)
    classes, codes = validate.check_groups(y, rows.shape[0])
    labels = Labels(codes, len(classes))
    compared = get(divergence)
    rng = validate.generator(random_state)
    bar = tqdm(desc="selection", disable=None if progress else True, leave=False)
    with bar:
        if goal == "all":
            finder = _CompleteSelection(rows, labels, compared, alpha, n_shuffles, n_rounds, rng, n_jobs, bar)
            table = finder.run(names)
            rest = np.flatnonzero(~table["selected"].to_numpy())
            test = _test(rows, codes, rest, "pooled", compared, n_permutations, rng, n_jobs)
            control = f"family-wise error at most {alpha:g} over all {rows.shape[1]} features"
        else:
            table, test = _minimal(
                rows, labels, codes, names, scale, compared, alpha, n_permutations, rng, n_jobs, bar
            )
            control = f"features are taken out until the rest does not differ at level {alpha:g}"
        selected = table["selected"].to_numpy()
        table["share"] = _shares(rows, labels, compared, selected, rng, n_jobs)
        complement = 1.0 if test is None else test.pvalue
    columns = ["feature", "selected", "share", "score", "pvalue", "round", "reason"]
    return SelectionResult(selected, table[columns], complement, control)


class _CompleteSelection:
    """Rounds of credit, then suppressors, until nothing new is found."""

    def __init__(
        self,
        rows: Any,
        labels: Labels,
        divergence: Divergence,
        alpha: float,
        n_shuffles: int,
        n_rounds: int,
        rng: np.random.Generator,
        n_jobs: int | None,
        bar: tqdm,
    ) -> None:
        self._values, self._varying = _standardised(rows)
        self._labels, self._divergence = labels, divergence
        self._alpha, self._n_shuffles, self._n_rounds = alpha / 2, n_shuffles, n_rounds
        self._rng, self._n_jobs, self._bar = rng, n_jobs, bar
        n_features = self._values.shape[1]
        self._scores, self._pvalues = np.zeros(n_features), np.ones(n_features)
        self._round = np.zeros(n_features, dtype=int)
        self._reason = np.full(n_features, "", dtype=object)

    def run(self, names: NDArray) -> pd.DataFrame:
        folds = fit_folds(
            self._values, self._labels, self._divergence, self._rng, 5, self._n_rounds, self._n_jobs
        )
        observed = credit_scores(self._values, folds, self._divergence)
        number = 1
        for _ in range(_MOST_PASSES):
            if not self._credit_pass(folds, observed, number):
                break
            number += 1
        while self._round.any() and self._suppressor_pass(names, number) and number < _MOST_ROUNDS:
            number += 1
        return pd.DataFrame(
            {
                "feature": names,
                "selected": self._round > 0,
                "score": self._scores,
                "pvalue": self._pvalues,
                "round": self._round,
                "reason": self._reason,
            }
        )

    def _seeds(self) -> NDArray[np.int64]:
        self._bar.update()
        return self._rng.integers(2**31, size=self._n_shuffles)

    def _open(self) -> NDArray[np.intp]:
        return np.flatnonzero((self._round == 0) & self._varying)

    def _credit_pass(self, folds: list, observed: NDArray, number: int) -> bool:
        """One step down: what was found no longer takes part in the shuffles."""
        features = self._open()
        if len(features) == 0:
            return False
        seeds = self._seeds()
        shuffled = shuffled_scores(self._values, features, folds, self._divergence, seeds, self._n_jobs)
        # A feature's own divergence is one more score: weak features of another kind than the leading ones
        # (0/1 beside continuous) have little credit along any direction.
        alone = self._single_features(features, [shuffled_order(folds, seed) for seed in seeds])
        scores, pvalues = family_wise_pvalues(
            np.concatenate([observed[:, features], alone[:1]]),
            np.concatenate([shuffled, alone[1:, None, :].astype(np.float32)], axis=1),
        )
        found = pvalues <= self._alpha
        self._scores[features] = scores
        # Half of the error is kept for suppressors, hence the factor two.
        self._pvalues[features] = np.minimum(1.0, 2 * pvalues)
        self._round[features[found]] = number
        self._reason[features[found]] = "differs along the directions found"
        return bool(found.any())

    def _single_features(self, features: NDArray[np.intp], orders: list[NDArray[np.intp]]) -> NDArray:
        """Root divergence of each feature, observed and under the shuffles, (n_shuffles + 1, n_features)."""
        codes = self._labels.codes[0]
        # To shuffle the rows of the features is to shuffle the labels the other way.
        permuted = np.array([codes, *(codes[np.argsort(order)] for order in orders)])
        labels = Labels(permuted, self._labels.n_groups)
        samples = Samples(self._values[:, features])
        values = marginal_divergences(samples, labels, self._divergence, self._n_jobs)
        return np.sqrt(np.maximum(values, 0.0))

    def _suppressor_pass(self, names: NDArray, number: int) -> bool:
        features = self._open()
        chosen = np.flatnonzero(self._round > 0)
        targets = self._differing(chosen)
        if len(features) == 0 or len(targets) == 0:
            return False
        values = np.ascontiguousarray(self._values.T)
        candidates = values[features]
        gains = suppression_gains(values[targets], candidates, self._labels, self._divergence)
        null = shuffled_gains(
            values[targets], candidates, self._labels, self._divergence, self._seeds(), self._n_jobs
        )
        pvalues = (1 + (null[:, None] >= gains.max(axis=0)[None]).sum(axis=0)) / (1 + len(null))
        self._pvalues[features] = np.minimum(self._pvalues[features], np.minimum(1.0, 2 * pvalues))
        found = np.flatnonzero(pvalues <= self._alpha)
        for position in found:
            target = names[targets[gains[:, position].argmax()]]
            self._round[features[position]] = number
            self._reason[features[position]] = f"hides a difference of {target}"
        return len(found) > 0

    def _differing(self, chosen: NDArray[np.intp]) -> NDArray[np.intp]:
        """Selected features that differ by themselves, the most different first."""
        samples = Samples(self._values[:, chosen])
        codes = self._labels.codes[0]
        permuted = np.array([codes, *(self._rng.permutation(codes) for _ in range(self._n_shuffles))])
        values = marginal_divergences(
            samples, Labels(permuted, self._labels.n_groups), self._divergence, self._n_jobs
        )
        reached = (values[1:].max(axis=1)[:, None] >= values[0][None]).sum(axis=0)
        significant = (1 + reached) / (1 + self._n_shuffles) <= self._alpha
        order = np.argsort(-values[0], kind="stable")
        return chosen[order[significant[order]]][:MOST_TARGETS]


def _standardised(rows: Any) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    """Features with mean zero and unit variance over all rows, shape (n_rows, n_features)."""
    if rows.shape[0] * rows.shape[1] > _LARGEST:
        raise ValueError(
            f"{rows.shape[0]} x {rows.shape[1]} values are too many for goal='all', which shuffles them as a "
            "dense array; choose the features to look at first, or a sample of the rows"
        )
    samples = Samples(rows.tocsc() if sp.issparse(rows) else rows, "pooled")
    values = samples.feature_columns(np.arange(rows.shape[1])).T
    return np.ascontiguousarray(values), samples.varying


def _shares(
    rows: Any,
    labels: Labels,
    divergence: Divergence,
    selected: NDArray[np.bool_],
    rng: np.random.Generator,
    n_jobs: int | None,
) -> NDArray[np.float64]:
    """Shares of the selected features in the divergence along their best direction."""
    shares = np.zeros(rows.shape[1])
    features = np.flatnonzero(selected)
    if divergence.degree == 0:
        shares[features] = np.nan
    elif len(features):
        samples = Samples(rows[:, features], "pooled")
        options: dict[str, Any] = {"effort": "fast", "rng": rng, "n_jobs": n_jobs}
        shares[features] = solve(samples, labels, divergence, level=len(features), **options).shares
    return shares


def _test(
    rows: Any,
    codes: NDArray[np.uint8],
    features: NDArray[np.intp],
    scale: Scale,
    divergence: Divergence,
    n_permutations: int,
    rng: np.random.Generator,
    n_jobs: int | None,
) -> PermutationResult | None:
    """Test of the difference in some of the features; None where there is none left."""
    if len(features) == 0:
        return None
    return permutation_test(
        rows[:, features],
        codes,
        n_permutations=n_permutations,
        divergence=divergence,
        scale=scale,
        random_state=int(rng.integers(2**31)),
        n_jobs=n_jobs,
    )


def _minimal(
    rows: Any,
    labels: Labels,
    codes: NDArray[np.uint8],
    names: NDArray,
    scale: Scale,
    divergence: Divergence,
    alpha: float,
    n_permutations: int,
    rng: np.random.Generator,
    n_jobs: int | None,
    bar: tqdm,
) -> tuple[pd.DataFrame, PermutationResult | None]:
    """Take out the features of the level that stands out most, test the rest, go on.

    Also the last test: that of the features left.
    """
    n_features = rows.shape[1]
    score, pvalue = np.zeros(n_features), np.ones(n_features)
    found_in = np.zeros(n_features, dtype=int)
    number = 0
    while True:
        bar.update()
        number += 1
        rest = np.flatnonzero(found_in == 0)
        test = _test(rows, codes, rest, scale, divergence, n_permutations, rng, n_jobs)
        if test is None:
            break
        pvalue[rest] = test.pvalue
        if test.pvalue > alpha or number > _MOST_ROUNDS:
            break
        direction = _leading_direction(Samples(rows[:, rest], scale), labels, divergence, test, rng, n_jobs)
        chosen = rest[direction != 0]
        score[chosen] = np.abs(direction[direction != 0])
        found_in[chosen] = number
    reason = np.where(found_in > 0, "needed to tell the groups apart", "")
    table = pd.DataFrame(
        {
            "feature": names,
            "selected": found_in > 0,
            "score": score,
            "pvalue": pvalue,
            "round": found_in,
            "reason": reason,
        }
    )
    return table, test


def _leading_direction(
    samples: Samples,
    labels: Labels,
    divergence: Divergence,
    test: PermutationResult,
    rng: np.random.Generator,
    n_jobs: int | None,
) -> NDArray[np.float64]:
    """The direction that stands out most among those with few features, (n_features,)."""
    n_features = samples.n_features
    scores = standardised(test.values)[0]
    directions = np.array([metric in ("euclidean", "whitened", SINGLE[0]) for metric, _ in test.levels])
    sparse = directions & np.array([level < n_features for _, level in test.levels])
    # A set of all features would be no answer while a smaller one is significant by itself.
    clear = sparse & (test.level_pvalues <= test.pvalue)
    usable = clear if clear.any() else sparse if sparse.any() else directions
    metric, level = test.levels[int(np.where(usable, scores, -np.inf).argmax())]
    if (metric, level) == SINGLE:
        return np.eye(n_features)[test.leading_feature]
    if metric == "whitened":
        found = solve_whitened(samples, labels, divergence, level=level, rng=rng, n_jobs=n_jobs)
    else:
        found = solve(samples, labels, divergence, level=level, rng=rng, n_jobs=n_jobs)
    return found.direction
