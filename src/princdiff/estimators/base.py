"""What PDA and SPARDA share: checking, scaling, finding directions one after another, projecting."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from princdiff.caught_warnings import warn_user
from princdiff.data import parameters, validate
from princdiff.data.labels import Labels
from princdiff.data.moments import inverse_or_zero
from princdiff.data.problem import Design, Problem, Run
from princdiff.data.row_chunks import times
from princdiff.data.samples import Samples, Scale
from princdiff.deadline import OutOfTime, time_is_up, undivided
from princdiff.divergences import Divergence, Wasserstein2, get, report
from princdiff.parallel import single_threaded_blas
from princdiff.relaxation.certificate import certify, not_below
from princdiff.relaxation.upper_bound import Certificate
from princdiff.selection.ruling_flags import warn_of_ruling_flags
from princdiff.solvers.effort import SearchSettings
from princdiff.solvers.growing_samples import first_sample, solve_growing
from princdiff.solvers.relax_and_tighten import relaxed_starts
from princdiff.solvers.several_directions import Apart, constraints, is_spread, next_direction, remainder
from princdiff.solvers.solve import Solution, solve
from princdiff.solvers.whitening import solve_whitened
from princdiff.statistics.number_of_directions import remainder_pvalue

# "auto" looks for this many directions at most, and stops at the first that is not significant.
_MOST_COMPONENTS = 10
_LEVEL = 0.05


@dataclass(frozen=True)
class Allowed:
    """What a direction may have: this many features, or any number at a penalty."""

    level: int
    penalty: float = 0.0


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


class PrincipalDifferences(ProjectingEstimator):
    """The common part of `PDA` and `SPARDA`."""

    n_components: int | str
    divergence: str | Divergence | Callable
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
        self.classes_ = np.array(problem.classes, dtype=np.asarray(y).dtype)
        self._fit_problem(problem, Run.from_options(self.random_state, self.n_jobs))
        if isinstance(problem.divergence, Wasserstein2):
            warn_of_ruling_flags(problem, self.components_[0])
        return self

    def fit_problem(self, problem: Problem, run: Run) -> Self:
        """As `fit`, for a problem that has been checked and has this estimator's divergence and scale.

        Parameters
        ----------
        problem : Problem
            Rows and groups.
        run : Run
            Seed and threads, instead of ``random_state`` and ``n_jobs``.

        Returns
        -------
        self
        """
        self._check_parameters()
        self.n_features_in_, self.classes_ = problem.n_features, np.array(problem.classes)
        return self._fit_problem(problem, run)

    def _problem(self, X: Any, y: Any, sample_weight: Any, estimator: BaseEstimator | None = None) -> Problem:
        return Problem.from_arrays(
            X,
            y,
            divergence=self.divergence,
            scale=self.scale,
            design=Design(sample_weight),
            estimator=estimator,
        )

    @single_threaded_blas
    def _fit_problem(self, problem: Problem, run: Run) -> Self:
        # What a former fit had and this one may lack.
        for name in ("component_pvalues_", "path_", "group_means_", "group_deviations_"):
            self.__dict__.pop(name, None)
        problem = problem.ordered
        solutions, certificates = self._find(problem, run)
        self._store(problem, solutions, certificates)
        return self

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
            Relabellings.

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

    def problem_pvalues(self, problem: Problem, run: Run, n_permutations: int = 99) -> NDArray[np.float64]:
        """As `component_pvalues`, for the problem of the fit."""
        problem = problem.ordered
        pvalues = []
        for number, direction in enumerate(self.components_):
            rest = self._rest(problem, self.components_[:number]) if number else problem.samples
            level = np.count_nonzero(direction) if self.support_.sum() < len(direction) else len(direction)
            pvalues.append(
                remainder_pvalue(
                    rest,
                    problem.labels,
                    problem.divergence,
                    int(level),
                    run.seed_for(),
                    n_permutations=n_permutations,
                    n_jobs=run.n_jobs,
                )
            )
        return np.array(pvalues)

    def _find(self, problem: Problem, run: Run) -> tuple[list[Solution], list[Certificate | None]]:
        """The directions one after another, as many as asked for or as are significant."""
        samples, labels, rng = problem.samples, problem.labels, run.rng()
        automatic = self.n_components == "auto"
        wanted = samples.n_features if automatic else int(self.n_components)
        if wanted > samples.n_features:
            raise ValueError(
                f"n_components={wanted} directions cannot be orthogonal with {samples.n_features} features"
            )
        wanted = min(wanted, _MOST_COMPONENTS) if automatic else wanted
        seed = int(rng.integers(2**31)) if automatic else 0

        def pvalue(rest: Samples, level: int) -> float:
            try:
                with undivided():
                    return remainder_pvalue(rest, labels, problem.divergence, level, seed, n_jobs=run.n_jobs)
            except OutOfTime:
                # What could not be shown in time is not claimed.
                return 1.0

        allowed = self._allowed(problem, run, rng)
        first = self._first(problem, run, rng, allowed)
        level = self._level(first, allowed)
        solutions, pvalues = [first], []
        certificates = [self._certify(problem, samples, level, first)]
        if automatic:
            pvalues.append(pvalue(samples, level))
        while len(solutions) < wanted and not (automatic and pvalues[-1] > _LEVEL):
            earlier = np.array([solution.direction for solution in solutions])
            rest = self._rest(problem, earlier)
            allowed = self._allowed_next(problem, rest, run, rng, allowed)
            if automatic:
                if (found_by_chance := pvalue(rest, allowed.level)) > _LEVEL:
                    break
                pvalues.append(found_by_chance)
            found = self._next(problem, run, rng, earlier, allowed)
            # Rounding leaves a difference where there is none.
            differs = found.value > 1e-12 * solutions[0].value
            if not (differs and is_spread(samples, labels, found.direction)):
                warn_user(
                    f"only {len(solutions)} of {wanted} directions were found: nothing is left to differ"
                )
                break
            solutions.append(found)
            sharing = allowed.level < samples.n_features and not self._disjoint
            certificates.append(None if sharing else self._certify(problem, rest, allowed.level, found))
        if automatic:
            self.component_pvalues_ = np.array(pvalues)
        return solutions, certificates

    def _next(
        self,
        problem: Problem,
        run: Run,
        rng: np.random.Generator,
        earlier: NDArray[np.float64],
        allowed: Allowed,
    ) -> Solution:
        """The best direction after earlier ones."""
        return next_direction(
            problem.samples,
            problem.labels,
            problem.divergence,
            earlier,
            allowed.level,
            lambda few, size: self._search(problem, few, run, rng, Allowed(size, allowed.penalty)),
            self._apart(problem.divergence),
        )

    def _rest(self, problem: Problem, earlier: NDArray[np.float64]) -> Samples:
        apart = self._apart(problem.divergence)
        taken_out = constraints(problem.samples, problem.labels, earlier, apart)
        return remainder(problem.samples, earlier, self._disjoint, taken_out)

    def _apart(self, divergence: Divergence) -> Apart:
        """How further directions differ; in their projections, where their length means nothing."""
        return Apart(self._disjoint, self.metric == "whitened" or divergence.degree == 0)

    # What SPARDA does in another way.
    _disjoint = False

    def _allowed(self, problem: Problem, run: Run, rng: np.random.Generator) -> Allowed:
        """What the first direction may have."""
        return Allowed(problem.n_features)

    def _allowed_next(
        self, problem: Problem, rest: Samples, run: Run, rng: np.random.Generator, before: Allowed
    ) -> Allowed:
        """What a further direction may have."""
        return before

    def _first(self, problem: Problem, run: Run, rng: np.random.Generator, allowed: Allowed) -> Solution:
        return self._search(problem, problem.samples, run, rng, allowed)

    def _level(self, solution: Solution, allowed: Allowed) -> int:
        """Features that a direction may have in the problem that was solved."""
        return allowed.level

    def _certify(
        self, problem: Problem, samples: Samples, level: int, solution: Solution
    ) -> Certificate | None:
        plain = self.metric == "euclidean" and isinstance(problem.divergence, Wasserstein2)
        if time_is_up():
            return None
        found = solution.direction, solution.value
        return certify(samples, problem.labels, level, found, self.certify if plain else False, time_is_up)

    def _check_parameters(self) -> None:
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

    def _search(
        self, problem: Problem, samples: Samples, run: Run, rng: np.random.Generator, allowed: Allowed
    ) -> Solution:
        settings = SearchSettings(
            allowed.level, allowed.penalty, self.effort, self.max_iter, self.tol, run.n_jobs
        )
        labels, divergence = problem.labels, problem.divergence
        if self.metric == "whitened":
            return solve_whitened(samples, labels, divergence, settings, rng)
        first = first_sample(samples, self.subsample)
        if first is not None:
            return solve_growing(samples, labels, divergence, settings, first=first, rng=rng)
        starts = None
        # Where the relaxation is small enough to help.
        small = samples.n_rows <= 2000 and samples.n_features <= 500
        if self.effort == "thorough" and labels.n_groups == 2 and small:
            starts = relaxed_starts(samples, labels, rng, count=8)
        return solve(samples, labels, divergence, settings, rng=rng, extra_starts=starts)

    def _store(
        self, problem: Problem, solutions: list[Solution], certificates: list[Certificate | None]
    ) -> None:
        samples, labels, compared = problem.samples, problem.labels, problem.divergence
        self.components_ = np.array([solution.direction for solution in solutions])
        self.divergences_ = np.array([solution.value for solution in solutions])
        if self.metric == "euclidean":
            operator = samples.astype(np.float64).for_labels(labels.repeat(len(solutions)))
            projections = operator.project(self.components_) * samples.unit
            self.divergences_ = report(compared, projections, labels.repeat(len(solutions)))
        self.support_ = (self.components_ != 0).any(axis=0)
        self.shares_ = np.array([solution.shares for solution in solutions])
        if compared.degree == 0:
            # b . g is 0 for a divergence that does not depend on scale.
            self.shares_[:] = np.nan
        self.n_iter_ = max(1, sum(solution.n_iter for solution in solutions))
        certificates = [
            not_below(bound, float(value))
            for bound, value in zip(certificates, self.divergences_, strict=True)
        ]
        self.certificates_ = certificates
        self.upper_bounds_ = np.array(
            [np.nan if certificate is None else certificate.upper_bound for certificate in certificates]
        )
        if self.scale == "within":
            self.group_means_, self.group_deviations_ = _group_moments(samples, labels)
            self.scale_ = _root_mean_square(self.group_deviations_, labels.proportions[0])
        else:
            self.scale_ = np.ones(samples.n_features) if self.scale is None else samples.deviation

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


def _root_mean_square(deviations: NDArray[np.float64], shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """Standard deviation within the groups, shape (n_features,); 0 where a group has none."""
    largest = deviations.max(axis=0)
    ratios = deviations * inverse_or_zero(largest)
    return np.where(deviations.min(axis=0) > 0, largest * np.sqrt(shares @ ratios**2), 0.0)


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
