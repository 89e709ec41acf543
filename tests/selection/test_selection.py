from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy import stats

from princdiff import select_features
from princdiff.data.problem import Problem, Run
from princdiff.selection.select import select
from princdiff.selection.steps import SelectionOptions, SelectionSteps
from princdiff.statistics import changed_correlations as relations
from princdiff.statistics.changed_correlations import relation_scores

pytestmark = pytest.mark.whole

QUICK = {"n_permutations": 199, "random_state": 0}


def noise(seed, n_rows, n_features):
    rng = np.random.default_rng(seed)
    return rng, rng.normal(size=(n_rows, n_features)), np.arange(n_rows) % 2


def planted(seed, n_rows=200, n_features=20, features=(1, 5, 9), size=1.2):
    _, X, y = noise(seed, n_rows, n_features)
    X[:, list(features)] += size * y[:, None]
    return X, y


def found(result):
    return set(np.flatnonzero(result.selected).tolist())


def reasons(result):
    return {row.feature: row.reason for row in result.table[result.selected].itertuples()}


# ---------------------------------------------------------------- alone and together


@pytest.mark.parametrize("seed", range(2))
def test_planted_features_are_found(seed):
    X, y = planted(seed)
    result = select_features(X, y, **QUICK)
    assert found(result) == {1, 5, 9}
    assert set(reasons(result).values()) == {"alone"}
    assert "at most a 5 % chance" in result.control


def test_a_pair_that_differs_only_jointly_is_named_with_its_partner():
    # The example of the README: each feature alone looks the same.
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(400, 20)), np.repeat([0, 1], 200)
        X[200:, 7] = 0.9 * X[200:, 3] + 0.45 * X[200:, 7]
        result = select_features(X, y, **QUICK)
        assert reasons(result)["x3"] == "together with x7" and reasons(result)["x7"] == "together with x3"
        assert len(found(result)) <= 3
        first = result.relations.iloc[0]
        assert (first["first"], first["second"]) == ("x3", "x7") and first["selected"]
        assert first["dependence 1"] == pytest.approx(0.89, abs=0.06)
        assert first["change"] == pytest.approx(abs(first["dependence 1"] - first["dependence 0"]))


def test_what_goes_with_a_shifted_feature_is_not_named():
    for seed in range(3):
        rng = np.random.default_rng([1, seed])
        shared = rng.normal(size=(400, 1))
        X, y = np.sqrt(0.9) * shared + np.sqrt(0.1) * rng.normal(size=(400, 10)), np.repeat([0, 1], 200)
        X[200:, 2] += 0.6
        assert found(select_features(X, y, alpha=0.01, n_permutations=999, random_state=seed)) == {2}


def test_a_flag_that_becomes_rare_does_not_drag_its_partners_along():
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(1000, 6)) + 1.5 * rng.normal(size=(1000, 1)), np.repeat([0, 1], 500)
    X[:, 4] = X[:, 4] > np.where(y, 2.5, 0.0)
    result = select_features(X, y, alpha=0.01, n_permutations=999, random_state=0)
    assert found(result) == {4}


def test_product_of_two_named_features():
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(600, 8)), np.repeat([0, 1], 300)
    own = y == 1
    X[own, 5] = np.abs(X[own, 5]) * np.sign(X[own, 0] * X[own, 2])
    assert 5 not in found(select_features(X, y, **QUICK))
    X[own, 0] += 1.0
    X[own, 2] *= 1.8
    result = select_features(X, y, **QUICK)
    assert found(result) == {0, 2, 5}
    assert reasons(result)["x5"] in ("together with x0 and x2", "together with x2 and x0")


def with_parity(seed, n_features=8):
    """The sign of feature 2 is that of the product of 0 and 5, in one group."""
    _, X, y = noise(seed, 400, n_features)
    X[y == 1, 2] = np.abs(X[y == 1, 2]) * np.sign(X[y == 1, 0] * X[y == 1, 5])
    return X, y


def test_three_features_of_which_no_two_go_together_differently():
    X, y = with_parity(14)
    result = select_features(X, y, n_permutations=499, random_state=0)
    assert reasons(result) == {
        "x0": "together with x2 and x5",
        "x2": "together with x0 and x5",
        "x5": "together with x0 and x2",
    }
    assert not result.relations["selected"].any()
    assert set(result.table.loc[result.selected, "pvalue_adj"]) == {0.002 / 0.05}


