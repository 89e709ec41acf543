"""Divergences between one-dimensional samples."""

from princdiff.divergences.base import Divergence
from princdiff.divergences.sorting import Workspace
from princdiff.divergences.wasserstein import Wasserstein2

__all__ = ["Divergence", "Wasserstein2", "Workspace"]
