"""Donors that a comparison of cells was not told of."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

import princdiff
from princdiff.cli import main

anndata = pytest.importorskip("anndata")


def cells(crossed: bool = False) -> anndata.AnnData:
    rng = np.random.default_rng(0)
    donors = np.arange(120) % 12 if crossed else np.arange(120) // 10
    obs = pd.DataFrame(
        {"condition": np.repeat(["ctrl", "stim"], 60), "donor": [f"D{number}" for number in donors]},
        index=[f"c{number}" for number in range(120)],
    )
    return anndata.AnnData(rng.normal(size=(120, 3)), obs=obs)


def told(compare, *arguments, **options) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        compare(*arguments, n_permutations=19, **options)
    return [str(warning.message) for warning in caught if "pseudoreplication" in str(warning.message)]


@pytest.mark.parametrize(("crossed", "permute"), [(False, "whole"), (True, "within")])
def test_donors_in_obs_are_warned_of_once(crossed, permute):
    (message,) = told(princdiff.compare, cells(crossed), groups="condition")
    assert f"use blocks='donor', permute='{permute}'" in message
    assert not told(princdiff.compare, cells(crossed), groups="condition", blocks="donor")


def test_several_groups():
    three = cells()
    three.obs["condition"] = np.repeat(["ctrl", "low", "high"], 40)
    assert len(told(princdiff.compare_groups, three, groups="condition")) == 1
    assert not told(princdiff.compare_groups, three, groups="condition", blocks="donor")


def test_two_tables_of_cells():
    both = cells()
    parts = [both[both.obs["condition"] == name].copy() for name in ("ctrl", "stim")]
    assert len(told(princdiff.compare, *parts)) == 1
    for part in parts:
        del part.obs["donor"]
    assert not told(princdiff.compare, *parts)


def test_the_command_line_warns(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    cells().write_h5ad("cells.h5ad")
    assert main(["compare", "cells.h5ad", "--groups", "condition", "--n-permutations", "19"]) == 0
    output = capsys.readouterr()
    assert "--blocks donor" in " ".join((output.out + output.err).split()).replace("'", "")


def nested(name: str, values: list) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame({"x": rng.normal(size=240), name: np.repeat(values, 240 // len(values))})


@pytest.mark.parametrize("values", [[f"P{n}" for n in range(12)], list(range(12)), list("abcdef")])
def test_a_few_donors_are_left_out_with_advice_on_blocks(values):
    groups = np.repeat(["u", "v"], 120)
    with pytest.warns(UserWarning, match="blocks='donor'"):
        result = princdiff.compare(nested("donor", values), groups=groups, n_permutations=19)
    assert list(result.columns["column"]) == ["x"]
    asked = princdiff.compare(
        nested("donor", values), groups=groups, features=["x", "donor"], n_permutations=19
    )
    assert set(asked.columns["column"]) == {"x", "donor"}


def test_a_property_nested_in_the_groups_is_compared_and_blocks_are_named_first():
    groups = np.repeat(["u", "v"], 120)
    result = princdiff.compare(nested("model", list("abcdef")), groups=groups, n_permutations=19)
    (note,) = [note for note in result.notes if "determines the group" in note]
    assert "model" in result.selected_columns
    assert note.index("blocks='model'") < note.index("exclude=['model']")
    plain = princdiff.compare(nested("donor", ["a", "b"]), groups=groups, n_permutations=19)
    (note,) = [note for note in plain.notes if "determines the group" in note]
    assert "blocks=" not in note
