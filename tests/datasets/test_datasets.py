from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.utils import Bunch

from princdiff.datasets import (
    downloads,
    load_madelon,
    load_zeisel,
    log2_cpm,
    make_block_gaussians,
    make_gaussian_pair,
)
from princdiff.datasets import madelon as madelon_loader
from princdiff.datasets import zeisel as zeisel_loader


@pytest.fixture
def no_data_variable(monkeypatch):
    monkeypatch.delenv(downloads.DATA_VARIABLE, raising=False)


# ---------------------------------------------------------------- simulated data


def test_gaussian_pair_has_the_stated_covariances():
    X, y = make_gaussian_pair(200_000, random_state=0)
    assert X.dtype == np.float64
    assert np.abs(X.mean(axis=0)).max() < 0.01
    first = [[1, 0.2, 0.4], [0.2, 1, 0], [0.4, 0, 1]]
    second = [[1, -0.9, 0], [-0.9, 1, 0], [0, 0, 1]]
    # The standard error of an entry is at most sqrt(2 / 200000) = 0.003.
    np.testing.assert_allclose(np.cov(X[y == 0].T), first, atol=0.015)
    np.testing.assert_allclose(np.cov(X[y == 1].T), second, atol=0.015)


def test_gaussian_pair_pools_the_first_group_first():
    X, y = make_gaussian_pair(7, random_state=0)
    assert X.shape == (14, 3)
    assert y.tolist() == [0] * 7 + [1] * 7


@pytest.mark.parametrize("make", [make_gaussian_pair, make_block_gaussians])
def test_same_seed_same_data(make):
    X, y = make(n_samples=20, random_state=3)
    again, labels = make(n_samples=20, random_state=3)
    other, _ = make(n_samples=20, random_state=4)
    np.testing.assert_array_equal(X, again)
    np.testing.assert_array_equal(y, labels)
    assert not np.any(X == other)


@pytest.mark.parametrize("make", [make_gaussian_pair, make_block_gaussians])
@pytest.mark.parametrize(
    "source",
    [
        lambda: np.random.default_rng(5),
        lambda: np.random.RandomState(5),
        lambda: np.random.SeedSequence(5),
    ],
)
def test_other_sources_of_randomness_are_reproducible(make, source):
    X, _ = make(n_samples=5, random_state=source())
    again, _ = make(n_samples=5, random_state=source())
    np.testing.assert_array_equal(X, again)


def test_a_generator_moves_on_and_a_seed_sequence_does_not():
    rng = np.random.default_rng(5)
    first, second = (make_gaussian_pair(5, random_state=rng)[0] for _ in range(2))
    assert not np.any(first == second)
    seed = np.random.SeedSequence(5)
    first, second = (make_gaussian_pair(5, random_state=seed)[0] for _ in range(2))
    np.testing.assert_array_equal(first, second)


def test_none_draws_afresh():
    assert not np.any(make_gaussian_pair(5)[0] == make_gaussian_pair(5)[0])


def test_groups_are_independent_draws():
    X, y = make_gaussian_pair(5000, random_state=0)
    assert np.abs(np.corrcoef(X[y == 0].T, X[y == 1].T)[:3, 3:]).max() < 0.06


def block_covariances(X, y):
    """Covariance of every block in either group, shape (2, n_blocks, 3, 3)."""
    blocks = range(0, X.shape[1], 3)
    return np.array([[np.cov(X[y == g, j : j + 3].T) for j in blocks] for g in (0, 1)])


def relative_difference(covariances):
    first, second = covariances
    size = np.linalg.norm(first, axis=(1, 2)) + np.linalg.norm(second, axis=(1, 2))
    return np.linalg.norm(first - second, axis=(1, 2)) / size


@pytest.mark.parametrize("seed", range(3))
def test_only_the_first_block_differs(seed):
    X, y = make_block_gaussians(15, 50_000, random_state=seed)
    assert np.abs(X.mean(axis=0) / X.std(axis=0)).max() < 0.02
    difference = relative_difference(block_covariances(X, y))
    assert difference[0] > 0.1
    assert difference[1:].max() < 0.03


