from __future__ import annotations

import warnings
from itertools import permutations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.stats import binom, gamma, norm, rankdata, skew

from oracles import between_groups, divergence_along, scaled_rows
from princdiff import PDA, SPARDA, permutation_test
from princdiff.data.problem import Problem, Run
from princdiff.datasets import make_block_gaussians
from princdiff.statistics import permutation_runs
from princdiff.statistics.alone import alone_scores
from princdiff.statistics.contrasts import Relabellings
from princdiff.statistics.permuted_problem import Labellings

pytestmark = pytest.mark.whole


def two_groups(seed=0, sizes=(30, 30), n_features=5, shift=0.0, shifted=0):
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(len(sizes)), sizes)
    X = rng.normal(size=(len(y), n_features))
    X[:, shifted] += shift * y
    return X, y


def quiet_test(*args, **options):
    """The test without its warnings: tiny designs are coarse on purpose here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return permutation_test(*args, **options)


def in_order(X, y):
    """The same rows in the order in which the test works on them."""
    problem = Problem.from_arrays(X, y).ordered
    return problem.rows, problem.codes


def labellings(X, y, n_permutations, **options):
    """What the test with random_state=0 works on; rows must be in order."""
    return Labellings.of(Problem.from_arrays(X, y, **options), n_permutations, Run.from_options(0).seed_for())


def labellings_of(y, blocks=None, whole=False):
    """Labellings that the design allows, one for each way to part the rows; the observed one first."""
    y = np.asarray(y)
    if whole:
        names = np.unique(blocks)
        units = [y[blocks == name][0] for name in names]
        found = {tuple(order[np.searchsorted(names, b)] for b in blocks) for order in permutations(units)}
    elif blocks is not None:
        found = {()}
        order = np.argsort(blocks, kind="stable")
        for name in np.unique(blocks):
            inner = set(permutations(y[blocks == name].tolist()))
            found = {left + right for left in found for right in inner}
        found = {tuple(np.array(labelling)[np.argsort(order)]) for labelling in found}
    else:
        found = set(permutations(y.tolist()))
    # Names of groups play no part in what is compared here.
    by_parts = {
        frozenset(tuple(np.flatnonzero(np.equal(one, g))) for g in set(one)): one for one in sorted(found)
    }
    observed = tuple(y.tolist())
    del by_parts[frozenset(tuple(np.flatnonzero(y == g)) for g in set(observed))]
    return np.array([observed, *by_parts.values()])


def exact_pvalue(statistics, tie=1e-6):
    """Share of labellings, the observed one first, that reach it."""
    statistics = np.asarray(statistics)
    return float((statistics >= statistics[0] * (1 - tie)).mean())


def assert_same_values(found, expected, rtol=1e-4):
    """The observed value and, in any order, those of the other labellings."""
    assert found[0] == pytest.approx(expected[0], rel=rtol, abs=1e-6)
    np.testing.assert_allclose(np.sort(found[1:]), np.sort(expected[1:]), rtol=rtol, atol=1e-6)


# ---------------------------------------------------------------- against all relabellings by hand


@pytest.mark.parametrize("scale", [None, "pooled"])
@pytest.mark.parametrize("sizes", [(4, 4), (3, 5), (2, 2, 3)])
@pytest.mark.parametrize("weighted", [False, True])
def test_one_feature_against_all_relabellings(scale, sizes, weighted):
    rng = np.random.default_rng(1)
    y = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    X = 7.0 * rng.standard_t(3, size=(len(y), 1)) + 3.0 * y[:, None]
    weights = rng.uniform(0.5, 3.0, size=len(y)) if weighted else None
    found = quiet_test(X, y, statistic="divergence", scale=scale, sample_weight=weights)
    rows = scaled_rows(X, y, scale, weights)[:, 0]
    expected = [between_groups(rows, labelling, weights) for labelling in labellings_of(y)]
    assert found.exact and found.n_permutations == len(expected) - 1
    assert found.levels == [("euclidean", 1)]
    assert_same_values(np.append(found.statistic, found.null), expected)
    assert found.pvalue == pytest.approx(exact_pvalue(expected))


@pytest.mark.parametrize("whole", [False, True])
def test_one_feature_against_all_relabellings_in_blocks(whole):
    rng = np.random.default_rng(2)
    if whole:
        blocks = np.array([0, 0, 1, 2, 2, 2, 3, 4, 4, 5, 6])
        y = np.array([0, 1, 1, 0, 1, 0, 1])[blocks]
    else:
        blocks = np.repeat(np.arange(5), [2, 2, 3, 2, 2])
        y = np.array([0, 1, 1, 0, 0, 1, 1, 0, 1, 1, 0])
    X = rng.normal(size=(len(y), 1)) + blocks[:, None] + 0.5 * y[:, None]
    found = quiet_test(
        X,
        y,
        statistic="divergence",
        blocks=np.array(list("abcdefg"))[blocks],
        permute="whole" if whole else "within",
    )
    rows = scaled_rows(X, y, "pooled")[:, 0]
    expected = [between_groups(rows, labelling) for labelling in labellings_of(y, blocks, whole)]
    assert found.exact
    assert_same_values(np.append(found.statistic, found.null), expected)
    assert found.pvalue == pytest.approx(exact_pvalue(expected))


def test_best_single_feature_against_all_relabellings():
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(9, 4)), np.array([0, 1, 1, 0, 1, 0, 0, 1, 1])
    X[:, 2] += 2.0 * y
    found = permutation_test(X, y, statistic="divergence", n_features=1)
    rows = scaled_rows(X, y, "pooled")
    expected = [max(between_groups(row, labels) for row in rows.T) for labels in labellings_of(y)]
    assert_same_values(np.append(found.statistic, found.null), expected)
    assert found.pvalue == pytest.approx(exact_pvalue(expected))


def test_two_features_against_all_relabellings_and_angles():
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(8, 2)), np.repeat([0, 1], 4)
    X[y == 1, 0] += 2.0
    found = quiet_test(X, y, statistic="divergence")
    angles = np.pi * np.arange(7200) / 7200
    projections = np.stack([np.cos(angles), np.sin(angles)], axis=1) @ scaled_rows(X, y, "pooled").T
    labellings = labellings_of(y)
    expected = np.array(
        [
            ((np.sort(projections[:, row == 0]) - np.sort(projections[:, row == 1])) ** 2).mean(axis=1).max()
            for row in labellings
        ]
    )
    values = np.append(found.statistic, found.null)
    # Few starts do not reach every optimum, but nothing may lie above one.
    assert values[0] == pytest.approx(expected[0], rel=1e-3)
    assert (np.sort(values) <= np.sort(expected) * (1 + 1e-3)).all()
    assert np.mean(np.sort(values)) >= 0.98 * np.mean(expected)
    assert found.pvalue == pytest.approx(exact_pvalue(expected), abs=1.5 / 35)


def test_within_groups_rank_permute_standardise():
    rng = np.random.default_rng(5)
    y = np.repeat([0, 1], [5, 4])
    X = np.where(y[:, None] == 0, rng.exponential(size=(9, 1)), 4.0 - rng.exponential(size=(9, 1)))
    found = permutation_test(X, y, statistic="divergence", scale="within")
    once = np.empty((9, 1))
    for group in (0, 1):
        own = y == group
        once[own, 0] = norm.ppf((rankdata(X[own, 0]) - 0.5) / own.sum())
    expected = [
        between_groups(scaled_rows(once, labels, "within")[:, 0], labels) for labels in labellings_of(y)
    ]
    assert_same_values(np.append(found.statistic, found.null), expected)
    assert found.pvalue == pytest.approx(exact_pvalue(expected))
    # One feature by itself has no relationships.
    assert found.pvalue > 0.9


def test_within_groups_only_relationships_count():
    rng = np.random.default_rng(6)
    y = np.repeat([0, 1], 80)
    common = rng.normal(size=(160, 1))
    rows = 2 * common + rng.normal(size=(160, 4))
    # Shift, spread and shape of every feature differ, and what ties; how they go together does not.
    rows[80:] = np.column_stack([np.exp(rows[80:, :2]), rows[80:, 2] ** 3 - 9, np.round(rows[80:, 3])])
    options = {"scale": "within", "n_permutations": 99, "random_state": 0}
    found = permutation_test(rows, y, **options)
    assert found.pvalue > 0.1
    np.testing.assert_array_equal(permutation_test(rows, 1 - y, **options).values, found.values)
    broken = rows.copy()
    broken[80:, 0] = rng.permutation(broken[80:, 0])
    assert permutation_test(broken, y, **options).pvalue == pytest.approx(0.01)
    assert permutation_test(rows[:, :1], y, **options).pvalue == pytest.approx(1.0)


# ---------------------------------------------------------------- the p-value and what comes with it


def gamma_score(values):
    """-log of the survival function of the gamma law with the moments of the other labellings."""
    result = np.empty(len(values))
    for index, value in enumerate(values):
        others = np.delete(values, index)
        skewness = max(skew(others), 1e-3)
        shape = 4 / skewness**2
        point = shape + (value - others.mean()) / others.std() * np.sqrt(shape)
        result[index] = -gamma.logsf(max(point, 0.0), shape)
    return result


@pytest.mark.parametrize("metric", ["mixed", "euclidean", "whitened"])
def test_adaptive_pvalue_from_the_values(metric):
    X, y = two_groups(7, (15, 18), 6, shift=0.6)
    found = permutation_test(X, y, n_permutations=79, metric=metric, random_state=0)
    assert found.values.shape == (80, len(found.levels)) == (80, len(found.cells))
    directions = {cell.metric for cell in found.cells if cell.family == "direction"}
    assert directions == ({"euclidean", "whitened"} if metric == "mixed" else {metric})
    assert ("single features", 1) in found.levels
    scores = np.column_stack([gamma_score(column) for column in found.values.T])
    supported = np.log(80) + 1
    scores = np.minimum(scores, supported) + np.log1p(np.maximum(scores - supported, 0))
    weights = np.array([cell.weight for cell in found.cells])
    together = np.log(np.exp(scores) @ weights / weights.sum())
    # The clearest column has a share of its own: ranks among all labellings, each over its share.
    place = found.levels.index(("single features", 1))
    share = found.cells[place].share
    assert 0 < share < 1 and sum(cell.share for cell in found.cells) == share
    ranks = [(line[:, None] <= line).mean(axis=1) for line in (found.values[:, place], together)]
    statistics = -np.log(np.minimum(ranks[0] / share, ranks[1] / (1 - share)))
    close = np.isclose(np.append(found.statistic, found.null), statistics, atol=0.01)
    # Fits by two routes may put neighbours in another order.
    assert close.mean() > 0.9 and close[0]
    clear = found.level_pvalues <= found.level_pvalues.min() + 1.5 / 80
    clear &= scores[0] >= scores[0][clear].max() - 2
    clear = [cell for cell, own in zip(found.cells, clear, strict=True) if own]
    simplest = min(cell.complexity for cell in clear)
    assert (found.best_level, found.leading) in [
        (cell.key, cell.sentence) for cell in clear if cell.complexity == simplest
    ]
    assert found.pvalue == (1 + (found.null >= found.statistic).sum()) / 80
    alone = (1 + (found.values[1:] >= found.values[0]).sum(axis=0)) / 80
    np.testing.assert_allclose(found.level_pvalues, alone, atol=1.01 / 80)
    assert found.n_permutations == len(found.null) == 79
    assert not found.exact
    assert found.smallest_attainable_pvalue == pytest.approx(1 / 80)
    assert found.monte_carlo.low < found.pvalue < found.monte_carlo.high
    assert found.directions is None and found.extrapolated_pvalue is None


def test_the_best_column_is_that_of_the_single_tests():
    # A 0/1 feature beside continuous ones.
    X, y = two_groups(41, (9, 12), 3, shift=0.8)
    X[:, 2] = X[:, 2] > 0.5
    X, y = in_order(X, y)
    found = permutation_test(X, y, n_permutations=29, random_state=0)
    problem = Labellings.of(Problem.from_arrays(X, y), 29, Run.from_options(0).seed_for())
    scores = alone_scores(X, Relabellings(problem.scheme, 2))
    place = found.levels.index(("single features", 1))
    np.testing.assert_allclose(found.values[:, place], scores.units.max(axis=1), rtol=1e-5)
    assert found.leading_feature == scores.features[0].argmax()


def test_repr_is_short():
    X, y = two_groups(42, (15, 18), 4, shift=2.0)
    text = repr(permutation_test(X, y, n_permutations=39, random_state=0))
    assert text.startswith("PermutationResult(pvalue=0.025, statistic=")
    assert "39 permutations" in text and len(text) < 150


def test_contrasts_are_the_clearest_directions():
    # Width and length go together; their difference tells the groups apart, their size does not.
    rng = np.random.default_rng(43)
    y = np.repeat([0, 1], 40)
    size = 5 * rng.normal(size=80)
    X = size[:, None] + 0.2 * rng.normal(size=(80, 4))
    X[:, 0] += 0.5 * y
    found = permutation_test(X, y, n_permutations=99, random_state=0)
    assert found.pvalue == pytest.approx(0.01)
    assert set(found.contrasts) == {"euclidean", "whitened"}
    gaps = {}
    for metric, direction in found.contrasts.items():
        np.testing.assert_allclose(np.linalg.norm(direction), 1, rtol=1e-5)
        projected = X @ (direction / X.std(axis=0))
        gaps[metric] = abs(projected[y == 0].mean() - projected[y == 1].mean()) / projected.std()
    assert gaps["whitened"] > 1.2 > gaps["euclidean"]


def test_contrasts_do_not_depend_on_what_is_kept(tmp_path):
    X, y = two_groups(44, (30, 25), 5, shift=0.8)
    options = {"n_permutations": 59, "random_state": 0}
    expected = permutation_test(X, y, **options)
    assert expected.directions is None
    found = [permutation_test(X, y, keep_directions=True, **options)]
    # The second of these is read from the file that the first has written.
    found += [permutation_test(X, y, checkpoint=tmp_path / "run.npz", **options) for _ in range(2)]
    for result in found:
        assert set(result.contrasts) == set(expected.contrasts) == {"euclidean", "whitened"}
        for metric, direction in result.contrasts.items():
            np.testing.assert_allclose(direction, expected.contrasts[metric], atol=1e-6)


@pytest.mark.parametrize("statistic", ["divergence", "paper"])
def test_plain_pvalue_from_the_null(statistic):
    X, y = two_groups(8, (12, 15), 5, shift=0.7)
    found = permutation_test(X, y, n_permutations=59, statistic=statistic, random_state=0)
    assert found.pvalue == (1 + (found.null >= found.statistic).sum()) / 60
    # The statistic of a labelling is its divergence at one of the levels.
    statistics = np.append(found.statistic, found.null)
    assert (np.abs(found.values - statistics[:, None]).min(axis=1) <= 1e-12).all()
    assert (found.null >= 0).all()


def test_statistic_is_the_divergence_in_data_units():
    X, y = two_groups(9, (40, 40), 4, shift=1.0)
    X *= [1.0, 30.0, 2.0, 0.1]
    for scale in (None, "pooled", "within"):
        found = permutation_test(X, y, n_permutations=19, statistic="divergence", scale=scale, random_state=0)
        rows = X
        if scale == "within":
            rows = np.vstack([norm.ppf((rankdata(X[y == group], axis=0) - 0.5) / 40) for group in (0, 1)])
        assert found.statistic == pytest.approx(PDA(scale=scale).fit(rows, y).divergences_[0], rel=0.02)
    sparse = permutation_test(X, y, n_permutations=19, statistic="divergence", n_features=2, random_state=0)
    assert sparse.levels == [("euclidean", 2)]
    assert sparse.statistic == pytest.approx(SPARDA(2, scale="pooled").fit(X, y).divergences_[0], rel=0.02)
    relative = permutation_test(
        X, y, n_permutations=19, statistic="divergence", metric="whitened", random_state=0
    )
    assert relative.levels == [("whitened", 4)]
    fitted = PDA(scale="pooled", metric="whitened").fit(X, y)
    assert relative.statistic == pytest.approx(fitted.divergences_[0], rel=0.02)


@pytest.mark.parametrize("statistic", ["adaptive", "divergence", "paper"])
def test_kept_directions_have_the_values(statistic):
    X, y = in_order(*two_groups(11, (14, 16), 6, shift=1.0))
    found = permutation_test(
        X, y, n_permutations=29, statistic=statistic, random_state=0, keep_directions=True
    )
    assert found.directions.shape == (30, 6)
    np.testing.assert_allclose(np.linalg.norm(found.directions, axis=1), 1, rtol=1e-5)
    level = found.levels.index(("euclidean", 6))
    problem = labellings(X, y, 29)
    rows = scaled_rows(X, y, "pooled")
    for index, labels in enumerate(problem.scheme.codes(np.arange(30))):
        value = between_groups(rows @ found.directions[index].astype(np.float64), labels)
        assert value == pytest.approx(found.values[index, level], rel=1e-4)


def test_ties_count():
    # A feature of zeros and ones has few distinct values, most labellings tie with others.
    X = np.array([0, 0, 0, 1, 0, 1, 1, 1, 1.0])[:, None]
    y = np.repeat([0, 1], [4, 5])
    found = permutation_test(X, y, statistic="divergence")
    shares = np.array([abs(X[row == 0].mean() - X[row == 1].mean()) for row in labellings_of(y)])
    assert 0 < exact_pvalue(shares) < 1
    assert found.pvalue == pytest.approx(exact_pvalue(shares))
    adaptive = permutation_test(X, y)
    assert adaptive.pvalue == pytest.approx(exact_pvalue(shares))


def test_ties_of_many_features_do_not_hang_on_rounding():
    rng = np.random.default_rng(12)
    X = rng.poisson(0.4, size=(10, 3)).astype(float)
    y = np.repeat([0, 1], 5)
    for scale in (None, "pooled"):
        straight = permutation_test(X, y, scale=scale, statistic="divergence", n_features=1, random_state=0)
        scaled = permutation_test(
            X / 3 + 0.1, y, scale=scale, statistic="divergence", n_features=1, random_state=0
        )
        assert straight.pvalue == scaled.pvalue


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"statistic": "divergence"},
        {"statistic": "paper"},
        {"metric": "whitened"},
        {"scale": "within"},
        {"scale": None},
        {"covariates": np.arange(16.0)},
        {"blocks": np.arange(16) // 2},
        {"blocks": np.arange(16), "permute": "whole"},
        {"sample_weight": np.arange(1.0, 17.0)},
    ],
)
def test_nothing_differs_in_equal_rows(options):
    y = np.arange(16) % 2
    found = permutation_test(np.full((16, 3), 2.5), y, n_permutations=29, random_state=0, **options)
    assert found.pvalue == 1.0
    assert np.isfinite(found.null).all() and np.isfinite(found.statistic)
    assert (found.level_pvalues == 1.0).all()


def test_duplicated_groups_do_not_differ():
    rng = np.random.default_rng(13)
    half = rng.normal(size=(12, 4))
    found = permutation_test(
        np.concatenate([half, half]), np.repeat([0, 1], 12), n_permutations=49, random_state=0
    )
    assert found.pvalue == 1.0


# ---------------------------------------------------------------- what must not matter


@pytest.mark.parametrize("options", [{}, {"statistic": "divergence"}, {"statistic": "paper"}])
def test_any_number_of_jobs_and_any_chunk_size(options, monkeypatch):
    X, y = two_groups(14, (12, 14), 6, shift=0.8)

    def run(n_jobs=None):
        return permutation_test(X, y, n_permutations=39, random_state=0, n_jobs=n_jobs, **options)

    monkeypatch.setattr(permutation_runs, "_CHUNK", 20)
    first = run()
    for n_jobs in (1, 2):
        other = run(n_jobs)
        np.testing.assert_array_equal(other.null, first.null)
        assert other.pvalue == first.pvalue
    for size in (7, 40):
        monkeypatch.setattr(permutation_runs, "_CHUNK", size)
        other = run()
        assert other.pvalue == first.pvalue
        assert other.statistic == pytest.approx(first.statistic, rel=1e-3)
        np.testing.assert_allclose(other.null, first.null, rtol=5e-3, atol=5e-3)


def test_same_seed_same_result():
    X, y = two_groups(15, (12, 14), 4)
    runs = [permutation_test(X, y, n_permutations=39, random_state=seed) for seed in (1, 1, 2)]
    np.testing.assert_array_equal(runs[0].null, runs[1].null)
    assert (runs[0].null != runs[2].null).any()


def test_order_of_rows_does_not_matter():
    X, y = two_groups(16, (4, 5), 3, shift=1.0)
    order = np.random.default_rng(0).permutation(9)
    for statistic in ("divergence", "adaptive"):
        first, second = (
            permutation_test(X[rows], y[rows], statistic=statistic, random_state=0)
            for rows in (np.arange(9), order)
        )
        assert first.exact and second.exact
        assert second.statistic == pytest.approx(first.statistic, rel=2e-3)
        # A search with few starts may end elsewhere for single labellings.
        assert second.pvalue == pytest.approx(first.pvalue, abs=2 / 126)


def test_names_of_groups_do_not_matter():
    X, y = two_groups(17, (4, 5), 3, shift=1.0)
    first = permutation_test(X, y, random_state=0)
    for names in (1 - y, np.array(["b", "a"])[y]):
        swapped = permutation_test(X, names, random_state=0)
        assert swapped.exact
        assert swapped.statistic == pytest.approx(first.statistic, rel=2e-3)
        assert swapped.pvalue == pytest.approx(first.pvalue, abs=2 / 126)


def test_units_of_features_do_not_matter_when_pooled():
    X, y = two_groups(18, (20, 20), 5, shift=0.5)
    first = permutation_test(X, y, n_permutations=49, random_state=0)
    second = permutation_test(X * [1, 10, 1e3, 1e-3, 7] + 50.0, y, n_permutations=49, random_state=0)
    np.testing.assert_allclose(second.values, first.values, rtol=5e-3)
    assert second.pvalue == pytest.approx(first.pvalue, abs=1 / 50)


def test_frames_and_sparse_rows():
    rng = np.random.default_rng(19)
    X = rng.normal(2.0, size=(30, 5)) * (rng.random((30, 5)) < 0.7)
    y = np.array(["case", "control"])[np.arange(30) % 2]
    dense = permutation_test(X, y, n_permutations=29, random_state=0)
    frame = permutation_test(pd.DataFrame(X), pd.Series(y), n_permutations=29, random_state=0)
    np.testing.assert_array_equal(frame.null, dense.null)
    for options in ({}, {"scale": "within"}, {"covariates": rng.normal(size=30)}):
        dense = permutation_test(X, y, n_permutations=29, random_state=0, **options)
        sparse = permutation_test(sp.csr_matrix(X), y, n_permutations=29, random_state=0, **options)
        # Rounding may lead single ascents to another optimum.
        close = np.isclose(sparse.values, dense.values, rtol=1e-3)
        assert close[0].all() and close.mean() > 0.95
        np.testing.assert_allclose(sparse.values, dense.values, rtol=0.1)
        assert sparse.pvalue == pytest.approx(dense.pvalue, abs=2 / 30)


def test_equal_weights_are_no_weights_and_no_weight_is_no_row():
    X, y = two_groups(20, (10, 10), 3, shift=0.8)
    options = {"n_permutations": 49, "random_state": 0}
    plain = permutation_test(X, y, **options)
    equal = permutation_test(X, y, sample_weight=np.full(20, 3.0), **options)
    np.testing.assert_array_equal(equal.null, plain.null)
    weights = np.ones(20)
    weights[[0, 3, 12, 19]] = 0.0
    kept = weights > 0
    blocks = np.arange(20) // 4
    order = np.random.default_rng(0).permutation(20)
    for extra, inner in (({}, {}), ({"blocks": blocks}, {"blocks": blocks[kept]})):
        dropped = permutation_test(X, y[::-1][order], sample_weight=weights, **options, **extra)
        without = permutation_test(X[kept], y[::-1][order][kept], **options, **inner)
        np.testing.assert_array_equal(dropped.null, without.null)
        assert dropped.pvalue == without.pvalue


def test_relabelling_never_leaves_a_group_without_weight():
    # Most rows have no weight; relabelled as they are, some groups would consist of them.
    rng = np.random.default_rng(21)
    X, y = rng.normal(size=(20, 2)), np.repeat([0, 1], 10)
    weights = np.zeros(20)
    weights[[0, 1, 2, 10, 11, 12]] = [1, 2, 3, 1, 2, 3]
    found = quiet_test(X, y, sample_weight=weights, n_permutations=99, random_state=0)
    assert np.isfinite(found.values).all()
    assert found.exact and found.n_permutations == 9


def test_weights_travel_with_rows():
    # All that differs are rows of hardly any weight.
    rng = np.random.default_rng(22)
    X, y = rng.normal(size=(60, 3)), np.repeat([0, 1], 30)
    X[50:, 0] += 6.0
    weights = np.where(np.arange(60) >= 50, 1e-6, 1.0)
    options = {"n_permutations": 99, "random_state": 0}
    assert permutation_test(X, y, **options).pvalue <= 0.03
    assert permutation_test(X, y, sample_weight=weights, **options).pvalue > 0.1


# ---------------------------------------------------------------- what is found and what is not


@pytest.mark.parametrize("seed", range(3))
def test_block_gaussians_differ(seed):
    X, y = make_block_gaussians(15, 100, random_state=seed)
    assert permutation_test(X, y, n_permutations=99, random_state=0).pvalue <= 0.05


@pytest.mark.parametrize("statistic", ["adaptive", "divergence", "paper"])
def test_shift_is_found(statistic):
    X, y = two_groups(23, (30, 20), 5, shift=2.0, shifted=3)
    found = permutation_test(X, y, n_permutations=39, statistic=statistic, random_state=0)
    assert found.pvalue == pytest.approx(1 / 40)
    assert found.statistic > found.null.max()


def test_three_groups():
    X, y = two_groups(24, (20, 15, 18), 4, shift=1.0)
    found = permutation_test(X, y, n_permutations=49, random_state=0)
    assert found.pvalue <= 0.04
    same, _ = two_groups(25, (20, 15, 18), 4)
    assert permutation_test(same, y, n_permutations=49, random_state=0).pvalue > 0.06


def test_pairs_show_what_free_labels_hide():
    # Large differences between pairs, a small constant one inside each.
    rng = np.random.default_rng(26)
    pairs = np.repeat(np.arange(25), 2)
    y = np.tile([0, 1], 25)
    X = np.repeat(rng.normal(size=(25, 3)) * 5, 2, axis=0) + 0.3 * rng.normal(size=(50, 3))
    X[:, 1] += 0.6 * y
    options = {"n_permutations": 99, "random_state": 0}
    assert permutation_test(X, y, blocks=pairs, **options).pvalue <= 0.03
    assert permutation_test(X, y, **options).pvalue > 0.1


def test_donors_are_the_units():
    # Donors differ, groups do not: cells as units would make a difference of chance significant.
    rng = np.random.default_rng(27)
    donors = np.repeat(np.arange(12), 15)
    y = (donors >= 6).astype(int)
    X = rng.normal(size=(180, 3)) + rng.normal(size=(12, 3))[donors]
    options = {"n_permutations": 99, "random_state": 0}
    assert permutation_test(X, y, **options).pvalue == pytest.approx(0.01)
    assert permutation_test(X, y, blocks=donors, permute="whole", **options).pvalue > 0.05
    X += 4.0 * y[:, None]
    assert permutation_test(X, y, blocks=donors, permute="whole", **options).pvalue <= 0.03


def test_covariate_explains_the_difference():
    rng = np.random.default_rng(28)
    y = np.repeat([0, 1], 40)
    age = rng.normal(size=80) + 2.0 * y
    X = rng.normal(size=(80, 4)) + age[:, None] * [2.0, -1.0, 0.0, 0.5]
    options = {"n_permutations": 49, "random_state": 0}
    assert permutation_test(X, y, **options).pvalue == pytest.approx(0.02)
    assert permutation_test(X, y, covariates=age, **options).pvalue > 0.1
    frame = pd.DataFrame({"age": age, "sex": np.arange(80) % 3 == 0})
    assert permutation_test(X, y, covariates=frame, **options).pvalue > 0.1
    X[:, 2] += 1.5 * y
    assert permutation_test(X, y, covariates=age, **options).pvalue == pytest.approx(0.02)
    # Nothing can be compared at equal values of what has the groups as a function.
    with pytest.raises(ValueError, match="do not overlap in the covariate 'covariate 1'"):
        permutation_test(X, y, covariates=y, **options)


def test_a_constant_covariate_changes_nothing():
    X, y = two_groups(29, (20, 20), 3, shift=0.6)
    options = {"n_permutations": 39, "random_state": 0}
    first = permutation_test(X, y, **options)
    second = permutation_test(X, y, covariates=np.ones((40, 2)), **options)
    np.testing.assert_array_equal(second.values, first.values)


def correlated(seed, rho, n_rows=60):
    rng = np.random.default_rng(seed)
    pair = rng.normal(size=(n_rows, 2))
    pair[:, 1] = rho * pair[:, 0] + np.sqrt(1 - rho**2) * pair[:, 1]
    return np.column_stack([pair, rng.normal(size=(n_rows, 2))])


def test_within_sees_correlations_and_nothing_else():
    y = np.repeat([0, 1], 60)
    options = {"n_permutations": 99, "random_state": 0}
    scaled = np.concatenate([correlated(1, 0.6), 3.0 + 2.0 * correlated(2, 0.6)])
    assert permutation_test(scaled, y, **options).pvalue == pytest.approx(0.01)
    assert permutation_test(scaled, y, scale="within", **options).pvalue > 0.05
    turned = np.concatenate([correlated(1, 0.8), 3.0 + 2.0 * correlated(2, -0.8)])
    found = permutation_test(turned, y, scale="within", **options)
    assert found.pvalue <= 0.02
    assert "whitened" not in {metric for metric, _ in found.levels}


def test_whitened_sees_directions_of_small_variance():
    # A shift along a direction in which the features hardly vary.
    rng = np.random.default_rng(30)
    common = rng.normal(size=(100, 1))
    X = common + 0.4 * rng.normal(size=(100, 6))
    y = np.repeat([0, 1], 50)
    X[:, 0] += 0.5 * y
    options = {"n_permutations": 99, "statistic": "divergence", "random_state": 0}
    assert permutation_test(X, y, metric="euclidean", **options).pvalue > 0.1
    assert permutation_test(X, y, metric="whitened", **options).pvalue <= 0.02


# ---------------------------------------------------------------- early stop and tails


def test_early_stop_where_nothing_differs():
    X, y = two_groups(31, (15, 15), 3)
    options = {"statistic": "divergence", "n_permutations": 999, "random_state": 0}
    found = permutation_test(X, y, early_stop=10, **options)
    assert 10 <= found.n_permutations == len(found.null) < 999
    reached = int((found.null >= found.statistic).sum())
    assert reached >= 10
    assert found.pvalue == (1 + reached) / (1 + found.n_permutations)
    assert found.pvalue > 0.05
    assert not found.exact
    assert found.smallest_attainable_pvalue == pytest.approx(1 / (1 + found.n_permutations))


def test_early_stop_goes_to_the_end_where_something_differs():
    X, y = two_groups(32, (15, 15), 3, shift=3.0)
    options = {"statistic": "divergence", "n_permutations": 120, "random_state": 0}
    found = permutation_test(X, y, early_stop=10, **options)
    full = permutation_test(X, y, **options)
    assert found.n_permutations == 120
    assert found.pvalue == full.pvalue == pytest.approx(1 / 121)


def test_early_stop_of_a_small_design_sees_random_labellings():
    # 462 labellings, all listed. The first ones are not the neighbours of the observed one: what is reached
    # early must be about what is reached at last.
    differences = []
    for seed in range(4):
        X, y = two_groups(seed, (5, 6), 2)
        options = {"statistic": "divergence", "random_state": seed}
        early = permutation_test(X, y, early_stop=5, **options)
        full = permutation_test(X, y, **options)
        assert full.exact
        assert not early.exact or early.n_permutations == full.n_permutations
        differences.append(early.pvalue - full.pvalue)
    assert max(np.abs(differences)) < 0.25


def test_early_stop_is_valid():
    # With chance u of reaching the observed statistic, u uniform, P(p <= a) must not exceed a.
    rng = np.random.default_rng(33)
    pvalues = []
    for _ in range(4000):
        chance = rng.random()
        reached = rng.random(200) < chance
        stop = next((end for end in range(49, 200, 50) if reached[:end].sum() >= 5), 200)
        pvalues.append((1 + reached[:stop].sum()) / (1 + stop))
    for level in (0.02, 0.05, 0.1, 0.3):
        assert np.mean(np.array(pvalues) <= level) <= level + 3.3 * np.sqrt(level * (1 - level) / 4000)


def test_tail_extrapolates_only_when_told():
    X, y = two_groups(34, (25, 25), 3, shift=2.5)
    options = {"n_permutations": 199, "statistic": "divergence", "random_state": 0}
    found = permutation_test(X, y, tail="pareto", **options)
    assert found.pvalue == pytest.approx(1 / 200)
    assert found.extrapolated_pvalue is None or found.extrapolated_pvalue < 1 / 200
    same, _ = two_groups(35, (25, 25), 3)
    ordinary = permutation_test(same, y, tail="pareto", **options)
    assert ordinary.pvalue > 0.06
    assert ordinary.extrapolated_pvalue == pytest.approx(ordinary.pvalue)


# ---------------------------------------------------------------- type-I error

N_SETS = 40


def rejections(draw, n_sets=N_SETS, **options):
    """How many of some data sets without a difference are rejected at 10 %; two of twenty ranks."""
    count = 0
    for seed in range(n_sets):
        X, y, own = draw(np.random.default_rng([99, seed]))
        pvalue = permutation_test(X, y, n_permutations=19, random_state=seed, **options, **own).pvalue
        count += pvalue <= 0.1 + 1e-9
    return count


def assert_level(count, n_sets=N_SETS):
    low, high = binom.interval(0.999, n_sets, 0.1)
    assert low <= count <= high


def free_null(rng):
    return rng.normal(size=(12, 4)), np.repeat([0, 1], [5, 7]), {}


def paired_null(rng):
    blocks = np.repeat(np.arange(8), 2)
    # Blocks differ and hold unequal parts of the groups: free labels would be wrong.
    y = np.array([0, 1, 0, 1, 0, 1, 0, 1, 1, 0, 1, 0, 0, 0, 1, 1])
    X = rng.normal(size=(16, 4)) + 3.0 * (blocks == 6)[:, None] + rng.normal(size=(8, 4))[blocks]
    return X, y, {"blocks": blocks}


def donor_null(rng):
    donors = np.repeat(np.arange(8), [1, 2, 3, 1, 2, 1, 3, 2])
    y = (donors >= 4).astype(int)
    return rng.normal(size=(15, 4)) + 2 * rng.normal(size=(8, 4))[donors], y, {"blocks": donors}


def covariate_null(rng):
    y = np.repeat([0, 1], 10)
    age = rng.normal(size=20) + y
    return rng.normal(size=(20, 4)) + 2.0 * age[:, None], y, {"covariates": age}


def test_level_of_the_default():
    assert_level(rejections(free_null))


def test_level_within_blocks():
    assert_level(rejections(paired_null, statistic="divergence", n_features=2, permute="within"))


def test_level_of_whole_blocks():
    assert_level(rejections(donor_null, statistic="divergence", permute="whole"))


def test_level_with_covariates():
    assert_level(rejections(covariate_null, statistic="divergence", n_features=2))


@pytest.mark.slow
def test_level_of_the_whitened_metric():
    assert_level(rejections(free_null, metric="whitened"))


# ---------------------------------------------------------------- warnings and errors


def test_too_few_permutations_warn():
    X, y = two_groups(36, (10, 10), 2)
    with pytest.warns(UserWarning, match="at least 19") as caught:
        permutation_test(X, y, n_permutations=18)
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        permutation_test(X, y, n_permutations=19)


def test_coarse_designs_warn_and_say_how_coarse():
    X, y = two_groups(37, (3, 3), 2)
    with pytest.warns(UserWarning, match=r"10 distinct permutations.* below 0\.1"):
        found = permutation_test(X, y)
    assert found.smallest_attainable_pvalue == pytest.approx(0.1)
    X, y = two_groups(38, (8, 8), 2)
    donors = np.repeat(np.arange(4), 4)
    with pytest.warns(UserWarning, match="3 distinct permutations"):
        found = permutation_test(X + 10 * y[:, None], y, blocks=donors, permute="whole")
    assert found.pvalue == found.smallest_attainable_pvalue == pytest.approx(2 / 6)


def test_no_pvalue_below_the_smallest_attainable():
    rng = np.random.default_rng(39)
    X = np.repeat([0.0, 10.0, 30.0], 2)[:, None] + 0.01 * rng.normal(size=(6, 1))
    y = np.repeat([0, 1, 2], 2)
    for n_permutations in (19, 88, 89):
        for seed in range(5):
            found = quiet_test(X, y, n_permutations=n_permutations, statistic="divergence", random_state=seed)
            assert found.pvalue >= found.smallest_attainable_pvalue - 1e-12
    assert found.exact
    assert found.pvalue == pytest.approx(6 / 90)


X20, Y20 = two_groups(40, (10, 10), 3)


@pytest.mark.parametrize(
    "options, words",
    [
        ({"statistic": "mean"}, "statistic must be one of 'adaptive'"),
        ({"metric": "cosine"}, "metric must be one of 'mixed'"),
        ({"scale": "robust"}, "scale must be one of"),
        ({"permute": "between"}, "permute must be one of"),
        ({"tail": "normal"}, "tail must be one of"),
        ({"n_permutations": 0}, "n_permutations must be a positive whole number"),
        ({"n_permutations": -5}, "n_permutations must be a positive whole number"),
        ({"n_permutations": 10.5}, "n_permutations must be a positive whole number"),
        ({"early_stop": 0}, "early_stop must be a positive whole number"),
        ({"early_stop": 0, "statistic": "divergence"}, "early_stop must be a positive"),
        ({"n_features": 2}, 'n_features is for statistic="divergence"'),
        ({"n_features": 2, "statistic": "paper"}, 'n_features is for statistic="divergence"'),
        ({"n_features": 4, "statistic": "divergence"}, "between 1 and 3"),
        ({"metric": "whitened", "scale": "within"}, 'use scale="pooled" or None'),
        ({"blocks": np.arange(19)}, r"one entry per row, shape \(20,\)"),
        ({"blocks": np.zeros((20, 1))}, r"got shape \(20, 1\)"),
        ({"blocks": np.where(np.arange(20) == 3, np.nan, 1.0)}, "blocks contains NaN"),
        ({"blocks": np.repeat([0, 1], 10), "permute": "within"}, 'permute="whole"'),
        ({"blocks": np.arange(20) % 10, "permute": "whole"}, "several groups"),
        ({"blocks": np.zeros(20), "permute": "whole"}, "several groups"),
        ({"covariates": np.where(np.arange(20) == 3, np.nan, 1.0)}, "covariates contain NaN"),
        ({"covariates": np.full(20, np.inf)}, "covariates contain NaN or infinity"),
        ({"covariates": np.array(["a", "b"] * 10)}, "covariates must be numbers"),
        ({"covariates": np.arange(19.0)}, r"one row per row of X \(20\)"),
        ({"covariates": 1.0}, "one row per row"),
        ({"covariates": np.arange(20.0)}, r"do not overlap in the covariate .*\(0 to 9 in '0' and 10 to 19"),
        ({"covariates": np.eye(20)[:, :19]}, "together determine the group of every row"),
        ({"sample_weight": -np.ones(20)}, "must not be negative"),
        ({"sample_weight": np.repeat([0.0, 1.0], 10)}, "without weight"),
    ],
)
def test_bad_input_says_what_and_why(options, words):
    with pytest.raises(ValueError, match=words):
        permutation_test(X20, Y20, **options)


def test_bad_rows_and_groups():
    with pytest.raises(ValueError, match="at least two groups"):
        permutation_test(X20, np.zeros(20))
    with pytest.raises(ValueError, match="they must agree"):
        permutation_test(X20, Y20[:-1])
    with pytest.raises(ValueError, match="NaN or infinity"):
        permutation_test(np.where(X20 > 2, np.nan, X20) * np.where(X20 == X20.max(), np.inf, 1), Y20)
    with pytest.raises(ValueError, match='use scale="pooled"'):
        permutation_test(X20 * 1e200, Y20, scale=None)


def test_progress_shows_and_changes_nothing(capsys):
    options = {"n_permutations": 19, "statistic": "divergence", "random_state": 0}
    found = permutation_test(X20, Y20, progress=True, **options)
    np.testing.assert_array_equal(found.null, permutation_test(X20, Y20, **options).null)


def test_result_is_frozen():
    found = permutation_test(X20, Y20, n_permutations=19, statistic="divergence")
    with pytest.raises(AttributeError):
        found.pvalue = 0.0


def test_mixed_is_euclidean_for_one_level():
    options = {"n_permutations": 19, "statistic": "divergence", "random_state": 0}
    mixed, euclidean = (
        permutation_test(X20, Y20, metric=metric, **options) for metric in ("mixed", "euclidean")
    )
    np.testing.assert_array_equal(mixed.null, euclidean.null)
    assert divergence_along(PDA(scale="pooled").fit(X20, Y20).components_[0], X20, Y20, "pooled") >= (
        0.97 * mixed.statistic
    )


@pytest.mark.parametrize("options", [{}, {"divergence": "wasserstein1"}, {"sample_weight": True}])
def test_labellings_as_bits_are_judged_alike(options, monkeypatch):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(6000, 4)), np.repeat([0, 1], 3000)
    if options.get("sample_weight"):
        options = {"sample_weight": rng.random(6000)}
    found = [permutation_test(X, y, n_permutations=39, random_state=1, **options)]
    # As if a byte for each label of a chunk were too much.
    monkeypatch.setattr(permutation_runs, "_CHUNK_LABELS", 6000 * 20)
    found.append(permutation_test(X, y, n_permutations=39, random_state=1, **options))
    assert found[0].pvalue == found[1].pvalue
    np.testing.assert_array_equal(found[0].values, found[1].values)
