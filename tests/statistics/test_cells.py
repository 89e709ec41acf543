from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import cdist

from oracles import between_groups
from princdiff import permutation_test
from princdiff.data.labels import Labels
from princdiff.data.problem import Problem
from princdiff.data.samples import Samples
from princdiff.divergences import Energy, Wasserstein2
from princdiff.labellings.pvalues import permutation_pvalue, ranks_from_above
from princdiff.labellings.schemes import Scheme, scheme_of
from princdiff.solvers.whitening import whitening_share
from princdiff.statistics import column_cells, direction_cells, kernel_cells
from princdiff.statistics import searched_rows as sampling
from princdiff.statistics.alone import FEWEST_NAMING
from princdiff.statistics.column_cells import many_small, total_of_rows
from princdiff.statistics.combining import combined, leading_cell, overall
from princdiff.statistics.contrasts import Contrasts, Relabellings
from princdiff.statistics.direction_cells import DirectionCells, adaptive_grid
from princdiff.statistics.kernel_cells import RowKernel, kernel_statistics
from princdiff.statistics.moment_search import (
    MomentObjective,
    SearchEffort,
    gathered_moments,
    group_moments,
    search,
    starts_of,
)
from princdiff.statistics.pair_cells import pairs
from princdiff.statistics.protocol import Cell
from princdiff.statistics.registry import STATISTICS
from princdiff.statistics.row_view import RowView, distance_factors
from princdiff.statistics.scores import gamma_scores, tempered
from princdiff.statistics.searched_rows import SearchRows, judged
from princdiff.statistics.tested_rows import TestedRows


def design_of(codes, n_permutations=19, **options):
    codes = np.asarray(codes, dtype=np.uint8)
    return Relabellings(Scheme(codes, n_permutations, seed=0), int(codes.max()) + 1, **options)


def view_of(rows, scale=None):
    return RowView(Samples(rows, scale), np.ones(rows.shape[1], dtype=np.float32))


# ---------------------------------------------------------------- kernels


def discrepancy(matrix, codes, weights=None):
    """Average of (p - q)'K(p - q) over pairs of groups, by loops."""
    weights = np.ones(len(codes)) if weights is None else weights
    shares = {g: weights[codes == g].sum() / weights.sum() for g in np.unique(codes)}
    total = mass = 0.0
    for g in shares:
        for h in shares:
            if g < h:
                p = np.where(codes == g, weights, 0) / weights[codes == g].sum()
                q = np.where(codes == h, weights, 0) / weights[codes == h].sum()
                total += shares[g] * shares[h] * (p - q) @ matrix @ (p - q)
                mass += shares[g] * shares[h]
    return total / mass


@pytest.mark.parametrize("sizes", [(12, 12), (7, 20), (8, 9, 10)])
@pytest.mark.parametrize("weighted", [False, True])
def test_kernels_against_loops(sizes, weighted):
    rng = np.random.default_rng(0)
    codes = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    rows = rng.normal(size=(len(codes), 3)) + 0.5 * codes[:, None]
    weights = rng.uniform(0.5, 2.0, size=len(codes)) if weighted else None
    design = design_of(codes, weights=weights)
    kernels = (
        RowKernel("gaussian", 0.1),
        RowKernel("laplace", 0.5),
        RowKernel("energy"),
        RowKernel("products"),
    )
    found = kernel_statistics(view_of(rows), Contrasts(design), kernels, rng)
    scaled = (rows - rows.mean(axis=0)) / rows.std(axis=0).max()
    distances = cdist(scaled, scaled)
    apart = distances[np.triu_indices(len(rows), 1)]
    matrices = [
        np.exp(-0.5 * (distances / np.quantile(apart, 0.1)) ** 2),
        np.exp(-distances / np.quantile(apart, 0.5)),
        -distances,
        (scaled @ scaled.T) ** 2,
    ]
    for labelling in (0, 1, 7):
        own = design.scheme.codes(np.array([labelling]))[0]
        expected = [discrepancy(matrix, own, weights) for matrix in matrices]
        np.testing.assert_allclose(found[labelling], expected, rtol=2e-3, atol=1e-5)