@pytest.mark.parametrize("seed", range(3))
def test_null_shares_every_covariance_and_keeps_the_rest(seed):
    X, y = make_block_gaussians(9, 50_000, null=True, random_state=seed)
    assert relative_difference(block_covariances(X, y)).max() < 0.03
    different, _ = make_block_gaussians(9, 50_000, random_state=seed)
    np.testing.assert_array_equal(X[y == 0], different[y == 0])
    np.testing.assert_array_equal(X[:, 3:], different[:, 3:])


def test_blocks_are_independent_of_each_other():
    X, y = make_block_gaussians(12, 50_000, random_state=0)
    for group in (0, 1):
        correlation = np.corrcoef(X[y == group].T)
        for j in range(0, 12, 3):
            correlation[j : j + 3, j : j + 3] = 0
        assert np.abs(correlation).max() < 0.025


def test_covariances_are_wishart_with_three_degrees_of_freedom():
    X, y = make_block_gaussians(3 * 4000, 40, null=True, random_state=0)
    covariances = np.concatenate(block_covariances(X, y))
    # Mean df * I; an entry has variance 3 (6 on the diagonal) and sampling noise on top.
    np.testing.assert_allclose(covariances.mean(axis=0), 3 * np.eye(3), atol=0.15)
    # The variance of the trace tells the degrees of freedom: it is 2 * 3 * df = 18 for the
    # Wishart, and the sampling of 40 rows adds 2 E tr(S^2) / 39 with E tr(S^2) = 3*3*(3+3+1) = 63.
    trace = np.trace(covariances, axis1=1, axis2=2)
    assert trace.var() == pytest.approx(18 + 2 * 63 / 39, rel=0.1)


@pytest.mark.parametrize("null", [False, True])
def test_smaller_data_are_the_first_columns_of_larger(null):
    widest, y = make_block_gaussians(60, 30, n_samples_second=20, null=null, random_state=1)
    assert widest.shape == (50, 60)
    assert y.tolist() == [0] * 30 + [1] * 20
    for n_features in (3, 30, 57):
        X, _ = make_block_gaussians(n_features, 30, n_samples_second=20, null=null, random_state=1)
        np.testing.assert_array_equal(X, widest[:, :n_features])


def test_the_second_sample_size_leaves_the_first_group_alone():
    X, y = make_block_gaussians(6, 10, random_state=1)
    longer, labels = make_block_gaussians(6, 10, n_samples_second=40, random_state=1)
    np.testing.assert_array_equal(X[y == 0], longer[labels == 0])
    np.testing.assert_array_equal(X[y == 1], longer[labels == 1][:10])


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"n_features": 10}, ValueError, "multiple of 3, got 10"),
        ({"n_features": 0}, ValueError, "n_features must be at least 1"),
        ({"n_samples": 0}, ValueError, "n_samples must be at least 1"),
        ({"n_samples_second": -1}, ValueError, "n_samples_second must be at least 1"),
        ({"n_samples": 10.0}, TypeError, "n_samples must be an integer"),
        ({"n_samples": True}, TypeError, "n_samples must be an integer"),
    ],
)
def test_bad_sizes(arguments, error, message):
    with pytest.raises(error, match=message):
        make_block_gaussians(**arguments)


# ---------------------------------------------------------------- where files are sought


@pytest.mark.usefixtures("no_data_variable")
@pytest.mark.parametrize("load", [load_madelon, load_zeisel])
def test_without_a_path_the_error_says_what_to_do(load):
    with pytest.raises(FileNotFoundError, match=r"path=.*PRINCDIFF_DATA.*download=True"):
        load()


