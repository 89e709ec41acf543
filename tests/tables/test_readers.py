"""Files and objects become tables, and files that cannot be read say why."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from princdiff.tables import read

FRAME = pd.DataFrame({"größe": [1.5, 2.5, 3.5], "city": ["Oslo", "Ürümqi", "Oslo"], "n": [3, 1, 2]})


def needs(module: str) -> pytest.MarkDecorator:
    absent = importlib.util.find_spec(module) is None
    return pytest.mark.skipif(absent, reason=f"{module} is not installed")


def written(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
    return path


# Files ------------------------------------------------------------------------------------------------------


@needs("pyarrow")
@pytest.mark.parametrize("name", ["a.parquet", "a.feather"])
def test_arrow_files(tmp_path, name):
    path = tmp_path / name
    FRAME.to_parquet(path) if name.endswith("parquet") else FRAME.to_feather(path)
    pd.testing.assert_frame_equal(read(path).values, FRAME, check_dtype=False)


@needs("pyarrow")
@pytest.mark.parametrize("name", ["a.parquet", "a.feather"])
def test_unreadable_arrow_file(tmp_path, name):
    path = written(tmp_path / name, b"PAR1 this is no such file")
    with pytest.raises(ValueError, match=rf"{name} cannot be read as {path.suffix[1:]}"):
        read(path)


@needs("pyarrow")
def test_index_kept_in_parquet_is_told(tmp_path):
    FRAME.set_index("n").to_parquet(tmp_path / "a.parquet")
    (note,) = read(tmp_path / "a.parquet").notes
    assert "row index ('n')" in note


@pytest.mark.parametrize(
    ("name", "module", "extra"),
    [
        ("a.parquet", "pyarrow", "parquet"),
        ("a.feather", "pyarrow", "parquet"),
        ("a.h5ad", "anndata", "anndata"),
    ],
)
def test_absent_extra_is_named(tmp_path, monkeypatch, name, module, extra):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(
        ImportError, match=rf"reading {name} needs {module}: pip install 'princdiff\[{extra}\]'"
    ):
        read(written(tmp_path / name, b"something"))


def test_npy(tmp_path):
    np.save(tmp_path / "a.npy", np.arange(6).reshape(3, 2))
    table = read(tmp_path / "a.npy")
    assert table.columns == ("x0", "x1") and not table.named
    assert table.values.dtype == np.float64


def test_npz_with_names_and_labels(tmp_path):
    path = tmp_path / "a.npz"
    X, y = np.eye(3, 2, dtype=np.float32), np.array([b"u", b"v", b"u"])
    np.savez(path, X=X, y=y, feature_names=np.array(["p", "q"]), spare=np.zeros((4, 4)))
    table = read(path)
    assert table.columns == ("p", "q") and table.named
    assert table.values.dtype == np.float32
    assert table.column("y").tolist() == ["u", "v", "u"]
    assert "'spare' not used" in table.notes[0]


def test_npz_with_a_single_matrix(tmp_path):
    np.savez(tmp_path / "a.npz", np.eye(3))
    assert read(tmp_path / "a.npz").n_rows == 3


def test_npz_without_obvious_array(tmp_path):
    np.savez(tmp_path / "a.npz", left=np.eye(3), right=np.eye(2))
    with pytest.raises(ValueError, match=r"'left' \(3, 3\), 'right' \(2, 2\)"):
        read(tmp_path / "a.npz")


@pytest.mark.parametrize("name", ["a.npz", "a.npy"])
def test_pickled_arrays_are_refused(tmp_path, name):
    array = np.array([[1, "a"]], dtype=object)
    np.savez(tmp_path / "a.npz", X=array)
    np.save(tmp_path / "a.npy", array)
    with pytest.raises(ValueError, match=rf"{name} cannot be read as NumPy arrays: it holds Python objects"):
        read(tmp_path / name)


@pytest.mark.parametrize("name", ["a.npz", "a.npy"])
def test_broken_numpy_files(tmp_path, name):
    with pytest.raises(ValueError, match=f"{name} cannot be read as NumPy arrays"):
        read(written(tmp_path / name, b"no array at all"))


def test_sparse_npz_stays_sparse(tmp_path):
    sp.save_npz(tmp_path / "a.npz", sp.csc_array(np.diag([1.0, 2.0, 3.0])))
    table = read(tmp_path / "a.npz")
    assert sp.issparse(table.values) and table.values.format == "csr"


@needs("anndata")
def test_h5ad(tmp_path):
    import anndata

    obs = pd.DataFrame({"tissue": pd.Categorical(["a", "b", "a"])}, index=["c0", "c1", "c2"])
    data = anndata.AnnData(sp.csr_matrix(np.eye(3, 2)), obs=obs, var=pd.DataFrame(index=["g0", "g1"]))
    data.write_h5ad(tmp_path / "a.h5ad")
    table = read(tmp_path / "a.h5ad")
    assert table.columns == ("g0", "g1") and sp.issparse(table.values)
    assert table.column("tissue").tolist() == ["a", "b", "a"]
    assert read(data[:2]).n_rows == 2
    backed = anndata.read_h5ad(tmp_path / "a.h5ad", backed="r")
    assert read(backed).n_rows == 3
    backed.file.close()


@needs("anndata")
def test_broken_h5ad(tmp_path):
    with pytest.raises(ValueError, match=r"a\.h5ad cannot be read as h5ad"):
        read(written(tmp_path / "a.h5ad", b"no hdf5 at all"))


# Files that are not what they seem ------------------------------------------------------------------------


def test_missing_file_suggests_others(tmp_path):
    written(tmp_path / "before.csv", "a\n1\n")
    with pytest.raises(FileNotFoundError, match=r"no such file: .*befor\.csv'; did you mean 'before\.csv'\?"):
        read(tmp_path / "befor.csv")
    with pytest.raises(FileNotFoundError, match="no such file"):
        read(tmp_path / "no" / "folder.csv")


def test_folder(tmp_path):
    with pytest.raises(ValueError, match="is a folder"):
        read(tmp_path)


@pytest.mark.parametrize("name", ["a.csv", "a.parquet", "a.npz", "a.h5ad"])
def test_empty_file(tmp_path, name):
    with pytest.raises(ValueError, match=f"{name} is empty"):
        read(written(tmp_path / name, b""))


def test_unknown_ending(tmp_path):
    for name in ("a.xlsx", "a", "a.parquet.gz"):
        with pytest.raises(ValueError, match=r"is not known; these are: \.csv"):
            read(written(tmp_path / name, b"something"))


def test_unreadable_file(tmp_path, monkeypatch):
    monkeypatch.setattr("os.access", lambda *_: False)
    with pytest.raises(ValueError, match="permission denied"):
        read(written(tmp_path / "a.csv", "u\n1\n"))


# Objects ----------------------------------------------------------------------------------------------------


def test_arrays_keep_float32_and_are_not_copied():
    array = np.zeros((3, 2), dtype=np.float32)
    assert read(array).values is array
    assert read(array.astype(np.int8)).values.dtype == np.float64
    assert read([[1, 2], [3, 4]]).values.dtype == np.float64


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (np.zeros(3), r"X has one dimension.*groups=.*X\.reshape\(-1, 1\)"),
        (pd.Series([1, 2]), r"X has one dimension.*X\.to_frame\(\)"),
        (np.zeros((2, 2, 2)), r"X has shape \(2, 2, 2\)"),
        (np.zeros((2, 2), dtype=complex), "X holds complex numbers"),
        (np.zeros((0, 2)), "X has columns but no rows"),
        (np.zeros((2, 0)), "X has no columns"),
        (pd.DataFrame(), "X has no columns"),
        (pd.DataFrame({"a": []}), "X has columns but no rows"),
        (7, "X is not a table: int"),
        (None, "X is not a table: NoneType"),
        ([[1, 2], [3]], "X is not a table"),
        (sp.csr_matrix((2, 2), dtype=complex), "X must be a matrix of real numbers"),
    ],
)
def test_no_tables(source, message):
    with pytest.raises(ValueError, match=message):
        read(source)


def test_masked_array_has_missing_values():
    masked = np.ma.masked_equal(np.array([[1, 2], [3, 4]]), 4)
    assert np.isnan(read(masked).values[1, 1])


def test_object_and_structured_arrays():
    table = read(np.array([[1, "a"], [2, "b"]], dtype=object))
    assert table.columns == ("x0", "x1") and table.is_frame and not table.named
    assert read(np.array([(1, 2.5)], dtype=[("u", int), ("v", float)])).columns == ("u", "v")
    assert read(np.array([[b"a", b"b"]])).values["x0"].tolist() == ["a"]


def test_column_names_become_text():
    frame = pd.DataFrame(np.zeros((1, 2)), columns=pd.MultiIndex.from_tuples([("a", 1), ("a", 2)]))
    assert read(frame).columns == ("a / 1", "a / 2")
    assert read({"u": [1], 3: [2]}).columns == ("u", "3")
    assert frame.columns.nlevels == 2


@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "lil", "dok", "bsr", "dia"])
def test_sparse_formats(kind):
    dense = np.array([[0, 1], [2, 0], [0, 0]])
    for make in (sp.coo_matrix, sp.coo_array):
        table = read(make(dense).asformat(kind))
        assert table.values.format == "csr" and table.values.dtype == np.float64
        np.testing.assert_array_equal(table.values.toarray(), dense)


def test_repeated_sparse_entries_are_summed_in_a_copy():
    matrix = sp.csr_matrix((np.ones(2), np.array([0, 0]), np.array([0, 2])), shape=(1, 2))
    assert read(matrix).values.nnz == 1
    assert matrix.nnz == 2


def test_pandas_sparse_frame_stays_sparse():
    frame = pd.DataFrame.sparse.from_spmatrix(sp.eye(3, format="csr"), columns=["a", "b", "c"])
    table = read(frame)
    assert sp.issparse(table.values) and table.columns == ("a", "b", "c")


def test_whole_numbers_that_do_not_fit_are_told():
    assert "2**53" in read(np.array([[2**60 + 1, 2]])).notes[0]


def test_anndata_by_its_looks():
    cells = SimpleNamespace(X=np.eye(2), obs=pd.DataFrame({"batch": ["u", "v"]}), var_names=["g0", "g1"])
    table = read(cells)
    assert table.columns == ("g0", "g1")
    assert table.describing() == ["batch", "g0", "g1"]
    cells.var_names = ["g", "g"]
    with pytest.raises(ValueError, match="same name: 'g'"):
        read(cells)
    cells.X = None
    with pytest.raises(ValueError, match="X has no X"):
        read(cells)


@needs("polars")
def test_polars():
    import datetime

    import polars

    frame = polars.DataFrame(
        {
            "f": [1.5, None, 2.5],
            "i": [1, None, 3],
            "b": [True, None, False],
            "s": ["x", None, "y"],
            "d": [datetime.date(2020, 1, 1)] * 3,
            "l": [[1], [2], [3]],
        }
    )
    enum = polars.Series(["x"] * 3, dtype=polars.Enum(["y", "x"]))
    frame = frame.with_columns(c=polars.col("s").cast(polars.Categorical), e=enum)
    for source in (frame, frame.lazy()):
        values = read(source).values
        assert list(values) == ["f", "i", "b", "s", "d", "l", "c", "e"]
        assert values["i"].dtype == np.float64 and values["b"].dtype == "boolean"
        assert list(values["c"].cat.categories) == ["x", "y"]
        assert list(values["e"].cat.categories) == ["y", "x"]
        assert values["d"].dtype.kind == "M"
    with pytest.raises(ValueError, match="one dimension"):
        read(frame["f"])


@needs("pyarrow")
def test_arrow_table():
    import pyarrow

    assert read(pyarrow.table({"u": [1, 2]})).columns == ("u",)


# Sparse matrices whose indices lie --------------------------------------------------------------------------


def broken(form: str, change: str):
    """A matrix with one index that points outside, made behind SciPy's back."""
    matrix = sp.random(6, 4, 0.5, format=form, random_state=0)
    if form == "coo":
        matrix.col = np.where(np.arange(matrix.nnz) == 3, 10**6, matrix.col)
    elif change == "index":
        matrix.indices[3] = 2**30
    elif change == "negative":
        matrix.indices[0] = -5
    else:
        matrix.indptr[2] = 2**20
    return matrix


@pytest.mark.parametrize("change", ["index", "negative", "pointer"])
@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
def test_broken_sparse_matrices_are_refused(tmp_path, form, change):
    matrix = broken(form, change)
    with pytest.raises(ValueError, match="X: the sparse matrix is damaged"):
        read(matrix)
    sp.save_npz(tmp_path / "a.npz", matrix)
    with pytest.raises(ValueError, match=r"a\.npz: the sparse matrix is damaged|a\.npz cannot be read"):
        read(tmp_path / "a.npz")


@needs("anndata")
def test_broken_sparse_matrix_in_h5ad(tmp_path):
    import anndata
    import h5py

    anndata.AnnData(sp.random(6, 4, 0.5, format="csr", random_state=0)).write_h5ad(tmp_path / "a.h5ad")
    with h5py.File(tmp_path / "a.h5ad", "r+") as file:
        file["X"]["indices"][3] = 2**30
    with pytest.raises(ValueError, match=r"a\.h5ad: the sparse matrix is damaged|a\.h5ad cannot be read"):
        read(tmp_path / "a.h5ad")
