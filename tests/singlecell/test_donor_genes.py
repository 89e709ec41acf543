"""Genes that differ between donors: planted ones are found, depth and cells alone name nothing."""

from __future__ import annotations

import re
import warnings

import anndata
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import princdiff
from princdiff.result.faults import unlike_depth
from princdiff.singlecell.donor_genes import (
    _SHARES,
    Donors,
    GeneOptions,
    _as_many_cells,
    _discovery_rates,
    _GeneFamily,
    _some_cells,
    donor_genes,
)
from princdiff.tables import prepare
from princdiff.tables.counts import CellCounts, cell_counts

pytestmark = pytest.mark.whole

N_GENES = 300
MORE, SPREAD, PAIRED = range(0, 20), range(20, 26), (30, 31)


def simulated(seed, *, null=False, crossed=False, depth=1.0, n_donors=12, n_cells=60):
    """Negative binomial counts of donors whose means differ by chance, half of them ill."""
    rng = np.random.default_rng(seed)
    donor = np.repeat(np.arange(n_donors), n_cells)
    ill = rng.random(len(donor)) < 0.5 if crossed else donor % 2 == 1
    mean = (
        np.clip(rng.lognormal(0.8, 0.7, N_GENES), 0.4, 20) * rng.lognormal(0, 0.2, (n_donors, N_GENES))[donor]
    )
    factor = rng.gamma(3.0, 1 / 3, mean.shape)
    if not null:
        # As many up as down: what other genes get of the depth stays the same.
        mean[np.ix_(ill, MORE)] *= np.where(np.arange(len(MORE)) % 2, 2.5, 0.4)
        where = np.ix_(ill, SPREAD)
        factor[where] = rng.gamma(0.4, 1 / 0.4, factor[where].shape)
        shared = rng.lognormal(-0.32, 0.8, (len(donor), 2))
        shared[ill, 1] = shared[ill, 0]
        mean[:, PAIRED], factor[:, PAIRED] = 8.0, shared
    size = rng.lognormal(0, 0.3, len(donor)) * np.where(ill, depth, 1.0)
    counts = rng.poisson(mean * factor * size[:, None]).astype(float)
    normalised = np.log1p(1e3 * counts / counts.sum(axis=1, keepdims=True))
    cells = anndata.AnnData(sp.csr_matrix(normalised.astype(np.float32)))
    cells.obs["donor"] = [f"D{number}" for number in donor]
    cells.obs["status"] = np.where(ill, "ill", "well")
    cells.layers["counts"] = sp.csr_matrix(counts)
    return cells


def found_in(cells, error="fdr", permute="auto"):
    codes = (cells.obs["status"] == "well").to_numpy().astype(np.uint8)
    donors = Donors.of(cells.obs["donor"].to_numpy(), codes, permute)
    return donor_genes(cell_counts(cells.X), np.array(cells.var_names), donors, GeneOptions(99, error, 0))


@pytest.mark.parametrize("crossed", [False, True])
def test_means_variability_and_pairs_are_found_and_little_else(crossed):
    table = found_in(simulated(0, crossed=crossed))
    named = set(np.flatnonzero(table["selected"]))
    true = {*MORE, *SPREAD, *PAIRED}
    assert len(named & set(MORE)) >= 18
    assert len(named & set(SPREAD)) >= 5
    assert set(PAIRED) <= named
    assert len(named - true) <= 0.1 * len(named)
    assert table.loc[PAIRED[0], "reason"] == f"co-expression with {PAIRED[1]}"
    assert set(table.loc[list(SPREAD), "reason"]) & {"variability"}
    np.testing.assert_allclose(table.loc[list(MORE), "logfoldchange"].abs().mean(), np.log2(2.5), atol=0.25)


def test_nothing_is_named_where_donors_do_not_differ():
    sets = [simulated(seed, null=True, n_cells=25) for seed in range(6)]
    assert sum(bool(found_in(cells)["selected"].any()) for cells in sets) <= 1