def test_random_features_come_near_the_kernels(monkeypatch):
    rng = np.random.default_rng(1)
    codes = np.repeat([0, 1], 60)
    rows = rng.normal(size=(120, 2))
    rows[60:] *= 1.8
    design = design_of(codes, 99)
    kernels = (RowKernel("gaussian", 0.25), RowKernel("laplace", 0.5))
    exact = kernel_statistics(view_of(rows), Contrasts(design), kernels, rng)
    monkeypatch.setattr(kernel_cells, "MATRIX_ROWS", 50)
    monkeypatch.setattr(kernel_cells, "_MOST_FEATURES", 4000)
    approximate = kernel_statistics(view_of(rows), Contrasts(design), kernels, rng)
    for column in range(2):
        assert np.corrcoef(exact[:, column], approximate[:, column])[0, 1] > 0.97


def test_equal_rows_have_no_kernel():
    design = design_of(np.repeat([0, 1], 10))
    found = kernel_statistics(view_of(np.full((20, 2), 3.0)), Contrasts(design), kernel_cells.KERNELS, None)
    assert (gamma_scores(found) == 0).all()


def test_levels_of_a_category_count_as_one_column():
    rng = np.random.default_rng(2)
    levels = np.eye(4)[rng.integers(0, 4, size=200)]
    rows = np.column_stack([rng.normal(size=200), levels, (rng.random(200) < 0.01) * 1.0])
    problem = Problem.from_arrays(rows, np.arange(200) % 2)
    problem = type(problem)(
        **{
            **{name: getattr(problem, name) for name in problem.__dataclass_fields__},
            "units": ("age", "town", "town", "town", "town", "ill"),
            "kinds": ("number", "level", "level", "level", "level", "flag"),
        }
    )
    factors = distance_factors(problem)
    scaled = (rows - rows.mean(axis=0)) / rows.std(axis=0) * factors
    assert scaled[:, 0].var() == pytest.approx(1)
    assert scaled[:, 1:5].var(axis=0).sum() == pytest.approx(1)
    assert scaled[:, 5].var() < 1


# ---------------------------------------------------------------- columns and pairs


def test_a_changed_dependence_of_two_numbers_among_many_is_seen():
    # Scores of pairs that are fitted to few relabellings each hide it in half of such tables.
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(200, 30))
    rows[100:, 1] = 0.8 * rows[100:, 0] + 0.6 * rows[100:, 1]
    found = permutation_test(rows, np.repeat([0, 1], 100), n_permutations=99, random_state=0)
    assert found.pvalue <= 0.02


def test_many_small_sees_what_the_maximum_does_not():
    rng = np.random.default_rng(5)
    plain = rng.exponential(size=(400, 200)).astype(np.float32)
    shifted = plain.copy()
    shifted[:, :60] *= 2.0
    before, after = many_small(plain), many_small(shifted)
    for column in range(2):
        assert np.median(after[:, column]) > np.quantile(before[:, column], 0.95)


# ---------------------------------------------------------------- directions by moments


def plain_moments(rows, codes):
    return [
        (len(part) / len(rows), part.mean(axis=0), np.cov(part.T, ddof=0).reshape(rows.shape[1], -1))
        for part in (rows[codes == group] for group in np.unique(codes))
    ]


