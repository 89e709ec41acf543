"""tl.pda: what it writes, on which objects it works, and what it refuses."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import princdiff
from princdiff import PDA, SPARDA, permutation_test

pytestmark = pytest.mark.whole

anndata = pytest.importorskip("anndata")

QUIET = {"n_permutations": 0}


def expression(n_cells: int = 90, n_genes: int = 12, seed: int = 0) -> np.ndarray:
    """Log-normalised counts; gene 3 is higher in the last third of the cells, gene 5 spreads."""
    rng = np.random.default_rng(seed)
    counts = rng.poisson(1.2, size=(n_cells, n_genes))
    third = n_cells // 3
    counts[2 * third :, 3] += rng.poisson(4.0, size=n_cells - 2 * third)
    counts[2 * third :, 5] *= rng.choice([0, 3], size=n_cells - 2 * third)
    return np.log1p(1.3 * counts)


def make_cells(values=None, groups: int = 2, **obs) -> anndata.AnnData:
    values = sp.csr_matrix(expression()) if values is None else values
    n_cells, n_genes = values.shape
    names = np.array(["b cell", "t cell", "monocyte"])
    third = np.minimum(np.arange(n_cells) // (n_cells // 3), 2)
    labels = names[third] if groups == 3 else np.where(third == 2, "monocyte", "lymphocyte")
    frame = pd.DataFrame({"kind": pd.Categorical(labels), **obs}, index=[f"cell{i}" for i in range(n_cells)])
    return anndata.AnnData(values, obs=frame, var=pd.DataFrame(index=[f"g{j}" for j in range(n_genes)]))


def test_it_writes_what_the_estimator_finds():
    cells = make_cells()
    princdiff.tl.pda(cells, "kind", n_features=3, **QUIET)
    fitted = SPARDA(3, random_state=0).fit(expression(), cells.obs["kind"].to_numpy(str))
    statistics = princdiff.get.pda_statistics(cells)
    assert statistics["divergence"].tolist() == pytest.approx(fitted.divergences_, rel=1e-6)
    direction = cells.varm["pda"][:, 0]
    assert abs(direction @ fitted.components_[0]) == pytest.approx(1.0, abs=1e-6)
    np.testing.assert_allclose(cells.obsm["X_pda"][:, 0], expression() @ direction, rtol=1e-6)
    # Positive weights pull towards the group, which is the first one here.
    projected = cells.obsm["X_pda"][:, 0]
    first = (cells.obs["kind"] == statistics.loc[0, "group"]).to_numpy()
    assert projected[first].mean() > projected[~first].mean()
    assert statistics.loc[0, ["group", "reference"]].tolist() == ["lymphocyte", "monocyte"]
    kinds = statistics.loc[0, ["location", "scale", "shape"]]
    assert kinds.sum() == pytest.approx(1.0)


def test_the_table_agrees_with_the_directions_and_with_the_cells():
    cells = make_cells()
    princdiff.tl.pda(cells, "kind", n_features=None, **QUIET)
    table = princdiff.get.pda_df(cells)
    assert len(table) == cells.n_vars
    assert (np.diff(table["weight"].abs()) <= 0).all()
    weights = table.set_index("gene")["weight"].loc[cells.var_names]
    np.testing.assert_allclose(weights, cells.varm["pda"][:, 0])
    assert table["share"].sum() == pytest.approx(1.0)
    inside = (cells.obs["kind"] == "lymphocyte").to_numpy()
    own = table.set_index("gene").loc["g5"]
    column = expression()[:, 5]
    assert own["mean"] == pytest.approx(column[inside].mean())
    assert own["sd_reference"] == pytest.approx(column[~inside].std())
    assert own["detected"] == pytest.approx((column[inside] > 0).mean())
    levels = (np.arange(60 * 30) + 0.5) / (60 * 30)
    sides = [np.quantile(column[side], levels, method="inverted_cdf") for side in (inside, ~inside)]
    assert own["divergence"] == pytest.approx(np.mean((sides[0] - sides[1]) ** 2), rel=1e-6)
    assert princdiff.get.pda_df(cells, top=2)["gene"].tolist() == table["gene"].tolist()[:2]


def test_several_groups_against_the_rest():
    cells = make_cells(groups=3)
    princdiff.tl.pda(cells, "kind", n_features=2, **QUIET)
    statistics = princdiff.get.pda_statistics(cells)
    assert statistics["group"].tolist() == ["b cell", "monocyte", "t cell"]
    assert set(statistics["reference"]) == {"rest"}
    assert cells.varm["pda"].shape == (12, 3)
    alone = SPARDA(2, random_state=0).fit(expression(), cells.obs["kind"].to_numpy(str) == "monocyte")
    assert statistics.loc[1, "divergence"] == pytest.approx(alone.divergences_[0], rel=1e-6)
    assert princdiff.get.pda_df(cells, group="monocyte").loc[0, "gene"] == "g3"


def test_a_reference_group_leaves_the_others_out_of_the_fit_but_projects_them():
    cells = make_cells(groups=3)
    princdiff.tl.pda(cells, "kind", groups=["monocyte"], reference="t cell", n_features=None, **QUIET)
    used = cells.obs["kind"].isin(["monocyte", "t cell"]).to_numpy()
    fitted = PDA(random_state=0).fit(expression()[used], cells.obs["kind"][used].to_numpy(str))
    assert princdiff.get.pda_statistics(cells)["divergence"][0] == pytest.approx(
        fitted.divergences_[0], rel=1e-6
    )
    np.testing.assert_allclose(cells.obsm["X_pda"], expression() @ cells.varm["pda"], rtol=1e-6)


def test_all_groups_jointly():
    cells = make_cells(groups=3)
    princdiff.tl.pda(cells, "kind", reference=None, n_features=None, **QUIET)
    fitted = PDA(random_state=0).fit(expression(), cells.obs["kind"].to_numpy(str))
    statistics = princdiff.get.pda_statistics(cells)
    assert statistics["divergence"].tolist() == pytest.approx(fitted.divergences_, rel=1e-6)
    assert "mean" not in princdiff.get.pda_df(cells).columns


def test_within_groups_only_relationships_count():
    cells = make_cells(groups=3)
    princdiff.tl.pda(cells, "kind", groups=["monocyte"], reference="t cell", scale="within", **QUIET)
    projected = cells.obsm["X_pda"][:, 0]
    outside = (cells.obs["kind"] == "b cell").to_numpy()
    assert np.isnan(projected[outside]).all()
    monocytes = projected[(cells.obs["kind"] == "monocyte").to_numpy()]
    assert monocytes.mean() == pytest.approx(0.0, abs=1e-6)
    assert princdiff.get.pda_statistics(cells).loc[0, "location"] == pytest.approx(0.0, abs=1e-9)


def test_within_groups_a_shift_is_no_difference_of_a_gene():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(90, 3))
    values[60:, 0] += 2.0
    values[60:, 1] = rng.choice([-1.0, 1.0], size=30)
    for scale, named in (("pooled", ["g0", "g1"]), ("within", [])):
        cells = make_cells(values)
        princdiff.tl.pda(cells, "kind", scale=scale, n_permutations=199, values=None)
        genes = princdiff.get.pda_df(cells)
        assert sorted(genes.loc[genes["selected"], "gene"]) == named


def test_the_test_is_the_permutation_test():
    cells = make_cells(sp.csr_matrix(expression(n_cells=60)))
    princdiff.tl.pda(cells, "kind", n_features=2, n_permutations=19, random_state=4)
    seed = int(np.random.default_rng(np.random.RandomState(4).randint(2**31)).integers(2**31))
    codes = (cells.obs["kind"] == "monocyte").to_numpy().astype(int)
    expected = permutation_test(
        expression(n_cells=60),
        codes,
        statistic="divergence",
        scale=None,
        n_permutations=19,
        random_state=seed,
    )
    statistics = princdiff.get.pda_statistics(cells).iloc[0]
    assert statistics["pvalue"] == expected.pvalue
    assert statistics["statistic"] == pytest.approx(expected.statistic, rel=1e-5)


def test_pvalues_of_several_comparisons_are_adjusted():
    cells = make_cells(groups=3)
    princdiff.tl.pda(cells, "kind", n_features=1, n_permutations=39)
    statistics = princdiff.get.pda_statistics(cells)
    ordered = statistics.sort_values("pvalue")
    by_hand = np.minimum.accumulate((ordered["pvalue"] * 3 / [1, 2, 3])[::-1])[::-1]
    np.testing.assert_allclose(ordered["pvalue_adjusted"], by_hand)


def donors(sizes=(12, 7, 9, 11, 8, 13)) -> anndata.AnnData:
    """Six donors, three in each group, as different from each other as from the other group's."""
    rng = np.random.default_rng(3)
    owner = np.repeat(np.arange(len(sizes)), sizes)
    values = rng.normal(size=(len(owner), 5)) + 2 * rng.normal(size=(len(sizes), 5))[owner] + 9
    cells = anndata.AnnData(values, obs=pd.DataFrame(index=[f"c{i}" for i in range(len(owner))]))
    cells.obs["sick"] = np.where(owner < 3, "yes", "no")
    cells.obs["donor"] = [f"d{i}" for i in owner]
    return cells


