"""Directions among many genes: a search that overfits gives way to the genes that differ by themselves."""

from __future__ import annotations

import warnings

import anndata
import numpy as np
import pytest
import scipy.sparse as sp
from scipy import stats

import princdiff
from princdiff.singlecell import directions
from princdiff.singlecell.directions import clearest_genes
from princdiff.singlecell.held_out import half_of_members

pytestmark = pytest.mark.whole


@pytest.fixture
def few_are_many(monkeypatch):
    monkeypatch.setattr(directions, "MANY_GENES", 100)


def objects(values, codes):
    cells = anndata.AnnData(values)
    cells.obs["kind"] = np.where(codes == 0, "a", "b")
    return cells


def test_weak_genes_are_not_lost_to_a_search_that_overfits(few_are_many):
    """Twenty rare genes up by two thirds, among 600: held out, single genes do better, and that is said."""
    rng = np.random.default_rng(0)
    codes = np.tile([0, 1], 300).astype(np.uint8)
    mean = np.clip(rng.lognormal(-1.0, 1.2, 600), 0.02, 20)
    mean[:20] = 0.4
    rates = np.tile(mean, (600, 1))
    rates[np.ix_(codes == 1, range(20))] *= 1.67
    cells = objects(sp.csr_matrix(np.log1p(rng.poisson(rates * rng.gamma(2, 0.5, rates.shape)) * 1.1)), codes)
    with pytest.warns(UserWarning, match="carries nothing beyond single genes"):
        princdiff.tl.pda(cells, "kind", n_features=20, n_permutations=0)
    used = np.flatnonzero(cells.varm["pda"][:, 0])
    searched = princdiff.SPARDA(20, certify=False, random_state=0).fit(cells.X, codes).support_
    assert len(used) == 20
    assert (used < 20).sum() > searched[:20].sum() and (used < 20).sum() >= 10


def test_a_search_that_sees_more_than_single_genes_is_kept(few_are_many):
    """Three genes whose sum spreads in one group, while no mean differs."""
    rng = np.random.default_rng(1)
    codes = np.tile([0, 1], 200).astype(np.uint8)
    values = rng.normal(5, 0.5, (400, 120))
    values[codes == 1, :3] += 2 * rng.normal(size=(200, 1))
    cells = objects(values, codes)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        princdiff.tl.pda(cells, "kind", n_features=3, n_permutations=0, values=None)
    assert np.flatnonzero(cells.varm["pda"][:, 0]).tolist() == [0, 1, 2]


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_matrix])
def test_the_clearest_genes_are_those_of_welchs_test(storage):
    rng = np.random.default_rng(2)
    values, codes = rng.gamma(2.0, size=(80, 30)), rng.integers(0, 2, 80).astype(np.uint8)
    welch = np.abs(stats.ttest_ind(values[codes == 0], values[codes == 1], equal_var=False).statistic)
    expected = set(np.argsort(-welch)[:8])
    assert len(expected & set(clearest_genes(storage(values), codes, 8))) >= 7


def test_halves_hold_whole_donors_of_both_groups():
    rng = np.random.default_rng(3)
    members = rng.integers(0, 12, 300)
    for codes in (members % 2, rng.integers(0, 2, 300)):
        half = half_of_members(rng, codes.astype(np.uint8), members)
        for donor in range(12):
            assert len(set(half[members == donor])) == 1
        assert {*codes[half]} == {*codes[~half]} == {0, 1}
