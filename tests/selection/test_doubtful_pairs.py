"""A constant, or values that were filled in, do not make a pair go together differently."""

import numpy as np
import pandas as pd

from princdiff import compare
from princdiff.selection.doubtful_pairs import DoubtfulPairs


def pair(change=0.0, seed=0, n_rows=200):
    """Two correlated features whose correlation changes in the second group."""
    rng = np.random.default_rng(seed)
    codes = np.repeat([0, 1], n_rows).astype(np.uint8)
    x, y = rng.normal(size=(2, 2 * n_rows))
    return np.column_stack([x, np.where(codes == 0, 0.8, 0.8 - change) * x + 0.6 * y]), codes


def test_a_true_change_is_not_doubtful():
    rows, codes = pair(0.8)
    assert not DoubtfulPairs(rows, codes, {}).doubtful(0, 1)


def test_a_constant_is():
    rows, codes = pair(0.8)
    rows[codes == 1, 1] = 3.0
    assert DoubtfulPairs(rows, codes, {}).doubtful(0, 1)
    assert DoubtfulPairs(rows, codes, {}).doubtful(1, 0)


def with_gaps(rows, codes, seed=1):
    """The second feature filled in 60 % of the second group, and a mark of it."""
    gap = (np.random.default_rng(seed).random(len(codes)) < 0.6) & (codes == 1)
    filled = rows.copy()
    filled[gap, 1] = np.median(rows[~gap, 1])
    return np.column_stack([filled, gap])


def test_filled_values_that_dilute_a_correlation_are_seen_through():
    rows, codes = pair(0.0)
    found = DoubtfulPairs.of(with_gaps(rows, codes), codes, ["x", "y", "y"], ["number", "number", "missing"])
    assert found.gaps == {1: 2}
    assert found.doubtful(0, 1)
    rows, codes = pair(0.8)
    changed = DoubtfulPairs(with_gaps(rows, codes), codes, {1: 2})
    assert not changed.doubtful(0, 1)


def test_a_mark_of_the_same_gaps_is_no_partner():
    rows, codes = pair(0.0)
    rows = with_gaps(rows, codes)
    rows = np.column_stack([rows, rows[:, 2]])
    assert DoubtfulPairs(rows, codes, {1: 2}).doubtful(1, 3)


def test_with_weights_only_constants_are_looked_for():
    rows, codes = pair(0.0)
    assert not DoubtfulPairs(with_gaps(rows, codes), codes, {1: 2}, plain=False).doubtful(0, 1)
    rows[codes == 0, 0] = 1.0
    assert DoubtfulPairs(with_gaps(rows, codes), codes, {1: 2}, plain=False).doubtful(0, 1)


def test_such_pairs_are_not_named():
    rng = np.random.default_rng(3)
    group = np.repeat(["a", "b"], 400)
    x = rng.normal(size=800) + 1.0 * (group == "b")
    gap = rng.random(800) < np.where(group == "a", 0.05, 0.3)
    table = pd.DataFrame(
        {"x": np.where(gap, np.nan, x), "left": gap.astype(int), "z": rng.normal(size=800), "group": group}
    )
    result = compare(table, groups="group", missing="impute", n_permutations=199, random_state=0)
    assert not result.relations["selected"].any()
    # One of the two changed: which of them is in the other, nothing but their values says.
    found = result.explanation
    assert found.follows == {"left": ["x"]} and found.lower_bound == 1
    assert result.selected_columns == found.columns == ["x"] and found.rest == ["z"]