def test_donors_change_sides_as_a_whole():
    cells = donors()
    with pytest.warns(UserWarning, match=r"only 10 distinct permutations"):
        princdiff.tl.pda(cells, "sick", blocks="donor", n_permutations=99)
    row = princdiff.get.pda_statistics(cells).iloc[0]
    # Of 20 ways to choose three of six donors, half are mirror images of the others.
    assert row["n_permutations"] == 9
    assert row["smallest_attainable_pvalue"] == pytest.approx(1 / 10)
    assert row["pvalue"] >= 1 / 10
    with pytest.warns(UserWarning, match=r"blocks='donor', permute='whole'"):
        princdiff.tl.pda(cells, "sick", n_permutations=99, key_added="cells")
    assert princdiff.get.pda_statistics(cells, "cells").loc[0, "pvalue"] == 0.01


def test_cells_change_sides_inside_their_donor():
    cells = donors()
    cells.obs["sick"] = np.where(np.arange(cells.n_obs) % 2, "yes", "no")
    princdiff.tl.pda(cells, "sick", blocks="donor", permute="within", n_permutations=39)
    assert princdiff.get.pda_statistics(cells).loc[0, "pvalue"] > 0.05
    with pytest.raises(ValueError, match=r"several groups and cannot change sides.*within"):
        princdiff.tl.pda(cells, "sick", blocks="donor", permute="whole")


