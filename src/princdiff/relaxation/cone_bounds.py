"""Upper bounds on the divergence over cones of sparse directions.

A cone holds the directions whose p heaviest features, in the order of their weight, are known, with signs;
up to q more features, the tail, weigh no more than the lightest of these. Its members are

    b = sum_i c_i (v_i + tau_i w),    c_i >= 0,  |w_l| <= 1,  at most q of the w_l are not zero,

with generators v_i on the p features and tau_i the size of their last coordinate. For the W of any plan
both b'Wb and b'b are sums over pairs of generators with non-negative weights, so their ratio is at most the
largest ratio of a pair, and for a pair the best w is a sum over single features once the products in the
tail are bounded by squares (Gershgorin). So a level is an upper bound on a cone if no pair reaches it.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from princdiff.relaxation.group_rows import GroupRows

Array = npt.NDArray[Any]

__all__ = ["Cones", "FixedPlans", "Judged", "judge"]

# Products of the tail are summed in single precision: off by no more than this share of the largest.
_SINGLE = 2e-5
# Share of the plan along the cone's own middle in mixtures with others.
_MIXTURE = 0.5


@dataclass(frozen=True)
class Cones:
    """A batch of cones with the same number of features.

    Attributes
    ----------
    roof : ndarray of shape (c,)
        Upper bounds known so far.
    support : ndarray of int, shape (c, p)
        Features by falling weight.
    generators : ndarray of shape (c, p, p)
        A generator per row, on the support.
    tail : ndarray of bool, shape (c, d)
        Features that may come in.
    plan : ndarray of int, shape (c,)
        The plan among `FixedPlans` that was made for them or what they came from; -1: none.
    """

    roof: Array
    support: Array
    generators: Array
    tail: Array
    plan: Array

    def __len__(self) -> int:
        return len(self.roof)

    @property
    def size(self) -> int:
        """Features that are known."""
        return int(self.support.shape[1])

    def take(self, index: Array) -> Cones:
        """Some of the cones."""
        parts = (self.roof, self.support, self.generators, self.tail, self.plan)
        return Cones(*(part[index] for part in parts))

    @staticmethod
    def joined(parts: list[Cones]) -> Cones:
        """All cones of a list, which have the same number of features."""
        return Cones(
            np.concatenate([part.roof for part in parts]),
            np.concatenate([part.support for part in parts]),
            np.concatenate([part.generators for part in parts]),
            np.concatenate([part.tail for part in parts]),
            np.concatenate([part.plan for part in parts]),
        )


@dataclass(frozen=True)
class Judged:
    """What is known of a batch of cones.

    Attributes
    ----------
    bound : ndarray of shape (c,)
        No member is above, or above the level where that is higher.
    core : ndarray of shape (c,)
        The same for members without a tail.
    allowed : ndarray of bool, shape (c, d, 2)
        Features that members above the level may have in their tail, with a positive or a negative weight.
    value : ndarray of shape (c,)
        Divergence along the middle of each cone, where it was looked at; otherwise zero.
    middle : ndarray of shape (c, p)
        Coordinates of that direction.
    """

    bound: Array
    core: Array
    allowed: Array
    value: Array
    middle: Array

    def improve(self, index: Array, found: tuple[Array, Array, Array]) -> None:
        """Take in bounds, bounds without tails and features of other plans for some of the cones."""
        self.bound[index] = np.minimum(self.bound[index], found[0])
        self.core[index] = np.minimum(self.core[index], found[1])
        self.allowed[index] &= found[2]


class FixedPlans:
    """W (d, d) of plans that bound many cones each.

    Attributes
    ----------
    count : int
        Plans so far; they are numbered from 0.
    common : int
        One that is tried on all cones; -1: none.
    """

    def __init__(self, d: int) -> None:
        self._matrices = np.zeros((0, d, d))
        self.count = 0
        self.common = -1

    def add(self, matrix: Array) -> int:
        """Keep W of a plan; its number."""
        if self.count == len(self._matrices):
            room = np.zeros((max(4, self.count), *matrix.shape))
            self._matrices = np.concatenate([self._matrices, room])
        self._matrices[self.count] = matrix
        self.count += 1
        return self.count - 1

    def forms(self, which: Array, geometry: _Geometry) -> _Forms:
        """Forms of a plan for each cone."""
        cones, index = geometry.cones, geometry.index
        between = self._matrices[which[:, None], cones.support]
        at = np.broadcast_to(cones.support[:, None, :], (len(cones), cones.size, cones.size))
        within = np.take_along_axis(between, at, axis=2)
        pairs = cones.generators @ within @ cones.generators.transpose(0, 2, 1)
        cross = cones.generators @ geometry.of_tail(between)
        squares = self._matrices[which[:, None], index, index]
        if geometry.n_tail > 1:
            tail = np.abs(self._matrices[which[:, None, None], index[:, :, None], index[:, None, :]])
            squares = squares + _row_sums(tail, geometry.tail, geometry.n_tail)
        return _Forms(pairs, cross, squares)


@dataclass(frozen=True)
class _Forms:
    """W on pairs of generators, between them and features of the tail, and bounds on the tail's squares."""

    pairs: Array
    cross: Array
    rows: Array

    def mixed(self, other: _Forms, share: float) -> _Forms:
        """The same for a mixture of both plans."""
        rest = 1.0 - share
        return _Forms(
            share * self.pairs + rest * other.pairs,
            share * self.cross + rest * other.cross,
            share * self.rows + rest * other.rows,
        )

    def take(self, index: Array) -> _Forms:
        return _Forms(self.pairs[index], self.cross[index], self.rows[index])


