"""Covariates: a model of the group given them, and what of the rows they do not explain.

A test given covariates draws its labellings from the law of the groups given the covariates
(`conditional_labellings`), so that groups differ as much in the covariates under every labelling as they do
under the observed one. The model of the group is a logistic one on the covariates and their squares.

That rows are less noisy without what covariates explain of them is another matter: residuals of a regression
that knows nothing of the groups are as valid a statistic of the rows as the rows themselves, and a clearer
one.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from princdiff.data.problem import Problem
from princdiff.labellings.units import Units

# With this many values or fewer a number is a handful of levels: its square says nothing that they do not.
_FEW_VALUES = 12
# Precision of the normal law about zero that coefficients of standardised terms have beforehand.
_RIDGE = 0.3
# Shifts by which rows of a stratum are paired, so that each meets several others.
_MOST_SHIFTS = 20
# Rows for each term from which squares are used too.
_ROWS_PER_TERM = 5
# Columns that are regressed at a time.
_AT_ONCE = 500


def covariate_terms(table: NDArray[np.float64]) -> NDArray[np.float64]:
    """Standardised covariates and the squares of those with more than two values, shape (n_rows, n_terms).

    Constants and copies are left out, and so are the squares where rows are few.

    Examples
    --------
    >>> table = np.column_stack([np.arange(40.0), np.arange(40) % 2, np.ones(40)])
    >>> covariate_terms(table).shape
    (40, 3)
    """
    plain = [column for column in map(_standardised, table.T) if column is not None]
    squares = [_standardised(column**2) for column in plain if len(np.unique(column[:1000])) > 2]
    if len(table) >= _ROWS_PER_TERM * (len(plain) + len(squares)):
        plain += [column for column in squares if column is not None]
    if not plain:
        return np.empty((len(table), 0))
    terms = np.column_stack(plain)
    return terms[:, np.sort(np.unique(terms.round(9), axis=1, return_index=True)[1])]


def _standardised(column: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """A column with mean zero and unit variance; None where it is constant."""
    largest = np.abs(column).max()
    scaled = column / largest if largest > 0 else column
    centred = scaled - scaled.mean()
    spread = centred.std()
    return centred / spread if spread > 1e-12 else None


def group_log_odds(
    terms: NDArray[np.float64],
    codes: NDArray[np.uint8],
    strata: NDArray[np.intp] | None = None,
    weights: NDArray[np.float64] | None = None,
    ridge: float = _RIDGE,
) -> NDArray[np.float64]:
    """Log odds of every group for every unit given its covariates, shape (n_units, n_groups).

    Parameters
    ----------
    terms : array of shape (n_units, n_terms)
        From `covariate_terms`.
    codes : array of shape (n_units,), dtype uint8
        Group of each unit.
    strata : int array of shape (n_units,), optional
        Stratum inside which units are compared; how groups are mixed in it does not count then.
    weights : array of shape (n_units,), optional
        Weights of the units.
    ridge : float
        Precision of the normal law about zero that coefficients have beforehand.

    Returns
    -------
    array of shape (n_units, n_groups)
        Up to a number for each unit, and within strata for each stratum and group.

    Examples
    --------
    >>> age = np.linspace(-1, 1, 200)[:, None]
    >>> codes = (np.random.default_rng(0).random(200) < 1 / (1 + np.exp(-2 * age[:, 0]))).astype(np.uint8)
    >>> odds = group_log_odds(covariate_terms(age), codes)
    >>> bool(odds[-1, 1] - odds[-1, 0] > 1)
    True
    """
    n_groups = int(codes.max()) + 1
    if not terms.shape[1]:
        return np.zeros((len(codes), n_groups))
    if strata is not None and strata.max() > 0:
        return terms @ _coefficients_within(terms, codes, strata, ridge)
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(C=1 / ridge, tol=1e-6, max_iter=500).fit(terms, codes, weights)
    odds = terms @ model.coef_.T + model.intercept_
    return np.column_stack([np.zeros(len(codes)), odds[:, 0]]) if n_groups == 2 else odds


def _coefficients_within(
    terms: NDArray[np.float64], codes: NDArray[np.uint8], strata: NDArray[np.intp], ridge: float
) -> NDArray[np.float64]:
    """Coefficients of every group, shape (n_terms, n_groups), from pairs of units of one stratum.

    Of two units with different groups the model says how likely they have them this way round: this is the
    conditional likelihood where strata are pairs, and a composite one where they are larger.
    """
    n_groups = int(codes.max()) + 1
    order = np.lexsort((np.random.default_rng(0).permutation(len(codes)), strata))
    sizes = np.bincount(strata)
    first, second = [], []
    for shift in range(1, min(int(sizes.max()), _MOST_SHIFTS + 1)):
        left, right = order[:-shift], order[shift:]
        kept = (strata[left] == strata[right]) & (codes[left] != codes[right])
        first.append(left[kept])
        second.append(right[kept])
    one, other = np.concatenate(first), np.concatenate(second)
    # Half of the pairs the other way round, so that there are two classes to tell apart.
    sides = np.arange(len(one)) % 2
    sign = (2 * sides - 1).astype(np.float64)
    groups = np.eye(n_groups)[codes[one]] - np.eye(n_groups)[codes[other]]
    apart = (terms[one] - terms[other]) * sign[:, None]
    design = (apart[:, :, None] * groups[:, None, :]).reshape(len(one), -1)
    # A stratum counts as half as many pairs as it has units, however many were made of them.
    counts = np.bincount(strata[one], minlength=len(sizes))
    worth = (sizes / 2 / np.maximum(counts, 1))[strata[one]]
    if len(np.unique(sides)) < 2:
        return np.zeros((terms.shape[1], n_groups))
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(C=1 / ridge, tol=1e-6, max_iter=500, fit_intercept=False)
    return np.asarray(model.fit(design, sides, worth).coef_.reshape(terms.shape[1], n_groups))


def unit_log_odds(
    covariates: NDArray[np.float64], codes: NDArray[np.uint8], units: Units
) -> NDArray[np.float64]:
    """Log odds of the groups for the units that a relabelling moves; covariates of a unit are averaged."""
    return group_log_odds(covariate_terms(units.averaged(covariates)), units.codes_of(codes), units.strata)


def covariate_basis(covariates: NDArray[np.float64] | None) -> NDArray[np.float64] | None:
    """Orthonormal columns that span the terms of the covariates, less a constant; None without covariates."""
    if covariates is None:
        return None
    terms = covariate_terms(covariates)
    left, values, _ = np.linalg.svd(terms, full_matrices=False)
    # A few rows must not be fitted one by one.
    kept = values > 1e-6 * max(values.max(initial=0.0), 1e-300)
    shrunk = values[kept] / np.sqrt(values[kept] ** 2 + 1.0)
    return np.asarray(left[:, kept] * shrunk)


def with_unexplained_rows(problem: Problem) -> Problem:
    """The same problem with numbers less what covariates and strata explain of them, groups ignored.

    Numbers of few values stay as they are: the shares of their values are compared.

    Examples
    --------
    >>> from princdiff.data.problem import Design
    >>> rng = np.random.default_rng(0)
    >>> age = rng.normal(size=50)
    >>> rows = rng.normal(size=(50, 2)) + 5 * age[:, None]
    >>> problem = Problem.from_arrays(rows, np.arange(50) % 2, design=Design(covariates=age))
    >>> bool((with_unexplained_rows(problem).rows.std(axis=0) < 1.5).all())
    True
    """
    if problem.covariates is None:
        return problem
    if "unexplained" not in problem.memory:
        basis = covariate_basis(problem.covariates)
        assert basis is not None
        rows = np.array(problem.dense_rows("covariates"), dtype=np.float64)
        means = Units.of(problem.codes, problem.blocks, problem.permute).stratum_means
        numbers = [
            place
            for place in np.flatnonzero(np.array(problem.kinds) == "number")
            if len(np.unique(rows[:, place])) > _FEW_VALUES
        ]
        for start in range(0, len(numbers), _AT_ONCE):
            part = numbers[start : start + _AT_ONCE]
            values = rows[:, part]
            left = values - means(values)
            left -= basis @ (basis.T @ left)
            # A column that is explained altogether leaves rounding, which must not be compared.
            rounding = 1e-13 * np.sqrt(len(rows)) * np.abs(values).max(axis=0)
            rows[:, part] = np.where(np.abs(left).max(axis=0) > rounding, left, 0.0)
        found = replace(problem, rows=rows)
        found.__dict__["row_keys"] = problem.row_keys
        found.__dict__["ordered"] = found
        problem.memory["unexplained"] = found
    unexplained: Problem = problem.memory["unexplained"]
    return unexplained
