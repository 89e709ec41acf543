from __future__ import annotations

import numpy as np
import pytest

from princdiff.data.problem import Problem
from princdiff.statistics.kernel_cells import RowKernel
from princdiff.statistics.witness import kernel_named, witness, witness_rows


def blobs(rng, n, slant):
    rows = 10.0 * rng.integers(0, 2, size=(n, 2))
    noise = rng.standard_normal((n, 2))
    noise[:, 1] = slant * noise[:, 0] + np.sqrt(1 - slant**2) * noise[:, 1]
    return rows + noise


def brute_force_clarity(rows, codes, kernel):
    """The unbiased statistic over the spread of the similarities, by loops over pairs of rows."""
    n = len(rows)
    distances = np.array([[np.linalg.norm(a - b) for b in rows] for a in rows])
    apart = distances[np.triu_indices(n, 1)]
    bandwidth = np.quantile(apart[apart > 0], kernel.quantile)
    matrix = np.exp(-0.5 * (distances / bandwidth) ** 2)
    means = {}
    for g in (0, 1):
        for h in (0, 1):
            values = [
                matrix[i, j] for i in range(n) for j in range(n) if i != j and (codes[i], codes[j]) == (g, h)
            ]
            means[g, h] = np.mean(values)
    return (means[0, 0] + means[1, 1] - 2 * means[0, 1]) / matrix[np.triu_indices(n, 1)].std()


def test_parts_are_what_is_lost_without_a_feature():
    rng = np.random.default_rng(0)
    rows, codes = rng.standard_normal((30, 3)), np.repeat([0, 1], 15)
    rows[15:, 1] += 2
    rows[15:, 2] *= 2
    kernel = RowKernel("gaussian", 0.25)
    full = brute_force_clarity(rows, codes, kernel)
    losses = [
        max(0.0, full - brute_force_clarity(np.delete(rows, feature, axis=1), codes, kernel))
        for feature in range(3)
    ]
    found = witness(rows, codes, kernel)
    np.testing.assert_allclose(found.parts, np.array(losses) / np.sum(losses), atol=1e-9)


def test_local_structure_takes_both_features():
    rng = np.random.default_rng(1)
    rows = np.vstack([blobs(rng, 150, 0.0), blobs(rng, 150, 0.9)])
    rows = np.column_stack([rows, rng.standard_normal(300)])
    found = witness(rows, np.repeat([0, 1], 150), kernel_named("local gaussian 0.005"))
    assert found.parts[:2].min() > found.parts[2]


def test_typical_rows_lie_where_their_group_is_denser():
    rng = np.random.default_rng(2)
    rows, codes = rng.standard_normal((100, 2)), np.repeat([0, 1], 50)
    rows[50:] += 3
    found = witness(rows, codes, RowKernel("energy"))
    first, second = found.typical
    assert (codes[first] == 0).all() and (codes[second] == 1).all()
    assert rows[first].mean() < rows[:50].mean() and rows[second].mean() > rows[50:].mean()


@pytest.mark.parametrize("shape", ["gaussian", "laplace", "energy", "products"])
def test_equal_rows_have_no_parts(shape):
    found = witness(np.ones((20, 2)), np.repeat([0, 1], 10), RowKernel(shape, 0.25))
    np.testing.assert_array_equal(found.parts, 0)


def test_rows_looked_at_do_not_depend_on_their_order():
    rng = np.random.default_rng(3)
    rows, codes = rng.standard_normal((1500, 2)), np.repeat([0, 1], [700, 800])
    order = rng.permutation(1500)
    index, seen = witness_rows(Problem.from_arrays(rows, codes), 5)
    other, again = witness_rows(Problem.from_arrays(rows[order], codes[order]), 5)
    assert len(index) == 500
    assert set(order[other]) == set(index)
    np.testing.assert_allclose(np.sort(seen[:, 0]), np.sort(again[:, 0]), atol=1e-6)
