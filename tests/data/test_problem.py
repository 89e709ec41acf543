from __future__ import annotations

import time

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from princdiff import open_rows, permutation_test
from princdiff.data import validate
from princdiff.data.problem import Design, OutOfTime, Problem, Run
from princdiff.statistics.row_view import distance_factors
from princdiff.tables import prepare


def rows_and_groups(seed=0, n=12, d=4):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)), np.repeat(["a", "b"], [n // 2, n - n // 2])


def test_a_problem_holds_what_was_given():
    X, y = rows_and_groups()
    frame = pd.DataFrame(X, columns=["one", "two", "three", "four"])
    problem = Problem.from_arrays(frame, y, scale=None, divergence="energy")
    assert problem.classes == ("a", "b")
    assert problem.names == problem.units == ("one", "two", "three", "four")
    assert problem.kinds == ("number",) * 4
    assert problem.divergence.name == "energy"
    assert (problem.n_rows, problem.n_features, problem.n_groups) == (12, 4, 2)
    assert problem.sizes.tolist() == [6, 6]
    assert problem.samples is problem.samples
    assert problem.labels.codes.tolist() == [[0] * 6 + [1] * 6]
    np.testing.assert_array_equal(problem.rows, X)


def test_rows_are_checked_once_and_scaled_once(monkeypatch):
    calls = []
    check = validate.check_rows
    monkeypatch.setattr(validate, "check_rows", lambda *a, **o: calls.append(1) or check(*a, **o))
    problem = Problem.from_arrays(*rows_and_groups())
    problem.restrict(np.array([0, 2])).take_rows(np.arange(1, 12)).without([1])
    assert calls == [1]


@pytest.mark.parametrize("sparse", [False, True])
def test_numbers_with_two_values_are_flags(sparse):
    X = np.array([[0.0, 0.0, 1.0, 2.0, 1.0], [1.0, 0.0, 1.0, 0.0, 0.0], [1.0, 0.0, 1.0, 1.0, 0.5]] * 2)
    expected = ("flag", "number", "number", "number", "number")
    for rows in (X, X + 1, 2.5 * X, -X, 7 - 3 * X):
        problem = Problem.from_arrays(sp.csr_matrix(rows) if sparse else rows, [0, 0, 0, 1, 1, 1])
        assert problem.kinds == expected


@pytest.mark.parametrize("codes", [(1.0, 2.0), (0.0, 1e308), (5.0, 4.75)])
@pytest.mark.parametrize("sparse", [False, True])
def test_what_two_values_a_column_has_does_not_matter(codes, sparse):
    rng = np.random.default_rng(3)
    X = np.column_stack([rng.random(80) < 0.05, rng.random(80) < 0.5, rng.normal(size=80)]) * 1.0
    recoded = X.copy()
    recoded[:, :2] = np.where(X[:, :2] > 0, codes[1], codes[0])
    y = np.arange(80) % 2
    problems = [Problem.from_arrays(sp.csr_matrix(rows) if sparse else rows, y) for rows in (X, recoded)]
    factors = [distance_factors(problem) for problem in problems]
    np.testing.assert_allclose(factors[1], factors[0], rtol=1e-12)
    assert factors[0][0] < 0.9 and factors[0][1] == 1


def test_groups_are_ranked_by_their_rows():
    X, y = rows_and_groups()
    problem = Problem.from_arrays(X, y).with_ranked_groups
    renamed = Problem.from_arrays(X, np.where(y == y[0], "z", "a")).with_ranked_groups
    np.testing.assert_array_equal(problem.codes, renamed.codes)
    assert [problem.classes[code] for code in problem.codes] == list(y)
    X3, y3 = np.arange(12.0)[:, None], np.repeat(["b", "c", "a"], [5, 3, 4])
    assert Problem.from_arrays(X3, y3).with_ranked_groups.classes == ("c", "a", "b")


def test_flags_are_told_from_numbers_far_down():
    X = np.tile([[0.0, 0.0], [1.0, 1.0]], (400, 1))
    X[700, 1] = 0.5
    assert Problem.from_arrays(X, np.repeat([0, 1], 400)).kinds == ("flag", "number")


def test_rows_without_weight_are_not_there():
    X, y = rows_and_groups()
    weights = np.array([1.0, 0, 2, 1, 1, 1, 1, 1, 0, 1, 1, 1])
    blocks = np.array([0, 1, 2, 0, 2, 2, 5, 5, 1, 5, 6, 6])
    problem = Problem.from_arrays(X, y, design=Design(weights, blocks))
    kept = weights > 0
    np.testing.assert_array_equal(problem.rows, X[kept])
    np.testing.assert_array_equal(problem.weights, weights[kept])
    # Block 1 had rows without weight only: it is not a block that crosses groups, it is none.
    assert problem.block_names == ("0", "2", "5", "6")
    assert problem.permute == "whole"
    equal = Problem.from_arrays(X, y, design=Design(np.where(kept, 3.0, 0.0)))
    assert equal.weights is None and equal.n_rows == 10


def test_blocks_say_what_may_change_sides():
    X, y = rows_and_groups()
    inside = np.repeat([0, 1, 2, 3], 3)
    crossing = np.tile(np.arange(6), 2)
    assert Problem.from_arrays(X, y).permute is None
    assert Problem.from_arrays(X, y, design=Design(blocks=inside)).permute == "whole"
    assert Problem.from_arrays(X, y, design=Design(blocks=crossing)).permute == "within"
    asked = Design(blocks=crossing, permute="within")
    assert Problem.from_arrays(X, y, design=asked).permute == "within"
    mixed = np.array([0, 0, 1, 1, 2, 2, 2, 3, 3, 4, 4, 4])
    assert Problem.from_arrays(X, y, design=Design(blocks=mixed)).permute == "mixed"
    with pytest.raises(ValueError, match="several groups and cannot change sides as a whole"):
        Problem.from_arrays(X, y, design=Design(blocks=mixed, permute="whole"))
    assert Problem.from_arrays(X, y, design=Design(blocks=mixed, permute="within")).permute == "within"


def test_auto_gives_the_same_test_as_the_word_it_stands_for():
    X, y = rows_and_groups(1, 40, 3)
    for blocks, word in ((np.repeat(np.arange(10), 4), "whole"), (np.tile(np.arange(20), 2), "within")):
        found, expected = (
            permutation_test(X, y, blocks=blocks, permute=permute, n_permutations=39, random_state=0)
            for permute in ("auto", word)
        )
        np.testing.assert_array_equal(found.null, expected.null)


def test_blocks_of_numbers_and_texts():
    X, y = rows_and_groups(n=4)
    problem = Problem.from_arrays(X, y, design=Design(blocks=np.array([1, "p", 1, "p"], dtype=object)))
    assert problem.block_names == ("1", "p") and problem.blocks.tolist() == [0, 1, 0, 1]
    with pytest.raises(ValueError, match="numbers and texts that look the same"):
        Problem.from_arrays(X, y, design=Design(blocks=np.array([1, "1", 1, "1"], dtype=object)))


@pytest.mark.parametrize(
    ("design", "message"),
    [
        (Design(blocks=[0, 1]), r"blocks must have one entry per row, shape \(12,\), got shape \(2,\)"),
        (Design(permute="whole"), "give blocks="),
        (Design(permute="rows"), "permute must be one of 'auto', 'within', 'whole', got 'rows'"),
        (Design(covariates=["a"] * 12), "covariates must be numbers"),
        (Design(covariates=np.ones(3)), r"covariates must have one row per row of X \(12\)"),
        (
            Design(covariates=pd.DataFrame({"age": [np.nan] * 12, "size": range(12)})),
            "covariates contain NaN or infinity: column 'age' is affected",
        ),
    ],
)
def test_a_design_that_cannot_be_used(design, message):
    with pytest.raises(ValueError, match=message):
        Problem.from_arrays(*rows_and_groups(), design=design)


def test_given_names_are_used_in_messages():
    X, y = rows_and_groups()
    X[3, 2] = np.inf
    with pytest.raises(ValueError, match="column 'Gad1' is affected"):
        Problem.from_arrays(sp.csr_matrix(X), y, names=["Actb", "Sox2", "Gad1", "Vip"])


def test_a_prepared_table_is_not_checked_again(monkeypatch):
    frame = pd.DataFrame(
        {
            "age": [20.0, 30.0, np.nan, 50.0, 60.0, 70.0, 20.0, 30.0],
            "sex": list("mfmfmfmf"),
            "city": ["Oslo", "Rome", "Bonn", "Oslo"] * 2,
            "ill": [0, 1, 1, 0, 0, 0, 1, 1],
        }
    )
    prepared = prepare(
        frame, groups=list("aaaabbbb"), missing="impute", weights=[1, 0, 1, 1, 1, 1, 1, 2], blocks=[1, 2] * 4
    )
    for name in ("check_rows", "check_groups", "check_weights"):
        monkeypatch.setattr(validate, name, None)
    problem = Problem.from_prepared(prepared, scale=None)
    expected = {
        "age": "number",
        "age (missing)": "missing",
        "sex = m": "flag",
        "city = Bonn": "level",
        "city = Oslo": "level",
        "city = Rome": "level",
        "ill": "flag",
    }
    assert dict(zip(problem.names, problem.kinds, strict=True)) == expected
    assert problem.units == ("age", "age", "sex", "city", "city", "city", "ill")
    assert problem.n_rows == 7 and problem.classes == ("a", "b")
    assert problem.permute == "within" and len(problem.block_names) == 2


def test_views_share_and_keep_what_belongs_together():
    X, y = rows_and_groups()
    weights = np.arange(1.0, 13)
    design = Design(weights, blocks=np.tile(np.arange(6), 2))
    problem = Problem.from_arrays(X, y, design=design)
    part = problem.take_rows(np.array([0, 2, 3, 6, 8, 9]))
    np.testing.assert_array_equal(part.rows, X[[0, 2, 3, 6, 8, 9]])
    assert part.blocks.tolist() == [0, 1, 2, 0, 1, 2] and part.block_names == ("0", "2", "3")
    # Scaled anew: by the standard deviation of its own rows.
    own = weights[[0, 2, 3, 6, 8, 9]]
    mean = np.average(part.rows, axis=0, weights=own)
    deviation = np.sqrt(np.average((part.rows - mean) ** 2, axis=0, weights=own))
    np.testing.assert_allclose(part.samples.deviation, deviation)
    few = problem.restrict(np.array([3, 1]))
    assert few.names == ("x3", "x1")
    np.testing.assert_array_equal(few.samples.deviation, problem.samples.deviation[[3, 1]])
    left = problem.without([1])
    assert left.samples.varying.tolist() == [True, False, True, True] and problem.samples.varying.all()


def test_a_deflated_view_does_not_see_the_direction():
    problem = Problem.from_arrays(*rows_and_groups(), scale=None)
    direction = np.array([[0.6, 0.8, 0.0, 0.0]])
    rest = problem.deflated(direction)
    np.testing.assert_allclose(rest.samples.project(direction), 0.0, atol=1e-6)
    for view in (lambda: rest.take_rows(np.arange(8)), lambda: rest.restrict(np.arange(2))):
        with pytest.raises(ValueError, match="first, then deflate"):
            view()


def test_rows_out_of_core_stay_there(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 200)).astype(np.float32)
    np.save(tmp_path / "rows.npy", X)
    chunks = open_rows(np.load(tmp_path / "rows.npy", mmap_mode="r"), memory=2_000_000)
    problem = Problem.from_arrays(chunks, np.arange(3000) % 2)
    assert problem.streamed
    with pytest.raises(ValueError, match="does not fit into its memory budget"):
        problem.require_memory()
    with pytest.raises(ValueError, match='scale="within" needs all rows in memory'):
        problem.dense_rows('scale="within"')
    np.testing.assert_array_equal(problem.take_rows(np.array([3, 8, 77])).rows, X[[3, 8, 77]])


def test_streams_of_random_numbers():
    run = Run.from_options(5)
    assert run.rng("folds").integers(2**40) == Run.from_options(5).rng("folds").integers(2**40)
    draws = {purpose: run.rng(purpose).random() for purpose in ("", "folds", "starts", "splits")}
    assert len(set(draws.values())) == 4
    assert Run.from_options(6).rng("folds").random() != draws["folds"]
    generator = np.random.default_rng(3)
    assert Run.from_options(generator).seed == int(np.random.default_rng(3).integers(2**31))
    assert Run.from_options(generator).seed != Run.from_options(np.random.default_rng(3)).seed
    state = np.random.RandomState(1)
    assert Run.from_options(state).seed == Run.from_options(1).seed


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"random_state": "x"}, "random_state must be a whole number from 0"),
        ({"random_state": -1}, "random_state must be a whole number from 0"),
        ({"random_state": 1.5}, "random_state must be a whole number from 0"),
    ],
)
def test_seeds_that_are_none(options, message):
    with pytest.raises(ValueError, match=message):
        Run.from_options(**options)


def test_a_deadline():
    assert Run().time_left == np.inf
    Run().check()
    run = Run.from_options(time_budget=1000.0)
    assert 900 < run.time_left <= 1000
    late = Run(deadline=time.monotonic() - 1.0)
    assert late.time_left < 0
    with pytest.raises(OutOfTime, match="before the fit was done"):
        late.check("the fit")
