"""The paper's brain analysis (supplement S2): 3005 cells, cortex against hippocampus.

Tables S1 and S2, the comparison with methods that look at one gene at a time, and figures S1 (with gene sets
of your own) and S2. The paper had log FPKM of 10,305 genes; here are log2(1 + counts per million) of the 4172
genes of `zeisel.npz`, so ranks agree roughly.

    python benchmarks/paper/brain.py --data /where/zeisel.npz/is [--quick] [--figures FOLDER]
"""

from __future__ import annotations

import argparse
import resource
import time
import warnings
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import anndata
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import scipy.sparse as sp
from scipy.special import digamma, polygamma
from scipy.stats import t as student

import princdiff
from princdiff.datasets import load_zeisel

# Genes of the paper's tables, with their place there.
TABLE_S1 = ["Cck", "Neurod6", "Stmn3", "Plp1", "Crym", "Spink8", "Gap43", "Cryab", "Mal", "Tspan13"]
TABLE_S2 = ["Thy1", "Vsnl1", "Stmn3", "Stmn2", "Tmem59", "Basp1", "Snhg1", "Mllt11", "Uchl1", "Cck"]
TUBULINS = {"Tubb3": 20, "Tubb2a": 25}
CORTEX, HIPPOCAMPUS = "sscortex", "ca1hippocampus"
FOLDER = Path(__file__).parent / "figures"


def load(path: str | None) -> anndata.AnnData:
    zeisel = load_zeisel(path)
    cells = anndata.AnnData(
        sp.csr_matrix(zeisel.data, dtype=np.float32),
        obs=pd.DataFrame(
            {"tissue": pd.Categorical(zeisel.tissue), "class": pd.Categorical(zeisel.level1class)},
            index=[str(name) for name in zeisel.cell_id],
        ),
        var=pd.DataFrame(index=[str(gene) for gene in zeisel.genes]),
    )
    return cells


def moderated_t(X: np.ndarray, inside: np.ndarray) -> pd.DataFrame:
    """Limma's moderated t-test of two groups: each gene's variance is drawn towards a common one.

    The common variance and its weight (in degrees of freedom) are fitted to the genes' log variances by their
    first two moments (Smyth 2004).
    """
    first, second = X[inside], X[~inside]
    n, m = len(first), len(second)
    freedom = n + m - 2
    residual = ((first - first.mean(axis=0)) ** 2).sum(axis=0) + ((second - second.mean(axis=0)) ** 2).sum(
        axis=0
    )
    variance = residual / freedom
    logs = np.log(variance) - digamma(freedom / 2) + np.log(freedom / 2)
    excess = logs.var(ddof=1) - polygamma(1, freedom / 2)
    prior = 2 * inverse_trigamma(excess) if excess > 0 else np.inf
    common = (
        np.exp(logs.mean() + digamma(prior / 2) - np.log(prior / 2))
        if np.isfinite(prior)
        else np.exp(logs.mean())
    )
    weight = prior / (prior + freedom) if np.isfinite(prior) else 1.0
    shrunk = weight * common + (1 - weight) * variance
    shift = first.mean(axis=0) - second.mean(axis=0)
    t = shift / np.sqrt(shrunk * (1 / n + 1 / m))
    # Of a p-value that underflows the logarithm is still there.
    return pd.DataFrame(
        {"shift": shift, "t": t, "log p": student.logsf(np.abs(t), freedom + prior) + np.log(2)}
    )


def inverse_trigamma(value: float) -> float:
    """x with polygamma(1, x) = value, by Newton's method on the reciprocal."""
    x = 0.5 + 1 / value
    for _ in range(50):
        gap = polygamma(1, x)
        step = gap * (1 - gap / value) / polygamma(2, x)
        x += step
        if abs(step) < 1e-10 * x:
            break
    return float(x)


def ranks(table: pd.DataFrame, genes: list[str]) -> dict[str, int]:
    place = table.set_index("gene")["rank"]
    return {gene: int(place[gene]) for gene in genes if gene in place.index}


def told(step: str, begin: float) -> float:
    now = time.perf_counter()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"    [{step}: {now - begin:.1f} s, peak memory so far {peak:.0f} MB]", flush=True)
    return time.perf_counter()