def judge(
    rows: GroupRows, cones: Cones, n_tail: int, level: float, fixed: FixedPlans, own: bool = True
) -> Judged:
    """Bound every cone by plans at hand, by the plan along its middle, and by mixtures of both.

    Parameters
    ----------
    rows : GroupRows
    cones : Cones
        Their tails must not hold features of their supports.
    n_tail : int
        Features that a tail may have.
    level : float
        Cones that do not exceed it are done with.
    fixed : FixedPlans
        The one that each cone has, and the common one, are tried.
    own : bool
        Whether to make the plan along the middle, for cones that the others do not close.

    Returns
    -------
    Judged
    """
    count, size = len(cones), cones.size
    found = Judged(
        cones.roof.copy(),
        cones.roof.copy(),
        np.repeat(cones.tail[:, :, None], 2, axis=2) & (n_tail > 0),
        np.zeros(count),
        np.zeros((count, size)),
    )
    choices = [cones.plan, np.full(count, fixed.common)]
    for which in choices:
        open_ = np.flatnonzero((found.bound > level) & (which >= 0))
        if len(open_):
            geometry = _Geometry(rows, cones.take(open_), n_tail)
            found.improve(open_, geometry.bounds(fixed.forms(which[open_], geometry), level))
    open_ = np.flatnonzero(found.bound > level)
    if not own or len(open_) == 0:
        return found
    part = replace(cones.take(open_), tail=np.asarray(found.allowed[open_].any(axis=2)))
    geometry = _Geometry(rows, part, n_tail)
    forms, found.value[open_], found.middle[open_] = _own_forms(rows, geometry)
    found.improve(open_, geometry.bounds(forms, level))
    for which in choices:
        left = np.flatnonzero((found.bound[open_] > level) & (which[open_] >= 0))
        if len(left):
            some = geometry.take(left)
            mixed = forms.take(left).mixed(fixed.forms(which[open_[left]], some), _MIXTURE)
            found.improve(open_[left], some.bounds(mixed, level))
    return found


