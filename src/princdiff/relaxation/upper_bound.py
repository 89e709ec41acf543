"""Upper bounds on how much better any direction could possibly be.

A search returns a good direction and cannot say how good. For any feasible plan M, no unit direction exceeds
lambda_max(W_M), and no direction on few features exceeds several sharper bounds made from the same W_M. This
module takes the least of all that apply, in float64, and says in a sentence which one it was.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from princdiff.relaxation.branch_and_bound import BranchAndBound
from princdiff.relaxation.cutting_planes import leading
from princdiff.relaxation.envelope import envelope_bound
from princdiff.relaxation.fast import solve_fast
from princdiff.relaxation.group_rows import GroupRows
from princdiff.relaxation.relax import (
    MAX_CELLS,
    MAX_PENALISED,
    marginal_divergences,
)
from princdiff.relaxation.several_groups import SeveralGroups, prepared_groups
from princdiff.relaxation.sliced_plan import sliced_coupling
from princdiff.relaxation.sparse_bounds import best_support_bound, largest_diagonals, threshold_bound
from princdiff.relaxation.transport import staircase_plan
from princdiff.relaxation.two_groups import MAX_DIMENSION, TwoGroups

Array = npt.NDArray[Any]

__all__ = ["NO_BOUND", "Certificate", "ProofEffort", "upper_bound"]

_PENALISED_DIMENSION, _PENALISED_CELLS = 200, 1_000_000  # up to here several penalties are cheap
_ACCURACY = 1e-3  # distance between bound and value at which envelopes of small supports stop
_TOLERANCE = 0.01  # distance between bound and value at which branch and bound stops
_CONES_FIRST = 5  # features up to which branch and bound usually needs no help
_MOST_CONES = 10  # features beyond which cones are too many for branch and bound to help
_FIRST_SHARE = 0.3  # of the work is spent before the relaxation is solved
_MARGIN = 1e-9  # eigenvalues are rounded; bounds are raised by this much, relatively


@dataclass(frozen=True)
class Certificate:
    """A bound on the squared 2-Wasserstein distance of every admissible direction.

    Attributes
    ----------
    upper_bound : float
    kind : {"certificate", "estimate"}
        A certificate is proven; an estimate rests on an iterative eigenvalue, which approaches its
        limit from below.
    how : str
        A sentence that says where the bound comes from.
    n_features : int or None
        Features that the directions may have; None: all.
    """

    upper_bound: float
    kind: str
    how: str
    n_features: int | None = None

    def gap(self, value: float) -> float:
        """How far a value may be below the best possible: 1 - value / upper bound."""
        return 1.0 - value / self.upper_bound if self.upper_bound > 0 else 0.0


@dataclass(frozen=True)
class ProofEffort:
    """How hard to look for a bound.

    Attributes
    ----------
    sorts : int
        Projected rows that may be sorted to refine the bounds of small supports, about 1e7 a second.
    work : float
        Numbers that branch and bound may touch, about 2e8 a second.
    relaxed : bool
        Whether to solve the relaxation for its plan.
    penalised : bool
        Whether to solve penalised relaxations as well.
    stop : callable
        Asked again and again whether time is over.
    """

    sorts: int = 30_000_000
    work: float = 1.5e9
    relaxed: bool = True
    penalised: bool = True
    stop: Callable[[], bool] = lambda: False


def upper_bound(
    X: Any,
    y: Any,
    k: int | None = None,
    *,
    directions: Any = None,
    sample_weight: Any = None,
    effort: ProofEffort | None = None,
) -> Certificate:
    """Bound the squared 2-Wasserstein distance over all unit directions with at most k non-zeros.

    Parameters
    ----------
    X : array or scipy sparse matrix of shape (N, d)
        Pooled rows, finite.
    y : array of shape (N,)
        Labels, two distinct values or more.
    k : int, optional
        Non-zeros allowed; default: all features.
    directions : array of shape (d,) or (d, r), optional
        Directions that were found. They cannot change what is true, but help to look in the right place.
    sample_weight : array of shape (N,), optional
    effort : ProofEffort, optional
        How long it may take, and what is tried.

    Returns
    -------
    Certificate

    Notes
    -----
    In the order of their sharpness: k = 1 is the largest marginal divergence, exact. Two to four features
    are covered by an envelope of quadratics (see envelope.py), tight to 0.1 %, where there are few sets
    of them. Branch and bound over cones of sparse directions (branch_and_bound.py) is tight to one per cent
    where it comes to its end. Otherwise W of the relaxation's plan: its largest eigenvalue; for k < d also
    the sum of its k largest diagonal entries, lambda_max of its soft-thresholds plus threshold times k, the
    penalised relaxation, and branch and bound over its supports. More than two groups have all of these but
    the envelope, with a plan for every pair of groups.
    No array is d x d for d above 4000 (1500 for what needs the entries of W).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 3))
    >>> y = np.repeat([0, 1], 50)
    >>> X[y == 1, 2] += 2
    >>> one, all_ = upper_bound(X, y, 1), upper_bound(X, y)
    >>> one.kind, one.upper_bound < all_.upper_bound
    ('certificate', True)
    """
    n_features = np.shape(X)[1] if len(np.shape(X)) == 2 else 0
    limit = n_features if k is None else int(k)
    if k is not None and (limit != k or limit < 1):
        raise ValueError(f"k must be a whole number, at least 1, got {k}")
    limit = min(limit, n_features)
    found = _least(X, y, limit, _guides(directions, n_features), sample_weight, effort or ProofEffort())
    return replace(found, n_features=limit if limit < n_features else None)


def _least(
    X: Any,
    y: Any,
    limit: int,
    guides: Array | None,
    sample_weight: Any,
    effort: ProofEffort,
) -> Certificate:
    """The least of the bounds, cheap ones first."""
    n_features = np.shape(X)[1]
    if limit == 1:
        best = float(_marginals(X, y, sample_weight).max())
        return _certificate(best, "the largest divergence of a single feature, which is exact.")
    found: list[Certificate] = []
    n_groups = len(np.unique(np.asarray(y)))
    if n_groups < 2:
        raise ValueError(f"a bound compares two groups or more; y holds {n_groups}")
    pair = n_groups == 2
    if pair and limit <= 4 and _affordable(n_features, limit, len(np.asarray(y)), effort.sorts):
        envelope = _small_supports(X, y, sample_weight, limit, effort.sorts)
        if envelope.upper <= (1 + 2 * _ACCURACY) * envelope.value:
            return envelope.certificate
        found.append(envelope.certificate)
    search = _cone_search(X, y, sample_weight, limit, guides, effort)
    relaxed = effort.relaxed
    if search is not None and (limit <= _CONES_FIRST or not relaxed):
        own = search.certificate(_FIRST_SHARE * effort.work if relaxed else effort.work)
        if search.proved or not relaxed:
            return own
        found.append(own)
    if relaxed and not (found and effort.stop()):
        found += _from_plan(X, y, limit, guides, sample_weight, effort, search)
    proven = [c for c in found if c.kind == "certificate"]
    best_so_far = min(proven or found, key=lambda c: c.upper_bound, default=NO_BOUND)
    if search is None or search.closed_by(best_so_far):
        return best_so_far
    return min(search.certificate(effort.work), best_so_far, key=lambda c: c.upper_bound)


def _marginals(X: Any, y: Any, sample_weight: Any) -> Array:
    """Divergence of every single feature, for two groups or more."""
    if len(np.unique(np.asarray(y))) == 2:
        return marginal_divergences(X, y, sample_weight)
    values = np.zeros(np.shape(X)[1])
    for start in range(0, len(values), 256):
        columns = np.arange(start, min(start + 256, len(values)))
        rows = GroupRows.from_rows((X.tocsc() if sparse.issparse(X) else X)[:, columns], y, sample_weight)
        axes = np.arange(rows.n_features)[:, None]
        gaps = rows.gaps(axes, np.ones((rows.n_features, 1)))
        values[columns[rows.columns]] = (gaps**2).sum(axis=(1, 2)) * rows.scale**2 * rows.unit**2
    return values


@dataclass
class _ConeSearch:
    """Branch and bound over cones, and what it says in the units of the data."""

    search: BranchAndBound
    rows: GroupRows
    k: int
    stop: Callable[[], bool]
    proved: bool = False

    def certificate(self, work: float) -> Certificate:
        progress = self.search.run(work, self.stop)
        self.proved = progress.proved
        what = f"at most {self.k} features" if self.k < self.rows.n_columns else "any features"
        how = f"branch and bound over directions with {what}, {progress.n_plans} plans"
        if progress.n_excluded:
            how += f"; {progress.n_excluded} of {self.rows.n_columns} features were excluded at once"
        how += "." if progress.proved else "; stopped early."
        return _certificate(progress.upper * self.rows.unit**2, how)

    def closed_by(self, bound: Certificate) -> bool:
        """Take in a bound from elsewhere; whether nothing is left to do then."""
        if bound.kind != "certificate":
            return False
        self.search.lower_roof(bound.upper_bound / self.rows.unit**2)
        return self.search.finished


def _cone_search(
    X: Any, y: Any, sample_weight: Any, k: int, guides: Array | None, effort: ProofEffort
) -> _ConeSearch | None:
    """Branch and bound where one round over the features fits into the work."""
    n_rows, d = np.shape(X)
    if k > _MOST_CONES or n_rows * d * d > effort.work:
        return None
    rows = GroupRows.from_rows(X, y, sample_weight)
    start = np.zeros(d)
    if guides is not None:
        heavy = np.argsort(-np.abs(guides[:, 0]), kind="stable")[:k]
        start[heavy] = guides[heavy, 0]
    search = BranchAndBound(rows, k, start, _TOLERANCE)
    if search.first_step > effort.work:
        return None
    return _ConeSearch(search, rows, k, effort.stop)


NO_BOUND = Certificate(float("inf"), "", "no bound was found.")


def _certificate(value: float, how: str, kind: str = "certificate") -> Certificate:
    return Certificate(float(value) * (1 + _MARGIN), kind, how)


def _guides(directions: Any, n_features: int) -> Array | None:
    if directions is None:
        return None
    guides = np.asarray(directions, dtype=np.float64)
    guides = guides[:, None] if guides.ndim == 1 else guides
    if guides.ndim != 2 or guides.shape[0] != n_features:
        raise ValueError(f"directions must have {n_features} rows, got shape {guides.shape}")
    return guides


def _affordable(d: int, size: int, rows: int, budget: int) -> bool:
    """Whether every support can be covered once; the plans that takes were counted in trials."""
    return comb(d, size) * {2: 4, 3: 25, 4: 400}[size] * rows <= budget


@dataclass(frozen=True)
class _Small:
    upper: float
    value: float
    certificate: Certificate


def _small_supports(X: Any, y: Any, sample_weight: Any, size: int, budget: int) -> _Small:
    problem = TwoGroups.from_rows(X, y, sample_weight, reduce=False)
    supports = np.array(list(combinations(range(problem.dimension), size)))
    found = envelope_bound(problem, supports, _ACCURACY, budget)
    scale = problem.unit**2
    what = f"all {len(supports)} sets of {size} features" if len(supports) > 1 else "all directions"
    how = f"an envelope of {found.n_plans} optimal plans over {what}, bounded between them as well."
    return _Small(found.upper, found.value, _certificate(found.upper * scale, how))


def _from_plan(
    X: Any,
    y: Any,
    k: int,
    guides: Array | None,
    sample_weight: Any,
    effort: ProofEffort | None = None,
    search: _ConeSearch | None = None,
) -> list[Certificate]:
    """Every bound that the relaxation's plan gives; branch and bound is given the plan as well."""
    effort = effort or ProofEffort()
    rng = np.random.default_rng(0)  # of the relaxation's start: the bound holds for any
    d, rows = np.shape(X)[1], len(np.asarray(y))
    if min(d, rows) > MAX_DIMENSION:
        return [_estimate(X, y, guides, sample_weight)] if len(np.unique(np.asarray(y))) == 2 else []
    problem = prepared_groups(X, y, sample_weight)
    scale = problem.unit**2
    if problem.n_cells > MAX_CELLS:
        source = "a plan made slice by slice"
        coupling = np.asarray(sum(share * sliced_coupling(pair, rng) for share, pair in problem.pairs))
        dense = float(leading(coupling, 1)[0][0])
    else:
        state = solve_fast(problem, 0.0, rng, tol=0.01)
        coupling, source, dense = state.coupling, "the relaxation's plan", state.upper
    found = [_certificate(dense * scale, f"the largest eigenvalue of W of {source}.")]
    whole = None
    if d <= MAX_PENALISED and (k < d or search is not None):
        whole = coupling if problem.basis is None else problem.basis @ coupling @ problem.basis.T
        if search is not None:
            search.search.add_plan(search.rows.rescale(whole, problem.unit))
    if k < d:
        found += _sparse(problem, coupling, whole, k, source)
        if effort.penalised and d <= MAX_PENALISED and not effort.stop():
            found += _penalised(problem, dense, k, rng)
    return found


