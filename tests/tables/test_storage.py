"""Sparse tables, AnnData, polars, arrow, large tables: however rows are kept, the answer is the same."""

from __future__ import annotations

import datetime
import decimal
import importlib.util
import tracemalloc
import warnings
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer, load_wine

from princdiff.tables import prepare

RNG = np.random.default_rng(0)


def test_sparse_stays_sparse_and_agrees_with_dense():
    dense = RNG.poisson(0.5, (30, 6)).astype(float)
    dense[[3, 8, 20], [1, 1, 4]] = np.nan
    for missing in ("impute", "drop"):
        sparse = prepare(sp.csr_matrix(dense), sp.csc_array(dense), missing=missing)
        plain = prepare(dense, dense, missing=missing)
        assert sp.issparse(sparse.rows) and sparse.rows.format == "csr"
        assert sparse.features == plain.features and sparse.origin == plain.origin
        np.testing.assert_array_equal(sparse.rows.toarray(), plain.rows)
        np.testing.assert_array_equal(sparse.kept, plain.kept)
    with pytest.raises(
        ValueError, match=r"'x1' \(2 of 30 in 'X', 2 of 30 in 'Y'; the first in row 3 of X\), 'x4' \(1 of"
    ):
        prepare(sp.csr_matrix(dense), sp.csr_matrix(dense))


def test_sparse_beside_dense():
    dense = np.eye(3)
    for other in (dense, pd.DataFrame(dense, columns=list("abc"))):
        table = prepare(sp.csr_matrix(dense), other)
        assert sp.issparse(table.rows)
        np.testing.assert_array_equal(table.rows.toarray(), np.vstack([dense, dense]))
    with pytest.raises(
        ValueError, match="the other table is sparse, so Y must hold numbers only: 'c' do not"
    ):
        prepare(sp.csr_matrix(dense), pd.DataFrame(dense, columns=list("abc")).assign(c=["u", "v", "w"]))


def test_single_cells():
    obs = pd.DataFrame({"tissue": pd.Categorical(["p", "q", "p"], ["q", "p"]), "depth": [1.5, 2.5, 3.5]})
    cells = SimpleNamespace(X=sp.csr_matrix(np.eye(3)), obs=obs, var_names=["g0", "g1", "depth"])
    table = prepare(cells, groups="tissue", covariates="depth")
    assert table.groups == ("q", "p")
    # "depth" is a column about cells here, and a gene there.
    assert table.features == ("g0", "g1", "depth")
    np.testing.assert_array_equal(table.covariates, [[1.5], [2.5], [3.5]])
    with pytest.raises(ValueError, match=r"no column 'tisue' in X; did you mean 'tissue'\?"):
        prepare(cells, groups="tisue")


def test_float32_stays():
    rows = np.eye(3, dtype=np.float32)
    assert prepare(rows, groups=[0, 1, 1]).rows is rows
    frame = pd.DataFrame(rows).assign(c=["a", "b", "a"])
    assert prepare(frame, frame).rows.dtype == np.float32
    assert prepare(pd.DataFrame(rows), pd.DataFrame(rows)).rows.dtype == np.float32
    assert prepare(rows, rows.astype(float)).rows.dtype == np.float64


@pytest.mark.parametrize("load", [load_breast_cancer, load_wine])
def test_real_tables_through_a_file(tmp_path, load):
    frame = load(as_frame=True).frame
    frame.to_csv(tmp_path / "a.csv", index=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table = prepare(tmp_path / "a.csv", groups="target")
    np.testing.assert_array_equal(table.rows, frame.drop(columns="target"))
    np.testing.assert_array_equal(table.codes, frame["target"])


def mixed_table(n_rows: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    columns = {f"f{place}": rng.normal(size=n_rows) for place in range(8)}
    columns |= {f"i{place}": rng.integers(0, 1000, n_rows) for place in range(4)}
    return pd.DataFrame(
        columns
        | {
            "id": np.arange(n_rows),
            "flag": rng.random(n_rows) < 0.5,
            "city": rng.choice([f"city {place}" for place in range(30)], n_rows),
            "sex": rng.choice(["f", "m"], n_rows),
            "name": [f"name {place}" for place in range(n_rows)],
            "when": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 10**6, n_rows), unit="s"),
            "kind": pd.Categorical(rng.choice(["x", "y", "z"], n_rows)),
            "gap": np.where(rng.random(n_rows) < 0.1, np.nan, rng.normal(size=n_rows)),
        }
    )


