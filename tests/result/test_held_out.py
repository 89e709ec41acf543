"""How far apart groups are along a direction, on rows that it was not fitted on."""

import numpy as np
import pandas as pd
import pytest

from princdiff import Config, compare
from princdiff.data.problem import Design, Problem
from princdiff.result import held_out
from princdiff.result.effects import Effect
from princdiff.result.held_out import HeldOut, halves, rows_to_fit

pytestmark = pytest.mark.whole

RNG = np.random.default_rng


def measured(values, codes, seed=0, design=None):
    """Effect of one column, whose direction is the same in all halves."""
    problem = Problem.from_arrays(values[:, None], codes, design=design)
    splits = halves(problem, seed)
    judge = HeldOut(problem, values)
    return judge.of_fit() if splits is None else judge.measured(splits, np.ones((len(splits), 2, 1)))[0]


@pytest.mark.parametrize("shift", [0.0, 0.6])
def test_the_interval_covers(shift):
    rng, codes, inside = RNG(2), np.repeat([0, 1], 100), 0
    for _ in range(60):
        found = measured(rng.normal(size=200) + shift * codes, codes)
        inside += found.low <= shift <= found.high
    # Where nothing differs, means and spreads may both seem to.
    assert inside >= (51 if shift == 0 else 53)


def test_one_column_is_judged_as_it_is():
    # Its direction is the same whatever the half, so nothing is lost and nothing is in doubt but the mean.
    rng, codes = RNG(1), np.repeat([0, 1], 200)
    values = rng.normal(size=400) + codes
    found = [measured(values, codes, seed) for seed in range(5)]
    assert np.ptp([effect.size for effect in found]) < 0.01
    low, high = values[codes == 0], values[codes == 1]
    expected = (high.mean() - low.mean()) / np.sqrt((low.var() + high.var()) / 2)
    assert found[0].size == pytest.approx(expected, abs=0.02)
    assert found[0].high - found[0].low == pytest.approx(2 * 1.966 * np.sqrt(2 / 200 + 1 / 800), rel=0.05)


@pytest.mark.parametrize("kind", ["spread", "shape"])
def test_a_change_of_spread_or_shape_counts(kind):
    rng, codes = RNG(3), np.repeat([0, 1], 400)
    values = rng.normal(size=800)
    if kind == "spread":
        values[400:] *= 2
    else:
        values[400:] = np.repeat([-1.0, 1.0], 200) + 0.1 * rng.normal(size=400)
    assert measured(values, codes).low > 0.2


def test_halves_of_many_rows_find_their_directions_on_some_of_each_group(monkeypatch):
    rng, codes = RNG(5), np.r_[np.zeros(900, int), np.ones(100, int)]
    problem = Problem.from_arrays(rng.normal(size=(1000, 2)), codes)
    assert (rows_to_fit(problem, 0) == np.arange(1000)).all()
    monkeypatch.setattr(held_out, "MANY_NUMBERS", 1999)
    monkeypatch.setattr(held_out, "FITTED_ROWS", 100)
    found = rows_to_fit(problem, 0)
    assert np.bincount(codes[found]).tolist() == [180, 20]
    assert (np.diff(found) > 0).all()
    assert (found == rows_to_fit(problem, 0)).all() and not np.array_equal(found, rows_to_fit(problem, 1))


def test_what_a_third_group_adds():
    rng, codes = RNG(4), np.repeat([0, 1, 2], 300)
    values = rng.normal(size=900) + np.array([0.0, 0.0, 1.0])[codes]
    # The root of the average over pairs: two of three pairs are one standard deviation apart.
    assert measured(values, codes).size == pytest.approx(np.sqrt(2 / 3), abs=0.1)


def donors(rng, shift, n_donors=8, n_cells=25):
    """Cells of donors that differ by 0.7 standard deviations."""
    donor = np.repeat(np.arange(2 * n_donors), n_cells)
    codes = (donor >= n_donors).astype(np.uint8)
    values = rng.normal(size=len(donor)) + 0.7 * rng.normal(size=2 * n_donors)[donor] + shift * codes
    return values, codes, Design(blocks=donor)


def test_donors_are_what_an_effect_varies_over():
    rng, inside, above, of_rows = RNG(5), 0, 0, 0
    for _ in range(30):
        values, codes, design = donors(rng, 0.0)
        above += measured(values, codes, design=design).low > 0
        of_rows += measured(values, codes).low > 0
        values, codes, design = donors(rng, 1.5)
        found = measured(values, codes, design=design)
        inside += found.low <= 1.5 / np.sqrt(1 + 0.7**2) <= found.high
    assert above <= 3
    assert of_rows > above
    assert inside >= 25


def test_pairs_are_drawn_together():
    # What the pairs share is no difference between the groups, and makes none uncertain.
    rng, codes = RNG(6), np.repeat([0, 1], 100)
    shared = 3 * rng.normal(size=100)
    values = np.concatenate([shared, shared + 0.5]) + 0.1 * rng.normal(size=200)
    paired = measured(values, codes, design=Design(blocks=np.tile(np.arange(100), 2)))
    alone = measured(values, codes)
    assert paired.high - paired.low < 0.5 * (alone.high - alone.low)


def test_one_donor_gives_no_interval():
    values, codes, design = donors(RNG(7), 2.0, n_donors=1)
    found = measured(values, codes, design=design)
    assert np.isnan([found.low, found.high]).all()
    assert found.size > 0


def test_halves_keep_donors_whole():
    _, codes, design = donors(RNG(8), 0.0)
    problem = Problem.from_arrays(RNG(9).normal(size=(len(codes), 3)), codes, design=design)
    for half in halves(problem, 0):
        inside = pd.Series(half).groupby(design.blocks).mean()
        assert set(inside) == {0.0, 1.0}
        assert inside.iloc[:8].sum() == inside.iloc[8:].sum() == 4


@pytest.mark.parametrize("n_donors", [3, 6])  # too few for halves of their own, and enough
def test_a_comparison_of_donors_has_an_interval_of_donors(n_donors):
    rng = RNG(8)
    donor = np.repeat(np.arange(2 * n_donors), 20)
    codes = (donor >= n_donors).astype(np.uint8)
    rows = rng.normal(size=(len(donor), 4)) + rng.normal(size=(2 * n_donors, 4))[donor]
    options = {"groups": codes, "n_permutations": 0, "random_state": 0}
    found, of_rows = compare(rows, blocks=donor, **options), compare(rows, **options)
    widths = [high - low for low, high in (found.effect_interval, of_rows.effect_interval)]
    assert found.effect < of_rows.effect
    assert widths[0] > 1.3 * widths[1]


def test_the_interval_begins_at_zero_where_nothing_differs():
    above = 0
    for seed in range(15):
        found = compare(
            RNG([4, seed]).normal(size=(200, 3)),
            groups=np.repeat([0, 1], 100),
            n_permutations=0,
            random_state=seed,
            config=Config(certify=False),
        )
        above += found.effect_interval[0] > 0
    assert above <= 3


def test_an_effect_is_never_below_that_of_a_column_that_is_named():
    rng = RNG(10)
    rows = rng.normal(size=(200, 6))
    rows[100:, 2] += 0.5
    found = compare(rows, groups=np.repeat([0, 1], 100), n_features=4, n_permutations=199)
    assert found.selected == ["x2"]
    assert found.effect >= found.columns["effect"].iloc[0] > 0.3
    assert Effect(0.5, 0.25, 0.75).at_least(1.0) == Effect(1.0, 0.25, 1.25)
