"""Compiled histograms of many rows against the same in NumPy, and against sorting."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from princdiff.data.labels import Labels
from princdiff.divergences import Energy, Wasserstein2
from princdiff.kernels import engine, histograms
from princdiff.statistics.searched_rows import _Gridded

pytestmark = pytest.mark.skipif(
    engine().library is None, reason=f"needs the compiled library: {engine().reason}"
)


@st.composite
def problems(draw):
    """Projections of two groups: one row each to many, ties, two zeros, constants, offsets, subnormals."""
    n_rows, n_columns = draw(st.sampled_from([2, 3, 15, 16, 17, 511, 513, 700])), draw(st.integers(1, 5))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    codes = np.stack([rng.permutation(np.r_[0, 1, rng.integers(0, 2, n_rows - 2)]) for _ in range(2)])
    values = rng.normal(size=(n_columns, n_rows))
    kind = draw(st.sampled_from(["plain", "ties", "zeros", "constant", "offset", "tiny", "far"]))
    if kind == "ties":
        values = np.round(values)
    elif kind == "zeros":
        values = np.where(rng.random(values.shape) < 0.5, 0.0, -0.0)
    elif kind == "constant":
        values = np.full_like(values, 3.0)
    elif kind == "offset":
        values += 100.0
    elif kind == "tiny":
        values *= 1e-30
    elif kind == "far":
        values[:, 0] = 1e4
    weights = rng.integers(0, 4, n_rows) + 0.5 if draw(st.booleans()) else None
    labels = Labels(codes.astype(np.uint8), 2, weights=weights)
    return values.astype(np.float32), labels, rng.integers(0, 2, n_columns)


@pytest.mark.parametrize("divergence", [Wasserstein2(), Energy()], ids=["wasserstein2", "energy"])
@settings(max_examples=80, deadline=None)
@given(problem=problems())
def test_agrees_with_numpy(divergence, problem):
    values, labels, labelling = problem
    gridded = _Gridded.of(divergence, labels)
    found = gridded(values, labels.codes, labelling)
    # In double precision no kernel is used; a row at the edge of a cell may fall into the next one.
    exact = gridded(values.astype(np.float64), labels.codes, labelling)
    spread = values.std(axis=1, dtype=np.float64)
    unit = spread**divergence.degree
    moved = 3 * 12.0 / 1024 * (1 + np.sqrt(np.abs(exact) / np.where(unit > 0, unit, 1)))
    assert (np.abs(found - exact) <= moved * unit).all()


@pytest.mark.parametrize("divergence", [Wasserstein2(), Energy()], ids=["wasserstein2", "energy"])
def test_many_rows_give_what_sorting_gives(divergence):
    rng = np.random.default_rng(0)
    labels = Labels((np.arange(30_001) % 3 == 0).astype(np.uint8), 2)
    values = rng.gamma(3.0, size=(3, 30_001)).astype(np.float32)
    values[:, labels.codes[0] == 1] *= np.array([[1.0], [1.1], [1.5]], dtype=np.float32)
    found = _Gridded.of(divergence, labels)(values, labels.codes, np.zeros(3, dtype=np.intp))
    np.testing.assert_allclose(found[1:], divergence.value(values, labels.repeat(3))[1:], rtol=0.03)


def test_counts_beyond_single_precision_are_exact():
    """2 ** 24 rows and more in one cell, and one row elsewhere."""
    n_rows = 2**24 + 3
    values = np.zeros((1, n_rows), dtype=np.float32)
    values[0, -1] = 1.0
    codes = np.zeros((1, n_rows), dtype=np.uint8)
    codes[0, -2:] = 1
    grid = histograms.Histogram(64, 6.0, squared=False)
    found = histograms.distances(values, codes, np.zeros(1, dtype=np.intp), None, grid)
    spread = np.sqrt((1 / n_rows) * (1 - 1 / n_rows))
    # Half of group 1 lies beyond the grid: from the cell of zero on the functions are 1/2 apart.
    width = 12 * spread / 64
    assert found[0] == pytest.approx(2 * width * 0.25 * 31, rel=0.07)


def test_a_column_does_not_know_its_neighbours():
    rng = np.random.default_rng(1)
    codes = rng.integers(0, 2, size=(3, 400)).astype(np.uint8)
    values = rng.normal(size=(9, 400)).astype(np.float32)
    labelling = rng.integers(0, 3, 9)
    grid = histograms.Histogram(128, 6.0, squared=True)
    together = histograms.distances(values, codes, labelling, None, grid)
    for column in range(9):
        alone = histograms.distances(
            values[column : column + 1], codes, labelling[column : column + 1], None, grid
        )
        assert alone[0] == together[column]