# ---------------------------------------------------------------- objects


@pytest.mark.parametrize(
    "convert",
    [
        sp.csr_matrix,
        sp.csc_matrix,
        sp.csr_array,
        np.asarray,
        lambda values: sp.csr_matrix(values.astype(np.float32)),
        lambda values: values.astype(np.float32),
    ],
    ids=["csr", "csc", "csr_array", "dense", "csr32", "dense32"],
)
def test_every_kind_of_matrix_gives_the_same(convert):
    expected = make_cells(expression())
    princdiff.tl.pda(expected, "kind", n_features=3, **QUIET)
    cells = make_cells(convert(expression()))
    princdiff.tl.pda(cells, "kind", n_features=3, **QUIET)
    np.testing.assert_allclose(cells.varm["pda"], expected.varm["pda"], atol=2e-4)
    np.testing.assert_allclose(cells.obsm["X_pda"], expected.obsm["X_pda"], atol=2e-3)


def test_sparse_blocks_of_dask_are_read():
    array = pytest.importorskip("dask.array")
    rng = np.random.default_rng(0)
    values = np.log1p(rng.poisson(1.0, size=(60, 8)))
    kinds = {"kind": ["a", "b"] * 30}
    plain = anndata.AnnData(sp.csr_matrix(values), obs=kinds)
    blocks = array.from_array(values, chunks=(25, -1)).map_blocks(sp.csr_matrix)
    lazy = anndata.AnnData(blocks, obs=kinds)
    for cells in (plain, lazy):
        princdiff.tl.pda(cells, "kind", n_features=3, n_permutations=0)
    np.testing.assert_allclose(lazy.varm["pda"], plain.varm["pda"])
    options = {"groups": "kind", "n_permutations": 19, "n_features": 3}
    assert princdiff.compare(lazy, **options).pvalue == princdiff.compare(plain, **options).pvalue


