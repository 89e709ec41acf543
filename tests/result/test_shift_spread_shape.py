from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles import between_groups
from princdiff.data.labels import Labels
from princdiff.divergences import Wasserstein2
from princdiff.result.shift_spread_shape import Kind, effect_size, feature_table, split_difference


def drawn(seed, sizes, n_columns=4, kind="continuous"):
    rng = np.random.default_rng(seed)
    codes = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    values = rng.standard_t(4, size=(n_columns, len(codes))) * (1 + codes) + 0.7 * codes
    return np.round(values) if kind == "tied" else values, codes


@pytest.mark.parametrize("sizes", [(10, 10), (7, 12), (1, 9), (6, 6, 6), (5, 9, 4), (3, 8, 5, 11)])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", ["continuous", "tied"])
def test_parts_sum_to_the_distance(sizes, weighted, kind):
    values, codes = drawn(0, sizes, kind=kind)
    weights = np.random.default_rng(1).uniform(0.2, 3.0, size=len(codes)) if weighted else None
    found = split_difference(values, codes, weights)
    expected = [between_groups(row, codes, weights) for row in values]
    np.testing.assert_allclose(found.total, expected, rtol=1e-9, atol=1e-12)
    for part in found:
        assert part.shape == (4,)
        assert (part >= 0).all()


@pytest.mark.parametrize("sizes", [(12, 12), (8, 20)])
@pytest.mark.parametrize("weighted", [False, True])
def test_parts_by_their_definitions(sizes, weighted):
    values, codes = drawn(2, sizes)
    weights = np.random.default_rng(3).uniform(0.2, 3.0, size=len(codes)) if weighted else np.ones(len(codes))
    found = split_difference(values, codes, weights if weighted else None)
    for column, row in enumerate(values):
        means, deviations = [], []
        for group in (0, 1):
            inside = codes == group
            means.append(np.average(row[inside], weights=weights[inside]))
            deviations.append(np.sqrt(np.average((row[inside] - means[-1]) ** 2, weights=weights[inside])))
        assert found.location[column] == pytest.approx((means[0] - means[1]) ** 2)
        assert found.scale[column] == pytest.approx((deviations[0] - deviations[1]) ** 2)
    if sizes == (12, 12) and not weighted:
        # Shape: two standard deviations times one minus the correlation of the quantile functions.
        for column, row in enumerate(values):
            first, second = np.sort(row[codes == 0]), np.sort(row[codes == 1])
            shape = 2 * first.std() * second.std() * (1 - np.corrcoef(first, second)[0, 1])
            assert found.shape[column] == pytest.approx(shape, abs=1e-12)


def test_three_groups_are_the_average_over_pairs():
    values, codes = drawn(4, (5, 9, 4), n_columns=1)
    found = split_difference(values, codes)
    share = np.bincount(codes) / len(codes)
    total = {"location": 0.0, "scale": 0.0, "shape": 0.0}
    mass = 0.0
    for g, h in ((0, 1), (0, 2), (1, 2)):
        kept = (codes == g) | (codes == h)
        pair = split_difference(values[:, kept], (codes[kept] == h).astype(int))
        mass += share[g] * share[h]
        for name in total:
            total[name] += share[g] * share[h] * getattr(pair, name)[0]
    for name, value in total.items():
        assert getattr(found, name)[0] == pytest.approx(value / mass)


