"""The words tell what the test saw: a share, a median, a spread, and never values that were filled in."""

import numpy as np
import pandas as pd
import pytest

from princdiff import compare
from princdiff.result.clearest_change import clearest_change, clearest_kind


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
    assert row["kind"] == "proportion"
    assert row["change"] in (
        f"1: {100 * shares[0]:.0f} % → {100 * shares[1]:.0f} %",
        f"0.99: {100 * np.mean(before == 0.99):.0f} % → {100 * np.mean(after == 0.99):.0f} %",
    )
    assert row["measure"].startswith("proportion of v = ")
    assert row["effect"] > 0.5


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
    assert row["kind"] == "proportion" and row["change"].startswith("0: ")


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
