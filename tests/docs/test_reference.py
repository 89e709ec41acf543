"""Every public name is in the API reference and has an example; the suite runs the examples."""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MODULES = (
    "princdiff",
    "princdiff.tl",
    "princdiff.get",
    "princdiff.pl",
    "princdiff.divergences",
    "princdiff.tables",
    "princdiff.datasets",
)


def public_names():
    for module in MODULES:
        found = importlib.import_module(module)
        for name in found.__all__:
            # Constants are explained where they are used.
            if not isinstance(getattr(found, name), str) and f"{module}.{name}" not in MODULES:
                yield f"{module}.{name}"


def listed_names():
    text = (ROOT / "docs" / "reference" / "api.rst").read_text()
    module = ""
    for line in text.splitlines():
        found = re.match(r"\.\. currentmodule:: (\S+)", line)
        if found:
            module = found[1]
        entry = re.match(r"   (\w+)$", line)
        if entry:
            yield f"{module}.{entry[1]}"


pytest.importorskip("anndata", reason="the single-cell part of the API needs anndata")
PUBLIC = sorted(public_names())


def test_the_reference_lists_every_public_name_once_and_no_other():
    assert sorted(listed_names()) == PUBLIC
    assert len(PUBLIC) > 60


@pytest.mark.parametrize("name", PUBLIC)
def test_a_public_name_is_documented_with_an_example(name):
    module, _, last = name.rpartition(".")
    thing = getattr(importlib.import_module(module), last)
    text = inspect.getdoc(thing) or ""
    assert len(text.splitlines()[0]) > 10, f"{name} has no summary"
    assert re.search(r"^Examples\n-+\n(?:.*\n)*?>>> ", text, flags=re.MULTILINE), f"{name} has no example"
    if inspect.isclass(thing):
        members = [
            (label, member)
            for label, member in vars(thing).items()
            if not label.startswith("_") and (inspect.isfunction(member) or isinstance(member, property))
        ]
        silent = [label for label, member in members if not inspect.getdoc(member)]
        assert not silent, f"methods of {name} without a docstring: {silent}"