@pytest.mark.parametrize("load", [load_madelon, load_zeisel])
@pytest.mark.parametrize("download", [False, True])
def test_a_path_that_does_not_exist_is_an_error_even_if_download_is_allowed(load, download, tmp_path):
    for path in (tmp_path, tmp_path / "absent.npz"):
        with pytest.raises(FileNotFoundError, match=r"no file .*\.npz"):
            load(path, download=download)


def save_madelon(path: Path, **changes):
    rng = np.random.default_rng(0)
    arrays = {
        "X_train": rng.integers(0, 1000, (4, 500), dtype=np.uint16),
        "y_train": np.array([-1, 1, 1, -1], dtype=np.int8),
        "X_valid": rng.integers(0, 1000, (2, 500), dtype=np.uint16),
        "y_valid": np.array([1, -1], dtype=np.int8),
        "X_test": rng.integers(0, 1000, (3, 500), dtype=np.uint16),
    } | changes
    np.savez(path, **{name: array for name, array in arrays.items() if array is not None})
    return arrays


def test_madelon_subsets_from_file_directory_and_variable(tmp_path, monkeypatch):
    arrays = save_madelon(tmp_path / "madelon.npz")
    monkeypatch.setenv("PRINCDIFF_DATA", str(tmp_path))
    for path in (tmp_path, str(tmp_path), tmp_path / "madelon.npz", None):
        for subset in ("train", "valid"):
            bunch = load_madelon(path, subset=subset)
            assert bunch.data.dtype == np.float64
            np.testing.assert_array_equal(bunch.data, arrays[f"X_{subset}"])
            np.testing.assert_array_equal(bunch.target, arrays[f"y_{subset}"])
        bunch = load_madelon(path, subset="test")
        np.testing.assert_array_equal(bunch.data, arrays["X_test"])
        assert bunch.target is None
    assert bunch.feature_names[[0, 499]].tolist() == ["x0", "x499"]


def test_a_path_wins_over_the_variable(tmp_path, monkeypatch):
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
    expected = save_madelon(tmp_path / "here" / "madelon.npz")
    save_madelon(tmp_path / "there" / "madelon.npz", X_train=np.zeros((4, 500)))
    monkeypatch.setenv("PRINCDIFF_DATA", str(tmp_path / "there"))
    np.testing.assert_array_equal(load_madelon(tmp_path / "here").data, expected["X_train"])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"X_train": None}, "lacks the array X_train; it holds y_train"),
        ({"y_train": None}, "lacks the array y_train"),
        ({"X_train": np.zeros((4, 7))}, r"must have 500 columns, its shape is \(4, 7\)"),
        ({"X_train": np.zeros(500)}, "must have 500 columns"),
        ({"y_train": np.ones(3)}, r"y_train has shape \(3,\), but X_train has 4 rows"),
    ],
)
def test_malformed_madelon(tmp_path, changes, message):
    save_madelon(tmp_path / "madelon.npz", **changes)
    with pytest.raises(ValueError, match=message):
        load_madelon(tmp_path)


def test_not_an_npz_file(tmp_path):
    text = tmp_path / "madelon.npz"
    text.write_text("this is no archive")
    with pytest.raises(ValueError, match="is not a readable npz file"):
        load_madelon(text)
    text.write_bytes(b"")
    with pytest.raises(ValueError, match="is not a readable npz file"):
        load_madelon(text)
    text.write_bytes(b"PK\x03\x04 broken off")
    with pytest.raises(ValueError, match="is not a readable npz file"):
        load_madelon(text)
    single = tmp_path / "single.npy"
    np.save(single, np.zeros(3))
    with pytest.raises(ValueError, match="is not an npz file with named arrays"):
        load_madelon(single)


def test_unknown_subset(tmp_path):
    with pytest.raises(ValueError, match="subset must be 'train', 'valid' or 'test', got 'all'"):
        load_madelon(tmp_path, subset="all")


# ---------------------------------------------------------------- MADELON from OpenML


def openml_madelon():
    """A table of the form OpenML serves: training rows, then validation rows."""
    data = np.random.default_rng(0).integers(0, 1000, (2600, 500))
    data[0, :4] = [485, 477, 537, 479]
    data[2000, :4] = [483, 454, 513, 495]
    classes = np.array(["2", "1"] * 1300, dtype=object)
    return data, classes


