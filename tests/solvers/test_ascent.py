from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from oracles import divergence_along, equal_groups_value, half_sphere, scaled_rows
from princdiff.data.labels import HELD_OUT, Labels
from princdiff.data.samples import Samples
from princdiff.divergences import Wasserstein2
from princdiff.solvers.ascent import Tolerance, ascend
from princdiff.solvers.sparsity import Sparsity

LONG = Tolerance(400, 1e-10, 12)


def problem(seed=0, n_first=40, n_second=40, n_features=6, ties=False):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_first + n_second, n_features)) * rng.uniform(0.5, 2.0, size=n_features)
    X[n_first:] = X[n_first:] @ rng.normal(size=(n_features, n_features)) / np.sqrt(n_features)
    X[n_first:, 0] += 0.7
    return np.round(2 * X) if ties else X, np.repeat([0, 1], [n_first, n_second])


def starts_of(n_columns, n_features, seed=0):
    return np.random.default_rng(seed).normal(size=(n_columns, n_features))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("scale", [None, "pooled", "within"])
@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("penalty", [None, 0.05])
def test_results_are_feasible_better_than_the_start_and_truly_valued(dtype, scale, ties, penalty):
    X, y = problem(ties=ties)
    samples = Samples(X, scale, dtype=dtype)
    starts = starts_of(8, 6)
    levels = np.array([1, 2, 3, 4, 5, 6, 6, 2])
    sparsity = Sparsity(levels, None if penalty is None else np.full(8, penalty))
    labels = Labels(y, 2).repeat(8)
    found = ascend(samples, labels, Wasserstein2(), sparsity, starts, Tolerance(40))
    begin = ascend(samples, labels, Wasserstein2(), sparsity, starts, Tolerance(1))

    assert found.directions.dtype == dtype
    np.testing.assert_allclose(np.linalg.norm(found.directions, axis=1), 1.0, rtol=1e-5)
    assert (np.count_nonzero(found.directions, axis=1) <= levels).all()
    assert (found.objective >= begin.objective).all()
    assert (found.n_iter <= 40).all() and (begin.n_iter == 1).all()
    l1 = np.abs(found.directions).sum(axis=1)
    for direction, objective, norm in zip(found.directions, found.objective, l1, strict=True):
        value = divergence_along(direction.astype(np.float64), X, y, scale) / samples.unit**2
        assert objective == pytest.approx(value - (penalty or 0.0) * norm**2, rel=2e-4, abs=1e-6)


def test_one_evaluation_returns_the_projected_start():
    X, y = problem()
    starts = starts_of(3, 6)
    sparsity = Sparsity(np.array([2, 3, 6]))
    samples = Samples(X, dtype=np.float64)
    found = ascend(samples, Labels(y, 2).repeat(3), Wasserstein2(), sparsity, starts, Tolerance(1))
    np.testing.assert_allclose(found.directions, sparsity.project(starts))


@pytest.mark.parametrize("penalty", [None, 0.1])
def test_more_iterations_never_lose(penalty):
    X, y = problem(1)
    samples = Samples(X)
    starts = starts_of(10, 6, seed=1)
    sparsity = Sparsity(np.arange(10) % 6 + 1, None if penalty is None else np.full(10, penalty))
    labels = Labels(y, 2).repeat(10)
    objective = [
        ascend(samples, labels, Wasserstein2(), sparsity, starts, Tolerance(n, 0.0, n)).objective
        for n in (1, 2, 3, 5, 8, 13, 30, 80)
    ]
    assert (np.diff(objective, axis=0) >= 0).all()


