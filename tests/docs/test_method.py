"""What the page on the method says in place of the paper's proofs, by enumeration and closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import sqrtm
from scipy.stats import binom


def squared_distance(x, y):
    """Between two samples of the same size: the mean squared difference of their sorted values."""
    return np.mean((np.sort(x) - np.sort(y)) ** 2)


def flags(n, p, q):
    """Divergences of n flags of rate p and n of rate q, and their probabilities: |difference of shares|."""
    counts = np.arange(n + 1)
    values = np.abs(counts[:, None] - counts) / n
    chances = binom.pmf(counts, n, p)[:, None] * binom.pmf(counts, n, q)
    return values.ravel(), chances.ravel()


@pytest.mark.parametrize(("n", "p", "q"), [(5, 0.5, 0.5), (20, 0.3, 0.7), (60, 0.1, 0.2), (200, 0.5, 0.9)])
def test_samples_overstate_on_average_and_fall_short_as_seldom_as_theorem_1_says(n, p, q):
    values, chances = flags(n, p, q)
    delta = abs(p - q)
    assert values @ chances >= delta - 1e-12
    # 0 and 1 lie in a ball of radius 1/2 about 1/2.
    for shortfall in np.linspace(0.01, max(delta, 0.02), 20):
        short = chances[values <= delta - shortfall + 1e-12].sum()
        assert short <= np.exp(-n * shortfall**2 / (16 * 0.5**4)) + 1e-12


def test_the_square_of_a_distance_has_no_triangle_inequality():
    zero, one, two = np.zeros(1), np.ones(1), np.full(1, 2.0)
    assert squared_distance(zero, two) > squared_distance(zero, one) + squared_distance(one, two)


@pytest.mark.parametrize("seed", range(5))
def test_what_the_proofs_of_theorems_1_and_2_rest_on(seed):
    rng = np.random.default_rng(seed)
    n, radius = 12, 1.0
    x, y = rng.uniform(-radius, radius, n), rng.choice([-radius, 0.9, radius], n)
    value = squared_distance(x, y)
    for i in range(n):
        for other in (-radius, 0.0, radius):
            changed = np.where(np.arange(n) == i, other, x)
            assert abs(squared_distance(changed, y) - value) <= 4 * radius**2 / n + 1e-12
    places = np.concatenate([x, y])
    steps = np.abs((x <= places[:, None]).mean(axis=1) - (y <= places[:, None]).mean(axis=1))
    assert value <= 4 * radius**2 * steps.max() + 1e-12
    rows = rng.standard_normal((2, n, 3))
    rows /= np.linalg.norm(rows, axis=2, keepdims=True)
    first, second = (direction / np.linalg.norm(direction) for direction in rng.standard_normal((2, 3)))
    apart = squared_distance(*(rows @ first)) - squared_distance(*(rows @ second))
    assert abs(apart) <= 8 * radius**2 * np.linalg.norm(first - second)


@pytest.mark.parametrize("seed", range(5))
def test_the_distance_of_normal_distributions_is_below_the_printed_one_unless_covariances_commute(seed):
    rng = np.random.default_rng(seed)
    x, y = (factor @ factor.T for factor in rng.standard_normal((2, 3, 3)))
    roots = [sqrtm(matrix).real for matrix in (x, y)]
    printed = np.sum((roots[0] - roots[1]) ** 2)
    between = sqrtm(roots[0] @ y @ roots[0]).real
    distance = np.trace(x + y - 2 * between)
    assert distance < printed
    # A linear map takes one distribution to the other at this cost, so the printed value is not the least.
    inverse = np.linalg.inv(roots[0])
    move = inverse @ between @ inverse
    np.testing.assert_allclose(move @ x @ move, y, atol=1e-8)
    step = move - np.eye(3)
    assert np.trace(step @ x @ step) == pytest.approx(distance)


def test_weight_on_columns_that_are_independent_of_the_others_only_lowers_the_divergence():
    """The added assumption of theorem 4: normal rows, so that distances are differences of deviations."""

    def divergence(direction, x, y):
        return (np.sqrt(direction @ x @ direction) - np.sqrt(direction @ y @ direction)) ** 2

    def best_support(x, y):
        angles = np.linspace(0, np.pi, 721)
        pairs = [(0, 1), (0, 2), (1, 2)]
        best = dict.fromkeys(pairs, 0.0)
        for i, j in pairs:
            for angle in angles:
                direction = np.zeros(3)
                direction[[i, j]] = np.cos(angle), np.sin(angle)
                best[i, j] = max(best[i, j], divergence(direction, x, y))
        return max(best, key=best.get)

    x, y = np.eye(3), np.eye(3)
    x[0, 1] = x[1, 0] = 0.3
    assert best_support(x, y) == (0, 1)
    # Column 2 has the same distribution in both groups, but goes with column 0 in one of them.
    x[0, 2] = x[2, 0] = 0.9
    assert best_support(x, y) == (0, 2)


def test_a_column_that_is_not_needed_has_no_more_weight_than_one_that_does_not_differ():
    """The other one: of S = {0, 1} only column 0 differs, so the second of the best pair is any of five."""
    rng = np.random.default_rng(0)
    angles = np.linspace(-np.pi / 2, np.pi / 2, 61)
    second = []
    for _ in range(60):
        x, y = rng.standard_normal((2, 40, 6))
        x[:, 0] *= 3
        best = []
        for j in range(1, 6):
            directions = np.stack([np.cos(angles), np.sin(angles)])
            projected = np.sort(x[:, [0, j]] @ directions, axis=0) - np.sort(
                y[:, [0, j]] @ directions, axis=0
            )
            best.append(np.mean(projected**2, axis=0).max())
        second.append(1 + int(np.argmax(best)))
    assert np.mean(np.equal(second, 1)) < 0.5


def test_distances_of_samples_are_as_near_as_the_proof_of_theorem_4_says():
    rng = np.random.default_rng(0)
    # 2000 rows each stand for the distributions, on an interval of length 2: R = 1.
    for spread in (0.1, 0.5, 1.0):
        x, y = rng.uniform(-1, 1, 2000), spread * rng.choice([-1.0, 0.3, 1.0], 2000)
        parts = [rng.choice(rows, 50) for rows in (x, y)]
        sampled = squared_distance(*(np.repeat(part, 40) for part in parts))
        apart = [
            np.abs([np.mean(part <= v) - np.mean(rows <= v) for v in np.concatenate([part, rows])]).max()
            for part, rows in zip(parts, (x, y), strict=True)
        ]
        assert abs(sampled - squared_distance(x, y)) <= 8 * sum(apart)
