"""Upper bounds on how much better any direction could possibly be.

A search returns a good direction and cannot say how good. For any feasible plan M, no unit direction exceeds
lambda_max(W_M), and no direction on few features exceeds several sharper bounds made from the same W_M. This
module takes the least of all that apply, in float64, and says in a sentence which one it was.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse.linalg import LinearOperator, eigsh

from princdiff.relaxation.cutting_planes import leading
from princdiff.relaxation.entropic import solve_fast
from princdiff.relaxation.envelope import envelope_bound
from princdiff.relaxation.relax import (
    MAX_CELLS,
    MAX_PENALISED,
    marginal_divergences,
)
from princdiff.relaxation.sliced_plan import sliced_coupling
from princdiff.relaxation.sparse_bounds import best_support_bound, largest_diagonals, threshold_bound
from princdiff.relaxation.transport import staircase_plan
from princdiff.relaxation.two_groups import MAX_DIMENSION, TwoGroups

Array = npt.NDArray[Any]

__all__ = ["Certificate", "upper_bound"]

_PENALISED_DIMENSION, _PENALISED_CELLS = 200, 1_000_000  # up to here several penalties are cheap
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
    """

    upper_bound: float
    kind: str
    how: str

    def gap(self, value: float) -> float:
        """How far a value may be below the best possible: 1 - value / upper bound."""
        return 1.0 - value / self.upper_bound if self.upper_bound > 0 else 0.0


def upper_bound(
    X: Any,
    y: Any,
    k: int | None = None,
    *,
    directions: Any = None,
    sample_weight: Any = None,
    tol: float = 1e-3,
    budget: int = 30_000_000,
) -> Certificate:
    """Bound the squared 2-Wasserstein distance over all unit directions with at most k non-zeros.

    Parameters
    ----------
    X : array or scipy sparse matrix of shape (N, d)
        Pooled rows, finite.
    y : array of shape (N,)
        Labels, two distinct values.
    k : int, optional
        Non-zeros allowed; default: all features.
    directions : array of shape (d,) or (d, r), optional
        Directions that were found. They cannot change what is true, but help to look in the right place.
    sample_weight : array of shape (N,), optional
    tol : float
        Relative accuracy at which the bounds of small supports stop refining.
    budget : int
        Projected rows that may be sorted to refine the bounds of small supports (about 1e7 a second).

    Returns
    -------
    Certificate

    Notes
    -----
    In the order of their sharpness: k = 1 is the largest marginal divergence, exact. Two to four features
    are covered by an envelope of quadratics (see envelope.py), tight to ``tol``. Otherwise W of the
    relaxation's plan: its largest eigenvalue; for k < d also the sum of its k largest diagonal entries,
    lambda_max of its soft-thresholds plus threshold times k, the penalised relaxation, and branch and bound
    over supports.
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
    guides = _guides(directions, n_features)
    if limit == 1:
        best = float(marginal_divergences(X, y, sample_weight).max())
        return _certificate(best, "the largest divergence of a single feature, which is exact.")
    found: list[Certificate] = []
    small = min(limit, n_features)
    if small <= 4 and _affordable(n_features, small, len(np.asarray(y)), budget):
        envelope = _small_supports(X, y, sample_weight, small, tol, budget)
        if envelope.upper <= (1 + 2 * tol) * envelope.value:
            return envelope.certificate
        found.append(envelope.certificate)
    found += _from_plan(X, y, limit, guides, sample_weight, np.random.default_rng(0))
    proven = [c for c in found if c.kind == "certificate"]
    return min(proven or found, key=lambda c: c.upper_bound)


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


def _small_supports(X: Any, y: Any, sample_weight: Any, size: int, tol: float, budget: int) -> _Small:
    problem = TwoGroups.from_rows(X, y, sample_weight, reduce=False)
    supports = np.array(list(combinations(range(problem.dimension), size)))
    found = envelope_bound(problem, supports, tol, budget)
    scale = problem.unit**2
    what = f"all {len(supports)} sets of {size} features" if len(supports) > 1 else "all directions"
    how = f"an envelope of {found.n_plans} optimal plans over {what}, bounded between them as well."
    return _Small(found.upper, found.value, _certificate(found.upper * scale, how))


def _from_plan(
    X: Any, y: Any, k: int, guides: Array | None, sample_weight: Any, rng: np.random.Generator
) -> list[Certificate]:
    """Every bound that the relaxation's plan gives."""
    d, rows = np.shape(X)[1], len(np.asarray(y))
    if min(d, rows) > MAX_DIMENSION:
        return [_estimate(X, y, guides, sample_weight)]
    problem = TwoGroups.from_rows(X, y, sample_weight)
    scale = problem.unit**2
    if len(problem.a) * len(problem.b) > MAX_CELLS:
        coupling, source = sliced_coupling(problem, rng), "a plan made slice by slice"
        dense = float(leading(coupling, 1)[0][0])
    else:
        state = solve_fast(problem, 0.0, rng, tol=0.01)
        coupling, source, dense = state.coupling, "the relaxation's plan", state.upper
    found = [_certificate(dense * scale, f"the largest eigenvalue of W of {source}.")]
    if k < d:
        found += _sparse(problem, coupling, dense, k, source, rng)
    return found


def _sparse(
    problem: TwoGroups, coupling: Array, dense: float, k: int, source: str, rng: np.random.Generator
) -> list[Certificate]:
    """Bounds for k-sparse directions."""
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
    d = problem.n_features
    if d <= MAX_PENALISED:
        whole = coupling if problem.basis is None else problem.basis @ coupling @ problem.basis.T
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
        found += _penalised(problem, dense, k, rng)
    return found


def _penalised(problem: TwoGroups, dense: float, k: int, rng: np.random.Generator) -> list[Certificate]:
    """The penalised relaxation plus penalty * k: convex in the penalty, so doubled while that helps."""
    small = problem.dimension <= _PENALISED_DIMENSION and len(problem.a) * len(problem.b) <= _PENALISED_CELLS
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
    if len(groups) != 2:
        raise ValueError(f"a certificate compares two groups; y holds {len(groups)}")
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

    operator = LinearOperator((n_features, n_features), matvec=apply, dtype=np.float64)
    value = float(eigsh(operator, k=1, which="LA", return_eigenvectors=False)[0])
    return _certificate(
        value,
        "the largest eigenvalue, by Lanczos iterations, of W of the plan along one direction: too many rows "
        "and columns for a proof.",
        kind="estimate",
    )
