"""A table in a file gives what the same table in memory gives."""

import gc
import os
import subprocess
import sys

import numpy as np
import pytest

from princdiff.data.moments import moments
from princdiff.data.row_keys import row_keys
from princdiff.data.samples import Samples
from princdiff.data.scratch import ScratchFile
from princdiff.data.stored_columns import Feature, StoredColumn, StoredColumns


def both(n_rows=5000, memory=10**5, dtype=np.float64):
    rng = np.random.default_rng(0)
    number, codes = rng.normal(3, 2, size=n_rows).astype(dtype), rng.integers(-1, 4, size=n_rows)
    file = ScratchFile()
    size, city = StoredColumn.of(file, number), StoredColumn.of(file, codes.astype(np.int8))
    stored = StoredColumns([Feature(size), *(Feature(city, code) for code in (0, 1, 3))], memory, dtype)
    dense = np.column_stack([number, *(codes == code for code in (0, 1, 3))]).astype(dtype)
    return stored, dense


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_parts_are_those_of_the_array(dtype):
    stored, dense = both(dtype=dtype)
    assert stored.shape == dense.shape and stored.dtype == dense.dtype
    np.testing.assert_array_equal(stored[:], dense)
    np.testing.assert_array_equal(stored[40:90], dense[40:90])
    np.testing.assert_array_equal(stored[::700], dense[::700])
    np.testing.assert_array_equal(stored[:, 2], dense[:, 2])
    mask = dense[:, 1] > 0
    order = np.random.default_rng(1).permutation(len(dense))
    for rows in (mask, order, order[:10]):
        np.testing.assert_array_equal(stored[rows][:], dense[rows])
    np.testing.assert_array_equal(stored[:, [3, 0]][:], dense[:, [3, 0]])
    np.testing.assert_array_equal(stored.min(axis=0), dense.min(axis=0))
    np.testing.assert_allclose(stored @ np.arange(4.0), dense @ np.arange(4.0), rtol=1e-6)


def test_what_is_small_is_in_memory_and_what_is_not_stays_stored():
    stored, _ = both()
    assert isinstance(stored[np.arange(4999)], StoredColumns)
    assert isinstance(stored[:, [0, 1]], StoredColumns)
    assert isinstance(stored[np.arange(10)], np.ndarray)
    with pytest.raises(TypeError, match="in parts"):
        np.asarray(stored)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_products_are_those_of_the_array(dtype):
    stored, dense = both()
    rng = np.random.default_rng(2)
    ours, theirs = (Samples(rows, "pooled", dtype=dtype) for rows in (stored, dense))
    np.testing.assert_allclose(ours.deviation, theirs.deviation, rtol=1e-12)
    directions = rng.normal(size=(3, 4)).astype(dtype)
    directions[1, :2] = 0
    slopes = rng.normal(size=(3, 5000)).astype(dtype)
    tolerance = 1e-4 if dtype == np.float32 else 1e-12
    np.testing.assert_allclose(ours.project(directions), theirs.project(directions), atol=tolerance)
    np.testing.assert_allclose(ours.backproject(slopes), theirs.backproject(slopes), atol=50 * tolerance)
    features = np.array([3, 1])
    np.testing.assert_allclose(ours.feature_columns(features), theirs.feature_columns(features), atol=1e-6)
    np.testing.assert_allclose(ours.covariance(), theirs.covariance(), atol=1e-5)
    picked = np.array([[5, 2, 5], [4999, 0, 2]])
    np.testing.assert_allclose(
        ours.scaled_rows_by_rows()[picked], theirs.scaled_rows_by_rows()[picked], atol=1e-6
    )


def test_moments_and_keys_are_those_of_the_array():
    stored, dense = both()
    np.testing.assert_allclose(moments(stored).mean, moments(dense).mean, rtol=1e-12)
    np.testing.assert_array_equal(row_keys(stored), row_keys(dense))


def test_files_are_closed_when_nobody_needs_them():
    def open_files():
        return len(os.listdir("/proc/self/fd"))

    if not os.path.isdir("/proc/self/fd"):
        pytest.skip("files of a process are counted on Linux only")
    gc.collect()
    before = open_files()
    for _ in range(5):
        stored, _ = both()
        halves = stored[np.arange(4000)]
        del stored, halves
    gc.collect()
    assert open_files() == before


def test_a_killed_process_leaves_no_file(tmp_path):
    program = (
        "import numpy as np, os, signal\n"
        "from princdiff.data.scratch import ScratchFile\n"
        "file = ScratchFile(); file.append(np.zeros(10**6)); os.kill(os.getpid(), signal.SIGKILL)"
    )
    if sys.platform == "win32":
        pytest.skip("no such signal")
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", program], env=environment, check=False)
    assert done.returncode != 0
    assert list(tmp_path.iterdir()) == []


def test_without_positioned_reading_the_same(monkeypatch):
    monkeypatch.delattr(os, "preadv", raising=False)
    monkeypatch.delattr(os, "pwritev", raising=False)
    stored, dense = both()
    np.testing.assert_array_equal(stored[:], dense)


def test_a_file_that_ends_early_is_an_error():
    file = ScratchFile()
    file.append(np.arange(3))
    with pytest.raises(OSError, match="ends before"):
        file.read(0, np.empty(10, dtype=np.int64))
