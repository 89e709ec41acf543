"""Scores that make statistics with different null distributions comparable.

A z-score is not comparable between statistics whose null distributions have different tails: among rare 0/1
columns the maximum of z-scores is ruled by the rarest. Here a statistic is scored by -log of the survival
function of the gamma law (Pearson III) with its mean, standard deviation and skewness over the labellings.

The moments leave out the labelling that is scored: included, a clear observed value inflates its own
standard deviation and hides itself. Every labelling is treated alike, so under the null hypothesis scores
are as exchangeable as the statistics were, and ranks of scores, or of maxima of scores, give exact p-values.
The fit only decides how evenly the hypotheses compete.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaincc, gammaln, log_ndtr

from princdiff.kernels.engine_choice import Kernel

# Below this skewness the gamma law is the normal one to more digits than moments of a sample have.
_STRAIGHT = 1e-3
# Survival functions smaller than this are computed as logarithms, before they underflow.
_FAR = 1e-250
# Convergents of the continued fraction; so far out in the tail ten give six digits.
_CONVERGENTS = 24
# For shapes below one: power series up to here, with this many terms, then the continued fraction. Both agree
# with SciPy to ten digits there.
_SERIES_END = 3.0
_TERMS = 28
# Variation of a statistic beside its size that sums in double, or in single precision, cannot tell from none.
_ROUNDING = (1e-10, 3e-4)
_KERNEL = Kernel("pd_gamma_scores", "f32* i64 i64 f64 f64 f64* f64* f32*", "i32")
# Deviations of a moment from what is expected, up to the root of this in standard errors, count as noise.
_SHRINKAGE = 2.0
# The same for all moments where the mean is known too: the law is then known better than by its shape alone.
_KNOWN_SHRINKAGE = 6.0
# Values scored at a time.
_BLOCK = 1_000_000


class ScoreMoments(NamedTuple):
    """Mean, standard deviation and skewness; arrays of one shape."""

    mean: NDArray[np.float64]
    spread: NDArray[np.float64]
    skewness: NDArray[np.float64]


def gamma_scores(
    statistics: NDArray,
    above: float | None = None,
    prior: ArrayLike | None = None,
    *,
    mean: ArrayLike | None = None,
    overwrite: bool = False,
) -> NDArray[np.float32]:
    """Comparable scores of statistics, column by column.

    Parameters
    ----------
    statistics : array of shape (n_labellings, n_columns)
        One statistic per column, of all labellings; large values speak against the null hypothesis.
    above : float, optional
        Score only what is this many standard deviations above the mean of its column, and give zero to the
        rest: much faster where nothing but the largest of very many scores is wanted.
    prior : float or array of shape (n_columns,), optional
        Skewness to expect, such as that of a chi-squared law. The skewness of a thousand values is good
        to a sixth of itself only; what differs from the prior by no more than that is taken to be the prior.
    mean : float or array of shape (n_columns,), optional
        Mean to expect of statistics that are zero at the least, beside the skewness; NaN expects nothing.
        Together they give the standard deviation. Both are known only to a twentieth from a thousand
        labellings, which decides about a factor of two of a small p-value.
    overwrite : bool, default=False
        Whether the statistics may be lost, which saves the memory of the scores.

    Returns
    -------
    array of shape (n_labellings, n_columns), float32
        About standard exponential under the null hypothesis. Zero in columns that do not vary.

    Examples
    --------
    >>> statistics = np.random.default_rng(0).chisquare(1, size=(1000, 2))
    >>> statistics[0] = [6.63, 30.0]
    >>> gamma_scores(statistics)[0].round(0)
    array([ 5., 22.], dtype=float32)
    """
    n_labellings, n_columns = statistics.shape
    skewness, means = (
        np.broadcast_to(np.nan if known is None else np.asarray(known, np.float64), (n_columns,))
        for known in (prior, mean)
    )
    means = np.where(np.isnan(skewness), np.nan, means)
    expected = ScoreMoments(means, means * skewness / 2, skewness)
    if statistics.dtype == np.float32 and _KERNEL.available:
        statistics = np.ascontiguousarray(statistics)
        scores = statistics if overwrite else np.empty_like(statistics)
        _run_kernel(statistics, above, expected, scores)
        return scores
    scores = np.zeros(statistics.shape, dtype=np.float32)
    rounding = _ROUNDING[statistics.dtype == np.float32]
    step = max(1, _BLOCK // n_labellings)
    for start in range(0, n_columns, step):
        part = np.asarray(statistics[:, start : start + step], dtype=np.float64)
        # What varies by less than rounding is the same under every labelling, such as a flag of one row.
        size = np.maximum(part.max(axis=0), -part.min(axis=0))
        with np.errstate(invalid="ignore"):
            part = part * (np.ptp(part, axis=0) > rounding * size)
        own = ScoreMoments(*(known[start : start + step] for known in expected))
        scores[:, start : start + step] = _score(part, own, above)
    return scores


def _run_kernel(
    statistics: NDArray[np.float32],
    above: float | None,
    expected: ScoreMoments,
    scores: NDArray[np.float32],
) -> None:
    everything = -np.inf if above is None else above
    skewness, mean = (np.ascontiguousarray(known) for known in (expected.skewness, expected.mean))
    if not _KERNEL(statistics, *statistics.shape, everything, _ROUNDING[1], skewness, mean, scores):
        raise MemoryError(f"no memory for the scores of {len(statistics)} labellings")


def skewness_noise(skewness: NDArray[np.float64], count: int) -> NDArray[np.float64]:
    """Variance of the skewness of a sample from a gamma law, to first order.

    Examples
    --------
    >>> float(skewness_noise(np.array(0.0), 600))
    0.01
    """
    g = skewness
    fourth, fifth, sixth = 3 + 1.5 * g**2, 10 * g + 3 * g**3, 15 + 32.5 * g**2 + 7.5 * g**4
    return (sixth - 6 * fourth + 9 + g**2 * (9 * fourth + 35) / 4 - 3 * g * fifth) / count


def _shrunk(found: ScoreMoments, expected: ScoreMoments, count: int) -> ScoreMoments:
    """Moments drawn towards those expected, as far as noise may have taken them away (James and Stein).

    Noise is that of samples from a gamma law of the expected skewness.
    """
    of_spread = (2 + 1.5 * expected.skewness**2) / 4
    variances = (
        expected.spread**2 / count,
        expected.spread**2 * of_spread / count,
        skewness_noise(expected.skewness, count),
    )
    shrinkage = np.where(np.isnan(expected.mean), _SHRINKAGE, _KNOWN_SHRINKAGE)
    drawn = []
    for own, known, variance in zip(found, expected, variances, strict=True):
        away = own - known
        kept = np.maximum(0.0, 1 - shrinkage * variance / np.maximum(away**2, 1e-300))
        drawn.append(np.where(np.isnan(known), own, known + away * kept))
    return ScoreMoments(*drawn)


def _score(values: NDArray[np.float64], expected: ScoreMoments, above: float | None) -> NDArray[np.float64]:
    with np.errstate(invalid="ignore"):
        usable = np.isfinite(values).all(axis=0) & (np.ptp(values, axis=0) > 0)
    scores = np.zeros(values.shape)
    if not usable.any():
        return scores
    values = values if usable.all() else values[:, usable]
    moments = left_out_moments(values)
    flat = moments.spread <= 1e-9 * np.abs(values - moments.mean).max(axis=0)
    # All others are equal: this labelling is the largest of them all, or like the rest, or the smallest.
    found = np.where(flat & (values > moments.mean), np.log(len(values)), 0.0)
    wanted = ~flat
    if above is not None:
        wanted &= values - values.mean(axis=0) > above * values.std(axis=0)
    known = ScoreMoments(*(np.broadcast_to(one[usable], values.shape)[wanted] for one in expected))
    moments = _shrunk(ScoreMoments(*(one[wanted] for one in moments)), known, len(values) - 1)
    found[wanted] = survival_score((values[wanted] - moments.mean) / moments.spread, moments.skewness)
    scores[:, usable] = found
    return scores


def left_out_moments(values: NDArray[np.float64]) -> ScoreMoments:
    """Moments of each column without the entry in question; all arrays have the shape of ``values``.

    Examples
    --------
    >>> left_out_moments(np.array([[9.0], [1.0], [2.0], [3.0]])).mean[0]
    array([2.])
    """
    count = max(1, len(values) - 1)
    columns = np.arange(values.shape[1])
    centred = values - values.mean(axis=0)
    # Powers of one far value would swallow those of all others, so the farthest is kept out of the sums.
    far = np.maximum(centred, -centred).argmax(axis=0)
    rest = (centred.sum(axis=0) - centred[far, columns]) / count
    mean = values.mean(axis=0) + rest
    centred -= rest
    extreme = centred[far, columns]
    centred[far, columns] = 0.0
    scale = np.sqrt(np.einsum("ij,ij->j", centred, centred) / count)
    scale = np.where(scale > 0, scale, np.where(extreme != 0, np.abs(extreme), 1.0))
    centred /= scale
    extreme = extreme / scale
    square = centred * centred
    cube = square * centred
    totals = (centred.sum(axis=0), square.sum(axis=0), np.einsum("ij,ij->j", square, centred))
    # Sum of the others = kept ones + the far one - this one, which cancel for the far one itself.
    for power, (own, total) in enumerate(zip((centred, square, cube), totals, strict=True), start=1):
        np.subtract((total + extreme**power) / count, own / count, out=own)
        own[far, columns] = total / count
    first, second, third = centred, square, cube
    variance = np.maximum(second - first * first, 0.0)
    spread = np.sqrt(variance)
    third += first * (2 * first * first - 3 * second)
    skewness = third / np.where(spread > 0, variance * spread, 1.0)
    return ScoreMoments(mean + scale * first, scale * spread, skewness)


def survival_score(z: ArrayLike, skewness: ArrayLike) -> NDArray[np.float64]:
    """-log of the chance that a gamma law of mean 0, variance 1 and given skewness exceeds z.

    Finite and increasing in z however far out. A negative skewness counts as none: the law would end
    at a point beyond which all scores were infinite.

    Examples
    --------
    >>> survival_score([1.0, 9.0, 900.0], 2.0)
    array([  2.,  10., 901.])
    """
    z, skewness = np.broadcast_arrays(np.asarray(z, dtype=np.float64), np.asarray(skewness, np.float64))
    shape_of_z = z.shape
    z, skewness = np.atleast_1d(z).ravel(), np.atleast_1d(skewness).ravel()
    straight = skewness < _STRAIGHT
    shape = 4 / np.where(straight, 1.0, skewness * skewness)
    point = np.maximum(shape + z * np.sqrt(shape), 0.0)
    survival = _upper_gamma(shape, point)
    far = survival < _FAR
    scores = -np.log(np.where(far, 1.0, survival))
    if far.any():
        scores[far] = _far_score(shape[far], point[far])
    if straight.any():
        scores[straight] = -log_ndtr(-z[straight])
    return scores.reshape(shape_of_z)


def _upper_gamma(shape: NDArray[np.float64], point: NDArray[np.float64]) -> NDArray[np.float64]:
    """SciPy's gammaincc, several times faster for shapes below one, where squares of normal scores are."""
    survival = np.empty(shape.shape)
    low = shape < 1.0
    small, large = low & (point < _SERIES_END), low & (point >= _SERIES_END)
    rest = ~low
    survival[rest] = gammaincc(shape[rest], point[rest])
    if small.any():
        a, x = shape[small], point[small]
        term = np.ones(len(a))
        total = np.ones(len(a))
        for n in range(1, _TERMS):
            term *= x / (a + n)
            total += term
        # P(a, x) = x^a e^-x / Gamma(a + 1) * (1 + x / (a + 1) + x^2 / ((a + 1) (a + 2)) + ...)
        with np.errstate(divide="ignore"):
            survival[small] = np.maximum(1 - np.exp(a * np.log(x) - x - gammaln(a + 1)) * total, 0.0)
    if large.any():
        survival[large] = np.exp(-_far_score(shape[large], point[large]))
    return survival


