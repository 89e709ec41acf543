"""Directions one after another: chosen, searched, bounded.

What `princdiff.PDA` and `princdiff.SPARDA` do, without what scikit-learn asks of an estimator: importing that
takes longer than comparing a small table.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from princdiff.caught_warnings import warn_user
from princdiff.data import validate
from princdiff.data.labels import Labels
from princdiff.data.moments import inverse_or_zero
from princdiff.data.problem import Problem, Run
from princdiff.data.samples import Samples, Scale
from princdiff.deadline import OutOfTime, part_of_the_time, time_is_up, undivided
from princdiff.divergences import Divergence, Wasserstein2, report
from princdiff.relaxation.certificate import certify, not_below
from princdiff.relaxation.upper_bound import Certificate
from princdiff.solvers.effort import SearchSettings
from princdiff.solvers.growing_samples import first_sample, one_sample, solve_growing
from princdiff.solvers.relax_and_tighten import relax_and_tighten, relaxed_starts
from princdiff.solvers.several_directions import Apart, constraints, is_spread, next_direction, remainder
from princdiff.solvers.solve import Solution, solve
from princdiff.solvers.whitening import solve_whitened
from princdiff.statistics.number_of_directions import remainder_pvalue
from princdiff.statistics.tuning import SparsityPath, choose_level, choose_penalty

# "auto" looks for this many directions at most, and stops at the first that is not significant.
_MOST_COMPONENTS = 10
_LEVEL = 0.05
# Part of a time budget for the choice of the sparsity.
_TUNING_SHARE = 0.4


@dataclass(frozen=True)
class Allowed:
    """What a direction may have: this many features, or any number at a penalty."""

    level: int
    penalty: float = 0.0


class Directions:
    """Directions along which groups differ most, with attributes and parameters of `princdiff.PDA`."""

    n_components: int | str = 1
    divergence: str | Divergence | Callable = "wasserstein2"
    scale: Scale = None
    metric: str = "euclidean"
    max_iter: int = 500
    tol: float = 1e-9
    effort: str = "default"
    subsample: int | str | None = "auto"
    certify: bool | str = "auto"

    components_: NDArray[np.float64]
    divergences_: NDArray[np.float64]
    upper_bounds_: NDArray[np.float64]
    certificates_: list[Certificate | None]
    shares_: NDArray[np.float64]
    support_: NDArray[np.bool_]
    scale_: NDArray[np.float64]
    group_means_: NDArray[np.float64]
    group_deviations_: NDArray[np.float64]
    component_pvalues_: NDArray[np.float64]
    n_iter_: int

    def fit_problem(self, problem: Problem, run: Run) -> Self:
        """Find the directions of a problem that has been checked, and has the same divergence and scale.

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
        self.n_features_in_, self.classes_ = problem.n_features, np.array(problem.classes)
        # What a former fit had and this one may lack.
        for name in ("component_pvalues_", "path_", "group_means_", "group_deviations_"):
            self.__dict__.pop(name, None)
        problem = problem.ordered
        solutions, certificates = self._find(problem, run)
        self._store(problem, solutions, certificates)
        return self

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
        if self.method == "paper":
            first = relax_and_tighten(
                samples, labels, allowed.penalty, rng, max_iter=self.max_iter, tol=self.tol
            )
        else:
            first = self._search(problem, samples, run, rng, allowed)
        # A penalised solution is compared with directions of as many features.
        level = allowed.level if self.penalty is None else max(1, int(np.count_nonzero(first.direction)))
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
    penalty: float | str | None = None
    method: str = "search"

    def _allowed(self, problem: Problem, run: Run, rng: np.random.Generator) -> Allowed:
        """What the first direction may have."""
        return Allowed(problem.n_features)

    def _allowed_next(
        self, problem: Problem, rest: Samples, run: Run, rng: np.random.Generator, before: Allowed
    ) -> Allowed:
        """What a further direction may have."""
        return before

    def _certify(
        self, problem: Problem, samples: Samples, level: int, solution: Solution
    ) -> Certificate | None:
        plain = self.metric == "euclidean" and isinstance(problem.divergence, Wasserstein2)
        if time_is_up():
            return None
        found = solution.direction, solution.value
        return certify(samples, problem.labels, level, found, self.certify if plain else False, time_is_up)

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


class SparseDirections(Directions):
    """Directions with few features, with the attributes and the parameters of `princdiff.SPARDA`.

    Parameters
    ----------
    **parameters
        Those of `princdiff.SPARDA`; they are trusted.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> rows, y = rng.normal(size=(80, 5)), np.repeat([0, 1], 40)
    >>> rows[40:, 3] += 2
    >>> found = SparseDirections(n_features=1).fit_problem(Problem.from_arrays(rows, y), Run(seed=0))
    >>> np.flatnonzero(found.support_)
    array([3])
    """

    n_features: int | str | None = None
    one_standard_error: bool = False
    supports: str = "shared"

    path_: SparsityPath

    def __init__(self, **parameters: Any) -> None:
        vars(self).update(parameters)

    @property
    def _disjoint(self) -> bool:  # type: ignore[override]
        return self.supports == "disjoint"

    def _allowed(self, problem: Problem, run: Run, rng: np.random.Generator) -> Allowed:
        if self.penalty is None and self.n_features not in (None, "auto"):
            return Allowed(validate.check_level(self.n_features, problem.n_features))
        if self.penalty not in (None, "auto"):
            return Allowed(problem.n_features, float(self.penalty))  # type: ignore[arg-type]
        choose = choose_level if self.penalty is None else choose_penalty
        with part_of_the_time(_TUNING_SHARE):
            self.path_ = choose(
                *self._tuning_rows(problem.samples, problem.labels, rng),
                problem.divergence,
                rng,
                one_standard_error=self.one_standard_error,
                n_jobs=run.n_jobs,
            )
        if self.penalty is None:
            return Allowed(int(self.path_.chosen))
        return Allowed(problem.n_features, self.path_.chosen)

    def _allowed_next(
        self, problem: Problem, rest: Samples, run: Run, rng: np.random.Generator, before: Allowed
    ) -> Allowed:
        if self.penalty is not None or self.n_features not in (None, "auto"):
            return before
        rows = self._tuning_rows(rest, problem.labels, rng)
        return Allowed(int(choose_level(*rows, problem.divergence, rng, n_jobs=run.n_jobs).chosen))

    def _tuning_rows(
        self, samples: Samples, labels: Labels, rng: np.random.Generator
    ) -> tuple[Samples, Labels]:
        """Rows on which to choose the sparsity: a sample, where there are many."""
        first = first_sample(samples, self.subsample)
        return (samples, labels) if first is None else one_sample(samples, labels, first, rng)


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