@pytest.mark.parametrize("sizes", [(12, 15), (3, 40), (9, 10, 11)])
def test_moments_against_numpy(sizes):
    rng = np.random.default_rng(6)
    codes = np.array([rng.permutation(np.repeat(np.arange(len(sizes)), sizes)) for _ in range(4)])
    rows = rng.normal(size=(sum(sizes), 3)).astype(np.float32)
    found = group_moments(rows, codes.astype(np.uint8), len(sizes))
    for labelling, own in enumerate(codes):
        for group, (share, mean, covariance) in enumerate(plain_moments(rows, own)):
            assert found.shares[labelling, group] == pytest.approx(share)
            np.testing.assert_allclose(found.means[labelling, group], mean, atol=1e-5)
            np.testing.assert_allclose(found.covariances[labelling, group], covariance, atol=1e-5)
    index = np.argsort(codes, axis=1, kind="stable")
    gathered = gathered_moments(rows, index, np.sort(codes[0]), len(sizes))
    for ours, theirs in zip(gathered, found, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-5)


def test_weighted_moments_are_those_of_copies():
    rng = np.random.default_rng(7)
    rows = rng.normal(size=(20, 2)).astype(np.float32)
    codes = (np.arange(20) % 2).astype(np.uint8)
    copies = rng.integers(1, 4, size=20)
    weighted = group_moments(rows, codes[None], 2, copies.astype(float))
    copied = group_moments(np.repeat(rows, copies, axis=0), np.repeat(codes, copies)[None], 2)
    for ours, theirs in zip(weighted, copied, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-5)


@pytest.mark.parametrize("n_groups", [2, 3])
@pytest.mark.parametrize("relative", [False, True])
def test_objective_is_location_and_scale(n_groups, relative):
    rng = np.random.default_rng(8)
    codes = (np.arange(45) % n_groups).astype(np.uint8)
    rows = (rng.normal(size=(45, 4)) * (1 + codes[:, None]) + codes[:, None]).astype(np.float32)
    metric = np.cov(rows.T, ddof=0).astype(np.float32) if relative else None
    objective = MomentObjective(group_moments(rows, codes[None], n_groups), metric, 1.0 if relative else 0.0)
    directions = rng.normal(size=(1, 3, 4)).astype(np.float32)
    values, gradients = objective(directions)
    shares = np.bincount(codes) / len(codes)
    for value, gradient, direction in zip(values[0], gradients[0], directions[0], strict=True):

        def exact(b):
            along = rows.astype(float) @ b
            means = [along[codes == g].mean() for g in range(n_groups)]
            deviations = [along[codes == g].std() for g in range(n_groups)]
            pairs = [(g, h) for g in range(n_groups) for h in range(g)]
            total = sum(
                shares[g] * shares[h] * ((means[g] - means[h]) ** 2 + (deviations[g] - deviations[h]) ** 2)
                for g, h in pairs
            ) / sum(shares[g] * shares[h] for g, h in pairs)
            return total / along.var() if relative else total

        assert value == pytest.approx(exact(direction), rel=1e-3)
        steps = 1e-5 * np.eye(4)
        slope = [(exact(direction + step) - exact(direction - step)) / 2e-5 for step in steps]
        np.testing.assert_allclose(gradient, slope, rtol=2e-3, atol=2e-3)
    axes, _ = objective(np.eye(4, dtype=np.float32)[None])
    np.testing.assert_allclose(objective.of_axes(), axes, rtol=1e-4)


@pytest.mark.parametrize("level", [1, 2, 4])
def test_search_by_moments_against_many_directions(level):
    rng = np.random.default_rng(9)
    codes = (np.arange(60) % 2).astype(np.uint8)
    rows = (rng.normal(size=(60, 4)) @ rng.normal(size=(4, 4))).astype(np.float32)
    rows[codes == 1] = rows[codes == 1] @ rng.normal(size=(4, 4)).astype(np.float32)
    objective = MomentObjective(group_moments(rows, codes[None], 2))
    found = search(objective, starts_of(objective, 2, rng), level, SearchEffort(steps=40)).best(1)
    draws = rng.normal(size=(200_000, 4))
    smallest = np.sort(np.abs(draws), axis=1)[:, [4 - level]]
    draws = np.where(np.abs(draws) >= smallest, draws, 0)
    draws /= np.linalg.norm(draws, axis=1, keepdims=True)
    best = objective(draws[None].astype(np.float32))[0].max()
    assert found.values[0, 0] >= 0.99 * best
    assert np.count_nonzero(found.directions[0, 0]) <= level
    assert np.linalg.norm(found.directions[0, 0]) == pytest.approx(1, abs=1e-5)