def table_s1(cells: anndata.AnnData, n_permutations: int, certify: bool, jobs: int) -> pd.DataFrame:
    print("\nTable S1: the dense direction, genes as measured")
    begin = time.perf_counter()
    with warnings.catch_warnings():
        # The cells' donors are not in the data.
        warnings.filterwarnings("ignore", message=".*pseudoreplication")
        princdiff.tl.pda(
            cells,
            "tissue",
            groups=[CORTEX],
            n_features=None,
            certify=certify,
            n_permutations=n_permutations,
            n_jobs=jobs,
        )
    told(f"fit{', certificate' if certify else ''} and {n_permutations} permutations", begin)
    row = princdiff.get.pda_statistics(cells).iloc[0]
    gap = 1 - row["divergence"] / row["upper_bound"]
    print(f"    divergence {row['divergence']:.1f}, upper bound {row['upper_bound']:.1f} (gap {gap:.2%})")
    if n_permutations:
        print(f"    p = {row['pvalue']:.4g} (at best {row['smallest_attainable_pvalue']:.4g})")
    table = princdiff.get.pda_df(cells)
    found = ranks(table, [*TABLE_S1, "Snca"])
    print_places({gene: place + 1 for place, gene in enumerate(TABLE_S1)}, found, cells)
    present = [found[gene] for gene in TABLE_S1 if gene in found]
    near = sum(rank <= 20 for rank in present)
    print(f"    of {len(present)} present: worst rank {max(present)}, in the top 20: {near}")
    print("    our top 20: " + ", ".join(table["gene"].head(20)))
    return table


def table_s2(cells: anndata.AnnData, n_permutations: int, jobs: int) -> None:
    """The paper says "largest average expression": of its logarithms here, and of expression itself."""
    logarithms = np.asarray(cells.X.mean(axis=0)).ravel()
    expression = cells.X.copy()
    expression.data = np.exp2(expression.data) - 1
    averages = {"logarithms": logarithms, "counts per million": np.asarray(expression.mean(axis=0)).ravel()}
    for place, (name, average) in enumerate(averages.items()):
        print(f"\nTable S2: interactions of the 500 genes with the largest mean of {name}")
        cells.var["most_expressed"] = np.argsort(np.argsort(-average, kind="stable")) < 500
        interactions(cells, 0 if place else n_permutations, jobs)


def interactions(cells: anndata.AnnData, n_permutations: int, jobs: int) -> None:
    begin = time.perf_counter()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*pseudoreplication")
        princdiff.tl.pda(
            cells,
            "tissue",
            groups=[CORTEX],
            mask_var="most_expressed",
            scale="within",
            n_features=None,
            certify=False,
            n_permutations=n_permutations,
            n_jobs=jobs,
            key_added="interactions",
        )
    told(f"fit and {n_permutations} permutations", begin)
    row = princdiff.get.pda_statistics(cells, "interactions").iloc[0]
    print(
        f"    divergence {row['divergence']:.2f}" + (f", p = {row['pvalue']:.4g}" if n_permutations else "")
    )
    table = princdiff.get.pda_df(cells, "interactions")
    print("    our top 10: " + ", ".join(table["gene"].head(10)))
    paper = {gene: place + 1 for place, gene in enumerate(TABLE_S2)} | TUBULINS
    print_places(paper, ranks(table, list(paper)), cells)
    print(f"    Snhg11 (the table has Snhg1): {ranks(table, ['Snhg11']).get('Snhg11', 'not used')}")


def print_places(paper: dict[str, int], found: dict[str, int], cells: anndata.AnnData) -> None:
    parts = []
    for gene, place in paper.items():
        missing = "not used" if gene in cells.var_names else "not in the data"
        parts.append(f"{gene} {place} -> {found.get(gene, missing)}")
    print("    paper's place -> ours: " + ", ".join(parts))


def others(cells: anndata.AnnData, table: pd.DataFrame, quick: bool) -> None:
    print("\nOne gene at a time")
    inside = (cells.obs["tissue"] == CORTEX).to_numpy()
    begin = time.perf_counter()
    limma = moderated_t(cells.X.toarray().astype(np.float64), inside)
    limma.insert(0, "gene", cells.var_names)
    begin = told("moderated t", begin)
    by_p = limma.sort_values("log p", kind="stable")["gene"].tolist()
    by_shift = limma.reindex(limma["shift"].abs().sort_values(ascending=False, kind="stable").index)[
        "gene"
    ].tolist()
    orders = {"moderated t, by p-value": by_p, "moderated t, by mean shift": by_shift}
    orders |= scanpy_orders(cells, quick)
    alone = table.sort_values("divergence", ascending=False, kind="stable")["gene"].tolist()
    orders["Wasserstein distance of single genes"] = alone
    ours = table["gene"].tolist()
    snca = {
        "ours": ours.index("Snca") + 1,
        **{name: order.index("Snca") + 1 for name, order in orders.items()},
    }
    for name, order in orders.items():
        common = [gene for gene in ours[:10] if gene in order[:10]]
        print(f"    {name}: {len(common)} of our top 10 in its top 10 ({', '.join(common)})")
    print("    rank of Snca: " + ", ".join(f"{name} {rank}" for name, rank in snca.items()))
    shaped = table.assign(shaped=(table["scale"] + table["shape"]) / table["divergence"])
    place = limma.set_index("gene")["log p"]
    equal = (
        shaped[(np.exp(shaped["gene"].map(place)) > 0.05)].sort_values("divergence", ascending=False).head(10)
    )
    print("    genes with equal means (moderated t: p > 0.05) whose distributions differ most:")
    for _, row in equal.iterrows():
        print(
            f"        {row['gene']:<8} divergence {row['divergence']:.3f}, {row['shaped']:.0%} not location; "
            f"means {row['mean']:.2f} and {row['mean_reference']:.2f}, "
            f"sd {row['sd']:.2f} and {row['sd_reference']:.2f}"
        )


