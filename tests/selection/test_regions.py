"""Regions against the truth and against brute force."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy.stats import fisher_exact

from princdiff.selection.regions import Condition, inside, judged, regions_of


def planted(seed, n_rows=1500, part=0.12):
    """Two groups of uniform rows; some of the second lie in one corner."""
    rng = np.random.default_rng(seed)
    rows, codes = rng.uniform(size=(2 * n_rows, 4)), np.repeat([0, 1], n_rows).astype(np.uint8)
    some = slice(n_rows, n_rows + int(part * n_rows))
    rows[some, 1], rows[some, 3] = rng.uniform(0.8, 1, size=(2, int(part * n_rows)))
    return rows, codes


@pytest.mark.parametrize("seed", range(3))
def test_a_corner_is_found(seed):
    rows, codes = planted(seed)
    (found,) = regions_of(rows, codes, 1)
    assert {condition.feature for condition in found} == {1, 3}
    assert all(0.7 <= condition.low <= 0.85 and condition.high == np.inf for condition in found)


def test_no_pair_of_cuts_is_clearer():
    rows, codes = planted(0, 300)
    (found,) = regions_of(rows, codes, 1)

    def clarity(region):
        own = inside(region, rows)
        shares, whole = [own[codes == code].mean() for code in (0, 1)], own.mean()
        return (
            abs(shares[1] - shares[0]) / np.sqrt(whole * (1 - whole) * 2 / 300)
            if 20 <= own.sum() <= 580
            else 0
        )

    cuts = np.arange(0.05, 0.96, 0.05)
    sides = [Condition(j, *ends) for j in range(4) for t in cuts for ends in ((-np.inf, t), (t, np.inf))]
    best = max(clarity(pair) for pair in combinations(sides, 2))
    # The cuts are the nine quantiles, and not twenty places.
    assert clarity(found) >= 0.9 * best


def test_flags_are_conditions_and_a_range_is_two_of_one_number():
    rng = np.random.default_rng(1)
    rows, codes = rng.uniform(size=(3000, 3)), np.repeat([0, 1], 1500).astype(np.uint8)
    rows[:, 2] = rng.random(3000) < 0.3
    rows[1500:1800, 0] = rng.uniform(0.4, 0.6, 300)
    (found,) = regions_of(rows, codes, 1)
    assert [condition.feature for condition in found] == [0, 0]
    rows[1500:1800, 0] = rows[:300, 0]
    rows[1500:1900, 2] = 1
    assert regions_of(rows, codes, 1) == [(Condition(2, 0.5, np.inf),)]


def test_shares_and_pvalues_are_those_of_a_table():
    rows, codes = planted(2)
    first, second = (Condition(1, 0.8, np.inf), Condition(3, 0.8, np.inf)), (Condition(0, -np.inf, 0.5),)
    (p, shares), (after, _) = judged([first, second], rows, codes)
    own = inside(first, rows)
    assert shares == (own[codes == 0].mean(), own[codes == 1].mean())
    assert (
        p
        == fisher_exact(
            [[(own & (codes == g)).sum() for g in (0, 1)], [(~own & (codes == g)).sum() for g in (0, 1)]]
        )[1]
    )
    left, other = ~own, inside(second, rows)
    table = [[(left & part & (codes == g)).sum() for g in (0, 1)] for part in (other, ~other)]
    assert after == max(p, fisher_exact(table)[1])


def test_regions_of_nothing_are_rarely_significant():
    false = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        rows, codes = (
            np.round(rng.normal(size=(400, 3)), 1),
            rng.permutation(np.repeat([0, 1], 200)).astype(np.uint8),
        )
        regions = regions_of(rows[::2], codes[::2], 2)
        false += any(p <= 0.05 for p, _ in judged(regions, rows[1::2], codes[1::2]))
    # 5 are expected at most; 12 or more come up once in two hundred such sets.
    assert false < 12


def test_constants_and_few_rows_have_no_regions():
    codes = np.repeat([0, 1], 50).astype(np.uint8)
    assert regions_of(np.ones((100, 2)), codes, 3) == []
    assert regions_of(np.arange(20.0)[:, None], np.repeat([0, 1], 10).astype(np.uint8), 3) == []
