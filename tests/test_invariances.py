"""What must not change a result: the order of rows, the names and order of groups, storage, threads."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from princdiff import SPARDA, compare, paired_test, permutation_test, split_test, stability_selection

warnings.filterwarnings("ignore", category=UserWarning)


def table(kind: str, seed: int = 0, sizes=(40, 55), n_features: int = 5):
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.repeat([0, 1], sizes))
    if kind == "continuous":
        X = rng.normal(size=(len(y), n_features))
        X[y == 1, 2] += 0.7
    else:
        # Few different rows: most have others that are alike, some of them in the other group.
        X = (rng.random((len(y), n_features)) < 0.4).astype(float)
        X[y == 1, 2] = rng.random((y == 1).sum()) < 0.7
    return X, y


def fit(X, y, weights=None):
    found = SPARDA(random_state=0, scale="pooled").fit(X, y, weights)
    return {
        "divergence": found.divergences_[0],
        "chosen": found.path_.chosen,
        "held out": found.path_.held_out,
    }


def permuted(X, y, weights=None):
    found = permutation_test(X, y, n_permutations=39, random_state=0, sample_weight=weights)
    # A few relabellings end at another optimum of about the same value when labels swap their names.
    return {"pvalue": found.pvalue, "statistic": found.statistic, "middle": np.median(found.null)}


def split(X, y, weights=None):
    found = split_test(X, y, n_permutations=99, random_state=0, n_features=2)
    return {"statistics": found.statistics}


def halves(X, y, weights=None):
    found = stability_selection(X, y, n_features=2, n_pairs=10, random_state=0)
    return {"frequencies": found.frequencies}


CALLS = [fit, permuted, split, halves]
KINDS = ["continuous", "zeros and ones"]


def same(found, expected, rtol=2e-3):
    for name in expected:
        np.testing.assert_allclose(found[name], expected[name], rtol=rtol, atol=1e-3, err_msg=name)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("call", CALLS)
def test_the_order_of_rows(call, kind):
    X, y = table(kind)
    expected = call(X, y)
    for seed in range(2):
        order = np.random.default_rng(seed).permutation(len(y))
        same(call(X[order], y[order]), expected)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("call", CALLS)
def test_the_names_of_groups(call, kind):
    X, y = table(kind)
    expected = call(X, y)
    same(call(X, 1 - y), expected)
    same(call(X, np.array(["zoo", "ant"])[y]), expected)


@pytest.mark.parametrize("call", CALLS)
def test_storage_and_precision(call):
    X, y = table("zeros and ones")
    expected = call(X, y)
    same(call(sp.csr_matrix(X), y), expected)
    same(call(X.astype(np.float32), y), expected)
    same(call(np.asfortranarray(X), y), expected)


@pytest.mark.parametrize("kind", KINDS)
def test_two_tables_change_places(kind):
    X, y = table(kind)
    first, second = X[y == 0], X[y == 1]
    options = {"n_permutations": 39, "random_state": 0, "select": False}
    one, other = compare(first, second, **options), compare(second, first, **options)
    assert one.pvalue == other.pvalue
    assert one.effect == pytest.approx(other.effect, abs=1e-3)
    assert one.divergences[0] == pytest.approx(other.divergences[0], rel=2e-3)
    weights, swapped = (result.table.set_index("feature")["weight"] for result in (one, other))
    np.testing.assert_allclose(weights.abs(), swapped[weights.index].abs(), atol=2e-3)


def test_pairs_change_places():
    rng = np.random.default_rng(0)
    before = rng.normal(size=(25, 3))
    after = before + 0.2 + 0.5 * rng.normal(size=(25, 3))
    options = {"n_permutations": 99, "random_state": 0}
    expected = paired_test(before, after, **options).pvalue
    order = rng.permutation(25)
    assert paired_test(after, before, **options).pvalue == expected
    # The units are blocks, numbered by their place: shuffled, other relabellings are drawn.
    assert abs(paired_test(before[order], after[order], **options).pvalue - expected) < 0.15


def people(seed=0):
    """Numbers, a flag and a category of two groups, one number shifted."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "weight": rng.normal(70, 10, 120),
            "age": rng.normal(50, 9, 120).round(1),
            "visits": rng.poisson(3, 120),
            "smoker": rng.random(120) < 0.3,
            "city": rng.choice(["Bern", "Chur", "Basel"], 120),
            "group": np.repeat(["a", "b"], 60),
        }
    )
    frame.loc[frame["group"] == "b", "weight"] += 6
    return frame


CHANGES = {
    "columns reversed": lambda frame: frame[frame.columns[::-1]],
    "columns shuffled": lambda frame: frame.sample(frac=1, axis=1, random_state=1),
    "rows shuffled": lambda frame: frame.sample(frac=1, random_state=2),
    "rows numbered anew": lambda frame: frame.set_axis(np.arange(500, 620)),
    "groups renamed": lambda frame: frame.assign(group=frame["group"].map({"a": "z", "b": "y"})),
    "another unit": lambda frame: frame.assign(weight=1000 * frame["weight"]),
    "another zero": lambda frame: frame.assign(weight=frame["weight"] + 273.15),
    "floats for integers": lambda frame: frame.assign(visits=frame["visits"].astype(float)),
    "integers for flags": lambda frame: frame.assign(smoker=frame["smoker"].astype(int)),
    "categories for texts": lambda frame: frame.assign(city=frame["city"].astype("category")),
}


@pytest.fixture(scope="module")
def of_people():
    return compare(people(), groups="group", n_permutations=99, certify=False)


@pytest.mark.parametrize("change", CHANGES)
def test_what_changes_nothing(of_people, change):
    found = compare(CHANGES[change](people()), groups="group", n_permutations=99, certify=False)
    assert found.pvalue == of_people.pvalue
    assert found.effect == pytest.approx(of_people.effect, abs=1e-3)
    assert found.effect_interval == pytest.approx(of_people.effect_interval, abs=1e-3)
    expected = of_people.columns.set_index("column")["pvalue"]
    np.testing.assert_allclose(
        found.columns.set_index("column")["pvalue"][expected.index], expected, rtol=1e-6
    )


def test_a_result_has_the_columns_as_the_table_had_them(of_people):
    names = ["weight", "age", "visits", "smoker", "city"]
    assert [coding.column for coding in of_people.codings] == names
    assert of_people.directions.index[0] == "weight"
    other = compare(people()[["age", *names[2:], "group", "weight"]], groups="group", n_permutations=99)
    # Rows are scored by weights, factors and codings that belong together.
    expected, found = (result.score(people()[names]).select_dtypes("number") for result in (of_people, other))
    pd.testing.assert_frame_equal(found, expected, rtol=1e-6)
