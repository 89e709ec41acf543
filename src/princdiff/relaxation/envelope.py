"""Tight upper bounds on supports of two, three or four features.

The plan M that is optimal for one direction is feasible for all: J(a) <= a'W_M a everywhere, with equality
where M came from. So a few directions cover a whole sphere with quadratics whose lower envelope
touches J at every one of them, and since J and its quadratic have the same slope there, the envelope is
off by no more than the square of the spacing. What remains is to bound the envelope *between* the
directions, which is closed form on an arc of a circle and a ratio of non-negative forms on a spherical
simplex. Arcs and simplices that could still hold something better than the best value seen are split.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from princdiff.relaxation.transport import staircase_plan
from princdiff.relaxation.two_groups import TwoGroups

Array = npt.NDArray[Any]

__all__ = ["Envelope", "best_on_arc", "envelope_bound", "quadratics"]


@dataclass
class Envelope:
    """Upper bound over supports, and the best value met on the way.

    Attributes
    ----------
    upper, value : float
        In the problem's unit.
    n_plans : int
        Plans that were sorted.
    """

    upper: float = np.inf
    value: float = -np.inf
    n_plans: int = 0

    def see(self, values: Array) -> None:
        """Count the plans and keep the best value."""
        self.n_plans += len(values)
        self.value = max(self.value, float(values.max()))


def quadratics(problem: TwoGroups, supports: Array, directions: Array) -> Array:
    """W_M restricted to each support, for the plan that is optimal along each direction.

    Parameters
    ----------
    problem : TwoGroups
    supports : ndarray of int, shape (c, s)
    directions : ndarray of shape (c, s)

    Returns
    -------
    ndarray of shape (c, s, s)
        ``directions[i] @ result[i] @ directions[i]`` is J of direction i.
    """
    count, size = supports.shape
    out = np.empty((count, size, size))
    rows = len(problem.a) + len(problem.b)
    chunk = max(1, 2_000_000 // (rows * size))
    for start in range(0, count, chunk):
        part = slice(start, start + chunk)
        out[part] = _quadratics(problem, supports[part], directions[part])
    return out


def _quadratics(problem: TwoGroups, supports: Array, directions: Array) -> Array:
    # (c, s, n): the coordinates of each support, one contiguous line per coordinate
    x = problem.x.T[supports]
    y = problem.y.T[supports]
    along_x = np.einsum("cs,csn->cn", directions, x)
    along_y = np.einsum("cs,csn->cn", directions, y)
    shift = problem.shift[supports]
    if not problem.uniform:
        matrices = []
        for i in range(len(supports)):
            plan = staircase_plan(along_x[i], along_y[i], problem.a, problem.b)
            gap = x[i][:, plan.rows] - y[i][:, plan.cols]
            matrices.append((gap * plan.mass) @ gap.T)
        within = np.array(matrices)
    else:
        x = np.take_along_axis(x, np.argsort(along_x, axis=1)[:, None, :], axis=2)
        y = np.take_along_axis(y, np.argsort(along_y, axis=1)[:, None, :], axis=2)
        n, m = len(problem.a), len(problem.b)
        if n == m:
            gap = x - y
            within = gap @ gap.transpose(0, 2, 1) / n
        else:
            steps = staircase_plan(np.arange(n, dtype=float), np.arange(m, dtype=float), problem.a, problem.b)
            gap = x[:, :, steps.rows] - y[:, :, steps.cols]
            within = (gap * steps.mass) @ gap.transpose(0, 2, 1)
    # Each group is about its own mean, so the mean difference comes back as a product.
    return np.asarray(within + shift[:, :, None] * shift[:, None, :])


def _waves(matrices: Array) -> tuple[Array, Array, Array]:
    """Write a'Wa on the circle as level + cosine * cos 2t + sine * sin 2t."""
    level = (matrices[:, 0, 0] + matrices[:, 1, 1]) / 2
    return level, (matrices[:, 0, 0] - matrices[:, 1, 1]) / 2, matrices[:, 0, 1]


