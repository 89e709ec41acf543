"""Fits, projections and tests on rows out of core are those of the same rows in memory."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from princdiff import PDA, SPARDA, compare, open_rows, permutation_test
from princdiff.data.row_chunks import RowChunks

N_ROWS, N_FEATURES = 400, 60
MEMORY = 500_000


@pytest.fixture(scope="module")
def values() -> np.ndarray:
    rng = np.random.default_rng(0)
    values = rng.poisson(0.4, (N_ROWS, N_FEATURES)) * rng.gamma(2.0, 1.0, (N_ROWS, N_FEATURES))
    values[150:, 3] *= 1.5
    values[150:, 5] += rng.poisson(0.3, 250)
    return values


Y = np.repeat(["a", "b"], [150, 250])


@pytest.fixture(scope="module")
def folder(tmp_path_factory, values):
    folder = tmp_path_factory.mktemp("fits")
    names = [f"gene{place}" for place in range(N_FEATURES)]
    np.save(folder / "rows.npy", values)
    pd.DataFrame(values, columns=names).to_parquet(folder / "rows.parquet", row_group_size=130)
    anndata = pytest.importorskip("anndata", reason="anndata is not installed")
    anndata.AnnData(sp.csr_matrix(values), var=pd.DataFrame(index=names)).write_h5ad(folder / "rows.h5ad")
    return folder


def fitted(rows) -> SPARDA:
    return SPARDA(3, subsample=100, scale="pooled", certify=False, random_state=0).fit(rows, Y)


@pytest.fixture(scope="module")
def in_memory(values) -> SPARDA:
    return fitted(values)


@pytest.mark.parametrize("kind", ["sparse", "rows.npy", "rows.h5ad", "rows.parquet"])
def test_one_direction_wherever_the_rows_are(kind, folder, values, in_memory):
    rows = sp.csr_matrix(values) if kind == "sparse" else open_rows(folder / kind, memory=MEMORY)
    fit = fitted(rows)
    np.testing.assert_allclose(fit.components_, in_memory.components_, atol=1e-6)
    np.testing.assert_allclose(fit.divergences_, in_memory.divergences_, rtol=1e-9)
    np.testing.assert_allclose(fit.shares_, in_memory.shares_, atol=1e-6)
    np.testing.assert_allclose(fit.transform(rows), in_memory.transform(values), atol=1e-5)
    assert fit.score(rows, Y) == pytest.approx(in_memory.score(values, Y), rel=1e-6)
    if kind.endswith(("h5ad", "parquet")):
        assert fit.feature_names_in_[3] == "gene3"


@pytest.mark.parametrize("scale", [None, "within"])
def test_all_rows_may_be_searched_out_of_core(scale, folder, values):
    options = {"scale": scale, "subsample": None, "effort": "fast", "certify": "auto", "random_state": 0}
    weights = np.arange(N_ROWS) % 5 + 0.0
    mapped = open_rows(folder / "rows.npy", memory=800_000)
    assert not mapped.fits
    ours = SPARDA(1, **options).fit(mapped, Y, sample_weight=weights)
    plain = SPARDA(1, **options).fit(values, Y, sample_weight=weights)
    np.testing.assert_array_equal(ours.support_, plain.support_)
    np.testing.assert_allclose(ours.divergences_, plain.divergences_, rtol=1e-9)
    np.testing.assert_allclose(
        ours.transform(mapped, Y if scale else None), plain.transform(values, Y if scale else None), atol=1e-9
    )
    # A bound would need all rows in memory.
    assert ours.certificates_ == [None]


def test_a_dense_direction_out_of_core(folder, values):
    options = {"effort": "fast", "subsample": 100, "certify": False, "random_state": 0, "tol": 1e-6}
    ours = PDA(**options).fit(open_rows(folder / "rows.npy", memory=MEMORY), Y)
    plain = PDA(**options).fit(values, Y)
    np.testing.assert_allclose(ours.divergences_, plain.divergences_, rtol=1e-4)
    assert np.abs(ours.components_ @ plain.components_.T) > 0.999


def test_what_fits_is_loaded(folder, values, in_memory):
    rows = open_rows(folder / "rows.parquet", memory="1GB")
    assert isinstance(rows, RowChunks) and rows.fits
    np.testing.assert_array_equal(fitted(rows).components_, in_memory.components_)
    # Memory maps that fit, such as those that joblib makes, are rows like any others.
    mapped = np.load(folder / "rows.npy", mmap_mode="r")
    np.testing.assert_array_equal(fitted(mapped).components_, in_memory.components_)


def test_other_names_are_refused(folder, values):
    fit = PDA(effort="fast", subsample=100, certify=False).fit(
        pd.DataFrame(values, columns=[f"g{place}" for place in range(N_FEATURES)]), Y
    )
    with pytest.raises(ValueError, match="feature names should match"):
        fit.transform(open_rows(folder / "rows.parquet", memory=MEMORY))


def test_permutations_out_of_core(folder, values):
    y = np.arange(N_ROWS) % 2
    options = {"n_permutations": 3, "statistic": "divergence", "n_features": 1, "random_state": 0}
    with pytest.warns(UserWarning, match="n_permutations=3"):
        ours = permutation_test(open_rows(folder / "rows.npy", memory=MEMORY), y, **options)
    with pytest.warns(UserWarning, match="n_permutations=3"):
        plain = permutation_test(values, y, **options)
    np.testing.assert_allclose(ours.values, plain.values, rtol=1e-4)
    assert ours.pvalue == plain.pvalue


def test_covariates_need_rows_in_memory(folder):
    rows = open_rows(folder / "rows.npy", memory=MEMORY)
    with pytest.raises(ValueError, match="covariates needs all rows in memory"):
        permutation_test(rows, Y, covariates=np.arange(N_ROWS), n_permutations=19)


def test_a_bound_needs_rows_in_memory(folder):
    with pytest.raises(ValueError, match="out of core, and this needs all rows in memory"):
        SPARDA(1, certify=True, effort="fast").fit(open_rows(folder / "rows.npy", memory=MEMORY), Y)


def test_compare_sums_up_what_does_not_fit_or_says_how_much_it_needs(folder):
    rows = open_rows(folder / "rows.npy", memory=MEMORY)
    assert "sums over chunks" in compare(rows, groups=Y, n_permutations=19).notes[0]
    with pytest.raises(ValueError, match=r"rows\.npy has 400 rows of 60 columns, which take about 302"):
        compare(rows, groups=Y, covariates=np.arange(N_ROWS), n_permutations=19)
