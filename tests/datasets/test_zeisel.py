from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from princdiff.datasets import (
    downloads,
    load_zeisel,
    log2_cpm,
)
from princdiff.datasets import zeisel as zeisel_loader

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
