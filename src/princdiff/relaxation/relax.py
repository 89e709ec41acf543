"""RELAX: the semidefinite relaxation of principal differences, and what its two sides prove.

The best unit direction b maximises J(b) = min over plans M of b'W_M b. Writing B for bb' and forgetting
that B has rank one leaves a concave problem with a saddle,

    max over B (semidefinite, trace 1) of min over M of tr(W_M B) - penalty * ||B||_1
      = min over M and |U_ij| <= penalty of lambda_max(W_M + U),

which is worth solving for two reasons: eigenvectors of B are places to start a search from, and every plan
M on the right is a proof that no direction is better than lambda_max(W_M). ``method="fast"`` climbs on the
left with entropic transport and low-rank B and proves on the right (fast.py); ``method="paper"``
is the algorithm as printed (paper.py).
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from princdiff.data import parameters
from princdiff.data.parameters import Choice, Either, Flag, Number, Whole
from princdiff.data.problem import Design, Problem, Run
from princdiff.data.shared_docs import with_shared_docs
from princdiff.printable import short_repr
from princdiff.relaxation.fast import Relaxation, solve_fast
from princdiff.relaxation.paper import PaperSteps, paper_relax
from princdiff.relaxation.transport import line_divergences
from princdiff.relaxation.two_groups import TwoGroups

Array = npt.NDArray[Any]

__all__ = [
    "MAX_CELLS",
    "MAX_PENALISED",
    "FastSteps",
    "Pooled",
    "RelaxResult",
    "marginal_divergences",
    "relax",
    "screen",
    "solve_relaxation",
]

#: most columns of a penalised problem, which needs dense d x d matrices; the rest is screened
MAX_PENALISED = 1500
#: most entries of a plan; with more rows than that allows, the relaxation is solved on a sample
MAX_CELLS = 36_000_000


@dataclass(frozen=True, repr=False)
class RelaxResult:
    """What the relaxation found and proved.

    Attributes
    ----------
    lower_bound, upper_bound : float
        Of the value of the relaxation. With ``penalty=0`` no unit direction has a squared
        2-Wasserstein distance above ``upper_bound``; with a penalty, none with k non-zeros above
        ``upper_bound + penalty * k``. The lower bound is what ``factor`` attains, and says nothing about
        directions.
    directions : ndarray of shape (d, r)
        Leading eigenvectors of B, best first: starts for a search in directions.
    spectrum : ndarray of shape (r,)
        Their eigenvalues. They sum to one up to those left out; close to [1] means a tight relaxation.
    factor : ndarray of shape (d, r)
        B = factor factor'.
    n_iter : int
        Evaluations of the objective.
    method : str
    penalty : float
    certified : bool
        Whether both bounds hold for all the rows and columns that were given.
    note : str
        What was done instead where the data were too large; empty otherwise.

    Examples
    --------
    >>> from princdiff import relax
    >>> from princdiff.datasets import make_gaussian_pair
    >>> X, y = make_gaussian_pair(60, random_state=0)
    >>> result = relax(X, y, random_state=0)
    >>> result.lower_bound <= result.upper_bound, result.directions.shape[0]
    (True, 3)
    """

    lower_bound: float
    upper_bound: float
    directions: Array
    spectrum: Array
    factor: Array
    n_iter: int
    method: str = "fast"
    penalty: float = 0.0
    certified: bool = True
    note: str = ""

    __repr__ = short_repr

    @property
    def gap(self) -> float:
        """How far apart the bounds are: 1 - lower / upper (nan where the upper one is not positive)."""
        if self.upper_bound <= 0:
            return 0.0 if self.lower_bound == self.upper_bound else float("nan")
        return 1.0 - self.lower_bound / self.upper_bound


@with_shared_docs
def relax(
    X: Any,
    y: Any,
    *,
    penalty: float = 0.0,
    method: str = "fast",
    sample_weight: Any = None,
    random_state: Any = None,
    max_iter: int | None = None,
    tol: float = 0.01,
    **options: Any,
) -> RelaxResult:
    """Solve the semidefinite relaxation of principal differences analysis between two groups.

    Parameters
    ----------
    X : array or scipy sparse matrix of shape (N, d)
        Pooled rows.
    y : array of shape (N,)
        Labels, two distinct values.
    penalty : float, default 0
        Lambda of ``- lambda * ||B||_1`` (all entries, the diagonal too), in the units of the divergence.
    method : {"fast", "paper"}
        Low-rank entropic ascent with proven bounds, or the paper's sub-gradient algorithm.
    {sample_weight}
    random_state : int, RandomState, Generator or None
        Seed of the random start ("fast"), of the random pairs ("paper", incremental).
    max_iter : int, optional
        Evaluations ("fast", default 1000) or B-steps ("paper", default 300).
    tol : float, default 0.01
        Gap between the bounds at which "fast" stops. Below about 0.003 and with at most 10
        columns an exact game takes over, good to 1e-4 and better.
    **options
        Of ``method="paper"``: see :class:`princdiff.relaxation.paper.PaperSteps`.

    Returns
    -------
    RelaxResult

    Notes
    -----
    With more columns than rows and no penalty the rows are rewritten in a basis of their span, and
    nothing d x d is formed. A penalised problem of more than 1500 columns is solved on the 1500 of largest
    marginal divergence: its lower bound holds for all columns, its upper bound is then
    lambda_max(W_M) - penalty over all columns. With more than 36 million pairs of rows
    the relaxation is solved on a sample of the rows, and ``certified`` is False.

    Examples
    --------
    >>> import numpy as np
    >>> from princdiff import relax
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(80, 3))
    >>> y = np.repeat([0, 1], 40)
    >>> X[y == 1, 0] += 3
    >>> result = relax(X, y, random_state=0)
    >>> result.gap < 0.01, bool(abs(result.directions[0, 0]) > 0.95)
    (True, True)
    """
    given = {name: value for name, value in locals().items() if name != "options"}
    parameters.check(
        given,
        method=Choice("fast", "paper"),
        max_iter=Either(Whole(1), None),
        tol=Number(0, 1),
    )
    _check_steps(method, options)
    problem = Problem.from_arrays(X, y, scale=None, design=Design(sample_weight)).require_memory()
    if problem.n_groups != 2:
        raise ValueError(f"the relaxation compares two groups; y holds {problem.n_groups}")
    # Scaled rows are what says whether squares of these numbers can be represented.
    problem.samples.refuse_overflow(2.0)
    limit = (1000 if method == "fast" else 300) if max_iter is None else int(max_iter)
    steps = PaperSteps(n_steps=limit, **options) if method == "paper" else FastSteps(limit, tol)
    pooled = Pooled(problem.rows, problem.codes, problem.weights)
    return solve_relaxation(pooled, float(penalty), Run.from_options(random_state).rng(), steps)


def _check_steps(method: str, options: dict[str, Any]) -> None:
    """What only the paper's algorithm takes."""
    if options and method == "fast":
        raise ValueError(f'only method="paper" takes {", ".join(sorted(options))}')
    known = [field.name for field in fields(PaperSteps) if field.name != "n_steps"]
    unknown = sorted(set(options) - set(known))
    if unknown:
        raise TypeError(f'relax with method="paper" does not know {unknown[0]}=; it takes {", ".join(known)}')
    parameters.check(
        options,
        dual_steps=Whole(1),
        dual_step=Number(0),
        matrix_step=Number(0),
        diminishing=Flag(),
        patience=Whole(1),
        incremental=Flag(),
        n_pairs=Either(Whole(1), None),
    )


