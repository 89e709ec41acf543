"""A watch: one promise over all batches, answers that never change, and a file to go on from."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from princdiff import Watch
from princdiff.batches.watch_file import only_run

pytestmark = pytest.mark.whole


def rows(seed, count=150, shift=0.0, new=0.0, rho=0.7):
    rng = np.random.default_rng(seed)
    first = rng.normal(size=count)
    return pd.DataFrame(
        {
            "size": rng.normal(50 + 10 * shift, 10, count),
            "first": first,
            "second": rho * first + np.sqrt(1 - rho**2) * rng.normal(size=count),
            "plan": np.where(rng.random(count) < new, "trial", rng.choice(["free", "pro", "team"], count)),
        }
    )


@pytest.fixture
def watch():
    return Watch.begin(rows(0, 1000), name="january")


def test_what_changed_since_when(watch):
    for day in range(1, 4):
        watch.add(rows(day), f"day {day}")
    found = watch.add(rows(4, shift=1.0), "day 4")
    assert found.began == "day 4" and found.frame["differs"].tolist() == [False] * 3 + [True]
    one = found.history[0]
    assert one.column == "size" and one.measure == "mean" and one.change.startswith("mean 49")
    np.testing.assert_allclose(one.values[0], rows(1)["size"].mean())
    assert found.reference == "january" and "differs in size (mean" in found.headline
    assert repr(watch) == "<Watch of 4 batches against january: 1 differ>"


@pytest.mark.parametrize(
    ("change", "column", "words"),
    [
        ({"new": 0.2}, "plan", "levels that the reference lacks 0 % → "),
        ({"rho": -0.7}, "first and second", "correlation 0."),
    ],
)
def test_kinds_of_change(watch, change, column, words):
    found = watch.add(rows(1, 300, **change), "today")
    assert found.to_frame(by="column")["column"].tolist() == [column]
    assert words in found.history[0].change
    sizes = found.history[0].values
    assert np.isfinite(sizes).all()


def test_a_slow_drift_is_seen_in_many_batches_together():
    watch = Watch.begin(rows(0, 2000))
    for day in range(1, 9):
        found = watch.add(rows(day, 100, shift=0.3), f"day {day}")
    named = [look.window for batch in watch.seen for look in batch.looks if look.named]
    assert max(named) >= 4 and found.history[0].column == "size"


def test_old_answers_never_change(watch):
    before = None
    for day in range(1, 7):
        found = watch.add(rows(day, shift=0.4 * (day > 2)), f"day {day}")
        told = found.frame[["batch", "rows", "pvalue", "adjusted", "differs", "columns"]]
        if before is not None:
            pd.testing.assert_frame_equal(told.head(len(before)), before)
        before = told


def test_one_by_one_from_the_file_is_all_at_once(watch, tmp_path):
    path = tmp_path / "a.watch"
    watch.save(path)
    for day in range(1, 9):
        batch = rows(day, 90, shift=0.5 * (day > 5))
        watch.add(batch, f"day {day}")
        other = Watch.load(path)
        other.add(batch, f"day {day}")
        other.save(path)
    assert Watch.load(path).result() == watch.result()
    assert str(Watch.load(path).result()) == str(watch.result())


def test_a_run_that_is_killed_goes_on(watch, tmp_path, monkeypatch):
    path = tmp_path / "a.watch"
    watch.add(rows(1), "day 1")
    watch.save(path)
    whole = path.read_bytes()

    def killed(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("numpy.savez", killed)
        watch.add(rows(2), "day 2")
        with pytest.raises(KeyboardInterrupt):
            watch.save(path)
    assert path.read_bytes() == whole and [entry.name for entry in tmp_path.iterdir()] == ["a.watch"]
    again = Watch.load(path)
    again.add(rows(1), "day 1")
    assert again.add(rows(2), "day 2") == watch.result()


def test_a_batch_is_known_again(watch):
    first = watch.add(rows(1), "day 1")
    assert watch.add(rows(1), "day 1") == first and len(watch.seen) == 1
    with pytest.raises(ValueError, match="'day 1' was seen before, with other rows"):
        watch.add(rows(2), "day 1")
    assert watch.is_reference(rows(0, 1000)) and not watch.is_reference(rows(1, 1000))


def test_two_runs_at_once_are_refused(tmp_path):
    refused = pytest.raises(ValueError, match="another run is at work on")
    with only_run(tmp_path / "a.watch"), refused, only_run(tmp_path / "a.watch"):
        pass
    with only_run(tmp_path / "a.watch"):
        pass


def test_damaged_and_other_files(watch, tmp_path):
    path = tmp_path / "a.watch"
    watch.save(path)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"watch .* is"):
        Watch.load(path)
    with pytest.raises(FileNotFoundError):
        Watch.load(tmp_path / "none.watch")


def test_false_alarms_over_all_batches():
    alarms = 0
    for stream in range(40):
        watch = Watch.begin(rows([stream, 0], 120)[["size", "plan"]], random_state=stream)
        for day in range(1, 6):
            batch = rows([stream, day], 60)[["size", "plan"]]
            watch.add(batch)
        alarms += any(batch.adjusted <= 0.05 for batch in watch.seen)
    # At most 2 expected, and 7 or more have a chance of 1 in 200.
    assert alarms < 7


def test_shares_of_false_discoveries_spend_more_after_each():
    levels = {}
    for error in ("fwer", "fdr"):
        watch = Watch.begin(rows(0, 1000), error=error)
        watch.add(rows(1, shift=2.0), "day 1")
        levels[error] = watch.level(0.1)
    assert levels["fdr"] == pytest.approx(2 * levels["fwer"])


def test_batches_of_few_rows(watch):
    found = watch.add(rows(1, 2), "tiny")
    assert found.frame["short"].tolist() == ["2 rows"] and not found.frame["differs"].any()
    assert "Batches not compared: tiny (fewer than 4 rows)." in found.notes
    assert "not looked at" not in str(watch.add(rows(2), "day 2").frame["columns"].tolist())


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Watch.begin(rows(0, 40)), "the reference has 40 rows; a reference to watch by needs 50"),
        (lambda: Watch.begin(rows(0), alpha=2), "alpha must be between 0 and 1"),
        (lambda: Watch.begin(rows(0), error="none"), "error must be one of"),
        (lambda: Watch.begin(rows(0), exclude=["age"]), "has no column 'age'"),
        (lambda: Watch.begin(rows(0)).result(), "no batch was added yet"),
        (lambda: Watch.begin(rows(0)).add(rows(1).drop(columns="size")), "lacks column 'size'"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()