def test_a_sparse_matrix_is_not_made_dense(monkeypatch):
    rng = np.random.default_rng(0)
    values = sp.random(1100, 2000, 0.01, format="csr", dtype=np.float32, random_state=0)
    cells = anndata.AnnData(values, obs={"kind": rng.choice(["a", "b"], size=1100)})
    sizes = []
    for kind in (sp.csr_matrix, sp.csc_matrix):
        original = kind.toarray

        def watched(self, *args, original=original, **kwargs):
            sizes.append(self.shape[0] * self.shape[1])
            return original(self, *args, **kwargs)

        monkeypatch.setattr(kind, "toarray", watched)
    before = values.copy()
    princdiff.tl.pda(cells, "kind", n_features=2, certify=False, n_permutations=0)
    # Blocks of features are, to sort them; the matrix is not.
    assert 0 < max(sizes) < 1100 * 2000 / 2
    assert (cells.X != before).nnz == 0


def test_integer_counts_in_a_layer():
    counts = np.random.default_rng(0).poisson(2.0, size=(90, 12))
    cells = make_cells()
    cells.layers["counts"] = sp.csr_matrix(counts)
    princdiff.tl.pda(cells, "kind", layer="counts", values="counts", n_features=2, **QUIET)
    np.testing.assert_allclose(cells.obsm["X_pda"], counts @ cells.varm["pda"], rtol=1e-5, atol=1e-6)
    assert cells.layers["counts"].dtype == counts.dtype
    assert cells.uns["pda"]["params"]["layer"] == "counts"


def test_views_and_copies():
    cells = make_cells(groups=3)
    view = cells[cells.obs["kind"] != "b cell", :8]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        princdiff.tl.pda(view, "kind", n_features=2, **QUIET)
    assert "pda" in view.uns and "pda" not in cells.uns
    assert view.varm["pda"].shape == (8, 1)
    # The categories that the view lost are no groups.
    assert princdiff.get.pda_statistics(view)[["group", "reference"]].iloc[0].tolist() == [
        "monocyte",
        "t cell",
    ]
    result = princdiff.tl.pda(cells, "kind", n_features=2, copy=True, **QUIET)
    assert "pda" in result.uns and "pda" not in cells.uns and "X_pda" not in cells.obsm
    again = result.copy()
    pd.testing.assert_frame_equal(princdiff.get.pda_df(again), princdiff.get.pda_df(result))


@pytest.mark.parametrize("convert", [sp.csr_matrix, sp.csc_matrix, np.asarray], ids=["csr", "csc", "dense"])
def test_backed_mode(tmp_path, convert):
    cells = make_cells(convert(expression()))
    cells.write_h5ad(tmp_path / "cells.h5ad")
    princdiff.tl.pda(cells, "kind", n_features=3, **QUIET)
    backed = anndata.read_h5ad(tmp_path / "cells.h5ad", backed="r")
    princdiff.tl.pda(backed, "kind", n_features=3, **QUIET)
    assert backed.isbacked
    np.testing.assert_allclose(backed.varm["pda"], cells.varm["pda"], atol=1e-6)
    copied = princdiff.tl.pda(backed, "kind", n_features=3, key_added="other", copy=True, **QUIET)
    assert not copied.isbacked and "other" not in backed.uns
    ax = princdiff.pl.pda_gene(backed, "g3")
    assert ax.get_xlabel() == "g3"
    backed.file.close()