def direction_cells_of(rows, codes, divergence=None, most=None, metric="mixed"):
    samples = Samples(rows, "pooled")
    sizes = np.bincount(codes)
    grid = adaptive_grid(rows.shape[1], len(rows), metric)
    searched = (
        None if most is None else SearchRows.of(sizes, most, np.random.default_rng(0).permutation(len(rows)))
    )
    return DirectionCells(samples, divergence or Wasserstein2(), grid, 0, searched)


@pytest.mark.parametrize("many", [False, True])
@pytest.mark.parametrize("divergence", [Wasserstein2(), Energy()])
def test_values_are_those_of_the_directions(many, divergence, monkeypatch):
    rng = np.random.default_rng(10)
    codes = np.array([rng.permutation(np.repeat([0, 1], [30, 50])) for _ in range(3)]).astype(np.uint8)
    rows = rng.normal(size=(80, 6)) @ rng.normal(size=(6, 6))
    if many:
        monkeypatch.setattr(direction_cells, "_POLISHED_ROWS", 10)
        monkeypatch.setattr(direction_cells, "_MOMENT_WORK", 10)
    cells = direction_cells_of(rows, codes[0], divergence, most=20 if many else None)
    path = cells(Labels(codes, 2))
    scaled = (rows - rows.mean(axis=0)) / rows.std(axis=0)
    pooled = scaled.T @ scaled / len(rows)
    for labelling in range(3):
        for place, (metric, level) in enumerate(cells.grid.cells):
            direction = path.directions[labelling, place].astype(np.float64)
            assert 1 <= np.count_nonzero(direction) <= level
            value = divergence.value((scaled @ direction)[None], Labels(codes[[labelling]], 2))[0]
            if metric == "whitened":
                share = whitening_share(level, len(rows))
                variance = (1 - share) * direction @ pooled @ direction + share * direction @ direction
                value /= variance ** (divergence.degree / 2)
            assert path.values[labelling, place] == pytest.approx(value, rel=2e-3)


def test_many_features_are_searched_without_covariances(monkeypatch):
    rng = np.random.default_rng(11)
    codes = np.repeat([0, 1], 25).astype(np.uint8)
    rows = rng.normal(size=(50, 8))
    rows[25:, 2] += 3
    monkeypatch.setattr(direction_cells, "MOST_FEATURES", 5)
    for most in (None, 15):
        cells = direction_cells_of(rows, codes, most=most)
        path = cells(Labels(codes, 2))
        assert np.abs(path.directions[0]).argmax(axis=1).tolist() == [2] * len(cells.grid.cells)


