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
# A value that at least this share of the rows has (zero counts, filled gaps) is looked at on its own.
ATOM_SHARE = 0.05
# Columns of one feature: values, distances from the median, the most frequent value, which are each a
# statistic; functions of the ranks.
N_SINGLE = 3
N_COLUMNS = N_SINGLE + N_TERMS
# Rows up to which functions of the ranks are tabulated, and ranks at a time otherwise.
_TABLE_ROWS, _BLOCK_POINTS = 200_000, 65_536
# With this many values or fewer, each value is looked at as well, as if it were a level of a category.
MOST_VALUES = 12
STATISTICS = ("mean", "spread", "frequent value", "ranks", "smooth", "all values", "one value")
"""What is looked at in a number; the last two where it has few values."""


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
    return np.array([_integral(points, degree) for degree in range(1, n_terms + 1)])


def _integral(points: NDArray[np.float64], degree: int) -> NDArray[np.float64]:
    """The integral of one degree."""
    t = 2 * points - 1
    before, now = np.ones(len(points)), t
    for k in range(1, degree + 1):
        following = ((2 * k + 1) * t * now - k * before) / (k + 1)
        if k == degree:
            return (following - before) / (2 * np.sqrt(2 * degree + 1))
        before, now = now, following
    raise ValueError(f"degree {degree} is below 1")


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
        # Of many rows a table would take as much memory as a few features; they are computed as needed.
        self._table = None
        if weights is None and n_rows <= _TABLE_ROWS:
            self._table = legendre_integrals(np.arange(n_rows + 1) / n_rows, n_terms)

    def __call__(self, values: NDArray) -> NDArray[np.float64]:
        """Functions of one feature, shape (n_terms, n_rows); equal values have equal entries."""
        return np.array(list(self.lines(values)))

    def lines(self, values: NDArray) -> Iterator[NDArray[np.float64]]:
        """The functions of one feature, one after the other."""
        place = np.int32 if len(values) < 2**31 else np.int64
        order = np.argsort(values).astype(place)
        begins = _begins(values[order])
        ends = np.append(np.flatnonzero(begins).astype(place), place(len(values)))
        del begins
        if self._table is not None:
            repeats = None if len(ends) == len(values) + 1 else np.diff(ends)
            averages = np.diff(self._table[:, ends], axis=1) / (np.diff(ends) / len(values))
            found = np.empty((self._n_terms, len(values)))
            found[:, order] = averages if repeats is None else np.repeat(averages, repeats, axis=1)
            yield from found
            return
        mass = None
        if self._weights is not None:
            mass = np.concatenate([[0.0], np.cumsum(self._weights[order])])[ends]
            mass /= mass[-1]
        for degree in range(1, self._n_terms + 1):
            line = np.empty(len(values))
            for own, averages in _averages(ends, mass, degree):
                line[order[own[0] : own[-1]]] = np.repeat(averages, np.diff(own))
            yield line


def _averages(
    ends: NDArray[np.integer], mass: NDArray[np.float64] | None, degree: int
) -> Iterator[tuple[NDArray[np.integer], NDArray[np.float64]]]:
    """Averages of one function over the ranks that each value takes, and their ends, block by block."""
    for start in range(0, len(ends) - 1, _BLOCK_POINTS):
        own = ends[start : start + _BLOCK_POINTS + 1]
        points = own / ends[-1] if mass is None else mass[start : start + len(own)]
        width = np.diff(own) / ends[-1] if mass is None else np.diff(points)
        yield own, np.diff(_integral(points, degree)) / width


def _begins(ranked: NDArray) -> NDArray[np.bool_]:
    """Where a new value begins among sorted ones."""
    begins = np.ones(len(ranked), dtype=bool)
    np.not_equal(ranked[1:], ranked[:-1], out=begins[1:])
    return begins


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
    return np.array(list(feature_lines(values, ranks, few_values))).T


def feature_lines(
    values: NDArray, ranks: RankFunctions, few_values: bool = False
) -> Iterator[NDArray[np.float64]]:
    """The columns of `feature_columns` one after the other, each of shape (n_rows,)."""
    # Squares of very large or very small units must neither overflow nor vanish.
    scaled = values / np.float64(max(np.abs(values).max(), 1e-300))
    yield scaled
    yield np.abs(scaled - np.median(scaled))
    del scaled
    yield (values == _most_frequent(values)).astype(np.float64)
    yield from ranks.lines(values)
    if few_values:
        distinct = np.unique(values)
        for value in distinct:
            yield (values == value).astype(np.float64)
        for _ in range(MOST_VALUES - len(distinct)):
            yield np.zeros(len(values))


def _most_frequent(values: NDArray) -> float:
    """The value that most rows have; NaN, which equals nothing, where no value has a fair share."""
    ranked = np.sort(values)
    first = np.flatnonzero(_begins(ranked))
    counts = np.diff(np.append(first, len(values)))
    largest = counts.argmax()
    return float(ranked[first[largest]]) if counts[largest] >= ATOM_SHARE * len(values) else np.nan


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
