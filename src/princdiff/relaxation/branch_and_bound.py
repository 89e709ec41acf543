"""Branch and bound over sparse directions, to prove how good the best with at most k features can be.

The directions are cut into cones by their heaviest features in the order of their weights (cone_bounds.py).
A cone whose bound does not exceed the best value known, by more than a tolerance, is done with. Any other is
cut: where its members without a tail may be too good, through the middle of its longest edge; otherwise by
which feature comes next, leaving out those that are proved to lead nowhere. The cones with the highest bounds
are judged first, many at once, so the bound over all of them only falls, and can be had at any time.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np
import numpy.typing as npt

from princdiff.relaxation.aimed_plans import AimedPlans
from princdiff.relaxation.cone_bounds import Cones, FixedPlans, Judged, judge
from princdiff.relaxation.group_rows import GroupRows

Array = npt.NDArray[Any]

__all__ = ["BranchAndBound", "Progress"]

_BATCH = 1024  # cones judged together, at most
_NUMBERS = 1_000_000  # numbers that a batch may hold
_PART = 4096  # cones in a part of the heap, at most
_PARENTS = 32  # cones that are given their next feature together
_MOST_OPEN = 60_000_000  # entries of the tails of open cones, at most: memory
_OVERHEAD = 8000.0  # numbers that could be touched in the time a cone takes beyond its own
_MOST_MATRICES = 16_000_000  # entries of W of plans that are kept, at most: memory
_SMALLEST = 1e-9  # of the largest conceivable value: below, differences are rounding


@dataclass(frozen=True)
class Progress:
    """Where the search for a proof stands.

    Attributes
    ----------
    upper : float
        No admissible direction is above, in squares of the rows' unit.
    value : float
        The best value met.
    proved : bool
        Whether no cone is left: ``upper`` is then within the tolerance of ``value``.
    n_plans : int
        Cones judged so far, a plan each.
    n_excluded : int
        Features that are in no direction better than ``value`` by more than the tolerance, as the first
        plans prove already.
    """

    upper: float
    value: float
    proved: bool
    n_plans: int
    n_excluded: int


class BranchAndBound:
    """Upper bound on the divergence over unit directions with at most k features.

    Parameters
    ----------
    rows : GroupRows
        Two groups or more.
    k : int
        Features allowed.
    direction : ndarray of shape (n_columns,)
        A direction with at most k features: the better, the sooner cones are done with. Zeros: none is known.
    tol : float
        Relative distance between bound and best value at which to stop.

    Attributes
    ----------
    value : float
        The best value met.
    direction : ndarray of shape (n_columns,)
        Where it was met.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 4))
    >>> y = np.repeat([0, 1], 50)
    >>> X[y == 1, :2] += 2
    >>> search = BranchAndBound(GroupRows.from_rows(X, y), 2, np.array([1.0, 1.0, 0.0, 0.0]))
    >>> progress = search.run(1e9)
    >>> progress.proved, bool(progress.upper <= 1.011 * progress.value)
    (True, True)
    """

    def __init__(self, rows: GroupRows, k: int, direction: Array, tol: float = 0.01) -> None:
        self._rows, self._k, self._tol = rows, min(k, rows.n_features), tol
        self._fixed, self._aimed = FixedPlans(rows.n_features), AimedPlans(rows)
        self._numbers: dict[tuple[int, ...], int] = {}
        self._n_plans = self._n_excluded = 0
        self.work = 0.0
        self._heap: list[tuple[float, int, Cones, Array | None]] = []
        self._number = count()  # breaks ties in the heap, which cannot compare arrays
        self._entries = 0
        self._roof = self._limit = np.inf
        self._stop: Callable[[], bool] = lambda: False
        d = rows.n_features
        self.value, self.direction = 0.0, np.asarray(direction, dtype=np.float64)
        if d == 0:
            self._settled = 0.0
            return
        self._see(rows.coordinates(self.direction))
        # The trace of the heaviest block of the product plan, in units of length.
        heaviest = np.sort(np.diag(rows.product_plan) / rows.metric)[::-1][: self._k].sum()
        self._settled = max(self.value * (1 + tol), _SMALLEST * heaviest)
        first = Cones(
            np.full(d, heaviest),
            np.arange(d)[:, None],
            np.ones((d, 1, 1)),
            ~np.eye(d, dtype=bool),
            np.full(d, -1),
        )
        self._add(first)

    def add_plan(self, matrix: Array) -> None:
        """Use W of a feasible plan, in the rows' coordinates, for cones that their own does not close."""
        self._fixed.common = self._fixed.add(matrix)

    def lower_roof(self, bound: float) -> None:
        """Use an upper bound on all admissible directions that comes from elsewhere."""
        self._roof = min(self._roof, bound)

    @property
    def finished(self) -> bool:
        """Whether the proof is complete."""
        return self._progress().proved

    @property
    def first_step(self) -> float:
        """Work to judge every feature once: below, nothing is gained."""
        return self._rows.n_features * self._cost(1)

    def run(self, work: float, stop: Callable[[], bool] = lambda: False) -> Progress:
        """Go on until the proof is complete, the work is done, or ``stop`` says so.

        Parameters
        ----------
        work : float
            Numbers that may be touched in all, runs before this one included; about 2e8 a second.
        stop : callable
            Asked before every batch.

        Returns
        -------
        Progress
        """
        self._limit, self._stop = work, stop
        while self.work < work and self._entries < _MOST_OPEN and not stop():
            batch = self._next() if self._roof > self._level() else None
            if batch is None:
                break
            self._judge(batch)
        return self._progress()

    def _cost(self, size: int) -> float:
        """Numbers that one cone touches, about."""
        d, n_tail = self._rows.n_features, self._k - size
        cost = _OVERHEAD + self._rows.length * ((d if n_tail else size) + 8.0)
        if n_tail:
            cost += 6.0 * size * (size + 1) * d
        if n_tail > 1:
            cost += d * d * (self._rows.length / 30.0 + 2.0)
        return cost

    def _level(self) -> float:
        self._settled = max(self._settled, self.value * (1 + self._tol))
        return self._settled

    def _see(self, coordinates: Array) -> None:
        support = np.flatnonzero(coordinates)
        if len(support):
            gaps = self._rows.gaps(support[None], coordinates[support][None])[0]
            self.value = float(((gaps @ coordinates[support]) ** 2).sum())
            # without weights on constant features, which lengthen it for nothing
            self.direction = self._rows.embed(support, coordinates[support])

    # The open cones: parts of a heap, each with cones of one size, the part with the highest bound on top.

    def _add(self, cones: Cones, allowed: Array | None = None) -> None:
        for start in range(0, len(cones), _PART):
            index = np.arange(start, min(start + _PART, len(cones)))
            part = cones.take(index)
            self._store(part, None if allowed is None else allowed[index])

    def _store(self, part: Cones, allowed: Array | None) -> None:
        self._entries += part.tail.size
        heapq.heappush(self._heap, (-float(part.roof.max()), next(self._number), part, allowed))

    def _next(self) -> Cones | None:
        """The cones with about the highest bounds, of one size, so that they can be judged together."""
        level = self._level()
        batch: list[Cones] = []
        missing = 1
        while self._heap and -self._heap[0][0] > level and missing > 0:
            if batch and self._heap[0][2].size != batch[0].size:
                break
            _, _, part, allowed = heapq.heappop(self._heap)
            self._entries -= part.tail.size
            if allowed is not None:
                self._add(_with_next_feature(part, allowed))
                continue
            part = part.take(np.flatnonzero(part.roof > level))
            if not batch:
                missing = self._batch(part.size)
            if len(part) > missing:
                order = np.argpartition(-part.roof, missing)
                self._store(part.take(order[missing:]), None)
                part = part.take(order[:missing])
            batch.append(part)
            missing -= len(part)
        return Cones.joined(batch) if batch else None

    def _batch(self, size: int) -> int:
        """Cones to judge together."""
        width = self._rows.n_features if size < self._k else size
        room = min(_NUMBERS // (self._rows.length * width), _BATCH)
        affordable = (self._limit - self.work) / self._cost(size)
        return int(np.clip(min(room, affordable), 4, _BATCH))

    # Judging.

    def _judge(self, cones: Cones) -> None:
        size, n_tail = cones.size, self._k - cones.size
        judged = judge(self._rows, cones, n_tail, self._level(), self._fixed)
        self._n_plans += len(cones)
        self.work += len(cones) * self._cost(size)
        best = int(judged.value.argmax())
        if judged.value[best] > self.value:
            self.value = float(judged.value[best])
            self.direction = self._rows.embed(cones.support[best], judged.middle[best])
        if size == 1:
            self._exclude(cones, judged)
        left = Cones(
            judged.bound, cones.support, cones.generators, np.asarray(judged.allowed.any(axis=2)), cones.plan
        )
        over = judged.bound > self._level()
        cut = over & (judged.core > self._level()) if n_tail else over
        if size == 1:
            cut = np.zeros_like(over)
        self._add(_halves(left.take(np.flatnonzero(cut)), self._rows.metric))
        if n_tail:
            grown = np.flatnonzero(over & ~cut)
            self._grow(left.take(grown), judged.allowed[grown])

    def _grow(self, cones: Cones, allowed: Array) -> None:
        """Keep cones that are to be given their next feature, those that a plan aimed at them leaves open."""
        n_tail = self._k - cones.size
        aimed = self._with_aimed_plans(cones, allowed)
        fresh = np.flatnonzero(aimed.plan != cones.plan)
        if len(fresh):
            part = aimed.take(fresh)
            again = judge(self._rows, part, n_tail, self._level(), self._fixed, own=False)
            allowed[fresh] &= again.allowed
            aimed.roof[fresh] = again.bound
            aimed.tail[fresh] &= again.allowed.any(axis=2)
        left = np.flatnonzero(aimed.roof > self._level())
        # few parents at a time, since each has up to twice as many children as there are features
        for start in range(0, len(left), _PARENTS):
            some = left[start : start + _PARENTS]
            self._store(aimed.take(some), allowed[some])

    def _with_aimed_plans(self, cones: Cones, allowed: Array) -> Cones:
        """The cones with plans of their own, where those cost less than judging all children."""
        aimed = cones.take(np.arange(len(cones)))
        children = allowed.sum(axis=(1, 2)) * self._cost(cones.size + 1)
        room = _MOST_MATRICES // self._rows.n_features**2
        if not self._aimed.available:
            return aimed
        for i in np.flatnonzero(children > self._aimed.cost):
            signs = np.sign(cones.generators[i].sum(axis=0))
            key = _key(cones.support[i], signs)
            if key not in self._numbers:
                if self._fixed.count >= room or self.work >= self._limit or self._stop():
                    break
                self._numbers[key] = self._fixed.add(self._aimed.matrix(cones.support[i], signs))
                self.work += self._aimed.cost
            aimed.plan[i] = self._numbers[key]
        return aimed

    def _exclude(self, cones: Cones, judged: Judged) -> None:
        """Count the features that no cone of the first round leaves open."""
        over = judged.bound > self._level()
        alive = np.asarray(judged.allowed[over].any(axis=(0, 2)))
        alive[cones.support[over, 0]] = True
        if len(cones) == self._rows.n_features:
            self._n_excluded = int((~alive).sum()) + self._rows.n_columns - self._rows.n_features

    def _progress(self) -> Progress:
        level = self._level()
        highest = min(-self._heap[0][0] if self._heap else -np.inf, self._roof)
        return Progress(max(level, highest), self.value, highest <= level, self._n_plans, self._n_excluded)


def _halves(cones: Cones, metric: Array) -> Cones:
    """Cut every cone through the middle of its longest edge."""
    v, size = cones.generators, cones.size
    if len(cones) == 0:
        return cones
    gram = np.einsum("crp,cp,csp->crs", v, metric[cones.support], v)
    length = np.sqrt(gram[:, np.arange(size), np.arange(size)])
    cosine = gram / length[:, :, None] / length[:, None, :]
    cosine[:, np.arange(size), np.arange(size)] = np.inf
    i, j = np.divmod(np.argmin(cosine.reshape(len(cones), -1), axis=1), size)
    each = np.arange(len(cones))
    middle = v[each, i] / length[each, i, None] + v[each, j] / length[each, j, None]
    parts = []
    for end in (i, j):
        generators = v.copy()
        generators[each, end] = middle
        parts.append(Cones(cones.roof, cones.support, generators, cones.tail, cones.plan))
    return Cones.joined(parts)


def _with_next_feature(cones: Cones, allowed: Array) -> Cones:
    """Every cone with every feature that may come next, with either sign.

    The members are pairs of a member u of the old cone and a weight x between 0 and the size of u's last
    coordinate: a prism over the old generators, cut into simplices in the usual way. Generator i
    appears at the floor of the prism up to some place and at its ceiling from there on.
    """
    size = cones.size
    which, feature, negative = np.nonzero(allowed)
    parents = cones.take(which)
    support = np.concatenate([parents.support, feature[:, None]], axis=1)
    tail = parents.tail.copy()
    tail[np.arange(len(which)), feature] = False
    height = np.abs(parents.generators[:, :, -1])
    sign = np.where(negative == 0, 1.0, -1.0)[:, None]
    parts = []
    for place in range(size):
        # a ceiling that is the floor gives a simplex without volume
        some = np.flatnonzero(height[:, place] > 0)
        generators = np.zeros((len(some), size + 1, size + 1))
        generators[:, : place + 1, :size] = parents.generators[some, : place + 1]
        generators[:, place + 1 :, :size] = parents.generators[some, place:]
        generators[:, place + 1 :, size] = height[some, place:] * sign[some]
        parts.append(Cones(parents.roof[some], support[some], generators, tail[some], parents.plan[some]))
    return Cones.joined(parts)


def _key(support: Array, signs: Array) -> tuple[int, ...]:
    """Features and signs of a direction with equal weights, the same for its opposite."""
    order = np.argsort(support)
    return tuple(int(s) for s in (support[order] + 1) * signs[order] * signs[order[0]])
