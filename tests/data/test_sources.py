"""Rows out of core give the same numbers as the same rows in memory, and damaged files give errors."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from princdiff import open_rows, select_features, split_test
from princdiff.data.labels import Labels
from princdiff.data.memory import parse_memory
from princdiff.data.row_chunks import RowChunks
from princdiff.data.samples import Samples

ad = pytest.importorskip("anndata", reason="anndata is not installed")
pytest.importorskip("pyarrow", reason="pyarrow is not installed")
h5py = pytest.importorskip("h5py", reason="h5py is not installed")

# The oldest anndata that we support does not go with the zarr of today.
HAS_ZARR = importlib.util.find_spec("zarr") is not None
N_ROWS, N_FEATURES = 400, 60
# Too little for the rows, enough for a few of their projections.
MEMORY = 500_000
KINDS = ["npy", "memmap", "memmap part", "h5ad sparse", "h5ad dense", "zarr", "parquet", "backed", "backed X"]


@pytest.fixture(scope="module")
def values() -> np.ndarray:
    rng = np.random.default_rng(0)
    values = rng.poisson(0.4, (N_ROWS, N_FEATURES)) * rng.gamma(2.0, 1.0, (N_ROWS, N_FEATURES))
    values[:, 7] = 3.25
    return values


@pytest.fixture(scope="module")
def folder(tmp_path_factory, values) -> Path:
    folder = tmp_path_factory.mktemp("rows")
    names = [f"gene{place}" for place in range(N_FEATURES)]
    np.save(folder / "rows.npy", values)
    np.save(folder / "more.npy", np.concatenate([values[:10] + 1, values, values]))
    sparse = ad.AnnData(sp.csr_matrix(values), var=pd.DataFrame(index=names))
    sparse.layers["columns"] = sp.csc_matrix(values)
    sparse.write_h5ad(folder / "sparse.h5ad")
    if HAS_ZARR:
        sparse.write_zarr(folder / "sparse.zarr")
    ad.AnnData(values).write_h5ad(folder / "dense.h5ad")
    pd.DataFrame(values, columns=names).assign(city="Oslo").to_parquet(
        folder / "rows.parquet", row_group_size=150
    )
    return folder


def opened(kind: str, folder: Path, memory: int = MEMORY) -> RowChunks:
    if kind == "zarr" and not HAS_ZARR:
        pytest.skip("zarr is not installed")
    if kind == "npy":
        return open_rows(folder / "rows.npy", memory=memory)
    if kind == "memmap":
        return open_rows(np.load(folder / "rows.npy", mmap_mode="r"), memory=memory)
    if kind == "memmap part":
        return open_rows(np.load(folder / "more.npy", mmap_mode="r")[10 : 10 + N_ROWS], memory=memory)
    if kind == "parquet":
        columns = [f"gene{place}" for place in range(N_FEATURES)]
        return open_rows(folder / "rows.parquet", memory=memory, columns=columns)
    if kind == "backed":
        return open_rows(ad.read_h5ad(folder / "sparse.h5ad", backed="r"), memory=memory)
    if kind == "backed X":
        return open_rows(ad.read_h5ad(folder / "sparse.h5ad", backed="r").X, memory=memory)
    name = {"h5ad sparse": "sparse.h5ad", "h5ad dense": "dense.h5ad", "zarr": "sparse.zarr"}[kind]
    return open_rows(folder / name, memory=memory)


@pytest.mark.parametrize("kind", KINDS)
def test_blocks_are_the_rows_and_respect_the_budget(kind, folder, values):
    rows = opened(kind, folder)
    sizes = []
    for place, block in rows.blocks():
        dense = block.toarray() if sp.issparse(block) else block
        np.testing.assert_array_equal(dense, values[place])
        sizes.append(block.data.nbytes if sp.issparse(block) else block.nbytes)
    assert rows.shape == values.shape
    assert len(sizes) > 2
    assert max(sizes) <= MEMORY // 10
    assert not rows.fits


@pytest.mark.parametrize(
    ("kind", "scale"),
    [(kind, "pooled") for kind in KINDS] + [("npy", None), ("npy", "within"), ("h5ad sparse", "within")],
)
def test_products_and_moments_agree_with_memory(kind, scale, folder, values):
    rng = np.random.default_rng(1)
    weights = rng.integers(1, 4, N_ROWS).astype(float)
    directions, slopes = rng.normal(size=(3, N_FEATURES)), rng.normal(size=(3, N_ROWS))
    labels = Labels(np.arange(N_ROWS) % 2, 2, weights=weights).repeat(3)
    for dtype, tolerance in ((np.float64, 1e-12), (np.float32, 2e-5)):
        plain = Samples(values, scale, weights=weights, dtype=dtype)
        streamed = Samples(opened(kind, folder), scale, weights=weights, dtype=dtype)
        assert streamed.columns_per_pass == 3
        np.testing.assert_allclose(streamed.centre, plain.centre, rtol=1e-13)
        np.testing.assert_allclose(streamed.deviation, plain.deviation, rtol=1e-12)
        assert streamed.centre[7] == 3.25 and streamed.deviation[7] == 0.0
        ours, theirs = streamed.for_labels(labels), plain.for_labels(labels)
        for one, other in (
            (ours.project(directions), theirs.project(directions)),
            (ours.backproject(slopes.astype(dtype)), theirs.backproject(slopes.astype(dtype))),
            (ours.feature_columns(np.array([3, 0])), theirs.feature_columns(np.array([3, 0]))),
        ):
            assert one.dtype == dtype
            np.testing.assert_allclose(one, other, atol=tolerance * np.abs(other).max())


@pytest.mark.parametrize("kind", ["npy", "zarr", "parquet"])
def test_parts_agree_with_memory(kind, folder, values):
    rows = opened(kind, folder)
    index = np.array([0, 3, 150, N_ROWS - 1])
    dense = rows.take(index)
    np.testing.assert_array_equal(dense.toarray() if sp.issparse(dense) else dense, values[index])
    mask = np.arange(N_ROWS) % 40 > 0
    parts = [block.toarray() if sp.issparse(block) else block for _, block in rows[mask].blocks()]
    np.testing.assert_array_equal(np.concatenate(parts), values[mask])
    np.testing.assert_allclose(rows.dot(values[:2].T), values @ values[:2].T)
    few = Samples(rows, dtype=np.float64).restrict(np.array([5, 2]))
    # Two features fit into the budget, and are no longer streamed.
    assert not isinstance(few.rows, RowChunks)
    plain = Samples(values, dtype=np.float64).restrict(np.array([5, 2]))
    np.testing.assert_allclose(few.project(np.eye(2)), plain.project(np.eye(2)), atol=1e-12)


def test_covariance_agrees_with_memory(folder, values):
    streamed = Samples(opened("h5ad sparse", folder), "pooled", dtype=np.float64)
    np.testing.assert_allclose(
        streamed.covariance(), np.nan_to_num(np.corrcoef(values.T)) * (values.std(axis=0) > 0), atol=1e-10
    )


def test_features_in_any_order_of_a_strided_map(folder, values):
    mapped = np.load(folder / "more.npy", mmap_mode="r")[10 : 10 + N_ROWS : 2, ::2]
    rows = open_rows(mapped, memory=MEMORY)
    np.testing.assert_array_equal(rows.load(), values[::2, ::2])


def test_names_come_with_the_file(folder):
    assert list(opened("h5ad sparse", folder).feature_names[:2]) == ["gene0", "gene1"]
    assert opened("npy", folder).feature_names is None


# What can go wrong.


def test_a_text_column_is_named(folder):
    with pytest.raises(ValueError, match=r"column 'city' holds .*string, not numbers"):
        open_rows(folder / "rows.parquet").load()
    with pytest.raises(ValueError, match="no column 'gene99'"):
        open_rows(folder / "rows.parquet", columns=["gene99"])


def test_rows_stored_by_columns_are_refused(folder):
    with pytest.raises(ValueError, match="stored by columns"):
        open_rows(folder / "sparse.h5ad", layer="columns")
    with pytest.raises(ValueError, match="no layer 'counts'"):
        open_rows(folder / "sparse.h5ad", layer="counts")


def test_missing_values_are_named(tmp_path, values):
    spoilt = values.copy()
    spoilt[333, 4] = np.nan
    np.save(tmp_path / "spoilt.npy", spoilt)
    with pytest.raises(ValueError, match="NaN or infinity: column '4' is affected"):
        Samples(open_rows(tmp_path / "spoilt.npy", memory=MEMORY))


def test_too_small_a_budget_says_what_is_needed(folder):
    with pytest.raises(ValueError, match=r"too little for 400 rows.* 153.6 kB in all"):
        _ = opened("npy", folder, memory=50_000).columns_per_pass


@pytest.mark.parametrize("memory", ["much", "2 bananas", 0, None, True, "0GB"])
def test_a_wrong_budget_is_refused(memory):
    with pytest.raises(ValueError, match="memory must be"):
        parse_memory(memory)


@pytest.mark.parametrize("name", ["rows.npy", "rows.parquet", "sparse.h5ad", "dense.h5ad"])
def test_a_file_that_is_cut_off_is_refused(name, folder, tmp_path):
    content = (folder / name).read_bytes()
    short = tmp_path / name
    short.write_bytes(content[: len(content) // 2])
    with pytest.raises(ValueError, match=r"not a whole|cannot be read|cut off"):
        Samples(open_rows(short, memory=MEMORY))


@pytest.mark.parametrize("kind", ["npy", "h5ad sparse"])
def test_a_file_that_changes_under_a_fit_is_refused(kind, folder, tmp_path):
    name = {"npy": "rows.npy", "h5ad sparse": "sparse.h5ad"}[kind]
    (tmp_path / name).write_bytes((folder / name).read_bytes())
    samples = Samples(opened(kind, tmp_path))
    with open(tmp_path / name, "r+b") as file:
        file.truncate(3000)
    with pytest.raises(ValueError, match="changed or removed"):
        samples.project(np.ones((1, N_FEATURES), np.float32))


def test_damaged_sparse_rows_are_refused(folder, tmp_path):
    for array, change in (("indices", 10**6), ("indptr", -5)):
        damaged = tmp_path / f"{array}.h5ad"
        damaged.write_bytes((folder / "sparse.h5ad").read_bytes())
        with h5py.File(damaged, "r+") as file:
            file["X"][array][37] = change
        with pytest.raises(ValueError, match="damaged"):
            Samples(open_rows(damaged, memory=MEMORY))


def test_a_damaged_chunk_is_refused(folder, tmp_path, values):
    path = tmp_path / "checked.h5ad"
    with h5py.File(path, "w") as file:
        file.create_dataset("X", data=values, chunks=(50, N_FEATURES), fletcher32=True)
        offset = file["X"].id.get_chunk_info(3).byte_offset
    content = bytearray(path.read_bytes())
    content[offset + 100] ^= 255
    path.write_bytes(bytes(content))
    with h5py.File(path, "r") as file, pytest.raises(ValueError, match="cut off or damaged"):
        Samples(open_rows(file["X"], memory=MEMORY))


def test_functions_that_need_all_rows_in_memory_say_so(folder):
    y = np.arange(N_ROWS) % 2
    for function in (split_test, select_features):
        with pytest.raises(ValueError, match=r"does not fit into its memory budget of 500\.0 kB"):
            function(opened("npy", folder), y)


# ---------------------------------------------------------------- what would be ignored, or fails late


def test_what_chooses_a_part_of_a_file_is_refused_for_an_array(folder):
    mapped = np.load(folder / "rows.npy", mmap_mode="r")
    with pytest.raises(ValueError, match="columns= is for parquet files, not for memmap"):
        open_rows(mapped, columns=["gene1"])
    with pytest.raises(ValueError, match="layer= is for AnnData, not for memmap"):
        open_rows(mapped, layer="counts")
    with pytest.raises(ValueError, match="columns must be a list of names or None, got 'gene1'"):
        open_rows(folder / "rows.parquet", columns="gene1")


@pytest.mark.parametrize("memory", ["1", 1, "10kB"])
def test_a_budget_that_allows_nothing_is_refused_at_once(memory, folder):
    with pytest.raises(ValueError, match=r"is too little for 400 rows: sorting their projections takes"):
        open_rows(folder / "rows.npy", memory=memory)
    with pytest.raises(ValueError, match="is too little for 400 rows"):
        open_rows(np.load(folder / "rows.npy", mmap_mode="r"), memory=memory)
