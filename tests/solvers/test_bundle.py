from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from oracles import divergence_along, equal_groups_value
from princdiff.data.labels import Labels
from princdiff.data.samples import Samples
from princdiff.divergences import Wasserstein2, Workspace
from princdiff.divergences.sorting import order_within_groups
from princdiff.solvers.bundle import climb_ridge, simplex_minimum


@pytest.mark.parametrize("n", [1, 2, 5, 12])
@pytest.mark.parametrize("rank", [1, 3, 12])
def test_simplex_minimum_is_the_minimum(n, rank):
    for seed in range(5):
        rng = np.random.default_rng(seed)
        factor = rng.normal(size=(n, rank))
        quadratic, linear = factor @ factor.T, rng.normal(size=n)
        weights = simplex_minimum(quadratic, linear)
        assert (weights >= 0).all()
        assert weights.sum() == pytest.approx(1.0)
        # Optimal: no corner of the simplex lies downhill.
        gradient = quadratic @ weights + linear
        assert gradient.min() >= weights @ gradient - 1e-7
        if n > 1:

            def cost(w, quadratic=quadratic, linear=linear):
                return 0.5 * w @ quadratic @ w + linear @ w

            rival = minimize(
                cost,
                np.full(n, 1 / n),
                bounds=[(0, 1)] * n,
                constraints={"type": "eq", "fun": lambda w: w.sum() - 1},
                method="SLSQP",
            )
            assert cost(weights) <= rival.fun + 1e-6
            # A start changes the way, not the end.
            start = rng.dirichlet(np.ones(n))
            assert cost(simplex_minimum(quadratic, linear, start)) == pytest.approx(cost(weights), abs=1e-7)


@pytest.mark.parametrize("sizes", [(8, 8), (6, 11)])
@pytest.mark.parametrize("weighted", [False, True])
def test_any_plan_bounds_the_divergence_from_above(sizes, weighted):
    rng = np.random.default_rng(0)
    n_rows = sum(sizes)
    weights = rng.uniform(0.5, 2.0, size=n_rows) if weighted else None
    labels = Labels(np.repeat([0, 1], sizes), 2, weights=weights)
    here, divergence = rng.normal(size=(1, n_rows)), Wasserstein2()
    order = order_within_groups(here, labels, Workspace())
    value, slope = divergence.along_plan(here, labels, order, Workspace())
    np.testing.assert_allclose(value, divergence.value(here, labels))
    np.testing.assert_allclose(slope, divergence.value_and_slope(here, labels, Workspace())[1])
    for _ in range(20):
        there = here + rng.normal(size=here.shape)
        assert divergence.along_plan(there, labels, order, Workspace())[0] >= divergence.value(there, labels)


@pytest.mark.parametrize("penalty", [0.0, 0.05])
@pytest.mark.parametrize("scale", [None, "within"])
def test_the_climb_ends_at_the_same_top_wherever_it_comes_from(penalty, scale):
    # Few rows: a top is a kink where several plans cost the same, beside which an ascent would halt.
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(24, 3)), np.repeat([0, 1], 12)
    X[12:] *= [2.0, 1.0, 0.5]
    samples, labels = Samples(X, scale, dtype=np.float64), Labels(y, 2)
    operator = samples.for_labels(labels)

    def objective_at(direction):
        value = divergence_along(direction, X, y, scale) / samples.unit**2
        return value - penalty * np.abs(direction).sum() ** 2

    def climb_from(start):
        start = start / np.linalg.norm(start)
        objective, direction, n_iter = climb_ridge(operator, labels, Wasserstein2(), start, penalty, 300)
        assert n_iter <= 300
        assert np.linalg.norm(direction) == pytest.approx(1.0)
        assert objective == pytest.approx(objective_at(direction), rel=1e-9)
        assert objective >= objective_at(start) - 1e-12
        return objective, direction

    best, top = climb_from(np.array([0.7, 0.5, 0.5]))
    for _ in range(5):
        # Near enough to stay on this hill.
        again, direction = climb_from(top + 1e-3 * rng.normal(size=3))
        assert again == pytest.approx(best, rel=1e-9)
        assert abs(direction @ top) == pytest.approx(1.0, abs=1e-9)


def test_no_direction_nearby_is_better_than_the_top():
    rng = np.random.default_rng(2)
    X, y = np.round(rng.normal(size=(30, 4)) * 2), np.repeat([0, 1], 15)
    X[15:, 0] *= 2.0
    samples, labels = Samples(X, dtype=np.float64), Labels(y, 2)
    start = np.array([0.9, 0.1, 0.3, -0.2])
    objective, direction, _ = climb_ridge(
        samples, labels, Wasserstein2(), start / np.linalg.norm(start), max_iter=300
    )
    for reach in (1e-2, 1e-3, 1e-4, 1e-5):
        nearby = direction + reach * rng.normal(size=(300, 4))
        nearby /= np.linalg.norm(nearby, axis=1, keepdims=True)
        around = equal_groups_value(nearby @ X.T, 15) / samples.unit**2
        assert around.max() <= objective * (1 + 1e-12)


def test_the_climb_stays_on_its_support():
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(30, 5)), np.arange(30) % 2
    start = np.array([0.8, 0.0, -0.6, 0.0, 0.0])
    for penalty in (0.0, 0.1):
        _, direction, _ = climb_ridge(
            Samples(X, dtype=np.float64), Labels(y, 2), Wasserstein2(), start, penalty
        )
        assert not direction[start == 0].any()
