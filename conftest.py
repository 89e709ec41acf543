"""What holds for the examples in the source and for the tests alike."""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterator
from importlib.util import find_spec

import pytest

# Examples of the AnnData face need it.
collect_ignore_glob = [] if find_spec("anndata") else ["src/princdiff/singlecell/*.py"]


@pytest.fixture(autouse=True)
def _close_figures() -> Iterator[None]:
    """Leave no figure open: whichever test opens the twenty-first would be warned of all of them."""
    yield
    if pyplot := sys.modules.get("matplotlib.pyplot"):
        pyplot.close("all")


@pytest.fixture(autouse=True)
def _nothing_imported(request: pytest.FixtureRequest) -> None:
    """Run the example of a public name as by a reader who pastes it: with what it imports itself.

    Other examples are for readers of the source, and may use what their module imports.
    """
    if isinstance(request.node, pytest.DoctestItem) and request.node.name in public_examples():
        request.node.dtest.globs.clear()


@pytest.fixture(autouse=True)
def _own_folder(request: pytest.FixtureRequest) -> None:
    """Run examples in a folder of their own: some write files."""
    if isinstance(request.node, pytest.DoctestItem):
        request.getfixturevalue("monkeypatch").chdir(request.getfixturevalue("tmp_path"))


@functools.cache
def public_examples() -> frozenset[str]:
    """Where the examples of public names are written."""
    from tests.docs.public_names import documented_names

    return frozenset(documented_names())


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Compare numbers in examples as those on the pages of the site are."""
    from tests.docs.shown_output import OutputChecker

    for item in items:
        if isinstance(item, pytest.DoctestItem):
            item.runner._checker = OutputChecker()