def scanpy_orders(cells: anndata.AnnData, quick: bool) -> dict[str, list[str]]:
    try:
        import scanpy
    except ImportError:
        print("    (scanpy is not installed: wilcoxon and logreg are left out)")
        return {}
    orders = {}
    for method in ["wilcoxon"] if quick else ["wilcoxon", "logreg"]:
        begin = time.perf_counter()
        copy = anndata.AnnData(cells.X.copy(), obs=cells.obs[["tissue"]].copy(), var=cells.var[[]].copy())
        # Scanpy asks for natural logarithms; ranks do not depend on the base.
        copy.uns["log1p"] = {"base": 2}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            scanpy.tl.rank_genes_groups(copy, "tissue", groups=[CORTEX], reference="rest", method=method)
        told(f"scanpy.tl.rank_genes_groups, {method}", begin)
        result = copy.uns["rank_genes_groups"]
        scores = pd.Series(result["scores"][CORTEX], index=result["names"][CORTEX])
        orders[method] = scores.abs().sort_values(ascending=False, kind="stable").index.tolist()
    return orders


def draw(cells: anndata.AnnData, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    figure, axes = plt.subplots(1, 2, figsize=(10, 4.4), layout="constrained")
    princdiff.pl.pda(cells, ax=axes[0])
    princdiff.pl.pda_genes(cells, ax=axes[1])
    figure.savefig(folder / "brain-direction.png", dpi=120)
    figure, axes = plt.subplots(1, 2, figsize=(10, 3.4), layout="constrained")
    for ax, gene in zip(axes, ["Snca", "Crym"], strict=True):
        princdiff.pl.pda_gene(cells, gene, ax=ax)
        ax.set_xlabel(f"{gene}, log2(1 + counts per million)")
        ax.set_ylabel("share of cells")
    figure.savefig(folder / "brain-snca.png", dpi=120)
    if "gene_sets" in cells.uns["pda"]:
        princdiff.pl.pda_gene_sets(cells).figure.savefig(folder / "brain-gene-sets.png", dpi=120)
    plt.close("all")
    print(f"\npictures in {folder}")


def enrich(cells: anndata.AnnData, gmt: str | None) -> None:
    """Figure S1: with the user's GMT file, or with the cell classes' own marker genes."""
    if gmt is not None:
        source: dict[str, list[str]] | str = gmt
        print(f"\nGene sets of {Path(gmt).name} among the top 100 genes")
    else:
        source = class_markers(cells)
        print("\nGene sets: the 50 leading marker genes of every cell class, among the top 100 genes")
    princdiff.tl.pda_gene_sets(cells, source)
    columns = ["gene_set", "size", "overlap", "expected", "pvalue", "pvalue_adjusted", "pvalue_permutation"]
    print(princdiff.get.pda_gene_sets_df(cells)[columns].head(10).to_string(index=False, float_format="%.3g"))


def class_markers(cells: anndata.AnnData, count: int = 50) -> dict[str, list[str]]:
    """Genes that are higher in a class of cells than in every other one, by the difference of means."""
    means = pd.DataFrame(
        {
            str(name): np.asarray(cells.X[(cells.obs["class"] == name).to_numpy()].mean(axis=0)).ravel()
            for name in cells.obs["class"].cat.categories
        },
        index=cells.var_names,
    )
    sets = {}
    for name in means.columns:
        lead = means[name] - means.drop(columns=name).max(axis=1)
        sets[name] = lead[lead > 0].nlargest(count).index.tolist()
    return sets


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", help="zeisel.npz or its folder; default: the folder in PRINCDIFF_DATA")
    parser.add_argument("--quick", action="store_true", help="19 permutations, no certificate, no logreg")
    parser.add_argument("--permutations", type=int, default=999)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--gmt", help="gene sets for figure S1")
    parser.add_argument("--figures", type=Path, default=FOLDER)
    arguments = parser.parse_args()
    n_permutations = 19 if arguments.quick else arguments.permutations
    cells = load(arguments.data)
    density = cells.X.nnz / (cells.n_obs * cells.n_vars)
    print(f"{cells.n_obs} cells x {cells.n_vars} genes, {density:.0%} not zero")
    told("nothing yet", time.perf_counter())
    table = table_s1(cells, n_permutations, not arguments.quick, arguments.jobs)
    table_s2(cells, min(n_permutations, 19 if arguments.quick else 99), arguments.jobs)
    others(cells, table, arguments.quick)
    enrich(cells, arguments.gmt)
    draw(cells, arguments.figures)


if __name__ == "__main__":
    main()
