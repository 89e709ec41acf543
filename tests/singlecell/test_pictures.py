"""Pictures: they return their Axes, and show the numbers that were computed."""

from __future__ import annotations

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

import princdiff

anndata = pytest.importorskip("anndata")


@pytest.fixture(scope="module")
def cells() -> anndata.AnnData:
    rng = np.random.default_rng(0)
    values = np.log1p(1.3 * rng.poisson(2.0, size=(90, 8)))
    values[30:60, 1] += 2.0
    values[60:, 4] += 2.0
    obs = pd.DataFrame(
        {
            "kind": pd.Categorical(np.repeat(["a", "b", "c"], 30), categories=["a", "b", "c", "unused"]),
            "depth": np.linspace(0, 1, 90),
            "donor": np.tile(["d1", "d2", "d3"], 30),
            "many": [f"level {i // 3}" for i in range(90)],
        },
        index=[f"c{i}" for i in range(90)],
    )
    data = anndata.AnnData(values, obs=obs, var=pd.DataFrame(index=[f"g{j}" for j in range(8)]))
    princdiff.tl.pda(data, "kind", n_features=2, n_permutations=19, blocks="donor", permute="within")
    princdiff.tl.pda_gene_sets(
        data, {"one": ["g1", "g4"], "two": ["g5", "g6"]}, group="b", n_top=2, min_size=1
    )
    return data


def test_cells_on_a_direction(cells):
    _, given = plt.subplots()
    ax = princdiff.pl.pda(cells, group="b", ax=given)
    assert ax is given
    legend = ax.get_legend()
    assert [text.get_text() for text in legend.get_texts()] == ["rest (60 cells)", "b (30 cells)"]
    assert ax.get_xlabel() == "component 1 (p = 0.05)"
    with pytest.raises(ValueError, match=r"3 comparisons; choose one with group=: 'a', 'b', 'c'"):
        princdiff.pl.pda(cells)


def test_groups_that_were_compared_jointly(cells):
    data = cells.copy()
    princdiff.tl.pda(data, "kind", groups=["a", "c"], reference=None, n_features=1, n_permutations=0)
    ax = princdiff.pl.pda(data)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["a (30 cells)", "c (30 cells)"]
    ax = princdiff.pl.pda_gene(data, "g4")
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["a", "c"]


def test_the_leading_genes(cells):
    ax = princdiff.pl.pda_genes(cells, group="b", top=2)
    expected = princdiff.get.pda_df(cells, group="b", top=2)
    assert [label.get_text() for label in ax.get_yticklabels()] == expected["gene"].tolist()
    assert [bar.get_width() for bar in ax.patches] == pytest.approx(expected["weight"].tolist())
    assert ax.get_title() == "b against rest"


def test_genes_by_groups(cells):
    ax = princdiff.pl.pda_heatmap(cells, top=1)
    genes = [label.get_text() for label in ax.get_yticklabels()]
    groups = [label.get_text() for label in ax.get_xticklabels()]
    assert groups == ["a", "b", "c"]
    assert {"g1", "g4"} <= set(genes)
    table = princdiff.get.pda_df(cells).set_index(["gene", "group"])["weight"]
    drawn = np.asarray(ax.images[0].get_array())
    np.testing.assert_allclose(drawn, [[table[gene, group] for group in groups] for gene in genes])
    assert [
        label.get_text() for label in princdiff.pl.pda_heatmap(cells, groups=["c"]).get_xticklabels()
    ] == ["c"]


@pytest.mark.parametrize("color", [None, "donor", "depth", "many"])
def test_cells_on_two_directions(cells, color):
    ax = princdiff.pl.pda_scatter(cells, color, group=("b", "c"))
    drawn = np.asarray(ax.collections[0].get_offsets())
    expected = cells.obsm["X_pda"][:, [1, 2]]
    np.testing.assert_allclose(np.sort(drawn, axis=0), np.sort(expected, axis=0))
    assert ax.get_xlabel() == "b against rest"
    if color == "depth":
        np.testing.assert_allclose(ax.collections[0].get_array(), cells.obs["depth"])
    else:
        count = cells.obs["kind" if color is None else color].nunique()
        assert len(ax.get_legend().get_texts()) == count


