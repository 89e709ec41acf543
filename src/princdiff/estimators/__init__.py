"""PDA and SPARDA as scikit-learn estimators: parameters in, attributes out."""

from __future__ import annotations

from princdiff.estimators.pda import PDA
from princdiff.estimators.sparda import SPARDA

__all__ = ["PDA", "SPARDA"]
