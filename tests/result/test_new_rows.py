"""New rows as seen from a group: near 0 where nothing differs, as large as in a comparison else."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import princdiff
from princdiff.result.effects import beyond_chance
from princdiff.result.new_rows import from_group, new_rows_like
from princdiff.result.parts import GroupReference

LEVELS = (np.arange(500) + 0.5) / 500


def reference(rows: np.ndarray) -> GroupReference:
    return GroupReference(np.quantile(rows, LEVELS), float(rows.std()), len(rows))


def smooth(rng: np.random.Generator, n_rows: int, drift: float = 0.0) -> np.ndarray:
    return rng.gamma(4, 0.5, n_rows) + drift


def steps(rng: np.random.Generator, n_rows: int, drift: float = 0.0) -> np.ndarray:
    """A rare level and a flag: sums of 0/1 columns, divided by their standard deviations."""
    return 2.4 * (rng.random(n_rows) < 0.1 + drift / 5) - 2.5 * (rng.random(n_rows) < 0.1)


def flag(rng: np.random.Generator, n_rows: int, drift: float = 0.0) -> np.ndarray:
    return 3.0 * (rng.random(n_rows) < 0.1 + drift / 5)


KINDS = pytest.mark.parametrize("draw", [smooth, steps, flag])


@KINDS
@pytest.mark.parametrize("n_rows", [20, 200, 3000])
def test_clean_batches_are_seldom_far(draw, n_rows):
    rng = np.random.default_rng(0)
    group = reference(draw(rng, 3000))
    effects = [from_group(draw(rng, n_rows), group, LEVELS).effect for _ in range(100)]
    # Twice the rate of 0.05 would be exceeded by chance in about one of a hundred such tests.
    assert np.mean(np.array(effects) > 0.2) <= (0.1 if n_rows < 100 else 0.05)
    assert np.median(effects) == 0


@KINDS
def test_drift_has_the_size_that_a_comparison_gives(draw):
    rng = np.random.default_rng(1)
    rows, batch = draw(rng, 3000), draw(rng, 2000, 0.5)
    codes = np.repeat([0, 1], [3000, 2000]).astype(np.uint8)
    expected = np.sqrt(beyond_chance(np.concatenate([rows, batch])[None], codes).total[0])
    found = from_group(batch, reference(rows), LEVELS)
    assert found.effect == pytest.approx(expected, abs=0.03)
    assert found.by_chance == 1 / 200


def test_rows_of_the_fit_and_new_ones_like_them_are_both_at_no_distance():
    rng = np.random.default_rng(2)
    many = rng.normal(size=(2, 150, 60))
    # Nothing differs, and the direction that shows most is made of chance.
    direction = many[0].mean(axis=0) - many[1].mean(axis=0)
    direction /= np.linalg.norm(direction)
    groups = {name: reference(rows @ direction) for name, rows in zip("ab", many, strict=True)}
    like = new_rows_like(groups, effect=0.0)
    fresh = rng.normal(size=(1000, 60)) @ direction
    assert from_group(fresh, groups["a"], LEVELS).effect > 0.3
    assert from_group(fresh, groups["a"], LEVELS, like["a"]).effect < 0.1
    assert from_group(many[0] @ direction, groups["a"], LEVELS, like["a"]).effect == 0
    assert from_group(fresh + 1, groups["a"], LEVELS, like["a"]).effect == pytest.approx(1, abs=0.15)


def test_constant_groups():
    group = GroupReference(np.ones(500), 0.0, 10)
    assert from_group(np.ones(4), group, LEVELS) == (0.0, 0.0, 1.0)
    assert from_group(np.full(4, 2.0), group, LEVELS).effect > 1
    other = GroupReference(np.full(500, 2.0), 0.0, 10)
    like = new_rows_like({"a": group, "b": other}, effect=np.inf)
    assert (like["a"] == 1).all() and (like["b"] == 2).all()


def test_the_result_scores_alike_every_time_and_after_loading(tmp_path):
    rng = np.random.default_rng(3)
    before = pd.DataFrame({"x": rng.normal(size=300), "city": rng.choice(list("uvw"), 300)})
    after = before.assign(x=before["x"] + 1)
    result = princdiff.compare(before, after, n_permutations=19)
    batch = after.head(100)
    scores = result.score(batch)
    assert scores.columns.tolist() == [
        "component", "group", "distance", "effect", "by_chance", "rows", "closest",
    ]  # fmt: skip
    # Nothing that a score needs is new in a file.
    content = json.loads(result.to_json())
    assert set(content["reference"]["components"][0]["X"]) == {"quantiles", "sd", "rows"}
    pd.testing.assert_frame_equal(princdiff.load(result.save(tmp_path / "r.json")).score(batch), scores)