@pytest.mark.parametrize("n_groups", [2, 3])
@pytest.mark.parametrize("divergence", [Wasserstein2(), Energy()])
def test_many_rows_and_features_are_searched_by_their_means(n_groups, divergence, monkeypatch):
    rng = np.random.default_rng(21)
    codes = rng.permutation(np.arange(90) % n_groups).astype(np.uint8)
    rows = rng.normal(size=(90, 8)) @ rng.normal(size=(8, 8))
    monkeypatch.setattr(direction_cells, "MOST_FEATURES", 5)
    monkeypatch.setattr(direction_cells, "MEANS_ROWS", 50)
    cells = direction_cells_of(rows, codes, divergence, most=15)
    path = cells(Labels(codes, n_groups))
    scaled = (rows - rows.mean(axis=0)) / rows.std(axis=0)
    pooled = scaled.T @ scaled / len(rows)

    def size(direction, relative):
        means = [(scaled[codes == group] @ direction).mean() for group in range(n_groups)]
        # Groups have equal sizes: the average over pairs of groups.
        first, second = np.triu_indices(n_groups, 1)
        squared = np.mean((np.take(means, first) - np.take(means, second)) ** 2)
        metric = pooled
        if relative:
            share = whitening_share(8, len(rows))
            metric = (1 - share) * pooled + share * np.eye(8)
        return squared / (direction @ metric @ direction) ** (1.0 if relative else 1 - divergence.degree / 2)

    assert cells.grid.cells == [("euclidean", 3), ("euclidean", 8), ("whitened", 3), ("whitened", 8)]
    for place, (metric, level) in enumerate(cells.grid.cells):
        direction = path.directions[0, place].astype(np.float64)
        assert 1 <= np.count_nonzero(direction) <= level
        if (metric, level) != ("whitened", 3):
            assert path.values[0, place] == pytest.approx(size(direction, metric == "whitened"), rel=1e-3)
    # Of two groups the dense relative direction is Fisher's, which nothing exceeds.
    best = path.directions[0, 3].astype(np.float64)
    if n_groups == 2:
        others = rng.normal(size=(300, 8)) + 3 * best
        assert max(size(other, True) for other in others) <= size(best, True) * (1 + 1e-4)


def test_grid():
    assert adaptive_grid(1, 100, "mixed").cells == [("euclidean", 1)]
    assert adaptive_grid(1, 100, "whitened").cells == [("whitened", 1)]
    assert adaptive_grid(2, 100, "mixed").cells == [("euclidean", 2), ("whitened", 2)]
    assert adaptive_grid(60, 100, "euclidean").cells == [("euclidean", k) for k in (3, 10, 60)]
    assert adaptive_grid(2000, 100, "whitened").cells == [("whitened", 3)]


# ---------------------------------------------------------------- many rows


def test_searched_rows_are_the_first_of_each_group():
    rng = np.random.default_rng(12)
    searched = SearchRows.of(np.array([7, 400]), 50, rng.permutation(407))
    codes = rng.permutation(np.repeat([0, 1], [7, 400])).astype(np.uint8)
    taken = searched.take(codes)
    np.testing.assert_array_equal(codes[taken], searched.codes)
    for group, size in enumerate((7, 50)):
        expected = [row for row in searched.order if codes[row] == group][:size]
        np.testing.assert_array_equal(taken[searched.codes == group], expected)
    assert SearchRows.of(np.array([7, 50]), 50, np.arange(57)) is None


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("divergence", [Wasserstein2(), Energy()])
def test_histograms_come_near_the_divergence(divergence, weighted, monkeypatch):
    rng = np.random.default_rng(13)
    rows = rng.normal(size=(3000, 3))
    codes = np.array([rng.random(3000) < 0.3, rng.random(3000) < 0.6]).astype(np.uint8)
    rows[codes[0] == 1] *= 1.3
    rows[codes[0] == 1, 0] += 0.4
    weights = rng.uniform(0.5, 2.0, size=3000) if weighted else None
    directions = rng.normal(size=(2, 4, 3))
    directions /= np.linalg.norm(directions, axis=2, keepdims=True)
    samples, labels = Samples(rows, "pooled"), Labels(codes, 2, weights=weights)
    exact = judged(samples, labels, divergence, directions)
    scaled = (rows - rows.mean(axis=0)) / rows.std(axis=0)
    if isinstance(divergence, Wasserstein2):
        expected = between_groups(scaled @ directions[0, 1], codes[0], weights)
        assert exact[0, 1] == pytest.approx(expected, rel=1e-3)
    monkeypatch.setattr(sampling, "SORTED_ROWS", 100)
    near = judged(samples, labels, divergence, directions)
    np.testing.assert_allclose(near, exact, rtol=0.02, atol=2e-4)


# ---------------------------------------------------------------- the combination


