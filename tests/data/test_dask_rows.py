"""Dask arrays: the same numbers from threads and from worker processes, also when a worker is killed."""

from __future__ import annotations

import os
import signal
import threading

import joblib
import numpy as np
import pytest
import scipy.sparse as sp

from princdiff import PDA, SPARDA, open_rows, permutation_test
from princdiff.data.dask_rows import DaskProducts
from princdiff.data.labels import Labels
from princdiff.data.samples import Samples

pytestmark = pytest.mark.whole

da = pytest.importorskip("dask.array", reason="dask is not installed")
distributed = pytest.importorskip("distributed", reason="dask.distributed is not installed")

N_ROWS, N_FEATURES = 400, 20
MEMORY = 200_000


def cells(start: int = 0, stop: int = N_ROWS) -> np.ndarray:
    rng = np.random.default_rng(0)
    values = rng.poisson(0.4, (N_ROWS, N_FEATURES)) * rng.gamma(2.0, 1.0, (N_ROWS, N_FEATURES))
    values[150:, 3] *= 1.5
    values[150:, 5] += rng.poisson(0.3, 250)
    return values[start:stop]


Y = np.repeat(["a", "b"], [150, 250])


def dask_cells(sparse: bool):
    """An array that workers can make anew, unlike one that was sent to them."""
    rows = da.map_blocks(
        lambda block_info: cells(*block_info[None]["array-location"][0]),
        chunks=((150, 100, 150), (N_FEATURES,)),
        dtype=float,
        meta=np.empty((0, 0)),
    )
    return rows.map_blocks(sp.csr_matrix, dtype=float, meta=sp.csr_matrix((0, 0))) if sparse else rows


@pytest.fixture(scope="module")
def cluster():
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, memory_limit="500MB", dashboard_address=None
    ) as running:
        yield running


@pytest.fixture(params=["threads", "processes"])
def where(request):
    if request.param == "threads":
        yield "threads"
        return
    with distributed.Client(request.getfixturevalue("cluster")):
        yield "processes"


@pytest.mark.parametrize("sparse", [False, True])
def test_products_agree_with_memory(sparse, where):
    rng = np.random.default_rng(1)
    weights = rng.integers(0, 3, N_ROWS).astype(float)
    directions, slopes = rng.normal(size=(3, N_FEATURES)), rng.normal(size=(3, N_ROWS))
    labels = Labels(np.arange(N_ROWS) % 2, 2, weights=weights).repeat(3)
    for scale in ("pooled", "within"):
        plain = Samples(cells(), scale, weights=weights, dtype=np.float64)
        ours = Samples(open_rows(dask_cells(sparse).persist()), scale, weights=weights, dtype=np.float64)
        assert isinstance(ours._products, DaskProducts)
        np.testing.assert_allclose(ours.deviation, plain.deviation, rtol=1e-12)
        one, other = ours.for_labels(labels), plain.for_labels(labels)
        np.testing.assert_allclose(one.project(directions), other.project(directions), atol=1e-10)
        np.testing.assert_allclose(one.backproject(slopes), other.backproject(slopes), atol=1e-10)
        np.testing.assert_allclose(
            one.feature_columns(np.array([4, 1])), other.feature_columns(np.array([4, 1])), atol=1e-12
        )


def test_parts_agree_with_memory(where):
    rows = open_rows(dask_cells(True).rechunk((90, 10)), memory=MEMORY)
    index = np.array([0, 149, 150, 399])
    np.testing.assert_array_equal(rows.take(index).toarray(), cells()[index])
    mask = np.arange(N_ROWS) % 4 > 0
    blocks = [block.toarray() for _, block in rows[mask].blocks()]
    np.testing.assert_array_equal(np.concatenate(blocks), cells()[mask])
    np.testing.assert_allclose(rows.dot(np.eye(N_FEATURES)[:, :2]), cells()[:, :2])


@pytest.fixture(scope="module")
def in_memory() -> SPARDA:
    return fitted(cells())


def fitted(rows) -> SPARDA:
    return SPARDA(3, subsample=100, certify=False, random_state=0).fit(rows, Y)


@pytest.mark.parametrize("sparse", [False, True])
def test_the_direction_is_that_of_rows_in_memory(sparse, where, in_memory):
    fit = fitted(dask_cells(sparse).persist())
    np.testing.assert_allclose(fit.components_, in_memory.components_, atol=1e-6)
    np.testing.assert_allclose(fit.divergences_, in_memory.divergences_, rtol=1e-9)
    projections = fit.transform(dask_cells(sparse))
    np.testing.assert_allclose(projections, in_memory.transform(cells()), atol=1e-5)


def test_a_killed_worker_does_not_change_the_result(cluster, in_memory, monkeypatch):
    passes = []
    project = DaskProducts.project
    with distributed.Client(cluster) as client:
        rows = dask_cells(True).persist()
        distributed.wait(rows)
        victim = client.run(os.getpid)

        def project_and_kill(self, directions, out):
            passes.append(1)
            if len(passes) == 2:
                # In the middle of a pass, while its tasks are on their way.
                pid = next(iter(victim.values()))
                threading.Timer(0.002, os.kill, (pid, signal.SIGKILL)).start()
            return project(self, directions, out)

        monkeypatch.setattr(DaskProducts, "project", project_and_kill)
        fit = fitted(rows)
        survivors = set(client.run(os.getpid).values())
    assert len(passes) > 3
    assert next(iter(victim.values())) not in survivors
    np.testing.assert_allclose(fit.components_, in_memory.components_, atol=1e-6)
    np.testing.assert_allclose(fit.divergences_, in_memory.divergences_, rtol=1e-9)


def test_permutations_of_a_dask_array():
    rows = da.from_array(cells()[:80, :5], chunks=(50, 5))
    options = {"n_permutations": 19, "statistic": "divergence", "random_state": 0}
    ours = permutation_test(rows, np.arange(80) % 2, **options)
    plain = permutation_test(cells()[:80, :5], np.arange(80) % 2, **options)
    np.testing.assert_allclose(ours.values, plain.values, rtol=1e-3)
    assert ours.pvalue == plain.pvalue


def test_permutations_through_the_dask_backend(cluster):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(50, 5)), np.repeat([0, 1], 25)
    options = {"n_permutations": 120, "statistic": "divergence", "random_state": 0}
    plain = permutation_test(X, y, **options)
    with distributed.Client(cluster), joblib.parallel_config(backend="dask"):
        ours = permutation_test(X, y, **options)
    assert ours.pvalue == plain.pvalue
    np.testing.assert_array_equal(ours.null, plain.null)


# What can go wrong.


def test_missing_values_on_a_worker_are_named(where):
    spoilt = dask_cells(False).map_blocks(np.where, True, np.nan, dtype=float)
    with pytest.raises(ValueError, match="NaN or infinity: columns '0', '1'"):
        PDA().fit(spoilt, Y)


def test_an_array_of_unknown_length_is_refused():
    rows = dask_cells(False)
    with pytest.raises(ValueError, match="compute_chunk_sizes"):
        PDA().fit(rows[rows[:, 0] > 0], Y)


def test_labels_must_fit():
    with pytest.raises(ValueError, match="y has 7 labels but X has 400 rows"):
        PDA().fit(dask_cells(False), Y[:7])
