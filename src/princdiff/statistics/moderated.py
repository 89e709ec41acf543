"""Many columns on few units, such as genes on donors: t statistics whose variances are moderated.

With eight donors a group the variance of one gene is poorly known, that of thousands of genes together is
known well. Variances are drawn towards the one that most genes have (Smyth 2004), anew for every labelling;
p-values count relabellings, pooled over the genes, which are alike once trend and scale are taken out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma, polygamma
from scipy.stats import false_discovery_control

# Pieces in which the trend of variances over means is followed.
_TREND_PIECES = 20
# Excess of the spread of log variances below which all columns are taken to have one variance.
_NO_SPREAD = 1e-3
# Values of one block of labellings by columns.
_BLOCK_ELEMENTS = 1_000_000


@dataclass(frozen=True)
class LabelledUnits:
    """Units, such as donors, and the labellings under which they are compared.

    Attributes
    ----------
    labels : array of shape (n_labellings, n_rows), dtype uint8
        0 or 1 for every row of values, the observed labelling first.
    paired : bool
        Whether rows ``2 i`` and ``2 i + 1`` are the two sides of unit i; only their difference counts.
    """

    labels: NDArray[np.uint8]
    paired: bool

    def statistics(self, values: NDArray) -> NDArray[np.float32]:
        """Absolute moderated t of every column under every labelling.

        Parameters
        ----------
        values : array of shape (n_rows, n_columns)
            One row a unit, or two if paired.

        Returns
        -------
        array of shape (n_labellings, n_columns), dtype float32

        Examples
        --------
        >>> values = np.array([[0.0, 1.0], [0.2, 0.0], [3.0, 0.4], [3.1, 0.7]])
        >>> units = LabelledUnits(np.array([[0, 0, 1, 1], [0, 1, 0, 1]], dtype=np.uint8), paired=False)
        >>> found = units.statistics(values)
        >>> bool(found[0, 0] > found[1, 0])
        True
        """
        values = values - values.mean(axis=0)
        n_labellings, n_columns = len(self.labels), values.shape[1]
        result = np.empty((n_labellings, n_columns), dtype=np.float32)
        step = max(1, _BLOCK_ELEMENTS // max(1, n_columns))
        for start in range(0, n_labellings, step):
            labels = self.labels[start : start + step].astype(values.dtype)
            differences = _within if self.paired else _between
            means, variances, freedom = differences(values, labels)
            result[start : start + step] = np.abs(means) / np.sqrt(moderated(variances, freedom))
        return result


def _within(values: NDArray, labels: NDArray) -> tuple[NDArray, NDArray, int]:
    """Mean difference within units, and its variance."""
    apart = values[1::2] - values[::2]
    n_units = len(apart)
    means = (labels[:, 1::2] - labels[:, ::2]) @ apart / n_units
    squares = (apart**2).sum(axis=0) - n_units * means**2
    return means, np.maximum(squares, 0) / ((n_units - 1) * n_units), n_units - 1


def _between(values: NDArray, labels: NDArray) -> tuple[NDArray, NDArray, int]:
    """Difference of the means of centred values between units, and its variance."""
    n_rows = labels.shape[1]
    second = labels.sum(axis=1, keepdims=True)
    first = n_rows - second
    sums = labels @ values
    squares = (values**2).sum(axis=0) - sums**2 * (1 / second + 1 / first)
    share = 1 / second + 1 / first
    return sums * share, np.maximum(squares, 0) / (n_rows - 2) * share, n_rows - 2


def moderated(variances: NDArray[np.float64], freedom: int) -> NDArray[np.float64]:
    """Variances drawn towards the one that most columns have, for each labelling.

    Parameters
    ----------
    variances : array of shape (n_labellings, n_columns)
        As estimated, each with ``freedom`` degrees of freedom.
    freedom : int
        At least 1.

    Returns
    -------
    array of shape (n_labellings, n_columns)

    Notes
    -----
    If true variances follow a scaled inverse chi-squared law, mean and variance of the logarithms of what was
    estimated give its two parameters (Smyth 2004, Stat. Appl. Genet. Mol. Biol. 3, section 6.2).

    Examples
    --------
    >>> moderated(np.array([[0.1, 1.0, 1.0, 10.0]]), freedom=2).round(2)
    array([[0.5 , 0.97, 0.97, 5.68]])
    """
    floor = 1e-12 * np.maximum(variances.mean(axis=1, keepdims=True), 1e-300)
    logs = np.log(np.maximum(variances, floor)) - digamma(freedom / 2) + np.log(freedom / 2)
    center = logs.mean(axis=1, keepdims=True)
    excess = logs.var(axis=1, ddof=1, keepdims=True) - polygamma(1, freedom / 2)
    alike = excess <= _NO_SPREAD
    prior = 2 * _inverse_trigamma(np.where(alike, 1.0, excess))
    common = np.exp(center + np.where(alike, 0.0, digamma(prior / 2) - np.log(prior / 2)))
    return np.where(alike, common, (prior * common + freedom * variances) / (prior + freedom))


def _inverse_trigamma(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Where the trigamma function has these values, by Newton's method from below."""
    found = 0.5 + 1 / values
    for _ in range(8):
        here = polygamma(1, found)
        found = found + here * (1 - here / values) / polygamma(2, found)
    return found