@pytest.mark.parametrize("kind", ["h5ad", "zarr"])
@pytest.mark.filterwarnings("ignore::UserWarning:anndata")
def test_files_keep_the_results(tmp_path, kind):
    if kind == "zarr":
        pytest.importorskip("zarr")
    cells = make_cells(groups=3)
    sets = {"first": [f"g{j}" for j in range(6)], "last": [f"g{j}" for j in range(6, 12)]}
    princdiff.tl.pda(cells, "kind", n_features=2, n_permutations=19, n_null_genes=5)
    princdiff.tl.pda_gene_sets(cells, sets, group="monocyte", n_top=5)
    path = tmp_path / f"cells.{kind}"
    getattr(cells, f"write_{kind}")(path)
    read = getattr(anndata, f"read_{kind}")(path)
    for table in (princdiff.get.pda_df, princdiff.get.pda_statistics, princdiff.get.pda_gene_sets_df):
        pd.testing.assert_frame_equal(
            table(read), table(cells), check_dtype=False, check_categorical=False, check_column_type=False
        )
    np.testing.assert_array_equal(read.varm["pda"], cells.varm["pda"])
    np.testing.assert_array_equal(read.obsm["X_pda"], cells.obsm["X_pda"])
    for name, value in cells.uns["pda"]["params"].items():
        kept = np.atleast_1d(read.uns["pda"]["params"][name]).tolist()
        assert kept == np.atleast_1d(value).tolist()
    # What was read can be used: sets are tested again, pictures are drawn.
    princdiff.tl.pda_gene_sets(read, sets, group="t cell", n_top=5)
    assert princdiff.pl.pda_heatmap(read).get_xticklabels()[1].get_text() == "monocyte"


# ---------------------------------------------------------------- features


def test_only_some_genes():
    cells = make_cells()
    cells.var["highly_variable"] = np.arange(12) % 2 == 1
    princdiff.tl.pda(cells, "kind", mask_var="highly_variable", n_features=None, **QUIET)
    assert (cells.varm["pda"][::2] == 0).all() and (cells.varm["pda"][1::2] != 0).all()
    assert set(princdiff.get.pda_df(cells)["gene"]) == set(cells.var_names[1::2])
    part = cells[:, 1::2].copy()
    princdiff.tl.pda(part, "kind", n_features=None, key_added="part", **QUIET)
    np.testing.assert_allclose(part.varm["part"], part.varm["pda"], atol=1e-6)
    with pytest.raises(ValueError, match=r"highly_varable.*did you mean 'highly_variable'"):
        princdiff.tl.pda(cells, "kind", mask_var="highly_varable")
    with pytest.raises(ValueError, match=r"for each of the 12 genes"):
        princdiff.tl.pda(cells, "kind", mask_var=[True, False])
    with pytest.raises(ValueError, match=r"no gene"):
        princdiff.tl.pda(cells, "kind", mask_var=np.zeros(12, dtype=bool))


def test_coordinates_instead_of_genes():
    cells = make_cells()
    princdiff.tl.pda(cells, "kind", n_features=2, **QUIET)
    cells.obsm["X_pca"] = np.asarray(expression()[:, :4])
    princdiff.tl.pda(cells, "kind", obsm="X_pca", n_features=2, **QUIET)
    assert "pda" not in cells.varm
    assert cells.uns["pda"]["directions"].shape == (4, 1)
    assert princdiff.get.pda_df(cells).loc[0, "gene"] == "X_pca 4"
    with pytest.raises(ValueError, match=r"has no gene sets"):
        princdiff.tl.pda_gene_sets(cells, {"set": ["g1"]})
    cells.obsm["scores"] = pd.DataFrame({"S": expression()[:, 3], "G2M": 1.0}, index=cells.obs_names)
    princdiff.tl.pda(cells, "kind", obsm="scores", n_features=1, **QUIET)
    assert princdiff.get.pda_df(cells).loc[0, "gene"] == "S"


def test_genes_that_are_all_zero_have_no_weight():
    values = expression()
    values[:, [0, 7]] = 0.0
    cells = make_cells(sp.csr_matrix(values))
    for scale in (None, "pooled", "within"):
        princdiff.tl.pda(cells, "kind", n_features=None, scale=scale, **QUIET)
        assert np.isfinite(cells.varm["pda"]).all()
        assert (cells.varm["pda"][[0, 7]] == 0).all()
        empty = princdiff.get.pda_df(cells).set_index("gene").loc[["g0", "g7"]]
        assert (empty[["weight", "share", "divergence", "detected", "sd"]] == 0).all(axis=None)


# ---------------------------------------------------------------- refusals


