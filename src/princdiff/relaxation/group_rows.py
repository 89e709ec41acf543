"""Rows of two or more groups, prepared to ask for the plan along many directions at once.

For any joint plan of the groups, the average squared distance between its matched rows, projected on b, is a
quadratic form b'Wb that no choice of b can bring below the divergence; along the direction whose ranks made
the plan, both are equal. With two groups W is the paper's W_M. With more, the divergence is the average over
pairs weighted by the product of their shares, and W the same average: docs/explanation/relaxation.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from princdiff.divergences.wasserstein import staircase
from princdiff.kernels.matched_rows import PlanForms, Plans, forms_of_gaps, matched_forms
from princdiff.relaxation.two_groups import group_members

Array = npt.NDArray[Any]

__all__ = ["GroupRows"]

_CONSTANT = 1e-15  # share of the largest deviation below which a feature adds less than rounding


@dataclass(frozen=True)
class GroupRows:
    """Rows of every group about their group's mean, each feature in a unit of its own.

    Coordinates are those of the scaled features: a direction b of the data has coordinates
    ``b * scale`` here, and its squared length is the sum of ``metric`` times their squares. Values are in
    squares of ``unit``.

    Attributes
    ----------
    rows : tuple of ndarray of shape (n_g, d)
    weights : tuple of ndarray of shape (n_g,)
        Weights of the rows, positive, with sum one in each group.
    shares : ndarray of shape (n_groups,)
        Share of each group.
    between : ndarray of shape (s, d)
        Rows whose Gram matrix is the part of W that comes from the means.
    scale : ndarray of shape (d,)
        Units of the features.
    columns : ndarray of int, shape (d,)
        The columns of the data that vary.
    n_columns : int
        Columns of the data.
    unit : float
        The global scale; values are multiplied by ``unit ** 2`` to come back.
    """

    rows: tuple[Array, ...]
    weights: tuple[Array, ...]
    shares: Array
    between: Array
    scale: Array
    columns: Array
    n_columns: int
    unit: float

    @classmethod
    def from_rows(cls, X: Any, y: Any, sample_weight: Any = None) -> GroupRows:
        """Prepare pooled rows, which have been checked.

        Parameters
        ----------
        X : array or scipy sparse matrix of shape (N, d)
        y : array of shape (N,)
            Labels, two distinct values or more.
        sample_weight : array of shape (N,), optional
            Non-negative; rows of weight zero are left out.

        Examples
        --------
        >>> rows = GroupRows.from_rows(np.array([[0.0, 1.0], [2.0, 1.0], [5.0, 1.0]]), [0, 0, 1])
        >>> rows.columns, rows.n_groups
        (array([0]), 2)
        """
        dense = X.toarray() if sparse.issparse(X) else np.asarray(X)
        dense = dense.astype(np.float64)
        labels = np.asarray(y)
        members, weights = group_members(labels, sample_weight)
        mass = np.array([own.sum() for own in weights])
        shares = mass / mass.sum()
        weights = [own / own.sum() for own in weights]
        middle = sum(
            share * (own @ dense[at]) for share, own, at in zip(shares, weights, members, strict=True)
        )
        groups = [dense[at] - middle for at in members]
        unit = max((float(np.abs(group).max(initial=0.0)) for group in groups), default=0.0) or 1.0
        groups = [group / unit for group in groups]
        means = np.array([own @ group for own, group in zip(weights, groups, strict=True)])
        groups = [group - mean for group, mean in zip(groups, means, strict=True)]
        between = _between(means, shares)
        variance = sum(
            pair * (own @ group**2)
            for pair, own, group in zip(_pair_weights(shares), weights, groups, strict=True)
        )
        deviation = np.sqrt(variance + (between**2).sum(axis=0))
        columns = np.flatnonzero(deviation > _CONSTANT * max(deviation.max(initial=0.0), 1e-300))
        scale = deviation[columns] / np.sqrt(2)
        return cls(
            tuple(np.ascontiguousarray(group[:, columns] / scale) for group in groups),
            tuple(weights),
            shares,
            between[:, columns] / scale,
            scale,
            columns,
            dense.shape[1],
            unit,
        )

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return len(self.rows)

    @property
    def n_features(self) -> int:
        """Features that vary."""
        return len(self.columns)

    @cached_property
    def metric(self) -> Array:
        """Weights of the squared coordinates in the squared length, shape (d,)."""
        return np.asarray(1.0 / self.scale**2)

    @cached_property
    def uniform(self) -> bool:
        """Whether every row of a group has the same weight."""
        return all(bool(np.ptp(own) <= 1e-14) for own in self.weights)

    @cached_property
    def length(self) -> int:
        """Rows of the root of W for one direction."""
        if self.uniform:
            cells = len(staircase(tuple(len(own) for own in self.weights)).widths)
        else:
            cells = sum(len(own) for own in self.weights)
        return (cells if self.n_groups == 2 else self.n_groups * cells) + len(self.between)

    @cached_property
    def product_plan(self) -> Array:
        """W (d, d) of the plan under which the groups are independent."""
        within = sum(
            pair * (group.T * own) @ group
            for pair, own, group in zip(_pair_weights(self.shares), self.weights, self.rows, strict=True)
        )
        return np.asarray(within + self.between.T @ self.between)

    def coordinates(self, direction: Array) -> Array:
        """A direction of the data (n_columns,) in the coordinates used here, shape (d,), of unit length."""
        inside = np.asarray(direction[self.columns] * self.scale)
        size = np.sqrt((self.metric * inside**2).sum())
        return np.asarray(inside / size) if size > 0 else inside

    def embed(self, support: Array, coordinates: Array) -> Array:
        """The unit direction of the data (n_columns,) that has these coordinates on a support."""
        out = np.zeros(self.n_columns)
        out[self.columns[support]] = coordinates / self.scale[support]
        size = np.linalg.norm(out)
        return out / size if size > 0 else out

    def rescale(self, matrix: Array, unit: float) -> Array:
        """W of the data's columns, in squares of another unit, in the coordinates used here."""
        kept = matrix[np.ix_(self.columns, self.columns)]
        return np.asarray(kept * (unit / self.unit) ** 2 / self.scale[:, None] / self.scale)

    def gaps(self, supports: Array, directions: Array) -> Array:
        """Roots of W on supports, for the plans along directions: W of i is ``result[i].T @ result[i]``.

        Parameters
        ----------
        supports : ndarray of int, shape (c, s)
        directions : ndarray of shape (c, s)
            Coordinates on the supports.

        Returns
        -------
        ndarray of shape (c, length, s)
        """
        own, cells, mass = self._plans(supports, directions)
        members = [
            np.take_along_axis(group, at[:, :, None], axis=1) for group, at in zip(own, cells, strict=True)
        ]
        return self._roots(members, mass, self.between[:, supports].transpose(1, 0, 2))

    def forms(self, supports: Array, directions: Array, vectors: Array, keep: bool) -> PlanForms:
        """Parts of W, for the plans along directions.

        Parameters
        ----------
        supports : ndarray of int, shape (c, s)
        directions : ndarray of shape (c, s)
            Coordinates on the supports.
        vectors : ndarray of shape (c, s, s)
            A vector a row, on the support.
        keep : bool
            Whether roots of the whole of W are wanted, in single precision.
        """
        _, cells, mass = self._plans(supports, directions)
        if self.n_groups == 2:
            pair = self.rows[0], self.rows[1]
            return matched_forms(pair, Plans(cells[0], cells[1], mass), self.between, supports, vectors, keep)
        members = [group[at] for group, at in zip(self.rows, cells, strict=True)]
        means = np.broadcast_to(self.between, (len(supports), *self.between.shape))
        return forms_of_gaps(self._roots(members, mass, means), supports, vectors, keep)

    def _plans(self, supports: Array, directions: Array) -> tuple[list[Array], list[Array], Array]:
        """Rows on the supports (c, n_g, s), and the matched rows and their mass (see `_cells`)."""
        own = [np.ascontiguousarray(group[:, supports].transpose(1, 0, 2)) for group in self.rows]
        orders = [
            np.argsort((group @ directions[:, :, None])[:, :, 0], axis=1, kind="stable") for group in own
        ]
        return own, *self._cells(orders)

    def _roots(self, members: list[Array], mass: Array, means: Array) -> Array:
        """Rows whose Gram matrix is W, from matched members (c, cells, s) of every group."""
        if self.n_groups == 2:
            parts = [members[0] - members[1]]
        else:
            middle = sum(share * member for share, member in zip(self.shares, members, strict=True))
            root = np.sqrt(self.shares / _pairs(self.shares))
            parts = [(member - middle) * weight for member, weight in zip(members, root, strict=True)]
        for part in parts:
            part *= np.sqrt(mass)[..., None]
        return np.concatenate([*parts, means], axis=1)

    def _cells(self, orders: list[Array]) -> tuple[list[Array], Array]:
        """Rows of every group in the cells between merged breakpoints, (c, cells) each, and their mass."""
        if self.uniform:
            steps = staircase(tuple(len(own) for own in self.weights))
            cells = [order[:, at] for order, at in zip(orders, steps.positions, strict=True)]
            return cells, steps.widths
        edges = np.concatenate(
            [np.cumsum(own[order], axis=1) for own, order in zip(self.weights, orders, strict=True)], axis=1
        )
        owner = np.repeat(np.arange(self.n_groups), [len(own) for own in self.weights])
        ranked = np.argsort(edges, axis=1, kind="stable")
        # rounding may take the last edges past one or let them fall short
        mass = np.diff(np.minimum(np.take_along_axis(edges, ranked, axis=1), 1.0), axis=1, prepend=0.0)
        cells = []
        for group, order in enumerate(orders):
            ends = owner[ranked] == group
            at = np.minimum(np.cumsum(ends, axis=1) - ends, order.shape[1] - 1)
            cells.append(np.take_along_axis(order, at, axis=1))
        return cells, np.maximum(mass, 0.0)


def _pairs(shares: Array) -> float:
    """Sum over pairs of groups of the product of their shares."""
    return float((1.0 - (shares**2).sum()) / 2)


def _pair_weights(shares: Array) -> Array:
    """What the covariance of each group weighs in W of independent groups."""
    return np.asarray(shares * (1.0 - shares) / _pairs(shares))


def _between(means: Array, shares: Array) -> Array:
    """Rows whose Gram matrix is the average over pairs of the outer products of mean differences."""
    if len(means) == 2:
        return np.asarray(means[:1] - means[1:])
    middle = shares @ means
    return np.asarray((means - middle) * np.sqrt(shares / _pairs(shares))[:, None])
