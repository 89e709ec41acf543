"""Whether the values of a number that were measured differ, where others are missing.

A test sees a number with its gaps filled by one value. If the number is missing more often in one group, that
value is more frequent there and the spread smaller, so the number differs as it was tested even if nothing
that was measured does. What is said of it besides its gaps is therefore judged by the measured values alone.
That takes words away and adds no names.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from princdiff.inference.alone import alone_scores, best_of_several
from princdiff.inference.contrasts import Relabellings
from princdiff.inference.relabelling import Scheme

# Relabellings of the rows that have a value, by which the statistics become comparable scores.
_N_RELABELLINGS = 199
# Rows on which they are judged at most.
_MOST_ROWS = 20_000
# Level at which the measured values are said to differ.
_LEVEL = 0.05


def measured_scores(
    values: NDArray[np.float64], codes: NDArray[np.uint8], weights: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """-log of an approximate p-value of each of `STATISTICS`, from measured values alone.

    Parameters
    ----------
    values : array of shape (n_rows,)
        Values that were measured.
    codes : array of shape (n_rows,)
        Group of each row; every group has rows.
    weights : array of shape (n_rows,), optional
        Row weights.

    Returns
    -------
    array of shape (n_statistics,)

    Notes
    -----
    Rows are relabelled one by one, also where the test relabelled by blocks: only words depend on it. Of many
    rows a sample is judged.

    Examples
    --------
    >>> values = np.random.default_rng(0).normal(size=400)
    >>> values[200:] += 1.0
    >>> measured_scores(values, np.repeat([0, 1], 200).astype(np.uint8)).round().astype(int)[:2]
    array([39,  1])
    """
    if len(values) > _MOST_ROWS:
        kept = np.sort(np.random.default_rng(0).permutation(len(values))[:_MOST_ROWS])
        # A group without a row in the sample has too few to say anything of.
        if len(np.unique(codes[kept])) == len(np.unique(codes)):
            values, codes = values[kept], codes[kept]
            weights = None if weights is None else weights[kept]
    labellings = Relabellings(Scheme(codes, _N_RELABELLINGS, seed=0), int(codes.max()) + 1, weights)
    return alone_scores(values[:, None], labellings).observed_statistics[0]


def differs_clearly(scores: NDArray[np.float64]) -> bool:
    """Whether the clearest of several statistics is significant, after Bonferroni.

    Examples
    --------
    >>> differs_clearly(np.array([0.5, 3.2, 0.0])), differs_clearly(np.array([0.5, 9.0, 0.0]))
    (False, True)
    """
    looked_at = max(int((scores > 0).sum()), 1)
    return bool(best_of_several(scores.max(), looked_at) >= -np.log(_LEVEL))
