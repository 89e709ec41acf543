from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from princdiff import compare, select_features
from princdiff.labellings.schemes import Scheme
from princdiff.selection.echoes import Echoes, echoes
from princdiff.statistics.contrasts import Relabellings

pytestmark = pytest.mark.whole

MADE = {
    "a sum": lambda a, b, rng: a + b,
    "a ratio": lambda a, b, rng: np.exp(a) / np.exp(b),
    "a rescaled copy": lambda a, b, rng: 2.54 * a + 7,
    "a rounded copy": lambda a, b, rng: np.round(a, 2),
    "a coarser copy": lambda a, b, rng: np.digitize(a, [-1.0, 0.0, 1.0, 2.0]).astype(float),
    "a square root": lambda a, b, rng: np.sqrt(np.exp(a)),
}


def made(kind, seed, own=None):
    """Rows of which the first column is shifted and the third follows from the first two."""
    rng = np.random.default_rng(seed)
    rows, codes = rng.normal(size=(300, 4)), np.repeat([0, 1], 150).astype(np.uint8)
    rows[150:, 0] += 0.8
    if kind in ("a ratio", "a square root"):
        a, b = rows[:, 0].copy(), rows[:, 1].copy()
        rows[:, 2] = MADE[kind](a, b, rng)
        rows[:, :2] = np.exp(rows[:, :2])
    else:
        rows[:, 2] = MADE[kind](rows[:, 0], rows[:, 1], rng)
    if own is not None:
        rows[150:, 2] = own(rows[150:, 2], rng)
    return rows, Relabellings(Scheme(codes, 199, seed=0), 2)


@pytest.mark.parametrize("kind", MADE)
def test_what_is_made_of_others_follows_from_them(kind):
    rows, labellings = made(kind, 0)
    found = echoes(rows, labellings, np.arange(4), [0, 2])
    assert set(found.parents) == {2} and 0 in found.parents[2]


def chosen_by(parent, seed):
    """Labels that depend on a column only, so that all others differ at most because it does."""
    rng = np.random.default_rng(seed)
    chance = 1 / (1 + np.exp(-1.5 * (parent - parent.mean()) / parent.std()))
    return (rng.random(len(parent)) < chance).astype(np.uint8)


def cells():
    """Radius, texture, smoothness and area of nuclei: real measurements, the area nearly a square."""
    return load_breast_cancer().data[:, [0, 1, 4, 3]]


def growing_errors():
    rng = np.random.default_rng(0)
    sides = rng.gamma(9.0, 1.0, size=(500, 3))
    return np.column_stack([sides, sides[:, 0] ** 2 * (1 + 0.01 * rng.normal(size=500))])


@pytest.mark.parametrize("table", [cells, growing_errors])
@pytest.mark.parametrize("seed", range(2))
def test_what_is_left_over_may_grow_with_the_others(table, seed):
    rows = table()
    codes = chosen_by(rows[:, 0], seed)
    labellings = Relabellings(Scheme(codes, 199, seed=seed), 2)
    assert 0 in echoes(rows, labellings, np.arange(4), [0, 3]).parents[3]
    for change in (lambda own: own * 1.05, lambda own: own + 0.1 * own.std(), np.flip):
        other = rows.copy()
        other[codes == 1, 3] = change(other[codes == 1, 3])
        assert 3 not in echoes(other, labellings, np.arange(4), [0, 3]).parents


@pytest.mark.parametrize(
    "own",
    [
        lambda column, rng: column + 0.3 * column.std(),
        lambda column, rng: column.mean() + 1.3 * (column - column.mean()),
        lambda column, rng: rng.permutation(column),
        lambda column, rng: np.where(rng.random(len(column)) < 0.06, -999.0, column),
        lambda column, rng: column + 0.4 * column.std() * rng.normal(size=len(column)),
    ],
    ids=["shift", "scale", "shuffled", "sentinel", "noise"],
)
@pytest.mark.parametrize("kind", MADE)
def test_a_column_that_changed_itself_is_kept(kind, own):
    for seed in range(2):
        rows, labellings = made(kind, seed, own)
        assert 2 not in echoes(rows, labellings, np.arange(4), [0, 2]).parents


def test_columns_that_were_exchanged_do_not_follow_from_each_other():
    # Each is large in one group and small in the other, so that either tells the other to two digits.
    rng = np.random.default_rng(0)
    rows, codes = rng.lognormal(sigma=0.2, size=(400, 3)), np.repeat([0, 1], 200).astype(np.uint8)
    rows[:200, 0] *= 400
    rows[200:, 1] *= 400
    assert echoes(rows, Relabellings(Scheme(codes, 199, seed=0), 2), np.arange(3), [0, 1]) == Echoes({}, {})


def test_a_category_made_of_a_number():
    rng = np.random.default_rng(0)
    age, codes = rng.normal(40, 10, size=200), np.repeat([0, 1], 100).astype(np.uint8)
    age[100:] += 8
    level = np.digitize(age, [30, 50])
    rows = np.column_stack([age, level[:, None] == np.arange(3), rng.normal(size=200)]).astype(float)
    found = echoes(rows, Relabellings(Scheme(codes, 99, seed=0), 2), np.array([0, 1, 1, 1, 2]), [0, 1])
    assert found == Echoes({1: [0]}, {})


def test_told_and_left_out_of_the_test_of_the_rest():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(300, 5)), np.repeat([0, 1], 150)
    X[150:, 1] += 1
    X[:, 4] = X[:, 1] - X[:, 2]
    found = select_features(X, y, goal="explanation", n_permutations=199, random_state=0).explanation
    assert found.columns == ["x1"] and found.follows == {"x4": ["x1", "x2"]}
    assert found.alternatives == {"x1": ["x4"]} and found.lower_bound == 1
    assert found.rest == ["x0", "x2", "x3"] and found.rest_pvalue > 0.05
    told = " ".join(str(compare(X, groups=y, n_permutations=199)).split())
    assert "and one column explains it: x1 (mean" in told
    assert "x4 follows from x1 and x2 (or x1 from it)." in told