@pytest.mark.parametrize("sizes", [(20, 20), (20, 40)])
def test_pure_shift_and_pure_scaling(sizes):
    base = np.random.default_rng(5).gamma(2.0, size=20)
    copies = np.tile(base, sizes[1] // 20)
    codes = np.repeat([0, 1], sizes)
    shift = split_difference(np.concatenate([base, copies + 3.0])[None], codes)
    assert shift.location[0] == pytest.approx(9.0)
    assert shift.scale[0] == pytest.approx(0, abs=1e-12)
    assert shift.shape[0] == pytest.approx(0, abs=1e-12)
    centred = base - base.mean()
    scaling = split_difference(np.concatenate([centred, 4.0 * np.tile(centred, sizes[1] // 20)])[None], codes)
    assert scaling.scale[0] == pytest.approx(9.0 * base.var())
    assert scaling.location[0] == pytest.approx(0, abs=1e-12)
    assert scaling.shape[0] == pytest.approx(0, abs=1e-10)


def test_pure_shape():
    # Mirror images: equal means and standard deviations, another skewness.
    base = np.random.default_rng(6).gamma(1.0, size=50)
    base = (base - base.mean()) / base.std()
    found = split_difference(np.concatenate([base, -base])[None], np.repeat([0, 1], 50))
    assert found.location[0] == pytest.approx(0, abs=1e-12)
    assert found.scale[0] == pytest.approx(0, abs=1e-12)
    assert found.shape[0] > 0.1


def test_nothing_differs():
    base = np.random.default_rng(7).normal(size=(3, 15))
    found = split_difference(np.concatenate([base, base], axis=1), np.repeat([0, 1], 15))
    for part in (*found, found.total):
        np.testing.assert_allclose(part, 0, atol=1e-12)


@given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e3), st.integers(0, 50))
@settings(max_examples=50, deadline=None)
def test_offset_and_unit(offset, unit, seed):
    values, codes = drawn(seed, (6, 9), n_columns=1)
    plain = split_difference(values, codes)
    moved = split_difference(unit * values + offset, codes)
    for before, after in zip(plain, moved, strict=True):
        # Squares of numbers near the offset lose what single precision of it would lose.
        np.testing.assert_allclose(
            after, unit**2 * before, rtol=1e-6, atol=1e-9 * unit**2 + 1e-9 * abs(offset) * unit
        )


@pytest.mark.parametrize("weighted", [False, True])
def test_whole_weights_are_copies(weighted):
    values, codes = drawn(8, (6, 8))
    copies = np.random.default_rng(9).integers(1, 4, size=14)
    by_weight = split_difference(values, codes, copies.astype(float))
    by_copy = split_difference(np.repeat(values, copies, axis=1), np.repeat(codes, copies))
    for first, second in zip(by_weight, by_copy, strict=True):
        np.testing.assert_allclose(first, second, rtol=1e-9, atol=1e-12)
    assert effect_size(values[0], codes, copies.astype(float)) == pytest.approx(
        effect_size(np.repeat(values[0], copies), np.repeat(codes, copies))
    )


def test_a_row_alone_is_a_column():
    found = split_difference([0.0, 2.0, 5.0, 7.0], [0, 0, 1, 1])
    assert isinstance(found, Kind)
    assert [part.tolist() for part in found] == [[25.0], [0.0], [0.0]]


# ---------------------------------------------------------------- effect size


def test_effect_size_of_a_shift_is_cohens_d():
    rng = np.random.default_rng(10)
    base = rng.normal(size=30)
    values, codes = np.concatenate([base, base + 2.0]), np.repeat([0, 1], 30)
    assert effect_size(values, codes) == pytest.approx(2.0 / base.std())
    assert effect_size(1000 * values + 7, codes) == pytest.approx(2.0 / base.std())


def test_effect_size_of_a_scaling():
    base = np.random.default_rng(11).normal(size=40)
    base -= base.mean()
    values, codes = np.concatenate([base, 3.0 * base]), np.repeat([0, 1], 40)
    # Distance 2 sd; pooled variance (1 + 9) / 2 of the first group's.
    assert effect_size(values, codes) == pytest.approx(2.0 / np.sqrt(5.0))


def test_effect_size_by_its_definition():
    values, codes = drawn(12, (5, 9, 4), n_columns=1)
    within = sum(((values[0][codes == g] - values[0][codes == g].mean()) ** 2).sum() for g in range(3))
    expected = np.sqrt(between_groups(values[0], codes) / (within / len(codes)))
    assert effect_size(values[0], codes) == pytest.approx(expected)


def test_effect_size_without_spread():
    assert effect_size(np.ones(6), [0, 0, 0, 1, 1, 1]) == 0.0
    assert effect_size([1.0, 1.0, 2.0, 2.0], [0, 0, 1, 1]) == np.inf


# ---------------------------------------------------------------- tables


@pytest.mark.parametrize("weighted", [False, True])
def test_feature_table(weighted, monkeypatch):
    values, codes = drawn(13, (6, 8), n_columns=7)
    weights = np.random.default_rng(14).uniform(0.5, 2.0, size=14) if weighted else None
    names = [f"gene {j}" for j in range(7)]
    table = feature_table(values, names, codes, ["case", "control"], weights)
    assert list(table.columns) == [
        *("feature", "divergence", "location", "scale", "shape"),
        *("mean case", "sd case", "mean control", "sd control"),
    ]
    assert table["feature"].tolist() == names
    np.testing.assert_allclose(
        table["divergence"], [between_groups(row, codes, weights) for row in values], rtol=1e-9
    )
    np.testing.assert_allclose(
        table["location"], (table["mean case"] - table["mean control"]) ** 2, rtol=1e-9
    )
    np.testing.assert_allclose(
        table["scale"], (table["sd case"] - table["sd control"]) ** 2, rtol=1e-9, atol=1e-12
    )
    if not weighted:
        np.testing.assert_allclose(table["sd control"], values[:, codes == 1].std(axis=1))
    # In blocks of features the same.
    monkeypatch.setattr("princdiff.result.shift_spread_shape._BLOCK_ELEMENTS", 30)
    pd.testing.assert_frame_equal(feature_table(values, names, codes, ["case", "control"], weights), table)


@pytest.mark.parametrize("n_groups", [2, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_two_values_need_no_sort(n_groups, weighted):
    rng = np.random.default_rng(9)
    values = np.array([np.where(rng.random(300) < 0.3, 7.0, 3.0), rng.normal(size=300), np.full(300, 2.0)])
    codes = rng.integers(n_groups, size=300).astype(np.uint8)
    weights = rng.uniform(0.5, 2, size=300) if weighted else None
    sorted_out = Wasserstein2().value(
        values - values.mean(axis=1, keepdims=True), Labels(codes, n_groups, weights=weights).repeat(3)
    )
    np.testing.assert_allclose(split_difference(values, codes, weights).total, sorted_out, atol=1e-12)