def best_on_arc(first: Array, second: Array, left: Array, right: Array) -> tuple[Array, Array]:
    """The largest value of min(a'W_1 a, a'W_2 a) on arcs of the circle, and the angle it is met at.

    Both are sinusoids of twice the angle, so the maximum of the lower one is at an end of the arc, at
    the crest of one of them, or where they cross: all of them in closed form.

    Parameters
    ----------
    first, second : ndarray of shape (c, 2, 2)
    left, right : ndarray of shape (c,)
        Ends of the arcs, left < right <= left + pi.

    Examples
    --------
    >>> one, other = np.array([np.diag([3.0, 1.0])]), np.array([np.diag([1.0, 3.0])])
    >>> best_on_arc(one, other, np.zeros(1), np.full(1, np.pi / 2))[0]
    array([2.])
    """
    waves = [_waves(first), _waves(second)]
    candidates = [left, right]
    candidates += [np.arctan2(sine, cosine) / 2 for _, cosine, sine in waves]
    level, cosine, sine = (one - other for one, other in zip(*waves, strict=True))
    radius = np.hypot(cosine, sine)
    with np.errstate(divide="ignore", invalid="ignore"):
        half = np.arccos(np.clip(-level / radius, -1.0, 1.0))
    half = np.where(np.isfinite(half), half, 0.0)
    phase = np.arctan2(sine, cosine)
    candidates += [(phase + half) / 2, (phase - half) / 2]
    best, where = np.full(len(left), -np.inf), left.copy()
    for angle in candidates:
        # an angle and its opposite are one direction: move it into [left, left + pi), drop it if outside
        angle = left + np.mod(angle - left, np.pi)
        angle = np.where(angle <= right, angle, left)
        twice = 2 * angle
        low = np.minimum(*(lev + co * np.cos(twice) + si * np.sin(twice) for lev, co, si in waves))
        where = np.where(low > best, angle, where)
        best = np.maximum(best, low)
    return best, where


