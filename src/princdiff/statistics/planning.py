"""How many rows a comparison needs, and how large a difference given rows would show.

For a shift along a direction of ``k`` of ``d`` features, ``effect`` standard deviations long, the evidence of
``n`` and ``m`` rows is a non-central chi-squared variable with ``k`` degrees of freedom and non-centrality
``effect**2 * n * m / (n + m)``. It has to exceed what chance gives the best of all directions of as many
features, so the level is divided by the number of their supports, and by a small number for all the other
things that the adaptive test looks at. (Written as a divergence, this threshold is about
``4 k ln(e d / k) / n`` for two groups of ``n`` rows.) A shift is also seen by its single features, and by all
features together; where these look at different parts of the evidence, each adds to the chance.

Calibrated by simulation, see `benchmarks/power.py planning`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.special import betaln

from princdiff.data import parameters

# What looking at everything else costs, as a divisor of the level.
_MULTIPLICITY = 3.5
# How far ways to look at a shift that several features share succeed apart from each other: 0 if they
# always agree.
_APART = 0.5
_MOST_ROWS = 10**9
# Non-centrality, as a multiple of the threshold, from which the power is one but for 1e-100.
_CERTAIN = 100.0
# Levels below this have no meaning in a permutation test.
_LEAST_LEVEL = 1e-12


def expected_power(
    effect: float,
    rows: int | Sequence[int],
    n_features: int,
    *,
    n_relevant: int = 1,
    level: float = 0.05,
) -> float:
    """Chance that `princdiff.permutation_test` finds a shift.

    Parameters
    ----------
    effect : float
        Difference of means along the best direction, in standard deviations along it (Cohen's d).
    rows : int or (int, int)
        Rows of both groups together, then taken as halves, or of each.
    n_features : int
        Features of the table.
    n_relevant : int, default=1
        Features that share the shift.
    level : float, default=0.05
        Of the test.

    Returns
    -------
    float

    Examples
    --------
    >>> from princdiff import expected_power
    >>> round(expected_power(0.8, (100, 100), 60), 1)
    1.0
    """
    _check(n_features, n_relevant, level)
    parameters.check({"effect": effect}, effect=parameters.Number(0))
    sizes = _group_sizes(rows)
    evidence = float(effect) ** 2 * sizes[0] * sizes[1] / (sizes[0] + sizes[1])
    return _power(evidence, n_features, n_relevant, level)


def detectable_effect(
    rows: int | Sequence[int],
    n_features: int,
    *,
    n_relevant: int = 1,
    level: float = 0.05,
    power: float = 0.8,
) -> float:
    """The smallest shift that is found with a given chance.

    Parameters
    ----------
    rows, n_features, n_relevant, level
        As in `expected_power`.
    power : float, default=0.8
        Chance of finding it.

    Returns
    -------
    float
        Standard deviations along the best direction.

    Examples
    --------
    >>> from princdiff import detectable_effect
    >>> round(detectable_effect((100, 100), 60), 2)
    0.64
    """
    _check(n_features, n_relevant, level, power)
    sizes = _group_sizes(rows)
    evidence = _needed(n_features, n_relevant, level, power)
    return float(np.sqrt(evidence * (1 / sizes[0] + 1 / sizes[1])))


def required_rows(
    effect: float,
    n_features: int,
    *,
    n_relevant: int = 1,
    level: float = 0.05,
    power: float = 0.8,
    share: float = 0.5,
) -> int:
    """Rows of both groups together that find a shift with a given chance.

    Parameters
    ----------
    effect, n_features, n_relevant, level
        As in `expected_power`.
    power : float, default=0.8
        Chance of finding it.
    share : float, default=0.5
        Share of the rows that the smaller group has.

    Returns
    -------
    int

    Examples
    --------
    >>> from princdiff import required_rows
    >>> required_rows(0.8, 60), required_rows(0.8, 60, share=0.1)
    (128, 355)
    """
    _check(n_features, n_relevant, level, power)
    parameters.check({"effect": effect}, effect=parameters.Number(0))
    parameters.check({"share": share}, share=parameters.Number(0, 1))
    evidence = _needed(n_features, n_relevant, level, power)
    with np.errstate(all="ignore"):
        needed = evidence / np.float64(effect) ** 2 / (share * (1 - share))
    # No group without two rows.
    total = max(float(needed), 2 / min(share, 1 - share))
    if not total <= _MOST_ROWS:
        raise ValueError(
            f"an effect of {effect:g} with a share of {share:g} would need more than {_MOST_ROWS:.0e} rows"
        )
    return int(np.ceil(total))


def _check(n_features: Any, n_relevant: Any, level: float, power: float = 0.5) -> None:
    share = parameters.Number(0, 1)
    parameters.check(
        {"n_features": n_features, "n_relevant": n_relevant, "level": level, "power": power},
        n_features=parameters.Whole(1),
        n_relevant=parameters.Whole(1),
        level=share,
        power=share,
    )
    if n_relevant > n_features:
        raise ValueError(f"n_relevant={n_relevant} is more than n_features={n_features}")
    if level < _LEAST_LEVEL:
        raise ValueError(f"level={level!r} is below {_LEAST_LEVEL:g}, which no test can reach")
    if power <= level:
        raise ValueError(f"power={power!r} must be above level={level!r}: chance alone reaches that")


def _group_sizes(rows: int | Sequence[int]) -> tuple[float, float]:
    given = np.atleast_1d(np.asarray(rows))
    sizes = given.astype(np.float64) if given.dtype.kind in "iuf" else np.empty(0)
    if sizes.shape == (1,):
        sizes = np.array([sizes[0] / 2, sizes[0] / 2])
    if sizes.shape != (2,) or not ((sizes >= 2) & (sizes <= _MOST_ROWS)).all():
        raise ValueError(
            f"rows must be one number or two, with at least two rows a group and at most {_MOST_ROWS:.0e}, "
            f"got {rows!r}"
        )
    return float(sizes[0]), float(sizes[1])


def _power(evidence: float, n_features: int, n_relevant: int, level: float) -> float:
    """Of three ways to look taken together, by the non-centrality along the best direction.

    Where one feature shifts, or all do, the ways look at the same evidence and the best of them decides. In
    between they look at different parts of it, and each may succeed where the best has failed.
    """
    single = _exceeds(evidence / n_relevant, 1, n_features, level)
    ways = [1 - (1 - single) ** n_relevant]
    if 1 < n_relevant < n_features:
        ways.append(_exceeds(evidence, n_relevant, n_features, level))
    ways.append(_exceeds(evidence, n_features, n_features, level))
    *others, best = sorted(ways)
    apart = _APART * (1 - 1 / n_relevant) * (1 - n_relevant / n_features)
    return float(1 - (1 - best) * np.prod([1 - way for way in others]) ** apart)


def _exceeds(evidence: float, size: int, n_features: int, level: float) -> float:
    """Chance that a direction of some features exceeds what chance gives the best of them."""
    from scipy.stats import chi2, ncx2

    supports = -np.log(n_features + 1) - betaln(n_features - size + 1, size + 1)
    tail = np.exp(np.log(level / _MULTIPLICITY) - supports)
    threshold = chi2.isf(max(tail, 1e-300), size)
    # A shift that is seen for certain; beyond, the law cannot be computed.
    if evidence > _CERTAIN * threshold:
        return 1.0
    return float(ncx2.sf(threshold, size, max(evidence, 1e-12)))


def _needed(n_features: int, n_relevant: int, level: float, power: float) -> float:
    """Non-centrality that gives the power wanted."""
    from scipy.optimize import brentq

    high = 1.0
    while _power(high, n_features, n_relevant, level) < power:
        high *= 2
    return float(
        brentq(lambda value: _power(value, n_features, n_relevant, level) - power, 1e-9, high, xtol=1e-9)
    )
