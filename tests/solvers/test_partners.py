from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LinearRegression

from princdiff import SPARDA
from princdiff.solvers.sparsity import partners_of


def correlated(n_rows=80, n_features=9, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n_rows, 3)) @ rng.normal(size=(3, n_features)) + rng.normal(
        size=(n_rows, n_features)
    )


@pytest.mark.parametrize("seed", range(5))
def test_each_is_what_least_squares_explains_best(seed):
    rows, taken = correlated(seed=seed), [4, 1]
    features, explained = partners_of(rows, np.array(taken), 6)
    for feature, share in zip(features, explained, strict=True):
        others = [j for j in range(rows.shape[1]) if j not in taken]
        shares = [
            LinearRegression().fit(rows[:, taken], rows[:, j]).score(rows[:, taken], rows[:, j])
            for j in others
        ]
        assert feature == others[int(np.argmax(shares))]
        assert share == pytest.approx(max(shares), abs=1e-9)
        taken.append(int(feature))


def test_sparse_rows_units_and_places_change_nothing():
    rows = np.where(np.random.default_rng(1).random((80, 9)) < 0.6, 0.0, correlated())
    features, explained = partners_of(rows, np.array([0, 3]), 5)
    factors = 10.0 ** np.arange(-4, 5)
    for other in (sp.csr_matrix(rows), rows * factors + 1, -rows, np.tile(rows, (2, 1)), rows * 1e300):
        found, shares = partners_of(other, np.array([0, 3]), 5)
        assert found.tolist() == features.tolist()
        assert shares == pytest.approx(explained, abs=1e-6)


def test_constants_are_never_partners_and_copies_always():
    rows = correlated()
    rows[:, 5] = 3.0
    rows[:, 7] = 2 * rows[:, 0] - 5
    features, explained = partners_of(rows, np.array([0]), 20)
    assert features[0] == 7
    assert explained[0] == pytest.approx(1.0)
    assert 5 not in features
    assert len(features) == len(set(features)) == 7


@given(st.integers(1, 12), st.integers(2, 8), st.integers(0, 10**6))
def test_any_shape_gives_shares_between_zero_and_one_and_no_feature_twice(n_rows, n_features, seed):
    rows = np.random.default_rng(seed).integers(-2, 3, size=(n_rows, n_features)).astype(float)
    features, explained = partners_of(rows, np.array([0]), n_features + 3)
    varying = np.flatnonzero(np.ptp(rows, axis=0) > 0)
    assert (
        sorted({0, *features.tolist()}) == sorted([0, *features.tolist()]) == sorted({0, *varying.tolist()})
    )
    assert ((explained >= 0) & (explained <= 1)).all()


@pytest.mark.parametrize("offset", [1e6, 1e8, -1e10])
def test_features_far_from_zero_have_the_same_partners(offset):
    rows = correlated()
    features, explained = partners_of(rows, np.array([2]), 5)
    found, shares = partners_of(rows + offset, np.array([2]), 5)
    assert found.tolist() == features.tolist()
    assert shares == pytest.approx(explained, abs=1e-4)


def test_copies_are_partners_that_are_wholly_explained():
    for seed in range(30):
        column = np.random.default_rng(seed).normal(size=50)
        features, _ = partners_of(np.column_stack([column, 3 * column + 1]), np.array([0]), 1, least=1.0)
        assert features.tolist() == [1]


def test_of_a_fit_by_name_and_only_what_is_well_explained():
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(rng.normal(size=(200, 6)), columns=list("abcdef"))
    groups = np.repeat([0, 1], 100)
    rows.loc[groups == 1, "c"] += 2
    rows["e"] = rows["c"] + 0.2 * rows["e"]
    fit = SPARDA(1, certify=False, random_state=0).fit(rows, groups)
    chosen = rows.columns[fit.support_][0]
    found = fit.partners(rows)
    assert found["feature"].tolist() == [{"c": "e", "e": "c"}[chosen]]
    assert found["explained"].between(0.9, 1).all()
    assert len(fit.partners(rows, min_explained=0)) == 5
    assert len(fit.partners(rows, n_partners=2, min_explained=0)) == 2
    # Groups play no part: other rows of the same table give the same partner.
    assert fit.partners(rows[groups == 0])["feature"].tolist() == found["feature"].tolist()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"n_partners": 0}, "n_partners must be a positive whole number"),
        ({"min_explained": 1.5}, "min_explained must be at least 0 and at most 1"),
        ({"min_explained": "much"}, "min_explained must be at least 0 and at most 1"),
    ],
)
def test_bad_options_are_refused_by_name(options, words):
    rows = correlated()
    fit = SPARDA(1, certify=False, random_state=0).fit(rows, np.arange(80) % 2)
    with pytest.raises(ValueError, match=words):
        fit.partners(rows, **options)
    with pytest.raises(ValueError, match="9 features"):
        fit.partners(rows[:, :4])