def test_openml_rows_are_split_and_classes_translated():
    data, classes = openml_madelon()
    train, target = madelon_loader._split_openml_madelon(data, classes, "train")
    np.testing.assert_array_equal(train, data[:2000])
    assert target[:4].tolist() == [-1, 1, -1, 1]
    valid, target = madelon_loader._split_openml_madelon(data, classes, "valid")
    np.testing.assert_array_equal(valid, data[2000:])
    assert target.shape == (600,)


def test_openml_table_of_another_kind_is_refused():
    data, classes = openml_madelon()
    for table, labels in [
        (data[::-1], classes),
        (data[:, :499], classes),
        (data[:2000], classes[:2000]),
        (data, classes[:-1]),
        (data, np.full(2600, "3")),
    ]:
        with pytest.raises(ValueError, match="not the expected table"):
            madelon_loader._split_openml_madelon(table, labels, "train")


@pytest.mark.usefixtures("no_data_variable")
def test_download_asks_openml_only_where_there_is_no_local_file(tmp_path, monkeypatch):
    asked = []

    def fetch(name, *, version, as_frame, data_home):
        asked.append((name, version, data_home))
        data, classes = openml_madelon()
        return Bunch(data=data, target=classes)

    monkeypatch.setattr(madelon_loader, "fetch_openml", fetch)
    assert load_madelon(download=True, data_home=tmp_path).data.shape == (2000, 500)
    assert asked == [("madelon", 1, tmp_path)]
    # A directory without the file does not stand in the way of a download ...
    monkeypatch.setenv("PRINCDIFF_DATA", str(tmp_path))
    assert load_madelon(download=True, subset="valid").data.shape == (600, 500)
    with pytest.raises(FileNotFoundError):
        load_madelon()
    # ... and one with the file makes it needless.
    save_madelon(tmp_path / "madelon.npz")
    assert load_madelon(download=True).data.shape == (4, 500)
    assert len(asked) == 2


@pytest.mark.usefixtures("no_data_variable")
def test_openml_has_no_test_rows():
    with pytest.raises(ValueError, match="training and validation rows of MADELON only"):
        load_madelon(subset="test", download=True)


# ---------------------------------------------------------------- Zeisel


COUNTS = np.array([[0, 3, 0], [1, 0, 7]])


def save_zeisel(path: Path, **changes):
    counts = sp.csr_matrix(COUNTS)
    arrays = {
        "data": counts.data.astype(np.int16),
        "indices": counts.indices.astype(np.int16),
        "indptr": counts.indptr,
        "shape": np.array(counts.shape),
        "genes": np.array(["Snca", "Tubb3", "Crym"]),
        "tissue": np.array(["sscortex", "ca1hippocampus"]),
        "total_mRNA_mol": np.array([10, 1000]),
        "level1class": np.array(["microglia", "interneurons"]),
    } | changes
    np.savez(path, **{name: array for name, array in arrays.items() if array is not None})


def test_zeisel_counts_and_normalised_values(tmp_path):
    save_zeisel(tmp_path / "zeisel.npz")
    bunch = load_zeisel(tmp_path)
    assert sp.issparse(bunch.data) and bunch.data.format == "csr"
    assert bunch.counts.dtype == np.int32
    np.testing.assert_array_equal(bunch.counts.toarray(), COUNTS)
    expected = np.log2(1 + COUNTS / np.array([[10], [1000]]) * 1e6)
    np.testing.assert_allclose(bunch.data.toarray(), expected, rtol=1e-12)
    assert bunch.data.nnz == 3
    assert bunch.target.tolist() == bunch.tissue.tolist() == ["sscortex", "ca1hippocampus"]
    assert bunch.feature_names.tolist() == bunch.genes.tolist() == ["Snca", "Tubb3", "Crym"]
    assert bunch.level1class.tolist() == ["microglia", "interneurons"]
    assert "sex" not in bunch


