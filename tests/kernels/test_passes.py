"""The library's passes (any processor, AVX2, AVX-512) give the same numbers, to the last bit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from princdiff.data.labels import HELD_OUT, Labels
from princdiff.divergences import Divergence, Energy, Wasserstein2, WassersteinP, Workspace
from princdiff.divergences.relative import relative
from princdiff.kernels import engine, histograms
from princdiff.kernels.binned_columns import Bins, ColumnTotals, add_binned
from princdiff.kernels.engine_choice import passes
from princdiff.kernels.labelled_sums import labelled_sums, packed
from princdiff.kernels.matched_rows import Plans, matched_forms
from princdiff.kernels.sparse import SparseProducts
from princdiff.solvers.ascent import propose
from princdiff.solvers.sparsity import Sparsity
from princdiff.statistics import laws
from princdiff.statistics.scores import gamma_scores, survival_score
from princdiff.statistics.searched_rows import _Gridded

LIBRARY = engine().library
PASSES = [] if LIBRARY is None else passes(LIBRARY)[0]
pytestmark = pytest.mark.skipif(LIBRARY is None, reason=f"needs the compiled library: {engine().reason}")

Work = Callable[[np.random.Generator], list[np.ndarray]]


@contextmanager
def running(name: str) -> Iterator[None]:
    """With one pass of the library."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("PRINCDIFF_ENGINE", name)
        engine.cache_clear()
        yield
    engine.cache_clear()


def rows_and_labels(rng: np.random.Generator) -> tuple[np.ndarray, Labels]:
    """Unequal groups, rows held out, weights, ties: each in some of the draws."""
    n_rows, n_columns = int(rng.choice([2, 7, 40, 300, 2100])), int(rng.integers(1, 20))
    n_groups = int(rng.integers(2, 4)) if n_rows > 3 else 2
    codes = np.r_[np.arange(n_groups), rng.integers(0, n_groups, n_rows - n_groups)]
    if n_rows > 7 and rng.random() < 0.5:
        codes[-3:] = HELD_OUT
    codes = np.array([rng.permutation(codes) for _ in range(3)]).astype(np.uint8)
    weights = rng.integers(0, 3, n_rows) + 0.25 if rng.random() < 0.3 else None
    labels = Labels(codes, n_groups, weights=weights, columns=rng.integers(0, 3, n_columns))
    values = rng.standard_normal((n_columns, n_rows), dtype=np.float32)
    return np.round(values * 4) if rng.random() < 0.4 else values, labels


def evaluated(divergence: Divergence) -> Work:
    def work(rng: np.random.Generator) -> list[np.ndarray]:
        values, labels = rows_and_labels(rng)
        found, slopes = divergence.value_and_slope(values, labels, Workspace())
        return [divergence.value(values, labels), found, slopes]

    return work


def stepped(rng: np.random.Generator) -> list[np.ndarray]:
    n_features = int(rng.choice([3, 60, 1100]))
    current, gradient = rng.standard_normal((2, 9, n_features), dtype=np.float32)
    limits = Sparsity(rng.integers(1, n_features + 1, 9), rng.random(9))
    return [np.asarray(propose(current, gradient, np.ones(9), limits))]


def gridded(rng: np.random.Generator) -> list[np.ndarray]:
    labels = Labels(np.array([rng.permutation(np.arange(700) % 2) for _ in range(2)]).astype(np.uint8), 2)
    values = rng.standard_normal((5, 700), dtype=np.float32)
    columns = rng.integers(0, 2, 5)
    grid = _Gridded.of(Energy(), labels)
    assert grid is not None and histograms.takes(values)
    return [grid(values, labels.codes, columns)]


def summed(rng: np.random.Generator) -> list[np.ndarray]:
    columns = rng.standard_normal((900, 19), dtype=np.float32)
    return [labelled_sums(packed(rng.random((33, 900)) < 0.3), columns)]


def multiplied(rng: np.random.Generator) -> list[np.ndarray]:
    found = []
    for dtype in (np.float32, np.float64):
        matrix = sp.random(70, 90, 0.2, format="csr", dtype=dtype, random_state=rng)
        products = SparseProducts(matrix, transpose=True)
        found += [products.project(rng.standard_normal((11, 90)).astype(dtype))]
        found += [products.backproject(rng.standard_normal((11, 70)).astype(dtype))]
    return found


def scored(rng: np.random.Generator) -> list[np.ndarray]:
    z = rng.normal(size=40)
    return [gamma_scores(rng.gamma(2, size=(60, 23)).astype(np.float32)), survival_score(z, np.abs(z))]


def matched(rng: np.random.Generator) -> list[np.ndarray]:
    x, y, between = rng.normal(size=(9, 7)), rng.normal(size=(9, 7)), rng.normal(size=(1, 7))
    plans = Plans(rng.integers(9, size=(5, 9)), rng.integers(9, size=(5, 9)), np.full(9, 1 / 9))
    support, vectors = np.tile([4, 2], (5, 1)), rng.normal(size=(5, 2, 2))
    return list(matched_forms((x, y), plans, between, support, vectors, True))


def binned(rng: np.random.Generator) -> list[np.ndarray]:
    totals = ColumnTotals(np.zeros((7, 12), dtype=np.int64), np.zeros((7, 2)), np.zeros(500, np.float32))
    bins = Bins(np.sort(rng.normal(size=10)), np.arange(12, dtype=np.float32), 0.5, 2.0)
    unit = rng.integers(0, 7, 500).astype(np.int32)
    add_binned(rng.normal(size=500), bins, unit, np.arange(500), totals)
    return [totals.counts, totals.sums, totals.worth]


def read_off(rng: np.random.Generator) -> list[np.ndarray]:
    knots, heights = np.sort(rng.normal(size=(2, 19, 30)), axis=2)
    scores = np.empty((50, 19), np.float32)
    laws._SCORES(2 * rng.normal(size=(50, 19)), 50, 19, knots, heights, 30, scores)
    return [scores]


WORKS: dict[str, Work] = {
    "wasserstein2": evaluated(Wasserstein2()),
    "wasserstein1": evaluated(WassersteinP(1)),
    "energy": evaluated(Energy()),
    "over variance": evaluated(relative(Wasserstein2(), 0.1)),
    "steps": stepped,
    "histograms": gridded,
    "labelled sums": summed,
    "sparse products": multiplied,
    "scores": scored,
    "matched rows": matched,
    "binned columns": binned,
    "tables of laws": read_off,
}


@pytest.mark.parametrize("name", WORKS)
@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_all_passes_give_the_same_bits(name, seed):
    assert PASSES[-1] == "plain"
    found = []
    for one in PASSES:
        with running(one):
            assert engine().reason == f"PRINCDIFF_ENGINE={one}"
            found.append(WORKS[name](np.random.default_rng(seed)))
    for other in found[1:]:
        for here, there in zip(found[0], other, strict=True):
            assert here.tobytes() == there.tobytes()
