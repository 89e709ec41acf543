from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from princdiff import select_features
from princdiff.datasets import load_madelon

# Few shuffles and permutations: enough for a decision at 5 %, and quick.
QUICK = {"n_shuffles": 59, "n_permutations": 19, "random_state": 0}


def noise(seed, n_rows, n_features):
    rng = np.random.default_rng(seed)
    return rng, rng.normal(size=(n_rows, n_features)), np.arange(n_rows) % 2


def planted(seed, n_rows=200, n_features=20, features=(1, 5, 9), size=1.2):
    _, X, y = noise(seed, n_rows, n_features)
    X[:, list(features)] += size * y[:, None]
    return X, y


def blocks_of_noise(seed, n_rows=160, n_features=20, size=5):
    """Noise features that go together, as genes of a module do."""
    rng, X, y = noise(seed, n_rows, n_features)
    return X + 2.0 * np.repeat(rng.normal(size=(n_rows, n_features // size)), size, axis=1), y


def found(result):
    return set(np.flatnonzero(result.selected).tolist())


# ---------------------------------------------------------------- all that take part


@pytest.mark.parametrize("seed", range(2))
def test_planted_features_are_found(seed):
    X, y = planted(seed, n_features=12)
    result = select_features(X, y, **QUICK)
    assert found(result) == {1, 5, 9}
    assert result.complement_pvalue > 0.05
    assert "family-wise" in result.control and "0.05" in result.control


def test_what_differs_strongly_does_not_lend_significance_to_noise():
    # Directions fitted to a strong difference carry small weights of noise; their part in it is chance. At
    # 5 % two false runs of four would be rare.
    false = 0
    for seed in range(4):
        X, y = planted(1000 + seed, n_rows=160, n_features=15, size=3.0)
        selected = found(select_features(X, y, **QUICK))
        assert selected >= {1, 5, 9}
        false += selected != {1, 5, 9}
    assert false <= 1


@pytest.mark.parametrize("seed", [0, 3])
def test_a_lone_feature_is_found(seed):
    # Nothing else differs: it cannot be told by what goes with the others. Eight standard errors apart.
    X, y = planted(seed, n_rows=300, n_features=8, features=(3,), size=1.0)
    assert 3 in found(select_features(X, y, **QUICK))


@pytest.mark.parametrize("seed", range(2))
def test_nothing_under_permuted_labels(seed):
    X, y = planted(seed)
    shuffled = np.random.default_rng(100 + seed).permutation(y)
    result = select_features(X, shuffled, **QUICK)
    assert found(result) == set()
    assert (result.table["share"] == 0).all()
    assert (result.table["round"] == 0).all()
    assert (result.table["reason"] == "").all()


@pytest.mark.parametrize("seed", range(2))
def test_nothing_in_correlated_noise(seed):
    X, y = blocks_of_noise(seed)
    assert found(select_features(X, y, **QUICK)) == set()


@pytest.mark.parametrize("seed", range(2))
def test_correlated_noise_beside_a_difference(seed):
    X, y = blocks_of_noise(seed, n_features=10)
    signal, _ = planted(seed + 50, n_rows=160, n_features=2, features=(0, 1), size=1.5)
    result = select_features(np.column_stack([X, signal]), y, **QUICK)
    assert found(result) == {10, 11}


def test_near_duplicates_are_all_found():
    rng, X, y = noise(0, 200, 15)
    signal = rng.normal(size=200) + 1.5 * y
    copies = [2, 6, 7, 11]
    X[:, copies] = signal[:, None] + 0.15 * rng.normal(size=(200, 4))
    result = select_features(X, y, **QUICK)
    assert found(result) == set(copies)
    # They share what one of them would have had.
    assert result.table["share"].sum() == pytest.approx(1.0)


@pytest.mark.parametrize("seed", range(2))
def test_suppressor_is_found(seed):
    # The eighth feature does not differ; it holds the noise that hides how the third and fourth do.
    rng, X, y = noise(seed, 300, 10)
    shared = rng.normal(size=300)
    for j in (3, 4):
        X[:, j] = 0.8 * y + shared + 0.3 * rng.normal(size=300)
    X[:, 8] = shared + 0.3 * rng.normal(size=300)
    result = select_features(X, y, **QUICK)
    assert found(result) == {3, 4, 8}
    assert result.complement_pvalue > 0.05


def test_change_of_correlation_only():
    # Four features follow one factor, two of them against it in one of the groups.
    rng, X, y = noise(3, 300, 10)
    signs = np.where(y == 1, 1.0, -1.0)[:, None] ** [0, 0, 1, 1]
    X[:, :4] = rng.normal(size=(300, 1)) * signs + 0.3 * rng.normal(size=(300, 4))
    assert found(select_features(X, y, **QUICK)) == {0, 1, 2, 3}


@pytest.mark.parametrize("seed", range(2))
def test_a_lone_pair_is_found(seed):
    # Either feature alone differs in nothing, and without the other there is nothing to go with.
    rng, X, y = noise(seed, 400, 6)
    X[:, 1] = np.where(y == 1, 0.9, -0.9) * X[:, 0] + np.sqrt(0.19) * rng.normal(size=400)
    assert found(select_features(X, y, **QUICK)) >= {0, 1}


def test_three_groups():
    _, X, _ = noise(4, 210, 10)
    y = np.arange(210) % 3
    X[:, [2, 7]] += y[:, None]
    assert found(select_features(X, y, **QUICK)) == {2, 7}


# ---------------------------------------------------------------- a smallest set


@pytest.mark.parametrize("seed", range(2))
def test_minimal_set(seed):
    X, y = planted(seed, n_rows=100, n_features=8, features=(2, 5), size=1.6)
    result = select_features(X, y, goal="minimal", n_permutations=39, random_state=0)
    assert found(result) >= {2, 5}
    assert len(found(result)) <= 4
    assert result.complement_pvalue > 0.05
    table = result.table
    assert (table.loc[table["selected"], "reason"] != "").all()
    assert (table.loc[table["selected"], "pvalue"] <= 0.05).all()
    assert (table.loc[~table["selected"], "pvalue"] > 0.05).all()
    assert "until the rest does not differ" in result.control


def test_minimal_set_of_duplicates_is_taken_out_round_by_round():
    rng, X, y = noise(5, 100, 5)
    signal = rng.normal(size=100) + 2.0 * y
    X[:, [0, 3]] = signal[:, None] + 0.1 * rng.normal(size=(100, 2))
    result = select_features(X, y, goal="minimal", n_permutations=39, random_state=0)
    assert found(result) >= {0, 3}
    assert result.complement_pvalue > 0.05


def test_minimal_set_where_nothing_differs():
    _, X, y = noise(6, 60, 5)
    result = select_features(X, y, goal="minimal", n_permutations=39, random_state=0)
    assert found(result) == set()
    assert result.table["pvalue"].min() > 0.05


def test_minimal_set_of_everything():
    _, X, y = noise(7, 60, 2)
    X += 4.0 * y[:, None]
    result = select_features(X, y, goal="minimal", n_permutations=19, random_state=0)
    assert found(result) == {0, 1}
    # Nothing is left to differ.
    assert result.complement_pvalue == 1.0


def test_minimal_set_is_tested_on_its_own_scale():
    # As measured the fourth feature drowns the others; what is left must be judged in the same way.
    _, X, y = noise(8, 100, 4)
    X[:, 2] += 1.5 * y
    X[:, 3] *= 50.0
    result = select_features(X, y, goal="minimal", scale=None, n_permutations=39, random_state=0)
    assert result.complement_pvalue > 0.05


# ---------------------------------------------------------------- the result


def test_table_and_names():
    X, y = planted(8, n_rows=150, n_features=6, features=(1, 4), size=1.5)
    names = ["mass", "height", "age", "pulse", "weight", "dose"]
    frame = select_features(pd.DataFrame(X, columns=names), np.array(["no", "yes"])[y], **QUICK)
    table = frame.table
    assert list(table.columns) == ["feature", "selected", "share", "score", "pvalue", "round", "reason"]
    assert table["feature"].tolist() == names
    np.testing.assert_array_equal(table["selected"], frame.selected)
    assert set(table.loc[table["selected"], "feature"]) >= {"height", "weight"}
    assert frame.selected.dtype == bool and frame.selected.shape == (6,)
    assert table["share"].sum() == pytest.approx(1.0)
    assert (table.loc[~table["selected"], "share"] == 0).all()
    assert ((table["pvalue"] > 0) & (table["pvalue"] <= 1)).all()
    assert (table.loc[table["selected"], "pvalue"] <= 0.05 + 1e-12).all()
    assert (table.loc[~table["selected"], "pvalue"] > 0.05).all()
    assert (table["round"] > 0).tolist() == frame.selected.tolist()
    assert (table.loc[table["selected"], "reason"] != "").all()
    plain = select_features(X, y, **QUICK)
    assert plain.table["feature"].tolist() == [f"x{j}" for j in range(6)]
    pd.testing.assert_frame_equal(plain.table.drop(columns="feature"), table.drop(columns="feature"))
    with pytest.raises(AttributeError):
        plain.selected = None


def test_suppressors_say_whose():
    rng, X, y = noise(9, 300, 6)
    shared = rng.normal(size=300)
    for j in (3, 4):
        X[:, j] = 1.2 * y + shared + 0.5 * rng.normal(size=300)
    X[:, 0] = shared + 0.3 * rng.normal(size=300)
    table = select_features(X, y, **QUICK).table
    for reason in table.loc[table["selected"], "reason"]:
        assert reason == "differs along the directions found" or reason.startswith("hides a difference of x")


def test_sparse_rows_seeds_and_threads():
    rng = np.random.default_rng(10)
    X = rng.normal(2.0, size=(120, 8)) * (rng.random((120, 8)) < 0.6)
    y = np.arange(120) % 2
    X[y == 1, :2] += 2.0
    options = {"n_shuffles": 39, "n_permutations": 19, "random_state": 1}
    dense = select_features(X, y, **options)
    sparse = select_features(sp.csr_matrix(X), y, **options)
    np.testing.assert_array_equal(sparse.selected, dense.selected)
    assert found(dense) >= {0, 1}
    threads = select_features(X, y, n_jobs=2, **options)
    pd.testing.assert_frame_equal(threads.table, dense.table)
    assert threads.complement_pvalue == dense.complement_pvalue


def test_units_do_not_matter():
    X, y = planted(11, n_rows=120, n_features=6, features=(1, 4), size=1.5)
    first = select_features(X, y, **QUICK)
    second = select_features(X * [1, 1e3, 1, 1e-3, 1, 50] + 10, y, **QUICK)
    np.testing.assert_array_equal(first.selected, second.selected)


@pytest.mark.parametrize("goal", ["all", "minimal"])
def test_constant_features_are_never_selected(goal):
    X, y = planted(12, n_rows=100, n_features=5, features=(1, 3), size=2.0)
    X[:, 0] = 7.0
    result = select_features(X, y, goal=goal, **QUICK)
    assert not result.selected[0]
    assert result.selected[[1, 3]].all()
    equal = select_features(np.ones((40, 3)), np.arange(40) % 2, goal=goal, **QUICK)
    assert not equal.selected.any()
    assert equal.complement_pvalue == 1.0


@pytest.mark.parametrize(
    "options, words",
    [
        ({"alpha": 0.0}, "alpha must be between 0 and 1"),
        ({"alpha": 1.0}, "alpha must be between 0 and 1"),
        ({"alpha": -0.1}, "alpha must be between 0 and 1"),
        ({"n_shuffles": 38}, "use at least 39"),
        ({"n_shuffles": 99, "alpha": 0.01}, "use at least 199"),
        ({"n_shuffles": 0}, "n_shuffles must be a positive whole number"),
        ({"n_rounds": 0}, "n_rounds must be a positive whole number"),
        ({"n_permutations": 1.5}, "n_permutations must be a positive whole number"),
        ({"goal": "some"}, "goal must be one of 'all', 'minimal'"),
        ({"scale": "within"}, "scale must be one of None, 'pooled'"),
    ],
)
def test_bad_input(options, words):
    X, y = planted(13, n_rows=40, n_features=4, features=(1,))
    with pytest.raises(ValueError, match=words):
        select_features(X, y, **options)


def test_shuffles_that_just_suffice():
    X, y = planted(14, n_rows=150, n_features=6, features=(1, 4), size=2.0)
    result = select_features(X, y, n_shuffles=39, n_permutations=19, random_state=0)
    assert found(result) >= {1, 4}


# ---------------------------------------------------------------- MADELON


def test_madelon_validation_rows(madelon):
    rows = load_madelon(subset="valid")
    # The test of the complement comes last and selects nothing: few permutations will do here.
    selected = found(select_features(rows.data, rows.target, n_permutations=19, random_state=0))
    relevant = set(rows.relevant.tolist())
    assert len(selected & relevant) >= 13
    assert selected <= relevant
