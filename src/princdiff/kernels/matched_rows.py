"""Parts of W of many plans: between a few vectors and all features, and the diagonal."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from princdiff.kernels.engine_choice import Kernel

_MATCHED = Kernel(
    "pd_matched_rows",
    "f64* f64* i64 i64* i64* f64* i64 i64 f64* i64 i64* f64* i64 f64* f64* f64* f32*",
    returns="i32",
)


class Plans(NamedTuple):
    """Which rows of two groups are matched by each of c plans.

    Attributes
    ----------
    first, second : ndarray of int, shape (c, length)
        Rows of either group.
    mass : ndarray of shape (c, length) or (length,)
    """

    first: NDArray[np.int64]
    second: NDArray[np.int64]
    mass: NDArray[np.float64]


class PlanForms(NamedTuple):
    """Parts of W of c plans.

    Attributes
    ----------
    pairs : ndarray of shape (c, s, s)
        Between the vectors.
    cross : ndarray of shape (c, s, d)
        Between the vectors and every feature.
    squares : ndarray of shape (c, d)
        The diagonal.
    gaps : ndarray of shape (c, rows, d), float32, or None
        Roots of W: W is ``gaps.T @ gaps``, up to single precision.
    """

    pairs: NDArray[np.float64]
    cross: NDArray[np.float64]
    squares: NDArray[np.float64]
    gaps: NDArray[np.float32] | None


def forms_of_gaps(
    gaps: NDArray[np.float64], support: NDArray[np.int64], vectors: NDArray[np.float64], keep: bool
) -> PlanForms:
    """The parts of W from its roots, shape (c, rows, d); vectors (c, s, s) on supports (c, s).

    Examples
    --------
    >>> gaps = np.array([[[1.0, 2.0], [0.0, 3.0]]])
    >>> forms_of_gaps(gaps, np.array([[1]]), np.ones((1, 1, 1)), False).cross
    array([[[ 2., 13.]]])
    """
    at = np.broadcast_to(support[:, None, :], (*gaps.shape[:2], support.shape[1]))
    along = np.take_along_axis(gaps, at, axis=2) @ vectors.transpose(0, 2, 1)
    turned = along.transpose(0, 2, 1)
    squares = np.einsum("cld,cld->cd", gaps, gaps)
    return PlanForms(turned @ along, turned @ gaps, squares, gaps.astype(np.float32) if keep else None)


def matched_forms(
    rows: tuple[NDArray[np.float64], NDArray[np.float64]],
    plans: Plans,
    between: NDArray[np.float64],
    support: NDArray[np.int64],
    vectors: NDArray[np.float64],
    keep: bool,
) -> PlanForms:
    """The parts of W for plans between two groups.

    Parameters
    ----------
    rows : pair of ndarray of shape (n, d) and (m, d)
    plans : Plans
    between : ndarray of shape (r, d)
        Rows that belong to the roots of every W.
    support : ndarray of int, shape (c, s)
    vectors : ndarray of shape (c, s, s)
        A vector a row, on the support.
    keep : bool
        Whether the roots are wanted.

    Returns
    -------
    PlanForms

    Examples
    --------
    >>> plans = Plans(np.array([[0, 1]]), np.array([[1, 0]]), np.array([0.5, 0.5]))
    >>> x, y = np.array([[0.0, 1.0], [2.0, 3.0]]), np.array([[2.0, 2.0], [0.0, 0.0]])
    >>> matched_forms((x, y), plans, np.zeros((0, 2)), np.array([[1]]), np.ones((1, 1, 1)), False).squares
    array([[0., 1.]])
    """
    x, y = rows
    count, length = plans.first.shape
    size, d = support.shape[1], x.shape[1]
    if not _MATCHED.available:
        gaps = (x[plans.first] - y[plans.second]) * np.sqrt(plans.mass)[..., None]
        gaps = np.concatenate([gaps, np.broadcast_to(between, (count, *between.shape))], axis=1)
        return forms_of_gaps(gaps, support, vectors, keep)
    found = PlanForms(
        np.zeros((count, size, size)),
        np.zeros((count, size, d)),
        np.zeros((count, d)),
        np.empty((count, length + len(between), d), dtype=np.float32) if keep else None,
    )
    failed = _MATCHED(
        np.ascontiguousarray(x),
        np.ascontiguousarray(y),
        d,
        np.ascontiguousarray(plans.first, dtype=np.int64),
        np.ascontiguousarray(plans.second, dtype=np.int64),
        np.ascontiguousarray(np.broadcast_to(plans.mass, plans.first.shape)),
        count,
        length,
        np.ascontiguousarray(between),
        len(between),
        np.ascontiguousarray(support, dtype=np.int64),
        np.ascontiguousarray(vectors),
        size,
        *found,
    )
    if failed:
        raise MemoryError("no memory for a difference of two rows")
    return found
