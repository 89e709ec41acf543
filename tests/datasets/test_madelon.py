from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sklearn.utils import Bunch

from princdiff.datasets import (
    load_madelon,
    load_zeisel,
)
from princdiff.datasets import madelon as madelon_loader


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
