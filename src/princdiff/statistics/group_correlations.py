"""Correlations of pairs of columns in all groups, under every labelling, and how much they change.

Labellings come one by one, by matrix products over the rows of a group, or many together, by sums of the
products of the pairs that are wanted: the former where there are many pairs, the latter where there are many
rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from princdiff.kernels.labelled_sums import labelled_sums, packed
from princdiff.parallel import in_threads
from princdiff.statistics.contrasts import Relabellings

# Labellings given to a thread at a time.
_CHUNK = 16
# Rows, and share of them outside the largest group, from which labellings are taken together in sums of
# products instead of one by one; numbers and labels (a byte each) held then.
_MANY_ROWS = 5000
_GATHERED_SHARE = 0.2
_PRODUCT_ELEMENTS = 4_000_000
_LABEL_ELEMENTS = 64_000_000
# Rows and columns of products that are made at a time, so that they stay in the cache.
_PRODUCT_ROWS, _PRODUCT_COLUMNS = 8192, 256
# Correlations closer than this are equal: sums in single precision are good to a tenth of it.
_ROUNDING = 3e-5
# Standard deviation in a group, 1 over all rows, below which a feature counts as constant there. Where a
# labelling gives a group none of a rare flag's ones, zeros are left, whose scores differ a little between the
# observed groups: two such flags would have a correlation of one.
_LEAST_SPREAD = 0.2

# Rows of the smallest group from which what is expected to first order is as good as what labellings tell.
_FEWEST_EXPECTED = 50
# Fourth moment of a column up to which it is used: normal scores have 3, a flag one over its share of ones.
_LARGEST_TAIL = 4.0
# Below this variance of the products of two columns rounding in single precision takes part.
_LEAST_VARIANCE = 0.01


class GroupCorrelations:
    """Correlations of left with right columns in all groups, under any labelling.

    From sums over the rows of all groups but the largest, which has what is left of everything.

    Parameters
    ----------
    columns : array of shape (n_rows, n_columns), single precision
        Numbers, about centred.
    left, right : slice
        Columns whose correlations with each other are wanted.
    labellings : Relabellings
        Labellings; the first is the observed one.

    Examples
    --------
    >>> from princdiff.labellings.schemes import Scheme
    >>> columns = np.array([[1, 1], [-1, -1], [1, -1], [-1, 1]], dtype=np.float32)
    >>> codes = np.array([0, 0, 1, 1], dtype=np.uint8)
    >>> found = GroupCorrelations(
    ...     columns, slice(0, 1), slice(1, 2), Relabellings(Scheme(codes, 5, seed=0), 2)
    ... )
    >>> found.observed_correlations().ravel()
    array([ 1., -1.])
    """

    def __init__(
        self, columns: NDArray[np.float32], left: slice, right: slice, labellings: Relabellings
    ) -> None:
        self._columns, self._squares = columns, columns * columns
        self._left, self._right, self._labellings = left, right, labellings
        self._shape = (len(range(columns.shape[1])[left]), len(range(columns.shape[1])[right]))
        weights = np.ones(len(columns)) if labellings.weights is None else labellings.weights
        self._weights = weights.astype(np.float32)
        self._everything = self._products(np.arange(len(columns)))
        self.rounding = _ROUNDING**2 * float(weights.sum())

    def changes(self, wanted: NDArray[np.bool_], n_jobs: int | None) -> NDArray[np.float32]:
        """How much correlations differ between groups, shape (n_labellings, n_left * n_right).

        Those that are not wanted may be left out, and are zero then.
        """
        n_labellings, n_rows = self._labellings.n_labellings, len(self._columns)
        if self._labellings.scheme.conditional:
            return self._changes_about_mean(n_jobs)
        found = np.zeros((n_labellings, *self._shape), dtype=np.float32)
        flat = found.reshape(n_labellings, -1)
        sizes = np.bincount(self._labellings.scheme.codes(np.arange(1))[0])
        together = n_rows >= _MANY_ROWS and n_rows - sizes.max() >= _GATHERED_SHARE * n_rows
        places = np.flatnonzero(wanted)
        step = _CHUNK
        if together:
            step = max(_CHUNK, min(_PRODUCT_ELEMENTS // max(1, len(places)), _LABEL_ELEMENTS // n_rows))
        chunks = np.split(np.arange(n_labellings), np.arange(step, n_labellings, step))

        def run(chunk: NDArray[np.intp]) -> None:
            codes = self._labellings.scheme.codes(chunk)
            if together:
                flat[np.ix_(chunk, places)] = self._changes_of_pairs(codes, places, int(sizes.argmax()))
                return
            moments = self._moments(codes)
            for place, index in enumerate(chunk):
                self._change(codes[place], moments.of(place), found[index])

        in_threads(run, chunks, n_jobs)
        return flat

    def _changes_about_mean(self, n_jobs: int | None) -> NDArray[np.float32]:
        """The same given covariates, which may go with correlations: from the means over all labellings."""
        n_labellings, n_groups = self._labellings.n_labellings, self._labellings.n_groups
        parts = np.empty((n_groups, n_labellings, self._shape[0] * self._shape[1]), dtype=np.float32)
        mass = np.empty((n_groups, n_labellings, 1), dtype=np.float32)

        def run(chunk: NDArray[np.intp]) -> None:
            codes = self._labellings.scheme.codes(chunk)
            moments = self._moments(codes)
            mass[:, chunk, 0] = moments.mass.T
            for place, index in enumerate(chunk):
                for group, found in self._correlations(codes[place], moments.of(place)):
                    parts[group, index] = found.ravel()

        in_threads(run, np.split(np.arange(n_labellings), np.arange(_CHUNK, n_labellings, _CHUNK)), n_jobs)
        parts -= parts.mean(axis=1, keepdims=True)
        parts -= (mass * parts).sum(axis=0) / mass.sum(axis=0)
        return (mass * parts * parts).sum(axis=0)

    def _changes_of_pairs(
        self, codes: NDArray[np.uint8], places: NDArray[np.intp], largest: int
    ) -> NDArray[np.float32]:
        """The same for many labellings and some pairs, from sums of products, (n_labellings, n_pairs)."""
        n_columns = self._columns.shape[1]
        first, second = np.divmod(places, self._shape[1])
        first, second = np.arange(n_columns)[self._left][first], np.arange(n_columns)[self._right][second]
        sums = self._sums_of_pairs(codes, (first, second), largest)
        mass: Any = 0.0
        mean: Any = 0.0
        squares: Any = 0.0
        for part in sums:
            share = part[:, :1]
            mass = mass + share
            away = _correlations_of(part, n_columns, (first, second)) - mean
            mean = mean + (share / mass) * away
            squares = squares + away * away * (share * (mass - share) / mass)
        return squares.astype(np.float32)

    def _sums_of_pairs(
        self, codes: NDArray[np.uint8], pairs: tuple[NDArray[np.intp], NDArray[np.intp]], largest: int
    ) -> NDArray[np.float64]:
        """What `_correlations_of` needs of every group, shape (n_groups, n_labellings, n_sums)."""
        n_columns, n_groups = self._columns.shape[1], self._labellings.n_groups
        first, second = pairs
        singles = 1 + 2 * n_columns
        sums = np.zeros((n_groups, len(codes), singles + len(first)))
        for start in range(0, len(self._columns), _PRODUCT_ROWS):
            rows = slice(start, start + _PRODUCT_ROWS)
            own, weights = self._columns[rows], self._weights[rows, None]
            weighted = own * weights
            members = {g: packed(codes[:, rows] == g) for g in range(n_groups) if g != largest}
            for begin in range(0, sums.shape[2], _PRODUCT_COLUMNS):
                end = begin + _PRODUCT_COLUMNS
                some = slice(max(0, begin - singles), max(0, end - singles))
                columns = _products(weighted, own, first[some], second[some])
                if begin < singles:
                    single = np.concatenate([weights, weighted, self._squares[rows] * weights], axis=1)
                    columns = np.concatenate([single[:, begin:end], columns], axis=1)
                sums[largest, :, begin:end] += columns.sum(axis=0, dtype=np.float64)
                for group, inside in members.items():
                    sums[group, :, begin:end] += labelled_sums(inside, columns)
        sums[largest] -= sums.sum(axis=0) - sums[largest]
        return sums

    def observed_correlations(self) -> NDArray[np.float64]:
        """Correlations in the observed groups, shape (n_groups, n_left * n_right)."""
        codes = self._labellings.scheme.codes(np.arange(1))
        found = np.empty((self._labellings.n_groups, self._shape[0] * self._shape[1]))
        for group, correlation in self._correlations(codes[0], self._moments(codes).of(0)):
            found[group] = correlation.ravel()
        return found

    def expected_changes(self) -> NDArray[np.float64]:
        """Mean of the changes over all labellings, to first order, shape (n_left * n_right,).

        A correlation r of standardised columns x and y is about the mean of x y - r (x^2 + y^2) / 2, and the
        mean of the changes of means over all ways to deal rows is the variance of what is averaged, times the
        number of groups less one. NaN where rows have weights or are not dealt freely, where groups are
        small, for columns that nearly determine each other, and for those that do not vary or are rarely not
        zero.
        """
        labellings = self._labellings
        smallest = np.bincount(labellings.scheme.codes(np.arange(1))[0]).min()
        if not labellings.free or smallest < _FEWEST_EXPECTED:
            return np.full(self._shape[0] * self._shape[1], np.nan)
        spread = self._columns.std(axis=0, dtype=np.float64)
        standard = (self._columns - self._columns.mean(axis=0, dtype=np.float64)) / np.where(
            spread > 0, spread, 1.0
        )
        x, y = standard[:, self._left].astype(np.float32), standard[:, self._right].astype(np.float32)
        n_rows = len(x)
        correlation = x.T @ y / n_rows
        both = (x**2).T @ y**2 / n_rows
        lopsided = ((x**3).T @ y + x.T @ y**3) / n_rows
        tails = (x**4).mean(axis=0)[:, None], (y**4).mean(axis=0)
        fourth = (tails[0] + 2 * both + tails[1]) / 4
        variance = both - correlation * (lopsided - correlation * fourth)
        share = (labellings.n_groups - 1) * n_rows / (n_rows - 1)
        sound = (variance > _LEAST_VARIANCE) & (np.maximum(*tails) <= _LARGEST_TAIL)
        return np.where(sound, variance * share, np.nan).ravel().astype(np.float64)

    def _change(self, codes: NDArray[np.uint8], moments: _GroupMoments, out: NDArray[np.float32]) -> None:
        """Weighted sum of squares of the groups' correlations about their mean."""
        parts = self._correlations(codes, moments)
        first, mean = next(parts)
        mass = moments.mass[first]
        out[:] = 0.0
        # By the recurrence for weighted variances, which does not subtract large numbers.
        for group, correlation in parts:
            own = moments.mass[group]
            mass = mass + own
            correlation -= mean
            mean = mean + (own / mass) * correlation if self._labellings.n_groups > 2 else mean
            correlation *= correlation
            correlation *= own * (mass - own) / mass
            out += correlation

    def _correlations(
        self, codes: NDArray[np.uint8], moments: _GroupMoments
    ) -> Iterator[tuple[int, NDArray[np.float32]]]:
        """Each group's correlations of left with right columns."""
        n_groups = self._labellings.n_groups
        largest = int(np.bincount(codes, minlength=n_groups).argmax())
        left_over = self._everything
        for group in [*(g for g in range(n_groups) if g != largest), largest]:
            if group == largest:
                products = left_over
            else:
                products = self._products(np.flatnonzero(codes == group))
                left_over = left_over - products
            inverse, shift = moments.inverse[group], moments.shift[group]
            found = products * (inverse[self._left] / moments.mass[group])[:, None]
            found *= inverse[self._right]
            found -= shift[self._left, None] * shift[self._right]
            yield group, found

    def _products(self, rows: NDArray[np.intp]) -> NDArray[np.float32]:
        """Weighted sums of the products of left with right columns over some rows."""
        taken = self._columns[rows]
        left = taken[:, self._left]
        if self._labellings.weights is not None:
            left = left * self._weights[rows, None]
        return left.T @ taken[:, self._right]

    def _moments(self, codes: NDArray[np.uint8]) -> _GroupMoments:
        """Of all columns in all groups, for some labellings."""
        n_groups = self._labellings.n_groups
        shape = (len(codes), n_groups, self._columns.shape[1])
        mass = np.empty(shape[:2], dtype=np.float32)
        inverse, shift = np.empty(shape, dtype=np.float32), np.empty(shape, dtype=np.float32)
        for group in range(n_groups):
            inside = (codes == group) * self._weights
            own = inside.sum(axis=1, dtype=np.float64)
            mean = (inside @ self._columns) / own[:, None]
            variance = (inside @ self._squares) / own[:, None] - mean**2
            mass[:, group] = own
            inverse[:, group], shift[:, group] = _inverse_and_shift(mean, variance)
        return _GroupMoments(mass, inverse, shift)