def test_large_mixed_table():
    X, Y = mixed_table(40_000, 0), mixed_table(40_000, 1)
    tracemalloc.start()
    with pytest.warns(UserWarning, match="3 columns left out: 'id' .*, 'name' .*, 'when' "):
        table = prepare(X, Y, missing="impute")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert table.rows.shape == (80_000, 49)
    # Far from the limit: 1.4 times the result on a quiet machine.
    assert peak < 2.5 * table.rows.nbytes


@pytest.mark.skipif(importlib.util.find_spec("polars") is None, reason="polars is not installed")
def test_polars_frames():
    import polars

    frame = polars.DataFrame({"u": [1.5, None, 3.5], "c": ["a", "b", "a"], "b": [True, None, False]})
    table = prepare(frame, frame, missing="impute")
    same = prepare(
        *[pd.DataFrame({"u": [1.5, None, 3.5], "c": list("aba"), "b": [True, None, False]})] * 2,
        missing="impute",
    )
    assert table.features == same.features
    np.testing.assert_array_equal(table.rows, same.rows)
    assert prepare(frame.select("u"), groups=frame["c"], missing="impute").groups == ("a", "b")


@pytest.mark.skipif(importlib.util.find_spec("anndata") is None, reason="anndata is not installed")
def test_anndata_frames(tmp_path):
    import anndata

    obs = pd.DataFrame({"tissue": ["p", "q", "p"]}, index=["c0", "c1", "c2"])
    cells = anndata.AnnData(sp.csr_matrix(np.eye(3)), obs=obs, var=pd.DataFrame(index=["g0", "g1", "g2"]))
    cells.write_h5ad(tmp_path / "cells.h5ad")
    for source in (cells, tmp_path / "cells.h5ad"):
        table = prepare(source, groups="tissue")
        assert sp.issparse(table.rows) and table.features == ("g0", "g1", "g2")
        assert table.groups == ("p", "q")
    np.testing.assert_array_equal(prepare(cells, groups=cells.obs["tissue"]).codes, [0, 1, 0])


@pytest.mark.skipif(importlib.util.find_spec("pyarrow") is None, reason="pyarrow is not installed")
def test_arrow_types():
    import pyarrow

    def arrow(values, kind):
        return pd.array(values, dtype=pd.ArrowDtype(kind))

    frame = pd.DataFrame(
        {
            "i": arrow([3, None, 7], pyarrow.int32()),
            "d": arrow([decimal.Decimal("1.5"), None, decimal.Decimal("2.5")], pyarrow.decimal128(5, 2)),
            "s": arrow(["a", None, "b"], pyarrow.string()),
            "b": arrow([True, None, False], pyarrow.bool_()),
            "k": pd.Series(pyarrow.array(["a", None, "b"]).dictionary_encode().to_pandas()),
            "t": arrow([datetime.date(2024, 5, 17)] * 3, pyarrow.date32()),
            "l": arrow([[1], [2], [3]], pyarrow.list_(pyarrow.int8())),
        }
    )
    with pytest.warns(UserWarning, match="'t' \\(dates.*, 'l' \\(holds objects"):
        table = prepare(frame, frame, missing="impute")
    assert table.columns == ("i", "d", "s", "b", "k")
    np.testing.assert_array_equal(table.rows[0], [3, 0, 1.5, 0, 1, 0, 0, 0, 1, 0, 1, 0, 0])
