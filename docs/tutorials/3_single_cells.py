"""
Single cells from several donors
================================

Eight donors, four of them ill, two hundred cells from each, three hundred genes. Which genes respond to the
illness? Cells from the same donor resemble each other, so a test that shuffles individual cells finds
"differences" between any two groups of donors. You will see this happen, and how to ask the right question.

You will learn to run ``princdiff.tl.pda`` on an AnnData object, permute whole donors, read and plot the
result, name genes, analyse gene sets, and compare all cell types. The data are simulated, so the truth is
known.
"""

# %%
# Cells with donor effects
# ------------------------
#
# Sixty genes have a different baseline in every donor. In ill donors, ten other genes respond. Counts are
# normalised and log-transformed as ``scanpy.pp.normalize_total`` and ``scanpy.pp.log1p`` would do.

import textwrap
import warnings

import anndata
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from scipy import sparse

import princdiff as pdiff

RESPONDING = [f"gene{j}" for j in range(100, 110)]


def simulate(response, seed, n_donors=8, n_cells=200, n_genes=300):
    rng = np.random.default_rng(seed)
    donor = np.repeat(np.arange(n_donors), n_cells)
    ill = donor % 2 == 1
    level = rng.gamma(2.0, 0.6, n_genes)
    by_donor = np.zeros((n_donors, n_genes))
    by_donor[:, :60] = rng.normal(0, 0.35, (n_donors, 60))
    log_rate = np.log(level) + by_donor[donor]
    log_rate[:, 100:110] += response * ill[:, None]
    depth = rng.lognormal(0, 0.25, len(donor))
    counts = rng.poisson(depth[:, None] * np.exp(log_rate) * rng.gamma(4.0, 0.25, log_rate.shape))
    expression = np.log1p(1e3 * counts / counts.sum(axis=1, keepdims=True))
    obs = pd.DataFrame(
        {"donor": [f"D{d}" for d in donor], "status": np.where(ill, "ill", "healthy")},
        index=[f"cell{i}" for i in range(len(donor))],
    )
    var = pd.DataFrame(index=[f"gene{j}" for j in range(n_genes)])
    return anndata.AnnData(sparse.csr_matrix(expression), obs=obs, var=var)


cells = simulate(response=0.9, seed=0)
cells

# %%
# The wrong question first
# ------------------------
#
# Take donors that differ from each other but *not* between the groups, and shuffle individual cells:

nothing = simulate(response=0.0, seed=2)
with warnings.catch_warnings(record=True) as caught:
    pdiff.tl.pda(nothing, "status", n_features=20, n_permutations=99, certify=False)
naive = pdiff.get.pda_statistics(nothing).loc[0, "pvalue"]
print(f"cells shuffled:  p = {naive:.2g}")
print(*textwrap.wrap(str(caught[0].message), 95), sep="\n")

# %%
# "Significant", as it almost always is with few donors and many cells: these cells differ because these
# donors do. The warning says so. The question is whether the *donors* in the two groups differ, so we must
# permute whole donors:

pdiff.tl.pda(
    nothing, "status", blocks="donor", permute="whole", n_features=20, n_permutations=99, certify=False
)
honest = pdiff.get.pda_statistics(nothing).loc[0, "pvalue"]
print(f"donors shuffled: p = {honest:.2g}")

# %%
# The right question
# ------------------
#
# With eight donors, four per group, there are 70 ways to assign the labels, and each has a mirror image with
# the groups exchanged: the smallest possible p-value is 2/70. More cells do not help; more donors do.

pdiff.tl.pda(
    cells,
    "status",
    groups="ill",
    reference="healthy",
    blocks="donor",
    permute="whole",
    n_features=20,
    n_permutations=99,
    certify=False,
)
statistics = pdiff.get.pda_statistics(cells)
columns = ["group", "reference", "effect", "pvalue", "smallest_attainable_pvalue", "n_permutations"]
statistics[columns].round(3)

# %%
# Which genes? The weight is a gene's coefficient in the direction; the share is the fraction of the
# difference that it accounts for:

pdiff.get.pda_df(cells, top=12)[["gene", "weight", "share", "mean", "mean_reference"]].round(2)

# %%
# All cells along the direction, and its leading genes:

figure, axes = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
pdiff.pl.pda(cells, ax=axes[0])
pdiff.pl.pda_genes(cells, top=12, ax=axes[1])

# %%
# The responding genes lead. Genes with donor effects follow: the direction is the one that separates *these*
# cells best, and by chance the donors' baselines help. The p-value of the test accounts for this; weights and
# shares do not.
#
# Which genes can be named?
# -------------------------
#
# Every gene has a p-value of its own as well, from permuted donors: their mean, variability and co-expression
# are compared, with variances that borrow strength from all genes, and at most 5 % of the genes named are
# expected to be false. With scanpy's column names:

named = pdiff.get.rank_genes_groups_df(cells, "ill", pval_cutoff=0.05)
named[["names", "scores", "pvals", "pvals_adj", "difference"]].round(3)

# %%
# All ten genes that respond are named, and no gene with mere donor effects. How much each changed, and how
# sure that is:

pdiff.pl.volcano(cells)

