"""What is looked at in one feature: its mean, its spread, and its ranks through smooth functions.

Five statistics, because each is blind to something: the difference of means, of mean distances from the
median (Levene), of the share of the most frequent value (zeros of counts), the Anderson-Darling statistic
(location most of all) and a smooth one (Neyman: shape as much as location); for features with few values
also Pearson's statistic. Their scores are combined in `feature_scores`; the section "kinds" of
`benchmarks/selection.py` compares the power of the combination with that of univariate tests.

The Anderson-Darling statistic is a sum over Legendre polynomials of the ranks, term k with weight
1 / (k (k + 1)): the first term is a change of location, the second of spread, the third of skewness, the
fourth of modes. Each term is a difference of means of one column, so a labelling costs a matrix product
and no sort. Ties share the average of the polynomial over the ranks they take together.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

# Terms of the Anderson-Darling sum.
N_TERMS = 8
# Of these, the ones that count alike in the smooth statistic: location, spread, skewness, modes.
_SMOOTH_TERMS = 4
# A value that at least this share of the rows has (zero counts, filled gaps) is looked at on its own. Zeros
# in 6 % of the normal numbers of one of two groups of 500 were found in 2 of 20 tables by .05, in 19 by .02.
ATOM_SHARE = 0.02
# Columns of one feature: values, distances from the median, the most frequent value, which are each a
# statistic; functions of the ranks.
N_SINGLE = 3
N_COLUMNS = N_SINGLE + N_TERMS
# With this many values or fewer, each value is looked at as well, as if it were a level of a category.
MOST_VALUES = 12
STATISTICS = ("mean", "spread", "frequent value", "ranks", "smooth", "all values", "one value")
"""What is looked at in a number; the last two where it has few values."""


def legendre_integrals(points: NDArray[np.float64], n_terms: int = N_TERMS) -> Iterator[NDArray[np.float64]]:
    """Integrals from 0 of the orthonormal Legendre polynomials on the unit interval, of degree 1, 2, ...

    Parameters
    ----------
    points : array of shape (n_points,)
        Numbers between 0 and 1.
    n_terms : int
        Number of polynomials.

    Yields
    ------
    array of shape (n_points,)

    Examples
    --------
    >>> next(legendre_integrals(np.array([0.0, 0.5, 1.0]))).round(3)
    array([ 0.   , -0.433,  0.   ])
    """
    t = 2 * points - 1
    before, now = np.ones(len(points)), t
    for k in range(1, n_terms + 1):
        following = ((2 * k + 1) * t * now - k * before) / (k + 1)
        yield (following - before) / (2 * np.sqrt(2 * k + 1))
        before, now = now, following


def rank_functions(
    ends: NDArray[np.float64], starts: NDArray[np.intp], n_terms: int = N_TERMS
) -> Iterator[NDArray[np.float64]]:
    """Averages of smooth functions over the ranks that each value takes, one function after the other.

    Parameters
    ----------
    ends : array of shape (n_values,)
        Share of the rows up to each value, of one column after the other.
    starts : int array of shape (n_columns,)
        First value of each column.
    n_terms : int
        Number of functions.

    Yields
    ------
    array of shape (n_values,)

    Examples
    --------
    Values of one, two and one rows:

    >>> next(rank_functions(np.array([0.25, 0.75, 1.0]), np.array([0]))).round(3)
    array([-1.299,  0.   ,  1.299])
    """
    first = np.zeros(len(ends), dtype=bool)
    first[starts] = True
    widths = ends - np.where(first, 0.0, np.roll(ends, 1))
    for upto in legendre_integrals(ends, n_terms):
        yield (upto - np.where(first, 0.0, np.roll(upto, 1))) / widths


def weights_of_terms() -> NDArray[np.float64]:
    """What the functions of the ranks count in the statistic of Anderson and Darling, and in the smooth one.

    Examples
    --------
    >>> weights_of_terms()[:, :5].round(2)
    array([[0.5 , 0.17, 0.08, 0.05, 0.03],
           [1.  , 1.  , 1.  , 1.  , 0.  ]])
    """
    degrees = np.arange(1, N_TERMS + 1)
    return np.stack([1 / (degrees * (degrees + 1)), (degrees <= _SMOOTH_TERMS).astype(float)])


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
    terms = between[:, :, N_SINGLE:N_COLUMNS]
    parts = [between[:, :, :N_SINGLE], terms @ weights_of_terms().T.astype(between.dtype)]
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