def test_one_of_three_may_be_named_already_but_features_must_not_be_many():
    X, y = with_parity(14)
    X[:, 0] += y
    expected = {"x0": "alone", "x2": "together with x0 and x5", "x5": "together with x0 and x2"}
    assert reasons(select_features(X, y, n_permutations=499, random_state=0)) == expected
    X, y = with_parity(14, n_features=31)
    assert found(select_features(X, y, n_permutations=499, random_state=0)) == set()


@pytest.mark.parametrize("error", ["fwer", "fdr"])
def test_nothing_under_permuted_labels(error):
    false = 0
    for seed in range(30):
        X, y = planted(seed, n_rows=100, n_features=10)
        shuffled = np.random.default_rng(100 + seed).permutation(y)
        result = select_features(X, shuffled, error=error, n_permutations=99, random_state=seed)
        false += len(found(result)) > 0
        assert ((result.table["reason"] != "") == result.selected).all()
    assert false <= stats.binom.ppf(0.999, 30, 0.05)


def test_discovery_rate():
    _, X, y = noise(4, 100, 200)
    X[:, :60] += 0.75 * y[:, None]
    wide = found(select_features(X, y, error="fdr", **QUICK))
    narrow = found(select_features(X, y, **QUICK))
    truth = set(range(60))
    assert len(wide & truth) > len(narrow & truth) + 10
    assert len(wide - truth) <= 0.2 * len(wide)
    assert (
        "At most 5 % of the columns named are expected to be false positives"
        in select_features(X, y, error="fdr", **QUICK).control
    )


# ---------------------------------------------------------------- columns of a table


def table_with_category(seed, effect):
    rng = np.random.default_rng(seed)
    y = np.repeat(["a", "b"], 400)
    colour = rng.integers(0, 4, 800)
    colour[(y == "b") & (rng.random(800) < effect)] = 2
    X = np.column_stack([rng.normal(size=800), colour[:, None] == np.arange(4), rng.normal(size=800)])
    return X.astype(float), y, ["age", *["colour"] * 4, "height"]


def test_a_category_is_one_column():
    X, y, columns = table_with_category(5, 0.2)
    result = select_features(X, y, columns=columns, **QUICK)
    assert result.columns["column"].tolist() == ["age", "colour", "height"]
    assert result.columns["selected"].tolist() == [False, True, False]
    assert result.table["column"].tolist() == columns
    assert result.selected[3]
    assert not result.selected[[0, 5]].any()
    # A level is never surer than its column.
    adjusted = result.columns.set_index("column").loc[result.table["column"], "pvalue_adj"].to_numpy()
    own = result.table["reason"].str.startswith("alone").to_numpy()
    assert (result.table["pvalue_adj"].to_numpy()[own] >= adjusted[own]).all()


def test_levels_of_one_category_are_no_pair():
    X, y, columns = table_with_category(6, 0.0)
    result = select_features(X, y, columns=columns, **QUICK)
    names = dict(zip(result.table["feature"], result.table["column"], strict=True))
    pairs = result.relations[["first", "second"]].map(names.get)
    assert len(pairs) == 9
    assert (pairs["first"] != pairs["second"]).all()


def test_a_column_may_differ_as_a_whole():
    rng = np.random.default_rng(7)
    shares = 0.05 + 0.014 * np.where(np.arange(20) % 2, 1, -1)
    level = np.concatenate([rng.integers(0, 20, 1000), rng.choice(20, 1000, p=shares)])
    X, y = (level[:, None] == np.arange(20)).astype(float), np.repeat([0, 1], 1000)
    result = select_features(X, y, columns=["city"] * 20, n_permutations=999, random_state=0)
    assert result.columns["selected"].tolist() == [True]
    if not (result.table["pvalue_adj"] <= 0.05).any():
        assert result.selected.all()
        assert set(result.table["reason"]) == {"alone"}


# ---------------------------------------------------------------- designs


def test_three_groups():
    _, X, _ = noise(4, 210, 10)
    y = np.arange(210) % 3
    X[:, [2, 7]] += y[:, None]
    result = select_features(X, y, **QUICK)
    assert found(result) == {2, 7}
    assert [c for c in result.relations if c.startswith("dependence")] == [
        f"dependence {g}" for g in range(3)
    ]


