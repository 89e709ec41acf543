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

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from princdiff.relaxation.group_rows import GroupRows

Array = npt.NDArray[Any]

__all__ = ["Cones", "FixedPlan", "Judged", "judge"]

# Products of the tail are summed in single precision: off by no more than this share of the largest.
_SINGLE = 2e-5
# Shares of the plan along the cone's own middle in mixtures with a plan for all directions.
_MIXTURES = (0.5, 0.0)


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
    """

    roof: Array
    support: Array
    generators: Array
    tail: Array

    def __len__(self) -> int:
        return len(self.roof)

    @property
    def size(self) -> int:
        """Features that are known."""
        return int(self.support.shape[1])

    def take(self, index: Array) -> Cones:
        """Some of the cones."""
        return Cones(self.roof[index], self.support[index], self.generators[index], self.tail[index])

    @staticmethod
    def joined(parts: list[Cones]) -> Cones:
        """All cones of a list, which have the same number of features."""
        return Cones(
            np.concatenate([part.roof for part in parts]),
            np.concatenate([part.support for part in parts]),
            np.concatenate([part.generators for part in parts]),
            np.concatenate([part.tail for part in parts]),
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
        Divergence along the middle of each cone.
    middle : ndarray of shape (c, p)
        Coordinates of that direction.
    """

    bound: Array
    core: Array
    allowed: Array
    value: Array
    middle: Array


class FixedPlan:
    """W (d, d) of one plan, which bounds all cones."""

    def __init__(self, matrix: Array) -> None:
        self.matrix = matrix
        self._rows: dict[int, Array] = {}

    def rows(self, n_tail: int) -> Array:
        """Gershgorin's bounds on tails of so many features, shape (d,)."""
        if n_tail not in self._rows:
            every = np.ones((1, len(self.matrix)), dtype=bool)
            self._rows[n_tail] = _row_sums(np.abs(self.matrix)[None].copy(), every, n_tail)[0]
        return self._rows[n_tail] + np.diag(self.matrix)


@dataclass(frozen=True)
class _Forms:
    """W on pairs of generators, between generators and features, and bounds on squares of the tail."""

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


def judge(rows: GroupRows, cones: Cones, n_tail: int, level: float, fixed: list[FixedPlan]) -> Judged:
    """Bound every cone by the plan along its middle, and by mixtures of it with fixed plans.

    Parameters
    ----------
    rows : GroupRows
    cones : Cones
        Their tails must not hold features of their supports.
    n_tail : int
        Features that a tail may have.
    level : float
        Cones that do not exceed it are done with.
    fixed : list of FixedPlan

    Returns
    -------
    Judged
    """
    own, value, middle = _own_forms(rows, cones, n_tail)
    geometry = _Geometry(rows, cones, n_tail)
    bound, core, allowed = geometry.bounds(own, level)
    for plan in fixed:
        for share in _MIXTURES:
            open_ = np.flatnonzero(bound > level)
            if len(open_) == 0:
                break
            part = cones.take(open_)
            forms = own.take(open_).mixed(_fixed_forms(plan, part, n_tail), share)
            found = _Geometry(rows, part, n_tail).bounds(forms, level)
            bound[open_] = np.minimum(bound[open_], found[0])
            core[open_] = np.minimum(core[open_], found[1])
            allowed[open_] &= found[2]
    return Judged(bound, core, allowed, value, middle)


def _own_forms(rows: GroupRows, cones: Cones, n_tail: int) -> tuple[_Forms, Array, Array]:
    """Forms of the plan along the middle of each cone, the divergence there, and the middle."""
    support, count, size = cones.support, len(cones), cones.size
    middle = cones.generators.sum(axis=1)
    middle /= np.sqrt((middle**2 * rows.metric[support]).sum(axis=1, keepdims=True))
    gaps = rows.gaps(support, middle, inside=n_tail == 0)
    inner = gaps
    if n_tail:
        at = np.broadcast_to(support[:, None, :], (count, gaps.shape[1], size))
        inner = np.take_along_axis(gaps, at, axis=2)
    value = ((inner @ middle[:, :, None]) ** 2).sum(axis=(1, 2))
    along = inner @ cones.generators.transpose(0, 2, 1)
    turned = along.transpose(0, 2, 1)
    if n_tail == 0:
        empty = np.zeros((count, size, 0)), np.zeros((count, 0))
        return _Forms(turned @ along, *empty), value, middle
    squares = np.einsum("cld,cld->cd", gaps, gaps)
    if n_tail > 1:
        single = gaps.astype(np.float32)
        products = np.abs(single.transpose(0, 2, 1) @ single)
        rounding = _SINGLE * (n_tail - 1) * np.sqrt(squares * squares.max(axis=1, keepdims=True))
        squares = squares + _row_sums(products, cones.tail, n_tail) + rounding
    return _Forms(turned @ along, turned @ gaps, squares), value, middle


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


def _fixed_forms(plan: FixedPlan, cones: Cones, n_tail: int) -> _Forms:
    cross = np.einsum("crp,cpd->crd", cones.generators, plan.matrix[cones.support])
    at = np.broadcast_to(cones.support[:, None, :], (len(cones), cones.size, cones.size))
    pairs = np.take_along_axis(cross, at, axis=2) @ cones.generators.transpose(0, 2, 1)
    if n_tail == 0:
        return _Forms(pairs, cross[:, :, :0], np.zeros((len(cones), 0)))
    return _Forms(pairs, cross, np.broadcast_to(plan.rows(n_tail), (len(cones), cross.shape[2])))


class _Geometry:
    """Pairs of generators of a batch of cones, and what their tails may reach."""

    def __init__(self, rows: GroupRows, cones: Cones, n_tail: int) -> None:
        self.cones, self.n_tail, self.metric = cones, n_tail, rows.metric
        self.i, self.j = np.triu_indices(cones.size)
        v = cones.generators
        gram = np.einsum("crp,cp,csp->crs", v, rows.metric[cones.support], v)
        self.norms = gram[:, self.i, self.j]
        tau = np.abs(v[:, :, -1])
        self.tau_i, self.tau_j = tau[:, self.i, None], tau[:, self.j, None]

    def bounds(self, forms: _Forms, level: float) -> tuple[Array, Array, Array]:
        """Bound, bound without tails, and the features a tail above the level may have."""
        pairs = forms.pairs[:, self.i, self.j]
        core = np.minimum((pairs / self.norms).max(axis=1), self.cones.roof)
        count, d = len(pairs), self.cones.tail.shape[1]
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
        bend = (self.tau_i * self.tau_j)[some] * (squares[:, None, :] - level[:, None, None] * self.metric)
        with np.errstate(divide="ignore", invalid="ignore"):
            crest = slope * slope / (-4.0 * bend)
        gains = np.where((bend < 0) & (slope < -2.0 * bend), crest, slope + bend)
        return np.asarray(np.maximum(gains, 0.0) * self.cones.tail[some][:, None, :])

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
        return np.stack([own.any(axis=1) & self.cones.tail[some] for own in reach], axis=2)
