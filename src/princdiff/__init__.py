"""princdiff: do these populations differ, in what, and how sure are we."""

from princdiff.estimators import PDA, SPARDA

__version__ = "0.1.0"

__all__ = ["PDA", "SPARDA", "__version__"]
