"""Genes alone: which differ between groups of cells or donors, without looking for a direction."""

from __future__ import annotations

import numpy as np
import pandas as pd

from princdiff.data.problem import Run
from princdiff.data.samples import Scale
from princdiff.singlecell.anndata_input import CellComparison
from princdiff.singlecell.donor_genes import GeneOptions
from princdiff.singlecell.expression import Expression
from princdiff.singlecell.genes import gene_means


def rank_genes(
    expression: Expression, comparisons: list[CellComparison], scale: Scale, how: tuple[GeneOptions, Run]
) -> pd.DataFrame:
    """Genes of all comparisons, the clearest of each first.

    Parameters
    ----------
    expression : Expression
        Cells.
    comparisons : list of CellComparison
        What is compared.
    scale : {None, "pooled", "within"}
        With "within" neither a shift nor a spread counts.
    how : (GeneOptions, Run)
        Permutations and what is controlled, threads and progress.

    Returns
    -------
    DataFrame
        group, reference, gene, score, pvalue, pvalue_adj, selected, reason; with two groups logfoldchange (to
        base 2) and, of both, the mean and the share of cells that show the gene.
    """
    parts = []
    for comparison in comparisons:
        found = expression.genes(comparison, scale, *how)
        parts.append(gene_table(expression, comparison, found))
    return pd.concat(parts, ignore_index=True)


def gene_table(expression: Expression, comparison: CellComparison, found: pd.DataFrame) -> pd.DataFrame:
    """What was found of genes, beside their names and means, the clearest first."""
    head = pd.DataFrame(
        {
            "group": comparison.group,
            "reference": comparison.reference,
            "gene": expression.matrix.features,
        }
    )
    table = pd.concat([head, found], axis=1)
    if not comparison.joint:
        means = gene_means(expression.rows(comparison), comparison.codes)
        table = pd.concat([table, means[[name for name in means if name not in table]]], axis=1)
    return table.iloc[np.lexsort((-table["score"], table["pvalue"], table["pvalue_adj"]))]