def envelope_bound(
    problem: TwoGroups, supports: Array, tol: float = 1e-3, budget: int = 30_000_000
) -> Envelope:
    """Bound J over all unit directions on any of the supports.

    Parameters
    ----------
    problem : TwoGroups
        Not reduced: its coordinates are features.
    supports : ndarray of int, shape (c, s)
        Supports of s = 2 ... 4 features.
    tol : float
        Relative distance between bound and best value at which to stop.
    budget : int
        Number of projected rows that may be sorted. When it is used up, the bound stands as it is.

    Returns
    -------
    Envelope
        ``upper`` is at least J of every direction on every support.

    Examples
    --------
    >>> X = np.array([[0.0, 0.0], [1.0, 0.0], [3.0, 4.0], [4.0, 4.0]])
    >>> problem = TwoGroups.from_rows(X, [0, 0, 1, 1])
    >>> found = envelope_bound(problem, np.array([[0, 1]]))
    >>> round(found.upper * problem.unit**2, 1)  # a shift of length 5
    25.0
    """
    plans = max(1, budget // (len(problem.a) + len(problem.b)))
    if supports.shape[1] == 2:
        return _circle(problem, supports, tol, plans)
    return _sphere(problem, supports, tol, plans)


def _circle(problem: TwoGroups, supports: Array, tol: float, plans: int) -> Envelope:
    found = Envelope()
    count = len(supports)
    grid = int(np.clip(plans // max(count, 1), 2, 8))
    angles = np.arange(grid) * np.pi / grid
    owner = np.repeat(np.arange(count), grid)
    theta = np.tile(angles, count)
    matrices = _at(problem, supports[owner], _on_circle(theta), found)
    # arcs between neighbours; the last closes the half circle, where a quadratic repeats
    after = np.roll(np.arange(len(theta)).reshape(count, grid), -1, axis=1).ravel()
    left, right = theta, theta + np.pi / grid
    first, second = matrices, matrices[after]
    bound, where = best_on_arc(first, second, left, right)
    settled = -np.inf
    while True:
        level = max(found.value * (1 + tol), found.value + 1e-12)
        open_ = bound > level
        settled = max(settled, float(bound[~open_].max(initial=-np.inf)))
        if not open_.any() or found.n_plans + int(open_.sum()) > plans:
            break
        owner, left, right, where = owner[open_], left[open_], right[open_], where[open_]
        first, second, old = first[open_], second[open_], bound[open_]
        if float((right - left).min()) < 1e-7:
            break
        # split where the envelope peaks, but not next to an end
        margin = 0.15 * (right - left)
        middle = np.clip(where, left + margin, right - margin)
        fresh = _at(problem, supports[owner], _on_circle(middle), found)
        owner = np.concatenate([owner, owner])
        first, second = np.concatenate([first, fresh]), np.concatenate([fresh, second])
        left, right = np.concatenate([left, middle]), np.concatenate([middle, right])
        bound, where = best_on_arc(first, second, left, right)
        bound = np.minimum(bound, np.concatenate([old, old]))
    found.upper = max(settled, float(bound.max(initial=-np.inf)), found.value)
    return found


def _on_circle(theta: Array) -> Array:
    return np.stack([np.cos(theta), np.sin(theta)], axis=1)


def _sphere(problem: TwoGroups, supports: Array, tol: float, plans: int) -> Envelope:
    """Branch and bound over spherical simplices: the vertices, and W of the plan at each vertex."""
    found = Envelope()
    count, size = supports.shape
    # one orthant for every choice of signs, up to the sign of the whole
    signs = np.array(np.meshgrid(*[[1.0, -1.0]] * (size - 1))).reshape(size - 1, -1).T
    signs = np.hstack([np.ones((len(signs), 1)), signs])
    corner = np.eye(size)
    matrices = np.stack(
        [_at(problem, supports, np.tile(corner[i], (count, 1)), found) for i in range(size)], axis=1
    )
    owner = np.repeat(np.arange(count), len(signs))
    vertices = np.tile(corner * signs[:, :, None], (count, 1, 1))
    planes = matrices[owner]
    bound = _simplex_bounds(vertices, planes)
    settled = -np.inf
    while True:
        level = max(found.value * (1 + tol), found.value + 1e-12)
        open_ = bound > level
        settled = max(settled, float(bound[~open_].max(initial=-np.inf)))
        bound = bound[open_]
        room = plans - found.n_plans
        if not open_.any() or room <= 0:
            break
        owner, vertices, planes = owner[open_], vertices[open_], planes[open_]
        # the worst first: with the budget nearly gone only they are split
        worst = np.argsort(bound)[::-1]
        chosen, rest = worst[:room], worst[room:]
        kept = owner[rest], vertices[rest], planes[rest], bound[rest]
        owner, vertices, planes, old = owner[chosen], vertices[chosen], planes[chosen], bound[chosen]
        i, j = _longest_edge(vertices)
        each = np.arange(len(owner))
        if float(np.einsum("cs,cs->c", vertices[each, i], vertices[each, j]).max()) > 1 - 1e-13:
            break
        middle = vertices[each, i] + vertices[each, j]
        middle /= np.linalg.norm(middle, axis=1, keepdims=True)
        fresh = _at(problem, supports[owner], middle, found)
        halves = []
        for end in (i, j):
            v, w = vertices.copy(), planes.copy()
            v[each, end], w[each, end] = middle, fresh
            halves.append((v, w))
        vertices = np.concatenate([halves[0][0], halves[1][0]])
        planes = np.concatenate([halves[0][1], halves[1][1]])
        bound = np.minimum(_simplex_bounds(vertices, planes), np.concatenate([old, old]))
        owner = np.concatenate([owner, owner, kept[0]])
        vertices = np.concatenate([vertices, kept[1]])
        planes = np.concatenate([planes, kept[2]])
        bound = np.concatenate([bound, kept[3]])
    found.upper = max(settled, float(bound.max(initial=-np.inf)), found.value)
    return found


def _at(problem: TwoGroups, supports: Array, directions: Array, found: Envelope) -> Array:
    matrices = quadratics(problem, supports, directions)
    values = np.einsum("cs,cst,ct->c", directions, matrices, directions)
    found.see(values)
    return matrices


def _longest_edge(vertices: Array) -> tuple[Array, Array]:
    size = vertices.shape[1]
    cosines = vertices @ vertices.transpose(0, 2, 1)
    cosines[:, np.arange(size), np.arange(size)] = np.inf
    flat = np.argmin(cosines.reshape(len(vertices), -1), axis=1)
    return np.divmod(flat, size)


def _simplex_bounds(vertices: Array, planes: Array) -> Array:
    """Bound min over the vertices' quadratics on each spherical simplex.

    A direction in the simplex is V'c with c >= 0, so its value is c'(V W V')c / c'(V V')c. Where all
    products of vertices are positive, a ratio of two forms with c >= 0 is at most the largest
    ratio of their entries. Everywhere it is at most lambda_max(W). Any convex combination of
    the W will do; each of them and their mean are tried.
    """
    gram = vertices @ vertices.transpose(0, 2, 1)
    positive = np.asarray((gram > 1e-9).all(axis=(1, 2)))
    best = np.full(len(vertices), np.inf)
    size = vertices.shape[1]
    for matrix in [planes[:, i] for i in range(size)] + [planes.mean(axis=1)]:
        best = np.minimum(best, np.linalg.eigvalsh(matrix)[:, -1])
        form = vertices @ matrix @ vertices.transpose(0, 2, 1)
        ratio = np.where(positive[:, None, None], form / np.where(gram > 1e-9, gram, 1.0), np.inf)
        best = np.minimum(best, ratio.max(axis=(1, 2)))
    return best