def test_zeisel_as_counted(tmp_path):
    save_zeisel(tmp_path / "zeisel.npz")
    bunch = load_zeisel(tmp_path / "zeisel.npz", normalize=False)
    np.testing.assert_array_equal(bunch.data.toarray(), COUNTS)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        *(
            ({name: None}, f"lacks the array {name};")
            for name in ("data", "indices", "indptr", "shape", "genes", "tissue", "total_mRNA_mol")
        ),
        ({"genes": np.array(["Snca"])}, r"genes has shape \(1,\), expected \(3,\)"),
        ({"tissue": np.array(["sscortex"])}, r"tissue has shape \(1,\), expected \(2,\)"),
        ({"level1class": np.array([["a"]])}, r"level1class has shape \(1, 1\)"),
        ({"indptr": np.array([0, 1])}, "do not make a sparse matrix"),
        ({"indices": np.array([1, 0, 9])}, "do not make a sparse matrix"),
        ({"total_mRNA_mol": np.array([10, 0])}, "total must be positive"),
    ],
)
def test_malformed_zeisel(tmp_path, changes, message):
    save_zeisel(tmp_path / "zeisel.npz", **changes)
    with pytest.raises(ValueError, match=message):
        load_zeisel(tmp_path)


def test_log2_cpm_leaves_its_input_alone_and_checks_the_totals():
    counts = sp.csr_matrix(COUNTS, dtype=np.float64)
    log2_cpm(counts, [10, 1000])
    np.testing.assert_array_equal(counts.toarray(), COUNTS)
    with pytest.raises(ValueError, match=r"one value per row of counts, 2; its shape is \(3,\)"):
        log2_cpm(counts, [1, 2, 3])


# ---------------------------------------------------------------- Zeisel from GEO


GEO_COUNTS = (
    "cell_id\tcell_A\tcell_B\tcell_C\n"
    "Snca\t0\t3\t0\n"
    "Mar-01\t1\t0\t7\n"
    "NA\t0\t0\t2\n"
    "Mar-01\t5\t0\t0\n"
    "Silent\t0\t0\t0\n"
)
# The samples stand in another order than the columns of the table, and one line mixes keys.
GEO_CELLS = (
    '!Series_title\t"Cell types"\n'
    '!Sample_title\t"one"\t"two"\t"three"\n'
    '!Sample_source_name_ch1\t"ca1hippocampus"\t"sscortex"\t"sscortex"\n'
    '!Sample_characteristics_ch1\t"strain: CD1"\t"strain: CD1"\t"Sex: 1"\n'
    '!Sample_characteristics_ch1\t"Sex: -1"\t"Sex: 0"\t"age: 21"\n'
    '!Sample_characteristics_ch1\t"level1 class: microglia"\t"level1 class: a: b"\t""\n'
    '!Sample_description\t"cell_C"\t"cell_A"\t"cell_B"\n'
    "!series_matrix_table_begin\n"
)


def write_gz(path: Path, text: str) -> Path:
    with gzip.open(path, "wt", encoding="utf-8") as stream:
        stream.write(text)
    return path


@pytest.mark.parametrize("rows_at_once", [1, 2, 1000])
def test_geo_counts_are_cells_by_genes(tmp_path, rows_at_once):
    path = write_gz(tmp_path / "counts.txt.gz", GEO_COUNTS)
    counts, genes, cells = zeisel_loader._parse_geo_counts(path, rows_at_once=rows_at_once)
    expected = [[0, 1, 0, 5, 0], [3, 0, 0, 0, 0], [0, 7, 2, 0, 0]]
    np.testing.assert_array_equal(counts.toarray(), expected)
    assert counts.format == "csr" and counts.dtype == np.int32 and counts.nnz == 5
    assert genes.tolist() == ["Snca", "Mar-01", "NA", "Mar-01.1", "Silent"]
    assert cells.tolist() == ["cell_A", "cell_B", "cell_C"]


