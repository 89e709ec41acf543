"""What is looked at in one feature: its mean, its spread, and its ranks through smooth functions.

Five statistics, because each is blind to something: the difference of means, of mean distances from the
median (Levene), of the share of the most frequent value (zeros of counts), the Anderson-Darling statistic
(location most of all) and a smooth one (Neyman: shape as much as location); for features with few values
also Pearson's statistic. Their scores are combined in `alone.combined_scores`; the section "kinds" of
`benchmarks/selection.py` compares the power of the combination with that of univariate tests.

The Anderson-Darling statistic is a sum over Legendre polynomials of the ranks, term k with weight
1 / (k (k + 1)): the first term is a change of location, the second of spread, the third of skewness, the
fourth of modes. Each term is a difference of means of one column, so a labelling costs a matrix product
and no sort. Ties share the average of the polynomial over the ranks they take together.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

# Terms of the Anderson-Darling sum.
N_TERMS = 8
# Of these, the ones that count alike in the smooth statistic: location, spread, skewness, modes.
_SMOOTH_TERMS = 4
# A value that at least this share of the rows has (zero counts, filled gaps) is looked at by itself.
_ATOM_SHARE = 0.05
# Columns of one feature: values, distances from the median, the most frequent value, functions of the ranks.
N_COLUMNS = 3 + N_TERMS
# With so many values or fewer, each value is looked at as well, as if it were a level of a category.
MOST_VALUES = 12


def legendre_integrals(points: NDArray[np.float64], n_terms: int) -> NDArray[np.float64]:
    """Integrals from 0 of the orthonormal Legendre polynomials on the unit interval, degrees 1 to n_terms.

    Parameters
    ----------
    points : array of shape (n_points,)
        Numbers between 0 and 1.
    n_terms : int
        Number of polynomials.

    Returns
    -------
    array of shape (n_terms, n_points)

    Examples
    --------
    >>> legendre_integrals(np.array([0.0, 0.5, 1.0]), 1).round(3)
    array([[ 0.   , -0.433,  0.   ]])
    """
    t = 2 * points - 1
    polynomials = np.empty((n_terms + 2, len(points)))
    polynomials[0], polynomials[1] = 1.0, t
    for k in range(1, n_terms + 1):
        polynomials[k + 1] = ((2 * k + 1) * t * polynomials[k] - k * polynomials[k - 1]) / (k + 1)
    degrees = np.arange(1, n_terms + 1)[:, None]
    return (polynomials[2:] - polynomials[:-2]) / (2 * np.sqrt(2 * degrees + 1))


class RankFunctions:
    """Smooth functions of the ranks of a feature.

    Parameters
    ----------
    n_rows : int
        Number of rows.
    weights : array of shape (n_rows,), optional
        Row weights.
    n_terms : int
        Number of functions.

    Examples
    --------
    >>> RankFunctions(4, n_terms=1)(np.array([3.0, 1.0, 3.0, 7.0])).round(3)
    array([[ 0.   , -1.299,  0.   ,  1.299]])
    """

    def __init__(
        self, n_rows: int, weights: NDArray[np.float64] | None = None, n_terms: int = N_TERMS
    ) -> None:
        self._weights, self._n_terms = weights, n_terms
        self._table = (
            None if weights is not None else legendre_integrals(np.arange(n_rows + 1) / n_rows, n_terms)
        )

    def __call__(self, values: NDArray) -> NDArray[np.float64]:
        """Functions of one feature, shape (n_terms, n_rows); equal values have equal entries."""
        order = np.argsort(values)
        ranked = values[order]
        first = np.flatnonzero(np.concatenate([[True], ranked[1:] != ranked[:-1]]))
        ends = np.append(first, len(values))
        if self._table is not None:
            integrals, width = self._table[:, ends], np.diff(ends) / len(values)
        else:
            assert self._weights is not None
            mass = np.concatenate([[0.0], np.cumsum(self._weights[order])])[ends]
            mass /= mass[-1]
            integrals, width = legendre_integrals(mass, self._n_terms), np.diff(mass)
        averages = np.diff(integrals, axis=1) / width
        found = np.empty((self._n_terms, len(values)))
        found[:, order] = np.repeat(averages, np.diff(ends), axis=1)
        return found


def feature_columns(values: NDArray, ranks: RankFunctions, few_values: bool = False) -> NDArray[np.float64]:
    """Columns whose between-group sums of squares make the statistics of one feature.

    Parameters
    ----------
    values : array of shape (n_rows,)
        The feature.
    ranks : RankFunctions
        For these rows.
    few_values : bool
        Whether the feature has at most ``MOST_VALUES`` values; then each has a column of its own.

    Returns
    -------
    array of shape (n_rows, N_COLUMNS) or (n_rows, N_COLUMNS + MOST_VALUES)
        Columns that are not needed are zero.
    """
    found = np.zeros((N_COLUMNS + (MOST_VALUES if few_values else 0), len(values)))
    # Squares of very large or very small units must neither overflow nor vanish.
    found[0] = values / max(np.abs(values).max(), 1e-300)
    found[1] = np.abs(found[0] - np.median(found[0]))
    found[2] = values == _most_frequent(values)
    found[3:N_COLUMNS] = ranks(values)
    if few_values:
        distinct = np.unique(values)
        found[N_COLUMNS : N_COLUMNS + len(distinct)] = values == distinct[:, None]
    return found.T


def _most_frequent(values: NDArray) -> float:
    """The value that most rows have; NaN, which equals nothing, where no value has a fair share."""
    ranked = np.sort(values)
    first = np.flatnonzero(np.concatenate([[True], ranked[1:] != ranked[:-1]]))
    counts = np.diff(np.append(first, len(values)))
    largest = counts.argmax()
    return float(ranked[first[largest]]) if counts[largest] >= _ATOM_SHARE * len(values) else np.nan


def statistics_of(
    between: NDArray[np.float32], shares: NDArray[np.float64] | None = None
) -> NDArray[np.float32]:
    """Statistics of features from the sums of squares of their columns.

    Parameters
    ----------
    between : array of shape (n_labellings, n_features, N_COLUMNS or N_COLUMNS + MOST_VALUES)
        Of the columns of `feature_columns`.
    shares : array of shape (n_features, MOST_VALUES), optional
        Of the rows that have each value, for features with few values.

    Returns
    -------
    array of shape (n_labellings, n_features, 5 or 6)
        Mean, spread, most frequent value, Anderson-Darling, smooth; for few values Pearson's chi-squared.
    """
    terms = between[:, :, 3:N_COLUMNS]
    degrees = np.arange(1, N_TERMS + 1)
    anderson_darling = terms @ (1 / (degrees * (degrees + 1))).astype(between.dtype)
    smooth = terms[:, :, :_SMOOTH_TERMS].sum(axis=2)
    parts = [between[:, :, :3], anderson_darling[:, :, None], smooth[:, :, None]]
    if shares is not None:
        # Sums of squares are over p (1 - p); Pearson's are over p.
        missing = (1 - shares).astype(between.dtype)
        parts.append(np.einsum("lfv,fv->lf", between[:, :, N_COLUMNS:], missing)[:, :, None])
    return np.concatenate(parts, axis=2)


def expected_skewness(n_groups: int, n_values: NDArray[np.intp] | None = None) -> NDArray[np.float64]:
    """Skewness of the statistics of a feature if nothing differs, in large samples.

    Parameters
    ----------
    n_groups : int
        Number of groups.
    n_values : int array of shape (n_features,), optional
        For features with few values.

    Returns
    -------
    array of shape (5,) or (n_features, 6)
        In the order of `statistics_of`.

    Examples
    --------
    >>> expected_skewness(2).round(2)
    array([2.83, 2.83, 2.83, 2.37, 1.41])
    """
    degrees = np.arange(1, N_TERMS + 1)
    weights = 1 / (degrees * (degrees + 1))
    mixture = np.sqrt(8) * (weights**3).sum() / (weights**2).sum() ** 1.5
    chi = [np.sqrt(8)] * 3
    known = np.array([*chi, mixture, np.sqrt(8 / _SMOOTH_TERMS)]) / np.sqrt(n_groups - 1)
    if n_values is None:
        return known
    pearson = np.sqrt(8 / ((n_values - 1) * (n_groups - 1)))
    return np.column_stack([np.broadcast_to(known, (len(n_values), len(known))), pearson])
