"""Divergences between one-dimensional samples."""

from princdiff.divergences.base import Divergence, PlannedDivergence
from princdiff.divergences.sorting import Workspace
from princdiff.divergences.wasserstein import Wasserstein2

__all__ = ["Divergence", "PlannedDivergence", "Wasserstein2", "Workspace"]