def test_donors_weights_and_covariates():
    rng = np.random.default_rng(8)
    donors = np.repeat(np.arange(14), 20)
    y = (donors >= 7).astype(int)
    X = rng.normal(size=(280, 5)) + rng.normal(size=(14, 5))[donors]
    X[y == 1, 3] += 7
    result = select_features(X, y, blocks=donors, n_permutations=1999, random_state=0)
    assert found(result) == {3}

    age = rng.normal(size=280) + y
    X = rng.normal(size=(280, 5)) + age[:, None]
    X[y == 1, 1] += 1.2
    assert found(select_features(X, y, **QUICK)) == set(range(5))
    assert found(select_features(X, y, covariates=age, alpha=0.01, n_permutations=999, random_state=0)) == {1}

    weights = np.where(X[:, 1] > np.median(X[:, 1]), 1.0, 0.0) + 0.001
    result = select_features(X, y, sample_weight=weights, **QUICK)
    assert result.selected.shape == (5,)


def test_scale_within_leaves_relationships_only():
    rng = np.random.default_rng(9)
    X, y = rng.normal(size=(600, 5)), np.repeat([0, 1], 300)
    X[300:, 0] += 2
    X[300:, 1] *= 2
    X[300:, 2] = 0.95 * rng.choice([-1, 1], 300) + 0.31 * rng.normal(size=300)
    assert found(select_features(X, y, **QUICK)) == {0, 1, 2}
    assert found(select_features(X, y, scale="within", **QUICK)) == set()
    X[300:, 3] = 0.6 * X[300:, 1] + 0.8 * X[300:, 3]
    for error in ("fwer", "fdr"):
        result = select_features(X, y, scale="within", error=error, **QUICK)
        assert found(result) == {1, 3}
        assert set(result.table["reason"]) == {"together with x1", "together with x3", ""}
        assert (result.columns["pvalue_adj"] == 1).all()


# ---------------------------------------------------------------- the gate


def test_no_part_has_a_smaller_pvalue_than_the_whole():
    X, y = planted(10)
    problem, run = Problem.from_arrays(X, y), Run(0)
    free = select(problem, run, SelectionOptions(n_permutations=199))
    floored = select(problem, run, SelectionOptions(n_permutations=199, global_pvalue=0.03))
    for part in ("table", "columns", "relations"):
        before, after = getattr(free, part)["pvalue_adj"], getattr(floored, part)["pvalue_adj"]
        np.testing.assert_array_equal(after, np.maximum(before, 0.03))
    assert free.columns["pvalue_adj"].min() < 0.03
    np.testing.assert_array_equal(free.selected, floored.selected)


def test_nothing_is_selected_beside_no_difference():
    X, y = planted(10)
    problem, run = Problem.from_arrays(X, y), Run(0)
    for options, expected in (
        (SelectionOptions(n_permutations=199, global_pvalue=0.2), set()),
        (SelectionOptions(n_permutations=199, global_pvalue=0.01), {1, 5, 9}),
        (SelectionOptions(n_permutations=199, global_pvalue=0.01, relations=False), {1, 5, 9}),
    ):
        result = select(problem, run, options)
        assert found(result) == expected
        assert set(np.flatnonzero(result.columns["selected"])) == expected
        assert (result.table["reason"] != "").sum() == len(expected)
    assert len(result.relations) == 0


# ---------------------------------------------------------------- directions


def suppressed(seed):
    """Two shifted features, and the noise that they share with a third, which is not shifted."""
    rng, X, y = noise(seed, 300, 10)
    shared = rng.normal(size=300)
    for j in (3, 4):
        X[:, j] = 0.8 * y + shared + 0.3 * rng.normal(size=300)
    X[:, 8] = shared + 0.3 * rng.normal(size=300)
    return X, y


def test_it_is_said_where_pairs_are_judged_on_some_rows(monkeypatch):
    X, y = np.random.default_rng(0).normal(size=(60, 4)), np.repeat([0, 1], 30)
    assert "drawn at random" not in select_features(X, y, **QUICK).control
    monkeypatch.setattr(relations, "_PAIR_WORK", 0.0)
    monkeypatch.setattr(relations, "_FEWEST_ROWS", 40)
    control = select_features(X, y, **QUICK).control
    assert control.endswith("Pairs were judged on 40 rows drawn at random, single columns on all.")
    monkeypatch.setattr(relations, "_PAIR_WORK", 1e12)
    monkeypatch.setattr(relations, "_THREES_WORK", 0.0)
    control = select_features(X, y, **QUICK).control
    assert "Pairs" not in control and "Threes of columns were judged on 40 rows" in control


