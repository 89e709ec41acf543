"""All cell types in one call: the changed type leads, whatever its size; abundance is a test of its own."""

from __future__ import annotations

import warnings

import anndata
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import princdiff
from princdiff.labellings.orders import multiset_permutations
from princdiff.singlecell.composition import composition
from princdiff.singlecell.donor_genes import Donors
from princdiff.singlecell.held_out import held_out_change
from princdiff.statistics.moderated import LabelledUnits

pytestmark = pytest.mark.whole

N_GENES, CHANGED = 120, range(16)
# Cells of a donor; the smallest type is the one that changes.
SIZES = {"B": 25, "mono": 60, "T": 120}


def simulated(seed=0, *, n_donors=10, response=1.2, grown=1.0):
    """Donors by turns ill; genes of B cells respond, and ill donors have more (or fewer) monocytes."""
    rng = np.random.default_rng(seed)
    usual = rng.lognormal(0.8, 0.6, (3, N_GENES))
    sign = np.where(np.arange(N_GENES) % 2, 1.0, -1.0)
    counts, donor, kind = [], [], []
    for number in range(n_donors):
        of_donor = rng.normal(0, 0.15, N_GENES)
        for place, (name, size) in enumerate(SIZES.items()):
            ill = number % 2 == 1
            n_cells = rng.poisson(size * (grown if ill and name == "mono" else 1.0))
            change = np.zeros(N_GENES)
            if ill and name == "B":
                change[CHANGED] = response * sign[CHANGED]
            mean = usual[place] * np.exp(of_donor + change)
            counts.append(rng.poisson(mean * rng.gamma(4.0, 0.25, (n_cells, N_GENES))))
            donor += [f"D{number}"] * n_cells
            kind += [name] * n_cells
    counts = np.concatenate(counts).astype(float)
    values = np.log1p(1e3 * counts / counts.sum(axis=1, keepdims=True))
    cells = anndata.AnnData(sp.csr_matrix(values.astype(np.float32)))
    cells.obs["donor"], cells.obs["cell_type"] = donor, kind
    cells.obs["status"] = np.where(cells.obs["donor"].str[1:].astype(int) % 2, "ill", "well")
    return cells


def compared(cells, **options):
    asked = {"groups": "ill", "reference": "well", "blocks": "donor", "by": "cell_type", **options}
    princdiff.tl.pda(cells, "status", **asked)
    return princdiff.get.pda_cell_types_df(cells).set_index("cell_type")