@pytest.mark.parametrize("name", ["all", "rest", "reference", "None"])
def test_a_group_may_be_called_anything(name):
    cells, renamed = make_cells(groups=3), make_cells(groups=3)
    renamed.obs["kind"] = renamed.obs["kind"].cat.rename_categories({"t cell": name})
    for groups, reference in (("t cell", "b cell"), ("monocyte", "t cell")):
        if (groups, reference, name) == ("monocyte", "t cell", "rest"):
            continue
        found = []
        for data in (cells, renamed):
            called = [name if data is renamed and word == "t cell" else word for word in (groups, reference)]
            princdiff.tl.pda(data, "kind", groups=called[0], reference=called[1], n_features=3, **QUIET)
            statistics = princdiff.get.pda_statistics(data)
            assert statistics.loc[0, ["group", "reference"]].tolist() == called and len(statistics) == 1
            found.append((data.varm["pda"].copy(), statistics["divergence"].tolist()))
        np.testing.assert_allclose(np.abs(found[0][0]), np.abs(found[1][0]), atol=1e-6)
        assert found[0][1] == pytest.approx(found[1][1])
    if name == "rest":
        for options in ({}, {"reference": "rest"}):
            with pytest.raises(ValueError, match="has a group called 'rest', so reference='rest' could mean"):
                princdiff.tl.pda(renamed, "kind", groups="monocyte", **options)


