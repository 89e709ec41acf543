"""Fuzzers: what must not change an answer, and what must not be read, over tables drawn at random.

Each draws a small table of its own kind (continuous, counts, 0/1, heavy ties, constants, unbalanced) and
changes it in one way. ``PRINCDIFF_FUZZ`` multiplies the number of draws for a longer run.
"""

from __future__ import annotations

import copy
import json
import os
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from princdiff import PDA, SPARDA, compare, load, permutation_test, select_features

pytestmark = pytest.mark.whole

FACTOR = int(os.environ.get("PRINCDIFF_FUZZ", "1"))


def fuzz(examples):
    return settings(
        max_examples=examples * FACTOR,
        deadline=None,
        derandomize=FACTOR == 1,
        database=None,
        suppress_health_check=list(HealthCheck),
    )


KINDS = ("normal", "counts", "flags", "mixed", "tied", "constant", "heavy", "integers")


def column(kind, n_rows, rng):
    if kind == "normal":
        return rng.normal(size=n_rows)
    if kind == "counts":
        return rng.poisson(rng.uniform(0.2, 6), n_rows).astype(float)
    if kind == "flags":
        return (rng.random(n_rows) < rng.uniform(0.1, 0.9)).astype(float)
    if kind == "tied":
        return rng.choice(rng.normal(size=4), n_rows)
    if kind == "constant":
        return np.full(n_rows, rng.normal())
    if kind == "heavy":
        return rng.standard_t(1.5, n_rows)
    return rng.integers(-50, 50, n_rows).astype(float)


@st.composite
def tables(draw):
    """Rows and groups; some columns differ."""
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    sizes = [draw(st.integers(6, 25)), draw(st.integers(6, 40))]
    if draw(st.booleans()) and draw(st.booleans()):
        sizes.append(draw(st.integers(6, 20)))
    n_rows, n_features = sum(sizes), draw(st.integers(1, 6))
    kind = draw(st.sampled_from(KINDS))
    kinds = [rng.choice(KINDS) if kind == "mixed" else kind for _ in range(n_features)]
    X = np.column_stack([column(kind, n_rows, rng) for kind in kinds])
    y = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    if draw(st.booleans()):
        j = int(rng.integers(n_features))
        X[y == 1, j] = np.round(X[y == 1, j] * 2 + 1) if kind != "normal" else X[y == 1, j] + 1
    # A column that varies, or there is nothing to fit.
    X[:, 0] += rng.permutation(n_rows) % 3
    return X, y, seed