@pytest.fixture(scope="module")
def cells():
    found = simulated(grown=2.5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compared(found)
    return found


def test_the_changed_type_leads_though_it_is_the_smallest(cells):
    table = princdiff.get.pda_cell_types_df(cells)
    assert table["cell_type"][0] == "B" and table["n_cells"].idxmin() == 0
    assert table["change"][0] > 1.5 and (table["change"][1:] < 0.5).all()
    assert table["n_selected"][0] >= 13 and table["n_selected"][1:].sum() <= 3
    assert table["pvalue_adj"][0] <= 0.05 < table["pvalue_adj"][1:].min()


def test_the_genes_named_are_those_of_the_type(cells):
    found = princdiff.get.rank_genes_groups_df(cells, "B", pval_cutoff=0.05)
    assert len(set(found["names"].astype(int)) & set(CHANGED)) >= 13
    assert len(set(found["names"].astype(int)) - set(CHANGED)) <= 3
    assert (
        cells.uns["pda"]["names"].dtype.names == ("B", "T", "mono")
        or "B" in cells.uns["pda"]["names"].dtype.names
    )


def test_abundance_is_compared_by_donor(cells):
    table = princdiff.get.pda_cell_types_df(cells).set_index("cell_type")
    assert table["share_pvalue_adj"].max() <= 0.05
    assert table["share_log2_change"].idxmax() == "mono" and (table["share_log2_change"] > 0).sum() == 1
    own = cells.obs[cells.obs["status"] == "ill"]
    shares = pd.crosstab(own["donor"], own["cell_type"], normalize="index")
    np.testing.assert_allclose(table["share"], shares.mean()[table.index])
    ratio = np.log2(table["share"] / table["share_reference"])
    np.testing.assert_allclose(table["share_log2_change"], ratio, atol=0.01)


def test_pvalues_of_abundance_count_all_labellings():
    """Few donors: the step-down maximum written out over every assignment of donors."""
    rng = np.random.default_rng(1)
    counts = rng.poisson([30, 50, 20, 60], (6, 4)).astype(float)
    codes = np.array([0, 0, 0, 1, 1, 1], dtype=np.uint8)
    donors = Donors(np.arange(6), codes, paired=False)
    found = composition(counts, donors, seed=0)
    odds = np.log2((counts + 0.5) / (counts.sum(axis=1, keepdims=True) - counts + 0.5))
    labels = np.array(list(multiset_permutations(codes)), dtype=np.uint8)
    labels = np.concatenate([codes[None], labels[(labels != codes).any(axis=1)]])
    statistics = LabelledUnits(labels, False).statistics(odds)
    largest = statistics.max(axis=1)
    assert found["share_pvalue_adj"].min() == pytest.approx((largest >= largest[0] - 1e-4).mean())


def test_equal_shares_of_every_type_are_no_change_of_abundance():
    counts = np.outer([40, 80, 160, 30, 90, 200], [1.0, 2.0, 3.0])
    found = composition(counts, Donors(np.arange(6), np.tile([0, 1], 3).astype(np.uint8), False), seed=0)
    np.testing.assert_allclose(found["share_log2_change"], 0.0, atol=1e-6)


def test_change_by_chance_is_none_whatever_donors_do():
    """Donors that differ do not pass for a change: those judged were not learned from."""
    rng = np.random.default_rng(0)
    found = []
    for seed in range(12):
        donor = np.repeat(np.arange(8), 20)
        rows = rng.normal(size=(160, 15)) + rng.normal(size=(8, 15))[donor]
        found.append(held_out_change(rows, (donor % 2).astype(np.uint8), donor, 20, seed))
    assert np.mean(found) == pytest.approx(0.0, abs=0.3)


def test_types_are_ranked_where_all_cells_are_told_apart():
    """Groups at a known distance, and cells that do not vary."""
    codes = np.repeat([0, 1], 200).astype(np.uint8)
    normal = np.random.default_rng(0).normal(size=(400, 3))
    near, far = (
        held_out_change(normal - [[d, 0, 0]] * codes[:, None], codes, np.arange(400), 50, 0) for d in (6, 12)
    )
    assert near == pytest.approx(6, rel=0.15) and far == pytest.approx(12, rel=0.15)
    still = held_out_change(1.0 - codes[:, None], codes, np.arange(400), 50, 0)
    assert far < still < np.inf
    assert held_out_change(np.ones((400, 2)), codes, np.arange(400), 50, 0) == 0.0


def test_types_of_one_group_are_named_and_left_out():
    cells = simulated(1)
    only_ill = (cells.obs["cell_type"] == "mono") & (cells.obs["status"] == "well")
    cells = cells[~only_ill.to_numpy()].copy()
    with pytest.warns(
        UserWarning, match="1 of 3 cell types have too few cells or donors in one of the groups .* 'mono'"
    ):
        table = compared(cells)
    assert np.isnan(table.loc["mono", "change"]) and table.loc["mono", "n_selected"] == 0


def test_types_without_donors_and_what_is_refused():
    cells = simulated(2, n_donors=2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        table = compared(cells, blocks=None)
    assert table.index[0] == "B" and "share" not in table
    with (
        warnings.catch_warnings(),
        pytest.raises(ValueError, match="by= compares two groups within each cell type"),
    ):
        warnings.simplefilter("ignore")
        princdiff.tl.pda(cells, "cell_type", by="donor", n_permutations=19)
    with pytest.raises(ValueError, match=r"by='kind' is not in adata\.obs"):
        compared(cells, by="kind")
    with pytest.raises(ValueError, match=r"has no cell types; call princdiff\.tl\.pda\(adata, \.\.\., by=\)"):
        princdiff.get.pda_cell_types_df(cells, "other")


def test_other_shares_of_types_are_said_where_types_are_not_given():
    cells = simulated(3, grown=4.0)
    with pytest.warns(UserWarning, match=r"other shares of cell types: '(mono|T)' .* by='cell_type'"):
        princdiff.tl.pda(cells, "status", blocks="donor", n_components=0, groups="ill")
    equal = simulated(3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        princdiff.tl.pda(equal, "status", blocks="donor", n_components=0, groups="ill")
