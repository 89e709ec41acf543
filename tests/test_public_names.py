from __future__ import annotations

import subprocess
import sys

import pytest

import princdiff


@pytest.mark.parametrize("name", ["tl", "pl", "get"])
def test_modules_can_be_imported_by_their_public_name(name):
    pytest.importorskip("anndata", reason="anndata is not installed")
    code = f"import princdiff.{name}; print(princdiff.{name}.__all__)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert found.returncode == 0, found.stderr
    assert "pda" in found.stdout


def test_dir_shows_the_public_names_and_nothing_else():
    assert dir(princdiff) == sorted(princdiff.__all__)
    for name in princdiff.__all__:
        assert getattr(princdiff, name) is not None
    star = {}
    exec("from princdiff import *", star)
    assert set(star) - {"__builtins__"} == set(princdiff.__all__)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'compair'"):
        princdiff.compair  # noqa: B018


def test_nothing_heavy_is_imported_with_the_package():
    code = "import sys, princdiff; print(*sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"numpy", "scipy", "pandas", "sklearn", "matplotlib"} & set(found.stdout.split())
