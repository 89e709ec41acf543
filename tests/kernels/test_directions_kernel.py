"""Compiled steps of directions against the same in NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from princdiff.kernels import directions as kernel
from princdiff.kernels import engine
from princdiff.solvers.ascent import propose
from princdiff.solvers.sparsity import Sparsity, keep_largest

pytestmark = pytest.mark.skipif(
    engine().library is None, reason=f"needs the compiled library: {engine().reason}"
)


@pytest.fixture
def by_numpy(monkeypatch):
    """Calls a function with the kernel out of reach."""

    def call(function, *arguments):
        with monkeypatch.context() as context:
            context.setattr(kernel, "takes", lambda directions: False)
            return function(*arguments)

    return call


@st.composite
def problems(draw):
    """Directions, gradients and limits: one feature to many, ties, zeros, subnormals, penalties, supports."""
    n_columns = draw(st.integers(1, 9))
    n_features = draw(st.sampled_from([1, 2, 3, 7, 8, 9, 31, 60, 1023, 1024, 1025, 3000]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    current, gradient = rng.normal(size=(2, n_columns, n_features))
    kind = draw(st.sampled_from(["plain", "ties", "zeros", "tiny", "huge", "sparse"]))
    if kind == "ties":
        current, gradient = np.round(current), np.zeros_like(gradient)
    elif kind == "zeros":
        current, gradient = (
            np.where(rng.random(part.shape) < 0.5, -0.0, 0.0) for part in (current, gradient)
        )
    elif kind == "tiny":
        current *= 1e-41
        gradient *= 1e-41
    elif kind == "huge":
        gradient *= 1e12
    elif kind == "sparse":
        current[:, rng.random(n_features) < 0.9] = 0.0
        gradient[:, rng.random(n_features) < 0.5] = 0.0
    sparsity = Sparsity(
        rng.integers(1, n_features + 2, n_columns),
        penalties=rng.exponential(0.1, n_columns) if draw(st.booleans()) else None,
        support=rng.random((n_columns, n_features)) < 0.5 if draw(st.booleans()) else None,
    )
    steps = rng.exponential(size=n_columns)
    return current.astype(np.float32), gradient.astype(np.float32), steps, sparsity


def assert_same_directions(found, expected, levels):
    """Equal up to rounding, which may decide which of nearly equal weights is the last one in."""
    assert found.dtype == np.float32 and found.shape == expected.shape
    assert ((found != 0).sum(axis=1) <= levels).all()
    for own, other in zip(found.astype(np.float64), expected.astype(np.float64), strict=True):
        apart = (own != 0) != (other != 0)
        if apart.any():
            smallest = np.abs(other[other != 0]).min(initial=np.inf)
            assert (np.maximum(np.abs(own), np.abs(other))[apart] <= smallest * (1 + 1e-4)).all()
        np.testing.assert_allclose(own[~apart], other[~apart], rtol=1e-4, atol=1e-6)


@settings(max_examples=150, deadline=None)
@given(problem=problems())
def test_steps_agree_with_numpy(problem):
    current, gradient, steps, sparsity = problem
    assert kernel.takes(current)
    found = propose(current, gradient, steps, sparsity)
    # Without the fixture: hypothesis calls the body many times.
    exact = propose(current.astype(np.float64), gradient.astype(np.float64), steps, sparsity)
    assert_same_directions(found, exact, sparsity.levels)


def test_projections_are_those_of_numpy_to_the_last_zero(by_numpy):
    rng = np.random.default_rng(0)
    for n_features in (1, 5, 64, 1024, 1025, 4001):
        directions = np.round(rng.normal(size=(40, n_features)), 1).astype(np.float32)
        sparsity = Sparsity(rng.integers(1, n_features + 1, 40), support=rng.random((40, n_features)) < 0.8)
        found, expected = sparsity.project(directions), by_numpy(sparsity.project, directions)
        np.testing.assert_array_equal(found != 0, expected != 0)
        np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize("n_features", [6, 1500])
def test_ties_go_to_earlier_features(n_features):
    directions = np.where(np.arange(n_features) % 2, -1.0, 1.0).astype(np.float32)[None]
    for level in (1, 3, n_features - 1):
        found = kernel.feasible(directions, np.array([level]))[0]
        assert (found[:level] != 0).all() and (found[level:] == 0).all()
        np.testing.assert_array_equal(found != 0, keep_largest(directions, np.array([level]))[0] != 0)


@pytest.mark.parametrize("n_features", [5, 1500])
def test_a_penalty_leaves_at_least_the_largest_weight(n_features):
    current = np.full((1, n_features), n_features**-0.5, dtype=np.float32)
    gradient = np.zeros_like(current)
    gradient[0, 2] = 1.0
    found = propose(current, gradient, np.array([0.5]), Sparsity(np.array([n_features]), np.array([1e9])))
    np.testing.assert_array_equal(found[0], np.eye(n_features, dtype=np.float32)[2])


def test_a_column_does_not_know_its_neighbours():
    rng = np.random.default_rng(1)
    current, gradient = rng.normal(size=(2, 20, 33)).astype(np.float32)
    sparsity, steps = Sparsity(rng.integers(1, 33, 20)), rng.exponential(size=20)
    together = propose(current, gradient, steps, sparsity)
    for column in range(20):
        one = np.array([column])
        alone = propose(current[one], gradient[one], steps[one], sparsity.take(one))
        np.testing.assert_array_equal(alone[0], together[column])


def test_what_the_kernel_does_not_take():
    assert not kernel.takes(np.zeros((2, 3)))
    assert not kernel.takes(np.zeros((0, 3), np.float32))
    assert not kernel.takes(np.zeros((2, 0), np.float32))