def _sparse(
    problem: TwoGroups | SeveralGroups, coupling: Array, whole: Array | None, k: int, source: str
) -> list[Certificate]:
    """Bounds for k-sparse directions, from W in the problem's coordinates and, where small, the data's."""
    scale = problem.unit**2
    if problem.basis is None:
        diagonal = np.diag(coupling)
    else:
        diagonal = np.einsum("ij,ij->i", problem.basis @ coupling, problem.basis)
    found = [
        _certificate(
            largest_diagonals(diagonal, k) * scale,
            f"the {k} largest diagonal entries of W of {source}.",
        )
    ]
    if whole is not None:
        value, threshold = threshold_bound(whole, k)
        found.append(
            _certificate(
                value * scale,
                f"the largest eigenvalue of W of {source}, soft-thresholded at {threshold * scale:.3g}, "
                "plus k times the threshold.",
            )
        )
        value, proven = best_support_bound(whole, k)
        found.append(
            _certificate(
                value * scale,
                f"branch and bound over supports for W of {source}"
                + (", solved to the end." if proven else ", stopped early."),
            )
        )
    return found


def _penalised(
    problem: TwoGroups | SeveralGroups, dense: float, k: int, rng: np.random.Generator
) -> list[Certificate]:
    """The penalised relaxation plus penalty * k: convex in the penalty, so doubled while that helps."""
    small = problem.dimension <= _PENALISED_DIMENSION and problem.n_cells <= _PENALISED_CELLS
    if problem.basis is not None or not small:
        return []
    penalty, best, used = 0.05 * dense / k, dense, 0.0
    for _ in range(5):
        value = solve_fast(problem, penalty, rng, tol=0.02, max_iter=300).upper + penalty * k
        if value >= best:
            break
        best, used, penalty = value, penalty, 2 * penalty
    if used == 0:
        return []
    scale = problem.unit**2
    how = f"the relaxation penalised by {used * scale:.3g}, plus k times the penalty."
    return [_certificate(best * scale, how)]