@pytest.mark.parametrize(
    "text",
    [
        GEO_COUNTS.replace("\t7", "\tseven"),
        GEO_COUNTS.replace("\t7", "\t7.5"),
        GEO_COUNTS.replace("\t7", "\t"),
        GEO_COUNTS.replace("\t7", ""),
        GEO_COUNTS.replace("\t7", "\t7\t8"),
        "cell_id\tcell_A\n",
        "",
    ],
)
def test_malformed_geo_counts_are_refused(tmp_path, text):
    path = write_gz(tmp_path / "counts.txt.gz", text)
    with pytest.raises(ValueError, match=r"not all integers|has no rows|Expected 4 fields|No col"):
        zeisel_loader._parse_geo_counts(path)


def test_geo_cells_follow_the_order_of_the_counts(tmp_path):
    path = write_gz(tmp_path / "cells.txt.gz", GEO_CELLS)
    found = zeisel_loader._parse_geo_cells(path, np.array(["cell_A", "cell_B", "cell_C"]))
    assert found["tissue"].tolist() == ["sscortex", "sscortex", "ca1hippocampus"]
    assert found["sex"].tolist() == ["0", "1", "-1"]
    assert found["age"].tolist() == ["", "21", ""]
    assert found["level1class"].tolist() == ["a: b", "", "microglia"]
    assert set(found) == {"tissue", "sex", "age", "level1class"}


def test_geo_cells_that_do_not_fit_are_refused(tmp_path):
    path = write_gz(tmp_path / "cells.txt.gz", GEO_CELLS)
    with pytest.raises(ValueError, match="no !Sample_ line names the cells"):
        zeisel_loader._parse_geo_cells(path, np.array(["cell_A", "cell_X"]))
    write_gz(path, GEO_CELLS.replace("source_name", "other"))
    with pytest.raises(ValueError, match="source_name_ch1, which names the tissue"):
        zeisel_loader._parse_geo_cells(path, np.array(["cell_A"]))


@pytest.mark.usefixtures("no_data_variable")
def test_download_from_geo_is_kept_and_read_like_a_local_file(tmp_path, monkeypatch):
    source, home = tmp_path / "server", tmp_path / "home"
    source.mkdir()
    urls = {
        "_GEO_COUNTS_URL": write_gz(source / "counts.txt.gz", GEO_COUNTS).as_uri(),
        "_GEO_CELLS_URL": write_gz(source / "cells.txt.gz", GEO_CELLS).as_uri(),
    }
    for name, url in urls.items():
        monkeypatch.setattr(zeisel_loader, name, url)
    first = load_zeisel(download=True, data_home=home)
    assert first.tissue.tolist() == ["sscortex", "sscortex", "ca1hippocampus"]
    assert first.total_mRNA_mol.tolist() == [6, 3, 9]
    assert first.counts[2, 1] == 7
    assert first.data[2, 1] == pytest.approx(np.log2(1 + 7 / 9 * 1e6))
    # Nothing half-written is left, and the second call needs no server.
    assert sorted(file.name for file in (home / "princdiff").iterdir()) == [
        "cells.txt.gz",
        "counts.txt.gz",
        "zeisel-geo.npz",
    ]
    for file in source.iterdir():
        file.unlink()
    second = load_zeisel(download=True, data_home=home, normalize=False)
    np.testing.assert_array_equal(second.data.toarray(), first.counts.toarray())


def test_a_download_that_breaks_off_leaves_nothing(tmp_path, monkeypatch):
    source = tmp_path / "source.txt"
    source.write_text("all of it")
    home = tmp_path / "home"
    home.mkdir()

    def copy_a_part(response, stream):
        stream.write(response.read(3))

    monkeypatch.setattr(downloads.shutil, "copyfileobj", copy_a_part)
    with pytest.raises(OSError, match="broke off"):
        downloads.download_file(source.as_uri(), home)
    assert list(home.iterdir()) == []


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["a", "b"], ["a", "b"]),
        (["a", "a", "a"], ["a", "a.1", "a.2"]),
        (["a", "a.1", "a"], ["a", "a.1", "a.2"]),
        (["a", "a", "a.1"], ["a", "a.2", "a.1"]),
    ],
)
def test_unique_names(names, expected):
    assert zeisel_loader._unique_names(names) == expected


