from __future__ import annotations

import numpy as np
import pytest

from princdiff import compare, load, select_features
from princdiff.selection.echoes import Echoes
from princdiff.selection.explanation import Changes, Explanation, explained

QUICK = {"goal": "explanation", "n_permutations": 199, "random_state": 0}


def correlated(seed, n_rows=300, n_columns=8):
    """Rows of columns that share a factor, and two groups of them between which nothing differs."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 1)) + 0.6 * rng.normal(size=(n_rows, n_columns))
    return rng, X, np.repeat([0, 1], n_rows // 2)


@pytest.mark.parametrize("seed", range(3))
def test_a_shuffled_column_is_the_explanation(seed):
    rng, X, y = correlated(seed)
    X[y == 1, 5] = rng.permutation(X[y == 1, 5])
    found = select_features(X, y, **QUICK)
    explanation = found.explanation
    assert explanation.columns == ["x5"] and explanation.alternatives == {}
    assert explanation.lower_bound == 1 and explanation.rest_pvalue > 0.05
    assert set(explanation.partners["x5"]) <= set(explanation.rest)
    assert np.flatnonzero(found.selected).tolist() == [5]
    assert found.table.loc[5, "reason"].startswith("together with")


def test_columns_that_differ_alone_come_first():
    rng, X, y = correlated(3)
    X[y == 1, 5] = rng.permutation(X[y == 1, 5])
    X[y == 1, 1] += 3.0
    explanation = select_features(X, y, **QUICK).explanation
    assert explanation.columns == ["x1", "x5"] and explanation.lower_bound == 2
    assert list(explanation.partners) == ["x5"]


def test_of_one_pair_either():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 5)), np.repeat([0, 1], 150)
    X[150:, 3] = 0.9 * X[150:, 1] + 0.4 * X[150:, 3]
    found = select_features(X, y, **QUICK)
    assert found.explanation.named == {"x1", "x3"} and len(found.explanation.columns) == 1
    assert np.flatnonzero(found.selected).tolist() == [1, 3]


def test_what_was_left_out_is_found_by_the_test_of_the_rest():
    # A little of everything: no column by itself, but all of them together.
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(240, 40)), np.repeat([0, 1], 120)
    X[y == 1] += 0.2
    X[y == 1, 0] += 2.0
    explanation = select_features(X, y, **QUICK).explanation
    assert "x0" in explanation.columns and len(explanation.columns) < 5
    assert explanation.rest_pvalue <= 0.05


def test_nothing_differs():
    _, X, y = correlated(4)
    found = select_features(X, y, **QUICK)
    assert found.explanation == Explanation(
        rest=[f"x{j}" for j in range(8)], rest_pvalue=pytest.approx(np.nan, nan_ok=True)
    )
    assert not found.selected.any()


def test_discovery_rates_bound_by_the_pairs_only():
    changes = Changes(np.array([0, 1, 2]), [(0, 1), (3, 4)], np.arange(5.0), of_columns=False)
    found = explained(changes, list("abcde"))
    assert found.columns == ["a", "b", "c", "e"]
    # One of a and b, and one of d and e.
    assert found.lower_bound == 2


def test_what_follows_is_counted_with_what_it_follows_from():
    # The last follows from the second, which follows from the first and one that was not named.
    following = Echoes({4: [1], 1: [0, 2]}, {0: [1]})
    changes = Changes(np.array([0, 1, 4]), [(3, 5)], np.arange(6.0), following)
    found = explained(changes, list("abcdef"))
    assert found.columns == ["a", "f"] and found.lower_bound == 2
    # What follows and what it follows from go differently with the same column: that is one change, not two.
    found = explained(changes._replace(together=[(4, 5), (1, 3)], of_columns=False), list("abcdef"))
    assert found.columns == ["a"] and found.lower_bound == 1


@pytest.mark.parametrize("of_columns", [True, False])
def test_the_bound_is_never_more_than_the_set(of_columns):
    for seed in range(60):
        rng = np.random.default_rng(seed)
        order = rng.permutation(9)
        alone = order[: rng.integers(0, 6)]
        together = [
            tuple(sorted(rng.choice(9, 2, replace=False).tolist())) for _ in range(rng.integers(0, 6))
        ]
        # Columns follow from clearer ones, and from others.
        parents = {
            int(alone[place]): [int(alone[rng.integers(place)]), int(rng.choice(order[len(alone) :]))]
            for place in range(1, len(alone))
            if rng.random() < 0.5
        }
        either = {own[0]: [column] for column, own in parents.items() if rng.random() < 0.5}
        changes = Changes(alone, together, rng.random(9), Echoes(parents, either), of_columns)
        found = explained(changes, [str(column) for column in range(9)])
        assert found.lower_bound <= len(found.columns)
        # No set at all is smaller than the bound: all of them, one by one.
        certain = [{int(column)} for column in alone] * of_columns + [set(pair) for pair in together]
        smallest = min(
            bin(chosen).count("1")
            for chosen in range(2**9)
            if all(any(chosen >> column & 1 for column in change) for change in certain)
        )
        assert found.lower_bound <= smallest
        if not parents:
            assert found.lower_bound == smallest


def test_threes_have_two_stand_ins():
    found = explained(Changes(np.zeros(0, int), [(0, 1, 2)], np.array([0.0, 2.0, 1.0])), list("abc"))
    assert found.columns == ["b"] and found.alternatives == {"b": ["a", "c"]}


def test_one_column_is_the_headline(tmp_path):
    rng, X, y = correlated(5)
    X[y == 1, 5] = rng.permutation(X[y == 1, 5])
    result = compare(X, groups=y, n_permutations=199)
    assert result.selected_columns == ["x5"]
    told = " ".join(str(result).split())
    assert "one column explains it: x5, whose relationship to 7 others is gone" in told
    assert (
        f"The other 7 columns show no difference together (p = {result.explanation.rest_pvalue:.2g})" in told
    )
    again = load(result.save(tmp_path / "result.json"))
    assert again.explanation == result.explanation
    assert result.to_dict()["explanation"]["columns"] == ["x5"]
