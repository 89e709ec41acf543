"""The public names, and where their examples are written."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterator
from importlib.util import find_spec

MODULES = (
    "princdiff",
    "princdiff.tl",
    "princdiff.get",
    "princdiff.pl",
    "princdiff.divergences",
    "princdiff.tables",
    "princdiff.datasets",
)


def public_names() -> Iterator[str]:
    """Every public name with its module; those for single cells only where anndata is installed."""
    for module in MODULES:
        if module in ("princdiff.tl", "princdiff.get", "princdiff.pl") and not find_spec("anndata"):
            continue
        found = importlib.import_module(module)
        for name in found.__all__:
            # Constants are explained where they are used.
            if not isinstance(getattr(found, name), str) and f"{module}.{name}" not in MODULES:
                yield f"{module}.{name}"


def public_thing(name: str) -> object:
    """What a public name stands for."""
    module, _, last = name.rpartition(".")
    return getattr(importlib.import_module(module), last)


def documented_names() -> Iterator[str]:
    """Where the pages of the API take their examples from, methods included, by the names in the source."""
    for name in public_names():
        thing = public_thing(name)
        yield _name_in_source(thing)
        for label in dir(thing) if inspect.isclass(thing) else ():
            member = inspect.getattr_static(thing, label)
            member = getattr(member, "fget", None) or getattr(member, "__func__", member)
            if not label.startswith("_") and inspect.isfunction(member):
                yield _name_in_source(member)


def _name_in_source(thing: object) -> str:
    return f"{thing.__module__}.{thing.__qualname__}"
