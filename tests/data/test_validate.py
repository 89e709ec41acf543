"""Bad input through the estimators: each a clear error or a defined result."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError

from princdiff import PDA, SPARDA

ESTIMATORS = [PDA(effort="fast", random_state=0), SPARDA(2, effort="fast", random_state=0)]


def data(n_rows=20, n_features=4, seed=0):
    return np.random.default_rng(seed).normal(size=(n_rows, n_features)), np.arange(n_rows) % 2


def fast(**parameters):
    return SPARDA(**parameters, effort="fast", random_state=0)


# ---------------------------------------------------------------- rows


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_missing_and_infinite_values_name_their_columns(estimator, bad):
    X, y = data()
    X[3, 1] = X[5, 1] = X[0, 3] = bad
    for rows in (X, sp.csr_matrix(X), X.astype(np.float32), X.tolist()):
        with pytest.raises(ValueError, match=r"NaN or infinity: columns '1', '3' are affected \(2, 1 val"):
            estimator.fit(rows, y)
    table = pd.DataFrame(X, columns=["age", "height", "weight", "income"])
    with pytest.raises(ValueError, match=r"columns 'height', 'income' are affected"):
        estimator.fit(table, y)
    fitted = estimator.fit(table.fillna(0).replace([np.inf, -np.inf], 0), y)
    with pytest.raises(ValueError, match="'height', 'income'"):
        fitted.transform(table)
    with pytest.raises(ValueError, match="'height', 'income'"):
        fitted.score(table, y)


def test_many_bad_columns_are_counted_not_listed():
    X, y = data(n_features=30)
    X[0] = np.nan
    with pytest.raises(ValueError, match=r"'0', '1', '2', '3', '4' and 25 more are"):
        PDA().fit(X, y)


def test_missing_values_of_nullable_columns():
    table = pd.DataFrame({"count": pd.array([1, None, 3, 4], dtype="Int64"), "size": [1.0, 2.0, 3.0, 5.0]})
    with pytest.raises(ValueError, match="column 'count' is affected"):
        PDA().fit(table, [0, 0, 1, 1])


def test_opposite_infinities_do_not_cancel():
    X, y = data()
    X[0, 2], X[1, 2] = np.inf, -np.inf
    with pytest.raises(ValueError, match="column '2' is affected"):
        PDA().fit(X, y)


@pytest.mark.filterwarnings("error")
def test_large_finite_values_are_not_taken_for_infinite():
    # Their sum overflows, they do not.
    X, y = data()
    found = PDA(scale="pooled", effort="fast", random_state=0).fit(X * 1e307, y)
    same = PDA(scale="pooled", effort="fast", random_state=0).fit(X, y)
    np.testing.assert_allclose(found.divergences_, same.divergences_, rtol=1e-6)


@pytest.mark.parametrize("size", [1e-200, 1e200])
def test_squares_out_of_range_are_refused(size):
    X, y = data()
    with pytest.raises(ValueError, match=r'standard deviation.*rescale the data or use scale="pooled"'):
        PDA().fit(X * size, y)


def test_text_and_dates_name_their_columns():
    y = [0, 0, 1, 1]
    table = pd.DataFrame(
        {
            "size": [1.0, 2.0, 3.0, 4.0],
            "name": list("abcd"),
            "kind": pd.Categorical(list("aabb")),
            "when": pd.date_range("2020-01-01", periods=4),
        }
    )
    with pytest.raises(ValueError, match="columns 'name', 'kind', 'when' are not numeric"):
        PDA().fit(table, y)
    with pytest.raises(ValueError, match="X holds text, but numbers are needed: 'a' in column 0, row 0"):
        PDA().fit(np.array([["a"], ["b"], ["c"], ["d"]]), y)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_another_number_of_columns(estimator):
    X, y = data()
    fitted = estimator.fit(X, y)
    for method in (lambda: fitted.transform(X[:, :3]), lambda: fitted.score(X[:, :3], y)):
        with pytest.raises(ValueError, match=r"X has 3 features, but .* is expecting 4 features"):
            method()


def test_other_column_names():
    X, y = data()
    fitted = PDA(effort="fast").fit(pd.DataFrame(X, columns=list("abcd")), y)
    with pytest.raises(ValueError, match="feature names should match"):
        fitted.transform(pd.DataFrame(X, columns=list("abdc")))


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (pd.DataFrame(), "0 feature"),
        (pd.DataFrame(index=range(5)), r"0 feature\(s\) \(shape=\(5, 0\)\)"),
        (pd.DataFrame({"a": []}), "0 sample"),
        (np.empty((0, 3)), "0 sample"),
        (np.empty((5, 0)), "0 feature"),
        (sp.csr_matrix((5, 0)), "0 feature"),
    ],
)
def test_empty_tables(table, message):
    with pytest.raises(ValueError, match=message):
        PDA().fit(table, np.arange(table.shape[0]) % 2)


def test_one_dimension_only():
    with pytest.raises(ValueError, match="Expected 2D array"):
        PDA().fit(np.arange(6.0), [0, 0, 0, 1, 1, 1])


@pytest.mark.parametrize("estimator", [*ESTIMATORS, SPARDA(4), SPARDA(penalty=0.1), SPARDA()])
@pytest.mark.parametrize("scale", [None, "pooled", "within"])
@pytest.mark.parametrize("container", [np.asarray, sp.csr_matrix])
def test_constant_columns_are_kept_with_weight_zero(estimator, scale, container):
    X, y = data()
    X[:, 1], X[:, 3] = 7.25, 0.0
    found = estimator.set_params(scale=scale, effort="fast", random_state=0).fit(container(X), y)
    assert found.components_.shape == (1, 4)
    assert not found.components_[0, [1, 3]].any()
    assert not found.support_[[1, 3]].any()
    assert not found.shares_[0, [1, 3]].any()
    assert found.divergences_[0] > 0


@pytest.mark.parametrize("estimator", [PDA(), SPARDA(1), SPARDA(2), SPARDA(penalty=0.1), SPARDA()])
def test_a_constant_first_column_does_not_win_where_nothing_differs(estimator):
    X = np.array([[5.0, 0.0, 1.0], [5.0, 1.0, 0.0]] * 4)
    found = estimator.set_params(effort="fast", random_state=0).fit(X, np.repeat([0, 1], 4))
    assert found.divergences_[0] == 0.0
    assert found.components_[0, 0] == 0.0


@pytest.mark.parametrize("scale", [None, "pooled", "within"])
@pytest.mark.parametrize(
    "estimator", [PDA(), SPARDA(1), SPARDA(penalty=0.1), SPARDA("auto"), SPARDA(penalty="auto")]
)
def test_data_without_any_variation(estimator, scale):
    X, y = np.full((8, 3), 0.1), np.arange(8) % 2
    found = estimator.set_params(scale=scale, random_state=0).fit(X, y)
    assert found.divergences_[0] == 0.0
    for weights in (found.components_, found.shares_, found.support_):
        assert not weights.any()
    np.testing.assert_array_equal(found.transform(X, y if scale == "within" else None), np.zeros((8, 1)))
    assert found.score(X, y) == 0.0


@pytest.mark.parametrize("estimator", [PDA(), SPARDA(2), SPARDA(4), SPARDA(penalty=0.1), SPARDA()])
@pytest.mark.parametrize("container", [np.asarray, sp.csr_matrix])
def test_within_a_feature_constant_in_one_group_has_weight_zero(estimator, container):
    X, y = data(40)
    X[y == 0, 2] = 3.0
    X[y == 1, 2] *= 50.0
    found = estimator.set_params(scale="within", random_state=0).fit(container(X), y)
    assert found.components_[0, 2] == 0.0
    assert not found.support_[2]
    assert found.score(container(X), y) == pytest.approx(found.divergences_[0], rel=1e-9)


# ---------------------------------------------------------------- groups


def test_one_group_only():
    X, _ = data()
    with pytest.raises(ValueError, match="only one class, 'ill': at least two groups"):
        PDA().fit(X, np.repeat("ill", 20))


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_fewer_than_two_rows_in_a_group(estimator):
    X, _ = data()
    with pytest.raises(ValueError, match=r"group 'rare' is too small: only one row.*at least two rows"):
        estimator.fit(X, np.array(["many"] * 19 + ["rare"]))


@pytest.mark.parametrize("estimator", [SPARDA(), SPARDA(penalty="auto")])
def test_nothing_to_leave_out_where_one_row_carries_a_group(estimator):
    X, y = data()
    weights = np.where((y == 0) | (np.arange(20) == 1), 1.0, 0.0)
    with pytest.raises(ValueError, match=r"one row with weight only.*give n_features or penalty"):
        estimator.fit(X, y, weights)


def test_too_many_groups():
    X = np.random.default_rng(0).normal(size=(600, 1))
    with pytest.raises(ValueError, match="300 groups; at most 254"):
        PDA().fit(X, np.arange(600) % 300)
    assert PDA(effort="fast").fit(X[:508], np.arange(508) % 254).classes_.shape == (254,)


@pytest.mark.parametrize("length", [0, 19, 21])
def test_another_number_of_labels(length):
    X, _ = data()
    with pytest.raises(ValueError, match=f"y has {length} labels but X has 20 rows"):
        PDA().fit(X, np.arange(length) % 2)
    fitted = PDA(effort="fast").fit(*data())
    with pytest.raises(ValueError, match=f"y has {length} labels but X has 20 rows"):
        fitted.score(X, np.arange(length) % 2)


@pytest.mark.parametrize(
    "labels",
    [
        np.array([0.0, 1.0] * 9 + [np.nan, 1.0]),
        np.array(["a", "b"] * 9 + [None, "b"], dtype=object),
        np.array(["a", "b"] * 9 + [np.nan, "b"], dtype=object),
        pd.Series(["a", "b"] * 9 + [pd.NA, "b"], dtype="string"),
        pd.Series([0, 1] * 9 + [pd.NA, 1], dtype="Int64"),
    ],
    ids=["float", "None", "object", "string", "Int64"],
)
def test_missing_labels(labels):
    X, _ = data()
    with pytest.raises(
        ValueError, match="y contains NaN: it is missing in 1 of 20 rows, the first is row 18"
    ):
        PDA().fit(X, labels)


def test_no_labels_at_all():
    X, _ = data()
    with pytest.raises(ValueError, match="y says which group a row is in"):
        PDA().fit(X, None)


def test_labels_of_several_kinds():
    X, _ = data()
    with pytest.raises(ValueError, match=r"y mixes labels that cannot be sorted \(int, str\)"):
        PDA().fit(X, np.array(["a"] * 10 + [1] * 10, dtype=object))
    # A list of them must not become texts: 1 and "1" would be one group.
    with pytest.raises(ValueError, match=r"y mixes labels that cannot be sorted \(int, str\)"):
        PDA().fit(X, ["1"] * 10 + [1] * 5 + [2] * 5)


def test_measurements_instead_of_labels():
    X, _ = data()
    with pytest.raises(ValueError, match=r"holds numbers with fractions such as .* cut them into groups"):
        PDA().fit(X, X[:, 0])


def test_labels_in_two_columns():
    X, y = data()
    with pytest.raises(ValueError, match="1d array"):
        PDA().fit(X, np.stack([y, y], axis=1))


def test_groups_that_score_does_not_know_or_miss():
    X, y = data()
    fitted = PDA(effort="fast").fit(X, np.array(["a", "b"])[y])
    with pytest.raises(ValueError, match="not in the fit: 'c'"):
        fitted.score(X, np.array(["a", "c"])[y])
    with pytest.raises(ValueError, match="no row of group 'b'"):
        fitted.score(X, np.repeat("a", 20))


# ---------------------------------------------------------------- weights


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_negative_weights(estimator):
    X, y = data()
    weights = np.ones(20)
    weights[[4, 7]] = -0.5, -2.0
    with pytest.raises(
        ValueError,
        match=r"must not be negative: it is in 2 of 20 rows, the first is row 4 with -0\.5",
    ):
        estimator.fit(X, y, weights)
    with pytest.raises(ValueError, match="sample_weight must not be negative"):
        estimator.fit(X, y).score(X, y, weights)


def test_a_group_without_weight():
    X, y = data()
    with pytest.raises(ValueError, match="group '1' is left without weight"):
        PDA().fit(X, y, 1.0 - y)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_weights_that_are_not_numbers(bad):
    X, y = data()
    weights = np.ones(20)
    weights[3] = bad
    with pytest.raises(ValueError, match="sample_weight"):
        PDA().fit(X, y, weights)


def test_another_number_of_weights():
    X, y = data()
    with pytest.raises(ValueError, match="sample_weight"):
        PDA().fit(X, y, np.ones(19))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("size", [1e-300, 1e307])
def test_only_the_ratios_of_weights_matter(size):
    X, y = data()
    weights = np.random.default_rng(1).integers(1, 4, size=20) * 1.0
    plain = PDA(scale="pooled", effort="fast", random_state=0).fit(X, y, weights)
    other = PDA(scale="pooled", effort="fast", random_state=0).fit(X, y, weights * size)
    np.testing.assert_allclose(other.divergences_, plain.divergences_, rtol=1e-6)


# ---------------------------------------------------------------- parameters


@pytest.mark.parametrize("level", [0, -1, 5, 100])
def test_a_number_of_features_out_of_range(level):
    with pytest.raises(ValueError, match=f"n_features must be between 1 and 4, got {level}"):
        SPARDA(level).fit(*data())


@pytest.mark.parametrize("level", [True, False, 2.0, 1.5, "two", [2], np.bool_(True), np.nan])
def test_a_number_of_features_that_is_none(level):
    with pytest.raises(ValueError, match="n_features must be a whole number or 'auto'"):
        SPARDA(level).fit(*data())


def test_whole_numbers_of_numpy_are_whole_numbers():
    assert fast(n_features=np.int64(1)).fit(*data()).support_.sum() == 1


@pytest.mark.parametrize("penalty", [-1.0, -1e-12, np.nan, np.inf, True, "strong", [1.0]])
def test_a_penalty_out_of_range(penalty):
    with pytest.raises(ValueError, match="penalty must be a number >= 0, 'auto' or None"):
        SPARDA(penalty=penalty).fit(*data())


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("effort", ["fast", "default"])
@pytest.mark.parametrize("size", [1e-140, 1.0])
def test_a_penalty_beyond_all_divergence_leaves_the_best_feature(effort, size):
    X, y = data()
    found = SPARDA(penalty=1e300, effort=effort, random_state=0).fit(X * size, y)
    np.testing.assert_array_equal(found.support_, SPARDA(1, random_state=0).fit(X, y).support_)


@pytest.mark.parametrize("penalty", [0.5, 0.0, "auto"])
@pytest.mark.parametrize("level", [2, "auto"])
def test_both_a_number_and_a_penalty(level, penalty):
    with pytest.raises(ValueError, match="n_features or penalty, not both"):
        SPARDA(level, penalty=penalty).fit(*data())


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("scale", "Pooled", "scale must be one of None, 'pooled', 'within', got 'Pooled'"),
        ("scale", True, "scale must be one of"),
        ("effort", "heroic", "effort must be one of 'fast', 'default', 'thorough', got 'heroic'"),
        ("effort", None, "effort must be one of"),
        ("max_iter", 0, r"max_iter must be a positive whole number \(up to 100000000\), got 0"),
        ("max_iter", 2.5, "max_iter must be a positive whole number"),
        ("max_iter", True, "max_iter must be a positive whole number"),
        ("tol", 0, "tol must be a positive number, got 0"),
        ("tol", -1e-3, "tol must be a positive number"),
        ("tol", np.nan, "tol must be a positive number"),
        ("tol", "small", "tol must be a positive number"),
        ("random_state", "seed", "seed"),
    ],
)
def test_other_parameters(name, value, message):
    for estimator in (PDA(), SPARDA(2)):
        with pytest.raises(ValueError, match=message):
            estimator.set_params(**{name: value}).fit(*data())


def test_parameters_are_checked_in_fit_not_before():
    # scikit-learn's contract: the constructor stores what it is given.
    assert SPARDA(-3, penalty=-1.0, scale="x").n_features == -3


def test_before_the_fit():
    X, y = data()
    for method in (lambda: PDA().transform(X), lambda: PDA().score(X, y)):
        with pytest.raises(NotFittedError):
            method()
