"""princdiff: do these populations differ, in what, and how sure are we."""

from princdiff.estimators import PDA, SPARDA
from princdiff.inference.permutation import PermutationResult, permutation_test
from princdiff.inference.selection import SelectionResult, select_features

__version__ = "0.1.0"

__all__ = [
    "PDA",
    "SPARDA",
    "PermutationResult",
    "SelectionResult",
    "__version__",
    "permutation_test",
    "select_features",
]
