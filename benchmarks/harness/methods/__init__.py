"""One file a method; its library is imported at the top, so that a file without its library says so."""

from __future__ import annotations

import pkgutil
from importlib import import_module
from types import ModuleType


def available() -> tuple[dict[str, ModuleType], dict[str, str]]:
    """Methods that run here, by the names of their files, ours first; and why the others do not."""
    files = sorted(
        (found.name for found in pkgutil.iter_modules(__path__)), key=lambda name: name != "princdiff"
    )
    here, missing = {}, {}
    for file in files:
        try:
            here[file] = import_module(f"{__name__}.{file}")
        except ImportError as error:
            missing[file] = str(error)
    return here, missing
