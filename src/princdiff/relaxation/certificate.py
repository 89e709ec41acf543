"""How far from the best possible a fitted direction can be at most."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from princdiff.data.labels import Labels
from princdiff.data.samples import Samples
from princdiff.relaxation.upper_bound import Certificate, ProofEffort, upper_bound

# What "auto" may spend: a share of what a comparison with its permutations takes.
_AUTO_SORTS, _AUTO_WORK = 1_000_000, 5e7
_AUTO_NUMBERS = 3_000_000
_AUTO_ROWS, _AUTO_FEATURES, _AUTO_GROUPS = 600, 60, 10
# Sums over a million rows are rounded by some 1e-9 of their size.
_ROUNDING = 1e-6
# Above this many times the value found a bound says nothing, and "auto" leaves it out.
_WORTH_SAYING = 2.0


def certify(
    samples: Samples,
    labels: Labels,
    level: int,
    found: tuple[NDArray[np.float64], float],
    mode: bool | str,
    stop: Callable[[], bool] = lambda: False,
) -> Certificate | None:
    """Bound on the divergence of any unit direction with at most ``level`` features.

    Parameters
    ----------
    samples : Samples
        Pooled rows.
    labels : Labels
        One column.
    level : int
        Features allowed.
    found : array of shape (n_features,) and float
        The direction found, as a guide, and its divergence.
    mode : {True, False, "auto"}
        "auto": only where it costs no more than a fit, and says something.
    stop : callable
        Whether time is over: the bound then stands as it is.

    Returns
    -------
    Certificate or None
    """
    if mode is False or not samples.varying.any():
        return None
    automatic = mode == "auto"
    numbers = samples.n_rows * samples.n_features
    if automatic and (samples.columns_per_pass is not None or (level > 1 and numbers > _AUTO_NUMBERS)):
        return None
    small = samples.n_rows <= _AUTO_ROWS and samples.n_features <= _AUTO_FEATURES
    effort = ProofEffort(stop=stop)
    if automatic:
        # plans of weighted rows cost many times those of equal ones, and every pair of groups has its own
        relaxed = small and labels.weights is None and labels.n_groups <= _AUTO_GROUPS
        effort = ProofEffort(_AUTO_SORTS, _AUTO_WORK, relaxed=relaxed, penalised=False, stop=stop)
    direction, value = found
    bound = upper_bound(
        samples.scaled_rows(labels),
        labels.codes[0],
        level,
        directions=direction,
        sample_weight=labels.weights,
        effort=effort,
    )
    loose = bound.upper_bound > _WORTH_SAYING * value
    return None if not np.isfinite(bound.upper_bound) or (automatic and loose) else bound


def not_below(bound: Certificate | None, value: float) -> Certificate | None:
    """A bound that rounding has left a little below a value that is reached, raised to it.

    Examples
    --------
    >>> not_below(Certificate(1.0, "certificate", ""), 1.0 + 1e-9).upper_bound
    1.000000001
    """
    if bound is None or not bound.upper_bound < value <= bound.upper_bound * (1 + _ROUNDING):
        return bound
    return replace(bound, upper_bound=value)
