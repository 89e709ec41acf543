"""What became of levels, against categories to which it was done."""

from __future__ import annotations

import numpy as np
import pytest

from princdiff.findings import FaultKind
from princdiff.result.faults_of_levels import fault_of_levels

NAMES = ["basic", "gold", "silver", "trial"]
SHARES = [0.5, 0.2, 0.25, 0.05]


def counted(rename, seed, shares=SHARES):
    """Levels of two samples of one category, in the second called otherwise."""
    rng = np.random.default_rng(seed)
    first, second = rng.choice(NAMES, size=(2, 1500), p=shares)
    second = np.array([rename(level, rng) for level in second])
    names = sorted({*first, *second})
    return names, [[(half == name).sum() for name in names] for half in (first, second)]


DONE = {
    "joined": (lambda level, rng: "silver" if level == "gold" else level, FaultKind.JOINED),
    "joined anew": (lambda level, rng: "paid" if level in ("gold", "silver") else level, FaultKind.JOINED),
    "renamed": (lambda level, rng: "Gold" if level == "gold" else level, FaultKind.RENAMED),
    "split": (
        lambda level, rng: "Basic" if level == "basic" and rng.random() < 0.4 else level,
        FaultKind.SPLIT,
    ),
    "split anew": (
        lambda level, rng: rng.choice(["base a", "base b"]) if level == "basic" else level,
        FaultKind.SPLIT,
    ),
    "nothing": (lambda level, rng: level, None),
    "moved": (lambda level, rng: "gold" if rng.random() < 0.2 else level, None),
}
LEVELS = {
    "joined": ("gold", "silver", "silver"),
    "joined anew": ("gold", "silver", "paid"),
    "renamed": ("gold", "Gold"),
    "split": ("basic", "Basic"),
    "split anew": ("basic", "base a", "base b"),
}


@pytest.mark.parametrize("case", DONE)
def test_what_was_done_is_seen(case):
    rename, kind = DONE[case]
    for seed in range(5):
        found = fault_of_levels(*counted(rename, seed))
        assert (found and found.kind) is kind
        if found:
            assert found.levels == LEVELS[case]


def test_a_level_that_went_away_was_not_joined():
    names, counts = ["a", "b", "c"], [[500, 300, 200], [620, 380, 0]]
    assert fault_of_levels(names, counts) is None


def test_rare_levels_that_one_group_lacks_by_chance_are_neither_renamed_nor_in_the_way():
    names, counts = ["a", "b", "c", "d"], [[500, 493, 7, 0], [505, 487, 0, 8]]
    assert fault_of_levels(names, counts) is None
    found = fault_of_levels([*names, "A"], [[500, 493, 7, 0, 0], [0, 487, 0, 8, 505]])
    assert found is not None and found.levels == ("a", "A")
