from __future__ import annotations

import importlib
import inspect
import pkgutil
import re

import princdiff
from princdiff.data.shared_docs import TEXTS

PLACE = re.compile(r"^ *\{(\w+)\}$", re.MULTILINE)


def documented():
    """Everything with a docstring that the package defines."""
    for found in pkgutil.walk_packages(princdiff.__path__, "princdiff."):
        if found.name.endswith(("__main__", "_library")):
            continue
        module = importlib.import_module(found.name)
        for name, member in vars(module).items():
            if getattr(member, "__module__", None) != found.name:
                continue
            yield f"{found.name}.{name}", member
            if inspect.isclass(member):
                for inner, method in vars(member).items():
                    yield f"{found.name}.{name}.{inner}", method


def test_every_shared_text_is_put_in_its_place():
    left = [name for name, member in documented() if PLACE.search(getattr(member, "__doc__", None) or "")]
    assert left == []


def test_every_text_describes_a_parameter():
    for name, text in TEXTS.items():
        first, *rest = text.strip("\n").splitlines()
        assert re.match(r"\w+ : \S", first) and rest, name
        assert all(line.startswith("    ") for line in rest), name
