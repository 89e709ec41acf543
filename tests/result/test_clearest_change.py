"""The words tell what the test saw: a share, a median, a spread, and never values that were filled in."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from princdiff import compare, compare_groups
from princdiff.result.clearest_change import Change, clearest_change, clearest_kind
from princdiff.result.columns import _clearest
from princdiff.show.page_data import _histograms
from princdiff.tables import Coding

pytestmark = pytest.mark.whole


def change_of(first, second, name="v"):
    result = compare(
        pd.DataFrame({name: first}), pd.DataFrame({name: second}), n_permutations=99, random_state=0
    )
    row = result.columns.iloc[0]
    assert row["selected"]
    return row


def test_a_value_that_became_frequent_is_told():
    rng = np.random.default_rng(0)
    values = [0.99, 1.0, 20.0, 50.0]
    before, after = (rng.choice(values, 600, p=p) for p in ([0.6, 0.1, 0.2, 0.1], [0.1, 0.6, 0.2, 0.1]))
    row = change_of(before, after)
    shares = [np.mean(side == 1.0) for side in (before, after)]
    assert row["kind"] == "value"
    assert row["change"] in (
        f"1: {100 * shares[0]:.0f} % → {100 * shares[1]:.0f} %",
        f"0.99: {100 * np.mean(before == 0.99):.0f} % → {100 * np.mean(after == 0.99):.0f} %",
    )
    assert row["measure"].startswith("proportion of v = ")
    assert row["effect"] > 0.5


def test_where_mean_and_spread_speak_alike_the_mean_is_told():
    # mean, spread, frequent value, ranks, smooth, all values, one value
    assert clearest_kind("spread", np.array([28.0, 30.0, 0.0, 29.0, 28.0, 0.0, 0.0])) == "shift"
    assert clearest_kind("spread", np.array([8.0, 30.0, 0.0, 9.0, 28.0, 0.0, 0.0])) == "spread"
    values = np.concatenate([np.arange(100.0), 3 * np.arange(100.0)])
    codes = np.repeat([0, 1], 100).astype(np.uint8)
    change = clearest_change(values, codes, None, "spread", np.array([28.0, 30.0, 0.0, 20.0, 28.0, 0.0, 0.0]))
    # Its size stays that of the whole difference.
    assert change == Change("shift")


def test_outliers_do_not_turn_a_shift_into_a_spread():
    rng = np.random.default_rng(1)
    before, after = rng.normal(size=1500), rng.normal(size=200) + 0.6
    after[:3] = 40.0
    row = change_of(before, after)
    assert row["kind"] == "shift"
    figures = [float(text) for text in row["change"].split(" (")[0].split(" ", 1)[1].split(" → ")]
    assert figures[0] < 0.2 and figures[1] > 0.3


def test_a_shift_and_a_spread_stay_what_they_are():
    rng = np.random.default_rng(2)
    shifted = change_of(5 + rng.gamma(2, size=400), 6 + rng.gamma(2, size=400))
    wider = change_of(rng.normal(size=400), 2 * rng.normal(size=400))
    assert shifted["kind"] == "shift" and shifted["change"].startswith("mean ")
    assert wider["kind"] == "spread" and wider["change"].startswith("sd ")


def test_the_share_of_a_number_that_is_almost_always_zero_is_told():
    rng = np.random.default_rng(3)
    before, after = ((rng.random(1000) < share) * rng.integers(1, 4, 1000) for share in (0.01, 0.06))
    row = change_of(before.astype(float), after.astype(float))
    assert row["kind"] == "value" and row["change"].startswith("0: ")


def test_the_order_of_rows_does_not_matter():
    rng = np.random.default_rng(4)
    values = np.round(rng.exponential(3, size=300))
    codes = rng.integers(0, 2, 300).astype(np.uint8)
    scores = np.array([1.0, 1.0, 9.0, 2.0, 3.0, 8.0, 9.0])
    order = rng.permutation(300)
    assert clearest_change(values, codes, None, "-", scores) == clearest_change(
        values[order], codes[order], None, "-", scores
    )


@pytest.mark.parametrize("kind", ["shift", "spread", "shape", "-"])
def test_without_scores_the_kind_is_kept(kind):
    assert clearest_kind(kind, np.zeros(7)) == kind


def test_weights_are_repeated_rows():
    rng = np.random.default_rng(5)
    values, codes = rng.integers(0, 6, 80).astype(float), np.repeat([0, 1], 40).astype(np.uint8)
    weights = rng.integers(1, 4, 80)
    for scores in (np.eye(7)[6], np.eye(7)[1], np.eye(7)[3]):
        own = clearest_change(values, codes, weights.astype(float), "-", 9 * scores)
        copied = clearest_change(np.repeat(values, weights), np.repeat(codes, weights), None, "-", 9 * scores)
        assert own[:2] == copied[:2]
        np.testing.assert_allclose(
            own.figures, copied.figures, atol=0.51 if own.measure == "median" else 1e-9
        )


def spiked(seed=7, n_rows=300):
    """A number of which a third has one value in the second group."""
    rng = np.random.default_rng(seed)
    values = np.round(rng.normal(50, 10, 2 * n_rows), 3)
    values[n_rows:][rng.random(n_rows) < 0.33] = 51.5
    return values, np.repeat(["a", "b"], n_rows)


@pytest.mark.parametrize("factor", [1.0, 100_003.0], ids=["plain", "many digits"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_share_of_a_value_has_the_interval_of_that_value(dtype, factor):
    values, group = spiked()
    table = pd.DataFrame({"price": (factor * values).astype(dtype), "group": group})
    result = compare(table, groups="group", n_permutations=99, random_state=0)
    row = result.columns.iloc[0]
    shares = [np.mean(values[group == name] == 51.5) for name in ("a", "b")]
    assert row["kind"] == "value"
    assert row["difference"] == pytest.approx(shares[1] - shares[0])
    assert 0.1 < row["difference_low"] < row["difference"] < row["difference_high"]


def test_it_is_drawn_as_a_number():
    values, group = spiked()
    result = compare(pd.DataFrame({"price": values, "group": group}), groups="group", n_permutations=99)
    low, high = result.plot_feature("price").get_xlim()
    # Along the axis of the values, not as a share of a mean.
    assert low < np.quantile(values, 0.05) and high > np.quantile(values, 0.95)
    assert high < 2 * values.max()
    assert "price" in {result.table["feature"].iat[row] for row in map(int, _histograms(result, [0]))}


def test_ratings_that_move_up_are_a_shift():
    rng = np.random.default_rng(8)
    row = change_of(rng.integers(1, 4, 120).astype(float), rng.integers(3, 6, 120).astype(float))
    assert row["kind"] == "shift" and row["change"].startswith("mean ") and row["effect"] > 1.5


def test_a_level_of_an_ordered_category_is_called_by_its_name():
    change = Change("value", "share", [0.5, 0.2], 0.3, 1.0)
    facts = SimpleNamespace(changes=[change], figures=lambda feature, shares, share: f"{shares} {share}")
    ordered = Coding("size", "ordered", levels=("low", "mid", "high"))
    assert _clearest(facts, 0, ordered) == "mid: [0.5, 0.2] True"
    assert _clearest(facts, 0, Coding("size")) == "1: [0.5, 0.2] True"


def test_words_and_interval_are_of_one_quantile():
    rng = np.random.default_rng(10)
    row = change_of(rng.exponential(size=400) - 1, 1 - rng.exponential(size=400), "v")
    assert row["kind"] == "shape"
    assert row["change"].startswith(row["measure"])
    figures = [float(text) for text in row["change"].removeprefix(row["measure"]).split(" → ")]
    assert np.sign(figures[1] - figures[0]) == np.sign(row["difference"])


def test_standardised_rows_say_nothing_about_the_values_as_they_are():
    rng = np.random.default_rng(11)
    v = np.where(rng.random(400) < 0.5, 0, rng.exponential(1, 400))
    v[200:] *= 7
    table = pd.DataFrame({"v": v, "u": rng.normal(size=400), "group": np.repeat(["a", "b"], 200)})
    table.loc[200:, "u"] = rng.choice([-1.0, 1.0], 200)
    result = compare(table, groups="group", scale="within", n_permutations=99, random_state=0)
    assert "value" not in set(result.columns["kind"])


# Values that were filled in.


def incomes():
    """Incomes that one group leaves out more often."""
    rng = np.random.default_rng(6)
    group = np.repeat(["f", "m"], 500)
    income = np.exp(rng.normal(size=1000) + 0.5 * (group == "m")) * 1000
    income[rng.random(1000) < np.where(group == "f", 0.45, 0.25)] = np.nan
    return pd.DataFrame({"income": income, "group": group})


def test_filled_values_do_not_count():
    table = incomes()
    result = compare(table, groups="group", missing="impute", n_permutations=99, random_state=0)
    row = result.table[result.table["feature"] == "income"].iloc[0]
    own = table.groupby("group")["income"]
    for group in ("f", "m"):
        assert row[f"mean {group}"] == pytest.approx(own.mean()[group])
        assert row[f"sd {group}"] == pytest.approx(own.std(ddof=0)[group])
    means = [f"{own.mean()[group]:.0f}" for group in ("f", "m")]
    assert f"mean {means[0]} → {means[1]}" in result.columns.iloc[0]["change"]
    assert "missing" in result.columns.iloc[0]["change"]
    drawn = result.distributions["income"]
    inside = np.clip(table.loc[table["group"] == "f", "income"].dropna(), drawn.edges[0], drawn.edges[-1])
    counts = np.histogram(inside, drawn.edges)[0]
    np.testing.assert_allclose(drawn.shares["f"], counts / counts.sum())
    difference = result.table.loc[result.table["feature"] == "income", "difference"].iloc[0]
    assert difference == pytest.approx(own.mean()["m"] - own.mean()["f"])


def test_a_group_without_any_value_has_no_mean(tmp_path):
    table = incomes()
    table["group"] = np.repeat(["f", "m", "x", "y"], 250)
    table.loc[table["group"] == "x", "income"] = np.nan
    three = table[table["group"] != "y"]
    result = compare(three, groups="group", missing="impute", n_permutations=99, random_state=0)
    row = result.table[result.table["feature"] == "income"].iloc[0]
    assert np.isnan(row["mean x"]) and np.isfinite(row["mean f"])
    assert "100 %" in result.columns.iloc[0]["change"]
    alone = table[table["group"].isin(["f", "x"])]
    result = compare(alone, groups="group", missing="impute", n_permutations=99, random_state=0)
    assert "missing" in result.columns.iloc[0]["change"]
    result.to_html(tmp_path / "page.html")
    assert "missing" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_filled_rows_are_those_of_the_pair():
    rng = np.random.default_rng(12)
    x = rng.normal(size=300)
    x[200:] += 2
    x[:60] = np.nan
    table = pd.DataFrame({"x": x, "z": rng.normal(size=300), "site": np.repeat(list("abc"), 100)})
    found = compare_groups(table, groups="site", missing="impute", n_permutations=39).results["b", "c"]
    row = found.table[found.table["feature"] == "x"].iloc[0]
    assert row["mean b"] == pytest.approx(x[100:200].mean())
    assert row["mean c"] == pytest.approx(x[200:].mean())


def test_a_column_that_only_a_third_group_has():
    rng = np.random.default_rng(13)
    x = rng.normal(size=150)
    x[:100] = np.nan
    table = pd.DataFrame({"x": x, "z": rng.normal(size=150), "site": np.repeat(list("abc"), 50)})
    found = compare_groups(table, groups="site", missing="impute", n_permutations=19)
    assert np.isnan(found.results["a", "b"].table.set_index("feature").loc["x", "mean a"])


def test_a_flag_that_one_group_never_has(tmp_path):
    rng = np.random.default_rng(14)
    flag = np.concatenate([(rng.random(100) < 0.3).astype(float), np.full(100, np.nan)])
    table = pd.DataFrame({"f": flag, "z": rng.normal(size=200), "group": np.repeat(["a", "b"], 100)})
    result = compare(table, groups="group", missing="impute", n_permutations=99, random_state=0)
    assert "nan" not in result.columns["change"].str.cat()
    assert result.plot_feature("f") is not None
    result.to_html(tmp_path / "page.html", beside=result)
    assert "nan %" not in (tmp_path / "page.html").read_text(encoding="utf-8")
