from __future__ import annotations

import os

import pytest
from hypothesis import settings
from sklearn.utils import Bunch

from princdiff.datasets import load_madelon, load_zeisel
from princdiff.datasets.downloads import DATA_VARIABLE

# Fixtures only: looked at for examples, two modules of one name would stand in each other's way.
collect_ignore = ["conftest.py", "cli/conftest.py"]

# The suite tries the same examples everywhere, so that it fails for a change and not by chance;
# HYPOTHESIS_PROFILE=explore looks for new ones.
settings.register_profile("suite", derandomize=True, deadline=None)
settings.register_profile("explore", derandomize=False, deadline=None, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "suite"))


def _skip_without_data(error: FileNotFoundError) -> None:
    pytest.skip(f"{DATA_VARIABLE} does not lead to the data: {error}")


@pytest.fixture(scope="session")
def madelon() -> Bunch:
    """MADELON's training rows, as measured."""
    try:
        return load_madelon()
    except FileNotFoundError as error:
        _skip_without_data(error)


@pytest.fixture(scope="session")
def zeisel() -> Bunch:
    """The mouse brain cells, with counts and log2 counts per million."""
    try:
        return load_zeisel()
    except FileNotFoundError as error:
        _skip_without_data(error)
