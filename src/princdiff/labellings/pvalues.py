"""P-values from permutations: one rule for counting, for ties and for many hypotheses at once.

Everything here takes statistics of all labellings, the observed one first. The p-value is the share of
labellings that reach the observed statistic, the observed one among them: (1 + b) / (1 + B). It is valid
because under the null hypothesis the observed labelling is one of B + 1 that are exchangeable and treated
alike; with all labellings of a design it is exact.

Ties count as reached. Two labellings that are tied in exact arithmetic differ by rounding, which depends on
the precision, the processor and the size of chunks: so values closer than a small tolerance are tied. A
tolerance can only make a p-value larger.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaincinv

# In standard deviations of the statistic over the labellings: a hundred times the rounding of single
# precision sums, and a ten-thousandth of what would be seen in a p-value.
TIE_SPREAD = 1e-4
# Of the statistic itself: where all labellings have nearly the same large value.
TIE_RELATIVE = 1e-7
# How much more p-values vary over the labellings drawn than counting makes them, where scores are fitted to
# these labellings: a part of p (1 - p). Nine tables of 3 to 20 columns and 60 or 120 rows, 40 seeds each, 199
# permutations: variances of 1.2 to 7 times that of a count, the largest for p between .1 and .8. Intervals of
# counts covered the mean over seeds in .87 where .99 was said.
SCORED = 32.0
# Values handled at a time, so that temporaries stay small beside the scores.
_BLOCK = 4_000_000


class Interval(NamedTuple):
    """Bounds of a number."""

    low: float
    high: float


def counted_pvalue(n_reached: ArrayLike, n_relabellings: int) -> NDArray[np.float64]:
    """P-value of a count: the observed labelling is one of those that reach its statistic.

    Parameters
    ----------
    n_reached : int or array of int
        b, the permutations whose statistic is at least the observed one.
    n_relabellings : int
        B, all of them.

    Returns
    -------
    array of the shape of n_reached
        (1 + b) / (1 + B).

    Examples
    --------
    >>> counted_pvalue([0, 49], 999)
    array([0.001, 0.05 ])
    """
    return (1 + np.asarray(n_reached)) / (1 + n_relabellings)


def tie_tolerance(statistics: ArrayLike) -> NDArray[np.float64]:
    """Differences below which statistics are tied, one per column.

    Parameters
    ----------
    statistics : array of shape (n_labellings, ...)
        Statistics of all labellings.

    Returns
    -------
    array of shape (...)
    """
    pool = np.asarray(statistics, dtype=np.float64)
    return TIE_SPREAD * pool.std(axis=0) + TIE_RELATIVE * np.abs(pool).max(axis=0)


def permutation_pvalue(statistics: ArrayLike) -> NDArray[np.float64]:
    """Share of labellings that reach the observed statistic, column by column.

    Parameters
    ----------
    statistics : array of shape (n_labellings, ...)
        Statistics of all labellings, the observed one first; large values speak against the null hypothesis.

    Returns
    -------
    array of shape (...)
        (1 + b) / (1 + B).

    Examples
    --------
    >>> permutation_pvalue([3.0, 1.0, 3.0, 2.0])
    array(0.5)
    >>> permutation_pvalue([[3.0, 1.0], [1.0, 2.0], [2.0, 3.0], [0.0, 0.5]])
    array([0.25, 0.75])
    """
    pool = np.asarray(statistics)
    columns = pool.reshape(len(pool), -1)
    step = max(1, _BLOCK // len(pool))
    parts = []
    for start in range(0, columns.shape[1], step):
        part = columns[:, start : start + step]
        threshold = part[0] - tie_tolerance(part)
        # What cannot be compared, NaN, counts as reached: it must never make a p-value small.
        parts.append(counted_pvalue(np.count_nonzero(~(part[1:] < threshold), axis=0), len(pool) - 1))
    found = np.concatenate(parts) if parts else np.ones(0)
    return found.reshape(pool.shape[1:])


def ranks_from_above(statistics: NDArray) -> NDArray[np.float64]:
    """Share of labellings that reach the statistic of each labelling, column by column.

    The same as `permutation_pvalue` for the observed one, with every other in its place.

    Parameters
    ----------
    statistics : array of shape (n_labellings, n_columns)
        Statistics of all labellings.

    Returns
    -------
    array of shape (n_labellings, n_columns)

    Examples
    --------
    >>> ranks_from_above(np.array([[3.0], [1.0], [3.0], [2.0]])).ravel()
    array([0.5 , 1.  , 0.5 , 0.75])
    """
    pool = np.asarray(statistics, dtype=np.float64)
    ascending = np.sort(pool, axis=0)
    below = [
        np.searchsorted(line, column - tolerance)
        for line, column, tolerance in zip(ascending.T, pool.T, tie_tolerance(pool), strict=True)
    ]
    return 1 - np.column_stack(below) / len(pool)


def step_down_pvalues(scores: NDArray, offsets: NDArray | None = None) -> NDArray[np.float64]:
    """P-values adjusted for looking at many hypotheses, by the step-down maximum (Westfall and Young).

    Parameters
    ----------
    scores : array of shape (n_labellings, n_hypotheses)
        Comparable scores of all labellings, the observed one first.
    offsets : array of shape (n_hypotheses,), optional
        Handicap of each hypothesis, the same for every labelling: subtracted from its scores.

    Returns
    -------
    array of shape (n_hypotheses,)
        Adjusted p-values. To reject those that are at most ``alpha`` makes any false rejection with
        probability at most ``alpha``.

    Notes
    -----
    The hypothesis with the largest score is judged by the maximum over all hypotheses, the next one by the
    maximum over the others, and so on; an adjusted p-value is never smaller than that of a larger score.
    The error is controlled strongly, whichever hypotheses are true, if the scores of the true ones do not
    depend on anything else.

    Examples
    --------
    >>> step_down_pvalues(np.array([[9.0, 5.0, 1.0], [1.0, 2.0, 6.0], [3.0, 2.0, 2.0], [4.0, 1.0, 0.0]]))
    array([0.25, 0.5 , 0.75])
    """
    n_labellings, n_hypotheses = scores.shape
    if n_hypotheses == 0:
        return np.ones(0)
    observed = scores[0] if offsets is None else scores[0] - offsets
    order = np.argsort(-observed, kind="stable")
    # As `tie_tolerance`; scores of all hypotheses are on one scale, so one spread serves them all.
    spread = scores[1:].max(axis=1).astype(np.float64).std() if n_labellings > 1 else 0.0
    thresholds = (observed - (TIE_SPREAD * spread + TIE_RELATIVE * np.abs(observed)))[order]
    reached = np.zeros(n_hypotheses, dtype=np.int64)
    # The smallest score first: then the maximum over what is left is a running one.
    upward = order[::-1]
    step = max(1, _BLOCK // n_hypotheses)
    for start in range(1, n_labellings, step):
        part = scores[start : start + step][:, upward]
        if offsets is not None:
            part = part - offsets[upward]
        part = np.maximum.accumulate(part, axis=1)
        reached += np.count_nonzero(~(part[:, ::-1] < thresholds), axis=0)
    adjusted = np.empty(n_hypotheses)
    adjusted[order] = np.maximum.accumulate(counted_pvalue(reached, n_labellings - 1))
    return adjusted


def adjusted_pvalues(pvalues: ArrayLike, adjustment: str = "holm") -> NDArray[np.float64]:
    """P-values adjusted for their number, whatever their dependence or with control of false discoveries.

    Parameters
    ----------
    pvalues : array of shape (n,)
        NaN, of what was not tested, stays NaN and does not count.
    adjustment : {"holm", "benjamini-hochberg", "none"}
        "holm" bounds the chance of any false rejection, "benjamini-hochberg" the expected share of false
        ones among those rejected.

    Returns
    -------
    array of shape (n,)

    Examples
    --------
    >>> adjusted_pvalues([0.01, np.nan, 0.04, 0.03])
    array([0.03,  nan, 0.06, 0.06])
    >>> adjusted_pvalues([0.01, 0.04, 0.03], "benjamini-hochberg")
    array([0.03, 0.04, 0.04])
    """
    adjusted = np.array(pvalues, dtype=np.float64)
    known = np.flatnonzero(~np.isnan(adjusted))
    if adjustment == "benjamini-hochberg":
        from scipy.stats import false_discovery_control

        adjusted[known] = false_discovery_control(adjusted[known])
    elif adjustment == "holm":
        order = known[np.argsort(adjusted[known], kind="stable")]
        factors = np.arange(len(order), 0, -1)
        adjusted[order] = np.minimum(1.0, np.maximum.accumulate(adjusted[order] * factors))
    return adjusted


def monte_carlo_interval(
    pvalue: float, n_labellings: int, coverage: float = 0.99, excess: float = 0.0
) -> Interval:
    """Where the p-value of infinitely many random permutations lies (Clopper and Pearson).

    Parameters
    ----------
    pvalue : float
        (1 + b) / (1 + B).
    n_labellings : int
        1 + B, drawn at random; where all labellings of a design were used there is no such error.
    coverage : float, default=0.99
        Of the interval.
    excess : float, default=0
        How much the labellings drawn matter beyond their count, as a part of p (1 - p): `SCORED` where
        scores are fitted to them.

    Returns
    -------
    Interval

    Examples
    --------
    >>> low, high = monte_carlo_interval(0.05, 1000)
    >>> round(low, 3), round(high, 3)
    (0.033, 0.07)
    """
    drawn: float = n_labellings - 1
    reached: float = round(pvalue * n_labellings) - 1
    # As many labellings, and as many that reach it, as would vary as much by counting alone.
    share = 1 + excess * pvalue * (1 - pvalue)
    drawn, reached = drawn / share, reached / share
    tail = (1 - coverage) / 2
    low = betaincinv(reached, drawn - reached + 1, tail) if reached > 0 else 0.0
    high = betaincinv(reached + 1, drawn - reached, 1 - tail) if reached < drawn else 1.0
    return Interval(float(low), float(high))


# P-values below one over the number of permutations, extrapolated and labelled as such.


_EXCEEDANCES = 250
# With this many permutations that reach the observed statistic, counting is good enough.
_COUNTED = 10
_FEWEST = 30


def pareto_pvalue(observed: float, null: NDArray[np.float64]) -> float | None:
    """Extrapolate the upper tail of a null distribution with a generalised Pareto law.

    Parameters
    ----------
    observed : float
        Observed statistic.
    null : array of shape (n_permutations,)
        Statistics of the permutations, from a continuous distribution.

    Returns
    -------
    float or None
        None where no tail fits: too few or tied values, or a poor fit at every threshold.

    Notes
    -----
    The largest values are fitted, fewer and fewer until a Cramer-von Mises test does not reject the fit
    (Knijnenburg et al. 2009). An extrapolation, not a valid p-value.

    Examples
    --------
    >>> null = np.random.default_rng(0).exponential(size=999)
    >>> pvalue = pareto_pvalue(12.0, null)
    >>> 1e-7 < pvalue < 1e-3
    True
    """
    from scipy.stats import cramervonmises, genpareto

    null = np.sort(null)
    counted = float(permutation_pvalue(np.append(observed, null)))
    if round(counted * (1 + len(null))) > _COUNTED:
        return counted
    count = min(_EXCEEDANCES, len(null) // 4)
    while count >= _FEWEST:
        threshold = (null[-count] + null[-count - 1]) / 2
        excess = null[-count:] - threshold
        if len(np.unique(excess)) < 0.9 * count:
            return None
        shape, _, scale = genpareto.fit(excess, floc=0.0)
        if cramervonmises(excess, genpareto(shape, 0.0, scale).cdf).pvalue > 0.05:
            return min(counted, count / len(null) * _survival(observed - threshold, shape, scale))
        count -= 10
    return None


def _survival(excess: float, shape: float, scale: float) -> float:
    """Chance of a larger excess; half way to the end point of a bounded tail it goes on exponentially.

    Near or past its end point a fit promises too much.
    """
    from scipy.stats import genpareto

    trusted = excess if shape >= 0 else min(excess, -0.5 * scale / shape)
    rate = 1 / (scale + shape * trusted)
    return float(genpareto.sf(trusted, shape, 0.0, scale) * np.exp(-(excess - trusted) * rate))
