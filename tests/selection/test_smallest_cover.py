from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from princdiff.selection.smallest_cover import smallest_cover


def smallest_by_trying(edges, n_places):
    """The size of the smallest cover, by trying all sets."""
    for size in range(n_places + 1):
        for chosen in combinations(range(n_places), size):
            if all(set(edge) & set(chosen) for edge in edges):
                return size
    raise AssertionError("no cover")


@pytest.mark.parametrize("seed", range(12))
def test_no_set_is_smaller(seed):
    rng = np.random.default_rng(seed)
    edges = [
        tuple(rng.choice(9, size=rng.integers(1, 4), replace=False).tolist())
        for _ in range(rng.integers(1, 16))
    ]
    found = smallest_cover(edges, rng.random(9))
    assert all(set(edge) & set(found.places) for edge in edges)
    assert len(found.places) == found.least == smallest_by_trying(edges, 9)


def test_of_one_size_the_preferred():
    edges = [(0, 1), (2, 3), (4, 5), (4, 6)]
    assert smallest_cover(edges, [0, 1, 3, 2, 0, 9, 9]).places == [1, 2, 4]


def test_nothing_to_cover():
    assert smallest_cover([], [1.0, 2.0]) == ([], 0)


def test_out_of_time_the_bound_is_below_the_cover():
    rng = np.random.default_rng(0)
    pairs = np.array(list(combinations(range(120), 2)))
    edges = [tuple(pair) for pair in pairs[rng.random(len(pairs)) < 0.15].tolist()]
    found = smallest_cover(edges, np.ones(120), seconds=0.05)
    assert all(set(edge) & set(found.places) for edge in edges)
    # Half of a place at each end of an edge is what no cover beats.
    assert 1 <= found.least <= len(found.places) < 120