@pytest.mark.parametrize("scale", [None, "within"])
def test_the_number_of_threads_does_not_matter(scale):
    # Wide enough for several chunks, and labels of two kinds.
    rng = np.random.default_rng(2)
    X = rng.normal(size=(200, 5))
    codes = np.stack([rng.permutation(np.arange(200) % 2) for _ in range(3)] + [np.arange(200) % 5 == 0])
    labels = Labels(codes, 2).repeat(100)
    starts = rng.normal(size=(400, 5))
    sparsity = Sparsity(rng.integers(1, 6, size=400))
    runs = [
        ascend(Samples(X, scale), labels, Wasserstein2(), sparsity, starts, Tolerance(15), n_jobs)
        for n_jobs in (None, 1, 2, 5)
    ]
    for run in runs[1:]:
        for one, other in zip(runs[0], run, strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("scale", [None, "pooled", "within"])
@pytest.mark.parametrize("container", [np.asarray, sp.csr_matrix])
def test_every_column_of_a_batch_as_if_alone(scale, container):
    # Own labels, held-out rows, group sizes, levels and starts in every column.
    rng = np.random.default_rng(3)
    X = rng.normal(size=(50, 5)) * (rng.random((50, 5)) < 0.6)
    codes = np.stack([rng.permutation(np.arange(50) % 2) for _ in range(6)])
    codes[2:4, :8] = HELD_OUT
    codes[4:] = rng.permutation(np.arange(50) % 3 == 0)
    labels = Labels(codes, 2)
    starts, levels = rng.normal(size=(6, 5)), np.array([1, 5, 3, 5, 2, 4])
    samples = Samples(container(X), scale, dtype=np.float64)
    together = ascend(samples, labels, Wasserstein2(), Sparsity(levels), starts, Tolerance(25))
    for column in range(6):
        alone = ascend(
            samples,
            labels.labelling(column),
            Wasserstein2(),
            Sparsity(levels[column : column + 1]),
            starts[column : column + 1],
            Tolerance(25),
        )
        np.testing.assert_allclose(together.objective[column], alone.objective[0], rtol=1e-7)
        np.testing.assert_allclose(together.directions[column], alone.directions[0], atol=1e-4)


def test_columns_that_are_done_leave():
    X, y = problem(4, n_first=200, n_second=200)
    samples = Samples(X, dtype=np.float64)
    starts = starts_of(12, 6, seed=4)
    labels = Labels(y, 2).repeat(12)
    levels = np.where(np.arange(12) < 3, 1, 6)
    found = ascend(samples, labels, Wasserstein2(), Sparsity(levels), starts, Tolerance(300, 1e-6, 5))
    # A single feature cannot move: patience and no more.
    assert (found.n_iter[:3] <= 12).all()
    assert (found.n_iter[3:] > found.n_iter[:3].max()).any()
    assert (found.n_iter < 300).all()


def test_a_race_keeps_the_winner_and_saves_the_steps_of_the_others():
    X, y = problem(n_first=150, n_second=150, n_features=12)
    samples, starts = Samples(X, "pooled", dtype=np.float64), starts_of(12, 12)
    sparsity, labels = Sparsity(np.full(12, 12)), Labels(y, 2).repeat(12)
    alone = ascend(samples, labels, Wasserstein2(), sparsity, starts, LONG)
    raced = ascend(samples, labels, Wasserstein2(), sparsity, starts, replace(LONG, race=True))
    assert raced.objective.max() == pytest.approx(alone.objective.max(), rel=1e-6)
    assert (raced.n_iter <= alone.n_iter).all() and raced.n_iter.sum() < alone.n_iter.sum()
    assert (raced.objective <= alone.objective + 1e-12).all()


def test_directions_stay_in_a_given_support():
    X, y = problem(5)
    rng = np.random.default_rng(5)
    support = rng.random((6, 6)) < 0.5
    support[np.arange(6), np.arange(6)] = True
    starts = starts_of(6, 6)
    sparsity = Sparsity(np.full(6, 6), support=support)
    found = ascend(Samples(X), Labels(y, 2).repeat(6), Wasserstein2(), sparsity, starts)
    assert not found.directions[~support].any()


def test_a_start_of_zeros_stays_there_without_a_fuss():
    X, y = problem()
    found = ascend(Samples(X), Labels(y, 2), Wasserstein2(), Sparsity(np.array([3])), np.zeros((1, 6)))
    assert found.objective[0] == 0.0
    assert not found.directions.any()


def test_identical_groups():
    X = np.tile(np.random.default_rng(6).normal(size=(20, 3)), (2, 1))
    labels = Labels(np.repeat([0, 1], 20), 2).repeat(4)
    found = ascend(Samples(X), labels, Wasserstein2(), Sparsity(np.full(4, 3)), starts_of(4, 3))
    np.testing.assert_array_equal(found.objective, 0.0)
    np.testing.assert_allclose(np.linalg.norm(found.directions, axis=1), 1.0, rtol=1e-6)


# ---------------------------------------------------------------- optima


@pytest.mark.parametrize("penalty", [0.0, 0.02, 0.1, 0.3, 1.0, 5.0])
@pytest.mark.parametrize("n_features", [2, 3])
def test_penalised_optimum_by_brute_force(n_features, penalty):
    X, y = problem(7, n_first=60, n_second=60, n_features=n_features)
    samples = Samples(X, dtype=np.float64)
    rows = scaled_rows(X, y, None)
    if n_features == 2:
        angles = np.pi * np.arange(4000) / 4000
        grid = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    else:
        grid = np.concatenate([half_sphere(20_000), np.eye(3)])
        # Optima of the penalised form lie on coordinate planes as well.
        angles = np.pi * np.arange(1000) / 1000
        for zero in range(3):
            circle = np.zeros((1000, 3))
            circle[:, [j for j in range(3) if j != zero]] = np.stack([np.cos(angles), np.sin(angles)], axis=1)
            grid = np.concatenate([grid, circle])
    values = equal_groups_value(grid @ rows.T, 60) - penalty * np.abs(grid).sum(axis=1) ** 2
    # Unit starts of every orthant and axis, so that the global optimum is among the ends.
    starts = np.concatenate([starts_of(40, n_features, seed=7), np.eye(n_features)])
    count = len(starts)
    sparsity = Sparsity(np.full(count, n_features), np.full(count, penalty / samples.unit**2))
    found = ascend(samples, Labels(y, 2).repeat(count), Wasserstein2(), sparsity, starts, LONG)
    best = found.objective.max() * samples.unit**2
    assert best >= values.max() - 2e-3 * abs(values.max())
    # And no better than the truth: the grid is fine enough to come this close.
    assert best <= values.max() + 2e-3 * abs(values.max())


def test_optimum_of_a_shift_is_the_mean_difference():
    # Same shape in both groups: the divergence along b is (b . shift) ** 2.
    rng = np.random.default_rng(8)
    base, shift = rng.normal(size=(80, 5)), np.array([1.0, -2.0, 0.5, 0.0, 3.0])
    X, y = np.concatenate([base, base + shift]), np.repeat([0, 1], 80)
    samples = Samples(X, dtype=np.float64)
    labels = Labels(y, 2).repeat(5)
    found = ascend(
        samples, labels, Wasserstein2(), Sparsity(np.arange(1, 6)), np.tile(shift + 0.1, (5, 1)), LONG
    )
    for level, direction, objective in zip(range(1, 6), found.directions, found.objective, strict=True):
        top = np.argsort(-np.abs(shift), kind="stable")[:level]
        assert objective * samples.unit**2 == pytest.approx((shift[top] ** 2).sum(), rel=1e-4)
        expected = np.where(np.isin(np.arange(5), top), shift, 0.0)
        cosine = abs(direction @ expected) / np.linalg.norm(expected)
        assert cosine == pytest.approx(1.0, abs=1e-3)


def test_optimum_of_a_spread_is_the_eigenvector():
    # The second group is the first stretched by A: along b the divergence of Gaussians is the squared
    # difference of deviations, largest at the axis that is stretched most.
    rng = np.random.default_rng(9)
    rotation, _ = np.linalg.qr(rng.normal(size=(4, 4)))
    base = rng.normal(size=(20_000, 4))
    X = np.concatenate([base, rng.normal(size=base.shape) * [3.0, 1.0, 1.0, 1.0]]) @ rotation.T
    samples = Samples(X)
    labels = Labels(np.repeat([0, 1], 20_000), 2).repeat(3)
    found = ascend(samples, labels, Wasserstein2(), Sparsity(np.full(3, 4)), starts_of(3, 4), Tolerance(60))
    best = found.objective.argmax()
    assert found.objective[best] * samples.unit**2 == pytest.approx(4.0, rel=0.05)
    assert abs(found.directions[best] @ rotation[:, 0]) == pytest.approx(1.0, abs=1e-3)


def test_an_offset_does_not_disturb_the_search_in_single_precision():
    X, y = problem(10)
    starts = starts_of(6, 6)
    labels, sparsity = Labels(y, 2).repeat(6), Sparsity(np.full(6, 6))
    near = ascend(Samples(X), labels, Wasserstein2(), sparsity, starts, LONG)
    far = ascend(Samples(X + 1e6), labels, Wasserstein2(), sparsity, starts, LONG)
    np.testing.assert_allclose(far.objective.max(), near.objective.max(), rtol=1e-4)
