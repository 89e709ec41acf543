"""Optional dependencies, imported where they are used."""

from __future__ import annotations

import importlib
from typing import Any


def extra(module: str, name: str, purpose: str) -> Any:
    """Import an optional dependency, or say how to install it.

    Examples
    --------
    >>> extra("json", "parquet", "reading parquet").loads("[1]")
    [1]
    >>> extra("no_such_module", "parquet", "reading parquet")
    Traceback (most recent call last):
        ...
    ImportError: reading parquet needs no_such_module: pip install 'princdiff[parquet]'
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ImportError(f"{purpose} needs {module}: pip install 'princdiff[{name}]'") from error
