"""What holds for the examples in the source and for the tests alike."""

from __future__ import annotations

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
