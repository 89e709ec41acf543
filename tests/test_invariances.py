"""What must not change a result: the order of rows, the names and order of groups, storage, threads."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from benchmarks.promises import CHANGES, people, what_is_promised
from princdiff import SPARDA, compare, paired_test, permutation_test, split_test, stability_selection

pytestmark = pytest.mark.whole

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
    found = SPARDA(random_state=0, scale="pooled", certify=False).fit(X, y, weights)
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
    options = {"n_permutations": 39, "random_state": 0}
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


@pytest.fixture(scope="module")
def of_people():
    return what_is_promised(people(0), n_permutations=39)


@pytest.mark.parametrize("change", CHANGES)
def test_what_changes_nothing(of_people, change):
    pvalue, effect, columns = what_is_promised(CHANGES[change](people(0)), n_permutations=39)
    assert pvalue == of_people[0]
    np.testing.assert_allclose(effect, of_people[1], atol=1e-9)
    np.testing.assert_allclose(columns, of_people[2], rtol=1e-9)


def test_a_result_has_the_columns_as_the_table_had_them():
    table, options = people(0), {"groups": "group", "n_permutations": 39}
    names = list(table.columns.drop("group"))
    result, other = compare(table, **options), compare(table[table.columns[::-1]], **options)
    assert [coding.column for coding in result.codings] == names
    assert result.directions.index[0] == names[0]
    # Rows are scored by weights, factors and codings that belong together.
    expected, found = (one.score(table[names]).select_dtypes("number") for one in (result, other))
    pd.testing.assert_frame_equal(found, expected, rtol=1e-6)
