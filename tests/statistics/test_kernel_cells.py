"""Kernel statistics of many rows: random features are made one after the other."""

import tracemalloc

import numpy as np

from princdiff.data.samples import Samples
from princdiff.labellings.schemes import Scheme
from princdiff.statistics import kernel_cells
from princdiff.statistics.contrasts import MANY_ROWS, Contrasts, Relabellings
from princdiff.statistics.kernel_cells import KERNELS, RowView, kernel_statistics


def _statistics(n_rows, n_labellings=20):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(n_rows, 3)).astype(np.float32)
    codes = (np.arange(n_rows) % 2).astype(np.uint8)
    contrasts = Contrasts(Relabellings(Scheme(codes, n_labellings - 1, seed=0), 2))
    view = RowView(Samples(rows, "pooled"), np.ones(3, dtype=np.float32))
    contrasts.between(rows[:, :1])
    tracemalloc.start()
    found = kernel_statistics(view, contrasts, KERNELS[:1], np.random.default_rng(0))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return found, peak


def test_features_of_many_rows_are_not_held_together(monkeypatch):
    # Sixteen features: as they are, standardised, and beside the weights they would take 200 bytes a row;
    # their angles take 32.
    monkeypatch.setattr(kernel_cells, "_FEATURE_WORK", 0)
    n_rows = MANY_ROWS + 8
    assert _statistics(n_rows)[1] < 160 * n_rows


def test_features_one_by_one_have_the_statistics_of_all_together(monkeypatch):
    n_rows = 400
    monkeypatch.setattr(kernel_cells, "MANY_ROWS", n_rows)
    one_by_one = _statistics(n_rows)[0]
    monkeypatch.setattr(kernel_cells, "MANY_ROWS", n_rows + 1)
    np.testing.assert_array_equal(one_by_one, _statistics(n_rows)[0])
