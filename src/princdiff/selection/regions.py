"""Regions of a table that hold more of one group than of the other, in conditions on at most two columns.

They are looked for in one half of the rows and tested on the other: whatever the search does, the regions are
fixed for the rows that judge them, so Fisher's exact test holds. A region is tested among the rows that are
in none before it, since where one region gains all others lose.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import fisher_exact

# Where numbers are cut, as parts of all rows; and the rows and part of the rows that a region must hold.
_CUTS = np.arange(0.1, 0.95, 0.1)
_FEWEST_ROWS, _LEAST_SHARE = 20, 0.01
# Conditions of which all pairs are looked at; of more those that say most alone.
_MOST_CONDITIONS = 600
# A second condition must make a region so many times as clear: the clearest of many pairs is so by chance.
_WORTH_A_SECOND = 1.15
# Cuts are rounded to this part of the range between the quartiles.
_ROUNDED_TO = 0.1


class Condition(NamedTuple):
    """A feature lies in a range: ``low < value <= high``."""

    feature: int
    low: float
    high: float

    def holds(self, rows: NDArray[np.float64]) -> NDArray[np.bool_]:
        """For which rows it is true.

        Examples
        --------
        >>> Condition(0, 1.0, np.inf).holds(np.array([[1.0], [2.0]]))
        array([False,  True])
        """
        values = rows[:, self.feature]
        return (values > self.low) & (values <= self.high)


Conditions = tuple[Condition, ...]


def inside(region: Conditions, rows: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Rows for which all conditions hold."""
    return np.logical_and.reduce([condition.holds(rows) for condition in region])


def regions_of(rows: NDArray[np.float64], codes: NDArray[np.uint8], most: int) -> list[Conditions]:
    """The regions in which two groups differ most clearly, each among the rows that are in none before it.

    Parameters
    ----------
    rows : array of shape (n_rows, n_features)
        Numbers.
    codes : array of shape (n_rows,)
        Groups, 0 and 1.
    most : int
        Regions at most.

    Returns
    -------
    list of tuples of Condition
        One or two conditions each, the clearest first.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> rows, codes = rng.uniform(size=(2000, 3)), np.repeat([0, 1], 1000).astype(np.uint8)
    >>> rows[1000:1150, :2] = rng.uniform(0.7, 1, size=(150, 2))
    >>> regions_of(rows, codes, 1)
    [(Condition(feature=0, low=0.65, high=inf), Condition(feature=1, low=0.65, high=inf))]
    """
    conditions = _conditions(rows)
    if not conditions:
        return []
    marks = np.column_stack([condition.holds(rows) for condition in conditions]).astype(np.float32)
    found: list[Conditions] = []
    left = np.ones(len(rows), dtype=bool)
    while len(found) < most and min(np.bincount(codes[left], minlength=2)) >= _FEWEST_ROWS:
        best = _clearest(marks[left], codes[left])
        if best is None:
            break
        found.append(tuple(conditions[place] for place in best))
        left &= ~inside(found[-1], rows)
    return found


def _conditions(rows: NDArray[np.float64]) -> list[Condition]:
    """Both sides of every cut of every feature."""
    conditions = []
    for feature, values in enumerate(rows.T):
        cuts = [0.5] if np.isin(values, (0.0, 1.0)).all() else _cuts(values)
        # Of two sides that are as clear the first is taken: to be something says more than not to be it.
        for cut in cuts:
            conditions += [Condition(feature, cut, np.inf), Condition(feature, -np.inf, cut)]
    return conditions


def _cuts(values: NDArray[np.float64]) -> list[float]:
    """Quantiles, rounded to figures that can be read."""
    low, high = np.quantile(values, (0.25, 0.75))
    step = _ROUNDED_TO * (high - low)
    if step > 0:
        step = 10 ** np.floor(np.log10(step))
        places = np.rint(np.quantile(values, _CUTS) / step) * step
        # Without what is left over of a product: 0.7000000000000001.
        places = np.round(places, max(0, -int(np.log10(step)) + 1))
    else:
        places = np.quantile(values, _CUTS)
    return [float(cut) for cut in np.unique(places) if values.min() <= cut < values.max()]


def _clearest(marks: NDArray[np.float32], codes: NDArray[np.uint8]) -> tuple[int, ...] | None:
    """The condition, or the pair, whose rows differ most clearly in number."""
    sizes = np.bincount(codes, minlength=2)
    alone = np.stack([marks[codes == code].sum(axis=0) for code in (0, 1)])
    single = _clarity(alone, sizes)
    kept = np.sort(np.argsort(-single, kind="stable")[:_MOST_CONDITIONS])
    both = np.stack([marks[codes == code][:, kept].T @ marks[codes == code][:, kept] for code in (0, 1)])
    pairs = np.triu(_clarity(both, sizes), 1)
    first, second = np.unravel_index(int(pairs.argmax()), pairs.shape)
    best = int(single.argmax())
    if pairs[first, second] > _WORTH_A_SECOND * single[best]:
        return int(kept[first]), int(kept[second])
    return (best,) if single[best] > 0 else None


def _clarity(counts: NDArray[np.floating], sizes: NDArray[np.intp]) -> NDArray[np.float64]:
    """Difference of the shares of two groups over its chance error; 0 with few rows inside, or outside."""
    counts = counts.astype(np.float64)
    total = sizes.sum()
    share = counts.sum(axis=0) / total
    fewest = max(_FEWEST_ROWS, _LEAST_SHARE * total)
    usable = (share * total >= fewest) & ((1 - share) * total >= fewest)
    error = np.sqrt(np.where(usable, share * (1 - share), 1.0) * (1 / sizes).sum())
    return np.where(usable, np.abs(counts[1] / sizes[1] - counts[0] / sizes[0]) / error, 0.0)


def judged(
    regions: list[Conditions], rows: NDArray[np.float64], codes: NDArray[np.uint8]
) -> list[tuple[float, tuple[float, float]]]:
    """Adjusted p-value and shares of both groups of each region, on rows that it was not found on.

    Parameters
    ----------
    regions : list of tuples of Condition
        In the order in which they were found, which is that of the tests: the first that is not significant
        ends them, and no p-value is below one before it. This keeps the chance of any false region.
    rows, codes
        As in `regions_of`.

    Returns
    -------
    list of (pvalue, (share, share))
        Shares of all rows of a group.

    Examples
    --------
    >>> rows, codes = np.arange(8.0)[:, None], np.repeat([0, 1], 4).astype(np.uint8)
    >>> pvalue, shares = judged([(Condition(0, 3.0, np.inf),)], rows, codes)[0]
    >>> round(pvalue, 4), shares
    (0.0286, (0.0, 1.0))
    """
    sizes = np.bincount(codes, minlength=2)
    left = np.ones(len(rows), dtype=bool)
    found, largest = [], 0.0
    for region in regions:
        own = inside(region, rows)
        counts = [np.bincount(codes[left & part], minlength=2) for part in (own, ~own)]
        largest = max(largest, float(fisher_exact(np.array(counts)).pvalue))
        shares = np.bincount(codes[own], minlength=2) / sizes
        found.append((largest, (float(shares[0]), float(shares[1]))))
        left &= ~own
    return found