# %%
# Their p-values are small although eight donors have 35 distinct permutations only, because permutations are
# counted over all genes together.
# The columns ``pvalue_adj`` and ``selected`` of ``pda_df`` hold the same.
#
# Do individual donors agree? The cells of each donor along the direction:

donors = ["D0", "D2", "D4", "D6", "D1", "D3", "D5", "D7"]
values = [cells.obsm["X_pda"][cells.obs["donor"] == donor, 0] for donor in donors]
figure, ax = plt.subplots(figsize=(7, 3.2), layout="constrained")
drawn = ax.boxplot(
    values, tick_labels=donors, patch_artist=True, showfliers=False, medianprops={"color": "black"}
)
for box, donor in zip(drawn["boxes"], donors, strict=True):
    box.set_facecolor("#0072b2" if donor in donors[4:] else "#d55e00")
    box.set_alpha(0.5)
ax.set_ylabel("projection")
ax.set_xlabel("healthy donors, then ill ones")

# %%
# The medians of all ill donors lie on one side of those of all healthy donors. If a single donor were
# responsible for the difference, you would see it here.
#
# Gene sets
# ---------
#
# Provide a GMT file or a dict. The permutation p-value asks how often permuted donors have as many genes of
# the set among the leading ones. Trust it more than the hypergeometric p-value, which assumes that genes are
# independent.

sets = {
    "response": RESPONDING,
    "donor genes": [f"gene{j}" for j in range(60)],
    "others": [f"gene{j}" for j in range(200, 240)],
}
pdiff.tl.pda_gene_sets(cells, sets, n_top=15)
columns = ["gene_set", "size", "overlap", "expected", "pvalue", "pvalue_permutation"]
pdiff.get.pda_gene_sets_df(cells)[columns].round(4)

# %%
# All ten responding genes are among the leaders. Yet the permutation p-value is not small: permutations that
# keep three of the four ill donors together rank these genes high as well, and with eight donors those are
# not rare. The genes with donor effects, which the direction also uses, are rightly not enriched.
#
# All cell types in one call
# --------------------------
#
# Which type of cell responds? Here monocytes do, three cells in ten; half of all cells are T cells. ``by``
# compares ill and healthy donors within each type, with one error control over all types:

calm, alert = simulate(response=0.0, seed=3), simulate(response=0.9, seed=3)
kinds = np.random.default_rng(4).choice(["B", "mono", "T"], size=calm.n_obs, p=[0.2, 0.3, 0.5])
mixed = calm.copy()
mixed.X = np.where((kinds == "mono")[:, None], alert.X.toarray(), calm.X.toarray())
mixed.obs["cell_type"] = kinds
pdiff.tl.pda(mixed, "status", groups="ill", reference="healthy", blocks="donor", by="cell_type")
types = pdiff.get.pda_cell_types_df(mixed)
types[["cell_type", "n_cells", "change", "n_selected", "share", "share_reference"]].round(2)

# %%
# Monocytes lead, and the ten genes are named in them. ``change`` is how far apart ill and healthy cells are
# in donors that were not learned from, in standard deviations (0: by chance), with as many cells of every
# type, so that the largest type does not win by its number. The shares of the types are compared as well.

pdiff.pl.pda_cell_types(mixed)

# %%
# A page to pass on
# -----------------
#
# ``princdiff.compare`` takes the same object and writes a report, one HTML file that works offline:
#
# .. code-block:: python
#
#     pdiff.compare(cells, groups="status", blocks="donor").to_html("cells.html")
#
# It treats genes as columns of a table: it scales each of them, chooses the divergence by itself, and also
# looks for pairs of genes whose relationship differs. Its p-values are therefore not those above.
#
# How not to read this
# --------------------
#
# - A small p-value from shuffled cells says nothing about donors.
# - "Not significant" with six donors says nothing at all: no p-value below 0.1 is possible.
# - If every donor was measured both ill *and* healthy, use ``permute="within"``: differences between donors
#   then cancel.
#
# The how-to guide :doc:`/howto/singlecell` covers counts, layers, many groups and gene sets.

# sphinx_gallery_start_ignore
assert naive < 0.05 < honest, (naive, honest)
assert np.isclose(statistics.loc[0, "pvalue"], 2 / 70) and np.isclose(
    statistics.loc[0, "smallest_attainable_pvalue"], 2 / 70
)
assert set(pdiff.get.pda_df(cells, top=8)["gene"]) <= set(RESPONDING)
assert set(named["names"]) == set(RESPONDING) and named["selected"].all()
medians = pd.Series(cells.obsm["X_pda"][:, 0]).groupby(cells.obs["donor"].to_numpy()).median()
ill_donors = [f"D{d}" for d in (1, 3, 5, 7)]
healthy = medians.drop(ill_donors)
assert medians[ill_donors].min() > healthy.max() or medians[ill_donors].max() < healthy.min()
assert types["cell_type"][0] == "mono" and types["n_selected"][0] >= 8 and types["n_selected"][1:].sum() <= 2
found = pdiff.get.pda_gene_sets_df(cells).set_index("gene_set")
assert found.loc["response", "overlap"] >= 8
# sphinx_gallery_end_ignore
