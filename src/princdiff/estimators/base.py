"""What PDA and SPARDA share: checking, scaling, finding directions one after another, projecting."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from princdiff.data import parameters, validate
from princdiff.data.labels import Labels
from princdiff.data.moments import inverse_or_zero
from princdiff.data.problem import Design, Problem, Run
from princdiff.data.row_chunks import times
from princdiff.divergences import Wasserstein2, get, report
from princdiff.parallel import single_threaded_blas
from princdiff.selection.ruling_flags import warn_of_ruling_flags
from princdiff.statistics.directions import Directions


class ProjectingEstimator(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """What scikit-learn asks about an estimator that projects rows on ``components_``."""

    components_: NDArray[np.float64]

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class PrincipalDifferences(Directions, ProjectingEstimator):
    """The common part of `PDA` and `SPARDA`."""

    random_state: Any
    n_jobs: int | None

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Find the direction, or directions, along which the groups differ most.

        Parameters
        ----------
        X : array, DataFrame or scipy.sparse matrix of shape (n_rows, n_features)
            Rows of all groups. A sparse matrix is not made dense. Memory maps, Dask arrays, backed AnnData
            and what `princdiff.open_rows` returns stay out of core unless they are small.
        y : array of shape (n_rows,)
            Group of each row: numbers or strings, two groups or more.
        sample_weight : array of shape (n_rows,), optional
            Non-negative row weights; a whole number acts like that many copies of the row.

        Returns
        -------
        self
        """
        self._check_parameters()
        problem = self._problem(X, y, sample_weight, estimator=self)
        with single_threaded_blas:
            self.fit_problem(problem, Run.from_options(self.random_state, self.n_jobs))
        self.classes_ = np.array(problem.classes, dtype=np.asarray(y).dtype)
        if isinstance(problem.divergence, Wasserstein2):
            warn_of_ruling_flags(problem, self.components_[0])
        return self

    def _problem(self, X: Any, y: Any, sample_weight: Any, estimator: BaseEstimator | None = None) -> Problem:
        return Problem.from_arrays(
            X,
            y,
            divergence=self.divergence,
            scale=self.scale,
            design=Design(sample_weight),
            estimator=estimator,
        )

    def component_pvalues(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        n_permutations: int = 99,
    ) -> NDArray[np.float64]:
        """P-value of each direction: whether what the earlier ones have left still differs.

        Parameters
        ----------
        X, y, sample_weight
            What was given to `fit`.
        n_permutations : int, default=99
            Permutations.

        Returns
        -------
        array of shape (n_components,)
            The first is a permutation test at the fitted sparsity; `princdiff.permutation_test` has more
            power. The others are descriptive: the earlier directions were found with the same labels.
        """
        check_is_fitted(self)
        parameters.check({"n_permutations": n_permutations})
        problem = self._problem(X, y, sample_weight)
        return self.problem_pvalues(problem, Run.from_options(self.random_state, self.n_jobs), n_permutations)

    def _check_parameters(self) -> None:
        """Refuse parameters that users gave."""
        parameters.check(self.get_params(deep=False), **self._rules)
        compared = get(self.divergence)
        if self.certify is True and not isinstance(compared, Wasserstein2):
            raise ValueError(
                f"certify=True: a bound exists for the squared Wasserstein distance only, not for "
                f"{compared.name}"
            )
        if self.metric == "whitened" and self.scale == "within":
            raise ValueError(
                'metric="whitened" measures directions over all rows; use scale="pooled" or None'
            )

    # Where the rule of a parameter is not that of `princdiff.data.parameters`.
    _rules: dict[str, Any] = {}

    def transform(self, X: ArrayLike, y: ArrayLike | None = None) -> NDArray:
        """Project rows on the direction found.

        Parameters
        ----------
        X : array, DataFrame or scipy.sparse matrix of shape (n_rows, n_features)
            Rows to project. They are divided by ``scale_``, but not centred.
        y : array of shape (n_rows,), optional
            Groups of the rows, for ``scale="within"``: rows are then centred and scaled by the moments of
            their own group, as in the fit.

        Returns
        -------
        array of shape (n_rows, n_components)
        """
        check_is_fitted(self)
        rows = validate.check_rows(self, X, reset=False, streams=True)
        if self.scale == "within" and y is not None:
            return self._transform_within(rows, y)
        factors = inverse_or_zero(self.scale_)
        return times(rows, (self.components_ * factors).T.astype(rows.dtype))

    def _transform_within(self, rows: NDArray | sp.csr_matrix, y: ArrayLike) -> NDArray:
        codes = self._known_codes(y, rows.shape[0])
        result = np.zeros((rows.shape[0], len(self.components_)), rows.dtype)
        for code in range(len(self.classes_)):
            weights = self.components_ * inverse_or_zero(self.group_deviations_[code])
            part = times(rows[codes == code], weights.T)
            result[codes == code] = part - weights @ self.group_means_[code]
        return result

    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Divergence of other rows along the first direction (held-out divergence).

        Also with ``metric="whitened"`` this is the plain divergence, not relative to the variance.

        Parameters
        ----------
        X : array, DataFrame or scipy.sparse matrix of shape (n_rows, n_features)
            Rows that were not used in `fit`.
        y : array of shape (n_rows,)
            Their groups; all groups of the fit must be among them.
        sample_weight : array of shape (n_rows,), optional
            Non-negative row weights.

        Returns
        -------
        float
        """
        projected = np.asarray(self.transform(X, y if self.scale == "within" else None))
        codes = self._known_codes(y, len(projected))
        present = np.unique(codes)
        if len(present) < len(self.classes_):
            lost = [str(name) for code, name in enumerate(self.classes_) if code not in present]
            raise ValueError(
                f"no row of group {', '.join(map(repr, lost))} in y: nothing to compare with; to "
                "cross-validate, use folds that have rows of every group, such as cv=StratifiedKFold(5)"
            )
        weights = validate.check_weights(sample_weight, projected, codes, self.classes_)
        labels = Labels(codes, len(self.classes_), weights=weights)
        column = np.ascontiguousarray(projected[:, 0], dtype=np.float64)
        return float(report(get(self.divergence), column[None] - column.mean(), labels)[0])

    def _known_codes(self, y: ArrayLike, n_rows: int) -> NDArray[np.uint8]:
        labels = np.asarray(y).ravel()
        if len(labels) != n_rows:
            raise ValueError(f"y has {len(labels)} labels but X has {n_rows} rows; they must agree")
        unknown = ~np.isin(labels, self.classes_)
        if unknown.any():
            raise ValueError(f"y has a group that was not in the fit: {str(labels[unknown][0])!r}")
        return np.searchsorted(self.classes_, labels).astype(np.uint8)