class Pooled(NamedTuple):
    """Rows of both groups, their codes, and weights or None; checked."""

    rows: Any
    codes: Array
    weights: Array | None = None


@dataclass(frozen=True)
class FastSteps:
    """Evaluations at most, and the gap between the bounds at which to stop."""

    max_iter: int = 1000
    tol: float = 0.01


def solve_relaxation(
    pooled: Pooled, penalty: float, rng: np.random.Generator, steps: FastSteps | PaperSteps
) -> RelaxResult:
    """The relaxation of rows that have been checked; parameters as in `relax`."""
    method = "paper" if isinstance(steps, PaperSteps) else "fast"
    problem, note = _prepare(pooled, penalty, method, rng)
    scaled_penalty = penalty / problem.unit**2
    if isinstance(steps, PaperSteps):
        state = paper_relax(problem, scaled_penalty, rng, steps)
    else:
        state = solve_fast(problem, scaled_penalty, rng, tol=steps.tol, max_iter=steps.max_iter)
    upper = state.upper
    if problem.columns is not None:
        upper = _upper_of_all_columns(pooled, penalty, problem.unit, rng)
    return _result(problem, state, upper, method, penalty, note)


def _prepare(pooled: Pooled, penalty: float, method: str, rng: np.random.Generator) -> tuple[TwoGroups, str]:
    """The problem to solve, and a sentence where it is not the whole of what was given."""
    note = ""
    columns = None
    needs_matrix = penalty > 0 or method == "paper"
    if needs_matrix and pooled.rows.shape[1] > MAX_PENALISED:
        columns = screen(*pooled, MAX_PENALISED)
        note = (
            f"solved on the {MAX_PENALISED} columns of largest marginal divergence; the upper bound "
            "is lambda_max(W) - penalty over all columns. "
        )
    problem = TwoGroups.from_rows(*pooled, reduce=not needs_matrix, columns=columns)
    n, m = len(problem.a), len(problem.b)
    if n * m > MAX_CELLS:
        side = int(np.sqrt(MAX_CELLS))
        share_x, share_y = min(n, side), min(m, side)
        rows_x = np.sort(rng.choice(n, share_x, replace=False))
        rows_y = np.sort(rng.choice(m, share_y, replace=False))
        problem = problem.subset(rows_x, rows_y)
        note += (
            f"solved on {share_x} and {share_y} rows drawn from {n} and {m}; the bounds are those of "
            "the drawn rows."
        )
    return problem, note.strip()


