from __future__ import annotations

import pytest

from princdiff.datasets import downloads


@pytest.fixture
def no_data_variable(monkeypatch):
    monkeypatch.delenv(downloads.DATA_VARIABLE, raising=False)
