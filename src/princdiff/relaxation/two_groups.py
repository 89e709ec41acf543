"""Two weighted groups of rows, prepared for the semidefinite relaxation.

The relaxation and its certificates work on differences between rows of one group and rows of the other.
Three things make that numerically safe and cheap, and they are done once, here:

* Rows are translated to their group's mean. No plan can move the means, so the squared mean
  difference ``shift shift'`` is added to every W_M afterwards, and what the transport sees is small.
* Everything is divided by one global unit; values are multiplied by ``unit ** 2`` at the very end.
* With more columns than rows, the rows are rewritten in an orthonormal basis of their span. A
  direction outside the span sees nothing, so without a penalty nothing is lost, and no array
  is ever columns x columns.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

Array = npt.NDArray[Any]

__all__ = ["MAX_DIMENSION", "TwoGroups", "coordinates", "group_members"]

#: largest side of a dense matrix that is decomposed (eigenvalues of W or of the Gram matrix)
MAX_DIMENSION = 4000


@dataclass(frozen=True)
class TwoGroups:
    """Centred, scaled rows of two groups with weights that sum to one in each.

    Attributes
    ----------
    x, y : ndarray of shape (n, p), (m, p)
        Rows, each group about its own mean, divided by ``unit``. ``p`` is the number of columns,
        or the rank of the pooled rows where that is smaller and a reduction was allowed.
    a, b : ndarray of shape (n,), (m,)
        Weights of the rows, positive.
    shift : ndarray of shape (p,)
        Mean of x minus mean of y, divided by ``unit``.
    unit : float
        The global scale; squared distances are multiplied by ``unit ** 2`` to come back.
    n_features : int
        Number of columns of the data.
    columns : ndarray of int or None
        The columns kept, where only some were; None for all.
    basis : ndarray of shape (n_features, p) or None
        Orthonormal columns that map the coordinates used here to the data's; None for the identity.
    """

    x: Array
    y: Array
    a: Array
    b: Array
    shift: Array
    unit: float
    n_features: int
    columns: Array | None = None
    basis: Array | None = None

    @property
    def dimension(self) -> int:
        """Number of coordinates in use."""
        return int(self.x.shape[1])

    @property
    def uniform(self) -> bool:
        """Whether every row of a group has the same weight."""
        return bool(np.ptp(self.a) <= 1e-14 and np.ptp(self.b) <= 1e-14)

    @property
    def pairs(self) -> tuple[tuple[float, TwoGroups], ...]:
        """What each pair of groups counts, and the pair: here it is the only one."""
        return ((1.0, self),)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Rows of each group."""
        return len(self.a), len(self.b)

    @property
    def n_cells(self) -> int:
        """Entries of a plan."""
        return len(self.a) * len(self.b)

    @property
    def assignments(self) -> bool:
        """Whether an optimal plan matches rows one to one."""
        return self.uniform and len(self.a) == len(self.b)

    @cached_property
    def product_plan(self) -> Array:
        """W (p, p) of the plan under which the groups are independent; W_M is this minus the coupling."""
        within = (self.x.T * self.a) @ self.x + (self.y.T * self.b) @ self.y
        return np.asarray(within + np.outer(self.shift, self.shift))

    def embed(self, vectors: Array) -> Array:
        """Vectors in the coordinates used here, shape (p, r), as directions of the data (d, r)."""
        if self.basis is not None:
            return np.asarray(self.basis @ vectors)
        if self.columns is not None:
            out = np.zeros((self.n_features, vectors.shape[1]))
            out[self.columns] = vectors
            return out
        return vectors

    def coupling_matrix_of_cells(self, rows: Array, cols: Array, mass: Array) -> Array:
        """W_M (p, p) of a feasible plan given by its non-zero cells: sum of M_ij z_ij z_ij'."""
        cross = (self.x[rows].T * mass) @ self.y[cols]
        return np.asarray(self.product_plan - cross - cross.T)

    def sample(self, count: int, rng: np.random.Generator) -> TwoGroups:
        """The same problem on ``count`` random rows of each group."""
        return self.subset(*(rng.choice(size, count, replace=False) for size in self.sizes))

    def subset(self, rows_x: Array, rows_y: Array) -> TwoGroups:
        """The same problem on some of the rows; the shift stays that of all rows."""
        a, b = self.a[rows_x], self.b[rows_y]
        a, b = a / a.sum(), b / b.sum()
        x, y = self.x[rows_x], self.y[rows_y]
        return TwoGroups(
            x - a @ x, y - b @ y, a, b, self.shift, self.unit, self.n_features,
            self.columns, self.basis,
        )  # fmt: skip

    @classmethod
    def from_rows(
        cls, X: Any, y: Any, sample_weight: Any = None, *, reduce: bool = True, columns: Any = None
    ) -> TwoGroups:
        """Prepare pooled rows, which have been checked.

        Parameters
        ----------
        X : array or scipy sparse matrix of shape (N, d)
            Finite numbers.
        y : array of shape (N,), two distinct labels
        sample_weight : array of shape (N,), optional
            Non-negative weights; rows of weight zero are left out.
        reduce : bool
            Rewrite the rows in a basis of their span when d exceeds the number of rows.
        columns : array of int, optional
            Use only these columns.
        """
        rows: Any = sparse.csr_array(X, dtype=np.float64) if sparse.issparse(X) else np.asarray(X, np.float64)
        labels = np.asarray(y)
        n_groups = len(np.unique(labels))
        if n_groups != 2:
            raise ValueError(f"the relaxation compares two groups; y holds {n_groups}")
        n_features = rows.shape[1]
        if columns is not None:
            columns = np.asarray(columns)
            rows = rows[:, columns]
        members, weights = group_members(labels, sample_weight)
        pooled, basis = coordinates(rows[np.concatenate(members)], reduce and columns is None)
        x, yy = np.split(pooled, [len(members[0])])
        a, b = (own / own.sum() for own in weights)
        mean_x, mean_y = a @ x, b @ yy
        x, yy, shift = x - mean_x, yy - mean_y, mean_x - mean_y
        spread = float(np.sum(a @ (x * x)) + np.sum(b @ (yy * yy)) + shift @ shift)
        unit = float(np.sqrt(spread)) if spread > 0 else 1.0
        return cls(x / unit, yy / unit, a, b, shift / unit, unit, n_features, columns, basis)


