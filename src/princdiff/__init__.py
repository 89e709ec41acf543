"""princdiff: do these populations differ, in what, and how sure are we."""

from princdiff.estimators import PDA, SPARDA
from princdiff.inference.permutation import PermutationResult, permutation_test
from princdiff.inference.selection import SelectionResult, select_features
from princdiff.inference.split import SplitResult, split_test
from princdiff.inference.stability import StabilityResult, stability_selection
from princdiff.solvers.relax import RelaxResult, relax

__version__ = "0.1.0"

__all__ = [
    "PDA",
    "SPARDA",
    "PermutationResult",
    "RelaxResult",
    "SelectionResult",
    "SplitResult",
    "StabilityResult",
    "__version__",
    "permutation_test",
    "relax",
    "select_features",
    "split_test",
    "stability_selection",
]
