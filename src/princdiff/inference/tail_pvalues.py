"""P-values below one over the number of permutations, extrapolated and labelled as such."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.stats import cramervonmises, genpareto

from princdiff.inference.pvalues import permutation_pvalue

_EXCEEDANCES = 250
# With this many relabellings that reach the observed statistic, counting is good enough.
_COUNTED = 10
_FEWEST = 30


def pareto_pvalue(observed: float, null: NDArray[np.float64]) -> float | None:
    """Extrapolate the upper tail of a null distribution with a generalised Pareto law.

    Parameters
    ----------
    observed : float
        Observed statistic.
    null : array of shape (n_permutations,)
        Statistics of the relabellings, from a continuous distribution.

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
    trusted = excess if shape >= 0 else min(excess, -0.5 * scale / shape)
    rate = 1 / (scale + shape * trusted)
    return float(genpareto.sf(trusted, shape, 0.0, scale) * np.exp(-(excess - trusted) * rate))