def _far_score(shape: NDArray, point: NDArray) -> NDArray[np.float64]:
    """-log of the upper incomplete gamma function, regularised, far above the mean (continued fraction)."""
    fraction = np.zeros(shape.shape)
    for n in range(_CONVERGENTS, 0, -1):
        fraction = n * (n - shape) / (point + 2 * n + 1 - shape - fraction)
    return gammaln(shape) + point - shape * np.log(point) + np.log(point + 1 - shape - fraction)


def tempered(scores: NDArray[np.float32]) -> NDArray[np.float32]:
    """Scores that grow like their logarithm beyond what the number of labellings supports.

    The law behind a score is fitted to as many values as there are labellings. What it says of a chance
    far below one over their number is a guess, and with few labellings often a wild one: in one cell of one
    relabelling it could drown a clear difference in all others.

    Parameters
    ----------
    scores : array of shape (n_labellings, n_cells)

    Returns
    -------
    array of shape (n_labellings, n_cells)

    Examples
    --------
    >>> tempered(np.array([[1.0], [1.0], [50.0]])).round(2).ravel()
    array([1.  , 1.  , 5.99])
    """
    supported = scores.dtype.type(np.log(len(scores)) + 1.0)
    beyond = np.maximum(scores - supported, 0)
    return np.minimum(scores, supported) + np.log1p(beyond)