def test_of(X, y, seed, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return permutation_test(X, y, n_permutations=19, random_state=seed % 1000, **options)


test_of.__test__ = False


def fit_of(X, y, *, weights=None, scale="pooled", n_features=1):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return SPARDA(n_features, scale=scale, certify=False, random_state=0).fit(X, y, weights)


def same_test(found, expected):
    """Equal to the last digit: what was changed is undone before anything is summed."""
    np.testing.assert_array_equal(found.values, expected.values)
    np.testing.assert_array_equal(found.null, expected.null)
    assert found.pvalue == expected.pvalue


def nearly_same_test(found, expected):
    """Sums are rounded otherwise, and a search may end at another optimum of about the same value."""
    assert abs(found.pvalue - expected.pvalue) <= 1 / 20 + 1e-9
    searched = np.array([name in ("euclidean", "whitened") for name, _ in expected.levels])
    np.testing.assert_allclose(found.values[0, searched], expected.values[0, searched], rtol=0.05, atol=1e-5)
    np.testing.assert_allclose(
        found.values[:, ~searched], expected.values[:, ~searched], rtol=5e-3, atol=1e-4
    )


def same_fit(found, expected, *, unit=1.0):
    assert found.divergences_[0] == pytest.approx(expected.divergences_[0] * unit, rel=1e-5, abs=1e-12)


# Invariances.


@fuzz(6)
@given(tables())
def test_order_of_rows(table):
    X, y, seed = table
    order = np.random.default_rng(seed).permutation(len(y))
    same_test(test_of(X[order], y[order], seed), test_of(X, y, seed))
    same_fit(fit_of(X[order], y[order]), fit_of(X, y))


@fuzz(6)
@given(tables())
def test_order_of_columns(table):
    X, y, seed = table
    order = np.random.default_rng(seed).permutation(X.shape[1])
    same_fit(fit_of(X[:, order], y), fit_of(X, y))
    # Random starts are drawn column by column, so a search over several may end on another hill.
    first, second = (fit_of(Z, y, n_features=X.shape[1]) for Z in (X, X[:, order]))
    assert second.divergences_[0] == pytest.approx(first.divergences_[0], rel=0.02, abs=1e-9)


def select(X, y, seed, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return select_features(X, y, n_permutations=39, random_state=seed % 1000, **options)


@fuzz(5)
@given(tables())
def test_names_of_groups(table):
    X, y, seed = table
    names = np.array(["zoo", "ant", "mid"])
    same_test(test_of(X, names[y], seed), test_of(X, y, seed))
    same_fit(fit_of(X, names[y]), fit_of(X, y))
    a, b = select(X, y, seed), select(X, names[y], seed)
    np.testing.assert_array_equal(a.selected, b.selected)


@fuzz(8)
@given(tables(), st.sampled_from(["csr", "csc", "coo", "float32", "fortran", "frame", "list", "int64 index"]))
def test_storage(table, how):
    X, y, seed = table
    if how == "float32":
        X = X.astype(np.float32).astype(np.float64)
    stored = {
        "csr": sp.csr_matrix,
        "csc": sp.csc_matrix,
        "coo": sp.coo_matrix,
        "float32": lambda X: X.astype(np.float32),
        "fortran": np.asfortranarray,
        "frame": pd.DataFrame,
        "list": lambda X: X.tolist(),
        "int64 index": lambda X: sp.csr_array(
            (
                sp.csr_array(X).data,
                sp.csr_array(X).indices.astype(np.int64),
                sp.csr_array(X).indptr.astype(np.int64),
            ),
            shape=X.shape,
        ),
    }[how](X)
    if how == "frame":
        stored.columns = [f"c{j}" for j in range(X.shape[1])]
    alike = same_test if how in ("fortran", "frame", "list") else nearly_same_test
    alike(test_of(stored, y, seed), test_of(X, y, seed))
    same_fit(fit_of(stored, y), fit_of(X, y))
    np.testing.assert_array_equal(select(stored, y, seed).selected, select(X, y, seed).selected)


@pytest.mark.parametrize("stored", [sp.csr_matrix, lambda X: X + 1e4, lambda X: X * 3.0])
def test_distances_from_the_mean_do_not_depend_on_storage_or_units(stored):
    X = np.array([4, 5, 6, 2, 2, 8, 5, 6, 3, 6, 4, 3.0])[:, None]
    y = np.array([0, 1, 0, 1, 0, 0, 1, 1, 1, 1, 0, 0])
    nearly_same_test(test_of(stored(X), y, 1), test_of(X, y, 1))


@fuzz(6)
@given(tables(), st.integers(-30, 30))
def test_units(table, power):
    X, y, seed = table
    factor = 2.0**power
    same_test(test_of(X * factor, y, seed), test_of(X, y, seed))
    same_fit(fit_of(X * factor, y), fit_of(X, y))
    same_fit(fit_of(X * factor, y, scale=None), fit_of(X, y, scale=None), unit=factor**2)
    np.testing.assert_array_equal(select(X * factor, y, seed).selected, select(X, y, seed).selected)


@fuzz(6)
@given(tables(), st.sampled_from([1.0, 8.0, -1000.0]))
def test_offsets(table, offset):
    X, y, seed = table
    moved = X + offset
    nearly_same_test(test_of(moved, y, seed), test_of(X, y, seed))
    same_fit(fit_of(moved, y), fit_of(X, y))
    same_fit(fit_of(moved, y, scale=None), fit_of(X, y, scale=None))
    np.testing.assert_array_equal(select(moved, y, seed).selected, select(X, y, seed).selected)


@fuzz(5)
@given(tables())
def test_weights_are_copies(table):
    X, y, seed = table
    weights = np.random.default_rng(seed).integers(0, 4, len(y))
    for group in np.unique(y):
        weights[np.flatnonzero(y == group)[:2]] = 1
    copies = np.repeat(np.arange(len(y)), weights)
    for n_features in (1, X.shape[1]):
        weighted = fit_of(X, y, weights=weights.astype(float), n_features=n_features)
        repeated = fit_of(X[copies], y[copies], n_features=n_features)
        assert weighted.divergences_[0] == pytest.approx(repeated.divergences_[0], rel=2e-3, abs=1e-9)
    # The direction of one is as good for the other.
    if n_features == 1:
        same_fit(weighted, repeated)


@fuzz(3)
@given(tables())
def test_threads(table):
    X, y, seed = table
    first, second = test_of(X, y, seed, n_jobs=1), test_of(X, y, seed, n_jobs=2)
    np.testing.assert_array_equal(first.values, second.values)
    assert first.pvalue == second.pvalue
    np.testing.assert_array_equal(
        PDA(random_state=0, n_jobs=2).fit(X, y).components_,
        PDA(random_state=0, n_jobs=1).fit(X, y).components_,
    )


@fuzz(3)
@given(tables())
def test_tables_change_places(table):
    X, y, seed = table
    a, b = X[y == 0], X[y == 1]
    options = {"n_permutations": 19, "random_state": seed % 1000, "n_features": 1}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        first, second = compare(a, b, **options), compare(b, a, **options)
    assert first.pvalue == second.pvalue
    assert first.effect == pytest.approx(second.effect, rel=1e-3, abs=1e-6)
    assert first.divergences[0] == pytest.approx(second.divergences[0], rel=1e-6)


@fuzz(4)
@given(tables())
def test_own_rows_are_at_distance_zero(table):
    X, y, _ = table
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = compare(X, groups=y, n_permutations=0, random_state=0)
        for group in np.unique(y):
            scored = result.score(X[y == group])
            own = scored[scored["group"] == str(group)]
            assert (own["distance"] == 0).all() and (own["effect"] == 0).all()


# Damaged files.


@pytest.fixture(scope="module")
def saved():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=40), "b": rng.choice(list("xyz"), 40)})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return compare(frame, groups=np.repeat(["u", "v"], 20), n_permutations=19).to_json()


