"""Genes that differ between donors, beside scanpy, a pseudobulk t test and pydeseq2.

Counts of 5000 genes are negative binomial, with effects of donors, cells of unlike depth, and dispersions of
their own. In ill donors 200 genes change their mean (by 41 to 100 %), 20 vary more around the same mean, and
10 pairs follow one another. Settings: eight donors a group, four, twenty; ill donors sequenced twice as
deep; ill donors with a third of the cells; and donors of which none is ill. All methods control the false
discovery rate at 5 %.

    python -m benchmarks.donors [--settings "8 + 8" null] [--methods princdiff "pseudobulk t"]
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import anndata
import numpy as np
import pandas as pd
import scipy.sparse as sp
from scipy import stats
from scipy.stats import false_discovery_control
from threadpoolctl import threadpool_limits

import princdiff
from benchmarks import sections

N_GENES, N_MEAN, N_SPREAD, N_PAIRS = 5000, 200, 20, 10
LEVEL = 0.05
# Donors a group, and what else is unlike.
SETTINGS = {
    "8 + 8": {"n_donors": 8},
    "4 + 4": {"n_donors": 4},
    "20 + 20": {"n_donors": 20},
    "depth x 2": {"n_donors": 8, "depth": 2.0},
    "cells / 3": {"n_donors": 8, "share_of_cells": 1 / 3},
    "null": {"n_donors": 8, "changed": False},
    "null, depth x 2": {"n_donors": 8, "changed": False, "depth": 2.0},
}


@dataclass
class Cells:
    """Simulated cells and what is true of them.

    Attributes
    ----------
    adata : AnnData
        Log-normalised expression in ``X``, counts in a layer, donor and status in ``obs``.
    truth : dict of int arrays
        Genes that differ in "mean" or "variability", and those of pairs in "co-expression".
    """

    adata: anndata.AnnData
    truth: dict[str, np.ndarray] = field(default_factory=dict)


def simulate(
    seed: int,
    n_donors: int = 8,
    *,
    n_cells: int = 100,
    depth: float = 1.0,
    share_of_cells: float = 1.0,
    changed: bool = True,
) -> Cells:
    """Cells of healthy and ill donors, by turns.

    Parameters
    ----------
    seed : int
        Of everything.
    n_donors : int
        Of each group.
    n_cells : int
        Of a healthy donor, on average.
    depth, share_of_cells : float
        Depth and number of cells of ill donors, as a share of those of healthy ones.
    changed : bool
        Whether illness changes any gene.

    Returns
    -------
    Cells
    """
    rng = np.random.default_rng([41, seed])
    usual = np.clip(rng.lognormal(-1.8, 1.6, N_GENES), 0.005, 60)
    truth = _planted(rng, usual) if changed else {}
    change = np.zeros(N_GENES)
    if changed:
        signs = rng.choice([-1, 1], N_MEAN)
        change[truth["mean"]] = signs * rng.uniform(0.5, 1.0, N_MEAN) * np.log(2)
    # Donors differ in every gene, in some more than in others.
    of_donor = rng.normal(0, 0.2, (2 * n_donors, N_GENES)) * np.sqrt(rng.gamma(4, 0.25, N_GENES))
    donor_depth = rng.lognormal(0, 0.3, 2 * n_donors)
    dispersion = 0.2 + 0.3 * rng.gamma(2, 0.5, N_GENES)
    blocks, owner = [], []
    for donor in range(2 * n_donors):
        ill = donor % 2 == 1
        count = max(12, rng.poisson(n_cells * (share_of_cells if ill else 1.0)))
        factor = rng.gamma(1 / dispersion, dispersion, (count, N_GENES))
        if changed:
            _vary(rng, factor, truth, ill)
        size = rng.lognormal(0, 0.4, count) * donor_depth[donor] * (depth if ill else 1.0)
        mean = usual * np.exp(of_donor[donor] + change * ill)
        blocks.append(sp.csr_matrix(rng.poisson(size[:, None] * mean * factor).astype(np.float32)))
        owner += [donor] * count
    counts = sp.vstack(blocks, format="csr")
    totals = np.asarray(counts.sum(axis=1)).ravel()
    values = sp.csr_matrix(sp.diags(np.median(totals) / totals) @ counts, dtype=np.float32)
    values.data = np.log1p(values.data)
    obs = pd.DataFrame(
        {
            "donor": [f"D{one:02d}" for one in owner],
            "status": np.where(np.array(owner) % 2, "ill", "healthy"),
        },
        index=[f"cell{i}" for i in range(len(owner))],
    ).astype("category")
    adata = anndata.AnnData(values, obs, pd.DataFrame(index=[f"gene{j}" for j in range(N_GENES)]))
    adata.layers["counts"] = counts
    return Cells(adata, truth)


def _planted(rng: np.random.Generator, usual: np.ndarray) -> dict[str, np.ndarray]:
    """Genes that change: means of any but the rarest and the most frequent, the rest of well-seen ones."""
    frequent = np.argsort(-usual)[:5]
    means = rng.choice(np.setdiff1d(np.flatnonzero(usual > 0.05), frequent), N_MEAN, replace=False)
    seen = rng.permutation(np.setdiff1d(np.flatnonzero((usual > 1.0) & (usual < 10)), means))
    pairs = seen[N_SPREAD : N_SPREAD + 2 * N_PAIRS]
    return {"mean": means, "variability": seen[:N_SPREAD], "co-expression": pairs}


def _vary(rng: np.random.Generator, factor: np.ndarray, truth: dict[str, np.ndarray], ill: bool) -> None:
    """Factors of the genes that vary more in ill donors, and of the pairs that follow one another there."""
    size = 0.5 if ill else 5.0
    factor[:, truth["variability"]] = rng.gamma(size, 1 / size, (len(factor), N_SPREAD))
    normal = rng.normal(0, 0.8, (len(factor), N_PAIRS, 2))
    if ill:
        normal[:, :, 1] = normal[:, :, 0]
    factor[:, truth["co-expression"]] = np.exp(normal - 0.32).reshape(len(factor), -1)


# Methods: genes named in an object, at a false discovery rate of 5 %.


def princdiff_genes(cells: Cells, error: str = "fdr") -> np.ndarray:
    adata = cells.adata
    options = {"groups": "ill", "reference": "healthy", "blocks": "donor", "error": error}
    princdiff.tl.pda(adata, "status", n_components=0, **options)
    found = princdiff.get.rank_genes_groups_df(adata)
    return adata.var_names.get_indexer(found.loc[found["selected"], "names"])


def family_wise(cells: Cells) -> np.ndarray:
    return princdiff_genes(cells, "fwer")


def scanpy_wilcoxon(cells: Cells) -> np.ndarray:
    import scanpy

    adata = cells.adata
    scanpy.tl.rank_genes_groups(adata, "status", groups=["ill"], reference="healthy", method="wilcoxon")
    found = scanpy.get.rank_genes_groups_df(adata, "ill")
    return adata.var_names.get_indexer(found.loc[found["pvals_adj"] <= LEVEL, "names"])


def _pseudobulk(cells: Cells) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sums of counts by donor, whether donors are ill, and genes that are seen in 2 % of the cells."""
    adata = cells.adata
    codes = adata.obs["donor"].cat.codes.to_numpy()
    member = sp.csr_matrix((np.ones(len(codes)), (codes, np.arange(len(codes)))))
    ill = (adata.obs["status"] == "ill").to_numpy()
    shown = np.asarray((adata.layers["counts"] > 0).mean(axis=0)).ravel()
    return (member @ adata.layers["counts"]).toarray(), member @ ill > 0, np.flatnonzero(shown >= 0.02)