@pytest.mark.parametrize("store", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_gene_that_is_no_number_is_called_by_its_name(store, bad):
    values = expression()
    values[3, 4] = bad
    cells = make_cells(store(values))
    cells.var_names = [f"GENE{j}" for j in range(cells.n_vars)]
    for call in (
        lambda: princdiff.tl.pda(cells, "kind"),
        lambda: princdiff.tl.pda(cells, "kind", n_features=2),
    ):
        with pytest.raises(ValueError, match="column 'GENE4' is affected"):
            call()


def test_what_is_refused():
    cells = make_cells(groups=3)
    holes = cells.copy()
    holes.obs.loc["cell4", "kind"] = np.nan
    with pytest.raises(ValueError, match=r"obs\['kind'\] is missing \(NaN\) for 1 of 90 cells.*notna"):
        princdiff.tl.pda(holes, "kind")
    twice = cells.copy()
    twice.var_names = ["g0", "g0", *twice.var_names[2:]]
    with pytest.raises(ValueError, match=r"'g0'; call adata.var_names_make_unique"):
        princdiff.tl.pda(twice, "kind")
    with pytest.raises(ValueError, match=r"groupby='kin' is not in adata.obs.*did you mean 'kind'"):
        princdiff.tl.pda(cells, "kin")
    with pytest.raises(ValueError, match=r"no cell .* in group 'monocytes'.*did you mean 'monocyte'"):
        princdiff.tl.pda(cells, "kind", groups=["monocytes"])
    with pytest.raises(ValueError, match=r"no cell .* in group 'T'"):
        princdiff.tl.pda(cells, "kind", reference="T")
    with pytest.raises(ValueError, match=r"nothing but the reference"):
        princdiff.tl.pda(cells, "kind", groups=["monocyte"], reference="monocyte")
    with pytest.raises(ValueError, match=r"layer='counts' is not in adata.layers, which has nothing"):
        princdiff.tl.pda(cells, "kind", layer="counts")
    with pytest.raises(ValueError, match=r"layer or obsm, not both"):
        princdiff.tl.pda(cells, "kind", layer="a", obsm="b")
    with pytest.raises(ValueError, match=r"blocks='donor' is not in adata.obs"):
        princdiff.tl.pda(cells, "kind", blocks="donor")
    with pytest.raises(TypeError, match=r"AnnData object, got ndarray"):
        princdiff.tl.pda(expression(), "kind")
    with pytest.raises(ValueError, match=r"n_permutations must be a whole number"):
        princdiff.tl.pda(cells, "kind", n_permutations=-1)
    cells.obs["score"] = np.linspace(0, 1, 90)
    with pytest.raises(ValueError, match=r"decimal numbers, not groups"):
        princdiff.tl.pda(cells, "score")
    cells.obs["lonely"] = ["one", *["many"] * 89]
    with pytest.raises(ValueError, match=r"group 'one' .* fewer than two cells"):
        princdiff.tl.pda(cells, "lonely", groups=["one"])
    cells.obs["same"] = "alike"
    with pytest.raises(ValueError, match=r"only one group, 'alike'"):
        princdiff.tl.pda(cells, "same")


def test_what_cannot_be_read_yet():
    cells = make_cells(groups=3)
    with pytest.raises(ValueError, match=r"holds no principal differences; call princdiff.tl.pda"):
        princdiff.get.pda_df(cells)
    princdiff.tl.pda(cells, "kind", n_features=1, **QUIET)
    with pytest.raises(ValueError, match=r"no comparison of group 'monocytes'.*did you mean"):
        princdiff.get.pda_df(cells, group="monocytes")
    with pytest.raises(ValueError, match=r"component must be between 1 and 1, got 2"):
        princdiff.get.pda_df(cells, component=2)
    with pytest.raises(ValueError, match=r"has no gene sets; call"):
        princdiff.get.pda_gene_sets_df(cells)


@pytest.mark.parametrize("n_features", [3, None])
def test_several_directions(n_features):
    cells = make_cells(groups=3)
    princdiff.tl.pda(cells, "kind", reference=None, n_features=n_features, n_components=2, **QUIET)
    directions = cells.varm["pda"]
    assert directions.shape == (cells.n_vars, 2) and cells.obsm["X_pda"].shape == (cells.n_obs, 2)
    np.testing.assert_allclose(directions.T @ directions, np.eye(2), atol=1e-6)
    statistics = princdiff.get.pda_statistics(cells)
    assert statistics["component"].tolist() == [1, 2]
    assert statistics["divergence"].is_monotonic_decreasing
    ax = princdiff.pl.pda_scatter(cells, "kind")
    assert ax.get_xlabel() and ax.get_ylabel()


def test_the_pvalue_is_that_of_the_first_direction():
    cells = make_cells(n=np.repeat([0, 1], 45))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        princdiff.tl.pda(cells, "n", groups=1, n_features=2, n_components=2, n_permutations=19)
    statistics = princdiff.get.pda_statistics(cells)
    assert statistics["pvalue"].notna().tolist() == [True, False]
    assert statistics["pvalue_adjusted"].notna().tolist() == [True, False]


def test_genes_are_ranked_as_in_scanpy():
    rng = np.random.default_rng(21)
    expression = np.log1p(rng.poisson(3.0, size=(90, 6)) * 1.1)
    expression[:30, 4] += 1.5
    expression[30:60, 1] += 1.5
    cells = anndata.AnnData(expression, obs={"kind": np.repeat(["a", "b", "c"], 30)})
    princdiff.tl.pda(cells, "kind", reference="rest", n_features=2, n_permutations=99)
    found = princdiff.get.rank_genes_groups_df(cells)
    assert len(found) == 18
    assert found.drop_duplicates("group")["names"].tolist()[:2] == ["4", "1"]
    assert all(part["scores"].is_monotonic_decreasing for _, part in found.groupby("group"))
    own = princdiff.get.rank_genes_groups_df(cells, "a", pval_cutoff=0.05)
    assert (own["pvals_adj"] <= 0.05).all() and own.loc[0, "names"] == "4" and own.loc[0, "difference"] > 1
    princdiff.tl.pda(cells, "kind", n_features=2, n_permutations=0, key_added="untested")
    with pytest.raises(ValueError, match="not tested"):
        princdiff.get.rank_genes_groups_df(cells, key="untested")


def test_genes_are_ranked_by_their_adjusted_pvalues():
    rng = np.random.default_rng(5)
    values = rng.poisson(rng.gamma(2.0, 0.4, size=40), size=(90, 40)).astype(float)
    values[45:, :6] += rng.poisson(np.linspace(0.2, 1.2, 6), size=(45, 6))
    obs = pd.DataFrame({"kind": np.repeat(["a", "b"], 45)}, index=[f"c{i}" for i in range(90)])
    cells = anndata.AnnData(np.log1p(values), obs=obs)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        princdiff.tl.pda(cells, "kind", n_features=2, n_permutations=99)
    found = princdiff.get.rank_genes_groups_df(cells)
    for _, own in found.groupby("group"):
        keys = list(zip(own["pvals_adj"], own["pvals"], -own["scores"], strict=True))
        assert keys == sorted(keys)