def group_members(labels: Array, sample_weight: Any) -> tuple[list[Array], list[Array]]:
    """Places of the rows of each group that have a weight, and their weights."""
    weight = np.ones(len(labels)) if sample_weight is None else np.asarray(sample_weight, np.float64)
    members = [np.flatnonzero((labels == group) & (weight > 0)) for group in np.unique(labels)]
    return members, [weight[own] for own in members]


def coordinates(rows: Any, reduce: bool) -> tuple[Array, Array | None]:
    """Dense coordinates of the rows about their mean, and the basis they are written in."""
    n_rows, d = rows.shape
    mean = np.asarray(rows.mean(axis=0)).ravel()
    if not reduce or d <= n_rows:
        dense = rows.toarray() if sparse.issparse(rows) else rows
        return dense - mean, None
    if n_rows > MAX_DIMENSION:
        raise ValueError(
            f"{n_rows} rows by {d} columns: more than {MAX_DIMENSION} of both; pass fewer columns "
            "(screened, say by their marginal divergence) or a sample of the rows"
        )
    if sparse.issparse(rows):
        # centring would fill the matrix: centre the Gram matrix instead, and the basis afterwards
        gram = (rows @ rows.T).toarray()
        middle = rows @ mean
        gram = gram - middle[:, None] - middle[None, :] + mean @ mean
    else:
        rows = rows - mean
        gram = rows @ rows.T
    values, vectors = np.linalg.eigh((gram + gram.T) / 2)
    keep = values > max(values[-1], 0.0) * 1e-14 * n_rows
    if not keep.any():
        return np.zeros((n_rows, 1)), np.eye(d, 1)
    root = np.sqrt(values[keep])
    weights = vectors[:, keep] / root
    basis = np.asarray(rows.T @ weights)
    if sparse.issparse(rows):
        basis -= np.outer(mean, weights.sum(axis=0))
    return vectors[:, keep] * root, basis
