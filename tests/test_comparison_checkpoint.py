"""A comparison that was cut off goes on from its checkpoint and ends with the same result."""

import os

import numpy as np
import pandas as pd
import pytest

from princdiff import Config, compare
from princdiff.comparison_checkpoint import ComparisonCheckpoint
from princdiff.comparison_steps import Comparison
from princdiff.findings import Reason, Why

OPTIONS = {"n_permutations": 39, "n_components": 2}


def tables():
    rng = np.random.default_rng(0)
    before = pd.DataFrame(rng.normal(size=(60, 4)), columns=list("abcd"))
    before["city"] = rng.choice(["Oslo", "Rome", "Bern"], size=60)
    after = before.sample(frac=1, random_state=0).reset_index(drop=True)
    after["b"] += 1.5
    return before, after


def plain(result):
    found = result.to_dict() if hasattr(result, "to_dict") else {}
    found.get("parameters", {}).pop("seconds", None)
    return repr(found), result.table.to_csv(), result.notes, result.pvalue


def interrupted(*args, **options):
    raise KeyboardInterrupt


@pytest.mark.parametrize("step", ["_tested", "_select", "_tables", "_effect"])
def test_it_goes_on_from_the_step_that_was_cut_off(step, tmp_path, monkeypatch):
    whole = compare(*tables(), **OPTIONS)
    path = tmp_path / "run.npz"
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(Comparison, step, interrupted)
        compare(*tables(), config=Config(checkpoint=path), **OPTIONS)
    assert [entry.name for entry in tmp_path.iterdir()] == ["run.npz"]
    # What was done is not done again.
    monkeypatch.setattr(Comparison, "_fitted", interrupted)
    if step != "_tested":
        monkeypatch.setattr(Comparison, "_tested", interrupted)
    if step in ("_tables", "_effect"):
        monkeypatch.setattr(Comparison, "_selected_in_time", interrupted)
    assert plain(compare(*tables(), config=Config(checkpoint=path), **OPTIONS)) == plain(whole)


def test_warnings_are_said_again(tmp_path):
    path = tmp_path / "run.npz"
    for _ in range(2):
        with pytest.warns(UserWarning, match="n_permutations=9 cannot give a p-value below"):
            compare(*tables(), n_permutations=9, config=Config(checkpoint=path))


def test_a_file_of_another_comparison_is_refused(tmp_path):
    path = tmp_path / "run.npz"
    before, after = tables()
    compare(before, after, config=Config(checkpoint=path), **OPTIONS)
    with pytest.raises(ValueError, match=r"another run, which differs in n_permutations"):
        compare(before, after, n_permutations=49, n_components=2, config=Config(checkpoint=path))
    after.loc[3, "a"] += 1e-9
    with pytest.raises(ValueError, match=r"differs in the rows"):
        compare(before, after, config=Config(checkpoint=path), **OPTIONS)


@pytest.mark.parametrize("damage", ["cut", "flip", "other"])
def test_a_damaged_file_is_refused(damage, tmp_path):
    path = tmp_path / "run.npz"
    compare(*tables(), config=Config(checkpoint=path), **OPTIONS)
    content = bytearray(path.read_bytes())
    if damage == "cut":
        content = content[: len(content) // 2]
    elif damage == "flip":
        content[len(content) // 2] ^= 1
    else:
        content = bytearray(b"something else")
    path.write_bytes(content)
    advice = "it is another file and stays as it is" if damage == "other" else "delete it to start anew"
    with pytest.raises(ValueError, match=advice):
        compare(*tables(), config=Config(checkpoint=path), **OPTIONS)


def test_what_cannot_be_repeated_is_refused(tmp_path):
    with pytest.raises(ValueError, match="needs a number as random_state"):
        compare(*tables(), random_state=None, config=Config(checkpoint=tmp_path / "a.npz"))
    with pytest.raises(ValueError, match="cannot be combined"):
        compare(*tables(), config=Config(checkpoint=tmp_path / "a.npz", time_budget=5))
    assert os.listdir(tmp_path) == []


def test_values_come_back_as_they_were(tmp_path):
    value = {
        "numbers": np.array([1.5, np.nan, np.inf]),
        "single": np.float32(0.1),
        "plain": (1, True, None, "text", 0.1, float("inf")),
        "texts": np.array(["a", None], dtype=object),
        "frame": pd.DataFrame({"x": [1, 2], "y": ["p", "q"]}),
        "empty": pd.DataFrame(columns=["x"]),
        "why": [Why(Reason.TOGETHER, ("x", "y")), Why()],
    }
    path = tmp_path / "run.npz"
    ComparisonCheckpoint(path, {}).step("one", lambda: value)
    found = ComparisonCheckpoint(path, {}).step("one", interrupted)
    np.testing.assert_array_equal(found["numbers"], value["numbers"])
    assert found["plain"] == value["plain"] and found["single"] == value["single"]
    assert found["why"] == value["why"] and found["why"][0].reason is Reason.TOGETHER
    assert found["texts"].tolist() == ["a", None]
    pd.testing.assert_frame_equal(found["frame"], value["frame"])
    assert list(found["empty"].columns) == ["x"] and len(found["empty"]) == 0
    with pytest.raises(TypeError, match="cannot be kept"):
        ComparisonCheckpoint(path, {}).step("two", lambda: object())
