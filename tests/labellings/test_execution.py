"""Batches through other back-ends of joblib, and runs that are cut off and go on."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

import joblib
import numpy as np
import pytest

from princdiff import permutation_test, stability_selection
from princdiff.labellings.execution import Checkpoint
from princdiff.statistics import permutation_runs

OPTIONS = {"n_permutations": 149, "random_state": 3, "statistic": "divergence"}


def table() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 6))
    X[25:, 2] += 0.5
    return X, np.repeat([0, 1], 25)


@pytest.fixture(scope="module")
def uninterrupted():
    return permutation_test(*table(), **OPTIONS)


def same(one, other) -> bool:
    return one.pvalue == other.pvalue and np.array_equal(one.values, other.values)


# Other back-ends.


def test_threads_give_the_same(uninterrupted):
    assert same(permutation_test(*table(), n_jobs=2, **OPTIONS), uninterrupted)


def test_processes_that_return_everything_at_once_give_the_same(uninterrupted):
    # As Ray's: a pool without results on the way.
    with joblib.parallel_config(backend="multiprocessing", n_jobs=2):
        assert not joblib.parallel.get_active_backend()[0].supports_return_generator
        assert same(permutation_test(*table(), **OPTIONS), uninterrupted)


def test_half_samples_in_processes():
    X, y = table()
    X[25:, 2] += 1.5
    ours = stability_selection(X, y, n_features=2, n_pairs=15, random_state=0)
    with joblib.parallel_config(backend="multiprocessing", n_jobs=2):
        theirs = stability_selection(X, y, n_features=2, n_pairs=15, random_state=0)
    np.testing.assert_array_equal(ours.frequencies, theirs.frequencies)
    assert ours.frequencies.argmax() == 2


def test_the_adaptive_statistic_goes_on_as_well(tmp_path, monkeypatch):
    options = {**OPTIONS, "statistic": "adaptive", "n_permutations": 60}
    monkeypatch.setattr(permutation_runs, "_CHUNK", 20)
    whole = permutation_test(*table(), **options)
    with monkeypatch.context() as patch, pytest.raises(Stop):
        interrupt_after(patch, 1, Stop(), "_direction_chunk")
        permutation_test(*table(), checkpoint=tmp_path / "run.npz", **options)
    assert same(permutation_test(*table(), checkpoint=tmp_path / "run.npz", **options), whole)


# Checkpoints.


class Stop(Exception):
    """Someone pulled the plug."""


def interrupt_after(monkeypatch, n_chunks: int, error: BaseException, name: str = "_compute_chunk") -> None:
    compute, made = getattr(permutation_runs, name), []

    def limited(*arguments):
        if len(made) == n_chunks:
            raise error
        made.append(1)
        return compute(*arguments)

    monkeypatch.setattr(permutation_runs, name, limited)


def count_chunks(monkeypatch) -> list[int]:
    compute, made = permutation_runs._compute_chunk, []

    def counted(*arguments):
        made.append(int(arguments[-1][0]))
        return compute(*arguments)

    monkeypatch.setattr(permutation_runs, "_compute_chunk", counted)
    return made


@pytest.mark.parametrize("error", [KeyboardInterrupt(), Stop("worker lost")])
def test_an_interrupted_run_goes_on_where_it_was(error, tmp_path, monkeypatch, uninterrupted):
    path = tmp_path / "run.npz"
    with monkeypatch.context() as patch, pytest.raises(type(error)):
        interrupt_after(patch, 2, error)
        permutation_test(*table(), checkpoint=path, **OPTIONS)
    made = count_chunks(monkeypatch)
    assert same(permutation_test(*table(), checkpoint=path, **OPTIONS), uninterrupted)
    # 150 labellings in chunks of 50, two of which were finished before.
    assert made == [100]
    assert same(permutation_test(*table(), checkpoint=path, **OPTIONS), uninterrupted)
    assert made == [100]


def test_directions_and_early_stops_are_kept(tmp_path, monkeypatch):
    options = {"early_stop": 5, "keep_directions": True, **OPTIONS}
    X, y = np.random.default_rng(1).normal(size=(50, 6)), table()[1]
    first = permutation_test(X, y, checkpoint=tmp_path / "a.npz", **options)
    made = count_chunks(monkeypatch)
    second = permutation_test(X, y, checkpoint=tmp_path / "a.npz", **options)
    assert same(first, second) and not made
    assert first.n_permutations < OPTIONS["n_permutations"]
    np.testing.assert_array_equal(first.directions, second.directions)


KILLED = """
import sys, time
import numpy as np
from princdiff import permutation_test
from princdiff.statistics import permutation_runs
sys.path.insert(0, {folder!r})
from test_execution import OPTIONS, table
compute = permutation_runs._compute_chunk
def slow(*arguments):
    part = compute(*arguments)
    print("chunk", flush=True)
    time.sleep(0.2)
    return part