def level_rows(values: NDArray[np.float64], usual: NDArray[np.bool_] | None = None) -> NDArray[np.float64]:
    """Rows brought to one level by the median of their deviations from the columns' means.

    Of logarithms of parts of a whole some fall if others rise; beside the column in the middle they do not,
    where there are many columns of which most do not change. Labels play no part.

    Parameters
    ----------
    values : array of shape (n_rows, n_columns)
        Logarithms.
    usual : bool array of shape (n_columns,), optional
        Columns whose median counts; default all.

    Returns
    -------
    array of shape (n_rows, n_columns)

    Examples
    --------
    >>> parts = np.array([[1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 3.0, 20.0]])
    >>> even = level_rows(np.log2(parts / parts.sum(axis=1, keepdims=True)))
    >>> (even[1] - even[0]).round(2).tolist()
    [0.0, 0.0, 0.0, 2.32]
    """
    apart = values - values.mean(axis=0)
    return values - np.median(apart if usual is None else apart[:, usual], axis=1, keepdims=True)


def without_trend(values: NDArray[np.float64], level: NDArray[np.float64]) -> NDArray[np.float64]:
    """Columns divided by the spread that columns of their level usually have; labels play no part.

    Parameters
    ----------
    values : array of shape (n_rows, n_columns)
        Numbers.
    level : array of shape (n_columns,)
        What spreads depend on, such as mean expression.

    Returns
    -------
    array of shape (n_rows, n_columns)

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> level = np.linspace(0, 3, 400)
    >>> even = without_trend(np.exp(-level) * rng.normal(size=(30, 400)), level)
    >>> bool(0.8 < even[:, :50].std() / even[:, -50:].std() < 1.25)
    True
    """
    logs = np.log(np.maximum(values.var(axis=0), 1e-12))
    pieces = np.array_split(np.argsort(level, kind="stable"), min(_TREND_PIECES, len(level)))
    places = [level[piece].mean() for piece in pieces]
    usual = np.interp(level, places, [np.median(logs[piece]) for piece in pieces])
    return values / np.exp(usual / 2)


def pooled_pvalues(statistics: NDArray[np.float32], most: int | None = None) -> NDArray[np.float64]:
    """P-values that count the relabellings of all columns.

    Parameters
    ----------
    statistics : array of shape (n_labellings, n_columns)
        Of columns that are alike under the null hypothesis; the observed labelling first.
    most : int, optional
        Count for so many columns only, those with the largest statistics; the others get 1.

    Returns
    -------
    array of shape (n_columns,)
        (1 + b) / (1 + B): b of the B statistics of relabellings reach the observed one. Columns that differ
        clearly are counted under no relabelling: theirs have other tails.

    Examples
    --------
    >>> pooled_pvalues(np.array([[3.0, 0.5], [1.0, 2.0], [0.1, 0.2]]))
    array([0.2, 0.6])
    """
    # Labellings that give the same groups give the same statistic but for rounding.
    observed = statistics[0] * np.float32(1 - 1e-5)
    least = np.float32(0.0)
    if most is not None and most < len(observed):
        least = np.partition(observed, -most)[-most]
    found = _counted(statistics[1:], observed, least)
    unclear = false_discovery_control(found) > 0.05
    return found if unclear.all() or not unclear.any() else _counted(statistics[1:, unclear], observed, least)


def _counted(
    null: NDArray[np.float32], observed: NDArray[np.float32], least: np.float32
) -> NDArray[np.float64]:
    """Shares of the null statistics that reach those observed; 1 for what is below the least."""
    large = np.sort(null[null >= least])
    pvalues = (1 + len(large) - np.searchsorted(large, observed)) / (1 + null.size)
    return np.where(observed >= least, pvalues, 1.0)
