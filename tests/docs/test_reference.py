"""Every public name is in the API reference and has an example; the suite runs the examples."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

from tests.docs.public_names import documented_names, public_names, public_thing

ROOT = Path(__file__).parents[2]


def listed_names():
    text = (ROOT / "docs" / "reference" / "api.rst").read_text()
    module = ""
    for line in text.splitlines():
        found = re.match(r"\.\. currentmodule:: (\S+)", line)
        if found:
            module = found[1]
        entry = re.match(r"   ([\w.]+)$", line)
        if entry:
            yield f"{module}.{entry[1]}"


pytest.importorskip("anndata", reason="the single-cell part of the API needs anndata")
PUBLIC = sorted(public_names())


def test_the_reference_lists_every_public_name_once_and_no_other():
    assert sorted(listed_names()) == PUBLIC
    assert len(PUBLIC) > 60


@pytest.mark.parametrize("name", PUBLIC)
def test_a_public_name_is_documented_with_an_example(name):
    thing = public_thing(name)
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


def test_examples_of_public_names_are_run_with_what_they_import(request):
    conftest = request.config.pluginmanager.get_plugin(str(ROOT / "conftest.py"))
    assert set(documented_names()) == conftest.public_examples()
    for name in PUBLIC:
        thing = public_thing(name)
        assert f"{thing.__module__}.{thing.__qualname__}" in conftest.public_examples()
