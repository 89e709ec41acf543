"""Regions through the front door: words, shares, and what is refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from princdiff import find_regions


def people(seed, n_rows=1500):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "age": rng.integers(18, 80, n_rows),
            "plan": rng.choice(["basic", "gold", "silver"], n_rows),
            "smoker": rng.choice(["no", "yes"], n_rows),
            "score": rng.normal(size=n_rows),
        }
    )


def changed(seed=1):
    after = people(seed)
    after.loc[:199, "plan"] = "gold"
    after.loc[:199, "age"] = np.random.default_rng(seed).integers(62, 80, 200)
    return after


def test_a_region_in_words():
    found = find_regions(people(0), changed(), n_regions=1)
    (region,) = found.significant
    assert region.name.startswith("age above ") and region.name.endswith(" and plan = gold")
    assert 0.07 < region.shares["X"] < 0.12 and 0.18 < region.shares["Y"] < 0.26 and region.pvalue < 1e-4
    assert str(found).splitlines()[0] == str(region)
    assert found.to_frame()["significant"].tolist() == [True]
    assert found.n_searched == found.n_tested == 1500


def test_the_order_of_rows_and_the_seed():
    table = pd.concat([people(0).assign(when="a"), changed().assign(when="b")], ignore_index=True)
    found = find_regions(table, groups="when", random_state=3)
    shuffled = table.sample(frac=1, random_state=0)
    assert find_regions(shuffled, groups="when", random_state=3) == found


def test_nothing_is_said_of_nothing():
    found = find_regions(people(0), people(2))
    assert found.significant == [] and str(found).startswith("No region could be shown")


def test_gaps_flags_and_absent_levels():
    before, after = people(3), people(4)
    after.loc[:300, "score"] = np.nan
    found = find_regions(before, after, missing="impute")
    assert found.significant[0].name == "score missing"
    after = people(4)
    after.loc[:400, "smoker"] = "no"
    assert find_regions(before, after, exclude=["score"]).significant[0].name == "smoker = yes"


def test_what_is_refused():
    table = people(0).assign(group=np.tile(["a", "b", "c"], 500))
    with pytest.raises(ValueError, match="regions are found between two groups, and there are 3"):
        find_regions(table, groups="group")
    with pytest.raises(ValueError, match="group Y has 30 rows, and 40 are needed"):
        find_regions(people(0), people(1)[:30])
    with pytest.raises(TypeError, match="find_regions has no parameter 'blocks'"):
        find_regions(table, groups="group", blocks="plan")
    with pytest.raises(ValueError, match="missing"):
        find_regions(people(0), changed(), missing="perhaps")