# ---------------------------------------------------------------- the real data


def test_madelon_is_what_its_description_says(madelon):
    assert madelon.data.shape == (2000, 500)
    assert np.unique(madelon.target, return_counts=True)[1].tolist() == [1000, 1000]
    assert set(madelon.target) == {-1, 1}
    np.testing.assert_array_equal(madelon.data, np.rint(madelon.data))
    assert len(set(madelon.relevant.tolist())) == 20
    assert tuple(madelon.data[0, :4]) == madelon_loader._MADELON_TRAIN_START


def test_madelon_relevant_columns_have_rank_five(madelon):
    relevant = madelon.data[:, madelon.relevant]
    share = np.linalg.eigvalsh(np.corrcoef(relevant.T))[::-1] / 20
    assert share[:5].sum() > 0.95
    assert share[4] > 10 * share[5]
    others = np.delete(madelon.data, madelon.relevant, axis=1)
    assert np.abs(np.triu(np.corrcoef(others.T), 1)).max() < 0.15


def test_madelon_near_duplicates_and_columns_without_mean_difference(madelon):
    correlation = np.abs(np.corrcoef(madelon.data.T))
    for group in ([28, 318, 451], [48, 378], [64, 336], [105, 128], [153, 281, 433]):
        assert correlation[np.ix_(group, group)].min() > 0.97
    first, second = (madelon.data[madelon.target == label] for label in (-1, 1))
    error = np.sqrt(first.var(axis=0, ddof=1) / 1000 + second.var(axis=0, ddof=1) / 1000)
    welch = np.abs(first.mean(axis=0) - second.mean(axis=0)) / error
    # The description's 1.5 is rounded: the largest is 1.51.
    assert welch[[28, 153, 281, 318, 433, 451, 455]].max() < 1.55


@pytest.mark.usefixtures("madelon")
def test_madelon_other_subsets():
    valid = load_madelon(subset="valid")
    assert valid.data.shape == (600, 500)
    assert np.unique(valid.target, return_counts=True)[1].tolist() == [300, 300]
    assert tuple(valid.data[0, :4]) == madelon_loader._MADELON_VALID_START
    assert load_madelon(subset="test").data.shape == (1800, 500)


def test_zeisel_is_what_its_description_says(zeisel):
    assert zeisel.counts.shape == (3005, 4172)
    tissues, sizes = np.unique(zeisel.tissue, return_counts=True)
    assert dict(zip(tissues, sizes, strict=True)) == {"sscortex": 1691, "ca1hippocampus": 1314}
    assert len(set(zeisel.genes)) == 4172
    assert {"Snca", "Tubb3", "Tubb2a", "Snhg11"} <= set(zeisel.genes)
    assert not {"Spink8", "Snhg1"} & set(zeisel.genes)
    detected = np.diff(zeisel.counts[:, :4000].tocsc().indptr) / 3005
    assert detected.min() >= 0.365
    for name in ("level1class", "level2class", "cell_id", "sex", "age", "diameter"):
        assert zeisel[name].shape == (3005,)


def test_zeisel_is_normalised_by_the_library_size_over_all_genes(zeisel):
    held = np.asarray(zeisel.counts.sum(axis=1)).ravel()
    assert np.all(held < zeisel.total_mRNA_mol)
    assert zeisel.data.nnz == zeisel.counts.nnz
    per_million = np.exp2(zeisel.data[:5].toarray()) - 1
    np.testing.assert_allclose(per_million.sum(axis=1), 1e6 * held[:5] / zeisel.total_mRNA_mol[:5], rtol=1e-9)
