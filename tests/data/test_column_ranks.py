"""Orders and ranks against NumPy's stable sort and SciPy's ranks."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import ndtri
from scipy.stats import rankdata

from princdiff.data import column_ranks
from princdiff.data.column_ranks import normal_quantiles, stable_order


def columns(n_rows):
    rng = np.random.default_rng(n_rows)
    flags = (rng.random(n_rows) < 0.1).astype(float)
    zeros = np.where(rng.random(n_rows) < 0.5, -0.0, 0.0)
    mostly = rng.normal(size=n_rows)
    mostly[: n_rows // 3] = np.round(mostly[: n_rows // 3], 1)
    held_out = np.where(flags == 1, np.inf, rng.normal(size=n_rows))
    counts = rng.poisson(3, n_rows).astype(float)
    return np.stack([rng.normal(size=n_rows), flags, zeros, mostly, held_out, counts, np.ones(n_rows)])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_rows", [1, 2, 7, 1000, 1001, 1024, 5003])
def test_the_order_is_the_stable_one(n_rows, dtype):
    values = columns(n_rows).astype(dtype)
    np.testing.assert_array_equal(stable_order(values), np.argsort(values, axis=1, kind="stable"))
    for line in values:
        np.testing.assert_array_equal(stable_order(line), np.argsort(line, kind="stable"))


@pytest.mark.parametrize("kept", [10**6, 0])
@pytest.mark.parametrize("n_rows", [1, 2, 7, 1001])
def test_quantiles_are_those_of_the_mean_ranks(monkeypatch, n_rows, kept):
    monkeypatch.setattr(column_ranks, "_KEPT", kept)
    for column in np.delete(columns(n_rows), 4, axis=0):
        np.testing.assert_array_equal(normal_quantiles(column), ndtri((rankdata(column) - 0.5) / n_rows))