def pseudobulk_t(cells: Cells) -> np.ndarray:
    sums, ill, genes = _pseudobulk(cells)
    logs = np.log2(1e6 * (sums[:, genes] + 0.5) / sums.sum(axis=1, keepdims=True))
    pvalues = stats.ttest_ind(logs[ill], logs[~ill]).pvalue
    return genes[false_discovery_control(np.nan_to_num(pvalues, nan=1.0)) <= LEVEL]


def pydeseq2(cells: Cells) -> np.ndarray:
    from pydeseq2.dds import DeseqDataSet
    from pydeseq2.ds import DeseqStats

    sums, ill, genes = _pseudobulk(cells)
    names = [f"D{number}" for number in range(len(sums))]
    counts = pd.DataFrame(sums[:, genes].astype(int), index=names)
    counts.columns = counts.columns.astype(str)
    design = pd.DataFrame({"status": np.where(ill, "ill", "healthy")}, index=names)
    data = DeseqDataSet(counts=counts, metadata=design, design="~status", quiet=True, n_cpus=1)
    data.deseq2()
    found = DeseqStats(data, contrast=["status", "ill", "healthy"], quiet=True, n_cpus=1)
    found.summary()
    return genes[(found.results_df["padj"] <= LEVEL).to_numpy()]


METHODS: dict[str, Callable[[Cells], np.ndarray]] = {
    "princdiff": princdiff_genes,
    "princdiff, family-wise": family_wise,
    "pydeseq2": pydeseq2,
    "pseudobulk t": pseudobulk_t,
    "scanpy wilcoxon": scanpy_wilcoxon,
}


