"""What is spent on all looks together, however long one watches."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest

from princdiff.batches.spending import WINDOWS, looks, weight


def test_weights_add_up_to_one_and_never_more():
    # They telescope: what is left after t looks is 1 / log2(t + 2).
    assert sum(weight(look) for look in range(1, 10_001)) == pytest.approx(1 - 1 / math.log2(10_002))


def test_all_looks_together_spend_no_more_than_one():
    spent = dict.fromkeys(WINDOWS, 0.0)
    for batches in range(1, 5_000):
        for window, part in looks(batches):
            assert part > 0 and window <= batches
            spent[window] += part
    assert 0.8 < sum(spent.values()) < 1
    assert spent[1] < 0.5 and all(
        part < 0.5 / (len(WINDOWS) - 1) for window, part in spent.items() if window > 1
    )


@pytest.mark.parametrize("window", WINDOWS)
def test_a_window_is_looked_at_when_half_of_it_is_new(window):
    when = [batches for batches in range(1, 400) if window in dict(looks(batches))]
    assert when[0] == window and {b - a for a, b in pairwise(when)} == {max(1, window // 2)}
