"""Profiles compared: labellings beside plain ones, the level of the tests, and what users read."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import princdiff
from princdiff.profiles import large_sources
from princdiff.profiles.chunk_sums import ChunkLabellings, Chunks
from princdiff.profiles.chunk_tests import ChunkTests

pytestmark = pytest.mark.whole


def table(n: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 4))
    frame = pd.DataFrame(x, columns=list("abcd"))
    frame["skewed"] = rng.lognormal(size=n)
    frame["count"] = rng.poisson(2, n)
    frame["city"] = rng.choice(["Oslo", "Rome", "Riga", "Ulm"], n, p=[0.6, 0.3, 0.09, 0.01])
    return frame


def chunks_of(profile: princdiff.Profile) -> Chunks:
    return Chunks(profile.ruler, tuple(profile.groups), tuple(profile.groups.values()))


@pytest.fixture(scope="module")
def planted() -> pd.DataFrame:
    frame = table(40_000, 1)
    then = np.arange(40_000) < 20_000
    frame["when"] = np.where(then, "then", "now")
    frame.loc[~then, "b"] += 0.1
    frame.loc[~then, "d"] = 0.15 * frame.loc[~then, "c"] + 0.99 * frame.loc[~then, "d"]
    return frame


def test_means_of_labellings_are_those_of_chunks_moved_one_by_one(planted):
    chunks = chunks_of(princdiff.profile(planted, groups="when", n_chunks=16, sample_rows=0))
    labellings = ChunkLabellings.drawn(chunks, 5, np.random.default_rng(0))
    centred = chunks.centred(chunks.counts(0))
    means = labellings.means(centred) * np.sqrt((centred**2).mean(axis=0))
    own = [np.sqrt(total) for total in chunks.totals]
    for group in range(2):
        inside = chunks.codes == group
        counted = chunks.counts(0)
        share = counted.sum(axis=0) / counted.sum()
        plain = counted[inside].sum(axis=0) - chunks.rows[inside].sum() * share
        np.testing.assert_allclose(means[group, 0], plain / own[group], rtol=1e-4, atol=1e-4)
    # A chunk stands somewhere in every labelling, in one group.
    assert ((labellings.weights > 0).sum(axis=0) == 1).all()
    assert ((labellings.weights > 0).sum(axis=2) == (labellings.weights[:, :1] > 0).sum(axis=2)).all()


def test_planted_differences_are_found_and_nothing_else(planted):
    result = princdiff.compare(princdiff.profile(planted, groups="when"))
    assert result.pvalue == pytest.approx(0.001)
    assert set(result.selected_columns) == {"b", "c", "d"}
    assert result.columns.iloc[0]["column"] == "b"
    named = result.relations[result.relations["selected"]]
    assert [{*pair} for pair in zip(named["first"], named["second"], strict=True)] == [{"c", "d"}]
    shift = result.table.set_index("feature").loc["b"]
    assert shift["difference_low"] < 0.1 < shift["difference_high"]
    assert "Computed from sums over chunks" in str(result)
    assert result.groups == {"now": 20_000, "then": 20_000}
    assert not any(" in '0'" in note for note in result.notes)


def test_a_result_of_profiles_is_a_result_like_others(planted, tmp_path):
    result = princdiff.compare(princdiff.profile(planted, groups="when"), n_permutations=199)
    result.save(tmp_path / "result.json")
    assert princdiff.load(tmp_path / "result.json") == result
    assert result == princdiff.compare(princdiff.profile(planted, groups="when"), n_permutations=199)


def test_a_profile_beside_rows_and_files(planted, tmp_path):
    then, now = (own.drop(columns="when") for _, own in planted.groupby("when", sort=False))
    january = princdiff.profile(then)
    january.save(tmp_path / "january.profile")
    now.to_parquet(tmp_path / "february.parquet")
    result = princdiff.compare(tmp_path / "january.profile", tmp_path / "february.parquet")
    assert "b" in result.selected_columns
    assert list(result.groups) == ["january", "february"]
    assert result.table.set_index("feature").loc["b", "difference"] > 0.05
    other = princdiff.compare(now, january)
    assert "b" in other.selected_columns
    assert other.table.set_index("feature").loc["b", "difference"] < -0.05


def test_a_profile_without_rows_is_compared_too(planted):
    profile = princdiff.profile(planted, groups="when", sample_rows=0)
    result = princdiff.compare(profile, n_permutations=199)
    assert "b" in result.selected_columns
    assert "holds no rows" in str(result)


def test_pvalues_are_uniform_where_nothing_differs():
    pvalues, named = [], 0
    for seed in range(60):
        # Sorted rows, and groups of unequal size.
        frame = table(3000, 100 + seed).sort_values("a", ignore_index=True)
        frame["g"] = np.where(np.random.default_rng(seed).random(3000) < 0.3, "x", "y")
        chunks = chunks_of(
            princdiff.profile(frame, groups="g", n_chunks=32, sample_rows=0, random_state=seed)
        )
        tests = ChunkTests(chunks, ChunkLabellings.drawn(chunks, 99, np.random.default_rng(seed)))
        pvalues.append(tests.tested().pvalue)
        named += bool((tests._adjusted(_options())[0] <= 0.05).any())
    pvalues = np.array(pvalues)
    assert (pvalues <= 0.1).mean() < 0.22
    assert 0.35 < pvalues.mean() < 0.65
    assert named <= 9


def _options() -> object:
    from princdiff.selection.steps import SelectionOptions

    return SelectionOptions()


def test_a_shift_alone_is_no_changed_pair():
    rng = np.random.default_rng(1)
    common = rng.normal(size=60_000)
    frame = pd.DataFrame({"a": common + rng.normal(size=60_000), "b": common + rng.normal(size=60_000)})
    frame["g"] = np.repeat(["x", "y"], 30_000)
    frame.loc[frame["g"] == "y", "a"] += 2.0
    result = princdiff.compare(princdiff.profile(frame, groups="g"), n_permutations=199)
    assert result.selected_columns == ["a"]


def test_what_cannot_be_compared_is_refused(planted):
    one = princdiff.profile(planted.drop(columns="when"), sample_rows=0)
    with pytest.raises(ValueError, match="has one group"):
        princdiff.compare(one)
    other = princdiff.profile(planted.drop(columns="when"), random_state=3)
    with pytest.raises(ValueError, match="like="):
        princdiff.compare(one, other)
    with pytest.raises(ValueError, match="blocks= is settled"):
        princdiff.compare(one, planted, blocks="when")
    grouped = princdiff.profile(planted, groups="when", sample_rows=0)
    with pytest.raises(ValueError, match="compared alone"):
        princdiff.compare(grouped, grouped)


def test_sources_that_only_engines_read_are_profiled(planted):
    pa = pytest.importorskip("pyarrow")
    batches = pa.Table.from_pandas(planted, preserve_index=False).to_batches(5000)
    reader = pa.RecordBatchReader.from_batches(batches[0].schema, batches)
    result = princdiff.compare(reader, groups="when", n_permutations=199)
    assert "b" in result.selected_columns
    assert "Computed from sums over chunks" in str(result)


def test_large_files_are_profiled_and_small_ones_are_not(planted, tmp_path, monkeypatch):
    then, now = (own.drop(columns="when").head(4000) for _, own in planted.groupby("when", sort=False))
    paths = [tmp_path / "then.parquet", tmp_path / "now.parquet"]
    then.to_parquet(paths[0])
    now.to_parquet(paths[1])
    options = {"n_permutations": 99, "n_features": 1}
    assert "sums over chunks" not in str(princdiff.compare(*paths, **options))
    monkeypatch.setattr(large_sources, "_MANY_ROWS", 5000)
    result = princdiff.compare(*paths, **options)
    assert "sums over chunks" in str(result)
    assert list(result.groups) == ["then", "now"]
    then.assign(a=np.where(np.arange(4000) % 7, then["a"], np.nan)).to_parquet(paths[0])
    with pytest.raises(ValueError, match=r"'a' has \d+ missing values.*missing='impute'"):
        princdiff.compare(*paths, **options)
    assert "Missing values count" in str(princdiff.compare(*paths, missing="impute", **options))


def test_groups_of_a_profile_are_compared_in_pairs_and_with_the_rest():
    frame = table(30_000, 3)
    frame["site"] = np.repeat(["p", "q", "r"], [12_000, 12_000, 6000])
    frame.loc[frame["site"] == "r", "b"] += 0.2
    profile = princdiff.profile(frame, groups="site", n_chunks=32, sample_rows=300)
    pairs = princdiff.compare_groups(profile, n_permutations=199)
    assert list(pairs.results) == [("p", "q"), ("p", "r"), ("q", "r")]
    assert (pairs.table["adjusted"] <= 0.05).tolist() == [False, True, True]
    assert "b" in pairs.results["p", "r"].selected_columns
    rest = princdiff.compare_groups(profile, against="rest", n_permutations=199)
    # A third of the rows of the rest of p are of r.
    means = rest.results["p", "rest"].table.set_index("feature").loc["b"]
    assert means["mean rest"] - means["mean p"] == pytest.approx(0.2 / 3, abs=0.03)


def test_samples_of_groups_together_have_shares_of_the_groups():
    frame = table(20_000, 4)
    frame["site"] = np.repeat(["p", "q", "r"], [4000, 12_000, 4000])
    profile = princdiff.profile(frame, groups="site", n_chunks=16, sample_rows=600)
    both = profile.of_two("p", ["q", "r"], "others").sample
    assert both.rows["p"].num_rows == 600
    # Of q 600 of 12 000 rows are held, so of r as large a share.
    assert both.rows["others"].num_rows == pytest.approx(800, rel=0.1)
    assert len(both.keys["others"]) == both.rows["others"].num_rows


def test_options_that_a_profile_settles_are_refused(planted):
    profile = princdiff.profile(planted, groups="when", sample_rows=0)
    with pytest.raises(ValueError, match="blocks= is settled"):
        princdiff.compare(profile, blocks=np.zeros(len(planted)))


def patients(seed: int, count: int, spread: float) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    who = rng.integers(count, size=6000)
    frame = pd.DataFrame({"x": rng.normal(size=6000), "y": rng.normal(size=6000), "patient": who})
    frame["x"] += spread * rng.normal(size=count)[who]
    return frame.assign(arm=np.where(who % 2, "new", "old"))


def test_patients_are_units_of_a_profile():
    pvalues = []
    for seed in range(40):
        found = princdiff.profile(
            patients(seed, 60, 0.5), groups="arm", blocks="patient", sample_rows=0, random_state=seed
        )
        chunks = chunks_of(found)
        assert len(chunks.codes) <= 60
        assert sum(sums.rows.sum() for sums in found.groups.values()) == 6000
        labellings = ChunkLabellings.drawn(chunks, 99, np.random.default_rng(seed))
        pvalues.append(ChunkTests(chunks, labellings).tested().pvalue)
    assert np.mean(np.array(pvalues) <= 0.1) < 0.25
    assert 0.3 < np.mean(pvalues) < 0.7


def test_patients_of_large_files(tmp_path, monkeypatch):
    monkeypatch.setattr(large_sources, "_MANY_ROWS", 5000)
    frame = patients(0, 200, 0.1)
    frame.loc[frame["arm"] == "new", "y"] += 0.3
    frame.to_parquet(tmp_path / "visits.parquet")
    options = {"groups": "arm", "blocks": "patient", "n_permutations": 199}
    result = princdiff.compare(tmp_path / "visits.parquet", **options)
    assert "sums over chunks" in str(result)
    assert result.selected_columns == ["y"]
    # Rows of a crossing patient change sides inside: only rows can.
    frame["arm"] = np.where(np.arange(6000) % 2, "new", "old")
    frame.to_parquet(tmp_path / "visits.parquet")
    assert "sums over chunks" not in str(princdiff.compare(tmp_path / "visits.parquet", **options))
    with pytest.raises(ValueError, match="blocks of column 'patient' have rows of several groups"):
        princdiff.profile(frame, groups="arm", blocks="patient")


def test_batches_are_compared_with_a_profile_and_profiles_with_a_reference(tmp_path):
    days = [table(6000, seed).assign(city="Oslo") for seed in range(4)]
    days[3]["b"] += 0.2
    reference = princdiff.profile(days[0], sample_rows=200)
    reference.save(tmp_path / "first.profile")
    days[2].to_parquet(tmp_path / "third.parquet")
    batches = {"second": days[1], "third": tmp_path / "third.parquet", "fourth": days[3]}
    options = {"n_permutations": 199}
    found = princdiff.compare_batches(batches, reference=tmp_path / "first.profile", **options)
    assert found.frame["differs"].tolist() == [False, False, True]
    assert found.frame["rows"].tolist() == [6000] * 3
    assert found.results["fourth"].selected_columns == ["b"]
    last = {"fourth": princdiff.profile(days[3], like=reference)}
    again = princdiff.compare_batches(last, reference=reference, **options)
    assert again.results["fourth"].pvalue == found.results["fourth"].pvalue
    with pytest.raises(ValueError, match="a profile has none"):
        princdiff.compare_batches(last, reference=reference, min_effect="auto", **options)
