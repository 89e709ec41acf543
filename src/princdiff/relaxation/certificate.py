"""How far from the best possible a fitted direction can be at most."""

from __future__ import annotations

from math import comb

import numpy as np
from numpy.typing import NDArray

from princdiff.data.labels import Labels
from princdiff.data.samples import Samples
from princdiff.relaxation.bounds import Certificate, upper_bound

_CHEAP_SORTS = 10_000_000
_PLANS = {2: 4, 3: 25, 4: 400}
_CHEAP_ROWS, _CHEAP_FEATURES = 400, 60


def certify(
    samples: Samples, labels: Labels, level: int, direction: NDArray[np.float64], mode: bool | str
) -> Certificate | None:
    """Bound on the divergence of any unit direction with at most ``level`` features.

    Parameters
    ----------
    samples : Samples
        Pooled rows.
    labels : Labels
        One column. More than two groups have no certificate.
    level : int
        Features allowed.
    direction : array of shape (n_features,)
        The direction found, as a guide.
    mode : {True, False, "auto"}
        "auto": only where it costs no more than a fit.

    Returns
    -------
    Certificate or None
    """
    if mode is False or labels.n_groups != 2 or not samples.varying.any():
        return None
    # Plans of weighted rows cost many times those of equal ones.
    if mode == "auto" and (
        samples.columns_per_pass is not None
        or not _cheap(samples, level)
        or (labels.weights is not None and min(level, samples.n_features) > 3)
    ):
        return None
    return upper_bound(
        samples.scaled_rows(labels),
        labels.codes[0],
        level,
        directions=direction,
        sample_weight=labels.weights,
    )


def _cheap(samples: Samples, level: int) -> bool:
    """Exact small cases, and small problems over all features."""
    n_features = samples.n_features
    if level == 1:
        return True
    small = min(level, n_features)
    if small in _PLANS and comb(n_features, small) * _PLANS[small] * samples.n_rows <= _CHEAP_SORTS:
        return True
    dense = level >= n_features and n_features <= _CHEAP_FEATURES
    return dense and samples.n_rows <= _CHEAP_ROWS