def screen(X: Any, y: Any, sample_weight: Any, count: int) -> Array:
    """The ``count`` columns of largest marginal divergence, in their order."""
    values = marginal_divergences(X, y, sample_weight)
    return np.sort(np.argsort(values)[::-1][:count])


def marginal_divergences(X: Any, y: Any, sample_weight: Any = None) -> Array:
    """Squared 2-Wasserstein distance between the groups in every single column, shape (d,).

    Columns are taken a few hundred at a time, so a sparse matrix is never made dense as a whole.

    Examples
    --------
    >>> marginal_divergences(np.array([[0.0, 1.0], [2.0, 1.0]]), [0, 1])
    array([4., 0.])
    """
    if sparse.issparse(X):
        X = sparse.csc_array(X)
    parts = []
    for start in range(0, np.shape(X)[1], 256):
        columns = np.arange(start, min(start + 256, np.shape(X)[1]))
        part = TwoGroups.from_rows(X, y, sample_weight, reduce=False, columns=columns)
        value = line_divergences(part.x, part.y, part.a, part.b) + part.shift**2
        parts.append(value * part.unit**2)
    return np.concatenate(parts)


def _upper_of_all_columns(pooled: Pooled, penalty: float, unit: float, rng: np.random.Generator) -> float:
    """lambda_max(W_M) - penalty over all columns (U = -penalty * I), in squares of ``unit``."""
    whole = TwoGroups.from_rows(*pooled)
    upper = solve_fast(whole, 0.0, rng, tol=0.02, max_iter=300).upper * whole.unit**2
    return (upper - penalty) / unit**2


def _result(
    problem: TwoGroups, state: Relaxation, upper: float, method: str, penalty: float, note: str
) -> RelaxResult:
    left, root, _ = np.linalg.svd(state.factor, full_matrices=False)
    keep = root**2 > 1e-6 * max(root[0] ** 2, 1e-300)
    scale = problem.unit**2
    directions = problem.embed(left[:, keep])
    # a sign that does not depend on the linear algebra library
    peak = np.argmax(np.abs(directions), axis=0)
    directions = directions * np.where(directions[peak, np.arange(keep.sum())] < 0, -1.0, 1.0)
    return RelaxResult(
        lower_bound=state.lower * scale,
        upper_bound=upper * scale,
        directions=directions,
        spectrum=root[keep] ** 2,
        factor=problem.embed(state.factor),
        n_iter=state.n_iter,
        method=method,
        penalty=float(penalty),
        certified="rows drawn" not in note,
        note=note,
    )