def _estimate(X: Any, y: Any, guides: Array | None, sample_weight: Any) -> Certificate:
    """More rows and columns than can be decomposed: Lanczos on W of the plan along one direction."""
    rows, labels = X, np.asarray(y)
    groups = np.unique(labels)
    weight = np.ones(len(labels)) if sample_weight is None else np.asarray(sample_weight, dtype=float)
    n_features = np.shape(X)[1]
    direction = np.ones(n_features) if guides is None else guides[:, 0]
    along = np.asarray(rows @ direction).ravel()
    first, second = (np.flatnonzero((labels == g) & (weight > 0)) for g in groups)
    a, b = weight[first] / weight[first].sum(), weight[second] / weight[second].sum()
    plan = staircase_plan(along[first], along[second], a, b)
    one, other = first[plan.rows], second[plan.cols]

    def apply(vector: Array) -> Array:
        moved = np.asarray(rows @ np.ravel(vector)).ravel()
        gap = plan.mass * (moved[one] - moved[other])
        spread = np.bincount(one, gap, len(labels)) - np.bincount(other, gap, len(labels))
        return np.asarray(rows.T @ spread).ravel()

    from scipy.sparse.linalg import LinearOperator, eigsh

    operator = LinearOperator((n_features, n_features), matvec=apply, dtype=np.float64)
    value = float(eigsh(operator, k=1, which="LA", return_eigenvectors=False)[0])
    return _certificate(
        value,
        "the largest eigenvalue, by Lanczos iterations, of W of the plan along one direction: too many rows "
        "and columns for a proof.",
        kind="estimate",
    )
