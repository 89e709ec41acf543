from __future__ import annotations

import importlib
import inspect
import subprocess
import sys

import numpy as np
import pytest

import princdiff
import princdiff.datasets


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


def test_a_comparison_needs_little_of_what_takes_long_to_import():
    code = """
import sys
import pandas as pd
from princdiff import compare
print(*sys.modules)
table = pd.DataFrame({"a": [1.5, 2.5, 3.1, 3.1, 4.7] * 4})
compare(table, table + 0.5, n_permutations=19)
print(*sys.modules)"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    imported, used = (set(line.split()) for line in found.stdout.splitlines())
    assert not {"sklearn", "matplotlib", "scipy.stats", "scipy.optimize"} & imported
    assert not {"sklearn", "matplotlib"} & used


def _functions_with_a_seed():
    for module in ("princdiff", "princdiff.tl", "princdiff.datasets"):
        found = importlib.import_module(module)
        for name in found.__all__:
            thing = getattr(found, name)
            if inspect.isfunction(thing) and "random_state" in inspect.signature(thing).parameters:
                yield thing


def test_the_seed_has_one_name_everywhere():
    pytest.importorskip("anndata", reason="anndata is not installed")
    found = list(_functions_with_a_seed())
    assert len(found) >= 7
    assert [
        thing.__name__ for thing in found if {"rng", "seed"} & set(inspect.signature(thing).parameters)
    ] == []


ROWS = np.random.default_rng(0).normal(size=(24, 3))
LABELS = np.repeat(["a", "b"], 12)


@pytest.mark.parametrize(
    "run",
    [
        lambda **seed: princdiff.permutation_test(ROWS, LABELS, n_permutations=19, **seed).null,
        lambda **seed: princdiff.paired_test(ROWS[:12], ROWS[12:], n_permutations=19, **seed).null,
        lambda **seed: princdiff.select_features(ROWS, LABELS, n_permutations=39, **seed).table["pvalue"],
        lambda **seed: princdiff.datasets.make_gaussian_pair(5, **seed)[0],
        lambda **seed: princdiff.datasets.make_block_gaussians(3, 5, **seed)[0],
    ],
    ids=["permutation_test", "paired_test", "select_features", "make_gaussian_pair", "make_block_gaussians"],
)
def test_a_seed_is_a_number_or_a_generator(run):
    np.testing.assert_array_equal(run(random_state=3), run(random_state=3))
    first, second = (run(random_state=np.random.default_rng(4)) for _ in range(2))
    np.testing.assert_array_equal(first, second)
    assert not np.array_equal(run(random_state=3), run(random_state=5))