def _products(
    left: NDArray[np.float32], right: NDArray[np.float32], first: NDArray[np.intp], second: NDArray[np.intp]
) -> NDArray[np.float32]:
    """``left[:, first] * right[:, second]``, by runs of neighbours, which is quicker than picking them."""
    result = np.empty((len(left), len(first)), dtype=np.float32)
    breaks = np.flatnonzero((np.diff(first) != 0) | (np.diff(second) != 1)) + 1
    for start, end in pairwise([0, *breaks.tolist(), len(first)]):
        if start < end:
            run = slice(second[start], second[start] + end - start)
            np.multiply(left[:, first[start], None], right[:, run], out=result[:, start:end])
    return result


def _correlations_of(
    sums: NDArray[np.float64], n_columns: int, pairs: tuple[NDArray[np.intp], NDArray[np.intp]]
) -> NDArray[np.float64]:
    """Correlations of pairs of columns in one group under many labellings, shape (n_labellings, n_pairs).

    Sums are, side by side, those of the weights, the columns, their squares and the products of the pairs.
    """
    mass = sums[:, :1]
    mean = sums[:, 1 : 1 + n_columns] / mass
    variance = sums[:, 1 + n_columns : 1 + 2 * n_columns] / mass - mean**2
    inverse, shift = _inverse_and_shift(mean, variance)
    found = sums[:, 1 + 2 * n_columns :] / mass
    for own in pairs:
        found *= inverse[:, own]
    return found - shift[:, pairs[0]] * shift[:, pairs[1]]


def _inverse_and_shift(mean: NDArray, variance: NDArray) -> tuple[NDArray, NDArray]:
    """One over the standard deviation, and the mean over it; zero where nothing varies."""
    # A flag that no row of a group has goes with nothing there.
    varying = variance > _LEAST_SPREAD**2
    inverse = np.where(varying, 1 / np.sqrt(np.where(varying, variance, 1.0)), 0.0)
    return inverse, mean * inverse


class _GroupMoments(NamedTuple):
    """Of columns in groups: weights of the rows, one over the standard deviation, and mean over it.

    Arrays of shape (..., n_groups) and (..., n_groups, n_columns).
    """

    mass: NDArray[np.float32]
    inverse: NDArray[np.float32]
    shift: NDArray[np.float32]

    def of(self, labelling: int) -> _GroupMoments:
        """Those of one labelling."""
        return _GroupMoments(self.mass[labelling], self.inverse[labelling], self.shift[labelling])