def _own_forms(rows: GroupRows, geometry: _Geometry) -> tuple[_Forms, Array, Array]:
    """Forms of the plan along the middle of each cone, the divergence there, and the middle."""
    cones, n_tail = geometry.cones, geometry.n_tail
    middle = cones.generators.sum(axis=1)
    length = np.sqrt((middle**2 * rows.metric[cones.support]).sum(axis=1, keepdims=True))
    middle /= length
    if n_tail == 0:
        along = rows.gaps(cones.support, middle) @ cones.generators.transpose(0, 2, 1)
        pairs = along.transpose(0, 2, 1) @ along
        none = np.zeros((len(cones), cones.size, 0)), np.zeros((len(cones), 0))
        return _Forms(pairs, *none), _along_sum(pairs, length), middle
    pairs, cross, squares, gaps = rows.forms(cones.support, middle, cones.generators, n_tail > 1)
    rounding = np.sqrt(squares.max(axis=1, keepdims=True))
    squares = geometry.of_tail(squares[:, None, :])[:, 0]
    if gaps is not None:
        gaps = geometry.of_tail(gaps)
        products = np.abs(gaps.transpose(0, 2, 1) @ gaps)
        rounding = _SINGLE * (n_tail - 1) * np.sqrt(squares) * rounding
        squares = squares + _row_sums(products, geometry.tail, n_tail) + rounding
    return _Forms(pairs, geometry.of_tail(cross), squares), _along_sum(pairs, length), middle


def _along_sum(pairs: Array, length: Array) -> Array:
    """The divergence along the sum of the generators, whose length is given."""
    return np.asarray(pairs.sum(axis=(1, 2)) / length[:, 0] ** 2)


def _row_sums(sizes: Array, tail: Array, n_tail: int) -> Array:
    """Sum of the n_tail - 1 largest products of each feature with others of the tail, shape (c, d)."""
    d = sizes.shape[1]
    sizes *= tail[:, None, :]
    sizes[:, np.arange(d), np.arange(d)] = 0
    count = min(n_tail - 1, d)
    if count == 0:
        return np.zeros(sizes.shape[:2])
    if count == 1:
        return np.asarray(sizes.max(axis=2), dtype=np.float64)
    return _largest(sizes, count).sum(axis=2, dtype=np.float64)


def _largest(values: Array, count: int) -> Array:
    """The ``count`` largest along the last axis, in no order; all where there are fewer."""
    d = values.shape[-1]
    if count >= d:
        return values
    return np.partition(values, d - count, axis=-1)[..., d - count :]


