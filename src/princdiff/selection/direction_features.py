"""Features that take part in the directions that tell groups apart, whether or not they differ themselves.

Credit along directions fitted on other rows, and suppressors: features without which others differ less. The
null hypothesis is stronger than that of the other tests: features not selected are jointly independent of
the labels *and of the selected ones*. A feature that goes with one that differs, and does not differ itself,
makes the difference of the other clearer: it takes part, and is selected.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from princdiff.data.labels import Labels
from princdiff.data.problem import Problem, Run
from princdiff.data.samples import Samples
from princdiff.divergences import Divergence
from princdiff.labellings.pvalues import permutation_pvalue, step_down_pvalues
from princdiff.selection.held_out_scores import (
    Fold,
    credit_scores,
    family_wise_pvalues,
    fit_folds,
    shuffled_order,
    shuffled_scores,
)
from princdiff.selection.suppressors import MOST_TARGETS, shuffled_gains, suppression_gains
from princdiff.solvers.starts import marginal_divergences
from princdiff.statistics.tuning import N_FOLDS

_N_ROUNDS = 3
_MOST_PASSES = 8
_MOST_SUPPRESSOR_PASSES = 12
_LARGEST = 3 * 10**8


class DirectionFeatures:
    """Looks for features that take part in sparse directions.

    Parameters
    ----------
    problem : Problem
        Rows in memory, without weights, blocks and covariates.
    run : Run
        Seed and threads.
    known : bool array of shape (n_features,)
        Features already selected; they are not shuffled.
    alpha : float
        Level, half of it for credit, half for suppressors.
    n_shuffles : int
        Joint shuffles behind every p-value.

    Attributes
    ----------
    adjusted : array of shape (n_features,)
        Family-wise p-values; 1 for features that were known before.
    partner : int array of shape (n_features,)
        The feature whose difference a suppressor hides; -1 for none.
    """

    def __init__(
        self, problem: Problem, run: Run, known: NDArray[np.bool_], alpha: float, n_shuffles: int
    ) -> None:
        self._values, self._varying = _standardised(problem.rows)
        self._labels: Labels = problem.labels
        self._divergence: Divergence = problem.divergence
        self._alpha, self._n_shuffles, self._n_jobs = alpha / 2, n_shuffles, run.n_jobs
        self._rng = run.rng("directions")
        self._found = known.copy()
        self.adjusted = np.ones(len(known))
        self.partner = np.full(len(known), -1)
        self._look()

    def _look(self) -> None:
        """Rounds of credit, then suppressors, until nothing new is found."""
        folds = fit_folds(
            self._values, self._labels, self._divergence, self._rng, N_FOLDS, _N_ROUNDS, self._n_jobs
        )
        observed = credit_scores(self._values, folds, self._divergence)
        for _ in range(_MOST_PASSES):
            if not self._credit_pass(folds, observed):
                break
        for _ in range(_MOST_SUPPRESSOR_PASSES):
            if not self._found.any() or not self._suppressor_pass():
                break

    def _seeds(self) -> NDArray[np.int64]:
        return self._rng.integers(2**31, size=self._n_shuffles)

    def _open(self) -> NDArray[np.intp]:
        return np.flatnonzero(~self._found & self._varying)

    def _credit_pass(self, folds: list[Fold], observed: NDArray) -> bool:
        """One step down: what was found no longer takes part in the shuffles."""
        features = self._open()
        if len(features) == 0:
            return False
        seeds = self._seeds()
        shuffled = shuffled_scores(self._values, features, folds, self._divergence, seeds, self._n_jobs)
        alone = self._single_features(features, [shuffled_order(folds, seed) for seed in seeds])
        pvalues = family_wise_pvalues(
            np.concatenate([observed[:, features], alone[:1]]),
            np.concatenate([shuffled, alone[1:, None, :].astype(np.float32)], axis=1),
        )
        return self._take(features, pvalues)

    def _take(self, features: NDArray[np.intp], pvalues: NDArray[np.float64]) -> bool:
        # Half of the error is for credit, half for suppressors, hence the factor two.
        self.adjusted[features] = np.minimum(self.adjusted[features], np.minimum(1.0, 2 * pvalues))
        found = pvalues <= self._alpha
        self._found[features[found]] = True
        return bool(found.any())

    def _single_features(self, features: NDArray[np.intp], orders: list[NDArray[np.intp]]) -> NDArray:
        """Root divergence of each feature, observed and under the shuffles, (n_shuffles + 1, n_features)."""
        codes = self._labels.codes[0]
        # To shuffle the rows of the features is to shuffle the labels the other way.
        permuted = np.array([codes, *(codes[np.argsort(order)] for order in orders)])
        labels = Labels(permuted, self._labels.n_groups)
        values = marginal_divergences(
            Samples(self._values[:, features]), labels, self._divergence, self._n_jobs
        )
        return np.sqrt(np.maximum(values, 0.0))

    def _suppressor_pass(self) -> bool:
        features = self._open()
        targets = self._differing(np.flatnonzero(self._found))
        if len(features) == 0 or len(targets) == 0:
            return False
        values = np.ascontiguousarray(self._values.T)
        candidates = values[features]
        gains = suppression_gains(values[targets], candidates, self._labels, self._divergence)
        null = shuffled_gains(
            values[targets], candidates, self._labels, self._divergence, self._seeds(), self._n_jobs
        )
        largest = gains.max(axis=0)
        pvalues = permutation_pvalue(
            np.concatenate([largest[None, :], np.broadcast_to(null[:, None], (len(null), len(largest)))])
        )
        self.partner[features] = np.where(pvalues <= self._alpha, targets[gains.argmax(axis=0)], -1)
        return self._take(features, pvalues)

    def _differing(self, chosen: NDArray[np.intp]) -> NDArray[np.intp]:
        """Selected features that differ on their own, the most different first."""
        orders = [self._rng.permutation(len(self._values)) for _ in range(self._n_shuffles)]
        values = self._single_features(chosen, orders)
        significant = step_down_pvalues(values) <= self._alpha
        order = np.argsort(-values[0], kind="stable")
        return chosen[order[significant[order]]][:MOST_TARGETS]


def _standardised(rows: Any) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    """Features with mean zero and unit variance over all rows, shape (n_rows, n_features)."""
    if rows.shape[0] * rows.shape[1] > _LARGEST:
        raise ValueError(
            f"{rows.shape[0]} x {rows.shape[1]} values are too many for goal='directions', which shuffles "
            "them as a dense array; choose the features to look at first, or a sample of the rows"
        )
    samples = Samples(rows.tocsc() if sp.issparse(rows) else rows, "pooled")
    values = samples.feature_columns(np.arange(rows.shape[1])).T
    return np.ascontiguousarray(values), samples.varying
