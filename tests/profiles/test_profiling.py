"""Profiles: what is counted, how parts merge, and what is refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import princdiff
from princdiff.profiles import counting
from princdiff.profiles.engines import added
from princdiff.profiles.ruler import SCORE_STEP, counted_column
from princdiff.tables import Coding


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    n = 9000
    frame = pd.DataFrame(
        {
            "size": rng.normal(3, 2, n),
            "count": rng.poisson(3, n).astype(float),
            "city": rng.choice(["Oslo", "Rome", "Riga"], n, p=[0.5, 0.3, 0.2]),
            "member": rng.random(n) < 0.3,
            "day": np.arange(n) % 31,
            "row": np.arange(n),
        }
    )
    frame.loc[rng.random(n) < 0.05, "size"] = np.nan
    return frame


@pytest.fixture(scope="module")
def reference(frame: pd.DataFrame) -> princdiff.Profile:
    return princdiff.profile(frame, exclude=["day", "row"], sample_rows=100)


def everything(frame: pd.DataFrame, like: princdiff.Profile, **options: object) -> princdiff.Profile:
    return princdiff.profile(frame, like=like, blocks="row", sample_rows=40, **options)


def same_sums(one: princdiff.Profile, other: princdiff.Profile) -> None:
    (mine,), (others,) = one.groups.values(), other.groups.values()
    np.testing.assert_array_equal(mine.rows, others.rows)
    np.testing.assert_array_equal(mine.products, others.products)
    for a, b in zip([*mine.counts, *mine.sums], [*others.counts, *others.sums], strict=True):
        np.testing.assert_allclose(a, b, atol=1e-9)


def test_counts_and_sums_are_those_of_pandas(frame, reference):
    found = everything(frame, reference)
    (sums,) = found.groups.values()
    assert sums.rows.sum() == sums.seen == len(frame)
    for number, column in enumerate(reference.ruler.columns):
        counts, values = sums.counts[number].sum(axis=0), frame[column.name]
        assert counts[-1] == values.isna().sum()
        if column.is_number:
            edges = [-np.inf, *column.bounds, np.inf]
            bins = pd.cut(values, edges, right=False).value_counts(sort=False)
            np.testing.assert_array_equal(counts[:-1], bins)
            scaled = (values - column.centre) / column.scale
            np.testing.assert_allclose(sums.sums[number].sum(axis=0), [scaled.sum(), (scaled**2).sum()])
        else:
            known = values.astype(str).value_counts().reindex(column.coding.levels)
            np.testing.assert_array_equal(counts[:-2], known)


def test_products_are_those_of_scores_and_flags(frame, reference):
    (sums,) = everything(frame, reference).groups.values()
    names = np.array(reference.ruler.features[0])[reference.ruler.in_pairs].tolist()
    column = reference.ruler.columns[0]
    bins = np.searchsorted(column.bounds, frame["size"], side="right")
    bins[frame["size"].isna()] = column.n_bins - 1
    score = np.array(column.scores)[bins]
    rome = (frame["city"] == "Rome").to_numpy()
    products = sums.products.sum(axis=0)
    at, other = names.index("size"), names.index("city = Rome")
    assert products[at, at] == (score**2).sum()
    assert products[at, other] == score[rome].sum()
    assert abs(score.mean() * SCORE_STEP) < 0.1
    assert 0.8 < score.std() * SCORE_STEP < 1.2


def test_days_merged_in_any_order_are_the_month(frame, reference):
    month = everything(frame, reference)
    days = [everything(own, reference) for _, own in frame.groupby("day")]
    total = days[0]
    for day in days[1:]:
        total = total + day
    same_sums(total, month)
    backward = days[-1]
    for day in reversed(days[:-1]):
        backward = day + backward
    same_sums(backward, month)
    for merged in (total, backward):
        for name, keys in month.sample.keys.items():
            np.testing.assert_array_equal(merged.sample.keys[name], keys)
            pd.testing.assert_frame_equal(merged.sample.frame(name), month.sample.frame(name))


def test_chunks_do_not_depend_on_what_rows_hold(frame, reference):
    shuffled = frame.assign(size=frame["size"].sort_values().to_numpy())
    one, other = princdiff.profile(frame, like=reference), princdiff.profile(shuffled, like=reference)
    (mine,), (others,) = one.groups.values(), other.groups.values()
    np.testing.assert_array_equal(mine.rows, others.rows)


def test_rows_for_bins_are_left_out_of_the_sums(frame, reference):
    (sums,) = reference.groups.values()
    assert sums.seen == len(frame)
    assert 0.85 * len(frame) < sums.rows.sum() < 0.95 * len(frame)
    (sums,) = princdiff.profile(frame, like=reference).groups.values()
    assert sums.rows.sum() == len(frame)


def test_chunks_are_in_proportion_and_a_much_larger_group_is_thinned():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=120_000), "g": "large"})
    frame.loc[rng.choice(len(frame), 2000, replace=False), "g"] = "small"
    profile = princdiff.profile(frame, groups="g", sample_rows=0)
    sizes = {name: sums.rows.mean() for name, sums in profile.groups.items()}
    assert sizes["large"] == pytest.approx(sizes["small"], rel=0.15)
    assert profile.groups["small"].rows.sum() > 1700
    assert profile.groups["large"].rows.sum() == pytest.approx(32 * 1800, rel=0.2)


def test_rows_of_a_block_go_together(frame, reference):
    found = princdiff.profile(frame, like=reference, blocks="day")
    (sums,) = found.groups.values()
    assert np.count_nonzero(sums.rows) <= 31


def test_what_comes_back_does_not_grow_with_the_parts(frame, reference, monkeypatch):
    monkeypatch.setattr(counting, "_MOST_BLOCKS", 500)
    batches = pa.Table.from_pandas(frame, preserve_index=False).to_batches()
    dealing = counting.Dealing(group="city", blocks="row", sample_rows=20)
    work = counting.CountRows(reference.ruler, dealing)
    once, thrice = work("0", batches), added(work("0", batches) for _ in range(3))
    for city in ("Oslo", "Rome", "Riga"):
        assert thrice.sample.rows[city].num_rows == 20
        assert len(once.blocks[city]) == 500
        np.testing.assert_array_equal(thrice.blocks[city], once.blocks[city])


def test_without_sample_rows_no_row_is_kept(frame, reference):
    found = princdiff.profile(frame, like=reference, sample_rows=0)
    assert not any(table.num_rows for table in found.sample.rows.values())


def test_profiles_with_other_bins_are_refused(frame, reference):
    other = princdiff.profile(frame.head(4000), exclude=["day", "row"], random_state=1)
    with pytest.raises(ValueError, match="like="):
        reference + other
    with pytest.raises(ValueError, match="columns member"):
        reference + princdiff.profile(frame, exclude=["day", "row", "member"])
    with pytest.raises(ValueError, match="128 and of 64 chunks"):
        reference + princdiff.profile(frame, like=reference, n_chunks=64)


@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_infinite_values_are_refused(frame, reference, value):
    broken = frame.copy()
    broken.loc[17, "count"] = value
    with pytest.raises(ValueError, match="'count' has infinite values"):
        princdiff.profile(broken, like=reference)


def test_text_in_a_column_of_numbers_is_refused(frame, reference):
    with pytest.raises(ValueError, match="'count'"):
        princdiff.profile(frame.assign(count="many"), like=reference)


def test_like_settles_columns(frame, reference):
    with pytest.raises(ValueError, match="leave out features="):
        princdiff.profile(frame, like=reference, features=["size"])
    with pytest.raises(ValueError, match="no column 'size'"):
        princdiff.profile(frame.drop(columns="size"), like=reference)


def test_days_with_groups_of_changing_sizes_merge():
    rng = np.random.default_rng(0)
    days = [
        pd.DataFrame({"x": rng.normal(size=4000), "g": rng.choice(["a", "b"], 4000, p=[p, 1 - p])})
        for p in (0.3, 0.6)
    ]
    first = princdiff.profile(days[0], groups="g", sample_rows=0)
    both = first + princdiff.profile(days[1], groups="g", like=first, sample_rows=0)
    assert both.n_rows == 8000
    assert {name: sums.n_chunks for name, sums in both.groups.items()} == {
        name: sums.n_chunks for name, sums in first.groups.items()
    }


def test_bins_tell_no_number_of_a_row_and_a_constant_has_one():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=20_000)})
    (column,) = princdiff.profile(frame, sample_rows=0).ruler.columns
    told = {column.centre, *column.bounds, *column.values}
    assert not told & set(frame["x"].tolist())
    assert np.all(np.diff(column.values) > 0)
    constant = counted_column(Coding("same"), np.full(100, 3.0))
    assert (constant.bounds, constant.values) == ((), (3.0,))
