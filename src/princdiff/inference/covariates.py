"""Taking covariates out of the rows so that labels may be permuted afterwards.

Residuals of a regression are not exchangeable: they are correlated, and have unequal variances. To permute
them and to regress again (Freedman and Lane) treats the observed labelling unlike the others, since only the
others lose variance a second time: with 10 covariates for 40 rows a test at 5 % rejects 14 % of true null
hypotheses.

Here rows are moved into the space of dimension ``n_rows - rank`` in which nothing of the covariates is left:
Z = Q'X, where Q has orthonormal columns orthogonal to the covariates and to a constant. If the errors of the
rows are independent and alike, so are the rows of Z (exactly if they are normal, in their first two moments
whatever they are), and the plain test of Z is valid: all labellings are treated alike. Among all such Q
the one of Theil (1965) is taken, whose rows are as near as can be to the residuals of ``n_rows - rank`` of
the original rows: each of these keeps its label, its block and the shape of its distribution.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr

from princdiff.caught_warnings import warn_user
from princdiff.data.problem import Problem

# Singular values of standardised covariates below this share of the largest are linear dependence.
_DEPENDENT = 1e-10
# A group whose members are predicted to within this is determined by the covariates.
_EXPLAINED = 1e-8


def without_covariates(problem: Problem) -> Problem:
    """The same comparison on fewer rows, which the covariates do not explain any part of.

    Parameters
    ----------
    problem : Problem
        With or without covariates. Where rows are relabelled inside blocks, the blocks' means are taken
        out together with the covariates.

    Returns
    -------
    Problem
        Without covariates. Its rows are those whose labels are kept, fewer by the number of
        linearly independent covariates and one.

    Examples
    --------
    >>> from princdiff.data.problem import Design
    >>> rng = np.random.default_rng(0)
    >>> age = rng.normal(size=20)
    >>> rows = rng.normal(size=(20, 2)) + age[:, None]
    >>> problem = Problem.from_arrays(rows, np.arange(20) % 2, design=Design(covariates=age))
    >>> without_covariates(problem).n_rows
    18
    """
    if problem.covariates is None:
        return problem
    basis = covariate_basis(problem.covariates)
    if basis.shape[1] == 1:
        # Constants explain nothing.
        return replace(problem, covariates=None)
    n_covariates = basis.shape[1] - 1
    if problem.blocks is not None:
        members = problem.blocks[:, None] == np.arange(problem.blocks.max() + 1)
        basis = covariate_basis(np.column_stack([problem.covariates, members.astype(np.float64)]))
    _refuse_too_many(basis, n_covariates, problem)
    _warn_of_explained_groups(basis, problem)
    rows, kept = unexplained_rows(problem.dense_rows("covariates"), basis)
    left = np.bincount(problem.codes[kept], minlength=problem.n_groups)
    if left.min() < 2:
        group = problem.classes[int(left.argmin())]
        raise ValueError(
            f"{n_covariates} covariates for {problem.n_rows} rows leave {int(left.min())} row(s) of group "
            f"{group!r} to compare: every group needs at least two; use fewer covariates"
        )
    other = problem.take_rows(kept)
    return replace(other, rows=rows, covariates=None)


def _refuse_too_many(basis: NDArray[np.float64], n_covariates: int, problem: Problem) -> None:
    n_rows, rank = basis.shape
    if rank <= n_rows // 2:
        return
    if problem.blocks is None:
        raise ValueError(f"{n_covariates} covariates for {n_rows} rows leave too little to compare")
    raise ValueError(
        f"{n_covariates} covariates and {len(problem.block_names)} blocks for {n_rows} rows leave too little "
        "to compare: with pairs, take differences within the pairs instead of giving covariates"
    )


def _warn_of_explained_groups(basis: NDArray[np.float64], problem: Problem) -> None:
    """A difference of means that goes with a covariate altogether is taken out with it: say so."""
    members = (problem.codes[:, None] == np.arange(problem.n_groups)).astype(np.float64)
    left = np.abs(members - basis @ (basis.T @ members)).max(axis=0)
    sizes = zip(problem.classes, left, strict=True)
    explained = sorted(str(name) for name, size in sizes if size < _EXPLAINED)
    if explained:
        named = " and ".join(map(repr, explained[:3])) + (" and others" if len(explained) > 3 else "")
        warn_user(
            f"the covariates determine which rows belong to {named}: a difference of means between such "
            "groups cannot be told from the effect of the covariates, and is taken out with it"
        )


def covariate_basis(table: NDArray[np.float64]) -> NDArray[np.float64]:
    """Orthonormal columns that span the covariates and a constant, shape (n_rows, rank).

    Columns are standardised before it is decided which of them depend on others, so that units do not matter.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> small, large = 1e-9 * rng.normal(size=20), 1e9 * rng.normal(size=20)
    >>> covariate_basis(np.column_stack([small, large, 3 * large])).shape
    (20, 3)
    """
    n_rows = len(table)
    largest = np.abs(table).max(axis=0)
    scaled = table / np.where(largest > 0, largest, 1.0)
    centred = scaled - scaled.mean(axis=0)
    lengths = np.sqrt(np.einsum("ij,ij->j", centred, centred))
    varying = lengths > 1e-12 * np.sqrt(n_rows)
    centred = centred[:, varying] / lengths[varying]
    found, values, _ = np.linalg.svd(centred, full_matrices=False)
    found = found[:, values > _DEPENDENT * max(values.max(initial=0.0), 1e-300)]
    return np.column_stack([np.full((n_rows, 1), 1 / np.sqrt(n_rows)), found])


def unexplained_rows(
    rows: NDArray, basis: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Rows of the space orthogonal to a basis, each as near as can be to the residual of an original row.

    Parameters
    ----------
    rows : array of shape (n_rows, n_features)
        Numbers.
    basis : array of shape (n_rows, rank)
        Orthonormal columns.

    Returns
    -------
    unexplained : array of shape (n_rows - rank, n_features)
        Q'X.
    kept : int array of shape (n_rows - rank,)
        The original row that each one stands for, ascending.

    Notes
    -----
    With S selecting the rows kept and R = I - UU', Q' = (S'RS)^(-1/2) S'R. The rows given up are those that
    the basis explains best (pivots of U'), so that S'RS is far from singular.
    """
    rank = basis.shape[1]
    pivots = qr(basis.T, mode="r", pivoting=True)[1]
    kept = np.sort(pivots[rank:])
    residuals = rows - basis @ (basis.T @ rows)
    # A column that is explained altogether leaves rounding, which must not be compared.
    rounding = 1e-13 * np.sqrt(len(rows)) * np.abs(rows).max(axis=0)
    residuals = np.where(np.abs(residuals).max(axis=0) > rounding, residuals, 0.0)[kept]
    # S'RS = I - U_J U_J', so its inverse square root differs from I in the span of U_J only.
    spanned, values, _ = np.linalg.svd(basis[kept], full_matrices=False)
    stretch = 1 / np.sqrt(np.maximum(1 - values**2, 1e-300)) - 1
    return residuals + (spanned * stretch) @ (spanned.T @ residuals), kept