def test_colours_that_scanpy_chose(cells):
    chosen = cells.copy()
    chosen.uns["kind_colors"] = ["#ff0000", "#00ff00", "#0000ff", "#ffffff"]
    ax = princdiff.pl.pda_scatter(chosen, "kind", group=("b", "c"))
    colours = {matplotlib.colors.to_hex(colour) for colour in ax.collections[0].get_facecolors()}
    assert colours == {"#ff0000", "#00ff00", "#0000ff"}


def test_two_directions_are_needed(cells):
    with pytest.raises(ValueError, match=r"one component only: .* n_components=2, or give a pair of groups"):
        princdiff.pl.pda_scatter(cells)
    with pytest.raises(ValueError, match=r"color='dono' is not in adata.obs.*did you mean 'donor'"):
        princdiff.pl.pda_scatter(cells, "dono", group=("a", "b"))


def test_one_gene(cells):
    ax = princdiff.pl.pda_gene(cells, "g1", group="b")
    outlines = [patch for patch in ax.patches if not patch.get_fill()]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["rest", "b"]
    for outline in outlines:
        assert outline.get_data().values.sum() == pytest.approx(1.0)
    with pytest.raises(ValueError, match=r"gene='gg1' is not in adata.var_names.*did you mean 'g1'"):
        princdiff.pl.pda_gene(cells, "gg1", group="b")


def test_gene_sets(cells):
    ax = princdiff.pl.pda_gene_sets(cells)
    table = princdiff.get.pda_gene_sets_df(cells)
    assert [label.get_text() for label in ax.get_yticklabels()] == table["gene_set"].tolist()
    bars = [bar.get_width() for bar in ax.patches]
    assert bars == pytest.approx((-np.log10(table["pvalue_adjusted"])).tolist())
    assert table.loc[0, "gene_set"] == "one"


@pytest.fixture(scope="module")
def donors() -> anndata.AnnData:
    """Twelve donors, by turns ill; genes 0 to 9 respond in B cells."""
    rng = np.random.default_rng(1)
    donor = np.repeat(np.arange(12), 40)
    kind = np.tile(["B", "T"], 240)
    ill = donor % 2 == 1
    mean = np.full((480, 60), 3.0) * rng.lognormal(0, 0.1, (12, 60))[donor]
    mean[np.ix_(ill & (kind == "B"), range(10))] *= np.where(np.arange(10) % 2, 3.0, 0.3)
    counts = rng.poisson(mean)
    obs = pd.DataFrame(
        {"donor": donor.astype(str), "cell_type": kind, "status": np.where(ill, "ill", "well")},
        index=[f"c{i}" for i in range(480)],
    )
    data = anndata.AnnData(np.log1p(100 * counts / counts.sum(axis=1, keepdims=True)), obs=obs)
    princdiff.tl.pda(data, "status", groups="ill", reference="well", blocks="donor", by="cell_type")
    return data


def test_a_volcano_shows_every_tested_gene_and_names_the_clearest(donors):
    ax = princdiff.pl.volcano(donors, group="B", top=5)
    table = princdiff.get.rank_genes_groups_df(donors, "B")
    named = int(table["selected"].sum())
    assert named >= 10
    assert ax.get_title(loc="left") == f"B, ill against well: {named} genes named"
    points = np.concatenate([np.asarray(part.get_offsets()) for part in ax.collections])
    drawn = points[np.lexsort(points.T)]
    expected = np.column_stack([table["logfoldchanges"], -np.log10(table["pvals"])])
    np.testing.assert_allclose(drawn, expected[np.lexsort(expected.T)])
    texts = [text.get_text() for text in ax.texts]
    assert 1 <= len(texts) <= 5 and set(texts) <= set(table.loc[table["selected"], "names"])
    with pytest.raises(ValueError, match=r"2 comparisons; choose one with group=: 'B', 'T'"):
        princdiff.pl.volcano(donors)


def test_cell_types_by_how_much_they_changed(donors):
    ax = princdiff.pl.pda_cell_types(donors)
    table = princdiff.get.pda_cell_types_df(donors)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["B", "T"]
    points = table[["change"]].assign(row=[0.0, 1.0])
    for drawn, own in zip(
        ax.collections[1:3], (table["n_selected"] > 0, table["n_selected"] == 0), strict=True
    ):
        np.testing.assert_allclose(drawn.get_offsets(), points[own].to_numpy())
    assert ax.texts[0].get_text() == f"{table['n_selected'][0]} genes"
