"""Of several groups those are shown that differ most clearly, not those that lie furthest apart by chance."""

from __future__ import annotations

import math

import pytest

from princdiff.words.readable_figures import clearest_groups

NAN = math.nan


@pytest.mark.parametrize(
    ("figures", "rows", "places"),
    [
        ([1.0, 3.0], [10, 10], (0, 1)),
        ([3.0, 1.0], [10, 10], (1, 0)),
        ([1.0, 4.0, 0.0, 2.0], (), (2, 1)),
        # Five rows further out than two hundred are no clearer.
        ([1.0, 4.0, 0.0, 2.0], [200, 200, 5, 200], (0, 1)),
        # Of groups of about the same size the outermost are shown.
        ([1.0, 4.0, 0.9, 2.0], [210, 200, 190, 200], (2, 1)),
        # But where nothing else differs they are what differs.
        ([2.0, 2.01, 0.0, 2.02], [200, 200, 5, 200], (2, 3)),
        ([1.0, NAN, 0.0, 2.0], [9, 9, 9, 9], (2, 3)),
        ([NAN, 1.0, NAN, NAN], [9, 9, 9, 9], (1, 1)),
        ([1.0, 1.0, 1.0, 1.0], [9, 9, 9, 9], (0, 3)),
    ],
)
def test_which_groups(figures, rows, places):
    apart = clearest_groups(figures, rows)
    assert (apart.low, apart.high) == places


def test_no_group_has_a_figure():
    assert clearest_groups([NAN, NAN]) is None