permutation_runs._compute_chunk = slow
permutation_test(*table(), checkpoint={path!r}, **OPTIONS)
"""


def test_a_run_that_is_killed_goes_on(tmp_path, uninterrupted, monkeypatch):
    path = tmp_path / "run.npz"
    script = KILLED.format(folder=str(__file__).rsplit("/", 1)[0], path=str(path))
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    # Somewhere after the first chunk.
    process.stdout.readline()
    time.sleep(np.random.default_rng().uniform(0.15, 0.4))
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    process.stdout.close()
    made = count_chunks(monkeypatch)
    assert same(permutation_test(*table(), checkpoint=path, **OPTIONS), uninterrupted)
    assert len(made) <= 3
    assert [entry.name for entry in tmp_path.iterdir() if not entry.name.startswith(".")] == ["run.npz"]


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    path = tmp_path_factory.mktemp("checkpoint") / "run.npz"
    permutation_test(*table(), checkpoint=path, **OPTIONS)
    return path.read_bytes()


def test_a_truncated_checkpoint_is_refused(finished, tmp_path):
    path = tmp_path / "run.npz"
    for length in (0, 10, len(finished) // 2, len(finished) - 1):
        path.write_bytes(finished[:length])
        with pytest.raises(ValueError, match="cut off, damaged or no checkpoint"):
            permutation_test(*table(), checkpoint=path, **OPTIONS)


def test_no_flipped_bit_goes_unnoticed(finished, tmp_path):
    path, rng = tmp_path / "run.npz", np.random.default_rng(0)
    whole = Checkpoint.__new__(Checkpoint)
    whole.path, whole._fingerprint = path, {}
    refused = 0
    for place in rng.integers(len(finished), size=200):
        damaged = bytearray(finished)
        damaged[place] ^= 1 << rng.integers(8)
        path.write_bytes(bytes(damaged))
        with pytest.raises(ValueError, match=r"damaged|another run") as caught:
            whole._load()
        refused += "damaged" in str(caught.value)
    # Bits of the archive's own bookkeeping (times, attributes) change no number.
    assert refused > 150


def test_numbers_changed_in_a_well_formed_file_are_noticed(finished, tmp_path):
    path = tmp_path / "run.npz"
    path.write_bytes(finished)
    with np.load(path) as stored:
        arrays = dict(stored)
    arrays["values-1"] = arrays["values-1"] * 1.01
    np.savez(path, **arrays)
    with pytest.raises(ValueError, match="is damaged; delete it"):
        permutation_test(*table(), checkpoint=path, **OPTIONS)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"random_state": 4}, "random_state"),
        ({"n_permutations": 199}, "n_permutations"),
        ({"statistic": "adaptive"}, "statistic, metric or n_features"),
        ({"scale": None}, "scale"),
        ({"sample_weight": np.arange(50) % 2 + 1.0}, "sample_weight"),
        ({"blocks": np.arange(50) % 5}, "blocks or permute"),
    ],
)
def test_a_checkpoint_of_another_run_is_refused(change, named, finished, tmp_path):
    path = tmp_path / "run.npz"
    path.write_bytes(finished)
    with pytest.raises(ValueError, match=f"another run, which differs in .*{named}"):
        permutation_test(*table(), checkpoint=path, **{**OPTIONS, **change})


def test_a_checkpoint_of_other_data_is_refused(finished, tmp_path):
    path = tmp_path / "run.npz"
    path.write_bytes(finished)
    X, y = table()
    X[7, 1] += 1e-9
    with pytest.raises(ValueError, match="another run, which differs in the rows"):
        permutation_test(X, y, checkpoint=path, **OPTIONS)


def test_a_checkpoint_needs_a_seed_and_a_folder(tmp_path):
    with pytest.raises(ValueError, match="needs a number as random_state"):
        permutation_test(*table(), checkpoint=tmp_path / "run.npz")
    with pytest.raises(FileNotFoundError, match="does not exist"):
        permutation_test(*table(), checkpoint=tmp_path / "no" / "run.npz", **OPTIONS)