def test_combination_and_leader():
    cells = [
        Cell("kernel", "energy", weight=2.0, complexity=6),
        Cell("column", "one column", complexity=0),
        Cell("length", "lengths", complexity=7),
    ]
    scores = np.array([[3.0, 3.0, 0.1], [0.5, 0.2, 0.1]], dtype=np.float32)
    expected = np.log((np.exp(scores) * [2, 1, 1]).sum(axis=1) / 4)
    np.testing.assert_allclose(combined(scores, cells), expected, rtol=1e-6)
    # As clear as any, and simpler.
    assert leading_cell(scores[0], np.array([0.01, 0.02, 0.9]), cells, 100) == 1
    assert leading_cell(scores[0], np.array([0.01, 0.05, 0.9]), cells, 100) == 0


@pytest.mark.parametrize("n_features", [3, 20])
def test_no_two_cells_have_the_same_words(n_features):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(120, n_features)), np.repeat([0, 1], 60)
    words = [cell.words for cell in permutation_test(X, y, n_permutations=19, random_state=0).cells]
    assert len(words) == len(set(words)) > 10


def families(X, y, **options):
    return permutation_test(X, y, n_permutations=99, random_state=0, **options)


def test_what_leads_is_said():
    rng = np.random.default_rng(14)
    y = np.repeat([0, 1], 100)
    shift = rng.normal(size=(200, 8))
    shift[100:, 2] += 1.5
    assert families(shift, y).leading == "one column alone"
    radial = rng.normal(size=(200, 20))
    radial[100:] *= np.sqrt(3 / rng.chisquare(5, size=100))[:, None]
    assert families(radial, y).leading == "overall spread"
    pair = rng.normal(size=(200, 6))
    pair[100:, 1] = 0.95 * pair[100:, 0] + 0.3 * pair[100:, 1]
    found = families(pair, y)
    assert found.leading_pair == (0, 1) and found.leading == "the dependence of two features"
    blobs = 10.0 * rng.integers(0, 3, size=(200, 2)) + rng.normal(size=(200, 2))
    blobs[100:] = 10.0 * rng.integers(0, 3, size=(100, 2)) + rng.normal(size=(100, 1))
    blobs[100:] += 0.1 * rng.normal(size=(100, 2))
    assert families(blobs, y).leading == "how two features go together, in bends or waves"


def test_total_is_the_sum_of_the_scaled_numbers():
    rng = np.random.default_rng(31)
    rows = np.column_stack([rng.normal(5.0, [1.0, 10.0, 0.1], size=(40, 3)), rng.random(40) < 0.3])
    for scale, scaled in (("pooled", (rows - rows.mean(axis=0)) / rows.std(axis=0)), (None, rows)):
        for stored in (rows, sp.csr_matrix(rows)):
            total = total_of_rows(Problem.from_arrays(stored, np.arange(40) % 2, scale=scale))
            expected = scaled[:, :3].sum(axis=1)
            np.testing.assert_allclose(total - total.mean(), expected - expected.mean(), rtol=1e-4, atol=1e-4)
    # Two numbers are looked at one by one and along directions.
    assert total_of_rows(Problem.from_arrays(rows[:, 1:], np.arange(40) % 2)) is None


def test_a_small_shift_of_all_features_shows_in_their_sum():
    rng = np.random.default_rng(32)
    X, y = rng.normal(size=(160, 50)), np.repeat([0, 1], 80)
    X[y == 1] += 0.13
    found = families(X, y)
    assert found.pvalue <= 0.05 and found.leading == "the sum of all features"
    # The same shift, half of it downward: the sum does not see it.
    X[y == 1, ::2] -= 0.26
    assert families(X, y).leading != "the sum of all features"