def shown(path):
    result = load(path)
    return str(result), repr(result), result.to_json()


@fuzz(40)
@given(st.data())
def test_files_with_flipped_or_lost_bytes(saved, tmp_path_factory, data):
    content = bytearray(saved.encode())
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(content) - 1))
        how = data.draw(st.sampled_from(["flip", "cut", "drop", "double"]))
        if how == "flip":
            content[place] ^= 1 << data.draw(st.integers(0, 7))
        elif how == "cut":
            del content[place:]
        elif how == "drop":
            del content[place : place + data.draw(st.integers(1, 30))]
        else:
            content[place:place] = content[place : place + data.draw(st.integers(1, 30))]
        if not content:
            break
    path = tmp_path_factory.mktemp("files") / "damaged.json"
    path.write_bytes(bytes(content))
    try:
        shown(path)
    except ValueError as error:
        assert "damaged.json" in str(error)


VALUES = st.sampled_from(
    [None, True, -1, 0, 3, 1e308, "x", "", [], {}, [[]], {"a": None}, [None], "Infinity"]
)


@fuzz(40)
@given(st.data())
def test_files_with_other_values(saved, tmp_path_factory, data):
    content = json.loads(saved)
    for _ in range(data.draw(st.integers(1, 2))):
        inner = content
        while True:
            keys = list(inner) if isinstance(inner, dict) else list(range(len(inner)))
            if not keys:
                break
            key = data.draw(st.sampled_from(keys))
            if isinstance(inner[key], (dict, list)) and inner[key] and data.draw(st.integers(0, 3)):
                inner = inner[key]
                continue
            inner[key] = copy.deepcopy(data.draw(VALUES))
            break
    path = tmp_path_factory.mktemp("files") / "damaged.json"
    path.write_text(json.dumps(content))
    try:
        shown(path)
    except ValueError as error:
        assert "damaged.json" in str(error)


@fuzz(25)
@given(st.data())
def test_damaged_tables_are_read_or_refused(tmp_path_factory, data):
    rng = np.random.default_rng(0)
    lines = ["u,v,g"] + [f"{rng.normal():.3f},{rng.integers(5)},{'ab'[i % 2]}" for i in range(24)]
    content = bytearray("\n".join(lines).encode())
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(content) - 1))
        how = data.draw(st.sampled_from(["flip", "drop", "insert"]))
        if how == "flip":
            content[place] ^= 1 << data.draw(st.integers(0, 7))
        elif how == "drop":
            del content[place : place + data.draw(st.integers(1, 8))]
        else:
            content[place:place] = data.draw(
                st.sampled_from([b",", b'"', b"\n", b"\x00", b"\xff", b";", b"nan"])
            )
        if len(content) < 2:
            break
    path = tmp_path_factory.mktemp("files") / "table.csv"
    path.write_bytes(bytes(content))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compare(path, groups="g", n_permutations=0, n_features=1)
    except (ValueError, KeyError) as error:
        assert len(str(error)) > 10