def main(argv: Sequence[str] | None = None) -> None:
    def add(parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--settings", nargs="+", choices=list(SETTINGS))
        parser.add_argument("--methods", nargs="+", choices=list(METHODS))

    options = sections.parse(__doc__, argv, seeds=10, quick_seeds=1, add=add)
    settings = options.settings or (["8 + 8", "null"] if options.quick else list(SETTINGS))
    section = sections.Section("donors", "Genes of donors (pydeseq2, scanpy)", options)
    section.say(
        f"Found of {N_MEAN} genes that differ in mean, {N_SPREAD} in variability and {2 * N_PAIRS} in "
        f"co-expression, mean over {len(options.seeds)} seeds; the share of false ones among those named; "
        "how often anything false was named; seconds of processor time (median)."
    )
    rows = []
    for setting in settings:
        found: dict[str, list[list[float]]] = {}
        for seed in options.seeds:
            cells = simulate(seed, **SETTINGS[setting])
            for name in options.methods or METHODS:
                result = _measured(METHODS[name], cells)
                if result is not None:
                    found.setdefault(name, []).append(result)
        rows += [[setting, name, *_summary(np.array(values))] for name, values in found.items()]
    header = ["setting", "method", "mean", "variability", "co-expression", "false", "anything false", "s"]
    section.table(header, rows)
    section.write()


def _measured(method: Callable[[Cells], np.ndarray], cells: Cells) -> list[float] | None:
    """Genes found of each kind, false ones, and seconds; None where the method is not installed."""
    copy = Cells(cells.adata.copy(), cells.truth)
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        begin = time.process_time()
        try:
            named = set(method(copy).tolist())
        except ImportError:
            return None
    spent = time.process_time() - begin
    true = {kind: set(genes.tolist()) for kind, genes in cells.truth.items()}
    false = len(named - set().union(*true.values()))
    kinds = ("mean", "variability", "co-expression")
    return [*(len(named & true.get(kind, set())) for kind in kinds), false, len(named), spent]


def _summary(values: np.ndarray) -> list[str]:
    """Text of one row of the table."""
    kinds = [f"{mean:.1f}" for mean in values[:, :3].mean(axis=0)]
    share = (values[:, 3] / np.maximum(values[:, 4], 1)).mean()
    return [*kinds, f"{share:.3f}", f"{(values[:, 3] > 0).mean():.2f}", f"{np.median(values[:, 5]):.1f}"]


if __name__ == "__main__":
    main()