@pytest.mark.parametrize("error", ["fdr", "fwer"])
def test_twice_the_depth_names_nothing(error):
    assert not found_in(simulated(3, null=True, depth=2.0), error)["selected"].any()


def test_family_wise_control_names_nothing_false():
    named = np.flatnonzero(found_in(simulated(1), "fwer")["selected"])
    assert len(named) > 10 and set(named) <= {*MORE, *SPREAD, *PAIRED}


def test_neither_the_order_of_cells_nor_the_storage_counts():
    cells = simulated(2)
    table = found_in(cells)
    shuffled = cells[np.random.default_rng(0).permutation(cells.n_obs)].copy()
    shuffled.X = shuffled.X.toarray()
    pd.testing.assert_frame_equal(found_in(shuffled), table, rtol=1e-4, atol=1e-6)


def test_counts_are_recovered_from_logarithms():
    cells = simulated(4)
    found = cell_counts(cells.X)
    assert (found.counts != cells.layers["counts"]).nnz == 0
    totals = np.asarray(cells.layers["counts"].sum(axis=1)).ravel()
    np.testing.assert_allclose(found.depth, totals / totals.mean(), rtol=1e-4)


def test_values_that_come_from_no_counts_are_left_as_they_are():
    values = np.random.default_rng(0).gamma(2.0, size=(20, 8))
    found = cell_counts(values)
    np.testing.assert_allclose(found.counts.toarray(), np.expm1(values))
    assert (found.depth == 1).all()


def test_a_cell_without_counts_has_a_depth():
    assert cell_counts(np.array([[0.0, 0.0], [1.0, 2.0]])).depth.tolist() == [1.0, 1.0]


def test_donors_of_both_kinds_are_not_taken_for_pairs():
    codes = np.array([0, 0, 0, 1, 1, 1], dtype=np.uint8)
    assert Donors.of(np.array(["a", "a", "b", "a", "c", "c"]), codes, "auto") is None
    assert Donors.of(np.array(["a", "b", "a", "c", "d", "c"]), codes, "auto").paired is False
    assert Donors.of(np.array(["a", "b", "c", "a", "b", "c"]), codes, "auto").paired is True
    assert Donors.of(np.array(["a", "b", "c", "a", "b", "c"]), codes, "whole") is None


