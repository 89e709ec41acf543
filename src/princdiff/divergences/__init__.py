"""Divergences between one-dimensional samples."""

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
from princdiff.divergences.protocol import Divergence, PlannedDivergence, SurrogateDivergence, report
from princdiff.divergences.registry import available, get
from princdiff.divergences.sorting import Workspace
from princdiff.divergences.wasserstein import Wasserstein2
from princdiff.divergences.wasserstein_p import WassersteinP

__all__ = [
    "CramerVonMises",
    "CustomDivergence",
    "Divergence",
    "Energy",
    "Hellinger",
    "JensenShannon",
    "KolmogorovSmirnov",
    "KullbackLeibler",
    "Margin",
    "MeanDifference",
    "PlannedDivergence",
    "ReverseKullbackLeibler",
    "StandardisedMeanDifference",
    "SurrogateDivergence",
    "TotalVariation",
    "Wasserstein2",
    "WassersteinP",
    "Workspace",
    "available",
    "get",
    "report",
]
