"""Weights, blocks and covariates."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from princdiff.tables import prepare


def test_columns_with_a_role_are_no_features():
    frame = pd.DataFrame(
        {"u": [0.5, 1.5], "w": [1, 3], "pair": ["p", "q"], "age": [30.5, 40.5], "sex": ["f", "m"]}
    )
    table = prepare(frame, frame, weights="w", blocks="pair", covariates=["age", "sex"])
    assert table.features == ("u",)
    np.testing.assert_array_equal(table.weights, [1, 3, 1, 3])
    np.testing.assert_array_equal(table.blocks, [0, 1, 0, 1])
    assert table.covariate_names == ("age", "sex = m")
    np.testing.assert_array_equal(table.covariates, [[30.5, 0], [40.5, 1]] * 2)


def test_roles_as_vectors():
    rows = np.arange(8.0).reshape(4, 2)
    table = prepare(
        rows, groups=[0, 0, 1, 1], weights=[1, 2, 3, 4], blocks=list("abab"), covariates=np.arange(4.0)
    )
    np.testing.assert_array_equal(table.weights, [1, 2, 3, 4])
    np.testing.assert_array_equal(table.blocks, [0, 1, 0, 1])
    np.testing.assert_array_equal(table.covariates[:, 0], np.arange(4))
    both = prepare(rows, rows, covariates=pd.DataFrame({"age": np.arange(8) / 2, "sex": list("fmfmffmm")}))
    assert both.covariate_names == ("age", "sex = m")
    assert prepare(rows, rows, covariates=pd.Series(np.arange(8.0), name="age")).covariate_names == ("age",)
    assert prepare(rows, rows, covariates=sp.csr_matrix(np.eye(8))).covariates.shape == (8, 8)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"weights": [1, 2]}, "sample_weight has 2 entries, but there are 4 rows in X and Y"),
        ({"weights": ["a", "b", "c", "a"]}, "sample_weight must be numbers, got text"),
        ({"weights": [1, 2, np.inf, 1]}, "the weight of row 2 is infinite"),
        ({"weights": [1, 2, None, 1]}, r"missing values in 'sample_weight' \(1, the first in row 0 of Y\)"),
        ({"blocks": ["a", None, "a", "b"]}, r"missing values in 'blocks' \(1, the first in row 1 of X\)"),
        ({"covariates": np.eye(3)}, "covariates has 3 rows, but there are 4 rows in X and Y"),
        ({"covariates": [1, 2, np.nan, 4]}, "missing values in \"covariate 'x0'\""),
        ({"covariates": [1, 2, np.inf, 4]}, "covariates: 'x0' holds infinite values"),
        (
            {"covariates": pd.DataFrame({"t": pd.date_range("2024", periods=4)})},
            r"'t' \(dates .*\) cannot be used",
        ),
        ({"weights": "x9"}, "sample_weight: there is no column 'x9' in X"),
    ],
)
def test_bad_roles(options, message):
    with pytest.raises(ValueError, match=message):
        prepare(np.eye(2), np.eye(2), missing="impute", **options)


def test_rows_without_weight_block_or_covariate_are_dropped():
    rows = np.arange(12.0).reshape(6, 2)
    table = prepare(
        rows,
        groups=[0, 0, 0, 1, 1, 1],
        weights=[1, 2, None, 4, 5, 6],
        blocks=[*"abcab", None],
        covariates=[1.5, 2.5, 3.5, np.nan, 5.5, 6.5],
        missing="drop",
    )
    np.testing.assert_array_equal(table.kept, [0, 1, 4])
    np.testing.assert_array_equal(table.weights, [1, 2, 5])
    np.testing.assert_array_equal(table.blocks, [0, 1, 1])
    np.testing.assert_array_equal(table.covariates, [[1.5], [2.5], [5.5]])
    assert "3 of 6 rows dropped" in table.notes[0]


def test_converted_covariates_are_told():
    table = prepare(np.eye(2), np.eye(2), covariates=pd.DataFrame({"age": ["30", "40", "30", "40"]}))
    assert table.notes == ("Covariate 'age': numbers written as text.",)


def test_groups_that_are_no_labels_are_refused_by_row():
    frame = pd.DataFrame({"a": np.arange(4.0), "g": ["x", ["y"], "x", ["y"]]})
    with pytest.raises(ValueError, match="groups: row 1 holds a list, and groups must be texts or numbers"):
        prepare(frame, groups="g")