def test_the_table_of_pda_and_the_layout_of_scanpy():
    cells = simulated(5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        princdiff.tl.pda(cells, "status", blocks="donor", n_features=5, n_permutations=19, groups="ill")
    table = princdiff.get.pda_df(cells)
    named = table[table["selected"]]
    assert len(set(named["gene"].astype(int)) & set(MORE)) >= 18
    result = cells.uns["pda"]
    assert result["params"]["error"] == "fdr"
    assert result["names"].dtype.names == ("ill",)
    by_gene = table.set_index("gene")
    for place in (0, -1):
        gene = result["names"]["ill"][place]
        assert result["pvals_adj"]["ill"][place] == by_gene.loc[gene, "pvalue_adj"]
        assert np.sign(result["scores"]["ill"][place]) == (1 if place == 0 else -1)
        assert result["logfoldchanges"]["ill"][place] == by_gene.loc[gene, "logfoldchange"]


def test_genes_alone_are_those_named_beside_a_direction():
    cells = simulated(5)
    options = {"blocks": "donor", "n_permutations": 19, "groups": "ill"}
    princdiff.tl.pda(cells, "status", n_features=5, **options)
    princdiff.tl.pda(cells, "status", n_components=0, key_added="alone", **options)
    both, alone = (
        princdiff.get.rank_genes_groups_df(cells, key=key).sort_values("names", ignore_index=True)
        for key in ("pda", "alone")
    )
    pd.testing.assert_frame_equal(alone, both, rtol=1e-5, atol=1e-7)
    assert "X_alone" not in cells.obsm
    assert cells.uns["alone"]["names"]["ill"][:20].tolist() == cells.uns["pda"]["names"]["ill"][:20].tolist()
    with pytest.raises(ValueError, match="n_components above 0"):
        princdiff.get.pda_statistics(cells, "alone")
    with pytest.raises(ValueError, match="needs n_permutations above 0"):
        princdiff.tl.pda(cells, "status", n_components=0, n_permutations=0)


def test_genes_of_cells_that_fewer_than_ten_show_are_not_tested():
    """The rarest would rule the maximum: of the others as many are named as without them."""
    cells = simulated(7, null=True, n_donors=2, n_cells=60)
    ill = np.flatnonzero(cells.obs["status"] == "ill")
    values = cells.X.toarray()
    values[:, 0], values[ill[:9], 0] = 0.0, 3.0
    cells.X = sp.csr_matrix(values)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        princdiff.tl.pda(cells, "status", n_components=0)
    table = princdiff.get.rank_genes_groups_df(cells).set_index("names")
    assert table.loc["0", "pvals"] == 1.0 and not table.loc["0", "selected"]
    assert (table["pvals"] < 0.05).any()


def test_one_list_of_several_kinds_is_that_of_weighted_hypotheses():
    """Beside the definition of Benjamini and Hochberg, spelled out for all hypotheses of two comparisons."""
    rng = np.random.default_rng(0)
    sizes = {"mean": 40, "variability": 15, "co-expression": 60}
    families = [
        _GeneFamily(kind, np.arange(size), rng.random(size), rng.random(size) ** 4, np.ones(size))
        for kind, size in sizes.items()
        for _ in range(2)
    ]
    found = np.concatenate(_discovery_rates(families, 2))
    total = sum(2 * size for size in sizes.values())
    weights = np.concatenate(
        [np.full(len(one.pvalues), _SHARES[one.kind] * total / (2 * len(one.pvalues))) for one in families]
    )
    assert weights.mean() == pytest.approx(1.0)
    scaled = np.minimum(np.concatenate([one.pvalues for one in families]) / weights, 1.0)
    rates = [
        min(total * other / (scaled <= other).sum() for other in scaled[scaled >= one]) for one in scaled
    ]
    np.testing.assert_allclose(found, np.minimum(rates, 1.0))


def test_unequal_depth_is_said_and_thinning_takes_it_out():
    cells = simulated(6, null=True, depth=2.0, n_cells=30)
    options = {"n_features": 3, "n_permutations": 19, "groups": "ill"}
    with pytest.warns(
        UserWarning, match=r"cells of 'ill' were sequenced 2\.\d times as deep as those of 'well'"
    ):
        princdiff.tl.pda(cells, "status", blocks="donor", **options)
    princdiff.tl.thin_counts(cells, "status")
    thinned = cells.layers["thinned"].toarray()
    assert (thinned <= cells.layers["counts"].toarray()).all()
    cells.X = np.log1p(1e3 * thinned / thinned.sum(axis=1, keepdims=True))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        princdiff.tl.pda(cells, "status", blocks="donor", **options)


def test_the_first_paragraph_says_that_one_group_was_counted_deeper():
    """Of logarithms and of sparse counts; not where few columns rule the sums of rows."""
    cells = simulated(6, null=True, depth=2.0, n_cells=30)
    dense = cells.X.toarray()
    says = r"Rows of ill were counted 2\.\d times as deep as those of well: that alone changes the mean of"
    ill = (cells.obs["status"] == "ill").to_numpy()
    for values in (dense, cells.layers["counts"]):
        found = princdiff.compare(
            values, groups=cells.obs["status"].to_numpy(), n_permutations=19, n_features=5
        )
        text = str(found).split("\n\n")[0].replace("\n", " ")
        assert re.search(says, text)
    counts = simulated(6, null=True, n_cells=30).layers["counts"].toarray()
    counts[np.ix_(ill, range(3))] *= 200
    assert not unlike_depth(prepare(sp.csr_matrix(counts[~ill]), sp.csr_matrix(counts[ill])))


def test_thinning_refuses_what_are_not_counts():
    cells = anndata.AnnData(np.random.default_rng(0).gamma(2.0, size=(20, 5)))
    cells.obs["kind"] = ["a", "b"] * 10
    with pytest.raises(ValueError, match=r"adata\.X holds neither counts nor log-normalised counts"):
        princdiff.tl.thin_counts(cells, "kind")


def test_counting_leaves_the_callers_values_as_they_are():
    cells = simulated(8, null=True, n_cells=20)
    before = cells.X.copy()
    counted = cells.layers["counts"].copy()
    cell_counts(cells.X)
    princdiff.tl.thin_counts(cells, "status")
    princdiff.tl.thin_counts(cells, "status", layer="counts")
    assert (cells.X != before).nnz == 0 and (cells.layers["counts"] != counted).nnz == 0


def test_many_cells_of_a_donor_are_read_in_part_for_correlations():
    """Evenly over the depths, whatever the order of the cells."""
    rng = np.random.default_rng(0)
    depth, own = rng.lognormal(size=5000), rng.random(5000) < 0.6
    taken = _some_cells(depth, own, 1000)
    assert len(taken) == len(set(taken)) == 1000 and own[taken].all()
    quantiles = np.linspace(0, 1, 11)
    np.testing.assert_allclose(
        np.quantile(depth[taken], quantiles), np.quantile(depth[own], quantiles), rtol=0.03
    )
    order = rng.permutation(5000)
    again = order[_some_cells(depth[order], own[order], 1000)]
    assert set(again) == set(taken)


def test_groups_of_unlike_numbers_of_cells_are_read_alike():
    """Donors with three times the cells are read in part; donors with about as many as they are."""
    rng = np.random.default_rng(1)
    sizes = np.where(np.arange(10) % 2, 90, 30) + rng.integers(0, 5, 10)
    of_cell = np.repeat(np.arange(10), sizes)
    cells = CellCounts(
        sp.csr_matrix(rng.poisson(1.0, (len(of_cell), 4)).astype(float)), rng.lognormal(size=len(of_cell))
    )
    donors = Donors(of_cell, np.tile([0, 1], 5).astype(np.uint8), paired=False)
    fewer, rest = _as_many_cells(cells, donors)
    left = np.bincount(rest.of_cell)
    few = np.median(sizes[::2])
    assert (left[::2] <= sizes[::2]).all() and (left[::2] >= 0.9 * sizes[::2]).all()
    assert (left[1::2] <= 1.3 * few).all() and (left[1::2] >= few).all()
    assert fewer.counts.shape[0] == len(fewer.depth) == len(rest.of_cell)
    alike = Donors(np.repeat(np.arange(10), 30), donors.codes, paired=False)
    all_of_them = cells.take(np.arange(len(of_cell)) < 300)
    assert _as_many_cells(all_of_them, alike)[0] is all_of_them


def test_genes_that_rise_are_not_said_to_be_correlated_otherwise_with_all_others():
    """A program of many genes, of which one shows in ill donors only: its partners did not change."""
    rng = np.random.default_rng(2)
    cells = simulated(9, null=True)
    ill = (cells.obs["status"] == "ill").to_numpy()
    program = rng.lognormal(-0.18, 0.6, cells.n_obs)
    mean = np.outer(program, np.full(20, 4.0))
    mean[:, 0] *= np.where(ill, 1.0, 0.02)
    counts = cells.layers["counts"].toarray()
    counts[:, :20] = rng.poisson(mean)
    cells.X = sp.csr_matrix(np.log1p(1e3 * counts / counts.sum(axis=1, keepdims=True)))
    table = found_in(cells)
    assert table.loc[0, "reason"] == "mean"
    assert not table.loc[1:19, "selected"].any()