@pytest.mark.parametrize("n_groups", [2, 3])
def test_products_hold_for_blocks_weights_and_groups(n_groups):
    rng = np.random.default_rng(15)
    y = np.arange(60) % n_groups
    X = rng.normal(size=(60, 5)) + 2.0 * (y == 1)[:, None]
    for options in (
        {"blocks": np.arange(60) // 6, "permute": "within"},
        {"blocks": np.arange(60) // n_groups % 10 * n_groups + y, "permute": "whole"},
        {"sample_weight": rng.uniform(0.5, 2.0, size=60)},
        {"divergence": "energy"},
        {"divergence": "kolmogorov_smirnov"},
        {"scale": None},
    ):
        assert families(X, y, **options).pvalue <= 0.02


def test_sparse_rows_have_the_same_cells():
    rng = np.random.default_rng(16)
    X = rng.normal(2.0, size=(40, 6)) * (rng.random((40, 6)) < 0.6)
    problem = Problem.from_arrays(X, np.arange(40) % 2)
    sparse = Problem.from_arrays(sp.csr_matrix(X), np.arange(40) % 2)
    scheme = Scheme(problem.codes, 29, seed=0)
    for statistic in STATISTICS:
        dense, other = (statistic(TestedRows(p, scheme, 0)) for p in (problem, sparse))
        assert dense is not None and other is not None
        assert [cell.name for cell in dense.cells] == [cell.name for cell in other.cells]
        np.testing.assert_allclose(other.values, dense.values, rtol=2e-3, atol=1e-4)


def test_adaptive_test_stops_early():
    rng = np.random.default_rng(18)
    X, y = rng.normal(size=(60, 3)), np.repeat([0, 1], 30)
    found = permutation_test(X, y, n_permutations=999, early_stop=10, random_state=0)
    assert found.n_permutations == 99
    fewer = permutation_test(X, y, n_permutations=99, random_state=0)
    # The first 99 relabellings are those of a test that makes no more.
    np.testing.assert_allclose(found.null, fewer.null, rtol=1e-4)
    assert found.pvalue == fewer.pvalue > 0.1
    assert found.smallest_attainable_pvalue == pytest.approx(0.01)
    X[30:, 0] += 3
    clear = permutation_test(X, y, n_permutations=250, early_stop=10, random_state=0)
    assert clear.n_permutations == 250 and clear.pvalue == pytest.approx(1 / 251)


def mixed_problem(n_rows=60):
    rng = np.random.default_rng(0)
    rows = np.column_stack([rng.normal(size=n_rows), rng.random((n_rows, 2)) < [0.1, 0.5]])
    return Problem.from_arrays(rows, np.arange(n_rows) % 2)


def test_columns_of_a_small_test_are_scored_as_those_that_are_named():
    problem = mixed_problem()
    few, many = (TestedRows(problem, scheme_of(problem, count, 3), 3).alone for count in (99, FEWEST_NAMING))
    assert few.units.shape == (100, 3)
    np.testing.assert_array_equal(few.units, many.units[:100])
    assert TestedRows(problem, scheme_of(problem, 49, 3), 3).alone.units.shape == (50, 3)


def test_the_clearest_pair_of_a_mixed_table_is_that_of_the_selection():
    rng = np.random.default_rng(1)
    rows = np.column_stack([rng.normal(size=(200, 3)), rng.random(200) < 0.4])
    rows[100:, 2] = 0.9 * rows[100:, 0] + 0.4 * rows[100:, 2]
    problem = Problem.from_arrays(rows, np.repeat([0, 1], 100))
    tested = TestedRows(problem, scheme_of(problem, 99, 0), 0)
    scores = pairs(tested).values[:, 0]
    assert tested.leading_pair == (0, 2)
    assert scores.shape == (100,) and scores[0] > scores[1:].max()


@pytest.mark.parametrize("weighted", [False, True])
def test_variances_of_wide_tables_need_no_covariances(weighted):
    rng = np.random.default_rng(0)
    rows = 3 * rng.normal(size=(40, 120)) + rng.normal(size=120)
    weights = rng.random(40) + 0.2 if weighted else None
    samples = Samples(rows, "pooled", weights=weights)
    cells = DirectionCells(samples, Wasserstein2(), adaptive_grid(120, 40, "mixed"), 0)
    directions = rng.normal(size=(5, 120))
    covariance = samples.astype(np.float64).covariance()
    expected = np.einsum("ld,ld->l", directions @ covariance, directions)
    np.testing.assert_allclose(cells._variance(directions), expected, rtol=1e-5)
    assert cells._typical == pytest.approx(np.diag(covariance).mean(), rel=1e-5)


def test_a_wide_table_is_searched_by_its_means():
    rng = np.random.default_rng(1)
    rows, codes = rng.normal(size=(60, 150)), np.repeat([0, 1], 30)
    rows[30:, :15] += 0.8
    found = permutation_test(rows, codes, n_permutations=19, random_state=0)
    assert found.pvalue == 1 / 20


@pytest.mark.slow
def test_level_on_wide_tables():
    rng = np.random.default_rng(1)
    codes = np.repeat([0, 1], 12)
    rejected = [
        permutation_test(rng.normal(size=(24, 110)), codes, n_permutations=19, random_state=s).pvalue <= 0.05
        for s in range(60)
    ]
    assert sum(rejected) <= 8


@pytest.mark.parametrize("unit", [1e200, 1e-200])
def test_means_and_spreads_are_seen_in_any_unit(unit):
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(80, 3)), np.arange(80) % 2
    X[y == 1, 0] += 0.8
    design = design_of(y)
    plain, other = (column_cells.moment_scores(rows, Contrasts(design)) for rows in (X, X * unit))
    for first, second in zip(plain, other, strict=True):
        assert second == pytest.approx(first, rel=1e-4)


# ---------------------------------------------------------------- shares of the error


def cell_table(seed, n_labellings=200, n_cells=5):
    """Values of cells that partly agree, where some labelling stands out in the first."""
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(n_labellings, n_cells)) + rng.normal(size=(n_labellings, 1))
    values[0, 0] += rng.exponential(2.0)
    return values


