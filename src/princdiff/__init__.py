"""princdiff: do these populations differ, in what, and how sure are we."""

from __future__ import annotations

import typing as _typing
from importlib import import_module as _import_module

from princdiff.caught_warnings import silence_flag_of_products as _silence_flag_of_products

if _typing.TYPE_CHECKING:
    from princdiff import get, pl, tl
    from princdiff.batches import (
        BatchesResult,
        EquivalenceResult,
        Watch,
        assert_no_drift,
        compare_batches,
        equivalent,
    )
    from princdiff.comparison import compare
    from princdiff.data.opening import open_rows
    from princdiff.estimators import PDA, SPARDA
    from princdiff.group_pairs import compare_groups
    from princdiff.kernels.engine_choice import show_config
    from princdiff.options import Config
    from princdiff.paired import PairedPDA, paired_test
    from princdiff.profiles import Profile, load_profile, profile
    from princdiff.regions import RegionsResult, find_regions
    from princdiff.relaxation.relax import RelaxResult, relax
    from princdiff.result import DifferenceResult, GroupsResult, load
    from princdiff.selection.select import select_features
    from princdiff.selection.selected import SelectionResult
    from princdiff.selection.stability import StabilityResult, stability_selection
    from princdiff.statistics.permutation import permutation_test
    from princdiff.statistics.permutation_result import PermutationResult
    from princdiff.statistics.planning import detectable_effect, expected_power, required_rows
    from princdiff.statistics.split import SplitResult, split_test

__version__ = "0.1.0"

_silence_flag_of_products()

# Where each public name lives. They are imported when first used, so that the command line starts at once.
_HOME = {
    "Config": "options",
    "compare": "comparison",
    "compare_batches": "batches",
    "BatchesResult": "batches",
    "Watch": "batches",
    "equivalent": "batches",
    "assert_no_drift": "batches",
    "EquivalenceResult": "batches",
    "DifferenceResult": "result",
    "load": "result",
    "PDA": "estimators",
    "SPARDA": "estimators",
    "compare_groups": "group_pairs",
    "GroupsResult": "result",
    "PairedPDA": "paired",
    "paired_test": "paired",
    "permutation_test": "statistics.permutation",
    "PermutationResult": "statistics.permutation_result",
    "required_rows": "statistics.planning",
    "detectable_effect": "statistics.planning",
    "expected_power": "statistics.planning",
    "select_features": "selection.select",
    "SelectionResult": "selection.selected",
    "find_regions": "regions",
    "RegionsResult": "regions",
    "split_test": "statistics.split",
    "SplitResult": "statistics.split",
    "stability_selection": "selection.stability",
    "StabilityResult": "selection.stability",
    "profile": "profiles",
    "load_profile": "profiles",
    "Profile": "profiles",
    "open_rows": "data.opening",
    "show_config": "kernels.engine_choice",
    "relax": "relaxation.relax",
    "RelaxResult": "relaxation.relax",
}

# Modules that are public names: the AnnData face.
_MODULES = ("tl", "pl", "get")

__all__ = [
    "PDA",
    "SPARDA",
    "BatchesResult",
    "Config",
    "DifferenceResult",
    "EquivalenceResult",
    "GroupsResult",
    "PairedPDA",
    "PermutationResult",
    "Profile",
    "RegionsResult",
    "RelaxResult",
    "SelectionResult",
    "SplitResult",
    "StabilityResult",
    "Watch",
    "__version__",
    "assert_no_drift",
    "compare",
    "compare_batches",
    "compare_groups",
    "detectable_effect",
    "equivalent",
    "expected_power",
    "find_regions",
    "get",
    "load",
    "load_profile",
    "open_rows",
    "paired_test",
    "permutation_test",
    "pl",
    "profile",
    "relax",
    "required_rows",
    "select_features",
    "show_config",
    "split_test",
    "stability_selection",
    "tl",
]


def __getattr__(name: str) -> _typing.Any:
    if name in _HOME:
        value = getattr(_import_module(f"princdiff.{_HOME[name]}"), name)
        globals()[name] = value
        return value
    if name in _MODULES:
        return _import_module(f"princdiff.{name}")
    raise AttributeError(f"module 'princdiff' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
