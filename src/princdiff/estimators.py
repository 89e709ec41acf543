"""PDA and SPARDA as scikit-learn estimators."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from princdiff import checks
from princdiff.divergences import Wasserstein2
from princdiff.inference.tuning import SparsityPath, choose_level, choose_penalty
from princdiff.labels import Labels
from princdiff.rows.chunks import times
from princdiff.samples import Samples, Scale
from princdiff.solvers.certify import certify
from princdiff.solvers.growing import first_sample, one_sample, solve_growing
from princdiff.solvers.recipe import relax_and_tighten, relaxed_starts
from princdiff.solvers.search import EFFORTS
from princdiff.solvers.solve import Solution, solve
from princdiff.solvers.whitening import solve_whitened


class _PrincipalDifferences(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """What PDA and SPARDA share: checking, scaling, fitting, projecting."""

    scale: Scale
    metric: str
    max_iter: int
    tol: float
    effort: str
    subsample: int | str | None
    certify: bool | str
    random_state: Any
    n_jobs: int | None

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Find the direction along which the groups differ most.

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
        rows = checks.check_rows(self, X, reset=True, streams=True)
        self.classes_, codes = checks.check_groups(y, rows.shape[0])
        weights = checks.check_weights(sample_weight, rows, codes, self.classes_)
        if weights is not None and not weights.all():
            # A row without weight is a row that is not there.
            present = weights > 0
            rows, codes, weights = rows[present], codes[present], weights[present]
            weights = None if (weights == weights[0]).all() else weights
        samples = Samples(rows, self.scale, weights=weights)
        _refuse_overflow(samples)
        labels = Labels(codes, len(self.classes_), weights=weights)
        solution = self._solve(samples, labels, checks.generator(self.random_state))
        self._store(solution, samples, labels)
        return self

    def _check_parameters(self) -> None:
        checks.check_choice("scale", self.scale, (None, "pooled", "within"))
        checks.check_choice("metric", self.metric, ("euclidean", "whitened"))
        if self.metric == "whitened" and self.scale == "within":
            raise ValueError(
                'metric="whitened" measures directions over all rows; use scale="pooled" or None'
            )
        checks.check_choice("effort", self.effort, tuple(EFFORTS))
        checks.check_subsample(self.subsample)
        checks.check_choice("certify", self.certify, (True, False, "auto"))
        checks.check_positive("max_iter", self.max_iter, whole=True)
        checks.check_positive("tol", self.tol, whole=False)

    def _solve(self, samples: Samples, labels: Labels, rng: np.random.Generator) -> Solution:
        return self._search(samples, labels, rng, level=samples.n_features)

    def _search(
        self,
        samples: Samples,
        labels: Labels,
        rng: np.random.Generator,
        *,
        level: int,
        penalty: float = 0.0,
    ) -> Solution:
        options: dict[str, Any] = {
            "effort": self.effort,
            "max_iter": self.max_iter,
            "tol": self.tol,
            "rng": rng,
            "n_jobs": self.n_jobs,
        }
        if self.metric == "whitened":
            return solve_whitened(samples, labels, level=level, **options)
        first = first_sample(samples, self.subsample)
        if first is not None:
            options["first"] = first
            return solve_growing(samples, labels, Wasserstein2(), level=level, penalty=penalty, **options)
        starts = None
        if self.effort == "thorough" and len(self.classes_) == 2 and _relaxable(samples):
            starts = relaxed_starts(samples, labels, rng, count=8)
        return solve(
            samples, labels, Wasserstein2(), level=level, penalty=penalty, extra_starts=starts, **options
        )

    def _store(self, solution: Solution, samples: Samples, labels: Labels) -> None:
        self.components_ = solution.direction[None, :]
        self.divergences_ = np.array([solution.value])
        self.support_ = solution.direction != 0
        self.shares_ = _shares(solution)[None, :]
        self.n_iter_ = max(1, solution.n_iter)
        level = self._level(solution, samples)
        plain = self.metric == "euclidean"
        certificate = certify(samples, labels, level, solution.direction, self.certify if plain else False)
        self.certificates_ = [certificate]
        self.upper_bounds_ = np.array([np.nan if certificate is None else certificate.upper_bound])
        if self.scale == "within":
            self.group_means_, self.group_deviations_ = _group_moments(samples, labels)
        else:
            self.scale_ = np.ones(samples.n_features) if self.scale is None else samples.deviation

    def _level(self, solution: Solution, samples: Samples) -> int:
        """Features that a direction may have in the problem that was solved."""
        return samples.n_features

    def transform(self, X: ArrayLike, y: ArrayLike | None = None) -> NDArray:
        """Project rows on the direction found.

        Parameters
        ----------
        X : array, DataFrame or scipy.sparse matrix of shape (n_rows, n_features)
            Rows to project. They are scaled as the fitted rows were, but not centred.
        y : array of shape (n_rows,), optional
            Groups of the rows; needed for ``scale="within"`` only, which has a mean and a standard
            deviation for each group.

        Returns
        -------
        array of shape (n_rows, 1)
        """
        check_is_fitted(self)
        rows = checks.check_rows(self, X, reset=False, streams=True)
        if self.scale == "within":
            return self._transform_within(rows, y)
        factors = _inverse(self.scale_)
        return times(rows, (self.components_ * factors).T.astype(rows.dtype))

    def _transform_within(self, rows: NDArray | sp.csr_matrix, y: ArrayLike | None) -> NDArray:
        if y is None:
            raise ValueError(
                'scale="within" centres and scales each group by itself, so the labels are needed: '
                "call transform(X, y)"
            )
        codes = self._known_codes(y, rows.shape[0])
        result = np.zeros((rows.shape[0], len(self.components_)), rows.dtype)
        for code in range(len(self.classes_)):
            weights = self.components_ * _inverse(self.group_deviations_[code])
            part = times(rows[codes == code], weights.T)
            result[codes == code] = part - weights @ self.group_means_[code]
        return result

    def fit_transform(self, X: ArrayLike, y: ArrayLike | None = None, **fit_params: Any) -> NDArray:
        """Fit, then project the same rows; the labels serve both."""
        fitted = self.fit(X, y, **fit_params)  # type: ignore[arg-type]
        return fitted.transform(X, y if self.scale == "within" else None)

    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Divergence of other rows along the fitted direction (held-out divergence).

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
            raise ValueError(f"no row of group {', '.join(map(repr, lost))} in y: nothing to compare with")
        weights = checks.check_weights(sample_weight, projected, codes, self.classes_)
        labels = Labels(codes, len(self.classes_), weights=weights)
        column = np.ascontiguousarray(projected[:, 0], dtype=np.float64)
        return float(Wasserstein2().value(column[None] - column.mean(), labels)[0])

    def _known_codes(self, y: ArrayLike, n_rows: int) -> NDArray[np.uint8]:
        labels = np.asarray(y).ravel()
        if len(labels) != n_rows:
            raise ValueError(f"y has {len(labels)} labels but X has {n_rows} rows; they must agree")
        unknown = ~np.isin(labels, self.classes_)
        if unknown.any():
            raise ValueError(f"y has a group that was not in the fit: {str(labels[unknown][0])!r}")
        return np.searchsorted(self.classes_, labels).astype(np.uint8)

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class PDA(_PrincipalDifferences):
    """Principal differences analysis: the direction on which the groups are furthest apart.

    Maximises the squared 2-Wasserstein distance between the projected groups over all unit directions.

    Parameters
    ----------
    scale : {None, "pooled", "within"}, default=None
        None: features as measured. "pooled": divided by their standard deviation over all rows.
        "within": mean zero and unit variance inside each group, so that only relationships between
        features can differ.
    metric : {"euclidean", "whitened"}, default="euclidean"
        "euclidean": the divergence along unit directions, as in the paper. "whitened": relative to the
        (shrunk) variance of all rows along the direction, an extension that sees differences in directions
        of small variance.
    max_iter : int, default=500
        Iterations of the final ascent at most.
    tol : float, default=1e-9
        Relative gain below which the final ascent counts a step as none.
    effort : {"fast", "default", "thorough"}, default="default"
        How hard to search for the global optimum.
    subsample : int, "auto" or None, default="auto"
        Rows on which to search when there are many; growing samples and at last all rows settle what was
        found. "auto": ten rows per feature, between 10 000 and 50 000, if there are at least five times as
        many. None: search all rows.
    certify : {"auto", True, False}, default="auto"
        Compute an upper bound on what any direction could reach (two groups, ``metric="euclidean"``).
        "auto": where that costs no more than the fit.
    random_state : int, RandomState or None, default=None
        Seed of the random starts.
    n_jobs : int or None, default=None
        Threads. The result does not depend on it.

    Attributes
    ----------
    components_ : array of shape (1, n_features)
        Unit direction in the scaled space; the first non-zero weight is positive.
    divergences_ : array of shape (1,)
        Squared Wasserstein distance along it.
    upper_bounds_ : array of shape (1,)
        No unit direction with as many features has a larger divergence; NaN where not computed. The fit is
        at most a share 1 - divergence / upper bound below the global optimum.
    certificates_ : list of Certificate or None
        Where the bounds come from, in words, and whether they are proven.
    shares_ : array of shape (1, n_features)
        Share of each feature in the divergence; a row sums to 1.
    support_ : bool array of shape (n_features,)
        Features with a weight.
    classes_ : array of shape (n_groups,)
        The groups.
    n_iter_ : int
        Evaluations made in the search.
    n_features_in_, feature_names_in_
        What was seen in `fit`.

    See Also
    --------
    SPARDA : The same with few features.

    Examples
    --------
    >>> import numpy as np
    >>> from princdiff import PDA
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 3))
    >>> X[100:, 1] *= 3
    >>> pda = PDA(random_state=0).fit(X, np.repeat(["a", "b"], 100))
    >>> int(np.abs(pda.components_[0]).argmax())
    1
    """

    def __init__(
        self,
        *,
        scale: Scale = None,
        metric: str = "euclidean",
        max_iter: int = 500,
        tol: float = 1e-9,
        effort: str = "default",
        subsample: int | str | None = "auto",
        certify: bool | str = "auto",
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.scale = scale
        self.metric = metric
        self.max_iter = max_iter
        self.tol = tol
        self.effort = effort
        self.subsample = subsample
        self.certify = certify
        self.random_state = random_state
        self.n_jobs = n_jobs


class SPARDA(_PrincipalDifferences):
    """Sparse principal differences analysis: a direction with few features, which names them.

    Parameters
    ----------
    n_features : int, "auto" or None, default=None
        At most so many features get a weight. "auto", or neither this nor ``penalty`` given: the number
        with the largest held-out divergence.
    penalty : float, "auto" or None, default=None
        Instead of a number of features: maximise divergence - penalty * (sum of absolute weights) ** 2
        over unit directions.
    one_standard_error : bool, default=False
        For "auto": the sparsest choice within one standard error of the best.
    recipe : {"portfolio", "paper"}, default="portfolio"
        "paper": the paper's pipeline as printed (RELAX at ``penalty``, then tightening from its leading
        eigenvector at that sparsity) instead of our search; two groups.
    scale : {None, "pooled", "within"}, default=None
        None: features as measured. "pooled": divided by their standard deviation over all rows.
        "within": mean zero and unit variance inside each group.
    metric : {"euclidean", "whitened"}, default="euclidean"
        As in `PDA`; "whitened" goes with ``n_features``, not with ``penalty``.
    max_iter : int, default=500
        Iterations of the final ascent at most.
    tol : float, default=1e-9
        Relative gain below which the final ascent counts a step as none.
    effort : {"fast", "default", "thorough"}, default="default"
        How hard to search for the global optimum.
    subsample : int, "auto" or None, default="auto"
        Rows on which to search when there are many; growing samples and at last all rows settle what was
        found. "auto": ten rows per feature, between 10 000 and 50 000, if there are at least five times as
        many. None: search all rows.
    certify : {"auto", True, False}, default="auto"
        Compute an upper bound on what any direction could reach (two groups, ``metric="euclidean"``).
        "auto": where that costs no more than the fit.
    random_state : int, RandomState or None, default=None
        Seed of the random starts and of the folds.
    n_jobs : int or None, default=None
        Threads. The result does not depend on it.

    Attributes
    ----------
    components_, divergences_, upper_bounds_, certificates_, shares_, support_, classes_, n_iter_
        As in `PDA`.
    path_ : SparsityPath
        For "auto": the held-out divergence along the path, and what was chosen.

    See Also
    --------
    PDA : Without the restriction to few features.

    Examples
    --------
    >>> import numpy as np
    >>> from princdiff import SPARDA
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 20))
    >>> X[100:, 7] += 2
    >>> sparda = SPARDA(n_features=1).fit(X, np.repeat([0, 1], 100))
    >>> np.flatnonzero(sparda.support_)
    array([7])
    """

    path_: SparsityPath

    def __init__(
        self,
        n_features: int | str | None = None,
        *,
        penalty: float | str | None = None,
        one_standard_error: bool = False,
        recipe: str = "portfolio",
        scale: Scale = None,
        metric: str = "euclidean",
        max_iter: int = 500,
        tol: float = 1e-9,
        effort: str = "default",
        subsample: int | str | None = "auto",
        certify: bool | str = "auto",
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_features = n_features
        self.penalty = penalty
        self.one_standard_error = one_standard_error
        self.recipe = recipe
        self.scale = scale
        self.metric = metric
        self.max_iter = max_iter
        self.tol = tol
        self.effort = effort
        self.subsample = subsample
        self.certify = certify
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.n_features is not None and self.penalty is not None:
            raise ValueError(
                f"give n_features or penalty, not both (got {self.n_features!r} and {self.penalty!r})"
            )
        checks.check_choice("recipe", self.recipe, ("portfolio", "paper"))
        if self.recipe == "paper" and self.penalty is None:
            raise ValueError('recipe="paper" starts from a penalty: give penalty=')
        if self.penalty is not None and self.metric == "whitened":
            raise ValueError('metric="whitened" goes with n_features, not with penalty')

    def _solve(self, samples: Samples, labels: Labels, rng: np.random.Generator) -> Solution:
        # A path of an earlier fit would be taken for this one's.
        self.__dict__.pop("path_", None)
        if self.penalty is not None:
            return self._solve_penalised(samples, labels, rng)
        if self.n_features is None or self.n_features == "auto":
            self.path_ = choose_level(
                *self._tuning_rows(samples, labels, rng),
                Wasserstein2(),
                rng,
                one_standard_error=self.one_standard_error,
                n_jobs=self.n_jobs,
            )
            self._chosen = int(self.path_.chosen)
        else:
            self._chosen = checks.check_level(self.n_features, samples.n_features)
        return self._search(samples, labels, rng, level=self._chosen)

    def _tuning_rows(
        self, samples: Samples, labels: Labels, rng: np.random.Generator
    ) -> tuple[Samples, Labels]:
        """Rows on which to choose the sparsity: a sample, where there are many."""
        first = first_sample(samples, self.subsample)
        return (samples, labels) if first is None else one_sample(samples, labels, first, rng)

    def _level(self, solution: Solution, samples: Samples) -> int:
        # A penalised solution is compared with directions of as many features.
        return max(1, int(np.count_nonzero(solution.direction))) if self.penalty is not None else self._chosen

    def _solve_penalised(self, samples: Samples, labels: Labels, rng: np.random.Generator) -> Solution:
        if self.penalty == "auto":
            self.path_ = choose_penalty(
                *self._tuning_rows(samples, labels, rng),
                Wasserstein2(),
                rng,
                one_standard_error=self.one_standard_error,
                n_jobs=self.n_jobs,
            )
            penalty = self.path_.chosen
        else:
            penalty = checks.check_penalty(self.penalty)
        if self.recipe == "paper":
            return relax_and_tighten(samples, labels, penalty, rng, max_iter=self.max_iter, tol=self.tol)
        return self._search(samples, labels, rng, level=samples.n_features, penalty=penalty)


def _relaxable(samples: Samples) -> bool:
    """Whether the relaxation is small enough to help a thorough search."""
    return samples.n_rows <= 2000 and samples.n_features <= 500


def _refuse_overflow(samples: Samples) -> None:
    with np.errstate(over="ignore", under="ignore"):
        square = np.square(samples.unit)
        representable = square > 0.0 and np.isfinite(square * samples.n_rows)
    if not representable:
        raise ValueError(
            f"the largest standard deviation of a feature is {samples.unit:.3g}: its square cannot be "
            'represented; rescale the data or use scale="pooled"'
        )


def _shares(solution: Solution) -> NDArray[np.float64]:
    """Share of each feature, b_j g_j / (b . g); all zero where nothing differs."""
    parts = solution.direction * solution.gradient
    total = parts.sum()
    return parts / total if total > 0 else np.zeros_like(parts)


def _inverse(deviation: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.divide(1.0, deviation, out=np.zeros_like(deviation), where=deviation > 0)


def _group_moments(samples: Samples, labels: Labels) -> tuple[NDArray, NDArray]:
    """Means and standard deviations of the groups as measured, shape (n_groups, n_features)."""
    means, deviations = [], []
    for code in range(labels.n_groups):
        members = labels.codes[0] == code
        weights = None if labels.weights is None else labels.weights[members]
        group = Samples(samples.rows[members], weights=weights, dtype=np.float64)
        means.append(group.centre)
        deviations.append(group.deviation)
    return np.array(means), np.array(deviations)