def test_no_cell_with_a_share_is_outvoted():
    cells = [Cell("column", "one column", share=0.25)]
    cells += [Cell("kernel", f"kernel {place}", weight=20.0) for place in range(4)]
    helped = 0
    for seed in range(300):
        values = cell_table(seed)
        scores = tempered(gamma_scores(values))
        pvalue = permutation_pvalue(overall(values, scores, cells))
        alone, together = permutation_pvalue(values[:, 0]), permutation_pvalue(combined(scores, cells))
        assert pvalue <= 1.001 * min(alone / 0.25, together / 0.75) + 1e-12
        helped += pvalue <= 0.05 < together
    assert helped > 10


def test_shares_treat_all_labellings_alike():
    cells = [Cell("column", "one column", share=0.25), Cell("pair", "pairs", share=0.2), Cell("length", "l")]
    values = cell_table(0, n_cells=3)
    order = np.random.default_rng(0).permutation(len(values))
    scores = tempered(gamma_scores(values))
    found = overall(values, scores, cells)
    np.testing.assert_allclose(overall(values[order], scores[order], cells), found[order], atol=1e-9)
    # By the definition, labelling by labelling.
    together = combined(scores, cells)
    for place in (0, 3, 17):
        ranks = [np.mean(line >= line[place] - 1e-12) for line in (values[:, 0], values[:, 1], together)]
        smallest = min(ranks[0] / 0.25, ranks[1] / 0.2, ranks[2] / 0.55)
        assert found[place] == pytest.approx(-np.log(smallest), abs=5e-3)


def test_ranks_from_above_are_pvalues_of_every_labelling():
    values = np.random.default_rng(1).integers(0, 9, size=(40, 3)).astype(float)
    found = ranks_from_above(values)
    for place in range(40):
        turned = np.roll(values, -place, axis=0)
        np.testing.assert_allclose(found[place], permutation_pvalue(turned))
