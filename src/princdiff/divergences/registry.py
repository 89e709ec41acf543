"""Divergences by name."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable
from typing import Any

from princdiff.divergences.cdf_distances import CramerVonMises, KolmogorovSmirnov
from princdiff.divergences.custom import CustomDivergence
from princdiff.divergences.density import (
    Hellinger,
    JensenShannon,
    KullbackLeibler,
    ReverseKullbackLeibler,
    TotalVariation,
)
from princdiff.divergences.energy import Energy
from princdiff.divergences.margin import Margin
from princdiff.divergences.means import MeanDifference, StandardisedMeanDifference
from princdiff.divergences.protocol import Divergence
from princdiff.divergences.wasserstein import Wasserstein2
from princdiff.divergences.wasserstein_p import WassersteinP

_MAKERS: dict[str, Callable[[], Divergence]] = {
    "wasserstein2": Wasserstein2,
    "wasserstein1": WassersteinP,
    "energy": Energy,
    "cramer_von_mises": CramerVonMises,
    "kolmogorov_smirnov": KolmogorovSmirnov,
    "kullback_leibler": KullbackLeibler,
    "reverse_kullback_leibler": ReverseKullbackLeibler,
    "jensen_shannon": JensenShannon,
    "hellinger": Hellinger,
    "total_variation": TotalVariation,
    "mean": MeanDifference,
    "standardised_mean": StandardisedMeanDifference,
    "margin": Margin,
}
_PARTS = ("name", "degree", "value", "value_and_slope")


def available() -> list[str]:
    """Names of the divergences.

    Returns
    -------
    list of str
        What ``divergence=`` takes, besides ``"wasserstein<p>"`` for any p >= 1.

    Examples
    --------
    >>> from princdiff.divergences import available
    >>> available()[:3]
    ['wasserstein2', 'wasserstein1', 'energy']
    """
    return list(_MAKERS)


def get(divergence: str | Divergence | Callable[..., Any]) -> Divergence:
    """A divergence from its name, from an object that is one, or from a function of two samples.

    Parameters
    ----------
    divergence : str, Divergence or callable
        A name from `available`, ``"wasserstein<p>"`` for any p >= 1, an object with the methods of
        `Divergence`, or a function ``f(x, y)`` (see `CustomDivergence`).

    Returns
    -------
    Divergence

    Examples
    --------
    >>> from princdiff.divergences import get
    >>> get("energy").name
    'energy'
    >>> get("wasserstein1.5")
    WassersteinP(p=1.5)
    """
    if isinstance(divergence, str):
        return _by_name(divergence)
    if isinstance(divergence, type):
        raise TypeError(f"divergence must be an object: give {divergence.__name__}() instead of the class")
    if all(hasattr(divergence, part) for part in _PARTS):
        return divergence  # type: ignore[return-value]
    if callable(divergence):
        return CustomDivergence(divergence)
    raise TypeError(
        f"divergence must be a name ({_listed()}), an object with {', '.join(_PARTS)}, or a function of two "
        f"arrays: got {divergence!r}"
    )


def _by_name(name: str) -> Divergence:
    if name in _MAKERS:
        return _MAKERS[name]()
    power = re.fullmatch(r"wasserstein(\d+(\.\d+)?)", name)
    if power:
        return WassersteinP(float(power[1]))
    near = difflib.get_close_matches(name.lower(), _MAKERS, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else "."
    raise ValueError(f"unknown divergence {name!r}{hint} There are {_listed()}")


def _listed() -> str:
    return ", ".join(repr(name) for name in _MAKERS)