def test_suppressors_are_named_only_along_directions():
    X, y = suppressed(0)
    assert found(select_features(X, y, **QUICK)) == {3, 4}
    result = select_features(X, y, goal="directions", **QUICK)
    assert found(result) == {3, 4, 8}
    assert reasons(result)["x8"].startswith("direction")
    assert "independent of the others" in result.control


def test_directions_need_plain_rows():
    X, y = planted(11, n_rows=40, n_features=4, features=(1,))
    with pytest.raises(ValueError, match="cannot be combined with blocks"):
        select_features(X, y, goal="directions", blocks=np.arange(40) // 2, n_permutations=99)


# ---------------------------------------------------------------- the result


def test_table_and_names():
    X, y = planted(8, n_rows=150, n_features=6, features=(1, 4), size=1.5)
    names = ["mass", "height", "age", "pulse", "weight", "dose"]
    frame = select_features(pd.DataFrame(X, columns=names), np.array(["no", "yes"])[y], **QUICK)
    table = frame.table
    assert list(table.columns) == [
        *("feature", "column", "selected", "reason", "score", "pvalue", "pvalue_error", "pvalue_adj"),
    ]
    assert table["feature"].tolist() == names
    np.testing.assert_array_equal(table["selected"], frame.selected)
    assert set(table.loc[table["selected"], "feature"]) >= {"height", "weight"}
    assert frame.selected.dtype == bool and frame.selected.shape == (6,)
    assert ((table["pvalue"] > 0) & (table["pvalue"] <= 1)).all()
    assert (table["pvalue_adj"] <= 1).all()
    assert (table.loc[table["selected"], "pvalue_adj"] <= 0.05).all()
    assert (table.loc[~table["selected"], "pvalue_adj"] > 0.05).all()
    assert frame.n_labellings == 200
    assert (frame.columns["pvalue_extrapolated"] <= frame.columns["pvalue"]).all()
    assert frame.columns.loc[1, "pvalue_extrapolated"] < 1e-6
    plain = select_features(X, y, **QUICK)
    assert plain.table["feature"].tolist() == [f"x{j}" for j in range(6)]
    values = ["selected", "score", "pvalue", "pvalue_adj"]
    pd.testing.assert_frame_equal(plain.table[values], table[values])
    with pytest.raises(AttributeError):
        plain.selected = None


def test_sparse_rows_seeds_and_threads():
    rng = np.random.default_rng(10)
    X = rng.normal(2.0, size=(120, 8)) * (rng.random((120, 8)) < 0.6)
    y = np.arange(120) % 2
    X[y == 1, :2] += 2.0
    dense = select_features(X, y, **QUICK)
    sparse = select_features(sp.csr_matrix(X), y, **QUICK)
    np.testing.assert_array_equal(sparse.selected, dense.selected)
    np.testing.assert_allclose(sparse.table["pvalue_adj"], dense.table["pvalue_adj"])
    assert found(dense) >= {0, 1}
    threads = select_features(X, y, n_jobs=2, **QUICK)
    pd.testing.assert_frame_equal(threads.table, dense.table)
    pd.testing.assert_frame_equal(threads.relations, dense.relations)


def test_units_do_not_matter():
    X, y = planted(11, n_rows=120, n_features=6, features=(1, 4), size=1.5)
    first = select_features(X, y, **QUICK)
    second = select_features(X * [1, 1e3, 1, 1e-3, 1, 50] + 10, y, **QUICK)
    np.testing.assert_array_equal(first.selected, second.selected)
    np.testing.assert_allclose(first.table["pvalue"], second.table["pvalue"], atol=0.011)


@pytest.mark.parametrize("goal", ["all", "explanation", "directions"])
def test_constant_features_are_never_selected(goal):
    X, y = planted(12, n_rows=100, n_features=5, features=(1, 3), size=2.0)
    X[:, 0] = 7.0
    result = select_features(X, y, goal=goal, **QUICK)
    assert not result.selected[0]
    assert result.selected[[1, 3]].all()
    equal = select_features(np.ones((40, 3)), np.arange(40) % 2, goal=goal, n_permutations=99, random_state=0)
    assert not equal.selected.any()


@pytest.mark.parametrize(
    "options, words",
    [
        ({"alpha": 0.0}, "alpha must be between 0 and 1"),
        ({"alpha": 1.0}, "alpha must be between 0 and 1"),
        ({"alpha": -0.1}, "alpha must be between 0 and 1"),
        ({"n_permutations": 0}, "n_permutations must be a positive whole number"),
        ({"n_permutations": 1.5}, "n_permutations must be a positive whole number"),
        ({"goal": "some"}, "goal must be one of 'all', 'explanation', 'directions'"),
        ({"error": "any"}, "error must be one of 'fwer', 'fdr'"),
        ({"scale": "rows"}, "scale must be one of None, 'pooled', 'within'"),
        ({"columns": ["a", "b"]}, "columns must name the column of each of the 4 features, got 2"),
    ],
)
def test_bad_input(options, words):
    X, y = planted(13, n_rows=40, n_features=4, features=(1,))
    with pytest.raises(ValueError, match=words):
        select_features(X, y, **options)


# ---------------------------------------------------------------- MADELON


def test_madelon_training_rows(madelon):
    result = select_features(madelon.data, madelon.target, n_permutations=99, random_state=0)
    relevant = set(madelon.relevant.tolist())
    assert len(found(result) & relevant) >= 19
    assert found(result) <= relevant


def test_the_error_of_drawing_relabellings_is_told():
    rng = np.random.default_rng(30)
    found = select_features(
        rng.normal(size=(60, 3)), np.repeat([0, 1], 30), n_permutations=99, random_state=0
    )
    share = found.table["pvalue"]
    np.testing.assert_allclose(found.table["pvalue_error"], np.sqrt(share * (1 - share) / 100))
    every = select_features(rng.normal(size=(8, 3)), np.repeat([0, 1], 4), n_permutations=999, random_state=0)
    assert (every.table["pvalue_error"] == 0).all()


@pytest.mark.parametrize("n_columns", [2, 3, 4, 20])
def test_columns_and_pairs_have_their_parts_of_the_error(n_columns):
    # Few pairs, and many that are copies of few: the largest score of a column is as often beyond what is
    # needed as its part of the error says, and so is that of a pair.
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(200, min(n_columns, 4)))
    if n_columns > 4:
        rows = np.repeat(rows, 5, axis=1) + 0.3 * rng.normal(size=(200, n_columns))
    problem = Problem.from_arrays(rows, np.repeat([0, 1], 100))
    options = SelectionOptions(n_permutations=1999)
    steps = SelectionSteps(problem, Run(0), options, problem.classes)
    pairs = relation_scores(steps._rows, steps._labellings, steps._unit_of)
    columns = steps._alone.units.max(axis=1)
    together = np.maximum(pairs.scores.max(axis=1), pairs.rest) - steps._handicap_of_pairs(pairs)
    needed = np.quantile(np.maximum(columns, together), 1 - 0.85 * 0.05)
    assert (columns > needed).mean() == pytest.approx(0.6 * 0.05, abs=0.01)
    assert (together > needed).mean() == pytest.approx(0.25 * 0.05, abs=0.01)


def test_pairs_of_rare_levels_take_no_more_than_their_part_of_the_error():
    # Pairs of rare flags have scores far beyond what their number says; columns must not drown in them.
    rng = np.random.default_rng(1)
    rare = rng.random((600, 40)) < 0.01
    rows = np.column_stack([rng.normal(size=600), rare[:, rare.any(axis=0)]]).astype(float)
    problem = Problem.from_arrays(rows, np.repeat([0, 1], [60, 540]))
    steps = SelectionSteps(problem, Run(0), SelectionOptions(n_permutations=499), problem.classes)
    pairs = relation_scores(steps._rows, steps._labellings, steps._unit_of)
    columns = steps._alone.units.max(axis=1)
    together = np.maximum(pairs.scores.max(axis=1), pairs.rest) - steps._handicap_of_pairs(pairs)
    needed = np.quantile(np.maximum(columns, together), 1 - 0.9 * 0.05)
    assert (together > needed).mean() <= 0.15 * 0.05 + 0.01
