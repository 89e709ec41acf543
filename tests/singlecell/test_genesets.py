"""Gene sets: reading, the two kinds of chance, planted sets."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pandas as pd
import pytest

import princdiff
from princdiff.singlecell import genesets

anndata = pytest.importorskip("anndata")

GENES = np.array([f"g{j}" for j in range(60)])


def planted_cells(seed: int = 0) -> anndata.AnnData:
    """Genes 0-7 are higher in half of the cells; genes 20-39 rise and fall together in all of them."""
    rng = np.random.default_rng(seed)
    values = 6 + 0.5 * rng.normal(size=(100, 60))
    values[50:, :8] += 1.0
    values[:, 20:40] += 1.5 * rng.normal(size=(100, 1))
    obs = pd.DataFrame({"sick": np.repeat(["no", "yes"], 50)}, index=[f"c{i}" for i in range(100)])
    return anndata.AnnData(values, obs=obs, var=pd.DataFrame(index=GENES))


def test_a_gmt_file(tmp_path):
    path = tmp_path / "sets.gmt"
    path.write_text("AXON\thttps://example.org\tGap43\tStmn2\tGap43\n\nMYELIN\tna\tPlp1,1.0\tMal\t\n")
    assert genesets.read_gmt(path) == {"AXON": ["Gap43", "Stmn2"], "MYELIN": ["Plp1", "Mal"]}
    assert genesets.take_gene_sets(str(path)) == genesets.read_gmt(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("AXON Gap43 Stmn2\n", r"sets\.gmt, line 1: a GMT line has .* found 1 field"),
        ("A\tna\tg\nA\tna\th\n", r"line 2: gene set 'A' is there twice"),
        ("\n", r"sets\.gmt has no gene set"),
    ],
)
def test_a_broken_gmt_file(tmp_path, text, message):
    path = tmp_path / "sets.gmt"
    path.write_text(text)
    with pytest.raises(ValueError, match=message):
        genesets.read_gmt(path)


def test_the_hypergeometric_pvalue_by_counting():
    table = genesets.enrichment({"set": list(GENES[:10])}, GENES, GENES[6:18], None, 12)
    row = table.iloc[0]
    ways = [math.comb(10, k) * math.comb(50, 12 - k) for k in range(4, 11)]
    assert row["overlap"] == 4 and row["expected"] == pytest.approx(2.0)
    assert row["pvalue"] == pytest.approx(sum(ways) / math.comb(60, 12))
    assert row["genes"] == "g6, g7, g8, g9"
    assert np.isnan(row["pvalue_permutation"])


def test_the_permutation_pvalue_by_counting():
    rng = np.random.default_rng(1)
    directions = rng.normal(size=(20, 60))
    null = genesets.leading_genes(directions, 15)
    sets = {f"set {i}": list(rng.choice(GENES, size=12, replace=False)) for i in range(5)}
    table = genesets.enrichment(sets, GENES, GENES[null[0, :8]], null, 8).set_index("gene_set")
    for name, genes in sets.items():
        overlaps = [len(set(genes) & set(GENES[np.argsort(-np.abs(row))[:8]])) for row in directions]
        expected = sum(overlap >= overlaps[0] for overlap in overlaps) / 20
        assert table.loc[name, "pvalue_permutation"] == pytest.approx(expected)
    ordered = np.sort(table["pvalue"])
    adjusted = np.minimum.accumulate((ordered * 5 / np.arange(1, 6))[::-1])[::-1]
    np.testing.assert_allclose(np.sort(table["pvalue_adjusted"]), np.minimum(adjusted, 1.0))


@pytest.mark.filterwarnings("ignore:the p-value treats every cell:UserWarning")
def test_planted_sets_are_found_and_a_module_is_not_taken_for_one():
    cells = planted_cells()
    princdiff.tl.pda(cells, "sick", n_features=None, n_permutations=99, n_null_genes=20, blocks=None)
    rng = np.random.default_rng(2)
    sets = {"planted": list(GENES[:8]), "module": list(GENES[20:40])}
    sets |= {f"random {i}": list(rng.choice(GENES[8:], size=10, replace=False)) for i in range(6)}
    princdiff.tl.pda_gene_sets(cells, sets, n_top=8)
    table = princdiff.get.pda_gene_sets_df(cells).set_index("gene_set")
    assert table.index[0] == "planted"
    assert table.loc["planted", "overlap"] == 8
    assert table.loc["planted", "pvalue_permutation_adjusted"] <= 0.1
    assert (table.drop("planted")["pvalue_adjusted"] > 0.1).all()
    # Without a difference the leading genes are those of the module, which vary most: the hypergeometric
    # p-value takes this for enrichment, the permutation p-value does not.
    nothing = planted_cells()
    nothing.obs["sick"] = np.tile(["no", "yes"], 50)
    princdiff.tl.pda(nothing, "sick", n_features=None, n_permutations=99, n_null_genes=20)
    princdiff.tl.pda_gene_sets(nothing, sets, n_top=8)
    table = princdiff.get.pda_gene_sets_df(nothing).set_index("gene_set")
    assert table.loc["module", "pvalue"] < 0.01
    assert table.loc["module", "pvalue_permutation"] > 0.1


def test_directions_with_few_weights():
    leading = genesets.leading_genes(np.array([[0.0, 0.5, 0.0, -0.8], [0.1, 0.2, 0.3, 0.4]]), 3)
    np.testing.assert_array_equal(leading, [[3, 1, -1], [3, 2, 1]])
    table = genesets.enrichment({"set": ["g1", "g3"]}, GENES[:4], GENES[[3, 1]], leading, 3)
    assert table.loc[0, "pvalue_permutation"] == 1.0


def test_sets_that_are_left_out_are_named():
    sets = {"small": ["g1", "g2", "g3"], "right": [f"g{number}" for number in range(6)], "none": ["GAP43"]}
    with pytest.warns(UserWarning, match=r"fewer than 5 .*: 'small' \(3 genes\), 'none' \(0 genes\); change"):
        table = genesets.enrichment(sets, GENES, GENES[:9], None, 9, min_size=5, max_size=500)
    assert table["gene_set"].tolist() == ["right"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        genesets.enrichment({"right": sets["right"]}, GENES, GENES[:9], None, 9, min_size=5, max_size=500)


def test_what_is_refused():
    null = np.zeros((3, 5), dtype=np.int32)
    with pytest.raises(ValueError, match=r"n_top=9, but only 5 leading genes .* n_null_genes=9"):
        genesets.enrichment({"set": ["g1"]}, GENES, GENES[:9], null, 9)
    with pytest.raises(ValueError, match=r"names like 'GAP43', adata.var_names like 'g0'"):
        genesets.enrichment({"set": ["GAP43"]}, GENES, GENES[:9], None, 9)
    with pytest.raises(ValueError, match=r"between 5 and 500 .* the largest has 1"):
        genesets.enrichment({"set": ["g1"]}, GENES, GENES[:9], None, 9, min_size=5, max_size=500)
    with pytest.raises(ValueError, match=r"dict of lists of genes or the path of a GMT file, got list"):
        genesets.take_gene_sets(["g1"])
    with pytest.raises(ValueError, match=r"gene_sets\['set'\] is one text"):
        genesets.take_gene_sets({"set": "g1"})
