"""Rows without a group: an error that names the way out, or left out as if they had never been there."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from princdiff import compare, compare_groups
from princdiff.cli import main
from princdiff.tables import prepare

# Bytes in which one column of sixty rows fits and four do not.
SMALL = 20_000


@pytest.fixture
def frame():
    """Sixty rows; every tenth has no group, no weight, an age of its own and a city that no other row has."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"age": rng.normal(40, 9, 60).round(2), "city": rng.choice(["Oslo", "Rome"], 60)})
    table["arm"] = np.tile(["a", "b", "c"], 20)
    table.loc[::10, ["age", "city", "arm"]] = [np.inf, "Nowhere", None]
    return table


def same_rows(table, expected):
    everything = np.arange(len(table.codes))
    np.testing.assert_array_equal(np.asarray(table.rows[everything]), expected.rows)
    np.testing.assert_array_equal(table.codes, expected.codes)
    for name in ("groups", "features", "columns"):
        assert getattr(table, name) == getattr(expected, name)


def test_the_error_names_the_way_out(frame):
    with pytest.raises(ValueError, match=r"6 rows without a label, .* row 0 of X.*missing='drop'"):
        prepare(frame, groups="arm")
    with pytest.raises(ValueError, match="groups: no row has a label"):
        prepare(frame.assign(arm=None), groups="arm", missing="drop")


def test_as_if_they_had_never_been_there(frame):
    there = frame.dropna()
    table = prepare(frame, groups="arm", missing="drop")
    same_rows(table, prepare(there, groups="arm"))
    np.testing.assert_array_equal(table.kept, there.index)
    assert table.table_sizes == (60,)
    assert table.notes[0] == "6 of 60 rows left out: they have no group."
    whole = prepare(there, groups="arm", missing="drop")
    assert not any("left out" in note for note in whole.notes)


def test_labels_blank_or_in_a_vector(frame):
    labels = frame["arm"].fillna(" ").tolist()
    rows = frame[["age"]]
    expected = prepare(rows[frame["arm"].notna()], groups=frame["arm"].dropna())
    for values in (rows, rows.to_numpy(), sp.csr_matrix(rows.to_numpy())):
        table = prepare(values, groups=labels, missing="drop")
        np.testing.assert_array_equal(table.kept, np.flatnonzero(frame["arm"].notna()))
        np.testing.assert_array_equal(table.codes, expected.codes)
        found = table.rows.toarray() if sp.issparse(table.rows) else table.rows
        np.testing.assert_array_equal(found, expected.rows)


def test_weights_blocks_and_covariates_go_with_their_rows(frame):
    there = frame["arm"].notna().to_numpy()
    weights, pairs, height = np.arange(1.0, 61.0), np.arange(60) // 2, np.linspace(150, 190, 60)
    weights[~there], height[~there] = np.nan, np.nan
    roles = {"weights": weights, "blocks": pairs, "covariates": height}
    table = prepare(frame, groups="arm", missing="drop", **roles)
    expected = prepare(frame[there], groups="arm", **{name: values[there] for name, values in roles.items()})
    same_rows(table, expected)
    np.testing.assert_array_equal(table.weights, expected.weights)
    np.testing.assert_array_equal(table.blocks, expected.blocks)
    np.testing.assert_array_equal(table.covariates, expected.covariates)
    named = frame.assign(weight=weights, pair=pairs, height=height)
    columns = {"weights": "weight", "blocks": "pair", "covariates": "height"}
    by_name = prepare(named, groups="arm", missing="drop", **columns)
    np.testing.assert_array_equal(by_name.weights, expected.weights)
    np.testing.assert_array_equal(by_name.covariates, expected.covariates)


def test_messages_count_rows_as_the_user_does(frame):
    frame.loc[13, "age"] = np.nan
    frame.loc[14, "age"] = np.inf
    with pytest.raises(ValueError, match=r"row 14 of X"):
        prepare(frame, groups="arm", missing="drop")
    frame.loc[14, "age"] = 30.0
    table = prepare(frame, groups="arm", missing="drop")
    np.testing.assert_array_equal(table.kept, np.flatnonzero(frame["arm"].notna() & (frame.index != 13)))


def test_comparisons_take_it(frame):
    options = {"n_permutations": 19, "n_features": 1}
    there = frame.dropna()
    two = frame[frame["arm"] != "c"]
    result = compare(two, groups="arm", missing="drop", **options)
    assert result.pvalue == compare(two.dropna(), groups="arm", **options).pvalue
    assert "6 of 42 rows left out: they have no group." in result.notes
    pairs = compare_groups(frame, groups="arm", missing="drop", **options)
    expected = compare_groups(there, groups="arm", **options)
    assert pairs.table["pvalue"].tolist() == expected.table["pvalue"].tolist()
    assert "6 of 60 rows left out: they have no group." in pairs.results["a", "b"].notes


def test_the_command_line_takes_it(frame, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    frame[frame["arm"] != "c"].to_csv("visits.csv", index=False)
    command = ["compare", "visits.csv", "--groups", "arm", "--n-permutations", "19"]
    assert main(command) == 2
    assert "leave them out with --missing drop" in capsys.readouterr().err
    assert main([*command, "--missing", "drop"]) == 0
    assert "Note: 6 of 42 rows left out: they have no group." in capsys.readouterr().out
