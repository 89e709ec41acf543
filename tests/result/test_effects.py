"""Effects: near zero without a difference, Cohen's d for a shift, one unit for every kind of column."""

import numpy as np
import pytest

from princdiff.result.effects import beyond_chance, chance_size, is_stepped, level_effects

RNG = np.random.default_rng


def halves(n):
    return np.repeat([0, 1], n).astype(np.uint8)


@pytest.mark.parametrize("draw", ["normal", "heavy", "flag", "counts"])
def test_two_samples_of_one_population_are_near_zero(draw):
    rng = RNG(0)
    makers = {
        "normal": lambda size: rng.normal(size=size),
        "heavy": lambda size: rng.standard_t(5, size=size),
        "flag": lambda size: (rng.random(size) < 0.02).astype(float),
        "counts": lambda size: rng.poisson(0.5, size=size).astype(float),
    }
    columns = makers[draw]((200, 1000))
    effects = np.sqrt(beyond_chance(columns, halves(500), rng=rng).total)
    assert np.median(effects) < 0.05
    assert effects.mean() < 0.08


@pytest.mark.parametrize("delta", [0.3, 1.0])
def test_a_shift_is_cohens_d(delta):
    rng = RNG(1)
    columns = rng.normal(size=(50, 4000))
    columns[:, 2000:] += delta
    effects = np.sqrt(beyond_chance(columns, halves(2000), rng=rng).total)
    assert effects.mean() == pytest.approx(delta, abs=0.03)


def test_a_rare_level_counts_by_its_standardised_difference():
    # One percent against none: the squared Wasserstein distance would say 1.4 standard deviations.
    column = np.zeros(20_000)
    column[10_000:10_100] = 1.0
    effect = float(np.sqrt(beyond_chance(column[None], halves(10_000)).total[0]))
    p, q = 0.01, 0.0
    assert effect == pytest.approx((p - q) / np.sqrt(0.005 * 0.995), rel=0.05)
    levels, whole = level_effects(np.array([[1.0, 0.0], [0.99, 0.01]]), halves(10_000))
    assert whole == pytest.approx(effect)
    assert levels == pytest.approx([whole, whole])


def test_two_levels_are_their_flag():
    shares = np.array([[0.7, 0.3], [0.55, 0.45]])
    levels, whole = level_effects(shares, halves(5000))
    overall = 0.375
    squared = 0.15**2 / (overall * (1 - overall)) - chance_size(halves(5000))
    assert whole == pytest.approx(np.sqrt(squared))
    assert levels[0] == pytest.approx(whole)


def test_levels_without_rows_do_not_count():
    full = level_effects(np.array([[0.5, 0.5], [0.4, 0.6]]), halves(1000))[1]
    padded = level_effects(np.array([[0.5, 0.5, 0.0], [0.4, 0.6, 0.0]]), halves(1000))[1]
    assert padded == pytest.approx(full)


def test_order_of_rows_and_names_of_groups_do_not_matter():
    rng = RNG(3)
    columns, codes = rng.normal(size=(4, 300)), rng.integers(0, 2, 300).astype(np.uint8)
    columns[:, codes == 1] *= 1.5
    order = rng.permutation(300)
    first = beyond_chance(columns, codes, rng=RNG(0))
    shuffled = beyond_chance(columns[:, order], codes[order], rng=RNG(0))
    swapped = beyond_chance(columns, 1 - codes, rng=RNG(0))
    for part in ("location", "scale"):
        assert getattr(shuffled, part) == pytest.approx(getattr(first, part))
        assert getattr(swapped, part) == pytest.approx(getattr(first, part))


def test_several_groups_and_weights():
    codes = np.repeat([0, 1, 2], [40, 30, 30]).astype(np.uint8)
    share = np.array([0.4, 0.3, 0.3])
    pairs = [(g, h) for g in range(3) for h in range(g)]
    expected = sum(share[g] * share[h] * (1 / (100 * share[g]) + 1 / (100 * share[h])) for g, h in pairs)
    assert chance_size(codes) == pytest.approx(expected / sum(share[g] * share[h] for g, h in pairs))
    weights = np.ones(100)
    assert chance_size(codes, weights) == pytest.approx(chance_size(codes))


def test_constant_columns_and_groups():
    columns = np.array([np.ones(20), np.repeat([0.0, 1.0], 10)])
    found = beyond_chance(columns, halves(10))
    assert found.total[0] == 0.0
    assert np.isfinite(found.total[1]) and found.total[1] > 0
    assert is_stepped(columns[0]) and is_stepped(columns[1])


def test_an_outlier_does_not_hide_a_shift():
    rng = np.random.default_rng(5)
    codes = np.repeat([0, 1], [4000, 1000]).astype(np.uint8)
    counts = rng.poisson(np.where(codes == 1, 1.5, 0.5)).astype(float)
    counts[7] = 275.0
    found = beyond_chance(counts[None], codes)
    expected = (counts[codes == 1].mean() - counts[codes == 0].mean()) ** 2
    within = np.concatenate([counts[codes == g] - counts[codes == g].mean() for g in (0, 1)]).var()
    assert found.location[0] == pytest.approx(expected / within, rel=0.05)


def test_two_halves_with_long_tails_still_have_no_effect():
    rng = np.random.default_rng(6)
    codes = np.repeat([0, 1], 1000).astype(np.uint8)
    values = rng.standard_t(4, size=(50, 2000))
    assert np.median(beyond_chance(values, codes).total) < 0.01