class _Geometry:
    """Pairs of generators of a batch of cones, and what their tails may reach.

    Tails are listed: ``index`` (c, t) has the features of each, ``tail`` (c, t) says which entries of a
    list are meant, since all are as long as the longest.
    """

    def __init__(self, rows: GroupRows, cones: Cones, n_tail: int) -> None:
        self.cones, self.n_tail, self.rows = cones, n_tail, rows
        longest = max(1, int(cones.tail.sum(axis=1).max(initial=0))) if n_tail else 0
        self.index = np.argsort(~cones.tail, axis=1, kind="stable")[:, :longest]
        self.tail = np.take_along_axis(cones.tail, self.index, axis=1)
        self.metric = rows.metric[self.index]
        self.i, self.j = np.triu_indices(cones.size)
        v = cones.generators
        gram = np.einsum("crp,cp,csp->crs", v, rows.metric[cones.support], v)
        self.norms = gram[:, self.i, self.j]
        tau = np.abs(v[:, :, -1])
        self.tau_i, self.tau_j = tau[:, self.i, None], tau[:, self.j, None]

    def take(self, some: Array) -> _Geometry:
        """Some of the cones."""
        part = copy(self)
        part.cones = self.cones.take(some)
        for name in ("index", "tail", "metric", "norms", "tau_i", "tau_j"):
            setattr(part, name, getattr(self, name)[some])
        return part

    def of_tail(self, values: Array) -> Array:
        """The entries of the tail's features, of values (c, r, d)."""
        at = np.broadcast_to(self.index[:, None, :], (*values.shape[:2], self.index.shape[1]))
        return np.take_along_axis(values, at, axis=2)

    def bounds(self, forms: _Forms, level: float) -> tuple[Array, Array, Array]:
        """Bound, bound without tails, and the features a tail above the level may have."""
        pairs = forms.pairs[:, self.i, self.j]
        core = np.minimum((pairs / self.norms).max(axis=1), self.cones.roof)
        count, d = self.cones.tail.shape
        if self.n_tail == 0:
            return core, core, np.zeros((count, d, 2), dtype=bool)
        slope = self.tau_j * forms.cross[:, self.i] + self.tau_i * forms.cross[:, self.j]
        at_level = np.full(count, level)
        either = self._gains(np.abs(slope), forms.rows, at_level)
        base = pairs - level * self.norms
        excess = (base + _largest(either, self.n_tail).sum(axis=2)).max(axis=1)
        over = excess > 0
        bound = np.where(over, self.cones.roof, np.minimum(level, self.cones.roof))
        allowed = np.zeros((count, d, 2), dtype=bool)
        if over.any():
            bound[over] = self._chord(forms, np.abs(slope), excess, over, level)
            allowed[over] = self._allowed(forms, slope, either, base, over, level)
        return bound, core, allowed

    def _gains(self, slope: Array, squares: Array, level: Array, some: Any = slice(None)) -> Array:
        """The most that each feature of the tail adds to b'Wb - level b'b, shape (c, pairs, d)."""
        excess = squares[:, None, :] - level[:, None, None] * self.metric[some][:, None, :]
        bend = (self.tau_i * self.tau_j)[some] * excess
        with np.errstate(divide="ignore", invalid="ignore"):
            crest = slope * slope / (-4.0 * bend)
        gains = np.where((bend < 0) & (slope < -2.0 * bend), crest, slope + bend)
        return np.asarray(np.maximum(gains, 0.0) * self.tail[some][:, None, :])

    def _chord(self, forms: _Forms, slope: Array, excess: Array, over: Array, level: float) -> Array:
        """A better bound than the roof: the excess is convex in the level, so a chord's zero is safe."""
        some = np.flatnonzero(over)
        forms, slope = forms.take(some), slope[some]
        pairs, norms = forms.pairs[:, self.i, self.j], self.norms[some]
        high = self.cones.roof[some]
        for _ in range(2):
            gains = self._gains(slope, forms.rows, high, some)
            below = (pairs - high[:, None] * norms + _largest(gains, self.n_tail).sum(axis=2)).max(axis=1)
            zero = level + (high - level) * excess[some] / (excess[some] - below)
            # rounding of the chord itself
            high = np.where(below < 0, np.minimum(zero * (1 + 1e-12), high), high)
        return high

    def _allowed(
        self, forms: _Forms, slope: Array, either: Array, base: Array, over: Array, level: float
    ) -> Array:
        """Features that can be in a tail above the level: with the best company they get there."""
        some = np.flatnonzero(over)
        either, base = either[some], base[some][:, :, None]
        top = _largest(either, self.n_tail)
        total, least = top.sum(axis=2)[:, :, None], top.min(axis=2)[:, :, None]
        company = total - np.where(either >= least, either, least)
        at_level = np.full(len(some), level)
        signs = [
            self._gains(np.maximum(sign * slope[some], 0.0), forms.rows[some], at_level, some)
            for sign in (1.0, -1.0)
        ]
        # a margin, since sums in another order differ in their last digits
        reach = [base + gains + company > -1e-12 * np.abs(base) for gains in signs]
        allowed = np.zeros((len(some), self.cones.tail.shape[1], 2), dtype=bool)
        for sign, own in enumerate(reach):
            np.put_along_axis(
                allowed[:, :, sign], self.index[some], own.any(axis=1) & self.tail[some], axis=1
            )
        return allowed
