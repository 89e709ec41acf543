"""Groups made alike in the covariates: adjusted means and differences, and what is said of them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import princdiff
from princdiff.data.problem import Design, Problem
from princdiff.result.adjustment import adjusting_weights, balance_of
from princdiff.selection.intervals import selected_effects
from princdiff.words import wording

pytestmark = pytest.mark.whole

QUICK = {"n_permutations": 99, "random_state": 0}


def cohort(seed, n=150, shift=0.0, n_groups=2):
    """Pressure rises with age, bent, and spreads; later groups are older; one column is shifted by hand."""
    rng = np.random.default_rng(seed)
    group = np.repeat(np.arange(n_groups), n)
    age = rng.normal(50 + 6 * group, 10)
    site = np.where(rng.random(len(group)) < 0.3 + 0.2 * group, "north", "south")
    pressure = 100 + age * (1 + 0.1 * rng.normal(size=len(group))) + (age - 50) ** 2 / 20
    return pd.DataFrame(
        {
            "pressure": pressure + shift * (group == n_groups - 1),
            "noise": rng.normal(size=len(group)),
            "age": age,
            "site": site,
            "group": np.array(list("abc"))[group],
        }
    )


@pytest.mark.parametrize("n_groups", [2, 3])
def test_groups_are_alike_in_the_covariates_with_the_weights(n_groups):
    table = cohort(0, n_groups=n_groups)
    result = princdiff.compare(table, groups="group", covariates=["age", "site"], **QUICK)
    balance = result.balance.set_index("covariate")
    spread = np.sqrt(table.groupby("group")["age"].var(ddof=0).mean())
    means = table.groupby("group")["age"].mean()
    assert balance.loc["age", "before"] == pytest.approx((means.max() - means.min()) / spread)
    assert balance["after"].abs().max() < 0.1 < 0.4 < balance["before"].abs().max()
    assert balance.loc["age", "mean a before"] == pytest.approx(means["a"])
    assert any("largest standardised difference" in note for note in result.notes)


def test_what_is_told_is_the_adjusted_difference(tmp_path):
    table = cohort(1, shift=-12.0)
    result = princdiff.compare(table, groups="group", covariates="age", **QUICK)
    opening = wording.opening(result)
    assert opening.startswith("Adjusted for age, the groups a and b differ")
    row = result.columns.set_index("column").loc["pressure"]
    # The older group has the higher mean as it is, and the lower one at equal ages.
    raw = table.groupby("group")["pressure"].mean()
    assert raw["b"] - raw["a"] > -8
    assert row["difference"] == pytest.approx(-12, abs=2.5)
    assert row["difference_low"] < -12 < row["difference_high"] < 0
    told = result.table.set_index("feature").loc["pressure"]
    assert told["mean b"] - told["mean a"] == pytest.approx(row["difference"], abs=1.5)
    path = result.save(tmp_path / "result.json")
    assert princdiff.load(path) == result
    page = result.to_html(tmp_path / "page.html").read_text(encoding="utf-8")
    assert "their standardised differences, before and after" in page


def test_no_difference_is_said_to_be_adjusted():
    table = cohort(2)
    assert princdiff.compare(table, groups="group", **QUICK).selected_columns[0] in ("age", "pressure")
    result = princdiff.compare(table, groups="group", covariates=["age", "site"], **QUICK)
    assert wording.opening(result).startswith("Adjusted for age and site, no difference")
    plain = princdiff.compare(table, groups="group", exclude=["age", "site", "pressure"], **QUICK)
    assert plain.balance.empty and wording.opening(plain).startswith("No difference")
    with pytest.raises(ValueError, match="without covariates, so there is no balance"):
        plain.plot_balance()


def test_the_balance_is_drawn():
    result = princdiff.compare(cohort(3), groups="group", covariates="age", **QUICK)
    ax = result.plot_balance()
    before, after = (float(line.get_xdata()[0]) for line in ax.lines[:2])
    assert before == pytest.approx(abs(result.balance["before"][0]))
    assert after == pytest.approx(abs(result.balance["after"][0]))


def test_a_covariate_that_groups_do_not_share_is_refused():
    table = cohort(4)
    table.loc[table["group"] == "b", "age"] += 100
    with pytest.raises(ValueError, match=r"do not overlap in the covariate 'age' .* in 'a' and .* in 'b'"):
        princdiff.compare(table, groups="group", covariates="age", **QUICK)


def test_the_interval_covers_the_adjusted_difference():
    covered, n_sets = 0, 60
    for seed in range(n_sets):
        table = cohort([5, seed], 80, shift=5.0)
        design = Design(covariates=table["age"].to_numpy())
        problem = Problem.from_arrays(table[["pressure", "noise"]], table["group"], design=design)
        described = Problem.from_arrays(
            table[["pressure", "noise"]],
            table["group"],
            design=Design(adjusting_weights(problem), covariates=table["age"].to_numpy()),
        )
        found = selected_effects(described, {"pressure": "shift"}, alpha=0.1).loc["pressure"]
        covered += found["low"] <= 5 <= found["high"]
    assert covered >= 0.95 * n_sets - 3 * np.sqrt(0.95 * 0.05 * n_sets)


def test_weights_of_whole_blocks_and_of_rows_inside_blocks():
    rng = np.random.default_rng(6)
    block = np.repeat(np.arange(40), 3)
    age = (rng.normal(size=40) + (np.arange(40) >= 20))[block]
    rows = rng.normal(size=(120, 2))
    whole = Problem.from_arrays(rows, block >= 20, design=Design(blocks=block, covariates=age))
    weights = adjusting_weights(whole)
    assert all(len(np.unique(weights[block == one].round(12))) == 1 for one in range(40))
    assert balance_of(whole, weights)["after"].abs().max() < 0.1
    inside = rng.normal(size=120)
    y = (inside + rng.logistic(size=120) > 0).astype(int)
    strata = Problem.from_arrays(
        rows, y, design=Design(blocks=block // 10, covariates=inside, permute="within")
    )
    before, after = balance_of(strata, adjusting_weights(strata)).loc[0, ["before", "after"]]
    assert before > 0.4 and abs(after) < 0.15
