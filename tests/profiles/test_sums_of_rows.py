"""Rows in memory that are summed up: the sums beside pandas, and comparisons beside those of rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import princdiff
from princdiff.data.run import Run
from princdiff.profiles import sums_of_rows as module
from princdiff.profiles.chunk_sums import ChunkLabellings, Chunks
from princdiff.profiles.chunk_tests import ChunkTests
from princdiff.profiles.sums_of_rows import sums_of_rows, thinned, worth_sums
from princdiff.tables import prepare

pytestmark = pytest.mark.whole


def table(n: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(n, 3)), columns=list("abc"))
    frame["visits"] = rng.poisson(2, n)
    frame["member"] = rng.choice(["no", "yes"], n)
    frame["city"] = rng.choice(["Oslo", "Rome", "Riga"], n, p=[0.6, 0.3, 0.1])
    frame["grade"] = pd.Categorical(rng.choice(list("lmh"), n), categories=list("lmh"), ordered=True)
    frame["group"] = np.where(rng.random(n) < 0.4, "x", "y")
    return frame


@pytest.fixture
def few(monkeypatch):
    monkeypatch.setattr(module, "MANY_ROWS", 2000)


@pytest.fixture(scope="module")
def planted() -> pd.DataFrame:
    frame = table(6000, 1)
    of_y = frame["group"] == "y"
    frame.loc[of_y, "b"] += 0.3
    frame.loc[of_y, "c"] = 0.4 * frame.loc[of_y, "a"] + 0.9 * frame.loc[of_y, "c"]
    frame.loc[of_y & (frame.index % 5 == 0), "city"] = "Riga"
    return frame


def test_sums_are_those_of_pandas_with_gaps_flags_and_levels():
    frame = table(3000, 0)
    for name, every in (("a", 7), ("member", 11), ("city", 13), ("grade", 17)):
        frame.loc[::every, name] = np.nan
    prepared = prepare(frame, groups="group", missing="impute")
    profile, sample = sums_of_rows(prepared, Run(seed=3))
    assert {name: sums.seen for name, sums in profile.groups.items()} == frame[
        "group"
    ].value_counts().to_dict()
    for name, sums in profile.groups.items():
        own = frame[frame["group"] == name]
        assert sums.rows.sum() == len(own)
        for number, column in enumerate(profile.ruler.columns):
            counts = sums.counts[number].sum(axis=0)
            assert counts[-1] == own[column.name].isna().sum()
            if column.name in ("member", "city"):
                found = dict(zip(column.coding.levels, counts.tolist(), strict=False))
                assert found == own[column.name].value_counts().to_dict()
            elif column.name == "grade":
                assert counts[:3].tolist() == own["grade"].value_counts(sort=False).tolist()
            else:
                total = column.centre * counts[:-1].sum() + column.scale * sums.sums[number][:, 0].sum()
                assert total == pytest.approx(own[column.name].sum())
    assert len(sample.codes) == 3000


def test_chunks_know_nothing_of_the_order_of_rows(planted):
    shuffled = planted.sample(frac=1, random_state=0)
    one, other = (
        sums_of_rows(prepare(frame, groups="group"), Run(seed=0))[0] for frame in (planted, shuffled)
    )
    for name, sums in one.groups.items():
        np.testing.assert_array_equal(sums.rows, other.groups[name].rows)
        np.testing.assert_array_equal(sums.products, other.groups[name].products)


def test_what_rows_show_sums_show(planted, few):
    result = princdiff.compare(planted, groups="group", n_permutations=199)
    assert result.pvalue == pytest.approx(1 / 200)
    assert set(result.selected_columns) == {"a", "b", "c", "city"}
    assert "Computed from sums over chunks of rows (" in str(result)
    assert result.groups == planted["group"].value_counts().sort_index().to_dict()
    shift = result.table.set_index("feature").loc["b"]
    means = planted.groupby("group")["b"].mean()
    assert shift["difference"] == pytest.approx(means["y"] - means["x"])
    # About two standard errors of 2400 and 3600 rows.
    assert shift["difference_high"] - shift["difference"] == pytest.approx(0.052, rel=0.25)
    again = princdiff.compare(planted.sample(frac=1, random_state=1), groups="group", n_permutations=199)
    assert again.pvalue == result.pvalue
    assert again.selected == result.selected


def test_labels_and_two_tables_are_summed_up_too(planted, few):
    labels = planted["group"].to_numpy()
    rows = planted.drop(columns="group")
    by_label = princdiff.compare(rows, groups=labels, n_permutations=99)
    of_two = princdiff.compare(rows[labels == "x"], rows[labels == "y"], n_permutations=99)
    assert by_label.selected == of_two.selected
    assert by_label.pvalue == of_two.pvalue


def test_pairs_of_three_groups_are_summed_up(few):
    frame = table(9000, 2)
    frame["group"] = np.repeat(["x", "y", "z"], 3000)
    frame.loc[frame["group"] == "z", "b"] += 0.3
    found = princdiff.compare_groups(frame, groups="group", n_permutations=99)
    assert found.table["adjusted"].round(2).tolist()[1:] == [0.03, 0.03]
    assert all("sums over chunks" in str(result) for result in found.results.values())


def test_rows_are_compared_where_sums_would_lose_something(few):
    frame = table(3000, 3).assign(donor=np.arange(3000) % 30)
    columns = ["a", "b", "city"]

    def worth(permute="auto", **options) -> bool:
        return worth_sums(prepare(frame, groups="group", features=columns, **options), permute)

    assert worth()
    assert not worth(weights=np.ones(3000) + np.arange(3000) % 2)
    assert not worth(covariates="c")
    # Donors have rows in both groups, and exchange them inside.
    assert not worth(blocks="donor")
    assert not worth_sums(prepare(frame.head(1000), groups="group", features=columns), "auto")


def blocks_of(seed: int, n_blocks: int, spread: float) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    sizes = rng.integers(20, 60, n_blocks)
    block = np.repeat(np.arange(n_blocks), sizes)
    frame = pd.DataFrame({"x": rng.normal(size=len(block)), "y": rng.normal(size=len(block))})
    frame["x"] += spread * rng.normal(size=n_blocks)[block]
    return frame.assign(donor=block, group=np.where(block % 2, "p", "q"))


def test_whole_blocks_are_units():
    frame = blocks_of(0, 40, 0.0)
    prepared = prepare(frame, groups="group", blocks="donor")
    profile, _ = sums_of_rows(prepared, Run(seed=0))
    sizes = frame["donor"].value_counts()
    for name, sums in profile.groups.items():
        own = sizes[frame.drop_duplicates("donor").set_index("donor")["group"] == name]
        assert sorted(sums.rows.tolist()) == sorted(own.tolist())


def test_many_blocks_share_chunks_evenly():
    frame = blocks_of(1, 600, 0.0)
    profile, _ = sums_of_rows(prepare(frame, groups="group", blocks="donor"), Run(seed=0))
    for sums in profile.groups.values():
        assert sums.n_chunks == 128
        # Two or three blocks of 20 to 59 rows each.
        assert 40 <= sums.rows.min() <= sums.rows.max() <= 177


def test_what_varies_between_donors_is_no_difference_of_groups():
    pvalues = []
    for seed in range(60):
        prepared = prepare(blocks_of(100 + seed, 40, 0.5), groups="group", blocks="donor")
        profile, _ = sums_of_rows(prepared, Run(seed=seed))
        chunks = Chunks(profile.ruler, tuple(profile.groups), tuple(profile.groups.values()))
        labellings = ChunkLabellings.drawn(chunks, 99, np.random.default_rng(seed))
        pvalues.append(ChunkTests(chunks, labellings).tested().pvalue)
    assert np.mean(np.array(pvalues) <= 0.1) < 0.22
    assert 0.35 < np.mean(pvalues) < 0.65


def test_a_much_larger_group_is_thinned(few):
    frame = table(20_000, 4)
    frame["group"] = np.where(np.arange(20_000) < 100, "small", "large")
    frame.loc[:99, "b"] += 1.0
    prepared = thinned(prepare(frame, groups="group"), Run(seed=0))
    assert np.bincount(prepared.codes).tolist() == [3200, 100]
    result = princdiff.compare(frame, groups="group", n_permutations=199)
    assert result.selected_columns == ["b"]
    assert any("3200 were drawn at random" in note for note in result.notes)


def test_errors_of_means_and_deviations_are_those_of_rows():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.standard_t(6, size=60_000), "f": rng.random(60_000) < 0.2})
    prepared = prepare(frame.astype(float), groups=np.repeat([0, 1], 30_000))
    profile, _ = sums_of_rows(prepared, Run(seed=0))
    chunks = Chunks(profile.ruler, tuple(profile.groups), tuple(profile.groups.values()))
    facts = ChunkTests(chunks, ChunkLabellings.drawn(chunks, 1, rng)).columns
    own = frame["x"].to_numpy()[:30_000]
    kurtosis = ((own - own.mean()) ** 4).mean() / own.var() ** 2
    assert facts.mean_errors[0, 0] == pytest.approx(own.std() / np.sqrt(30_000), rel=0.2)
    assert facts.deviation_errors[0, 0] == pytest.approx(
        own.std() * np.sqrt((kurtosis - 1) / 4 / 30_000), rel=0.2
    )
    assert facts.mean_errors[0, 1] == pytest.approx(np.sqrt(0.2 * 0.8 / 30_000), rel=0.2)
